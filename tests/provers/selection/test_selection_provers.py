"""Generating `token-optimality` and `regularization-path`: what is found, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from certattn import MalformedError, NotProvedError, UsageError, Verdict, check, generate
from certattn.provers.selection.path_points import orthogonal_basis, path_point

SINGLE = [[["-0.1", "1"], ["1", "0"], ["0", "0"]]]
PATH = {"keys": SINGLE, "scores": [["1", "0.9", "0.9"]], "loss": "logistic"}
TOKENS = {"keys": SINGLE, "scores": [["1", "0.9", "0"]]}


def made(claim: str, folder: Path, **inputs: Any) -> Any:
    certificate = generate(claim, folder / "made.yaml", **inputs)
    report = check(folder / "made.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason
    return certificate.plain


# -- token-optimality


def test_selections_are_sorted_into_optimal_ones_and_others(tmp_path: Path) -> None:
    asserts = made("token-optimality", tmp_path, given=TOKENS, selections=[[2], [1], [0]])["asserts"]
    assert asserts["optimal"] == [["0"]]
    assert asserts["locally_optimal"] == [["1"], ["0"]]
    assert asserts["not_locally_optimal"] == [{"indices": ["2"], "because": {"input": "0", "token": "0"}}]
    assert asserts["all_locally_optimal"] == [["0"], ["1"]]


def test_the_enumeration_can_be_left_out(tmp_path: Path) -> None:
    asserts = made("token-optimality", tmp_path, given=TOKENS, enumerate_all=False)["asserts"]
    assert asserts == {"optimal": [["0"]]}


def test_many_selections_are_gone_through_on_request_only(tmp_path: Path) -> None:
    given = {"keys": [[["0"], ["1"]]] * 14, "scores": [["0", "1"]] * 14}
    assert "all_locally_optimal" not in made("token-optimality", tmp_path, given=given)["asserts"]
    with pytest.raises(UsageError, match="at most 100000"):
        generate(
            "token-optimality",
            tmp_path / "made.yaml",
            given={"keys": [[["0"], ["1"]]] * 17, "scores": [["0", "1"]] * 17},
            enumerate_all=True,
        )


def test_duplicate_tokens_and_ties(tmp_path: Path) -> None:
    given = {"keys": [[["1", "0"], ["1", "0"], ["0", "0"]]], "scores": [["1", "1", "0"]]}
    asserts = made("token-optimality", tmp_path, given=given, selections=[[0], [2]])["asserts"]
    assert asserts["optimal"] == [["0", "1"]]
    assert asserts["all_locally_optimal"] == "none"
    assert asserts["not_locally_optimal"][0]["because"] == "not-separable"


def test_inputs_of_one_token_have_best_tokens_only(tmp_path: Path) -> None:
    given = {"keys": [[["1", "0"]]], "scores": [["1"]]}
    assert made("token-optimality", tmp_path, given=given)["asserts"] == {"optimal": [["0"]]}
    with pytest.raises(UsageError, match="nothing to select"):
        generate("token-optimality", tmp_path / "made.yaml", given=given, selections=[[0]])


@pytest.mark.parametrize(
    ("selection", "words"), [([3], "tokens 0 to 2"), ([-1], "tokens 0 to 2"), ([0, 0], "one per input")]
)
def test_selections_that_are_none(selection: list[int], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        generate("token-optimality", tmp_path / "made.yaml", given=TOKENS, selections=[selection])
    assert not (tmp_path / "made.yaml").exists()


def test_numbers_that_are_not_exact_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="float"):
        generate("token-optimality", tmp_path / "made.yaml", given={"keys": [[[0.1]]], "scores": [["1"]]})
    with pytest.raises(MalformedError, match="scores"):
        generate("token-optimality", tmp_path / "made.yaml", given={"keys": SINGLE})


# -- regularization-path


def test_bounds_get_sharper_with_the_radius(tmp_path: Path) -> None:
    path = made("regularization-path", tmp_path, given=PATH, radii=["10", 40, Fraction(161)])["asserts"]["path"]
    defects = [1 - Fraction(item["cosine"]) for item in path]
    assert defects[0] > 16 * defects[1] > 256 * defects[2] > 0


def test_a_radius_is_found_where_none_is_given(tmp_path: Path) -> None:
    (item,) = made("regularization-path", tmp_path, given=PATH)["asserts"]["path"]
    assert 39 < float(item["radius"]) * 1.00498756 < 42


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"radii": ["0"]}, UsageError, "positive"),
        ({"radii": ["-3"]}, UsageError, "positive"),
        ({"radii": ["0.01"]}, NotProvedError, "too small"),
        ({"radii": ["1e6"]}, NotProvedError, "bits"),
        ({"indices": [1]}, NotProvedError, "not better than every mixture"),
        ({"indices": [3]}, UsageError, "tokens 0 to 2"),
        ({"given": {**PATH, "scores": [["1", "1", "0.9"]]}}, UsageError, "equally good"),
        ({"given": {**PATH, "keys": [[["1", "0"], ["1", "0"], ["0", "0"]]]}}, NotProvedError, "contradict"),
        ({"given": {**PATH, "keys": [[["1"], ["0"], ["0"]]]}, "plot": Path("a.png")}, UsageError, "two dimensions"),
        ({"plot": Path("a.txt")}, UsageError, "a figure ends in"),
    ],
)
def test_what_cannot_be_stated_is_refused(
    inputs: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        generate("regularization-path", tmp_path / "made.yaml", **{"given": PATH, **inputs})
    assert not (tmp_path / "made.yaml").exists()


def test_the_best_token_of_a_quadratic_head_is_found(tmp_path: Path) -> None:
    given = {
        "tokens": [[["1", "1"], ["0", "0"]]],
        "v": ["-1", "0"],
        "head": {"kind": "quadratic", "A": [["2", "0"], ["0", "0"]]},
        "loss": "linear",
    }
    # The linear part alone would choose the other token.
    assert made("regularization-path", tmp_path, given=given)["asserts"]["indices"] == ["0"]


def test_a_path_is_drawn(tmp_path: Path) -> None:
    made("regularization-path", tmp_path, given=PATH, radii=["10", "20"], plot=tmp_path / "path.svg")
    text = (tmp_path / "path.svg").read_text()
    assert text.startswith("<?xml")
    again = tmp_path / "again.svg"
    made("regularization-path", tmp_path, given=PATH, radii=["10", "20"], plot=again)
    assert again.read_text() == text


# -- points on spheres


def test_points_are_the_minimisers_that_scipy_finds() -> None:
    rng = np.random.default_rng(3)
    for dimension in (1, 2, 4):
        direction = np.eye(dimension)[0]
        differences = np.abs(rng.normal(size=(6, 1))) * direction + 0.2 + 0.3 * rng.normal(size=(6, dimension))
        differences[:, 0] = np.abs(differences[:, 0]) + 0.1
        masses = rng.uniform(0.1, 5, size=6)

        def objective(x: np.ndarray, z: np.ndarray = differences, m: np.ndarray = masses) -> float:
            p = 30 * x / np.linalg.norm(x)
            logs = np.log(m) - z @ p
            return float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))

        found = path_point(differences, masses, direction, 30.0)
        assert np.linalg.norm(found) == pytest.approx(30)
        best = min(
            (minimize(objective, direction + 0.2 * rng.normal(size=dimension)) for _ in range(4)), key=lambda r: r.fun
        )
        assert objective(found) <= best.fun + 1e-9


def test_a_basis_is_orthonormal() -> None:
    direction = np.array([3.0, 0.0, 4.0]) / 5
    basis = orthogonal_basis(direction)
    assert basis.shape == (3, 2)
    assert np.allclose(basis.T @ basis, np.eye(2))
    assert np.allclose(direction @ basis, 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_stated_direction_is_as_far_from_the_solution_as_is_stated(seed: int) -> None:
    """Beside a solver of quadratic programs."""
    rng = np.random.default_rng(seed)
    size = 3 + seed % 2
    truth = rng.normal(size=size)
    points = rng.integers(-8, 9, size=(12, size)).astype(float)
    points = points[np.abs(points @ truth) > 1]
    labels = np.sign(points @ truth).astype(int)
    z = labels[:, None] * points
    found = minimize(
        lambda p: p @ p / 2, truth / np.abs(points @ truth).min(), jac=lambda p: p, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda p: z @ p - 1, "jac": lambda p: z}, options={"ftol": 1e-14},
    ).x  # fmt: skip
    asked = found + rng.normal(size=size) * 1e-2 * np.linalg.norm(found)
    made = generate("max-margin", points=points, labels=labels, direction=asked)
    apart = np.linalg.norm(asked / (z @ asked).min() - found)
    assert apart <= float(made.numbers["within"]) * (1 + 1e-6) + 1e-7
    assert float(made.numbers["within"]) <= apart * 1.01 + 1e-7
    assert check(made).verdict is Verdict.VERIFIED
    same = generate("max-margin", points=points, labels=labels)
    exactly = generate("max-margin", points=points, labels=labels, direction=same.plain["asserts"]["solution"])
    assert exactly.digest == same.digest


# -- arrays in files, and queries


@pytest.mark.parametrize(
    ("claim", "rest"),
    [
        ("token-optimality", {}),
        ("regularization-path", {"loss": "logistic"}),
        ("selection-direction", {"loss": "logistic", "descent": {"rule": "gradient", "step": 1}, "start": "W.npy"}),
    ],
)
def test_keys_queries_and_starts_are_arrays_in_files(
    claim: str, rest: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keys = np.array([[[-0.5, 1], [1, 0], [0, 0]], [[1, 1], [0, 1], [0, 0]]])
    queries, scores = np.array([[1, 0.5], [0, 1]]), np.array([[1, 0.75, 0.75], [1, 0.5, 0.5]])
    np.savez(tmp_path / "in.npz", keys=keys.reshape(6, 2), lengths=[3, 3], queries=queries, scores=scores.reshape(-1))
    np.save(tmp_path / "W.npy", np.zeros((2, 2)))
    named = {name: f"in.npz[{name}]" for name in ("keys", "lengths", "queries", "scores")}
    given = made(claim, tmp_path, **named, **rest)["given"]
    assert given["queries"]["array"] == "queries"
    assert given["lengths"] == ["3", "3"]


def test_a_path_with_queries_ends_at_the_matrix_that_max_margin_states(tmp_path: Path) -> None:
    keys, queries = [[["-1/10", 1], [1, 0], [0, 0]], [[1, 1], [0, 1], [0, 0]]], [[1, "1/2"], [0, 1]]
    scores = [[1, "9/10", "9/10"], [1, "1/2", "1/2"]]
    path = made("regularization-path", tmp_path, keys=keys, scores=scores, queries=queries, loss="linear", limit=True)
    margin = made("max-margin", tmp_path, keys=keys, queries=queries, indices=[0, 0])
    assert path["asserts"]["limit"] == margin["asserts"]["solution"] == [["-0.5", "1"], ["0.8", "0.4"]]
    assert len(path["witness"]["comparators"][0]) == 2
