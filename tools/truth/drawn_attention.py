"""Whether what `normalizer-bound` states of one drawn matrix, except with a probability, is proved, by mpmath.

Variances of the mean of f(e) = e log e - e + 1 come from derivatives of E e^a e'^c by a and c, taken numerically.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, Truth, judge_one
from tools.truth.reading import read_count, read_items, read_number, read_positive, require, require_record, to_real
from tools.truth.score_matrix import Scores


def judge_drawn(scores: Scores, drawn: Any, theta: Fraction, cut: Fraction) -> list[Judgement]:
    """True or open: one judgement for each mean that what is stated has to be above, and that of the probability."""
    require_record(drawn, "drawn", {"probability"}, {"second", "stable_rank", "entropy", "top"})
    require(len(drawn) > 1, "nothing is stated")
    chance, rest = read_positive(drawn["probability"]), 1 - theta
    require(chance < 1, "a probability of 1")
    squares: list[Fraction] = []
    norm = least = None
    if "second" in drawn:
        require_record(drawn["second"], "second", {"at_most"})
        norm = read_positive(drawn["second"]["at_most"])
    if "stable_rank" in drawn:
        require_record(drawn["stable_rank"], "stable_rank", {"at_most"})
        squares.append(read_number(drawn["stable_rank"]["at_most"]))
    for item in read_items(drawn, "top"):
        require_record(item, "top", {"count", "at_most"})
        count = read_count(item["count"], 1)
        require(count <= scores.d, "more weights than there are")
        squares.append(read_positive(item["at_most"]) ** 2 * scores.d / count)
    if "entropy" in drawn:
        require_record(drawn["entropy"], "entropy", {"at_least"})
        least = read_number(drawn["entropy"]["at_least"])
    if not scores.finite(4):
        return [Judgement(Truth.OPEN, 0.0, "drawn", provable=False)]
    rooms: list[tuple[Callable[[], mpf], Callable[[], mpf]]] = []
    if squares:
        energy = min(squares) - 1
        rooms.append((lambda: to_real(rest) ** 2 * to_real(energy) - scores.entry(2), scores.variance))
    if least is not None:
        entropy = least
        rooms.append(
            (
                lambda: to_real(rest) * (mp.log(scores.d) - to_real(entropy)) - to_real(scores.beta) ** 2 / 2,
                lambda: divergence_variance(scores),
            )
        )

    def failing() -> mpf:
        total = scores.d * rare_row(scores, theta, cut)
        for room, variance in rooms:
            total += 1 / (1 + room() ** 2 / variance())
        if norm is not None:
            total += large_norm(scores, to_real(norm) * to_real(rest))
        return total

    found = [bounded(f"room {index}", lambda room=room: -room(), Fraction(0)) for index, (room, _) in enumerate(rooms)]
    return [*found, bounded("probability", failing, chance)]


def bounded(name: str, bound: Callable[[], mpf], most: Fraction) -> Judgement:
    """True where the bound is at most the stated number; else the theorem does not say so."""
    found = judge_one(Comparison(name, bound, most))
    if found.truth is Truth.FALSE:
        return Judgement(Truth.OPEN, 0.0, name, provable=False)
    return found


def rare_row(scores: Scores, theta: Fraction, cut: Fraction) -> mpf:
    """The probability of a low normaliser or a long query, in one row."""
    x, d, c = to_real(scores.beta) ** 2, scores.d, to_real(cut)
    return mp.exp(-d * to_real(theta) ** 2 / 2 / mp.exp(c * x)) + (c * mp.exp(1 - c)) ** (mpf(scores.p) / 2)


def large_norm(scores: Scores, norm: mpf) -> mpf:
    """By Markov's inequality for tr (TT')^k, k = 2, 3 and 4."""
    found = [mpf(1)]
    for k in (2, 3, 4):
        if scores.finite(2 * k):
            found.append(scores.moment(2 * k) * scores.d ** (1 - k) / norm ** (2 * k))
    return min(found)


def divergence_variance(scores: Scores) -> mpf:
    """Of the mean of all f(e), from covariances of two entries that are one, in one row or in one column."""
    d = scores.d
    mean = scores.mean(((1,),)) * to_real(scores.beta) ** 2 / 2
    one = _applied(lambda a, c: scores.mean(((a + c,),)))
    row = _applied(lambda a, c: scores.mean(((a, c),)))
    column = _applied(lambda a, c: scores.mean(((a,), (c,))))
    return ((one - mean**2) + (d - 1) * (row + column - 2 * mean**2)) / mpf(d) ** 2


def _applied(g: Callable[[mpf, mpf], mpf]) -> mpf:
    """E f(e) f(e') from g(a, c) = E e^a e'^c, as f(e) is the derivative of e^a at 1, less e^1, and e^0."""
    parts = ((1, 1, 1), (-1, 1, 0), (1, 0, 0))
    total = mpf(0)
    for sign, a, n in parts:
        for other, c, m in parts:
            value = mp.diff(g, (mpf(a), mpf(c)), (n, m)) if n + m else g(mpf(a), mpf(c))
            total += sign * other * value
    return total
