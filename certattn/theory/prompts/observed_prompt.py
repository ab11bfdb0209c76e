"""Derivation of the rule of `observed-prompt`: wealth that is 1 in expectation and falls with what is bet against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import sympy

from certattn.theory.exactness import Check, Expr, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber
from certattn.theory.symbols import positive_symbol

_HALF = sympy.Rational(1, 2)


def _uncapped(p_value: SymbolicNumber) -> Expr:
    """M, where the kernel's p-value is 1 / max(M, 1)."""
    largest = 1 / sympy.sympify(p_value)
    (wealth,) = sympy.Max.make_args(largest) - {sympy.S.One}
    return wealth


def _wealth(kernel: Kernel, tokens: Sequence[tuple[Expr, Expr]], end: Expr, least: Expr) -> Expr:
    """M by the kernel, for (w, y) and outputs of at least `least`."""
    observed, supports = kernel.observed_prompt, kernel.supports
    weights, outputs = ([SymbolicNumber(token[k]) for token in tokens] for k in (0, 1))
    most = supports.Extreme(SymbolicNumber(-least), SymbolicNumber(0))
    return _uncapped(observed.p_value(weights, outputs, SymbolicNumber(end), most))


def check_wealth(kernel: Kernel) -> Iterator[Check]:
    """The kernel's p-value is 1 over the average of the products, or 1, for one stake and for two."""
    w, y, v, z, least = sympy.symbols("w y v z y0")
    r, t = positive_symbol("r"), positive_symbol("t")
    one = 1 + w * (y - least - r) / r
    yield equal("one token", _wealth(kernel, [(w, y)], least + r, least), one)
    other = 1 + v * (z - least - r) / r
    yield equal("two tokens", _wealth(kernel, [(w, y), (v, z)], least + r, least), one * other)
    # Nine tokens are the fewest with two stakes; eight of them weigh 1/2 and lie one above the end.
    many = [(_HALF, least + r + 1)] * 8
    expected = (one * (1 + _HALF / r) ** 8 + (1 + _HALF * w * (y - least - r) / r) * (1 + _HALF**2 / r) ** 8) / 2
    yield equal("two stakes", _wealth(kernel, [(w, y), *many], least + r, least), expected)
    root = kernel.supports.Extreme(SymbolicNumber(0), SymbolicNumber(t**2))
    ball = kernel.observed_prompt.p_value([SymbolicNumber(w)], [SymbolicNumber(y)], SymbolicNumber(r), root)
    yield equal("an end of a ball, y- = -t", _uncapped(ball), 1 + w * (y - r) / (r + t))
    counts = [len(kernel.betting.bets(length)) for length in (1, 8, 9, 32, 33, 128, 129, 10_000)]
    yield Check("the number of stakes, by the length", counts == [1, 1, 2, 2, 3, 3, 4, 7])


def check_expectation(kernel: Kernel) -> Iterator[Check]:
    """E M(theta) = 1 for independent tokens of one law on two points, and less where two laws only balance."""
    w, v, y, z, m = sympy.symbols("w v y z m")
    p, r = positive_symbol("p"), positive_symbol("r")
    theta = (p * w * y + (1 - p) * v * z) / (p * w + (1 - p) * v)
    law = [(p, (w, y)), (1 - p, (v, z))]
    for length in (1, 2):
        mean = sum(
            sympy.Mul(*(chance for chance, _ in drawn))
            * _wealth(kernel, [token for _, token in drawn], theta, theta - r)
            for drawn in product(law, repeat=length)
        )
        yield equal(f"{length} tokens of one law", mean, 1)
    balanced = _wealth(kernel, [(1, m), (1, -m)], sympy.Integer(0), -r)
    yield equal("two positions, one above as much as the other is below", balanced, 1 - (m / r) ** 2)


def check_falls(kernel: Kernel) -> Iterator[Check]:
    """Every factor falls with the end: the derivative of 1 + w (y - e)/(e - y-) is -w (y - y-)/(e - y-)^2."""
    w, y, least = sympy.symbols("w y y0")
    r = positive_symbol("r")
    slope = sympy.diff(_wealth(kernel, [(w, y)], least + r, least), r)
    yield equal("one token", slope, -w * (y - least) / r**2)
    yield equal("above 1 - w", _wealth(kernel, [(w, y)], least + r, least), (1 - w) + w * (y - least) / r)
