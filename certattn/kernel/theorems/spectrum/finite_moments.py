"""Theorem `finite-moments`: expected moments of the matrix of exponential scores at finite size, beside their limits.

T is d x d with entries (exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1) / sqrt(d), S_ij = x_i.k_j / sqrt(p), queries x_i
and keys k_j independent N(0, I_p), p = lambda d; m_2k(T) = tr((TT')^k) / d, and m_2k is its limit as d grows. Of
k <= 4 a certificate asserts

    moments       E m_2k(T) is finite and between two numbers
    ratios        the same of E m_2k(T) / m_2k
    entry_parts   the same of d^(1-k) E t^2k / m_2k, t = sqrt(d) T_ij, which is a lower bound of the ratio
    variance      the same of Var m_2(T)
    infinite      E m_2k(T) = infinity, which is so exactly where p <= 2k (2k - 1) beta^2
    smallest      |E m_2k(T) / m_2k - 1| <= within at d, and at no size from `from` to d - 1
    thresholds    beta is below or above sqrt(log(d) / (2k))

`score_matrix` has the formulas, its page the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Relation, Shared
from certattn.kernel.decide.theorem import Sections, Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Choice, Count, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST, SIGNED, some_bound, within
from certattn.kernel.theorems.spectrum import score_matrix as matrix

# Sizes that one certificate may ask to be looked at.
MOST_SIZES = 20_000
BELOW, ABOVE = "below", "above"
_RELATIONS: dict[str, Relation] = {BELOW: "<", ABOVE: ">"}
FOURTH = 4


ORDER = Field("order", Count(2), "2k: 2, 4, 6 or 8")


def _known_order(item: Values) -> None:
    if item[ORDER] not in matrix.ORDERS:
        raise item.node(ORDER).malformed("2, 4, 6 or 8", str(item[ORDER]))


def _known_orders(asserts: Values) -> None:
    for order in asserts.items(INFINITE):
        if order not in matrix.ORDERS:
            raise asserts.node(INFINITE).malformed("orders 2, 4, 6 or 8", str(order))


_BOUNDED = Listing(Record(ORDER, AT_LEAST, AT_MOST, rules=[_known_order, some_bound]))
MOMENTS = Field("moments", _BOUNDED, "bounds of E m_2k(T)", required=False)
RATIOS = Field("ratios", _BOUNDED, "bounds of E m_2k(T) / m_2k, m_2k the moment of the limit law", required=False)
ENTRY_PARTS = Field("entry_parts", _BOUNDED, "bounds of d^(1-k) E t^2k / m_2k, t an entry of sqrt(d) T", required=False)
VARIANCE = Field("variance", SIGNED, "bounds of Var m_2(T)", required=False)
INFINITE = Field("infinite", Listing(Count(2)), "orders 2k with E m_2k(T) = infinity", required=False)
WITHIN = Field("within", Rational(above=0), "largest distance of E m_2k(T) / m_2k from 1")
FROM = Field("from", Count(1), "no size from this on, but below d, is within the distance")
_SMALLEST = Listing(Record(ORDER, WITHIN, FROM, rules=[_known_order]))
SMALLEST = Field("smallest", _SMALLEST, "d is the smallest size for an accuracy", required=False)
SIDE = Field("beta", Choice((BELOW, ABOVE)), "on which side of sqrt(log(d)/(2k)) beta is")
_THRESHOLDS = Listing(Record(ORDER, SIDE, rules=[_known_order]))
THRESHOLDS = Field("thresholds", _THRESHOLDS, "where single entries begin to dominate", required=False)

GIVEN = Record(matrix.BETA, matrix.LAMBDA, matrix.SIZE)
_ASSERTED = (MOMENTS, RATIOS, ENTRY_PARTS, VARIANCE, INFINITE, SMALLEST, THRESHOLDS)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED), _known_orders])
WITNESS = Record()
_sections = sections(GIVEN, ASSERTS, WITNESS)


def read(certificate: Certificate) -> Sections:
    """Everything stated, with sizes that can be. Raises MalformedError."""
    stated = _sections(certificate)
    matrix.score_matrix(stated.given)
    for item in stated.asserts.items(SMALLEST):
        before(stated.given, item)
    return stated


def before(given: Values, item: Values) -> list[matrix.ScoreMatrix]:
    """At the sizes below d, from the stated one on, with a whole lambda d: of `smallest`. Raises MalformedError."""
    d, first, step = given[matrix.SIZE], item[FROM], int(given[matrix.LAMBDA].q)
    if first >= d:
        raise item.node(FROM).malformed(f"a size below d = {d}", str(first))
    sizes = range(-(-first // step) * step, d, step)
    if len(sizes) > MOST_SIZES:
        expected = f"at most {MOST_SIZES} sizes from there to d"
        raise item.node(FROM).malformed(expected, counted(len(sizes), "size"), "begin closer to d")
    beta2 = given[matrix.BETA] * given[matrix.BETA]
    return [matrix.ScoreMatrix(size, int((given[matrix.LAMBDA] * size).p), beta2) for size in sizes]


def all_infinite(smaller: Sequence[matrix.ScoreMatrix], order: int) -> bool:
    """Whether E m_order(T) is infinite at each: it grows infinite as d falls, so the largest decides for all."""
    return all(largest.has_moment(order) is False for largest in smaller[-1:])


def obligations(stated: Sections) -> Iterator[Obligation]:
    given, asserts = stated.given, stated.asserts
    scores = matrix.score_matrix(given)
    for field in (MOMENTS, RATIOS, ENTRY_PARTS):
        for index, item in enumerate(asserts.items(field)):
            place = f"{field.name}[{index}]"
            number = _bounded(field, scores, item[ORDER])
            yield _finite(place, scores, item[ORDER])
            yield from within(place, number, item, needs=[f"{place}.finite"])
    if VARIANCE in asserts:
        yield _finite("variance", scores, FOURTH)
        variance = Shared(scores.second_moment_variance)
        yield from within("variance", variance, asserts[VARIANCE], needs=["variance.finite"])
    for index, order in enumerate(asserts.items(INFINITE)):
        yield Obligation(f"infinite[{index}]", fmpq(scores.p), "<=", matrix.moment_condition(order, scores.beta2))
    for index, item in enumerate(asserts.items(SMALLEST)):
        yield from _smallest(f"smallest[{index}]", given, item)
    for index, item in enumerate(asserts.items(THRESHOLDS)):
        # 2k beta^2 beside log d.
        left, relation = item[ORDER] * scores.beta2, _RELATIONS[item[SIDE]]
        yield Obligation(f"thresholds[{index}]", left, relation, lambda: arb(scores.d).log())


def _finite(place: str, scores: matrix.ScoreMatrix, order: int) -> Obligation:
    return Obligation(f"{place}.finite", fmpq(scores.p), ">", matrix.moment_condition(order, scores.beta2))


def _bounded(field: Field[list[Values]], scores: matrix.ScoreMatrix, order: int) -> Shared[arb]:
    """What an item of a field has bounds of."""
    if field is MOMENTS:
        return Shared(lambda: scores.moment(order))
    part = scores.moment if field is RATIOS else scores.entry_part
    return Shared(lambda: part(order) / matrix.limit_moment(order, scores.beta2, fmpq(scores.p, scores.d)))


def _smallest(place: str, given: Values, item: Values) -> Iterator[Obligation]:
    """Within the distance at d; and further away, or infinite, at every size before."""
    scores, smaller = matrix.score_matrix(given), before(given, item)
    order, needs = item[ORDER], [f"{place}.finite"]

    def nearest(among: Sequence[matrix.ScoreMatrix]) -> arb:
        limit = matrix.limit_moment(order, scores.beta2, fmpq(scores.p, scores.d))
        first, *others = [abs(of.moment(order) / limit - 1) for of in among]
        for other in others:
            first = first.min(other)
        return first

    yield _finite(place, scores, order)
    yield Obligation(f"{place}.at", lambda: nearest([scores]), "<=", item[WITHIN], needs=needs)
    if all_infinite(smaller, order):
        width, condition = fmpq(smaller[-1].p if smaller else 0), matrix.moment_condition(order, scores.beta2)
        yield Obligation(f"{place}.before", width, "<=", condition, needs=needs)
    else:
        earlier = lambda: nearest([of for of in smaller if of.has_moment(order)])  # noqa: E731
        yield Obligation(f"{place}.before", earlier, ">", item[WITHIN], needs=needs)


_TITLE = "expected moments of the matrix of exponential scores at finite size, beside those of its limit"
THEOREM = Theorem("finite-moments", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
