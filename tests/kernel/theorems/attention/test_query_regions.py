"""`output-deviation` over regions of queries: what a witness can do and cannot do, and what is said."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from corpus import Cases, Family, check
from flint import arb, fmpq

from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.statements.checking import check_certificate
from certattn.statements.reports import Report
from certattn.statements.wording import WORDINGS
from certattn.writing import to_text

cases = Cases("region_cases")

Tool = Callable[[str], ModuleType]
CLAIM = CLAIMS["output-deviation"]


@pytest.fixture(scope="session")
def truth(tool: Tool) -> ModuleType:
    return tool("truth.prompt")


def text_of(family: Family) -> str:
    return next(family.cases()).text


def replaced(family: Family, *changes: tuple[str, str]) -> str:
    text = text_of(family)
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# -- no witness makes a false statement true


def bisections(draw: random.Random, cut: Callable[[], str]) -> str:
    """A random subdivision, now and then with a word too many, too few, or wrong."""
    words, open_ = [], 1
    while open_ and len(words) < 40:
        leaf = draw.random() < 0.55
        words.append("." if leaf else cut())
        open_ += -1 if leaf else 1
    words += ["."] * open_
    if draw.random() < 0.1:
        words.insert(draw.randrange(len(words) + 1), draw.choice([".", "0", "1", "0-1", "7", "x"]))
    if draw.random() < 0.1:
        words.pop(draw.randrange(len(words)))
    return " ".join(words) or "."


def number(draw: random.Random) -> str:
    return draw.choice(["0", "1", "-1", "1/2", "1.25", "0.9697", "1e30", str(draw.uniform(-2, 3)), "nan", "1/0"])


def witness(draw: random.Random, kind: str, dimension: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if draw.random() < 0.9:
        edges = [f"{i}-{j}" for i in range(dimension) for j in range(dimension) if i != j]
        found["cells"] = bisections(
            draw, lambda: draw.choice(edges) if kind == "hull" else str(draw.randrange(dimension))
        )
    if draw.random() < 0.5:
        name = draw.choice(["query", "weights"]) if draw.random() < 0.1 else ("weights" if kind == "hull" else "query")
        found[name] = [number(draw) for _ in range(dimension + (draw.random() < 0.1))]
    if draw.random() < 0.2:
        found["bits"] = draw.choice(["2", "64", "300", "0", "many"])
    return found


FALSE = {
    "a ball": (cases.BALL, "ball", 2, ("at_most: 0.2078", "at_most: 0.20739")),
    "a box": (cases.BOX, "box", 3, ("at_most: 0.176", "at_most: 0.17565")),
    "a hull": (cases.HULL, "hull", 3, ("at_most: 2.681", "at_most: 2.62156")),
    "a lower bound over a ball": (cases.BALL, "ball", 2, ("at_least: 0.2073", "at_least: 0.2074")),
    "a lower bound over a box": (cases.BOX, "box", 3, ("at_least: 0.1756", "at_least: 0.17566")),
    "a lower bound over a hull": (cases.HULL, "hull", 3, ("at_least: 2.6215", "at_least: 2.6216")),
}


@pytest.mark.parametrize("name", FALSE)
def test_no_witness_verifies_a_false_statement(name: str, arrays: Path) -> None:
    family, kind, dimension, change = FALSE[name]
    draw = random.Random(name)
    tree = loads(replaced(family, change), arrays / "case.yaml").plain
    seen = set()
    for _ in range(150):
        report = check(to_text({**tree, "witness": witness(draw, kind, dimension)}), arrays)
        assert report.verdict is not Verdict.VERIFIED
        seen.add(report.verdict)
    # Wrong witnesses are refused as such, right ones tried and found wanting.
    assert {Verdict.MALFORMED, Verdict.REJECTED} <= seen <= {Verdict.MALFORMED, Verdict.REJECTED, Verdict.REFUTED}


@pytest.mark.parametrize("family", [cases.BALL, cases.BOX, cases.HULL], ids=lambda family: family.title)
def test_a_witness_is_no_part_of_the_statement(family: Family, arrays: Path) -> None:
    draw, digests = random.Random(0), set()
    tree = loads(text_of(family), arrays / "case.yaml").plain
    for _ in range(10):
        digests.add(loads(to_text({**tree, "witness": witness(draw, "ball", 2)}), arrays / "case.yaml").digest)
    assert digests == {loads(text_of(family), arrays / "case.yaml").digest}


def test_a_region_is_part_of_the_statement(arrays: Path) -> None:
    texts = [
        text_of(cases.BALL),
        replaced(cases.BALL, ("radius: 1/4", "radius: 0.26")),
        replaced(cases.BALL, ("centre: [1, 1]", "centre: [1, 2]")),
    ]
    assert len({loads(text, arrays / "case.yaml").digest for text in texts}) == 3
    same = replaced(cases.BALL, ("radius: 1/4", "radius: 0.25"))
    assert loads(same, arrays / "case.yaml").digest == loads(texts[0], arrays / "case.yaml").digest


@pytest.mark.heavy
def test_random_prompts_and_bounds_never_verify_below_a_query(arrays: Path, truth: ModuleType) -> None:
    """Regions of every kind, bounds around the largest deviation that a search finds, random subdivisions."""
    draw = random.Random(7)
    verified = 0
    for turn in range(120):
        given = random_given(draw, ("ball", "box", "hull")[turn % 3])
        norm = draw.choice(["l2", "linf"])
        asserts = {"deviation": {"norm": norm, "at_most": "1"}}
        (comparison,) = truth.deviation_comparisons(given, asserts, {}, arrays)
        with truth.mp.workdps(30):
            largest = float(comparison.value())
        size = len(given["region"].get("points", [[0]])) if "points" in given["region"] else len(given["keys"][0])
        for factor in (0.999, 1.02, 1.5):
            asserts = {"deviation": {"norm": norm, "at_most": repr(factor * largest + 1e-9)}}
            tree: Any = {"certattn": "1", "claim": "output-deviation", "given": given, "asserts": asserts}
            edges = [f"{i}-{j}" for i in range(size) for j in range(size) if i != j]
            cut = (
                (lambda e=edges: draw.choice(e))
                if "points" in given["region"]
                else (lambda d=size: str(draw.randrange(d)))
            )
            if not (size == 1 and "points" in given["region"]):
                words = bisections(draw, cut)
                tree["witness"] = {"cells": words}
            report = check(to_text(tree), arrays)
            assert report.verdict is not Verdict.ERROR, report.reason
            if factor < 1 and largest > 1e-6:
                assert report.verdict is not Verdict.VERIFIED
            verified += report.verdict is Verdict.VERIFIED
    assert verified > 30


def random_given(draw: random.Random, kind: str) -> dict[str, Any]:
    dimension, outputs, length = draw.randint(1, 3), draw.randint(1, 2), draw.randint(2, 5)

    def table(rows: int, columns: int, size: int = 12) -> list[list[str]]:
        return [[f"{draw.randint(-size, size)}/8" for _ in range(columns)] for _ in range(rows)]

    (centre,) = table(1, dimension)
    if kind == "ball":
        region: dict[str, Any] = {"kind": kind, "centre": centre, "radius": f"{draw.randint(1, 8)}/10"}
    elif kind == "box":
        ends = [sorted((draw.randint(-8, 8), draw.randint(-8, 8))) for _ in range(dimension)]
        region = {"kind": kind, "lower": [f"{a}/12" for a, _ in ends], "upper": [f"{b}/12" for _, b in ends]}
    else:
        region = {"kind": kind, "points": table(draw.randint(1, 4), dimension, 6)}
    return {
        "keys": table(length, dimension),
        "values": table(length, outputs),
        "region": region,
        "scale": draw.choice(["1", "1/2", "1/sqrt(2)"]),
        "limit": {"kind": "empirical"},
    }


# -- of use in one to eight dimensions


@pytest.mark.heavy
@pytest.mark.parametrize("dimension", range(1, 9))
def test_one_cell_is_of_use_where_the_deviation_changes_by_half(dimension: int, tool: Tool) -> None:
    """1,000 Gaussian tokens, one ball, one cell: the bound is at most 2.2 times the largest deviation."""
    bench = tool("bench.regions")
    tokens, centre = bench.gaussian(dimension)
    radius = bench.half_radius(tokens, centre)
    _, largest = bench.range_over_ball(tokens, centre, radius)
    upper, _ = bench.one_cell(bench.deviation(tokens), bench.ball(centre, radius))
    assert largest <= upper < 2.2 * largest
    assert radius > 0.02


# -- what is said


def test_the_statement_names_the_region(arrays: Path) -> None:
    for family, words in (
        (cases.BALL, "For the queries within l2 distance 0.25 of (1, 1) and a prompt of 3 tokens"),
        (cases.BOX, "For the queries in the box from (0, -0.5, 1) to (0.5, 0.5, 1) and a prompt of 3 tokens"),
        (
            cases.HULL,
            "For the convex combinations of 3 queries (((1, 0), (2, -1), (0.5, 0.5))) and a prompt of 3 tokens",
        ),
        (cases.FILES, "within l2 distance 0.25 of the point prompt.npz[queries], rows 1:2 and a prompt"),
    ):
        said = check(text_of(family), arrays).statement
        assert words in said
        assert "for every query" in said
        assert "queries:" not in said


@pytest.mark.parametrize(
    ("family", "formula"),
    [
        (cases.BALL, r"\max_{\| q - c \|_2 \le 0.25} \| T(q) - T_\infty(q) \|_2 \le 0.2078"),
        (cases.BOX, r"\max_{a \le q \le b} \| T(q) - T_\infty(q) \|_2 \le 0.176"),
        (cases.HULL, r"\max_{q \in \operatorname{conv}(p_1, \dots, p_n)} \| T(q) - T_\infty(q) \|_\infty \le 2.681"),
    ],
    ids=lambda item: item.title if isinstance(item, Family) else "",
)
def test_the_formula_names_the_region(family: Family, formula: str, arrays: Path) -> None:
    problem = CLAIM.read(loads(text_of(family), arrays / "case.yaml"))
    assert WORDINGS[CLAIM.name].statement(problem).latex.startswith(formula)


def test_what_was_reached_is_said_whatever_the_verdict(arrays: Path) -> None:
    def finding(*changes: tuple[str, str]) -> tuple[Verdict, str]:
        report = check(replaced(cases.BALL, *changes), arrays)
        (line,) = report.findings
        return report.verdict, line

    verdict, line = finding()
    assert verdict is Verdict.VERIFIED
    assert re.fullmatch(
        r"over the region: at most \[0\.20776\d+ \+/- \S+\] \(cell \d of 8\), slack 3\.8\d*e-5; "
        r"at the centres of cells up to \[0\.1\d+ \+/- \S+\]",
        line,
    )
    verdict, line = finding(("at_most: 0.2078", "at_most: 0.2073"))
    assert verdict is Verdict.REJECTED
    assert line.startswith("over the region: at most [0.20776")
    assert "slack -0.000462;" in line
    verdict, line = finding(("at_most: 0.2078", "at_most: 0.1"))
    assert verdict is Verdict.REFUTED
    assert "slack -0.108;" in line


def test_a_cell_is_named_by_its_number_and_its_centre(arrays: Path) -> None:
    report = check(text_of(cases.BALL), arrays)
    sentences = {o["name"]: o["sentence"] for o in report.obligations}
    assert sentences["region.cell[0]"] == "a bound on |T(q) - T_inf(q)|_l2 over cell 0 of 8, around (0.875, 1)"
    assert sentences["at_least"] == "|T(q) - T_inf(q)|_l2 at some query of the region"
    whole = check(replaced(cases.BALL, ("  cells: 0 . 1 0 . 1 0 . 1 . 0 . . 0 . . 0 . .\n", "")), arrays)
    assert "over the region, around (1, 1)" in whole.reason


def test_a_refuted_cell_is_refuted_by_its_centre(arrays: Path) -> None:
    report = check(replaced(cases.BALL, ("at_most: 0.2078", "at_most: 0.16")), arrays)
    assert report.verdict is Verdict.REFUTED
    false = [o for o in report.obligations if o["outcome"] == "refuted" and o["part"] == "statement"]
    assert false
    assert all("at the centre of cell" in o["sentence"] for o in false)
    # The other cells are proved, or are not, by witness.
    assert {o["part"] for o in report.obligations if o["outcome"] == "unproved"} == {"witness"}
    assert {o["part"] for o in report.obligations if o["outcome"] == "refuted"} == {"statement"}


def grid(times: int) -> str:
    """Both axes of a square cut so many times."""
    words = "."
    for _ in range(times):
        words = words.replace(".", "0 1 . . 1 . .")
    return words


DIAGONAL = f"""certattn: 1
claim: output-deviation
given:
  tokens: [[1, 1], [-1, -1]]
  V: [[1, 0]]
  region: {{kind: ball, centre: [1/2, 1/2], radius: 1/4}}
  limit: {{kind: affine, matrix: [[1, 1]], offset: [0]}}
asserts:
  deviation: {{norm: l2, at_most: 0.4791}}
witness:
  cells: {grid(3)}
"""


def test_a_centre_outside_the_ball_refutes_nothing(arrays: Path) -> None:
    """s - tanh s, s = q_1 + q_2, is 0.47861... at most; at centres of cells around the edge it is 0.4951."""
    problem = CLAIM.read(loads(DIAGONAL, arrays / "case.yaml"))
    (region,) = problem.regions
    cells = [region.cell(i) for i in range(region.count)]
    outside = [cell for cell in cells if not cell.inside]
    with working_precision(64):
        assert any(problem.deviations_at(region, cell.centre)[0] > fmpq(495, 1000) for cell in outside)
    assert check(DIAGONAL, arrays).verdict is Verdict.REJECTED
    assert check(DIAGONAL.replace("0.4791", "0.497"), arrays).verdict is Verdict.VERIFIED
    assert check(DIAGONAL.replace("0.4791", "0.44"), arrays).verdict is Verdict.REFUTED


def test_dropped_pieces_are_no_obligations(arrays: Path) -> None:
    assert grid(3).count(".") == 64
    names = [o.name for o in CLAIM.obligations(CLAIM.read(loads(DIAGONAL, arrays / "case.yaml")))]
    assert names == [f"region.cell[{i}]" for i in range(60)]


# -- no search, no wasted time


def test_what_no_precision_can_prove_is_rejected_at_the_first(arrays: Path) -> None:
    for change in (("at_most: 0.2078", "at_most: 0.2073"), ("at_least: 0.2073", "at_least: 0.2074")):
        report = check(replaced(cases.BALL, change), arrays)
        assert report.verdict is Verdict.REJECTED
        assert report.bits == 64


def test_only_a_tie_is_tried_at_every_precision(arrays: Path) -> None:
    """At the centre the deviation is 5/7, and so is the bound: no ball decides between them."""
    (case,) = [case for case in cases.EXACT.cases() if case.name.endswith("five, which a third shows to be no ball")]
    report = check(case.text, arrays)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.bits == 4096


def test_a_bound_between_the_centre_and_the_cell_takes_bits_to_refute(arrays: Path) -> None:
    """The centre deviates by 10^-25 more than is stated: 64 bits do not see it, 128 do."""
    with working_precision(200):
        problem = CLAIM.read(loads(text_of(cases.BALL), arrays / "case.yaml"))
        (value,) = problem.deviations_at(problem.regions[0], problem.regions[0].exact.middle())
        digits = value.str(30, radius=False)[:27]
        assert arb(digits) < value
    text = replaced(
        cases.BALL,
        ("  cells: 0 . 1 0 . 1 0 . 1 . 0 . . 0 . . 0 . .\n", ""),
        ("    at_most: 0.2078\n    at_least: 0.2073\n", f"    at_most: {digits}\n"),
    )
    report = check(text, arrays)
    assert report.verdict is Verdict.REFUTED
    assert report.bits == 128


@pytest.mark.parametrize("radius", ["1e6", "1e12", "1e40", "1e300"])
def test_a_region_that_is_far_too_large_is_done_quickly(radius: str, arrays: Path) -> None:
    start = time.perf_counter()
    report = check(replaced(cases.WIDE, ("radius: 2", f"radius: {radius}")), arrays)
    assert report.verdict is Verdict.REJECTED
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("only", ["region.cell[0]", "region.cell[*]", "at_least"])
def test_some_of_the_cells_never_verify(only: str, arrays: Path) -> None:
    def part(text: str) -> Report:
        return check_certificate(loads(text, arrays / "case.yaml"), CheckOptions(only=only, detail=True))

    report = part(text_of(cases.BALL))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.counts["proved"] == len(report.obligations) >= 1
    # Of a part of the cells nothing is said about the region.
    assert (report.findings != ()) is (only == "region.cell[*]")


def test_the_largest_witness_is_read_in_a_moment(arrays: Path) -> None:
    words = " ".join(["0"] * 4095 + ["."] * 4096)
    start = time.perf_counter()
    problem = CLAIM.read(loads(replaced(cases.SIGNS, ("cells: 0 . 0 . .", f"cells: {words}")), arrays / "case.yaml"))
    assert len([o.name for o in CLAIM.obligations(problem)]) == 4097
    assert time.perf_counter() - start < 5
