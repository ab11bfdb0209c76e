"""`certattn generate singular-values`: from files to certificates that verify, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.kernel.errors import UsageError

Run = Callable[..., Any]


@pytest.fixture
def files(folder: Path) -> Path:
    rng = np.random.default_rng(6)
    np.savez(folder / "head.npz", queries=rng.standard_normal((30, 4)), keys=rng.standard_normal((30, 4)))
    np.save(folder / "m.npy", rng.standard_normal((28, 31)).astype(np.float32))
    np.savez(folder / "both.npz", matrix=np.eye(3), queries=np.eye(2), keys=np.eye(2))
    np.savez(folder / "other.npz", a=np.eye(3), b=np.ones((3, 2)))
    np.save(folder / "nothing.npy", np.zeros((3, 2)))
    np.save(folder / "line.npy", np.zeros(3))
    broken = np.eye(30)
    broken[1, 2] = np.nan
    np.save(folder / "broken.npy", broken)
    (folder / "plane.yaml").write_text("matrix: [[3, 0], [4, 5]]\n")
    (folder / "three.yaml").write_text("queries: [[1], [2], [0]]\nkeys: [[1], [0], [2]]\ncentred: false\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["head.npz", "--scale", "1/2"], "M = sqrt(d) (A - 11'/d), d = 30"),
        (["head.npz", "--scale", "1/2", "--not-centred", "--radius", "1e-9"], "M = sqrt(d) A, d = 30"),
        (["head.npz", "--above", "1/2", "--above", "100"], "none of the 30 singular values is > 100"),
        (["m.npy", "--largest", "2"], "the largest 2 of 28"),
        (["m.npy", "--state", "entropy", "--state", "stable-rank"], "the entropy of the shares sigma_k^2"),
        (["m.npy", "--hint", "float64"], "all 28 are"),
        (["m.npy", "--hint", "float32", "--radius", "1e-3", "--data", "copy"], "up to 0.001"),
        (["both.npz", "--array", "matrix=matrix"], "all 3 are (1, 1, 1)"),
        (["other.npz", "--array", "matrix=b"], "from other.npz[b]"),
        (["nothing.npy", "--state", "values"], "all 2 are (0, 0)"),
        (["plane.yaml", "--radius", "1e-30", "--note", "for you"], "up to 1e-30;"),
        (["three.yaml", "--above", "1"], "exactly 1 of the 3 singular values > 1"),
    ],
)
def test_what_is_stated_verifies(certattn_run: Run, files: Path, arguments: list[str], said: str) -> None:
    done = certattn_run("generate", "singular-values", *arguments, "-o", "made.yaml")
    assert done.status == 0, done.err
    assert said in " ".join(done.out.split())
    assert certattn_run("check", "made.yaml").status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["m.npy", "--radius", "0"], 2, "expected a positive number"),
        (["m.npy", "--radius", "1e-30"], 1, "expected a radius of at least that"),
        (["m.npy", "--largest", "29"], 2, "the largest 29 of 28 singular values"),
        (["m.npy", "--above", "-1"], 2, "a threshold is negative"),
        (["m.npy", "--scale", "2"], 2, "a matrix has no scale of scores"),
        (["m.npy", "--array", "tokens=x"], 2, "unknown arrays tokens"),
        (["plane.yaml", "--hint", "float32"], 2, "a hint is for a matrix in array files"),
        (["plane.yaml", "--scale", "2"], 2, "takes nothing else"),
        (["both.npz"], 2, "the matrix, or that of queries and keys?"),
        (["other.npz"], 2, "expected an array matrix, or arrays queries and keys; other.npz holds a, b"),
        (["other.npz", "--array", "matrix=c"], 2, "no array 'c'; it holds a, b"),
        (["nothing.npy"], 2, "the matrix is 0 and has no stable rank"),
        (["line.npy"], 2, "expected two dimensions"),
        (["broken.npy"], 2, "a NaN at row 1, column 2 (counted from 0)"),
        (["missing.npy"], 2, "missing.npy: "),
    ],
)
def test_what_cannot_be_stated_is_said(
    certattn_run: Run, files: Path, arguments: list[str], status: int, said: str
) -> None:
    done = certattn_run("generate", "singular-values", *arguments, "-o", "made.yaml")
    assert done.status == status, done.err
    assert said in done.err
    assert sorted(path.name for path in files.glob("made*")) == []


def test_a_value_at_a_threshold_cannot_be_counted(certattn_run: Run, folder: Path) -> None:
    (folder / "two.yaml").write_text("matrix: [[2, 0], [0, 1]]\n")
    done = certattn_run("generate", "singular-values", "two.yaml", "--above", "2", "-o", "made.yaml")
    assert done.status == 1
    assert "cannot be told from the threshold 2" in done.err


def test_arrays_from_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {"queries": rng.integers(-9, 9, (40, 3)), "keys": rng.integers(-9, 9, (40, 3))}
    made = certattn.generate("singular-values", tmp_path / "made.yaml", **arrays, scale="1/64", largest=4)
    assert certattn.check(tmp_path / "made.yaml").verdict is certattn.Verdict.VERIFIED
    assert len(made.plain["asserts"]["values"]["value"]) == 4  # type: ignore[index,call-overload,arg-type]
    with pytest.raises(UsageError, match="is nothing to state"):
        certattn.generate("singular-values", tmp_path / "other.yaml", **arrays, states=["rank"])


def test_another_hint_of_that_name_is_not_overwritten(certattn_run: Run, files: Path) -> None:
    (files / "made-hint.npz").write_bytes(b"something else")
    done = certattn_run("generate", "singular-values", "m.npy", "--hint", "float32", "-o", "made.yaml")
    assert done.status == 2
    assert "exists with other content" in done.err
    assert (files / "made-hint.npz").read_bytes() == b"something else"
