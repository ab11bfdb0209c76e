"""Derivation of `max-margin`: the conditions of Karush, Kuhn and Tucker, weak duality, Farkas' lemma, and the rows.

Every bound is an identity with squares and products of what is >= 0 on its right: those identities are what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import column, gradient, matrix, positive_symbol, positive_vector, real, vector

Expr = Any
# Constraints and dimensions.
SHAPES = ((1, 1), (2, 1), (1, 2), (2, 3), (3, 2))


def check_lagrangian(kernel: Kernel) -> Iterator[Check]:
    """p makes the Lagrangian |p|^2/2 - sum lambda_j (<z_j, p> - r_j) stationary; slacks and complementarity."""
    for count, d in SHAPES:
        z, r, weights, p = matrix("z", count, d), vector("r", count), positive_vector("l", count), vector("p", d)
        slacks = list(z * column(p) - column(r))
        lagrangian = _square(p) / 2 - sum(w * slack for w, slack in zip(weights, slacks, strict=True))
        solved = _solved(kernel, z, weights, r)
        (found,) = [plain(solved.solution.row(0))]
        at = dict(zip(p, found, strict=True))
        what = f"{count} constraints in dimension {d}"
        yield equal(
            f"the gradient vanishes, {what}", [g.subs(at) for g in gradient(lagrangian, p)], [sympy.Integer(0)] * d
        )
        yield equal(f"slacks, {what}", plain(solved.slacks), [slack.subs(at) for slack in slacks])
        stated = sum(w * slack.subs(at) for w, slack in zip(weights, slacks, strict=True))
        yield equal(f"complementarity, {what}", plain(solved.complementarity), stated)
        yield equal(f"|p|^2, {what}", plain(solved.norm_squared), _square(found))
        yield equal(f"the margin, {what}", plain(solved.margin()), 1 / sympy.sqrt(_square(found)))


def check_optimality(kernel: Kernel) -> Iterator[Check]:
    """|q|^2 = |p|^2 + |q - p|^2 + 2 sum lambda_j (<z_j, q> - r_j) - 2 complementarity, for every q."""
    for count, d in SHAPES:
        z, r, weights, q = matrix("z", count, d), vector("r", count), positive_vector("l", count), vector("q", d)
        solved = _solved(kernel, z, weights, r)
        p = plain(solved.solution.row(0))
        beyond = sum(w * slack for w, slack in zip(weights, list(z * column(q) - column(r)), strict=True))
        right = _square(p) + _square(_minus(q, p)) + 2 * beyond - 2 * plain(solved.complementarity)
        yield equal(f"the norm of any other point, {count} constraints in dimension {d}", _square(q), right)


def check_duality(kernel: Kernel) -> Iterator[Check]:
    """|p|^2 - D = |p - sum lambda_j z_j|^2 + 2 sum lambda_j (<z_j, p> - r_j) for every p."""
    for count, d in SHAPES:
        z, r, weights, p = matrix("z", count, d), vector("r", count), positive_vector("l", count), vector("p", d)
        distance = _distance(kernel, z, weights, r, p)
        dual = list(z.T * column(weights))
        beyond = sum(w * slack for w, slack in zip(weights, list(z * column(p) - column(r)), strict=True))
        left = _square(p) - plain(distance.dual_value)
        yield equal(f"{count} constraints in dimension {d}", left, _square(_minus(p, dual)) + 2 * beyond)


def check_distance(kernel: Kernel) -> Iterator[Check]:
    """The points between the solution and a feasible q, and the distance that the kernel states."""
    s = real("s")
    for d in (1, 2, 3):
        p, q = vector("p", d), vector("q", d)
        between = [a + s * (b - a) for a, b in zip(p, q, strict=True)]
        slope = sympy.diff(_square(between), s).subs(s, 0)
        # It is >= 0, as no feasible point is nearer to 0 than p.
        yield equal(f"|q|^2 - |p|^2 - |q - p|^2, dimension {d}", _square(q) - _square(p) - _square(_minus(q, p)), slope)
        z, weights = matrix("z", 1, d), positive_vector("l", 1)
        distance = _distance(kernel, z, weights, [sympy.Integer(1)], p)
        margin = sum(a * b for a, b in zip(z, p, strict=True))
        scaled = [entry / margin for entry in p]
        dual = 2 * weights[0] - weights[0] ** 2 * _square(list(z))
        yield equal(
            f"|p~/m|^2 - D, dimension {d}", plain(distance.norm_squared - distance.dual_value), _square(scaled) - dual
        )


def check_looseness(kernel: Kernel) -> Iterator[Check]:
    """s |s| - |z|^2 r^2 is (s - |z| r)(s + |z| r) for s >= 0, and <z, e> >= -|z| |e| (Cauchy, Schwarz)."""
    room, radius, gap = positive_symbol("s"), positive_symbol("r"), real("g")
    for d in (1, 2, 3):
        z, p, e = matrix("z", 1, d), vector("p", d), vector("e", d)
        length, inner = _square(list(z)), sum(a * b for a, b in zip(z, e, strict=True))
        # Pairs of coordinates, in either order.
        crossed = sum((z[i] * e[j] - z[j] * e[i]) ** 2 for i in range(d) for j in range(i))
        yield equal(f"|z|^2 |e|^2 - <z, e>^2, dimension {d}", length * _square(e) - inner**2, crossed)
        distance = _distance(kernel, z, positive_vector("l", 1), [sympy.Integer(1)], p)
        # <z, q> = 1 for the one constraint, so that s = -gap.
        found = plain(distance.looseness(0, SymbolicNumber(-room), SymbolicNumber(radius)))
        roots = (room - sympy.sqrt(length) * radius) * (room + sympy.sqrt(length) * radius)
        yield equal(f"by how much a constraint is loose, dimension {d}", found, roots)
        signed = plain(distance.looseness(0, SymbolicNumber(gap), SymbolicNumber(radius)))
        yield equal(f"with a sign, dimension {d}", signed, -gap * sympy.Abs(gap) - length * radius**2)


def check_contradiction(kernel: Kernel) -> Iterator[Check]:
    """sum mu_j <z_j, p> = <sum mu_j z_j, p>, and the sum of the right sides."""
    for count, d in SHAPES:
        z, r, weights, p = matrix("z", count, d), vector("r", count), positive_vector("m", count), vector("p", d)
        stated = kernel.margin_points.Contradiction(kernel.exact(z), _numbers(r), _by_row(weights))
        combination = list(z.T * column(weights))
        left = sum(w * product for w, product in zip(weights, list(z * column(p)), strict=True))
        yield equal(
            f"products, {count} constraints in dimension {d}",
            left,
            sum(a * b for a, b in zip(combination, p, strict=True)),
        )
        yield equal(
            f"right sides, {count} constraints",
            plain(stated.total),
            sum(a * b for a, b in zip(weights, r, strict=True)),
        )
        if d == 1:
            yield equal(f"the sum, {count} constraints", plain(stated.largest_entry), sympy.Abs(combination[0]))


def check_rows(kernel: Kernel) -> Iterator[Check]:
    """The rows of each problem: k_alpha - k_t, z q' with <z q', W> = z'Wq, and Y x."""
    selection = kernel.token_selection
    keys = matrix("k", 5, 2)
    tokens = selection.Tokens(kernel.exact(keys), (2, 3))
    chosen = selection.Selection(tokens, (1, 0))
    differences = [keys.row(1) - keys.row(0), keys.row(2) - keys.row(3), keys.row(2) - keys.row(4)]
    yield equal("differences", _table(chosen.differences), sympy.Matrix.vstack(*differences))
    for d, width in ((1, 1), (2, 2), (2, 3)):
        z, q, W = matrix("z", 2, d), matrix("q", 2, width), matrix("W", d, width)
        rows = _table(selection.matrix_rows(kernel.exact(z), kernel.exact(q), [1, 0]))
        products = list(rows * column(list(W)))
        yield equal(f"z'Wq, {d} x {width}", products, [(z.row(0) * W * q.row(1).T)[0], (z.row(1) * W * q.row(0).T)[0]])
    x, labels = matrix("x", 2, 2), [SymbolicNumber(1), SymbolicNumber(-1)]
    labelled = _table(kernel.max_margin.labelled_rows(kernel.exact(x), labels))
    yield equal("Y x", labelled, sympy.Matrix.vstack(x.row(0), -x.row(1)))


def check_one_query(kernel: Kernel) -> Iterator[Check]:
    """W = p q'/|q|^2 has z'Wq = <z, p> and |W|_F = |p|/|q|; and |Wq| <= |W|_F |q| for every W."""
    for d, width in ((1, 1), (2, 1), (2, 2), (1, 3)):
        p, q, z, W = vector("p", d), vector("q", width), vector("z", d), matrix("W", d, width)
        best = column(p) * column(q).T / _square(q)
        what = f"{d} x {width}"
        yield equal(f"z'Wq, {what}", (column(z).T * best * column(q))[0], sum(a * b for a, b in zip(z, p, strict=True)))
        yield equal(f"|W|^2, {what}", _square(list(best)), _square(p) / _square(q))
        crossed = sum((W[a, i] * q[j] - W[a, j] * q[i]) ** 2 for a in range(d) for i in range(width) for j in range(i))
        left = _square(list(W)) * _square(q) - _square(list(W * column(q)))
        yield equal(f"|W|^2 |q|^2 - |Wq|^2, {what}", left, crossed)


def check_nuclear(kernel: Kernel) -> Iterator[Check]:
    """<K, Q> bounds, <sum lambda Z, W> = sum lambda <Z, W>, and I - MM'."""
    for d, width in ((1, 1), (1, 2), (2, 1), (2, 2)):
        what, rank = f"{d} x {width}", 2
        K, Q, W = matrix("K", rank, d), matrix("Q", rank, width), matrix("W", d, width)
        near = _nuclear(kernel, K, Q, list(K.T * Q), d, width)
        # With K and Q along the singular vectors of K'Q, this is what <KU, QV> = |K'Q|_* stays below.
        yield equal(f"a bound on |K'Q|_*, {what}", plain(near.size()), (_square(list(K)) + _square(list(Q))) / 2)
        A, B = matrix("A", d, width), matrix("B", d, width)
        inner = sum(a * b for a, b in zip(A, B, strict=True))
        yield equal(
            f"|A|^2 + |B|^2 - 2 <A, B>, {what}", _square(list(A)) + _square(list(B)) - 2 * inner, _square(list(A - B))
        )
        beside = _nuclear(kernel, 0 * K, 0 * Q, list(W), d, width)
        yield equal(f"entries beside K'Q, {what}", plain(beside.size()), sum(map(sympy.Abs, W)))
        z, weights = matrix("z", 2, d * width), positive_vector("l", 2)
        M = sympy.Matrix(d, width, list(z.T * column(weights)))
        yield equal(f"M, {what}", _table(near.combined), sympy.Matrix([list(M)]))
        across = sum(w * product for w, product in zip(weights, list(z * column(list(W))), strict=True))
        yield equal(f"<M, W>, {what}", sum(a * b for a, b in zip(M, W, strict=True)), across)
        squares = M * M.T if d <= width else M.T * M
        room = _table(near.norm.room(near.combined))
        yield equal(f"the room of singular values, {what}", room, sympy.eye(min(d, width)) - squares)
        levels = vector("r", 2)
        yield equal(
            f"the lower bound, {what}", plain(near.least), sum(w * r for w, r in zip(weights, levels, strict=True))
        )


# Exponents with halves, so that roots of powers stay powers.
POWERS = (sympy.Rational(5, 4), sympy.Rational(3, 2), sympy.Integer(2), sympy.Integer(3), sympy.Rational(7, 2))


def check_powers(kernel: Kernel) -> Iterator[Check]:
    """|p|_l and its dual, the curvature of |p|_l^2 for l <= 2, and the factor of halving for l >= 2."""
    norms, (x, y) = kernel.margin_norms, positive_vector("x", 2)
    h, n, v = vector("h", 2), positive_symbol("n"), positive_symbol("v")
    for l in POWERS:  # noqa: E741 - its name
        exponent, what = SymbolicNumber(l), f"l = {l}"
        dual = plain(norms.conjugate(exponent))
        yield equal(f"1/l + 1/l', {what}", 1 / l + 1 / dual, sympy.Integer(1))
        yield equal(
            f"the norm of (x, x/2), {what}",
            plain(norms.power_norm([SymbolicNumber(x / 2), SymbolicNumber(x)], exponent)),
            (x**l + (x / 2) ** l) ** (1 / l),
        )
        # Young: x^l/l + y^l'/l' - xy falls to 0 at y = x^(l - 1), and grows from there.
        young = x**l / l + y**dual / dual - x * y
        yield equal(f"the least of Young's difference, {what}", young.subs(y, x ** (l - 1)), sympy.Integer(0))
        yield equal(f"its slope there, {what}", sympy.diff(young, y).subs(y, x ** (l - 1)), sympy.Integer(0))
        found = plain(norms.reach(exponent, SymbolicNumber(n), SymbolicNumber(v)))
        if l <= 2:
            total, f = x**l + y**l, (x**l + y**l) ** (2 / l) / 2
            slope = sympy.diff(f, x) * h[0] + sympy.diff(f, y) * h[1]
            bent = sympy.diff(slope, x) * h[0] + sympy.diff(slope, y) * h[1]
            curved = (l - 1) * total ** (2 / l - 1) * (x ** (l - 2) * h[0] ** 2 + y ** (l - 2) * h[1] ** 2)
            beside = (2 - l) * total ** (2 / l - 2) * (x ** (l - 1) * h[0] + y ** (l - 1) * h[1]) ** 2
            yield equal(f"the second derivative of |p|^2/2, {what}", bent, curved + beside)
            yield equal(f"how far the solution is, {what}", found, (n**2 - v**2) / (l - 1))
        if l >= 2:
            steps = sympy.Symbol("k", integer=True, positive=True)
            halved = sympy.summation(2**steps * 2 ** (-l * steps), (steps, 1, sympy.oo))
            yield equal(f"all halvings, {what}", found * halved, n**l - v**l)
    one, infinite = SymbolicNumber(1), None
    yield equal("the sum of sizes", plain(norms.power_norm([SymbolicNumber(x), SymbolicNumber(y + x)], one)), 2 * x + y)
    largest = plain(norms.power_norm([SymbolicNumber(x), SymbolicNumber(y + x)], infinite))
    yield equal("the largest size", largest, x + y)
    yield equal("the dual of the largest size", plain(norms.conjugate(infinite)), sympy.Integer(1))
    # The squares of (a + b)/2 and (a - b)/2 add up to (a^2 + b^2)/2, of which Clarkson's inequality takes powers.
    a, b = real("a"), real("b")
    yield equal("the halves' squares", ((a + b) / 2) ** 2 + ((a - b) / 2) ** 2, (a**2 + b**2) / 2)


def _nuclear(kernel: Kernel, K: sympy.Matrix, Q: sympy.Matrix, direction: list[Expr], d: int, width: int) -> Any:
    rows, levels, weights = matrix("z", 2, d * width), _numbers(vector("r", 2)), _by_row(positive_vector("l", 2))
    stated = kernel.exact(rows), levels, kernel.exact(sympy.Matrix([direction]))
    norm = kernel.margin_norms.NuclearNorm((d, width), kernel.exact(K), kernel.exact(Q))
    return kernel.margin_norms.NormMargin(*stated, norm, weights)


def _solved(kernel: Kernel, z: sympy.Matrix, weights: list[Expr], r: list[Expr]) -> Any:
    return kernel.margin_points.MaxMargin(kernel.exact(z), _by_row(weights), _numbers(r))


def _distance(kernel: Kernel, z: sympy.Matrix, weights: list[Expr], r: list[Expr], p: list[Expr]) -> Any:
    direction = kernel.exact(sympy.Matrix([p]))
    return kernel.max_margin.MarginDistance(kernel.exact(z), _numbers(r), direction, _by_row(weights))


def _by_row(weights: list[Expr]) -> dict[int, SymbolicNumber]:
    return dict(enumerate(_numbers(weights)))


def _numbers(entries: list[Expr]) -> tuple[SymbolicNumber, ...]:
    return tuple(SymbolicNumber(entry) for entry in entries)


def _table(found: Any) -> sympy.Matrix:
    return sympy.Matrix([plain(row) for row in found.to_rows()])


def _square(entries: list[Expr]) -> Expr:
    return sum(entry**2 for entry in entries)


def _minus(x: list[Expr], y: list[Expr]) -> list[Expr]:
    return [a - b for a, b in zip(x, y, strict=True)]
