"""Derivations: every step of every one is proved, and a step without a proof is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from certattn.kernel.decide.checker import CLAIMS
from certattn.theory import DERIVATIONS
from certattn.theory.derivation import Derivation, Step, prove
from certattn.theory.exactness import Check
from certattn.theory.kernel_reading import Kernel

STEPS = [(derivation.name, step) for derivation in DERIVATIONS.values() for step in derivation.steps]


@pytest.mark.parametrize(("name", "step"), STEPS, ids=[f"{name}: {step.title}" for name, step in STEPS])
def test_every_step_is_proved(name: str, step: Step) -> None:
    outcome = prove(step)
    assert outcome.failed == ()
    assert outcome.holds


def test_every_derivation_stands_under_the_name_of_its_claim() -> None:
    assert all(name == derivation.name for name, derivation in DERIVATIONS.items())
    assert {"binary64-exponential", "infinite-prompt-operator", "output-deviation"} <= set(DERIVATIONS) <= set(CLAIMS)


def test_steps_of_a_derivation_have_different_titles() -> None:
    for derivation in DERIVATIONS.values():
        titles = [step.title for step in derivation.steps]
        assert len(set(titles)) == len(titles) > 0


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
