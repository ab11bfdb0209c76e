"""Claim `typical-prompt`: a concrete prompt is as near to the infinite prompt as a random one nearly always is.

Given L tokens x_i, a query z with U (or K and Q), values V, a scale s and a law mu of tokens, let T be softmax
attention over these tokens at z, and T_inf = V tau(s U z) attention over mu. A certificate asserts, in stated
directions u or in the l2 or linf norm, of the same eps

    this prompt       |T - T_inf| <= eps                                    (<u, T - T_inf> <= eps)
    a random prompt   P(|T_L - T_inf| > eps) <= delta for L independent tokens of mu

The first is what `output-deviation` proves, the second what `output-tail` does, by the rules that the witness
names. Whether these tokens were drawn from mu is no part of the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import DOUBLE, Obligation, Outcome, at_most
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Record
from certattn.kernel.document.forms import ByKey
from certattn.kernel.document.quoting import counted
from certattn.kernel.given.attention_inputs import (
    BILINEAR,
    KEY_WEIGHTS,
    LAW,
    QUERY_WEIGHTS,
    SCALE,
    VALUE_WEIGHTS,
    StatedLaw,
)
from certattn.kernel.given.prompt_inputs import QUERIES, TIGHT_TIER, TOKENS, StatedPrompt, read_prompt
from certattn.kernel.mathematics.balls import ARB, NORMS, row_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import dot
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.output_deviation import differences
from certattn.kernel.theorems.prompts import output_tail
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt

TOKEN_LAW = Field("law", LAW, "law of the tokens that the prompt is compared with")
_SHARED = (TOKENS, QUERIES, VALUE_WEIGHTS, SCALE, TOKEN_LAW)
GIVEN = ByKey({"U": Record(BILINEAR, *_SHARED), "tokens": Record(KEY_WEIGHTS, QUERY_WEIGHTS, *_SHARED)})

_HERE = "here."
# Precision of what Arb contributes to a deviation in binary64.
_ARB_BITS = 96


@dataclass(frozen=True)
class Compared:
    """The tokens with their query, and the law that they are compared with."""

    prompt: StatedPrompt
    law: StatedLaw

    @cached_property
    def limit(self) -> AffineMap | Operator:
        """T_inf as a map of the query."""
        operator = self.prompt.operator(self.law.law)
        return operator.affine() or operator

    def difference(self) -> list[arb]:
        """T - T_inf, at the working precision."""
        (found,) = differences(self.prompt, self.prompt.exact, self.limit, self.prompt.stated_queries)
        return found

    def random(self) -> RandomPrompt:
        """As many independent tokens of the law."""
        weights = self.prompt.weights
        assert weights is not None
        base = self.prompt.stated_queries @ self.prompt.score_map.T
        return RandomPrompt(self.law, base, self.prompt.scale, weights, self.prompt.length, "")


@dataclass(frozen=True)
class Problem:
    """A prompt beside a law, and what is asserted of both."""

    compared: Compared
    tail: output_tail.Problem


@dataclass(frozen=True)
class Stated:
    """`value` of T - T_inf is at most eps; a random prompt's exceeds it with probability at most delta.

    `name` is that of its obligation in `output-tail`.
    """

    name: str
    words: str
    eps: fmpq
    delta: fmpq
    value: Callable[[Sequence[arb]], arb]


def stated_of(problem: Problem) -> list[Stated]:
    """What is asserted."""
    found = []
    for index, stated in enumerate(problem.tail.directions):
        words = f"<u, T - T_inf> for u = {stated.direction_words}"
        found.append(Stated(f"directions[{index}]", words, stated.eps, stated.delta, _along(stated.direction)))
    norm = problem.tail.norm
    if norm is not None:
        found.append(Stated("norm", f"the {norm.norm} norm |T - T_inf|", norm.eps, norm.delta, NORMS[norm.norm]))
    return found


def _along(direction: ExactMatrix) -> Callable[[Sequence[arb]], arb]:
    def value(difference: Sequence[arb]) -> arb:
        found: arb = dot(row_of_balls(direction.row(0)), difference)
        return found

    return value


class TypicalPrompt(Claim[Problem]):
    name = "typical-prompt"
    title = "a concrete prompt that is as near to the infinite prompt as a random one nearly always is"
    arithmetic = ARB
    given = GIVEN
    asserts = output_tail.CLAIM.asserts
    witness = output_tail.CLAIM.witness

    def read(self, certificate: Certificate) -> Problem:
        compared = self.read_given(certificate)
        return Problem(compared, output_tail.CLAIM.read_asserted(certificate, compared.random()))

    def read_given(self, certificate: Certificate) -> Compared:
        """The section `given` alone. Raises MalformedError."""
        form, values = GIVEN.read(certificate.given, certificate.reading)
        prompt, law = read_prompt(form, values), values[TOKEN_LAW]
        if law.dimension != prompt.law_dimension:
            raise law.node.malformed(f"a law in dimension {prompt.law_dimension}, that of a token", law.words)
        if prompt.count != 1:
            expected = "one query; of an array of several, `rows` takes one"
            raise values.node(QUERIES).malformed(expected, f"{prompt.count} queries")
        return Compared(prompt, law)

    def statement(self, problem: Problem) -> Statement:
        compared, stated = problem.compared, stated_of(problem)
        here = " and ".join(f"{one.words} is at most {describe(one.eps)}" for one in stated)
        there = " and ".join(
            f"{one.words} exceeds {describe(one.eps)} with probability at most {describe(one.delta)}" for one in stated
        )
        words = (
            f"For a prompt of {compared.prompt.words()}, let T be softmax attention at the query and T_inf attention "
            f"over an infinite prompt of {compared.law.words}: {here}; and with "
            f"{counted(compared.prompt.length, 'independent token')} of that law in the place of these {there}. "
            "Nothing is said of whether the tokens of this prompt were drawn from that law."
        )
        latex = r"T - T_\infty \le \varepsilon, \qquad \mathbb P(T_L - T_\infty > \varepsilon) \le \delta"
        if problem.tail.norm is not None:
            latex = latex.replace(r"T - T_\infty", r"\| T - T_\infty \|")
            latex = latex.replace(r"T_L - T_\infty", r"\| T_L - T_\infty \|")
        return Statement(words, latex)

    def names(self, problem: Problem) -> list[str]:
        return [_HERE + one.name for one in stated_of(problem)] + output_tail.CLAIM.names(problem.tail)

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        asked = _asked(problem, names)
        found = _here(asked, problem.compared.difference(), bits, ARB) if asked else []
        return found + output_tail.CLAIM.prove(problem.tail, names, bits)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return problem.compared.prompt.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64
        from certattn.kernel.theorems.prompts.typical_binary64 import difference

        asked = _asked(problem, names)
        if not asked:
            return []
        off = difference(problem.compared.prompt, problem.compared.limit, tight=tier == TIGHT_TIER)
        with working_precision(_ARB_BITS):
            found = _here(asked, off, DOUBLE, BINARY64)
        # A refutation ends the check; Arb, which proves the tail as well, is to be the one that finds it.
        return [obligation for obligation in found if obligation.outcome is Outcome.PROVED]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        outcomes = {obligation.name: obligation.outcome for obligation in obligations}
        return [
            _exceptional(one, problem.compared.prompt.length, outcomes.get(one.name) is Outcome.PROVED)
            for one in stated_of(problem)
            if outcomes.get(_HERE + one.name) is Outcome.REFUTED
        ]


def _asked(problem: Problem, names: Collection[str]) -> list[Stated]:
    return [one for one in stated_of(problem) if _HERE + one.name in names]


def _here(asked: Sequence[Stated], difference: Sequence[arb], bits: int, arithmetic: str) -> list[Obligation]:
    """That this prompt is within the stated heights."""
    return [
        at_most(_HERE + one.name, f"{one.words} of this prompt", one.value(difference), one.eps, bits, arithmetic)
        for one in asked
    ]


def _exceptional(stated: Stated, length: int, proved: bool) -> str:
    """What it means that this prompt exceeds a height."""
    tokens = counted(length, "independent token")
    if not proved:
        return f"this prompt exceeds {describe(stated.eps)}; how rarely {tokens} of the law do so is not proved"
    return (
        f"this prompt is one of the exceptional ones: {tokens} of the law exceed {describe(stated.eps)} "
        f"with probability at most {describe(stated.delta)}"
    )


CLAIM = TypicalPrompt()
