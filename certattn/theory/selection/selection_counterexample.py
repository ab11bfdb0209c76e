"""Derivation of the example behind `selection-counterexample`: two inputs of two tokens, gaps 1, the linear loss.

The theorems that its certificates rest on are derived for `selection-direction`.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, numbers
from certattn.theory.symbols import real


def check_example(kernel: Kernel) -> Iterator[Check]:
    """The gradient for the keys {(-3, 1), 0} and {(1, 0), 0}."""
    x, y = real("x"), real("y")
    module, loss = kernel.selection_landscape, kernel.losses.LOSSES["linear"]
    one, rows = SymbolicNumber(1), numbers([[-3, 1], [1, 0]])
    inputs = tuple(module.Contrasts(one, ((row, one),)) for row in rows)
    downhill = evaluated(module.Landscape(inputs, loss).downhill, [x, y])

    def bump(t: sympy.Expr) -> sympy.Expr:
        share = 1 / (1 + sympy.exp(-t))
        return share * (1 - share)

    yield equal("-grad F", downhill, [bump(x) - 3 * bump(y - 3 * x), bump(y - 3 * x)])
    t = real("t")
    # s' = e^-t / (1 + e^-t)^2 lies between e^-t / (1 + e^-t)^2 and e^-t.
    yield equal("what s' is less than e^-t", sympy.exp(-t) - bump(t), sympy.exp(-t) * (1 - (1 + sympy.exp(-t)) ** -2))


def check_points(kernel: Kernel) -> Iterator[Check]:
    """(1, 4) solves the problem of the best tokens, (1, 0) that of the tokens reached; both by their multipliers."""
    best = [sympy.Matrix([-3, 1]), sympy.Matrix([1, 0])]
    p = sympy.Matrix([1, 4])
    yield equal("tight for the best tokens", [(z.T * p)[0] for z in best], [1, 1])
    yield equal("its multipliers", list(4 * best[0] + 13 * best[1]), list(p))
    reached = [sympy.Matrix([3, -1]), sympy.Matrix([1, 0])]
    yield equal("constraints of the tokens reached", [(z.T * sympy.Matrix([1, 0]))[0] for z in reached], [3, 1])
