"""Tilts, and quadratic forms of Gaussian vectors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from algebra import pivots, semidefinite
from arrays import Matrix, Vector, matrix, vector
from fields import fields, refuse
from functions import exp, log
from intervals import I, iv
from laws import Law
from matrices import around, combined, matmul, times, transposed
from softmax import bilinear, scale_iv, scale_of


def tilt_of(given: dict[str, Any], law: Law) -> tuple[list[Any], Vector | None, Matrix, tuple[Fraction, int], Vector]:
    """The tilt a, the query where there is one, V, the scale, and the exact vector that the scale multiplies."""
    keys = [k for k in ("K", "Q", "U", "scale") if given[k] is not None]
    scale, (U, V) = scale_of(given["scale"]), bilinear(given, law.d)
    if given["tilt"] is not None:
        refuse(keys or given["query"] is not None, "given: a tilt beside a query")
        tilt = vector(given["tilt"], "tilt", law.d)
        return list(tilt), None, V, scale, tilt
    z = vector(given["query"], "query", len(U[0]))
    return [scale_iv(scale) * x for x in times(U, z)], z, V, scale, times(U, z)


RANDOM = "K Q U V scale tilt query"


def gaussian_queries(node: Any, d: int) -> tuple[Vector, Matrix]:
    """Mean and covariance of Gaussian queries of dimension d."""
    z = fields(node, "given.queries", "mean covariance")
    mean, cov = vector(z["mean"], "given.queries.mean", d), matrix(z["covariance"], "given.queries.covariance", d, d)
    semidefinite(cov, "given.queries.covariance")
    return mean, cov


def peak(theta: Fraction) -> I:
    """theta^theta (1 - theta)^(1 - theta)"""
    return math.prod((exp(log(y) * y) for y in (theta, 1 - theta) if y), start=iv(1))


def split(S: Matrix) -> tuple[Matrix, Vector]:
    """S = R D R' of a positive semidefinite S by elimination: the columns of R, and D > 0 of the rank of S."""
    rest, columns, ds = [list(row) for row in S], [], []
    for i in range(len(S)):
        if rest[i][i]:
            column = [row[i] / rest[i][i] for row in rest]
            columns.append(column)
            ds.append(rest[i][i])
            rest = [[x - column[r] * ds[-1] * column[c] for c, x in enumerate(row)] for r, row in enumerate(rest)]
    return columns, ds


def reweighted(S: Matrix, M: Matrix, what: str) -> tuple[Fraction, Matrix]:
    """E e^(z'Mz) f(z) = d^(-1/2) E f(y), z of N(0, S) and y of N(0, S'): d and S'.

    S = R D R' with D > 0 of the rank of S: z = R u, u of N(0, D), and u has then the density of N(0, A^-1), A = D^-1 -
    2 R'MR, which has to be positive definite; d = det D det A, S' = R A^-1 R'.
    """
    columns, ds = split(S)
    if not ds:
        return Fraction(1), S
    inner = around(columns, M)
    A = combined([1, -2], [[[(i == j) / x for j in range(len(ds))] for i, x in enumerate(ds)], inner])
    steps, solved = pivots(A, columns, what)
    return math.prod(ds) * math.prod(steps), matmul(transposed(columns), solved)
