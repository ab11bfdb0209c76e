"""The probability by inversion of the characteristic function, against others and simulated scores."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from flint import arb

from certattn.kernel.mathematics.balls import normal_tail, working_precision
from certattn.kernel.mathematics.capped_sums import Plane
from certattn.kernel.theorems.prompts.mathematics.tail_inversion import WeightedPart, inverted, nodes_of

BITS = 64


def plane(s: float, c: float, sigma: float, eps: float, alpha: float | None = None, mu: float | None = None) -> Plane:
    """A Gaussian of mean 0 under its tilt, or a part with its own height."""
    sign = int(c > 0) - int(c < 0)
    return Plane(
        arb(-s * s / 2 if alpha is None else alpha),
        arb(-c * s - eps if mu is None else mu),
        arb(s),
        arb(c),
        arb(sigma),
        s == 0,
        sigma == 0,
        sign,
    )


def enclosed(parts: list[WeightedPart], length: int, step: float, terms: int) -> arb:
    with working_precision(BITS):
        found = inverted(parts, length, arb(step), terms, BITS)
    assert found is not None
    return found


def test_equal_weights_give_a_normal_tail() -> None:
    """s = 0: the mean of 50 normals exceeds 0.3 with probability Q(0.3 sqrt 50)."""
    found = enclosed([WeightedPart(arb(1), plane(0, 0, 1, 0.3))], 50, 0.02, 200)
    with working_precision(BITS):
        known = normal_tail(arb(0.3) * arb(50).sqrt())
    assert abs(float(found - known)) < 1e-12
    assert float(found.rad()) < 1e-8


# What is left out by |S| >= 2 pi/D is counted by the rule, not here: steps are small.
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("s", "c", "sigma", "eps", "length", "step", "terms"),
    [
        (0.5, 0.0, 1.0, 0.3, 30, 0.01, 400),
        (1.0, 0.6, 0.8, 0.4, 60, 0.005, 600),
        (1.0, -0.6, 0.8, 0.3, 60, 0.005, 600),
        (0.5, 2.0, 0.4, 0.8, 40, 0.005, 800),
    ],
)
def test_simulated_scores_agree(
    s: float, c: float, sigma: float, eps: float, length: int, step: float, terms: int
) -> None:
    """Given the scores the mean is normal: half a million sets of scores, within four standard errors."""
    found = enclosed([WeightedPart(arb(1), plane(s, c, sigma, eps))], length, step, terms)
    draw = np.random.default_rng(7)
    chances = []
    for _ in range(10):
        g = draw.standard_normal((50_000, length))
        p = np.exp(s * g)
        p /= p.sum(1, keepdims=True)
        height = (eps - c * ((p * g).sum(1) - s)) / (sigma * np.sqrt((p * p).sum(1)))
        chances.append([math.erfc(x / math.sqrt(2)) / 2 for x in height])
    known = np.concatenate(chances)
    assert abs(float(found) - known.mean()) < 4 * known.std() / math.sqrt(len(known)) + float(found.rad())


def test_parts_of_a_mixture_that_are_one_law_change_nothing() -> None:
    whole = enclosed([WeightedPart(arb(1), plane(1, 0.5, 0.8, 0.3))], 80, 0.01, 300)
    halves = enclosed([WeightedPart(arb(x), plane(1, 0.5, 0.8, 0.3)) for x in (0.25, 0.75)], 80, 0.01, 300)
    assert whole.overlaps(halves)


@pytest.mark.parametrize(
    ("s", "c", "sigma", "mu"), [(1.0, 0.5, 0.8, -0.7), (0.3, -1.0, 0.5, 0.2), (2.0, 0.0, 1.0, -0.3)]
)
def test_nodes_enclose_the_characteristic_function(s: float, c: float, sigma: float, mu: float) -> None:
    """Against a sum with another step over a longer line, in floats."""
    part = WeightedPart(arb(1), plane(s, c, sigma, 0, alpha=-s * s / 2, mu=mu))
    with working_precision(BITS):
        nodes = nodes_of(part, BITS)
        assert nodes is not None
        for t in (0.01, 0.3, 2.0, 9.0):
            found = nodes.at(arb(t))
            g = np.arange(-12, 12, 0.0031)
            w = np.exp(s * g - s * s / 2)
            known = 0.0031 * np.sum(
                np.exp(-g * g / 2 + 1j * t * w * (mu + c * g) - (t * w * sigma) ** 2 / 2) / math.sqrt(2 * math.pi)
            )
            assert abs(complex(found) - known) < 1e-9
            assert float(found.real.rad()) < 1e-9


@pytest.mark.heavy
def test_lengths_that_suffice_and_those_that_do_not_are_next_to_each_other(tmp_path: Path) -> None:
    import certattn

    law = {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 1]]}
    asked = {"law": law, "tilt": [1, 0], "directions": [["0.9", "0.3"]], "exceeds": "0.3"}
    enough = certattn.generate("output-tail", tmp_path / "a.yaml", probability="0.01", method="inversion", **asked)
    short = certattn.generate("output-tail", tmp_path / "b.yaml", at_least="0.01", **asked)
    assert all(certattn.check(tmp_path / name).verdict is certattn.Verdict.VERIFIED for name in ("a.yaml", "b.yaml"))
    lengths = [int(str(one.plain["given"]["length"])) for one in (short, enough)]  # type: ignore[call-overload, index]
    assert lengths[0] < lengths[1] <= lengths[0] + 3
