"""Factors that are a hint: as near as LAPACK's for the bounds, whatever the singular values are like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certattn.fast import factors, singular_values
from certattn.fast.factors import FloatFactors, lapack, quick_factors
from certattn.fast.rows import Dense
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision

Array = np.ndarray[Any, Any]
_SIZE = 300


def turned(values: Array, rows: int, columns: int) -> Array:
    """A matrix of these singular values."""
    rng = np.random.default_rng(7)
    left, right = (np.linalg.qr(rng.standard_normal((size, len(values))))[0] for size in (rows, columns))
    return left * values @ right.T


SPECTRA = {
    "spread": np.linspace(1, 0, _SIZE),
    "one large": np.append([1.0], np.linspace(0.03, 0, _SIZE - 1)),
    "one very large": np.append([1.0], np.linspace(1e-5, 0, _SIZE - 1)),
    "two levels": np.where(np.arange(600) < 310, 1, 1e-4),
    "three levels": np.repeat([1.0, 1e-4, 1e-9], 290),
    "fading": 10.0 ** -np.linspace(0, 15, 600),
    "fading fast": 2.0 ** -np.arange(_SIZE),
    "low rank": np.ones(40),
    "one": np.ones(1),
    "equal": np.ones(_SIZE),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_bounds_are_as_sharp_as_with_factors_of_lapack(name: str) -> None:
    values = SPECTRA[name]
    size = max(_SIZE, len(values))
    matrix = turned(values, size, size)
    with working_precision(96):
        quick, usual = (
            singular_values.enclose(Dense(matrix, 0), found(matrix), size) for found in (quick_factors, lapack)
        )
        for k in (1, 2, max(1, len(values) // 2), size):
            assert quick.value(k).overlaps(usual.value(k))
            assert float(quick.radius(k)) <= 1.3 * float(usual.radius(k)) + 1e-13
        # That of the matrix before it was rounded.
        assert abs(quick.value(1) - float(values[0])) < 1e-9


@pytest.mark.parametrize("shape", [(400, 300), (300, 400), (20, 500), (500, 20), (256, 256)])
def test_matrices_of_any_shape(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(1).standard_normal(shape)
    found = quick_factors(matrix)
    assert (found.left.shape[0], found.right.shape[0]) == shape
    assert np.allclose(found.left * found.values @ found.right.T, matrix, atol=1e-12)
    assert np.allclose(found.values, np.linalg.svd(matrix, compute_uv=False), atol=1e-12)
    assert bool((np.diff(found.values) <= 0).all())


def test_the_matrix_zero() -> None:
    assert float(quick_factors(np.zeros((_SIZE, _SIZE))).values.max()) == 0


def test_large_values_come_from_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK's decomposition is asked for what is left alone."""
    asked: list[tuple[int, ...]] = []

    def counting(matrix: Array) -> FloatFactors:
        asked.append(matrix.shape)
        return lapack(matrix)

    monkeypatch.setattr(factors, "lapack", counting)
    quick_factors(turned(SPECTRA["spread"], _SIZE, _SIZE))
    ((rows, columns),) = asked
    assert rows == _SIZE
    assert columns < 8


@pytest.mark.parametrize("function", ["svd", "eigh"])
def test_what_lapack_does_not_find_is_refused(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(np.linalg, function, failing)
    with pytest.raises(RefusedError, match="LAPACK finds no"):
        quick_factors(np.eye(_SIZE))
