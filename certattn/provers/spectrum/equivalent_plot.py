"""A figure of a certificate of `equivalent-law`: the density of mu beside the quarter circle of the same variance.

The curves are enclosures at 64 bits, drawn by their midpoints; points that the certificate states are marked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.equivalent_law import AT, DENSITY, THEOREM, VALUE
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, SpectralLaw
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float
from certattn.provers.spectrum.best_scales import pieces
from certattn.provers.spectrum.spectrum_figures import (
    BITS,
    CIRCLE,
    FILL,
    LAW,
    POINT,
    circle_curve,
    in_maths,
    show_whole,
)

_POINTS = 400
# Enclosures of the density that are wider, relative to its largest value, are no points of a curve.
_SHARP = 1e-4


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    stated = THEOREM.read(certificate)
    points = [(as_float(point[AT]), as_float(point[VALUE])) for point in stated.asserts.items(DENSITY)]
    with working_precision(BITS):
        law = stated.law.at_precision()
        curve = density_curve(law)
        circle = circle_curve(law.numbers.variance)
        ends = [end for piece in pieces(law) for end in piece if end > 0]
    with canvas(path, (5.6, 3.8)) as (_, axes):
        axes.fill_between(*curve.T, color=FILL, lw=0)
        axes.plot(*curve.T, color=LAW, lw=1.4, label="limit law")
        axes.plot(*circle.T, color=CIRCLE, lw=1.2, ls="--", label="quarter circle of its variance")
        _mark(axes, points, ends)
        with working_precision(BITS):
            show_whole(axes, law, max([float(circle[-1, 0]), *(x for x, _ in points)]))
        axes.set_ylabel("density")
        axes.set_ylim(0, None)
        axes.set_title(_title(stated.law))
        axes.legend()


def density_curve(law: EquivalentLaw) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Points of the density, dense at the ends of each piece of the support, where it has vertical tangents.

    It is 0 at all ends but 0; next to one, where doubles may lie beyond it and nothing is certified, there is no point.
    """
    found: list[tuple[float, float]] = []
    for first, last in pieces(law):
        share = (1 - np.cos(np.linspace(0, np.pi, _POINTS))) / 2
        inside = [(x, law.density(arb(x))) for x in (first + (last - first) * share)[:-1]]
        if first > 0:
            found.append((first, 0.0))
            inside = inside[1:]
        sharp = law.density_bound * _SHARP
        found += [(x, float(value)) for x, value in inside if (value.rad() < sharp) is True and (value > 0) is True]
        found.append((last, 0.0))
    return np.array(found)


def _mark(axes: Any, points: list[tuple[float, float]], ends: list[float]) -> None:
    # A piece of the support that is too low to be seen has its ends all the same.
    axes.plot(ends, [0.0] * len(ends), ls="", marker="|", ms=10, color=POINT, clip_on=False)
    if points:
        axes.plot(*np.array(points).T, ls="", marker="o", ms=4, color=POINT, label=standing(), clip_on=False)


def _title(law: SpectralLaw) -> str:
    return law_title(law.beta, law.alpha2, law.beta2, law.lambda_)


def law_title(beta: fmpq | None, alpha2: fmpq | None, beta2: fmpq, lambda_: fmpq, tau: fmpq | None = None) -> str:
    """Which law it is: by beta, or where that is not known by alpha^2 or beta^2 or both; and where it is cut off."""
    if beta is not None:
        law = rf"$\beta = {in_maths(beta)}$"
    else:
        given = "" if alpha2 is None else rf"$\alpha^2 = {in_maths(alpha2)}$, "
        law = rf"{given}$\beta^2 = {in_maths(beta2)}$"
    cut = "" if tau is None else rf", $\tau = {in_maths(tau)}$"
    return rf"{law}, $\lambda = {in_maths(lambda_)}${cut}"
