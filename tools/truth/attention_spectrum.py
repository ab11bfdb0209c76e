"""Whether certificates of `attention-spectrum` prove what they state, by mpmath, written from the claim's page.

What the theorem bounds is random and not computed: where a stated number is below its bound the certificate proves
nothing, and where all are above and exceptions improbable enough it is true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.gaussian_equivalence import (
    Sizes,
    Typical,
    bounded,
    column_variance,
    read_theta,
    read_typical,
    slope,
    together,
)
from tools.truth.judgement import Comparison, Judgement, Truth, judge_one
from tools.truth.reading import (
    read_count,
    read_items,
    read_positive,
    require,
    require_record,
    to_real,
)


def judge_spectrum(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or open."""
    require_record(given, "given", {"beta", "lambda", "from"})
    require_record(asserts, "asserts", {"probability", "transform"}, {"apart"})
    optional = {"moment"} if "apart" in asserts else set()
    require_record(witness, "witness", {"theta", "cut", "coherence", "excess", "share", "tail"} | optional)
    beta, lambda_, d = read_positive(given["beta"]), read_positive(given["lambda"]), read_count(given["from"], 2)
    probability = read_positive(asserts["probability"])
    require(probability < 1, "probability")
    items = read_items(asserts, "transform")
    for item in items:
        require_record(item, "transform", {"eta", "within"})
    stated = [(read_positive(item["eta"]), read_positive(item["within"])) for item in items]
    share, tail = read_positive(witness["share"]), read_positive(witness["tail"])
    require(tail < 1, "tail")
    steps = Steps(beta, lambda_, d, read_typical(witness), read_theta(witness), share, tail)
    found = [
        _at_least("falls.lengths", steps.falls_lengths, Fraction(1)),
        _at_least("falls.products", steps.falls_products, Fraction(1)),
        _at_least("falls.normalisers", steps.low, Fraction(1)),
        bounded("probability", lambda: steps.failing(len(stated)), probability),
    ]
    found += [
        bounded(f"transform[{index}]", lambda eta=eta: steps.bound(eta), within)  # type: ignore[misc]
        for index, (eta, within) in enumerate(stated)
    ]
    if "apart" in asserts:
        require_record(asserts["apart"], "apart", {"at_least"})
        least, moment = read_positive(asserts["apart"]["at_least"]), read_positive(witness["moment"])
        for name, sign in (("apart.smaller", 1), ("apart.larger", -1)):
            margin = lambda sign=sign: max(_margin(beta, lambda_, moment, sign, *each) for each in stated)  # noqa: E731
            found.append(_at_least(name, margin, least))
    return together(found)


def _at_least(name: str, value: Callable[[], mpf], least: Fraction) -> Judgement:
    found = judge_one(Comparison(name, value, least, upper=False))
    return Judgement(Truth.OPEN, 0.0, name, provable=False) if found.truth is Truth.FALSE else found


def _margin(beta: Fraction, lambda_: Fraction, moment: Fraction, sign: int, eta: Fraction, within: Fraction) -> mpf:
    e, u, m = to_real(eta), to_real(within), to_real(moment)
    return e * (sign * (2 / (e + mp.sqrt(e**2 + 4 * m * e)) - limit(beta, lambda_, eta, mp.prec)) - u)


@cache
def limit(beta: Fraction, lambda_: Fraction, eta: Fraction, bits: int) -> mpf:
    """s_mu, the one zero of phi in (0, 1/eta], by halving; so many bits are wanted."""
    x, e = to_real(beta) ** 2, to_real(eta)
    a, b = mp.expm1(x) - x, x / to_real(lambda_)
    low, high = mpf(0), 1 / e
    for _ in range(bits + 20):
        s = (low + high) / 2
        positive = 1 - e * s - a * e * s**2 - x * e * s**2 / (1 + b * e * s**2) > 0
        low, high = (s, high) if positive else (low, s)
    return (low + high) / 2


@dataclass(frozen=True)
class Steps:
    """The page's proof, step by step, at d tokens."""

    beta: Fraction
    lambda_: Fraction
    d: int
    typical: Typical
    theta: Fraction
    share: Fraction
    tail: Fraction

    @property
    def x(self) -> mpf:
        return to_real(self.beta) ** 2

    @property
    def a(self) -> mpf:
        """alpha^2."""
        return mp.expm1(self.x) - self.x

    @property
    def p(self) -> mpf:
        return to_real(self.lambda_ * self.d)

    @property
    def c(self) -> mpf:
        return to_real(self.typical.cut)

    def chebyshev(self, variance: mpf) -> mpf:
        return mp.sqrt(variance / to_real(self.share))

    @property
    def rho(self) -> mpf:
        """Of what has two tails."""
        return mp.log(2 / to_real(self.tail))

    # -- exceptions

    def low(self) -> mpf:
        return self.d * to_real(self.theta) ** 2 / 2 * mp.exp(-self.c * self.x)

    def falls_lengths(self) -> mpf:
        return min(to_real(self.lambda_), mpf(1)) * (self.c - 1 - mp.log(self.c)) * self.d / 2

    def falls_products(self) -> mpf:
        return to_real(self.typical.coherence) ** 2 * self.p / (4 * self.c)

    def failing(self, etas: int) -> mpf:
        events = 3 * to_real(self.share) + (1 + 2 * etas) * to_real(self.tail)
        return events + self.typical.improbable(self.d, self.p) + self.d * mp.exp(-self.low())

    # -- queries

    @property
    def sizes(self) -> Sizes:
        x, c, mu = self.x, self.c, to_real(self.typical.coherence)
        r = c**2 / to_real(self.lambda_)
        own = mp.expm1(x * c) ** 2
        rows = r * (mp.expm1(x * mu) / mu) ** 2
        return Sizes(self.typical.norm(self.d, self.p), c, r, mu, c**2 + r, own * mp.expm1(4 * x * c), own, rows)

    @property
    def variance(self) -> mpf:
        """V."""
        return column_variance(self.sizes, self.x)

    @property
    def q2(self) -> mpf:
        p = self.p
        return 2 / p + self.chebyshev((8 / p**2 + 48 / p**3) / self.d)

    @property
    def q4(self) -> mpf:
        p, d = self.p, self.d
        variance = 210 * (p + 2) * (p + 4) * (p + 6) / p**7 + 288 * d * (p + 2) * (p + 3) / p**7
        return 3 * d * (p + 2) / p**3 + self.chebyshev(variance)

    @property
    def covariances(self) -> mpf:
        """|Sigma - Sigma_lin|_F^2 / d."""
        x, y = self.x, self.x * to_real(self.typical.coherence)
        phi2 = (mp.expm1(y) - y) / y**2
        return x**2 * mp.expm1(x * self.c) ** 2 * self.q2 + x**4 * phi2**2 * self.q4

    @property
    def w(self) -> mpf:
        x, d = self.x, self.d
        small = mp.log(1 / to_real(self.tail)) / (self.p * d)
        g = 2 * (mp.sqrt(small) + small)
        traces = mp.expm1(x) + x * mp.exp(x) * g + x**2 / 2 * mp.exp(x * self.c) * self.q2
        return traces + self.chebyshev(self.variance / mpf(d) ** 2 + 2 * self.sizes.frobenius / d)

    # -- the five steps

    def bound(self, eta: Fraction) -> mpf:
        return mp.fsum(self.steps(eta))

    def steps(self, eta: Fraction) -> list[mpf]:
        e, d, p, x, a, w, V = to_real(eta), self.d, self.p, self.x, self.a, self.w, self.variance
        L, lambda_ = slope(e), to_real(self.lambda_)
        one = mp.sqrt(w / d) / (2 * e * (1 - to_real(self.theta))) + w / (d * e * (e + w))
        # The larger root of y^2 = 2 rho (square + most y / 3).
        square, most = V / (mpf(d) ** 2 * e**4), 1 / (d * e)
        half = self.rho * most / 3
        two = half + mp.sqrt(half**2 + 2 * self.rho * square)
        linear = (a + x * self.c) ** 2 + x**2 * self.sizes.r
        three = (V + 2 * linear) / (d * e**3) + mp.sqrt(self.covariances) / e**2
        four = L * to_real(self.beta) / d * (1 + 1 / mp.sqrt(lambda_)) * mp.sqrt(2 * self.rho)
        N = (mp.sqrt(d) + mp.sqrt(p) + 3) ** 2 / p
        s = L / d * mp.sqrt(a + 2 * x * N)
        tau = mp.sqrt(8 / (lambda_ * e**2) + 2 * N**2 / e**3 * (a + 2 * x * N)) / d
        upsilon = mp.sqrt(x * lambda_ * N**2 / e**2 * (a + 4 * x * N) + x * N / e) / d
        first = a * e * s**2 + a / (4 * e * d)
        second = x * (e * s * tau + 1 / (4 * e * d))
        third = upsilon * s / lambda_ + to_real(self.beta) * L / (2 * p)
        return [one, two, three, four, (first + second + x * third) / e]
