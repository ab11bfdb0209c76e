"""Checking `joint-max-margin`: what is said, and bounds against minimisers in doubles."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from corpus import ACCEPT, REFUTED, REJECTED, Cases, Family, check
from flint import arb, fmpq
from mpmath import mp, mpf

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.theorems.selection import joint_max_margin, stated_tokens
from certattn.kernel.theorems.selection.joint_max_margin import JointSolution, read
from certattn.kernel.theorems.selection.mathematics import joint_path, near_comparators
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.provers.rounding import as_float
from certattn.provers.selection.joint_multipliers import floats

cases = Cases("joint_cases")

Tool = Callable[[str], ModuleType]


def first(family: Family) -> str:
    return next(family.cases()).text


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = check(first(cases.TIGHT), arrays).statement
    for piece in (
        "tokens x ((0, 0), (1, 1)), ((0, 0), (1, -1)), ((0, 0), (0.5, 1))", "W = I", "labels Y (1, -1, 1)",
        "chosen tokens 1, 1, 1, counted from 0", "v_mm = (0, 1)", "support inputs are 0, 1, 2 (all of them)",
        "p_mm = (4/3, 1/3)", "1/|v_mm| is 1;", "above 1/|v_mm| - 0.17 *", "the logistic loss",
        "over |v| <= 40 and |p| <= 40, cos(v, v_mm) >= 0.999, cos(p, p_mm) >= 0.95",
        "softmax weight of the chosen token of every support input >= 0.9999",
    ):  # fmt: skip
        assert piece in said, said
    assert "and >= 0 for the others" in check(first(cases.RELAXED), arrays).statement
    assert "and >= 0 for the others" not in said


def test_the_choice_at_which_the_label_margin_drops_least_is_named(arrays: Path) -> None:
    assert any("token 2 of input 0" in line for line in check(first(cases.LENGTHS), arrays).findings)


@pytest.mark.parametrize(
    ("spoilt", "false"),
    [
        (("multiplier: 0.2}", "multiplier: 0.3}"), ("v: [0, 1]", "v: [1, 1]")),
        (("multiplier: 0.2}", "multiplier: 0.3}"), ("at_least: 1, at_most: 1}", "at_least: 2}")),
        (("multiplier: 0.2}", "multiplier: 0.3}"), ("support: [0, 1, 2]", "support: [0, 2]")),
        (("multiplier: 7/9}", "multiplier: 5/9}"), ("p: [4/3, 1/3]", "p: [4/3, 1]")),
    ],
    ids=["v", "label margin", "support", "p"],
)
def test_wrong_multipliers_refute_nothing(spoilt: tuple[str, str], false: tuple[str, str], arrays: Path) -> None:
    """Even where the statement is false as well."""
    assert check(first(cases.TIGHT).replace(*false), arrays).verdict in (REFUTED, REJECTED)
    assert check(first(cases.TIGHT).replace(*false).replace(*spoilt), arrays).verdict is REJECTED


def test_a_tight_input_without_multipliers_has_no_condition(arrays: Path) -> None:
    """(3, 1) is tight at v = (0, 1) = ((1, 1) + (-1, 1)) / 2, and has none in this witness."""
    text = first(cases.LENGTHS).replace("[1, 3]]", "[3, 1]]").replace("support: [0, 1]", "support: [0, 1, 2]")
    report = check(text, arrays)
    assert report.verdict is REJECTED
    assert "a support input" in report.reason
    assert check(text.replace("  drop: 0.2094\n", ""), arrays).verdict is ACCEPT


def test_an_input_whose_multiplier_is_0_is_no_support_input(arrays: Path) -> None:
    head = read(loads(first(cases.TIGHT), arrays / "case.yaml")).head
    assert head.support == (0, 1, 2)
    none = MaxMargin(head.solution.rows, {**head.solution.multipliers, 1: fmpq(0)}, head.solution.levels)
    assert joint_path.LabelMargin(head.rows, head.selection, none).support == (0, 2)


def test_the_largest_score_of_all_other_tokens_counts(arrays: Path) -> None:
    text = first(cases.TIGHT).replace("[[[0, 0], [1, 1]],", "[[[0, 0], [1, 1], [5, 5], [2, 2]],")
    problem = read(loads(text, arrays / "case.yaml"))
    with working_precision(64):
        path = joint_path.JointPath(problem.head, problem.attention, "logistic", (fmpq(40), fmpq(40)), (None, None))
        scores = [path._greatest_score(row) for row in (0, 2, 3)]
        assert (scores[1] > scores[2]) is (scores[2] > scores[0]) is True
        assert (path._other_scores(0) > scores[2]) is True


# -- mutants


def weaker(log_e0: Any, weights: Any) -> Any:
    return (log_e0 - joint_path.entropy(weights)) / 2


SABOTAGES = [
    ("sine", lambda cosine: 0 * cosine),
    ("deficit", weaker),
    ("tilt", lambda share, weights, log_e0: arb(0)),
    ("first_alignment", lambda gamma, lost, moved: 1 - lost / gamma / 2),
    ("least_product", lambda cosine, along, across: along),
    ("raised", lambda gap: gap / 2),
    ("exponential_sum", lambda loss, margins: sum(((-y).exp() for y in margins), arb(0)) / 2),
    ("log_odds", lambda share: (share / (1 - share)).log() + 20),
    ("least_share", lambda required, others, chosen: (chosen - others + required) / chosen / 2),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "sabotaged"), SABOTAGES, ids=[name for name, _ in SABOTAGES])
def test_a_second_opinion_finds_what_a_sabotaged_kernel_shows(
    name: str, sabotaged: Any, tmp_path: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prover states all that the kernel's formulas give: with one of them wrong, that is not shown. Both without
    the distance from a comparator, which would show most of it."""
    truth = tool("truth.certificate")
    monkeypatch.setattr(joint_path.JointPath, "near", None)
    monkeypatch.setattr(tool("truth.joint_max_margin")._Proof, "_near", lambda self: None)
    found = []
    for wrong in (False, True):
        with monkeypatch.context() as patch:
            if wrong:
                patch.setattr(joint_path, name, sabotaged)
            shown = []
            for family, norms in ((cases.TIGHT, "40"), (cases.TIGHT, "4"), (cases.RELAXED, "40")):
                tree = loads(first(family), tmp_path / "c.yaml").plain
                try:
                    made = certattn.generate(
                        "joint-max-margin", tmp_path / "c.yaml", given=tree["given"], at=[(norms, norms)]
                    )
                except NotProvedError:
                    continue
                shown.append(truth.judge(made.plain, tmp_path).provable)
        found.append(all(shown) and len(shown) > 1)
    assert found == [True, False]


def test_the_sweep_notices_a_kernel_that_proves_no_conditions(
    arrays: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate = tool("mutation.mutate_certificates")
    monkeypatch.setattr(joint_max_margin, "optimal", lambda *what: list(stated_tokens.optimal(*what))[-1:])
    monkeypatch.setattr(joint_max_margin, "kkt_names", lambda prefix: stated_tokens.kkt_names(prefix)[-1:])
    tree = loads(first(cases.LENGTHS), arrays / "case.yaml").plain
    assert len(mutate.sweep(list(mutate.mutants(tree))[::2], arrays).errors) > 3


NEAR_SABOTAGES = [
    ("farthest", lambda curvature, residual, spare: residual / curvature / 4),
    ("excess", lambda loss, score, gap: (gap - score).exp() / 1000),
    ("gap_of_excess", lambda loss, score, more: (more * score.exp()).log1p() / 100),
    ("convexity", lambda unattended, least, largest: 10000 * least),
    ("least_cosine", lambda along, across, distance: arb(1)),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "sabotaged"), NEAR_SABOTAGES, ids=[name for name, _ in NEAR_SABOTAGES])
def test_a_second_opinion_finds_a_sabotaged_distance(
    name: str, sabotaged: Any, tmp_path: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = tool("truth.certificate")
    found = []
    for wrong in (False, True):
        with monkeypatch.context() as patch:
            if wrong:
                patch.setattr(joint_path if name == "least_cosine" else near_comparators, name, sabotaged)
            shown = []
            for family, norms in ((cases.TIGHT, "10"), (cases.RELAXED, "40"), (cases.TIGHT, "11")):
                tree = loads(first(family), tmp_path / "c.yaml").plain
                made = certattn.generate(
                    "joint-max-margin", tmp_path / "c.yaml", given=tree["given"], at=[(norms, norms)]
                )
                shown.append(truth.judge(made.plain, tmp_path).provable)
        found.append(all(shown))
    assert found == [True, False]


# -- how near to a comparator


def test_excesses_are_those_of_the_losses() -> None:
    with working_precision(400):
        for name in ("logistic", "exponential"):
            loss = LOSSES[name]
            for score, gap in ((arb(3), arb("0.5")), (arb(40), arb("1e-30")), (arb(-2), arb(7))):
                more = near_comparators.excess(name, score, gap)
                assert more.overlaps(loss.excess(score, gap)) is True
                assert near_comparators.gap_of_excess(name, score, more).overlaps(gap) is True
                assert near_comparators.slope(name, score).overlaps(loss.slope(score)) is True


def test_attention_to_others_costs_convexly_where_the_kernel_says_so() -> None:
    """Second differences of sum_t s_t g_t in doubles, at random weights; without the condition some are negative."""
    draw = np.random.default_rng(0)
    negative = 0
    for _ in range(2000):
        g, a, z = draw.uniform(0.2, 1, 3), draw.normal(size=3), draw.normal(size=3)
        cost = [float(np.exp(-z - h * a) @ g / (1 + np.exp(-z - h * a).sum())) for h in (-1e-3, 0, 1e-3)]
        unattended = float(np.exp(-z).sum() / (1 + np.exp(-z).sum()))
        mean = float(np.exp(-z) @ a / (1 + np.exp(-z).sum()))
        variance = float(np.exp(-z) @ a**2 / (1 + np.exp(-z).sum())) - mean**2
        second = (cost[0] - 2 * cost[1] + cost[2]) / 1e-6
        least = near_comparators.convexity(arb(unattended), arb(g.min()), arb(g.max()))
        assert second >= float(least.mid()) * variance - 1e-6
        negative += second < -1e-3
    assert negative > 100


Bounds = tuple[list[Any], list[Any]]


def distances(problem: JointSolution, plain: Any, truth: ModuleType, folder: Path) -> Iterator[Bounds]:
    """D, D' and the e_i of each pair of norms: of the kernel, and of the second opinion in mpmath."""
    asserts = plain["asserts"]
    known = truth._read_given(plain["given"], folder)
    v, p = (truth.read_vector(asserts[name], folder) for name in ("v", "p"))
    mu, lam, compared = truth._read_witness(plain["witness"], known, len(problem.path), folder)
    for k, stated in enumerate(problem.path):
        with working_precision(700), mp.workdps(200):
            path = joint_path.JointPath(problem.head, problem.attention, stated.loss, stated.norms, stated.compared)
            norms = tuple(truth._reals([Fraction(str(x)) for x in stated.norms]))
            near = truth._Proof(known, stated.loss, norms, (v, p), (mu, lam), compared.get(k, {}))._near()
            assert (path.near is None) is (near is None)
            if path.near is not None:
                mine = [path.near.distance, path.near.reach, *path.near.unattended]
                yield mine, [near.D, near.reach, *near.e]


def agree(mine: Any, theirs: Any) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return bool(abs(mpf(mine.mid().str(60, radius=False)) - theirs) <= mpf(10) ** -50 * abs(theirs))


@pytest.mark.heavy
def test_distances_are_those_of_the_second_opinion(tmp_path: Path, tool: Tool) -> None:
    truth = tool("truth.joint_max_margin")
    problems = []
    for family in (cases.NEAR, cases.RELAXED):
        problems.append(loads(first(family), tmp_path / "c.yaml").plain)
    # An input outside the support whose other token has the larger score.
    given = {**problems[1]["given"], "tokens": [*problems[1]["given"]["tokens"][:3], [["1", "4"], ["0", "6"]]]}
    for loss in ("logistic", "exponential"):
        assert made(given, tmp_path / "c.yaml", at=[("40", "40"), ("12", "20")], loss=loss) is not None
        problems.append(loads((tmp_path / "c.yaml").read_text(), tmp_path / "c.yaml").plain)
    for index, (given, loss) in enumerate(random_instances(10)):
        plain = made(given, tmp_path / "c.yaml")
        if plain is None or plain.drop is None:
            continue
        gamma, xi = (as_float(1 / s.norm_squared) ** 0.5 for s in (plain.head.solution, plain.attention))
        at = [(f"{r / gamma:.3g}", f"{R / xi:.3g}") for r, R in ((10 + index, 8), (40, 12), (12, 20))]
        if made(given, tmp_path / "c.yaml", at=at[:2], loss=loss) is not None:
            problems.append(loads((tmp_path / "c.yaml").read_text(), tmp_path / "c.yaml").plain)
    compared, reached, some_not_good = 0, 0, 0
    for plain in problems:
        problem = read(loads(yaml.safe_dump(plain), tmp_path / "c.yaml"))
        for mine, theirs in distances(problem, plain, truth, tmp_path):
            assert all(agree(a, b) for a, b in zip(mine, theirs, strict=True))
            compared, reached = compared + 1, reached + (mine[1] is not None)
            some_not_good += any((x == 1) is True for x in mine[2:])
    assert compared >= 10
    assert reached >= 8
    assert some_not_good >= 1


def test_bounds_are_within_a_tenth_of_the_minimiser(tmp_path: Path, tool: Tool) -> None:
    """At the norm 40: what is certified of 1 - cos is what a minimiser in doubles has, almost."""
    numeric = tool("truth.joint_minimiser")
    tree = loads(first(cases.TIGHT), tmp_path / "c.yaml").plain
    problem = made(tree["given"], tmp_path / "c.yaml", at=[("16", "16")])
    assert problem is not None
    inputs = [np.array([[float(fmpq(*map(int, f"{x}/1".split("/")[:2]))) for x in row] for row in X])
              for X in tree["given"]["tokens"]]  # fmt: skip
    instance = numeric.Instance(inputs, np.array([1.0, -1.0, 1.0]), np.eye(2), "logistic")
    v_mm, p_mm = floats(problem.v)[0], floats(problem.p)[0]
    v, p = numeric.minimiser(instance, 16, 16, [(16 * v_mm, 16 * p_mm / np.linalg.norm(p_mm))], seed=0, starts=2)
    for name, point, way in (("head_cosine", v, v_mm), ("attention_cosine", p, p_mm)):
        true = 1 - point @ way / np.linalg.norm(point) / np.linalg.norm(way)
        assert 0.9 < (1 - as_float(problem.path[0].bounds[name])) / true < 10


# -- the label-margin condition


def drawn(seed: int, inputs: int, tokens: int, dimension: int) -> dict[str, Any]:
    """Inputs whose token 0 agrees with the label, the others small, as decimals."""
    draw = random.Random(seed)
    labels = [draw.choice([1, -1]) for _ in range(inputs)]
    way = [draw.gauss(0, 1) for _ in range(dimension)]
    found = []
    for label in labels:
        rows = [[draw.gauss(0, 0.4) for _ in way] for _ in range(tokens)]
        rows[0] = [2 * x + label * draw.uniform(1, 2) * w for x, w in zip(rows[0], way, strict=True)]
        found.append([[f"{x:.2f}" for x in row] for row in rows])
    return {"tokens": found, "labels": [str(y) for y in labels], "indices": ["0"] * inputs}


def made(given: Any, path: Path, **options: Any) -> JointSolution | None:
    """The problem of a certificate that verifies; None where a condition fails."""
    try:
        certificate = certattn.generate("joint-max-margin", path, given=given, **options)
    except NotProvedError:
        return None
    assert certattn.check(path).verdict is Verdict.VERIFIED
    return read(certificate)


def has_no_attention_that_beats_the_drop(
    given: dict[str, Any], problem: JointSolution, truth: ModuleType, seed: int
) -> bool:
    nu, gamma = as_float(problem.drop or fmpq(0)), 1 / math.sqrt(as_float(problem.head.solution.norm_squared))
    labels = [float(y) for y in given["labels"]]
    tokens = [y * np.array(X, dtype=float) for X, y in zip(given["tokens"], labels, strict=True)]
    draw = np.random.default_rng(seed)
    corners = [[np.eye(3)[t] for t in choice] for choice in itertools.product(range(3), repeat=3)]
    for weights in corners + [list(draw.dirichlet(np.full(3, 0.3), 3)) for _ in range(60)]:
        off = max(1 - weights[i][0] for i in problem.support)
        points = np.array([s @ X for s, X in zip(weights, tokens, strict=True)])
        if truth._largest_margin(points) > gamma - nu * off + 1e-7:
            return False
    return True


def test_no_attention_beats_the_certified_drop(tmp_path: Path, tool: Tool) -> None:
    truth = tool("truth.joint_max_margin")
    tried, false = 0, 0
    for seed in range(20):
        given = drawn(seed, 3, 3, 4)
        problem = made(given, tmp_path / "c.yaml")
        if problem is not None and problem.drop is not None:
            tried += 1
            assert has_no_attention_that_beats_the_drop(given, problem, truth, seed)
            larger = replace(problem, drop=10 * problem.drop)
            false += not has_no_attention_that_beats_the_drop(given, larger, truth, seed)
    assert tried >= 10
    # So large a drop is often false, which is found.
    assert false >= 3


def test_pairs_give_a_smaller_drop_than_choices(tmp_path: Path) -> None:
    smaller = 0
    for seed in range(30):
        problem = made(drawn(seed, 3, 3, 4), tmp_path / "c.yaml")
        if problem is None or problem.drop is None:
            continue
        with working_precision(100):
            by_choices, by_pairs = problem.head.drop(), problem.head.drop_by_pairs()
        assert (by_pairs <= by_choices) is True
        smaller += (by_pairs > 0) is True
    assert smaller >= 3


# -- minimisers in doubles


def random_instances(count: int) -> Iterator[tuple[dict[str, Any], str]]:
    for seed in range(count):
        given = drawn(100 + seed, 2 + seed % 3, 2 + seed % 2, 2 + seed % 3)
        if seed % 3 == 0:
            draw = random.Random(seed)
            size = len(given["tokens"][0][0])
            given["W"] = [[f"{draw.gauss(0, 1):.1f}" for _ in range(size)] for _ in range(size)]
        yield given, ("logistic", "exponential")[seed % 2]


@pytest.mark.heavy
def test_minimisers_keep_every_bound(tmp_path: Path, tool: Tool) -> None:
    """At norms where doubles can tell: the loss's dependence on p is about e^-R."""
    numeric = tool("truth.joint_minimiser")
    whole, partial = 0, 0
    for index, (given, loss) in enumerate(random_instances(45)):
        plain = made(given, tmp_path / "c.yaml")
        if plain is None or plain.drop is None:
            continue
        gamma, xi = (as_float(1 / s.norm_squared) ** 0.5 for s in (plain.head.solution, plain.attention))
        r, R = (10, 20, 60, 200)[index % 4] / gamma, (5, 8, 12)[index % 3] / xi
        problem = made(given, tmp_path / "c.yaml", at=[(f"{r:.3g}", f"{R:.3g}")], loss=loss)
        if problem is None:
            continue
        (stated,) = problem.path
        r, R = (as_float(norm) for norm in stated.norms)
        inputs = [np.array(X, dtype=float) for X in given["tokens"]]
        W = np.array(given.get("W", np.eye(inputs[0].shape[1])), dtype=float)
        instance = numeric.Instance(inputs, np.array(given["labels"], dtype=float), W, loss)
        v_mm, p_mm = floats(problem.v)[0], floats(problem.p)[0]
        start = (r * v_mm / np.linalg.norm(v_mm), R * p_mm / np.linalg.norm(p_mm))
        v, p = numeric.minimiser(instance, r, R, [start], seed=index, starts=3)
        values = {
            "head_cosine": v @ v_mm / np.linalg.norm(v) / np.linalg.norm(v_mm),
            "attention_cosine": p @ p_mm / np.linalg.norm(p) / np.linalg.norm(p_mm),
            "mass": min(numeric.softmax(instance, p)[i][0] for i in problem.support),
        }
        for name, bound in stated.bounds.items():
            assert values[name] >= as_float(bound) - 1e-6, (index, name)
        every = len(problem.support) == len(inputs)
        whole, partial = whole + every, partial + (not every)
    assert whole >= 4
    assert partial >= 4


def test_bounds_tend_to_one_along_the_diagonal(tmp_path: Path) -> None:
    """1 - cos(p, p_mm) like 1/R^2, and 1 - cos(v, v_mm) like 1/r^2, as the comparator is the best one."""
    tree = loads(first(cases.TIGHT), tmp_path / "c.yaml").plain
    at = [(str(size), str(size)) for size in (40, 80, 160)]
    problem = made(tree["given"], tmp_path / "c.yaml", at=at)
    assert problem is not None
    heads = [1 - as_float(stated.bounds["head_cosine"]) for stated in problem.path]
    attentions = [1 - as_float(stated.bounds["attention_cosine"]) for stated in problem.path]
    for short, long in itertools.chain(itertools.pairwise(heads), itertools.pairwise(attentions)):
        assert 3.5 < short / long < 4.5
