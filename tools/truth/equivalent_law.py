"""Whether a certificate of `equivalent-law` is true, by mpmath.

Moments come from the recursion M(z) = 1 + C(z M(z)) of free probability, not from Lagrange inversion. Edges are the
critical values of K, the transform is the one root of the quartic equation in the lower half plane, all by numerical
roots of polynomials. Tails are the imaginary part of a primitive. Thresholds are solved for by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from mpmath import mp, mpc, mpf

from tools.truth.judgement import Comparison, Judgement, exactly, judge_all, worst
from tools.truth.reading import read_count, read_items, read_number, require, require_record, to_real

_KEYS = {
    "moments", "right_edge", "gap", "threshold", "stieltjes", "density", "cdf", "density_bound", "nonlinear_share",
    "share_reached",
}  # fmt: skip


@dataclass(frozen=True)
class Law:
    """beta, or alpha^2 and beta^2; lambda."""

    beta: Fraction | None
    alpha2: Fraction | None
    beta2: Fraction
    lambda_: Fraction

    def numbers(self) -> tuple[mpf, mpf, mpf]:
        """alpha^2, beta^2, lambda at mpmath's precision."""
        square = to_real(self.beta2)
        with mp.extradps(40):
            alpha2 = to_real(self.alpha2) if self.alpha2 is not None else mp.expm1(square) - square
        return +alpha2, square, to_real(self.lambda_)


def judge_equivalent(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false as far as digits go; exactly for moments and shares of rational numbers."""
    law = read_equivalent_law(given)
    require_record(asserts, "asserts", set(), _KEYS)
    require_record(witness, "witness", set())
    require(len(asserts) > 0, "nothing is stated")
    exact: list[Judgement] = []
    found: list[Comparison] = []
    for index, item in enumerate(read_items(asserts, "moments")):
        require_record(item, "a moment", {"order", "value", "radius"})
        order = read_count(item["order"], 2)
        require(order % 2 == 0 and order <= 100, "an order")
        _stated(f"moments[{index}]", item, lambda n=order // 2: moment(law, n), found, exact)
    if "right_edge" in asserts:
        _stated("right_edge", asserts["right_edge"], lambda: edges(law, mp.prec)[-1], found, exact, {"value", "radius"})
    if "gap" in asserts:
        _gap(law, asserts["gap"], found, exact)
    if "threshold" in asserts:
        exact.append(exactly("threshold", law.lambda_ < 1))
        truth = (lambda: beta_at(critical_ratio(law))) if law.lambda_ < 1 else (lambda: mpf(0))
        _stated("threshold", asserts["threshold"], truth, found, exact, {"value", "radius"})
    for index, item in enumerate(read_items(asserts, "stieltjes")):
        found.append(_transform(law, f"stieltjes[{index}]", item))
    for name, function in (("density", density), ("cdf", cdf)):
        for index, item in enumerate(read_items(asserts, name)):
            require_record(item, "a point", {"at", "value", "radius"})
            at = read_number(item["at"])
            require(at >= 0, "a point below 0")
            _stated(f"{name}[{index}]", item, lambda f=function, x=at: f(law, x, mp.prec), found, exact)
    if "density_bound" in asserts:
        keys = {"value", "radius"}
        _stated(
            "density_bound", asserts["density_bound"], lambda: density(law, Fraction(0), mp.prec), found, exact, keys
        )
    if "nonlinear_share" in asserts:
        _stated("nonlinear_share", asserts["nonlinear_share"], lambda: share(law), found, exact, {"value", "radius"})
    for index, item in enumerate(read_items(asserts, "share_reached")):
        require_record(item, "a share", {"share", "value", "radius"})
        part = read_number(item["share"])
        require(0 < part < 1, "a share")
        _stated(f"share_reached[{index}]", item, lambda r=part: beta_at(to_real(r / (1 - r))), found, exact)
    judged = exact + ([judge_all(found)] if found else [])
    return worst(judged)


def read_equivalent_law(given: Any) -> Law:
    named = {"beta", "lambda"} if isinstance(given, dict) and "beta" in given else {"alpha2", "beta2", "lambda"}
    require_record(given, "given", named)
    numbers = {name: read_number(given[name]) for name in named}
    require(all(number > 0 for number in numbers.values()), "a number that is not positive")
    if "beta" in named:
        require(numbers["beta"] <= 1000, "a beta that is too large")
        return Law(numbers["beta"], None, numbers["beta"] ** 2, numbers["lambda"])
    return Law(None, numbers["alpha2"], numbers["beta2"], numbers["lambda"])


def _stated(
    name: str,
    item: Any,
    truth: Callable[[], Any],
    found: list[Comparison],
    exact: list[Judgement],
    keys: set[str] | None = None,
) -> None:
    """|truth - value| <= radius, exactly where the truth is a fraction."""
    if keys is not None:
        require_record(item, name, keys)
    value, radius = read_number(item["value"]), read_number(item["radius"])
    require(radius >= 0, "a negative radius")
    known = truth()
    if isinstance(known, Fraction):
        exact.append(exactly(name, abs(known - value) <= radius))
    else:
        found.append(Comparison(name, lambda: abs(truth() - to_real(value)), radius))


def _gap(law: Law, stated: Any, found: list[Comparison], exact: list[Judgement]) -> None:
    require(isinstance(stated, dict) and stated.get("kind") in ("open", "none"), "a kind of gap")
    none = stated["kind"] == "none"
    require_record(
        stated, "gap", {"kind"} if none else {"kind", "lower", "upper", "radius"}, set() if none else {"outer_mass"}
    )
    numbers = {key: read_number(stated[key]) for key in stated if key != "kind"}
    if law.lambda_ >= 1:
        require(none or numbers["radius"] >= 0, "a negative radius")
        exact.append(exactly("gap", none))
        return
    found.append(Comparison("gap", lambda: ratio(law) - critical_ratio(law), Fraction(0), not none))
    if none:
        return
    require(numbers["radius"] >= 0, "a negative radius")
    for end, key in enumerate(("lower", "upper")):

        def off(end: int = end, key: str = key) -> mpf:
            places = edges(law, mp.prec)
            return abs(places[end] - to_real(numbers[key])) if len(places) == 3 else mpf(10) ** 50

        found.append(Comparison(f"gap.{key}", off, numbers["radius"]))
    if "outer_mass" in numbers:
        exact.append(exactly("gap.outer_mass", numbers["outer_mass"] == law.lambda_))


def _transform(law: Law, name: str, item: Any) -> Comparison:
    require_record(item, name, {"z", "value", "radius"})
    for key in ("z", "value"):
        require_record(item[key], key, {"re", "im"})
    z, value = ((read_number(item[key]["re"]), read_number(item[key]["im"])) for key in ("z", "value"))
    radius = read_number(item["radius"])
    require(z[1] > 0 and radius >= 0, "a point of the upper half plane")
    return Comparison(name, lambda: abs(transform(law, z, mp.prec) - mpc(*map(to_real, value))), radius)


# -- what is true


def moment(law: Law, n: int) -> Any:
    """m_2n by M(z) = 1 + C(z M(z)): a fraction where alpha^2 is one."""
    if law.alpha2 is not None:
        return _moments(law.alpha2, law.beta2, law.lambda_, n)[n]
    alpha2, beta2, lambda_ = law.numbers()
    return _moments(alpha2, beta2, lambda_, n)[n]


def _moments(alpha2: Any, beta2: Any, lambda_: Any, n: int) -> list[Any]:
    """The coefficients of u^0, ..., u^n, u = z^2, found one after the other."""
    cumulants = [alpha2 + beta2] + [beta2 ** (k + 1) / lambda_**k for k in range(1, n)]
    series = [alpha2 * 0 + 1]
    for k in range(1, n + 1):
        padded = [*series, *[alpha2 * 0] * (k + 1 - len(series))]
        total, square = alpha2 * 0, _product(padded, padded)
        power = square
        for j in range(1, k + 1):
            # The part of u^k of kappa_2j (z M)^2j; M's own u^k does not enter.
            total += cumulants[j - 1] * power[k - j]
            power = _product(power, square)
        series.append(total)
    return series


def _product(left: list[Any], right: list[Any]) -> list[Any]:
    return [sum(left[i] * right[k - i] for i in range(k + 1)) for k in range(len(left))]


@cache
def edges(law: Law, precision: int) -> tuple[mpf, ...]:
    """The ends of the support but 0, in order: one, or with a gap three. `precision` is mpmath's."""
    a, beta2, lambda_ = law.numbers()
    b = beta2 / lambda_
    # The numerator of K' in u = w^2: (a u - 1) (1 - b u)^2 + beta^2 u (1 + b u).
    with mp.extradps(30):
        roots = mp.polyroots([a * b * b, -2 * a * b - b * b + beta2 * b, a + 2 * b + beta2, -1], 500, extraprec=500)
        real = [root.real for root in map(mpc, roots) if abs(root.imag) < mpf(10) ** (-mp.dps // 3) * abs(root)]
        places = [mp.sqrt(u) for u in real if u > 0]
        values = sorted(1 / w + a * w + beta2 * w / (1 - b * w * w) for w in places)
    return tuple(+value for value in values if value > 0)


@cache
def transform(law: Law, z: tuple[Fraction, Fraction], precision: int) -> mpc:
    """The root of the quartic equation with the least imaginary part."""
    a, beta2, lambda_ = law.numbers()
    b, at = beta2 / lambda_, mpc(to_real(z[0]), to_real(z[1]))
    with mp.extradps(30):
        roots = mp.polyroots([a * b, -at * b, b - a - beta2, at, -1], 500, extraprec=500)
    return min(map(mpc, roots), key=lambda root: root.imag)


def _inside(law: Law, x: Fraction, precision: int) -> mpf | None:
    """The tail where x lies outside of the support, where it is known."""
    places, at = edges(law, precision), to_real(x)
    if at >= places[-1]:
        return mpf(0)
    return to_real(law.lambda_) if len(places) == 3 and places[0] <= at <= places[1] else None


def density(law: Law, x: Fraction, precision: int) -> mpf:
    if _inside(law, x, precision) is not None:
        return mpf(0)
    return -2 * transform(law, (x, Fraction(0)), precision).imag / mp.pi


def cdf(law: Law, x: Fraction, precision: int) -> mpf:
    known = _inside(law, x, precision)
    if known is not None or x == 0:
        return 1 - known if known is not None else mpf(0)
    a, beta2, lambda_ = law.numbers()
    w = transform(law, (x, Fraction(0)), precision)
    v = beta2 / lambda_ * w * w
    root = mp.sqrt(beta2 / lambda_) * w
    angle = mp.arg(1 - root) + mp.arg(1 + root)
    return 1 - 2 / mp.pi * ((a * w * w / 2 + lambda_ / (1 - v)).imag - mp.arg(w) + lambda_ * angle / 2)


def share(law: Law) -> Any:
    if law.alpha2 is not None:
        return law.alpha2 / (law.alpha2 + law.beta2)
    alpha2, beta2, _ = law.numbers()
    return alpha2 / (alpha2 + beta2)


def ratio(law: Law) -> mpf:
    alpha2, beta2, _ = law.numbers()
    return alpha2 / beta2


def critical_ratio(law: Law) -> mpf:
    """(3v+1)/(v-1)^3 at the root v > 1 of (v-1)^3 = lambda v^2 (v+3)."""
    lambda_ = to_real(law.lambda_)
    roots = mp.polyroots([1 - lambda_, -3 * (1 + lambda_), mpf(3), mpf(-1)], 500, extraprec=500)
    v = max(mpc(root).real for root in roots)
    return (3 * v + 1) / (v - 1) ** 3


def beta_at(wanted: mpf) -> mpf:
    """(e^x - 1 - x)/x = ratio at x = beta^2: a convex function, by Newton's method from the right."""
    with mp.extradps(40):
        x = min(2 * wanted, 2 * mp.log(1 + wanted))
        for _ in range(500):
            value = (mp.expm1(x) - x) / x - wanted
            step = value / ((mp.exp(x) * (x - 1) + 1) / (x * x))
            x -= step
            if abs(step) < mpf(10) ** (20 - mp.dps) * x:
                break
    return mp.sqrt(x)
