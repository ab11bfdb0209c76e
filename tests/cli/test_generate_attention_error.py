"""`certattn generate attention-error`: bounds that are stated, and types that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import certattn
from certattn.provers.safetensors import file_bytes

RNG = np.random.default_rng(5)
Q, K, V = (RNG.standard_normal(shape) for shape in ((4, 3), (6, 3), (6, 2)))
WEIGHTS = np.exp(Q @ K.T)
OUTPUT = WEIGHTS @ V / WEIGHTS.sum(1, keepdims=True)


def save(folder: Path, output: Any) -> Path:
    np.savez(folder / "head.npz", queries=Q, keys=K, values=V, output=output)
    return folder / "head.npz"


@pytest.mark.parametrize("measure", ["error", "relative", "ulps", "rms"])
def test_a_bound_that_is_known_to_be_false_is_not_stated(generate: Any, folder: Path, measure: str) -> None:
    path = save(folder, OUTPUT + 0.25)
    done = generate("attention-error", path, "--scale", "1", "--at-most", f"{measure}=0.01")
    assert (done.status, done.out) == (1, "")
    assert f"at_most 0.01 of {measure} is too small: it is about " in done.err
    assert not (folder / "made.yaml").exists()


@pytest.mark.parametrize("bound", ["0.2500001", "1"])
def test_a_bound_that_holds_is_stated(generate: Any, folder: Path, bound: str) -> None:
    done = generate("attention-error", save(folder, OUTPUT + 0.25), "--scale", "1", "--at-most", f"error={bound}")
    assert done.status == 0
    assert certattn.check(folder / "made.yaml").verdict.value == "verified"


def test_what_doubles_do_not_decide_is_left_to_the_check(generate: Any, folder: Path) -> None:
    done = generate("attention-error", save(folder, OUTPUT), "--scale", "1", "--at-most", "error=1e-15")
    assert done.status == 0
    report = certattn.check(folder / "made.yaml")
    assert report.verdict.value in ("verified", "refuted")
    assert "Arb" in report.arithmetic


def test_units_in_the_last_place_are_those_of_the_output_wherever_it_is_copied(generate: Any, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    output = OUTPUT.astype(ml_dtypes.bfloat16)
    arrays = {"queries": Q, "keys": K, "values": V}
    held = {name: ("float64", array) for name, array in arrays.items()} | {"output": ("bfloat16", output.view("u2"))}
    (folder / "elsewhere" / "head.safetensors").write_bytes(file_bytes(held))
    done = generate("attention-error", "elsewhere/head.safetensors", "--scale", "1", "--at-most", "ulps=0.51",
                    "--data", "copy")  # fmt: skip
    assert done.status == 0
    assert "dtype: bfloat16" in (folder / "made.yaml").read_text()
    assert certattn.check(folder / "made.yaml").verdict.value == "verified"


def test_beside_an_exact_row_of_zeros_the_relative_error_is_left_out(generate: Any, folder: Path) -> None:
    values = np.array([[1.0, 0], [-1, 0]])
    np.savez(folder / "zero.npz", queries=np.zeros((1, 2)), keys=np.eye(2), values=values, output=np.zeros((1, 2)))
    assert generate("attention-error", folder / "zero.npz", "--scale", "1/sqrt(2)").status == 0
    assert "relative" not in (folder / "made.yaml").read_text()
    assert certattn.check(folder / "made.yaml").verdict.value == "verified"
    done = generate("attention-error", folder / "zero.npz", "--scale", "1/sqrt(2)", "--state", "relative")
    assert done.status == 1
