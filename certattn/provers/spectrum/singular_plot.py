"""A figure of a certificate of `singular-values`: a histogram of all of them, and what the certificate states.

Beside queries and keys whose entries are known to have a standard deviation there are the law that the singular values
tend to and the quarter circle law of the same variance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.given.bounds import BOUNDS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.equivalent_formulas import LARGEST_BETA
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.singular_values import ABOVE as THRESHOLD
from certattn.kernel.theorems.spectrum.singular_values import (
    COUNT,
    COUNTS,
    NORM,
    THEOREM,
    VALUE,
    VALUES,
    StatedSpectrum,
)
from certattn.kernel.theorems.spectrum.spectral_distance import law_of_weights
from certattn.kernel.theorems.spectrum.stated_matrix import SoftmaxMatrix, StatedMatrix
from certattn.provers.exact_inputs import Number, exact_rational
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float
from certattn.provers.spectrum.equivalent_plot import density_curve
from certattn.provers.spectrum.not_marchenko_pastur import bits_of_support
from certattn.provers.spectrum.spectrum_figures import (
    CIRCLE,
    LAW,
    POINT,
    circle_curve,
    draw_bars,
    drawn_values,
    show_whole,
)
from certattn.statements.ranges import range_words

_MOST_MARKS = 80


def draw_certificate(certificate: Certificate, path: Target, unit: Number | None = None) -> None:
    """Draw the figure into a file; `unit` is the standard deviation of the entries of queries and keys.

    Raises UsageError for a unit beside a matrix without queries and keys, or one that is not centred.
    """
    problem = THEOREM.read(certificate)
    law = None if unit is None else _law(problem.matrix, unit)
    values = drawn_values(problem.matrix, problem.hint)
    # A matrix of zeros has bars all the same.
    right = 1.05 * float(values[0]) or 1.0
    with canvas(path, (5.6, 3.8)) as (_, axes):
        axes.set_xlim(0, right)
        axes.set_xlabel("singular value")
        highest = 0.0
        if law is not None:
            with working_precision(bits_of_support(law)):
                known = law.at_precision()
                curve, circle = density_curve(known), circle_curve(known.numbers.variance)
                right = show_whole(axes, known, max(float(values[0]), float(circle[-1, 0])))
            axes.plot(*curve.T, color=LAW, lw=1.4, label="limit law")
            axes.plot(*circle.T, color=CIRCLE, lw=1.2, ls="--", label="quarter circle of its variance")
            highest = float(circle[:, 1].max())
        highest = max(highest, draw_bars(axes, values, right))
        _mark(axes, problem)
        axes.set_ylabel("density")
        axes.set_ylim(0, 1.15 * highest)
        axes.set_title(_title(problem))
        axes.legend()


def _law(matrix: StatedMatrix, unit: Number) -> SpectralLaw:
    if isinstance(matrix, SoftmaxMatrix) and matrix.causal:
        raise UsageError("--unit gives the limit law of a matrix without a mask; with a mask no law is known")
    if not isinstance(matrix, SoftmaxMatrix):
        raise UsageError("--unit is the standard deviation of queries and keys; for a matrix alone no law is known")
    if not matrix.centred:
        raise UsageError("--unit gives the limit law of the centred matrix; leave out --not-centred or --unit")
    law = law_of_weights(matrix, exact_rational(unit, "unit"))
    if law.beta2 > LARGEST_BETA**2:
        raise UsageError(f"--unit is too large: beta = scale sqrt(p) unit^2 is beyond {LARGEST_BETA}")
    return law


def _mark(axes: Any, problem: StatedSpectrum) -> None:
    """Stated values and norms at the foot, thresholds as lines with how many are above."""
    asserts = problem.asserts
    marks = [as_float(value) for value in asserts[VALUES][VALUE].load().row(0)] if VALUES in asserts else []
    if 0 < len(marks) <= _MOST_MARKS:
        label = f"{len(marks)} {standing()} values"
        axes.plot(marks, np.zeros(len(marks)), ls="", marker="|", ms=9, color=POINT, clip_on=False, label=label)
    for stated in asserts.items(COUNTS):
        axes.axvline(as_float(stated[THRESHOLD]), color=POINT, lw=0.9, ls=":")
        text = f" {stated[COUNT]} above {describe(stated[THRESHOLD])}"
        axes.annotate(
            text, (as_float(stated[THRESHOLD]), 0.97), xycoords=("data", "axes fraction"), fontsize=8, va="top"
        )
    if NORM in asserts:
        ends = [as_float(asserts[NORM][bound]) for bound, _ in BOUNDS if bound in asserts[NORM]]
        axes.plot(
            ends, [0.0] * len(ends), ls="", marker="^", ms=5, color=POINT, clip_on=False, label=f"{standing()} norm"
        )


def _title(problem: StatedSpectrum) -> str:
    rows, columns = problem.matrix.shape
    text = rf"{problem.matrix.count} singular values, ${rows} \times {columns}$"
    stated = problem.ranges.get("effective_rank.values")
    return text if stated is None else f"{text}\neffective rank {range_words(stated)}"
