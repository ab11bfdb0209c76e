"""The mean square of the error of a softmax-weighted covariance, for tokens of finitely many scores, exactly.

With y = x - tau, z = V y, the tilted covariance C = E w y y', M = z y' - V C, so that E w M = 0, and weights p

    V (C_L - C) = sum p_i M_i - (sum p_i z_i)(sum p_i y_i)',      |.|_F^2 = Q_2 - 2 Q_3 + Q_4,
    Q_2 = |sum p_i M_i|_F^2,   Q_3 = (sum p_i z_i)'(sum p_i M_i)(sum p_i y_i),   Q_4 = |sum p_i z_i|^2 |sum p_i y_i|^2.

`finite_scores` has E Q_k from sums over the ways in which k tokens agree, with an error of delta_k E|Q_k|, and
2 |Q_3| <= Q_2 + Q_4. The proof stands in `docs/claims/prompts/gradient-mean-square.md`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Law, dot, leaves
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.theorems.prompts.mathematics.finite_scores import (
    FiniteScores,
    Rows,
    TooManyError,
    only,
    signs_about,
)

# So many different tokens; a check of more would take a second and longer.
MOST_TOKENS = 1024

Token = tuple[fmpq, ExactMatrix]


def tokens_by_score(law: Law[fmpq], base: ExactMatrix) -> dict[fmpq, list[Token]]:
    """Every token, a row, with its probability, by its score <base, x>. Raises TooManyError."""
    found: dict[fmpq, list[Token]] = {}
    for count, (mass, x) in enumerate(_tokens(law)):
        if count >= MOST_TOKENS:
            raise TooManyError(f"the law has more than {MOST_TOKENS:,} different tokens")
        found.setdefault((base @ x.T).entry(0, 0), []).append((mass, x))
    return found


def _tokens(mixed: Law[fmpq]) -> Iterator[Token]:
    for share, part in leaves(mixed, fmpq(1)):
        if isinstance(part, Atoms):
            for weight, point in zip(part.weights, part.points, strict=True):
                yield share * weight, ExactMatrix.row_vector(point)
        elif (signs := signs_about(part)) is not None:
            law, centre = signs
            mass = share / fmpq(2) ** law.dimension
            for each in itertools.product((1, -1), repeat=law.dimension):
                x = ExactMatrix.row_vector([sign * size for sign, size in zip(each, law.sizes, strict=True)])
                yield mass, centre + x
        else:
            raise TypeError(f"tokens of {type(part).__name__} are not finitely many")


def finite_covariance_error(tokens: dict[fmpq, list[Token]], scale: arb, values: ExactMatrix, length: int) -> arb:
    """E |V (C_L - C)|_F^2 over prompts of so many tokens."""
    groups = list(tokens.values())
    masses = [sum((mass for mass, _ in group), fmpq(0)) for group in groups]
    sums = FiniteScores([scale * arb(score) for score in tokens], masses, length, lowest=2, highest=4)
    return _mean_square(sums, _Columns(groups, sums.weights, values))


class _Columns:
    """E[f; score] of what the means need, a row for every group of tokens."""

    def __init__(self, groups: Sequence[Sequence[Token]], weights: Sequence[arb], values: ExactMatrix) -> None:
        flat = [(weight * mass, x) for weight, group in zip(weights, groups, strict=True) for mass, x in group]
        tokens = ExactMatrix.stacked([x for _, x in flat])
        # About an exact mean first: what is subtracted then is small.
        centre = tokens.mean_row()
        shares, away = [share for share, _ in flat], tokens.centred(centre)
        plain, valued = map(_rows, (away, away @ values.T))
        y, z = _about_mean(shares, plain), _about_mean(shares, valued)
        outer = [[u * t for u in z_ for t in y_] for z_, y_ in zip(z, y, strict=True)]
        M = _about_mean(shares, outer)
        starts = itertools.accumulate((len(group) for group in groups), initial=0)
        ends = [range(a, b) for a, b in itertools.pairwise(starts)]
        masses = row_of_balls([mass for group in groups for mass, _ in group])
        rows = [_Token(y_, z_, M_) for y_, z_, M_ in zip(y, z, M, strict=True)]

        def column(of: Rows) -> Rows:
            return [[dot([masses[i] for i in each], entries) for entries in zip(*[of[i] for i in each], strict=True)]
                    for each in ends]  # fmt: skip

        self.y, self.z, self.outer, self.M = map(column, (y, z, outer, M))
        self.squares = column([[t.zz, t.yy] for t in rows])
        self.M_square = column([[dot(t.M, t.M)] for t in rows])
        self.Mz, self.My = column([t.Mz for t in rows]), column([t.My for t in rows])
        self.zMy = column([[dot(t.My, t.z)] for t in rows])
        self.zz_y = column([[t.zz * x for x in t.y] for t in rows])
        self.yy_z = column([[t.yy * x for x in t.z] for t in rows])
        self.fourth = column([[t.zz * t.yy] for t in rows])


class _Token:
    """One token: y, z = V y, and M = z y' - V C, row by row."""

    def __init__(self, y: list[arb], z: list[arb], M: list[arb]) -> None:
        self.y, self.z, self.M = y, z, M
        self.yy, self.zz = dot(y, y), dot(z, z)
        d = len(y)
        rows = [M[i * d : i * d + d] for i in range(len(z))]
        self.My = [dot(row, y) for row in rows]
        self.Mz = [dot(column, z) for column in zip(*rows, strict=True)]


def _rows(matrix: ExactMatrix) -> Rows:
    return [row_of_balls(row) for row in matrix.to_rows()]


def _about_mean(shares: Sequence[arb], rows: Rows) -> Rows:
    """Rows minus their mean; the shares sum to 1."""
    mean = [dot(shares, column) for column in zip(*rows, strict=True)]
    return [[x - m for x, m in zip(row, mean, strict=True)] for row in rows]


def _mean_square(sums: FiniteScores, f: _Columns) -> arb:
    """Q_2 - 2 Q_3 + Q_4: classes of agreeing tokens, each with its power of w."""
    By, Bz, BM = sums.centred(f.y), sums.centred(f.z), sums.centred(f.M)
    pairs = sums.psi(2, f.outer)
    bilinear = [_sandwich(z, rows, y) for z, rows, y in zip(Bz, pairs, By, strict=True)]
    yy, zz = _dots(By, By), _dots(Bz, Bz)
    squares = sums.psi(2, f.squares)
    two = sums.total(2, {1: only(sums.psi(2, f.M_square)), 2: _dots(BM, BM)})
    three = sums.total(3, {
        1: only(sums.psi(3, f.zMy)),
        2: _plus(_dots(sums.psi(2, f.Mz), By), _dots(sums.psi(2, f.My), Bz), _dots(BM, pairs)),
        3: [_sandwich(z, rows, y) for z, rows, y in zip(Bz, BM, By, strict=True)],
    })  # fmt: skip
    four = sums.total(4, {
        1: only(sums.psi(4, f.fourth)),
        2: [s[0] * s[1] + 2 * t + 2 * a + 2 * b for s, t, a, b in zip(
            squares, _dots(pairs, pairs), _dots(sums.psi(3, f.zz_y), By), _dots(sums.psi(3, f.yy_z), Bz), strict=True)],
        3: [s[0] * y + s[1] * z + 4 * t for s, y, z, t in zip(squares, yy, zz, bilinear, strict=True)],
        4: [y * z for y, z in zip(yy, zz, strict=True)],
    })  # fmt: skip
    second, fourth = sums.relative(2, two), sums.relative(4, four)
    return (second - 2 * three + fourth + within(sums.error(3) * (second + fourth))).nonnegative_part()


def _dots(left: Rows, right: Rows) -> list[arb]:
    return [dot(x, y) for x, y in zip(left, right, strict=True)]


def _plus(*lists: list[arb]) -> list[arb]:
    return [sum(entries, arb(0)) for entries in zip(*lists, strict=True)]


def _sandwich(z: list[arb], M: list[arb], y: list[arb]) -> arb:
    """z'M y, M row by row."""
    return dot(z, [dot(M[i * len(y) : (i + 1) * len(y)], y) for i in range(len(z))])
