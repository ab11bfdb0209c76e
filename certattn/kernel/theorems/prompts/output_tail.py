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

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Enclosure, Obligation, Part, at_most
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Field, Listing, Record, Values
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.frames import sum_of_squares
from certattn.kernel.theorems.prompts.mathematics.mean_square import markov
from certattn.kernel.theorems.prompts.mean_square_bounds import logistic_bounds
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt, random_prompt_forms, read_random_prompt
from certattn.kernel.theorems.prompts.stated_tails import (
    BOUNDS,
    EXCEEDS,
    FRAME,
    LEVELS,
    PROBABILITY,
    StatedRules,
    probability_words,
    read_framed,
    read_probability,
    require_count,
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


@dataclass(frozen=True)
class StatedDirection:
    """P(<u, T_L - T> > eps) <= delta, and the rule that proves it."""

    direction: ExactMatrix
    eps: fmpq
    delta: fmpq
    rule: Rule
    direction_words: str

    def words(self) -> str:
        return (
            f"the probability that <u, T_L - T> > {describe(self.eps)} is at most {describe(self.delta)} "
            f"for u = {self.direction_words}"
        )


@dataclass(frozen=True)
class StatedNorm:
    """P(|T_L - T| > eps) <= delta in a norm, and a rule for each one-sided tail; or the law for its mean square."""

    norm: str
    eps: fmpq
    delta: fmpq
    rules: Sequence[Rule]
    tokens: Gaussian | None = None

    def bound(self, prompt: RandomPrompt, bits: int) -> tuple[str, Enclosure]:
        """A bound of the probability in words, and its ball at the working precision, which is `bits`."""
        if self.tokens is None:
            total = sum((rule.bound(bits) for rule in self.rules), arb(0))
            return f"the sum of {counted(len(self.rules), 'one-sided bound')}", total
        mean_square = logistic_bounds(prompt, self.tokens).ranges["mean_square"].upper
        assert mean_square is not None
        return "a bound of E|T_L - T|^2, over exceeds^2,", markov(mean_square(), self.eps)

    def words(self) -> str:
        return (
            f"the probability that the {self.norm} norm |T_L - T| > {describe(self.eps)} "
            f"is at most {describe(self.delta)}"
        )


@dataclass(frozen=True)
class Problem:
    """A random prompt and what is asserted of its output."""

    prompt: RandomPrompt
    directions: Sequence[StatedDirection]
    norm: StatedNorm | None


class OutputTail(Claim[Problem]):
    name = "output-tail"
    title = "how rarely attention over a random prompt is far from its infinite-prompt limit"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(DIRECTIONS, NORM)
    witness = Record(DIRECTION_RULES, NORM_WITNESS)

    def read(self, certificate: Certificate) -> Problem:
        return self.read_asserted(certificate, self.read_given(certificate))

    def read_asserted(self, certificate: Certificate, prompt: RandomPrompt) -> Problem:
        """What is asserted of a random prompt, with its rules. Raises MalformedError."""
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if DIRECTIONS not in asserts and NORM not in asserts:
            raise asserts.at.malformed("directions or norm", "nothing that is asserted")
        if certificate.witness is None:
            raise asserts.at.malformed("a witness that names the rules", "no witness")
        witness = self.witness.read(certificate.witness, certificate.reading)
        for stated, hint in ((DIRECTIONS, DIRECTION_RULES), (NORM, NORM_WITNESS)):
            if (stated in asserts) != (hint in witness):
                raise witness.at.malformed(f"{hint.name} in the witness exactly where asserts has {stated.name}")
        return Problem(prompt, _read_directions(asserts, witness, prompt), _read_norm(asserts, witness, prompt))

    def read_given(self, certificate: Certificate) -> RandomPrompt:
        """The section `given` alone. Raises MalformedError."""
        return read_random_prompt(*GIVEN.read(certificate.given, certificate.reading))

    def statement(self, problem: Problem) -> Statement:
        words = (
            f"For a prompt of {problem.prompt.words()}, let T_L be the softmax-weighted average of the values and T "
            f"its limit for infinite prompts: {'; '.join(stated_words(problem))}."
        )
        latex = []
        if problem.directions:
            latex.append(
                r"\mathbb P(\langle u_i, T_L - T \rangle > \varepsilon_i) \le \delta_i, \quad "
                rf"i = 1, \dots, {len(problem.directions)}"
            )
        if problem.norm is not None:
            index = "2" if problem.norm.norm == "l2" else r"\infty"
            latex.append(rf"\mathbb P(\| T_L - T \|_{index} > \varepsilon) \le \delta")
        return Statement(words, r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = [f"directions[{index}]" for index in range(len(problem.directions))]
        return names + (["norm"] if problem.norm is not None else [])

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = []
        for index, stated in enumerate(problem.directions):
            name, rule = f"directions[{index}]", stated.rule
            if name in names:
                part = Part.STATEMENT if rule.exact else Part.WITNESS
                sentence = f"{_kind(rule)} in direction {index} <= probability"
                found.append(at_most(name, sentence, rule.bound(bits), stated.delta, bits, part=part))
        if problem.norm is not None and "norm" in names:
            what, bound = problem.norm.bound(problem.prompt, bits)
            sentence = f"{what} <= probability"
            found.append(at_most("norm", sentence, bound, problem.norm.delta, bits, part=Part.WITNESS))
        return found

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        return [f"{o.name}: {words}" for o in obligations for words in probability_words(o)]


def stated_words(problem: Problem) -> list[str]:
    """What is asserted, a clause each."""
    words = [stated.words() for stated in problem.directions]
    return words + ([problem.norm.words()] if problem.norm is not None else [])


def _kind(rule: Rule) -> str:
    return "the probability" if rule.exact else f"the {rule.name} bound of the probability"


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
        return StatedNorm(norm, eps, delta, [], _gaussian(hint, prompt))
    if NORM_BOUNDS not in hint:
        raise hint.at.malformed("bounds, or a method", "neither")
    if norm == "l2":
        return StatedNorm(norm, eps, delta, _framed_rules(hint, prompt, eps))
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


def _framed_rules(hint: Values, prompt: RandomPrompt, eps: fmpq) -> list[Rule]:
    """l2: rows u_c with sum u_c u_c' - I positive semidefinite, and levels with sum e_c^2 <= eps^2; both exactly."""
    if L2_FRAME not in hint or L2_LEVELS not in hint:
        raise hint.at.malformed("a frame and levels for the norm l2")
    framed = read_framed(hint, prompt.values(), prompt, "outputs")
    total = sum_of_squares(framed.levels)
    if (total <= eps * eps) is not True:
        raise hint.node(LEVELS).malformed(
            f"squares of levels that sum to at most exceeds^2 = {describe(eps * eps)}", f"a sum of {describe(total)}"
        )
    return framed.rules


CLAIM = OutputTail()
