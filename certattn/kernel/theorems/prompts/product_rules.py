"""The rules of `tail_rules` for an entry of the softmax covariance's error, `weighted_products`.

    cantelli                 v / (v + L eps^2)
    moment, order p          E (sum D)^p / (L eps)^p
    chernoff, lambda, order  (E e^{lambda Y})^L: atoms as a finite sum without an order, laws of bounded support
                             through p moments and the largest D
    exact                    0, where one of the two outputs is constant

The entry is one of <u, S v> / Z for directions u and v of tokens, or its negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Shared
from certattn.kernel.document.schema import Field, Values
from certattn.kernel.mathematics.balls import row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.laws import Atoms
from certattn.kernel.theorems.prompts.mathematics.supports import bounded_parts
from certattn.kernel.theorems.prompts.mathematics.weighted_products import (
    ProductMoments,
    ProductSummand,
    atoms_exponential,
    product_summand,
)
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import (
    bound_of_summands,
    bounded_exponential,
    cantelli,
    chernoff,
    moment_bound,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import LAMBDA, OPTIONAL_ORDER, ORDER, Rule, even_order, is_constant

MOST_PRODUCT_ORDER = 24


@dataclass(frozen=True)
class Pair:
    """Two directions u and v of tokens (1 x d, exact)."""

    prompt: RandomPrompt
    u: ExactMatrix
    v: ExactMatrix

    @cached_property
    def moments(self) -> Shared[ProductMoments]:
        """Their moments at the working precision; both signs of an entry share them."""
        return Shared(self._moments)

    def _moments(self) -> ProductMoments:
        u, v = row_of_balls(self.u.row(0)), row_of_balls(self.v.row(0))
        return ProductMoments(self.prompt.law.law.map(arb), self.prompt.tilt(), u, v, BALLS)


@dataclass(frozen=True)
class ProductTail:
    """P(sign * <u, S v> / Z > eps) for a pair of directions."""

    pair: Pair
    sign: int
    eps: fmpq

    @property
    def length(self) -> int:
        return self.pair.prompt.length

    @cached_property
    def is_constant(self) -> bool:
        """Whether <u, y> or <v, y> is 0 for every token, and the entry with it."""
        law = self.pair.prompt.law.law
        return is_constant(law, self.pair.u) or is_constant(law, self.pair.v)

    def summand(self) -> ProductSummand:
        """Y, at the working precision."""
        return product_summand(self.pair.moments(), self.sign, arb(self.eps))


def read_product_rule(stated: tuple[str, Values], tail: ProductTail) -> Rule:
    """The rule for an entry. Raises MalformedError where it does not apply."""
    name, values = stated
    if name not in _READ:
        raise values.at.malformed(
            f"one of the rules {', '.join(_READ)} for an entry of a covariance", f"the rule {name}"
        )
    if name != "exact" and tail.eps == 0:
        raise values.at.malformed("the rule exact, as the level is 0", f"the rule {name}")
    return _READ[name](values, tail)


def _cantelli(values: Values, tail: ProductTail) -> Rule:
    def bound() -> arb:
        summand = tail.summand()
        found: arb = cantelli(summand.variance(), summand.eps, tail.length)
        return found

    return Rule("cantelli", bound)


def _moment(values: Values, tail: ProductTail) -> Rule:
    order = _order(values, ORDER)

    def bound() -> arb:
        summand = tail.summand()
        found: arb = moment_bound(summand.centred_series(order), summand.eps, tail.length)
        return found

    return Rule("moment", bound)


def _order(values: Values, field: Field[int]) -> int:
    """An even order; joint moments cost its fourth power."""
    order = even_order(values, field)
    if order > MOST_PRODUCT_ORDER:
        raise values.node(field).malformed(f"an order of at most {MOST_PRODUCT_ORDER} for an entry", str(order))
    return order


def _chernoff(values: Values, tail: ProductTail) -> Rule:
    law, slope = tail.pair.prompt.law.law, values[LAMBDA]
    if bounded_parts(law) is None:
        raise values.at.malformed(
            "a law of bounded support", "products of Gaussian coordinates", "use moment or cantelli"
        )
    if isinstance(law, Atoms):
        if OPTIONAL_ORDER in values:
            raise values.node(OPTIONAL_ORDER).malformed("no order for atoms: the exponential is summed as it is")

        def summed() -> arb:
            found: arb = chernoff(atoms_exponential(tail.summand(), arb(slope)), tail.length)
            return found

        return Rule("chernoff", summed)
    if OPTIONAL_ORDER not in values:
        raise values.at.malformed("an order, for this law", "no order")
    order = _order(values, OPTIONAL_ORDER)

    def bound() -> arb:
        summand = tail.summand()
        parts = bounded_parts(summand.law)
        assert parts is not None
        largest = bound_of_summands(summand, parts)
        exponential = bounded_exponential(summand.centred_series(order), arb(slope), largest, BALLS)
        found: arb = chernoff((-slope * summand.eps).exp() * exponential, tail.length)
        return found

    return Rule("chernoff", bound)


def _exact(values: Values, tail: ProductTail) -> Rule:
    if not tail.is_constant:
        raise values.at.malformed("a direction in which tokens are constant", "directions in which they vary")
    return Rule("exact", lambda: arb(0), exact=True)


_READ: dict[str, Callable[[Values, ProductTail], Rule]] = {
    "cantelli": _cantelli,
    "moment": _moment,
    "chernoff": _chernoff,
    "exact": _exact,
}
