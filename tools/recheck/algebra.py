"""Elimination, power series, partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from arrays import Matrix
from decisions import below
from fields import refuse
from intervals import iv
from matrices import transposed
from outcomes import NotProved


def pivots(m: Matrix, b: Matrix | None = None, what: str = "a matrix") -> tuple[list[Fraction], Matrix]:
    """Of a symmetric m the pivots of Gauss's elimination without exchanges, and the solution x of m x = b.

    By Sylvester's law of inertia m is positive definite exactly if all pivots are positive. A pivot that is not
    positive ends it: NotProved.
    """
    n = len(m)
    work = [list(row) + (list(b[i]) if b else []) for i, row in enumerate(m)]
    for i in range(n):
        if work[i][i] <= 0:
            raise NotProved(f"{what} is not positive definite")
        for j in range(i + 1, n):
            if f := work[j][i] / work[i][i]:
                work[j] = [x - f * y for x, y in zip(work[j], work[i], strict=True)]
    for i in reversed(range(n)):
        work[i][n:] = [x / work[i][i] for x in work[i][n:]]
        for j in range(i):
            if f := work[j][i]:
                work[j][n:] = [x - f * y for x, y in zip(work[j][n:], work[i][n:], strict=True)]
    return [work[i][i] for i in range(n)], [row[n:] for row in work]


def semidefinite(m: Matrix, what: str) -> None:
    """Prove exactly that m is positive semidefinite: beside a pivot of 0 only zeros, or x'm x < 0 for some x."""
    refuse(m != transposed(m), f"{what} is not symmetric")
    rows = [list(row) for row in m]
    while rows:
        top, rest = rows[0], rows[1:]
        if top[0] < 0 or (top[0] == 0 and any(top)):
            raise NotProved(f"{what} is not positive semidefinite")
        f = [row[0] / top[0] if top[0] else Fraction(0) for row in rest]
        rows = [[x - k * y for x, y in zip(row[1:], top[1:], strict=True)] for k, row in zip(f, rest, strict=True)]


def definite(m: list[list[Any]], what: str) -> None:
    """Prove that a symmetric matrix of intervals is positive definite, by the pivots. Undecided where one holds 0."""
    work = [[iv(x) for x in row] for row in m]
    n = len(work)
    for i in range(n):
        below(0, work[i][i], what)
        for j in range(i + 1, n):
            f = work[j][i] / work[i][i]
            for k in range(i + 1, j + 1):
                work[j][k] -= f * work[k][i]


def raised(u: Sequence[Any], n: int, top: int) -> list[Any]:
    """The n-th power of a power series, up to the power `top`, by squaring."""
    found: list[Any] = [Fraction(1)]
    base = list(u)
    while n:
        if n & 1:
            found = convolve(found, base, top)
        n >>= 1
        base = convolve(base, base, top) if n else base
    return found


def convolve(u: Sequence[Any], v: Sequence[Any], top: int) -> list[Any]:
    """The product of two power series, up to the power `top`."""
    return [
        sum((u[i] * v[n - i] for i in range(max(0, n - len(v) + 1), min(n, len(u) - 1) + 1)), start=Fraction(0))
        for n in range(min(top, len(u) + len(v) - 2) + 1)
    ]


def partitions(n: int) -> Iterator[list[int]]:
    """Set partitions of n places: each place has the number of its class, and classes are numbered as they appear."""
    found: list[list[int]] = [[]]
    for _ in range(n):
        found = [[*p, c] for p in found for c in range(max(p, default=-1) + 2)]
    yield from found
