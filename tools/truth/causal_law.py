"""Whether a certificate of `causal-law` is true: the two equations as differential equations, by scipy, then by mpmath.

With H = int_y^1 rho and F = int_0^x n the pair solves

    F' = n,   a' = b n - rho a^2,   H' = -rho,   c' = -rho + b n c^2,   F(0) = a(0) = H(1) = c(1) = 0,
    1/n = 1 + alpha^2 H + beta^2 c/(1 + a c),   1/rho = eta + alpha^2 F + lambda a/(1 + a c) .

On the way n rho = C, and with w = a c the sum V of a rho and b n c is K (1 + w) - C (alpha^2 - beta^2) - C beta^2/(1 + w).
Two integrals over w, from 0 to where V^2 = 4 b C w, determine C and K. They start from what scipy finds, and must come to
the same transform.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.integrate import solve_bvp

from tools.truth.equivalent_law import Law, read_equivalent_law
from tools.truth.judgement import Comparison, Judgement, judge_all
from tools.truth.reading import read_items, read_number, require, require_record, to_real

# The two must agree to this.
_AGREE = 1e-4


def judge_causal(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false as far as digits go."""
    law = read_equivalent_law(given)
    require_record(asserts, "asserts", {"transform"})
    require_record(witness, "witness", {"solutions"})
    items = read_items(asserts, "transform")
    require(len(items) > 0 and len(items) == len(read_items(witness, "solutions")), "a solution for each number")
    found = []
    for index, item in enumerate(items):
        require_record(item, "a number", {"eta", "value", "radius"})
        eta, value, radius = (read_number(item[key]) for key in ("eta", "value", "radius"))
        require(eta > 0 and radius >= 0, "a point")
        off = lambda eta=eta, value=value: abs(transform(law, eta, mp.prec) - to_real(value))  # noqa: E731
        found.append(Comparison(f"transform[{index}]", off, radius))
    for solution in read_items(witness, "solutions"):
        require_record(solution, "a solution", {"turn", "level"})
        require(read_number(solution["turn"]) > 0, "a turn")
        read_number(solution["level"])
    return judge_all(found)


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
    k, d, q = level / rate, alpha2 - beta2, 4 * beta2 / (lambda_ * rate)
    # (V^2 - 4 b C w)/C^2 times v^2, v = 1/(1 + w): a polynomial of degree 4, whose largest real root below 1 is met.
    quartic = [beta2**2, 2 * beta2 * d, d * d - 2 * beta2 * k + q, -2 * k * d - q, k * k]
    roots = [mp.mpc(root) for root in mp.polyroots(quartic, 500, extraprec=400)]
    last = max(
        (root for root in roots if abs(root.imag) < mpf(10) ** (-mp.dps // 3) and root.real < 1), key=lambda r: r.real
    )
    others = [root for root in roots if root is not last]

    def time(t: mpf, power: int) -> mpf:
        """With v = last + (1 - last) t^2, there and back."""
        v = last.real + (1 - last.real) * t * t
        rest = beta2**2 * mp.fprod(v - root for root in others)
        return 4 * mp.sqrt(1 - last.real) * v**power / (rate * mp.sqrt(rest.real))

    times = [mp.quad(lambda t, p=power: time(t, p), [0, 1], method="gauss-legendre") for power in (0, 1)]
    return [times[0] - 1, mp.log(rate * eta) + rate * (alpha2 - beta2) + 2 * rate * beta2 * times[1]]


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

        found = solve_bvp(slopes, lambda l, r: np.array([l[0], l[1], r[2], r[3]]), x, y, tol=1e-4, max_nodes=20000)
        if found.status != 0:
            raise ArithmeticError(found.message)
        x, y = found.x, found.y
        if now <= eta:
            break
        now = max(eta, now / 1.4)
    n = factors(y[:, 0], eta)[0]
    rate = n / eta
    return (rate, b * n * y[3][0] + rate * alpha2), y[2][0]
