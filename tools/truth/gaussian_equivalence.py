"""Whether certificates of `normalizer-bound` and `universality-bound` hold, by mpmath.

What the theorems bound is not computed: where a stated number is below their bound the certificate proves nothing, and
where it is above it is true. The bounds are evaluated from conditional means given a query: E e^(c s^2),
s^2 = |x|^2 / p; the variance of quadratic forms, `column_variance`, as the claim's page has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.drawn_attention import bounded, judge_drawn, rare_row
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
    require_record(asserts, "asserts", set(), {"mean_square", "distance", "drawn"})
    require(len(asserts) > 0, "nothing is stated")
    require_record(witness, "witness", {"theta", "cut"})
    theta, cut = read_theta(witness), read_cut(witness)
    found = []
    for name, power in (("mean_square", 1), ("distance", 2)):
        if name in asserts:
            require_record(asserts[name], name, {"at_most"})
            most = read_number(asserts[name]["at_most"])
            if scores.finite(4):
                bound = lambda power=power: mp.root(normaliser(scores, theta, cut), power)  # noqa: E731
                found.append(bounded(name, bound, most))
            else:
                found.append(Judgement(Truth.OPEN, 0.0, name, provable=False))
    if "drawn" in asserts:
        found += judge_drawn(scores, asserts["drawn"], theta, cut)
    return together(found)


def judge_universality(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or open; false where the exact mean is not between its bounds."""
    require(isinstance(given, dict), "given")
    require_record(asserts, "asserts", set(), {"universality", "concentration", "linearisation", "equivalence"})
    require(len(asserts) > 0, "nothing is stated")
    if "queries" in given:
        return _given_queries(given, asserts, witness, folder)
    eta = read_positive(given.get("eta"))
    scores = read_scores({key: value for key, value in given.items() if key != "eta"})
    theta, typical = Fraction(0), None
    if "universality" in asserts or "equivalence" in asserts:
        require_record(witness, "witness", {"theta", "cut", "coherence", "excess"})
        theta, typical = read_theta(witness), read_typical(witness)
    else:
        require(witness == {}, "a witness for nothing")
    bounds: list[tuple[str, Callable[[], mpf]]] = [
        ("universality", lambda: universality(scores, eta, typical)),
        ("equivalence", lambda: equivalence(scores, eta, theta, typical)),
    ]
    found: list[Judgement] = []
    for name, bound in bounds:
        if name in asserts:
            require_record(asserts[name], name, {"at_most"})
            most = read_number(asserts[name]["at_most"])
            finite = scores.finite(4)
            found.append(bounded(name, bound, most) if finite else Judgement(Truth.OPEN, 0.0, name, provable=False))
    if "concentration" in asserts:
        found.append(_concentration(asserts["concentration"], scores.d, eta, 1))
    if "linearisation" in asserts:
        sides = read_bounds(asserts["linearisation"], "linearisation").items()
        if scores.p > 4 * scores.beta**2:
            value = lambda: linearisation(scores)  # noqa: E731
            found += [judge_one(Comparison("linearisation", value, bound, key == "at_most")) for key, bound in sides]
        else:
            found.append(Judgement(Truth.FALSE, 1.0, "linearisation"))
    return together(found)


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
        found.append(bounded("universality", lambda: of_queries(queries, beta, eta), most))
    if "concentration" in asserts:
        found.append(_concentration(asserts["concentration"], len(queries), eta, 2))
    return together(found)


# -- the bounds


def _mean(scores: Scores, c: mpf) -> mpf:
    """E e^(c s^2)."""
    return (1 - 2 * c / scores.p) ** (-mpf(scores.p) / 2)


def _mean_square_weighted(scores: Scores, c: mpf) -> mpf:
    """E s^2 e^(c s^2)."""
    return _mean(scores, c) / (1 - 2 * c / scores.p)


def normaliser(scores: Scores, theta: Fraction, cut: Fraction) -> mpf:
    x, d, t = to_real(scores.beta) ** 2, scores.d, to_real(theta)
    variance = _mean(scores, 2 * x) - 2 * _mean(scores, x) + 1
    fourth = _mean(scores, 6 * x) - 4 * _mean(scores, 3 * x) + 6 * _mean(scores, x) - 3
    return ((d - 1) * variance + fourth) / mpf(d) ** 2 / (1 - t) ** 2 + (d - 1) * rare_row(scores, theta, cut)


def linearisation(scores: Scores) -> mpf:
    """Off the diagonal y is N(0, w s^2) given the other query, w = beta^4 / p."""
    x, d, p = to_real(scores.beta) ** 2, scores.d, scores.p
    w = x**2 / p
    pair = _mean(scores, 2 * w) - 2 * _mean(scores, w / 2) + 1 + w - 2 * w * _mean_square_weighted(scores, w / 2)
    c = mp.exp(x) - x
    single = _mean(scores, 2 * x) - 2 * x * _mean_square_weighted(scores, x) - 2 * c * _mean(scores, x)
    single += x**2 * (1 + mpf(2) / p) + 2 * c * x + c**2
    return d * (d - 1) * pair + d * single


@dataclass(frozen=True)
class Typical:
    """What the witness says of queries."""

    cut: Fraction
    coherence: Fraction
    excess: Fraction

    def improbable(self, d: int, p: mpf) -> mpf:
        c, mu, z = to_real(self.cut), to_real(self.coherence), to_real(self.excess)
        tail = c * mp.exp(1 - c)
        lengths = d * tail ** (p / 2) + d * tail ** (mpf(d - 1) / 2)
        return lengths + mpf(d) ** 2 * mp.exp(-(mu**2) * p / (2 * c)) + mp.exp(-(z**2) / 2)

    def norm(self, d: int, p: mpf) -> mpf:
        return (mp.sqrt(d) + mp.sqrt(p) + to_real(self.excess)) ** 2 / p


@dataclass(frozen=True)
class Sizes:
    """|G|, c, r, mu, gamma; the means of S_ii^2 (e^(4x G_ii) - 1), of S_ii^2 and of the rows of S_ij^2; S is Sigma."""

    norm: mpf
    c: mpf
    r: mpf
    mu: mpf
    gamma: mpf
    fourth: mpf
    diagonal: mpf
    rows: mpf

    @property
    def frobenius(self) -> mpf:
        """|Sigma|_F^2 / d."""
        return self.diagonal + self.rows


def column_variance(sizes: Sizes, x: mpf) -> mpf:
    """V."""

    def e2(y: mpf) -> mpf:
        return mp.expm1(y) - y

    def over(y: mpf, power: int) -> mpf:
        """e2(y mu) / mu^power, and its limit at mu = 0."""
        if sizes.mu == 0:
            return y**2 / 2 if power == 2 else mpf(0)
        return e2(y * sizes.mu) / sizes.mu**power

    def plain(s: int) -> mpf:
        """A."""
        return s * x * mp.sqrt(sizes.gamma) + e2(s * x * sizes.c) + mp.sqrt(sizes.r) * over(s * x, 1)

    def norms(s: int) -> mpf:
        """D."""
        return s * x * sizes.norm + e2(s * x * sizes.c) + sizes.r * over(s * x, 2)

    P = sizes.fourth + sizes.diagonal * (4 * x * sizes.norm + sizes.r * over(4 * x, 2))
    R = plain(2) ** 2 - 2 * plain(1) ** 2
    H = 4 * sizes.rows * norms(1)
    C = mp.expm1(x * sizes.mu) ** 2 * (norms(2) ** 2 - 2 * norms(1) ** 2)
    return (mp.sqrt(P) + mp.sqrt(R) + mp.sqrt(H) + mp.sqrt(C)) ** 2


def _random(scores: Scores, typical: Typical) -> Sizes:
    x, d, p, c = to_real(scores.beta) ** 2, scores.d, mpf(scores.p), to_real(typical.cut)
    w = x**2 / p
    pair = _mean(scores, 2 * w) - 2 * _mean(scores, w / 2) + 1
    square = {n: _mean(scores, (n + 2) * x) - 2 * _mean(scores, (n + 1) * x) + _mean(scores, n * x) for n in (0, 4)}
    return Sizes(
        typical.norm(d, p),
        c,
        c**2 * (d - 1) / p,
        to_real(typical.coherence),
        1 + (d + 1) / p,
        square[4] - square[0],
        square[0],
        (d - 1) * pair,
    )


def universality(scores: Scores, eta: Fraction, typical: Typical) -> mpf:
    d, e, sizes = scores.d, to_real(eta), _random(scores, typical)
    columns = (column_variance(sizes, to_real(scores.beta) ** 2) + 2 * sizes.frobenius) / (d * e**3)
    return columns + typical.improbable(d, mpf(scores.p)) / e


def equivalence(scores: Scores, eta: Fraction, theta: Fraction, typical: Typical) -> mpf:
    x, e, d, p = to_real(scores.beta) ** 2, to_real(eta), scores.d, mpf(scores.p)
    alpha2 = mp.expm1(x) - x
    first = slope(e) * mp.sqrt(normaliser(scores, theta, typical.cut))
    w = _mean(scores, x) - 1
    second = w / (d * e * (e + w))
    linear = alpha2**2 + 2 * alpha2 * x + x**2 * (1 + (d + 1) / p)
    third = (column_variance(_random(scores, typical), x) + 2 * linear) / (d * e**3)
    third += mp.sqrt(linearisation(scores) / d) / e**2
    return first + second + third + typical.improbable(d, p) / e


def slope(e: mpf) -> mpf:
    """The largest one of 1 / (y^2 + eta)."""
    return mp.sqrt(27) / 8 / e**1.5


def of_queries(queries: Table, beta: Fraction, eta: Fraction) -> mpf:
    d, p, x, e = len(queries), len(queries[0]), to_real(beta) ** 2, to_real(eta)
    X = mp.matrix([[to_real(entry) for entry in row] for row in queries])
    G = X * X.T / p
    others = [[G[i, j] for j in range(d) if j != i] for i in range(d)]
    own = [mp.expm1(x * G[i, i]) ** 2 for i in range(d)]
    sizes = Sizes(
        max(mp.eigsy(G, eigvals_only=True)),
        max(G[i, i] for i in range(d)),
        max(mp.fsum(y**2 for y in row) for row in others),
        max(abs(y) for row in others for y in row),
        mp.fsum(y**2 for y in G) / d,
        mp.fsum(own[i] * mp.expm1(4 * x * G[i, i]) for i in range(d)) / d,
        mp.fsum(own) / d,
        mp.fsum(mp.expm1(x * y) ** 2 for row in others for y in row) / d,
    )
    return (column_variance(sizes, x) + 2 * sizes.frobenius) / (d * e**3)


# -- what is stated


def _concentration(stated: Any, d: int, eta: Fraction, factor: int) -> Judgement:
    require_record(stated, "concentration", {"deviation", "at_most"})
    deviation, most = read_positive(stated["deviation"]), read_number(stated["at_most"])
    return bounded("concentration", lambda: 2 * mp.exp(-factor * d * (to_real(eta) * to_real(deviation)) ** 2), most)


def together(found: list[Judgement]) -> Judgement:
    first = min(found, key=lambda one: (_ORDER.index(one.truth), one.provable, one.slack))
    return Judgement(first.truth, first.slack, first.where, all(one.provable for one in found))


def read_theta(witness: Any) -> Fraction:
    theta = read_positive(witness["theta"])
    require(theta < 1, "theta")
    return theta


def read_cut(witness: Any) -> Fraction:
    cut = read_number(witness["cut"])
    require(cut > 1, "cut")
    return cut


def read_typical(witness: Any) -> Typical:
    return Typical(read_cut(witness), read_positive(witness["coherence"]), read_positive(witness["excess"]))
