"""Arb balls: the working precision, lifting exact numbers, and matrices of balls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flint import __FLINT_VERSION__, arb, arb_mat, ctx, fmpq

from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.reals import Real, Surd

ARB = f"Arb balls (FLINT {__FLINT_VERSION__})"


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Arb's global precision inside the block. Nothing else in the kernel sets it."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def scale_ball(scale: Real) -> arb:
    """The tightest ball around an exact real at the working precision."""
    return arb(scale.radicand).sqrt() if isinstance(scale, Surd) else arb(scale)


def row_of_balls(row: Sequence[fmpq]) -> list[arb]:
    return [arb(entry) for entry in row]


def table_of_balls(matrix: ExactMatrix, factor: arb) -> list[list[arb]]:
    """factor * matrix, entry by entry; an exact zero stays an exact zero."""
    return (arb_mat(matrix.numerators) * (factor / matrix.denominator)).tolist()


def l2_norm(vector: Sequence[arb]) -> arb:
    total = arb(0)
    for entry in vector:
        total += entry * entry
    # The sum is >= 0 in truth; cutting off the rest of the ball keeps the root defined at 0.
    return total.nonnegative_part().sqrt()


def linf_norm(vector: Sequence[arb]) -> arb:
    largest = arb(0)
    for entry in vector:
        largest = largest.max(abs(entry))
    return largest


NORMS = {"l2": l2_norm, "linf": linf_norm}
