"""Softmax means, covariances, eigenvalues and normalisers in binary64 against those in Arb."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

import certattn
from certattn.fast import binary64
from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document import arrays as array_files
from certattn.kernel.document.certificate import load
from certattn.kernel.given import stored_arrays
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention import softmax_mean
from certattn.kernel.theorems.attention.softmax_mean import weighted_in_binary64, weighted_queries
from certattn.statements.checking import check_file

CLAIM = CLAIMS["softmax-mean"]
OFS = ("values", "keys", "values-keys")


def prompts() -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(11)

    def some(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype("float32")

    tokens: dict[str, Any] = {"tokens": some(40, 2), "queries": some(3, 2)}
    return {
        "keys": {"keys": some(30, 3), "values": some(30, 2), "queries": some(5, 3), "scale": "1/sqrt(3)"},
        "tokens": tokens,
        "tokens, K, Q, V": {**tokens, "queries": some(3, 4), "K": some(3, 2), "Q": some(3, 4), "V": some(1, 2)},
        "tokens, U, V": {**tokens, "queries": some(3, 5), "U": some(2, 5), "V": some(3, 2)},
        "one token": {"tokens": some(1, 2), "queries": some(2, 2)},
    }


PROMPTS = prompts()


@pytest.fixture(params=PROMPTS)
def certificate(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    certattn.generate("softmax-mean", tmp_path / "c.yaml", **PROMPTS[request.param], log_normaliser=True)
    return tmp_path / "c.yaml"


@pytest.mark.parametrize("at_once", [1, 64])
def test_every_ball_holds_the_truth(certificate: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax_mean, "_QUERIES_AT_ONCE", at_once)
    prompt = CLAIM.read(load(certificate)).prompt
    rows = range(prompt.queries.shape[0])
    zero = ExactMatrix.zero(1, prompt.output_dimension)
    with working_precision(300):
        pairs = zip(weighted_queries(prompt, rows), weighted_in_binary64(prompt, rows, OFS), strict=True)
        for truth, found in pairs:
            balls, exact = found.output_off(zero), truth.output_off(zero)
            balls, exact = [*balls, found.log_normaliser()], [*exact, truth.log_normaliser()]
            for of in OFS:
                balls += found.covariance(of).entries()
                exact += truth.covariance(of).entries()
            for ball, wanted in zip(balls, exact, strict=True):
                assert ball.contains(wanted.mid())
                assert ball.rad() < 1e-9


@pytest.mark.parametrize("claim", ["softmax-mean", "output-deviation"])
@pytest.mark.parametrize(("number", "kind"), [(np.nan, "a NaN"), (-np.inf, "an infinity")])
def test_what_is_not_finite_in_a_large_file_is_found_without_reading_it_whole(
    claim: str, number: float, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certattn.generate(claim, tmp_path / "c.yaml", **PROMPTS["tokens"])
    made = tmp_path / "c.npz"
    arrays = dict(np.load(made))
    arrays["tokens"][33, 1] = number
    before = hashlib.sha256(made.read_bytes()).hexdigest()
    np.savez(made, **arrays)
    certificate = (tmp_path / "c.yaml").read_text().replace(before, hashlib.sha256(made.read_bytes()).hexdigest())
    (tmp_path / "c.yaml").write_text(certificate)
    monkeypatch.setattr(stored_arrays, "_CHUNK_NUMBERS", 10)
    monkeypatch.setattr(array_files.ArrayFiles, "read", lambda *_: pytest.fail("read whole"))
    # The queries, which are few, are read whole.
    monkeypatch.setattr(StatedPrompt, "stated_queries", ExactMatrix.zero(3, 2))
    report = check_file(tmp_path / "c.yaml", CheckOptions())
    assert report.verdict is Verdict.MALFORMED
    assert f"{kind} at row 33, column 1 (counted from 0) in c.npz[tokens]" in report.reason


@pytest.mark.parametrize("of", ["values", "keys"])
def test_binary64_verifies_what_is_stated_to_few_digits(of: str, tmp_path: Path) -> None:
    for name, prompt in PROMPTS.items():
        out = tmp_path / f"{len(name)}.yaml"
        everything: dict[str, Any] = {"covariance": True, "eigenvalues": True, "log_normaliser": True, "of": of}
        certattn.generate("softmax-mean", out, **prompt, **everything, digits=5, radius="1e-4")
        report = check_file(out, CheckOptions())
        assert report.verdict is Verdict.VERIFIED, report.reason
        assert binary64() in report.arithmetic
        wrong = out.read_text().replace("radius: 0.0001", "radius: 1e-30", 1)
        out.write_text(wrong)
        assert check_file(out, CheckOptions()).verdict is not Verdict.VERIFIED
        assert check_file(out, CheckOptions(arithmetic="binary64")).verdict is not Verdict.VERIFIED


def test_a_wrong_mean_is_refuted_in_binary64(tmp_path: Path) -> None:
    out = tmp_path / "c.yaml"
    made = certattn.generate("softmax-mean", out, **PROMPTS["tokens"], digits=6, radius="1e-5")
    asserts: Any = made.plain["asserts"]
    first = asserts["mean"]["value"][0][0]
    moved = str((arb(first) + arb("0.001")).str(8, radius=False))
    out.write_text(out.read_text().replace(first, moved, 1))
    report = check_file(out, CheckOptions(arithmetic="binary64"))
    assert (report.verdict, report.bits) == (Verdict.REFUTED, 53)
