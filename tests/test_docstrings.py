"""Docstrings of what is public: in the form of numpydoc, with examples that run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

from certattn.kernel.theorems import module_of
from certattn.provers import PROVERS

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = [
    *(f"certattn.{name}" for name in ("check", "check_all", "exit_status", "generate", "load", "plot")),
    *(f"certattn.testing.{name}" for name in ("assert_attention_close", "attention_error")),
]
CLASSES = [f"certattn.{name}" for name in ("Certificate", "Enclosure", "Obligation", "Report")]
GENERATE = {claim: f"{module_of('provers', claim)}.generate" for claim in PROVERS}
EXCUSED = {
    "certattn.exit_status": {"EX01"},
    # Those of the other function are not described again.
    "certattn.testing.assert_attention_close": {"PR01"},
}
# Of the house: the summary begins beside the quotes, and says all where nothing more is to be said.
LEFT = {"GL01", "ES01", "SA01", "SS06", "PR10", "RT02"}
CODES = set(ERROR_MSGS) - LEFT


def errors(name: str, left: set[str]) -> list[tuple[str, str]]:
    return [(code, message) for code, message in validate(name)["errors"] if code in CODES - left]


@pytest.mark.parametrize("name", [*FUNCTIONS, *GENERATE.values()])
def test_functions_are_described(name: str) -> None:
    assert errors(name, EXCUSED.get(name, set())) == []


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_described(name: str) -> None:
    """Their attributes are; nobody calls them."""
    assert errors(name, {"EX01", "PR01"}) == []


@pytest.mark.parametrize("claim", GENERATE)
def test_provers_say_what_they_raise_and_where_it_is_proved(claim: str) -> None:
    described = get_doc_object(PROVERS[claim])
    assert described["Raises"]
    pages = [word for line in described["References"] for word in line.split() if word.startswith("docs/")]
    assert pages
    assert all((ROOT / page.rstrip(".,")).is_file() for page in pages)


# What is computed there takes seven seconds, and the page of its claim computes the like.
HEAVY = {"certattn.provers.training.risk_gap.generate", "certattn.provers.training.risk_transfer.generate"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.heavy] if name in HEAVY else [])
        for name in [*FUNCTIONS, *CLASSES, *GENERATE.values()]
    ],
)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    module, _, attribute = name.rpartition(".")
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(getattr(importlib.import_module(module), attribute), name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
