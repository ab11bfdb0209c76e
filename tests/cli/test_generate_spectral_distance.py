"""`certattn generate spectral-distance` and `not-marchenko-pastur`: what they state, and what they say of bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from generating import refuses, states

import certattn
from certattn.kernel.errors import NotProvedError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Run = Callable[..., Any]
LAW = ("--beta", "1/2", "--lambda", "1")


@pytest.fixture
def files(folder: Path) -> Path:
    rng = np.random.default_rng(5)
    np.savez(folder / "weights.npz", queries=rng.normal(size=(12, 12)), keys=rng.normal(size=(12, 12)))
    np.save(folder / "matrix.npy", rng.normal(size=(5, 5)) / 5)
    np.save(folder / "wide.npy", rng.normal(size=(5, 6)))
    np.save(folder / "zeros.npy", np.zeros((3, 3)))
    np.savez(folder / "alike.npz", queries=rng.normal(size=(40, 3)), keys=np.ones((40, 3)))
    (folder / "given.yaml").write_text("matrix: [[1, 2], [3, 4]]\nlaw: {beta: 1, lambda: 1}\n")
    (folder / "cut.yaml").write_text("matrix: [[1, 2], [3, 4]]\nlaw: {beta: 2, lambda: 1, truncated_at: 3}\n")
    (folder / "finite.yaml").write_text("matrix: [[1, 2], [3, 4]]\n")
    return folder


test_distances_verify = states(
    "spectral-distance",
    [
        (["weights.npz", "--scale", "1/sqrt(48)", "--unit", "1"], "beta^2 = 0.25, lambda = d_qk/d = 1 (those of"),
        (["weights.npz", "--scale", "1/sqrt(48)", *LAW, "--state", "law"], "at beta = 0.5, lambda = d_qk/d = 1,"),
        (["matrix.npy", "--alpha2", "1/30", "--beta2", "1/4", "--lambda", "2", "--places", "3"], "alpha^2 = 1/30"),
        (["matrix.npy", *LAW, "--state", "separation"], "a quarter circle law of any variance minus the distance"),
        (["given.yaml", "--note", "a note"], "is at least 0.49999 and at most 0.50001"),
        (
            ["cut.yaml", "--state", "fixed-point", "--state", "law"],
            "r = 0.97517, so that tau is within r of a solution"),
        # An upper bound of 1 or more would say nothing.
        (
            ["zeros.npy", *LAW, "--state", "law", "--state", "quarter-circle"],
            "the singular values to mu is at least "
            "0.99999; that to the quarter circle law of the variance alpha^2 + beta^2 is at least 0.99999."),
        (
            ["weights.npz", "--scale", "sqrt(9/48)", "--unit", "1", "--truncate-at", "fixed-point", "--places", "3"],
            "truncated at tau = 5.077: with f = min("),
        (
            ["weights.npz", "--scale", "sqrt(9/48)", "--unit", "1", "--truncate-at", "fixed-point", "--places", "3"],
            "r = 0.001, so that tau is within r of a solution t of t^2 = d m(t), which is the largest one; the dist"),
        (["matrix.npy", *LAW, "--truncate-at", "7/2", "--state", "separation"], "truncated at tau = 3.5: with f"),
        (
            ["matrix.npy", "--beta", "3/2", "--lambda", "1", "--truncate-at", "5/2", "--state", "fixed-point"],
            "r = 0.13127, so"),
    ], "files",
)  # fmt: skip


test_laws_verify = states(
    "not-marchenko-pastur",
    [
        (["--beta", "1/2", "--lambda", "1/4", "--places", "2"], "m_4 - 2 m_2^2, m_n the moments of mu, is 0.25, and 0"),
        (["--alpha2", "1/3", "--beta2", "2", "--lambda", "1/8", "--state", "excess"], "at least 5.8775 and at most"),
        ([*LAW, "--state", "scaled-distance", "--places", "3"], "any variance is at least 0.088 and at most 0.089"),
        ([*LAW, "--matrix", "matrix.npy", "--state", "separation", "--places", "3"], "For the 5 x 5 matrix M"),
        ([*LAW, "--matrix", "finite.yaml", "--state", "scaled-separation"], "M = ((1, 2), (3, 4))"),
    ],
    "files",
)


test_what_cannot_be_stated_of_a_matrix_is_said = refuses(
    "spectral-distance",
    [
        (["matrix.npy"], "the law is given by nothing; expected beta and lambda, or alpha2, beta2 and lambda, or unit"),
        (["matrix.npy", "--beta", "1"], "the law is given by beta; expected beta and lambda"),
        (["matrix.npy", *LAW, "--unit", "1"], "the law is given by beta, lambda, unit"),
        (["matrix.npy", "--unit", "1"], "unit is the standard deviation of queries and keys, which a matrix has not;"),
        (["matrix.npy", *LAW, "--state", "fixed-point"], "about tau of a truncated law; expected one (--truncate-at)"),
        (["matrix.npy", *LAW, "--truncate-at", "0"], "a number > 0"),
        (["matrix.npy", *LAW, "--truncate-at", "top"], "truncated_at found: 'top' expected: an exact number"),
        (["matrix.npy", "--alpha2=1", "--beta2=1", "--lambda=1", "--truncate-at=2"], "which --alpha2 does not give"),
        (["zeros.npy", *LAW], "zeros.npy: the matrix is 0: at every scale of a law all of it"),
        (["zeros.npy", *LAW], "expected what takes no scale alone: --state law --state quarter-circle"),
        (["alike.npz", *LAW, "--state", "scaled-law"], "alike.npz: the matrix is 0"),
        (["given.yaml", "--truncate-at", "2"], "with a whole section, leave out everything else"),
        (["matrix.npy", *LAW, "--scale", "2"], "a matrix has no scale of scores"),
        (["matrix.npy", "--beta", "0", "--lambda", "1"], "a number > 0"),
        (["wide.npy", *LAW], "5 x 5 (square, as the matrices are whose limit law is compared)"),
        (["matrix.npy", *LAW, "--places", "10"], "places is 10, expected 1 to 9"),
        (["matrix.npy", *LAW, "--plot", "x.txt"], "a figure ends in .svg, .png, .pdf"),
        (["given.yaml", *LAW], "with a whole section, leave out everything else"),
        (["weights.npz", *LAW, "--array", "keys=none"], "no array 'none'"),
    ],
    "files",
    status=2,
)


test_what_cannot_be_stated_of_a_law_is_said = refuses(
    "not-marchenko-pastur",
    [
        (["--lambda", "1"], "the law is given by lambda; expected beta and lambda"),
        ([*LAW, "--state", "separation"], "separation is one of a matrix; expected a matrix, or another state"),
        ([*LAW, "--matrix", "matrix.npy", "--state", "excess"], "a matrix is given, but nothing is stated about it"),
        ([*LAW, "--matrix", "finite.yaml", "--scale", "2"], "with a whole matrix, leave out everything else"),
        ([*LAW, "--places", "0"], "places is 0, expected 1 to 9"),
        ([*LAW, "--matrix", "wide.npy"], "5 x 5 (square"),
        ([*LAW, "--matrix", "zeros.npy"], "the matrix is 0: at every scale of a law all of it lies above"),
        ([*LAW, "--matrix", "alike.npz", "--state", "scaled-separation"], "the matrix is 0: at every scale"),
        ([*LAW, "--matrix", "matrix.npy", "--not-centred"], "a matrix is taken as it is"),
        ([*LAW, "--plot", "x.txt"], "a figure ends in .svg, .png, .pdf"),
    ],
    "files",
    status=2,
)


@pytest.mark.heavy
def test_no_scale_is_near_to_zeros(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the matrix is 0: at every scale of a law"):
        certattn.generate("spectral-distance", tmp_path / "x.yaml", matrix=np.zeros((3, 3)), beta=1, lambda_=1)
    huge = np.diag([1e200, 1e200, 1e200])
    with pytest.raises(NotProvedError, match=r"the matrix: no scale of a law .* or extreme; expected what takes no"):
        certattn.generate("spectral-distance", tmp_path / "x.yaml", matrix=huge, beta=1, lambda_=1)


@pytest.mark.parametrize("states", [["law"], ["quarter-circle"], ["separation"], []])
def test_of_a_law_that_is_not_known_nothing_is_stated(certattn_run: Run, files: Path, states: list[str]) -> None:
    options = ["--beta", "1", "--lambda", "1", "--truncate-at", "1e-60", *(f"--state={state}" for state in states)]
    done = certattn_run("generate", "spectral-distance", "matrix.npy", *options, "-o", "out.yaml")
    assert done.status == 1
    assert "bits of the law whose weights are cut off at tau = 1e-60" in done.err, done.err
    assert "expected a larger tau (--truncate-at)" in done.err
    assert not (files / "out.yaml").exists()


def test_a_law_next_to_zero_has_no_scale_that_is_found(certattn_run: Run, files: Path) -> None:
    options = ["matrix.npy", "--beta", "1", "--lambda", "1", "--truncate-at", "1e-30"]
    done = certattn_run("generate", "spectral-distance", *options, "-o", "out.yaml")
    assert done.status == 1
    assert "matrix.npy: the matrix: the law lies so near to 0 that no scale" in done.err, done.err
    assert "--state law --state quarter-circle" in done.err


def test_a_distance_is_never_stated_by_what_holds_of_all(tmp_path: Path) -> None:
    """More bits than the first show the law of a tau that is this small, and then the distance has a bound."""
    made = certattn.generate(
        "spectral-distance", tmp_path / "x.yaml", matrix=np.diag([1, 2, 3]), beta=1, lambda_=1, truncate_at="1e-30",
        states=["law"],
    )  # fmt: skip
    assert made.plain["asserts"]["law"] != {"at_least": "0"}  # type: ignore[index,call-overload]
    assert certattn.check(made.path).verdict is certattn.Verdict.VERIFIED


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--beta", "1/2", "--truncate-at", "fixed-point"],
            "the tokens are too few; expected tau as a number (--truncate-at)"),
        (
            ["--beta", "3", "--truncate-at", "1/100", "--state", "fixed-point"],
            "no solution of tau^2 = 5 m(tau) could be"),
    ],
)  # fmt: skip
def test_a_cut_that_solves_nothing_is_not_stated(certattn_run: Run, files: Path, options: list[str], said: str) -> None:
    done = certattn_run("generate", "spectral-distance", "matrix.npy", "--lambda", "1", *options, "-o", "out.yaml")
    assert done.status == 1
    assert said in " ".join(done.err.split()), done.err
    assert not (files / "out.yaml").exists()


def test_unknown_states_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'norm' is nothing to state; expected fixed-point, law, quarter-circle"):
        certattn.generate("spectral-distance", tmp_path / "x.yaml", matrix=np.eye(2), states=["norm"])


def test_more_places_than_are_proved_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        NotProvedError, match="distance could not be enclosed to 9 places; expected fewer, of two laws at most 6"
    ):
        certattn.generate("not-marchenko-pastur", tmp_path / "x.yaml", beta=1, lambda_=1, states=["distance"], places=9)


def test_separations_of_fewer_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match=r"known up to .* only, which is no 9 places; expected fewer places"):
        certattn.generate(
            "not-marchenko-pastur", tmp_path / "x.yaml", beta="1/2", lambda_=1, matrix=np.eye(3) + 0.5,
            states=["scaled-separation"], places=9,
        )  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("lambda_", ["1e-10", "1e-300"])
def test_a_lambda_next_to_zero_is_stated(tmp_path: Path, lambda_: str) -> None:
    made = certattn.generate(
        "not-marchenko-pastur", tmp_path / "x.yaml", beta="1/2", lambda_=lambda_, states=["distance"], places=3
    )
    assert made.plain["asserts"]["distance"] == {"at_least": "0.575", "at_most": "0.576"}  # type: ignore[index,call-overload]
    assert certattn.check(made.path).verdict is certattn.Verdict.VERIFIED


def test_a_lambda_that_no_precision_tells_from_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match="the ends of the support of mu are not known at 4096 bits"):
        certattn.generate(
            "not-marchenko-pastur", tmp_path / "x.yaml", beta="1/2", lambda_="1e-3000", states=["distance"]
        )


def test_the_law_is_drawn_with_its_distance(folder: Path, drawn: list[Figure]) -> None:
    """Both kinds of curves, and the largest difference where it is attained: at about 0.29 for a gap."""
    from certattn.provers.spectrum.law_plot import draw_certificate

    made = certattn.generate(
        "not-marchenko-pastur", folder / "x.yaml", beta="1/2", lambda_="1/4", states=["distance"], places=2
    )
    draw_certificate(made, folder / "x.svg")
    above, below = drawn[0].axes
    assert [text.get_text() for text in above.get_legend().get_texts()][1] == "quarter circle of its variance"
    marked = next(line for line in below.get_lines() if "largest difference" in str(line.get_label()))
    assert "at least 0.38 and at most 0.39" in str(marked.get_label())
    assert abs(np.ptp(np.asarray(marked.get_ydata(), float)) - 0.386) < 1e-3
    assert abs(float(np.asarray(marked.get_xdata(), float)[0]) - 0.29) < 0.02


def test_a_drawn_circle_rises_in_the_gap_too(folder: Path, drawn: list[Figure]) -> None:
    """The law has no points between its pieces; the other distribution function is no straight line there."""
    from certattn.provers.spectrum.law_plot import draw_certificate

    made = certattn.generate(
        "not-marchenko-pastur", folder / "x.yaml", beta="1/2", lambda_="1/1000", states=["distance"], places=2
    )
    draw_certificate(made, folder / "x.svg")
    _, circle, *_ = drawn[0].axes[1].get_lines()
    end = 2 * np.sqrt(np.exp(1 / 4) - 1)
    u = 0.7 / end
    truth = 2 / np.pi * (np.arcsin(u) + u * np.sqrt(1 - u * u))
    x, y = (np.asarray(found, float) for found in circle.get_data())
    assert abs(np.interp(0.7, x, y) - truth) < 1e-3


def test_the_law_is_drawn_by_the_program(certattn_run: Run, files: Path) -> None:
    pytest.importorskip("matplotlib")
    options = ("--beta", "1/2", "--lambda", "1", "--places", "2", "-o", "out.yaml", "--plot", "out.svg")
    done = certattn_run("generate", "not-marchenko-pastur", *options)
    assert done.status == 0, done.err
    assert done.out.endswith("drew out.svg\n")
    assert (files / "out.svg").read_bytes().startswith(b"<?xml")


def test_the_singular_values_are_drawn(certattn_run: Run, files: Path) -> None:
    options = ("weights.npz", "--scale", "1/sqrt(48)", "--unit", "1", "-o", "out.yaml", "--plot", "out.svg")
    done = certattn_run("generate", "spectral-distance", *options)
    assert done.status == 0, done.err
    assert done.out.endswith("drew out.svg\n")
    first = (files / "out.svg").read_bytes()
    assert first.startswith(b"<?xml")
    certattn_run("generate", "spectral-distance", *options)
    assert (files / "out.svg").read_bytes() == first


def test_every_curve_ends_on_the_axis(files: Path, drawn: list[Figure]) -> None:
    from certattn.provers.spectrum.distance_plot import draw_certificate

    made = certattn.generate(
        "spectral-distance", files / "x.yaml", source=files / "matrix.npy", beta="3/2", lambda_=1, truncate_at=5,
        states=["law"],
    )  # fmt: skip
    draw_certificate(made, files / "x.svg")
    (axes,) = drawn[0].axes
    ends = [float(np.max(np.asarray(line.get_xdata(), float))) for line in axes.get_lines()]
    assert len(ends) == 3
    assert max(ends) < axes.get_xlim()[1]
    assert (
        axes.get_title()
        == r"5 singular values beside the limit law" + "\n" + r"$\beta = 1.5$, $\lambda = 1$, $\tau = 5$"
    )
