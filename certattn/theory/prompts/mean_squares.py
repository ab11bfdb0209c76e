"""Checks: the bound of the mean square for any law, its moments, and averages over Gaussian queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, positive
from certattn.theory.first_principles import TiltedLaw
from certattn.theory.kernel_reading import Kernel
from certattn.theory.special_functions import elementary
from certattn.theory.symbolic_flint import forms, numbers
from certattn.theory.symbols import matrix, positive_symbol, real, vector

Expr = Any
_HALF = sympy.Rational(1, 2)


def _laws(kernel: Kernel, a: Sequence[Expr]) -> Iterator[tuple[str, Any, Any]]:
    """A name, the kernel's law, and the law from first principles under a tilt."""
    laws = kernel.laws
    m, B = vector("m", 2), matrix("B", 2, 1)
    yield "Gaussian", laws.Gaussian(numbers(m), numbers(B * B.T)), lambda t: first_principles.gaussian(m, B, t)
    c = [positive_symbol("c_1"), positive_symbol("c_2")]
    yield "signs", laws.Rademacher(numbers(c)), lambda t: first_principles.signs(c, t)
    yield "box", laws.Box(numbers(c)), lambda t: first_principles.box(c, t)
    points, weights = [vector("y", 2), vector("z", 2)], [sympy.Rational(1, 3), sympy.Rational(2, 3)]
    atoms = laws.Atoms(numbers(points), numbers(weights))
    yield "atoms", atoms, lambda t: first_principles.atoms(points, weights, t)
    parts = [laws.Atoms(numbers([c]), numbers([1])), atoms]

    def mixed(t: Sequence[Expr]) -> TiltedLaw:
        return first_principles.mixture(
            [first_principles.atoms([c], [1], t), first_principles.atoms(points, weights, t)], [_HALF, _HALF]
        )

    yield "mixture", laws.Mixture(parts, numbers([_HALF, _HALF])), mixed


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """tr G C(a) and E((x - c)'G(x - c))^2, from the definitions."""
    a, centre = [positive_symbol("a_1"), positive_symbol("a_2")], vector("k", 2)
    V = matrix("V", 1, 2)
    G = (V.T * V).tolist()
    moments = kernel.law_moments
    for name, law, principle in _laws(kernel, a):
        covariance = principle(a).covariance()
        expected = sum(G[i][j] * covariance[i][j] for i in range(2) for j in range(2))
        for large, form in ((True, "large"), (False, "small"))[: 2 if name == "box" else 1]:
            with forms(large):
                C = moments.tilted_covariance(law, numbers(a))
                found = elementary(moments.product_trace(numbers(G), C))
            yield equal(f"tr G C(a), {name}, {form}", found, expected)
        plain = principle([sympy.Integer(0)] * 2)

        def distance(x: Sequence[Expr]) -> Expr:
            return (V[0] * (x[0] - centre[0]) + V[1] * (x[1] - centre[1])) ** 4

        yield equal(
            f"the fourth moment, {name}",
            kernel.law_moments.fourth(law, numbers(centre), numbers(G)),
            plain.weigh(distance),
        )
    wide = matrix("W", 2, 2)
    form = (wide.T * wide).tolist()
    normal = kernel.laws.Gaussian(numbers(vector("m", 2)), numbers([[1, 0], [0, 1]]))
    x = first_principles.gaussian(vector("m", 2), sympy.eye(2), [sympy.Integer(0)] * 2)

    def size(x: Sequence[Expr]) -> Expr:
        d = sympy.Matrix(2, 1, [x[0] - centre[0], x[1] - centre[1]])
        return ((wide * d).T * (wide * d))[0] ** 2

    yield equal(
        "the fourth moment for two rows of V",
        kernel.law_moments.fourth(normal, numbers(centre), numbers(form)),
        x.weigh(size),
    )


def check_tilted_second_moment(kernel: Kernel) -> Iterator[Check]:
    """E w^2 |V(x - tau)|^2 = R_2 (tr V C(2a) V' + |V(tau(2a) - tau(a))|^2) for a density without a name."""
    a, tau = vector("a", 1), real("tau")
    once, twice = first_principles.density(1, a), first_principles.density(1, [2 * a[0]])
    moment = twice.weigh(lambda x: (x[0] - tau) ** 2) / once.normaliser() ** 2
    ratio = twice.normaliser() / once.normaliser() ** 2
    mean, variance = twice.mean()[0], twice.covariance()[0][0]
    formula = kernel.mean_square.tilted_second_moment(ratio, variance, (mean - tau) ** 2)
    yield equal("the second moment under weights", first_principles.split_integrals(sympy.expand(moment)),
                sympy.expand(formula))  # fmt: skip
    s2 = positive_symbol("v")
    yield equal("R_2 of a Gaussian", 2 * s2 - 2 * (s2 / 2), s2)


def check_lower_tail(kernel: Kernel) -> Iterator[Check]:
    """e^-x <= 1 - x + x^2/2 for x >= 0, and its mean."""
    x, rate, doubled = positive_symbol("x"), positive_symbol("lambda"), positive_symbol("R")
    gap = 1 - x + x**2 / 2 - sympy.exp(-x)
    for order in (0, 1):
        yield equal(f"derivative {order} vanishes at 0", sympy.diff(gap, x, order).subs(x, 0), 0)
    yield equal("the second derivative is 1 - e^-x", sympy.diff(gap, x, 2), 1 - sympy.exp(-x))
    shown = 2 * sympy.exp(-x / 2) * sympy.sinh(x / 2)
    yield equal("which is 2 e^(-x/2) sinh(x/2)", 1 - sympy.exp(-x), shown)
    yield positive("and positive", shown)
    w = real("w")
    pointwise = sympy.Poly(1 - rate * w + (rate * w) ** 2 / 2, w)
    mean = pointwise.coeff_monomial(1) + pointwise.coeff_monomial(w) + pointwise.coeff_monomial(w**2) * doubled
    yield equal("its mean, E w = 1 and E w^2 = R_2", kernel.mean_square.quadratic(rate, doubled), mean)
    t, L = positive_symbol("t"), sympy.Symbol("L", integer=True, positive=True)
    P = kernel.mean_square.normaliser_tail(L, t, *numbers([rate, doubled]))
    exponent = L * (rate * (1 - t) + sympy.log(kernel.mean_square.quadratic(rate, doubled)))
    yield equal("Chernoff's bound to the power L", sympy.log(P), sympy.log(sympy.exp(exponent)))
    v, rest = real("v"), real("r")
    yield equal("the two parts", kernel.mean_square.general_mean_square(v, L, t, rest), v / L / (1 - t) ** 2 + rest)


def check_markov(kernel: Kernel) -> Iterator[Check]:
    """eps^2 1{|y| > eps} <= |y|^2 pointwise, its mean over a law of atoms, other norms, and the bound for Gaussians."""
    eps, rest = positive_symbol("epsilon"), positive_symbol("r")
    yield positive("|y|^2 - eps^2 beyond eps", sympy.expand((eps + rest) ** 2 - eps**2))
    near, far = [sympy.Symbol(f"n_{i}", nonnegative=True) for i in (1, 2)], [positive_symbol(f"r_{i}") for i in (1, 2)]
    at_near, at_far = ([positive_symbol(f"{name}_{i}") for i in (1, 2)] for name in ("p", "w"))
    # |y| is n_i with probability p_i, at most eps, and eps + r_i with probability w_i.
    square = sum(p * n**2 for p, n in zip(at_near, near, strict=True))
    square += sum(w * (eps + r) ** 2 for w, r in zip(at_far, far, strict=True))
    slack = sympy.expand((kernel.mean_square.markov(square, eps) - sum(at_far)) * eps**2)
    yield positive("E|y|^2 / eps^2 - P(|y| > eps), two atoms on either side", slack)
    for size in (1, 2, 3):
        y = vector("y", size)
        for i in range(size):
            others = sum((y[j] ** 2 for j in range(size) if j != i), sympy.Integer(0))
            whole = sum(entry**2 for entry in y) - y[i] ** 2
            yield equal(f"|y|^2 - y_{i + 1}^2 is a sum of squares, dimension {size}", whole, others)
            yield Check(f"which is not negative, dimension {size}, entry {i + 1}", others.is_nonnegative is True)
    q, S, B, kappa = (sympy.Symbol(name, nonnegative=True) for name in ("q", "S", "B", "kappa"))
    formula = kernel.mean_square.gaussian_mean_square
    dropped = sympy.expand(formula(q, 0, S, B) - formula(q, kappa, S, B))
    yield equal("leaving kappa out adds 6 kappa B", dropped, 6 * kappa * B)
    yield Check("which is not negative", dropped.is_nonnegative is True)
    yield equal("the bound", kernel.mean_square.markov(formula(q, 0, S, B), eps), q * (S + B) / eps**2)


def check_averages(kernel: Kernel) -> Iterator[Check]:
    """Completing the square in z, and the Mellin transform."""
    w = real("w")
    for size in (1, 2):
        S = sympy.Matrix(size, size, lambda i, j: real(f"S_{min(i, j)}{max(i, j)}"))
        N = sympy.Matrix(size, size, lambda i, j: real(f"N_{min(i, j)}{max(i, j)}"))
        z, m = sympy.Matrix(vector("z", size)), sympy.Matrix(vector("m", size))
        cover = (S.inv() - 2 * w * N).inv()
        mu = m + 2 * w * cover * N * m
        left = -((z - m).T * S.inv() * (z - m))[0] / 2 + w * (z.T * N * z)[0]
        right = -((z - mu).T * cover.inv() * (z - mu))[0] / 2 + w * (m.T * N * mu)[0]
        yield equal(f"completing the square, dimension {size}", left, right)
        ratio = (sympy.eye(size) - 2 * w * S * N).det() * cover.det()
        yield equal(f"the determinant, dimension {size}", ratio, S.det())
    x = positive_symbol("x")
    transform = sympy.mellin_transform(1 / (1 + x), x, w)[0]
    yield equal("the Mellin transform of 1/(1+x)", transform, sympy.pi / sympy.sin(sympy.pi * w))
    a, b = real("a"), real("b")
    size = sympy.expand_complex(sympy.sin(a + sympy.I * b) * sympy.sin(a - sympy.I * b))
    both = sympy.sin(a) ** 2 + sympy.sinh(b) ** 2
    yield equal(
        "|sin(a + ib)|^2 = sin^2 a + sinh^2 b", sympy.expand_trig(size).rewrite(sympy.exp), both.rewrite(sympy.exp)
    )
    excess = sympy.sin(a) ** 2 * (1 + sympy.sinh(b) ** 2) + sympy.cos(a) ** 2 * sympy.sinh(b) ** 2
    yield equal("and exceeds sin^2 a cosh^2 b by cos^2 a sinh^2 b", excess.rewrite(sympy.exp), both.rewrite(sympy.exp))


def check_fits(kernel: Kernel) -> Iterator[Check]:
    """The mean square is linear in q and kappa; what multiplies kappa is at most 0; and what fits leave open."""
    q, S, B, kappa = (sympy.Symbol(name, nonnegative=True) for name in ("q", "S", "B", "kappa"))
    formula = kernel.mean_square.gaussian_mean_square
    yield equal("linear in q and kappa", formula(q, kappa, S, B), q * formula(1, 0, S, B) + kappa * formula(0, 1, S, B))
    yield Check("what multiplies q is not negative", formula(1, 0, S, B).is_nonnegative is True)
    yield Check("what multiplies kappa is not positive", formula(0, -1, S, B).is_nonnegative is True)
    yield equal("and in S and B", formula(q, kappa, S, B), S * formula(q, kappa, 1, 0) + B * formula(q, kappa, 0, 1))
