"""The point of least norm under <z_j, p> >= r_j, in doubles, and what of it proves bounds on that norm.

Alternating directions (ADMM) for min |X| + [s >= 0] with X = p and s = A p - r: in X the norm is what the projection on
the ball of the dual norm leaves, in p a linear system is solved whose matrix is the same in every step. The multipliers
of s = A p - r, divided by the dual norm of their combination, bound the norm from below: the bounds say when to stop.
Powers between 1 and infinity have derivatives, and `smooth_powers` takes Newton steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_norms import NormMargin, NuclearNorm, PowerNorm, conjugate
from certattn.kernel.theorems.selection.max_margin import MarginProblem
from certattn.kernel.theorems.selection.stated_norms import INFINITY, NORM
from certattn.provers.exact_inputs import exact
from certattn.provers.rounding import as_float, last_place, round_nearest
from certattn.provers.selection.polished_norms import exact_powers, polished_powers
from certattn.provers.selection.smooth_powers import Found, least_power, size_in_doubles

Array = np.ndarray[Any, Any]

# More digits than doubles have are not found.
MOST_DIGITS = 12
# What relaxed constraints exceed 0 by at least, times the norms of their rows; how well the upper and the lower bound
# are to agree, and the most steps. First nothing, and more where that leaves no feasible point.
_ROOM = ((0.0, 1e-8, 4_000), (1e-7, 1e-6, 20_000), (1e-4, 1e-3, 20_000))
_STEPS, _EVERY, _OVER, _UNEVEN = 60_000, 25, 1.6, 5.0
# After so many steps rho stays as it is, without which they do not converge.
_ADAPTED = 500
# Where so many steps find no feasible point, the constraints may contradict each other.
_PATIENCE = 3_000
# Singular values below this, relative to the largest, are left to the rest W - K'Q.
_SMALL = 1e-11
# By how much the multipliers' combination stays below 1.
_BELOW = (1e-9, 1e-7, 1e-5)


def named_norm(norm: Any) -> dict[str, Plain]:
    """The field of a norm that is asked for, as certificates write it; nothing for None. Infinity has a short name."""
    if norm is None:
        return {}
    return {"norm": INFINITY if isinstance(norm, str | float) and norm in ("inf", np.inf) else exact(norm, "norm")}


@dataclass
class _Bounds:
    """The best that was found: a feasible point and its norm, multipliers and their bound."""

    point: Array | None = None
    norm: float = np.inf
    multipliers: Array | None = None
    least: float = 0.0

    @property
    def apart(self) -> float:
        return self.norm / self.least - 1 if self.least > 0 else np.inf


class _Geometry(Protocol):
    """A norm in doubles: itself, its dual, and what a projection on the dual's ball of some radius leaves."""

    def size(self, point: Array) -> float: ...

    def dual(self, point: Array) -> float: ...

    def cut(self, point: Array, radius: float) -> Array: ...


@dataclass(frozen=True)
class _Singular:
    """The sum of the singular values."""

    shape: tuple[int, int]

    def size(self, point: Array) -> float:
        return float(np.linalg.svd(point.reshape(self.shape), compute_uv=False).sum())

    def dual(self, point: Array) -> float:
        return float(np.linalg.norm(point.reshape(self.shape), 2))

    def cut(self, point: Array, radius: float) -> Array:
        left, values, right = np.linalg.svd(point.reshape(self.shape), full_matrices=False)
        cut: Array = ((left * np.maximum(values - radius, 0)) @ right).ravel()
        return cut


class _Sum:
    """l = 1."""

    def size(self, point: Array) -> float:
        return size_in_doubles(point, fmpq(1))

    def dual(self, point: Array) -> float:
        return size_in_doubles(point, None)

    def cut(self, point: Array, radius: float) -> Array:
        cut: Array = np.sign(point) * np.maximum(np.abs(point) - radius, 0)
        return cut


class _Largest:
    """l infinite."""

    def size(self, point: Array) -> float:
        return size_in_doubles(point, None)

    def dual(self, point: Array) -> float:
        return size_in_doubles(point, fmpq(1))

    def cut(self, point: Array, radius: float) -> Array:
        """Entries beyond a bound are cut to it, by which their sizes lose `radius` together."""
        sizes = -np.sort(-np.abs(point))
        if sizes.sum() <= radius:
            return np.zeros_like(point)
        bounds = (np.cumsum(sizes) - radius) / np.arange(1, len(sizes) + 1)
        bound = bounds[np.flatnonzero(sizes > bounds)[-1]]
        return np.clip(point, -bound, bound)


def least_norm(
    problem: MarginProblem, digits: int, direction: ExactMatrix | None = None, patient: bool = False
) -> NormMargin | None:
    """A feasible direction near that of a solution, or the stated one, with multipliers, and factors of a nuclear norm.

    None where no point is found that is feasible: the patient look for one until the end.
    """
    A = np.array([[as_float(entry) for entry in row] for row in problem.rows.to_rows()])
    levels = np.array([as_float(level) for level in problem.levels])
    scale, norm = float(np.linalg.norm(A, axis=1).max()), problem.given[NORM]
    for room, apart, steps in _ROOM if np.any(levels == 0) else ((0.0, 1e-8, _STEPS),):
        if isinstance(norm, PowerNorm) and norm.exponent is not None and norm.is_uniformly_convex:
            found = least_power(problem, A / scale, room, as_float(norm.exponent))
        else:
            limits = room, apart, steps, steps if patient else _PATIENCE
            found = _alternating(A / scale, levels, _geometry(problem), limits)
        if found is None:
            continue
        near = _near(problem, A, Found(found.point / scale, found.multipliers * scale), digits, direction)
        if near is not None:
            return near
    return None


def _geometry(problem: MarginProblem) -> _Geometry:
    norm = problem.given[NORM]
    if not isinstance(norm, PowerNorm):
        return _Singular(problem.shape)
    return _Largest() if norm.exponent is None else _Sum()


def _near(
    problem: MarginProblem, A: Array, found: Found, digits: int, direction: ExactMatrix | None
) -> NormMargin | None:
    """What is stated; None where it proves nothing."""
    norm = problem.given[NORM]
    if not isinstance(norm, PowerNorm):
        digits = min(digits, MOST_DIGITS)
        chosen = _rounded_row(found.point, digits) if direction is None else direction
        factors = NuclearNorm(problem.shape, *_factors(chosen, problem.shape, digits))
        size = _Singular(problem.shape).dual(found.multipliers @ A)
        for multipliers in _below(found.multipliers / size, digits, _BELOW):
            near = NormMargin(problem.rows, problem.levels, chosen, factors, multipliers)
            if is_proved(near, direction is not None):
                return near
        return None
    polished = exact_powers if not norm.is_uniformly_convex else polished_powers
    sharp = polished(problem, norm, found, digits)
    tries = [] if sharp is None else [sharp]
    bits, size = 4 * digits + 64, size_in_doubles(found.multipliers @ A, conjugate(norm.exponent))
    tries += [
        (_rounded_row(found.point, min(digits, MOST_DIGITS)), each)
        for each in _below(found.multipliers / size, min(digits, MOST_DIGITS), _BELOW)
    ]
    best, least = None, None
    with working_precision(bits):
        for point, multipliers in tries:
            chosen = point if direction is None else direction
            near = NormMargin(problem.rows, problem.levels, chosen, norm, multipliers)
            if is_proved(near, direction is not None):
                apart = (
                    arb(near.size()) / near.least if direction is not None else near.size() / near.margin / near.least
                )
                if least is None or (apart < least) is True:
                    best, least = near, apart
    return best


def is_proved(near: NormMargin, any_direction: bool) -> bool:
    """Whether the multipliers bound the norm, and the direction is feasible, where it is not a stated one."""
    feasible = any_direction or (near.margin > 0 and (near.smallest_relaxed or 0) >= 0)
    left, right = near.dual()
    return feasible and near.least > 0 and (left <= right) is True


def _alternating(A: Array, levels: Array, geometry: _Geometry, limits: tuple[float, float, int, int]) -> Found | None:
    room, apart, steps, patience = limits
    count, size = A.shape
    wanted = np.where(levels > 0, levels, room * np.linalg.norm(A, axis=1))
    solve = _system(A)
    X, U, s, u, rho, best = np.zeros(size), np.zeros(size), np.zeros(count), np.zeros(count), 1.0, _Bounds()
    for step in range(1, steps + 1):
        W = solve(X - U + A.T @ (wanted + s - u))
        rest = A @ W - wanted
        over_W, over_s = _OVER * W + (1 - _OVER) * X, _OVER * rest + (1 - _OVER) * s
        X_before, s_before = X, s
        X = geometry.cut(over_W + U, 1 / rho)
        s = np.maximum(over_s + u, 0)
        U, u = U + over_W - X, u + over_s - s
        if step % _EVERY:
            continue
        _look(best, A, levels, geometry, (X, W), np.maximum(-u, 0))
        if best.apart < apart or (best.point is None and step >= patience):
            break
        # Steps of both kinds are to be of one size.
        primal = np.hypot(np.linalg.norm(W - X), np.linalg.norm(rest - s))
        dual = rho * float(np.linalg.norm(X - X_before + A.T @ (s - s_before)))
        if step < _ADAPTED and not dual / _UNEVEN <= primal <= dual * _UNEVEN:
            factor = 2.0 if primal > dual else 0.5
            rho, U, u = rho * factor, U / factor, u / factor
    return None if best.point is None or best.multipliers is None else Found(best.point, best.multipliers)


def _system(A: Array) -> Any:
    """(I + A'A)^-1 b, by the smaller of two inverses."""
    count, size = A.shape
    if count >= size:
        whole = np.linalg.inv(np.eye(size) + A.T @ A)
        return lambda b: whole @ b
    part = np.linalg.inv(np.eye(count) + A @ A.T)
    return lambda b: b - A.T @ (part @ (A @ b))


def _look(
    best: _Bounds, A: Array, levels: Array, geometry: _Geometry, points: tuple[Array, ...], multipliers: Array
) -> None:
    """Keep what is better than the best so far."""
    size = geometry.dual(multipliers @ A)
    if size > 0 and multipliers @ levels / size > best.least:
        best.multipliers, best.least = multipliers, float(multipliers @ levels / size)
    for point in points:
        products = A @ point
        margin = float(products[levels > 0].min())
        if margin <= 0 or products.min() < 0:
            continue
        norm = geometry.size(point) / margin
        if norm < best.norm:
            best.point, best.norm = point / margin, norm


def _rounded(values: Array, digits: int) -> list[fmpq]:
    """To the last of so many digits of the largest."""
    numbers = [fmpq(*float(value).as_integer_ratio()) for value in values.ravel()]
    unit = last_place(max(map(abs, numbers)), digits)
    return [round_nearest(number, unit) for number in numbers]


def _rounded_row(point: Array, digits: int) -> ExactMatrix:
    return ExactMatrix.row_vector(_rounded(point, digits))


def _factors(direction: ExactMatrix, shape: tuple[int, int], digits: int) -> tuple[ExactMatrix, ExactMatrix]:
    """S^(1/2) U' and S^(1/2) V', rounded, for W~ = U S V'."""
    W = np.array([as_float(entry) for entry in direction.row(0)]).reshape(shape)
    left, values, right = np.linalg.svd(W, full_matrices=False)
    kept = values > _SMALL * values[0]
    roots = np.sqrt(values[kept])[:, None]
    return _matrix(roots * left.T[kept], digits), _matrix(roots * right[kept], digits)


def _matrix(values: Array, digits: int) -> ExactMatrix:
    rounded, width = _rounded(values, digits), values.shape[1]
    return ExactMatrix.rational([rounded[i : i + width] for i in range(0, len(rounded), width)])


def _below(multipliers: Array, digits: int, parts: Iterable[float]) -> Iterator[Mapping[int, fmpq]]:
    """Multipliers, less a part of them, and rounded."""
    for below in parts:
        rounded = _rounded(multipliers * (1 - below), digits)
        yield {row: value for row, value in enumerate(rounded) if value > 0}
