"""Generating `max-margin`: every form, from mappings and arrays, and beside other solvers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from scipy.optimize import linprog, minimize

import certattn
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.errors import MalformedError, UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.max_margin import GIVEN
from certattn.provers.selection import quadratic_program
from certattn.provers.selection.max_margin import MATRICES, VECTORS

Tool = Callable[[str], ModuleType]
THREE: dict[str, Any] = {"keys": [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], ["1/2", 1]]], "indices": [1, 1, 1]}


def make(folder: Path, **inputs: Any) -> dict[str, Any]:
    """What is asserted, once it is verified."""
    out = folder / "margin.yaml"
    made = certattn.generate("max-margin", out, **inputs)
    report = certattn.check(out)
    assert report.verdict is certattn.Verdict.VERIFIED, report.reason
    asserts: Any = made.plain["asserts"]
    return dict(asserts)


def drawn(seed: int, inputs: int, tokens: int, dimension: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    keys = rng.standard_normal((inputs, tokens, dimension))
    keys[:, 0] += 2
    return {"keys": keys.reshape(-1, dimension), "lengths": [tokens] * inputs, "indices": [0] * inputs}


def test_the_solution_is_stated_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    asserts = make(tmp_path, given=THREE)
    neighbours = [{"input": "1", "token": "0"}, {"input": "2", "token": "0"}]
    assert asserts == {
        "solution": ["4/3", "1/3"],
        "neighbours": neighbours,
        "support": neighbours,
        "gap": "0.666",
        "margin": {"at_least": "0.727606875108998", "at_most": "0.727606875108999"},
    }


def test_one_query_gives_the_matrix_of_rank_one(tmp_path: Path) -> None:
    """W = p q'/|q|^2 with p = (4/3, 1/3) and q = (1, 2)."""
    asserts = make(tmp_path, given={**THREE, "queries": [[1, 2]]})
    assert asserts["solution"] == [["4/15", "8/15"], ["1/15", "2/15"]]


def test_a_query_of_zeros_is_a_contradiction(tmp_path: Path) -> None:
    assert make(tmp_path, given={**THREE, "queries": [[0, 0]]}) == {"constraints": "contradictory"}


def test_relaxed_inputs_and_labelled_points(tmp_path: Path) -> None:
    assert make(tmp_path, given={**THREE, "relaxed": [2]})["solution"] == ["1", "0"]
    asserts = make(tmp_path, given={"points": [[1, 1], [1, -1], ["1/2", 1]], "labels": [1, -1, 1]})
    assert asserts["solution"] == ["0", "1"]
    assert asserts["neighbours"] == [{"point": "0"}, {"point": "1"}, {"point": "2"}]


def test_duplicates_of_the_chosen_token_are_a_contradiction(tmp_path: Path) -> None:
    asserts = make(tmp_path, given={"keys": [[[1, 1], [1, 1], [0, 0]]], "indices": [0]})
    assert asserts == {"constraints": "contradictory"}


@pytest.mark.parametrize("digits", [6, 30, 80])
def test_a_direction_with_its_distance(tmp_path: Path, digits: int) -> None:
    asserts = make(tmp_path, given=THREE, form="direction", digits=digits)
    direction = [Fraction(entry) for entry in asserts["direction"]]
    margin = min(a + b for a, b in [(direction[0], direction[1]), (direction[0], -direction[1])])
    margin = min(margin, direction[0] / 2 + direction[1])
    off = sum((x / margin - y) ** 2 for x, y in zip(direction, (Fraction(4, 3), Fraction(1, 3)), strict=True))
    assert off <= Fraction(asserts["within"]) ** 2 < Fraction(100, 10**digits)
    assert asserts["neighbours_among"] == [{"input": "1", "token": "0"}, {"input": "2", "token": "0"}]


def test_too_few_digits_for_a_direction(tmp_path: Path) -> None:
    """p = (1, 1999999): to two digits of the larger entry the smaller one is 0."""
    given = {"keys": [[[0, 0], [-1, 0], ["999999/1000000", "-1/1000000"]]], "indices": [0]}
    with pytest.raises(UsageError, match="no direction of 2 digits"):
        make(tmp_path, given=given, form="direction", digits=2)
    assert make(tmp_path, given=given, form="direction", digits=20)["within"] == "0"


def test_a_direction_keeps_within_relaxed_constraints(tmp_path: Path) -> None:
    """p = (1/3, 7/3) / (1/3 + 0.7) is at 0 of the relaxed constraint, and rounded it would be on the wrong side."""
    given = {"keys": [[[1, "0.3"], [0, 0]], [[-7, 1], [0, 0]]], "indices": [0, 0], "relaxed": [1]}
    asserts = make(tmp_path, given=given, form="direction", digits=20)
    assert 0 < Fraction(asserts["within"]) < Fraction(1, 10**8)
    x, y = (Fraction(entry) for entry in asserts["direction"])
    assert 0 <= y - 7 * x < Fraction(1, 10**15)


def test_an_equality_leaves_no_room_for_a_direction(tmp_path: Path) -> None:
    """<z, p> >= 0 and <-z, p> >= 0 for z = (-7, 1)."""
    given = {"keys": [[[1, "0.3"], [0, 0]], [[-7, 1], [0, 0], [-14, 2]]], "indices": [0, 0], "relaxed": [1]}
    with pytest.raises(UsageError, match="or --form exact"):
        make(tmp_path, given=given, form="direction", digits=20)
    assert make(tmp_path, given=given)["solution"] == ["10/31", "70/31"]


@pytest.mark.heavy
def test_many_active_constraints_are_stated_as_a_direction(tmp_path: Path, tool: Tool) -> None:
    keys = tool("bench.selection").separable(200, 6, 40, np.random.default_rng(1)).reshape(-1, 40)
    inputs = {"keys": keys, "lengths": [6] * 200, "indices": [0] * 200}
    asserts = make(tmp_path, **inputs)
    assert "direction" in asserts
    assert len(asserts["neighbours_among"]) > 32
    assert Fraction(asserts["within"]) < Fraction(1, 10**10)
    assert "solution" in make(tmp_path, **inputs, form="exact")


def test_where_doubles_do_not_tell_constraints_apart_the_radius_is_that_of_doubles(tmp_path: Path) -> None:
    """300 constraints that are tight up to rounding, in dimension 40."""
    rng = np.random.default_rng(3)
    axis = np.full(40, 40**-0.5)
    others = rng.standard_normal((300, 40))
    keys = np.zeros((300, 2, 40))
    keys[:, 1] = -(others + np.outer(0.25 - others @ axis, axis))
    asserts = make(tmp_path, keys=keys.reshape(-1, 40), lengths=[2] * 300, indices=[0] * 300)
    assert 0 < float(Fraction(asserts["within"])) < 1e-3


def test_arrays_from_a_file_with_other_names(tmp_path: Path) -> None:
    inputs = drawn(4, 3, 4, 3)
    vectors = {name: np.array(inputs[name]) for name in ("lengths", "indices")}
    np.savez(tmp_path / "head.npz", k=inputs["keys"], **vectors)
    asserts = make(tmp_path, source=tmp_path / "head.npz", names={"keys": "k"})
    assert asserts == make(tmp_path, **inputs)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"given": THREE, "form": "both"}, "form is 'both'"),
        ({"given": THREE, "digits": 1}, "digits is 1"),
        ({"given": THREE, "keys": [[1]]}, "leave out arrays"),
        ({}, "no array is there"),
        ({"values": [[1]]}, "unknown arrays values"),
        ({"keys": np.eye(2), "indices": [0.5]}, "expected a vector of integers"),
        ({"keys": np.eye(2), "indices": [[0]]}, "expected a vector of integers"),
        ({"given": {"keys": [[[0.6, 1]]], "indices": [0]}}, "the float 0.6"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(tmp_path, **inputs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({**THREE, "indices": [1, 1, 2]}, "one of the 2 tokens of input 2"),
        ({**THREE, "indices": [1, 1, -1]}, "an integer >= 0"),
        ({"keys": [[[1, 0]]], "indices": [0]}, "more than one token"),
        ({**THREE, "relaxed": [0, 1, 2]}, "p = 0 solves this problem"),
    ],
)
def test_bad_problems_are_malformed(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        make(tmp_path, given=given)


def test_the_exact_solution_is_between_that_of_solvers_and_its_conditions_are_met(tool: Tool) -> None:
    """With scipy's NNLS for the dual problem, which is no active-set method of ours."""
    from scipy.optimize import nnls

    bench = tool("bench.selection")
    for index in range(40):
        rows = bench.instance(index)
        solved = bench.exactly(rows)
        assert bench.gap(solved) == 0
        # min |(Z'u, r'u) - (0, 1)| over u >= 0: Lawson and Hanson's problem of least distance.
        system = np.vstack([rows.T, np.ones(len(rows))])
        target = np.append(np.zeros(rows.shape[1]), 1)
        residual = system @ nnls(system, target)[0] - target
        found = -residual[:-1] / residual[-1]
        exact = np.array([float(x.p) / float(x.q) for x in solved.solution.row(0)])
        assert np.linalg.norm(found - exact) <= 1e-6 * np.linalg.norm(exact) + 1e-9


def test_the_multipliers_of_doubles_and_of_balls_are_those_of_rationals() -> None:
    inputs = drawn(5, 20, 5, 6)
    keys = inputs["keys"].reshape(20, 5, 6)
    table = [[fmpq(*float(x).as_integer_ratio()) for x in row] for k in keys for row in k[0] - k[1:]]
    rows = ExactMatrix.rational(table)
    exact = quadratic_program.max_margin_multipliers(rows)
    near, is_exact = quadratic_program.near_multipliers(rows, digits=40, most_active=0)
    assert not is_exact
    assert near.keys() == exact.keys()
    assert all(abs(near[j] - exact[j]) < exact[j] * fmpq(1, 10**40) for j in exact)
    doubles = quadratic_program.guessed_multipliers(rows, [fmpq(1)] * rows.rows)
    assert doubles is not None
    assert all(abs(doubles[j] - exact[j]) < exact[j] * fmpq(1, 10**6) for j in exact)
    assert MaxMargin(rows, exact, (fmpq(1),) * rows.rows).complementarity == 0


def test_the_bench_prints_its_tables(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tool("bench.selection")
    bench.SOLVERS = {"ones": lambda rows: np.ones(rows.shape[1])}
    bench.max_margin_table(5)
    bench.max_margin_times(((3, 3, 2, "exact"),))
    head, _, row, _, times = capsys.readouterr().out.splitlines()
    assert head == "5 random instances; the exact conditions are missed by at most 0"
    assert row.startswith("ones")
    assert times.split()[:3] == ["6", "2", "exact"]


def test_the_names_of_the_claim_s_fields_are_those_of_the_prover() -> None:
    described: set[str] = set()
    waiting: list[Any] = [GIVEN]
    while waiting:
        for form in waiting.pop().forms.values():
            if hasattr(form, "forms"):
                waiting.append(form)
            else:
                described |= set(form.fields)
    assert described == {*MATRICES, *VECTORS, "norm"}
    assert CLAIMS["max-margin"].given is GIVEN


def test_random_problems_have_the_solution_that_trying_all_sets_of_constraints_finds(
    tmp_path: Path, tool: Tool
) -> None:
    """Small integers, so that constraints are often redundant, equal, tight without multipliers, or contradictory."""
    truth = tool("truth.margin")
    rng = np.random.default_rng(11)
    found = {"solution": 0, "constraints": 0}
    for _ in range(60):
        inputs, tokens, dimension = rng.integers(1, 4), rng.integers(2, 4), rng.integers(1, 4)
        keys = rng.integers(-2, 3, (inputs, tokens, dimension))
        given: dict[str, Any] = {"keys": keys.tolist(), "indices": [0] * int(inputs)}
        if inputs > 1 and rng.integers(2):
            given["relaxed"] = [1]
        if rng.integers(3) == 0:
            given["queries"] = rng.integers(-1, 2, (1 if rng.integers(2) else inputs, 2)).tolist()
        made = certattn.generate("max-margin", tmp_path / "margin.yaml", given=given)
        assert certattn.check(tmp_path / "margin.yaml").verdict is certattn.Verdict.VERIFIED
        asserts: Any = made.plain["asserts"]
        expected = truth._solution(truth._problem(made.plain["given"], tmp_path))
        form = "constraints" if expected is None else "solution"
        found[form] += 1
        assert form in asserts
        if expected is not None:
            stated = asserts["solution"]
            flat = [entry for row in stated for entry in row] if "queries" in given else stated
            assert tuple(map(Fraction, flat)) == expected
    assert min(found.values()) >= 5


# -- the nuclear norm


def nuclear(seed: int, inputs: int, tokens: int, dimension: int) -> dict[str, Any]:
    """Inputs of self-attention, whose first token is the query, and a token of each that is chosen at random."""
    rng = np.random.default_rng(seed)
    keys = rng.standard_normal((inputs, tokens, dimension))
    chosen = rng.integers(tokens, size=inputs)
    return {"keys": keys, "queries": keys[:, 0].copy(), "indices": chosen, "norm": "nuclear"}


def test_the_least_nuclear_norm_is_found_up_to_a_small_gap(tmp_path: Path) -> None:
    asserts = make(tmp_path, **nuclear(0, 20, 10, 16))
    assert set(asserts) == {"direction", "excess", "margin"}
    assert Fraction(asserts["excess"]) < Fraction(1, 10**7)
    low, high = (Fraction(asserts["margin"][end]) for end in ("at_least", "at_most"))
    assert 0 < low <= high < low * (1 + Fraction(1, 10**7))


@pytest.mark.parametrize(
    ("given", "margin"),
    [
        ({"keys": [[[3, 4], [0, 0]]], "queries": [[0, 2]], "indices": [0]}, 10),
        # Constraints e_1'W e_1 >= 1 and 4 e_2'W e_2 >= 1: the norms add up.
        ({"keys": [[[1, 0], [0, 0]], [[0, 4], [0, 0]]], "queries": [[1, 0], [0, 1]], "indices": [0, 0]},
         Fraction(4, 5)),
        # Of one query, p q'/|q|^2: the margin of the three inputs times |q|.
        ({**THREE, "queries": [[0, 3]]}, 3 * Fraction(0.7276068751089989)),
        # W is a vector, and the relaxed constraint holds with equality.
        ({"keys": [[[1, 0], [0, 0]], [["-4/3", 1], [0, 0]]], "queries": [[1]], "indices": [0, 0], "relaxed": [1]},
         Fraction(3, 5)),
    ],
)  # fmt: skip
def test_the_nuclear_margin_is_that_of_closed_forms(given: dict[str, Any], margin: Fraction, tmp_path: Path) -> None:
    asserts = make(tmp_path, given={**given, "norm": "nuclear"})
    low, high = (Fraction(asserts["margin"][end]) for end in ("at_least", "at_most"))
    assert low <= margin * (1 + Fraction(1, 10**12))
    assert high >= margin * (1 - Fraction(1, 10**12))
    assert high < low * (1 + Fraction(1, 10**6))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, 2])
def test_the_nuclear_margin_is_what_another_solver_finds(seed: int, tmp_path: Path, tool: Tool) -> None:
    """The least (|K|^2 + |Q|^2)/2, by sequential quadratic programs."""
    given = nuclear(seed, 3, 4, 3)
    asserts = make(tmp_path, **given)
    rows = [
        [Fraction(float(x * y)) for x in given["keys"][i, a] - given["keys"][i, t] for y in given["queries"][i]]
        for i, a in enumerate(given["indices"]) for t in range(4) if t != a
    ]  # fmt: skip
    least = tool("truth.norm_margin").least_norm(tuple(map(tuple, rows)), (Fraction(1),) * len(rows), (3, 3))
    assert abs(float(Fraction(asserts["margin"]["at_least"])) * least - 1) < 1e-6


def test_a_direction_is_stated_with_its_excess(tmp_path: Path) -> None:
    """diag(1, 3/10) has the norm 13/10, and the least is 5/4."""
    given = {"keys": [[[1, 0], [0, 0]], [[0, 4], [0, 0]]], "queries": [[1, 0], [0, 1]], "indices": [0, 0]}
    asserts = make(tmp_path, given={**given, "norm": "nuclear"}, direction=[[1, 0], [0, "3/10"]])
    assert [[*map(Fraction, row)] for row in asserts["direction"]] == [[1, 0], [0, Fraction("0.3")]]
    assert Fraction("0.04") <= Fraction(asserts["excess"]) <= Fraction("0.0401")
    with pytest.raises(certattn.NotProvedError, match="at no length: for token 1 of input 1"):
        make(tmp_path, given=given, norm="nuclear", direction=[[1, 0], [0, -1]])
    with pytest.raises(UsageError, match="leave out --form exact"):
        make(tmp_path, given=given, norm="nuclear", form="exact")


def test_contradictions_do_not_depend_on_the_norm(tmp_path: Path) -> None:
    given = {"keys": [[[1, 0], [0, 0], [2, 0]]], "queries": [[1, 0]], "indices": [0], "norm": "nuclear"}
    assert make(tmp_path, given=given) == {"constraints": "contradictory"}
    with pytest.raises(certattn.NotProvedError, match="no direction to compare with"):
        make(tmp_path, given=given, direction=[[1, 0], [0, 0]])


def test_a_norm_needs_queries(tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match="queries beside it"):
        make(tmp_path, given=THREE, norm="nuclear")


# -- norms of powers


def ahead(seed: int) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Inputs whose first tokens are ahead along one direction, and the rows of their constraints."""
    keys = np.random.default_rng(seed).standard_normal((6, 4, 6))
    keys[:, 0] += 1.5
    return {"keys": keys, "indices": np.zeros(6, dtype=int)}, (keys[:, :1] - keys[:, 1:]).reshape(-1, 6)


def by_linear_programming(rows: np.ndarray[Any, Any], norm: str) -> float:
    """The least norm, by scipy."""
    count, d = rows.shape
    if norm == "1":
        return float(linprog(np.ones(2 * d), A_ub=-np.hstack([rows, -rows]), b_ub=-np.ones(count)).fun)
    unit, ones = np.eye(d), np.ones((d, 1))
    below = np.vstack([np.hstack([-rows, np.zeros((count, 1))]), np.hstack([unit, -ones]), np.hstack([-unit, -ones])])
    sides = np.concatenate([-np.ones(count), np.zeros(2 * d)])
    return float(linprog(np.eye(d + 1)[d], A_ub=below, b_ub=sides, bounds=[(None, None)] * d + [(0, None)]).fun)


@pytest.mark.parametrize("norm", ["1", "infinity"])
@pytest.mark.parametrize("seed", [1, 2])
def test_vertices_are_exact_and_those_of_linear_programs(seed: int, norm: str, tmp_path: Path) -> None:
    given, rows = ahead(seed)
    asserts = make(tmp_path, **given, norm=norm)
    assert asserts["excess"] == "0"
    low, high = (Fraction(asserts["margin"][end]) for end in ("at_least", "at_most"))
    assert high - low <= low / 10**14
    assert abs(float(low) * by_linear_programming(rows, norm) - 1) < 1e-9


@pytest.mark.parametrize("norm", ["1.1", "3/2", "2", "3"])
def test_powers_are_found_to_many_digits_where_another_solver_finds_them(norm: str, tmp_path: Path) -> None:
    given, rows = ahead(3)
    asserts = make(tmp_path, **given, norm=norm)
    assert Fraction(asserts["excess"]) < Fraction(1, 10**27)
    power = float(Fraction(norm))
    point = np.array([float(Fraction(x)) for x in asserts["direction"]])
    found = minimize(
        lambda p: (np.abs(p) ** power).sum(),
        1.2 * point + 0.01,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda p: rows @ p - 1, "jac": lambda p: rows},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    least = float((np.abs(found.x) ** power).sum() ** (1 / power))
    assert abs(float(Fraction(asserts["margin"]["at_least"])) * least - 1) < 1e-5
    # The other solver's point is feasible or nearly, and no farther than its norm says and a little more.
    away = np.abs(found.x - point / (rows @ point).min())
    assert float((away**power).sum() ** (1 / power)) < 0.05 * least


def test_the_norm_of_squares_is_the_euclidean_one(tmp_path: Path) -> None:
    asserts = make(tmp_path, given=THREE, norm=2)
    assert asserts["margin"] == make(tmp_path, given=THREE)["margin"]
    assert Fraction(asserts["within"]) < Fraction(1, 10**13)


@pytest.mark.parametrize("norm", ["1", "infinity", "3/2", "3"])
def test_what_is_special_is_found_in_every_norm(norm: str, tmp_path: Path) -> None:
    """Relaxed constraints that are tight, constraints that stand twice, entries 0, and a matrix."""
    relaxed = {"keys": [[[1, 0], [0, 0]], [["-4/3", 1], [0, 0]]], "indices": [0, 0], "relaxed": [1]}
    for given in (
        relaxed,
        {"keys": [[[1, 1], [0, 0]], [[1, 1], [0, 0]]], "indices": [0, 0]},
        {"points": [[1, 0], [2, 1], [-1, 1]], "labels": [1, 1, -1]},
        {"keys": [[[1, 0], [0, 0]], [[0, 4], [0, 0]]], "queries": [[1, 0], [0, 1]], "indices": [0, 0]},
    ):
        asserts = make(tmp_path, given=given, norm=norm)
        assert Fraction(asserts["excess"]) < Fraction(1, 10**5)
    assert make(tmp_path, given={"keys": [[[1, 0], [0, 0], [2, 0]]], "indices": [0]}, norm=norm) == {
        "constraints": "contradictory"
    }
    asserts = make(tmp_path, given=THREE, norm=norm, direction=[4, 1])
    assert asserts["direction"] == ["4", "1"]
    with pytest.raises(certattn.NotProvedError, match="at no length"):
        make(tmp_path, given=THREE, norm=norm, direction=[-4, 1])


@pytest.mark.parametrize("norm", ["0.5", "one", "nuclear"])
def test_what_is_no_norm_is_refused(norm: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedError):
        make(tmp_path, given=THREE, norm=norm)
