"""Claim `output-tail`: how rarely the output of attention over a random prompt is far from its limit.

Given a law of tokens, a tilt a (or a query with U, or with K and Q), values V and a length L, let
T_L = V tau_L be the softmax output over L independent tokens and T = V tau(a) its limit. A certificate
asserts one or both of

    directions    P(<u, T_L - T> > eps) <= delta for stated directions u, with an eps and a delta each
    norm          P(|T_L - T| > eps) <= delta in l2 or linf

In token space u acts as v = V'u, and {<v, tau_L - tau> > eps} = {sum_i w_i (<v, x_i - tau> - eps) > 0}.
The witness names a rule for every such tail (`tail_rules`). For the norm it does so for both signs of
every coordinate (linf), or of every row u_c of a frame with sum_c u_c u_c' >= I (l2), with levels
e_c such that sum_c e_c^2 <= eps^2: if |<u_c, y>| <= e_c for all c then |y|^2 <= eps^2. Of Gaussian tokens it may
name the method mean-square instead: by Markov's inequality P(|T_L - T| > eps) <= E|T_L - T|^2 / eps^2, with the
bound E|T_L - T|^2 <= q (S + B), q = 1/(1 + (L-1) e^(-v)), of `output-mean-square`; |.|_inf <= |.|_2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Choice, Field, Listing, Record, Values, some_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.theorems.prompts.mathematics.mean_square import markov
from certattn.kernel.theorems.prompts.mean_square_bounds import logistic_bounds
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt, random_prompt_forms, read_random_prompt
from certattn.kernel.theorems.prompts.stated_tails import (
    BOUNDS,
    EXCEEDS,
    FRAME,
    LEVELS,
    PROBABILITY,
    Framed,
    StatedRules,
    read_framed,
    read_probability,
    require_count,
    sum_of_bounds,
    sum_of_squares,
    two_sided_rules,
)
from certattn.kernel.theorems.prompts.tail_rules import RULES, Rule, Tail, read_rule

GIVEN = random_prompt_forms()
DIRECTION = Field("direction", Vector(), "a direction u of the outputs")
NORM_NAME = Field("norm", Choice(("l2", "linf")), "norm in which the output is measured")
DIRECTIONS = Field(
    "directions", Listing(Record(DIRECTION, EXCEEDS, PROBABILITY)), "tails in stated directions", required=False
)
NORM = Field("norm", Record(NORM_NAME, EXCEEDS, PROBABILITY), "the tail of a norm", required=False)

# The norm linf has neither.
L2_FRAME = replace(FRAME, doc=f"l2: {FRAME.doc}", required=False)
L2_LEVELS = replace(LEVELS, doc="l2: e_c >= 0, one per row of the frame, sum e_c^2 <= exceeds^2", required=False)
DIRECTION_RULES: Field[StatedRules] = Field(
    "directions", Listing(RULES), "a rule for every stated direction", required=False
)
NORM_BOUNDS = replace(BOUNDS, required=False)
METHOD = Field(
    "method",
    Choice(("mean-square",)),
    "in the place of rules: the mean square of the norm, for Gaussian tokens",
    required=False,
)
NORM_WITNESS = Field(
    "norm", Record(L2_FRAME, L2_LEVELS, NORM_BOUNDS, METHOD), "how the norm is bounded", required=False
)


ASSERTS = Record(DIRECTIONS, NORM, rules=[some_of(DIRECTIONS, NORM)])
WITNESS = Record(DIRECTION_RULES, NORM_WITNESS)


@dataclass(frozen=True)
class StatedDirection:
    """P(<u, T_L - T> > eps) <= delta, and the rule that proves it."""

    direction: ExactMatrix
    eps: fmpq
    delta: fmpq
    rule: Rule
    direction_words: str


@dataclass(frozen=True)
class StatedNorm:
    """P(|T_L - T| > eps) <= delta in a norm, and a rule for each one-sided tail; or the law for its mean square.

    `framed` is the frame of the rules for l2.
    """

    norm: str
    eps: fmpq
    delta: fmpq
    rules: Sequence[Rule]
    framed: Framed | None = None
    tokens: Gaussian | None = None

    def conditions(self) -> Iterator[Obligation]:
        """What the bound rests on: for l2, that sum_c e_c^2 <= eps^2 for levels of a frame."""
        if self.framed is not None:
            yield from self.framed.conditions(NORM.name)
            total = sum_of_squares(self.framed.levels)
            yield Obligation("norm.exceeds", total, "<=", self.eps * self.eps, Part.WITNESS)

    def bound(self, prompt: RandomPrompt) -> arb:
        """A bound of the probability, at the working precision."""
        if self.tokens is None:
            return sum_of_bounds(self.rules)
        mean_square = logistic_bounds(prompt, self.tokens).ranges["mean_square"].upper
        assert mean_square is not None
        found: arb = markov(mean_square(), self.eps)
        return found


@dataclass(frozen=True)
class StatedTails:
    """A random prompt and what is asserted of its output."""

    prompt: RandomPrompt
    directions: Sequence[StatedDirection]
    norm: StatedNorm | None


def read(certificate: Certificate) -> StatedTails:
    return read_asserted(certificate, read_given(certificate))


def read_given(certificate: Certificate) -> RandomPrompt:
    """The section `given` alone. Raises MalformedError."""
    return read_random_prompt(*GIVEN.read(certificate.given, certificate.reading))


def read_asserted(certificate: Certificate, prompt: RandomPrompt) -> StatedTails:
    """What is asserted of a random prompt, with its rules. Raises MalformedError."""
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness that names the rules", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    for stated, hint in ((DIRECTIONS, DIRECTION_RULES), (NORM, NORM_WITNESS)):
        if (stated in asserts) != (hint in witness):
            raise witness.at.malformed(f"{hint.name} in the witness exactly where asserts has {stated.name}")
    return StatedTails(prompt, _read_directions(asserts, witness, prompt), _read_norm(asserts, witness, prompt))


def _read_directions(asserts: Values, witness: Values, prompt: RandomPrompt) -> list[StatedDirection]:
    items, rules = asserts.get(DIRECTIONS), witness.get(DIRECTION_RULES)
    if items is None or rules is None:
        return []
    require_count(rules, len(items), witness, DIRECTION_RULES, "one per stated direction")
    found, values = [], prompt.values()
    for item, rule in zip(items, rules, strict=True):
        item[DIRECTION].require_length(prompt.output_dimension, "an output")
        direction = item[DIRECTION].load()
        tail = Tail(prompt, direction @ values, item[EXCEEDS])
        stated, words = read_rule(rule, tail), item[DIRECTION].words()
        found.append(StatedDirection(direction, tail.eps, read_probability(item), stated, words))
    return found


def _read_norm(asserts: Values, witness: Values, prompt: RandomPrompt) -> StatedNorm | None:
    stated, hint = asserts.get(NORM), witness.get(NORM_WITNESS)
    if stated is None or hint is None:
        return None
    norm, eps, delta = stated[NORM_NAME], stated[EXCEEDS], read_probability(stated)
    if METHOD in hint:
        return StatedNorm(norm, eps, delta, [], tokens=_gaussian(hint, prompt))
    if NORM_BOUNDS not in hint:
        raise hint.at.malformed("bounds, or a method", "neither")
    if norm == "l2":
        if L2_FRAME not in hint or L2_LEVELS not in hint:
            raise hint.at.malformed("a frame and levels for the norm l2")
        framed = read_framed(hint, prompt.values(), prompt, "outputs")
        return StatedNorm(norm, eps, delta, framed.rules, framed)
    return StatedNorm(norm, eps, delta, _coordinate_rules(hint, prompt, eps))


def _gaussian(hint: Values, prompt: RandomPrompt) -> Gaussian:
    """The law of the tokens, whose mean square is known. Raises MalformedError."""
    for field in (L2_FRAME, L2_LEVELS, NORM_BOUNDS):
        if field in hint:
            raise hint.node(field).malformed(f"no {field.name} for the method mean-square")
    law = prompt.law.law
    if isinstance(law, Gaussian):
        return law
    raise hint.node(METHOD).malformed("rules: the method mean-square is for Gaussian tokens", prompt.law.words)


def _coordinate_rules(hint: Values, prompt: RandomPrompt, eps: fmpq) -> list[Rule]:
    """linf: every coordinate, each at the level eps."""
    for field in (L2_FRAME, L2_LEVELS):
        if field in hint:
            raise hint.node(field).malformed(f"no {field.name} for the norm linf")
    return two_sided_rules(hint, prompt.values(), [eps] * prompt.output_dimension, prompt)


def obligations(stated: StatedTails) -> Iterator[Obligation]:
    for index, one in enumerate(stated.directions):
        part = Part.STATEMENT if one.rule.exact else Part.WITNESS
        yield Obligation(f"directions[{index}]", one.rule.bound, "<=", one.delta, part)
    norm = stated.norm
    if norm is not None:
        conditions = list(norm.conditions())
        yield from conditions
        bound, needs = partial(norm.bound, stated.prompt), [condition.name for condition in conditions]
        yield Obligation(NORM.name, bound, "<=", norm.delta, Part.WITNESS, needs)


THEOREM = Theorem(
    name="output-tail",
    title="how rarely attention over a random prompt is far from its infinite-prompt limit",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
