"""Checks: moments of contexts, the loss of training in context with its first two derivatives, and Gronwall's bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.special_functions import elementary
from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, forms, numbers, plain
from certattn.theory.symbols import column, gradient, matrix, positive_vector, real, vector
from certattn.theory.training.regression_symbols import general_task

Expr = Any

# Prompts of L tokens, keys in R^d, values in R^o.
PROMPTS = ((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 1, 2), (3, 1, 1))
# Losses of N prompts, keys in R^d, queries in R^q, values in R^v, outputs in R^o.
LOSSES = ((1, 1, 1, 1, 1), (1, 2, 1, 2, 1), (1, 1, 2, 1, 2), (2, 1, 1, 2, 2), (2, 2, 2, 1, 1))


# -- contexts


def check_finite(kernel: Kernel) -> Iterator[Check]:
    """m by definition, C and the second derivative of <c, m> by differentiation, for softmax weights."""
    for length, keys, values in PROMPTS:
        k, v, tilt = matrix("k", length, keys), matrix("v", length, values), vector("a", keys)
        c = vector("c", values)
        shares = [sympy.exp((k[i, :] * column(tilt))[0]) for i in range(length)]
        mean = [sum(w * v[i, j] for i, w in enumerate(shares)) / sum(shares) for j in range(values)]
        prompt = kernel.softmax.Prompt(kernel.exact(k), kernel.exact(v), SymbolicNumber(1))
        context = kernel.context_losses.FinitePrompt(prompt)
        yield from _moments_agree(kernel, f"{length} tokens, keys {keys}, values {values}", context, mean, tilt, c)


def check_laws(kernel: Kernel) -> Iterator[Check]:
    """C is the derivative of tau, and the third cumulant that of C, for each kind of law."""
    laws = kernel.laws
    for size in (1, 2):
        a, c = positive_vector("a", size), vector("c", size)
        m, B, y = vector("m", size), matrix("B", size, size), matrix("y", 2, size)
        w, sizes = numbers(positive_vector("w", 2)), numbers(positive_vector("s", size))
        kinds = {
            "a Gaussian": laws.Gaussian(numbers(m), numbers(B * B.T)),
            "signs": laws.Rademacher(sizes),
            "two atoms": laws.Atoms(numbers(y), w),
        }
        if size == 1:
            parts = [kinds["a Gaussian"], kinds["signs"]]
            kinds["a mixture"] = laws.Mixture(parts, w)
        for what, law in kinds.items():
            yield from _cumulants_agree(kernel, f"{what} in dimension {size}", law, a, c)
        for form in ("large", "small"):
            what = f"a box in dimension {size}, the form for {form} tilts"
            with forms(large=form == "large"):
                checks = list(_cumulants_agree(kernel, what, laws.Box(sizes), a, c))
            yield from checks


def _cumulants_agree(kernel: Kernel, what: str, law: Any, tilt: list[Expr], c: list[Expr]) -> Iterator[Check]:
    moments, at = kernel.law_moments, numbers(tilt)
    mean = [elementary(entry) for entry in law.tilted_mean(at)]
    covariance = [gradient(entry, tilt) for entry in mean]
    found = [[elementary(entry) for entry in row] for row in moments.tilted_covariance(law, at)]
    yield equal(f"C = tau' of {what}", found, covariance)
    third = [[sum(x * y for x, y in zip(c, gradient(entry, tilt), strict=True)) for entry in row] for row in covariance]
    found = [[elementary(entry) for entry in row] for row in moments.third_cumulant(law, at, numbers(c))]
    yield equal(f"the derivative of C of {what}", found, third)


def check_infinite(kernel: Kernel) -> Iterator[Check]:
    """A task's tokens (x, <w, x>) as a Gaussian law; a law as a context; the risk over all tasks."""
    for size in (1, 2):
        w, tilt, c = vector("w", size), vector("a", size), vector("c", 1)
        B = matrix("B", size, size)
        joint = B.row_insert(size, (B.T * column(w)).T)
        law = first_principles.gaussian([sympy.Integer(0)] * (size + 1), joint, [*tilt, sympy.Integer(0)])
        mean = [law.mean()[size]]
        context = kernel.descent_trajectory.TaskContext(SymbolicMatrix(column(w).T * B * B.T))
        yield from _moments_agree(kernel, f"a task in dimension {size}", context, mean, tilt, c)
    a, y, shares = vector("a", 2), matrix("y", 2, 2).tolist(), positive_vector("w", 2)
    atoms = kernel.laws.Atoms(numbers(y), numbers(shares))
    context = kernel.descent_trajectory.LawContext(atoms)
    yield from _moments_agree(kernel, "two atoms", context, plain(atoms.tilted_mean(numbers(a))), a, vector("c", 2))
    yield from _check_population(kernel)


def _check_population(kernel: Kernel) -> Iterator[Check]:
    """The risk over all tasks and its gradient, those of `regression`, with balls in the place of exact numbers."""
    task, contexts = general_task(kernel, 2), kernel.descent_trajectory
    covariance, identity = (SymbolicMatrix(table) for table in (task.covariance, sympy.eye(2)))
    balls = kernel.regression.Regression(
        kernel.regression.BallMatrix(covariance), kernel.regression.BallMatrix(identity)
    )
    found = contexts.PopulationLoss(balls, SymbolicNumber(0)).at(
        kernel.context_losses.Trained(SymbolicMatrix(task.A), SymbolicMatrix([[task.b]]))
    )
    risk = plain(task.regression.risk(task.at))
    yield equal("the risk over all tasks is that of regression", plain(found.risk), risk)
    slopes = [sympy.diff(risk, symbol) for symbol in [*task.A, task.b]]
    yield equal("and its gradient", plain(found.gradient.entries()), slopes)


def _moments_agree(
    kernel: Kernel, what: str, context: Any, mean: list[Expr], tilt: list[Expr], c: list[Expr]
) -> Iterator[Check]:
    near = kernel.context_losses.Near(SymbolicMatrix(column(tilt)))
    found = context.moments(near)
    yield equal(f"m, {what}", plain(found.mean.entries()), mean)
    yield equal(f"C = dm/da, {what}", plain(found.slope.tolist()), [gradient(entry, tilt) for entry in mean])
    along = sum(x * y for x, y in zip(c, mean, strict=True))
    bend = context.bend(near, SymbolicMatrix(column(c)))
    yield equal(f"d^2 <c, m>, {what}", plain(bend.tolist()), [gradient(entry, tilt) for entry in gradient(along, tilt)])


# -- the loss


@dataclass(frozen=True)
class Jet:
    """A context of which only m, C and K at one tilt are known, all symbols: m + C x + K(x, x)/2 around it.

    First and second derivatives of the loss see no more of a context than this.
    """

    kernel: Kernel
    name: str
    values: int
    keys: int

    @property
    def mean(self) -> sympy.Matrix:
        return matrix(f"m{self.name}", self.values, 1)

    @property
    def slope(self) -> sympy.Matrix:
        return matrix(f"C{self.name}", self.values, self.keys)

    def second(self, j: int) -> sympy.Matrix:
        name = f"K{self.name}_{j}"
        return sympy.Matrix(self.keys, self.keys, lambda a, b: real(f"{name}_{min(a, b)}{max(a, b)}"))

    def along(self, x: sympy.Matrix) -> sympy.Matrix:
        """m(a + x) to second order."""
        bends = [(x.T * self.second(j) * x)[0] / 2 for j in range(self.values)]
        return self.mean + self.slope * x + column(bends)

    def moments(self, near: Any) -> Any:
        return self.kernel.context_losses.Moments(SymbolicMatrix(self.mean), SymbolicMatrix(self.slope))

    def bend(self, near: Any, along: Any) -> Any:
        terms = [entry.expr * self.second(j) for j, entry in enumerate(along.entries())]
        return SymbolicMatrix(sum(terms, sympy.zeros(self.keys, self.keys)))


class SymbolicLoss:
    """A loss of N jets, its point (U, V) and a direction (H, h), as sympy sees them and as the kernel does."""

    def __init__(self, kernel: Kernel, shape: tuple[int, int, int, int, int]) -> None:
        count, keys, queries, values, outputs = shape
        self.kernel, self.count = kernel, count
        self.jets = [Jet(kernel, str(n), values, keys) for n in range(count)]
        self.q = [matrix(f"q{n}", queries, 1) for n in range(count)]
        self.t = [matrix(f"t{n}", outputs, 1) for n in range(count)]
        self.U, self.V = matrix("U", keys, queries), matrix("V", outputs, values)
        self.H, self.h = matrix("H", keys, queries), matrix("h", outputs, values)

    def risk(self, U: sympy.Matrix, V: sympy.Matrix) -> Expr:
        """1/(2N) sum |V m(U q) - t|^2, the jets taken at the point."""
        total = sympy.Integer(0)
        for jet, q, t in zip(self.jets, self.q, self.t, strict=True):
            residual = V * jet.along((U - self.U) * q) - t
            total += (residual.T * residual)[0]
        return total / (2 * self.count)

    @property
    def loss(self) -> Any:
        losses = self.kernel.context_losses
        pairs = zip(self.q, self.t, strict=True)
        return losses.ContextLoss(self.jets, [losses.Task(SymbolicMatrix(q), SymbolicMatrix(t)) for q, t in pairs])

    @property
    def point(self) -> Any:
        return self.kernel.context_losses.Trained(SymbolicMatrix(self.U), SymbolicMatrix(self.V))


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """Risk and gradient at every point, for contexts of which nothing is known but m and C."""
    for shape in LOSSES:
        given = SymbolicLoss(kernel, shape)
        found = given.loss.at(given.point)
        yield equal(f"risk, {shape}", plain(found.risk), given.risk(given.U, given.V))
        s, directions = real("s"), [*given.H, *given.h]
        moved = given.risk(given.U + s * given.H, given.V + s * given.h)
        slope = sympy.diff(moved, s).subs(s, 0)
        inner = sum(x * y for x, y in zip(plain(found.gradient.entries()), directions, strict=True))
        yield equal(f"the derivative along every direction, {shape}", inner, slope)


def check_second(kernel: Kernel) -> Iterator[Check]:
    """The second derivative along (H, h); the squares and the rest of its bounds, as the kernel has them."""
    for shape in LOSSES:
        given = SymbolicLoss(kernel, shape)
        s = real("s")
        moved = given.risk(given.U + s * given.H, given.V + s * given.h)
        second = sympy.diff(moved, s, 2).subs(s, 0)
        total = squares = rest = sympy.Integer(0)
        for jet, q, t in zip(given.jets, given.q, given.t, strict=True):
            u, residual = given.H * q, given.V * jet.mean - t
            first = given.h * jet.mean + given.V * jet.slope * u
            along = given.V.T * residual
            bend = sum((along[j] * jet.second(j) for j in range(jet.values)), sympy.zeros(jet.keys, jet.keys))
            total += (first.T * first)[0] + 2 * (residual.T * given.h * jet.slope * u)[0] + (u.T * bend * u)[0]
            squares += _square(jet.mean) + _square(given.V * jet.slope) * _square(q)
            rest += _norm(residual) * _norm(jet.slope) * _norm(q) + _norm(bend) * _square(q)
        yield equal(f"the second derivative, {shape}", total / given.count, second)
        if shape[0] == 1:
            found = given.loss.sums(given.point, SymbolicNumber(0))
            yield equal(f"the rest, {shape}", plain(found[1]), rest)
            yield equal(f"the squares, {shape}", plain(found[0]), squares)
            moves = [*given.H, *given.h]
            for i, row in enumerate(found[2]):
                along = sum(plain(entry) * move for entry, move in zip(row, moves, strict=True))
                yield equal(f"row {i} of J, {shape}", along, first[i])
    m, c, h, u = (real(name) for name in "mchu")
    product = (m**2 + c**2) * (h**2 + u**2) - (h * m + c * u) ** 2
    yield equal("(m^2 + c^2)(h^2 + u^2) - (h m + c u)^2 is a square", product, (m * u - c * h) ** 2)
    yield equal("h^2 + u^2 - 2 h u is a square", h**2 + u**2 - 2 * h * u, (h - u) ** 2)


def _square(table: sympy.Matrix) -> Expr:
    """|M|_F^2."""
    return sum(entry**2 for entry in table)


def _norm(table: sympy.Matrix) -> Expr:
    return sympy.sqrt(_square(table))


def check_gronwall(kernel: Kernel) -> Iterator[Check]:
    """e_(k+1) = (1 + eta nu) e_k + eta g from e_0 = 0 has the kernel's closed form."""
    g, nu, eta = (sympy.Symbol(name, positive=True) for name in ("g", "nu", "eta"))
    grow = kernel.descent_trajectory.growth
    yield equal("e_0 = 0", grow(g, nu, eta, 0), 0)
    for k in range(5):
        yield equal(f"from k = {k} on", grow(g, nu, eta, k + 1), (1 + eta * nu) * grow(g, nu, eta, k) + eta * g)
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    closed = g * ((1 + eta * nu) ** n - 1) / nu
    step = sympy.powsimp(sympy.expand((1 + eta * nu) * closed + eta * g - closed.subs(n, n + 1)))
    yield Check("for every k", sympy.simplify(step) == 0)
    beta = real("beta")
    yield equal("eta beta - 1 = 1 + eta (beta - 2/eta)", eta * beta - 1, 1 + eta * (beta - 2 / eta))
