"""How figures are written: what is spared for speed is not missed, and a figure that is kept stays as it was."""

from __future__ import annotations

import re
from io import BytesIO

import pytest

from certattn.provers.figures import Kept, _as_svg, _in_letters, canvas

NUMBERS = {
    r"$\mathdefault{10^{-2}}$": "10⁻²",
    r"$\mathdefault{2\times10^{13}}$": "2×10¹³",
    r"$\mathdefault{-10^{0}}$": "−10⁰",
    r"$\mathdefault{0.5}$": "0.5",
    "": "",
}


@pytest.mark.parametrize("formula", NUMBERS)
def test_numbers_of_an_axis_are_letters(formula: str) -> None:
    assert _in_letters(formula) == NUMBERS[formula]


def test_marks_between_powers_are_all_there_and_the_figure_is_as_before() -> None:
    kept = Kept()
    with canvas(kept, (5.6, 4.0)) as (_, axes):
        axes.loglog([1, 1000], [1, 10**6])
        axes.set_xlim(1, 1000)
    axes = kept.figure.axes[0]
    locator, lines, dpi = axes.xaxis.get_minor_locator(), list(axes.get_children()), kept.figure.dpi
    svg = _as_svg(kept.figure)
    # 2, ..., 9 times 1, 10 and 100: one mark each on the axis below, which is at one height.
    heights = re.findall(
        r'<use xlink:href="#m\w+" x="[\d.]+" y="([\d.]+)" style="stroke: #000000; stroke-width: 0.6', svg
    )
    assert max(heights.count(each) for each in heights) == 24
    assert (axes.xaxis.get_minor_locator(), list(axes.get_children()), kept.figure.dpi) == (locator, lines, dpi)


def test_marks_with_numbers_stay_ticks() -> None:
    memory = BytesIO()
    with canvas(memory, (5.6, 4.0)) as (_, axes):
        axes.loglog([2, 5], [2, 5])
        shown = [label for label in axes.xaxis.get_minor_formatter().format_ticks([2, 3, 4, 5]) if label]
    assert shown
    assert memory.getvalue()
