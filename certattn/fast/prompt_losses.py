"""The loss of attention over concrete prompts, its gradient and second derivatives, in binary64. Docs: binary64.md.

    R(U, V) = 1/(2N) sum_n |r_n|^2,     r_n = V m_n - t_n,     m_n = sum_i p_i v_i,     p_i prop. to e^<k_i, U q_n>

in the words of `theorems.training.context_losses`. What was rounded is bounded a priori, by norms. Of a prompt with
|k_i| <= K, |v_i| <= M and |q| = Q,

    theta               |computed p_i - p_i| <= theta p_i
    e_m, e_k            errors of the means m and k of the values and the keys
    S_ab                at least sum_i p_i |v_i - m|^a |k_i - k|^b, about the computed means and the true ones

and the third derivative of R along a unit vector is at most the average of 3 R_1 R_2 + R_0 R_3, where R_j bounds the
j-th derivative of r: R_1 = |m| + |V| S_11 Q, R_2 = 2 S_11 Q + |V| S_12 Q^2 and
R_3 = 3 S_12 Q^2 + |V| (S_13 + 3 S_11 S_02) Q^3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from flint import arb

from certattn.fast.exponential import LN2, Work, beta, exp_shifted, relative_error, require_reach
from certattn.fast.rows import Dense, frobenius_bound, norm_bounds
from certattn.fast.singular_values import off_identity, residual
from certattn.fast.units import UNIT, UP, Floats, gamma, require_rounding_to_nearest, require_sound_arithmetic
from certattn.kernel.errors import RefusedError

# Scores of a prompt are no further apart, so that no weight underflows.
_SPREAD = 300.0
# Keys, values, queries, targets and weights are no larger. What underflows anywhere then changes no result by _LOST:
# less than 2^-1021 a time, at most 2^60 times, multiplied by no more than six of these sizes.
_LARGEST, _LOST = 2.0**40, 2.0**-700
# Sums over a prompt are known so well, relatively, or the prompt is refused.
_WELL = 2.0**-24
_ABOVE = 1 + 2.0**-20
# The bound of third derivatives is for weights so near that no score changes by more.
_MOVED = 2.0**-10
# Entries of a matrix whose norm a bound takes.
_MOST_ENTRIES = 2**11
# Tokens that are summed together: what is used again stays in the cache.
_TOKENS = 2**14
# Eigenvalues of a matrix serve another that is so near.
_NEAR = 2.0**-14


@dataclass(frozen=True)
class Prompts:
    """N prompts of the same length L: keys (N x L x d_k), values (N x L x d_v), queries and targets, a row each."""

    keys: Floats
    values: Floats
    queries: Floats
    targets: Floats
    key_norms: Floats = field(init=False)
    value_norms: Floats = field(init=False)
    query_norms: Floats = field(init=False)
    target_norms: Floats = field(init=False)

    def __post_init__(self) -> None:
        for name, table in (("key_norms", self.keys), ("value_norms", self.values)):
            norms = norm_bounds(table.reshape(-1, table.shape[2])).reshape(table.shape[:2]).max(axis=1)
            object.__setattr__(self, name, norms)
        object.__setattr__(self, "query_norms", norm_bounds(self.queries))
        object.__setattr__(self, "target_norms", norm_bounds(self.targets))
        for norms in (self.key_norms, self.value_norms, self.query_norms, self.target_norms):
            # Written so that a NaN refuses.
            if not bool((norms <= _LARGEST).all()):
                raise RefusedError("numbers that are too large, or not finite")
        if max(self.keys.shape[2], self.values.shape[2]) * self.keys.shape[2] > _MOST_ENTRIES:
            raise RefusedError(f"covariances of more than {_MOST_ENTRIES} numbers")

    def parts(self) -> Iterable[Prompts]:
        """Some prompts at a time."""
        size = max(1, _TOKENS // self.keys.shape[1])
        for first in range(0, len(self.keys), size):
            part = slice(first, first + size)
            yield Prompts(self.keys[part], self.values[part], self.queries[part], self.targets[part])


def grouped(keys: Floats, values: Floats, lengths: Sequence[int], queries: Floats, targets: Floats) -> list[Prompts]:
    """Prompts of equal lengths together; their tokens stand one below the other, prompt after prompt."""
    sizes = np.array(lengths, np.int64)
    firsts = np.cumsum(sizes) - sizes
    found = []
    for length in sorted(set(lengths)):
        chosen = np.flatnonzero(sizes == length)
        rows = firsts[chosen][:, None] + np.arange(length)
        found.append(Prompts(keys[rows], values[rows], queries[chosen], targets[chosen]))
    return found


def nearest(entries: Sequence[arb]) -> tuple[float, ...]:
    """Doubles near the middles of balls."""
    return tuple(float(entry.mid()) for entry in entries)


def weights(entries: Sequence[float], of_U: tuple[int, int], of_V: tuple[int, int]) -> tuple[Floats, Floats]:
    """U and V from their entries, row by row."""
    size = of_U[0] * of_U[1]
    return np.array(entries[:size]).reshape(of_U), np.array(entries[size:]).reshape(of_V)


@dataclass(frozen=True)
class LossFound:
    """R, its gradient and second derivatives at a point, the numbers of U before those of V, row by row.

    |R - risk| <= risk_error, and likewise in Euclidean norms for the others. At every point within `reach` the second
    derivatives differ from those here by at most `third` times the distance.
    """

    risk: float
    risk_error: float
    gradient: Floats
    gradient_error: float
    hessian: Floats
    hessian_error: float
    third: float
    reach: float


class PromptLoss:
    """R over prompts of several lengths."""

    def __init__(self, groups: Sequence[Prompts]) -> None:
        require_sound_arithmetic()
        self._parts = [part for group in groups for part in group.parts()]
        self._count = sum(len(part.keys) for part in self._parts)
        self._sum = (1 + gamma(self._count + 16)) * UP

    def at(self, U: Floats, V: Floats) -> LossFound:
        """Raises RefusedError or GuardError."""
        require_rounding_to_nearest()
        with np.errstate(all="ignore"):
            found = [_Part(part, U, V) for part in self._parts]
            return self._averaged(found, U, V)

    def _averaged(self, parts: list[_Part], U: Floats, V: Floats) -> LossFound:
        count, up = self._count, self._sum
        # On any path: within a part its prompts, then the parts, then the division.
        g = gamma(max(len(part.of.keys) for part in parts) * len(V) + len(parts) + 32)

        def total(of: Callable[[_Part], Floats]) -> float:
            return sum(float(of(part).sum()) for part in parts) * up / count + _LOST

        hessian = sum((part.hessian for part in parts), np.zeros_like(parts[0].hessian)) / count
        hessian = (hessian + hessian.T) / 2
        farthest = max(float((part.of.query_norms * part.of.key_norms).max()) for part in parts)
        found = LossFound(
            risk=sum(part.risk for part in parts) / count / 2,
            risk_error=(total(lambda part: part.risk_error) + g * total(lambda part: part.risk_size)) * UP,
            gradient=sum((part.gradient for part in parts), np.zeros_like(parts[0].gradient)) / count,
            gradient_error=(total(lambda part: part.gradient_error) + g * total(lambda part: part.gradient_size)) * UP,
            hessian=hessian,
            hessian_error=(total(lambda part: part.hessian_error) + g * total(lambda part: part.hessian_size)) * UP,
            third=total(lambda part: part.third) * UP,
            reach=min(1.0, _MOVED / (farthest * UP + _LOST) / 2),
        )
        numbers = [found.risk_error, found.gradient_error, found.hessian_error, found.third, found.reach]
        # Written so that a NaN refuses.
        if not (all(0 <= number < np.inf for number in numbers) and bool(np.isfinite(hessian).all())):
            raise RefusedError("numbers that are not finite")
        return found


class _Part:
    """What some prompts of the same length add to N times everything; `_error` and `_size` are by prompt."""

    def __init__(self, of: Prompts, U: Floats, V: Floats) -> None:
        self.of = of
        count, length, d = of.keys.shape
        outputs, d_v = V.shape
        u_norm, v_norm = frobenius_bound(U), frobenius_bound(V)
        if not max(u_norm, v_norm) <= _LARGEST:
            raise RefusedError("weights that are too large, or not finite")
        K, M, Q, T = of.key_norms, of.value_norms, of.query_norms, of.target_norms

        # The softmax weights.
        tilts = of.queries @ U.T
        scores = np.matmul(of.keys, tilts[:, :, None])[:, :, 0]
        largest, least = scores.max(axis=1), scores.min(axis=1)
        require_reach(float(least.min()), float(largest.max()))
        if not float((largest - least).max()) <= _SPREAD:
            raise RefusedError("scores that are far apart")
        delta = gamma(d + U.shape[1] + 8) * K * u_norm * Q * UP + _LOST
        if not float(delta.max()) <= _WELL:
            raise RefusedError("scores that are too large for their rounding errors to be small")
        shares = np.empty((count, length))
        exp_shifted(scores, np.floor(largest / LN2)[:, None], shares, Work((count, length)))
        shares /= shares.sum(axis=1)[:, None]
        g = gamma(length + 32)
        theta = (2 * beta(delta, relative_error()) + g) * _ABOVE
        if not float(theta.max()) <= _WELL:
            raise RefusedError("sums of so many terms that they are not known well")
        row = shares[:, None, :]

        # Means, and what is off them.
        mean = np.matmul(row, of.values)[:, 0]
        e_m = (theta + 2 * g) * M * UP + _LOST
        middle = np.matmul(row, of.keys)[:, 0]
        e_k = (theta + 2 * g) * K * UP + _LOST
        values, keys = of.values - mean[:, None], of.keys - middle[:, None]
        v_off = _norms(values, e_m, shares)
        k_off = _norms(keys, e_k, shares)
        weighted = shares * v_off
        of_squares = k_off * k_off
        S_02 = (shares * of_squares).sum(axis=1) * _ABOVE + _LOST
        S_11 = (weighted * k_off).sum(axis=1) * _ABOVE + _LOST
        S_12 = (weighted * of_squares).sum(axis=1) * _ABOVE + _LOST
        S_13 = (weighted * of_squares * k_off).sum(axis=1) * _ABOVE + _LOST

        # C = Cov(v, k), the residual r, c = V'r, and B = sum_i p_i <c, v_i - m> (k_i - k)(k_i - k)'.
        slope = np.matmul((shares[:, :, None] * values).transpose(0, 2, 1), keys)
        g = gamma(length + d_v + 48)
        e_C = ((theta + 2 * g) * S_11 + e_m * e_k) * UP + _LOST
        r = mean @ V.T - of.targets
        m_norm = norm_bounds(mean)
        small = gamma(d_v + outputs + 16)
        e_r = (v_norm * e_m + small * (v_norm * m_norm + T)) * UP + _LOST
        c = r @ V
        r_norm, c_norm = norm_bounds(r), norm_bounds(c)
        e_c = (v_norm * e_r + small * v_norm * r_norm) * UP + _LOST
        along = shares * np.matmul(values, c[:, :, None])[:, :, 0]
        bend = np.matmul((along[:, :, None] * keys).transpose(0, 2, 1), keys)
        e_B = c_norm * ((theta + 2 * g) * S_12 + e_m * S_02 + 2 * e_k * S_11 + e_m * e_k * e_k) + e_c * S_12
        e_B = e_B * UP + _LOST
        C_norm, B_norm = (norm_bounds(table.reshape(count, -1)) for table in (slope, bend))

        # R and its gradient.
        self.risk = float((r * r).sum())
        self.risk_error = (2 * r_norm + e_r) * e_r * UP + _LOST
        self.risk_size = r_norm * r_norm
        down = np.matmul(c[:, None, :], slope)[:, 0]
        down_norm = norm_bounds(down)
        e_down = (e_C * c_norm + (C_norm + e_C) * e_c + small * C_norm * c_norm) * UP + _LOST
        self.gradient = np.concatenate([(down.T @ of.queries).ravel(), (r.T @ mean).ravel()])
        self.gradient_error = (e_down * Q + e_r * (m_norm + e_m) + r_norm * e_m) * UP + _LOST
        self.gradient_size = (down_norm * Q + r_norm * m_norm) * UP

        # Second derivatives: J'J, the products of h with H, and B at q q'.
        VC = np.matmul(V, slope)
        J = np.zeros((count, outputs, d * U.shape[1] + outputs * d_v))
        J[:, :, : U.size] = (VC[:, :, :, None] * of.queries[:, None, None, :]).reshape(count, outputs, -1)
        for i in range(outputs):
            J[:, i, U.size + i * d_v : U.size + (i + 1) * d_v] = mean
        J_norm = (v_norm * C_norm * Q + outputs * m_norm) * UP
        e_J = (v_norm * e_C * Q + small * v_norm * C_norm * Q + outputs * e_m) * UP + _LOST
        J = J.reshape(count * outputs, -1)
        hessian = J.T @ J
        cross = (r[:, :, None, None] * slope[:, None]).reshape(count, -1).T @ of.queries
        cross = cross.reshape(outputs * d_v, d, U.shape[1]).reshape(outputs * d_v, -1)
        hessian[U.size :, : U.size] += cross
        hessian[: U.size, U.size :] += cross.T
        squares = (of.queries[:, :, None] * of.queries[:, None, :]).reshape(count, -1)
        bends = (bend.reshape(count, -1).T @ squares).reshape(d, d, U.shape[1], U.shape[1])
        hessian[: U.size, : U.size] += bends.transpose(0, 2, 1, 3).reshape(U.size, U.size)
        self.hessian = hessian
        self.hessian_size = (J_norm * J_norm + 2 * r_norm * C_norm * Q + B_norm * Q * Q) * UP
        e_H = (2 * J_norm + e_J) * e_J + 2 * (e_r * (C_norm + e_C) + r_norm * e_C) * Q + e_B * Q * Q
        self.hessian_error = e_H * UP + _LOST

        # Third derivatives, at every point within reach.
        T_11, T_02, T_12, T_13 = (S * (1 + 5 * _MOVED) for S in (S_11, S_02, S_12, S_13))
        moved = v_norm + 1
        R_1 = m_norm + e_m + 8 * _MOVED * M + moved * T_11 * Q
        R_2 = 2 * T_11 * Q + moved * T_12 * Q * Q
        R_3 = 3 * T_12 * Q * Q + moved * (T_13 + 3 * T_11 * T_02) * Q * Q * Q
        self.third = (3 * R_1 * R_2 + (r_norm + e_r + R_1) * R_3) * UP


def _norms(off: Floats, error: Floats, shares: Floats) -> Floats:
    """At least |x_i - x| for each row, x the computed mean, the true one, or that of weights within reach.

    There no p_i changes by more than a part of e^(2 _MOVED) - 1 <= 4 _MOVED, and so x by that of sum_i p_i |x_i - x|.
    """
    norms = norm_bounds(off.reshape(-1, off.shape[2])).reshape(off.shape[:2]) + error[:, None]
    mean = (shares * norms).sum(axis=1) * _ABOVE
    found: Floats = (norms + ((4 * _MOVED * _ABOVE) * mean + error)[:, None]) * _ABOVE
    return found


@dataclass
class Eigenvalues:
    """Bounds of the eigenvalues of one symmetric matrix after the other, as far as they are no nearer than needed."""

    _matrix: Floats | None = None
    _ends: tuple[float, float] = (0.0, 0.0)

    def ends(self, matrix: Floats, error: float) -> tuple[float, float]:
        """(upward, downward) >= 0 with -downward <= x'Ax <= upward for |x| = 1, where |A - matrix| <= error.

        With S = Q diag(l) Q' + E: x'Sx <= max(l, 0) |Q'x|^2 + |E|, and |Q'x|^2 <= 1 + |Q'Q - I|.
        """
        away = 0.0
        if self._matrix is not None and self._matrix.shape == matrix.shape:
            away = (frobenius_bound(matrix - self._matrix) * (1 + 4 * UNIT)) * UP
        if self._matrix is None or self._matrix.shape != matrix.shape or not away <= _NEAR:
            self._matrix, self._ends, away = matrix, _ends(matrix), 0.0
        upward, downward = self._ends
        return (upward + away + error) * UP, (downward + away + error) * UP


def _ends(matrix: Floats) -> tuple[float, float]:
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        return np.inf, np.inf
    rest = residual(Dense(matrix, 0.0), vectors, values, vectors)
    share = 1 + off_identity(vectors)
    upward, downward = max(float(values[-1]), 0.0), max(-float(values[0]), 0.0)
    return (upward * share + rest) * UP, (downward * share + rest) * UP
