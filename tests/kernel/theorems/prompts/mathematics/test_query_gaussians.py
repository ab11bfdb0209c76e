"""Averages over Gaussian queries: against Gauss-Hermite sums of the definition, and where they are infinite."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.theorems.prompts.mathematics.over_queries import (
    QueryPolynomial,
    constant,
    determinant,
    has_positive_eigenvalues,
    inverse,
    product_mean,
    quadratic,
    weighted_queries,
)

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(31)


def exact(table: Array) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in table])


def semidefinite(size: int, rank: int, scale: float = 1.0) -> Array:
    root = np.round(RNG.normal(size=(size, rank)) * 8) / 8
    return scale * root @ root.T


def hermite_mean(f: Callable[[Array], Array], covariance: Array, nodes: int = 40) -> float:
    """E f(z) for z ~ N(0, covariance): exact for polynomials of degree below 2 * nodes."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    values, frame = np.linalg.eigh(covariance)
    root = frame * np.sqrt(np.maximum(values, 0))
    size = len(covariance)
    grid = np.array(list(itertools.product(x, repeat=size)))
    masses = np.array([np.prod(each) for each in itertools.product(w, repeat=size)]) / (2 * np.pi) ** (size / 2)
    return float(masses @ f(grid @ root.T))


def forms_at(z: Array, forms: list[Array]) -> Array:
    return np.prod([np.einsum("ni,ij,nj->n", z, form, z) for form in forms], axis=0) if forms else np.ones(len(z))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_means_of_products_of_forms(count: int, rank: int) -> None:
    covariance = semidefinite(2, rank)
    forms = [semidefinite(2, 1 + i % 2) for i in range(count)]
    found = product_mean([exact(form) for form in forms], exact(covariance))
    assert float(found.p) / float(found.q) == pytest.approx(hermite_mean(lambda z: forms_at(z, forms), covariance))


def test_powers_of_one_form_are_the_moments_of_a_normal_variable() -> None:
    one = ExactMatrix.rational([[fmpq(1)]])
    found = [product_mean([one] * n, one.scaled(fmpq(1, 3))) for n in range(6)]
    assert found == [fmpq(m, 3**n) for n, m in enumerate((1, 1, 3, 15, 105, 945))]


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.8])
def test_weighted_averages_are_those_of_the_definition(rank: int, rate: float) -> None:
    S, W = semidefinite(2, 2), semidefinite(2, rank)
    W = W / (2 * np.linalg.eigvalsh(S @ W @ S).max() + np.abs(S @ W).sum())
    W = np.round(W * 2**20) / 2**20
    W = (W + W.T) / 2
    forms = [semidefinite(2, 2), semidefinite(2, 1)]
    found = weighted_queries(exact(S), exact(W), fmpq(*rate.as_integer_ratio()))
    assert found is not None
    mean = found.mean(constant(fmpq(3)) + quadratic(exact(forms[0]), 2) * quadratic(exact(forms[1])))
    direct = hermite_mean(lambda z: np.exp(rate * forms_at(z, [W])) * (3 + 2 * forms_at(z, forms)), S, 80)
    ratio = float(mean.p) / float(mean.q) / np.sqrt(float(found.determinant.p) / float(found.determinant.q))
    assert ratio == pytest.approx(direct, rel=1e-8)


@pytest.mark.parametrize(("rate", "finite"), [("1/8", True), ("249/1000", True), ("1/4", False), ("1", False)])
def test_where_the_average_is_infinite_there_is_none(rate: str, finite: bool) -> None:
    """S = 1, W = 2: E e^{2 r z^2} is finite for r < 1/4."""
    one = ExactMatrix.rational([[fmpq(1)]])
    p, _, q = rate.partition("/")
    found = weighted_queries(one, one.scaled(fmpq(2)), fmpq(int(p), int(q or 1)))
    assert (found is not None) is finite


def test_a_query_that_does_not_vary_has_every_average() -> None:
    zero, one = ExactMatrix.zero(2, 2), ExactMatrix.identity(2)
    found = weighted_queries(zero, one.scaled(fmpq(10**9)), fmpq(1))
    assert found is not None
    assert found.determinant == 1
    assert found.mean(quadratic(one)) == 0


def test_positive_eigenvalues_are_told_from_one_that_is_0() -> None:
    assert has_positive_eigenvalues(ExactMatrix.rational([[fmpq(2), fmpq(1)], [fmpq(1), fmpq(1)]]))
    assert not has_positive_eigenvalues(ExactMatrix.rational([[fmpq(1), fmpq(1)], [fmpq(1), fmpq(1)]]))
    assert not has_positive_eigenvalues(ExactMatrix.rational([[fmpq(-1), fmpq(0)], [fmpq(0), fmpq(-1)]]))


def test_inverse_and_determinant_take_the_denominator_into_account() -> None:
    matrix = ExactMatrix.rational([[fmpq(1, 2), fmpq(1, 3)], [fmpq(0), fmpq(5, 7)]])
    assert matrix @ inverse(matrix) == ExactMatrix.identity(2)
    assert determinant(matrix) == fmpq(5, 14)


def test_polynomials_of_the_query_multiply_out() -> None:
    A, B = exact(semidefinite(2, 1)), exact(semidefinite(2, 2))
    product = (constant(fmpq(2)) + quadratic(A)) * (quadratic(B) + constant(fmpq(1, 2)) * 4)
    S = exact(semidefinite(2, 2))
    wanted = 2 * product_mean([B], S) + 4 + product_mean([A, B], S) + 2 * product_mean([A], S)
    assert sum((c * product_mean(forms, S) for c, forms in product.terms), fmpq(0)) == wanted
    assert isinstance(fmpq(5, 2) * abs(product), QueryPolynomial)


def test_the_average_is_that_of_the_claim_about_mean_squares() -> None:
    """`query_averages` has the same closed form by complex linear algebra in balls."""
    for rank in (0, 1, 2):
        S, N, B = (exact(semidefinite(2, 2 if k else rank, 1 / 64)) for k in range(3))
        theirs = QueryAverage(ExactMatrix.zero(1, 2), S, fmpq(3), B, N)
        theta = fmpq(3, 10)
        found = weighted_queries(S, N, theta)
        assert found is not None
        assert theirs.admits(theta)
        with working_precision(128):
            mean = arb(found.mean(constant(fmpq(3)) + quadratic(B)))
            ours = mean / arb(found.determinant).sqrt()
            assert ours.overlaps(theirs.exponential(theta))
            assert ours.rel_accuracy_bits() > 100
