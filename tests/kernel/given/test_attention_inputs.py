"""The words of laws, tilts, directions and queries whose numbers are in array files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from certattn.kernel.document.certificate import loads
from certattn.statements.wording import statement_of

SIZE = 20
ARRAYS = {"tokens": np.zeros(SIZE), "matrix": np.eye(SIZE), "ones": np.ones(SIZE), "points": np.eye(3, SIZE)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, array in ARRAYS.items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def words(claim: str, given: str, rest: str, folder: Path) -> str:
    """The statement; `<name>` stands for a reference to an array."""
    text = f"certattn: 1\nclaim: {claim}\ngiven: {given}\n{rest}\n"
    for name, array in ARRAYS.items():
        digest = hashlib.sha256((folder / f"{name}.npy").read_bytes()).hexdigest()
        reference = f"{{file: {name}.npy, sha256: {digest}, dtype: float64, shape: {list(array.shape)}}}"
        text = text.replace(f"<{name}>", reference)
    certificate = loads(text, folder / "case.yaml")
    return statement_of(certificate).words


GAUSSIAN = "{kind: gaussian, mean: <tokens>, covariance: <matrix>}"
GAUSSIAN_WORDS = f"mean {SIZE} numbers from tokens.npy and covariance {SIZE} x {SIZE} from matrix.npy"
LAWS = {
    GAUSSIAN: f"Gaussian tokens of {GAUSSIAN_WORDS}",
    "{kind: rademacher, sizes: <ones>}": f"of independent signs (Rademacher) of sizes {SIZE} numbers from ones.npy",
    "{kind: box, sizes: <ones>}": f"tokens uniform on the box of half-widths {SIZE} numbers from ones.npy",
    "{kind: atoms, points: <points>}": f"drawn from 3 atoms 3 x {SIZE} from points.npy of weights (1/3, 1/3, 1/3)",
    f"{{kind: mixture, components: [{{weight: 1, law: {GAUSSIAN}}}]}}": (
        f"tokens from a mixture (Gaussian tokens of {GAUSSIAN_WORDS} with probability 1)"
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_words_of_a_law_a_tilt_and_a_direction_name_their_files(law: str, folder: Path) -> None:
    rest = (
        "asserts: {directions: [{direction: <ones>, exceeds: 1, probability: 1/2}]}\n"
        "witness: {directions: [{rule: cantelli}]}"
    )
    said = words("output-tail", f"{{law: {law}, tilt: <tokens>, length: 10}}", rest, folder)
    assert LAWS[law] in said
    assert f"for a = {SIZE} numbers from tokens.npy" in said
    assert f"for u = {SIZE} numbers from ones.npy" in said
    assert said.count(f"{SIZE} numbers") == said.count(f"{SIZE} numbers from ")


def test_the_words_of_a_law_of_queries_name_its_files(folder: Path) -> None:
    given = f"{{law: {GAUSSIAN}, queries: {{mean: <ones>, covariance: <matrix>}}, length: 10}}"
    said = words(
        "output-mean-square", given, "asserts: {mean_square: {at_most: 1}}\nwitness: {method: integral}", folder
    )
    wanted = f"mean {SIZE} numbers from ones.npy and covariance {SIZE} x {SIZE} from matrix.npy"
    assert f"Gaussian query z of {wanted}" in said
    assert said.count(f"{SIZE} numbers") == said.count(f"{SIZE} numbers from ")


def test_a_law_of_queries_keeps_the_names_of_its_files(folder: Path) -> None:
    # The file's own name is tokens.npy, although the law is one of queries.
    given = f"{{law: {GAUSSIAN}, queries: {GAUSSIAN}, K: <points>, Q: <points>, length: 1}}"
    said = words("proposition-3-1", given, "asserts: {published: fails}", folder)
    assert f"Gaussian tokens of {GAUSSIAN_WORDS}, Gaussian queries of {GAUSSIAN_WORDS}" in said


def test_numbers_that_are_written_out_are_shown(folder: Path) -> None:
    rest = (
        "asserts: {norm: {norm: linf, exceeds: 1, probability: 1/2}}\n"
        "witness: {norm: {bounds: [{rule: cantelli}, {rule: cantelli}]}}"
    )
    given = "{law: {kind: gaussian, mean: [1/2], covariance: [[2]]}, tilt: [3], length: 10}"
    said = words("output-tail", given, rest, folder)
    assert "Gaussian tokens of mean (0.5) and covariance (2), with the score <a, x> for a = (3)" in said
