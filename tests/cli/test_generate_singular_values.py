"""`certattn generate singular-values`: from files to certificates that verify, and what is refused."""

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


test_what_is_stated_verifies = states(
    "singular-values",
    [
        (["head.npz", "--scale", "1/2"], "M = sqrt(d) (A - 11'/d), d = 30"),
        (["head.npz", "--scale", "1/2", "--not-centred", "--radius", "1e-9"], "M = sqrt(d) A, d = 30"),
        (["head.npz", "--scale", "1/2", "--causal"], "M = sqrt(d) (A - C), d = 30"),
        (["head.npz", "--scale", "1/2", "--causal", "--not-centred", "--hint", "float64"], "and 0 for j > i"),
        (["head.npz", "--above", "1/2", "--above", "100"], "none of the 30 singular values is > 100"),
        (["m.npy", "--largest", "2"], "the largest 2 of 28"),
        (["m.npy", "--state", "entropy", "--state", "stable-rank"], "the entropy of the shares sigma_k^2"),
        (["m.npy", "--hint", "float64"], "all 28 are"),
        (["m.npy", "--hint", "float32", "--radius", "1e-3", "--data", "copy"], "up to 0.001"),
        (["both.npz", "--array", "matrix=matrix"], "all 3 are (1, 1, 1)"),
        (["other.npz", "--array", "matrix=b"], "from other.npz[b]"),
        (["nothing.npy", "--state", "values"], "all 2 are (0, 0)"),
        (["plane.yaml", "--radius", "1e-30", "--note", "for you"], "up to 1e-30;"),
        (["three.yaml", "--above", "1"], "exactly 1 of the 3 singular values is > 1"),
    ],
    "files",
)


test_what_cannot_be_stated_is_said = refuses(
    "singular-values",
    [
        (["m.npy", "--radius", "0"], 2, "expected a positive number"),
        (["m.npy", "--radius", "1e-30"], 1, "expected a radius of at least that"),
        (["m.npy", "--largest", "29"], 2, "the largest 29 of 28 singular values"),
        (["m.npy", "--above", "-1"], 2, "a threshold is negative"),
        (["m.npy", "--scale", "2"], 2, "a matrix has no scale of scores"),
        (["m.npy", "--array", "tokens=x"], 2, "unknown arrays tokens"),
        (["plane.yaml", "--hint", "float32"], 2, "a hint is for a matrix in array files"),
        (["plane.yaml", "--scale", "2"], 2, "leave out everything else"),
        (["three.yaml", "--causal"], 2, "leave out everything else"),
        (["m.npy", "--causal"], 2, "expected queries and keys, or no --causal"),
        (["both.npz"], 2, "the matrix, or that of queries and keys?"),
        (["other.npz"], 2, "expected an array matrix, or arrays queries and keys; other.npz holds a, b"),
        (["other.npz", "--array", "matrix=c"], 2, "no array 'c'; it holds a, b"),
        (["nothing.npy"], 2, "the matrix is 0 and has no stable rank; state the values alone: --state values"),
        (["m.npy", "--not-centred"], 2, "a matrix is taken as it is, whether centred or not"),
        (["README"], 2, "README: no such file or directory, expected an array file"),
        (["m.npy", "--plot", "made.jpg"], 2, "a figure ends in .svg"),
        (["m.npy", "--unit", "1"], 2, "--unit only gives the law in a picture"),
        (["m.npy", "--unit", "0", "--plot", "made.svg"], 2, "unit is 0, expected a positive number"),
        (["line.npy"], 2, "expected two dimensions"),
        (["broken.npy"], 2, "a NaN at row 1, column 2 (counted from 0)"),
        (["missing.npy"], 2, "missing.npy: "),
    ],
    "files",
)


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


def test_the_singular_values_are_drawn_with_what_is_known(folder: Path, drawn: list[Figure]) -> None:
    """Bars of all values, marks of what is stated, and with a unit the law that weights have."""
    from certattn.provers.spectrum.singular_plot import draw_certificate

    rng = np.random.default_rng(3)
    tokens = {"queries": rng.normal(size=(30, 30)), "keys": rng.normal(size=(30, 30))}
    made = certattn.generate(
        "singular-values", folder / "made.yaml", **tokens, scale="1/10", above=["1/2"], largest=2, states=["values"]
    )
    draw_certificate(made, folder / "made.svg")
    draw_certificate(made, folder / "made.svg", "1")
    labels = [[text.get_text() for text in figure.axes[0].get_legend().get_texts()] for figure in drawn]
    assert labels[0] == ["2 stated values", "singular values"]
    assert labels[1] == [
        "limit law",
        "quarter circle of its variance",
        "2 stated values",
        "singular values",
    ]
    shown = [text.get_text() for text in drawn[0].axes[0].texts]
    assert shown == [f" {made.plain['asserts']['counts'][0]['count']} above 0.5"]  # type: ignore[index,call-overload]
    area = sum(bar.get_width() * bar.get_height() for bar in drawn[0].axes[0].patches)
    assert abs(area - 1) < 1e-9


def test_singular_values_stay_visible_beside_a_law_that_goes_far_beyond(folder: Path, drawn: list[Figure]) -> None:
    from certattn.provers.spectrum.singular_plot import draw_certificate

    rng = np.random.default_rng(3)
    tokens = {"queries": rng.normal(size=(150, 1)) / 100, "keys": rng.normal(size=(150, 1)) / 100}
    made = certattn.generate("singular-values", folder / "made.yaml", **tokens, scale="1", largest=2)
    draw_certificate(made, folder / "made.svg", "1")
    (axes,) = drawn[0].axes
    low, seen, right = axes.transData.transform([(0, 0), (2, 0), (axes.get_xlim()[1], 0)])[:, 0]
    assert (seen - low) / (right - low) > 0.2
    assert "0.67 % of the law beyond" in axes.texts[0].get_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"matrix": np.eye(3)}, "for a matrix alone no law is known"),
        ({"queries": np.eye(3), "keys": np.eye(3), "centred": False}, "the limit law of the centred matrix"),
        ({"queries": np.eye(3), "keys": np.eye(3), "causal": True}, "with a mask no law is known"),
        ({"queries": np.eye(3), "keys": np.eye(3), "scale": "1000"}, "--unit is too large"),
    ],
)
def test_no_law_is_drawn_where_none_is_known(folder: Path, options: dict[str, object], said: str) -> None:
    from certattn.provers.spectrum.singular_plot import draw_certificate

    made = certattn.generate("singular-values", folder / "made.yaml", **options, states=["values"])
    with pytest.raises(UsageError, match=said):
        draw_certificate(made, folder / "made.svg", 1)


def test_zeros_are_drawn(certattn_run: Run, files: Path) -> None:
    pytest.importorskip("matplotlib")
    done = certattn_run(
        "generate", "singular-values", "nothing.npy", "--state", "values", "-o", "made.yaml", "--plot", "made.svg"
    )
    assert done.status == 0, done.err
    assert done.out.endswith("drew made.svg\n")
    assert (files / "made.svg").stat().st_size > 1000
