"""Theorem `output-deviation`: how far a concrete prompt's attention is from its infinite-prompt limit.

Given a prompt (keys k_i and values v_i, or tokens x_i with K, Q, V), queries and a scale s,

    T(q) = sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>},

and a limit operator T_inf, one of

    empirical   v_bar + s Cov(v, k) q, the infinite-prompt operator of a Gaussian with the prompt's
                own moments (Cov divides by the number of tokens)
    affine      offset + scale * matrix z, any stated numbers
    law         T[mu] for a law mu of tokens (of the joint (key, value) where a prompt is given so)

a certificate asserts, with |.| the l2 or linf norm, one or more of

    at_most            |T(q) - T_inf(q)| <= r           for every listed query, or every query of a region
    at_least           |T(q) - T_inf(q)| >= r           for some listed query, or some query of a region
    relative_at_most   |T(q) - T_inf(q)| <= r |T(q)|    for every listed query
    per_query          the first three, with a bound for each listed query

With `causal: c` query i sees the first c + i tokens alone: T is the attention over these, and the empirical limit
has their moments. Over a region (a ball, a box, a convex hull: `query_regions`) T_inf must be an affine map.

Boursier and Boyer 2026, section 2: the finite and the infinite prompt, here for given numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Gathered, NoProof, Obligation, Tier, Together
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Record, Values
from certattn.kernel.given.attention_inputs import read_scale
from certattn.kernel.given.causal import seen_tokens
from certattn.kernel.given.prompt_inputs import StatedPrompt, read_prompt
from certattn.kernel.given.tiers import TIGHT, tiers_of
from certattn.kernel.mathematics.balls import NORMS, linf_norm, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix, covariance
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.deviation_bounds import DEVIATION, Bounds, read_bounds
from certattn.kernel.theorems.attention.deviation_inputs import (
    GIVEN,
    LIMIT,
    LIMIT_MATRIX,
    LIMIT_OFFSET,
    TOKEN_LAW,
    read_queries,
    read_sight,
)
from certattn.kernel.theorems.attention.mathematics.mean_value import Deviation
from certattn.kernel.theorems.attention.query_regions import CELLS, QUERY, WEIGHTS, StatedRegion
from certattn.kernel.theorems.attention.region_bounds import RegionBounds

ASSERTS = Record(DEVIATION)
WITNESS = Record(BITS, CELLS, QUERY, WEIGHTS)


@dataclass(frozen=True)
class AssertedDeviation:
    """A prompt with its queries or a region of them, the limit it is compared with, and the asserted bounds."""

    prompt: StatedPrompt
    limit_kind: str
    limit_values: Values
    bounds: Bounds
    region: StatedRegion | None = None
    causal: int | None = None

    @property
    def count(self) -> int:
        """The number of listed queries."""
        return self.prompt.count

    @property
    def tiers(self) -> Sequence[Tier]:
        """The tiers of binary64 that it can be computed in, the fastest first; over a region there is Arb alone."""
        if self.region is not None:
            return ()
        # Covariances, which the empirical limit takes, have no tight tier; nor have masks.
        only = self.limit_kind == "empirical" or self.causal is not None
        return tiers_of(self.prompt)[: 1 if only else None]

    @cached_property
    def limit(self) -> AffineMap | Operator:
        """T_inf as a map of the stated queries, with exact parameters."""
        values = self.limit_values
        if self.limit_kind == "affine":
            return AffineMap(values[LIMIT_MATRIX].load(), values[LIMIT_OFFSET].load(), read_scale(values))
        if self.limit_kind == "law":
            operator = self.prompt.operator(values[TOKEN_LAW].law)
            return operator.affine() or operator
        return self._own_moments(self.prompt.exact)

    def _own_moments(self, exact: Prompt) -> AffineMap:
        """The empirical limit of a prompt."""
        slope = covariance(exact.values, exact.keys) @ self.prompt.query_map
        return AffineMap(slope, exact.values.mean_row(), self.prompt.scale)

    def deviations(self, rows: Sequence[int]) -> list[arb]:
        """|T(q) - T_inf(q)| for these listed queries, at the working precision."""
        return [deviation for deviation, _ in self.compared(rows)]

    def compared(self, rows: Sequence[int]) -> list[tuple[arb, arb]]:
        """|T(q) - T_inf(q)| and |T(q)| for these listed queries; the second is 0 where nothing is relative to it."""
        stated = self.prompt.stated_queries
        if self.causal is None:
            return self._compared(self.prompt.exact, self.limit, stated.take_rows(rows))
        found, seen = [], seen_tokens(self.prompt, self.causal)
        for row in rows:
            prefix = self.prompt.exact.first(seen[row])
            limit = self._own_moments(prefix) if self.limit_kind == "empirical" else self.limit
            found += self._compared(prefix, limit, stated.take_rows([row]))
        return found

    def deviations_at(self, stated: ExactMatrix) -> list[arb]:
        """|T(q) - T_inf(q)| for any queries, one per row, that see the whole prompt."""
        return [deviation for deviation, _ in self._compared(self.prompt.exact, self.limit, stated)]

    def _compared(self, exact: Prompt, limit: AffineMap | Operator, stated: ExactMatrix) -> list[tuple[arb, arb]]:
        norm = NORMS[self.bounds.norm]
        if self.bounds.are_relative is not True:
            return [(norm(difference), arb(0)) for difference in differences(self.prompt, exact, limit, stated)]
        mean = row_of_balls(exact.values.mean_row().row(0))
        found = []
        for difference, finite in compared_to_mean(self.prompt, exact, limit, stated):
            found.append((norm(difference), norm([x + m for x, m in zip(finite, mean, strict=True)])))
        return found

    @cached_property
    def over_region(self) -> RegionBounds:
        """The same over the region, where T_inf is affine."""
        assert self.region is not None
        assert isinstance(self.limit, AffineMap)
        bounds, deviation = self.bounds, Deviation(self.prompt.seen_by_queries(), self.limit)
        return RegionBounds(self.region, deviation, self.deviations_at, bounds)


def differences(
    prompt: StatedPrompt, exact: Prompt, limit: AffineMap | Operator, stated: ExactMatrix
) -> list[list[arb]]:
    """T(q) - T_inf(q) for every row q of `stated`, at the working precision."""
    return [difference for difference, _ in compared_to_mean(prompt, exact, limit, stated)]


def compared_to_mean(
    prompt: StatedPrompt, exact: Prompt, limit: AffineMap | Operator, stated: ExactMatrix
) -> list[tuple[list[arb], list[arb]]]:
    """T(q) - T_inf(q) and T(q) - v_bar for every row q of `stated`, at the working precision.

    Both sides are taken relative to the mean value, so what agrees exactly cancels exactly.
    """
    finite = exact.outputs_from_mean(stated @ prompt.query_map.T)
    infinite = limit.from_point(exact.values.mean_row(), stated)
    gaps = [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(finite, infinite, strict=True)]
    return list(zip(gaps, finite, strict=True))


# |T(q) - T_inf(q)| and |T(q)|.
_Pair = tuple[arb, arb]


def obligations(stated: AssertedDeviation) -> Iterator[Obligation | NoProof]:
    if stated.region is not None:
        yield from stated.over_region.obligations()
        return
    bounds, queries, tiers = stated.bounds, range(stated.count), stated.tiers
    pairs = _pairs(stated)

    def deviation(i: int) -> Gathered[int, _Pair]:
        return pairs.side(_deviation, i, tiers=tiers)

    def times_size(factor: fmpq, i: int) -> Gathered[int, _Pair]:
        return pairs.side(lambda pair: factor * pair[1], i, tiers=tiers)

    if bounds.at_most is not None:
        yield from (Obligation(f"at_most[{i}]", deviation(i), "<=", bounds.at_most) for i in queries)
    if bounds.at_least is not None:
        yield Obligation("at_least", pairs.side(_largest, *queries, tiers=tiers), ">=", bounds.at_least)
    if bounds.relative is not None:
        for i in queries:
            yield Obligation(f"relative_at_most[{i}]", deviation(i), "<=", times_size(bounds.relative, i))
    for i, bound in enumerate(bounds.each_at_most or ()):
        yield Obligation(f"per_query.at_most[{i}]", deviation(i), "<=", bound)
    for i, bound in enumerate(bounds.each_at_least or ()):
        yield Obligation(f"per_query.at_least[{i}]", deviation(i), ">=", bound)
    for i, factor in enumerate(bounds.each_relative or ()):
        yield Obligation(f"per_query.relative_at_most[{i}]", deviation(i), "<=", times_size(factor, i))


def _deviation(pair: _Pair) -> arb:
    return pair[0]


def _largest(*pairs: _Pair) -> arb:
    return linf_norm([deviation for deviation, _ in pairs])


def _pairs(stated: AssertedDeviation) -> Together[int, _Pair]:
    """Deviations and sizes by query."""

    def compute(queries: Collection[int], tier: Tier | None) -> Mapping[int, _Pair]:
        rows = sorted(queries)
        if tier is None:
            return dict(zip(rows, stated.compared(rows), strict=True))
        from certattn.kernel.theorems.attention.deviation_binary64 import compared

        return dict(zip(rows, compared(stated, rows, tight=tier is TIGHT), strict=True))

    return Together(compute)


def read(certificate: Certificate) -> AssertedDeviation:
    reading = certificate.reading
    form, given = GIVEN.read(certificate.given, reading)
    prompt = read_prompt(form, given)
    kind, values = given[LIMIT]
    if kind == "affine":
        outputs, inputs = prompt.output_dimension, prompt.query_dimension
        values[LIMIT_MATRIX].require_shape(outputs, inputs, "(outputs x queries)")
        values[LIMIT_OFFSET].require_length(outputs, "an output")
    if kind == "law" and values[TOKEN_LAW].dimension != prompt.law_dimension:
        law = values[TOKEN_LAW]
        what = "a token" if prompt.weights is not None else "key and value side by side"
        raise law.node.malformed(f"a law in dimension {prompt.law_dimension}, that of {what}", law.words)
    deviation = ASSERTS.read(certificate.asserts, reading)[DEVIATION]
    witness = WITNESS.read(certificate.witness, reading) if certificate.witness is not None else None
    region = read_queries(given, prompt.query_dimension, deviation, witness)
    bounds = read_bounds(deviation, prompt.count)
    stated = AssertedDeviation(prompt, kind, values, bounds, region, read_sight(given, prompt))
    if region is not None and kind == "law" and not isinstance(stated.limit, AffineMap):
        expected = "over a region, a law for which attention is proved to be an affine map"
        raise values[TOKEN_LAW].node.malformed(expected, values[TOKEN_LAW].words)
    return stated


THEOREM = Theorem(
    name="output-deviation",
    title="how far softmax attention over a concrete prompt is from its infinite-prompt limit",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
