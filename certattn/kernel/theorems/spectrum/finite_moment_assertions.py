"""What `finite-moments` asserts of expected moments at finite size: the fields, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.fields import Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.document.quoting import counted
from certattn.kernel.given.ranges import AT_LEAST, AT_MOST, SIGNED, Range, read_range
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.mathematics.finite_moments import ORDERS, ScoreMatrix
from certattn.kernel.theorems.spectrum.score_matrix_inputs import (
    BETA,
    LAMBDA,
    SIZE,
    score_matrix_words,
)

# Sizes that one certificate may ask to be looked at.
MOST_SIZES = 20_000
BELOW, ABOVE = "below", "above"

ORDER = Field("order", Count(2), "2k: 2, 4, 6 or 8")
_BOUNDED = Listing(Record(ORDER, AT_LEAST, AT_MOST))
MOMENTS = Field("moments", _BOUNDED, "bounds of E m_2k(T)", required=False)
RATIOS = Field("ratios", _BOUNDED, "bounds of E m_2k(T) / m_2k, m_2k the moment of the limit law", required=False)
ENTRY_PARTS = Field("entry_parts", _BOUNDED, "bounds of d^(1-k) E t^2k / m_2k, t an entry of sqrt(d) T", required=False)
VARIANCE = Field("variance", SIGNED, "bounds of Var m_2(T)", required=False)
INFINITE = Field("infinite", Listing(Count(2)), "orders 2k with E m_2k(T) = infinity", required=False)
WITHIN = Field("within", Rational(above=0), "largest distance of E m_2k(T) / m_2k from 1")
FROM = Field("from", Count(1), "no size from this on, but below d, is within the distance")
SMALLEST = Field("smallest", Listing(Record(ORDER, WITHIN, FROM)), "d is the smallest size for an accuracy", False)
SIDE = Field("beta", Choice((BELOW, ABOVE)), "on which side of sqrt(log(d)/(2k)) beta is")
THRESHOLDS = Field("thresholds", Listing(Record(ORDER, SIDE)), "where single entries begin to dominate", required=False)

GIVEN = Record(BETA, LAMBDA, SIZE)
ASSERTS = Record(MOMENTS, RATIOS, ENTRY_PARTS, VARIANCE, INFINITE, SMALLEST, THRESHOLDS)


@dataclass(frozen=True)
class Bounded:
    """A number that belongs to an order lies in a range."""

    order: int
    stated: Range


@dataclass(frozen=True)
class Smallest:
    """E m_order(T) / m_order is within a distance of 1 at d, and at none of the sizes that stand in `before`."""

    order: int
    within: fmpq
    first: int
    before: range


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, all exact; `words` are the statement's pieces."""

    scores: ScoreMatrix
    lambda_: fmpq
    bounded: dict[str, list[Bounded]]
    variance: Range | None
    infinite: list[int]
    smallest: list[Smallest]
    thresholds: list[tuple[int, str]]
    words: list[str]


def read_problem(given: Values, asserts: Values, scores: ScoreMatrix) -> Problem:
    """Everything stated. Raises MalformedError."""
    if not any(field in asserts for field in ASSERTS.fields.values()):
        raise asserts.at.malformed(" or ".join(ASSERTS.fields), "nothing that is asserted")
    bounded = {}
    for field in (MOMENTS, RATIOS, ENTRY_PARTS):
        bounded[field.name] = [Bounded(_order(item), read_range(item)) for item in asserts.get(field) or []]
    variance = read_range(asserts[VARIANCE]) if VARIANCE in asserts else None
    infinite: list[int] = asserts.get(INFINITE) or []
    for order in infinite:
        if order not in ORDERS:
            raise asserts.node(INFINITE).malformed("orders 2, 4, 6 or 8", str(order))
    smallest = [_read_smallest(item, given) for item in asserts.get(SMALLEST) or []]
    thresholds = [(_order(item), item[SIDE]) for item in asserts.get(THRESHOLDS) or []]
    words = [_head(given, scores)]
    for name, say in _SAID.items():
        words += [f"{say.format(n=item.order, k=item.order // 2, fall=1 - item.order // 2)} is "
                  f"{item.stated.words()}" for item in bounded[name]]  # fmt: skip
    words += [f"Var m_2(T), which is finite, is {variance.words()}"] if variance is not None else []
    words += [f"E m_{order}(T) is infinite" for order in infinite]
    words += [_smallest_words(item, scores.d, given[LAMBDA]) for item in smallest]
    for order, side in thresholds:
        words.append(f"beta is {side} sqrt(log(d)/{order}), the threshold of order {order}")
    return Problem(scores, given[LAMBDA], bounded, variance, infinite, smallest, thresholds, words)


_SAID = {
    MOMENTS.name: "E m_{n}(T), which is finite,",
    RATIOS.name: "E m_{n}(T)/m_{n}, which is finite,",
    ENTRY_PARTS.name: "d^({fall}) E t^{n}/m_{n}, which is finite and at most E m_{n}(T)/m_{n},",
}


def _order(item: Values) -> int:
    order: int = item[ORDER]
    if order not in ORDERS:
        raise item.node(ORDER).malformed("2, 4, 6 or 8", str(order))
    return order


def _read_smallest(item: Values, given: Values) -> Smallest:
    d, first, step = given[SIZE], item[FROM], int(given[LAMBDA].q)
    if first >= d:
        raise item.node(FROM).malformed(f"a size below d = {d}", str(first))
    # The sizes for which lambda d is a whole number.
    before = range(-(-first // step) * step, d, step)
    if len(before) > MOST_SIZES:
        raise item.node(FROM).malformed(
            f"at most {MOST_SIZES} sizes from there to d", counted(len(before), "size"), "begin closer to d"
        )
    return Smallest(_order(item), item[WITHIN], first, before)


def _head(given: Values, scores: ScoreMatrix) -> str:
    return (
        f"{score_matrix_words(given, scores)}, with m_2k(T) = tr((TT')^k)/d, m_2k its limit for d to infinity and "
        "lambda fixed, t an entry of sqrt(d) T:"
    )


def _smallest_words(item: Smallest, d: int, lambda_: fmpq) -> str:
    whole = " with a whole lambda d" if lambda_.q != 1 else ""
    size = "" if not item.before else f", and at no d from {item.first} to {d - 1}{whole}"
    found = f"|E m_{item.order}(T)/m_{item.order} - 1| <= {describe(item.within)} at d = {d}"
    return f"{found}{size}" if size else f"{found}, and there is no d from {item.first} to {d - 1}{whole}"


def latex_of(problem: Problem) -> list[str]:
    latex = []
    if problem.bounded[MOMENTS.name]:
        latex.append(r"\ell \le \mathbb E\, m_{2k}(T) \le u")
    if problem.bounded[RATIOS.name]:
        latex.append(r"\ell \le \mathbb E\, m_{2k}(T) / m_{2k} \le u")
    if problem.bounded[ENTRY_PARTS.name]:
        latex.append(r"\ell \le d^{1-k}\, \mathbb E\, t^{2k} / m_{2k} \le u")
    if problem.variance is not None:
        latex.append(r"\ell \le \operatorname{Var} m_2(T) \le u")
    if problem.infinite:
        latex.append(r"\mathbb E\, m_{2k}(T) = \infty")
    if problem.smallest:
        latex.append(r"\lvert \mathbb E\, m_{2k}(T) / m_{2k} - 1 \rvert \le \varepsilon")
    for _, side in problem.thresholds[:1]:
        latex.append(rf"\beta {'<' if side == BELOW else '>'} \sqrt{{\log d / (2k)}}")
    return latex
