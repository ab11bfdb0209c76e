"""Claim `output-deviation`: how far a concrete prompt's attention is from its infinite-prompt limit.

Given a prompt (keys k_i and values v_i, or tokens x_i with K, Q, V), queries and a scale s,

    T(q) = sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>},

and a limit operator T_inf, one of

    empirical   v_bar + s Cov(v, k) q, the infinite-prompt operator of a Gaussian with the prompt's
                own moments (Cov divides by the number of tokens)
    affine      offset + scale * matrix z, any stated numbers
    law         T[mu] for a law mu of tokens (of the joint (key, value) where a prompt is given so)

a certificate asserts, with |.| the l2 or linf norm, one or more of

    at_most     |T(q) - T_inf(q)| <= r    for every listed query
    at_least    |T(q) - T_inf(q)| >= r    for some listed query
    per_query   the same two, with a bound for each query

Boursier and Boyer 2026, section 2: the finite and the infinite prompt, here for given numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import ARB, NORMS, linf_norm
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix, covariance
from certattn.kernel.arithmetic.operator import AffineMap, Operator
from certattn.kernel.arithmetic.reals import describe
from certattn.kernel.claims.attention_inputs import LAW, SCALE, read_scale
from certattn.kernel.claims.claim import Claim, Statement
from certattn.kernel.claims.prompt_inputs import TIGHT_TIER, StatedPrompt, prompt_forms, read_prompt
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Count, Field, Rational, Record, Values, Variant
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
GIVEN = prompt_forms(LIMIT)

NORM = Field("norm", Choice(tuple(NORMS)), "the norm of the deviation")
AT_MOST = Field("at_most", Rational(minimum=0), "no listed query deviates by more", required=False)
AT_LEAST = Field("at_least", Rational(minimum=0), "some listed query deviates by at least this", required=False)
EACH_AT_MOST = Field("at_most", Vector(), "an upper bound for each query", required=False)
EACH_AT_LEAST = Field("at_least", Vector(), "a lower bound for each query", required=False)
PER_QUERY = Field("per_query", Record(EACH_AT_MOST, EACH_AT_LEAST), "bounds query by query", required=False)
DEVIATION = Field("deviation", Record(NORM, AT_MOST, AT_LEAST, PER_QUERY), "bounds on |T(q) - T_inf(q)|")
BITS = Field("bits", Count(2), "working precision at which to begin", required=False)


@dataclass(frozen=True)
class Bounds:
    """What is asserted; `each_*` hold one bound per query, and None stands for nothing."""

    norm: str
    at_most: fmpq | None
    at_least: fmpq | None
    each_at_most: list[fmpq] | None
    each_at_least: list[fmpq] | None


@dataclass(frozen=True)
class Problem:
    """A prompt with its queries, the limit it is compared with, and the asserted bounds."""

    prompt: StatedPrompt
    limit_kind: str
    limit_values: Values
    bounds: Bounds

    @property
    def count(self) -> int:
        """The number of queries."""
        return self.prompt.queries.shape[0]

    @cached_property
    def limit(self) -> AffineMap | Operator:
        """T_inf as a map of the stated queries, with exact parameters."""
        values = self.limit_values
        if self.limit_kind == "affine":
            return AffineMap(values[LIMIT_MATRIX].load(), values[LIMIT_OFFSET].load(), read_scale(values))
        if self.limit_kind == "law":
            return self.prompt.operator(values[TOKEN_LAW].law)
        exact = self.prompt.exact
        slope = covariance(exact.values, exact.keys) @ self.prompt.query_map
        return AffineMap(slope, exact.values.mean_row(), self.prompt.scale)

    def deviations(self, rows: Sequence[int]) -> list[arb]:
        """|T(q) - T_inf(q)| for these queries, at the working precision.

        Both sides are taken relative to the mean value, so what agrees exactly cancels exactly.
        """
        exact = self.prompt.exact
        stated = self.prompt.stated_queries.take_rows(rows)
        finite = exact.outputs_from_mean(stated @ self.prompt.query_map.T)
        infinite = self.limit.from_point(exact.values.mean_row(), stated)
        norm = NORMS[self.bounds.norm]
        pairs = zip(finite, infinite, strict=True)
        return [norm([x - y for x, y in zip(left, right, strict=True)]) for left, right in pairs]


class OutputDeviation(Claim[Problem]):
    name = "output-deviation"
    title = "how far softmax attention over a concrete prompt is from its infinite-prompt limit"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(DEVIATION)
    witness = Record(BITS)

    def read(self, certificate: Certificate) -> Problem:
        reading = certificate.reading
        self.first_bits(certificate)
        form, given = GIVEN.read(certificate.given, reading)
        prompt = read_prompt(form, given)
        kind, values = given[LIMIT]
        if kind == "affine":
            outputs, inputs = prompt.output_dimension, prompt.queries.shape[1]
            values[LIMIT_MATRIX].require_shape(outputs, inputs, "(outputs x queries)")
            values[LIMIT_OFFSET].require_length(outputs, "an output")
        if kind == "law" and values[TOKEN_LAW].dimension != prompt.law_dimension:
            law = values[TOKEN_LAW]
            what = "a token" if prompt.weights is not None else "key and value side by side"
            raise law.node.malformed(f"a law in dimension {prompt.law_dimension}, that of {what}", law.words)
        deviation = self.asserts.read(certificate.asserts, reading)[DEVIATION]
        return Problem(prompt, kind, values, _read_bounds(deviation, prompt.queries.shape[0]))

    def first_bits(self, certificate: Certificate) -> int | None:
        if certificate.witness is None:
            return None
        return self.witness.read(certificate.witness, certificate.reading).get(BITS)

    def statement(self, problem: Problem) -> Statement:
        bounds, norm = problem.bounds, problem.bounds.norm
        parts, latex = [], []
        distance = r"\| T(q_i) - T_\infty(q_i) \|_" + {"l2": "2", "linf": r"\infty"}[norm]
        if bounds.at_most is not None:
            parts.append(f"at most {describe(bounds.at_most)} for every query")
            latex.append(rf"\max_i {distance} \le {describe(bounds.at_most)}")
        if bounds.at_least is not None:
            parts.append(f"at least {describe(bounds.at_least)} for some query")
            latex.append(rf"\max_i {distance} \ge {describe(bounds.at_least)}")
        if bounds.each_at_most is not None:
            parts.append(f"at most the stated bound of each query, {ExactMatrix.row_vector(bounds.each_at_most)}")
            latex.append(rf"{distance} \le r_i \ \forall i")
        if bounds.each_at_least is not None:
            parts.append(f"at least the stated bound of each query, {ExactMatrix.row_vector(bounds.each_at_least)}")
            latex.append(rf"{distance} \ge s_i \ \forall i")
        queries = f"each of {problem.count} queries" if problem.count > 1 else "one query"
        words = (
            f"For {queries} and a prompt of {problem.prompt.words()}, the {norm} distance between softmax attention "
            f"T(q) and {self._limit_words(problem)} is {' and '.join(parts)}."
        )
        return Statement(words, r",\qquad ".join(latex))

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
        bounds, queries = problem.bounds, range(problem.count)
        names = [f"at_most[{i}]" for i in queries] if bounds.at_most is not None else []
        names += ["at_least"] if bounds.at_least is not None else []
        names += [f"per_query.at_most[{i}]" for i in queries] if bounds.each_at_most is not None else []
        names += [f"per_query.at_least[{i}]" for i in queries] if bounds.each_at_least is not None else []
        return names

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return self._compare(problem, names, problem.deviations, bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
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


def _read_bounds(deviation: Values, count: int) -> Bounds:
    each = deviation.get(PER_QUERY)
    upper = each.get(EACH_AT_MOST) if each is not None else None
    lower = each.get(EACH_AT_LEAST) if each is not None else None
    if each is not None and upper is None and lower is None:
        raise each.at.malformed("at_most or at_least for each query", "nothing that is asserted")
    at_most_all, at_least_some = deviation.get(AT_MOST), deviation.get(AT_LEAST)
    if at_most_all is None and at_least_some is None and each is None:
        raise deviation.at.malformed("at_most, at_least or per_query", "nothing that is asserted")
    for vector in (upper, lower):
        if vector is not None and vector.shape[1] != count:
            raise vector.node.malformed(f"{count} bounds, one per query", f"{vector.shape[1]} bounds")
    return Bounds(
        deviation[NORM],
        at_most_all,
        at_least_some,
        upper.load().row(0) if upper is not None else None,
        lower.load().row(0) if lower is not None else None,
    )


CLAIM = OutputDeviation()
