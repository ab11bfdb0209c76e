"""The second checker on the accept and reject cases of claims about training and descent, and its broken parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus import ACCEPT, Case, Family, every_family

sys.path.append(str(Path(__file__).parents[3]))
from tools.arena.checkers import RECHECK_EXCUSED
from tools.fuzz.two_readers import recheck

# How many of the cases it leaves out at least, and at most: those whose kinds its page names.
LEFT_OUT = {
    "full-batch-descent": range(1),
    "flow-trajectory": range(1),
    "training-convergence": range(1),
    "theorem-4-3": range(20, 40),
    "risk-gap": range(20, 80),
    "selection-direction": range(200, 240),
}
FAMILIES = [family for family in every_family() if family.claim in LEFT_OUT]


def said(case: Case, folder: Path) -> str:
    (folder / "case.yaml").write_text(case.text)
    verdict: str = recheck.check(folder / "case.yaml", 60)[0]
    return verdict


def differences(families: list[Family], folder: Path) -> Iterator[str]:
    """Cases that it decides otherwise than the kernel, and what it says of them."""
    for family in families:
        for case in family.cases():
            found, name = said(case, folder), f"{family.claim}: {case.name}"
            if found != "not covered" and (found == "verified") != (case.verdict is ACCEPT):
                yield f"{name}: {found}"


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.claim}: {family.title}")
def test_it_says_what_the_kernel_says(family: Family, arrays: Path) -> None:
    found = [line for line in differences([family], arrays) if line.rsplit(": ", 1)[0] not in RECHECK_EXCUSED]
    assert not found


@pytest.mark.heavy
@pytest.mark.parametrize("claim", LEFT_OUT)
def test_it_leaves_out_what_its_page_says(claim: str, arrays: Path) -> None:
    cases = [case for family in FAMILIES if family.claim == claim for case in family.cases()]
    assert sum(said(case, arrays) == "not covered" for case in cases) in LEFT_OUT[claim]


def times(factor: Any) -> Callable[[Any], Callable[..., Any]]:
    """Of a function one that returns so much of it."""
    return lambda true: lambda *given, **named: true(*given, **named) * factor


HALF, TWICE = times(recheck.Fraction(1, 2)), times(2)
# A family, a part of the second checker, and what is put in its place.
BROKEN: dict[str, tuple[str, Any, str, Callable[[Any], Any]]] = {
    "fourth moments of prompts": ("all on the same prompts", recheck.tubes, "chi_moment", HALF),
    "curvature from above": ("four steps on the line", recheck.Place, "reach", HALF),
    "the floor of the curvature": (
        "three steps in the plane, all", recheck.Place, "floor", lambda true: lambda self, r, w: true(self, r, w) + 1),
    "the root of the gradient": ("where a run on the line", recheck.tubes, "gradient_form", TWICE),
    "the gradient has another sign": (
        "a start in the plane", recheck.Flow, "expanded",
        lambda true: lambda self, size: true(self, size * recheck.Fraction(9999, 10000))),
    "tubes": ("a balanced start", recheck.Tube, "include", lambda true: lambda self, distance: None),
    "rates": ("the flow in the plane", recheck.Rate, "__call__", times(recheck.Fraction(11, 10))),
    "lengths": ("the flow in the plane", recheck.Rate, "length", HALF),
    "curvature of descent": ("descent in the plane", recheck.Rate, "curvature", HALF),
    "means of a class": ("gradient flow for quadratic losses", recheck.Tokens, "mean", HALF),
    "third moments of a class": ("gradient flow for convex losses", recheck.Tokens, "third", HALF),
    "constants of a law": (
        "over tokens of a stated law", recheck.classes, "gaussian",
        lambda true: lambda cov: [x / 2 for x in true(cov)]),
    "products of inputs": (
        "equal scores, from every start", recheck.directions, "every_start",
        lambda true: lambda of, h, flow: recheck.iv(1)),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_part_is_noticed(name: str, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    title, where, part, broken = BROKEN[name]
    families = [family for family in FAMILIES if title in family.title]
    assert families
    monkeypatch.setattr(where, part, broken(getattr(where, part)))
    assert next(differences(families, arrays), None)
