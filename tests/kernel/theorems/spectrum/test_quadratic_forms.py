"""The variance of quadratic forms of one column of exponential scores: bounds beside what it is exactly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum import quadratic_forms
from certattn.kernel.theorems.spectrum.quadratic_forms import QuerySizes, sizes_of, variance

BETAS = ("1/4", "1/2", "1", "3/2")


def fourth_moments(G: Any, x: float) -> Any:
    """E t_i t_j t_k t_l for all indices: (e_i - 1) ... multiplied out, E of a product of e's being exp(x sum of G)."""
    d = len(G)
    found = np.zeros((d,) * 4)
    for indices in itertools.product(range(d), repeat=4):
        for chosen in itertools.product((0, 1), repeat=4):
            taken = [i for i, on in zip(indices, chosen, strict=True) if on]
            pairs = sum(G[i, j] for i, j in itertools.combinations(taken, 2))
            found[indices] += (-1) ** (4 - len(taken)) * np.exp(x * pairs)
    return found


def covariance_of_forms(G: Any, x: float) -> Any:
    """The quadratic form in B that Var(t'Bt) is, as a matrix of order d^2."""
    d, Sigma = len(G), np.expm1(x * G)
    return (fourth_moments(G, x) - np.einsum("ij,kl", Sigma, Sigma)).reshape(d * d, d * d)


def nearly_largest(form: Any, B: Any) -> Any:
    """From B on, again and again the B of norm 1 that has the largest product with the gradient."""
    d = len(B)
    for _ in range(40):
        values, vectors = np.linalg.eigh((form @ B.ravel()).reshape(d, d))
        B = vectors @ np.diag(np.sign(values)) @ vectors.T
    return B


def forms(G: Any, form: Any, rng: Any) -> Iterator[Any]:
    """I, drawn ones, and those to which these lead; symmetric and of norm at most 1."""
    d = len(G)
    yield np.eye(d)
    yield nearly_largest(form, np.eye(d))
    for _ in range(4):
        B = rng.normal(size=(d, d))
        B = (B + B.T) / np.abs(np.linalg.eigvalsh(B + B.T)).max()
        yield B
        yield nearly_largest(form, B)


def exact(rows: Any, bits: int = 6) -> ExactMatrix:
    return ExactMatrix.dyadic(*rows.shape, [int(entry) for entry in (rows * 2**bits).ravel()], -bits)


def queries() -> dict[str, Any]:
    """Four queries each, multiples of 1/64."""
    rng = np.random.default_rng(11)
    drawn = {f"of width {p}": np.round(rng.normal(size=(4, p)) * 64) / 64 for p in (1, 3, 4, 20)}
    alike = np.round(np.array([1, 1, 1, -1])[:, None] * rng.normal(size=(1, 4)) * 64) / 64
    return {**drawn, "alike": alike, "orthogonal": 2 * np.eye(4), "one that is 0": drawn["of width 4"] * np.eye(4)[0]}


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", queries())
def test_no_form_of_four_queries_varies_more(name: str, beta: str) -> None:
    X, beta2 = queries()[name], fmpq(*map(int, beta.split("/"))) ** 2
    G = X @ X.T / X.shape[1]
    form = covariance_of_forms(G, float(beta2.p) / float(beta2.q))
    with working_precision(96):
        bound = 4 * float(variance(sizes_of(exact(X), beta2, 96), beta2).upper())
    found = [float(B.ravel() @ form @ B.ravel()) for B in forms(G, form, np.random.default_rng(12))]
    assert max(found) <= bound * (1 + 1e-9)
    # The bound is not far off either: it is one of the variance, and of nothing larger.
    assert bound < 30 * max(found)


def test_the_bound_is_nearly_sharp_for_orthogonal_queries() -> None:
    """B = I and G = I: d times Var(t^2), t = e - 1 of one normal number."""
    X, b = 2 * np.eye(4), np.exp(1)
    single = b**6 - 4 * b**3 - b**2 + 8 * b - 4
    form = covariance_of_forms(np.eye(4), 1.0)
    np.testing.assert_allclose(np.eye(4).ravel() @ form @ np.eye(4).ravel(), 4 * single, rtol=1e-10)
    with working_precision(96):
        bound = float(variance(sizes_of(exact(X), fmpq(1), 96), fmpq(1)))
    assert single < bound < 1.08 * single


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (6, 6), (2, 1)])
def test_sizes_are_those_of_numpy(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(13)
    X, x = np.round(rng.normal(size=shape) * 64) / 64, 0.25
    G = X @ X.T / shape[1]
    own, off = np.diag(G), G - np.diag(np.diag(G))
    wanted = {
        "norm": np.linalg.norm(G, 2),
        "longest": own.max(),
        "row": (off**2).sum(1).max(),
        "coherence": np.abs(off).max(),
        "gram": (G**2).sum() / shape[0],
        "diagonal": (np.expm1(x * own) ** 2).mean(),
        "fourth": (np.expm1(x * own) ** 2 * np.expm1(4 * x * own)).mean(),
        "off_diagonal": (np.expm1(x * off) ** 2).sum() / shape[0],
        "square": (np.expm1(x * G) ** 2).sum() / shape[0],
    }
    with working_precision(96):
        sizes = sizes_of(exact(X), fmpq(1, 4), 96)
    for name, value in wanted.items():
        np.testing.assert_allclose(float(getattr(sizes, name)), value, rtol=1e-12, err_msg=name)


def test_the_bound_grows_with_every_size() -> None:
    """So upper bounds serve in the place of sizes."""
    with working_precision(96):
        sizes = sizes_of(exact(queries()["of width 4"]), fmpq(1, 4), 96)
        values = {name: getattr(sizes, name) for name in QuerySizes.__dataclass_fields__}
        for name, value in values.items():
            larger = QuerySizes(**{**values, name: value * arb(fmpq(101, 100))})
            assert (variance(larger, fmpq(1, 4)) > variance(sizes, fmpq(1, 4))) is True, name


# -- with a size missing, some form varies more than the bound allows


@pytest.mark.parametrize("part", ["fourth", "plain", "gram"])
def test_a_bound_with_a_part_missing_is_too_small(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For G = I and B = I the bound has 8% to spare."""
    single = float(np.exp(6) - 4 * np.exp(3) - np.exp(2) + 8 * np.exp(1) - 4)
    with working_precision(96):
        sizes = sizes_of(exact(2 * np.eye(4)), fmpq(1), 96)
        if part == "plain":
            monkeypatch.setattr(quadratic_forms, "exp_remainder", lambda order, y: arb(0))
        else:
            values = {name: getattr(sizes, name) for name in QuerySizes.__dataclass_fields__}
            sizes = QuerySizes(**{**values, part: arb(0)})
        assert float(variance(sizes, fmpq(1))) < single
