"""Checks: which laws besides the Gaussian make attention affine, and a law that does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, positive
from certattn.theory.first_principles import TiltedLaw
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import entries, gaussian, outputs
from certattn.theory.symbolic_flint import SymbolicNumber, numbers
from certattn.theory.symbols import column, matrix, positive_symbol, real, vector

Expr = Any
Derive = Callable[[list[Expr]], TiltedLaw]


def _affine(kernel: Kernel, law: Any, U: sympy.Matrix, V: sympy.Matrix) -> Any:
    scale = SymbolicNumber(positive_symbol("s"))
    return kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), scale).affine()


def _is_affine(kernel: Kernel, what: str, law: Any, U: Any, V: Any, derive: Derive) -> Iterator[Check]:
    """The kernel finds an affine map, and V tau(s U z) by definition is that map for every z."""
    s, z = positive_symbol("s"), sympy.Matrix([sympy.Symbol("z", real=True, nonzero=True)])
    affine = _affine(kernel, law, U, V)
    yield Check(f"{what}: found to be affine", affine is not None)
    stated = sympy.Matrix(entries(affine.offset)).T + s * sympy.Matrix(entries(affine.matrix)) * z
    yield equal(f"{what}: T(z) = offset + s matrix z", list(V * column(derive(list(s * U * z)).mean())), list(stated))


def _is_left_open(kernel: Kernel, what: str, law: Any, U: Any, V: Any) -> Check:
    return Check(f"{what}: no affine map is claimed", _affine(kernel, law, U, V) is None)


def check_affine_laws(kernel: Kernel) -> Iterator[Check]:
    """Every condition under which the kernel calls a law's operator affine, and that it needs one."""
    yield from _check_independent(kernel)
    yield from _check_atoms(kernel)
    yield from _check_mixtures(kernel)


def _check_independent(kernel: Kernel) -> Iterator[Check]:
    """Signs and boxes in dimension 2: each coordinate is constant, not scored, not read, or free."""
    laws = ((kernel.laws.Rademacher, first_principles.signs), (kernel.laws.Box, first_principles.box))
    for states in itertools.product(("constant", "not scored", "not read", "free"), repeat=2):
        c, U, V = [positive_symbol("c_1"), positive_symbol("c_2")], matrix("u", 2, 1), matrix("v", 1, 2)
        for j, state in enumerate(states):
            c[j] = sympy.Integer(0) if state == "constant" else c[j]
            U[j, 0] = sympy.Integer(0) if state == "not scored" else U[j, 0]
            V[0, j] = sympy.Integer(0) if state == "not read" else V[0, j]
        for make, derive in laws:
            law, what = make(numbers(c)), f"{make.__name__}, coordinates {' and '.join(states)}"
            if "free" in states:
                yield _is_left_open(kernel, what, law, U, V)
            else:
                yield from _is_affine(kernel, what, law, U, V, partial(derive, c))


def _check_atoms(kernel: Kernel) -> Iterator[Check]:
    """Three atoms in the plane, that differ only where queries or values do not look."""
    U, V, y = matrix("u", 2, 1), matrix("v", 1, 2), matrix("y", 1, 2)
    w = [positive_symbol("w_1"), positive_symbol("w_2")]
    w.append(1 - w[0] - w[1])
    unscored, unread = sympy.Matrix([[U[1], -U[0]]]), sympy.Matrix([[V[1], -V[0]]])
    for what, direction in (("queries see one atom", unscored), ("values see one atom", unread)):
        points = [list(y), list(y + real("r") * direction), list(y + real("t") * direction)]
        law = kernel.laws.Atoms(numbers(points), numbers(w))
        yield from _is_affine(kernel, what, law, U, V, partial(first_principles.atoms, points, w))
    law = kernel.laws.Atoms(numbers(matrix("y", 3, 2)), numbers(w))
    yield _is_left_open(kernel, "three atoms", law, U, V)


def _check_mixtures(kernel: Kernel) -> Iterator[Check]:
    """Gaussians whose means and covariances agree in every direction U z: then e^{Lambda_r(s U z)} are equal."""
    laws, U, V = kernel.laws, matrix("u", 2, 1), matrix("v", 1, 2)
    p = positive_symbol("pi")
    weights, unscored = [p, 1 - p], sympy.Matrix([U[1], -U[0]])
    means = [vector("m", 2), list(column(vector("m", 2)) + real("r") * unscored)]
    roots = [matrix("B", 2, 1), matrix("B", 2, 1) + real("t") * unscored]
    parts = [gaussian(kernel, m, B * B.T) for m, B in zip(means, roots, strict=True)]

    def derive(tilt: list[Expr]) -> TiltedLaw:
        laws_ = [first_principles.gaussian(m, B, tilt) for m, B in zip(means, roots, strict=True)]
        return first_principles.mixture(laws_, weights)

    yield from _is_affine(
        kernel, "two Gaussians that queries cannot tell apart", laws.Mixture(parts, numbers(weights)), U, V, derive
    )
    yield from _is_affine(
        kernel,
        "a mixture of one",
        laws.Mixture(parts[:1], numbers([sympy.Integer(1)])),
        U,
        V,
        partial(first_principles.gaussian, means[0], roots[0]),
    )
    apart = gaussian(kernel, vector("n", 2), roots[0] * roots[0].T)
    wider = gaussian(kernel, means[0], matrix("D", 2, 1) * matrix("D", 2, 1).T)
    sign = laws.Rademacher(numbers([positive_symbol("c_1"), positive_symbol("c_2")]))
    for what, other in (("another mean", apart), ("another covariance", wider), ("signs", sign)):
        mixed = laws.Mixture([parts[0], other], numbers(weights))
        yield _is_left_open(kernel, f"a Gaussian mixed with {what}", mixed, U, V)


def check_not_linear(kernel: Kernel) -> Iterator[Check]:
    """One sign: T(0) = 0, and T(2z) differs from 2 T(z) for every z > 0, so T is not affine."""
    c, s, z, u, v = (positive_symbol(name) for name in ("c", "s", "z", "u", "v"))
    U, V = sympy.Matrix([[u]]), sympy.Matrix([[v]])
    law = kernel.laws.Rademacher(numbers([c]))
    operator = kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), SymbolicNumber(s))
    ((at_0,), (at_z,), (at_2z,)) = outputs(kernel, operator, sympy.Matrix([0, z, 2 * z]))
    yield equal("T(z) = c v tanh(c s u z)", at_z, c * v * sympy.tanh(c * s * u * z))
    yield equal("T(0) = 0", at_0, 0)
    t = sympy.tanh(c * s * u * z)
    gap = 2 * c * v * t**3 / (1 + t**2)
    yield equal("2 T(z) - T(2z) = 2 c v t^3 / (1 + t^2), t = tanh(c s u z)", 2 * at_z - at_2z, gap)
    yield positive("that gap is > 0 for z > 0", gap)
    derived = first_principles.signs([c], [s * u * z]).mean()[0]
    yield equal("the same by summing over both signs", v * derived, at_z)
    yield _is_left_open(kernel, "one sign", law, U, V)
    yield equal("a Gaussian has no such gap", _second_difference(kernel), 0)


def _second_difference(kernel: Kernel) -> Expr:
    """T(2z) - 2 T(z) + T(0) of a Gaussian token in dimension 1."""
    U, V = matrix("u", 1, 1), matrix("v", 1, 1)
    law = gaussian(kernel, vector("m", 1), matrix("G", 1, 1))
    operator = kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), SymbolicNumber(positive_symbol("s")))
    z = real("z")
    ((at_0,), (at_z,), (at_2z,)) = outputs(kernel, operator, sympy.Matrix([0, z, 2 * z]))
    return at_2z - 2 * at_z + at_0
