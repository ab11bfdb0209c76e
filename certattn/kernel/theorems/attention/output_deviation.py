"""Claim `output-deviation`: how far a concrete prompt's attention is from its infinite-prompt limit.

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

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from certattn.kernel.decide.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.decide.verdict import DOUBLE, Obligation, at_least, at_most, show
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Count, Field, Record, Values
from certattn.kernel.given.attention_inputs import read_scale
from certattn.kernel.given.causal import seen_tokens, sight_words
from certattn.kernel.given.prompt_inputs import TIGHT_TIER, StatedPrompt, read_prompt
from certattn.kernel.mathematics.balls import ARB, NORMS, linf_norm, row_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix, covariance
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.deviation_bounds import DEVIATION, Bounds, read_bounds, worst_relative
from certattn.kernel.theorems.attention.deviation_inputs import (
    GIVEN,
    LIMIT,
    LIMIT_MATRIX,
    LIMIT_OFFSET,
    TOKEN_LAW,
    limit_words,
    read_queries,
    read_sight,
)
from certattn.kernel.theorems.attention.mathematics.mean_value import Deviation
from certattn.kernel.theorems.attention.query_regions import CELLS, QUERY, WEIGHTS, StatedRegion
from certattn.kernel.theorems.attention.region_bounds import RegionBounds, region_names

BITS = Field("bits", Count(2), "working precision at which to begin", required=False)


@dataclass(frozen=True)
class Problem:
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


class OutputDeviation(Claim[Problem]):
    name = "output-deviation"
    title = "how far softmax attention over a concrete prompt is from its infinite-prompt limit"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(DEVIATION)
    witness = Record(BITS, CELLS, QUERY, WEIGHTS)

    def read(self, certificate: Certificate) -> Problem:
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
        deviation = self.asserts.read(certificate.asserts, reading)[DEVIATION]
        region = read_queries(given, prompt.query_dimension, deviation, self._witness(certificate))
        bounds = read_bounds(deviation, prompt.count)
        problem = Problem(prompt, kind, values, bounds, region, read_sight(given, prompt))
        if region is not None and kind == "law" and not isinstance(problem.limit, AffineMap):
            expected = "over a region, a law for which attention is proved to be an affine map"
            raise values[TOKEN_LAW].node.malformed(expected, values[TOKEN_LAW].words)
        return problem

    def _witness(self, certificate: Certificate) -> Values | None:
        if certificate.witness is None:
            return None
        return self.witness.read(certificate.witness, certificate.reading)

    def first_bits(self, certificate: Certificate) -> int | None:
        witness = self._witness(certificate)
        return witness.get(BITS) if witness is not None else None

    def statement(self, problem: Problem) -> Statement:
        region = problem.region
        queries = f"each of {problem.count} queries" if problem.count > 1 else "one query"
        sight = sight_words(problem.prompt, problem.causal)
        limit = limit_words(problem.limit_kind, problem.limit_values, problem.causal)
        words = (
            f"For {queries if region is None else region.words()} and a prompt of {problem.prompt.words()}{sight}, "
            f"the {problem.bounds.norm} distance between softmax attention T(q) and {limit} "
            f"is {problem.bounds.words()}."
        )
        query, among = ("q_i", "i") if region is None else ("q", f"{{{region.latex()}}}")
        return Statement(words, problem.bounds.latex(query, among))

    def names(self, problem: Problem) -> list[str]:
        if problem.region is not None:
            return region_names(problem.region, problem.bounds)
        bounds, queries = problem.bounds, range(problem.count)
        names = [f"at_most[{i}]" for i in queries] if bounds.at_most is not None else []
        names += ["at_least"] if bounds.at_least is not None else []
        names += [f"relative_at_most[{i}]" for i in queries] if bounds.relative is not None else []
        names += [f"per_query.at_most[{i}]" for i in queries] if bounds.each_at_most is not None else []
        names += [f"per_query.at_least[{i}]" for i in queries] if bounds.each_at_least is not None else []
        names += [f"per_query.relative_at_most[{i}]" for i in queries] if bounds.each_relative is not None else []
        return names

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        if problem.region is not None:
            return problem.over_region.prove(names, bits)
        return self._compare(problem, names, problem.compared, bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        # Over a region there is Arb alone.
        if problem.region is not None:
            return ()
        # Covariances, which the empirical limit takes, have no tight tier; nor have masks.
        only = problem.limit_kind == "empirical" or problem.causal is not None
        return problem.prompt.tiers[:1] if only else problem.prompt.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64
        from certattn.kernel.theorems.attention.deviation_binary64 import compared

        tight = tier == TIGHT_TIER
        with working_precision(AFTER_BINARY64):
            return self._compare(problem, names, lambda rows: compared(problem, rows, tight=tight), DOUBLE, BINARY64)

    def _compare(
        self,
        problem: Problem,
        names: Collection[str],
        compared: Callable[[Sequence[int]], list[tuple[arb, arb]]],
        bits: int,
        arithmetic: str,
    ) -> list[Obligation]:
        """The named obligations, from enclosures of the deviations at the queries they speak of."""
        bounds, wanted = problem.bounds, frozenset(names)
        rows = list(range(problem.count)) if "at_least" in wanted else _rows(problem.count, wanted)
        pairs = dict(zip(rows, compared(rows), strict=True))
        distance, base = f"|T(q) - T_inf(q)|_{bounds.norm}", (bits, arithmetic)
        found: list[Obligation] = []
        for i, (deviation, size) in pairs.items():
            sentence = f"{distance} at query {i}"
            if bounds.at_most is not None:
                found.append(at_most(f"at_most[{i}]", sentence, deviation, bounds.at_most, *base))
            if bounds.each_at_most is not None:
                found.append(at_most(f"per_query.at_most[{i}]", sentence, deviation, bounds.each_at_most[i], *base))
            if bounds.each_at_least is not None:
                found.append(at_least(f"per_query.at_least[{i}]", sentence, deviation, bounds.each_at_least[i], *base))
            each = bounds.each_relative[i] if bounds.each_relative is not None else None
            for kind, factor in (("", bounds.relative), ("per_query.", each)):
                if factor is not None:
                    scaled = f"{sentence}, at most {show(factor)} |T(q)|_{bounds.norm}"
                    found.append(at_most(f"{kind}relative_at_most[{i}]", scaled, deviation, factor * size, *base))
        if bounds.at_least is not None and "at_least" in wanted:
            largest = linf_norm([deviation for deviation, _ in pairs.values()])
            found.append(at_least("at_least", f"the largest {distance}", largest, bounds.at_least, *base))
        return [obligation for obligation in found if obligation.name in wanted]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        if problem.region is not None:
            return problem.over_region.findings()
        bound, worst = problem.bounds.at_most, None
        for obligation in obligations:
            enclosure = obligation.left
            if not isinstance(enclosure, arb) or not obligation.name.startswith("at_most["):
                continue
            if worst is None or enclosure.upper() > worst[0].upper():
                worst = enclosure, obligation.name.removeprefix("at_most")
        found = []
        if worst is not None and bound is not None:
            slack = (bound - worst[0]).lower().str(3, radius=False)
            found.append(f"worst query {worst[1]}: deviation {show(worst[0])}, slack {slack}")
        return found + worst_relative(problem.bounds, obligations)


def _rows(count: int, names: frozenset[str]) -> list[int]:
    everywhere = ("at_most", "at_least", "relative_at_most")
    kinds = (*everywhere, *(f"per_query.{kind}" for kind in everywhere))
    return [i for i in range(count) if any(f"{kind}[{i}]" in names for kind in kinds)]


CLAIM = OutputDeviation()
