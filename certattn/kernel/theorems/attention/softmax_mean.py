"""Claim `softmax-mean`: the softmax mean of a prompt at stated queries, its covariance and its normaliser.

Given a prompt (keys k_i and values v_i, or tokens x_i with K, Q, V), queries and a scale s, put

    p_i = e^{s <q, k_i>} / Z(q),   Z(q) = sum_i e^{s <q, k_i>},   T(q) = sum_i p_i v_i,
    Cov_q(x, y) = sum_i p_i (x_i - X)(y_i - Y)'   with   X = sum_i p_i x_i,   Y = sum_i p_i y_i.

A certificate asserts, for every listed query q, one or more of

    mean            |T(q) - value|_linf <= radius
    covariance      |Cov_q(x, y) - value| <= radius in every entry
    eigenvalues     at_least <= l <= at_most for every eigenvalue l of Cov_q(x, x)
    log_normaliser  |log Z(q) - value| <= radius

where x and y are the values, the keys, or the values and the keys, as `of` says. Radii and bounds are
one number for all queries or one for each.

Boursier and Boyer 2026, section 2: the finite prompt. T and Cov_q(v, v) are the gradient and the
Hessian of a logarithm of normalisers, and the derivative of T is s Cov_q(v, k).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.decide.verdict import DOUBLE, Obligation, show
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Count, Field, Record, Values
from certattn.kernel.given.prompt_inputs import TIGHT_TIER, StatedPrompt, prompt_forms, read_prompt
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.softmax_moments import WeightedPrompt, weighted_prompts
from certattn.kernel.theorems.attention.moment_assertions import (
    COVARIANCE,
    COVARIANCE_RECORD,
    EIGENVALUES,
    EIGENVALUES_RECORD,
    LOG_NORMALISER,
    LOG_RECORD,
    MEAN,
    MEAN_RECORD,
    Assertion,
    CovarianceAssertion,
    LogAssertion,
    MeanAssertion,
    RangeAssertion,
)

GIVEN = prompt_forms()
BITS = Field("bits", Count(2), "working precision at which to begin", required=False)

# What may be asserted, and how each is read.
_ASSERTIONS: dict[Field[Values], Callable[[Values, StatedPrompt], Assertion]] = {
    Field(MEAN, MEAN_RECORD, "the softmax means of the values", required=False): MeanAssertion,
    Field(COVARIANCE, COVARIANCE_RECORD, "covariances under the softmax weights", required=False): CovarianceAssertion,
    Field(EIGENVALUES, EIGENVALUES_RECORD, "the range of their eigenvalues", required=False): RangeAssertion,
    Field(LOG_NORMALISER, LOG_RECORD, "the logarithms of Z(q)", required=False): LogAssertion,
}


@dataclass(frozen=True)
class Problem:
    """A prompt with its queries, and what is asserted of it."""

    prompt: StatedPrompt
    assertions: Sequence[Assertion]

    @property
    def count(self) -> int:
        """The number of queries."""
        return self.prompt.count

    @property
    def kinds(self) -> list[tuple[str, Assertion]]:
        """What there is to prove at each query, by the first part of its name."""
        return [(kind, assertion) for assertion in self.assertions for kind in assertion.kinds]


def weighted_queries(prompt: StatedPrompt, rows: Sequence[int]) -> Iterator[WeightedPrompt]:
    """The prompt under the softmax weights of these queries, at the working precision."""
    return weighted_prompts(prompt.exact, prompt.stated_queries.take_rows(rows) @ prompt.query_map.T)


class SoftmaxMean(Claim[Problem]):
    name = "softmax-mean"
    title = "the softmax mean of a prompt at stated queries, its covariance and its normaliser"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(*_ASSERTIONS)
    witness = Record(BITS)

    def read(self, certificate: Certificate) -> Problem:
        self.first_bits(certificate)
        prompt = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        found = [read(asserts[field], prompt) for field, read in _ASSERTIONS.items() if field in asserts]
        if not found:
            raise asserts.at.malformed(" or ".join(self.asserts.fields), "nothing that is asserted")
        return Problem(prompt, found)

    def read_given(self, certificate: Certificate) -> StatedPrompt:
        """The section `given` alone. Raises MalformedError."""
        return read_prompt(*GIVEN.read(certificate.given, certificate.reading))

    def first_bits(self, certificate: Certificate) -> int | None:
        if certificate.witness is None:
            return None
        return self.witness.read(certificate.witness, certificate.reading).get(BITS)

    def statement(self, problem: Problem) -> Statement:
        queries = f"each of {problem.count} queries" if problem.count > 1 else "one query"
        score = f"e^({problem.prompt.score_words})"
        words = (
            f"For {queries} q and a prompt of {problem.prompt.words()}, each token weighted by {score} / Z(q) "
            f"where Z(q) is the sum of {score} over the tokens: "
            f"{'; '.join(assertion.words() for assertion in problem.assertions)}."
        )
        latex = [assertion.latex() for assertion in problem.assertions]
        return Statement(words, r",\qquad ".join([*latex, r"\forall i"]))

    def names(self, problem: Problem) -> list[str]:
        return [f"{kind}[{i}]" for kind, _ in problem.kinds for i in range(problem.count)]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        asked = _asked(problem, names)
        found: list[Obligation] = []
        for i, weighted in zip(asked, weighted_queries(problem.prompt, list(asked)), strict=True):
            found += [assertion.obligation(kind, i, weighted, bits) for kind, assertion in asked[i]]
        return found

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return problem.prompt.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64
        from certattn.kernel.theorems.attention.mean_binary64 import tightly_weighted, weighted_in_binary64

        tight = tier == TIGHT_TIER
        asked = _asked(problem, [name for name in names if not (tight and name.startswith((COVARIANCE, EIGENVALUES)))])
        wanted = {
            a.of for kinds in asked.values() for _, a in kinds if isinstance(a, CovarianceAssertion | RangeAssertion)
        }
        found: list[Obligation] = []
        with working_precision(AFTER_BINARY64):
            rows = list(asked)
            weigh = (
                tightly_weighted(problem.prompt, rows) if tight else weighted_in_binary64(problem.prompt, rows, wanted)
            )
            for i, weighted in zip(rows, weigh, strict=True):
                found += [assertion.obligation(kind, i, weighted, DOUBLE, BINARY64) for kind, assertion in asked[i]]
        return found

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        lines = []
        for kind, assertion in problem.kinds:
            slacks = [(_slack(o), o) for o in obligations if o.name.startswith(f"{kind}[")]
            found = [(slack, o) for slack, o in slacks if slack is not None]
            if found:
                slack, worst = min(found, key=lambda pair: pair[0])
                place, shown = worst.name.removeprefix(kind), slack.str(3, radius=False)
                lines.append(f"worst query {place}: {assertion.kinds[kind]} {show(worst.left)}, slack {shown}")
        return lines


def _asked(problem: Problem, names: Collection[str]) -> dict[int, list[tuple[str, Assertion]]]:
    """What there is to prove, by query; queries with nothing to prove are left out."""
    wanted = frozenset(names)
    asked = {i: [k for k in problem.kinds if f"{k[0]}[{i}]" in wanted] for i in range(problem.count)}
    return {i: kinds for i, kinds in asked.items() if kinds}


def _slack(obligation: Obligation) -> arb | None:
    """How far the bound is from the enclosure, at least: negative where they overlap, or worse."""
    value, bound = obligation.left, obligation.right
    if not isinstance(value, arb) or not isinstance(bound, fmpq) or value.is_finite() is not True:
        return None
    with working_precision(2 * (obligation.bits or 2)):
        return (bound - value if obligation.relation == "<=" else value - bound).lower()


CLAIM = SoftmaxMean()
