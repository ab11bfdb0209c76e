"""Checks: log-MGF, tilted mean and tilted covariance of every law, derived and as the kernel has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, equal_logarithms, equal_matrices
from certattn.theory.first_principles import TiltedLaw
from certattn.theory.kernel_reading import Kernel
from certattn.theory.special_functions import elementary
from certattn.theory.symbolic_flint import SymbolicNumber, forms, numbers, plain
from certattn.theory.symbols import column, gradient, hessian, matrix, positive_symbol, positive_vector, real, vector

Expr = Any


def _kernel_agrees(what: str, law: Any, derived: TiltedLaw, tilt: Sequence[Expr]) -> Iterator[Check]:
    """The kernel's two formulas of a law against what was derived."""
    log_mgf, mean = law.log_mgf(numbers(tilt)), law.tilted_mean(numbers(tilt))
    yield equal_logarithms(f"log-MGF of {what}", elementary(log_mgf), derived.log_mgf())
    yield equal(f"tilted mean of {what}", [elementary(t) for t in mean], derived.mean())


def _derivatives_agree(what: str, derived: TiltedLaw, tilt: list[Expr]) -> Iterator[Check]:
    """Gradient and Hessian of the derived log-MGF against the tilted moments, by definition."""
    log_mgf, covariance = derived.log_mgf(), derived.covariance()
    yield equal(f"grad Lambda is the tilted mean of {what}", gradient(log_mgf, tilt), derived.mean())
    yield equal(f"Hess Lambda is the tilted covariance of {what}", hessian(log_mgf, tilt), covariance)
    yield equal(f"the tilted covariance of {what} is symmetric", covariance, sympy.Matrix(covariance).T)


def check_any_law(kernel: Kernel) -> Iterator[Check]:
    """grad and Hess of log E e^{<a, x>}, differentiated under the integral of an unspecified density."""
    for dimension in (1, 2, 3):
        tilt = vector("a", dimension)
        derived = first_principles.density(dimension, tilt)
        yield from _derivatives_agree(f"any density in dimension {dimension}", derived, tilt)


def check_gaussian(kernel: Kernel) -> Iterator[Check]:
    """Completing the square; then every dimension at once, then d = 1..4 and every rank entry by entry."""
    g, t = real("g"), real("t")
    yield equal("the square completed", -(g**2) / 2 + t * g, -((g - t) ** 2) / 2 + t**2 / 2)
    for power, value in enumerate((1, t, 1 + t**2)):
        moment = first_principles.gaussian_moment(power, t)
        yield equal(f"E g^{power} e^(tg) by integration", moment, value * sympy.exp(t**2 / 2))
    yield from _gaussian_in_any_dimension()
    for dimension in (1, 2, 3, 4):
        a, m = vector("a", dimension), vector("m", dimension)
        for rank in range(dimension + 1):
            B = matrix("B", dimension, rank)
            covariance = B * B.T
            derived = first_principles.gaussian(m, B, a)
            what = f"a Gaussian in dimension {dimension} with B {dimension} x {rank}"
            law = kernel.laws.Gaussian(numbers(m), numbers(covariance))
            yield from _kernel_agrees(what, law, derived, a)
            jacobian = [gradient(mean, a) for mean in plain(law.tilted_mean(numbers(a)))]
            yield equal(f"the Jacobian of the tilted mean of {what} is Gamma", jacobian, covariance)
            if dimension <= 2:
                yield from _derivatives_agree(what, derived, a)
            if dimension <= 3:
                yield equal(f"the tilted covariance of {what} is Gamma", derived.covariance(), covariance)


def _gaussian_in_any_dimension() -> Iterator[Check]:
    d, r = sympy.symbols("d r", integer=True, positive=True)
    a, m, B = (sympy.MatrixSymbol(*size) for size in (("a", d, 1), ("m", d, 1), ("B", d, r)))
    Gamma = B * B.T
    # log E e^{<a, m + Bg>} = <a, m> + |B'a|^2 / 2, coordinate by coordinate of g.
    derived = m.T * a + (B.T * a).T * (B.T * a) / 2
    yield equal_matrices("|B'a|^2 = a' Gamma a in every dimension", derived, m.T * a + a.T * Gamma * a / 2)
    mean = derived.doit().diff(a)
    yield equal_matrices("grad Lambda = m + Gamma a in every dimension", mean, m + Gamma * a)
    yield equal_matrices("the Jacobian of m + Gamma a is Gamma in every dimension", (a.T * Gamma).diff(a), Gamma)


def check_signs(kernel: Kernel) -> Iterator[Check]:
    """Sums over all 2^d sign vectors; each tilt on both sides of 0, and at 0."""
    for dimension in (1, 2, 3, 4):
        a, c = vector("a", dimension), positive_vector("c", dimension)
        derived = first_principles.signs(c, a)
        what = f"signs in dimension {dimension}"
        law = kernel.laws.Rademacher(numbers(c))
        yield equal(f"tilted mean of {what}", law.tilted_mean(numbers(a)), derived.mean())
        if dimension <= 2:
            yield from _derivatives_agree(what, derived, a)
            squares = [x**2 / sympy.cosh(x * y) ** 2 for x, y in zip(c, a, strict=True)]
            yield equal(f"tilted covariance of {what}", derived.covariance(), sympy.diag(*squares))
        for tilt in _sides(dimension) if dimension <= 2 else [positive_vector("a", dimension)]:
            yield from _kernel_agrees(f"{what} at {tilt}", law, first_principles.signs(c, tilt), tilt)
    p = [positive_symbol("a_1")]
    none = [sympy.Integer(0)]
    yield from _kernel_agrees(
        "a sign of size 0", kernel.laws.Rademacher(numbers(none)), first_principles.signs(none, p), p
    )


def check_box(kernel: Kernel) -> Iterator[Check]:
    """Integrals over the box; both forms of the kernel for every coordinate, on both sides of 0 and at 0."""
    x = positive_symbol("x")
    for dimension in (1, 2):
        c = positive_vector("c", dimension)
        law = kernel.laws.Box(numbers(c))
        for tilt in _sides(dimension):
            derived = first_principles.box(c, tilt)
            for chosen in _choices(c, tilt):
                what = f"a box at {tilt}, by exp at {sorted(map(str, chosen))}"
                with forms(large=chosen.__contains__):
                    checks = list(_kernel_agrees(what, law, derived, tilt))
                yield from checks
    for dimension in (1, 2, 3):
        a, c = positive_vector("a", dimension), positive_vector("c", dimension)
        derived, what = first_principles.box(c, a), f"a box in dimension {dimension}"
        yield from _derivatives_agree(what, derived, a)
        shape = sympy.diag(
            *[y**2 * (1 / x**2 - 1 / sympy.sinh(x) ** 2).subs(x, y * z) for y, z in zip(c, a, strict=True)]
        )
        yield equal(f"tilted covariance of {what}", derived.covariance(), shape)
    c, none = positive_symbol("c"), sympy.Integer(0)
    still = first_principles.box([c], [none])
    yield equal("variance of a box without tilt", still.covariance(), [[c**2 / 3]])
    a = [positive_symbol("a_1")]
    point = kernel.laws.Box(numbers([none]))
    yield from _kernel_agrees("a box of width 0", point, first_principles.box([none], a), a)


def _sides(dimension: int) -> list[list[Expr]]:
    """Tilts with every coordinate > 0, < 0 or 0."""
    positive = positive_vector("a", dimension)
    return [list(tilt) for tilt in itertools.product(*((p, -p, sympy.Integer(0)) for p in positive))]


def _choices(sizes: list[Expr], tilt: list[Expr]) -> list[frozenset[Expr]]:
    """Every set of coordinates c_j |a_j| that may count as large: 0 never does."""
    lengths = [c * sympy.Abs(a) for c, a in zip(sizes, tilt, strict=True) if a != 0]
    subsets = itertools.chain.from_iterable(itertools.combinations(lengths, k) for k in range(len(lengths) + 1))
    return [frozenset(subset) for subset in subsets]


def check_atoms(kernel: Kernel) -> Iterator[Check]:
    """Finite sums: K points in R^d with weights."""
    for dimension, count in ((1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (4, 2), (1, 5)):
        a, w = vector("a", dimension), positive_vector("w", count)
        points = matrix("y", count, dimension).tolist()
        derived = first_principles.atoms(points, w, a)
        what = f"{count} atoms in dimension {dimension}"
        yield from _kernel_agrees(what, kernel.laws.Atoms(numbers(points), numbers(w)), derived, a)
        if count <= 3 and dimension <= 2:
            yield from _derivatives_agree(what, derived, a)


@dataclass(frozen=True)
class AnyLaw:
    """A law of which only its log-MGF has a name: an unspecified function of the tilt."""

    name: str
    dimension: int

    def log_mgf(self, tilt: Sequence[Any]) -> SymbolicNumber:
        return SymbolicNumber(sympy.Function(self.name, real=True)(*plain(tilt)))

    def tilted_mean(self, tilt: Sequence[Any]) -> list[SymbolicNumber]:
        return numbers(gradient(self.log_mgf(tilt), plain(tilt)))

    def derived(self, tilt: Sequence[Expr]) -> TiltedLaw:
        """Its weighted moments of order 0, 1 and 2, through e^Lambda and its derivatives."""
        return first_principles.of_mgf(sympy.exp(self.log_mgf(tilt)), tilt)


def check_mixture(kernel: Kernel) -> Iterator[Check]:
    """Mixtures of unspecified laws, so of all; then a mixture of different kinds, entry by entry."""
    laws = kernel.laws
    for dimension, count in ((1, 1), (1, 2), (1, 3), (2, 2), (3, 2)):
        a, w = vector("a", dimension), positive_vector("pi", count)
        parts = [AnyLaw(f"Lambda_{r + 1}", dimension) for r in range(count)]
        derived = first_principles.mixture([part.derived(a) for part in parts], w)
        what = f"a mixture of {count} laws in dimension {dimension}"
        yield from _kernel_agrees(what, laws.Mixture(parts, numbers(w)), derived, a)
        shares = [weight * sympy.exp(part.log_mgf(a)) for weight, part in zip(w, parts, strict=True)]
        yield equal(f"tilted covariance of {what}", derived.covariance(), _within_and_between(parts, shares, a))
    m, b, y, c = vector("m", 2), matrix("B", 2, 1), vector("y", 2), positive_vector("c", 2)
    a, w = vector("a", 2), positive_vector("pi", 3)
    kinds = [
        laws.Gaussian(numbers(m), numbers(b * b.T)),
        laws.Atoms(numbers([y]), numbers([1])),
        laws.Rademacher(numbers(c)),
    ]
    sums = [first_principles.gaussian(m, b, a), first_principles.atoms([y], [1], a), first_principles.signs(c, a)]
    derived = first_principles.mixture(sums, w)
    mixed = laws.Mixture(kinds, numbers(w))
    positive = dict(zip(a, positive_vector("a", 2), strict=True))
    what = "a mixture of a singular Gaussian, a point and signs"
    yield equal_logarithms(
        f"log-MGF of {what}", mixed.log_mgf(numbers(list(positive.values()))), derived.log_mgf().subs(positive)
    )
    found = mixed.tilted_mean(numbers(list(positive.values())))
    yield equal(f"tilted mean of {what}", found, [mean.subs(positive) for mean in derived.mean()])


def _within_and_between(parts: list[AnyLaw], shares: list[Expr], tilt: list[Expr]) -> sympy.Matrix:
    """sum rho_r (C_r + tau_r tau_r') - tau tau', rho_r the tilted weights of the components."""
    means = [column(part.tilted_mean(tilt)) for part in parts]
    inner = [sympy.Matrix(hessian(part.log_mgf(tilt), tilt)) for part in parts]
    total = sum(shares)
    mean = sum((s * t for s, t in zip(shares, means, strict=True)), sympy.zeros(len(tilt), 1)) / total
    terms = (s * (C + t * t.T) for s, C, t in zip(shares, inner, means, strict=True))
    return sum(terms, sympy.zeros(len(tilt), len(tilt))) / total - mean * mean.T
