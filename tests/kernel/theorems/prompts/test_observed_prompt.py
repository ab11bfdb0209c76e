"""Checking `observed-prompt`: what is said, that its rule errs as rarely as it says, and broken kernels.

With what kernel.theorems.prompts.stated_supports reads and states.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from corpus import Case, Cases, check
from flint import arb, fmpq
from mpmath import mp, mpf
from sabotage import Sabotage, noticed, true

from certattn.kernel.decide import proof
from certattn.kernel.decide.proof import Outcome
from certattn.kernel.mathematics import betting
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.betting import bets
from certattn.kernel.theorems.prompts import observed_prompt
from certattn.kernel.theorems.prompts.mathematics.supports import BallRegion, BoxRegion, Extreme
from certattn.kernel.theorems.prompts.observed_prompt import ObservedPrompt, other_p_value, p_value

cases = Cases("observed_cases")


def by_name(name: str) -> Case:
    (case,) = [case for case in cases.CASES if case.name.endswith(name)]
    return case


def test_the_statement_says_every_number_and_what_is_assumed(arrays: Path) -> None:
    said = check(by_name("signs with weights").text, arrays).statement
    for piece in (
        "At confidence 0.9", "between at_least = (0.481, -0.058) and at_most = (0.8827, 0.6982)",
        "the l2 norm |T_inf(q) - T_L(q)| is at most 0.4731", "81 tokens", "U = ((1, 0), (0, -1))",
        "the box from (-1, -1) to (1, 1)", "with probability at most 0.1", "chosen without looking at them",
        "differ from position to position", "Assumed, and no part of the proof: the 81 tokens are independent",
    ):  # fmt: skip
        assert piece in said, said


def test_another_prompt_is_said_with_its_length(arrays: Path) -> None:
    said = check(by_name("another prompt").text, arrays).statement
    assert "another prompt of 500 tokens, independent and of one law with these" in said
    assert "<u, T'(q)> between (0.5449) and (0.8615), at this confidence by itself" in said


def test_other_supports_and_directions_are_said_too(arrays: Path) -> None:
    ranges = check(by_name("bounds of scores and outputs").text, arrays).statement
    assert "scores of at most (0.5) at the queries and outputs <u, v> between (-1, -1) and (1, 2)" in ranges
    assert "every u among ((1, 0), (1, -1))" in ranges
    pairs = check(by_name("keys and values in balls").text, arrays).statement
    assert "keys in the ball of radius 1.25 around (0, 0.25) and values in the ball of radius 1.5 around (0)" in pairs
    assert "all 2 queries q" in pairs


# -- the rule


# The number of bets by the length, written out.
@pytest.mark.parametrize(
    ("length", "count"), [(1, 1), (8, 1), (9, 2), (32, 2), (33, 3), (100, 3), (1000, 5), (10**4, 7)]
)
def test_bets_are_of_the_length_alone(length: int, count: int) -> None:
    assert bets(length) == [fmpq(1, 2**k) for k in range(count)]


def p_by_fractions(weights: list[Fraction], outputs: list[Fraction], end: Fraction, least: Fraction) -> Fraction:
    total, stakes = Fraction(0), [Fraction(1, 2**k) for k in range(len(bets(len(weights))))]
    for stake in stakes:
        product = Fraction(1)
        for w, y in zip(weights, outputs, strict=True):
            product *= 1 + stake * w * (y - end) / (end - least)
        total += product
    return len(stakes) / total


# Laws of (w, y) on two or three points with the same average weighted output, 0 < w <= 1, outputs >= -1.
POINTS = {
    "signs": [(Fraction(1, 2), 1, 1), (Fraction(1, 2), Fraction(1, 3), -1)],
    "rarely heavy": [(Fraction(1, 10), 1, 1), (Fraction(9, 10), Fraction(1, 9), 0)],
    "three": [
        (Fraction(1, 4), Fraction(1, 2), -1),
        (Fraction(1, 2), 1, Fraction(1, 4)),
        (Fraction(1, 4), Fraction(1, 5), 2),
    ],
}


@pytest.mark.parametrize("laws", [*itertools.product(POINTS, repeat=2)], ids="+".join)
def test_the_rule_errs_rarely_for_independent_tokens_of_any_laws(laws: tuple[str, str]) -> None:
    """By enumeration: E M(theta) <= 1 and so P(p <= alpha) <= alpha, also where the laws alternate by position."""
    least, length = Fraction(-1), 10
    positions = [POINTS[laws[i % 2]] for i in range(length)]
    if any(len(law) > 2 for law in positions):
        positions = positions[:7]
    theta = sum(p * w * y for law in positions for p, w, y in law) / sum(p * w for law in positions for p, w, y in law)
    wealth = {stake: Fraction(1) for stake in (Fraction(1), Fraction(1, 2), Fraction(1, 4))}
    for law in positions:
        for stake in wealth:
            wealth[stake] *= sum(p * (1 + stake * w * (y - theta) / (theta - least)) for p, w, y in law)
    assert all(mean <= 1 for mean in wealth.values())
    if laws[0] == laws[1]:
        assert all(mean == 1 for mean in wealth.values())
    for alpha in (Fraction(1, 20), Fraction(1, 4)):
        rejected = Fraction(0)
        for drawn in itertools.product(*positions):
            p = p_by_fractions([Fraction(w) for _, w, _ in drawn], [Fraction(y) for _, _, y in drawn], theta, least)
            if p <= alpha:
                chance = Fraction(1)
                for q, _, _ in drawn:
                    chance *= q
                rejected += chance
        assert rejected <= alpha


def test_p_values_are_those_of_fractions_and_of_mpmath_and_grow_with_the_end() -> None:
    rng = np.random.default_rng(5)
    outputs = [Fraction(int(x), 64) for x in rng.integers(-64, 65, size=50)]
    weights = [Fraction(int(x), 256) for x in rng.integers(1, 257, size=50)]
    least, before = Fraction(-5, 4), arb(0)
    with working_precision(128):
        balls = [arb(fmpq(w.numerator, w.denominator)) for w in weights]
        values = [arb(fmpq(y.numerator, y.denominator)) for y in outputs]
        for k in range(1, 12):
            end = least + Fraction(k, 8)
            found = p_value(balls, values, fmpq(end.numerator, end.denominator), Extreme(fmpq(5, 4), fmpq(0)))
            exact = min(p_by_fractions(weights, outputs, end, least), Fraction(1))
            assert found.overlaps(arb(fmpq(exact.numerator, exact.denominator)))
            assert before < found or exact == 1
            before = found
            with mp.workdps(40):
                rooted = p_value(balls, values, fmpq(end.numerator, end.denominator), Extreme(fmpq(0), fmpq(25, 16)))
                assert (
                    abs(mpf(str(rooted.mid().str(30, radius=False))) / (mpf(exact.numerator) / exact.denominator) - 1)
                    < 1e-25
                )


def test_wealth_that_is_lost_is_no_evidence() -> None:
    with working_precision(64):
        # One token of the least output: all of the one bet is lost, whatever the end.
        assert p_value([arb(1)], [arb(-1)], fmpq(0), Extreme(fmpq(1), fmpq(0))) == 1


def test_no_output_lies_below_the_least() -> None:
    with working_precision(64):
        for end in (fmpq(-3), fmpq(-1)):
            assert p_value([arb(1)], [arb(0)], end, Extreme(fmpq(1), fmpq(0))) == 0
        # At the least output itself, which is no rational number to the eye: 1/3 + sqrt(4/9).
        unknown = p_value([arb(1)], [arb(0)], fmpq(-1), Extreme(fmpq(1, 3), fmpq(4, 9)))
    assert not (unknown < fmpq(1, 2))


def test_regions_hold_their_points_and_their_largest_value_is_met() -> None:
    rng = np.random.default_rng(3)
    box = BoxRegion([fmpq(-1), fmpq(0)], [fmpq(2), fmpq(1, 2)])
    ball = BallRegion([fmpq(1), fmpq(-1)], fmpq(3, 2))
    for _ in range(200):
        row = [fmpq(int(x), 7) for x in rng.integers(-9, 10, size=2)]
        v = np.array([float(x.p) / float(x.q) for x in row])
        corners = max(v @ np.array(c) for c in itertools.product((-1, 2), (0, 0.5)))
        assert float(box.largest(row).rational.p) / float(box.largest(row).rational.q) == pytest.approx(corners)
        found = ball.largest(row)
        top = (
            float(found.rational.p) / float(found.rational.q) + (float(found.squared.p) / float(found.squared.q)) ** 0.5
        )
        assert top == pytest.approx(v @ [1, -1] + 1.5 * np.linalg.norm(v))


# -- broken kernels


def corner_of(point: list[fmpq], row: list[fmpq]) -> Extreme:
    return Extreme(sum((x * y for x, y in zip(row, point, strict=True)), fmpq(0)), fmpq(0))


SABOTAGE: dict[str, Sabotage] = {
    "every inequality holds": (proof, "decide", lambda left, relation, right: Outcome.PROVED),
    "nothing is looked at": (observed_prompt, "Obligation", true),
    "no union over sides, queries and directions": (ObservedPrompt, "chance", property(lambda self: self.probability)),
    "no union over queries": (
        ObservedPrompt, "chance", property(lambda self: self.probability / (2 * self.directions.rows))),
    "one bet": (betting, "bets", lambda length: [fmpq(1)]),
    "the best bet alone": (betting, "bets", lambda length: [fmpq(1, 4)]),
    "bets of debtors": (betting, "bets", lambda length: [fmpq(3, 2), fmpq(1), fmpq(1, 2)]),
    "any token is in a box": (BoxRegion, "margin", lambda self, points: fmpq(0)),
    "any token is in a ball": (BallRegion, "margin", lambda self, points: fmpq(0)),
    "a ball is a point": (BallRegion, "largest", lambda self, row: corner_of(self.centre, row)),
    "a box has one corner": (BoxRegion, "largest", lambda self, row: corner_of(self.high, row)),
    "all weights are one": (ObservedPrompt, "weights", lambda self, query: [arb(1)] * self.prompt.length),
    "the scale is one": (ObservedPrompt, "factor", property(lambda self: fmpq(1))),
    "another prompt is the limit": (
        observed_prompt, "other_p_value", lambda *at, length, share: p_value(*at), cases.ANOTHER),
    "another prompt is one token": (
        observed_prompt, "other_p_value", lambda *at, length, share: other_p_value(*at, 1, share), cases.ANOTHER),
    "another prompt has no share of its own": (
        observed_prompt, "other_p_value", lambda *at, length, share: other_p_value(*at, length, 2 * share),
        cases.ANOTHER),
    "nothing is below another output": (
        observed_prompt, "other_p_value", lambda *at, length, share: arb(0), cases.ANOTHER),
    "distances are 0": (observed_prompt.NORMS, "l2", lambda vector: arb(0)),
    "linf distances are 0": (observed_prompt.NORMS, "linf", lambda vector: arb(0)),
    "nothing is below the output": (observed_prompt, "p_value", lambda weights, outputs, end, most: arb(0)),
}  # fmt: skip

test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
