"""Theorem `normalizer-bound`: what the normaliser of softmax attention changes, and what drawn attention is like.

d queries x_i and d keys k_j, independent N(0, I_p), p = lambda d, S_ij = x_i.k_j / sqrt(p), A = softmax(beta S) by
rows, t_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1, T = (t_ij) / sqrt(d), Pi = I - 11'/d. A certificate asserts

    mean_square   E W_2^2 <= at_most
    distance      E W_2 <= at_most

of the empirical laws of the singular values of sqrt(d) (A - 11'/d) and of T Pi; or, except with a `probability`, all at
once, under `drawn`,

    second        sigma_2(A) <= at_most, and sigma_1(A)^2 <= 1 + at_most^2
    stable_rank   |A|_F^2 / sigma_1(A)^2 <= at_most
    entropy       the mean of the entropies of the rows of A, in nats, is at least at_least
    top           the mean over the rows of the sum of the `count` largest weights is at most at_most

The witness has 0 < theta < 1, how far a normaliser may fall below its mean, and cut > 1, how long queries may be.
`gaussian_equivalence` and `drawn_attention` have the bounds; docs/claims/spectrum/normalizer-bound.md their proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Sections, Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import Probability
from certattn.kernel.theorems.spectrum import drawn_attention as drawn
from certattn.kernel.theorems.spectrum import score_matrix as matrix
from certattn.kernel.theorems.spectrum.gaussian_equivalence import normalizer_bound

MEAN_SQUARE = Field("mean_square", Record(matrix.MOST), "bound of E W_2^2", required=False)
DISTANCE = Field("distance", Record(matrix.MOST), "bound of E W_2", required=False)

PROBABILITY = Field("probability", Probability(), "with which something of it may fail")
LEAST = Field("at_least", Rational(), "it is at least this")
POSITIVE = Field("at_most", Rational(above=0), "it is at most this")
COUNT = Field("count", Count(1), "how many of the largest weights of a row, at most d")
SECOND = Field("second", Record(POSITIVE), "bound of sigma_2(A), and of sigma_1(A)^2 - 1 by its square", required=False)
STABLE_RANK = Field("stable_rank", Record(matrix.MOST), "bound of |A|_F^2 / sigma_1(A)^2", required=False)
ENTROPY = Field("entropy", Record(LEAST), "bound of the mean entropy of the rows of A", required=False)
TOP = Field("top", Listing(Record(COUNT, POSITIVE)), "bounds of the mean mass of the largest weights", required=False)
_OF_DRAWN = (SECOND, STABLE_RANK, ENTROPY, TOP)
_DRAWN = Record(PROBABILITY, *_OF_DRAWN, rules=[some_of(*_OF_DRAWN)])
DRAWN = Field("drawn", _DRAWN, "what A is like, except with a probability", required=False)

GIVEN = Record(matrix.BETA, matrix.LAMBDA, matrix.SIZE)
ASSERTS = Record(MEAN_SQUARE, DISTANCE, DRAWN, rules=[some_of(MEAN_SQUARE, DISTANCE, DRAWN)])
WITNESS = Record(matrix.THETA, matrix.CUT)
_read = sections(GIVEN, ASSERTS, WITNESS)


def read(certificate: Certificate) -> Sections:
    """Everything stated, of no more weights than a row has. Raises MalformedError."""
    stated = _read(certificate)
    for item in stated.asserts[DRAWN].items(TOP) if DRAWN in stated.asserts else []:
        if item[COUNT] > stated.given[matrix.SIZE]:
            raise item.node(COUNT).malformed(f"at most d = {stated.given[matrix.SIZE]} weights", str(item[COUNT]))
    return stated


def obligations(stated: Sections) -> Iterator[Obligation]:
    scores, asserts, hint = matrix.score_matrix(stated.given), stated.asserts, stated.hint
    square = Shared[arb](lambda: normalizer_bound(scores, hint[matrix.THETA], hint[matrix.CUT]))
    needs = ("finite", *matrix.TYPICAL)
    # E t^4 is finite. The bound is infinite otherwise; the distance itself is finite all the same.
    yield Obligation("finite", fmpq(scores.p), ">", matrix.moment_condition(4, scores.beta2), Part.WITNESS)
    yield from matrix.typical(hint)
    if MEAN_SQUARE in asserts:
        yield Obligation("mean_square", square, "<=", asserts[MEAN_SQUARE][matrix.MOST], Part.WITNESS, needs)
    if DISTANCE in asserts:
        yield Obligation("distance", lambda: square().sqrt(), "<=", asserts[DISTANCE][matrix.MOST], Part.WITNESS, needs)
    if DRAWN in asserts:
        yield from _drawn(Drawn(scores, asserts[DRAWN], hint[matrix.THETA], hint[matrix.CUT]), needs)


@dataclass(frozen=True)
class Drawn:
    """What is stated of a drawn matrix, at one size."""

    scores: matrix.ScoreMatrix
    stated: Values
    theta: fmpq
    cut: fmpq

    @property
    def energies(self) -> dict[str, fmpq]:
        """How large m_2(T) may be, for |A|_F^2 <= at_most, and <= d at_most^2 / count (Cauchy and Schwarz)."""
        squares = {STABLE_RANK.name: self.stated[STABLE_RANK][matrix.MOST]} if STABLE_RANK in self.stated else {}
        for index, item in enumerate(self.stated.items(TOP)):
            squares[f"{TOP.name}[{index}]"] = item[POSITIVE] ** 2 * self.scores.d / item[COUNT]
        return {name: (1 - self.theta) ** 2 * (square - 1) for name, square in squares.items()}

    def divergence_excess(self) -> arb:
        """How far the mean of f(e) may be above its own mean."""
        room = (arb(self.scores.d).log() - arb(self.stated[ENTROPY][LEAST])) * arb(1 - self.theta)
        return drawn.divergence_excess(self.scores, room)

    def energy_excess(self, energy: fmpq) -> arb:
        """How far m_2(T) may be above its mean."""
        return drawn.energy_excess(self.scores, energy)

    def failing(self) -> arb:
        """The probability that something of it is not so is at most this."""
        total = drawn.low_normalisers(self.scores, self.theta, self.cut)
        if SECOND in self.stated:
            total += drawn.large_norm(self.scores, self.stated[SECOND][POSITIVE] * (1 - self.theta))
        if ENTROPY in self.stated:
            total += drawn.exceeded(drawn.divergence_variance(self.scores), self.divergence_excess())
        if self.energies:
            # Where the least is not exceeded, none is.
            excess = self.energy_excess(min(self.energies.values()))
            total += drawn.exceeded(self.scores.second_moment_variance(), excess)
        return total


def _drawn(of: Drawn, needs: tuple[str, ...]) -> Iterator[Obligation]:
    """What is asserted leaves room above the means that it rests on, and that the rest fails is improbable."""
    rooms: dict[str, Callable[[], arb]] = {}
    for name, energy in of.energies.items():
        rooms[f"drawn.{name}"] = partial(of.energy_excess, energy)
    if ENTROPY in of.stated:
        rooms["drawn.entropy"] = of.divergence_excess
    for name, room in rooms.items():
        yield Obligation(name, room, ">", fmpq(0), Part.WITNESS, needs)
    yield Obligation("drawn.probability", of.failing, "<=", of.stated[PROBABILITY], Part.WITNESS, (*needs, *rooms))


_TITLE = "what the normaliser of softmax attention changes in its singular values, and what drawn attention is like"
THEOREM = Theorem("normalizer-bound", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
