"""The types of python-flint over sympy expressions, as far as the kernel uses them.

Kernel modules that compute with `arb`, `fmpq` or `fmpz_mat` are read a second time with these types
in their place (`kernel_reading`): the same source then yields a formula instead of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import flint
import sympy

from certattn.theory.exactness import Expr, vanishes

# Tricomi's U(a, b, z), as a name.
TRICOMI = sympy.Function("U")

_LARGE: ContextVar[Callable[[Expr], bool] | None] = ContextVar("large", default=None)


@contextmanager
def forms(large: bool | Callable[[Expr], bool]) -> Iterator[None]:
    """Where a function has two closed forms the kernel asks whether a size is >= 1: what it is told of a symbol.

    A symbol has no size, so the form is chosen from outside, for all sizes or for each.
    """
    before = _LARGE.set(large if callable(large) else lambda size: large)
    try:
        yield
    finally:
        _LARGE.reset(before)


class SymbolicNumber:
    """`arb`, `acb`, `fmpq` and `fmpz` at once: an exact expression `expr`, possibly over a denominator.

    A comparison that the symbols do not decide, and no choice of `forms`, is an error (sympy's), never a guess.
    """

    __slots__ = ("expr",)

    # To sympy: leave arithmetic with an expression to this class.
    _op_priority = 100.0

    def __init__(self, value: Any = 0, denominator: Any = 1) -> None:
        self.expr = expression(value) / expression(denominator)

    def __repr__(self) -> str:
        return f"SymbolicNumber({self.expr})"

    def _sympy_(self) -> Expr:
        """What sympy takes it for."""
        return self.expr

    # -- arithmetic

    def __add__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(self.expr + expression(other))

    def __sub__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(self.expr - expression(other))

    def __mul__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(self.expr * expression(other))

    def __truediv__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(self.expr / expression(other))

    def __rsub__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(expression(other) - self.expr)

    def __rtruediv__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(expression(other) / self.expr)

    def __pow__(self, exponent: int) -> SymbolicNumber:
        return SymbolicNumber(self.expr**exponent)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> SymbolicNumber:
        return SymbolicNumber(-self.expr)

    def __abs__(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.Abs(self.expr))

    # -- comparison: equal means proved equal for every value of the symbols

    def __eq__(self, other: object) -> bool:
        return vanishes(self.expr - expression(other))

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: Any) -> bool:
        return bool(self.expr <= expression(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.expr < expression(other))

    def __ge__(self, other: Any) -> bool:
        relation, large = self.expr >= expression(other), _LARGE.get()
        if large is not None and expression(other) == 1 and isinstance(relation, sympy.Rel):
            return large(self.expr)
        return bool(relation)

    def __gt__(self, other: Any) -> bool:
        return bool(self.expr > expression(other))

    # -- as a rational: a formula over a positive integer

    def _parts(self) -> tuple[Expr, Expr]:
        numerator, denominator = sympy.fraction(sympy.together(self.expr))
        return (numerator, denominator) if denominator.is_Integer else (self.expr, sympy.Integer(1))

    @property
    def p(self) -> SymbolicNumber:
        return SymbolicNumber(self._parts()[0])

    @property
    def q(self) -> SymbolicNumber:
        return SymbolicNumber(self._parts()[1])

    # -- as an integer: denominators stay concrete

    def __int__(self) -> int:
        return int(_integer(self))

    def lcm(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(sympy.ilcm(_integer(self), _integer(other)))

    def __floordiv__(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(_integer(self) // _integer(other))

    # -- as a ball

    def exp(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.exp(self.expr))

    def log(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.log(self.expr))

    def expm1(self) -> SymbolicNumber:
        return self.exp() - 1

    def log1p(self) -> SymbolicNumber:
        return (1 + self).log()

    def tanh(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.tanh(self.expr))

    def coth(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.coth(self.expr))

    def sqrt(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.sqrt(self.expr))

    def acos(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.acos(self.expr))

    def rsqrt(self) -> SymbolicNumber:
        return SymbolicNumber(1 / sympy.sqrt(self.expr))

    def erfc(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.erfc(self.expr))

    def gamma(self) -> SymbolicNumber:
        return SymbolicNumber(sympy.gamma(self.expr))

    def gamma_upper(self, s: Any, regularized: int = 0) -> SymbolicNumber:
        """Gamma(s, x), over Gamma(s) where that is asked for."""
        order = sympy.sympify(s)
        found = sympy.uppergamma(order, self.expr)
        return SymbolicNumber(found / sympy.gamma(order) if regularized else found)

    def gamma_lower(self, s: Any, regularized: int = 0) -> SymbolicNumber:
        """gamma(s, x), over Gamma(s) where that is asked for."""
        order = sympy.sympify(s)
        found = sympy.lowergamma(order, self.expr)
        return SymbolicNumber(found / sympy.gamma(order) if regularized else found)

    def bessel_i(self, order: Any, scaled: bool = False) -> SymbolicNumber:
        """I_nu(s) = (s/2)^nu / Gamma(nu + 1) 0F1(; nu + 1; s^2/4), its series; scaled by e^-s."""
        nu, s = expression(order), self.expr
        series = sympy.hyper([], [nu + 1], sympy.expand(s**2 / 4))
        return SymbolicNumber((s / 2) ** nu / sympy.gamma(nu + 1) * series * (sympy.exp(-s) if scaled else 1))

    def hypgeom_0f1(self, a: Any) -> SymbolicNumber:
        return self.hypgeom([], [a])

    def hypgeom_1f1(self, a: Any, b: Any) -> SymbolicNumber:
        return self.hypgeom([a], [b])

    def hypgeom(self, a: Sequence[Any], b: Sequence[Any]) -> SymbolicNumber:
        return SymbolicNumber(sympy.hyper(plain(a), plain(b), self.expr))

    def hypgeom_u(self, a: Any, b: Any) -> SymbolicNumber:
        return SymbolicNumber(TRICOMI(expression(a), expression(b), self.expr))

    @staticmethod
    def pi() -> SymbolicNumber:
        return SymbolicNumber(sympy.pi)

    @staticmethod
    def nan() -> SymbolicNumber:
        return SymbolicNumber(sympy.nan)

    @property
    def real(self) -> SymbolicNumber:
        """Symbols stand for real numbers."""
        return self

    @property
    def imag(self) -> SymbolicNumber:
        return SymbolicNumber(0)

    def rad(self) -> SymbolicNumber:
        """The radius of a ball: nothing is rounded here."""
        return SymbolicNumber(0)

    def upper(self) -> SymbolicNumber:
        """The upper end of a ball."""
        return self

    def lower(self) -> SymbolicNumber:
        """The lower end of a ball."""
        return self

    def is_finite(self) -> bool:
        """Symbols stand for numbers."""
        return self.expr is not sympy.nan

    def union(self, other: SymbolicNumber) -> SymbolicNumber:
        """The smallest ball with two numbers, which are concrete."""
        ends = sorted((self.expr, other.expr))
        return SymbolicNumber(sympy.AccumBounds(*ends))

    def max(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(sympy.Max(self.expr, expression(other)))

    def min(self, other: Any) -> SymbolicNumber:
        return SymbolicNumber(sympy.Min(self.expr, expression(other)))

    def nonnegative_part(self) -> SymbolicNumber:
        """Cuts a ball at 0: no change of a number that is >= 0, as what is cut must be known to be."""
        if self.expr.is_negative is True:
            raise ValueError(f"{self.expr} is below 0")
        return self


def expression(value: Any) -> Expr:
    """The sympy expression of an exact number."""
    if isinstance(value, SymbolicNumber):
        return value.expr
    if isinstance(value, flint.fmpq):
        return sympy.Rational(int(value.p), int(value.q))
    if isinstance(value, flint.fmpz | int):
        return sympy.Integer(int(value))
    if isinstance(value, sympy.Expr):
        return sympy.sympify(value)
    raise TypeError(f"{type(value).__name__} is not an exact number")


def numbers(entries: Any) -> Any:
    """A number, or a table of them, as the kernel's numbers."""
    if isinstance(entries, sympy.MatrixBase):
        entries = entries.tolist()
    return [numbers(entry) for entry in entries] if isinstance(entries, Sequence) else SymbolicNumber(entries)


def _integer(value: Any) -> int:
    found = expression(value)
    if found.is_Integer is not True:
        raise TypeError(f"{found} is not a concrete integer")
    return int(found)


class SymbolicMatrix:
    """`fmpz_mat` and `arb_mat` at once: from another matrix, a list of rows, or row by row from a flat list."""

    __slots__ = ("entries_of",)

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) == 1 and isinstance(arguments[0], SymbolicMatrix | sympy.MatrixBase):
            (source,) = arguments
            self.entries_of: Any = source.entries_of if isinstance(source, SymbolicMatrix) else sympy.Matrix(source)
            return
        if len(arguments) == 1:
            self.entries_of = sympy.Matrix([[expression(entry) for entry in row] for row in arguments[0]])
            return
        rows, columns, *rest = arguments
        flat = [expression(entry) for entry in rest[0]] if rest else [sympy.Integer(0)] * (rows * columns)
        self.entries_of = sympy.Matrix(rows, columns, flat)

    def nrows(self) -> int:
        return int(self.entries_of.rows)

    def ncols(self) -> int:
        return int(self.entries_of.cols)

    def transpose(self) -> SymbolicMatrix:
        return SymbolicMatrix(self.entries_of.T)

    def trace(self) -> SymbolicNumber:
        return SymbolicNumber(self.entries_of.trace())

    def entries(self) -> list[SymbolicNumber]:
        return [SymbolicNumber(entry) for entry in self.entries_of]

    def tolist(self) -> list[list[SymbolicNumber]]:
        return [[SymbolicNumber(entry) for entry in row] for row in self.entries_of.tolist()]

    def __getitem__(self, place: tuple[int, int]) -> SymbolicNumber:
        return SymbolicNumber(self.entries_of[place])

    def __setitem__(self, place: tuple[int, int], value: Any) -> None:
        self.entries_of[place] = expression(value)

    def solve(self, other: SymbolicMatrix) -> SymbolicMatrix:
        return SymbolicMatrix(self.entries_of.LUsolve(other.entries_of))

    def __add__(self, other: SymbolicMatrix) -> SymbolicMatrix:
        return SymbolicMatrix(self.entries_of + other.entries_of)

    def __neg__(self) -> SymbolicMatrix:
        return SymbolicMatrix(-self.entries_of)

    def __sub__(self, other: SymbolicMatrix) -> SymbolicMatrix:
        return self + (-other)

    def __mul__(self, other: Any) -> SymbolicMatrix:
        factor = other.entries_of if isinstance(other, SymbolicMatrix) else expression(other)
        return SymbolicMatrix(self.entries_of * factor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SymbolicMatrix) or self.entries_of.shape != other.entries_of.shape:
            return False
        return all(vanishes(x - y) for x, y in zip(self.entries_of, other.entries_of, strict=True))

    __hash__ = None  # type: ignore[assignment]


class SymbolicPolynomial:
    """`arb_poly`: from the coefficients, the constant one first."""

    __slots__ = ("coefficients",)

    def __init__(self, coefficients: Sequence[Any]) -> None:
        self.coefficients = [expression(entry) for entry in coefficients]

    def __getitem__(self, k: int) -> SymbolicNumber:
        return SymbolicNumber(self.coefficients[k] if k < len(self.coefficients) else 0)

    def __setitem__(self, k: int, value: Any) -> None:
        missing = [sympy.Integer(0)] * (k + 1 - len(self.coefficients))
        self.coefficients = [*self.coefficients, *missing]
        self.coefficients[k] = expression(value)

    def __mul__(self, other: Any) -> SymbolicPolynomial:
        factors = other.coefficients if isinstance(other, SymbolicPolynomial) else [expression(other)]
        found = [sympy.Integer(0)] * max(len(self.coefficients) + len(factors) - 1, 0)
        for i, x in enumerate(self.coefficients):
            for j, y in enumerate(factors):
                found[i + j] += x * y
        return SymbolicPolynomial(found)

    def __add__(self, other: SymbolicPolynomial) -> SymbolicPolynomial:
        longer, shorter = sorted((self.coefficients, other.coefficients), key=len, reverse=True)
        return SymbolicPolynomial([*(x + y for x, y in zip(longer, shorter, strict=False)), *longer[len(shorter) :]])

    def integral(self) -> SymbolicPolynomial:
        """From 0 on."""
        return SymbolicPolynomial([0, *(entry / k for k, entry in enumerate(self.coefficients, start=1))])

    def __call__(self, inner: SymbolicPolynomial) -> SymbolicPolynomial:
        """The composition, by Horner's rule."""
        found = SymbolicPolynomial([0])
        for coefficient in reversed(self.coefficients):
            found *= inner
            found[0] += coefficient
        return found


def evaluated(formula: Callable[..., Any], *arguments: Any) -> Any:
    """A formula of the kernel at expressions, as an expression."""
    return plain(formula(*map(numbers, arguments)))


def plain(value: Sequence[Any] | Any) -> Any:
    """A number or a nesting of them, as sympy expressions."""
    return [plain(entry) for entry in value] if isinstance(value, Sequence) else expression(value)


def numbered(values: Sequence[Any]) -> dict[int, SymbolicNumber]:
    """As the kernel has them by their place."""
    return {place: SymbolicNumber(value) for place, value in enumerate(values)}
