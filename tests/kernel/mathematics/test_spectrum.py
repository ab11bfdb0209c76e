"""Eigenvalues of semidefinite matrices: the enclosures contain mpmath's, and say what they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flint import arb, arb_mat, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from independent_means import contains, is_sharp, real
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.spectrum import largest_eigenvalue, smallest_eigenvalue

Rows = list[list[fmpq]]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with mp.workdps(150):
        yield


def gram(factor: Rows) -> Rows:
    """B B', which is semidefinite."""
    return [[sum((x * y for x, y in zip(a, b, strict=True)), fmpq(0)) for b in factor] for a in factor]


def rows(*texts: str) -> Rows:
    return [[fmpq(*map(int, word.split("/"))) for word in text.split()] for text in texts]


def truth(matrix: Rows) -> list[mpf]:
    """The eigenvalues in ascending order; what is left of 0 by rounding is 0."""
    found = mp.eigsy(mp.matrix([[real(entry) for entry in row] for row in matrix]), eigvals_only=True)
    size = max(abs(entry) for entry in found)
    return sorted(mpf(0) if abs(entry) < size * mpf(10) ** -120 else entry for entry in found)


def balls(matrix: Rows) -> arb_mat:
    return arb_mat(len(matrix), len(matrix), [arb(entry) for row in matrix for entry in row])


def enclosures(matrix: Rows, bits: int) -> tuple[arb, arb]:
    with working_precision(bits):
        return smallest_eigenvalue(balls(matrix), bits), largest_eigenvalue(balls(matrix), bits)


def check(matrix: Rows, sharp_bits: int = 30) -> None:
    """Right at several precisions; the largest is sharp, the smallest compared with the largest."""
    expected = truth(matrix)
    for bits in (53, 64, 128, 300):
        smallest, largest = enclosures(matrix, bits)
        assert contains(smallest, expected[0], 380)
        assert contains(largest, expected[-1], 380)
        assert is_sharp(largest, bits - sharp_bits) or expected[-1] == 0
        with working_precision(bits):
            assert smallest.rad() <= arb(2) ** (sharp_bits - 4 * bits // 5) * largest.upper()
            assert smallest.lower() >= 0
            assert largest.lower() >= 0


MATRICES: dict[str, Rows] = {
    "one number": rows("2/3"),
    "nothing": rows("0"),
    "a diagonal": rows("3 0 0", "0 1/7 0", "0 0 2"),
    "the identity": rows("1 0 0", "0 1 0", "0 0 1"),
    "two and a double one": rows("2 0 0", "0 1 0", "0 0 1"),
    "one direction": gram(rows("1", "-2/3", "5")),
    "rank two of three": gram(rows("1 2", "-2/3 1", "5 1/2")),
    "a plain one": gram(rows("1 2 0", "-2/3 1 1", "5 1/2 -1")),
    "zeros": rows("0 0 0", "0 0 0", "0 0 0"),
    "a zero row": rows("2 0 1", "0 0 0", "1 0 2"),
    "no gap to speak of": [[fmpq(1), fmpq(0)], [fmpq(0), 1 - fmpq(1, 10**18)]],
    "a tiny one": [[entry / fmpq(10) ** 300 for entry in row] for row in gram(rows("1 2", "3 1"))],
    "a huge one": [[entry * fmpq(10) ** 300 for entry in row] for row in gram(rows("1 2", "3 1"))],
    "far apart": [[fmpq(10**40), fmpq(0)], [fmpq(0), fmpq(1, 10**40)]],
    "Hilbert's": [[fmpq(1, i + j + 1) for j in range(6)] for i in range(6)],
}


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_are_enclosed(name: str) -> None:
    check(MATRICES[name])


def test_what_is_exact_stays_exact() -> None:
    for matrix in ("nothing", "zeros"):
        assert [entry.is_exact() and entry == 0 for entry in enclosures(MATRICES[matrix], 64)] == [True, True]
    smallest, largest = enclosures([[fmpq(5, 8)]], 64)
    assert smallest == largest == arb(fmpq(5, 8))
    assert enclosures(MATRICES["a zero row"], 64)[0] == 0


def test_the_largest_of_equal_eigenvalues_is_sharp_at_64_bits() -> None:
    """No gap helps here: only the squarings do."""
    size = 32
    matrix = [[fmpq(3, 7) if i == j else fmpq(0) for j in range(size)] for i in range(size)]
    smallest, largest = enclosures(matrix, 64)
    assert is_sharp(largest, 50)
    assert is_sharp(smallest, 50)


entries = st.fractions(-4, 4, max_denominator=7).map(lambda f: fmpq(f.numerator, f.denominator))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), size=st.integers(1, 5), rank=st.integers(1, 5))
def test_random_matrices(data: st.DataObject, size: int, rank: int) -> None:
    factor = data.draw(st.lists(st.lists(entries, min_size=rank, max_size=rank), min_size=size, max_size=size))
    check(gram(factor))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), size=st.integers(1, 4), radius=st.sampled_from([1e-30, 1e-10, 1e-3, 0.3, 5.0]))
def test_every_semidefinite_matrix_in_the_balls_is_covered(data: st.DataObject, size: int, radius: float) -> None:
    """Balls around one matrix, the eigenvalues of another that lies in them."""
    draw = st.lists(st.lists(entries, min_size=size, max_size=size), min_size=size, max_size=size)
    matrix = gram(data.draw(draw))
    step = fmpq(*radius.as_integer_ratio())
    moves = data.draw(st.lists(st.sampled_from([fmpq(0), step, -step]), min_size=size * size, max_size=size * size))
    expected = truth(matrix)
    with working_precision(64):
        spread = arb_mat(
            size,
            size,
            [
                arb(entry + moves[i * size + j]) + arb(0, 1.001 * radius)
                for i, row in enumerate(matrix)
                for j, entry in enumerate(row)
            ],
        )
        assert contains(smallest_eigenvalue(spread, 64), expected[0], 200)
        assert contains(largest_eigenvalue(spread, 64), expected[-1], 200)


@pytest.mark.parametrize("bad", [arb("nan"), arb("inf"), arb(0, "inf")])
@pytest.mark.parametrize("size", [1, 2])
def test_what_is_not_finite_says_nothing(bad: arb, size: int) -> None:
    matrix = arb_mat(size, size, [bad] * size**2)
    assert not largest_eigenvalue(matrix, 64).is_finite()
    assert not smallest_eigenvalue(matrix, 64).is_finite()


def test_balls_too_wide_for_an_inverse_leave_the_diagonal() -> None:
    with working_precision(64):
        wide = arb_mat(2, 2, [arb(2, 3), arb(1, 3), arb(1, 3), arb(4, 1)])
        found = smallest_eigenvalue(wide, 64)
        assert found.lower() >= 0
        assert found.upper() <= arb(5.0001)
        assert found.contains(0)
        assert found.contains(arb(4.9))


def test_the_cost_is_bounded_by_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squarings end, also where every one is exact and nothing is gained."""
    from certattn.kernel.mathematics import spectrum

    count = 0
    square = spectrum.scaled_square

    def counted(matrix: arb_mat, scale: arb) -> arb_mat:
        nonlocal count
        count += 1
        return square(matrix, scale)

    monkeypatch.setattr(spectrum, "scaled_square", counted)
    enclosures(MATRICES["the identity"], 64)
    assert 0 < count <= 128
