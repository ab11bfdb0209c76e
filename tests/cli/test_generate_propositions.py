"""`certattn generate` for the propositions and typical prompts: from files to certificates that verify."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]

INSTANCE = """law: {kind: gaussian, mean: [0], covariance: [[1]]}
queries: {kind: gaussian, mean: [0], covariance: [[1]]}
K: [[0]]
length: 1
"""
LAWS = INSTANCE.replace("K: [[0]]\nlength: 1", "sigma: 1")
BOXES = "law: {kind: box, sizes: [1]}\nqueries: {kind: box, sizes: [1]}\nsigma: 1\n"


@pytest.fixture
def law(folder: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = folder / "law.yaml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("text", [INSTANCE, LAWS, BOXES], ids=["instance", "gaussian", "boxes"])
@pytest.mark.parametrize("options", [["proposition-3-1"], ["proposition-3-4"], ["proposition-3-4", "--gradient", "U"]])
def test_what_is_generated_verifies(
    certattn_run: Run, law: Callable[[str], Path], text: str, options: list[str]
) -> None:
    done = certattn_run("generate", *options, law(text), "-o", "made.yaml", "--note", "for you")
    assert done.status == 0, done.err
    first, *_, last = done.out.splitlines()
    assert first == "wrote made.yaml"
    assert last == "now prove it: certattn check made.yaml"
    assert certattn_run("check", "made.yaml").status == 0


def test_the_constant_is_an_option(certattn_run: Run, law: Callable[[str], Path], folder: Path) -> None:
    assert certattn_run("generate", "proposition-3-1", law(LAWS), "--c2", "1/4", "-o", "made.yaml").status == 0
    assert "c2: 0.25" in (folder / "made.yaml").read_text()
    done = certattn_run("generate", "proposition-3-1", law(LAWS), "--c2", "1", "-o", "other.yaml")
    assert done.status == 1
    assert "too large for these laws; expected at most 0.5" in done.err or "expected at most 0.499" in done.err
    assert not (folder / "other.yaml").exists()


def test_errors_are_in_the_file_that_was_read(certattn_run: Run, law: Callable[[str], Path]) -> None:
    done = certattn_run("generate", "proposition-3-1", law(LAWS.replace("sigma: 1", "sigma: 1/2")), "-o", "made.yaml")
    assert done.status == 2
    assert "law.yaml: sigma" in done.err


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


def test_a_law_that_is_none_is_blamed_on_its_file(certattn_run: Run, law: Callable[[str], Path], prompt: Path) -> None:
    done = certattn_run(
        "generate",
        "typical-prompt",
        prompt,
        "--law",
        law("law: {kind: normal}"),
        "--probability",
        "0.1",
        "-o",
        "m.yaml",
    )
    assert done.status == 2
    assert "law.yaml: kind" in done.err
