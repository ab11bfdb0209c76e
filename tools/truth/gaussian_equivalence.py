"""Whether certificates of `normalizer-bound` and `universality-bound` hold, by mpmath.

What the theorems bound is not computed: where a stated number is below their bound the certificate proves nothing, and
where it is above it is true. The bounds are evaluated from conditional means given a query: E e^(c s^2),
s^2 = |x|^2 / p.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, Truth, judge_one
from tools.truth.reading import (
    Table,
    read_bounds,
    read_number,
    read_positive,
    read_table,
    require,
    require_record,
    to_real,
)
from tools.truth.score_matrix import Scores, read_scores

_ORDER = (Truth.FALSE, Truth.EQUAL, Truth.OPEN, Truth.TRUE)


def judge_normaliser(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or open."""
    scores = read_scores(given)
    require_record(asserts, "asserts", set(), {"mean_square", "distance"})
    require(len(asserts) > 0, "nothing is stated")
    require_record(witness, "witness", {"theta", "cut"})
    theta, cut = _theta(witness), _cut(witness)
    found = []
    for name, power in (("mean_square", 1), ("distance", 2)):
        if name in asserts:
            require_record(asserts[name], name, {"at_most"})
            most = read_number(asserts[name]["at_most"])
            if scores.finite(4):
                bound = lambda power=power: mp.root(normaliser(scores, theta, cut), power)  # noqa: E731
                found.append(_bounded(name, bound, most))
            else:
                found.append(Judgement(Truth.OPEN, 0.0, name, provable=False))
    return _together(found)


def judge_universality(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or open; false where the exact mean is not between its bounds."""
    require(isinstance(given, dict), "given")
    require_record(asserts, "asserts", set(), {"universality", "concentration", "linearisation", "equivalence"})
    require(len(asserts) > 0, "nothing is stated")
    if "queries" in given:
        return _given_queries(given, asserts, witness, folder)
    eta = read_positive(given.get("eta"))
    scores = read_scores({key: value for key, value in given.items() if key != "eta"})
    theta = cut = excess = Fraction(0)
    if "universality" in asserts or "equivalence" in asserts:
        require_record(witness, "witness", {"theta", "cut", "excess"})
        theta, cut, excess = _theta(witness), _cut(witness), read_positive(witness["excess"])
    else:
        require(witness == {}, "a witness for nothing")
    bounds: list[tuple[str, int, Callable[[], mpf]]] = [
        ("universality", 8, lambda: universality(scores, eta, cut, excess)),
        ("equivalence", 12, lambda: equivalence(scores, eta, theta, cut, excess)),
    ]
    found = []
    for name, factor, bound in bounds:
        if name in asserts:
            require_record(asserts[name], name, {"at_most"})
            most = read_number(asserts[name]["at_most"])
            finite = scores.p > factor * scores.beta**2
            found.append(_bounded(name, bound, most) if finite else Judgement(Truth.OPEN, 0.0, name, provable=False))
    if "concentration" in asserts:
        found.append(_concentration(asserts["concentration"], scores.d, eta, 1))
    if "linearisation" in asserts:
        sides = read_bounds(asserts["linearisation"], "linearisation").items()
        if scores.p > 4 * scores.beta**2:
            value = lambda: linearisation(scores)  # noqa: E731
            found += [judge_one(Comparison("linearisation", value, bound, key == "at_most")) for key, bound in sides]
        else:
            found.append(Judgement(Truth.FALSE, 1.0, "linearisation"))
    return _together(found)


def _given_queries(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    require_record(given, "given", {"beta", "eta", "queries"})
    require("linearisation" not in asserts and "equivalence" not in asserts, "of random queries")
    require(witness == {}, "a witness for nothing")
    beta, eta, queries = read_positive(given["beta"]), read_positive(given["eta"]), read_table(given["queries"], folder)
    require(len(queries) >= 2, "one query")
    found = []
    if "universality" in asserts:
        require_record(asserts["universality"], "universality", {"at_most"})
        most = read_number(asserts["universality"]["at_most"])
        found.append(_bounded("universality", lambda: of_queries(queries, beta, eta), most))
    if "concentration" in asserts:
        found.append(_concentration(asserts["concentration"], len(queries), eta, 2))
    return _together(found)


# -- the bounds


def _mean(scores: Scores, c: mpf) -> mpf:
    """E e^(c s^2)."""
    return (1 - 2 * c / scores.p) ** (-mpf(scores.p) / 2)


def _mean_square_weighted(scores: Scores, c: mpf) -> mpf:
    """E s^2 e^(c s^2)."""
    return _mean(scores, c) / (1 - 2 * c / scores.p)


def _long(scores: Scores, cut: Fraction) -> mpf:
    c = to_real(cut)
    return (c * mp.exp(1 - c)) ** (mpf(scores.p) / 2)


def normaliser(scores: Scores, theta: Fraction, cut: Fraction) -> mpf:
    x, d, t = to_real(scores.beta) ** 2, scores.d, to_real(theta)
    variance = _mean(scores, 2 * x) - 2 * _mean(scores, x) + 1
    fourth = _mean(scores, 6 * x) - 4 * _mean(scores, 3 * x) + 6 * _mean(scores, x) - 3
    rare = mp.exp(-d * t**2 / 2 / mp.exp(to_real(cut) * x)) + _long(scores, cut)
    return ((d - 1) * variance + fourth) / mpf(d) ** 2 / (1 - t) ** 2 + (d - 1) * rare


def linearisation(scores: Scores) -> mpf:
    """Off the diagonal y is N(0, w s^2) given the other query, w = beta^4 / p."""
    x, d, p = to_real(scores.beta) ** 2, scores.d, scores.p
    w = x**2 / p
    pair = _mean(scores, 2 * w) - 2 * _mean(scores, w / 2) + 1 + w - 2 * w * _mean_square_weighted(scores, w / 2)
    c = mp.exp(x) - x
    single = _mean(scores, 2 * x) - 2 * x * _mean_square_weighted(scores, x) - 2 * c * _mean(scores, x)
    single += x**2 * (1 + mpf(2) / p) + 2 * c * x + c**2
    return d * (d - 1) * pair + d * single


def _frobenius(scores: Scores, n: int) -> mpf:
    """E sum_ij (e^(n y_ij) - 1)^2."""
    x, d = n * to_real(scores.beta) ** 2, scores.d
    w = x**2 / scores.p
    pair = _mean(scores, 2 * w) - 2 * _mean(scores, w / 2) + 1
    return d * (d - 1) * pair + d * (_mean(scores, 2 * x) - 2 * _mean(scores, x) + 1)


def universality(scores: Scores, eta: Fraction, cut: Fraction, excess: Fraction) -> mpf:
    x, d, e, z = to_real(scores.beta) ** 2, scores.d, to_real(eta), to_real(excess)
    norm = (mp.sqrt(d) + mp.sqrt(scores.p) + z) ** 2 / scores.p
    weight = mp.exp(to_real(cut) * x)
    trace = d * (_mean(scores, x) - 1)
    columns = 4 * x * norm * weight * (_frobenius(scores, 2) + weight**4 * trace)
    rare = (d * _long(scores, cut) + mp.exp(-(z**2) / 2)) / e
    return (columns + 2 * _frobenius(scores, 1)) / e**3 / mpf(d) ** 2 + rare


def equivalence(scores: Scores, eta: Fraction, theta: Fraction, cut: Fraction, excess: Fraction) -> mpf:
    x, e = to_real(scores.beta) ** 2, to_real(eta)
    alpha2 = mp.expm1(x) - x
    steps = mp.sqrt(normaliser(scores, theta, cut)) + mp.sqrt(linearisation(scores) / scores.d / alpha2)
    return mp.sqrt(27) / 8 / e**1.5 * steps + 1 / (scores.d * e) + universality(scores, eta, cut, excess)


def of_queries(queries: Table, beta: Fraction, eta: Fraction) -> mpf:
    d, p, x, e = len(queries), len(queries[0]), to_real(beta) ** 2, to_real(eta)
    X = mp.matrix([[to_real(entry) for entry in row] for row in queries])
    G = X * X.T / p
    norm = max(mp.eigsy(G, eigvals_only=True))
    total = sum(mp.exp(x * G[i, i]) * mp.expm1(2 * x * G[i, j]) ** 2 for i in range(d) for j in range(d))
    longest = max(G[i, i] for i in range(d))
    trace = sum(mp.expm1(x * G[i, i]) for i in range(d))
    square = sum(mp.expm1(x * G[i, j]) ** 2 for i in range(d) for j in range(d))
    return (4 * x * norm * (total + mp.exp(5 * x * longest) * trace) + 2 * square) / e**3 / mpf(d) ** 2


# -- what is stated


def _concentration(stated: Any, d: int, eta: Fraction, factor: int) -> Judgement:
    require_record(stated, "concentration", {"deviation", "at_most"})
    deviation, most = read_positive(stated["deviation"]), read_number(stated["at_most"])
    return _bounded("concentration", lambda: 2 * mp.exp(-factor * d * (to_real(eta) * to_real(deviation)) ** 2), most)


def _bounded(name: str, bound: Callable[[], mpf], most: Fraction) -> Judgement:
    """True where the bound is at most the stated number; else the theorem does not say so."""
    found = judge_one(Comparison(name, bound, most))
    if found.truth is Truth.FALSE:
        return Judgement(Truth.OPEN, 0.0, name, provable=False)
    return found


def _together(found: list[Judgement]) -> Judgement:
    first = min(found, key=lambda one: (_ORDER.index(one.truth), one.provable, one.slack))
    return Judgement(first.truth, first.slack, first.where, all(one.provable for one in found))


def _theta(witness: Any) -> Fraction:
    theta = read_positive(witness["theta"])
    require(theta < 1, "theta")
    return theta


def _cut(witness: Any) -> Fraction:
    cut = read_number(witness["cut"])
    require(cut > 1, "cut")
    return cut
