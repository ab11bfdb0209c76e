"""Enclosures of the default tier against Arb at 400 bits; every term of a bound is missed where it is left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from exact_attention import Truth, one_by_one, swept, worst, worst_of_normaliser
from flint import arb
from numpy.typing import NDArray
from prompts import Case, prompts
from test_sums import TOKENS, absorbed

from certattn.fast import enclosures, exponential
from certattn.fast.balls import Ball
from certattn.fast.enclosures import Enclosures
from certattn.fast.sums import Sums, Wanted
from certattn.kernel.mathematics.balls import working_precision

Floats = NDArray[np.float64]
CASES = list(prompts())
Patch = Callable[[pytest.MonkeyPatch], None]


def shares(keys: Any, values: Any, query: Any, truth: Truth, radius: float = 0.0) -> dict[str, float]:
    """Errors over radii of everything that is enclosed."""
    found = swept(keys, values, query, radius, with_second=(0,))
    crossed = swept(keys, values, query, radius, with_second=(0,), second_of_keys=True)
    exponent, z = found.normaliser()
    return {
        "mean": worst(found.mean(), truth.mean()),
        "normaliser": worst_of_normaliser((exponent, z), truth.normaliser),
        "covariance": worst(found.covariance(0), truth.covariance()),
        "cross-covariance": worst(crossed.cross_covariance(0), truth.covariance(with_keys=True)),
    }


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_enclosures_contain_the_truth(case: Case) -> None:
    _, keys, values, query = case
    found = shares(keys, values, query, Truth.of(keys, values, query))
    assert all(share <= 1 for share in found.values()), found


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int16", "uint32"])
def test_enclosures_of_other_types_contain_the_truth(dtype: str) -> None:
    rng = np.random.default_rng(1)
    size = 30 if "int" in dtype else 3
    keys, values = (np.abs(rng.standard_normal((70, 3)) * size).astype(dtype) for _ in range(2))
    query = np.array([0.3, -0.2, 0.1])
    found = shares(keys, values, query, Truth.of(keys, values, query))
    assert all(share <= 1 for share in found.values()), found


def test_many_queries_are_enclosed_one_by_one() -> None:
    """By columns: the range of values is sharper than norms say."""
    rng = np.random.default_rng(2)
    keys, values, queries = rng.standard_normal((600, 5)), rng.standard_normal((600, 3)), rng.standard_normal((9, 5))
    found = swept(keys, values, queries, with_second=(2, 8))
    assert found.sums.by_column
    means, (exponents, z) = found.mean(), found.normaliser()
    for index, query in enumerate(queries):
        truth = Truth.of(keys, values, query)
        assert worst(Ball(means.middle[index], means.radius[index]), truth.mean()) <= 1
        one = exponents[index], Ball(z.middle[index], z.radius[index])
        assert worst_of_normaliser(one, truth.normaliser) <= 1
        if index in (2, 8):
            assert worst(found.covariance(index), truth.covariance()) <= 1


def test_a_million_tokens_beside_a_dominating_one() -> None:
    """All but one alike: the truth has a closed form."""
    others = 10**6
    keys = np.full((others + 1, 1), -1.0)
    keys[others // 3] = 1.0
    query = 15.0
    found = swept(keys, keys, [query])
    with working_precision(400):
        heavy, light = arb(query).exp(), others * arb(-query).exp()
        normaliser = heavy + light
        assert worst(found.mean(), [(heavy - light) / normaliser]) <= 1
        assert worst_of_normaliser(found.normaliser(), normaliser) <= 1
    assert found.mean().radius.item() < 1e-11


def test_radii_are_small_where_nothing_is_hard() -> None:
    rng = np.random.default_rng(3)
    keys, query = rng.standard_normal((5000, 64)), rng.standard_normal(64) / 8
    found = swept(keys, keys, query, with_second=(0,))
    assert found.mean().radius.max() < 1e-11 * np.linalg.norm(found.mean().middle)
    covariance = found.covariance(0)
    assert covariance.radius.max() < 1e-10 * np.linalg.norm(covariance.middle, 2)
    assert found.normaliser()[1].radius.item() < 1e-12 * found.sums.normaliser.item()


# -- what happens without a term


@dataclass(frozen=True)
class Close:
    """Sums for which some enclosure has little to spare: what it encloses, and the truth of it."""

    sums: Sums
    radius: float
    of: Callable[[Enclosures], Any]
    truth: Any

    def share(self) -> float:
        found = self.of(Enclosures(self.sums, np.array([self.radius])))
        return worst_of_normaliser(found, self.truth) if isinstance(found, tuple) else worst(found, self.truth)


def means_of(found: Enclosures) -> Ball:
    return found.mean()


def normaliser_of(found: Enclosures) -> Any:
    return found.normaliser()


def covariance_of(found: Enclosures) -> Ball:
    return found.covariance(0)


def cross_covariance_of(found: Enclosures) -> Ball:
    return found.cross_covariance(0)


def lost_halves(of: Callable[[Enclosures], Any], second_of_keys: bool = False) -> Close:
    """Tokens that are lost one by one beside the first; only the first has a value that is not 0."""
    keys, values, query = absorbed()
    values = np.zeros_like(values)
    values[0] = 1
    truth = Truth.of(keys, values, query[0])
    sums = one_by_one(Wanted(query, (0,), second_of_keys), keys, values)
    exact = {
        means_of: truth.mean,
        normaliser_of: lambda: truth.normaliser,
        covariance_of: truth.covariance,
        cross_covariance_of: lambda: truth.covariance(with_keys=True),
    }[of]()
    return Close(sums, 0.0, of, exact)


def lost_and_gained() -> Close:
    """Beside a first token of value 1, tokens of weight 2^-52 that Z keeps, that S loses, and that count twice in M."""
    keys = np.full((TOKENS, 1), -52 * math.log(2) + 1e-12)
    keys[0] = 0
    values = np.full((TOKENS, 1), 0.51)
    values[0] = 1
    truth = Truth.of(keys, values, np.ones(1))
    return Close(one_by_one(Wanted(np.ones((1, 1)), (0,)), keys, values), 0.0, covariance_of, truth.covariance())


def displaced(of: Callable[[Enclosures], Any], second_of_keys: bool = False) -> Close:
    """Two tokens, and a true query at the edge of what its radius allows."""
    keys, query, radius = np.array([[1.0], [-1.0]]), np.array([[0.4]]), 1e-6
    truth = Truth.of(keys, keys, query[0], np.array([-radius]))
    sums = one_by_one(Wanted(query, (0,), second_of_keys), keys, keys)
    exact = {
        means_of: truth.mean,
        normaliser_of: lambda: truth.normaliser,
        covariance_of: truth.covariance,
        cross_covariance_of: lambda: truth.covariance(with_keys=True),
    }[of]()
    return Close(sums, radius, of, exact)


def subnormal_values() -> Close:
    """Every product of a weight and a value is rounded by half of 2^-1074, which is not small beside them."""
    keys = np.array([[0.3], [-0.4], [0.1]])
    values = np.array([[5e-324], [15e-324], [5e-324]])
    truth = Truth.of(keys, values, np.ones(1))
    return Close(one_by_one(Wanted(np.ones((1, 1))), keys, values), 0.0, means_of, truth.mean())


def rounded_means() -> Close:
    """Query 0, so that all weights are exactly 1: values whose sum is rounded in one direction all the way."""
    count = 300
    steps = np.arange(1, count)
    # Each a little above 1, by less than half a unit of the sum that it is added to.
    excess = 2.0 ** np.floor(np.log2(steps)) * 2.0**-52 * 0.49
    values = np.concatenate([[1.0], 1 + np.floor(excess * 2.0**52) * 2.0**-52])[:, None]
    keys = np.zeros_like(values)
    truth = Truth.of(keys, values, np.zeros(1))
    return Close(one_by_one(Wanted(np.zeros((1, 1))), keys, values), 0.0, means_of, truth.mean())


def scaled(name: str, factor: float) -> Patch:
    """A function of `enclosures`, and of the errors of scores, whose values count only in part."""
    original = getattr(enclosures, name)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (enclosures, exponential):
            monkeypatch.setattr(module, name, lambda *arguments: original(*arguments) * factor)

    return patch


def scaled_method(name: str, factor: float) -> Patch:
    original = getattr(Enclosures, name)

    def less(*arguments: Any) -> Any:
        found = original(*arguments)
        return (found[0], found[1] * factor) if isinstance(found, tuple) else found * factor

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Enclosures, name, less)

    return patch


def without_blocks(name: str) -> Patch:
    """Roundings counted without those of adding up blocks."""
    original = getattr(Sums, name)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Sums, name, property(lambda self: original.fget(self) - self.depth))

    return patch


def without_errors_of_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Covariances as if the product of two means had no errors."""
    original = enclosures._Factor
    monkeypatch.setattr(enclosures, "_Factor", lambda mean, rho, *rest: original(mean, 0 * rho, *rest))


def without_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    original = enclosures.score_errors
    monkeypatch.setattr(enclosures, "score_errors", lambda d, a, r, k: original(d, a, 0 * r, k))


def without_underflow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (enclosures, exponential):
        monkeypatch.setattr(module, "UNDERFLOW", 0.0)


CLOSE: dict[str, Callable[[], Close]] = {
    "lost normaliser": lambda: lost_halves(normaliser_of),
    "lost mean": lambda: lost_halves(means_of),
    "lost covariance": lambda: lost_halves(covariance_of),
    "lost cross-covariance": lambda: lost_halves(cross_covariance_of, second_of_keys=True),
    "lost and gained": lost_and_gained,
    "rounded mean": rounded_means,
    "displaced normaliser": lambda: displaced(normaliser_of),
    "displaced mean": lambda: displaced(means_of),
    "displaced covariance": lambda: displaced(covariance_of),
    "displaced cross-covariance": lambda: displaced(cross_covariance_of, second_of_keys=True),
    "subnormal values": subnormal_values,
}

WEAKENED: list[tuple[str, str, Patch]] = [
    ("half of gamma", "lost normaliser", scaled("gamma", 0.5)),
    ("a tenth of gamma", "lost mean", scaled("gamma", 0.1)),
    ("a tenth of gamma", "lost covariance", scaled("gamma", 0.1)),
    ("a tenth of gamma", "lost cross-covariance", scaled("gamma", 0.1)),
    ("a quarter of gamma", "lost and gained", scaled("gamma", 0.25)),
    ("no errors of means", "lost and gained", without_errors_of_means),
    ("a tenth of gamma", "rounded mean", scaled("gamma", 0.1)),
    ("no blocks", "lost normaliser", without_blocks("roundings")),
    ("no blocks", "lost mean", without_blocks("roundings")),
    ("no radius", "displaced normaliser", without_radius),
    ("no radius", "displaced mean", without_radius),
    ("no radius", "displaced covariance", without_radius),
    ("no radius", "displaced cross-covariance", without_radius),
    ("a third of beta", "displaced normaliser", scaled("beta", 0.3)),
    ("a tenth of beta", "displaced mean", scaled("beta", 0.1)),
    ("a tenth of beta", "displaced covariance", scaled("beta", 0.1)),
    ("a tenth of beta", "displaced cross-covariance", scaled("beta", 0.1)),
    ("a third of the shift", "displaced mean", scaled_method("_shift", 0.3)),
    ("a tenth of rho", "lost mean", scaled_method("_rounded_mean", 0.1)),
    ("a tenth of rho", "rounded mean", scaled_method("_rounded_mean", 0.1)),
    ("no underflow", "subnormal values", without_underflow),
]


@pytest.mark.parametrize("name", CLOSE)
def test_close_cases_are_enclosed(name: str) -> None:
    assert 0 < CLOSE[name]().share() <= 1


@pytest.mark.parametrize(("said", "name", "patch"), WEAKENED, ids=[f"{said}: {name}" for said, name, _ in WEAKENED])
def test_a_weakened_bound_is_caught(said: str, name: str, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    close = CLOSE[name]()
    patch(monkeypatch)
    assert close.share() > 1


def test_second_moments_need_their_own_sums() -> None:
    keys = np.ones((3, 2))
    with pytest.raises(ValueError, match="second moments of values with keys"):
        swept(keys, keys, np.zeros(2), with_second=(0,), second_of_keys=True).covariance(0)
    with pytest.raises(ValueError, match="second moments of values with values"):
        swept(keys, keys, np.zeros(2), with_second=(0,)).cross_covariance(0)
