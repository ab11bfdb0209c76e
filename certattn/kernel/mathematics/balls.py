"""Arb balls: the working precision, lifting exact numbers, and matrices of balls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flint import __FLINT_VERSION__, arb, arb_mat, ctx, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, Surd

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


# A norm is >= 0: what a ball holds below 0 is cut off, so that even a norm of about 0 is proved to be >= 0.


def l2_norm(vector: Sequence[arb]) -> arb:
    """(sum_j x_j^2)^(1/2)."""
    total = arb(0)
    for entry in vector:
        total += entry * entry
    # Cut off before the root too, which is defined from 0 on.
    return total.nonnegative_part().sqrt().nonnegative_part()


def linf_norm(vector: Sequence[arb]) -> arb:
    """max_j |x_j|."""
    largest = arb(0)
    for entry in vector:
        largest = largest.max(abs(entry))
    return largest.nonnegative_part()


NORMS = {"l2": l2_norm, "linf": linf_norm}


def normal_tail(x: arb) -> arb:
    """Q(x) = P(g > x) = erfc(x / sqrt 2) / 2, g a standard normal number; of a complex ball the same function."""
    return (x * arb(2).rsqrt()).erfc() / 2
