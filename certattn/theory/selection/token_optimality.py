"""Derivation of what the claim `token-optimality` rests on: points from their supports, and Gordan's theorem."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import sympy
from flint import fmpq

from certattn.kernel.theorems.selection import token_optimality as exact_optimality
from certattn.theory.exactness import Check, Expr, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression

_SHAPES = ((1, 1), (1, 3), (2, 2), (2, 3))


def _rows(count: int, width: int) -> Any:
    return sympy.Matrix(count, width, [sympy.Symbol(f"z{i}{j}", real=True) for i in range(count) for j in range(width)])


def _entries(matrix: Any) -> list[Expr]:
    return [expression(entry) for entry in matrix.row(0)]


def check_least_norm(kernel: Kernel) -> Iterator[Check]:
    """|q|^2 - |p|^2 = |q - p|^2 + 2 sum lambda (<z, q> - <z, p>) for p = sum lambda z."""
    for count, width in _SHAPES:
        z = _rows(count, width)
        weights = [sympy.Symbol(f"l{j}", positive=True) for j in range(count)]
        solution = kernel.margin_points.hard_margin(
            kernel.exact(z), {j: SymbolicNumber(weight) for j, weight in enumerate(weights)}
        )
        p = sympy.Matrix([_entries(solution.solution)])
        q = sympy.Matrix([[sympy.Symbol(f"q{k}", real=True) for k in range(width)]])
        yield equal(f"p = sum lambda z, {count} x {width}", p, sympy.Matrix([weights]) * z)
        longer = (q * q.T)[0] - (p * p.T)[0]
        apart = ((q - p) * (q - p).T)[0]
        beyond = sum(weights[j] * ((z.row(j) * q.T)[0] - (z.row(j) * p.T)[0]) for j in range(count))
        yield equal(f"how much longer q is, {count} x {width}", longer, apart + 2 * beyond)
        slacks = [expression(slack) for slack in solution.slacks]
        yield equal(f"slacks, {count} x {width}", slacks, [(z.row(j) * p.T)[0] - 1 for j in range(count)])


def check_supports(kernel: Kernel) -> Iterator[Check]:
    """The multipliers of a support make its rows tight."""
    for count, width in _SHAPES:
        z = _rows(count, width)
        solution = kernel.token_optimality.on_support(kernel.exact(z), list(range(count)))
        products = [sympy.cancel(sympy.together(expression(entry))) for entry in solution.products]
        yield equal(f"<z, p> = 1 on the support, {count} x {width}", products, [sympy.Integer(1)] * count)


def check_cuts(kernel: Kernel) -> Iterator[Check]:
    """The rows of a cut are those of every selection that it covers: sum mu <z, p> = <sum mu z, p> for them."""
    lengths, width = (3, 2), 2
    keys = _rows(sum(lengths), width)
    tokens = kernel.token_selection.Tokens(kernel.exact(keys), lengths)
    weights = [sympy.Symbol(f"m{j}", positive=True) for j in range(2)]
    optimality = kernel.token_optimality
    p = sympy.Matrix([[sympy.Symbol(f"p{k}", real=True) for k in range(width)]])
    for chosen, other in ((0, 1), (1, 0)):
        terms = (
            optimality.CutTerm(0, 2, 1, SymbolicNumber(weights[0])),
            optimality.CutTerm(1, chosen, other, SymbolicNumber(weights[1])),
        )
        found = optimality.Cut(terms).contradiction(tokens)
        z = kernel.token_selection.Selection(tokens, (2, chosen)).differences
        pairs = [[expression(entry) for entry in z.row(j)] for j in (1, 2)]
        yield equal(
            f"rows of the cut, token {chosen}", [list(map(expression, found.rows.row(j))) for j in (0, 1)], pairs
        )
        total = sympy.Matrix([weights]) * sympy.Matrix(pairs)
        products = sum(weights[j] * (sympy.Matrix([pairs[j]]) * p.T)[0] for j in (0, 1))
        yield equal(f"sum mu <z, p>, token {chosen}", products, (total * p.T)[0])
        yield equal(f"sum mu, token {chosen}", expression(found.total), sum(weights))


def check_everything(kernel: Kernel) -> Iterator[Check]:
    """What no cut covers, and what some cut does, is everything."""
    lengths = (3, 2, 2)
    everything = list(product(*(range(length) for length in lengths)))
    yield Check("without cuts", list(exact_optimality.uncut_selections(lengths, [])) == everything)
    for chosen in ({0: 1}, {1: 0}, {2: 1}, {0: 2, 2: 0}, {0: 0, 1: 1, 2: 1}):
        cuts = [_cut(chosen), _cut({1: 1, 2: 0})]
        covered = [a for a in everything if any(all(a[i] == t for i, t in cut.chosen.items()) for cut in cuts)]
        left = list(exact_optimality.uncut_selections(lengths, cuts))
        yield Check(f"cuts {chosen}", sorted(left + covered) == everything and left == sorted(left))


def _cut(chosen: dict[int, int]) -> exact_optimality.Cut:
    return exact_optimality.Cut(
        tuple(exact_optimality.CutTerm(i, token, 1 - token, fmpq(1)) for i, token in chosen.items())
    )
