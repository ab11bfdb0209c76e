"""Claim `output-deviation`: how far a concrete prompt's attention is from its infinite-prompt limit.

Given a prompt (keys k_i and values v_i, or tokens x_i with K, Q, V), queries and a scale s,

    T(q) = sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>},

and a limit operator T_inf, one of

    empirical   v_bar + s Cov(v, k) q, the infinite-prompt operator of a Gaussian with the prompt's
                own moments (Cov divides by the number of tokens)
    affine      offset + scale * matrix z, any stated numbers
    law         T[mu] for a law mu of tokens (of the joint (key, value) where a prompt is given so)

a certificate asserts, with |.| the l2 or linf norm, one or more of

    at_most     |T(q) - T_inf(q)| <= r    for every listed query, or every query of a region
    at_least    |T(q) - T_inf(q)| >= r    for some listed query, or some query of a region
    per_query   the same two, with a bound for each listed query

Over a region (a ball, a box, a convex hull: `query_regions`) T_inf must be an affine map.

Boursier and Boyer 2026, section 2: the finite and the infinite prompt, here for given numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from certattn.kernel.arithmetic.balls import ARB, NORMS, linf_norm
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix, covariance
from certattn.kernel.arithmetic.mean_value import Deviation
from certattn.kernel.arithmetic.operator import AffineMap, Operator
from certattn.kernel.arithmetic.reals import describe
from certattn.kernel.arithmetic.softmax import Prompt
from certattn.kernel.claims.attention_inputs import LAW, SCALE, read_scale
from certattn.kernel.claims.claim import Claim, Statement
from certattn.kernel.claims.deviation_bounds import DEVIATION, PER_QUERY, Bounds, read_bounds
from certattn.kernel.claims.prompt_inputs import (
    OPTIONAL_QUERIES,
    QUERIES,
    TIGHT_TIER,
    StatedPrompt,
    prompt_forms,
    read_prompt,
)
from certattn.kernel.claims.query_regions import CELLS, QUERY, REGION, WEIGHTS, StatedRegion, read_region
from certattn.kernel.claims.region_bounds import RegionBounds, region_names
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Count, Field, Record, Values
from certattn.kernel.document.forms import Variant
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.verdict import DOUBLE, Obligation, at_least, at_most, show

LIMIT_MATRIX = Field("matrix", Matrix(), "matrix of the affine map")
LIMIT_OFFSET = Field("offset", Vector(), "offset of the affine map")
TOKEN_LAW = Field("law", LAW, "law of tokens, or of key and value side by side")
LIMIT = Field(
    "limit",
    Variant(
        "kind",
        {
            "empirical": Record(),
            "affine": Record(LIMIT_MATRIX, LIMIT_OFFSET, SCALE),
            "law": Record(TOKEN_LAW),
        },
    ),
    "what the prompt is compared with",
)
GIVEN = prompt_forms(REGION, LIMIT, queries=OPTIONAL_QUERIES)

BITS = Field("bits", Count(2), "working precision at which to begin", required=False)


@dataclass(frozen=True)
class Problem:
    """A prompt with its queries or a region of them, the limit it is compared with, and the asserted bounds."""

    prompt: StatedPrompt
    limit_kind: str
    limit_values: Values
    bounds: Bounds
    region: StatedRegion | None = None

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
        exact = self.prompt.exact
        slope = covariance(exact.values, exact.keys) @ self.prompt.query_map
        return AffineMap(slope, exact.values.mean_row(), self.prompt.scale)

    def deviations(self, rows: Sequence[int]) -> list[arb]:
        """|T(q) - T_inf(q)| for these listed queries, at the working precision."""
        return self._deviations(self.prompt.exact, self.prompt.stated_queries.take_rows(rows))

    def deviations_at(self, stated: ExactMatrix) -> list[arb]:
        """The same for any queries, one per row."""
        return self._deviations(self.prompt.exact, stated)

    def _deviations(self, exact: Prompt, stated: ExactMatrix) -> list[arb]:
        norm = NORMS[self.bounds.norm]
        return [norm(difference) for difference in differences(self.prompt, exact, self.limit, stated)]

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
    """T(q) - T_inf(q) for every row q of `stated`, at the working precision.

    Both sides are taken relative to the mean value, so what agrees exactly cancels exactly.
    """
    finite = exact.outputs_from_mean(stated @ prompt.query_map.T)
    infinite = limit.from_point(exact.values.mean_row(), stated)
    return [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(finite, infinite, strict=True)]


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
        region = _read_region(given, prompt.query_dimension, deviation, self._witness(certificate))
        problem = Problem(prompt, kind, values, read_bounds(deviation, prompt.count), region)
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
        words = (
            f"For {queries if region is None else region.words()} and a prompt of {problem.prompt.words()}, "
            f"the {problem.bounds.norm} distance between softmax attention T(q) and {self._limit_words(problem)} "
            f"is {problem.bounds.words()}."
        )
        query, among = ("q_i", "i") if region is None else ("q", f"{{{region.latex()}}}")
        return Statement(words, problem.bounds.latex(query, among))

    def _limit_words(self, problem: Problem) -> str:
        if problem.limit_kind == "affine":
            offset, matrix = problem.limit_values[LIMIT_OFFSET], problem.limit_values[LIMIT_MATRIX]
            scale = read_scale(problem.limit_values)
            factor = "" if scale == 1 else f"{describe(scale)} * "
            return f"the affine map {offset.words()} + {factor}A q with A = {matrix.words()}"
        if problem.limit_kind == "law":
            return f"attention over an infinite prompt of {problem.limit_values[TOKEN_LAW].words}"
        return "the linear map v_bar + scale * Cov(v, k) q with the prompt's own moments"

    def names(self, problem: Problem) -> list[str]:
        if problem.region is not None:
            return region_names(problem.region, problem.bounds)
        bounds, queries = problem.bounds, range(problem.count)
        names = [f"at_most[{i}]" for i in queries] if bounds.at_most is not None else []
        names += ["at_least"] if bounds.at_least is not None else []
        names += [f"per_query.at_most[{i}]" for i in queries] if bounds.each_at_most is not None else []
        names += [f"per_query.at_least[{i}]" for i in queries] if bounds.each_at_least is not None else []
        return names

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        if problem.region is not None:
            return problem.over_region.prove(names, bits)
        return self._compare(problem, names, problem.deviations, bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        # Over a region there is Arb alone.
        if problem.region is not None:
            return ()
        # The empirical limit takes a covariance, and covariances have no tight tier.
        return problem.prompt.tiers[:1] if problem.limit_kind == "empirical" else problem.prompt.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.kernel.arithmetic.binary64.attention import BINARY64
        from certattn.kernel.claims.deviation_binary64 import deviations

        tight = tier == TIGHT_TIER
        return self._compare(problem, names, lambda rows: deviations(problem, rows, tight=tight), DOUBLE, BINARY64)

    def _compare(
        self,
        problem: Problem,
        names: Collection[str],
        deviations_at: Callable[[Sequence[int]], list[arb]],
        bits: int,
        arithmetic: str,
    ) -> list[Obligation]:
        """The named obligations, from enclosures of the deviations at the queries they speak of."""
        bounds, wanted = problem.bounds, frozenset(names)
        rows = list(range(problem.count)) if "at_least" in wanted else _rows(problem.count, wanted)
        deviations = dict(zip(rows, deviations_at(rows), strict=True))
        distance, base = f"|T(q) - T_inf(q)|_{bounds.norm}", (bits, arithmetic)
        found: list[Obligation] = []
        for i, deviation in deviations.items():
            sentence = f"{distance} at query {i}"
            if bounds.at_most is not None:
                found.append(at_most(f"at_most[{i}]", sentence, deviation, bounds.at_most, *base))
            if bounds.each_at_most is not None:
                found.append(at_most(f"per_query.at_most[{i}]", sentence, deviation, bounds.each_at_most[i], *base))
            if bounds.each_at_least is not None:
                found.append(at_least(f"per_query.at_least[{i}]", sentence, deviation, bounds.each_at_least[i], *base))
        if bounds.at_least is not None and "at_least" in wanted:
            largest = linf_norm(list(deviations.values()))
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
        if worst is None or bound is None:
            return []
        slack = (bound - worst[0]).lower().str(3, radius=False)
        return [f"worst query {worst[1]}: deviation {show(worst[0])}, slack {slack}"]


def _rows(count: int, names: frozenset[str]) -> list[int]:
    kinds = ("at_most", "per_query.at_most", "per_query.at_least")
    return [i for i in range(count) if any(f"{kind}[{i}]" in names for kind in kinds)]


def _read_region(given: Values, dimension: int, deviation: Values, witness: Values | None) -> StatedRegion | None:
    """The region, if there is one in the place of listed queries."""
    if QUERIES in given and REGION in given:
        raise given.node(REGION).malformed("queries or a region, not both")
    if REGION in given:
        if PER_QUERY in deviation:
            raise deviation.node(PER_QUERY).malformed("at_most or at_least: a region lists no queries")
        return read_region(given[REGION], dimension, witness)
    if QUERIES not in given:
        raise given.at.malformed("queries, or a region of them", "no 'queries' and no 'region'")
    for field in (CELLS, QUERY, WEIGHTS):
        if witness is not None and field in witness:
            raise witness.node(field).malformed(f"{field.name} only where a region is given")
    return None


CLAIM = OutputDeviation()
