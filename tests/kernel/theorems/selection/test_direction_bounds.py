"""What `selection-direction` states of a run at some steps and of all later ones: cases, sabotages, descent itself."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from corpus import ACCEPT, Cases, check
from flint import arb, fmpq
from mpmath import mp, mpf
from sabotage import Sabotage, noticed

from certattn.kernel.decide.obligation import Range
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosed_descent import descend, every_point
from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.theorems.selection import selection_direction
from certattn.kernel.theorems.selection.direction_bounds import QUANTITIES, StatedBound
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    GROWTH,
    LATERAL,
    NUMERATOR,
    OFFSET,
    SLOPE,
    SQUARE,
)
from certattn.kernel.theorems.selection.mathematics import contracting_tube, local_convergence
from certattn.kernel.theorems.selection.mathematics.contracting_tube import TubeConvergence
from certattn.kernel.theorems.selection.mathematics.global_selection import GlobalBasin
from certattn.kernel.theorems.selection.mathematics.local_convergence import NearbyWeights
from certattn.kernel.theorems.selection.selection_direction import THEOREM
from certattn.provers.selection.selection_direction import generate
from certattn.statements.reports import Report
from certattn.statements.selection.selection_direction import first_of_rate

cases = Cases("bounds_cases")
KINDS = tuple(QUANTITIES)


def forged(kind: str, value: int) -> dict[str, Any]:
    """Of this kind, whatever is enclosed is that."""
    return QUANTITIES[kind]._replace(of=lambda now, found: arb(value))


SABOTAGE: dict[str, Sabotage] = {
    "nothing turns away": (QUANTITIES, "angles", forged("angles", 0), cases.RUN),
    "every weight is 1": (QUANTITIES, "weights", forged("weights", 1), cases.RUN),
    "no loss": (QUANTITIES, "losses", forged("losses", 0), cases.RUN),
    "every norm is large": (QUANTITIES, "norms", forged("norms", 1000), cases.RUN),
    "no step is taken": (selection_direction, "every_one", lambda step, start, steps: [start] * steps, cases.RUN),
    "the best step counts": (
        StatedBound, "worse", lambda self, x, y: x.min(y) if self.relation == "<=" else x.max(y), cases.RUN),
    "a small loss for good": (GlobalBasin, "excess_at", lambda self, elapsed: arb("1e-30"), cases.RUN),
    "every token is selected": (GlobalBasin, "least_weight", lambda self, elapsed: arb(1), cases.RUN),
    "far out for good": (GlobalBasin, "least_norm", lambda self, elapsed: arb(1000), cases.RUN),
    "the weights of a tube": (NearbyWeights, "least_weight", lambda self, level: arb(1), cases.TUBE_BOUNDS),
    "the loss in a tube": (NearbyWeights, "excess", lambda self, level: arb(0), cases.TUBE_BOUNDS),
    "the level in a tube": (contracting_tube, "level_after", lambda *numbers: arb("1e-30"), cases.TUBE_BOUNDS),
    "an angle from below in a tube": (
        TubeConvergence, "least_angle", lambda self, elapsed: arb(1) / 2, cases.TUBE_BOUNDS),
    "a height from above in a tube": (TubeConvergence, "farthest", lambda self, elapsed: arb(1), cases.TUBE_BOUNDS),
    "no way up in a tube": (contracting_tube, "ascent", lambda *numbers: arb(0), cases.TUBE_BOUNDS),
    "no tokens in a tube": (contracting_tube, "topmost", lambda *numbers: arb(0), cases.TUBE_BOUNDS),
    "a weight from above in a tube": (
        TubeConvergence, "most_weight", lambda self, elapsed: arb(0), cases.TUBE_BOUNDS),
    "a loss from below in a tube": (TubeConvergence, "least_gap", lambda self, elapsed: arb(1), cases.TUBE_BOUNDS),
    "a norm from above in a tube": (TubeConvergence, "most_norm", lambda self, elapsed: arb(1), cases.TUBE_BOUNDS),
    "no end from the other side": (
        StatedBound, "between", lambda self, run, elapsed: self.quantity.later(run, elapsed), cases.TUBE_BOUNDS),
    "every rate is large": (selection_direction, "rate_at", lambda *numbers: arb(2), cases.TUBE_BOUNDS),
    "the level nearby": (local_convergence, "level_after", lambda *numbers: arb("1e-30"), cases.LOCAL_BOUNDS),
}  # fmt: skip

test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


@pytest.fixture(scope="module")
def truth(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("truth.local_selection")


def tree_of(text: str) -> Any:
    return yaml.load(text, Loader=yaml.BaseLoader)


# -- the quantities from their definitions


def simulated(given: Any, indices: list[int], steps: int, digits: int = 50) -> list[list[mpf]]:
    """Least weight, loss less its limit, |p| and 1 - cos angle with p_mm = (-10, 100) / 101, of every step."""
    with mp.workdps(digits):
        number = lambda text: mpf(Fraction(text).numerator) / Fraction(text).denominator  # noqa: E731
        keys = [[[number(x) for x in row] for row in rows] for rows in given["keys"]]
        scores = [[number(x) for x in row] for row in given["scores"]]
        point, eta = [number(x) for x in given["start"]], number(given["descent"]["step"])
        loss = lambda x: mp.log(1 + mp.exp(-x))  # noqa: E731
        found = []
        for _ in range(steps + 1):
            weights, gap, slope = [], mpf(0), [mpf(0)] * len(point)
            for rows, gamma, chosen in zip(keys, scores, indices, strict=True):
                masses = [mp.exp(sum(a * b for a, b in zip(row, point, strict=True))) for row in rows]
                shares = [mass / sum(masses) for mass in masses]
                mean = sum(s * g for s, g in zip(shares, gamma, strict=True))
                weights.append(shares[chosen])
                gap += (loss(mean) - loss(gamma[chosen])) / len(keys)
                for c in range(len(point)):
                    change = sum(s * (g - mean) * row[c] for s, g, row in zip(shares, gamma, rows, strict=True))
                    slope[c] -= change / (1 + mp.exp(mean)) / len(keys)
            norm = mp.sqrt(sum(x * x for x in point))
            along = (-point[0] + 10 * point[1]) / mp.sqrt(101)
            found.append([min(weights), gap, norm, 1 - along / norm])
            point = [x - eta * y for x, y in zip(point, slope, strict=True)]
        return found


def sides(report: Report, name: str) -> mpf:
    (text,) = [o["left"] for o in report.obligations if o["name"] == name]
    value = Fraction(text.strip("[").split("+/-")[0].strip())
    return mpf(value.numerator) / value.denominator


def test_what_is_enclosed_is_what_fifty_digits_say(tmp_path: Path) -> None:
    text = next(cases.RUN.cases()).text
    report, run = check(text, tmp_path), simulated(tree_of(text)["given"], [0], 1000)
    weights, gaps, norms, angles = zip(*run, strict=True)
    near = lambda name, value: abs(sides(report, name) - value) < mpf("1e-13")  # noqa: E731
    assert near("weights[0]", weights[3])
    assert near("weights[1].enclosed", min(weights[5:12]))
    assert near("losses[0]", gaps[12])
    assert near("losses[1].enclosed", max(gaps[:12]))
    assert near("norms[0]", norms[3])
    assert near("norms[1]", norms[12])
    assert near("norms[2].enclosed", min(norms[2:12]))
    assert near("angles[0].enclosed", max(angles[5:12]))
    # What theorem A says of later steps, which come near to it: no more than a factor of 6 is lost.
    assert gaps[100] < sides(report, "losses[2]") < 6 * gaps[100]
    assert gaps[1000] < sides(report, "losses[3].later") < 6 * gaps[1000]


def test_every_point_of_a_run_is_enclosed_once(tmp_path: Path) -> None:
    problem = THEOREM.read(loads(next(cases.RUN.cases()).text, tmp_path / "a.yaml"))
    with working_precision(64):
        situation, start = problem.descent().situation, around(problem.start.balls())
        step = problem.rule.on(situation.landscape)
        for steps in (0, 1, 40, 100):
            stops = descend(step, start, steps, range(steps))
            points = list(every_point(step, start, steps))
            assert len(points) == steps
            for k, point in enumerate(points):
                assert all(x.overlaps(y) for x, y in zip(point.box, stops[k].box, strict=True))


def test_a_run_that_is_lost_ends_with_a_point_of_which_nothing_is_known(tmp_path: Path) -> None:
    text = next(cases.RUN.cases()).text.replace("start: [0, 0.5]", "start: {lower: [-9, -9], upper: [9, 9]}")
    problem = THEOREM.read(loads(text, tmp_path / "a.yaml"))
    with working_precision(64):
        descent = problem.descent()
        step = problem.rule.on(descent.situation.landscape)
        assert not list(every_point(step, around(problem.start.balls()), 10**6))[-1].error.is_finite()
        assert not any(value.is_finite() and value.rad() < 1 for value in descent.extremes.values())


# -- descent keeps the bounds of later steps


def instance(rng: np.random.Generator, rule: dict[str, str]) -> dict[str, Any]:
    count, dimension = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    lengths = [int(rng.integers(1, 5)) for _ in range(count)]
    keys = [[[f"{x:.2f}" for x in rng.normal(size=dimension)] for _ in range(length)] for length in lengths]
    scores = [[f"{x:.1f}" for x in rng.normal(size=length)] for length in lengths]
    loss = str(rng.choice(["linear", "logistic", "exponential"]))
    start = [f"{x:.2f}" for x in rng.normal(size=dimension) * rng.choice([1, 5])]
    return {"keys": keys, "scores": scores, "loss": loss, "descent": rule, "start": start}


def state(tree: Any, point: np.ndarray[Any, Any], truth: ModuleType) -> tuple[float, float, float]:
    """Least weight, loss less its limit, |p|: the loss by the gaps, without cancellation."""
    data, weights, gap = truth.Instance(tree), [], 0.0
    for i in range(data.n):
        powers = {j: np.exp(-float(np.dot([float(x) for x in data.z[j]], point))) for j in data.pairs if j[0] == i}
        chosen = 1 / (1 + sum(powers.values()))
        mean = chosen * sum(power * float(data.g[j]) for j, power in powers.items())
        score = float(data.scores[i][data.alpha[i]])
        gap += {
            "linear": mean,
            "logistic": np.log1p(np.expm1(mean) / (1 + np.exp(score))),
            "exponential": np.exp(-score) * np.expm1(mean),
        }[data.loss] / data.n
        weights.append(chosen)
    return min(weights), gap, float(np.linalg.norm(point))


def worst(value: arb | Range) -> float:
    return float(value.worst if isinstance(value, Range) else value)


@pytest.mark.heavy
@pytest.mark.parametrize("theorem", ["global", "every-start", "local", "tube"])
@pytest.mark.parametrize("rule", [{"rule": "gradient", "step": "1/2"}, {"rule": "normalised", "step": "1/20"}])
def test_descent_keeps_the_bounds(theorem: str, rule: dict[str, str], tmp_path: Path, truth: ModuleType) -> None:
    rng, seen = np.random.default_rng(5), 0
    for number in range(40):
        given = instance(rng, rule)
        try:
            certificate = generate(tmp_path / f"{number}.yaml", given=given, theorem=theorem, most_steps=200)
        except (NotProvedError, UsageError):
            continue
        problem, tree = THEOREM.read(certificate), certificate.plain
        if problem.rate_begins is None or problem.rate_begins > 10_000 or "bits" in tree["witness"]:
            continue
        begins, point, before = int(problem.rate_begins), [float(x) for x in given["start"]], 0
        for elapsed in (0, 1, 10, 100, 1000):
            point = truth.descend(tree, point, begins + elapsed - before)
            before = begins + elapsed
            weight, gap, norm = state(tree, point, truth)
            with working_precision(128):
                later, at = problem.conclusion.rate(), fmpq(elapsed)
                assert worst(later.least_weight(at)) <= weight + 1e-9
                assert worst(later.loss_gap(at)) >= gap * (1 - 1e-9)
                assert worst(later.least_norm(at)) <= norm + 1e-9 or norm == 0
                if (both := problem.conclusion.both) is not None:
                    assert float(both().most_weight(at)) >= weight - 1e-9
                    assert float(both().least_gap(at)) <= gap * (1 + 1e-9)
                    assert float(both().most_norm(at)) >= norm - 1e-9
            seen += 1
    assert seen >= 20 or (rule["rule"] == "normalised" and theorem in ("global", "every-start"))


def test_a_rate_is_compared_with_angles_at_whole_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[fmpq] = []
    least = TubeConvergence.least_angle
    monkeypatch.setattr(
        TubeConvergence, "least_angle", lambda self, elapsed: seen.append(elapsed) or least(self, elapsed)
    )
    text = next(cases.TUBE_BOUNDS.cases()).text
    assert check(text.replace("form: root, from: 0,", "form: root, from: 1/2,"), tmp_path).verdict is ACCEPT
    assert fmpq(1) in seen
    assert all(elapsed.q == 1 for elapsed in seen)


# -- from when on a rate says anything


@pytest.mark.parametrize(
    ("numerator", "first"),
    [("0", "12"), ("1", "12"), ("5", "303"), ("34", "1.17e15"), ("60", "2.29e26"), ("100000", "5.62e43429")],
)
def test_a_rate_says_something_from_the_first_step_below_a_right_angle_on(numerator: str, first: str) -> None:
    """3 + (k - 12) / 2 = e^5 at k = 302.8; from k = 12 on 1 / log 3 is below 1."""
    rate: Any = {FROM: fmpq(12), NUMERATOR: fmpq(numerator), OFFSET: fmpq(3), SLOPE: fmpq(1, 2)}
    assert first_of_rate("logarithm", rate) == first


def test_a_rate_with_roots_says_something_from_the_first_step_below_a_right_angle_on() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        lateral, square, growth = (fmpq(int(x), 100) for x in rng.integers(0, 300, 3))
        rate: Any = {
            FROM: fmpq(7),
            LATERAL: lateral,
            SQUARE: square,
            GROWTH: growth,
            OFFSET: fmpq(2),
            SLOPE: fmpq(1, 3),
        }
        first = int(first_of_rate("root", rate))

        def bound(k: int, numbers: Any = (lateral, square, growth)) -> float:
            a, s, g = (float(x.p) / float(x.q) for x in numbers)
            log = np.log(2 + (k - 7) / 3)
            return float(((a + np.sqrt(s + g * log)) / log) ** 2 / 2)

        assert bound(first) < 1
        assert first == 7 or bound(first - 1) >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_bound_has_cases_that_are_accepted(kind: str) -> None:
    stated = [tree_of(case.text)["asserts"].get(kind, []) for case in cases.CASES if case.verdict is ACCEPT]
    assert any("from" in item for items in stated for item in items)
    assert any("step" in item for items in stated for item in items) or kind == "angles"
