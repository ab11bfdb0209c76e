"""The max-margin problem solved over the rationals by a dual active-set method, from any guess of the active set.

    min |p|^2   subject to   <z_j, p> >= r_j

Goldfarb and Idnani 1983, with exact arithmetic. Between steps p is the solution under the active constraints alone:
p = sum_j lambda_j z_j over linearly independent active rows, <z_j, p> = r_j and lambda_j >= 0 there. Every full step
makes |p| larger, so that no active set comes back and the method ends, whatever the data: duplicate rows, redundant
constraints, ties. A good guess takes no step at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flint import fmpq, fmpz, fmpz_mat, nmod_mat

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Rows that are independent modulo a prime are independent. Which prime it is decides nothing.
_PRIME = 2**61 - 1


class NotSeparableError(NotProvedError):
    """No point satisfies the constraints. `weights`: mu_j > 0 with sum mu_j z_j = 0 and sum mu_j r_j > 0, by row."""

    def __init__(self, weights: Mapping[int, fmpq]) -> None:
        self.weights = dict(weights)
        super().__init__(
            "the constraints contradict each other: a combination of the differences z with positive weights is 0, "
            "so that no p has <z, p> >= 1 for all of them"
        )


def independent_rows(rows: ExactMatrix, wanted: Sequence[int]) -> list[int]:
    """The first of these rows that are linearly independent of those before."""
    if not wanted:
        return []
    table = rows.take_rows(wanted).numerators.transpose()
    reduced, rank = nmod_mat(table, _PRIME).rref()
    found = []
    for i in range(rank):
        pivot = next(j for j in range(reduced.ncols()) if int(reduced[i, j]) != 0)
        found.append(wanted[pivot])
    return found


class ActiveSet:
    """The active rows with their multipliers; `rows` hold the z_j and `levels` the r_j."""

    def __init__(self, rows: ExactMatrix, levels: Sequence[fmpq]) -> None:
        self.rows = rows
        self.levels = levels
        self.multipliers: dict[int, fmpq] = {}

    def solve(self, guess: Sequence[int]) -> dict[int, fmpq]:
        """Multipliers > 0, by row, whose p is the solution. Raises NotSeparableError."""
        self._begin(guess)
        while (row := self._violated()) is not None:
            self._enforce(row)
        return {row: value for row, value in sorted(self.multipliers.items()) if value != 0}

    def _begin(self, guess: Sequence[int]) -> None:
        """Take the guess, without rows that depend on others or whose multipliers are not positive."""
        active = independent_rows(self.rows, guess)
        while active:
            right = [self.levels[row] for row in active]
            found = dict(zip(active, self.solved(active, right), strict=True))
            if all(value > 0 for value in found.values()):
                self.multipliers = found
                return
            active = [row for row in active if found[row] > 0]

    def solved(self, active: Sequence[int], right: Sequence[fmpq]) -> list[fmpq]:
        """The x with sum_l <z_j, z_l> x_l = right_j over these rows."""
        part = self.rows.take_rows(active).numerators
        common = ExactMatrix.row_vector(right)
        solution = (part * part.transpose()).solve(common.numerators.transpose())
        factor = fmpq(self.rows.denominator**2, common.denominator)
        return [solution[i, 0] * factor for i in range(len(active))]

    def _point(self) -> ExactMatrix:
        """p, 1 x d."""
        active = list(self.multipliers)
        if not active:
            return ExactMatrix.zero(1, self.rows.columns)
        return ExactMatrix.row_vector([self.multipliers[row] for row in active]) @ self.rows.take_rows(active)

    def _violated(self) -> int | None:
        """The row whose constraint p violates most; None where p satisfies all."""
        products = self.rows @ self._point().T
        scale = products.denominator
        worst: tuple[fmpz, int] | None = None
        for row, (product, level) in enumerate(zip(products.numerators.entries(), self.levels, strict=True)):
            slack = product * level.q - level.p * scale
            if slack < 0 and (worst is None or slack < worst[0]):
                worst = slack, row
        return None if worst is None else worst[1]

    def _enforce(self, row: int) -> None:
        """Steps until the constraint of this row is active; rows whose multipliers fall to 0 leave on the way."""
        weight = fmpq(0)
        normal = self.rows.take_rows([row])
        while True:
            slack = (normal @ self._with(row, weight).T).entry(0, 0) - self.levels[row]
            active = list(self.multipliers)
            shares = self._shares(active, normal)
            direction = normal
            if active:
                direction = normal - ExactMatrix.row_vector(shares) @ self.rows.take_rows(active)
            falls = [(self.multipliers[j] / share, j) for j, share in zip(active, shares, strict=True) if share > 0]
            length = (direction @ direction.T).entry(0, 0)
            if length == 0 and not falls:
                opposed = {j: -share for j, share in zip(active, shares, strict=True) if share < 0}
                raise NotSeparableError(dict(sorted({**opposed, row: fmpq(1)}.items())))
            full = -slack / length if length != 0 else None
            blocking = min(falls) if falls else None
            if full is not None and (blocking is None or full <= blocking[0]):
                self._move(active, shares, full)
                self.multipliers[row] = weight + full
                return
            assert blocking is not None
            self._move(active, shares, blocking[0])
            weight += blocking[0]
            del self.multipliers[blocking[1]]

    def _with(self, row: int, weight: fmpq) -> ExactMatrix:
        return self._point() + self.rows.take_rows([row]).scaled(weight)

    def _shares(self, active: Sequence[int], normal: ExactMatrix) -> list[fmpq]:
        """The combination of the active rows that is nearest to `normal`."""
        if not active:
            return []
        products = self.rows.take_rows(active) @ normal.T
        return self.solved(active, [products.entry(i, 0) for i in range(len(active))])

    def _move(self, active: Sequence[int], shares: Sequence[fmpq], step: fmpq) -> None:
        for j, share in zip(active, shares, strict=True):
            self.multipliers[j] -= step * share


def lifted(rows: ExactMatrix, levels: Sequence[fmpq], unit: fmpq) -> ExactMatrix:
    """The rows (z_j, unit r_j).

    min |p|^2 + s^2 subject to <z_j, p> + unit r_j s >= r_j is feasible whatever the z_j are: p = 0, s = 1/unit. Where
    the constraints <z_j, q> >= r_j have the solution q of least norm, its solution is p = (1 - unit s) q with
    unit s < 1; where they contradict each other, it is p = 0, unit s = 1, and its multipliers are weights that show it.
    """
    column = ExactMatrix.rational([[level * unit] for level in levels])
    denominator = rows.denominator.lcm(column.denominator)
    left, right = denominator // rows.denominator, denominator // column.denominator
    flat = []
    for entries, last in zip(rows.numerators.tolist(), column.numerators.entries(), strict=True):
        flat.extend([entry * left for entry in entries])
        flat.append(last * right)
    return ExactMatrix(fmpz_mat(rows.rows, rows.columns + 1, flat), denominator)


def unlifted(multipliers: Mapping[int, fmpq], levels: Sequence[fmpq], unit: fmpq) -> dict[int, fmpq]:
    """The multipliers of the problem from those of the lifted one. Raises NotSeparableError."""
    rest = 1 - unit**2 * sum((value * levels[row] for row, value in multipliers.items()), fmpq(0))
    if rest == 0:
        raise NotSeparableError(multipliers)
    return {row: value / rest for row, value in multipliers.items()}
