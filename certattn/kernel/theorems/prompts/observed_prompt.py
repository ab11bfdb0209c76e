"""Claim `observed-prompt`: from an observed prompt, where attention over infinite prompts of an unknown law lies.

Given are L tokens (or keys and values), queries, a scale, directions u, a probability delta and a set that holds
the support of every token's law. A score s_i(q) is at most S(q) on that set, and an output y_i = <u, V x_i> between
y- and y+. Let w_i = e^{s_i - S} in (0, 1] and

    theta(q, u) = sum_i E[w_i y_i] / sum_i E[w_i],

which is <u, T_inf(q)> where the tokens have one law. Of independent tokens, for every c in [0, 1],

    E prod_i (1 + c w_i (y_i - theta) / (theta - y-)) <= 1,

for the expectation is a product of numbers >= 0 whose average is 1. So it is of the average M of these products over
c = 1, 1/2, 1/4, ..., 2^-(K-1), K the least with 8 4^(K-1) >= L. The products fall while theta grows: where
M(lo) >= 1/alpha, that lo > theta has the probability alpha at most, however lo was found. A certificate asserts, for
every q and u, numbers at_least and at_most, and is verified where

    1 / M(at_least) <= alpha     and the same of -y and -at_most,      alpha = delta / (2 queries directions),

so that with probability >= 1 - delta over the tokens every certificate that is verified for them states what is true:
nothing that a prover could choose after it has seen the tokens enters M. `distance` is a norm of T_inf(q) - T_L(q)
that follows. `another` has ends for T_L'(q) over another prompt of L' tokens, of one law with these: with probability
>= 1 - delta over both prompts what is verified of it is true, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Number, Obligation, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import Choice, Count, EitherKey, Field, Rational, Record, Values
from certattn.kernel.given.bounds import Probability
from certattn.kernel.given.prompts import StatedPrompt, prompt_forms, read_prompt
from certattn.kernel.mathematics.balls import NORMS, row_of_balls, scale_ball
from certattn.kernel.mathematics.betting import bets, wealth
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real
from certattn.kernel.theorems.prompts.mathematics.supports import BoxRegion, Extreme
from certattn.kernel.theorems.prompts.stated_supports import HIGH, LOW, RegionKind, require_ordered

DIRECTIONS = Field(
    "directions", Matrix(), "directions u of the outputs, one per row; their coordinates if left out", required=False
)
TOKEN_REGION = Field("tokens", RegionKind(), "where the tokens lie")
KEY_REGION = Field("keys", RegionKind(), "where the keys lie")
VALUE_REGION = Field("values", RegionKind(), "where the values lie")
LARGEST_SCORES = Field("scores", Vector(), "the largest score at each query, with its scale")
SUPPORT_FORMS = EitherKey(
    {
        "tokens": Record(TOKEN_REGION),
        "keys": Record(KEY_REGION, VALUE_REGION),
        "scores": Record(LARGEST_SCORES, LOW, HIGH),
    }
)
SUPPORT = Field("support", SUPPORT_FORMS, "a set that every law has its support in: regions, or ranges")

PROBABILITY = Field("probability", Probability(), "delta, with which the rule may err: 1 minus the confidence")
GIVEN = prompt_forms(DIRECTIONS, SUPPORT, PROBABILITY)

AT_LEAST = Field("at_least", Matrix(), "a lower end for every query (row) and direction (column)")
AT_MOST = Field("at_most", Matrix(), "an upper end for each")
NORM_NAME = Field("norm", Choice(("l2", "linf")), "norm of T_inf - T_L")
MOST = Field("at_most", Rational(minimum=0), "the largest distance, over the queries")
DISTANCE = Field("distance", Record(NORM_NAME, MOST), "a norm of T_inf - T_L; without directions", required=False)
LENGTH = Field("length", Count(1), "the number of its tokens")
ANOTHER = Field(
    "another", Record(LENGTH, AT_LEAST, AT_MOST), "ends for the output of another prompt of the law", required=False
)
ASSERTS = Record(AT_LEAST, AT_MOST, DISTANCE, ANOTHER)
WITNESS = Record()


@dataclass(frozen=True)
class Support:
    """A stated support: what the observed tokens have to keep to, and what bounds scores and outputs on it.

    `margins` are >= 0 exactly where the tokens keep to what has this name. `scores` has the largest <a, x> for every
    query, or where it is `scaled` the largest score itself. `outputs` has, for a sign and every direction, the largest
    <-sign v, x>: minus the least of what the sign makes of the output.
    """

    margins: Sequence[tuple[str, Callable[[], Number]]]
    scores: Sequence[Extreme]
    scaled: bool
    outputs: Mapping[int, Sequence[Extreme]]


@dataclass(frozen=True)
class ObservedPrompt:
    """What is given: a prompt, directions of its outputs, and the support as it is stated."""

    prompt: StatedPrompt
    directions: ExactMatrix
    has_directions: bool
    probability: fmpq
    form: str
    stated_support: Values

    @property
    def chance(self) -> fmpq:
        """alpha, the probability with which each of the one-sided rules may err."""
        return self.probability / (2 * self.prompt.count * self.directions.rows)

    @property
    def factor(self) -> Real:
        """|scale|."""
        scale = self.prompt.scale
        return abs(scale) if isinstance(scale, fmpq) else scale

    @cached_property
    def score_rows(self) -> ExactMatrix:
        """Vectors a with scores |scale| <a, x>, one per query, x a token or a key."""
        rows, scale = self.prompt.stated_queries @ self.prompt.score_map.T, self.prompt.scale
        return -rows if isinstance(scale, fmpq) and scale < 0 else rows

    @cached_property
    def output_rows(self) -> ExactMatrix:
        """Vectors v with outputs <v, x>, one per direction, x a token or a value."""
        weights = self.prompt.weights
        return self.directions @ weights.values() if weights is not None else self.directions

    @cached_property
    def products(self) -> ExactMatrix:
        """<a, x_i>, a row for every query."""
        return self.score_rows @ self.prompt.inputs[0].load().T

    @cached_property
    def outputs(self) -> ExactMatrix:
        """<v, x_i>, a row for every direction."""
        first, values = self.prompt.inputs
        return self.output_rows @ (values if values is not None else first).load().T

    @cached_property
    def support(self) -> Support:
        return _ranges(self) if self.form == LARGEST_SCORES.name else _regions(self)

    def weights(self, query: int) -> list[arb]:
        """w_i = e^{s_i - S}: at most 1 where the tokens keep to the support."""
        products, most = self.products.row(query), self.support.scores[query]
        factor = scale_ball(self.factor)
        if self.support.scaled:
            return [(factor * product - most.rational).exp() for product in products]
        beyond = factor * arb(most.squared).sqrt()
        return [(factor * (product - most.rational) - beyond).exp() for product in products]


def _ranges(given: ObservedPrompt) -> Support:
    values, factor = given.stated_support, given.factor
    scores, low, high = (values[field].load().row(0) for field in (LARGEST_SCORES, LOW, HIGH))

    def below_largest() -> Number:
        """The largest scores minus those of the tokens, at least; exactly where the scale is rational."""
        most = [max(row) for row in given.products.to_rows()]
        if isinstance(factor, fmpq):
            return min(score - factor * product for score, product in zip(scores, most, strict=True))
        ball, least = scale_ball(factor), arb.pos_inf()
        for score, product in zip(scores, most, strict=True):
            least = least.min(score - ball * product)
        return least

    def within() -> Number:
        return BoxRegion(low, high).margin(given.outputs.T)

    return Support(
        [("support.scores", below_largest), ("support.outputs", within)],
        [Extreme(score, fmpq(0)) for score in scores],
        True,
        {1: [Extreme(-end, fmpq(0)) for end in low], -1: [Extreme(end, fmpq(0)) for end in high]},
    )


def _regions(given: ObservedPrompt) -> Support:
    values, (first, second) = given.stated_support, given.prompt.inputs
    margins: list[tuple[str, Callable[[], Number]]]
    if second is None:
        keys = outputs = values[TOKEN_REGION].region
        margins = [("support.tokens", lambda: keys.margin(first.load()))]
    else:
        keys, outputs = values[KEY_REGION].region, values[VALUE_REGION].region
        margins = [
            ("support.keys", lambda: keys.margin(first.load())),
            ("support.values", lambda: outputs.margin(second.load())),
        ]
    rows = given.output_rows
    return Support(
        margins,
        [keys.largest(row) for row in given.score_rows.to_rows()],
        False,
        {1: [outputs.largest(row) for row in (-rows).to_rows()], -1: [outputs.largest(row) for row in rows.to_rows()]},
    )


# A p-value of weights and outputs, for an end and the largest of minus the outputs.
Rule = Callable[[Sequence[arb], Sequence[arb], fmpq, Extreme], arb]


def p_value(weights: Sequence[arb], outputs: Sequence[arb], end: fmpq, most: Extreme) -> arb:
    """1 / M(end), or 1, for outputs that are at least y- = -most: 0 where end <= y-, below which there is no output.

    It bounds the probability that tokens of a law with theta <= end would look like this.
    """
    above = _above(end, most)
    if above <= 0:
        return arb(0)
    if (above > 0) is not True:
        # Not known to this precision: any probability.
        return arb(0).union(arb(1))
    return 1 / wealth(_gains(weights, outputs, end, above)).max(arb(1))


def other_p_value(
    weights: Sequence[arb], outputs: Sequence[arb], end: fmpq, most: Extreme, length: int, share: fmpq
) -> arb:
    """The same for the output of another prompt of so many tokens, which is below `end` with more than that share.

    By Chernoff's bound with e^{-nu g} it is not if E e^{-nu g} is at most kappa = share^(1/length): the bets are that
    it is, for every nu of a list, and all of them are paid for.
    """
    above = _above(end, most)
    if above <= 0:
        return arb(0)
    if (above > 0) is not True:
        return arb(0).union(arb(1))
    gains, kappa = _gains(weights, outputs, end, above), (arb(share).log() / length).exp()
    rates, best = [4 * bet for bet in bets(16 * length)], arb(0)
    for rate in map(arb, rates):
        room = rate.exp() - kappa
        best = best.max(wealth([(kappa - (-rate * gain).exp()) / room for gain in gains]))
    return len(rates) / best.max(arb(len(rates)))


def _above(end: fmpq, most: Extreme) -> arb:
    """end - y-."""
    return arb(end + most.rational) + arb(most.squared).sqrt()


def _gains(weights: Sequence[arb], outputs: Sequence[arb], end: fmpq, above: arb) -> list[arb]:
    """g_i = w_i (y_i - end) / (end - y-), each at least -1."""
    exact = arb(end)
    return [w * (y - exact) / above for w, y in zip(weights, outputs, strict=True)]


@dataclass(frozen=True)
class StatedIntervals:
    """An observed prompt with the intervals that are asserted, by query and direction, and what follows from them."""

    given: ObservedPrompt
    at_least: ExactMatrix
    at_most: ExactMatrix
    distance: Values | None
    another: Values | None = None

    def gaps(self, query: int, weights: Sequence[arb], outputs: Sequence[Sequence[arb]]) -> list[arb]:
        """How far the interval of every direction reaches from T_L, to the farther side."""
        total, found = sum(weights, arb(0)), []
        for direction, each in enumerate(outputs):
            observed = sum((w * y for w, y in zip(weights, each, strict=True)), arb(0)) / total
            low, high = self.at_least.entry(query, direction), self.at_most.entry(query, direction)
            found.append((high - observed).max(observed - low))
        return found


def read(certificate: Certificate) -> StatedIntervals:
    given = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    another, shape = asserts.get(ANOTHER), (given.prompt.count, given.directions.rows)
    for ends in (asserts, another):
        for field in (AT_LEAST, AT_MOST) if ends is not None else ():
            assert ends is not None
            ends[field].require_shape(*shape, "(a row per query, a column per direction)")
    low, high = asserts[AT_LEAST].load(), asserts[AT_MOST].load()
    distance = asserts.get(DISTANCE)
    if distance is not None and given.has_directions:
        raise distance.at.malformed("no distance where directions are given: it is one of the coordinates")
    return StatedIntervals(given, low, high, distance, another)


def read_given(certificate: Certificate) -> ObservedPrompt:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    prompt, stated = read_prompt(form, values), values.get(DIRECTIONS)
    if stated is not None:
        stated.require_shape(None, prompt.output_dimension, "(directions of the outputs)")
    directions = stated.load() if stated is not None else ExactMatrix.identity(prompt.output_dimension)
    kind, support = values[SUPPORT]
    given = ObservedPrompt(prompt, directions, stated is not None, values[PROBABILITY], kind, support)
    _require_fitting(given)
    return given


def _require_fitting(given: ObservedPrompt) -> None:
    """Refuse a support of something else than the prompt's tokens. Raises MalformedError."""
    prompt, support = given.prompt, given.stated_support
    first, second = prompt.inputs
    if given.form == LARGEST_SCORES.name:
        support[LARGEST_SCORES].require_length(prompt.count, "one largest score per query")
        support[LOW].require_length(given.directions.rows, "one end per direction")
        require_ordered(support[LOW], support[HIGH], support)
    elif (given.form == TOKEN_REGION.name) is not (second is None):
        own = "tokens" if second is None else "keys and values"
        raise support.at.malformed(f"a support of {own}, as the prompt is given, or scores, low and high", given.form)
    elif second is None:
        support[TOKEN_REGION].require_dimension(first.shape[1], "the tokens")
    else:
        support[KEY_REGION].require_dimension(first.shape[1], "the keys")
        support[VALUE_REGION].require_dimension(second.shape[1], "the values")


@dataclass(frozen=True)
class _Asked:
    """Ends that are stated under a prefix, and the rule and the probability that they are held against."""

    prefix: str
    low: ExactMatrix
    high: ExactMatrix
    rule: Rule
    share: fmpq


def obligations(stated: StatedIntervals) -> Iterator[Obligation]:
    given, another = stated.given, stated.another
    needs = [name for name, _ in given.support.margins]
    for name, margin in given.support.margins:
        yield Obligation(name, margin, ">=", fmpq(0))
    asked = [_Asked("", stated.at_least, stated.at_most, p_value, given.chance)]
    if another is not None:
        half = given.chance / 2
        rule = partial(other_p_value, length=another[LENGTH], share=half)
        asked.append(_Asked("another.", another[AT_LEAST].load(), another[AT_MOST].load(), rule, half))
    outputs = [Shared(partial(row_of_balls, row)) for row in given.outputs.to_rows()]
    for query in range(given.prompt.count):
        weights = Shared(partial(given.weights, query))
        for one in asked:
            for direction, each in enumerate(outputs):
                for end, sign, table in ((AT_LEAST, 1, one.low), (AT_MOST, -1, one.high)):
                    at, most = sign * table.entry(query, direction), given.support.outputs[sign][direction]
                    left = partial(_one_sided, one.rule, weights, each, sign, at, most)
                    name = f"{one.prefix}{end.name}[{query}][{direction}]"
                    yield Obligation(name, left, "<=", one.share, needs=needs)
        if stated.distance is not None:
            names = [f"{end}[{query}][{d}]" for end in ("at_least", "at_most") for d in range(len(outputs))]
            norm = partial(_norm, stated, query, weights, outputs)
            yield Obligation(f"distance[{query}]", norm, "<=", stated.distance[MOST], needs=names)


def _one_sided(
    rule: Rule, weights: Shared[list[arb]], outputs: Shared[list[arb]], sign: int, end: fmpq, most: Extreme
) -> arb:
    return rule(weights(), outputs() if sign > 0 else [-output for output in outputs()], end, most)


def _norm(stated: StatedIntervals, query: int, weights: Shared[list[arb]], outputs: list[Shared[list[arb]]]) -> arb:
    assert stated.distance is not None
    return NORMS[stated.distance[NORM_NAME]](stated.gaps(query, weights(), [each() for each in outputs]))


THEOREM = Theorem(
    name="observed-prompt",
    title="where attention over infinite prompts of an unknown law lies, from one observed prompt",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
