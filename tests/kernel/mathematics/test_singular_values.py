"""Singular values from factors in integers, against mpmath; and hints that are none."""

from __future__ import annotations

import random

import pytest
from flint import arb, fmpq, fmpz_mat
from mpmath import matrix as mp_matrix
from mpmath import mp, svd_r

from certattn.fast.singular_values import lapack_factors
from certattn.kernel.mathematics import singular_values
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.singular_values import (
    Factors,
    FixedPoint,
    SingularValues,
    distortion,
    enclose,
    jacobi_factors,
    nearest_integer,
)
from certattn.kernel.theorems.spectrum.singular_values import effective_rank, entropy, stable_rank, times_log

Rows = list[list[fmpq]]


def drawn(rows: int, columns: int, seed: int) -> Rows:
    draw = random.Random(seed)
    return [[fmpq(draw.randint(-9, 9), draw.randint(1, 7)) for _ in range(columns)] for _ in range(rows)]


def truth(rows: Rows, digits: int) -> list[arb]:
    """By mpmath, in balls as wide as its last digits."""
    with mp.workdps(digits + 20):
        table = [[mp.mpf(int(x.p)) / int(x.q) for x in row] for row in rows]
        table = table if len(rows) >= len(rows[0]) else [list(column) for column in zip(*table, strict=True)]
        found = sorted(svd_r(mp_matrix(table), compute_uv=False), reverse=True)
        size = found[0] if found[0] > 0 else mp.mpf(1)
        return [arb(mp.nstr(x, digits + 15)) + arb(mp.nstr(size, 5)) * arb(0, arb(10) ** -digits) for x in found]


def contains(found: SingularValues, true: list[arb]) -> bool:
    return all(found.value(k + 1).overlaps(value) for k, value in enumerate(true))


def test_hints_from_doubles_have_sixty_places() -> None:
    factors = lapack_factors(FixedPoint.exact(ExactMatrix.identity(2), 64))
    assert factors is not None
    assert factors.places == 60


def test_columns_that_have_vanished_are_not_turned_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal columns one is left after a turn for each other one; angles of what rounding leaves are never right."""
    slopes = []
    own = singular_values._slope
    monkeypatch.setattr(singular_values, "_slope", lambda *sides: slopes.append(sides) or own(*sides))
    with working_precision(64):
        factors = jacobi_factors(FixedPoint.exact(ExactMatrix.rational([[fmpq(1)] * 4] * 5), 64), 64)
    assert factors is not None
    assert len(factors.values) == 1
    assert len(slopes) == 3


@pytest.mark.parametrize("bits", [64, 300])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5), (6, 2), (9, 8)])
def test_all_values_are_enclosed_sharply(shape: tuple[int, int], bits: int) -> None:
    rows = drawn(*shape, seed=bits)
    with working_precision(bits):
        matrix = FixedPoint.exact(ExactMatrix.rational(rows), bits)
        found = enclose(matrix, jacobi_factors(matrix, bits), min(shape))
    with working_precision(2 * bits):
        assert contains(found, truth(rows, bits // 3))
        assert all(found.radius(k) < arb(2) ** (10 - bits) * found.centre(1) for k in range(1, found.count + 1))


@pytest.mark.parametrize(
    ("rows", "rank"),
    [
        ([[1, 2], [2, 4]], 1),
        ([[0, 0], [0, 0]], 0),
        ([[1, 1, 0], [1, 1, 0], [0, 0, 2]], 2),
        ([[10**30, 1], [1, fmpq(1, 10**20)]], 2),
        ([[fmpq(1, 3)]], 1),
    ],
)
def test_deficient_and_lopsided_matrices(rows: list[list[fmpq | int]], rank: int) -> None:
    table = [[fmpq(x) for x in row] for row in rows]
    with working_precision(128):
        matrix = FixedPoint.exact(ExactMatrix.rational(table), 128)
        factors = jacobi_factors(matrix, 128)
        found = enclose(matrix, factors, rank)
        assert (0 if factors is None else len(factors.values)) == min(rank, len(factors.values) if factors else 0)
        assert contains(found, truth(table, 25))
        assert all(found.value(k) == 0 for k in range(rank + 1, found.count + 1))


def test_lapack_gives_a_hint_for_larger_matrices() -> None:
    rows = drawn(30, 33, seed=3)
    with working_precision(64):
        matrix = FixedPoint.exact(ExactMatrix.rational(rows), 64)
        found = enclose(matrix, lapack_factors(matrix), 30)
        assert contains(found, truth(rows, 15))
        assert found.radius(1) < arb(10) ** -11


CHANGES = {
    "columns exchanged": lambda f: Factors(f.left, _turned(f.right), f.values, f.places, f.value_places),
    "values halved": lambda f: Factors(f.left, f.right, [v // 2 for v in f.values], f.places, f.value_places),
    "values in rising order": lambda f: Factors(f.left, f.right, f.values[::-1], f.places, f.value_places),
    "negative values": lambda f: Factors(
        f.left, f.right, [v - f.values[0] for v in f.values], f.places, f.value_places
    ),
    "a factor too long": lambda f: Factors(f.left * 3, f.right, [v // 3 for v in f.values], f.places, f.value_places),
    "a factor of zeros": lambda f: Factors(f.left * 0, f.right, f.values, f.places, f.value_places),
    "fewer columns": lambda f: Factors(_narrow(f.left), _narrow(f.right), f.values[:-1], f.places, f.value_places),
    "another place": lambda f: Factors(f.left, f.right, f.values, f.places + 1, f.value_places),
    "shapes that do not fit": lambda f: Factors(f.left, f.right, f.values[:-1], f.places, f.value_places),
}


def _turned(side: fmpz_mat) -> fmpz_mat:
    return fmpz_mat([row[::-1] for row in side.tolist()])


def _narrow(side: fmpz_mat) -> fmpz_mat:
    return fmpz_mat([row[:-1] for row in side.tolist()])


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_wrong_hint_encloses_less_sharply_and_never_wrongly(change: object) -> None:
    rows = drawn(5, 4, seed=8)
    with working_precision(64):
        matrix = FixedPoint.exact(ExactMatrix.rational(rows), 64)
        factors = jacobi_factors(matrix, 64)
        assert factors is not None
        found = enclose(matrix, change(factors), 4)  # type: ignore[operator]
        assert contains(found, truth(rows, 15))
        assert found.radius(1) > arb(10) ** -3


def test_the_distortion_is_attained() -> None:
    """U = sqrt(1 - d) Q and V = sqrt(1 - e) P: no residual, and values that are s_k sqrt((1 - d)(1 - e))."""
    with working_precision(100):
        off = distortion(arb(fmpq(1, 5)), arb(fmpq(1, 3)))
        assert off.overlaps(1 - arb(fmpq(8, 15)).sqrt())
        assert distortion(arb(3), arb(0)).overlaps(arb(1))
        assert distortion(arb(8), arb(0)).overlaps(arb(2))
        nothing = distortion(arb.nan(), arb(0))
    assert nothing.is_finite() is not True


def test_what_is_not_finite_encloses_nothing() -> None:
    assert FixedPoint.rounded([[arb(1), arb.nan()]], 64) is None
    assert FixedPoint.rounded([[arb(0, "inf")]], 64) is None
    open_end = SingularValues([arb(1)], arb.pos_inf(), arb(0), 2, 2)
    assert open_end.value(1).is_finite() is not True


def test_balls_become_integers_with_their_errors() -> None:
    with working_precision(80):
        rows = [[arb(1) / 3, arb(2).sqrt() * arb(10) ** 5], [arb(0), -(arb(10) ** -30)]]
        found = FixedPoint.rounded(rows, 64)
        assert found is not None
        unit = arb(2) ** -found.places
        squares = arb(0)
        for x, n in zip([x for row in rows for x in row], found.numerators.entries(), strict=True):
            squares += (x - n * unit) ** 2
        assert squares.sqrt() <= found.error * fmpq(101, 100)
        assert found.error <= unit * 2
        assert nearest_integer(arb(2) ** -1000000, 64) == 0
        assert nearest_integer(arb(fmpq(5, 2)), 0) == 3


def test_entropies_and_ranks() -> None:
    with working_precision(80):
        three_to_one = [arb(3), arb(1)]
        true = -(arb(fmpq(3, 4)) * arb(fmpq(3, 4)).log() + arb(fmpq(1, 4)) * arb(fmpq(1, 4)).log())
        assert entropy(three_to_one, 2).overlaps(true)
        # Whatever is in the ball: from (3, 0) to (3, 0.2).
        wide = entropy([arb(3), arb(fmpq(1, 10), fmpq(1, 10))], 2)
        for small in (fmpq(0), fmpq(1, 10**9), fmpq(1, 20), fmpq(1, 5)):
            assert wide.contains(entropy([arb(3), arb(small)], 2).mid())
        assert entropy([arb(0), arb(0)], 1).is_finite() is not True
        assert entropy([arb(1), arb(0)], 1) == 0
        assert effective_rank(arb(0)) == 1
        assert stable_rank(arb(50), arb(45).sqrt(), 2).overlaps(arb(fmpq(10, 9)))
        assert stable_rank(arb(50), arb(0, 1), 2).is_finite() is not True


def test_a_term_near_0_is_enclosed() -> None:
    with working_precision(64):
        for end in (fmpq(1, 10**6), fmpq(1, 3), fmpq(1, 2), fmpq(3)):
            ball = times_log(arb(end / 2, end / 2), arb(0))
            for step in range(1, 40):
                x = arb(end * step / 39)
                assert ball.contains((x * x.log()).mid())
            assert ball.contains(arb(0))
