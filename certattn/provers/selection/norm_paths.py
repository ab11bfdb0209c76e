"""What minimisers over balls of another norm are shown to have of the largest margin.

The comparator is the point of least norm that `max-margin` finds, made as long as the ball allows. Its excess loss is
of the order e^(-R / min |p|), as that of the best point is: the share that it shows falls short of 1 by the order 1/R.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.selection.mathematics.margin_norms import (
    NormMargin,
    NuclearNorm,
    PowerNorm,
    power,
    reach_power,
    turn,
)
from certattn.kernel.theorems.selection.max_margin import MarginProblem
from certattn.kernel.theorems.selection.regularization_path import NormPath, PathInputs, mixing_bounds, share_bound
from certattn.provers.rounding import lower_rational, precisions, round_below_one, round_down, round_up, upper_rational
from certattn.provers.selection.least_norms import least_norm
from certattn.provers.selection.token_optimality import multiplier_table, stated_point

# Without a radius: about so many times the least norm.
_DEFAULT_REACH = 40
_DIGITS, _POINT_DIGITS, _BITS = 4, 18, 128


def in_norm(inputs: PathInputs, radii: Sequence[fmpq]) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is asserted, and its witness. Raises NotProvedError."""
    stated, pairs, rows = inputs.given.stated, inputs.selection.pairs, inputs.selection.differences
    levels = (fmpq(1),) * len(pairs)
    near = least_norm(
        MarginProblem(rows, levels, pairs, stated.shape, stated.variable, stated.given, stated), _POINT_DIGITS
    )
    if near is None:
        raise NotProvedError("no point was found at which every chosen token is ahead of the others")
    path, path_of_shares = NormPath(inputs.given, inputs.selection, dict(near.multipliers), []), list[Plain]()
    comparators, factors = list[Plain](), list[Plain]()
    for radius in radii or [round_up(_DEFAULT_REACH * _length(near) / near.margin, 2)]:
        point, norm = _inside(near, radius)
        comparators.append(stated_point(point, stated.shape, stated.variable))
        if isinstance(norm, NuclearNorm):
            factors.append({"K": _table(norm.K), "Q": _table(norm.Q)})
        share = _share(path, radius, point)
        entry: dict[str, Plain] = {"radius": format_rational(radius), "share": format_rational(share)}
        if isinstance(norm, PowerNorm) and norm.exponent is not None and norm.is_uniformly_convex:
            with working_precision(_BITS):
                apart = power(turn(norm.exponent, share), 1 / reach_power(norm.exponent))
                entry["apart"] = format_rational(round_up(upper_rational(apart), _DIGITS))
        path_of_shares.append(entry)
    witness: dict[str, Plain] = {
        "multipliers": multiplier_table(inputs.selection, path.multipliers),
        "comparators": comparators,
    }
    asserts: dict[str, Plain] = {
        "indices": [str(index) for index in inputs.selection.indices],
        "path": path_of_shares,
    }
    return asserts, {**witness, "factors": factors} if factors else witness


def _length(near: NormMargin) -> fmpq:
    with working_precision(_BITS):
        size = near.size()
        return size if isinstance(size, fmpq) else upper_rational(size)


def _inside(near: NormMargin, radius: fmpq) -> tuple[ExactMatrix, PowerNorm | NuclearNorm]:
    """The point as long as the ball allows, or a little shorter; of a nuclear norm with its factors."""
    norm = near.norm
    if isinstance(norm, NuclearNorm):
        with working_precision(_BITS):
            root = round_down(lower_rational(arb(radius / _length(near)).sqrt()), _POINT_DIGITS)
        return near.direction.scaled(root**2), NuclearNorm(norm.shape, norm.K.scaled(root), norm.Q.scaled(root))
    assert isinstance(norm, PowerNorm)
    return near.direction.scaled(round_down(radius / _length(near), _POINT_DIGITS)), norm


def _share(path: NormPath, radius: fmpq, point: ExactMatrix) -> fmpq:
    """What the comparator shows, rounded down. Raises NotProvedError."""
    for bits in precisions(_BITS):
        with working_precision(bits):
            bounds = mixing_bounds(path, point)
            share = share_bound(path, radius, bounds)
            if (bounds.excess >= bounds.least) is True or (bounds.inward <= 0) is True or (share < 0) is True:
                raise NotProvedError(f"R = {describe(radius)} is too small for the theorem; expected a larger radius")
            if (bounds.excess < bounds.least) is True and (share.rad() * 10**_DIGITS * 100 < abs(1 - share)) is True:
                return round_below_one(lower_rational(share), _DIGITS)
    raise NotProvedError(
        f"R = {describe(radius)} needs more than {DEFAULT_LIMITS.max_bits} bits; expected a smaller one"
    )


def _table(matrix: ExactMatrix) -> Plain:
    return [[format_rational(entry) for entry in row] for row in matrix.to_rows()]
