"""The risk of regression in context over infinite prompts, R(A, b) = tr(E S E')/2 with E = b S A - I."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from algebra import definite, pivots, semidefinite
from arrays import Matrix, matrix
from decisions import same
from fields import fields, refuse
from intervals import I, iv, root, square
from matrices import around, flat, frobenius, identity, less_unit, matmul, scaled, trace, transposed
from outcomes import NotProved, Undecided
from scalars import rational

Point = tuple[list[list[Any]], Any]


class Task:
    """A covariance S, and functions of a point (A, b), exact ones or intervals."""

    def __init__(self, node: Any) -> None:
        """Read a covariance, which is proved to be positive definite."""
        self.exact = matrix(node, "covariance")
        self.d = len(self.exact)
        refuse(self.exact != transposed(self.exact), "given.covariance: not symmetric")
        self.inverse = pivots(self.exact, identity(self.d), "given.covariance")[1]
        self.S = [[iv(x) for x in row] for row in self.exact]
        self.S2 = [[iv(x) for x in row] for row in matmul(self.exact, self.exact)]
        self.least, self.most = least_eigenvalue(self.exact), -least_eigenvalue(scaled(-1, self.exact))

    def point(self, node: Any, where: str, also: str = "") -> tuple[Matrix, Fraction]:
        """A and b, exactly."""
        f = fields(node, where, f"A b {also}")
        return matrix(f["A"], f"{where}.A", self.d, self.d), rational(f["b"], f"{where}.b")

    def error(self, at: Point) -> list[list[Any]]:
        """E = b S A - I"""
        return less_unit(scaled(at[1], matmul(self.S, at[0])))

    def slope(self, at: Point) -> list[list[Any]]:
        """K = S E S, of which the gradient is made."""
        return matmul(self.S, matmul(self.error(at), self.S))

    def risk(self, at: Point) -> I:
        """R, which is not negative."""
        return iv(trace(around(self.error(at), self.S))) / 2

    def exact_risk(self, at: Point) -> Fraction:
        """R of an exact point."""
        E = less_unit(scaled(at[1], matmul(self.exact, at[0])))
        return Fraction(trace(around(E, self.exact))) / 2

    def bayes(self, delta: Any, sign: int) -> Point:
        """The zero of R with this |A|^2 - b^2 and sign of b."""
        b = bayes(delta, frobenius(self.inverse)) * sign
        return [[x / b for x in row] for row in self.inverse], b

    def gradient(self, at: Point) -> Point:
        """(b K, <A, K>)"""
        K = self.slope(at)
        return scaled(at[1], K), frobenius(at[0], K)

    def descended(self, at: Point, step: Fraction) -> Point:
        """After a step of gradient descent."""
        g, size = self.gradient(at), iv(step)
        A = [[iv(x) - size * y for x, y in zip(r, s, strict=True)] for r, s in zip(at[0], g[0], strict=True)]
        return A, iv(at[1]) - size * g[1]


def bayes(delta: Any, t: Any) -> I:
    """b > 0 with b^4 + delta b^2 = t: by the root of whichever sign does not cancel."""
    r = root(delta * delta + 4 * t)
    return root((r - delta) / 2 if iv(delta).a <= 0 else 2 * t / (r + delta))


def shifted(node: Any, S: Matrix, bA: Matrix) -> None:
    """Prove the risk that is stated over infinite prompts of other laws: tr(W F Q F')/2 with F = b T A - I."""
    f, d = fields(node, "shift", "risk", "tokens query tasks"), len(S)
    refuse(len(node) < 2, "shift: nothing is shifted")
    laws = {"tokens": S, "query": S, "tasks": identity(d)}
    for k in filter(lambda k: f[k] is not None, laws):
        laws[k] = matrix(f[k], f"shift.{k}", d, d)
        semidefinite(laws[k], f"shift.{k}")
    F = less_unit(matmul(laws["tokens"], bA))
    twice = frobenius(matmul(laws["tasks"], F), matmul(F, laws["query"]))
    same(rational(f["risk"], "shift.risk") * 2, twice, "shift")


def length(at: Point) -> I:
    """|(A, b)|"""
    return root(sum((square(x) for x in flat(at[0])), start=square(at[1])))


def apart(one: Point, two: Point) -> I:
    """The Euclidean distance of two points."""
    gaps = [iv(x) - y for x, y in zip(flat(one[0]), flat(two[0]), strict=True)]
    return length(([gaps], iv(one[1]) - two[1]))


def float_definite(m: list[list[float]]) -> bool:
    """Whether all pivots seem to be positive."""
    work = [row[:] for row in m]
    for i, row in enumerate(work):
        if row[i] <= 0:
            return False
        for other in work[i + 1 :]:
            f = other[i] / row[i]
            other[:] = [x - f * y for x, y in zip(other, row, strict=True)]
    return True


def least_eigenvalue(m: list[list[Any]]) -> Fraction:
    """A lower bound b of the eigenvalues of a symmetric matrix: guessed by bisection in floats, and m - b I proved to
    be positive definite. Of rational numbers one with a small denominator may be met exactly."""
    rough = [[iv(x).about() for x in row] for row in m]
    size = max(sum(map(abs, row)) for row in rough) or 1.0
    low, high = -2 * size, 2 * size
    for _ in range(60):
        middle = (low + high) / 2
        if float_definite([[x - middle * (i == j) for j, x in enumerate(row)] for i, row in enumerate(rough)]):
            low = middle
        else:
            high = middle
    if isinstance(m[0][0], Fraction | int):
        bound = Fraction(low).limit_denominator(1000)
        try:
            semidefinite(less_unit(m, bound), "a bound of eigenvalues")
        except NotProved:
            pass
        else:
            if bound > low - size / 2**36:
                return bound
    for bits in (46, 36, 20, 0):
        bound = Fraction(low) - Fraction(size) / 2**bits
        try:
            definite(less_unit(m, bound), "a bound of eigenvalues")
        except (NotProved, Undecided):
            continue
        return bound
    raise Undecided("the least eigenvalue of a matrix")
