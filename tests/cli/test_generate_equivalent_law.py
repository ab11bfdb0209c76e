"""`certattn generate equivalent-law`: what it states, what it says of bad input, and its figure."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from flint import fmpq
from generating import refuses, states

import certattn
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.spectrum.equivalent_plot import density_curve
from certattn.provers.spectrum.spectrum_figures import in_maths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Run = Callable[..., Any]
LAW = ("--beta", "1/2", "--lambda", "1/4")


test_what_is_stated_verifies = states(
    "equivalent-law",
    [
        ([*LAW], "m_8 = 1.72385196706209 up to 1e-14; the right edge"),
        ([*LAW], "from 0.316858864541769 to 0.423093213397053 up to 1e-15 at each end, with the mass 0.25"),
        ([*LAW, "--moments", "0", "--digits", "20"], "1.7852043617867563715 up to 1e-19"),
        ([*LAW, "--cdf", "0.37", "--density", "1", "--density", "0.4"], "the density of mu at 0.4 is 0; mu([0, 0.37])"),
        ([*LAW, "--stieltjes", "0, 1/2"], "G(0 + 0.5 i) = 0 -"),
        ([*LAW, "--share", "1/2", "--note", "a note"], "for softmax at beta = 1.12090642277853 up to 1e-14"),
        (["--beta", "1", "--lambda", "1"], "its support is an interval"),
        (["--beta", "1e-9", "--lambda", "0.9"], "its support has a gap"),
        (["--beta", "20", "--lambda", "3", "--cdf", "1e80"], "mu([0, 1e80]) ="),
        (["--alpha2", "7", "--beta2", "1", "--lambda", "1/20"], "its support is an interval"),
        (["--alpha2", "1/3", "--beta2", "2", "--lambda", "1/8"], "m_8 = 2198222/81"),
    ],
)


test_what_cannot_be_stated_is_said = refuses(
    "equivalent-law",
    [
        (["--lambda", "1"], "no law is given; expected beta, or alpha2 and beta2"),
        (["--lambda", "1", "--alpha2", "1"], "beta2 is missing; expected beta, or alpha2 and beta2"),
        ([*LAW, "--alpha2", "1", "--beta2", "1"], "are both given; expected one of them"),
        (["--beta", "0", "--lambda", "1"], "beta is 0, expected a positive number"),
        (["--beta", "-1", "--lambda", "1"], "beta is -1, expected a positive number"),
        (["--beta", "1001", "--lambda", "1"], "beta is 1001, expected a number of at most 1000"),
        (["--beta", "1", "--lambda", "0"], "lambda is 0, expected a positive number"),
        (["--alpha2", "0", "--beta2", "1", "--lambda", "1"], "alpha2 is 0, expected a positive number"),
        (["--beta", "x", "--lambda", "1"], "beta: 'x', expected an exact number"),
        ([*LAW, "--cdf", "-1"], "cdf at -1: expected a point >= 0"),
        ([*LAW, "--density", "-1/2"], "density at -0.5: expected a point >= 0"),
        ([*LAW, "--stieltjes", "1, 0"], "z has the imaginary part 0, expected a positive one"),
        ([*LAW, "--stieltjes", "1, -1"], "z has the imaginary part -1, expected a positive one"),
        ([*LAW, "--stieltjes", "1"], "expected a real and an imaginary part, such as '1, 1/2'"),
        ([*LAW, "--share", "1"], "share is 1, expected a number between 0 and 1"),
        ([*LAW, "--digits", "0"], "digits is 0, expected 1 to 1000"),
        ([*LAW, "--moments", "51"], "moments is 51, expected 0 to 50"),
        ([*LAW, "--plot", "law.txt"], "a figure ends in .svg, .png, .pdf"),
    ],
    status=2,
)


def test_numbers_that_are_too_extreme_are_not_proved(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match="could not be enclosed to 15 digits at"):
        certattn.generate("equivalent-law", tmp_path / "law.yaml", beta=1, lambda_="1e-3000")


def test_exact_numbers_of_python(tmp_path: Path) -> None:
    made = certattn.generate("equivalent-law", tmp_path / "law.yaml", beta=Fraction(1, 2), lambda_=1, cdf=[1])
    assert certattn.check(made.path).verdict is certattn.Verdict.VERIFIED
    with pytest.raises(UsageError, match="the float"):
        certattn.generate("equivalent-law", tmp_path / "law.yaml", beta=0.6, lambda_=1)


@pytest.mark.parametrize("law", [LAW, ("--alpha2", "1", "--beta2", "1", "--lambda", "1")])
def test_the_density_is_drawn(generate: Run, folder: Path, law: tuple[str, ...]) -> None:
    done = generate("equivalent-law", *law, "--density", "1", "--plot", "law.svg")
    assert done.status == 0, done.err
    assert done.out.endswith("drew law.svg\n")
    first = (folder / "law.svg").read_bytes()
    assert first.startswith(b"<?xml")
    generate("equivalent-law", *law, "--density", "1", "--plot", "law.svg")
    assert (folder / "law.svg").read_bytes() == first


@pytest.mark.parametrize(("beta", "lambda_"), [(fmpq(1, 100), fmpq(1, 1000)), (fmpq(1, 20), fmpq(1, 1000))])
def test_a_curve_has_nothing_in_the_gap(beta: fmpq, lambda_: fmpq) -> None:
    """An end of a narrow piece, as a double, lies in the gap, where next to the end nothing is certified."""
    law = EquivalentLaw.from_square(beta * beta, lambda_)
    gap = law.gap
    assert isinstance(gap, tuple)
    lower, upper = (float(end) for end in gap)
    x, density = density_curve(law).T
    assert (density[(x > lower * (1 - 1e-9)) & (x < upper * (1 + 1e-9))] == 0).all()
    assert (x[1:] >= x[:-1]).all()
    # The area under the curve is the mass.
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-3)


def test_a_piece_of_the_law_far_off_is_on_the_axis_and_said(folder: Path, drawn: list[Figure]) -> None:
    from certattn.provers.spectrum.equivalent_plot import draw_certificate

    for lambda_ in ("1e-6", "1"):
        made = certattn.generate("equivalent-law", folder / f"{lambda_}.yaml", beta=1, lambda_=lambda_, moments=0)
        draw_certificate(made, folder / "x.svg")
    far, near = (figure.axes[0] for figure in drawn)
    assert far.get_xlim()[1] > 1001
    assert far.get_xlabel() == "singular value (axis of eighth roots)"
    (said,) = (text.get_text() for text in far.texts)
    assert said.startswith("0.0001 % of the law beyond 2")
    assert said.endswith(",\nup to 1001")
    assert far.get_title() == r"$\beta = 1$, $\lambda = 10^{-6}$"
    assert len(near.texts) == 0
    assert near.get_xlim()[1] > 2.5


@pytest.mark.parametrize(
    ("number", "written"),
    [("1e-6", "10^{-6}"), ("1/2", "0.5"), ("2.1e-9", r"2.1 \cdot 10^{-9}"), ("1e60", "10^{60}"), ("1/3", "1/3")],
)
def test_exponents_are_typeset_as_powers(number: str, written: str) -> None:
    assert in_maths(exact_rational(number, "number")) == written


def test_moments_that_no_certificate_holds_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match=r"moment 2 is too large to be written, as alpha\^2 = e\^\(beta\^2\)"):
        certattn.generate("equivalent-law", tmp_path / "x.yaml", beta=1000, lambda_=1)
