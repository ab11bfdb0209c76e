"""The task of in-context regression over symbols: what the kernel's `regression` is read with.

A matrix of symbols is the kernel's own `ExactMatrix` with expressions for entries (`Kernel.exact`): it has @, +, -,
.T, .scaled, .trace and .inner, so `Regression` and `Parameters` need nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_vector, real, vector

Expr = Any


def symmetric_matrix(name: str, size: int) -> sympy.Matrix:
    """Symbols name_ij with i <= j, on both sides of the diagonal."""
    return sympy.Matrix(size, size, lambda i, j: real(f"{name}_{min(i, j) + 1}{max(i, j) + 1}"))


@dataclass(frozen=True)
class SymbolicTask:
    """Sigma, a point (A, b) and a direction (H, h), as sympy sees them and as the kernel does."""

    kernel: Kernel
    covariance: sympy.Matrix
    A: sympy.Matrix
    b: Expr
    H: sympy.Matrix
    h: Expr

    @property
    def dimension(self) -> int:
        return int(self.covariance.rows)

    @property
    def regression(self) -> Any:
        """The kernel's `Regression`."""
        identity = self.kernel.exact(sympy.eye(self.dimension))
        return self.kernel.regression.Regression(self.kernel.exact(self.covariance), identity)

    @property
    def at(self) -> Any:
        """(A, b) as the kernel's `Parameters`."""
        return parameters(self.kernel, self.A, self.b)

    @property
    def along(self) -> Any:
        """(H, h) as the kernel's `Parameters`."""
        return parameters(self.kernel, self.H, self.h)

    @property
    def error(self) -> sympy.Matrix:
        """E = b Sigma A - I, by hand."""
        return self.b * self.covariance * self.A - sympy.eye(self.dimension)

    @property
    def residual(self) -> sympy.Matrix:
        """Sigma E Sigma, by hand."""
        return self.covariance * self.error * self.covariance


def parameters(kernel: Kernel, A: sympy.Matrix, b: Expr) -> Any:
    """Expressions as the kernel's `Parameters`."""
    return kernel.regression.Parameters(kernel.exact(A), SymbolicNumber(b))


def general_task(kernel: Kernel, dimension: int) -> SymbolicTask:
    """Every entry a symbol of its own; Sigma symmetric."""
    A, H = matrix("a", dimension, dimension), matrix("eta", dimension, dimension)
    return SymbolicTask(kernel, symmetric_matrix("s", dimension), A, real("b"), H, real("h"))


def diagonal_task(kernel: Kernel, dimension: int) -> SymbolicTask:
    """Sigma = diag(s_i) with s_i > 0, A = diag(a_i), H = diag(eta_i): an eigenbasis of a start that commutes."""
    s, a, eta = positive_vector("s", dimension), vector("a", dimension), vector("eta", dimension)
    return SymbolicTask(kernel, sympy.diag(*s), sympy.diag(*a), real("b"), sympy.diag(*eta), real("h"))


def table(found: Any) -> sympy.Matrix:
    """A matrix of the kernel over symbols, as sympy's."""
    return sympy.Matrix(plain(found.to_rows()))
