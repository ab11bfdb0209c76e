"""What a random prompt misses on average, for atoms, signs and mixtures of them: tokens of finitely many scores.

With y = V(x - tau), E w y = 0, by `finite_scores`

    exactly  E|T_L - T|^2 = E|sum p_i y_i|^2,   E(T_L - T) = E sum p_i y_i,   q = E sum p_i^2
    bounds   q <= L E w^2 E Z_(L-1)^(-2)
             E|T_L - T|^2 <= L E w^2 |y|^2 E Z_(L-1)^(-2) + 6 L^2 (E w^2 |y|)^2 E Z_(L-2)^(-4)

Z_n is the sum of n weights. The bounds fall with L: a mean of n + 1 weights is the mean of means of n of them, so that
E (Z_n/n)^(-k) falls with n. `docs/claims/prompts/output-mean-square.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Law, Rademacher, dot, leaves
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.theorems.prompts.mathematics.finite_scores import (
    FiniteScores,
    Rows,
    TooManyError,
    only,
    signs_about,
)

# So many different scores; a check of more would take a second and longer.
MOST_SCORES = 2048
# The bounds need normalisers of L - 2 tokens.
FEWEST_TOKENS = 3


@dataclass
class Group:
    """The tokens of one score: their probability m, and E[V x; score], E[|V x|^2; score]."""

    mass: fmpq
    first: ExactMatrix
    second: fmpq

    def about(self, centre: ExactMatrix) -> Group:
        """The same of V x - `centre`."""
        size, along = (centre @ centre.T).entry(0, 0), (centre @ self.first.T).entry(0, 0)
        moved = self.first - centre.scaled(self.mass)
        return Group(self.mass, moved, self.second - 2 * along + self.mass * size)

    def add(self, other: Group) -> None:
        self.mass += other.mass
        self.first = self.first + other.first
        self.second += other.second


Groups = dict[fmpq, Group]


def groups_of(law: Law[fmpq], base: ExactMatrix, values: ExactMatrix) -> Groups:
    """The tokens by their scores <base, x>. Raises TooManyError."""
    found: Groups = {}
    for share, part in leaves(law, fmpq(1)):
        if isinstance(part, Atoms):
            _merge(found, _atom_groups(part, share, base, values))
        elif (signs := signs_about(part)) is not None:
            _merge(found, _sign_groups(*signs, share, base, values))
        else:
            raise TypeError(f"scores of {type(part).__name__} are not finitely many")
    return found


def _merge(groups: Groups, more: Iterable[tuple[fmpq, Group]]) -> None:
    for score, group in more:
        if score in groups:
            groups[score].add(group)
        else:
            groups[score] = group
        if len(groups) > MOST_SCORES:
            raise TooManyError(f"the tokens have more than {MOST_SCORES:,} different scores")


def _atom_groups(law: Atoms[fmpq], share: fmpq, base: ExactMatrix, values: ExactMatrix) -> Iterable[tuple[fmpq, Group]]:
    for point, weight in zip(law.points, law.weights, strict=True):
        x = ExactMatrix.row_vector(point)
        y, mass = x @ values.T, share * weight
        yield (base @ x.T).entry(0, 0), Group(mass, y.scaled(mass), mass * (y @ y.T).entry(0, 0))


def _sign_groups(
    law: Rademacher[fmpq], centre: ExactMatrix, share: fmpq, base: ExactMatrix, values: ExactMatrix
) -> Iterable[tuple[fmpq, Group]]:
    """From the centre on by coordinates: |y + v|^2 = |y|^2 + 2 <y, v> + |v|^2 for y = V x, v = +- c_j V e_j."""
    columns, scores = values.T, base.row(0)
    y = centre @ values.T
    start = Group(share, y.scaled(share), share * (y @ y.T).entry(0, 0))
    groups: Groups = {(base @ centre.T).entry(0, 0): start}
    half = fmpq(1, 2)
    for j, size in enumerate(law.sizes):
        column, longer = columns.take_rows([j]).scaled(size), Groups()
        square = (column @ column.T).entry(0, 0)
        for sign in (fmpq(1), fmpq(-1)):
            moved = column.scaled(sign)
            _merge(longer, (
                (score + sign * size * scores[j],
                 Group(half * group.mass,
                       (group.first + moved.scaled(group.mass)).scaled(half),
                       half * (group.second + 2 * (group.first @ moved.T).entry(0, 0) + group.mass * square)))
                for score, group in groups.items()
            ))  # fmt: skip
        groups = longer
    return groups.items()


@dataclass
class FiniteMeans:
    """What L tokens of finitely many scores miss: means of y = V x - V tau under the weights.

    `firsts` are E[y; score] and `seconds` E[|y|^2; score], for every score.
    """

    sums: FiniteScores
    firsts: Rows
    seconds: list[arb]

    @classmethod
    def of(cls, groups: Groups, scale: arb, length: int) -> FiniteMeans:
        found = list(groups.values())
        sums = FiniteScores([scale * arb(score) for score in groups], [group.mass for group in found], length)
        # About an exact mean first: what is subtracted then is small.
        centre = found[0].first
        for group in found[1:]:
            centre = centre + group.first
        about = [group.about(centre) for group in found]
        firsts = [row_of_balls(group.first.row(0)) for group in about]
        limit = [dot(sums.weights, column) for column in zip(*firsts, strict=True)]
        norm = dot(limit, limit)
        return cls(
            sums,
            [[x - m * t for x, t in zip(row, limit, strict=True)] for row, m in zip(firsts, sums.masses, strict=True)],
            [(arb(group.second) - 2 * dot(limit, row) + m * norm).nonnegative_part()
             for group, row, m in zip(about, firsts, sums.masses, strict=True)],
        )  # fmt: skip

    @cached_property
    def _centred(self) -> Rows:
        """E lambda w y e^(-lambda w)."""
        return self.sums.centred(self.firsts)

    @cached_property
    def mean_square(self) -> arb:
        """E|sum p_i y_i|^2: pairs of a token with itself, and of two tokens."""
        alone = only(self.sums.psi(2, [[x] for x in self.seconds]))
        return self.sums.relative(2, self.sums.total(2, {1: alone, 2: [dot(row, row) for row in self._centred]}))

    @cached_property
    def collision(self) -> arb:
        """E sum p_i^2."""
        return self.sums.relative(2, self.sums.total(2, {1: only(self.sums.psi(2, self._masses))}))

    @property
    def _masses(self) -> Rows:
        return [[mass] for mass in self.sums.masses]

    def mean(self) -> list[arb]:
        """E sum p_i y_i = E sum over pairs of p_i y_i p_j; the mean of its absolute value is at most E|sum p_i y_i|."""
        alone, ones = self.sums.psi(2, self.firsts), only(self.sums.psi(1, self._masses))
        off = within(self.sums.error(2) * self.mean_square.sqrt())
        return [
            self.sums.total(2, {1: own, 2: [x * y for x, y in zip(ones, other, strict=True)]}) + off
            for own, other in zip(zip(*alone, strict=True), zip(*self._centred, strict=True), strict=True)
        ]

    def falling_collision(self) -> arb:
        """The bound of E sum p_i^2."""
        weights = self.sums.weights
        second = dot(self.sums.masses, [w**2 for w in weights])
        return self.sums.length * second * self._inverse(1, 2)

    def falling_mean_square(self) -> arb:
        """The bound of E|T_L - T|^2; E[|y|; score] by Cauchy and Schwarz."""
        length, weights = self.sums.length, self.sums.weights
        squares = [w**2 for w in weights]
        sizes = [(m * s).sqrt() for m, s in zip(self.sums.masses, self.seconds, strict=True)]
        pairs = 6 * length**2 * dot(squares, sizes) ** 2 * self._inverse(2, 4)
        return length * dot(squares, self.seconds) * self._inverse(1, 2) + pairs

    def _inverse(self, fewer: int, degree: int) -> arb:
        return self.sums.inverse_power(self.sums.length - fewer, degree)
