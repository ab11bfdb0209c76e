"""Deviations in binary64 against those in Arb, and the roads that lead from the one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

import certattn
from certattn.fast import binary64, heads, prefixes, units
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document import arrays as array_files
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import GuardError, NotProvedError, UsageError
from certattn.kernel.given import stored_arrays
from certattn.kernel.given.prompts import DEFAULT
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.theorems.attention.output_deviation import THEOREM
from certattn.statements.checking import check_file

GAUSSIAN = {"kind": "gaussian", "mean": ["0", "1"], "covariance": [["1", "1/2"], ["1/2", "1"]]}
SIGNS = {"kind": "rademacher", "sizes": ["1", "1/3"]}
AFFINE = {
    "kind": "affine",
    "matrix": [["1", "0", "2"], ["1/3", "1e-40", "0"]],
    "offset": ["1/7", "0"],
    "scale": "sqrt(3)",
}


def prompts(rng: np.random.Generator, dtype: str) -> dict[str, dict[str, Any]]:
    """Every form of a prompt, and every kind of limit, with two outputs."""

    def some(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(dtype)

    tokens: dict[str, Any] = {"tokens": some(40, 2), "queries": some(3, 2)}
    return {
        "keys": {"keys": some(30, 3), "values": some(30, 2), "queries": some(4, 3), "scale": "1/sqrt(3)"},
        "keys, affine": {"keys": some(9, 3), "values": some(9, 2), "queries": some(4, 3), "limit": AFFINE},
        "tokens": {**tokens, "scale": "-1/7"},
        "tokens, K, Q, V": {**tokens, "queries": some(3, 4), "K": some(3, 2), "Q": some(3, 4), "V": some(2, 2)},
        "tokens, U": {**tokens, "queries": some(3, 5), "U": some(2, 5)},
        "tokens, Gaussian law": {**tokens, "limit": {"kind": "law", "law": GAUSSIAN}},
        "tokens, signs, V": {**tokens, "V": some(2, 2), "limit": {"kind": "law", "law": SIGNS}, "norm": "linf"},
        "one token": {"tokens": some(1, 2), "queries": some(2, 2)},
        "equal scores": {**tokens, "queries": np.zeros((1, 2), dtype)},
        "far from zero": {"keys": some(30, 2) + 500, "values": some(30, 2) - 1000, "queries": some(2, 2) / 8},
    }


FORMS = list(prompts(np.random.default_rng(0), "float64"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
def test_balls_of_binary64_hold_the_true_deviations(form: str, dtype: str, tmp_path: Path) -> None:
    certificate = certattn.generate(
        "output-deviation", tmp_path / "c.yaml", **prompts(np.random.default_rng(3), dtype)[form]
    )
    problem = THEOREM.read(certificate)
    assert problem.tiers[0] is DEFAULT
    with working_precision(300):
        truth = problem.compared(range(problem.count))
    found = problem.compared_in_binary64(range(problem.count))
    for (ball, _), (exact, _) in zip(found, truth, strict=True):
        with working_precision(300):
            assert ball.contains(exact) or ball.contains(exact.mid())
        assert ball.rad() < 1e-7


MASKED_FORMS = [form for form in FORMS if form != "one token"]


@pytest.mark.parametrize("causal", [1, 2, 6])
@pytest.mark.parametrize("form", MASKED_FORMS)
def test_balls_of_masked_queries_hold_the_true_numbers(form: str, causal: int, tmp_path: Path) -> None:
    """Of |T(q) - T_inf(q)| and of |T(q)|, against Arb, which takes every prefix by itself."""
    certificate = certattn.generate(
        "output-deviation",
        tmp_path / "c.yaml",
        **prompts(np.random.default_rng(causal), "float32")[form],
        causal=causal,
        relative=True,
        per_query=True,
    )
    problem = THEOREM.read(certificate)
    assert problem.tiers == [DEFAULT]
    with working_precision(300):
        truth = problem.compared(range(problem.count))
        for found, exact in zip(problem.compared_in_binary64(range(problem.count)), truth, strict=True):
            for ball, ball_of_arb in zip(found, exact, strict=True):
                assert ball.contains(ball_of_arb) or ball.contains(ball_of_arb.mid())
                assert ball.rad() < 1e-8
    assert certattn.check(tmp_path / "c.yaml").verdict is Verdict.VERIFIED
    assert certattn.check(tmp_path / "c.yaml", arithmetic="arb").verdict is Verdict.VERIFIED


def test_queries_that_all_see_everything_deviate_as_without_a_mask(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    keys, values = rng.standard_normal((2, 700, 3)).astype("float32")
    for query in range(3):
        arrays = {"keys": keys, "values": values, "queries": rng.standard_normal((1, 3)).astype("float32")}
        plain = certattn.generate("output-deviation", tmp_path / f"p{query}.yaml", **arrays)
        masked = certattn.generate("output-deviation", tmp_path / f"m{query}.yaml", **arrays, causal=700)
        assert plain.plain["asserts"] == masked.plain["asserts"]


def test_a_mask_over_blocks_of_tokens_and_of_queries(tmp_path: Path, monkeypatch: Any) -> None:
    rng = np.random.default_rng(9)
    arrays = {name: rng.standard_normal((9, 2)) for name in ("keys", "values", "queries")}
    certattn.generate("output-deviation", tmp_path / "c.yaml", **arrays, causal=1)
    at_once = certattn.check(tmp_path / "c.yaml")
    for module in (heads, prefixes):
        monkeypatch.setattr(module, "TOKENS", 4)
        monkeypatch.setattr(module, "QUERIES", 2)
    in_blocks = certattn.check(tmp_path / "c.yaml")
    assert at_once.verdict is in_blocks.verdict is Verdict.VERIFIED
    assert at_once.arithmetic == in_blocks.arithmetic == binary64()


def test_a_long_mask_is_no_reason_for_arb(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    arrays = {name: rng.standard_normal((n, 2)) for name, n in (("keys", 5000), ("values", 5000), ("queries", 3))}
    certattn.generate("output-deviation", tmp_path / "c.yaml", **arrays, causal=4998)
    report = certattn.check(tmp_path / "c.yaml")
    assert (report.verdict, report.arithmetic) == (Verdict.VERIFIED, binary64())


def test_what_a_masked_query_does_not_see_changes_nothing(tmp_path: Path) -> None:
    """Not even scores of which an exponential would overflow."""
    rng = np.random.default_rng(10)
    keys, values = rng.standard_normal((2, 6, 2))
    huge = keys.copy()
    huge[5] = 1e6
    found = []
    for name, rows in (("small", keys), ("huge", huge)):
        arrays = {"keys": rows, "values": values, "queries": keys[:5]}
        made = certattn.generate("output-deviation", tmp_path / f"{name}.yaml", **arrays, causal=1, per_query=True)
        found.append(made.plain["asserts"])
        assert certattn.check(tmp_path / f"{name}.yaml").verdict is Verdict.VERIFIED
    assert found[0] == found[1]


def test_relative_bounds_are_a_little_above_the_true_ratios(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    keys, values, queries = rng.standard_normal((3, 12, 3))
    made = certattn.generate(
        "output-deviation",
        tmp_path / "c.yaml",
        keys=keys,
        values=values,
        queries=queries,
        relative=True,
        per_query=True,
    )
    scores = queries @ keys.T
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    outputs, linear = weights @ values, (1 + scores - scores.mean(axis=1, keepdims=True)) / 12 @ values
    ratios = np.linalg.norm(outputs - linear, axis=1) / np.linalg.norm(outputs, axis=1)
    stated = made.plain["asserts"]["deviation"]
    bounds = np.array([float(bound) for bound in stated["per_query"]["relative_at_most"]])
    assert (bounds >= ratios * (1 - 1e-12)).all()
    assert (bounds <= ratios * (1 + 2e-5)).all()
    assert float(stated["relative_at_most"]) == bounds.max()


def test_an_output_of_zero_has_no_relative_bound(tmp_path: Path) -> None:
    arrays = {"keys": np.ones((2, 1)), "values": np.array([[1.0], [-1.0]]), "queries": np.ones((1, 1))}
    with pytest.raises(NotProvedError, match="the output at query 0 may be 0"):
        certattn.generate("output-deviation", tmp_path / "c.yaml", **arrays, relative=True)


@pytest.mark.parametrize("option", [{"relative": True}, {"per_query": True}])
def test_bounds_of_each_query_are_for_listed_queries(option: dict[str, Any], tmp_path: Path) -> None:
    region = {"kind": "ball", "centre": ["0", "0"], "radius": "1"}
    arrays = {"keys": np.eye(2), "values": np.eye(2)}
    with pytest.raises(UsageError, match=f"{next(iter(option))} is for listed queries"):
        certattn.generate("output-deviation", tmp_path / "c.yaml", **arrays, region=region, **option)


@pytest.mark.parametrize("rows_at_once", [1, 3, 1000])
@pytest.mark.parametrize("keep", [0, 2**28])
def test_in_pieces_from_disk_it_is_the_same(rows_at_once: int, keep: int, tmp_path: Path, monkeypatch: Any) -> None:
    rng = np.random.default_rng(4)
    arrays = {name: rng.standard_normal((50, 2)).astype("float32") for name in ("keys", "values")}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    write_certificate(tmp_path, arrays)
    monkeypatch.setattr(array_files, "_KEEP_BYTES", keep)
    monkeypatch.setattr(stored_arrays, "_CHUNK_NUMBERS", 2 * rows_at_once)
    report = check_file(tmp_path / "c.yaml", CheckOptions(arithmetic="binary64"))
    assert report.verdict is Verdict.VERIFIED, report.reason
    problem = THEOREM.read(load(tmp_path / "c.yaml"))
    with working_precision(200):
        ((exact, _),) = problem.compared([0])
    ((ball, _),) = THEOREM.read(load(tmp_path / "c.yaml")).compared_in_binary64([0])
    assert ball.contains(exact)


def write_certificate(folder: Path, arrays: dict[str, Any], at_most: str = "5") -> None:
    import hashlib

    references = [
        f"  {name}: {{file: {name}.npy, sha256: {hashlib.sha256((folder / f'{name}.npy').read_bytes()).hexdigest()}, "
        f"dtype: {array.dtype.name}, shape: [{array.shape[0]}, {array.shape[1]}]}}"
        for name, array in arrays.items()
    ]
    lines = ["certattn: 1", "claim: output-deviation", "given:", *references, "  queries: [[1/2, 1]]"]
    lines += ["  limit: {kind: empirical}", f"asserts: {{deviation: {{norm: l2, at_most: {at_most}}}}}"]
    (folder / "c.yaml").write_text("\n".join(lines))


@pytest.mark.parametrize("keep", [0, 2**28])
@pytest.mark.parametrize("file", ["keys", "values"])
def test_a_file_with_another_hash_is_malformed_whatever_was_computed(
    file: str, keep: int, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(array_files, "_KEEP_BYTES", keep)
    arrays = {name: np.ones((8, 2)) for name in ("keys", "values")}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    write_certificate(tmp_path, arrays)
    np.save(tmp_path / f"{file}.npy", np.zeros((8, 2)))
    report = check_file(tmp_path / "c.yaml", CheckOptions())
    assert report.verdict is Verdict.MALFORMED
    assert "sha256" in report.reason


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("file", ["keys", "values"])
def test_what_is_not_finite_is_malformed(file: str, bad: float, tmp_path: Path) -> None:
    arrays = {name: np.ones((8, 2)) for name in ("keys", "values")}
    arrays[file][5, 1] = bad
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    write_certificate(tmp_path, arrays)
    report = check_file(tmp_path / "c.yaml", CheckOptions())
    assert report.verdict is Verdict.MALFORMED
    assert f"at row 5, column 1 (counted from 0) in {file}.npy" in report.reason


# -- which arithmetic decides

DEVIATION = "certificates/attention/output-deviation/layer0-head6.yaml"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    rng = np.random.default_rng(9)
    certattn.generate("output-deviation", tmp_path / "c.yaml", **prompts(rng, "float32")["keys"])
    return tmp_path / "c.yaml"


def test_binary64_decides_what_it_can(certificate: Path) -> None:
    report = check_file(certificate, CheckOptions())
    assert (report.verdict, report.arithmetic, report.bits) == (Verdict.VERIFIED, binary64(), 53)
    report = check_file(certificate, CheckOptions(arithmetic="arb"))
    assert (report.verdict, report.arithmetic, report.bits) == (Verdict.VERIFIED, ARB, 64)


def test_arb_decides_what_is_too_close_for_binary64(certificate: Path) -> None:
    problem = THEOREM.read(load(certificate))
    with working_precision(300):
        largest = max((ball for ball, _ in problem.compared(range(problem.count))), key=lambda ball: float(ball.mid()))
    stated = certificate.read_text()
    bound = stated.split("at_most: ")[1].split("\n")[0]
    for shift, verdict in ((1, Verdict.VERIFIED), (-1, Verdict.REFUTED)):
        with working_precision(300):
            near = (largest * (1 + shift * arb(10) ** -25)).str(60, radius=False)
        certificate.write_text(stated.replace(f"at_most: {bound}", f"at_most: {near}"))
        report = check_file(certificate, CheckOptions())
        assert report.verdict is verdict, report.reason
        assert ARB in report.arithmetic
        assert report.bits > 64
        alone = check_file(certificate, CheckOptions(arithmetic="binary64"))
        assert alone.verdict is Verdict.INCONCLUSIVE


def test_binary64_refutes_too(certificate: Path) -> None:
    stated = certificate.read_text()
    bound = stated.split("at_most: ")[1].split("\n")[0]
    certificate.write_text(stated.replace(f"at_most: {bound}", "at_most: 1e-3"))
    report = check_file(certificate, CheckOptions(arithmetic="binary64"))
    assert (report.verdict, report.bits) == (Verdict.REFUTED, 53)


def test_a_failed_guard_is_said_and_arb_decides(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise GuardError("this thread does not round to nearest")

    monkeypatch.setattr(units, "require_rounding_to_nearest", fail)
    report = check_file(certificate, CheckOptions())
    assert (report.verdict, report.arithmetic) == (Verdict.VERIFIED, ARB)
    assert "binary64 arithmetic was not used: this thread does not round to nearest" in report.findings


def test_integers_that_are_no_doubles_are_left_to_arb(tmp_path: Path) -> None:
    arrays = {name: np.full((3, 2), 2**60 + 1, np.int64) for name in ("keys", "values")}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    write_certificate(tmp_path, arrays, "0")
    report = check_file(tmp_path / "c.yaml", CheckOptions())
    assert (report.verdict, report.arithmetic) == (Verdict.VERIFIED, ARB)
    assert all("scale" in line for line in report.findings[1:])


def test_a_certificate_without_arrays_needs_no_binary64(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "certattn: 1\nclaim: output-deviation\ngiven: {keys: [[1]], values: [[1]], queries: [[2]], "
        "limit: {kind: empirical}}\nasserts: {deviation: {norm: l2, at_most: 0}}\n"
    )
    assert list(THEOREM.read(load(tmp_path / "c.yaml")).tiers) == []


def test_the_tight_tier_is_the_sharper_one(tmp_path: Path) -> None:
    given = prompts(np.random.default_rng(3), "float64")["keys, affine"]
    problem = THEOREM.read(certattn.generate("output-deviation", tmp_path / "c.yaml", **given))
    rows = range(problem.count)
    quick, tight = (problem.compared_in_binary64(rows, tight=tight) for tight in (False, True))
    for wide, narrow in zip(quick, tight, strict=True):
        assert all(fine.rad() < coarse.rad() for coarse, fine in zip(wide, narrow, strict=True))
