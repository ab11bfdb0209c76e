"""Differences, products and norms of arrays of balls, every rounding accounted for."""

from __future__ import annotations

import numpy as np

from certattn.fast.enclosures import Ball
from certattn.fast.rows import Floats
from certattn.fast.units import UNDERFLOW, UNIT, UP, gamma
from certattn.kernel.errors import RefusedError

# `UP` covers the roundings of the bounds themselves up to this many terms.
_MOST_TERMS = 2**11


def difference(left: Ball, right: Ball) -> Ball:
    """left - right, entry by entry."""
    middle = left.middle - right.middle
    radius = left.radius + right.radius + 2 * UNIT * np.abs(middle) + UNDERFLOW
    return Ball(middle, radius * UP)


def product(left: Ball, right: Ball) -> Ball:
    """The matrix product, m x k times k x n."""
    terms = left.middle.shape[1]
    _require_terms(terms)
    sizes, others = np.abs(left.middle), np.abs(right.middle)
    radius = sizes @ right.radius + left.radius @ (others + right.radius) + gamma(terms + 2) * (sizes @ others)
    underflow = 8 * terms * UNDERFLOW * float(1 + sizes.max() + others.max())
    return Ball(left.middle @ right.middle, (radius + underflow) * UP)


def row_l2_norms(rows: Ball) -> Ball:
    """The Euclidean norm of every row: norms differ by at most the norm of the difference."""
    _require_terms(rows.middle.shape[1])
    middle, error = _computed_l2_norms(rows.middle)
    off, more = _computed_l2_norms(rows.radius)
    return Ball(middle, (off + more + error) * UP)


def _computed_l2_norms(rows: Floats) -> tuple[Floats, Floats]:
    """Euclidean norms of the rows, and bounds on their errors."""
    terms = rows.shape[1]
    largest = float(np.abs(rows).max())
    # Scaled by a power of two, so that no square overflows, and none vanishes beside a larger one.
    exponent = int(np.frexp(largest)[1]) if 0 < largest < np.inf else 0
    factor = 2.0 ** -max(-900, min(900, exponent))
    scaled = rows * factor
    norms = np.sqrt((scaled * scaled).sum(axis=1)) / factor
    # A square underflows only below 2^-500 of the largest entry, or among subnormal numbers.
    return norms, gamma(terms + 4) * norms + terms * (largest * 2.0**-500 + UNDERFLOW)


def row_linf_norms(rows: Ball) -> Ball:
    """The largest absolute value of every row."""
    return Ball(np.abs(rows.middle).max(axis=1), rows.radius.max(axis=1) * UP)


NORMS = {"l2": row_l2_norms, "linf": row_linf_norms}


def _require_terms(terms: int) -> None:
    if terms > _MOST_TERMS:
        raise RefusedError(f"products of {terms} terms; the bounds of bounds go up to {_MOST_TERMS}")
