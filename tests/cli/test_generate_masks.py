"""`certattn generate output-deviation --causal --relative`, and `generate output-tail --method mean-square`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import certattn
from certattn.cli.main import run

LAW = "law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}\ntilt: [1, 0]\n"


def test_masks_and_relative_bounds_are_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("head.npz", **{name: rng.normal(size=(6, 2)) for name in ("keys", "values", "queries")})
    options = ["--causal", "3", "--queries", "0:4", "--relative", "--per-query"]
    assert run(["generate", "output-deviation", "head.npz", *options, "-o", "head.yaml"]) == 0
    plain = certattn.load("head.yaml").plain
    assert plain["given"]["causal"] == "3"
    assert set(plain["asserts"]["deviation"]) == {"norm", "at_most", "relative_at_most", "per_query"}
    assert set(plain["asserts"]["deviation"]["per_query"]) == {"at_most", "relative_at_most"}
    assert certattn.check("head.yaml").verdict is certattn.Verdict.VERIFIED


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--causal", "3"], "at most 1, so that the last query sees tokens that are there"),
        (["--relative", "--radius", "1", "--queries", "0:1"], "relative is for listed queries"),
    ],
)
def test_masks_that_make_no_sense_are_refused(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("head.npz", **{name: rng.normal(size=(6, 2)) for name in ("keys", "values", "queries")})
    assert run(["generate", "output-deviation", "head.npz", *options, "-o", "head.yaml"]) == 2
    assert words in capsys.readouterr().err
    assert not Path("head.yaml").exists()


def test_a_norm_is_bounded_by_its_mean_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("law.yaml").write_text(LAW)
    options = ["--norm", "l2", "--exceeds", "1/2", "--probability", "0.01", "--method", "mean-square"]
    assert run(["generate", "output-tail", "law.yaml", *options, "-o", "tail.yaml"]) == 0
    # (S + B) e^v / (delta eps^2) = 3 e / 0.0025
    assert 3260 < int(certattn.load("tail.yaml").plain["given"]["length"]) < 3265
    assert certattn.check("tail.yaml").verdict is certattn.Verdict.VERIFIED
    assert run(["generate", "output-tail", "law.yaml", *options, "-o", "t.yaml", "--plot", "t.svg"]) == 2
    assert "expected --method rules" in capsys.readouterr().err
