"""Theorem `softmax-mean`: the softmax mean of a prompt at stated queries, its covariance, and how its weights spread.

Given a prompt (keys k_i and values v_i, or tokens x_i with K, Q, V), queries and a scale s, put

    p_i = e^{s <q, k_i>} / Z(q),   Z(q) = sum_i e^{s <q, k_i>},   T(q) = sum_i p_i v_i,
    Cov_q(x, y) = sum_i p_i (x_i - X)(y_i - Y)'   with   X = sum_i p_i x_i,   Y = sum_i p_i y_i.

A certificate asserts, for every listed query q, one or more of

    mean            |T(q) - value|_linf <= radius
    covariance      |Cov_q(x, y) - value| <= radius in every entry
    eigenvalues     at_least <= l <= at_most for every eigenvalue l of Cov_q(x, x)
    log_normaliser  |log Z(q) - value| <= radius
    entropy         at_least <= -sum_i p_i log p_i <= at_most
    top             at_least <= the sum of the `count` largest p_i <= at_most, for each of a list

where x and y are the values, the keys, or the values and the keys, as `of` says. Radii and bounds are
one number for all queries or one for each.

Boursier and Boyer 2026, section 2: the finite prompt. T and Cov_q(v, v) are the gradient and the
Hessian of a logarithm of normalisers, and the derivative of T is s Cov_q(v, k). Zhai et al. 2023,
Stabilizing Transformer Training by Preventing Attention Entropy Collapse: the entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.decide.obligation import DOUBLE, Obligation, Relation, Tier, Together
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import Choice, Count, Field, Listing, Record, Values, some_of
from certattn.kernel.given.each_query import Bounds, Matrices, StatedBounds
from certattn.kernel.given.prompts import DEFAULT, TIGHT, StatedPrompt, prompt_forms, read_prompt
from certattn.kernel.mathematics.balls import linf_norm, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax_moments import COVARIANCES, WeightedPrompt
from certattn.kernel.mathematics.softmax_shares import RankedPrompt, ranked_prompts
from certattn.kernel.mathematics.spectrum import largest_eigenvalue, smallest_eigenvalue

if TYPE_CHECKING:
    from certattn.fast.attention import Moments

RADIUS = Field("radius", Bounds(minimum=0), "largest error: one number, or one per query")
MEAN_VALUE = Field("value", Matrix(), "T(q), a row per query")
COVARIANCE_VALUE = Field("value", Matrices(), "a matrix per query: a list of them, or their rows in one matrix")
LOG_VALUE = Field("value", Vector(), "log Z(q), a number per query")
OF = Field("of", Choice(tuple(COVARIANCES)), "whose covariance; `values` if left out", required=False)
SPECTRUM_OF = Field("of", Choice(("values", "keys")), "whose covariance; `values` if left out", required=False)
NO_SMALLER = Field("at_least", Bounds(), "nothing meant is smaller: one number, or one per query", required=False)
NO_LARGER = Field("at_most", Bounds(), "nothing meant is larger: one number, or one per query", required=False)
ENDS = (NO_SMALLER, NO_LARGER)
RANGE = Record(SPECTRUM_OF, *ENDS, rules=[some_of(*ENDS)])

MEAN = Field("mean", Record(MEAN_VALUE, RADIUS), "the softmax means of the values", required=False)
COVARIANCE = Field(
    "covariance", Record(OF, COVARIANCE_VALUE, RADIUS), "covariances under the softmax weights", required=False
)
EIGENVALUES = Field("eigenvalues", RANGE, "the range of their eigenvalues", required=False)
LOG_NORMALISER = Field("log_normaliser", Record(LOG_VALUE, RADIUS), "the logarithms of Z(q)", required=False)
ENTROPY = Field("entropy", Record(*ENDS, rules=[some_of(*ENDS)]), "the entropy of the weights, in nats", required=False)
COUNT = Field("count", Count(1), "how many tokens, those of the largest weights")
TOP = Field(
    "top",
    Listing(Record(COUNT, *ENDS, rules=[some_of(*ENDS)])),
    "the sum of so many of the largest weights, and of so many",
    required=False,
)
ASSERTED = (MEAN, COVARIANCE, EIGENVALUES, LOG_NORMALISER, ENTROPY, TOP)
SMALLEST, LARGEST = f"{EIGENVALUES.name}.at_least", f"{EIGENVALUES.name}.at_most"

GIVEN = prompt_forms()
ASSERTS = Record(*ASSERTED, rules=[some_of(*ASSERTED)])
WITNESS = Record(BITS)


@dataclass(frozen=True)
class Compared:
    """`value relation bound`, to be proved at every listed query.

    `value` encloses the left side at a query with so many bits; `of` says whose covariance it takes. Where it is what
    is `outside` a part of 1 that is bounded, the right side is 1 less the bound. `ranked` needs exact scores, and Arb.
    """

    value: Callable[[int, Weighted, int], arb]
    relation: Relation
    bound: StatedBounds
    of: str | None = None
    outside: bool = False
    ranked: bool = False

    def right(self, query: int) -> fmpq:
        """The right side at a query."""
        bound = self.bound.at(query)
        return 1 - bound if self.outside else bound

    def tiers(self, known: Sequence[Tier]) -> Sequence[Tier]:
        """Those of binary64 that enclose the left side."""
        if self.ranked:
            return ()
        # Covariances have no tight tier.
        return [tier for tier in known if self.of is None or tier is not TIGHT]


@dataclass(frozen=True)
class AssertedMoments:
    """A prompt with its queries, and what is asserted at each of them."""

    prompt: StatedPrompt
    asserts: Values

    def whose(self, field: Field[Values]) -> str:
        """Whose covariance `covariance` is about, or `eigenvalues`."""
        return self.asserts[field].get(OF if field is COVARIANCE else SPECTRUM_OF) or "values"

    @cached_property
    def means(self) -> ExactMatrix:
        """The stated means, a row per query."""
        return self.asserts[MEAN][MEAN_VALUE].load()

    @cached_property
    def logarithms(self) -> list[fmpq]:
        """The stated log Z(q), one per query."""
        return self.asserts[LOG_NORMALISER][LOG_VALUE].load().row(0)

    @property
    def compared(self) -> dict[str, Compared]:
        """What there is to prove at each query, by the first part of its name."""
        asserts, found = self.asserts, dict[str, Compared]()
        if MEAN in asserts:
            found[MEAN.name] = Compared(self._off_mean, "<=", asserts[MEAN][RADIUS])
        if COVARIANCE in asserts:
            of = self.whose(COVARIANCE)
            found[COVARIANCE.name] = Compared(self._off_covariance, "<=", asserts[COVARIANCE][RADIUS], of)
        if EIGENVALUES in asserts:
            ends, of = asserts[EIGENVALUES], self.whose(EIGENVALUES)
            if NO_SMALLER in ends:
                found[SMALLEST] = Compared(self._smallest, ">=", ends[NO_SMALLER], of)
            if NO_LARGER in ends:
                found[LARGEST] = Compared(self._largest, "<=", ends[NO_LARGER], of)
        if LOG_NORMALISER in asserts:
            found[LOG_NORMALISER.name] = Compared(self._off_logarithm, "<=", asserts[LOG_NORMALISER][RADIUS])
        if ENTROPY in asserts:
            ends = asserts[ENTROPY]
            if NO_SMALLER in ends:
                found[f"{ENTROPY.name}.at_least"] = Compared(_entropy, ">=", ends[NO_SMALLER], ranked=True)
            if NO_LARGER in ends:
                found[f"{ENTROPY.name}.at_most"] = Compared(_entropy, "<=", ends[NO_LARGER], ranked=True)
        if TOP in asserts:
            tops = asserts[TOP]
            for number, ends in enumerate(tops):
                name, outside = f"{TOP.name}[{number}]", _outside(ends[COUNT])
                if NO_SMALLER in ends:
                    found[f"{name}.at_least"] = Compared(outside, "<=", ends[NO_SMALLER], outside=True, ranked=True)
                if NO_LARGER in ends:
                    found[f"{name}.at_most"] = Compared(outside, ">=", ends[NO_LARGER], outside=True, ranked=True)
        return found

    def _off_mean(self, query: int, weighted: Weighted, bits: int) -> arb:
        """|T(q_i) - row i of value|_linf."""
        return linf_norm(weighted.output_off(self.means.take_rows([query])))

    def _off_covariance(self, query: int, weighted: Weighted, bits: int) -> arb:
        """The largest entry of |Cov_q(x, y) - value_i|."""
        found = weighted.covariance(self.whose(COVARIANCE))
        stated = row_of_balls(self.asserts[COVARIANCE][COVARIANCE_VALUE].entries(query, found.nrows()))
        return linf_norm([x - y for x, y in zip(found.entries(), stated, strict=True)])

    def _off_logarithm(self, query: int, weighted: Weighted, bits: int) -> arb:
        """|log Z(q_i) - value_i|."""
        return abs(weighted.log_normaliser() - self.logarithms[query])

    def _smallest(self, query: int, weighted: Weighted, bits: int) -> arb:
        return smallest_eigenvalue(weighted.covariance(self.whose(EIGENVALUES)), bits)

    def _largest(self, query: int, weighted: Weighted, bits: int) -> arb:
        return largest_eigenvalue(weighted.covariance(self.whose(EIGENVALUES)), bits)


def _entropy(query: int, weighted: Weighted, bits: int) -> arb:
    """-sum_i p_i log p_i."""
    assert isinstance(weighted, RankedPrompt)
    return weighted.entropy()


def _outside(count: int) -> Callable[[int, Weighted, int], arb]:
    """1 less the sum of the largest p_i, of so many."""

    def value(query: int, weighted: Weighted, bits: int) -> arb:
        assert isinstance(weighted, RankedPrompt)
        return weighted.mass_outside(count)

    return value


def read(certificate: Certificate) -> AssertedMoments:
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    prompt = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    stated, count = AssertedMoments(prompt, asserts), prompt.count
    if MEAN in asserts:
        asserts[MEAN][MEAN_VALUE].require_shape(count, prompt.output_dimension, "(queries x outputs)")
    if COVARIANCE in asserts:
        sides = {"values": prompt.output_dimension, "keys": prompt.key_dimension}
        rows, columns = (sides[side] for side in COVARIANCES[stated.whose(COVARIANCE)])
        asserts[COVARIANCE][COVARIANCE_VALUE].require_shape(count, rows, columns)
    if LOG_NORMALISER in asserts:
        asserts[LOG_NORMALISER][LOG_VALUE].require_length(count, "a list of one number per query")
    for ends in asserts.items(TOP):
        if ends[COUNT] > prompt.length:
            raise ends.node(COUNT).malformed(f"at most {prompt.length}, the number of tokens")
    for compared in stated.compared.values():
        compared.bound.require_count(count)
    return stated


def read_given(certificate: Certificate) -> StatedPrompt:
    """The section `given` alone. Raises MalformedError."""
    return read_prompt(*GIVEN.read(certificate.given, certificate.reading))


def obligations(stated: AssertedMoments) -> Iterator[Obligation]:
    enclosed, tiers = _enclosed(stated), stated.prompt.tiers
    for name, each in stated.compared.items():
        own = each.tiers(tiers)
        for i in range(stated.prompt.count):
            left = enclosed.side(_as_it_is, (name, i), tiers=own)
            yield Obligation(f"{name}[{i}]", left, each.relation, each.right(i))


def _as_it_is(value: arb) -> arb:
    return value


_Item = tuple[str, int]


def _enclosed(stated: AssertedMoments) -> Together[_Item, arb]:
    """The left sides, by name and query: what a query is asked for takes its softmax weights once."""
    compared = stated.compared

    def compute(items: Collection[_Item], tier: Tier | None) -> Mapping[_Item, arb]:
        asked: dict[int, list[str]] = {i: [] for i in sorted({i for _, i in items})}
        for name, i in items:
            asked[i].append(name)
        whose = {of for name in {name for name, _ in items} if (of := compared[name].of) is not None}
        weigh, bits = _weighed(stated.prompt, list(asked), whose, tier), ctx.prec if tier is None else DOUBLE
        return {
            (name, i): compared[name].value(i, weighted, bits)
            for (i, names), weighted in zip(asked.items(), weigh, strict=True)
            for name in names
        }

    return Together(compute)


def _weighed(prompt: StatedPrompt, rows: Sequence[int], of: Collection[str], tier: Tier | None) -> Iterator[Weighted]:
    """The prompt as these queries weigh it, with the covariances that are wanted."""
    if tier is None:
        return weighted_queries(prompt, rows)
    return weighted_in_binary64(prompt, rows, of) if tier is DEFAULT else tightly_weighted(prompt, rows)


def weighted_queries(prompt: StatedPrompt, rows: Sequence[int]) -> Iterator[RankedPrompt]:
    """The prompt under the softmax weights of these queries, at the working precision."""
    return ranked_prompts(prompt.exact, prompt.stated_queries.take_rows(rows) @ prompt.query_map.T)


# -- in binary64, imported where it is tried: the same balls, wider, much faster

# Queries in one pass where covariances are wanted: each takes a matrix.
_QUERIES_AT_ONCE = 64


@dataclass(frozen=True)
class StoredWeighted:
    """What is known of the prompt under the weights of a query, as balls."""

    means: Sequence[arb]
    logarithm: arb
    covariances: Mapping[str, arb_mat]

    @classmethod
    def of(cls, plain: Moments, covariances: Mapping[str, Moments], query: int) -> StoredWeighted:
        """One query of moments, with the covariances of others, by whose they are."""
        from certattn.fast.balls import Ball, arb_balls, arb_table

        found = {whose: arb_mat(arb_table(moments.covariances[query])) for whose, moments in covariances.items()}
        means = arb_balls(Ball(plain.means.middle[query], plain.means.radius[query]))
        return cls(means, plain.log_normaliser(query), found)

    def output_off(self, stated: ExactMatrix) -> list[arb]:
        """T(q) - stated."""
        return [mean - value for mean, value in zip(self.means, row_of_balls(stated.row(0)), strict=True)]

    def log_normaliser(self) -> arb:
        """log Z(q)."""
        return self.logarithm

    def covariance(self, of: str) -> arb_mat:
        """Cov(x, y)."""
        return self.covariances[of]


# A prompt under the softmax weights of a query, in one arithmetic or another.
Weighted = WeightedPrompt | StoredWeighted


def tightly_weighted(prompt: StatedPrompt, rows: Sequence[int]) -> Iterator[StoredWeighted]:
    """The prompt as these queries weigh it, by the tight tier, without covariances. Raises Binary64Error."""
    from certattn.fast.tight import tight_moments
    from certattn.kernel.given.stored_prompts import naming_its_infinities, stored_prompt

    stored = stored_prompt(prompt)
    with naming_its_infinities(prompt):
        for row in rows:
            yield StoredWeighted.of(tight_moments(stored, prompt.stated_queries.take_rows([row])), {}, 0)


def weighted_in_binary64(prompt: StatedPrompt, rows: Sequence[int], of: Collection[str]) -> Iterator[StoredWeighted]:
    """The prompt as these queries weigh it, with the covariances that are wanted. Raises Binary64Error."""
    from certattn.kernel.given.stored_prompts import naming_its_infinities, stored_prompt

    stored = stored_prompt(prompt)
    step = _QUERIES_AT_ONCE if of else len(rows)
    for first in range(0, len(rows), step):
        stated = prompt.stated_queries.take_rows(rows[first : first + step])
        with naming_its_infinities(prompt):
            found = {whose: stored.moments(stated, whose) for whose in sorted(of)}
            # The means of the values come with every pass but that over keys alone.
            passes = [moments for whose, moments in found.items() if whose != "keys"]
            plain = passes[0] if passes else stored.moments(stated)
        for index in range(stated.rows):
            yield StoredWeighted.of(plain, found, index)


THEOREM = Theorem(
    name="softmax-mean",
    title="the softmax mean of a prompt at stated queries, its covariance, and how its weights spread",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
