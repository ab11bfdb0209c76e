"""Theorems D and F of `selection-direction`: cases, a second evaluation of every condition, and descent itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from corpus import ACCEPT, MALFORMED, REJECTED, Cases, Family, check
from flint import arb
from mpmath import mpf

from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.selection.mathematics import local_convergence
from certattn.provers.selection.selection_direction import Search, read_setting, stated
from certattn.provers.selection.selection_theorems import applicable
from certattn.statements.reports import Report

cases = Cases("local_cases")


@pytest.fixture(scope="module")
def truth(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("truth.local_selection")


# -- a second evaluation of every condition


def tree_of(text: str) -> Any:
    """The plain tree: every scalar a text."""
    return yaml.load(text, Loader=yaml.BaseLoader)


def written(tree: Any) -> str:
    """Our reader takes scalars as texts, quoted or not."""
    return yaml.dump(tree, default_flow_style=None, width=100)


def point_of(tree: Any, truth: ModuleType) -> Any:
    """p(K), in doubles as far as steps are walked, exact otherwise."""
    start = tree["given"]["start"]
    if isinstance(start, dict):
        return None
    steps = int(tree["witness"].get("steps", "0"))
    if steps == 0:
        return [truth._number(x) for x in start]
    return [mpf(float(x)) for x in truth.descend(tree, [float(Fraction(x)) for x in start], steps)]


def number(text: str) -> mpf:
    value = Fraction(text.strip("[").split("+/-")[0].strip() or "0")
    return mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda family: family.title)
def test_every_condition_agrees_with_a_second_evaluation(family: Family, arrays: Path, truth: ModuleType) -> None:
    for case in family.cases():
        if case.verdict is not ACCEPT or "box" in case.name:
            continue
        tree = tree_of(case.text)
        expected = truth.conditions(tree, point_of(tree, truth))
        report = check(case.text, arrays)
        name = tree["witness"]["theorem"]["name"]
        found = {o["name"].split(".", 1)[1]: o for o in report.obligations if o["name"].startswith(f"{name}.")}
        assert set(found) == set(expected)
        for condition, (left, relation, right) in expected.items():
            assert found[condition]["relation"] == relation
            for side, value in (("left", left), ("right", right)):
                assert abs(number(found[condition][side]) - value) <= mpf("1e-6") * max(abs(value), mpf("1e-9"))


def numbers(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers of the theorem's parameters stand."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from numbers(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from numbers(value, (*path, index))
    elif path[-1] != "name":
        yield path


@pytest.mark.parametrize("family", cases.FAMILIES[1:4], ids=lambda family: family.title)
def test_changed_numbers_of_the_proof_are_accepted_just_where_its_conditions_hold(
    family: Family, arrays: Path, truth: ModuleType
) -> None:
    text = next(iter(family.cases())).text
    verdicts = set()
    for path in numbers(tree_of(text)["witness"]["theorem"]):
        for factor in ("0", "-1", "1/2", "0.9", "0.999", "1.001", "1.1", "2", "100", "1e-9", "1e9"):
            tree = tree_of(text)
            place = tree["witness"]["theorem"]
            for key in path[:-1]:
                place = place[key]
            changed = Fraction(place[path[-1]]) * Fraction(factor)
            place[path[-1]] = str(changed)
            # Angles rest on these numbers too: only whether descent converges is judged here.
            tree["asserts"] = {"indices": tree["asserts"]["indices"]}
            verdict = check(written(tree), arrays).verdict
            if verdict is MALFORMED:
                assert changed <= 1
                continue
            expected = all(map(truth.holds, truth.conditions(tree, point_of(tree, truth)).values()))
            assert verdict is (ACCEPT if expected else REJECTED), (path, factor)
            verdicts.add(verdict)
    assert verdicts == {ACCEPT, REJECTED}


# -- a falsehood that one condition alone prevents


def test_without_the_factors_a_falsehood_would_verify(
    arrays: Path, truth: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = [case for case in cases.MANY_GOOD.cases() if "factors" in case.name]
    assert check(case.text, arrays).verdict is REJECTED
    end = truth.descend(tree_of(case.text.replace("1/1000", "1")), [0.5, 0.0], 3000)
    # The bad token, of difference (3/2, 3), has taken over.
    assert end @ [1.5, 3] < -5
    believed = property(lambda self: arb(1), lambda self, computed: None)
    monkeypatch.setattr(local_convergence.NearbyWeights, "smallest_factor", believed, raising=False)
    assert check(case.text, arrays).verdict is ACCEPT


# -- descent itself


@dataclass(frozen=True)
class Instance:
    """A random instance as certificates write it, and a start."""

    given: dict[str, Any]
    lengths: list[int]


def random_instance(rng: np.random.Generator, rule: dict[str, str]) -> Instance:
    count, dimension = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    lengths = [int(rng.integers(2, 4)) for _ in range(count)]
    keys = [[[f"{x:.2f}" for x in rng.normal(size=dimension)] for _ in range(length)] for length in lengths]
    scores = [[f"{x:.2f}" for x in rng.normal(size=length)] for length in lengths]
    loss = str(rng.choice(["linear", "logistic", "exponential"]))
    start = [f"{x:.2f}" for x in rng.normal(size=dimension) * rng.choice([3, 10, 30])]
    given = {"keys": keys, "scores": scores, "loss": loss, "descent": rule, "start": start}
    return Instance(given, lengths)


def proved_selections(instance: Instance, folder: Path) -> list[tuple[Any, Report]]:
    """A certificate with its report for every choice of tokens that the theorem shows descent to select at once."""
    found = []
    for indices in itertools.product(*map(range, instance.lengths)):
        draft = {"certattn": "1", "claim": "selection-direction", "given": instance.given, "asserts": {}}
        setting = read_setting(loads(written(draft), folder / "draft.yaml"))
        try:
            run = Search(setting, indices, None).run(indices)
        except NotProvedError:
            continue
        with working_precision(64):
            choice = applicable(run.situation(setting.start.balls()), "local")
        if choice is None:
            continue
        asserts, witness = stated(run, choice, limit=True)
        asserts["angles"] = [{"step": "2000", "at_most": "1"}]
        tree: Any = {**draft, "asserts": asserts, "witness": witness}
        found.append((tree, check(written(tree), folder)))
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("rule", [{"rule": "gradient", "step": "1/2"}, {"rule": "normalised", "step": "1/100"}])
def test_no_point_is_certified_for_two_selections_and_descent_keeps_the_bounds(
    rule: dict[str, str], arrays: Path, truth: ModuleType
) -> None:
    rng, certified = np.random.default_rng(11), 0
    for _ in range(70):
        found = proved_selections(random_instance(rng, rule), arrays)
        assert len(found) <= 1
        for tree, report in found:
            assert report.verdict is ACCEPT
            certified += 1
            end = truth.descend(tree, [float(x) for x in tree["given"]["start"]], 2000)
            (bound,) = [o["left"] for o in report.obligations if o["name"] == "angles[0]"]
            assert truth.loose(tree, end) <= float(number(bound)) + 1e-9
    assert certified >= 8
