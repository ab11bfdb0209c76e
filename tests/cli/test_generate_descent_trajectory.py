"""`certattn generate descent-trajectory`: from a file to a certificate that verifies, and a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generating import refuses, states

import certattn
from certattn.kernel.errors import UsageError

Run = Callable[..., Any]

TRAINING = """\
model: regression
covariance: [[1, 1/2], [1/2, 5/4]]
start: {A: [[1/4, 0], [0, 1/4]], b: 1/4}
step: 1/100
steps: 4
"""
SIGNS = """\
model: attention
laws: [{kind: rademacher, sizes: [1, 1]}]
start: {U: [[1/2, 0], [0, 1/2]], V: [[1, 0], [0, 1]]}
step: 1/20
steps: 3
"""
DRAWN = ("--prompts", "4", "--length", "32")


@pytest.fixture
def training(folder: Path) -> Path:
    (folder / "training.yaml").write_text(TRAINING)
    return folder / "training.yaml"


test_what_is_generated_verifies = states(
    "descent-trajectory",
    [
        ([TRAINING, *DRAWN, "--seed", "3"], ""),
        ([TRAINING, *DRAWN, "--all-tasks", "--at", "finite"], ""),
        ([TRAINING, *DRAWN, "--checkpoint", "2", "--gronwall", "1", "--note", "for you"], ""),
    ],
)
test_what_cannot_be_stated_is_said = refuses(
    "descent-trajectory",
    [
        ([TRAINING, "--prompts", "4"], "--prompts and --length go together"),
        ([TRAINING.replace("[1/2, 5/4]", "[1/2, 1/8]"), *DRAWN], "task.yaml: covariance"),
        ([TRAINING, *DRAWN, "--plot", "made.txt"], ".svg, .png, .pdf"),
    ],
    status=2,
)


def test_prompts_from_a_file(certattn_run: Run, folder: Path) -> None:
    (folder / "signs.yaml").write_text(SIGNS)
    tokens = np.random.default_rng(0).choice([-1.0, 1.0], (12, 2))
    np.savez(folder / "prompts.npz", z=tokens, queries=tokens[:3], targets=tokens[:3] / 2)
    arguments = ("--arrays", "prompts.npz", "--array", "tokens=z", "-o", "made.yaml", "--plot", "made.svg")
    done = certattn_run("generate", "descent-trajectory", "signs.yaml", *arguments)
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "drew made.svg"
    assert (folder / "made.svg").read_text().startswith("<?xml")
    assert certattn_run("check", "made.yaml").status == 0


def test_the_prompts_say_how_large_the_identity_is(certattn_run: Run, folder: Path) -> None:
    text = TRAINING.replace("[[1, 1/2], [1/2, 5/4]]", "I").replace("[[1/4, 0], [0, 1/4]]", "1/4*I")
    (folder / "training.yaml").write_text(text)
    np.savez(folder / "prompts.npz", **{"x" if name == "tokens" else name: array for name, array in prompts().items()})
    arguments = ("--arrays", "prompts.npz", "--array", "tokens=x", "-o", "made.yaml")
    done = certattn_run("generate", "descent-trajectory", "training.yaml", *arguments)
    assert done.status == 0, done.err
    assert certattn.load(folder / "made.yaml").plain["given"]["covariance"] == [["1", "0"], ["0", "1"]]  # type: ignore[index, call-overload]
    start, source = {"A": "1/4*I", "b": "1/4"}, folder / "prompts.npz"
    given = {"model": "regression", "covariance": "I", "start": start, "step": "1/100", "steps": 4}
    made = certattn.generate(
        "descent-trajectory", folder / "again.yaml", given=given, source=source, names={"tokens": "x"}
    )
    assert made.plain["given"] == certattn.load(folder / "made.yaml").plain["given"]


# -- what is wrong in an array file is said of that file, not of the task


def prompts(**changes: np.ndarray[Any, Any] | None) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of three prompts of four tokens, some of them replaced or left out."""
    random = np.random.default_rng(0)
    shapes = {"tokens": (12, 2), "labels": (12, 1), "queries": (3, 2), "targets": (3, 1), "tasks": (3, 2)}
    arrays: dict[str, Any] = {name: random.normal(size=shape) for name, shape in shapes.items()} | changes
    return {name: array for name, array in arrays.items() if array is not None}


def spoilt(row: int, column: int, value: float) -> np.ndarray[Any, Any]:
    tokens = prompts()["tokens"]
    tokens[row, column] = value
    return tokens


BROKEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a NaN": (
        {"tokens": spoilt(5, 1, np.nan)},
        ["prompts.npz: the array 'tokens' (given.tokens)", "a NaN at row 5, column 1 (counted from 0)\n",
         "finite numbers", "numpy.isfinite"],
    ),
    "an infinity": ({"tokens": spoilt(11, 0, -np.inf)}, ["prompts.npz: the array 'tokens'", "row 11, column 0"]),
    "another width": (
        {"tokens": np.ones((12, 3))},
        ["prompts.npz: the array 'tokens' (given.tokens)", "a 12 x 3 matrix\n", "12 x 2 like the covariance",
         "change the array, or name another one"],
    ),
    "tokens that cannot be shared out": (
        {"tokens": np.ones((11, 2)), "labels": np.ones((11, 1))}, ["prompts.npz: the array 'tokens'", "11 tokens"]),
    "no labels": (
        {"labels": None}, ["prompts.npz: no array 'labels'; it holds tokens, queries, targets, tasks", "--array labels"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("out", ["made.yaml", "below/made.yaml"], ids=["in place", "copied"])
@pytest.mark.parametrize("name", BROKEN)
def test_errors_in_arrays_name_file_array_and_row(
    certattn_run: Run, training: Path, folder: Path, name: str, out: str
) -> None:
    changes, said = BROKEN[name]
    (folder / "below").mkdir()
    np.savez(folder / "prompts.npz", **prompts(**changes))  # type: ignore[arg-type]
    done = certattn_run("generate", "descent-trajectory", training, "--arrays", "prompts.npz", "-o", out)
    assert done.status == 2
    for words in said:
        assert words in done.err, done.err
    assert "training.yaml" not in done.err
    assert not list((folder / "below").iterdir())


def test_errors_in_arrays_from_python_name_the_array(folder: Path) -> None:
    given = {
        "model": "regression", "covariance": [[1, 0], [0, 1]], "start": {"A": [[0, 0], [0, 0]], "b": 1},
        "step": "0.1", "steps": 1,
    }  # fmt: skip
    with pytest.raises(certattn.MalformedError, match=r"^the array 'tokens' \(given.tokens\)\n.*row 5, column 1"):
        certattn.generate(
            "descent-trajectory", folder / "made.yaml", given={**given, **prompts(tokens=spoilt(5, 1, np.nan))}
        )


@pytest.mark.parametrize(
    ("tokens", "labels", "said"),
    [((4, 8, 2), (32, 1), "prompt after prompt: reshape(-1, 2)"), ((32, 2), (32,), "here the shape (32, 1)")],
)
def test_arrays_of_other_shapes(tmp_path: Path, tokens: tuple[int, ...], labels: tuple[int, ...], said: str) -> None:
    arrays = {"tokens": np.ones(tokens), "labels": np.ones(labels), "queries": np.ones((4, 2))}
    given = {
        "model": "regression", "covariance": np.eye(2), "start": {"A": [["1/2", 0], [0, "1/2"]], "b": "1/2"},
        "step": "1/20", "steps": 2, "targets": np.ones((4, 1)), **arrays,
    }  # fmt: skip
    with pytest.raises(UsageError) as refused:
        certattn.generate("descent-trajectory", tmp_path / "out.yaml", given=given)
    assert said in str(refused.value)
