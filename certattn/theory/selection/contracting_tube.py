"""Checks: what theorem T sums and integrates, derived and as the kernel has it."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import evaluated, expression, numbers
from certattn.theory.symbols import positive_symbol, real


def check_contraction(kernel: Kernel) -> Iterator[Check]:
    """The pull on y' of length rho: the curvature along a segment falls like e^(-D rho s), s from 0 to 1."""
    mu, others, diameter, radius, move, breadth = (
        positive_symbol(name) for name in ("mu", "f", "D", "rho", "m", "D_g")
    )
    pull = evaluated(kernel.contracting_tube.contraction, mu, others, diameter, radius, move, breadth)
    s = real("s")
    average = sympy.integrate(sympy.exp(-diameter * radius * s), (s, 0, 1))
    wanted = mu / (1 + others) * average * (1 - breadth**2 * move / 8)
    yield equal("the kernel's pull", sympy.hyperexpand(pull), wanted)


def check_remaining(kernel: Kernel) -> Iterator[Check]:
    """A push that fades, against a pull: the solution of the equation with both, and what the bound is more."""
    size, pull, move, total = (positive_symbol(name) for name in ("a", "b", "m", "sigma"))
    largest = size * sympy.exp(pull * move)
    for rate, slower in ((0, 0), (pull / 3, pull / 3), (2 * pull, pull / 2)):
        found = expression(kernel.contracting_tube.remaining(*numbers((size, rate, pull, move, total))))
        offset = largest * (sympy.exp(-slower * total) - sympy.exp(-pull * total)) / (pull - slower)
        pushed = largest * sympy.exp(-slower * total) - pull * offset
        yield equal(f"y' = -b y + a e^(b m - {slower} sigma)", sympy.diff(offset, total), pushed)
        yield equal("it is 0 at first", offset.subs(total, 0), 0)
        yield equal("what the bound is more", found - offset, largest * sympy.exp(-pull * total) / (pull - slower))


def check_ascent(kernel: Kernel) -> Iterator[Check]:
    """How fast e^(Xi x) grows at most, and a sum of exponentials near 0."""
    margin, pace, rate, move = (positive_symbol(name) for name in ("Xi", "eta", "r", "m"))
    found = expression(kernel.contracting_tube.ascent(*numbers((margin, pace, rate, move))))
    longest = margin * pace * move
    # A step of the move m <= M from e^(Xi x) = r / M, so that m e^(Xi x) <= r.
    grown = rate / move * (sympy.exp(longest) - 1)
    yield equal("the kernel's growth is that of the longest move", sympy.hyperexpand(found), grown)
    y = positive_symbol("y")
    slope = sympy.expand(sympy.diff((sympy.exp(y) - 1) / y, y) * y**2)
    yield equal("(e^y - 1)/y increases: its derivative is 0 at first", slope.subs(y, 0), 0)
    yield equal("and grows", sympy.diff(slope, y), y * sympy.exp(y))
    total, mean, diameter, radius = (positive_symbol(name) for name in ("Phi", "g", "D", "rho"))
    top = expression(kernel.contracting_tube.topmost(*numbers((total, mean, diameter, radius))))
    s = real("s")
    second = sympy.integrate((radius - s) * diameter**2 / 4, (s, 0, radius))
    yield equal("the kernel's top", top, total * sympy.exp(mean * radius + second))


def check_straightness(kernel: Kernel) -> Iterator[Check]:
    """How much of a normalised step is progress, and the sum of what all steps lose."""
    t, first, second, fast, slow, move = (positive_symbol(name) for name in ("t", "a", "b", "r", "s", "m"))
    left = 1 / (1 + t) - (1 - t / 2) ** 2
    yield equal("a / |n| against 1 - t/2, squared, t = b^2 / a^2", left, t**2 * (3 - t) / (4 * (1 + t)))

    def summed(*sizes: sympy.Expr) -> sympy.Expr:
        terms = [(numbers([size])[0], numbers([rate])[0]) for size, rate in zip(sizes, (fast, slow), strict=True)]
        return expression(kernel.contracting_tube.sum_of_squares(terms, numbers([move])[0]))

    later = summed(first * sympy.exp(-fast * move), second * sympy.exp(-slow * move))
    yield equal(
        "the sum less its first square is the sum from the next on",
        summed(first, second) - later,
        (first + second) ** 2,
    )
