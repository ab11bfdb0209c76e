"""The gallery: every certificate verifies, says what it should, and says what its script makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn.cli.main import run
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.limits import DEFAULT_LIMITS

ROOT = Path(__file__).resolve().parent.parent
Tool = Callable[[str], ModuleType]
GALLERY = ROOT / "certificates"
CERTIFICATES = sorted(GALLERY.rglob("*.yaml"))
FAMILIES = sorted(path.relative_to(GALLERY).as_posix() for path in GALLERY.glob("*/*") if path.is_dir())
# Checking them takes seconds.
HEAVY = {
    "attention/cache-error", "attention/output-deviation", "prompts/output-mean-square", "prompts/output-tail",
    "selection/selection-direction", "training/descent-trajectory", "training/flow-trajectory",
}  # fmt: skip


@pytest.mark.parametrize(
    "family", [pytest.param(each, marks=[pytest.mark.heavy] if each in HEAVY else []) for each in FAMILIES]
)
def test_every_certificate_verifies_from_the_command_line(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(GALLERY / family), "--format", "json"]) == 0, capsys.readouterr().out
    reports = json.loads(capsys.readouterr().out)["reports"]
    assert [Path(report["path"]) for report in reports] == [p for p in CERTIFICATES if p.parent == GALLERY / family]
    for report in reports:
        assert report["verdict"] == "verified", report
        assert report["counts"]["proved"] > 0
        assert sum(report["counts"].values()) == report["counts"]["proved"]


def test_families_are_all_of_the_gallery_and_its_page_says_how_many_certificates_that_are() -> None:
    assert {path.parent for path in CERTIFICATES} == {GALLERY / family for family in FAMILIES}
    said = f"prints a report of each and, at the end, `{len(CERTIFICATES)} certificates: {len(CERTIFICATES)} verified`"
    assert said in " ".join((ROOT / "docs" / "gallery.md").read_text().split())


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
def test_the_script_regenerates_the_gallery(tool: Tool, family: str) -> None:
    # Byte for byte where the gallery was written; elsewhere searches in floats may end in other last digits.
    assert tool("gallery.regenerate").compare(GALLERY, [family]).changed == []


def test_the_script_knows_every_family(tool: Tool) -> None:
    assert sorted(tool("gallery.regenerate").FAMILIES) == FAMILIES


def test_the_script_notices_a_changed_certificate(tool: Tool, tmp_path: Path) -> None:
    family = "prompts/infinite-prompt-operator"
    (tmp_path / family).mkdir(parents=True)
    for path in CERTIFICATES:
        if path.parent == GALLERY / family:
            (tmp_path / family / path.name).write_bytes(path.read_bytes())
    changed = tmp_path / family / "gaussian-d1.yaml"
    changed.write_text(changed.read_text().replace("1/3", "1/4"))
    (tmp_path / family / "mixture.yaml").unlink()
    assert tool("gallery.regenerate").compare(tmp_path, [family]).changed == [
        f"{family}/gaussian-d1.yaml",
        f"{family}/mixture.yaml",
    ]


# One change of a certificate whose numbers a search in floats has found: old text, new text.
LAST_DIGITS = [("exceeds: 0.1608", "exceeds: 0.1609"), ("0.12426", "0.12425")]
OTHER_STATEMENTS = [
    ("gradient: V", "gradient: U"),
    ("exceeds: 0.1608", "exceeds: 0.1648"),
    ("probability: 0.001", "probability: 0.002"),
    ("tilt: [1,", "tilt: [1.001,"),
    ("length: 500", "length: 510"),
    ("note: 'tokens", "note: 'others"),
    # Close, and not proved.
    ("exceeds: 0.1608", "exceeds: 0.1607"),
]


@pytest.mark.parametrize(("before", "after"), LAST_DIGITS + OTHER_STATEMENTS)
def test_another_machine_may_find_other_last_digits_and_nothing_else(
    tool: Tool, tmp_path: Path, before: str, after: str
) -> None:
    comparison, old = tool("gallery.comparison"), GALLERY / "prompts" / "gradient-tail" / "box.yaml"
    text = old.read_text()
    assert before in text
    (tmp_path / "fresh.yaml").write_text(text.replace(before, after, 1))
    same = comparison.says_the_same(old, tmp_path / "fresh.yaml")
    assert same is ((before, after) in LAST_DIGITS)


def test_a_certificate_without_a_witness_is_the_same_byte_for_byte(tool: Tool, tmp_path: Path) -> None:
    comparison, old = tool("gallery.comparison"), GALLERY / "prompts" / "infinite-prompt-operator" / "gaussian-d1.yaml"
    (tmp_path / "fresh.yaml").write_text(old.read_text() + "\n")
    assert not comparison.says_the_same(old, tmp_path / "fresh.yaml")
    assert comparison.says_the_same(old, old)
    assert not comparison.says_the_same(old, tmp_path / "missing.yaml")


def bound_of(path: Path) -> fmpq:
    return parse_rational(certattn.load(path).plain["asserts"]["deviation"]["at_most"], DEFAULT_LIMITS)  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("layer0-head6", "1.01", "1.02"), ("layer2-head6", "0.99", "1.00"), ("layer1-head9", "4.15", "4.16")],
)
def test_the_certified_maximum_of_a_head_is_the_one_that_floats_suggest(name: str, low: str, high: str) -> None:
    bound = bound_of(GALLERY / "attention" / "output-deviation" / f"{name}.yaml")
    assert parse_rational(low, DEFAULT_LIMITS) < bound < parse_rational(high, DEFAULT_LIMITS)
    arrays = np.load(GALLERY / "attention" / "output-deviation" / "data" / f"{name}.npz")
    keys, values, queries = (arrays[n].astype(float) for n in ("keys", "values", "queries"))
    scores = queries @ keys.T / np.sqrt(32)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    output = weights @ values / weights.sum(1, keepdims=True)
    slope = (values - values.mean(0)).T @ keys / len(keys)
    linear = values.mean(0) + queries @ slope.T / np.sqrt(32)
    largest = np.linalg.norm(output - linear, axis=1).max()
    # Six digits, rounded up: above the truth and by less than one unit of the sixth digit.
    assert 0 < float(bound.p) / float(bound.q) - largest < 1.001e-5
