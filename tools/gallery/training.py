"""Instances of training in context that the gallery and the benches share: covariances, starts, and drawn prompts.

Covariances are named; `start` makes A = alpha P, b = alpha, as the paper starts (Boursier and Boyer 2026, section 5),
with P positive semidefinite and, for the balanced ones, |P|_F = 1. Prompts come from generators whose bits are fixed
and lie on a dyadic grid, labels <w, x> exactly, so every machine draws the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Table = list[list[str]]
Exact = list[list[Fraction]]

# Places of drawn numbers behind the binary point: labels, sums of products of two of them, are exact doubles.
PLACES = 10


def diagonal(*entries: str) -> Table:
    return [[entry if i == j else "0" for j in range(len(entries))] for i, entry in enumerate(entries)]


def neighbours(size: int) -> Table:
    """R R' for R with 1 on the diagonal and 1/2 below it: tokens whose neighbouring coordinates are correlated."""
    rows = [["0"] * size for _ in range(size)]
    for i in range(size):
        rows[i][i] = "5/4" if i else "1"
        for j in (i - 1, i + 1):
            if 0 <= j < size:
                rows[i][j] = "1/2"
    return rows


# The paper's experiments are in dimension 5; `plane` can be drawn; `small` is where its interval of starts fails.
COVARIANCES: dict[str, Table] = {
    "isotropic": diagonal("1", "1", "1", "1", "1"),
    "anisotropic": diagonal("1/4", "1/2", "1", "3/2", "2"),
    "correlated": neighbours(5),
    "plane": [["1", "1/2"], ["1/2", "5/4"]],
    "line": [["1"]],
    "small": [["1/4"]],
}

# Positive semidefinite P of Frobenius norm 1 by dimension: the starts (alpha P, alpha) are balanced.
BALANCED: dict[int, Table] = {
    1: [["1"]],
    2: diagonal("3/5", "4/5"),
    5: diagonal("2/5", "2/5", "2/5", "2/5", "3/5"),
}
# Theta Theta' for a unit vector Theta: balanced, and of rank one.
RANK_ONE: dict[int, Table] = {
    2: [["9/25", "12/25"], ["12/25", "16/25"]],
    5: [[str(Fraction(a * b, 25)) for b in (1, 2, 2, 4, 0)] for a in (1, 2, 2, 4, 0)],
}


def identity(size: int) -> Table:
    return diagonal(*["1"] * size)


def exact(table: Table) -> Exact:
    return [[Fraction(entry) for entry in row] for row in table]


def start(alpha: str, P: Table) -> dict[str, Any]:
    """A = alpha P, b = alpha, as certificates write parameters."""
    factor = Fraction(alpha)
    return {"A": [[str(factor * entry) for entry in row] for row in exact(P)], "b": str(factor)}


def inverse(table: Table) -> Table:
    """Sigma^-1, exactly, by Gauss and Jordan."""
    size = len(table)
    rows = [[*row, *unit] for row, unit in zip(exact(table), exact(identity(size)), strict=True)]
    for i in range(size):
        pivot = rows[i][i]
        rows[i] = [entry / pivot for entry in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [[str(entry) for entry in row[size:]] for row in rows]


# -- drawn prompts


@dataclass(frozen=True)
class Prompts:
    """N prompts of L tokens x_i with labels <w, x_i>, a query x and its target <w, x>; a row of `tasks` is a w.

    `tokens` is (N L) x d and `labels` (N L) x 1, prompt after prompt; `queries` is N x d, `targets` N x 1 and `tasks`
    N x d. Multiples of 2^-PLACES, labels and targets of its square.
    """

    length: int
    tokens: Array
    labels: Array
    queries: Array
    targets: Array
    tasks: Array


def uniforms(bits: np.random.PCG64, *shape: int) -> Array:
    """Numbers in (0, 1), multiples of 2^-53."""
    raw = [(int(bits.random_raw()) >> 12) + 0.5 for _ in range(int(np.prod(shape)))]
    return np.array(raw).reshape(shape) / 2.0**52


def normals(bits: np.random.PCG64, *shape: int, places: int = PLACES) -> Array:
    """Standard normal numbers (Box and Muller), on the grid."""
    u, v = uniforms(bits, 2, *shape)
    return on_grid(np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v), places)


def on_grid(numbers: Array, places: int = PLACES) -> Array:
    return np.asarray(np.round(numbers * 2.0**places) / 2.0**places)


def gaussian_tokens(bits: np.random.PCG64, count: int, covariance: Table) -> Array:
    """count x d tokens of N(0, Sigma), on the grid."""
    root = np.linalg.cholesky(np.array(exact(covariance), float))
    return on_grid(normals(bits, count, len(covariance)) @ on_grid(root, 20).T)


def sign_tokens(bits: np.random.PCG64, count: int, dimension: int) -> Array:
    """count x d independent signs: covariance I, but not Gaussian (Rademacher)."""
    return np.where(uniforms(bits, count, dimension) < 0.5, -1.0, 1.0)


def box_tokens(bits: np.random.PCG64, count: int, dimension: int, size: float = 1.5) -> Array:
    """count x d numbers uniform on [-size, size], on the grid."""
    return on_grid(size * (2 * uniforms(bits, count, dimension) - 1))


def prompts(seed: int, count: int, length: int, covariance: Table) -> Prompts:
    """Prompts of Gaussian tokens, with w ~ N(0, I)."""
    bits = np.random.PCG64(seed)
    tokens = gaussian_tokens(bits, count * length, covariance)
    return labelled(bits, length, tokens, gaussian_tokens(bits, count, covariance))


def sign_prompts(seed: int, count: int, length: int, dimension: int) -> Prompts:
    """Prompts of signs, with w ~ N(0, I)."""
    bits = np.random.PCG64(seed)
    tokens = sign_tokens(bits, count * length, dimension)
    return labelled(bits, length, tokens, sign_tokens(bits, count, dimension))


def labelled(bits: np.random.PCG64, length: int, tokens: Array, queries: Array) -> Prompts:
    """The tokens and queries with labels <w, x>, w ~ N(0, I) drawn for every prompt."""
    tasks = normals(bits, *queries.shape)
    labels = (tokens * np.repeat(tasks, length, axis=0)).sum(axis=1, keepdims=True)
    return Prompts(length, tokens, labels, queries, (queries * tasks).sum(axis=1, keepdims=True), tasks)
