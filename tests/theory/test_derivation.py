"""Derivations: every step of every one is proved, and a step without a proof is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.theorems import CHAPTER_OF
from certattn.theory import DERIVATIONS, derivation
from certattn.theory.derivation import Derivation, Step, prove
from certattn.theory.exactness import Check
from certattn.theory.kernel_reading import Kernel

STEPS = [(each.name, step) for each in DERIVATIONS.values() for step in each.steps]


@pytest.mark.parametrize(("name", "step"), STEPS, ids=[f"{name}: {step.title}" for name, step in STEPS])
def test_every_step_is_proved(name: str, step: Step) -> None:
    outcome = prove(step)
    assert outcome.failed == ()
    assert outcome.holds


def test_every_derivation_stands_under_the_name_of_its_claim() -> None:
    assert all(name == each.name for name, each in DERIVATIONS.items())
    assert {"binary64-exponential", "infinite-prompt-operator", "output-deviation"} <= set(DERIVATIONS) <= set(CLAIMS)


def test_steps_of_a_derivation_have_different_titles() -> None:
    for each in DERIVATIONS.values():
        titles = [step.title for step in each.steps]
        assert len(set(titles)) == len(titles) > 0


@pytest.mark.parametrize("claim", CLAIMS)
def test_checks_are_those_of_the_chapter_or_of_all_chapters(claim: str) -> None:
    """What import-linter sees of imports in modules, and not of names in files."""
    text = (Path(derivation.__file__).parent / CHAPTER_OF[claim] / f"{claim}.yaml").read_text(encoding="utf-8")
    for step in yaml.safe_load(text)["steps"]:
        for name in step.get("checks", []):
            assert name.count(".") == 1 or name.startswith(f"{CHAPTER_OF[claim]}."), name


# -- what does not count as proved


def _step(*checks: Check) -> Step:
    return Step("title", "Words.", ("x",), ("x",), lambda kernel: checks)


def test_a_step_that_checks_nothing_is_not_proved() -> None:
    assert not prove(_step()).holds


def test_one_failure_is_enough() -> None:
    outcome = prove(_step(Check("good", True), Check("bad", False), Check("good", True)))
    assert not outcome.holds
    assert outcome.failed == ("bad",)
    assert outcome.proved == 2


def test_truth_must_be_true() -> None:
    assert not prove(_step(Check("almost", 1))).holds  # type: ignore[arg-type]


def test_a_check_that_breaks_down_is_not_proved() -> None:
    def check(kernel: Kernel) -> Iterator[Check]:
        yield Check("good", True)
        raise ZeroDivisionError("no")

    outcome = prove(Step("title", "Words.", ("x",), ("x",), check))
    assert not outcome.holds
    assert outcome.failed == ("ZeroDivisionError: no",)


def test_a_derivation_proves_step_by_step() -> None:
    derivation = Derivation("name", "title", "source", (_step(Check("a", True)), _step(Check("b", False))))
    assert [outcome.holds for outcome in derivation.prove()] == [True, False]
