"""The floats behind a search for tail bounds: special functions, the rules, and the search itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from scipy.special import erfcx, ndtr

from certattn.kernel.document.certificate import loads
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_remainder
from certattn.kernel.theorems.prompts.output_tail import THEOREM, read, read_given
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.provers.prompts.exp_remainders import scaled_exp_remainder
from certattn.provers.prompts.normal_tails import normal_cdf, scaled_erfc
from certattn.provers.prompts.tail_directions import family_of
from certattn.provers.prompts.tail_frames import eigenbasis, error_covariance, frame_of
from certattn.provers.prompts.tail_goals import Goal, goals_of
from certattn.provers.prompts.tail_rules import Candidate, Family, best_rate, few_digits
from certattn.provers.prompts.tail_search import passing, smallest_eps, smallest_length
from certattn.provers.prompts.tail_targets import Target
from certattn.writing import to_text

Plain = Any

IDENTITY = [["1", "0"], ["0", "1"]]
PLANE: Plain = {"kind": "gaussian", "mean": ["0", "0"], "covariance": IDENTITY}
SKEW: Plain = {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["1", "1/2"], ["1/2", "1"]]}
LAWS: dict[str, Plain] = {
    "plane": PLANE,
    "skew": SKEW,
    "signs": {"kind": "rademacher", "sizes": ["1", "2"]},
    "box": {"kind": "box", "sizes": ["1", "2"]},
    "atoms": {"kind": "atoms", "points": [["0", "1"], ["1", "0"], ["-1", "-1"]]},
    "mixture": {
        "kind": "mixture",
        "components": [
            {"weight": "1/2", "law": SKEW},
            {"weight": "1/3", "law": PLANE},
            {"weight": "1/6", "law": {"kind": "atoms", "points": [["2", "-1"]]}},
        ],
    },
}


def given(law: Plain, length: int = 100) -> Plain:
    return {"law": law, "tilt": ["1", "-1/2"], "length": str(length)}


def prompt_of(law: Plain) -> RandomPrompt:
    text = to_text({"certattn": "1", "claim": THEOREM.name, "given": given(law), "asserts": {}})
    return read_given(loads(text, Path("draft.yaml")))


def kernel_log_bound(law: Plain, direction: list[str], eps: str, length: int, rule: Plain) -> float:
    """The logarithm of what the kernel makes of a rule."""
    stated = {"direction": direction, "exceeds": eps, "probability": "1/2"}
    certificate = {
        "certattn": "1", "claim": THEOREM.name, "given": given(law, length),
        "asserts": {"directions": [stated]}, "witness": {"directions": [rule]},
    }  # fmt: skip
    (one,) = read(loads(to_text(certificate), Path("draft.yaml"))).rules
    with working_precision(128):
        return float(one.bound().log())


# -- special functions


def test_the_scaled_complementary_error_function() -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 4001)])
    assert np.abs(scaled_erfc(x) / erfcx(x) - 1).max() < 1e-13


def test_the_normal_distribution_function_in_both_tails() -> None:
    x = np.linspace(-37, 9, 4001)
    assert np.abs(normal_cdf(x) / ndtr(x) - 1).max() < 1e-12


@pytest.mark.parametrize("order", range(1, 13))
def test_the_remainder_of_the_exponential(order: int) -> None:
    # Both ways to compute it, at their seam too; a height may be rounded to a little below 0.
    y = np.concatenate([[-1e-16, 0.0], np.geomspace(1e-8, 700, 301), order * np.array([1, 1 - 1e-15, 1 + 1e-15])])
    with working_precision(128):
        truth = np.array([float(math.factorial(order) * exp_remainder(order, arb(float(at)))) for at in y])
    assert np.abs(scaled_exp_remainder(order, y) / truth - 1).max() < 1e-14


def test_few_digits_are_exact_texts() -> None:
    values = (1.23456, 0.0271828, 5.905e8, 3.3e-7)
    assert [few_digits(value) for value in values] == ["1.23", "0.0272", "591000000", "3.3e-7"]
    assert few_digits(2 / 3, 5) == "0.66667"


# -- rules in floats against the kernel's

DIRECTIONS = {"up": ["2", "0"], "down": ["-1", "0"], "skew": ["1/2", "-3"]}


@pytest.mark.heavy
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("law", LAWS)
def test_a_search_knows_what_the_kernel_will_prove(law: str, direction: str) -> None:
    """The best rule's bound in floats is the kernel's, up to the rounding of lambda, from rare to very rare."""
    u = ExactMatrix.row_vector([parse_rational(text, DEFAULT_LIMITS) for text in DIRECTIONS[direction]])
    family = family_of(prompt_of(LAWS[law]), u)
    for log_delta, length in ((-1.0, 30), (-5.0, 1000), (-25.0, 10**6)):
        eps = height(family, log_delta, length)
        found = family.best(float(eps), float(length))
        proved = kernel_log_bound(LAWS[law], DIRECTIONS[direction], eps, length, found.rule)
        assert found.log_bound == pytest.approx(proved, rel=2e-3, abs=1e-3)


def height(family: Family, log_delta: float, length: int) -> str:
    """About the height at which the bound is delta, in a few digits."""
    start = family.deviation / math.sqrt(length)
    return few_digits(smallest_eps(lambda eps: family.best(eps, float(length)).log_bound, log_delta, start), 4)


@pytest.mark.parametrize("law", ["plane", "atoms", "box"])
def test_neighbouring_parameters_are_no_better(law: str) -> None:
    family = family_of(prompt_of(LAWS[law]), ExactMatrix.row_vector([fmpq(1), fmpq(1)]))
    eps = height(family, -5.0, 200)
    rule: Plain = family.best(float(eps), 200.0).rule
    best = kernel_log_bound(LAWS[law], ["1", "1"], eps, 200, rule)
    for name in {"lambda", "cap"} & set(rule):
        for factor in (0.7, 0.9, 1.1, 1.4):
            other = {**rule, name: few_digits(float(rule[name]) * factor, 6)}
            assert kernel_log_bound(LAWS[law], ["1", "1"], eps, 200, other) > best - 2e-3


def test_the_minimum_of_a_convex_function_of_lambda() -> None:
    for centre in (1e-5, 1.0, 1e4):
        for start, near in ((centre / 30, False), (centre * 2, True), (centre / 100, True)):
            rate, value = best_rate(lambda rates, c=centre: (rates / c - 1) ** 2 - 3, start, near)  # type: ignore[misc]
            assert rate == pytest.approx(centre, rel=0.02)
            assert value == pytest.approx(-3, abs=1e-3)


def test_a_minimum_that_runs_away_is_followed_a_little_and_given_up() -> None:
    rate, value = best_rate(lambda rates: -rates / (1 + rates), 1.0)
    assert rate > 1e3
    assert -1 <= value < -0.99


# -- the search


@pytest.mark.parametrize("answer", [1e-9, 0.3, 77.0, 1e8])
def test_the_point_at_which_a_falling_bound_passes_delta(answer: float) -> None:
    calls = []

    def log_bound(x: float) -> float:
        calls.append(x)
        return min(0.0, 1 - 6 * (x / answer) ** 2)

    found = passing(log_bound, -5.0, 1.0, 1e-12, 1e12)
    assert found is not None
    assert answer <= found <= answer * 1.0001
    assert log_bound(found) <= -5
    assert len(calls) < 60


def test_a_bound_that_falls_in_a_step() -> None:
    found = passing(lambda x: -1.0 if x < 3 else -50.0, -5.0, 1.0, 1e-3, 1e3)
    assert found == pytest.approx(3, rel=1e-4)


def test_where_there_is_no_such_point() -> None:
    assert passing(lambda x: 0.0, -1.0, 1.0, 1e-3, 1e3) is None
    assert passing(lambda x: -2.0, -1.0, 1.0, 1e-3, 1e3) == 1e-3
    with pytest.raises(NotProvedError, match=r"no length up to 1e\+12"):
        smallest_length(lambda length: -1e-13 * length, -5.0)
    with pytest.raises(NotProvedError, match="at any threshold; expected a longer prompt"):
        smallest_eps(lambda eps: -1.0, -5.0, 1.0)


def test_lengths_are_whole_and_the_smallest() -> None:
    for answer in (1, 17, 12345, 7 * 10**9):
        length = smallest_length(lambda count, n=answer: -5.0 * count / n, -5.0)  # type: ignore[misc]
        assert answer <= length <= answer * (1 + 1e-4)
        assert answer > 20000 or length == answer


# -- the l2 norm


@pytest.mark.parametrize("law", LAWS)
def test_frames_are_large_enough_exactly_and_hardly_larger(law: str) -> None:
    frame, _ = frame_of(prompt_of(LAWS[law]))
    excess = frame.T @ frame - ExactMatrix.identity(2)
    assert excess.is_positive_semidefinite()
    assert all(abs(entry) < fmpq(1, 10**6) for row in excess.to_rows() for entry in row)


def test_an_eigenbasis_is_the_same_however_it_is_computed() -> None:
    """Equal eigenvalues leave a choice, which must not depend on rounding."""
    draw = np.random.default_rng(5)
    a = np.array([1, 0.5, 0, -0.5])
    for matrix in (np.eye(4) + np.outer(a, a), np.eye(4), np.diag([1.0, 2, 2, 3])):
        values, basis = eigenbasis(matrix)
        assert basis @ matrix @ basis.T == pytest.approx(np.diag(values), abs=1e-12)
        assert basis @ basis.T == pytest.approx(np.eye(4), abs=1e-12)
        noise = 1e-13 * draw.normal(size=(4, 4))
        assert eigenbasis(matrix + noise + noise.T)[1] == pytest.approx(basis, abs=1e-9)


def test_the_covariance_of_the_error_is_that_of_the_theory() -> None:
    """Gamma + Gamma a a' Gamma for Gaussian tokens, and for atoms what a direct sum gives."""
    gamma, a = np.array([[1, 0.5], [0.5, 1]]), np.array([1, -0.5])
    image = gamma @ a
    assert error_covariance(prompt_of(SKEW)) == pytest.approx(gamma + np.outer(image, image), abs=1e-9)
    points = np.array([[0.0, 1], [1, 0], [-1, -1]])
    weights = np.exp(points @ a)
    centred = points - weights @ points / weights.sum()
    expected = (weights**2)[:, None, None] * centred[:, :, None] * centred[:, None, :]
    assert error_covariance(prompt_of(LAWS["atoms"])) == pytest.approx(expected.sum(0) / (weights**2).sum(), abs=1e-9)


def test_levels_are_chosen_well_and_keep_to_the_norm() -> None:
    (goal,) = goals_of(prompt_of(PLANE), [], "l2")
    tuned = goal.tuned(0.8, 200.0)
    assert np.linalg.norm(tuned.target.shares) == pytest.approx(1)
    assert tuned.target.log_bound(0.8, 200.0) <= goal.target.log_bound(0.8, 200.0)
    for turn in (-0.05, 0.05):
        angle = math.atan2(*tuned.target.shares) + turn
        other = Goal(type(goal.target)(goal.target.groups, [math.sin(angle), math.cos(angle)]))
        assert other.target.log_bound(0.8, 200.0) > tuned.target.log_bound(0.8, 200.0) - 2e-3


@dataclass(frozen=True)
class Unweighted:
    """Chernoff's bound of a mean of Gaussians, as a machine with other last digits computes it."""

    deviation: float
    noise: float

    def best(self, eps: float, length: float) -> Candidate:
        exponent = -length * (eps / self.deviation) ** 2 / 2
        return Candidate(exponent * (1 + self.noise) + math.log(1 + eps), {"rule": "exact"})


@pytest.mark.parametrize("eps", np.linspace(0.5, 0.8, 16))
def test_levels_do_not_depend_on_the_last_digits_of_floats(eps: float) -> None:
    rng = np.random.default_rng(5)

    def noise() -> float:
        return 1e-14 * float(rng.uniform(-1, 1))

    deviations, found, again = np.array([1.0, 1.0, 1.0, 1.3]), [], []
    for _ in range(8):
        groups: list[list[Family]] = [[Unweighted(deviation, noise())] * 2 for deviation in deviations]
        target = Target(groups, [float(share) for share in deviations / np.linalg.norm(deviations)]).tuned(eps, 100.0)
        found.append(target.shares)
        # Once more from the levels that are best: their squares sum up to eps^2, up to rounding.
        again.append(target.tuned(eps * (1 + noise()), 100.0).shares)
    for shares in (np.array(found), np.array(again)):
        assert np.ptp(shares, axis=0).max() < 1e-11
        assert np.ptp(shares[:, :3], axis=1).max() < 1e-11
