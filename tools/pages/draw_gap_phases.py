"""Draw where the spectrum of softmax attention has a gap, from certified thresholds.

    python tools/pages/draw_gap_phases.py                     writes docs/_static/spectral-gap.svg
    python tools/pages/draw_gap_phases.py FILE                .svg, .png or .pdf

Each point of the curve is beta_c(lambda), enclosed at 64 bits to less than the width of the line. The thin lines are
where the width of the gap over the right edge is the number on them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, critical_beta
from certattn.provers.figures import canvas

PLACE = Path(__file__).resolve().parents[2] / "docs" / "_static" / "spectral-gap.svg"
_POINTS = 120
_LARGEST_BETA = 2.5
_STEPS, _LEVELS = 48, (0.05, 0.1, 0.2, 0.4)
# Width over all of the figure that an enclosure may have.
_VISIBLE = 1e-6


def thresholds(points: int) -> list[tuple[float, float]]:
    """lambda = (k/points)^2 and beta_c(lambda), 0 < k < points."""
    found = []
    with working_precision(64):
        for k in range(1, points):
            lambda_ = fmpq(k * k, points * points)
            beta = critical_beta(arb(lambda_))
            if (beta.rad() < _VISIBLE) is not True:
                raise ArithmeticError(f"beta_c({lambda_}) is not enclosed")
            found.append((float(arb(lambda_)), float(beta)))
    return found


def relative_width(lambda_: fmpq, beta: fmpq) -> float:
    """The width of the gap over the right edge; 0 where there is none."""
    with working_precision(128):
        law = EquivalentLaw.from_square(beta * beta, lambda_)
        return 0.0 if law.gap is None else float((law.gap[1] - law.gap[0]) / law.right_edge)


def widths(steps: int) -> tuple[list[float], list[float], list[list[float]]]:
    """Relative widths over a grid, the lambdas squares: lambdas, betas, and a row for each beta."""
    lambdas = [fmpq(k * k, steps * steps) for k in range(1, steps)]
    betas = [fmpq(1, 1000), *(fmpq(5 * k, 2 * steps) for k in range(1, steps + 1))]
    table = [[relative_width(lambda_, beta) for lambda_ in lambdas] for beta in betas]
    return [float(arb(x)) for x in lambdas], [float(arb(x)) for x in betas], table


def draw(path: Path) -> None:
    curve = np.array(thresholds(_POINTS))
    # The threshold tends to 0 as lambda tends to 1, and grows without bound as lambda tends to 0.
    lambdas, betas = np.append(curve[:, 0], 1.0), np.append(curve[:, 1], 0.0)
    with canvas(path, (5.2, 3.6)) as (_, axes):
        axes.fill_between(lambdas, 0, betas, color="#c9d9e8", lw=0)
        lines = axes.contour(*widths(_STEPS), levels=_LEVELS, colors="#6b8fb0", linewidths=0.8)
        axes.clabel(lines, fmt="%g", fontsize=8)
        axes.plot(lambdas, betas, color="#1f4e79", lw=1.6)
        axes.text(0.6, 1.4, "one interval", ha="center")
        axes.text(0.65, 0.05, "gap", ha="left")
        axes.annotate(r"$\beta_c(\lambda)$", (0.25, 0.8342), (0.29, 0.9), color="#1f4e79")
        axes.set_xlabel(r"$\lambda = d_{qk}/d$")
        axes.set_ylabel(r"$\beta$")
        axes.set_xlim(0, 1.2)
        axes.set_ylim(0, _LARGEST_BETA)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE)
