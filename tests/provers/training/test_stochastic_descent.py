"""`certattn generate stochastic-descent`: what is found verifies, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import certattn
from certattn.kernel.decide.proof import Verdict

START: dict[str, Any] = {"A": [["1/2"]], "b": "1/2"}
GIVEN: dict[str, Any] = {"covariance": [[1]], "start": START, "length": 100_000, "step": 1, "steps": 1}


def found(path: Path, **changed: Any) -> dict[str, Any]:
    """What is given in the certificate, which verifies."""
    options = {name: changed.pop(name) for name in ("risk", "probability") if name in changed}
    given = {name: value for name, value in {**GIVEN, **changed}.items() if value is not None}
    certificate = certattn.generate("stochastic-descent", path, given=given, **options)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    plain: dict[str, Any] = certificate.plain["given"]
    return plain


def test_few_prompts_are_enough(tmp_path: Path) -> None:
    given = found(tmp_path / "c.yaml", risk="0.15", probability="0.05")
    assert 1000 < int(given["batch"]) < 1200


@pytest.mark.heavy
def test_steps_are_searched_for(tmp_path: Path) -> None:
    given = found(tmp_path / "c.yaml", step=None, steps=None, risk="0.15", probability="0.05")
    assert int(given["batch"]) * int(given["steps"]) < 1200


def test_a_smaller_probability_takes_more_prompts(tmp_path: Path) -> None:
    many, few = (int(found(tmp_path / "c.yaml", probability=chance)["batch"]) for chance in ("0.01", "0.1"))
    assert 8 * few < many < 12 * few


def test_a_stated_batch_is_kept(tmp_path: Path) -> None:
    assert found(tmp_path / "c.yaml", batch=5000)["batch"] == "5000"


def test_another_sign(tmp_path: Path) -> None:
    turned = found(tmp_path / "c.yaml", start={"A": [["-1/2"]], "b": "-1/2"})
    assert turned["batch"] == found(tmp_path / "d.yaml")["batch"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"batch": 2}, "no tube is found in which the risk is at most 0.15"),
        ({"length": 20}, "prompts of 20 tokens"),
        ({"step": 100}, "no tube is found"),
        ({"start": {"A": [["0"]], "b": "0"}}, "no tube is found"),
        ({"risk": "0"}, "risk"),
        ({"probability": "2"}, "below 1"),
        ({"start": {"A": [["1", "0"]], "b": "1"}}, "like the covariance"),
        ({"covariance": [["-1"]]}, "positive definite"),
    ],
)
def test_what_cannot_be_stated_is_said(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    options = {name: changed[name] for name in ("risk", "probability") if name in changed}
    given = {**GIVEN, **{name: value for name, value in changed.items() if name not in options}}
    with pytest.raises(certattn.CertattnError, match=said):
        certattn.generate("stochastic-descent", tmp_path / "c.yaml", given=given, **options)
    assert not list(tmp_path.glob("c*"))
