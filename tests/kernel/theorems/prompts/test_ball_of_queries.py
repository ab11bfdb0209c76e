"""Every query of a ball: each step of the proof against integrals and simulations of its own, and the whole bound."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import integrate, special, stats

import certattn
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.ball_of_queries import BallOfQueries
from certattn.kernel.theorems.prompts.output_tail import read_given
from certattn.kernel.theorems.prompts.small_balls import Setting, Shell, chi_mean, chi_tail, psi
from certattn.provers.prompts.prompt_simulation import farthest_over_ball

Array = np.ndarray[Any, Any]

SHELLS = [(1, 1, 4.9, (0.9, 1.0, 0.016, 0.2, 0.009)), (2, 1, 5.0, (0.0, 0.7, 0.3, 0.4, 0.01)),
          (3, 2, 5.5, (0.5, 0.8, 0.2, 0.3, 0.01)), (8, 8, 7.0, (0.9, 1.0, 0.02, 0.15, 0.003))]  # fmt: skip


def weight_and_slope(h: float, d: int, size: Array) -> tuple[Array, Array]:
    """G and s of |y|, from Bessel's series."""
    z = h**2 * size**2 / 4
    return special.hyp0f1(d / 2 + 1, z), h**2 / (d + 2) * special.hyp0f1(d / 2 + 2, z) / special.hyp0f1(d / 2 + 1, z)


def in_ball(draw: np.random.Generator, count: int, d: int, radius: float) -> Array:
    sample = draw.standard_normal((count, d))
    return np.asarray(
        sample / np.linalg.norm(sample, axis=1)[:, None] * radius * draw.random(count)[:, None] ** (1 / d)
    )


@pytest.mark.parametrize(("d", "h"), [(1, 0.7), (2, 0.3), (3, 1.1), (8, 0.5)])
@pytest.mark.parametrize("size", [0.4, 3.0, 6.5])
def test_averages_over_small_balls_are_the_tail_at_the_middle(d: int, h: float, size: float) -> None:
    """E e^<eta,y> / G = 1 and E e^<eta,y> ((1 + s) y - alpha - eta) / G = y - alpha; across y by symmetry."""
    weight, slope = weight_and_slope(h, d, np.array(size))
    assert 0 <= slope <= h**2 / (d + 2)
    assert weight >= 1

    def mean(f: Any) -> float:
        # A coordinate of what is uniform on a ball has the density (h^2 - t^2)^((d - 1)/2) in shape.
        def total(g: Any) -> float:
            return float(integrate.quad(lambda t: g(t) * (h**2 - t**2) ** ((d - 1) / 2), -h, h)[0])

        return total(f) / total(lambda _: 1.0)

    assert mean(lambda t: math.exp(t * size)) == pytest.approx(float(weight), rel=1e-9)
    off = mean(lambda t: math.exp(t * size) * ((1 + float(slope)) * size - t)) / float(weight)
    assert off == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("x", [0.3, 2.0, 6.0])
def test_sizes_of_normal_vectors(d: int, x: float) -> None:
    with working_precision(64):
        assert float(chi_tail(d, arb(x))) == pytest.approx(stats.chi.sf(x, d), rel=1e-9)
        assert float(chi_mean(d) * chi_tail(d + 1, arb(x))) == pytest.approx(
            integrate.quad(lambda t: t * stats.chi.pdf(t, d), x, np.inf)[0], rel=1e-7
        )


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.1, 0.2499, 0.25, 3.0, 20.0])
def test_the_remainder_of_the_exponential_is_bounded(x: float) -> None:
    truth = 0.5 if x == 0 else float(special.hyp1f1(1, 3, x)) / 2
    with working_precision(64):
        assert truth * (1 - 1e-12) <= float(psi(arb(x))) <= truth * 1.02


@pytest.mark.heavy
@pytest.mark.parametrize(("d", "outputs", "within", "shell"), SHELLS)
def test_the_rate_bounds_the_mean_of_the_exponentials(
    d: int, outputs: int, within: float, shell: tuple[float, ...]
) -> None:
    """E e^f - 1 over tokens, tilts and directions, simulated for W = I and for a slanting W of norm 1."""
    draw, eps = np.random.default_rng(d), 0.3
    start, to, h, k, slope = shell
    with working_precision(64):
        numbers = Setting(d, outputs, arb(eps), arb(1), arb(within))
        stated = Shell(*(arb(number) for number in shell))
        rate, spread, drift = (float(f(stated)) for f in (numbers.rate, numbers.spread, numbers.drift))
    count = 400_000
    slanting = draw.standard_normal((outputs, d))
    for values in (np.eye(outputs, d), slanting / np.linalg.norm(slanting, 2)):
        for size in (start, to):
            u, alpha = np.eye(outputs)[0], np.eye(d)[0] * size
            y = draw.standard_normal((count, d))
            b, v = alpha + in_ball(draw, count, d, h), u + in_ball(draw, count, outputs, k)
            # Tokens of the tilted law, with what that costs: f^2 is largest where weights are.
            y += alpha
            change = np.exp(size**2 / 2 - y @ alpha)
            length = np.linalg.norm(y, axis=1)
            weight, s = weight_and_slope(h, d, length)
            inner = np.einsum("ij,ij->i", v @ values, (1 + s)[:, None] * y - b) - eps
            f = (length <= within) * slope * np.exp(np.einsum("ij,ij->i", b, y)) / weight * inner
            first, whole = change * f, change * np.expm1(f)
            error = 5 / math.sqrt(count)
            assert first.mean() <= -slope * math.exp(start**2 / 2) * drift + error * first.std()
            assert (whole - first).mean() <= spread + error * (whole - first).std()
            assert whole.mean() <= -rate + error * whole.std()


@pytest.mark.parametrize(("d", "outputs", "within", "shell"), SHELLS)
def test_volumes(d: int, outputs: int, within: float, shell: tuple[float, ...]) -> None:
    """Of a shell, or of the ball that is smaller, with the balls of averages around it."""
    start, to, h, k, _ = shell
    with working_precision(64):
        numbers = Setting(d, outputs, arb(0.3), arb(1), arb(within))
        stated = Shell(*(arb(number) for number in shell))
        found = [float(numbers.volumes(stated, arb(reach))) for reach in (0.01, 100.0)]
    directions = ((1 + k) / k) ** outputs
    assert found[0] == pytest.approx(min(((0.01 + h) / h) ** d, found[1] / directions) * directions)
    assert found[1] == pytest.approx(((to + h) ** d - max(start - h, 0) ** d) / h**d * directions)


LAWS = {
    "an interval": {
        "law": {"kind": "gaussian", "mean": [2], "covariance": [[1]]}, "queries": {"centre": [0], "radius": 1},
    },
    "a slanting ball in the plane": {
        "law": {"kind": "gaussian", "mean": [1, -1], "covariance": [[1, "1/2"], ["1/2", 1]]},
        "queries": {"centre": ["1/2", -1], "radius": "1/2"}, "U": [[1, 0], [0, "1/2"]], "scale": "1/sqrt(2)",
        "V": [[1, 2]],
    },
    "space": {
        "law": {"kind": "gaussian", "mean": [0, 0, 0], "covariance": [[1, 0, 0], [0, 1, 0], [0, 0, "1/4"]]},
        "queries": {"centre": ["1/2", 0, 0], "radius": "1/2"},
    },
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("length", [1500])
def test_no_more_prompts_are_far_than_is_proved(name: str, length: int, tmp_path: Path) -> None:
    found = certattn.generate(
        "output-tail", tmp_path / "ball.yaml", given=LAWS[name], norm="l2", probability="0.1", length=length
    )
    assert certattn.check(found).verdict.value == "verified"
    eps = float(found.plain["asserts"]["norm"]["exceeds"])
    prompt = read_given(found)
    assert isinstance(prompt, BallOfQueries)
    far = farthest_over_ball(prompt, length, 60)
    assert (far > eps).mean() <= 0.1
    # Nor is what is proved out of all proportion: the simulated quantile is not that much smaller.
    assert eps <= 10 * np.quantile(far, 0.9)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"directions": [["1"]], "length": 1000}, "for a norm, not for directions"),
        ({"norm": "l2", "lengths": "onwards"}, "for one length"),
        ({"norm": "l2", "method": "moment", "length": 1000}, "is for one query"),
        ({"norm": "l2", "exceeds": "0.3", "length": 50}, "no rule proves a probability below 1"),
    ],
)
def test_what_is_not_proved_is_said(asked: dict[str, Any], words: str, tmp_path: Path) -> None:
    numbers = {"probability": "0.1"} if "exceeds" not in asked else {}
    numbers |= {"exceeds": "0.3"} if "length" not in asked else {}
    with pytest.raises(certattn.CertattnError, match=words):
        certattn.generate("output-tail", tmp_path / "ball.yaml", given=LAWS["an interval"], **asked, **numbers)


def test_a_ball_is_for_gaussian_tokens_so_far(tmp_path: Path) -> None:
    given = {**LAWS["an interval"], "law": {"kind": "box", "sizes": [1]}}
    with pytest.raises(certattn.CertattnError, match="for Gaussian tokens"):
        certattn.generate("output-tail", tmp_path / "b.yaml", given=given, norm="l2", exceeds="0.3", probability="0.1")
