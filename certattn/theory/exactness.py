"""Exact equality of expressions: what every check of a derivation comes down to.

Equality is decided by rewriting to a normal form, never by evaluating at points and never with a
tolerance. "Proved" is sound: a numerator that expands to 0 is 0. A true equality that the rewriting
does not see counts as not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

Expr = Any


@dataclass(frozen=True)
class Check:
    """One statement inside a step, and whether it was proved."""

    name: str
    holds: bool


_HYPERBOLIC = [sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch]


_BINDING = (sympy.Integral, sympy.Sum, sympy.Derivative, sympy.Subs)


def vanishes(expression: Expr) -> bool:
    """Whether an expression is proved to be 0 wherever it is defined.

    Hyperbolic functions become exponentials and exponentials powers of unrelated symbols; then
    everything goes over one denominator, and the numerator is multiplied out.
    """
    rational = _without_exponentials(sympy.sympify(expression).rewrite(_HYPERBOLIC, sympy.exp))
    numerator, _ = sympy.fraction(sympy.together(rational))
    return bool(sympy.expand(numerator) == 0)


def _without_exponentials(expression: Expr) -> Expr:
    """e^{p t + q u + ...} as X^p Y^q ..., p and q rational: X, Y stand for e^t, e^u.

    What holds for all positive X, Y, ... holds for these. Integrals and sums are symbols as well: an
    exponential of a bound variable is not one number and must stay inside.
    """
    symbols: dict[Expr, Expr] = {}
    expression = expression.replace(
        lambda part: isinstance(part, _BINDING), lambda part: symbols.setdefault(part, sympy.Dummy())
    )

    def power(exponent: Expr) -> Expr:
        factors = []
        for term in sympy.Add.make_args(sympy.expand(exponent)):
            coefficient, base = term.as_coeff_Mul()
            factors.append(symbols.setdefault(base, sympy.Dummy(positive=True)) ** coefficient)
        return sympy.Mul(*factors)

    return expression.replace(sympy.exp, power)


def same(left: Any, right: Any) -> bool:
    """Whether two expressions, or two equally shaped nestings of them, are proved equal."""
    if isinstance(left, sympy.MatrixBase):
        left = left.tolist()
    if isinstance(right, sympy.MatrixBase):
        right = right.tolist()
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return len(left) == len(right) > 0 and all(same(x, y) for x, y in zip(left, right, strict=True))
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return False
    return vanishes(sympy.sympify(left) - sympy.sympify(right))


def equal(name: str, left: Any, right: Any) -> Check:
    return Check(name, same(left, right))


def equal_logarithms(name: str, left: Expr, right: Expr) -> Check:
    """Real numbers with the same exponential are equal, so logarithms need no rules of their own."""
    return Check(name, same(sympy.exp(left), sympy.exp(right)))


def equal_matrices(name: str, left: Expr, right: Expr) -> Check:
    """Two matrix expressions of symbolic dimension, multiplied out."""
    return Check(name, left.doit().expand() == right.doit().expand())


def equal_series(name: str, left: Expr, right: Expr, index: Expr) -> Check:
    """Two terms agree for every index >= 0: by induction, from the first one and the ratio of neighbours."""
    first = same(left.subs(index, 0), right.subs(index, 0))
    ratios = [sympy.hypersimp(sympy.factor(sympy.combsimp(term)), index) for term in (left, right)]
    return Check(name, first and None not in ratios and same(*ratios))


def positive(name: str, expression: Expr) -> Check:
    """Proved to be > 0 from the assumptions on its symbols."""
    return Check(name, sympy.sympify(expression).is_positive is True)


def all_of(name: str, checks: Iterable[Check]) -> Check:
    """One statement out of several; of none, it is not proved."""
    found = [check.holds for check in checks]
    return Check(name, len(found) > 0 and all(found))
