"""The gallery: every certificate verifies, says what it should, and is what its script makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.limits import DEFAULT_LIMITS

ROOT = Path(__file__).resolve().parent.parent
Tool = Callable[[str], ModuleType]
GALLERY = ROOT / "certificates"
CERTIFICATES = sorted(GALLERY.rglob("*.yaml"))


def test_the_gallery_has_the_papers_examples() -> None:
    names = {str(path.relative_to(GALLERY).with_suffix("")) for path in CERTIFICATES}
    operators = {"gaussian-d1", "gaussian-d3", "gaussian-singular", "rademacher", "mixture"}
    prompts = {"layer0-head6", "layer1-head9", "layer2-head6", "gaussian-prompt"}
    wanted = {f"infinite-prompt-operator/{n}" for n in operators} | {f"output-deviation/{n}" for n in prompts}
    wanted |= {f"binary64-exponential/{n}" for n in ("exponential", "exponential-with-tail")}
    tails = ("gaussian-directions", "gaussian-norm", "gaussian-length", "gaussian-singular", "layer0-head6", "mixture")
    wanted |= {f"output-tail/{n}" for n in (*tails, "rademacher", "box", "atoms")}
    wanted |= {f"softmax-mean/{n}" for n in ("three-tokens", "layer0-head6", "gaussian-prompt")}
    assert wanted <= names


@pytest.mark.parametrize("path", CERTIFICATES, ids=lambda p: p.stem)
def test_every_certificate_verifies(path: Path) -> None:
    report = certattn.check(path)
    assert report.verdict is certattn.Verdict.VERIFIED, report.reason
    assert report.counts["proved"] > 0
    assert sum(report.counts.values()) == report.counts["proved"]


def test_the_script_regenerates_the_gallery_byte_for_byte(tool: Tool) -> None:
    assert tool("regenerate_gallery").differences(GALLERY) == []


def test_the_script_notices_a_changed_certificate(tool: Tool, tmp_path: Path) -> None:
    regenerate = tool("regenerate_gallery")
    family = "infinite-prompt-operator"
    regenerate.FAMILIES = {family: regenerate.FAMILIES[family]}
    (tmp_path / family).mkdir()
    for path in CERTIFICATES:
        if path.parent.name == family:
            (tmp_path / family / path.name).write_bytes(path.read_bytes())
    changed = tmp_path / family / "gaussian-d1.yaml"
    changed.write_text(changed.read_text().replace("1/3", "1/4"))
    (tmp_path / family / "mixture.yaml").unlink()
    assert regenerate.differences(tmp_path) == [f"{family}/gaussian-d1.yaml", f"{family}/mixture.yaml"]


def bound_of(path: Path) -> fmpq:
    return parse_rational(certattn.load(path).plain["asserts"]["deviation"]["at_most"], DEFAULT_LIMITS)  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("layer0-head6", "1.01", "1.02"), ("layer2-head6", "0.99", "1.00"), ("layer1-head9", "4.15", "4.16")],
)
def test_the_certified_maximum_of_a_head_is_the_one_that_floats_suggest(name: str, low: str, high: str) -> None:
    bound = bound_of(GALLERY / "output-deviation" / f"{name}.yaml")
    assert parse_rational(low, DEFAULT_LIMITS) < bound < parse_rational(high, DEFAULT_LIMITS)
    arrays = np.load(GALLERY / "output-deviation" / "data" / f"{name}.npz")
    keys, values, queries = (arrays[n].astype(float) for n in ("keys", "values", "queries"))
    scores = queries @ keys.T / np.sqrt(32)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    output = weights @ values / weights.sum(1, keepdims=True)
    slope = (values - values.mean(0)).T @ keys / len(keys)
    linear = values.mean(0) + queries @ slope.T / np.sqrt(32)
    largest = np.linalg.norm(output - linear, axis=1).max()
    # Six digits, rounded up: above the truth and by less than one unit of the sixth digit.
    assert 0 < float(bound.p) / float(bound.q) - largest < 1.001e-5
