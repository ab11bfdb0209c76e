"""`certattn generate linearization`: from files to certificates that verify, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from generating import refuses, states

import certattn
from certattn.kernel.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Run = Callable[..., Any]


@pytest.fixture
def files(folder: Path) -> Path:
    rng = np.random.default_rng(6)
    np.savez(folder / "head.npz", queries=rng.standard_normal((30, 4)), keys=rng.standard_normal((30, 4)))
    np.savez(folder / "whole.npz", q=rng.integers(-99, 99, (5, 2)), k=rng.integers(-99, 99, (5, 2)))
    np.savez(folder / "odd.npz", a=rng.integers(-99, 99, (5, 2)), b=rng.integers(-99, 99, (5, 2)))
    np.savez(folder / "one.npz", queries=np.eye(1), keys=np.eye(1))
    np.savez(folder / "alike.npz", queries=np.ones((3, 2)), keys=np.ones((3, 2)))
    np.savez(folder / "other.npz", queries=np.ones((3, 2)), keys=np.ones((2, 2)))
    np.save(folder / "m.npy", np.eye(3))
    (folder / "three.yaml").write_text("queries: [[1], [2], [0]]\nkeys: [[1], [0], [2]]\nbeta: 1/2\n")
    return folder


ARRAYS = ["--array", "queries=q", "--array", "keys=k"]


test_what_is_stated_verifies = states(
    "linearization",
    [
        (["head.npz", "--beta", "1/2"], "of the laws of the singular values of M and of T Pi is at least"),
        (["head.npz", "--beta", "1/2", "--state", "norm"], "(s <q_i, k_j>) Pi/sqrt(d): the spectral norm of M - L is"),
        (["head.npz", "--beta", "1/2", "--state", "stages", "--digits", "3"], "the Frobenius norm of T Pi - L over"),
        (["head.npz", "--scale", "1/sqrt(4)"], "the spectral norm of M - L over that of M"),
        (["head.npz", "--beta", "1", "--scale", "1/2", "--state", "distance"], "s = 0.5 = beta u^2/sqrt(p)"),
        (["head.npz", "--beta", "1", "--hint", "float64", "--state", "norm"], "the spectral norm of M - L"),
        (["head.npz", "--beta", "1", "--hint", "float32", "--state", "norm", "--digits", "2"], "the spectral norm"),
        (["whole.npz", *ARRAYS, "--beta", "1", "--unit", "1/64", "--data", "copy"], "u = 0.015625, p = 2"),
        (["alike.npz", "--beta", "1"], "the Frobenius norm of M is at least 0 and at most"),
        (["three.yaml", "--digits", "20", "--note", "for you"], "at most 0."),
    ],
    "files",
)


test_what_cannot_be_stated_is_said = refuses(
    "linearization",
    [
        (["head.npz"], 2, "expected beta (--beta), or a scale (--scale)"),
        (["head.npz", "--beta", "0"], 2, "> 0"),
        (["head.npz", "--beta", "half"], 2, "beta"),
        (["head.npz", "--scale", "0"], 2, "other than 0"),
        (["head.npz", "--beta", "1", "--scale", "1"], 2, "scale = beta unit^2/sqrt(p) = 0.5, or none"),
        (["head.npz", "--scale", "1", "--unit", "2"], 2, "the unit 2 and no beta"),
        (["head.npz", "--scale", "1", "--state", "distance"], 2, "distance is about beta"),
        (["head.npz", "--scale", "1", "--state", "normaliser"], 2, "normaliser is about beta"),
        (["head.npz", "--beta", "1", "--digits", "0"], 2, "digits is 0, expected 1 to 30"),
        (["head.npz", "--beta", "1", "--plot", "made.jpg"], 2, "a figure ends in .svg"),
        (["one.npz", "--beta", "1"], 2, "1 of each: of one token A is 1, and M and L are 0"),
        (["head.npz", "--beta", "1", "--state", "norm", "--digits", "25"], 1, "to 25 digits, only to"),
        (["other.npz", "--beta", "1"], 2, "like the keys"),
        (["m.npy", "--beta", "1"], 2, "a matrix alone has no linear part"),
        (["odd.npz", "--beta", "1"], 2, "expected an array matrix, or arrays queries and keys"),
        (["three.yaml", "--beta", "1"], 2, "leave out everything else"),
        (["three.yaml", "--hint", "float32"], 2, "a hint is for a matrix in array files"),
        (["missing.npz", "--beta", "1"], 2, "missing.npz: "),
    ],
    "files",
)


@pytest.mark.parametrize(("arguments", "noted"), [(["alike.npz"], True), (["head.npz", "--state", "norm"], False)])
def test_that_keys_are_alike_is_said(certattn_run: Run, files: Path, arguments: list[str], noted: bool) -> None:
    done = certattn_run("generate", "linearization", *arguments, "--beta", "1", "-o", "made.yaml")
    assert done.status == 0, done.err
    assert ("so that M and L are 0; sizes relative to M are left out" in done.out) is noted


def test_numbers_that_no_certificate_holds_have_a_cause(certattn_run: Run, files: Path) -> None:
    np.savez(files / "huge.npz", queries=np.ones((4, 2)), keys=2.0**20 * np.arange(8).reshape(4, 2))
    done = certattn_run("generate", "linearization", "huge.npz", "--beta", "1", "-o", "made.yaml")
    assert done.status == 1
    assert "is beyond 1e20000, the largest number that a certificate holds" in done.err, done.err
    assert "1 in huge.npz: the array 'queries', 7.3e+06 in huge.npz: the array 'keys'" in done.err
    assert "max-exponent" not in done.err
    assert not (files / "made.yaml").exists()


def test_an_array_without_numbers_is_said(certattn_run: Run, files: Path) -> None:
    np.save(files / "empty.npy", np.zeros((0, 0)))
    done = certattn_run("generate", "spectral-distance", "empty.npy", "--beta=1", "--lambda=1", "-o", "made.yaml")
    assert done.status == 2
    assert "empty.npy: the array (given.matrix)" in done.err
    assert "found:    the shape (0, 0), which has no numbers" in done.err
    assert "expected: at least one row and one column" in done.err
    assert "hint:     change the array" in done.err


def test_the_remainder_is_drawn(certattn_run: Run, files: Path) -> None:
    pytest.importorskip("matplotlib")
    for given in (["--beta", "1"], ["--scale", "1"]):
        done = certattn_run(
            "generate", "linearization", "head.npz", *given, "--state", "norm", "-o", "made.yaml", "--plot", "made.svg"
        )
        assert done.status == 0, done.err
        assert "drew made.svg" in done.out
        assert (files / "made.svg").stat().st_size > 1000


def test_the_figure_of_equal_keys_shows_its_zeros(folder: Path, drawn: list[Figure]) -> None:
    from certattn.provers.spectrum.linearization_plot import draw_certificate

    made = certattn.generate(
        "linearization", folder / "made.yaml", queries=np.eye(3), keys=np.ones((3, 3)), beta="1/2", states=["norm"]
    )
    draw_certificate(made, folder / "made.svg")
    (axes,) = drawn[0].axes
    assert "$M = L = 0$: all 3 singular values" in axes.get_legend().get_texts()[0].get_text()
    assert len(axes.patches) == 0
    # The quarter circle is there as a whole.
    assert axes.get_ylim()[1] > 1


def test_arrays_from_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {"queries": rng.integers(-9, 9, (40, 3)), "keys": rng.integers(-9, 9, (40, 3))}
    made = certattn.generate(
        "linearization", tmp_path / "made.yaml", **arrays, beta="1", unit="1/8", states=["norm", "distance"]
    )
    assert certattn.check(tmp_path / "made.yaml").verdict is certattn.Verdict.VERIFIED
    assert list(made.plain["asserts"]) == ["remainder"]  # type: ignore[index,call-overload,arg-type]
    with pytest.raises(UsageError, match="is nothing to state"):
        certattn.generate("linearization", tmp_path / "other.yaml", **arrays, beta="1", states=["rank"])
    with pytest.raises(UsageError, match="hint is 'none'"):
        certattn.generate("linearization", tmp_path / "other.yaml", **arrays, beta="1", hint="none")
