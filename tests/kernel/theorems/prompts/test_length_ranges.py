"""Ranges of lengths: E f(T_L - T)/L falls by enumeration, and what is proved of every length is so at each.

The ranges of kernel.theorems.prompts.length_ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

import certattn
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts import gradient_tail, output_mean_square, output_tail

Array = np.ndarray[Any, Any]

CONVEX: dict[str, Callable[[Array], Array]] = {
    "the square": lambda y: (y**2).sum(-1),
    "the eighth power": lambda y: (y**2).sum(-1) ** 4,
    "linf": lambda y: np.abs(y).max(-1),
    "what exceeds a level": lambda y: np.maximum(np.abs(y).max(-1) - 0.4, 0),
    "one side of one coordinate": lambda y: np.maximum(y[:, 0], 0),
    "an exponential": lambda y: np.exp(y[:, 0]),
}
LAWS = [
    # points, weights, tilt
    ([[0.0, 1.0], [2.0, -1.0], [-1.0, 0.5]], [0.5, 0.3, 0.2], [1.0, -0.5]),
    ([[0.0, 0.0], [0.5, 0.0], [9.0, 0.1]], [0.5, 0.49, 0.01], [-0.7, 3.0]),
    ([[3.0, 1.0], [-3.0, 1.0]], [0.99, 0.01], [-1.5, 0.0]),
]


def outputs(points: Array, weights: Array, tilt: Array, length: int) -> tuple[Array, Array, Array]:
    """The chance of every multiset of tokens, T_L - T, and sum p_i^2."""
    scored = np.exp(points @ tilt)
    limit = (weights * scored) @ points / (weights @ scored)
    kinds = list(combinations_with_replacement(range(len(points)), length))
    counts = np.array([np.bincount(kind, minlength=len(points)) for kind in kinds])
    ways = np.array([math.factorial(length) / math.prod(map(math.factorial, map(int, row))) for row in counts])
    mass = counts @ scored
    chance = ways * np.prod(weights**counts, axis=1)
    return chance, (counts * scored) @ points / mass[:, None] - limit, (counts @ scored**2) / mass**2


@pytest.mark.parametrize(("points", "weights", "tilt"), LAWS)
def test_means_over_the_length_fall(points: Any, weights: Any, tilt: Any) -> None:
    found: dict[str, list[float]] = {}
    for length in range(1, 16):
        chance, errors, collision = outputs(np.array(points), np.array(weights), np.array(tilt), length)
        assert chance.sum() == pytest.approx(1)
        for name, f in CONVEX.items():
            found.setdefault(name, []).append(float(chance @ f(errors)) / length)
        found.setdefault("collision", []).append(float(chance @ collision) / length)
    for name, values in found.items():
        assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(values)), name


GAUSSIAN = "law: {kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}, tilt: [1, -1/2], V: [[1, 0], [1, 2]]"
SIGNS = "law: {kind: rademacher, sizes: [1, 1/2]}, tilt: [1, 2]"
ASKED = {
    "output-mean-square": (output_mean_square, "{mean_square: {at_most: 1}}", "{method: exact%s}"),
    "output-tail": (
        output_tail, "{norm: {norm: l2, exceeds: 1, probability: 1/2}}", "{norm: {method: mean-square%s}}"
    ),
    "output-tail, by a moment": (
        output_tail, "{norm: {norm: l2, exceeds: 1, probability: 1/2}}", "{norm: {method: moment, order: 4%s}}"
    ),
    "gradient-tail": (
        gradient_tail, "{gradient: V, exceeds: 1, probability: 1/2}", "{method: moment, order: 6%s}"
    ),
}  # fmt: skip


def bound(claim: str, given: str, length: str, starts: str) -> arb:
    module, asserts, witness = ASKED[claim]
    text = f"""certattn: 1
claim: {claim.partition(",")[0]}
given: {{{given}, length: {length}}}
asserts: {asserts}
witness: {witness % starts}
"""
    with working_precision(128):
        (obligation,) = module.obligations(module.read(loads(text, Path("case.yaml"))))  # type: ignore[attr-defined]
        found = obligation.left() if callable(obligation.left) else obligation.left
        assert isinstance(found, arb)
        return found


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("claim", "given"),
    [*((claim, GAUSSIAN) for claim in ASKED), ("output-mean-square", SIGNS), ("output-tail", SIGNS)],
)
def test_ranges_bound_the_exact_number_at_each_length(claim: str, given: str) -> None:
    ranged = bound(claim, given, "{at_least: 20}", ", from: [20, 22, 40, 5000]")
    for length in (20, 21, 22, 30, 39, 40, 41, 1000, 4999, 5000, 100_000):
        assert bound(claim, given, str(length), "") <= ranged, length


@pytest.mark.heavy
def test_simulated_prompts_of_every_length_keep_the_bound(tmp_path: Path) -> None:
    """P(|T_L - T| > eps) from 20,000 prompts each, at the first length and at longer ones."""
    law = {"kind": "gaussian", "mean": [0, 0, 0, 0], "covariance": np.eye(4).tolist()}
    given = {"law": law, "tilt": ["1/2", "1/2", "0", "0"]}
    out = tmp_path / "tail.yaml"
    made: Any = certattn.generate("output-tail", out, given=given, norm="l2", exceeds="0.5", probability="1/10").plain
    assert made["witness"]["norm"]["method"] == "moment"
    assert certattn.check(out).verdict.value == "verified"
    first, draw = int(made["given"]["length"]["at_least"]), np.random.default_rng(1)
    tilt = np.array([0.5, 0.5, 0, 0])
    for length in (first, first + 1, 2 * first, 4 * first):
        x = draw.standard_normal((20_000, length, 4)).astype(np.float32)
        p = np.exp(x @ tilt)
        far = np.linalg.norm(np.einsum("nl,nld->nd", p / p.sum(1, keepdims=True), x) - tilt, axis=1) > 0.5
        assert far.mean() <= 0.1, length


@pytest.mark.heavy
def test_ranges_are_not_longer_than_without_them(tmp_path: Path) -> None:
    """The length from which on a norm is bounded by moments is about that at which one length is."""
    law = {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 1]]}
    asked: Any = {"norm": "l2", "exceeds": "0.4", "probability": "1/20", "method": "moment"}
    lengths = []
    for which in ("one", "onwards"):
        out = tmp_path / f"{which}.yaml"
        made: Any = certattn.generate(
            "output-tail", out, given={"law": law, "tilt": ["1", "0"]}, lengths=which, **asked
        )
        length = made.plain["given"]["length"]
        lengths.append(int(length["at_least"] if which == "onwards" else length))
    assert lengths[0] < lengths[1] <= 1.04 * lengths[0]
