"""Bounds of whole matrices in doubles, and the attention matrix, against Arb and mpmath."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq

from certattn.fast import attention_matrix, exponential, rows, singular_values
from certattn.fast import attention_matrix as tested
from certattn.fast.factors import FloatFactors
from certattn.fast.rows import Dense
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics import attention_matrix as in_arb
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, real_root
from certattn.kernel.mathematics.singular_values import FixedPoint, SingularValues, enclose, jacobi_factors

Array = np.ndarray[Any, Any]


def exact(array: Array) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in array])


def balls(array: Array) -> arb_mat:
    matrix = exact(array)
    return arb_mat(matrix.numerators) * (arb(1) / matrix.denominator)


def norm(matrix: arb_mat) -> arb:
    return sum((x * x for x in matrix.entries()), arb(0)).sqrt()


def spectral(matrix: ExactMatrix) -> arb:
    return sharp(matrix).value(1)


def sharp(matrix: ExactMatrix) -> SingularValues:
    with working_precision(120):
        rounded = FixedPoint.exact(matrix, 120)
        return enclose(rounded, jacobi_factors(rounded, 120), min(matrix.shape))


def some(rows: int, columns: int, seed: int, size: float = 1.0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) * rng.choice([1, 1e-9, 1e6], (rows, columns)) * size


@pytest.mark.parametrize("size", [1.0, 1e-160, 1e100])
def test_norms_and_products_are_bounded(size: float) -> None:
    for seed in range(4):
        left, right = some(5, 9, seed, size), some(9, 4, seed + 10)
        with working_precision(300):
            true = exact(left) @ exact(right)
            off = balls(left @ right) - arb_mat(true.numerators) * (arb(1) / true.denominator)
            assert norm(off) <= arb(singular_values.product_error(left, right))
            sizes = exact(np.abs(left)) @ exact(np.abs(right))
            assert spectral(sizes) <= arb(singular_values.product_size(left, right))
            true_norm = norm(balls(left))
            assert true_norm <= arb(rows.frobenius_bound(left))
            assert size < 1 or true_norm >= arb(rows.frobenius_bound(left)) * fmpq(999, 1000)
            assert abs(true_norm - arb(singular_values.frobenius(left)[0])) <= arb(singular_values.frobenius(left)[1])


def test_gram_matrices_and_residuals_are_bounded() -> None:
    for stretch in (1.0, 1.001, 0.5):
        matrix = np.random.default_rng(3).standard_normal((12, 8))
        U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
        U, V = U * stretch, Vt.T
        with working_precision(200):
            gram = exact(U).T @ exact(U) - ExactMatrix.identity(8)
            bound = arb(singular_values.off_identity(U))
            assert spectral(gram) <= bound <= spectral(gram) * 3 + arb(10) ** -13
            rest = exact(matrix) - exact(U * s) @ exact(V).T
            found = arb(singular_values.residual(Dense(matrix, 0.25), U, s, V))
            # Without the rounding of U diag(s), which is less than the rest of the bound.
            assert spectral(rest) <= found - fmpq(1, 4) <= 3 * spectral(rest) + arb(10) ** -12


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (9, 4), (3, 8)])
@pytest.mark.parametrize("size", [1.0, 2.0**-900, 2.0**390])
def test_singular_values_of_doubles(shape: tuple[int, int], size: float) -> None:
    matrix = np.random.default_rng(1).standard_normal(shape) * size
    true = sharp(exact(matrix))
    with working_precision(120):
        found = singular_values.enclose(Dense(matrix, 0.0), None, min(shape))
        for k in range(1, min(shape) + 1):
            assert found.value(k).contains(true.value(k))
            assert found.radius(k) < found.centre(1) * arb(10) ** -13
        assert singular_values.energy(Dense(matrix, 0.0)).overlaps(norm(balls(matrix)) ** 2)


def test_the_error_of_the_matrix_counts() -> None:
    matrix = np.diag([3.0, 1.0])
    with working_precision(96):
        found = singular_values.enclose(Dense(matrix, 0.5), None, 2)
        assert found.value(1).contains(arb(fmpq(7, 2)))
        assert found.value(2).contains(arb(fmpq(1, 2)))
        assert singular_values.energy(Dense(matrix, 0.5)).contains((arb(10).sqrt() + fmpq(1, 2)) ** 2)


def hint(matrix: Array) -> FloatFactors:
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    return FloatFactors(U, s, Vt.T)


def test_stretched_factors_count() -> None:
    """M = U diag(s) V' without a residual, |U'U - I| = 0.1025: all values are 1.05 times those of the hint."""
    matrix = np.random.default_rng(4).standard_normal((6, 6))
    good = hint(matrix)
    wrong = FloatFactors(good.left * 1.05, good.values / 1.05, good.right)
    true = sharp(exact(matrix))
    with working_precision(96):
        found = singular_values.enclose(Dense(matrix, 0.0), wrong, 6)
        assert all(found.value(k).contains(true.value(k)) for k in range(1, 7))
        assert found.radius(1) < found.centre(1)


def shortened(good: FloatFactors) -> FloatFactors:
    return FloatFactors(good.left[:, :3], good.values[:3], good.right[:, :3])


def test_values_beyond_a_short_hint_are_enclosed() -> None:
    matrix = np.random.default_rng(4).standard_normal((6, 7))
    true = sharp(exact(matrix))
    with working_precision(96):
        found = singular_values.enclose(Dense(matrix, 0.0), shortened(hint(matrix)), 6)
        assert all(found.value(k).contains(true.value(k)) for k in range(1, 7))
        assert found.centre(4) == 0


BROKEN = {
    "unsorted": lambda good: FloatFactors(good.left, good.values[::-1], good.right),
    "two exchanged": lambda good: FloatFactors(good.left, good.values[[1, 0, 2, 3, 4, 5]], good.right),
    "negative": lambda good: FloatFactors(good.left, good.values - 100, good.right),
    "NaN": lambda good: FloatFactors(good.left, np.append(good.values[:5], np.nan), good.right),
    "infinite": lambda good: FloatFactors(good.left, np.append(np.inf, good.values[1:]), good.right),
    "NaN in U": lambda good: FloatFactors(good.left * np.nan, good.values, good.right),
    "too large": lambda good: FloatFactors(good.left, good.values, good.right * 1e200),
    "too many": lambda good: FloatFactors(
        np.hstack([good.left] * 2), np.zeros(12), np.hstack([good.right] * 2)
    ),
    "none": lambda good: FloatFactors(good.left[:, :0], good.values[:0], good.right[:, :0]),
    "shapes": lambda good: FloatFactors(good.left[1:], good.values, good.right),
}  # fmt: skip


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_hint_that_the_theorem_does_not_allow_is_refused(change: Any) -> None:
    matrix = np.random.default_rng(4).standard_normal((6, 6))
    with np.errstate(invalid="ignore"), pytest.raises(RefusedError):
        singular_values.enclose(Dense(matrix, 0.0), change(hint(matrix)), 6)


@pytest.mark.parametrize("value", [np.nan, np.inf, 2.0**401])
def test_a_matrix_that_is_not_finite_or_too_large_is_refused(value: float) -> None:
    with pytest.raises(RefusedError):
        singular_values.enclose(Dense(np.array([[1.0, value]]), 0.0), None, 1)


# -- the attention matrix


def off(queries: Array, keys: Array, scale: Real, found: Dense, *, centred: bool, causal: bool = False) -> arb:
    """How far it is from the true one, in the Frobenius norm."""
    with working_precision(400):
        rows = in_arb.attention_matrix(exact(queries), exact(keys), scale, centred=centred, causal=causal)
        return norm(arb_mat(rows) - balls(found.values))


def on_a_grid(rng: np.random.Generator, rows: int, columns: int) -> Array:
    return np.rint(rng.standard_normal((rows, columns)) * 1024) / 1024


ATTENTION = {
    "grid": (on_a_grid, real_root(fmpq(1, 8)), 1e-12),
    "no grid": (lambda rng, m, n: rng.standard_normal((m, n)), real_root(fmpq(1, 8)), 1e-12),
    "far apart": (lambda rng, m, n: rng.standard_normal((m, n)), fmpq(100), 1e-9),
    "one token takes all": (lambda rng, m, n: np.eye(m, n) * 60, fmpq(1), 1e-9),
    "negative scale": (on_a_grid, fmpq(-3, 7), 1e-12),
    "hardly anything": (on_a_grid, fmpq(1, 10**12), 1e-12),
    "long": (lambda rng, m, n: rng.standard_normal((m, n)) * 1e4, fmpq(1, 10**8), 1e-11),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", ATTENTION)
def test_the_attention_matrix_is_within_its_distance(name: str, centred: bool, causal: bool) -> None:
    draw, scale, most = ATTENTION[name]
    rng = np.random.default_rng(9)
    for tokens, dimension in ((1, 1), (2, 3), (12, 8)):
        queries, keys = draw(rng, tokens, dimension), draw(rng, tokens, dimension)
        found = tested.attention_matrix(queries, keys, scale, centred=centred, causal=causal)
        true = off(queries, keys, scale, found, centred=centred, causal=causal)
        assert true <= arb(found.error) < arb(most)


@pytest.mark.parametrize("causal", [False, True])
def test_the_distance_allows_for_an_exponential_as_bad_as_is_proved(
    causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that are too large and too small by turns, far more than is proved, and a bound that knows."""
    rng = np.random.default_rng(0)
    queries, keys = on_a_grid(rng, 9, 4), on_a_grid(rng, 9, 4)
    eps, own = exponential.relative_error() * 1000, exponential.exp_shifted

    def worse(scores: Array, exponent: Array, out: Array, work: Any) -> Array:
        own(scores, exponent, out, work)
        out *= 1 + eps * np.where(np.arange(out.shape[1]) % 2 == 0, 1, -1)
        return out

    monkeypatch.setattr(attention_matrix, "exp_shifted", worse)
    unaware = tested.attention_matrix(queries, keys, fmpq(1), centred=True, causal=causal)
    assert off(queries, keys, fmpq(1), unaware, centred=True, causal=causal) > arb(unaware.error)
    monkeypatch.setattr(tested, "relative_error", lambda: eps * 1.01)
    aware = tested.attention_matrix(queries, keys, fmpq(1), centred=True, causal=causal)
    true = off(queries, keys, fmpq(1), aware, centred=True, causal=causal)
    assert arb(aware.error) / 4 < true < arb(aware.error)


def test_exact_sums_are_seen() -> None:
    rng = np.random.default_rng(0)
    fine = on_a_grid(rng, 4, 6)
    assert tested.coarsest_grid(np.array([[3.0, -4.0]])) == 0
    assert tested.coarsest_grid(np.array([[3.0, 0.375]])) == 3
    assert tested.coarsest_grid(np.array([[1 / 3]])) is None
    assert tested.coarsest_grid(np.zeros((2, 3))) == 0
    for bits in (*range(27), 30):
        for entry in (2.0**-bits, -3 * 2.0**-bits):
            found = tested.coarsest_grid(np.array([[1.0, -8.0, entry, 0.0]]))
            assert found == (bits if bits <= 26 else None)
    # Integers of more bits than there is room for.
    for large in (2.0**35, 2.0**36, 2.0**60, 2.0**1000, np.inf, np.nan):
        assert tested.coarsest_grid(np.array([[-large, 0.5]])) == (1 if large < 2.0**36 else None)
    assert tested.sums_are_exact(fine, fine)
    assert not tested.sums_are_exact(fine, rng.standard_normal((4, 6)))
    # Products beyond 2^53 steps of their grid.
    assert not tested.sums_are_exact(fine * 2.0**18, fine * 2.0**18 + 2.0**-20)


@pytest.mark.parametrize(
    ("size", "said"), [(1e3, "scores beyond"), (np.nan, "not finite"), (1e200, "too large"), (np.inf, "too large")]
)
def test_attention_beyond_reach_is_refused(size: float, said: str) -> None:
    queries = np.ones((3, 2)) * size
    with pytest.raises(RefusedError, match=said):
        tested.attention_matrix(queries, queries, fmpq(1), centred=True, causal=False)
