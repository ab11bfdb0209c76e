"""`certattn generate` for the propositions and typical prompts: from files to certificates that verify."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generating import refuses, states

Run = Callable[..., Any]

INSTANCE = """law: {kind: gaussian, mean: [0], covariance: [[1]]}
queries: {kind: gaussian, mean: [0], covariance: [[1]]}
K: [[0]]
length: 1
"""
LAWS = INSTANCE.replace("K: [[0]]\nlength: 1", "sigma: 1")
BOXES = "law: {kind: box, sizes: [1]}\nqueries: {kind: box, sizes: [1]}\nsigma: 1\n"
CLASS = """class: {dimension: 2, sigma: 1, query_dimension: 3, query_sigma: 1}
norms: {U: 1/2, V: 1}
"""


@pytest.fixture
def law(folder: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = folder / "law.yaml"
        path.write_text(text)
        return path

    return write


TEXTS = (INSTANCE, LAWS, BOXES, CLASS)
test_bounds_verify = states("proposition-3-1", [([text, "--note", "for you"], "") for text in TEXTS])
test_bounds_of_gradients_verify = states("proposition-3-4", [([text], "") for text in TEXTS])
test_bounds_of_gradients_in_u_verify = states("proposition-3-4", [([text, "--gradient", "U"], "") for text in TEXTS])
test_errors_are_in_the_file_that_was_read = refuses(
    "proposition-3-1", [([LAWS.replace("sigma: 1", "sigma: 1/2")], "task.yaml: sigma")], status=2
)


def test_the_constant_is_an_option(certattn_run: Run, law: Callable[[str], Path], folder: Path) -> None:
    assert certattn_run("generate", "proposition-3-1", law(LAWS), "--c2", "1/4", "-o", "made.yaml").status == 0
    assert "c2: 0.25" in (folder / "made.yaml").read_text()
    done = certattn_run("generate", "proposition-3-1", law(LAWS), "--c2", "1", "-o", "other.yaml")
    assert done.status == 1
    assert "too large for these laws; expected at most 0.5" in done.err or "expected at most 0.499" in done.err
    assert not (folder / "other.yaml").exists()


@pytest.fixture
def prompt(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    path = folder / "prompt.npz"
    np.savez(path, tokens=rng.normal(size=(100, 2)).astype(np.float32), queries=np.float32([[1, 0], [0.5, 0.25]]))
    return path


@pytest.mark.heavy
@pytest.mark.parametrize(
    "options",
    [
        ["--probability", "0.01"], ["--exceeds", "1"], ["--probability", "0.1", "--norm", "linf", "--query", "1"],
        ["--probability", "0.1", "--direction", "1, 0", "--direction", "0, -1"],
        ["--probability", "0.1", "--scale", "1/sqrt(2)", "--data", "copy", "--note", "for you"],
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("under", ["law: ", ""], ids=["under law", "alone"])
def test_a_prompt_beside_a_law(
    certattn_run: Run, law: Callable[[str], Path], prompt: Path, options: list[str], under: str
) -> None:
    text = "{kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}"
    text = under + text if under else "kind: gaussian\nmean: [0, 0]\ncovariance: [[1, 0], [0, 1]]\n"
    done = certattn_run("generate", "typical-prompt", prompt, "--law", law(text), "-o", "made.yaml", *options)
    assert done.status == 0, done.err
    assert certattn_run("check", "made.yaml").status == 0


def test_a_law_that_is_none_is_blamed_on_its_file(generate: Run, law: Callable[[str], Path], prompt: Path) -> None:
    options = ["--law", law("law: {kind: normal}"), "--probability", "0.1"]
    done = generate("typical-prompt", prompt, *options)
    assert done.status == 2
    assert "law.yaml:1: kind" in done.err
