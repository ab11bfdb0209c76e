"""Checks: the lemmas behind local convergence in token selection, derived and as the kernel has them."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import evaluated, forms
from certattn.theory.symbols import positive_symbol, real

_HALF = sympy.Rational(1, 2)


def check_weights(kernel: Kernel) -> Iterator[Check]:
    """The quotient 1 + eta = f'/c s_alpha (1 - G/g) at the ends of its parts."""
    module = kernel.local_convergence
    c, bend, gap, lost, top, bottom = (positive_symbol(name) for name in ("c", "M_0", "g", "s", "A", "B"))
    # -B <= G <= A, and 1 - s_alpha is at most s.
    factors = module.input_factors(c, bend, gap, lost, top, bottom)
    yield equal("the chosen weight", 1 - lost, factors[0])
    yield equal("1 - G/g from below", 1 - top / gap, factors[1])
    yield equal("f'/c from below", (c - bend * bottom) / c, factors[2])
    yield equal("f'/c from above", (c + bend * top) / c, 1 + bend * top / c)
    yield equal("1 - G/g from above", (gap + bottom) / gap, 1 + bottom / gap)


def check_total_variation(kernel: Kernel) -> Iterator[Check]:
    """Of weights with quotients 1 and r, the latter on a share s, and over all shares."""
    s, root = real("s"), positive_symbol("q")
    ratio = root**2
    distance = s * (1 - s) * (ratio - 1) / (1 + s * (ratio - 1))
    best = 1 / (1 + root)
    yield equal("the share with the largest distance", sympy.diff(distance, s).subs(s, best), 0)
    yield equal("that distance", distance.subs(s, best), (root - 1) / (root + 1))
    low, high, diameter = (positive_symbol(name) for name in ("theta_m", "theta_p", "D"))
    bound = kernel.local_convergence.spread_of_means(low, high, diameter)
    yield equal("the kernel's bound", bound.subs(high, ratio * low), (ratio - 1) / 4 * diameter)
    slack = (root - 1) ** 2 * (root + 3) / (4 * (root + 1))
    yield equal("what it is more, a square times something positive", (ratio - 1) / 4 - distance.subs(s, best), slack)


def check_progress(kernel: Kernel) -> Iterator[Check]:
    """What a step gains on -log P, per |V|^2, and that this increases with |V|."""
    size, spread, error, move, diameter = (positive_symbol(name) for name in ("V", "d", "e", "m", "D"))
    gain = size**2 - spread * size - (size + spread) * error - diameter**2 / 8 * move * (size + error) ** 2
    chi = kernel.local_convergence.progress(spread, error, move, diameter, size)
    yield equal("chi at |V| = Xi", gain / size**2, chi)
    terms = (
        spread / size**2 + error / size**2 + 2 * spread * error / size**3
        + diameter**2 / 4 * move * (1 + error / size) * error / size**2
    )  # fmt: skip
    yield equal("its derivative, a sum of positive terms", sympy.diff(chi, size), terms)


def check_sums(kernel: Kernel) -> Iterator[Check]:
    """x e^-x <= 1 - e^-x, the sum of decaying moves, and the three facts about sequences."""
    x = real("x")
    gap = 1 - sympy.exp(-x) - x * sympy.exp(-x)
    yield equal("1 - e^-x - x e^-x at 0", gap.subs(x, 0), 0)
    yield equal("its derivative has the sign of x", sympy.diff(gap, x), x * sympy.exp(-x))
    rate, move, A, d, S, M, a = (positive_symbol(name) for name in ("s", "m", "A", "d", "S", "M", "a"))
    share = move / (1 - sympy.exp(-rate * move))
    slope = gap.subs(x, rate * move) / (1 - sympy.exp(-rate * move)) ** 2
    yield equal("m / (1 - e^(-s m)) increases with m", sympy.diff(share, move), slope)
    for large in (False, True):
        with forms(large):
            total = evaluated(kernel.local_convergence.decaying_sum, rate, move)
        shown = "large" if large else "small"
        yield equal(f"the kernel's sum, s m {shown}", share, sympy.hyperexpand(total))
    root = sympy.sqrt(A**2 + d)
    yield equal("squares", (root + S) ** 2 - (A + S) ** 2 - d, 2 * S * (root - A))
    # With e^-y >= 1 - y: e^-(M + e^M a) >= e^-M - a.
    yield equal("exponentials", sympy.exp(-M) * (1 - sympy.exp(M) * a), sympy.exp(-M) - a)


def check_spread(kernel: Kernel) -> Iterator[Check]:
    """The arithmetic and the geometric mean, and where the bound of the tangent increases."""
    lam, sigma, zeta, kappa, tau, xi, far = (
        positive_symbol(name) for name in ("lambda", "sigma", "zeta", "kappa", "tau", "xi", "y")
    )
    square = (sympy.sqrt(lam * sigma) - zeta * sympy.sqrt(kappa / (2 * lam))) ** 2
    left = lam * sigma + zeta**2 * kappa / (2 * lam) - zeta * sympy.sqrt(2 * kappa * sigma)
    yield equal("theorem D", sympy.expand(square), left)
    square = (sympy.sqrt(tau * far) - sympy.sqrt(kappa / (2 * tau * xi))) ** 2
    left = tau * far + kappa / (2 * tau * xi) - sympy.sqrt(2 * kappa * far / xi)
    yield equal("theorem F", sympy.expand(square), left)
    A, G, v = real("A"), positive_symbol("G"), positive_symbol("v")
    yield equal("A v^2 + G v", sympy.diff(A * v**2 + G * v, v), 2 * A * v + G)
    tangent = positive_symbol("t")
    root = sympy.sqrt(1 + tangent**2)
    yield equal("1 - cos from tan", 1 - 1 / root, tangent**2 / (root * (root + 1)))
    yield equal("tan^2/2 is more", _HALF * tangent**2 - 1 + 1 / root, (root - 1) ** 2 * (root + 2) / (2 * root))
