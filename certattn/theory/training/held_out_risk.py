"""Derivation of the rule of `held-out-risk`: bets that numbers >= 0 are larger on average than r."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from types import SimpleNamespace

import sympy

from certattn.theory.exactness import Check, Expr, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber
from certattn.theory.symbols import positive_symbol, real

_HALF = sympy.Rational(1, 2)


def _wealth(kernel: Kernel, numbers: Sequence[Expr], mean: Expr) -> Expr:
    """M by the kernel, whose p-value is 1 / max(M, 1)."""
    found = kernel.held_out_risk.p_value([SymbolicNumber(x) for x in numbers], SymbolicNumber(mean))
    (wealth,) = sympy.Max.make_args(1 / sympy.sympify(found)) - {sympy.S.One}
    return wealth


def check_wealth(kernel: Kernel) -> Iterator[Check]:
    """The products for one share and for two."""
    x, y = sympy.symbols("x y")
    r = positive_symbol("r")
    yield equal("one number", _wealth(kernel, [x], r), 1 + (x - r) / r)
    yield equal("two numbers", _wealth(kernel, [x, y], r), (1 + (x - r) / r) * (1 + (y - r) / r))
    # Nine numbers are the fewest with two shares; eight of them are 3r.
    expected = (x / r * 3**8 + (1 + _HALF * (x - r) / r) * 2**8) / 2
    yield equal("two shares", _wealth(kernel, [x, *[3 * r] * 8], r), expected)
    counts = [len(kernel.betting.bets(length)) for length in (1, 8, 9, 32, 33, 128, 129, 10_000)]
    yield Check("the number of shares, by the number of prompts", counts == [1, 1, 2, 2, 3, 3, 4, 7])


def check_expectation(kernel: Kernel) -> Iterator[Check]:
    """Numbers on two points, of one law and of two that balance; and every factor falls with r."""
    x, y, c = sympy.symbols("x y c")
    p, r, m = positive_symbol("p"), positive_symbol("r"), real("m")
    mean = p * x + (1 - p) * y
    for count in (1, 2, 3):
        found = sum(
            sympy.Mul(*(chance for chance, _ in drawn)) * _wealth(kernel, [number for _, number in drawn], r)
            for drawn in product([(p, x), (1 - p, y)], repeat=count)
        )
        yield equal(f"{count} of one law of mean r", found.subs(y, sympy.solve(mean - r, y)[0]), 1)
    yield equal("means r + m and r - m", _wealth(kernel, [r + m, r - m], r), 1 - (m / r) ** 2)
    slope = sympy.diff(1 + c * (x - r) / r, r)
    yield equal("it falls with r", slope, -c * x / r**2)
    yield equal("factors are >= 0", 1 + c * (x - r) / r, (1 - c) + c * x / r)


def check_losses(kernel: Kernel) -> Iterator[Check]:
    """The kernel's loss, and the largest: at the corners of |m|, |t| <= Y."""
    Y, b, size = positive_symbol("Y"), real("b"), positive_symbol("s")
    m, v, t = (real(name) for name in ("m", "v", "t"))
    module = kernel.held_out_risk
    found = sympy.sympify(module.loss(*map(SymbolicNumber, (b, m - v, v, t))))
    yield equal("l", found, (b * m - t) ** 2 / 2)
    largest = module.HeldOut(
        {module.LARGEST: SymbolicNumber(Y)}, None, SimpleNamespace(b=SymbolicNumber(b))
    ).largest_loss
    yield equal("B", sympy.sympify(largest), ((sympy.Abs(b) + 1) * Y) ** 2 / 2)
    bend = sympy.hessian(found, (m, t))
    yield equal("convex in m and t: the trace", bend.trace(), b**2 + 1)
    yield equal("convex in m and t: the determinant", bend.det(), 0)
    for sign in (1, -1):
        corner = found.subs({b: sign * size, m: sign * Y, t: -Y})
        yield equal(f"the largest corner, {sign}", corner, ((size + 1) * Y) ** 2 / 2)
        other = found.subs({b: sign * size, m: sign * Y, t: Y})
        yield equal(f"and the other is less, {sign}", corner - other, 2 * size * Y**2)
