"""The rules by which a tail of the softmax output is bounded, as witnesses name them.

    cantelli                 v / (v + L eps^2)
    moment, order p          E (sum D)^p / (L eps)^p
    chernoff, lambda, order  (E e^{lambda Y})^L, or a bound of it from p moments and the largest D
    truncated, lambda, cap   1 - (1 - P(A))^L + E[e^{lambda Y}; not A]^L
    exact                    the probability itself, where the weights or the output are constant

Every bound holds for each choice of its parameters; a poor choice only makes it large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from certattn.kernel.document.schema import Count, Field, Rational, Record, Values, Variant
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.balls import normal_tail, row_of_balls
from certattn.kernel.mathematics.capped_sums import MOST_HEIGHT, Cap, Capped, capped, capped_bound
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.gaussian_parts import Part, exact_part, gaussian_parts, plane
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.mathematics.supports import bounded_parts
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import (
    Summand,
    bound_of_summands,
    bounded_exponential,
    cantelli,
    chernoff,
    moment_bound,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt

ORDER = Field("order", Count(2), "even order p of the moment, or where the exponential series is cut off")
OPTIONAL_ORDER = Field(
    "order",
    Count(2),
    "even order p where the series is cut off; for signs, boxes and mixtures with them",
    required=False,
)
LAMBDA = Field("lambda", Rational(above=0), "lambda in E e^(lambda Y)")
CAP = Field("cap", Rational(above=0), "the cap B of Y")

RULES = Variant(
    "rule",
    {
        "cantelli": Record(),
        "moment": Record(ORDER),
        "chernoff": Record(LAMBDA, OPTIONAL_ORDER),
        "truncated": Record(LAMBDA, CAP),
        "exact": Record(),
    },
)
MOST_ORDER = 100
MOST_SCORE_VARIANCE = 1000


@dataclass(frozen=True)
class Tail:
    """P(<v, tau_L - tau> > eps) for a direction v of tokens (1 x d), all exact."""

    prompt: RandomPrompt
    direction: ExactMatrix
    eps: fmpq

    @cached_property
    def parts(self) -> list[Part] | None:
        """The Gaussian parts of the law as this direction sees them, or None."""
        found = gaussian_parts(self.prompt.law.law)
        if found is None:
            return None
        return [exact_part(weight, law, self.prompt.base, self.prompt.scale, self.direction) for weight, law in found]

    def summand(self) -> Summand:
        """Y, at the working precision."""
        law = self.prompt.law.law.map(arb)
        return Summand(law, self.prompt.tilt(), row_of_balls(self.direction.row(0)), arb(self.eps), BALLS)


@dataclass(frozen=True)
class Rule:
    """A rule with its parameters, fit for its tail. `bound` encloses what it gives at the working precision.

    `exact` says that this is the probability itself and not only a bound of it.
    """

    name: str
    bound: Callable[[], arb]
    exact: bool = False


def read_rule(stated: tuple[str, Values], tail: Tail) -> Rule:
    """The rule for a tail. Raises MalformedError where it does not apply."""
    name, values = stated
    if name != "exact" and tail.eps == 0:
        raise values.at.malformed("the rule exact, as the level is 0", f"the rule {name}")
    return _READ[name](values, tail)


def _cantelli(values: Values, tail: Tail) -> Rule:
    def bound() -> arb:
        summand = tail.summand()
        found: arb = cantelli(summand.variance(), summand.eps, tail.prompt.length)
        return found

    return Rule("cantelli", bound)


def _moment(values: Values, tail: Tail) -> Rule:
    order = even_order(values, ORDER)

    def bound() -> arb:
        summand = tail.summand()
        found: arb = moment_bound(summand.centred_series(order), summand.eps, tail.prompt.length)
        return found

    return Rule("moment", bound)


def _chernoff(values: Values, tail: Tail) -> Rule:
    slope, parts = values[LAMBDA], tail.parts
    if parts is None:
        return _chernoff_by_moments(values, tail)
    if OPTIONAL_ORDER in values:
        raise values.node(OPTIONAL_ORDER).malformed("no order for this law: the exponential is integrated as it is")
    if not all(part.is_bounded_above for part in parts):
        raise values.at.malformed(
            "a direction in which the weighted output is bounded above",
            "E e^(lambda Y) not known to be finite for this law and direction",
            "the rules truncated, moment and cantelli hold in every direction",
        )
    _require_integrable(parts, values)

    def bound() -> arb:
        found: arb = chernoff(_total(parts, tail, slope, None).inside, tail.prompt.length)
        return found

    return Rule("chernoff", bound)


def _chernoff_by_moments(values: Values, tail: Tail) -> Rule:
    if bounded_parts(tail.prompt.law.law) is None:
        raise values.at.malformed(
            "a law of bounded support", "a mixture with a Gaussian in it and more than atoms", "use moment or cantelli"
        )
    if OPTIONAL_ORDER not in values:
        raise values.at.malformed("an order, for this law", "no order")
    order, slope = even_order(values, OPTIONAL_ORDER), values[LAMBDA]

    def bound() -> arb:
        summand = tail.summand()
        parts = bounded_parts(summand.law)
        assert parts is not None
        exponential = bounded_exponential(
            summand.centred_series(order), arb(slope), bound_of_summands(summand, parts), BALLS
        )
        found: arb = chernoff((-slope * summand.eps).exp() * exponential, tail.prompt.length)
        return found

    return Rule("chernoff", bound)


def _truncated(values: Values, tail: Tail) -> Rule:
    slope, cap, parts = values[LAMBDA], values[CAP], tail.parts
    if parts is None:
        raise values.at.malformed(
            "a law of Gaussians and atoms", "signs or a box among the tokens", "use chernoff, moment or cantelli"
        )
    _require_integrable(parts, values)
    if slope * cap > MOST_HEIGHT:
        raise values.at.malformed(f"lambda * cap of at most {MOST_HEIGHT}", describe(slope * cap))

    def bound() -> arb:
        found: arb = capped_bound(_total(parts, tail, slope, cap), tail.prompt.length)
        return found

    return Rule("truncated", bound)


def _require_integrable(parts: Sequence[Part], values: Values) -> None:
    """Weights e^{s g} of a large s are not integrated in any reasonable time, and bounds with them are useless."""
    largest = max(part.score_variance for part in parts)
    if largest > MOST_SCORE_VARIANCE:
        raise values.at.malformed(
            f"scores <a, x> of a variance of at most {MOST_SCORE_VARIANCE} for this rule", describe(largest)
        )


def _total(parts: Sequence[Part], tail: Tail, slope: fmpq, cap: fmpq | None) -> Capped:
    """P(A) and E[e^{lambda Y}; not A] of the whole law."""
    summand = tail.summand()
    asked = Cap(arb(slope), None if cap is None else arb(cap), ctx.prec)
    level = summand.mean + summand.eps
    outside, inside = arb(0), arb(0)
    for part in parts:
        found = capped(plane(part, summand.tilt, summand.direction, summand.log_mgf, level), asked)
        outside += part.weight * found.outside
        inside += part.weight * found.inside
    return Capped(outside, inside)


def _exact(values: Values, tail: Tail) -> Rule:
    if is_constant(tail.prompt.law.law, tail.direction):
        return Rule("exact", lambda: arb(0), exact=True)
    law = tail.prompt.law.law
    if not isinstance(law, Gaussian) or (tail.prompt.base @ ExactMatrix.rational(law.covariance)).is_zero() is not True:
        raise values.at.malformed(
            "a constant output, or Gaussian tokens of equal weights (covariance * tilt = 0)",
            "weights and outputs that vary",
        )
    spread = (tail.direction @ ExactMatrix.rational(law.covariance) @ tail.direction.T).entry(0, 0)

    def bound() -> arb:
        found: arb = normal_tail(arb(tail.eps) * (tail.prompt.length / arb(spread)).sqrt())
        return found

    return Rule("exact", bound, exact=True)


def is_constant(law: Law, direction: ExactMatrix) -> bool:
    """Whether <v, x> is one number for every token of the law."""
    return _constant(law, direction) is not None


def _constant(law: Law, direction: ExactMatrix) -> fmpq | None:
    """That number, or None."""
    if isinstance(law, Gaussian):
        spread = direction @ ExactMatrix.rational(law.covariance)
        return _along(direction, law.mean) if spread.is_zero() else None
    if isinstance(law, Rademacher | Box):
        moved = any(c != 0 and v != 0 for c, v in zip(law.sizes, direction.row(0), strict=True))
        return None if moved else fmpq(0)
    if isinstance(law, Atoms):
        return _agreed([_along(direction, point) for point in law.points])
    if isinstance(law, Mixture):
        return _agreed([_constant(part, direction) for part in law.components])
    return None


def _along(direction: ExactMatrix, point: Sequence[fmpq]) -> fmpq:
    return (direction @ ExactMatrix.row_vector(point).T).entry(0, 0)


def _agreed(values: Sequence[fmpq | None]) -> fmpq | None:
    return values[0] if all(value is not None and value == values[0] for value in values) else None


def even_order(values: Values, field: Field[int]) -> int:
    order = values[field]
    node: Node = values.node(field)
    if order % 2 != 0 or order > MOST_ORDER:
        raise node.malformed(f"an even order from 2 to {MOST_ORDER}", str(order))
    return order


_READ: dict[str, Callable[[Values, Tail], Rule]] = {
    "cantelli": _cantelli,
    "moment": _moment,
    "chernoff": _chernoff,
    "truncated": _truncated,
    "exact": _exact,
}
