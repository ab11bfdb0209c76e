"""A figure of a tail bound: the bound and the simulated quantile against the length of the prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas, standing
from certattn.provers.prompts.prompt_simulation import Quantile

_BOUND, _TRUTH, _STATED = BOUND, RUN, MARK


@dataclass(frozen=True)
class Curve:
    """Heights against lengths: what the rules give, and the simulated quantiles where there are any."""

    lengths: Sequence[float]
    bounds: Sequence[float]
    simulated: Sequence[tuple[int, Quantile]]


@dataclass(frozen=True)
class Figure:
    """What a figure shows: a curve, what is stated (L, eps), and words."""

    curve: Curve
    stated: tuple[int, float]
    deviation: str
    delta: str
    title: str
    method: str


def draw(figure: Figure, path: Target) -> None:
    """Draw the figure into a file."""
    with canvas(path, (5.6, 4.2)) as (_, axes):
        _draw_curve(axes, figure)


def _draw_curve(axes: Any, figure: Figure) -> None:
    curve, (length, eps) = figure.curve, figure.stated
    label = f"bound {figure.method}, kept with\nprobability 1 - {figure.delta}"
    handles = list(axes.loglog(curve.lengths, curve.bounds, color=_BOUND, lw=1.8, label=label))
    handles += axes.plot([length], [eps], marker="D", ms=7, mfc="white", mec=_STATED, ls="", label=standing(), zorder=5)
    if curve.simulated:
        x = [at for at, _ in curve.simulated]
        y = np.array([[q.value, q.low, q.high] for _, q in curve.simulated])
        spread = np.abs(y[:, 1:].T - y[:, 0])
        style: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 3, "lw": 1.2, "color": _TRUTH}
        label = "simulated prompts, same probability"
        handles.append(axes.errorbar(x, y[:, 0], yerr=spread, label=label, **style))
    line = _below_last(curve.lengths, curve.bounds)
    handles += axes.loglog(curve.lengths, line, ls=":", lw=1, color="0.6", label=r"slope $L^{-1/2}$")
    axes.set_xlabel("number of tokens $L$")
    axes.set_ylabel(figure.deviation)
    axes.set_title(figure.title)
    axes.grid(True)
    axes.legend(handles=handles)


def _below_last(lengths: Sequence[float], bounds: Sequence[float]) -> list[float]:
    """A line of slope -1/2 that ends at half of the last bound."""
    return [0.5 * bounds[-1] * math.sqrt(lengths[-1] / length) for length in lengths]
