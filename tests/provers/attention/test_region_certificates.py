"""Generating `output-deviation` over regions: what is written verifies, is sharp, and stops at its budget."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.theorems.attention.output_deviation import THEOREM
from certattn.provers.attention.region_floats import FloatDeviation

Arrays = dict[str, np.ndarray[Any, Any]]
Prompt = Callable[..., Arrays]
Region = dict[str, Any]

BALL: Region = {"kind": "ball", "centre": ["1/2", "-1/4"], "radius": "1/4"}
BOX: Region = {"kind": "box", "lower": ["0", "-1/2"], "upper": ["1/2", "-1/2"]}
HULL: Region = {"kind": "hull", "points": [["0", "0"], ["1/2", "0"], ["0", "-1/2"]]}


@pytest.fixture
def small(prompt: Prompt) -> Callable[..., Arrays]:
    """The prompt, with scores of about 1."""
    return lambda **options: {name: array / 4 for name, array in prompt(**options).items()}


def generate(out: Path, **inputs: Any) -> certattn.Certificate:
    return certattn.generate("output-deviation", out, **inputs)


def verify(path: Path) -> certattn.Report:
    report = certattn.check(path)
    assert report.verdict is Verdict.VERIFIED, report.reason
    return report


def stated(path: Path, name: str = "at_most") -> float:
    match = re.search(rf"{name}: (\S+)", path.read_text())
    assert match is not None
    return float(match[1])


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- the same on every machine

# Where a choice has ties: the cells, corners and axes of a region are alike.
SYMMETRIC: Arrays = {"tokens": np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [0.7, 0.7], [-0.7, -0.7], [0.7, -0.7]])}
EVEN: Arrays = {"tokens": np.vstack([SYMMETRIC["tokens"], [[-0.7, 0.7]]])}
REGIONS: dict[str, Region] = {
    "ball": {"kind": "ball", "centre": ["0", "0"], "radius": "3/2"},
    "box": {"kind": "box", "lower": ["-1", "-1"], "upper": ["1", "1"]},
    "hull": {"kind": "hull", "points": [["0", "0"], ["1", "0"], ["0", "1"], ["1", "1"]]},
    "ball off the centre": {"kind": "ball", "centre": ["1/2", "-1/4"], "radius": "1/2"},
}


@pytest.mark.heavy
@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("arrays", [SYMMETRIC, EVEN], ids=["symmetric but for a token", "symmetric"])
def test_the_search_does_not_depend_on_the_last_digits_of_floats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, region: Region, norm: str, arrays: Arrays
) -> None:
    rng = np.random.default_rng(11)

    class Rounded(FloatDeviation):
        """Floats as a machine with other last digits computes them."""

        @cached_property
        def keys(self) -> Any:
            return super().keys * (1 + 1e-15 * rng.uniform(-1, 1, size=super().keys.shape))

        @cached_property
        def values(self) -> Any:
            return super().values * (1 + 1e-15 * rng.uniform(-1, 1, size=super().values.shape))

    monkeypatch.setattr("certattn.provers.attention.region_floats.FloatDeviation", Rounded)
    written = set()
    for machine in range(6):
        out = tmp_path / f"{machine}.yaml"
        generate(out, **arrays, region=region, norm=norm, cells=20, lower_bound=True)
        written.add(out.read_text().replace(out.stem + ".npz", ""))
        verify(out)
    assert len(written) == 1


# -- what is written verifies


@pytest.mark.parametrize("region", [BALL, BOX, HULL], ids=lambda region: region["kind"])
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("cells", [1, 30])
def test_every_kind_of_region(tmp_path: Path, small: Prompt, region: Region, norm: str, cells: int) -> None:
    out = tmp_path / "a.yaml"
    generate(out, **small(), region=region, norm=norm, cells=cells, lower_bound=True)
    report = verify(out)
    assert report.counts["proved"] <= cells + 1
    assert 0 < stated(out, "at_least") <= stated(out)
    if cells > 1:
        # Regions of this size are bounded within two per cent.
        assert stated(out) < 1.02 * stated(out, "at_least")


def test_exact_numbers_from_python(tmp_path: Path, small: Prompt) -> None:
    region = {"kind": "ball", "centre": [Fraction(1, 2), Decimal("-0.25")], "radius": Fraction(1, 4)}
    generate(tmp_path / "a.yaml", **small(), region=region, at_most=1)
    assert "within l2 distance 0.25 of (0.5, -0.25)" in verify(tmp_path / "a.yaml").statement


@pytest.mark.parametrize("arithmetic", ["auto", "arb"])
def test_regions_are_proved_in_arb_alone(tmp_path: Path, small: Prompt, arithmetic: str) -> None:
    # The arrays hold doubles, so that listed queries would have binary64.
    generate(tmp_path / "a.yaml", **small(), region=BALL, arithmetic=arithmetic)
    assert verify(tmp_path / "a.yaml").arithmetic == ARB
    report = certattn.check(tmp_path / "a.yaml", arithmetic="binary64")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.counts["proved"] == 0


def test_queries_say_where_the_region_is(tmp_path: Path, small: Prompt) -> None:
    generate(tmp_path / "ball.yaml", **small(), region={"kind": "ball", "radius": "1/4"}, query_rows="1:2")
    text = (tmp_path / "ball.yaml").read_text()
    assert "rows: 1:2" in text
    assert "the point ball.npz[queries], rows 1:2" in verify(tmp_path / "ball.yaml").statement
    generate(tmp_path / "hull.yaml", **small(), region={"kind": "hull"}, query_rows="0:2")
    assert "convex combinations of 2 queries" in verify(tmp_path / "hull.yaml").statement
    generate(tmp_path / "all.yaml", **small(), region={"kind": "hull"})
    assert "convex combinations of 3 queries" in verify(tmp_path / "all.yaml").statement
    one = {**small(), "queries": small()["queries"][:1]}
    generate(tmp_path / "one.yaml", **one, region={"kind": "ball", "radius": "1/4"})
    verify(tmp_path / "one.yaml")


def test_a_region_that_says_itself_where_it_is_needs_no_queries(tmp_path: Path, small: Prompt) -> None:
    arrays = small()
    del arrays["queries"]
    generate(tmp_path / "a.yaml", **arrays, region=BALL)
    verify(tmp_path / "a.yaml")
    with pytest.raises(UsageError, match="expected arrays keys, values, queries"):
        generate(tmp_path / "b.yaml", **arrays, region={"kind": "hull"})


@pytest.mark.heavy
def test_tokens_with_their_weights(tmp_path: Path, tokens: Arrays) -> None:
    region = {"kind": "ball", "radius": "1/4"}
    generate(tmp_path / "kqv.yaml", **tokens, region=region, query_rows="0:1", lower_bound=True)
    verify(tmp_path / "kqv.yaml")
    U = tokens["K"].T @ tokens["Q"]
    rest = {name: tokens[name] for name in ("tokens", "queries", "V")}
    generate(tmp_path / "u.yaml", **rest, U=U, region={"kind": "hull"}, cells=20, lower_bound=True)
    verify(tmp_path / "u.yaml")


AFFINE = {"kind": "affine", "matrix": [["1", "0"], ["0", "1/3"], ["1", "1"]], "offset": ["0", "1", "0.5"]}
LAW_OF_PAIRS = {
    "kind": "law",
    "law": {"kind": "gaussian", "mean": ["0"] * 5, "covariance": np.eye(5, dtype=int).astype(str).tolist()},
}


@pytest.mark.parametrize("limit", [AFFINE, LAW_OF_PAIRS], ids=["affine", "law"])
@pytest.mark.parametrize("region", [BALL, BOX, HULL], ids=lambda region: region["kind"])
def test_limits(tmp_path: Path, small: Prompt, limit: Any, region: Region) -> None:
    generate(tmp_path / "a.yaml", **small(), region=region, limit=limit, scale="1/sqrt(2)", cells=10, lower_bound=True)
    verify(tmp_path / "a.yaml")


# -- several regions, and masks


def test_a_ball_around_each_query_that_is_meant(tmp_path: Path, small: Prompt) -> None:
    region = {"kind": "ball", "radius": "1/10"}
    certificate = generate(tmp_path / "all.yaml", **small(), region=region, lower_bound=True)
    verify(tmp_path / "all.yaml")
    bounds = deviation_of(certificate)["per_region"]
    for row in range(3):
        own = generate(
            tmp_path / f"{row}.yaml", **small(), region=region, lower_bound=True, query_rows=f"{row}:{row + 1}"
        )
        assert bounds["at_most"][row] == deviation_of(own)["at_most"]
        assert bounds["at_least"][row] == deviation_of(own)["at_least"]


def deviation_of(certificate: certattn.Certificate) -> Any:
    return certificate.plain["asserts"]["deviation"]


@pytest.mark.heavy
def test_one_bound_for_several_regions(tmp_path: Path, small: Prompt) -> None:
    certificate = generate(tmp_path / "a.yaml", **small(), region=[BALL, BOX, HULL], at_most="100", cells=5)
    verify(tmp_path / "a.yaml")
    assert deviation_of(certificate) == {"norm": "l2", "at_most": "100"}
    with pytest.raises(NotProvedError, match=r"some query of region [012] deviates"):
        generate(tmp_path / "b.yaml", **small(), region=[BALL, BOX, HULL], at_most="1e-9")


def test_a_region_under_a_mask_is_one_of_the_prefix(tmp_path: Path, small: Prompt) -> None:
    arrays = small()
    prefix = {**arrays, "keys": arrays["keys"][:4], "values": arrays["values"][:4]}
    for name, region in (("ball", BALL), ("box", BOX), ("hull", HULL)):
        masked = generate(tmp_path / f"{name}.yaml", **arrays, region=region, causal=4, lower_bound=True, cells=9)
        verify(tmp_path / f"{name}.yaml")
        alone = generate(tmp_path / f"{name}-4.yaml", **prefix, region=region, lower_bound=True, cells=9)
        assert deviation_of(masked) == deviation_of(alone)


@pytest.mark.heavy
def test_heads_of_more_than_64_dimensions(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    arrays = {name: draw.normal(size=(9, 100)) for name in ("keys", "values")}
    region = {"kind": "ball", "radius": "1/2"}
    generate(
        tmp_path / "a.yaml", **arrays, queries=draw.normal(size=(1, 100)), scale="1/10", region=region, lower_bound=True
    )
    report = verify(tmp_path / "a.yaml")
    assert stated(tmp_path / "a.yaml") < 1.3 * stated(tmp_path / "a.yaml", "at_least")
    assert not any("scale is 1" in line for line in report.findings)
    with pytest.raises(MalformedError, match="at most 128 dimensions"):
        generate(tmp_path / "b.yaml", keys=np.eye(129), values=np.eye(129), region={**BALL, "centre": ["0"] * 129})


def test_each_of_several_regions_sees_one_token_more(tmp_path: Path, small: Prompt) -> None:
    arrays = small()
    masked = generate(tmp_path / "a.yaml", **arrays, region=[BALL, BALL, BALL], causal=2)
    verify(tmp_path / "a.yaml")
    assert [region["sees"] for region in masked.plain["given"]["regions"]] == ["2", "3", "4"]
    assert len(set(deviation_of(masked)["per_region"]["at_most"])) == 3


POINTS: dict[str, Region] = {
    "a ball without extent": {**BALL, "radius": "0"},
    "a box without extent": {"kind": "box", "lower": ["1", "2"], "upper": ["1", "2"]},
    "a hull of one point": {"kind": "hull", "points": [["1", "2"]]},
    "a hull of one point twice": {"kind": "hull", "points": [["1", "2"], ["1", "2"]]},
}


@pytest.mark.parametrize("name", POINTS)
def test_regions_that_are_points(tmp_path: Path, small: Prompt, name: str) -> None:
    generate(tmp_path / "a.yaml", **small(), region=POINTS[name], lower_bound=True)
    assert verify(tmp_path / "a.yaml").counts["proved"] == 2
    assert stated(tmp_path / "a.yaml") == pytest.approx(stated(tmp_path / "a.yaml", "at_least"), rel=1e-4)


def test_prompts_without_any_deviation(tmp_path: Path, small: Prompt) -> None:
    for name, change in (("keys", "keys"), ("values", "values")):
        arrays = small()
        arrays[change] = np.ones_like(arrays[change])
        generate(tmp_path / f"{name}.yaml", **arrays, region=BALL, lower_bound=True)
        verify(tmp_path / f"{name}.yaml")
        assert stated(tmp_path / f"{name}.yaml") < 1e-15


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, small: Prompt) -> None:
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        generate(tmp_path / name / "a.yaml", **small(), region=BALL, cells=20, lower_bound=True)
    assert (tmp_path / "1" / "a.yaml").read_bytes() == (tmp_path / "2" / "a.yaml").read_bytes()


# -- how sharp, with how many cells


def test_more_cells_prove_no_larger_bound(tmp_path: Path, small: Prompt) -> None:
    found = []
    for cells in (1, 2, 5, 20, 80):
        generate(tmp_path / f"{cells}.yaml", **small(), region={**BALL, "radius": "2"}, cells=cells)
        assert verify(tmp_path / f"{cells}.yaml").counts["proved"] <= cells
        found.append(stated(tmp_path / f"{cells}.yaml"))
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.8 * found[0]


def test_cells_that_are_not_needed_are_not_used(tmp_path: Path, small: Prompt) -> None:
    generate(tmp_path / "a.yaml", **small(), region={**BALL, "radius": "1/1000"}, cells=200)
    assert verify(tmp_path / "a.yaml").counts["proved"] == 1
    assert "witness" not in (tmp_path / "a.yaml").read_text()
    generate(tmp_path / "b.yaml", **small(), region=BALL, at_most="100")
    assert verify(tmp_path / "b.yaml").counts["proved"] == 1
    assert "at_most: 100" in (tmp_path / "b.yaml").read_text()


def test_a_bound_of_ones_own(tmp_path: Path, small: Prompt) -> None:
    wide = {**BALL, "radius": "1"}
    generate(tmp_path / "loose.yaml", **small(), region=wide, cells=1)
    generate(tmp_path / "best.yaml", **small(), region=wide, cells=60, lower_bound=True)
    loose, best, occurs = (
        stated(tmp_path / "loose.yaml"),
        stated(tmp_path / "best.yaml"),
        stated(tmp_path / "best.yaml", "at_least"),
    )
    between = f"{(loose + best) / 2:.6f}"
    generate(tmp_path / "own.yaml", **small(), region=wide, at_most=between)
    assert 1 < verify(tmp_path / "own.yaml").counts["proved"] <= 60
    with pytest.raises(NotProvedError, match=r"could not be proved with 1 cells: about \S+ can, .* More cells may do"):
        generate(tmp_path / "few.yaml", **small(), region=wide, at_most=between, cells=1)
    with pytest.raises(NotProvedError, match="is too small: some query of the region deviates by about"):
        generate(tmp_path / "false.yaml", **small(), region=wide, at_most=f"{0.99 * occurs:.6f}")
    assert not (tmp_path / "few.yaml").exists()
    assert not (tmp_path / "false.yaml").exists()


@pytest.mark.parametrize("radius", ["100", "1e6", "1e300"])
def test_a_region_that_is_too_large_is_given_up(tmp_path: Path, small: Prompt, radius: str) -> None:
    start = time.perf_counter()
    with pytest.raises(NotProvedError, match="too large, or needs more cells"):
        generate(tmp_path / "a.yaml", **small(), region={**BALL, "radius": radius}, cells=20)
    assert time.perf_counter() - start < 10
    assert files(tmp_path) == []


@pytest.mark.parametrize("region", [BALL, BOX, HULL], ids=lambda region: region["kind"])
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_the_bound_in_doubles_is_that_of_the_kernel(tmp_path: Path, small: Prompt, region: Region, norm: str) -> None:
    generate(tmp_path / "a.yaml", **small(), region={**region}, norm=norm, cells=9)
    problem = THEOREM.read(certattn.load(tmp_path / "a.yaml"))
    (region,) = problem.regions
    deviation = problem.around(region)
    rough = FloatDeviation(deviation, norm)
    for index in range(region.count):
        cell = region.cell(index)
        with working_precision(64):
            upper = deviation.over(cell, norm).upper
        assert rough.over(cell).upper == pytest.approx(float(upper.mid()), rel=1e-9)


# -- what cannot be done


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"region": {"kind": "cube"}}, "'ball' or 'box' or 'hull'"),
    ({"region": [{"kind": "ball", "radius": "1/4"}, BALL]}, "3 queries are given: pick one of them, as with --queries"),
    ({"region": [{"kind": "ball", "radius": "1/4"}, BALL], "query_rows": "0:2"}, "2 queries are given"),
    ({"region": []}, "a region is a mapping"),
    ({"region": [BALL, "ball"]}, "a region is a mapping"),
    ({"region": [BALL, BOX], "causal": 6}, "which is all tokens"),
    ({"region": BALL, "causal": 0}, "an integer >= 1"),
    ({"region": {"kind": "ball", "radius": "1/4"}, "query_rows": "5:6"}, "rows among the 3"),
    ({"region": {"kind": "ball", "centre": ["0"], "radius": "1"}}, "the dimension of a query"),
    ({"region": {"kind": "ball", "centre": ["0", "x"], "radius": "1"}}, "an exact number"),
    ({"region": {"kind": "ball", "centre": ["0", "0"]}}, "no 'radius'"),
    ({"region": {"kind": "ball", "centre": ["0", "0"], "radius": "-1"}}, "a number >= 0"),
    ({"region": {"kind": "box", "lower": ["1", "1"], "upper": ["0", "2"]}}, "not below the lower"),
    ({"region": ["ball"]}, "a region is a mapping"),
    ({"region": BALL, "query_rows": "0:1"}, "does not use the listed queries"),
    ({"region": BALL, "per_query": True}, "per_query is for listed queries"),
    ({"region": BALL, "arithmetic": "binary64"}, "binary64 is for listed queries"),
    ({"region": {**BALL, "radius": 0.3}}, "region.radius is the float 0.3"),
    ({"region": BALL, "cells": 0}, "expected 1 to 4096"),
    ({"region": BALL, "cells": 4097}, "expected 1 to 4096"),
    ({"region": BALL, "norm": "l1"}, "l2 or linf"),
    ({"region": BALL, "at_most": "-1"}, ">= 0"),
    ({"region": BALL, "at_most": "much"}, "an exact number"),
    ({"cells": 3}, "for a region of queries"),
    ({"lower_bound": True}, "for a region of queries"),
    (
        {"region": BALL, "limit": {"kind": "law", "law": {"kind": "atoms", "points": [["1", "0", "0", "0", "1"],
                                                                                     ["0", "1", "2", "0", "0"]]}}},
        "proved to be an affine map",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_bad_options_are_refused_and_nothing_is_left(
    tmp_path: Path, small: Prompt, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((UsageError, MalformedError), match=words):
        generate(tmp_path / "a.yaml", **small(), **options)
    assert files(tmp_path) == []
