"""`certattn compare`: what is measured, proved, written and drawn, and which files it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import certattn
from certattn.provers import figures
from certattn.provers.safetensors import file_bytes
from certattn.testing import assert_attention_close, attention_error
from certattn.testing.arrays import Numbers

Run = Callable[..., Any]
Arrays = dict[str, Any]


def attention(q: Any, k: Any, v: Any, causal: int | None = None) -> tuple[Any, Any]:
    """Output and log-sum-exp in doubles."""
    k, v = (each.astype(float).repeat(q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = np.einsum("bhmd,bhnd->bhmn", q.astype(float), k) / np.sqrt(q.shape[3])
    if causal is not None:
        scores = np.where(np.tri(*scores.shape[2:], causal, dtype=bool), scores, -np.inf)
    weights = np.exp(scores)
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhmn,bhnd->bhmd", weights / total, v), np.log(total)[..., 0]


RNG = np.random.default_rng(7)
Q, K, V = (RNG.standard_normal(shape).astype(np.float16) for shape in ((2, 4, 9, 8), (2, 2, 12, 8), (2, 2, 12, 5)))
EXACT, LSE = attention(Q, K, V)
HALF = EXACT.astype(np.float16)
ARRAYS: Arrays = {"q": Q, "k": K, "v": V, "output": HALF}


def save(folder: Path, name: str = "a.npz", /, **arrays: Any) -> Path:
    """A file of these arrays, those of ARRAYS by default; None leaves one out."""
    held = {field: array for field, array in {**ARRAYS, **arrays}.items() if array is not None}
    path = folder / name
    if path.suffix == ".safetensors":
        numbers = {field: Numbers.of(array, field) for field, array in held.items()}
        path.write_bytes(file_bytes({field: (each.dtype, each.bits) for field, each in numbers.items()}))
    elif path.suffix == ".npz":
        np.savez(path, **held)
    else:
        path.mkdir()
        for field, array in held.items():
            np.save(path / f"{field}.npy", array)
    return path


@pytest.fixture
def found(certattn_run: Run) -> Callable[..., dict[str, Any]]:
    """What the command says to programs."""

    def call(*arguments: Any) -> dict[str, Any]:
        done = certattn_run("compare", *arguments, "--format", "json")
        assert done.err == ""
        content: dict[str, Any] = json.loads(done.out)
        return content

    return call


# -- what is measured


def test_the_smallest_bounds_hold_and_the_ones_before_do_not(certattn_run: Run, folder: Path, found: Any) -> None:
    path = save(folder)
    done = certattn_run("compare", path)
    assert (done.status, done.err) == (0, "")
    table = done.out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["batch", "head", "max_abs", "relative", "ulps", "rms"]
    assert len(table) == 9
    measured = found(path)
    for row, head in zip(table[1:], measured["heads"], strict=True):
        cells = row.split()
        assert cells[:2] == [str(head["batch"]), str(head["head"])]
        for cell, measure in zip(cells[2:], ("max_abs", "max_relative", "max_ulps", "rms"), strict=True):
            bound, size = Fraction(cell), Fraction(head[measure]["upper"])
            assert size <= bound <= size * Fraction(102, 100)
    for name, bound in measured["smallest_bounds"].items():
        smaller = re.search(rf"^  {name} +{bound}  (\S+) does not hold$", done.out, re.MULTILINE)
        assert smaller
        option = f"--{name.replace('_', '-')}"
        assert certattn_run("compare", path, option, bound).status == 0
        assert certattn_run("compare", path, option, smaller[1]).status == 1


def test_below_a_power_of_ten_digits_are_finer() -> None:
    from certattn.testing.comparing import least_bound
    from certattn.testing.errors import Enclosed

    least = least_bound(Enclosed(0.0009999, 0.0009999), 3)
    assert least is not None
    assert (str(least), least.words) == ("0.00100", "0.000999 does not hold")
    least = least_bound(Enclosed(0.75, 1.0), 1)
    assert least is not None
    assert (str(least), least.words) == ("1", "")
    least = least_bound(Enclosed(0, 0), 3)
    assert least is not None
    assert (str(least), least.words) == ("0", "")
    assert least_bound(Enclosed(1.0, np.inf), 3) is None
    assert least_bound(Enclosed(0.0, np.nan), 3) is None


def test_it_is_what_certattn_testing_measures(folder: Path, found: Any) -> None:
    content = found(save(folder, lse=LSE))
    expected = attention_error(HALF, Q, K, V, lse=LSE).to_dict()
    assert {name: content[name] for name in expected} == json.loads(json.dumps(expected))


@pytest.mark.parametrize(("options", "how"), [
    (["--causal", "bottom-right"], {"causal": "bottom-right"}),
    (["--causal", "1", "--window", "2"], {"causal": 1, "window": 2}),
    (["--lengths", "7, 12"], {"lengths": [7, 12]}),
    (["--sequences", "4,5:5,7", "--causal", "top-left"], {"sequences": ([4, 5], [5, 7]), "causal": "top-left"}),
    (["--scale", "1/3"], {"scale": "1/3"}),
])  # fmt: skip
def test_masks_and_scales(folder: Path, found: Any, options: list[str], how: Arrays) -> None:
    expected = attention_error(HALF, Q, K, V, **how).max_abs
    assert found(save(folder), *options)["max_abs"] == {"lower": expected.lower, "upper": expected.upper}


def test_masks_and_rules_that_are_arrays(certattn_run: Run, folder: Path, found: Any) -> None:
    mask = RNG.random((2, 1, 9, 12)) < 0.5
    mask[1, 0, 3] = False
    slopes, sinks = np.array([0.5, 0.25, 0.125, 0]), np.float32([1, -1, 0, 2])
    how = {"mask": mask, "alibi": slopes, "sinks": sinks}
    expected = attention_error(HALF, Q, K, V, soft_cap=30, lse=LSE, **how)
    for name, held in (("a.npz", mask), ("b.npz", mask.astype(np.int8)), ("c", mask)):
        path = save(folder, name, lse=LSE, **{**how, "mask": held})
        content = found(path, "--soft-cap", "30")
        # A row that is exactly 0 has no relative error, and null is what JSON has for an infinity.
        assert content["heads"] == json.loads(json.dumps(expected.to_dict()["heads"]).replace("Infinity", "null"))
        assert certattn_run("compare", path, "--soft-cap", "30", "-o", f"{name[0]}.yaml").status == 0
        assert certattn.check(folder / f"{name[0]}.yaml").verdict.value == "verified"
    # Booleans have to be copied, and not over the file that they are from.
    assert {path.name for path in folder.glob("*-arrays.npz")} == {"a-arrays.npz", "c-arrays.npz"}
    done = certattn_run("compare", save(folder, mask=mask))
    assert done.status == 2
    assert "query 3 of batch 1 sees no key" in done.err
    assert certattn_run("compare", "a.npz", "--empty", "zero").status == 0


def test_booleans_of_safetensors(folder: Path, found: Any) -> None:
    mask = RNG.random((9, 12)) < 0.8
    numbers = {field: Numbers.of(array, field) for field, array in ARRAYS.items()}
    held = {field: (each.dtype, each.bits) for field, each in numbers.items()} | {"mask": ("bool", mask)}
    (folder / "a.safetensors").write_bytes(file_bytes(held))
    assert found("a.safetensors")["heads"] == found(save(folder, mask=mask))["heads"]


def test_log_sum_exps_of_queries_that_see_nothing_are_not_looked_at(certattn_run: Run, folder: Path) -> None:
    mask = np.ones((9, 12), bool)
    mask[4] = False
    output, lse = HALF.copy(), LSE.copy()
    output[:, :, 4], lse[:, :, 4] = 0, -np.inf
    path = save(folder, output=output, lse=lse, mask=mask)
    assert certattn_run("compare", path, "--empty", "zero", "--lse", "1e-9", "--max-abs", "1e-3").status == 0
    # Of nothing but such queries nothing is shown.
    path = save(folder, output=0 * HALF, lse=lse, mask=np.zeros((9, 12), bool))
    done = certattn_run("compare", path, "--empty", "zero", "--lse", "1e9")
    assert done.status == 3
    assert "undecided: lse" in done.out


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors", "a"])
def test_layouts_and_kinds_of_files(folder: Path, found: Any, name: str) -> None:
    path = save(folder, name, **{field: array.swapaxes(1, 2) for field, array in ARRAYS.items()})
    assert found(path, "--layout", "bshd")["heads"] == found(save(folder, "b.npz"))["heads"]


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_types_that_numpy_does_not_have(folder: Path, found: Any, dtype: Any) -> None:
    content = found(save(folder, "a.safetensors", output=EXACT.astype(dtype)))
    assert content["dtype"] == np.dtype(dtype).name
    assert 0.25 < content["max_ulps"]["lower"] <= content["max_ulps"]["upper"] < 0.51


def test_a_log_sum_exp_that_is_no_number_is_named(certattn_run: Run, folder: Path) -> None:
    bad = LSE.copy()
    bad[1, 2, 3] = np.nan
    done = certattn_run("compare", save(folder, lse=bad), "--lse", "1", "--max-abs", "1")
    assert done.status == 1
    assert "worst log-sum-exp at batch 1, head 2, query 3\n" in done.out
    assert "refuted: lse at most 1; it is NaN or infinite\n" in done.out
    assert "proved: max_abs at most 1;" in done.out


def test_many_heads_show_the_worst(certattn_run: Run, folder: Path) -> None:
    many = {field: array.repeat(5, 0) for field, array in ARRAYS.items()}
    out = certattn_run("compare", save(folder, **many)).out
    assert "and 8 heads with smaller errors, which --format json has\n" in out


# -- bounds and the exit status


@pytest.mark.parametrize(("options", "status", "words"), [
    (["--max-abs", "1e-3"], 0, ["proved: max_abs at most 0.001; it is 0.000"]),
    (["--relative", "1e-3", "--ulps", "0.51", "--rms", "1"], 0, ["proved: relative", "proved: ulps", "proved: rms"]),
    (["--max-abs", "1e-9", "--rms", "1"], 1, ["refuted: max_abs at most 1e-9; it is", "proved: rms at most 1;"]),
    (["--max-abs", "0"], 1, ["refuted: max_abs at most 0;"]),
])  # fmt: skip
def test_bounds_are_proved_or_refuted(
    certattn_run: Run, folder: Path, options: list[str], status: int, words: list[str]
) -> None:
    done = certattn_run("compare", save(folder), *options)
    assert done.status == status
    assert all(word in done.out for word in words)


def test_what_is_not_decided_is_neither(certattn_run: Run, folder: Path, found: Any) -> None:
    path = save(folder, output=EXACT)
    done = certattn_run("compare", path, "--max-abs", "1e-17")
    assert done.status == 3
    assert "undecided: max_abs at most 1e-17; it is 0 to" in done.out
    assert done.out.endswith("may be decided by certattn check, which continues in Arb\n")
    assert certattn_run("compare", path, "--max-abs", "1e-17", "--rms", "1").status == 3
    assert found(path, "--max-abs", "1e-17")["bounds"] == {"max_abs": {"at_most": "1/100000000000000000",
                                                                      "outcome": "undecided"}}  # fmt: skip
    # One that is refuted is louder.
    wrong = EXACT.copy()
    wrong[0, 0, 0, 0] += 1
    assert certattn_run("compare", save(folder, output=wrong), "--max-abs", "1e-17", "--rms", "1").status == 1


def test_a_usual_mistake_is_named(certattn_run: Run, folder: Path) -> None:
    wrong = attention(Q, K, V, causal=0)[0].astype(np.float16)
    done = certattn_run("compare", save(folder, output=wrong), "--relative", "1e-3")
    assert done.status == 1
    assert "looks like this mistake: the mask is causal, top-left" in done.out


def test_entries_that_are_no_numbers(certattn_run: Run, folder: Path, found: Any) -> None:
    wrong = HALF.copy()
    wrong[1, 3, 2, 4] = np.nan
    path = save(folder, output=wrong)
    done = certattn_run("compare", path, "--rms", "9")
    assert done.status == 1
    assert "NaN or infinite: 1 entry of the output\n" in done.out
    assert "worst entry at batch 1, head 3, query 2, coordinate 4: nan" in done.out
    # The others are as near as they can be.
    assert "mistake" not in done.out
    content = found(path)
    assert content["smallest_bounds"]["max_abs"] is None
    assert content["max_abs"] == {"lower": None, "upper": None}


def test_where_binary64_bounds_nothing_a_certificate_goes_on(certattn_run: Run, folder: Path) -> None:
    ones = np.ones((2, 3))
    path = save(folder, q=ones * 200, k=ones * 200, v=ones, output=ones)
    done = certattn_run("compare", path)
    assert done.status == 3
    assert "undecided: binary64 bounds nothing here (scores beyond" in done.out
    assert "state bounds" in certattn_run("compare", path, "-o", "c.yaml").out
    assert not (folder / "c.yaml").exists()
    found = json.loads(certattn_run("compare", path, "--max-abs", "1", "--format", "json").out)
    assert found["bounds"] == {"max_abs": {"at_most": "1", "outcome": "undecided"}}
    assert found["undecided"].startswith("scores beyond")
    assert certattn_run("compare", path, "-o", "c.yaml", "--max-abs", "1e-9").status == 3
    assert certattn.check(folder / "c.yaml").verdict.value == "verified"


OVERFLOWS: dict[str, tuple[float, float, str, str, str]] = {
    "rms": (0, 1e200, "--rms", "1e201", "not bounded in doubles"),
    "ulps": (0, 1e20, "--ulps", "1e400", "not bounded in doubles"),
    "relative": (1e-300, 1e200, "--relative", "1e501", "not bounded: a row of the exact output is nearly or exactly 0"),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_what_overflows_is_not_refuted(certattn_run: Run, folder: Path, name: str) -> None:
    value, entry, option, bound, why = OVERFLOWS[name]
    zeros = {"q": np.zeros((1, 1)), "k": np.zeros((2, 1)), "v": np.full((2, 1), value)}
    path = save(folder, **zeros, output=np.array([[entry]]))
    done = certattn_run("compare", path, option, bound)
    assert done.status == 3
    assert f"undecided: {name} at most {bound}; it is 0 to inf, {why}" in done.out
    assert "NaN or infinite" not in done.out
    assert "a.npz: float64, 1 head of 1 query and 2 keys in dimension 1, proved errors" in done.out
    assert certattn_run("compare", path, "--max-abs", "1e201").status == 0
    assert certattn_run("compare", path, "--max-abs", "1e19").status == 1


def test_a_row_that_is_zero_is_not_refuted_in_relative_error(certattn_run: Run, folder: Path) -> None:
    """As little as by the check of the certificate; other rows are."""
    mask = np.ones((9, 12), bool)
    mask[4] = False
    output = attention(Q, K, V)[0].astype(np.float16)
    output[:, :, 4] = 1
    path = save(folder, output=output, mask=mask)
    done = certattn_run("compare", path, "--empty", "zero", "--relative", "1e-3", "-o", "c.yaml")
    assert done.status == 3
    assert "undecided: relative at most 0.001; it is 0.000" in done.out
    assert "a row of the exact output is nearly or exactly 0; state max_abs" in done.out
    assert certattn.check(folder / "c.yaml").verdict.value == "inconclusive"
    assert certattn_run("compare", path, "--empty", "zero", "--max-abs", "2").status == 0
    output[1, 2, 3] = 9
    path = save(folder, output=output, mask=mask)
    assert certattn_run("compare", path, "--empty", "zero", "--relative", "1e-3").status == 1


# -- certificates


def test_integers_and_axes_of_one_become_what_certificates_hold(certattn_run: Run, folder: Path, found: Any) -> None:
    whole = {"q": Q.round().astype(np.int64), "alibi": np.array([[1, 2, 0, 3]]), "sinks": np.ones((1, 4, 1, 1))}
    path = save(folder, **whole)
    expected = attention_error(HALF, whole["q"].astype(float), K, V, alibi=[1, 2, 0, 3], sinks=np.ones(4))
    assert found(path)["max_abs"] == {"lower": expected.max_abs.lower, "upper": expected.max_abs.upper}
    assert certattn_run("compare", path, "-o", "c.yaml").status == 0
    assert certattn.check(folder / "c.yaml").verdict.value == "verified"
    text = (folder / "c.yaml").read_text()
    assert "int64" not in text


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors"])
def test_a_certificate_states_the_smallest_bounds(certattn_run: Run, folder: Path, name: str) -> None:
    done = certattn_run("compare", save(folder, name, lse=LSE, output=None, o=HALF), "-o", "c.yaml")
    assert done.status == 0
    assert done.out.endswith("wrote c.yaml\nnow prove it: certattn check c.yaml\n")
    report = certattn.check(folder / "c.yaml")
    assert report.verdict.value == "verified"
    text = (folder / "c.yaml").read_text()
    assert all(f"{measure}:" in text for measure in ("error", "relative", "ulps", "rms", "lse"))
    # The arrays lie beside it already, under the names that they have.
    assert sorted(path.name for path in folder.iterdir()) == [name, "c.yaml"]
    assert f"file: {name}" in text
    assert "array: o\n" in text


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_other_layouts_are_copied_with_their_types(certattn_run: Run, folder: Path, dtype: Any) -> None:
    held = {**ARRAYS, "output": EXACT.astype(dtype)}
    path = save(folder, "a.safetensors", **{field: array.swapaxes(1, 2) for field, array in held.items()}, lse=LSE)
    assert certattn_run("compare", path, "--layout", "bshd", "-o", "c.yaml", "--ulps", "0.51").status == 0
    assert certattn.check(folder / "c.yaml").verdict.value == "verified"
    assert f"dtype: {np.dtype(dtype).name}" in (folder / "c.yaml").read_text()


def test_matrices_alone(certattn_run: Run, folder: Path) -> None:
    path = save(folder, q=Q[0, 0], k=K[0, 0], v=V[0, 0], output=HALF[0, 0], lse=LSE[0, 0])
    assert certattn_run("compare", path, "-o", "c.yaml").status == 0
    assert certattn.check(folder / "c.yaml").verdict.value == "verified"


def test_a_bound_that_is_false_is_stated_and_refuted(certattn_run: Run, folder: Path) -> None:
    assert certattn_run("compare", save(folder), "-o", "c.yaml", "--max-abs", "1e-9").status == 1
    assert certattn.check(folder / "c.yaml").verdict.value == "refuted"


def test_nothing_is_stated_of_what_has_no_bound(certattn_run: Run, folder: Path) -> None:
    wrong = HALF.copy()
    wrong[0, 0, 0, 0] = np.inf
    done = certattn_run("compare", save(folder, output=wrong), "-o", "c.yaml")
    assert done.status == 1
    assert done.err == (
        "certattn: no certificate is written: the output has entries that are NaN or infinite: no bound of its error "
        "holds\n"
    )
    assert "a.npz: float16" in done.out
    lse = LSE.copy()
    lse[0, 0, 1] = np.inf
    path = save(folder, lse=lse)
    for bounds in ([], ["--lse", "1"]):
        done = certattn_run("compare", path, "-o", "c.yaml", *bounds)
        assert done.status == 1
        assert "no certificate is written: the log-sum-exp at [0, 0, 1] is NaN or infinite, and certif" in done.err
    assert not (folder / "c.yaml").exists()
    # What is not stated is not in it.
    for number in (np.inf, np.nan):
        lse[0, 0, 1] = number
        done = certattn_run("compare", save(folder, lse=lse), "-o", "c.yaml", "--max-abs", "1")
        assert (done.status, done.err) == (0, "")
        assert "lse" not in (folder / "c.yaml").read_text()
        assert certattn.check(folder / "c.yaml").verdict.value == "verified"


@pytest.mark.parametrize("bounds", [[], ["--lse", "1"], ["--lse", "1", "--max-abs", "1"]])
@pytest.mark.parametrize("size", [1, 200])
def test_log_sum_exps_of_nothing_are_in_no_certificate(
    certattn_run: Run, folder: Path, bounds: list[str], size: int
) -> None:
    """Nor where binary64 bounds nothing, and the certificate is for Arb."""
    ones, mask = np.ones((2, 3)) * size, np.array([[0, 0], [1, 1]])
    output = np.array([[0, 0, 0], [1, 1, 1]]) * 1.0
    path = save(folder, q=ones, k=ones, v=ones / size, output=output, mask=mask, lse=np.array([-np.inf, 9]))
    done = certattn_run("compare", path, "--empty", "zero", "-o", "c.yaml", *bounds)
    assert not (folder / "c.yaml").exists()
    if bounds or size == 1:
        assert done.status == 1
        assert "no certificate is written: the log-sum-exp at [0] is NaN or infinite" in done.err
    done = certattn_run("compare", path, "--empty", "zero", "-o", "c.yaml", "--max-abs", "1e-9")
    assert done.status == (0 if size == 1 else 3)
    assert certattn.check(folder / "c.yaml").verdict.value == "verified"


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_padding_that_is_no_number_is_zero_in_a_certificate(certattn_run: Run, folder: Path, layout: str) -> None:
    keys, values, output = K.copy(), V.copy(), HALF.copy()
    keys[0, :, 7:], values[0, :, 7:] = np.nan, np.inf
    output[0] = attention(Q[:1], K[:1, :, :7], V[:1, :, :7])[0]
    arrays = {"q": Q, "k": keys, "v": values, "output": output}
    if layout == "bshd":
        arrays = {field: array.swapaxes(1, 2) for field, array in arrays.items()}
    how = ("--lengths", "7,12", "--layout", layout)
    assert certattn_run("compare", save(folder, **arrays), *how, "--max-abs", "1e-3", "-o", "c.yaml").status == 0
    assert certattn.check(folder / "c.yaml").verdict.value == "verified"
    named = [arrays[field] for field in ("output", "q", "k", "v")]
    assert_attention_close(*named, lengths=[7, 12], layout=layout, max_abs=1e-3, keep=folder / "kept")
    (kept,) = (folder / "kept").glob("*.yaml")
    assert certattn.check(kept).verdict.value == "verified"
    # An output that is none is stated as it is.
    arrays["output"] = np.where(arrays["output"] == output[0, 0, 0, 0], np.nan, arrays["output"])
    assert certattn_run("compare", save(folder, **arrays), *how, "--max-abs", "1", "-o", "d.yaml").status == 1
    assert certattn.check(folder / "d.yaml").verdict.value == "refuted"


def test_a_certificate_is_not_written_over_its_arrays(certattn_run: Run, folder: Path) -> None:
    path = save(folder)
    assert certattn_run("compare", path, "-o", path).status == 2
    assert certattn_run("compare", path, "-o", "nowhere/c.yaml").status == 2


# -- two outputs


def test_which_of_two_is_closer(certattn_run: Run, folder: Path, found: Any) -> None:
    other = HALF.copy()
    other[0, 1, 2, 3] += np.float16(0.01)
    here, there = save(folder), save(folder, "b.npz", output=other, k=None)
    done = certattn_run("compare", here, "--against", there)
    assert done.status == 0
    assert "max_abs: the first is closer in 1, the other in 0, the same in 7 of 8 heads\n" in done.out
    closer = found(here, "--against", there)["against"]["closer"]
    assert [head["max_abs"] for head in closer] == ["same", "file", *["same"] * 6]
    np.savez(folder / "both.npz", **ARRAYS, other=other)
    closer = found("both.npz", "--array", "output=other", "--against", "both.npz", "--array", "against=output")
    assert [head["rms"] for head in closer["against"]["closer"]] == ["same", "against", *["same"] * 6]


def test_what_doubles_do_not_tell_apart_is_not_decided(folder: Path, found: Any) -> None:
    np.save(folder / "other.npy", np.nextafter(EXACT, 9))
    content = found(save(folder, output=EXACT), "--against", "other.npy")
    assert {head["max_abs"] for head in content["against"]["closer"]} == {None}


def test_last_places_of_two_types_are_not_compared(certattn_run: Run, folder: Path, found: Any) -> None:
    other = save(folder, "b.npz", output=EXACT.astype(np.float32))
    content = found(save(folder), "--against", other)
    assert [set(head) for head in content["against"]["closer"]] == [{"max_abs", "relative", "rms"}] * 8
    assert {head["max_abs"] for head in content["against"]["closer"]} == {"against"}


def test_outputs_of_other_inputs_are_not_compared(certattn_run: Run, folder: Path) -> None:
    other = save(folder, "b.npz", k=K + np.float16(1))
    done = certattn_run("compare", save(folder), "--against", other)
    assert done.status == 2
    assert "holds other keys than" in done.err
    done = certattn_run("compare", "a.npz", "--against", save(folder, "c.npz", output=HALF[:, :, :4]))
    assert done.status == 2


# -- pictures


@pytest.mark.parametrize("shape", ["heads", "one"])
@pytest.mark.parametrize("bad", [False, True])
def test_a_heat_map(certattn_run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, shape: str, bad: bool) -> None:
    monkeypatch.setitem(figures._SETTINGS, "svg.fonttype", "none")
    arrays = {field: array if shape == "heads" else array[0, 0] for field, array in ARRAYS.items()}
    arrays["output"] = arrays["output"].copy()
    arrays["output"][..., 1, 2] = np.nan if bad else 0
    done = certattn_run("compare", save(folder, **arrays), "--plot", "a.svg")
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith("drew a.svg\n")
    words = re.sub("<[^>]*>", " ", (folder / "a.svg").read_text())
    assert ("batch/head" in words) == (shape == "heads")
    assert ("NaN or infinite" in words) == bad
    assert "coordinate" in words


def test_of_many_queries_no_error_is_lost() -> None:
    from certattn.testing.heat_map import _fewer

    table = np.zeros((2, 3000))
    table[1, 2999] = 5
    assert _fewer(table).shape == (2, 500)
    assert _fewer(table)[1, -1] == 5
    assert _fewer(table).sum() == 5


# -- what is refused

REFUSED: dict[str, tuple[list[str], Arrays, str]] = {
    "no output": ([], {"output": None}, "no output; it holds"),
    "two outputs": ([], {"o": HALF}, "both 'output' and 'o'; say which is meant: --array output=output"),
    "a name that is not there": (["--array", "q=x"], {}, "no array 'x'; it holds"),
    "an unknown field": (["--array", "x=q"], {}, "--array x=...: expected one of output, q, k, v, lse"),
    "no field": (["--array", "q"], {}, "expected FIELD=NAME"),
    "another array without another file": (["--array", "against=q"], {}, "--against names none"),
    "an output of integers": ([], {"output": HALF.astype(np.int32)}, "the number type int32, expected a floating one"),
    "an output of bits": ([], {"output": EXACT.astype(ml_dtypes.bfloat16)}, "expected a .safetensors file"),
    "shapes that do not fit": ([], {"v": V[:, :, :3]}, "expected keys of the queries' dimension"),
    "a bound of words": (["--max-abs", "small"], {}, "--max-abs is 'small', expected a number >= 0"),
    "a negative bound": (["--ulps", "-1"], {}, "expected a number >= 0"),
    "a bound of nothing": (["--lse", "1"], {}, "holds none"),
    "a mask of words": (["--causal", "True"], {}, "--causal 'True': expected top-left, bottom-right, or an offset"),
    "a negative offset": (["--causal", "-1"], {}, "--causal '-1': expected top-left"),
    "lengths of words": (["--lengths", "a,b"], {}, "--lengths 'a,b': expected whole numbers"),
    "lengths of another batch": (["--lengths", "3"], {}, "1 length for a batch of 2"),
    "half of the sequences": (["--sequences", "4,5"], {}, "expected lengths of queries and of keys"),
    "a scale of words": (["--scale", "x"], {}, "scale is 'x'"),
    "a picture of another kind": (["--plot", "a.bmp"], {}, "a figure ends in"),
    "log-sum-exps of another shape": ([], {"lse": LSE[:1]}, "a number for each query"),
    "a mask that is added": ([], {"mask": np.zeros((9, 12))}, "expected booleans, or whole numbers that are 0 or 1"),
    "a mask of other numbers": ([], {"mask": np.full((9, 12), 2)}, "'mask' has 2 at [0, 0], expected numbers that are"),
    "an output of wide integers": ([], {"output": HALF.astype(np.int64)}, "number type int64, expected a floating one"),
    "wide integers": ([], {"k": K.astype(np.int64) - 2**54}, "expected numbers that are at most 2^53"),
    "cumulative sums": (["--sequences", "0,4,9:0,5,12"], {}, "expected lengths, not cumulative sums: [4, 5]"),
    "a query that sees nothing": (["--causal", "9", "--window", "2"], {}, "the command line --empty zero"),
    "a mask of another shape": ([], {"mask": np.ones((9, 11), bool)}, "mask has the shape (9, 11), expected (9, 12)"),
    "slopes of other heads": ([], {"alibi": np.ones(2)}, "one for each query head"),
    "a soft cap of words": (["--soft-cap", "x"], {}, "soft_cap is 'x', expected a number > 0"),
    "a key that is none": ([], {"k": np.where(K[0, 0, 0, 0] == K, np.nan, K)}, "k has NaN or an infinity at"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(certattn_run: Run, folder: Path, name: str) -> None:
    options, arrays, message = REFUSED[name]
    done = certattn_run("compare", save(folder, **arrays), *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(("path", "message"), [
    ("none.npz", "no such file"), ("empty", "no output; it holds (none)"),
    ("one.npy", "one array without a name"),
    ("text.txt", "expected a .npz or .safetensors"),
])  # fmt: skip
def test_files_that_hold_no_heads(certattn_run: Run, folder: Path, path: str, message: str) -> None:
    (folder / "empty").mkdir()
    (folder / "text.txt").write_text("")
    np.save(folder / "one.npy", Q)
    done = certattn_run("compare", path)
    assert done.status == 2
    assert message in done.err
