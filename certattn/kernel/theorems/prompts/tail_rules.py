"""Tails of the softmax output and of entries of the softmax covariance: the rules that bound them, and frames.

A witness names a rule for each tail:

    cantelli                 v / (v + L eps^2)
    moment, order p          E (sum D)^p / (L eps)^p
    chernoff, lambda, order  (E e^{lambda Y})^L, or a bound of it from p moments and the largest D
    truncated, lambda, cap   1 - (1 - P(A))^L + E[e^{lambda Y}; not A]^L, of the output only
    exact                    the probability itself, where the weights or the output are constant
    inversion, step, terms   the probability itself, enclosed, of the output of Gaussians: its characteristic function
    by-length                for every length from the first on: one of these for each range of lengths

Where lengths are a range, a bound that falls with the length is taken at the first one; the chance of a token in A,
which grows, at the last. Of moments only terms that are positive count, each of which falls. So all but `truncated`
and `inversion` hold for every larger length too.

Every bound holds for each choice of its parameters; a poor choice only makes it large, and where a rule proves
nothing of a law or direction, it has no bound.

A certificate asserts P(D > eps) <= delta. For an l2 norm its witness has a frame of rows u_c with
sum_c u_c u_c' >= I, a level e_c for each, and a rule for both signs of every row: where |<u_c, y>| <= e_c for all c,
|y|^2 <= sum_c e_c^2, and the bounds of the contrary add up. An orthonormal basis is a frame; rounded to rational
numbers and multiplied by a little more than 1 it still is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Kind, Listing, Rational, Reading, Record, Values, Variant
from certattn.kernel.document.tree import Node
from certattn.kernel.given.bounds import Probability
from certattn.kernel.mathematics.balls import normal_tail, row_of_balls
from certattn.kernel.mathematics.capped_sums import (
    MOST_HEIGHT,
    Cap,
    Capped,
    capped,
    capped_bound,
    exact_part,
    gaussian_parts,
    plane,
)
from certattn.kernel.mathematics.capped_sums import Part as GaussianPart
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Gaussian, Law
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.sub_gaussian import has_rational_moments, mean_and_covariance
from certattn.kernel.theorems.prompts.length_ranges import FROM, require_ranges
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import (
    ProductMoments,
    ProductSummand,
    Summand,
    atoms_exponential,
    bound_of_summands,
    bounded_exponential,
    bounded_parts,
    cantelli,
    chernoff,
    moment_bound,
    moment_terms,
    product_summand,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt

# -- what is read


@dataclass(frozen=True)
class EvenOrder(Kind[int]):
    """An even number from 2 to `most`."""

    most: int
    written = (Count(2),)

    def read(self, node: Node, reading: Reading) -> int:
        order = Count(2).read(node, reading)
        if order % 2 != 0 or order > self.most:
            raise node.malformed(f"an even order from 2 to {self.most}", str(order))
        return order


LAMBDA = Field("lambda", Rational(above=0), "lambda in E e^(lambda Y)")
CAP = Field("cap", Rational(above=0), "the cap B of Y")


STEP = Field("step", Rational(above=0), "step of t between values of the characteristic function")
TERMS = Field("terms", Count(1), "how many of them are summed")
ORDER = Field("order", EvenOrder(100), "even order p of the moment, or where the exponential series is cut off")


BY_RANGE: Field[StatedRules] = Field("rules", Listing(Variant("rule", {})), "the rule of each range")


def _rules(most: int, **others: Record) -> Variant:
    """The rules whose orders go up to `most`, and others; each alone, or several by length."""
    moment = replace(ORDER, kind=EvenOrder(most))
    where = "even order p where the series is cut off; for signs, boxes and mixtures with them"
    series = replace(moment, doc=where, required=False)
    forms = {"cantelli": Record(), "moment": Record(moment), "chernoff": Record(LAMBDA, series), **others}
    alone = Variant("rule", {**forms, "exact": Record()})
    ranges = replace(BY_RANGE, kind=Listing(alone))
    return Variant("rule", {**alone.forms, BY_LENGTH: Record(FROM, ranges)})


StatedRules = list[tuple[str, Values]]
BY_LENGTH = "by-length"
RULES = _rules(100, truncated=Record(LAMBDA, CAP), inversion=Record(STEP, TERMS))
# Joint moments of an entry cost the fourth power of their order.
ENTRY_RULES = _rules(24)

# Orders of the moments of norms that the method `moment` takes, of the output and of the covariance.
MOMENT, MEAN_ORDERS, COVARIANCE_ORDERS = "moment", (2, 4, 6, 8), (2, 4)
NORM_ORDER = Field("order", EvenOrder(max(MEAN_ORDERS)), "even order p of the norm's moment", required=False)

EXCEEDS = Field("exceeds", Rational(above=0), "eps, what is exceeded rarely")
PROBABILITY = Field("probability", Probability(), "delta, a bound of the probability: above 0 and below 1")

FRAME = Field("frame", Matrix(), "vectors u_c, one per row, with sum u_c u_c' - I positive semidefinite")
LEVELS = Field("levels", Vector(), "levels >= 0, one per row of the frame")
BOUNDS: Field[StatedRules] = Field("bounds", Listing(RULES), "a rule for +u_1, -u_1, +u_2, -u_2, ...")
FRAMED = Record(FRAME, LEVELS, BOUNDS)

MOST_SCORE_VARIANCE = 1000


# -- tails


def is_constant(law: Law[fmpq], direction: ExactMatrix) -> bool:
    """Whether <v, x> is one number for every token of the law: of variance 0."""
    if not has_rational_moments(law):
        return direction.is_zero()  # every coordinate of a truncated Gaussian varies
    _, covariance = mean_and_covariance(law)
    return (direction @ covariance @ direction.T).is_zero()


@dataclass(frozen=True)
class Tail:
    """P(<v, tau_L - tau> > eps) for a direction v of tokens (1 x d), all exact."""

    prompt: RandomPrompt
    direction: ExactMatrix
    eps: fmpq

    @cached_property
    def parts(self) -> list[GaussianPart] | None:
        """The Gaussian parts of the law as this direction sees them, or None."""
        found = gaussian_parts(self.prompt.law.law)
        if found is None:
            return None
        return [exact_part(weight, law, self.prompt.base, self.prompt.scale, self.direction) for weight, law in found]

    @property
    def is_constant(self) -> bool:
        return is_constant(self.prompt.law.law, self.direction)

    def summand(self) -> Summand:
        """Y, at the working precision."""
        law = self.prompt.law.law.map(arb)
        return Summand(law, self.prompt.tilt(), row_of_balls(self.direction.row(0)), arb(self.eps))


@dataclass(frozen=True)
class ProductTail:
    """P(sign * <u, S v> / Z > eps) for directions u and v of tokens (1 x d): of an entry of the covariance's error.

    Both signs share the moments of the pair of directions.
    """

    prompt: RandomPrompt
    directions: tuple[ExactMatrix, ExactMatrix]
    moments: Callable[[], ProductMoments]
    sign: int
    eps: fmpq

    @classmethod
    def both(cls, prompt: RandomPrompt, u: ExactMatrix, v: ExactMatrix, eps: fmpq) -> list[ProductTail]:
        """Those of an entry and of its negative."""
        law, first, second = prompt.law.law, u.row(0), v.row(0)

        def moments() -> ProductMoments:
            return ProductMoments(law.map(arb), prompt.tilt(), row_of_balls(first), row_of_balls(second))

        shared = Shared(moments)
        return [cls(prompt, (u, v), shared, sign, eps) for sign in (1, -1)]

    @property
    def is_constant(self) -> bool:
        """Whether <u, y> or <v, y> is 0 for every token, and the entry with it."""
        return any(is_constant(self.prompt.law.law, direction) for direction in self.directions)

    def summand(self) -> ProductSummand:
        """Y, at the working precision."""
        return product_summand(self.moments(), self.sign, arb(self.eps))


AnyTail = Tail | ProductTail


# -- what the rules give


@dataclass(frozen=True)
class Rule:
    """A rule with its parameters, the tail that it is to bound, and from which length to which; None for no end."""

    name: str
    values: Values
    tail: AnyTail
    first: int
    last: int | None

    @property
    def exact(self) -> bool:
        """Whether it gives the probability itself and not only a bound of it."""
        return self.name == "exact"

    def bound(self) -> arb:
        """What it gives at the working precision. Raises NoBound where it proves nothing of this tail."""
        if self.name == BY_LENGTH:
            return self.worst()
        if not self.exact and self.tail.eps == 0:
            raise self.none("the rule exact, as the level is 0", f"the rule {self.name}")
        return _BOUND[self.name](self)

    def from_below(self) -> arb:
        """A lower bound of the probability at the one length that is stated. Raises NoBound where there is none."""
        if self.first != self.last:
            raise self.none("one length, for a bound from below", "every length from one on")
        if self.name == "inversion":
            return self.enclosure().lower()
        if not self.exact:
            raise self.none("the rule inversion or exact, for a bound from below", f"the rule {self.name}")
        return self.bound()

    @cached_property
    def enclosure(self) -> Shared[arb]:
        """The probability as `inversion` encloses it, which both bounds use."""
        return Shared(partial(_inverted, self))

    @property
    def ranges(self) -> list[Rule]:
        """The rules by length, one for each range."""
        starts, rules = self.values[FROM], self.values[BY_RANGE]
        ends = [*(start - 1 for start in starts[1:]), self.last]
        ranges = zip(starts, ends, rules, strict=True)
        return [Rule(name, values, self.tail, first, last) for first, last, (name, values) in ranges]

    def worst(self) -> arb:
        """The largest of what the rules by length give."""
        return reduce(arb.max, (rule.bound() for rule in self.ranges))

    def none(self, expected: str, found: str, hint: str = "") -> NoBound:
        """It has no bound: where it stands, what it would need, and what there is."""
        said = f"{self.values.at.path} has {found}; expected {expected}"
        return NoBound(f"{said} ({hint})" if hint else said)


def _cantelli(rule: Rule) -> arb:
    summand = rule.tail.summand()
    return arb(cantelli(summand.variance(), summand.eps, rule.first))


def _moment(rule: Rule) -> arb:
    summand, order = rule.tail.summand(), rule.values[ORDER]
    if rule.first == rule.last:
        return arb(moment_bound(summand.centred_series(order), summand.eps, rule.first))
    terms = moment_terms(summand.centred_series(order), summand.eps)
    return sum((term.nonnegative_part() * arb(rule.first) ** (k - order) for k, term in enumerate(terms, 1)), arb(0))


def _chernoff(rule: Rule) -> arb:
    # A probability is at most 1, and a power of what is at most 1 falls.
    return arb(chernoff(_exponential(rule).min(arb(1)), rule.first))


def _exponential(rule: Rule) -> arb:
    """E e^{lambda Y}, or a bound of it."""
    tail, slope = rule.tail, rule.values[LAMBDA]
    parts = tail.parts if isinstance(tail, Tail) else None
    is_sum = isinstance(tail, ProductTail) and isinstance(tail.prompt.law.law, Atoms)
    if parts is None and not is_sum:
        return _exponential_by_moments(rule)
    if ORDER in rule.values:
        raise rule.none("no order for this law: the exponential is taken as it is", "an order")
    if isinstance(tail, ProductTail):
        return arb(atoms_exponential(tail.summand(), arb(slope)))
    assert parts is not None
    if not all(part.is_bounded_above for part in parts):
        raise rule.none(
            "a direction in which the weighted output is bounded above",
            "E e^(lambda Y) not known to be finite for this law and direction",
            "the rules truncated, moment and cantelli hold in every direction",
        )
    return _total(_integrable(rule, parts), tail, slope, None).inside


def _exponential_by_moments(rule: Rule) -> arb:
    """A bound of E e^{lambda Y}, for a law of bounded support."""
    slope, summand = rule.values[LAMBDA], rule.tail.summand()
    parts, order = bounded_parts(summand.law), rule.values.get(ORDER)
    if parts is None:
        raise rule.none("a law of bounded support", "a Gaussian among the tokens", "use moment or cantelli")
    if order is None:
        raise rule.none("an order, for this law", "no order")
    series, largest = summand.centred_series(order), bound_of_summands(summand, parts)
    return arb((-slope * summand.eps).exp() * bounded_exponential(series, arb(slope), largest))


def _truncated(rule: Rule) -> arb:
    tail, slope, cap = rule.tail, rule.values[LAMBDA], rule.values[CAP]
    if isinstance(tail, ProductTail) or tail.parts is None:
        raise rule.none(
            "a law of Gaussians and atoms", "signs or a box among the tokens", "use chernoff, moment or cantelli"
        )
    parts = _integrable(rule, tail.parts)
    if slope * cap > MOST_HEIGHT:
        raise rule.none(f"lambda * cap of at most {MOST_HEIGHT}", describe(slope * cap))
    if rule.last is None:
        raise rule.none(
            "a rule that holds for every larger length", "a cap, which some token of a long prompt exceeds",
            "after the last range with caps: moment, cantelli or chernoff",
        )  # fmt: skip
    whole = _total(parts, tail, slope, cap)
    return capped_bound(replace(whole, inside=whole.inside.min(arb(1))), rule.first, rule.last)


def _integrable(rule: Rule, parts: Sequence[GaussianPart]) -> Sequence[GaussianPart]:
    """Weights e^{s g} of a large s are not integrated in any reasonable time, and bounds with them are useless."""
    largest, most = max(part.score_variance for part in parts), MOST_SCORE_VARIANCE
    if largest > most:
        raise rule.none(f"scores <a, x> of a variance of at most {most} for this rule", describe(largest))
    return parts


def _total(parts: Sequence[GaussianPart], tail: Tail, slope: fmpq, cap: fmpq | None) -> Capped:
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


def _exact(rule: Rule) -> arb:
    tail, law = rule.tail, rule.tail.prompt.law.law
    if tail.is_constant:
        return arb(0)
    if isinstance(tail, ProductTail):
        raise rule.none("a direction in which tokens are constant", "directions in which they vary")
    if not isinstance(law, Gaussian) or (tail.prompt.base @ ExactMatrix.rational(law.covariance)).is_zero() is not True:
        expected = "a constant output, or Gaussian tokens of equal weights (covariance * tilt = 0)"
        raise rule.none(expected, "weights and outputs that vary")
    spread = (tail.direction @ ExactMatrix.rational(law.covariance) @ tail.direction.T).entry(0, 0)
    return normal_tail(arb(tail.eps) * (rule.first / arb(spread)).sqrt())


def _inverted(rule: Rule) -> arb:
    from certattn.kernel.theorems.prompts.inversion_rule import probability

    tail = rule.tail
    if isinstance(tail, ProductTail) or tail.parts is None:
        raise rule.none("Gaussians with noise of their own in this direction", "other tokens, which have other rules")
    if rule.first != rule.last:
        raise rule.none("a rule that holds for every larger length", "the probability at one of them")
    parts, values = _integrable(rule, tail.parts), rule.values
    return probability(tail.summand(), parts, rule.first, values[STEP], values[TERMS], rule.none)


def _inversion(rule: Rule) -> arb:
    # What the sum leaves out does not depend on the precision: no other one would decide more.
    return rule.enclosure().upper()


_BOUND = {
    "cantelli": _cantelli,
    "moment": _moment,
    "chernoff": _chernoff,
    "truncated": _truncated,
    "exact": _exact,
    "inversion": _inversion,
}


def sum_of_bounds(rules: Sequence[Rule]) -> arb:
    """A bound of the probability that some tail of these is met, at the working precision."""
    return sum((rule.bound() for rule in rules), arb(0))


# -- frames


@dataclass(frozen=True)
class Framed:
    """A frame with its levels, and the rules for both signs of every row."""

    frame: ExactMatrix
    levels: list[fmpq]
    rules: list[Rule]

    @property
    def square(self) -> fmpq:
        """sum_c e_c^2."""
        return sum((level * level for level in self.levels), fmpq(0))

    def conditions(self, name: str) -> Iterator[Obligation]:
        """That the rows bound the l2 norm, and that levels are >= 0: what bounds by this frame rest on."""
        excess = self.frame.T @ self.frame - ExactMatrix.identity(self.frame.columns)
        too_small = fmpq(0) if excess.is_positive_semidefinite() is True else fmpq(1)
        yield Obligation(f"{name}.frame", too_small, "<=", fmpq(0), Part.WITNESS)
        yield Obligation(f"{name}.levels", min(self.levels), ">=", fmpq(0), Part.WITNESS)


def read_framed(hint: Values, map_: ExactMatrix, prompt: RandomPrompt, what: str) -> Framed:
    """A frame in the space that `map_` leads to from tokens, with a rule for both signs of each row."""
    hint[FRAME].require_shape(None, map_.rows, f"for {what} of that dimension")
    frame = hint[FRAME].load()
    hint[LEVELS].require_length(frame.rows, "the rows of the frame")
    levels = hint[LEVELS].load().row(0)
    return Framed(frame, levels, two_sided_rules(hint, frame @ map_, levels, prompt))


def two_sided_rules(hint: Values, directions: ExactMatrix, levels: Sequence[fmpq], prompt: RandomPrompt) -> list[Rule]:
    """The rules for + and - of every row, a direction of tokens, at its level. Raises MalformedError."""
    rows = [directions.take_rows([i]) for i in range(directions.rows)]
    tails = [Tail(prompt, v, level) for row, level in zip(rows, levels, strict=True) for v in (row, -row)]
    return paired(hint, BOUNDS, tails, "two per direction, for + and -")


def paired(at: Values, field: Field[StatedRules], tails: Sequence[AnyTail], why: str) -> list[Rule]:
    """A rule for each of these tails. Raises MalformedError unless there are so many."""
    rules = at[field]
    if len(rules) != len(tails):
        raise at.node(field).malformed(f"{counted(len(tails), 'rule')}, {why}", counted(len(rules), "rule"))
    return [_rule(name, values, tail) for (name, values), tail in zip(rules, tails, strict=True)]


def _rule(name: str, values: Values, tail: AnyTail) -> Rule:
    """The rule for the lengths of the tail's prompt. Raises MalformedError."""
    prompt = tail.prompt
    if name == BY_LENGTH:
        if not prompt.onwards:
            raise values.at.malformed("one rule, as one length is stated", "rules by length")
        require_ranges(values, FROM, prompt.lengths, len(values[BY_RANGE]))
    return Rule(name, values, tail, prompt.length, None if prompt.onwards else prompt.length)
