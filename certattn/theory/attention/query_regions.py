"""Checks: softmax attention over a cell of queries, as the kernel bounds its distance from an affine map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.attention.finite_prompts import KeysAndValues
from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import entries, softmax
from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, forms, numbers, plain
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

Expr = Any

# Prompts of L tokens, keys in R^d, values in R^o, and the number of directions of a cell.
SHAPES = ((1, 1, 1, 1), (2, 1, 2, 1), (3, 1, 1, 1))
WIDE = (2, 2, 1, 2)


class _Around:
    """A prompt around the centre c of a cell with directions g, and a stated affine limit b + r A q."""

    def __init__(self, kernel: Kernel, shape: tuple[int, int, int, int]) -> None:
        length, keys, values, count = shape
        self.prompt = KeysAndValues(length, keys, values)
        self.c, self.g = matrix("c", 1, keys) / 2, matrix("g", count, keys) / 3
        self.A, self.b, self.r = matrix("A", values, keys) / 7, matrix("b", 1, values) / 11, positive_symbol("r")
        self.x = matrix("x", 1, count)
        limit = kernel.operator.AffineMap(
            kernel.exact(self.A * 7, 7), kernel.exact(self.b * 11, 11), SymbolicNumber(self.r)
        )
        cell = kernel.cells.Cell(kernel.exact(self.c * 2, 2), kernel.exact(self.g * 3, 3), None, True)
        self.found = kernel.cells.Deviation(self.prompt.stated(kernel).exact, limit).expand(cell)
        scores = [self.prompt.s * (self.prompt.k[i, :] * self.c.T)[0] for i in range(length)]
        total = sum(sympy.exp(score) for score in scores)
        self.w = [sympy.exp(score) / total for score in scores]

    def __str__(self) -> str:
        return f"{self.prompt}, {self.g.rows} directions"

    def average(self, rows: sympy.Matrix) -> sympy.Matrix:
        """E of rows, one for each token."""
        return sum((w * rows[i, :] for i, w in enumerate(self.w)), sympy.zeros(1, rows.cols))

    def tilts(self) -> sympy.Matrix:
        """The rows a of s <k - E k, g_k>."""
        centred = self.prompt.k - sympy.ones(self.prompt.length, 1) * self.average(self.prompt.k)
        return self.prompt.s * centred * self.g.T

    def centred_values(self) -> sympy.Matrix:
        """The rows y = v - E v."""
        return self.prompt.v - sympy.ones(self.prompt.length, 1) * self.average(self.prompt.v)

    def deviation(self, query: sympy.Matrix) -> sympy.Matrix:
        """T - T_inf at a query, by definition."""
        attention = sympy.Matrix([softmax(self.prompt.k, self.prompt.v, query, self.prompt.s)])
        return attention - self.b - self.r * query * self.A.T


def check_expansion(kernel: Kernel) -> Iterator[Check]:
    """What the kernel computes at the centre of a cell: T - T_inf, its slope, and second derivatives of T."""
    for shape in (*SHAPES, WIDE):
        at = _Around(kernel, shape)
        found, prompt = at.found, at.prompt
        yield equal(f"softmax weights at c, {at}", plain(found.weights), at.w)
        yield equal(f"a = s <k - E k, g>, {at}", plain(found.tilts), at.tilts().tolist())
        y = at.centred_values()
        weighed = [[w * y[i, j] for i, w in enumerate(at.w)] for j in range(prompt.values)]
        yield equal(f"w y, {at}", plain(found.weighed), weighed)
        yield equal(f"T(c) - T_inf(c), {at}", plain(found.offset), list(at.deviation(at.c)))
        x, still = list(at.x), dict.fromkeys(at.x, sympy.Integer(0))
        moved = sympy.Matrix([softmax(prompt.k, prompt.v, at.c + at.x * at.g, prompt.s)])
        slope = [[sympy.diff(t, z).subs(still) for z in x] for t in moved]
        yield equal(f"W is the slope of T, {at}", plain(found.slope.tolist()), slope)
        limit = [[sympy.diff(t, z) for z in x] for t in at.b + at.r * (at.c + at.x * at.g) * at.A.T]
        yield equal(f"the slope of T_inf, {at}", plain(found.limit_slope.tolist()), limit)
        rows, factors = sympy.Matrix(plain(found.tilts)), plain(found.weighed)
        curves = [(rows.T * sympy.diag(*factor) * rows).tolist() for factor in factors]
        second = [[[sympy.diff(t, z, u).subs(still) for u in x] for z in x] for t in moved]
        yield equal(f"E[y a a'] holds the second derivatives of T, {at}", curves, second)


def check_remainder(kernel: Kernel) -> Iterator[Check]:
    """T - T_inf at c + G x, from what is known at c and phi(u) = e^u - 1 - u."""
    for shape in SHAPES:
        at = _Around(kernel, shape)
        a, y, x = at.tilts(), at.centred_values(), at.x
        u = [(a[i, :] * x.T)[0] for i in range(at.prompt.length)]
        phi = [sympy.exp(z) - 1 - z for z in u]
        growth = sum(w * f for w, f in zip(at.w, phi, strict=True))
        yield equal(
            f"E e^u = 1 + E phi(u), {at}", sum(w * sympy.exp(z) for w, z in zip(at.w, u, strict=True)), 1 + growth
        )
        d, W, limit = (sympy.Matrix(plain(part)) for part in (
            at.found.offset, at.found.slope.tolist(), at.found.limit_slope.tolist()
        ))  # fmt: skip
        rest = sum((w * f * y[i, :].T for i, (w, f) in enumerate(zip(at.w, phi, strict=True))), sympy.zeros(y.cols, 1))
        theta = growth / (1 + growth)
        found = d + (W - limit) * x.T + (1 - theta) * rest - theta * W * x.T
        yield equal(f"T - T_inf at c + G x, {at}", list(found), list(at.deviation(at.c + x * at.g)))


def check_tails(kernel: Kernel) -> Iterator[Check]:
    """phi(u), phi(u) - u^2/2 and the kernel's bound of their size as integrals over [0, 1]."""
    u, t, z = real("u"), positive_symbol("t"), real("z")
    first, second = (sympy.integrate(weight * sympy.exp(u * z), (z, 0, 1), conds="none")
                     for weight in ((1 - z), (1 - z) ** 2 / 2))  # fmt: skip
    first, second = (sympy.simplify(part.args[0][0] if part.is_Piecewise else part) for part in (first, second))
    yield equal("phi(u) = u^2 int (1 - z) e^{uz}", u**2 * first, sympy.exp(u) - 1 - u)
    yield equal("phi(u) - u^2/2 = u^3 int (1 - z)^2/2 e^{uz}", u**3 * second, sympy.exp(u) - 1 - u - u**2 / 2)
    gamma = (sympy.exp(t) - 1 - t) / t**2
    yield equal("gamma(t) = int (1 - z) e^{tz}", first.subs(u, t), gamma)
    yield equal("gamma(t) - 1/2 = t int (1 - z)^2/2 e^{tz}", t * second.subs(u, t), gamma - sympy.Rational(1, 2))
    with forms(large=True):
        tail = kernel.functions.exp_tail(SymbolicNumber(t))
    yield equal("from 1 on the kernel has gamma(t)", tail, gamma)
    # The fifth remainder of the series of e^t, with the chord 1 + z (e^t - 1) in the place of e^{tz}.
    powers = sum(t**m / sympy.factorial(m) for m in range(5))
    kernel_weight = 5 * (1 - z) ** 4
    whole = sympy.integrate(sympy.expand(kernel_weight * sympy.exp(t * z)), (z, 0, 1))
    yield equal("e^t - 1 - ... - t^4/4! = t^5/5! int 5 (1 - z)^4 e^{tz}", t**5 / 120 * whole, sympy.exp(t) - powers)
    chord = sympy.integrate(sympy.expand(kernel_weight * (1 + z * (sympy.exp(t) - 1))), (z, 0, 1))
    bound = (powers - 1 - t + t**5 / 120 * chord) / t**2
    with forms(large=False):
        tail = kernel.functions.exp_tail(SymbolicNumber(t))
    yield equal("below 1 the kernel has the same with the chord", tail, bound)
    yield positive("e^{tz} is convex in z: its second derivative is positive", sympy.diff(sympy.exp(t * z), z, 2))


def check_unit_sets(kernel: Kernel) -> Iterator[Check]:
    """What the kernel takes for the suprema of linear and quadratic functions over balls, cubes and simplices."""
    sets = kernel.unit_sets
    for size, outputs in ((1, 1), (2, 1), (2, 2), (3, 2)):
        d, B, x = vector("d", outputs), matrix("B", outputs, size), matrix("x", 1, size)
        what = f"n = {size}, {outputs} outputs"
        image = sympy.Matrix(d) + B * x.T
        square = sum(e**2 for e in d) + 2 * (x * B.T * sympy.Matrix(d))[0] + (x * B.T * B * x.T)[0]
        yield equal(f"|d + B x|^2, {what}", (image.T * image)[0], square)
        stated = numbers(d), SymbolicMatrix(B)
        along, form = list(B.T * sympy.Matrix(d)), list(B.T * B)
        sizes = sum(e**2 for e in d) + 2 * _sizes(along) + _sizes(form)
        yield equal(f"over a cube, {what}", plain(sets.CUBE.affine(*stated, "l2")) ** 2, sizes)
        rows = [sympy.Abs(e) + _sizes(list(B[j, :])) for j, e in enumerate(d)]
        found = plain(sets.CUBE.affine(*stated, "linf"))
        yield Check(f"over a cube in linf, {what}", found == sympy.Max(*(sympy.Abs(row) for row in rows)))
        vertices = [sympy.sqrt(sum((e + B[j, k]) ** 2 for j, e in enumerate(d))) for k in range(size)]
        found = plain(sets.SIMPLEX.affine(*stated, "l2"))
        yield Check(f"over a simplex, {what}", found == sympy.Max(*(sympy.Abs(vertex) for vertex in vertices)))
        m, h = vector("m", size), positive_vector("h", size)
        z = [middle + half * x[k] for k, (middle, half) in enumerate(zip(m, h, strict=True))]
        moved = [e - sum(B[j, k] * m[k] / h[k] for k in range(size)) for j, e in enumerate(d)]
        turned = [e + sum(B[j, k] / h[k] * z[k] for k in range(size)) for j, e in enumerate(moved)]
        yield equal(f"d + B x as a map of z = m + h x, {what}", turned, list(image))
    yield from _check_eigenvalues(kernel)
    yield from _check_forms_together()


def _check_forms_together() -> Iterator[Check]:
    """The vector of the x'M_j x is a linear map of xx'; along z and across it, squares add up."""
    for size, count in ((1, 2), (2, 2), (3, 2)):
        x, z = matrix("x", size, 1), matrix("z", count, 1)
        forms = [_symmetric(f"M{j}", size) for j in range(count)]
        what = f"n = {size}, {count} forms"
        square = x * x.T
        yield equal(f"|xx'|_F = |x|^2, {what}", _inner(square, square), (x.T * x)[0] ** 2)
        vector = sympy.Matrix([(x.T * form * x)[0] for form in forms])
        yield equal(f"x'M_j x = <M_j, xx'>, {what}", list(vector), [_inner(form, square) for form in forms])
        length = (z.T * z)[0]
        across = sympy.eye(count) - z * z.T / length
        along = sum((z[j] * form for j, form in enumerate(forms)), sympy.zeros(size)) / sympy.sqrt(length)
        parts = (x.T * along * x)[0] ** 2 + ((across * vector).T * (across * vector))[0]
        yield equal(f"squares along z and across it, {what}", sympy.simplify(parts), (vector.T * vector)[0])
        upper = [(k, m) for k in range(size) for m in range(k, size)]
        N = sympy.Matrix([[form[k, m] for k, m in upper] for form in forms])
        D = sympy.Matrix([[form[k, k] for k in range(size)] for form in forms])
        gram = [[_inner(first, second) for second in forms] for first in forms]
        yield equal(f"<M_i, M_j> from the entries k <= l, {what}", (2 * N * N.T - D * D.T).tolist(), gram)


def _symmetric(name: str, size: int) -> sympy.Matrix:
    entries = matrix(name, size, size)
    return sympy.Matrix(size, size, lambda k, m: entries[min(k, m), max(k, m)])


def _inner(first: sympy.Matrix, second: sympy.Matrix) -> Expr:
    return sum(a * b for a, b in zip(first, second, strict=True))


def _sizes(items: list[Expr]) -> Expr:
    return sum(sympy.Abs(item) for item in items)


def _check_eigenvalues(kernel: Kernel) -> Iterator[Check]:
    """(tr S^p)^(1/p): the trace of a power of a symmetric matrix is the sum of the powers of its eigenvalues."""
    p, q = positive_symbol("p"), positive_symbol("q")
    found = plain(kernel.unit_sets.BALL.form(SymbolicMatrix(sympy.diag(p, q))))
    power = 2**kernel.quadratic_forms._SQUARINGS
    yield Check("the power is even", power % 2 == 0 and power > 0)
    yield equal("(tr S^p)^(1/p) of a diagonal S", sympy.expand(found**power), p**power + q**power)
    a, b, c = real("a"), real("b"), real("c")
    S, root = sympy.Matrix([[a, b], [b, c]]), sympy.sqrt((a - c) ** 2 + 4 * b**2)
    eigenvalues = [(a + c + sign * root) / 2 for sign in (1, -1)]
    for value in eigenvalues:
        yield equal(f"an eigenvalue of a symmetric matrix, {value}", (S - value * sympy.eye(2)).det(), 0)
    for n in (1, 2, 4):
        yield equal(f"tr S^{n}", (S**n).trace(), sum(value**n for value in eigenvalues))


def check_bisections(kernel: Kernel) -> Iterator[Check]:
    """Halves of a box and of a simplex make up the whole, for the pieces as the kernel cuts them."""
    regions = kernel.cells
    m, h = numbers(vector("m", 3)), numbers(positive_vector("h", 3))
    for axis in range(3):
        first, second = regions.BoxPiece(tuple(m), tuple(h)).split((axis,))
        ends = [
            [plain(piece.middle[axis] + sign * piece.halves[axis]) for sign in (-1, 1)] for piece in (first, second)
        ]
        whole = [plain(m[axis] + sign * h[axis]) for sign in (-1, 1)]
        yield equal(f"the halves of axis {axis} touch", ends[0][1], ends[1][0])
        yield equal(f"the halves of axis {axis} have its ends", [ends[0][0], ends[1][1]], whole)
        others = [k for k in range(3) if k != axis]
        kept = [[plain([piece.middle[k], piece.halves[k]]) for k in others] for piece in (first, second)]
        yield equal(f"the other axes of {axis} stay", kept, [[plain([m[k], h[k]]) for k in others]] * 2)
    corners = [numbers(list(matrix("p", 3, 2)[i, :])) for i in range(3)]
    small, gap, rest = positive_symbol("small"), positive_symbol("gap"), positive_symbol("rest")
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 0)):
        k = 3 - i - j
        halves = regions.SimplexPiece(tuple(tuple(corner) for corner in corners)).split((i, j))
        # Weights of a point of the whole: at i and j a smaller and a larger one, in both orders.
        for half, (large, little) in zip(halves, ((j, i), (i, j)), strict=True):
            old = {large: small + gap, little: small, k: rest}
            new = {large: gap, little: 2 * small, k: rest}
            point = [sum(old[c] * plain(corners[c][e]) for c in range(3)) for e in range(2)]
            found = [sum(new[c] * plain(half.corners[c][e]) for c in range(3)) for e in range(2)]
            yield equal(f"a point nearer to {large} of the edge {i}-{j}", found, point)
            yield equal("its weights have the same sum", sum(new.values()), sum(old.values()))
    yield equal("a ball of radius r, uncut", *_ball(kernel))


def _ball(kernel: Kernel) -> tuple[Any, Any]:
    """The directions of a ball that is one cell, and what they should be."""
    r = positive_symbol("r")
    cell = kernel.cells.Ball(kernel.exact(matrix("c", 1, 2)), SymbolicNumber(r)).cell(None)
    return entries(cell.directions), r * sympy.eye(2)
