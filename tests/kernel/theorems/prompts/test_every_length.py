"""`length: {at_least: L}`: what is proved of every length is so at each, by enumeration and length by length."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy.stats import binom

import certattn
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts import output_tail

TWO_ATOMS = [
    # points, weights, tilt, exceeds, probability
    ((0.0, 1.0), (0.75, 0.25), 1.0, 0.2, "1/20"),
    ((-1.0, 2.0), (0.5, 0.5), 0.5, 0.5, "1/100"),
    ((-1.0, 3.0), (0.9375, 0.0625), 0.75, 0.5, "1/50"),
    ((0.0, 4.0), (0.96875, 0.03125), -0.25, 0.25, "1/10"),
]


def probability(points: Any, weights: Any, tilt: float, eps: float, length: int) -> float:
    """P(T_L - T > eps) for two atoms: T_L is a function of how many tokens are the second one."""
    scored = np.exp(tilt * np.array(points))
    limit = float(np.dot(np.array(weights) * scored, points) / np.dot(weights, scored))
    many = np.arange(length + 1)
    mass = (length - many) * scored[0] + many * scored[1]
    output = ((length - many) * scored[0] * points[0] + many * scored[1] * points[1]) / mass
    return float(binom.pmf(many, length, weights[1])[output - limit > eps].sum())


@pytest.mark.heavy
@pytest.mark.parametrize(("points", "weights", "tilt", "eps", "delta"), TWO_ATOMS)
def test_two_atoms_by_enumeration(
    points: Any, weights: Any, tilt: float, eps: float, delta: str, tmp_path: Path
) -> None:
    law = {
        "kind": "atoms",
        "points": [[str(Fraction(x))] for x in points],
        "weights": [str(Fraction(w)) for w in weights],
    }
    made: Any = certattn.generate(
        "output-tail",
        tmp_path / "tail.yaml",
        given={"law": law, "tilt": [str(Fraction(tilt))]},
        directions=[["1"]],
        exceeds=str(Fraction(eps)),
        probability=delta,
    ).plain
    assert certattn.check(tmp_path / "tail.yaml").verdict.value == "verified"
    first = int(made["given"]["length"]["at_least"])
    every = [probability(points, weights, tilt, eps, length) for length in range(first, 20 * first)]
    assert max(every) <= float(Fraction(delta))
    # It says something: some shorter prompt does exceed more often.
    shorter = [probability(points, weights, tilt, eps, length) for length in range(1, first)]
    assert max(shorter) > float(Fraction(delta)) / 20


LAWS = {
    "gaussian": "{kind: gaussian, mean: [0, 1], covariance: [[1, 1/4], [1/4, 1/2]]}",
    "box": "{kind: box, sizes: [1, 1/2]}",
    "skew atoms": "{kind: atoms, points: [[0, 0], [0, 4], [1, -1/2]], weights: [3/4, 1/20, 1/5]}",
}
RULES = {
    "cantelli": "{rule: cantelli}",
    "moment": "{rule: moment, order: 6}",
    "chernoff": "{rule: chernoff, lambda: 1/8, order: 4}",
    "truncated": "{rule: truncated, lambda: 1/8, cap: 30}",
}


# Chernoff's rule with an order is for bounded laws, caps for the others.
APPLY = [
    (law, rule)
    for law in LAWS
    for rule in RULES
    if {"chernoff": law == "box", "truncated": law != "box"}.get(rule, True)
]


def bound(law: str, length: str, rule: str) -> arb:
    text = f"""certattn: 1
claim: output-tail
given: {{law: {law}, tilt: [1/2, 1/2], length: {length}}}
asserts: {{directions: [{{direction: [1, -1/3], exceeds: 1/4, probability: 1/2}}]}}
witness: {{directions: [{rule}]}}
"""
    with working_precision(128):
        (obligation,) = output_tail.obligations(output_tail.read(loads(text, Path("case.yaml"))))
        found = obligation.left() if callable(obligation.left) else obligation.left
        assert isinstance(found, arb)
        return found


@pytest.mark.parametrize(("law", "rule"), APPLY)
def test_a_range_bounds_what_the_rule_gives_at_each_length(law: str, rule: str) -> None:
    first, last = 60, 90
    ranged = bound(
        LAWS[law],
        f"{{at_least: {first}}}",
        # What comes after the range is small, and the largest of both is that of the range.
        f"{{rule: by-length, from: [{first}, {last + 1}], rules: [{RULES[rule]}, {RULES['moment']}]}}",
    )
    later = bound(LAWS[law], f"{{at_least: {last + 1}}}", RULES["moment"])
    for length in range(first, last + 1, 3):
        one = bound(LAWS[law], str(length), RULES[rule])
        assert one <= ranged or one.overlaps(ranged), length
    for length in (last + 1, 3 * last, 1000 * last):
        one = bound(LAWS[law], str(length), RULES["moment"])
        assert one <= later or one.overlaps(later), length
