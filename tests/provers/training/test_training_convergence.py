"""`certattn generate training-convergence`: from files and arrays to certificates that verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import certattn
from certattn.cli.generate import generate as commands
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.provers.training.training_runs import FloatRun

PLANE = {
    "covariance": [["1", "1/2"], ["1/2", "5/4"]],
    "start": {"alpha": "1", "P": [["3/5", "0"], ["0", "4/5"]]},
    "training": {"rule": "flow"},
}


def made(path: Path, **inputs: Any) -> dict[str, Any]:
    """What a certificate asserts; it verifies."""
    certificate = certattn.generate("training-convergence", path, **inputs)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    asserts: Any = certificate.plain["asserts"]
    return dict(asserts)


def test_a_start_of_the_form_of_the_paper(tmp_path: Path) -> None:
    asserts = made(tmp_path / "c.yaml", given=PLANE, risks=["5", "100"])
    assert asserts["risk"] == "0.145"
    assert asserts["limit"]["b"].startswith("1.3228756555")
    assert len(asserts["risks"]) == 2


@pytest.mark.parametrize("training", [{"rule": "flow"}, {"rule": "descent", "step": "1/50"}])
def test_a_late_start_has_a_rate_near_that_of_the_end(training: dict[str, str], tmp_path: Path) -> None:
    """At most three times below the rate that is fitted to the end of the run in doubles."""
    path = tmp_path / "c.yaml"
    asserts = made(path, given={**PLANE, "training": training}, begins="auto")
    problem = certattn.CLAIMS["training-convergence"].read(certattn.load(path))
    points = list(FloatRun(problem.covariance, problem.start, problem.step).points(8000))
    late = [(p.time, float(np.log(p.risk))) for p in points if 1e-20 < p.risk < 1e-10]
    slope = float(np.polyfit([t for t, _ in late], [log for _, log in late], 1)[0])
    fitted = -slope / 2 if problem.step is None else (1 - np.exp(slope)) * 25
    rate = float(asserts["rate"])
    assert rate <= fitted * (1 + 1e-6)
    assert fitted <= 3 * rate


def test_arrays_are_written_to_a_file(tmp_path: Path) -> None:
    given = {"covariance": np.eye(12), "start": {"A": np.eye(12) / 4, "b": "3/4"}, "training": {"rule": "flow"}}
    asserts = made(tmp_path / "c.yaml", given=given, begins="10", enclosed="0")
    assert (tmp_path / "c.npz").exists()
    assert set(asserts["limit"]) == {"sign"}
    assert "A" in made(tmp_path / "d.yaml", given=given, numbers=True)["limit"]


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "c.yaml"

    def refused(error: type[Exception], words: str, **inputs: Any) -> None:
        with pytest.raises(error, match=words):
            certattn.generate("training-convergence", out, **{"given": PLANE, **inputs})
        assert not out.exists()

    refused(UsageError, "expected at most 1", begins="1", enclosed="2")
    refused(UsageError, "a time >= 0", begins="-1")
    refused(UsageError, "alpha and P", given={**PLANE, "start": {"alpha": "1"}})
    stepped = {**PLANE, "training": {"rule": "descent", "step": "10"}}
    refused(NotProvedError, "a shorter step", given=stepped)
    refused(NotProvedError, "does not reach a point", given=stepped, begins="auto", most_steps=50)
    refused(UsageError, "a number of steps", given=stepped, begins="1/2")
    away = {**PLANE, "start": {"A": [["9", "0"], ["0", "9"]], "b": "1"}}
    refused(NotProvedError, "below tr Sigma", given=away)


def test_the_command_draws(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "covariance: [[1/4]]\nstart: {A: [[4]], b: 4}\ntraining: {rule: descent, step: 1/4}\n"
    )
    arguments = [str(tmp_path / "t.yaml"), "-o", str(tmp_path / "c.yaml"), "--from", "auto", "--risk-at", "10"]
    done = CliRunner().invoke(commands, ["training-convergence", *arguments, "--plot", str(tmp_path / "c.svg")])
    assert done.exit_code == 0, done.output
    assert "drew" in done.output
    assert (tmp_path / "c.svg").stat().st_size > 5000
    assert certattn.check(tmp_path / "c.yaml").verdict is Verdict.VERIFIED
