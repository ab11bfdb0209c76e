"""What `normalizer-bound` states of one drawn matrix: simulations, inequalities row by row, sabotage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from corpus import Cases
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum import drawn_attention as formulas
from certattn.kernel.theorems.spectrum import gaussian_equivalence, normalizer_bound
from certattn.kernel.theorems.spectrum.normalizer_bound import Drawn
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix

cases = Cases("equivalence_cases")

BITS = 128
# 300 drawn matrices of each size.
DRAWS = 300
SIZES = ((60, 60, "1/2"), (60, 15, "1/2"), (100, 60, "1"))


@dataclass(frozen=True)
class Simulated:
    """Of every drawn matrix: the two largest singular values of A and of T, and means over rows and entries."""

    first: Any
    second: Any
    norm: Any
    frobenius: Any
    entropy: Any
    top: Any
    energy: Any
    divergence: Any
    lowest: Any


@cache
def simulated(d: int, p: int, beta: float) -> Simulated:
    rng, found = np.random.default_rng(d + p), []
    for _ in range(DRAWS):
        x, k = rng.normal(size=(2, d, p))
        logs = beta * x @ k.T / np.sqrt(p) - beta**2 / (2 * p) * (x**2).sum(1)[:, None]
        e = np.exp(logs)
        A = e / e.sum(1, keepdims=True)
        sigma = np.linalg.svd(A, compute_uv=False)
        entropy = -(A * np.log(A)).sum(1).mean()
        top = np.sort(A, axis=1)[:, -5:].sum(1).mean()
        energy, divergence = ((e - 1) ** 2).mean(), (e * logs - e + 1).mean()
        norm = np.linalg.norm((e - 1) / np.sqrt(d), 2)
        frobenius = (A**2).sum()
        found.append((sigma[0], sigma[1], norm, frobenius, entropy, top, energy, divergence, e.mean(1).min()))
    return Simulated(*np.array(found).T)


def exact(beta: str) -> fmpq:
    return fmpq(*map(int, (*beta.split("/"), "1")[:2]))


def scores(d: int, p: int, beta: str) -> ScoreMatrix:
    return ScoreMatrix(d, p, exact(beta) ** 2)


@pytest.mark.parametrize(("d", "p", "beta"), SIZES)
def test_inequalities_hold_of_every_drawn_matrix(d: int, p: int, beta: str) -> None:
    """With the least normaliser that is drawn in the place of 1 - theta."""
    drawn, room = simulated(d, p, float(exact(beta).p) / float(exact(beta).q)), 1 + 1e-9
    most = drawn.norm**2 / drawn.lowest**2 / d
    assert bool((drawn.second**2 <= most * room).all())
    assert bool((drawn.first * room >= 1).all())
    assert bool((drawn.first**2 <= (1 + most) * room).all())
    assert bool((drawn.frobenius <= (1 + drawn.energy / drawn.lowest**2) * room).all())
    assert bool((np.log(d) - drawn.entropy <= drawn.divergence / drawn.lowest * room).all())
    assert bool((drawn.top <= np.sqrt(5 * drawn.frobenius / d) * room).all())


@pytest.mark.parametrize(("d", "p", "beta"), SIZES)
def test_means_and_variances_by_simulation(d: int, p: int, beta: str) -> None:
    drawn, of = simulated(d, p, float(exact(beta).p) / float(exact(beta).q)), scores(d, p, beta)
    with working_precision(BITS):
        mean, variance = -float(formulas.divergence_excess(of, arb(0))), float(formulas.divergence_variance(of))
        energy, spread = -float(formulas.energy_excess(of, fmpq(0))), float(of.second_moment_variance())
    # Means of so many draws are off by the standard deviation over the root of their number.
    for found, expected, square in ((drawn.divergence, mean, variance), (drawn.energy, energy, spread)):
        assert abs(found.mean() - expected) < 5 * np.sqrt(square / DRAWS)
    assert 0.7 < drawn.divergence.var() / variance < 1.4


@pytest.mark.parametrize(("d", "p", "beta"), SIZES)
def test_what_is_improbable_is_drawn_seldom(d: int, p: int, beta: str) -> None:
    drawn, of = simulated(d, p, float(exact(beta).p) / float(exact(beta).q)), scores(d, p, beta)
    with working_precision(BITS):
        for quantile in (0.5, 0.9, 0.97):
            theta = fmpq(int(1000 * (1 - np.quantile(drawn.lowest, 1 - quantile))), 1000)
            norm = fmpq(int(1000 * np.quantile(drawn.norm, quantile) / np.sqrt(d)) - 1, 1000)
            assert (drawn.lowest < 1 - float(theta.p) / float(theta.q)).mean() <= float(
                formulas.low_normalisers(of, theta, fmpq(3, 2))
            )
            assert (drawn.norm >= np.sqrt(d) * float(norm.p) / float(norm.q)).mean() <= float(
                formulas.large_norm(of, norm)
            )
            for found, variance in (
                (drawn.energy, of.second_moment_variance()),
                (drawn.divergence, formulas.divergence_variance(of)),
            ):
                level = np.quantile(found, quantile) - found.mean()
                if level > 0:
                    assert (found > found.mean() + level).mean() <= float(
                        formulas.exceeded(variance, arb(level))
                    ) + 0.02


def test_the_least_of_finite_moments_bounds_the_norm() -> None:
    """p = 20 has a fourth moment at beta = 1 and no sixth; nothing is more probable than 1."""
    of = ScoreMatrix(50, 20, fmpq(1))
    with working_precision(BITS):
        expected = of.moment(4) * 50 / arb(fmpq(9, 4) * 50) ** 2
        assert formulas.large_norm(of, fmpq(3, 2)).overlaps(expected)
        assert formulas.large_norm(of, fmpq(1, 1000)) == 1


# -- kernels with one part sabotaged


def _once(*of: Any) -> arb:
    """A sum over rows, of one of them."""
    return gaussian_equivalence.low_normaliser(*of)


_ENERGIES: Any = Drawn.energies


def _by_the_root(drawn: Drawn) -> dict[str, fmpq]:
    """Rows whose squares are divided by a normaliser once."""
    return {name: energy / (1 - drawn.theta) for name, energy in _ENERGIES.fget(drawn).items()}


SABOTAGE: dict[str, Sabotage] = {
    "one row has a low normaliser": (formulas, "low_normalisers", _once),
    "normalisers are never low": (formulas, "low_normalisers", lambda *of: arb(0)),
    "nothing is exceeded": (formulas, "exceeded", lambda variance, excess: arb(0)),
    "norms are never large": (formulas, "large_norm", lambda scores, norm: arb(0)),
    "the energy has no mean": (formulas, "energy_excess", lambda scores, energy: arb(energy)),
    "the divergence has no mean": (formulas, "divergence_excess", lambda scores, divergence: divergence),
    "the divergence has a fourth of its variance": (
        formulas, "divergence_variance", lambda scores, found=formulas.divergence_variance: found(scores) / 4),
    "the energy has a fourth of its variance": (
        ScoreMatrix, "second_moment_variance",
        lambda self, found=ScoreMatrix.second_moment_variance: found(self) / 4),
    "squares are divided by a normaliser once": (Drawn, "energies", property(_by_the_root)),
    "probabilities are not looked at": (normalizer_bound, "Obligation", holding("<=")),
    "means are not looked at": (normalizer_bound, "Obligation", holding(">")),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
