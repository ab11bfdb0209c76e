"""The claim `selection-basins`: its words, its cells, and what a broken part of it would let pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corpus import MALFORMED, Cases, check
from flint import arb, fmpq

import certattn
from certattn.kernel.document.certificate import load
from certattn.kernel.mathematics import bundled_descent
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection import selection_basins
from certattn.kernel.theorems.selection.mathematics.margin_points import Conditions, MaxMargin
from certattn.kernel.theorems.selection.selection_basins import Basins, Leaf, Region, read

cases = Cases("basins_cases")
GALLERY = Path(__file__).resolve().parents[4] / "certificates" / "selection" / "selection-basins"
# Starts that are simulated in each certificate, for so many steps.
STARTS, STEPS = 2000, 1500

Array = np.ndarray


def leaves(code: str, tmp_path: Path) -> list[Leaf]:
    """Those of a map in which the share of every other is left as it was."""
    text = next(cases.PLANE.cases()).text.replace("++b.b.+.a.a+b.b.+.a.a", code)
    (tmp_path / "map.yaml").write_text(text)
    return read(load(tmp_path / "map.yaml")).leaves


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.PLANE.cases()).text, tmp_path).statement
    for piece in (
        "from the starts p(0) = o + a s + b t, 0 <= a, b <= 1, o = (-8, -0.5), s = (16, 0), t = (0, 1)",
        "of the area of this region, 0.5 is decided, in 8 cells",
        "a: tokens (0), 0.25 of the area; b: tokens (1), 0.25 of the area",
        "the tree, + before four quarters (low a and b, high a, high b, high both) is ++b.b.+.a.a+b.b.+.a.a",
        "eta = 4",
    ):
        assert piece in said, said


def test_leaves_are_disjoint_and_fill_the_region(tmp_path: Path) -> None:
    found = leaves("++b.b.+.a.a+b.b.+.a.a", tmp_path)
    assert sum((leaf.size**2 for leaf in found), fmpq(0)) == 1
    for k, one in enumerate(found):
        for other in found[:k]:
            apart = [x + one.size <= y or y + other.size <= x for x, y in zip(one.low, other.low, strict=True)]
            assert any(apart)
    assert found[0].low == (0, 0)
    assert [leaf.low for leaf in found[4:6]] == [(fmpq(1, 2), 0), (fmpq(3, 4), 0)]
    assert found[-1].low == (fmpq(3, 4), fmpq(3, 4))


def test_a_tree_is_only_so_deep(tmp_path: Path) -> None:
    report = check(next(cases.PLANE.cases()).text.replace("++b.b.+.a.a+b.b.+.a.a", 13 * "+" + "a" + 39 * "."), tmp_path)
    assert report.verdict is MALFORMED
    assert "divided at most 12 times" in report.reason


def test_the_start_of_a_leaf_is_the_part_of_the_region() -> None:
    rows = [ExactMatrix.row_vector([fmpq(x) for x in row]) for row in ([1, 2, 3], [4, 0, 0], [0, 4, 8])]
    start = Region(rows[0], (rows[1], rows[2])).start(Leaf(0, (fmpq(1, 4), fmpq(1, 2)), 2))
    assert start.patch is not None
    assert start.patch.centre.row(0) == [1 + fmpq(3, 2), 2 + fmpq(5, 2), 3 + fmpq(5)]
    assert [way.row(0) for way in start.patch.ways] == [[fmpq(1, 2), 0, 0], [0, fmpq(1, 2), 1]]
    for ball, low, high in zip(start.balls(), (2, 4, 7), (3, 5, 9), strict=True):
        assert ball.contains(arb(low))
        assert ball.contains(arb(high))
        assert ball.rad() < 1.001 * (high - low) / 2


# -- against descents that are simulated by no code of the kernel


def simulated(basins: Basins, starts: Array) -> Array:
    """The tokens of largest weight after a descent from each of these starts, in doubles."""
    _, problem = basins.cells[0]
    tokens, rule = problem.selection.tokens, problem.rule
    keys = [np.array([[int(x.p) / int(x.q) for x in row] for row in tokens.keys_of(i).to_rows()])
            for i in range(tokens.count)]  # fmt: skip
    scores = [np.array([int(x.p) / int(x.q) for x in tokens.scores_of(i)]) for i in range(tokens.count)]
    slope = {"linear": np.ones_like, "exponential": lambda x: np.exp(-x), "logistic": lambda x: 1 / (1 + np.exp(x))}
    assert rule.step is not None
    assert rule.kind == "gradient"
    size, points = int(rule.step.p) / int(rule.step.q) / tokens.count, starts.copy()
    for _ in range(STEPS):
        downhill = np.zeros_like(points)
        for k, g in zip(keys, scores, strict=True):
            logits = points @ k.T
            shares = np.exp(logits - logits.max(1, keepdims=True))
            shares /= shares.sum(1, keepdims=True)
            mean = shares @ g
            downhill += slope[problem.loss.name](mean)[:, None] * ((shares * (g - mean[:, None])) @ k)
        points += size * downhill
    return np.array([(points @ k.T).argmax(1) for k in keys]).T


def drawn(basins: Basins, rng: np.random.Generator) -> tuple[Array, list[int]]:
    """Starts in the decided cells, and the selections that are stated of them."""
    region = basins.region
    corner, s, t = (np.array([int(x.p) / int(x.q) for x in each.row(0)]) for each in (region.corner, *region.sides))
    decided = [leaf for leaf in basins.leaves if leaf.selection is not None]
    picked = [decided[i] for i in rng.integers(0, len(decided), STARTS)]
    places = np.array([[float(arb(x)) for x in leaf.low] for leaf in picked])
    places += np.array([[float(arb(leaf.size))] for leaf in picked]) * rng.uniform(size=(STARTS, 2))
    stated = [leaf.selection for leaf in picked if leaf.selection is not None]
    return corner + places[:, :1] * s + places[:, 1:] * t, stated


def maps() -> list[Path]:
    return sorted(GALLERY.glob("*.yaml"))


@pytest.mark.heavy
@pytest.mark.parametrize("path", maps(), ids=lambda path: path.stem)
def test_random_starts_in_decided_cells_end_where_it_is_stated(path: Path) -> None:
    basins = read(load(path))
    starts, stated = drawn(basins, np.random.default_rng(0))
    wanted = np.array([basins.selections[s].selection.indices for s in stated])
    assert (simulated(basins, starts) == wanted).all()


def test_the_gallery_has_maps_with_several_selections() -> None:
    assert max(len(read(load(path)).selections) for path in maps()) >= 3


# -- sabotage


def test_other_starts_than_those_of_a_cell_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, start = "a region that crosses to the other side", Region.start
    (case,) = [each for each in cases.PLANE.cases() if each.name.endswith(name)]
    assert case.complaint(check(case.text, tmp_path)) == ""
    elsewhere = ExactMatrix.row_vector([fmpq(-8), fmpq(-1, 2)])
    monkeypatch.setattr(Region, "start", lambda self, leaf: start(replace(self, corner=elsewhere), leaf))
    assert case.complaint(check(case.text, tmp_path)) != ""


@pytest.mark.parametrize(
    ("place", "name", "broken", "case"),
    [
        (Basins, "share", lambda self, selection: fmpq(7, 16), "less is decided than is"),
        (selection_basins, "unfit", lambda problem: None, "a time for steps"),
        (MaxMargin, "conditions", Conditions(*[fmpq(0)] * 3, fmpq(1)), "multipliers of no max-margin point"),
        (bundled_descent, "reaches", lambda rows: [arb(0)] * rows.nrows(), "cells on the side of neither"),
    ],
)
def test_a_broken_part_is_noticed(
    place: object, name: str, broken: object, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rejected,) = [each for each in cases.PLANE.cases() if each.name.endswith(case)]
    assert rejected.complaint(check(rejected.text, tmp_path)) == ""
    monkeypatch.setattr(place, name, broken)
    assert rejected.complaint(check(rejected.text, tmp_path)) != ""


def test_a_certificate_of_generate_verifies(tmp_path: Path) -> None:
    made = certattn.generate(
        "selection-basins", tmp_path / "map.yaml", keys=[[[1, 0], [-1, 0], [0, 1], [0, -1]]], scores=[[1, "1/2", 0, 0]],
        loss="logistic", descent={"rule": "gradient", "step": 4}, depth=1, most_steps=20,
        region={"corner": [4, "-1/2"], "sides": [[8, 0], [0, 1]]},
    )  # fmt: skip
    assert certattn.check(tmp_path / "map.yaml").verdict is certattn.Verdict.VERIFIED
    assert made.plain["asserts"]["decided"] == "1"


def test_a_region_of_which_nothing_is_decided(tmp_path: Path) -> None:
    with pytest.raises(certattn.NotProvedError, match="no cell of the region is decided"):
        certattn.generate(
            "selection-basins", tmp_path / "map.yaml", keys=[[[1, 0], [-1, 0], [0, 1]]], scores=[[1, "1/2", 0]],
            loss="logistic", descent={"rule": "gradient", "step": 1}, depth=0, most_steps=20,
            region={"corner": [-4, -4], "sides": [[8, 0], [0, 8]]},
        )  # fmt: skip
