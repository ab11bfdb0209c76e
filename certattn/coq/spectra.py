"""Bounds of eigenvalues of covariances: how precisely Coq has to enclose these for its elimination to go through.

Coq eliminates on enclosures of M - r or r - M. Where all pivots are positive, no eigenvalue of M is on the other side
of r. Errors grow from pivot to pivot, by how much depends on the matrix: so the same elimination is done here in balls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import arb, fmpq

from certattn.coq.softmax_terms import SLACK_BITS, Bits, Size, bits_for
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_moments import weighted_prompts
from certattn.kernel.theorems.attention.softmax_mean import EIGENVALUES, LARGEST, SMALLEST, AssertedMoments

# Bits by which an entry may be worse than the precision says, and steps in which more are tried.
_LOST_BITS, _STEP = 4, 20

_Matrix = list[list[arb]]


def bits_for_pivots(problem: AssertedMoments, size: Size, least: Bits) -> Bits:
    """The least precision with which all pivots are positive. Raises NotExportableError where none is."""
    with working_precision(SLACK_BITS):
        wanted = list(_differences(problem))
        error = arb(size.value) * (1 + size.score)
    bits = least
    while not all(_is_positive(matrix, error, bits.exponentials) for matrix in wanted):
        bits = bits_for(bits.exponentials + _STEP, size)
    return bits


def _differences(problem: AssertedMoments) -> Iterator[_Matrix]:
    """M - r and r - M at every query, whose eigenvalues all have to be positive."""
    prompt, compared = problem.prompt, problem.compared
    queries = prompt.stated_queries @ prompt.query_map.T
    for i, weighted in enumerate(weighted_prompts(prompt.exact, queries)):
        rows = weighted.covariance(problem.whose(EIGENVALUES)).tolist()
        for name, sign in ((SMALLEST, 1), (LARGEST, -1)):
            if name in compared:
                yield _shifted(rows, sign, compared[name].bound.at(i))


def _shifted(rows: Sequence[Sequence[arb]], sign: int, bound: fmpq) -> _Matrix:
    return [[sign * (x - bound if a == b else x) for b, x in enumerate(row)] for a, row in enumerate(rows)]


def _is_positive(matrix: _Matrix, error: arb, bits: int) -> bool:
    """Whether elimination with so many bits has positive pivots alone, where each entry may be off by as much."""
    with working_precision(bits):
        radius = (error * arb(2) ** (_LOST_BITS - bits)).upper()
        rows = [[x + arb(0, radius) for x in row] for row in matrix]
        while rows:
            (pivot, *first), *rest = rows
            if (pivot > 0) is not True:
                return False
            rows = [
                [x - v * w / pivot for x, w in zip(row[1:], first, strict=True)]
                for row, v in zip(rest, first, strict=True)
            ]
    return True
