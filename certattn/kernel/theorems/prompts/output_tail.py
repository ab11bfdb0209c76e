"""Claim `output-tail`: how rarely the output of attention over a random prompt is far from its limit.

Given a law of tokens, a tilt a (or a query with U, or with K and Q), values V and a length L, let
T_L = V tau_L be the softmax output over L independent tokens and T = V tau(a) its limit. A certificate
asserts one or both of

    directions    P(<u, T_L - T> > eps) <= delta for stated directions u, with an eps and a delta each; or at least
                  so much, which says that a prompt of L tokens is too short
    norm          P(|T_L - T| > eps) <= delta in l2 or linf

In token space u acts as v = V'u, and {<v, tau_L - tau> > eps} = {sum_i w_i (<v, x_i - tau> - eps) > 0}.
The witness names a rule for every such tail (`tail_rules`). For the norm it does so for both signs of
every coordinate (linf), or of every row u_c of a frame with sum_c u_c u_c' >= I (l2), with levels
e_c such that sum_c e_c^2 <= eps^2: if |<u_c, y>| <= e_c for all c then |y|^2 <= eps^2. Or it names the method
mean-square: by Markov's inequality P(|T_L - T| > eps) <= E|T_L - T|^2 / eps^2, with the exact mean square of
`output-mean-square` where it has one, and for every length from one on its bounds that fall; |.|_inf <= |.|_2. For
Gaussian tokens it may name the method moment, with an even order p: the same with E|T_L - T|^p / eps^p. With a list
`from` of lengths both are taken at these, for every length from the first on (`length_ranges`).

With `queries` in place of a query the norm is that at any query of a ball, by the witness of `ball_of_queries`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from flint import arb

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import ByKey, Choice, Field, Listing, Record, Values, some_of
from certattn.kernel.given.bounds import Probability
from certattn.kernel.theorems.prompts.ball_of_queries import BALL, OVER_BALL, SHELLS, BallOfQueries, OverBall, read_ball
from certattn.kernel.theorems.prompts.ball_of_queries import GIVEN as BALL_GIVEN
from certattn.kernel.theorems.prompts.length_ranges import STARTS, require_ranges
from certattn.kernel.theorems.prompts.random_prompts import RANDOM_PROMPT, RandomPrompt, read_random_prompt
from certattn.kernel.theorems.prompts.tail_rules import (
    BOUNDS,
    EXCEEDS,
    FRAME,
    FRAMED,
    MOMENT,
    NORM_ORDER,
    PROBABILITY,
    RULES,
    Framed,
    Rule,
    StatedRules,
    Tail,
    paired,
    read_framed,
    sum_of_bounds,
    two_sided_rules,
)

DIRECTION = Field("direction", Vector(), "a direction u of the outputs")
NORM_NAME = Field("norm", Choice(("l2", "linf")), "norm in which the output is measured")
AT_MOST = replace(PROBABILITY, required=False)
AT_LEAST = Field("at_least", Probability(), "a lower bound of the probability, for one length", required=False)
DIRECTIONS = Field(
    "directions",
    Listing(Record(DIRECTION, EXCEEDS, AT_MOST, AT_LEAST, rules=[some_of(AT_MOST, AT_LEAST)])),
    "tails in stated directions",
    required=False,
)
NORM = Field("norm", Record(NORM_NAME, EXCEEDS, PROBABILITY), "the tail of a norm", required=False)

DIRECTION_RULES: Field[StatedRules] = Field(
    "directions", Listing(RULES), "a rule for every stated direction", required=False
)
METHOD = Field("method", Choice(("mean-square", MOMENT)), "a mean square or moment of the norm that is known exactly")
NORM_FORMS = ByKey(
    {
        METHOD.name: Record(METHOD, NORM_ORDER, STARTS),
        FRAME.name: FRAMED,
        SHELLS.name: OVER_BALL,
        BOUNDS.name: Record(BOUNDS),
    }
)
NORM_WITNESS = Field("norm", NORM_FORMS, "how the norm is bounded: l2 by a frame, linf by coordinates", required=False)

# In the order in which messages name the keys: a tilt, or queries.
_TILT, *_OTHERS = RANDOM_PROMPT.forms.items()
GIVEN = ByKey(dict([_TILT, (BALL.name, BALL_GIVEN), *_OTHERS]))
ASSERTS = Record(DIRECTIONS, NORM, rules=[some_of(DIRECTIONS, NORM)])
# For `typical-prompt`, whose prompt is near where random ones rarely are far.
_FROM_ABOVE = replace(DIRECTIONS, kind=Listing(Record(DIRECTION, EXCEEDS, PROBABILITY)))
FROM_ABOVE = Record(_FROM_ABOVE, NORM, rules=[some_of(DIRECTIONS, NORM)])
WITNESS = Record(DIRECTION_RULES, NORM_WITNESS)


@dataclass(frozen=True)
class StatedNorm:
    """P(|T_L - T| > eps) <= delta in a norm, and a rule for each one-sided tail; none for the norm's moments.

    `framed` is the frame of the rules for l2, `order` that of the method moment, `starts` begin ranges of lengths, and
    `over_ball` is for a ball of queries.
    """

    stated: Values
    rules: Sequence[Rule] | None
    framed: Framed | None = None
    order: int | None = None
    starts: Sequence[int] = ()
    over_ball: OverBall | None = None

    def conditions(self) -> Iterator[Obligation]:
        """What the bound rests on: for l2, that sum_c e_c^2 <= eps^2 for levels of a frame."""
        if self.over_ball is not None:
            yield from self.over_ball.conditions(NORM.name)
        if self.framed is not None:
            eps = self.stated[EXCEEDS]
            yield from self.framed.conditions(NORM.name)
            yield Obligation("norm.exceeds", self.framed.square, "<=", eps * eps, Part.WITNESS)

    def bound(self, prompt: RandomPrompt) -> arb:
        """A bound of the probability, at the working precision. Raises NoBound where nothing bounds it."""
        if self.over_ball is not None:
            return self.over_ball.bound()
        if self.rules is not None:
            return sum_of_bounds(self.rules)
        eps = self.stated[EXCEEDS]
        if self.order is not None:
            from certattn.kernel.theorems.prompts.moment_method import output_bound

            return output_bound(prompt, self.order, eps, self.starts)
        from certattn.kernel.theorems.prompts.mean_squares import tail_of_mean_square

        return tail_of_mean_square(prompt, eps, self.starts)


@dataclass(frozen=True)
class StatedTails:
    """A random prompt, what is asserted of its output, and the rules that prove it."""

    prompt: RandomPrompt
    directions: Sequence[Values]
    rules: Sequence[Rule]
    norm: StatedNorm | None


def read(certificate: Certificate) -> StatedTails:
    return read_asserted(certificate, read_given(certificate))


def read_given(certificate: Certificate) -> RandomPrompt:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    return read_ball(values) if BALL in values else read_random_prompt(form, values)


def read_asserted(certificate: Certificate, prompt: RandomPrompt, record: Record = ASSERTS) -> StatedTails:
    """What is asserted of a random prompt, with its rules. Raises MalformedError."""
    asserts = record.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness that names the rules", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    for stated, hint in ((DIRECTIONS, DIRECTION_RULES), (NORM, NORM_WITNESS)):
        if (stated in asserts) is not (hint in witness):
            raise witness.at.malformed(f"{stated.name} in the witness exactly where asserts has {stated.name}")
    items = asserts.items(DIRECTIONS)
    if items and isinstance(prompt, BallOfQueries):
        raise asserts.node(DIRECTIONS).malformed("a norm alone, for every query of a ball", "directions")
    for item in items:
        item[DIRECTION].require_length(prompt.output_dimension, "an output")
    tails = [Tail(prompt, item[DIRECTION].load() @ prompt.values(), item[EXCEEDS]) for item in items]
    rules = paired(witness, DIRECTION_RULES, tails, "one per stated direction") if items else []
    return StatedTails(prompt, items, rules, _read_norm(asserts, witness, prompt))


def _read_norm(asserts: Values, witness: Values, prompt: RandomPrompt) -> StatedNorm | None:
    stated, given = asserts.get(NORM), witness.get(NORM_WITNESS)
    if stated is None or given is None:
        return None
    (form, hint), norm = given, stated[NORM_NAME]
    if isinstance(prompt, BallOfQueries):
        if form != SHELLS.name:
            raise hint.at.malformed("shells, for every query of a ball")
        # The l2 norm is at least as large as linf.
        return StatedNorm(stated, None, over_ball=OverBall.read(prompt, stated[EXCEEDS], hint))
    if form == SHELLS.name:
        raise hint.node(SHELLS).malformed("a bound at one query, as one is given", "one for a ball of queries")
    if form == METHOD.name:
        # The l2 norm is at least as large as linf.
        if (NORM_ORDER in hint) is not (hint[METHOD] == MOMENT):
            found = "an order" if NORM_ORDER in hint else "no order"
            raise hint.at.malformed(f"an order exactly for the method {MOMENT}", f"{found} for {hint[METHOD]}")
        if STARTS in hint:
            require_ranges(hint, STARTS, prompt.lengths)
        return StatedNorm(stated, None, order=hint.get(NORM_ORDER), starts=hint.items(STARTS))
    if norm == "l2":
        if form != FRAME.name:
            raise hint.at.malformed("a frame and levels for the norm l2")
        framed = read_framed(hint, prompt.values(), prompt, "outputs")
        return StatedNorm(stated, framed.rules, framed)
    if form != BOUNDS.name:
        raise hint.node(FRAME).malformed("no frame for the norm linf")
    levels = [stated[EXCEEDS]] * prompt.output_dimension
    return StatedNorm(stated, two_sided_rules(hint, prompt.values(), levels, prompt))


def obligations(stated: StatedTails) -> Iterator[Obligation]:
    for index, (item, rule) in enumerate(zip(stated.directions, stated.rules, strict=True)):
        part = Part.STATEMENT if rule.exact else Part.WITNESS
        if AT_MOST in item:
            yield Obligation(f"directions[{index}]", rule.bound, "<=", item[AT_MOST], part)
        if AT_LEAST in item:
            yield Obligation(f"directions[{index}].at_least", rule.from_below, ">=", item[AT_LEAST], part)
    norm = stated.norm
    if norm is not None:
        conditions = list(norm.conditions())
        yield from conditions
        bound, needs = partial(norm.bound, stated.prompt), [condition.name for condition in conditions]
        yield Obligation(NORM.name, bound, "<=", norm.stated[PROBABILITY], Part.WITNESS, needs)


THEOREM = Theorem(
    name="output-tail",
    title="how rarely attention over a random prompt is far from its infinite-prompt limit",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
