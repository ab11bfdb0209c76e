"""`singular-values` under a causal mask: words, large matrices in both arithmetics, numpy and mpmath beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum.singular_values import THEOREM
from certattn.kernel.theorems.spectrum.spectral_distance import law_of_weights
from certattn.kernel.theorems.spectrum.stated_matrix import SoftmaxMatrix
from certattn.provers.spectrum.spectrum_sources import is_uniform
from certattn.statements.reports import Report
from certattn.statements.spectrum.singular_values import WORDING
from certattn.writing import to_text

Array = np.ndarray[Any, Any]
SIZE = 40


@pytest.fixture
def tokens() -> dict[str, Array]:
    rng = np.random.default_rng(11)
    return {name: rng.standard_normal((SIZE, 5)).astype(np.float32) for name in ("queries", "keys")}


def by_numpy(queries: Array, keys: Array, scale: float, *, centred: bool) -> Array:
    """M number by number, from the definition alone."""
    size = len(keys)
    M = np.zeros((size, size))
    for i in range(size):
        masses = [np.exp(scale * float(queries[i].astype(float) @ keys[j].astype(float))) for j in range(i + 1)]
        for j, mass in enumerate(masses):
            M[i, j] = np.sqrt(size) * (mass / sum(masses) - (1 / (i + 1) if centred else 0))
    return M


def check_plain(plain: Any, folder: Path, **options: Any) -> Report:
    """What a check says of a certificate beside the array files in a folder."""
    (folder / "changed.yaml").write_text(to_text(plain))
    return certattn.check(folder / "changed.yaml", **options)


@pytest.mark.parametrize("centred", [True, False])
def test_the_values_are_those_of_numpy(centred: bool, tokens: dict[str, Array], tmp_path: Path) -> None:
    made = certattn.generate(
        "singular-values",
        tmp_path / "c.yaml",
        **tokens,
        scale="1/4",
        centred=centred,
        causal=True,
        states=["values", "norm", "energy", "stable-rank", "entropy", "effective-rank"],
    )
    s = np.linalg.svd(by_numpy(**tokens, scale=0.25, centred=centred), compute_uv=False)
    stated: Any = made.plain["asserts"]
    assert np.allclose([float(value) for value in stated["values"]["value"]], s, rtol=0, atol=1e-12)
    shares = s / s.sum()
    shares = shares[shares > 1e-15]
    rank = np.exp(-(shares * np.log(shares)).sum())
    for (low, high), true in (
        ((stated["norm"]["at_least"], stated["norm"]["at_most"]), s[0]),
        ((stated["energy"]["at_least"], stated["energy"]["at_most"]), (s**2).sum()),
        ((stated["effective_rank"]["values"]["at_least"], stated["effective_rank"]["values"]["at_most"]), rank),
    ):
        assert float(low) * (1 - 1e-9) <= true <= float(high) * (1 + 1e-9)
    report = certattn.check(tmp_path / "c.yaml")
    assert report.verdict is Verdict.VERIFIED
    assert "binary64" in report.arithmetic
    assert certattn.check(tmp_path / "c.yaml", arithmetic="arb").verdict is Verdict.VERIFIED


def test_small_ones_are_those_of_mpmath(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    queries, keys = (rng.integers(-8, 9, (6, 2)) for _ in range(2))
    made = certattn.generate(
        "singular-values",
        tmp_path / "c.yaml",
        given={
            "queries": [[str(x) for x in row] for row in queries],
            "keys": [[str(x) for x in row] for row in keys],
            "scale": "1/sqrt(32)",
            "centred": "true",
            "causal": "true",
        },
        radius="1e-30",
        states=["values"],
    )
    with mpmath.workdps(50):
        M = mpmath.zeros(6)
        for i in range(6):
            masses = [mpmath.exp(mpmath.mpf(int(queries[i] @ keys[j])) / mpmath.sqrt(32)) for j in range(i + 1)]
            for j, mass in enumerate(masses):
                M[i, j] = mpmath.sqrt(6) * (mass / mpmath.fsum(masses) - mpmath.mpf(1) / (i + 1))
        true = sorted(mpmath.svd_r(M, compute_uv=False), reverse=True)
        stated: Any = made.plain["asserts"]
        for value, exact in zip(stated["values"]["value"], true, strict=True):
            assert abs(mpmath.mpf(value) - exact) <= mpmath.mpf("1e-30")
    assert certattn.check(tmp_path / "c.yaml").verdict is Verdict.VERIFIED


@pytest.mark.parametrize("arithmetic", ["auto", "arb"])
@pytest.mark.parametrize("change", ["no mask", "another last key", "not centred", "one more place"])
def test_what_is_not_so_is_refuted(change: str, arithmetic: Any, tokens: dict[str, Array], tmp_path: Path) -> None:
    """Of matrices in files, by both arithmetics."""
    options: dict[str, Any] = {"scale": "1/4", "causal": True, "largest": 3, "states": ["values"], "radius": "1e-9"}
    made = certattn.generate("singular-values", tmp_path / "true.yaml", **tokens, **options)
    other = dict(tokens)
    if change == "another last key":
        other["keys"] = tokens["keys"].copy()
        other["keys"][-1, 0] += 1e-3
    false = options | ({"causal": False} if change == "no mask" else {})
    false |= {"centred": False} if change == "not centred" else {}
    wrong: Any = certattn.generate("singular-values", tmp_path / "false.yaml", **other, **false).plain
    wrong = dict(wrong) | {"asserts": made.plain["asserts"]}
    if change == "one more place":
        values: Any = made.plain["asserts"]
        first = values["values"]["value"][0]
        moved = str(float(first) + 1e-8)
        wrong = dict(wrong) | {
            "asserts": {"values": {**values["values"], "value": [moved, *values["values"]["value"][1:]]}}
        }
    report = check_plain(wrong, tmp_path, arithmetic=arithmetic)
    assert report.verdict is Verdict.REFUTED, report.reason


def test_nothing_that_no_query_sees_is_looked_at(tokens: dict[str, Array], tmp_path: Path) -> None:
    """The last key is seen by the last query alone: rows before it stay, whatever it is."""
    far = {name: array.copy() for name, array in tokens.items()}
    far["keys"][-1] *= 30
    far["queries"][-1] = 0
    report = certattn.check(
        certattn.generate("singular-values", tmp_path / "c.yaml", **far, scale="1", causal=True, largest=2)
    )
    assert report.verdict is Verdict.VERIFIED
    assert "binary64" in report.arithmetic


def test_the_last_value_of_a_centred_matrix_is_0_in_binary64(tokens: dict[str, Array], tmp_path: Path) -> None:
    given = certattn.generate(
        "singular-values", tmp_path / "c.yaml", **tokens, causal=True, states=["norm"], scale="1/4"
    ).plain
    wrong: Any = dict(given) | {"asserts": {"counts": [{"above": "0", "count": str(SIZE)}]}}
    report = check_plain(wrong, tmp_path)
    assert report.verdict is Verdict.REFUTED
    assert f"sigma_{SIZE} > threshold: 0 > 0 is false" in report.reason


def statement(tmp_path: Path, given: str) -> Any:
    text = f"certattn: 1\nclaim: singular-values\ngiven: {{{given}}}\nasserts: {{norm: {{at_most: 9}}}}\n"
    problem = THEOREM.read(loads(text, tmp_path / "c.yaml"))
    return WORDING.statement(problem)


def test_words_and_formulas_name_the_mask_and_what_is_taken_off(tmp_path: Path) -> None:
    two = "queries: [[1], [2]], keys: [[0], [1]], causal: true"
    centred, whole = statement(tmp_path, f"{two}, centred: true"), statement(tmp_path, f"{two}, centred: false")
    assert (
        "For the 2 x 2 matrix M = sqrt(d) (A - C), d = 2, where row i of A is the softmax of s <q_i, k_j> over j <= i, "
        "and C_ij = 1/i for j <= i, both 0 for j > i, s = 1, queries q = ((1), (2)), keys k = ((0), (1)), where the "
        "first query sees the first token and every further query one more, with singular values"
    ) in centred.words
    assert "M = sqrt(d) A, d = 2, where row i of A is the softmax of s <q_i, k_j> over j <= i, and 0 for j > i, s" in (
        whole.words
    )
    assert centred.latex.startswith(r"M = \sqrt d\,(A - C),\qquad C_{ij} = \tfrac1i")
    assert r"A_{ij} = C_{ij} = 0" in centred.latex
    assert whole.latex.startswith(r"M = \sqrt d\,A,\qquad A_{ij} = 0 \ (j > i)")
    assert "C_" not in whole.latex
    one = statement(tmp_path, "queries: [[1]], keys: [[0]], causal: true, centred: false")
    assert "where the first query sees the first token, with" in one.words


@pytest.mark.parametrize("mask", ["true", "false"])
def test_a_matrix_knows_of_its_mask(mask: str, tmp_path: Path) -> None:
    """So that what is known of matrices without one is not applied to it."""
    text = (
        f"certattn: 1\nclaim: singular-values\ngiven: {{queries: [[1]], keys: [[0]], causal: {mask}, centred: true}}\n"
        "asserts: {norm: {at_most: 9}}\n"
    )
    matrix = THEOREM.read(loads(text, tmp_path / "c.yaml")).matrix
    assert isinstance(matrix, SoftmaxMatrix)
    assert matrix.causal is (mask == "true")
    if matrix.causal:
        with pytest.raises(ValueError, match="mask"):
            law_of_weights(matrix, fmpq(1))


@pytest.mark.parametrize("claim", ["spectral-distance", "not-marchenko-pastur"])
def test_claims_about_laws_take_no_mask(claim: str, tmp_path: Path) -> None:
    tokens = "queries: [[1, 0], [0, 1]], keys: [[1, 2], [1, 0]], centred: true, causal: true"
    given = {
        "spectral-distance": f"{{{tokens}, law: {{from: weights}}}}",
        "not-marchenko-pastur": f"{{alpha2: 1, beta2: 1, lambda: 1, finite: {{{tokens}}}}}",
    }[claim]
    text = f"certattn: 1\nclaim: {claim}\ngiven: {given}\nasserts: {{law: {{at_most: 1}}}}\n"
    report = certattn.check(loads(text, tmp_path / "c.yaml"))
    assert report.verdict is Verdict.MALFORMED
    assert "causal" in report.reason


def exact(rows: list[list[int]]) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(x) for x in row] for row in rows])


def test_equal_scores_are_asked_of_what_is_seen() -> None:
    keys = exact([[1, 1], [1, 2], [1, 5]])
    assert is_uniform(exact([[3, 9], [1, 0], [2, 0]]), keys, causal=True)
    assert not is_uniform(exact([[3, 9], [1, 1], [2, 0]]), keys, causal=True)
    assert not is_uniform(exact([[3, 9], [1, 0], [2, 1]]), keys, causal=True)
    # The first two keys are alike, the third is not.
    assert is_uniform(exact([[3, 9], [1, 7], [2, 0]]), exact([[1, 1], [1, 1], [1, 5]]), causal=True)
