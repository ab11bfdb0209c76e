"""`certattn generate full-batch-descent`: what is found verifies, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import certattn
from certattn.kernel.decide.proof import Verdict

START: dict[str, Any] = {"A": [["1/2"]], "b": "1/2"}
GIVEN: dict[str, Any] = {"covariance": [[1]], "start": START, "step": "2/5", "steps": 4}


def found(path: Path, **changed: Any) -> dict[str, Any]:
    """What is given in the certificate, which verifies."""
    options = {name: changed.pop(name) for name in ("risk", "probability") if name in changed}
    given = {name: value for name, value in {**GIVEN, **changed}.items() if value is not None}
    certificate = certattn.generate("full-batch-descent", path, given=given, **options)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    plain: dict[str, Any] = certificate.plain["given"]
    return plain


def test_few_prompts_are_enough(tmp_path: Path) -> None:
    assert 500 < int(found(tmp_path / "c.yaml", risk="0.1", probability="0.05")["prompts"]) < 700


def test_one_prompt_less_is_not(tmp_path: Path) -> None:
    prompts = int(found(tmp_path / "c.yaml")["prompts"])
    text = (tmp_path / "c.yaml").read_text()
    (tmp_path / "c.yaml").write_text(text.replace(f"prompts: {prompts}", f"prompts: {prompts - 1}"))
    assert certattn.check(tmp_path / "c.yaml").verdict is Verdict.REJECTED


@pytest.mark.heavy
def test_steps_are_searched_for(tmp_path: Path) -> None:
    given = found(tmp_path / "c.yaml", step=None, steps=None, risk="0.1", probability="0.05")
    assert int(given["prompts"]) < 650


def test_a_single_step_does_not_ask_for_second_moments(tmp_path: Path) -> None:
    assert int(found(tmp_path / "c.yaml", step="1", steps=1)["prompts"]) < 400


def test_fourth_moments_tell_of_small_probabilities(tmp_path: Path) -> None:
    """The number grows like one over the root of the probability."""
    many, few = (int(found(tmp_path / "c.yaml", probability=chance)["prompts"]) for chance in ("0.0004", "0.04"))
    assert 6 * few < many < 12 * few


@pytest.mark.heavy
def test_a_run_that_settles_has_any_risk_with_the_same_prompts(tmp_path: Path) -> None:
    less, least = (found(tmp_path / "c.yaml", step="1/10", steps=None, risk=risk) for risk in ("1e-4", "1e-9"))
    assert less["prompts"] == least["prompts"]
    assert int(less["steps"]) < int(least["steps"])
    assert int(less["prompts"]) < 2500


def test_a_stated_number_is_kept(tmp_path: Path) -> None:
    assert found(tmp_path / "c.yaml", prompts=5000)["prompts"] == "5000"


def test_another_sign(tmp_path: Path) -> None:
    turned = found(tmp_path / "c.yaml", start={"A": [["-1/2"]], "b": "-1/2"})
    assert turned["prompts"] == found(tmp_path / "d.yaml")["prompts"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompts": 20}, "prompts are enough for a risk of at most 0.15, not 20"),
        ({"step": 100}, "no tube is found in which the risk is at most 0.15"),
        ({"start": {"A": [["0"]], "b": "0"}}, "no tube is found"),
        ({"risk": "0"}, "risk"),
        ({"probability": "2"}, "below 1"),
        ({"length": 100}, "length"),
        ({"start": {"A": [["1", "0"]], "b": "1"}}, "like the covariance"),
        ({"covariance": [["-1"]]}, "positive definite"),
    ],
)
def test_what_cannot_be_stated_is_said(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    options = {name: changed[name] for name in ("risk", "probability") if name in changed}
    given = {**GIVEN, **{name: value for name, value in changed.items() if name not in options}}
    with pytest.raises(certattn.CertattnError, match=said):
        certattn.generate("full-batch-descent", tmp_path / "c.yaml", given=given, **options)
    assert not list(tmp_path.glob("c*"))
