"""Whether a certificate of `causal-law` is true: the two equations as differential equations, by scipy, then by mpmath.

With H = int_y^1 rho and F = int_0^x n the pair solves

    F' = n,   a' = b n - rho a^2,   H' = -rho,   c' = -rho + b n c^2,   F(0) = a(0) = H(1) = c(1) = 0,
    1/n = 1 + alpha^2 H + beta^2 c/(1 + a c),   1/rho = eta + alpha^2 F + lambda a/(1 + a c) .

On the way n rho = C, and with w = a c the sum V of a rho and b n c is K (1 + w) - C (alpha^2 - beta^2) - C beta^2/(1 +
w). Two integrals over w, from 0 to where V^2 = 4 b C w, determine C and K. They start from what scipy finds, and must
come to the same transform.

Moments: all these functions are power series in t = 1/eta with polynomials in x as coefficients, known by their
values at k/M. The rows of a matrix integrate polynomials of degree M exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.integrate import solve_bvp

from tools.truth.equivalent_law import Law, read_equivalent_law
from tools.truth.judgement import Comparison, Judgement, Truth, exactly, judge_all, worst
from tools.truth.reading import read_count, read_items, read_number, require, require_record, to_real

Array = np.ndarray[Any, Any]
# The two must agree to this.
_AGREE = 1e-4


def judge_causal(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false as far as digits go."""
    law = read_equivalent_law(given)
    require_record(asserts, "asserts", set(), {"moments", "transform"})
    require_record(witness, "witness", set(), {"solutions"})
    require(len(asserts) > 0, "nothing is stated")
    items = read_items(asserts, "transform")
    require(len(items) == len(read_items(witness, "solutions")), "a solution for each number")
    exact: list[Judgement] = []
    found: list[Comparison] = []
    for index, item in enumerate(read_items(asserts, "moments")):
        require_record(item, "a moment", {"order", "value", "radius"})
        order, value, radius = read_count(item["order"], 2), read_number(item["value"]), read_number(item["radius"])
        require(order % 2 == 0 and order <= 40 and radius >= 0, "an order")
        if law.alpha2 is not None:
            exact.append(exactly(f"moments[{index}]", abs(moment(law, order // 2, None) - value) <= radius))
        else:
            off = lambda n=order // 2, value=value: abs(moment(law, n, mp.prec) - to_real(value))  # noqa: E731
            found.append(Comparison(f"moments[{index}]", off, radius))
    for index, item in enumerate(items):
        require_record(item, "a number", {"eta", "value", "radius"})
        eta, value, radius = (read_number(item[key]) for key in ("eta", "value", "radius"))
        require(eta > 0 and radius >= 0, "a point")
        off = lambda eta=eta, value=value: abs(transform(law, eta, mp.prec) - to_real(value))  # noqa: E731
        found.append(Comparison(f"transform[{index}]", off, radius))
    solutions = read_items(witness, "solutions")
    for solution in solutions:
        require_record(solution, "a solution", {"turn", "level"})
        require(read_number(solution["turn"]) > 0, "a turn")
        read_number(solution["level"])
    try:
        judged = worst(exact + ([judge_all(found)] if found else []))
    except ArithmeticError:
        # Beyond where the numerical methods come.
        judged = Judgement(Truth.UNKNOWN)
    return replace(judged, provable=all(_shows(law, *pair) for pair in zip(items, solutions, strict=True)))


@cache
def moment(law: Law, n: int, precision: int | None) -> Any:
    """m_2n: a fraction where alpha^2 is one and no precision of mpmath's is named."""
    if precision is None:
        numbers: tuple[Any, Any, Any] = (law.alpha2, law.beta2, law.lambda_)
        weigh: Callable[[Fraction], Any] = Fraction
    else:
        numbers, weigh = law.numbers(), to_real
    alpha2, beta2, lambda_ = numbers
    b, size = beta2 / lambda_, 2 * n + 2
    rows = np.array([[weigh(entry) for entry in row] for row in _integrals(size)], dtype=object)
    zero, one = np.array([weigh(Fraction(0))] * (size + 1)), np.array([weigh(Fraction(1))] * (size + 1))

    def upto(f: Array) -> Array:
        return f @ rows.T

    def beyond(f: Array) -> Array:
        whole = upto(f)
        return whole[:, -1:] - whole

    def times(f: Array, g: Array) -> Array:
        return np.array([sum((f[i] * g[k - i] for i in range(1, k + 1)), f[0] * g[k]) for k in range(len(f))])

    def inverse(f: Array) -> Array:
        """1/(1 + f)."""
        found = [one]
        for k in range(1, len(f)):
            found.append(-sum((f[i] * found[k - i] for i in range(2, k + 1)), f[1] * found[k - 1]))
        return np.array(found)

    rho = np.array([zero, one] + [zero] * n)
    a = c = np.array([zero] * (n + 2))
    for _ in range(n + 1):
        factors = inverse(alpha2 * beyond(rho) + beta2 * times(c, inverse(times(a, c))))
        a, c = (
            upto(b * factors - times(rho, times(a, a))),
            beyond(rho - b * times(factors, times(c, c))),
        )
        theta = alpha2 * upto(factors) + lambda_ * times(a, inverse(times(a, c)))
        rho = np.array([zero, *inverse(np.array([zero, *theta[:-1]]))[:-1]])
    return upto(rho)[n + 1][-1] * (-1) ** n


@cache
def _integrals(size: int) -> list[list[Fraction]]:
    """int_0^(k/size) of the polynomial of degree `size` that is 1 at j/size and 0 at the other nodes."""
    nodes = [Fraction(k, size) for k in range(size + 1)]
    found = [[Fraction(0)] * (size + 1) for _ in nodes]
    for j, node in enumerate(nodes):
        basis = [Fraction(1)]
        for other in nodes:
            if other != node:
                shifted = [Fraction(0), *basis]
                basis = [(x - other * y) / (node - other) for x, y in zip(shifted, [*basis, Fraction(0)], strict=True)]
        for k, end in enumerate(nodes):
            found[k][j] = sum((entry * end ** (i + 1) / (i + 1) for i, entry in enumerate(basis)), Fraction(0))
    return found


@cache
def transform(law: Law, eta: Fraction, precision: int) -> mpf:
    """s(eta), to about the precision, which is mpmath's."""
    guess, rough = _by_scipy(law, float(eta))
    with mp.workdps(mp.dps + 15):
        alpha2, beta2, lambda_ = law.numbers()
        point = to_real(eta)
        rate, level = _newton(lambda x: _equations(alpha2, beta2, lambda_, point, *x), guess)
        found = (1 / (rate * point) - 1 - lambda_ * (level / rate - alpha2) / point) / alpha2
    if not abs(found - rough) <= _AGREE * rough:
        raise ArithmeticError(f"the two computations differ: {found} and {rough}")
    return +found


def _newton(equations: Callable[[list[mpf]], list[mpf]], guess: tuple[float, float]) -> list[mpf]:
    """Where both equations hold, near a point; slopes are differences."""
    x, step = [mpf(float(part)) for part in guess], mpf(10) ** (-mp.dps // 2)
    for _ in range(50):
        here = mp.matrix(equations(x))
        slopes = mp.matrix(2)
        for j in range(2):
            moved = [part * (1 + step * (i == j)) for i, part in enumerate(x)]
            slopes[:, j] = (mp.matrix(equations(moved)) - here) / (x[j] * step)
        change = mp.lu_solve(slopes, here)
        x = [x[i] - change[i] for i in range(2)]
        if max(abs(change[i] / x[i]) for i in range(2)) < mpf(10) ** (12 - mp.dps):
            return x
    raise ArithmeticError("no solution found")


def _equations(alpha2: mpf, beta2: mpf, lambda_: mpf, eta: mpf, rate: mpf, level: mpf) -> list[mpf]:
    """How far the time of the way is from 1, and log n(1) from 0."""
    found = _integrals_over_way(alpha2, beta2, level / rate, 4 * beta2 / (lambda_ * rate))
    return [2 * found[1] / rate - 1, mp.log(rate * eta) + rate * (alpha2 - beta2) + 4 * beta2 * found[2]]


def _integrals_over_way(alpha2: mpf, beta2: mpf, k: mpf, q: mpf) -> tuple[mpf, mpf, mpf]:
    """Where the way turns, and the integrals of 1 and v over it, v = 1/(1 + w) from there to 1, less the factor 1/C."""
    d = alpha2 - beta2
    # (V^2 - 4 b C w)/C^2 times v^2: a polynomial of degree 4, whose largest real root below 1 is met.
    quartic = [beta2**2, 2 * beta2 * d, d * d - 2 * beta2 * k + q, -2 * k * d - q, k * k]
    roots = [mp.mpc(root) for root in mp.polyroots(quartic, 500, extraprec=400)]
    last = max(
        (root for root in roots if abs(root.imag) < mpf(10) ** (-mp.dps // 3) and root.real < 1), key=lambda r: r.real
    )
    others = [root for root in roots if root is not last]

    def part(t: mpf, power: int) -> mpf:
        """With v = last + (1 - last) t^2."""
        v = last.real + (1 - last.real) * t * t
        rest = beta2**2 * mp.fprod(v - root for root in others)
        return 2 * mp.sqrt(1 - last.real) * v**power / mp.sqrt(rest.real)

    sums = [mp.quad(lambda t, p=power: part(t, p), [0, 1], method="gauss-legendre") for power in (0, 1)]
    return last.real, sums[0], sums[1]


def _shows(law: Law, item: Any, solution: Any) -> bool:
    """Whether the numbers of the witness are near enough."""
    with mp.workdps(60):
        turn, level, eta, value, radius = (
            to_real(read_number(number))
            for number in (solution["turn"], solution["level"], item["eta"], item["value"], item["radius"])
        )
        alpha2, beta2, lambda_ = law.numbers()
        if not (turn < 1 and level > alpha2):
            return False
        q = (level - (alpha2 - beta2) * turn - beta2 * turn**2) ** 2 / (turn * (1 - turn))
        try:
            last, whole, mean = _integrals_over_way(alpha2, beta2, level, q)
        except ValueError:
            return False
        if not abs(last - turn) < mpf(10) ** -15:
            return False
        rate = 2 * whole
        solved_lambda, solved_eta = 4 * beta2 / (q * rate), mp.exp(-rate * (alpha2 - beta2) - 4 * beta2 * mean) / rate
        found = (1 / (rate * solved_eta) - 1 - solved_lambda * (level - alpha2) / solved_eta) / alpha2
        sensitivity = (alpha2 + beta2) / min(eta, solved_eta)
        off = abs(mp.log(solved_eta / eta)) + sensitivity * abs(mp.log(solved_lambda / lambda_))
        return bool(abs(found - value) + found * mp.expm1(off) <= radius)


def _by_scipy(law: Law, eta: float) -> tuple[tuple[float, float], float]:
    """C, K and s(eta), from large eta on."""
    alpha2, beta2, lambda_ = map(float, law.numbers())
    b = beta2 / lambda_

    def factors(y: Any, at: float) -> tuple[Any, Any]:
        F, a, H, c = y
        return 1 / (1 + alpha2 * H + beta2 * c / (1 + a * c)), 1 / (at + alpha2 * F + lambda_ * a / (1 + a * c))

    x = np.linspace(0, 1, 41)
    now = max(eta, 30 * (alpha2 + beta2 + b))
    y = np.array([x, b * x, (1 - x) / now, (1 - x) / now])
    while True:

        def slopes(_: Any, y: Any, at: float = now) -> Any:
            n, rho = factors(y, at)
            return np.array([n, b * n - rho * y[1] ** 2, -rho, -rho + b * n * y[3] ** 2])

        found = solve_bvp(
            slopes, lambda first, last: np.array([*first[:2], *last[2:]]), x, y, tol=1e-4, max_nodes=20000
        )
        if found.status != 0:
            raise ArithmeticError(found.message)
        x, y = found.x, found.y
        if now <= eta:
            break
        now = max(eta, now / 1.4)
    n = factors(y[:, 0], eta)[0]
    rate = n / eta
    return (rate, b * n * y[3][0] + rate * alpha2), y[2][0]
