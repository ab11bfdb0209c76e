"""The claim `causal-law`: its words, its numbers beside other computations, and kernels that are broken."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

import certattn
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum import causal_formulas as formulas
from certattn.kernel.theorems.spectrum import causal_law
from certattn.kernel.theorems.spectrum.causal_formulas import Turn
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers

cases = Cases("causal_law_cases")
Array = np.ndarray[Any, Any]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    report = check(next(cases.SOFTMAX.cases()).text, tmp_path)
    for piece in (
        "softmax attention under a causal mask at beta = 0.5, lambda = d_qk/d = 0.25, alpha^2 = e^(beta^2) - 1 -",
        "the matrix (i A_ij - 1)/sqrt(d), j <= i, with m_2n = int x^2n mu(dx) and s(eta) = int mu(dx)/(x^2 + eta)",
        "s(0.1) = 6.92722830609721 up to 1e-14; s(1) = 0.908715109442631 up to 1e-15.",
    ):
        assert piece in report.statement, report.statement
    said = check(next(cases.GIVEN.cases()).text, tmp_path).statement
    assert "alpha^2 = 1/3, beta^2 = 2/3, lambda = d_qk/d = 0.5, the limit law" in said
    # Of softmax it would be false: its alpha^2 is another one.
    assert "the linear model under" in said
    assert "softmax" not in said


def stated(folder: Path, eta: str, **law: str) -> float:
    made = certattn.generate("causal-law", folder / "law.yaml", etas=[eta], **law)
    assert certattn.check(folder / "law.yaml").verdict is certattn.Verdict.VERIFIED
    return float(made.numbers["transform[0].value"])


def by_iteration(alpha2: float, beta2: float, lambda_: float, eta: float, cells: int) -> float:
    """s(eta) by the two equations alone: iterated from n = 1, the suprema by matrices, on so many cells."""
    n, theta = np.ones(cells), np.full(cells, eta + alpha2 + beta2)
    inside, middle = np.tri(cells, cells, -1) / cells, np.eye(cells) / (2 * cells)
    b = beta2 / lambda_
    for _ in range(1000):
        # int_max(y, y')^1 rho and int_0^min(x, x') n at the middles of cells; phi^2 at most is a resolvent's diagonal.
        upto = inside + middle
        green = upto.T @ np.diag(1 / theta) @ upto * cells
        dual = upto @ np.diag(n) @ upto.T * cells
        g = np.linalg.solve(np.eye(cells) + b * green @ np.diag(n) / cells, green)
        h = np.linalg.solve(np.eye(cells) + b * dual @ np.diag(1 / theta) / cells, dual)
        new_n = 1 / (1 + alpha2 * np.diag(green) + beta2 * np.diag(g))
        new_theta = eta + alpha2 * np.diag(dual) + beta2 * np.diag(h)
        moved = max(np.abs(np.log(new_n / n)).max(), np.abs(np.log(new_theta / theta)).max())
        n, theta = new_n, new_theta
        if moved < 1e-10:
            return float((1 / theta).mean())
    raise AssertionError("no fixed point")


@pytest.mark.heavy
@pytest.mark.parametrize(("beta2", "lambda_", "eta"), [("1/4", "1/4", "1/10"), ("1", "1", "1"), ("3", "1/2", "2")])
def test_the_equations_iterated_come_to_the_same(beta2: str, lambda_: str, eta: str, tmp_path: Path) -> None:
    value = stated(tmp_path, eta, alpha2="1/3", beta2=beta2, lambda_=lambda_)
    numbers = [float(Fraction(text)) for text in (beta2, lambda_, eta)]
    coarse, fine = (by_iteration(1 / 3, *numbers, cells) for cells in (60, 120))
    # The rule errs by a multiple of a cell, at the diagonal of the two matrices.
    assert abs(2 * fine - coarse - value) < 3e-5 * value
    assert abs(fine - value) < 0.6 * abs(coarse - value)


def test_for_large_eta_moments_are_left(tmp_path: Path) -> None:
    """s = 1/eta - m_2/eta^2 + m_4/eta^3 - ...: two formulas of the kernel beside each other."""
    eta = 10**8
    made = certattn.generate(
        "causal-law", tmp_path / "law.yaml", etas=[eta], beta=1, lambda_="1/2", digits=40, moments=0
    )
    value = made.numbers["transform[0].value"]
    with working_precision(256):
        numbers = LawNumbers(arb(1).exp() - 2, arb(1), arb(1) / 2)
        series = [(-1) ** k * m / arb(eta) ** (k + 1) for k, m in enumerate([arb(1), *formulas.moments(numbers, 4)])]
        assert abs(sum(series, arb(0)) - arb(fmpq(value.numerator, value.denominator))) < arb("1e-44")


def test_moments_of_four_steps_are_those_of_walks() -> None:
    """m = alpha^2 + beta^2. There and back twice from a row or a column: m^2 int x^2 dx; around four tokens:
    beta^4/lambda int int min(x, y)^2 dx dy."""
    alpha2, beta2, lambda_ = fmpq(1, 3), fmpq(2, 5), fmpq(3, 7)
    m = alpha2 + beta2
    m_4 = 2 * m * m / 3 + beta2 * beta2 / lambda_ / 6
    assert formulas.moments(LawNumbers(alpha2, beta2, lambda_), 2) == [m / 2, m_4]


def test_without_a_linear_part_moments_are_those_of_a_triangular_gaussian_matrix() -> None:
    """n^n/(n + 1)!: Dykema and Haagerup, DT-operators and decomposability of Voiculescu's circular operator."""
    found = formulas.moments(LawNumbers(fmpq(1), fmpq(0), fmpq(1)), 8)
    assert found == [fmpq(n**n, factorial(n + 1)) for n in range(1, 9)]


@pytest.mark.heavy
def test_moments_of_drawn_matrices_of_the_linear_model() -> None:
    rng, d, p = np.random.default_rng(3), 600, 300
    expected = formulas.moments(LawNumbers(fmpq(1, 2), fmpq(1), fmpq(1, 2)), 4)
    found = np.zeros(4)
    for _ in range(10):
        scores = rng.standard_normal((d, p)) @ rng.standard_normal((p, d)) / np.sqrt(p)
        s = np.linalg.svd(np.tril(np.sqrt(0.5) * rng.standard_normal((d, d)) + scores) / np.sqrt(d), compute_uv=False)
        found += [(s ** (2 * n)).mean() / 10 for n in range(1, 5)]
    assert np.allclose(found, [float(m) for m in expected], rtol=0.03)


def drawn(beta: float, lambda_: float, d: int, rng: np.random.Generator) -> Array:
    """Singular values of (i A_ij - 1)/sqrt(d), j <= i."""
    p = round(lambda_ * d)
    scores = beta * rng.standard_normal((d, p)) @ rng.standard_normal((p, d)) / np.sqrt(p)
    weights = np.tril(np.exp(scores))
    weights *= np.arange(1, d + 1)[:, None] / weights.sum(axis=1, keepdims=True)
    return np.linalg.svd(np.tril(weights - 1) / np.sqrt(d), compute_uv=False)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("beta", "lambda_", "eta"), [("1/4", "1/2", "1/50"), ("1/2", "1/4", "1/10"), ("1/2", "1", "1")]
)
def test_drawn_matrices_come_near(beta: str, lambda_: str, eta: str, tmp_path: Path) -> None:
    value = stated(tmp_path, eta, beta=beta, lambda_=lambda_)
    numbers = [float(Fraction(text)) for text in (beta, lambda_, eta)]
    rng = np.random.default_rng(5)
    off = []
    for d in (200, 800):
        means = [(1 / (drawn(*numbers[:2], d, rng) ** 2 + numbers[2])).mean() for _ in range(6)]
        off.append(abs(np.mean(means) / value - 1))
    assert off[1] < min(0.006, off[0])


def test_a_polynomial_lies_between_its_coefficients() -> None:
    turn = Turn(fmpq(1, 3), fmpq(2, 3), fmpq(2, 3), fmpq(7, 5))
    low, high = min(turn.bernstein()), max(turn.bernstein())
    values = [turn.cubic(fmpq(2, 3) + fmpq(k, 300)) for k in range(101)]
    assert low <= min(values) <= max(values) <= high
    assert [values[0], values[-1]] == turn.bernstein()[::3]
    for k, value in enumerate(values[1:], start=1):
        v = fmpq(2, 3) + fmpq(k, 300)
        assert value * (v - turn.turn) == turn.above(v) ** 2 - turn.ratio * v * (1 - v)


def test_other_solutions_enclose_the_same_number() -> None:
    """Whatever the witness, the number lies within the factor."""
    law = causal_law.SpectralLaw(fmpq(1, 2), None, fmpq(1, 4), fmpq(1, 4))
    with working_precision(128):
        numbers = law.enclosed().numbers
        true = arb("6.92722830609720970930951965665")
        for turn, level in (("0.6673", "0.4057"), ("0.66", "0.41"), ("0.7", "0.4"), ("0.6", "0.5"), ("0.9", "0.6")):
            u, k = arb(turn).mid(), arb(level).mid()
            solution = causal_law.Solution(numbers, Turn(numbers.alpha2, numbers.beta2, u, k))
            found, factor = solution.near(fmpq(1, 10))
            if (solution.least_cubic > 0) is True:
                assert (true / found).max(found / true) < factor


# -- kernels with one part sabotaged

Solution = causal_law.Solution
SABOTAGE: dict[str, Sabotage] = {
    "enclosures are not looked at": (causal_law, "Obligation", holding("<=")),
    "any turn": (causal_law, "Obligation", holding("<")),
    "any level, and any polynomial": (causal_law, "Obligation", holding(">")),
    "every solution is at eta": (
        Solution, "near", lambda self, eta, near=Solution.near: (near(self, eta)[0], arb(1))),
    "a lambda that is off is not counted": (
        Solution, "solved",
        property(lambda self, found=Solution.solved: (
            lambda rate, _, eta: (rate, self.numbers.lambda_, eta))(*found.func(self)))),
    "half of an integral": (
        Solution, "_integral", lambda self, power, whole=Solution._integral: whole(self, power) / 2),
    "the mean of v is left out": (
        Solution, "_integral", lambda self, power, whole=Solution._integral: whole(self, 0)),
    "moments without a mask": (formulas, "moments", LawNumbers.moments),
    "moments of another order": (
        formulas, "moments", lambda law, count, found=formulas.moments: [*found(law, count)[1:], law.alpha2]),
    "moments of a Gaussian matrix": (
        formulas, "moments", lambda law, count, found=formulas.moments: found(
            LawNumbers(law.variance, law.alpha2 * 0, law.lambda_), count)),
    "the polynomial at its end alone": (Solution, "least_cubic", property(lambda self: self.turn.bernstein()[-1])),
    "another q": (Turn, "ratio", property(lambda self: self.above(self.turn) ** 2)),
    "another lambda": (Turn, "lambda_", lambda self, rate: self.beta2 / (self.ratio * rate)),
    "another eta": (Turn, "log_eta", lambda self, rate, mean: -rate.log() - 4 * self.beta2 * mean),
    "another transform": (Turn, "transform", lambda self, rate, eta: (1 / (rate * eta) - 1) / self.alpha2),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
