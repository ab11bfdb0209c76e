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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from flint import arb

from certattn.kernel.decide.obligation import NoProof, Obligation, Range, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Field
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, weighted_forms
from certattn.kernel.given.prompts import QUERIES, TOKENS, StatedPrompt, compared_to_mean, read_prompt
from certattn.kernel.given.token_laws import LAW, StatedLaw
from certattn.kernel.mathematics.balls import NORMS, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import dot
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.theorems.prompts import output_tail
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS

TOKEN_LAW = Field("law", LAW, "law of the tokens that the prompt is compared with")
_SHARED = (TOKENS, QUERIES, VALUE_WEIGHTS, SCALE, TOKEN_LAW)
GIVEN = weighted_forms("tokens", *_SHARED)

HERE = "here."


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
        prompt = self.prompt
        ((found, _),) = compared_to_mean(prompt, prompt.exact, self.limit, prompt.stated_queries)
        return found

    def random(self) -> RandomPrompt:
        """As many independent tokens of the law."""
        weights = self.prompt.weights
        assert weights is not None
        base = self.prompt.stated_queries @ self.prompt.score_map.T
        return RandomPrompt(self.law, base, self.prompt.scale, weights, self.prompt.length)


@dataclass(frozen=True)
class StatedPromptBesideLaw:
    """A prompt beside a law, and what is asserted of both."""

    compared: Compared
    tail: output_tail.StatedTails


def read(certificate: Certificate) -> StatedPromptBesideLaw:
    compared = read_given(certificate)
    return StatedPromptBesideLaw(
        compared, output_tail.read_asserted(certificate, compared.random(), output_tail.FROM_ABOVE)
    )


def read_given(certificate: Certificate) -> Compared:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    prompt, law = read_prompt(form, values), values[TOKEN_LAW]
    law.require_dimension(prompt.law_dimension, "a token")
    if prompt.count != 1:
        expected = "one query; of an array of several, `rows` takes one"
        raise values.node(QUERIES).malformed(expected, f"{prompt.count} queries")
    return Compared(prompt, law)


def obligations(stated: StatedPromptBesideLaw) -> Iterator[Obligation | NoProof]:
    compared, tail = stated.compared, stated.tail
    difference = Shared(compared.difference)
    # Nearer than binary64 comes by default, one query takes Arb no time.
    fast = {tier: Shared(partial(_fast, compared)) for tier in compared.prompt.tiers[:1]}
    heights = [
        (f"directions[{i}]", _along(one[output_tail.DIRECTION].load()), one[EXCEEDS])
        for i, one in enumerate(tail.directions)
    ]
    if tail.norm is not None:
        norm = tail.norm.stated
        heights.append((output_tail.NORM.name, NORMS[norm[output_tail.NORM_NAME]], norm[EXCEEDS]))
    for name, value, eps in heights:
        enclosed = {tier: (partial(_only_proved, value, off), eps) for tier, off in fast.items()}
        yield Obligation(HERE + name, partial(_measured, value, difference), "<=", eps, fast=enclosed)
    yield from output_tail.obligations(tail)


Value = Callable[[Sequence[arb]], arb]


def _along(direction: ExactMatrix) -> Value:
    return lambda difference: dot(row_of_balls(direction.row(0)), difference)


def _measured(value: Value, difference: Callable[[], list[arb]]) -> arb:
    return value(difference())


def _only_proved(value: Value, difference: Callable[[], list[arb]]) -> Range:
    """A refutation ends the check; Arb, which proves the tail as well, is to be the one that finds it."""
    return Range(value(difference()), arb(0))


def _fast(compared: Compared) -> list[arb]:
    """T - T_inf in binary64: the same numbers as wider balls. Raises Binary64Error where it has no answer."""
    from certattn.fast.balls import arb_table
    from certattn.kernel.given.stored_prompts import off_limit

    (found,) = arb_table(off_limit(compared.prompt, compared.limit, compared.prompt.stated_queries))
    return found


THEOREM = Theorem(
    name="typical-prompt",
    title="a concrete prompt that is as near to the infinite prompt as a random one nearly always is",
    given=GIVEN,
    asserts=output_tail.FROM_ABOVE,
    witness=output_tail.WITNESS,
    read=read,
    obligations=obligations,
)
