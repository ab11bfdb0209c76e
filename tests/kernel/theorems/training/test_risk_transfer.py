"""Checking `risk-transfer`: what is said, and a sabotaged kernel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from corpus import REFUTED, REJECTED, Cases, Family, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import weight_fits
from certattn.kernel.mathematics.weight_fits import WeightTable
from certattn.kernel.theorems.training import finite_gap, length_tube, prompt_polygon, risk_transfer
from certattn.kernel.theorems.training.context_losses import ContextLoss, Curvatures
from certattn.kernel.theorems.training.finite_gap import Jet, Rest
from certattn.kernel.theorems.training.length_tube import Flow
from certattn.kernel.theorems.training.prompt_polygon import Distance
from certattn.kernel.theorems.training.risk_transfer import Ranges, StatedTransfer

cases = Cases("transfer_cases")


@pytest.fixture(autouse=True)
def one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments are computed once for all cases with the same nodes and lengths."""
    monkeypatch.setattr(risk_transfer, "WeightTable", _table)


@cache
def _table(spacing: fmpq, reach: int, lengths: tuple[int, int]) -> WeightTable:
    return WeightTable(spacing, reach, lengths)


def first(family: Family) -> str:
    return next(family.cases()).text


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = check(first(cases.PLANE), arrays).statement
    for piece in (
        "prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>", "w ~ N(0, I)", "half the mean square error",
        "b sum_i p_i <w, x_i> of <w, x>, p the softmax of <x_i, A x>", "Sigma = ((1, 0.25), (0.25, 0.75))",
        "from A = ((0.5, 0), (0, 0.5)) and b = 0.5", "for every L >= 3000",
        "R_L <= 0.4202 at all times t >= 0.15, and so in the limit", "over infinite prompts the risk tends to 0",
        "up to t = 0.15 the two runs (A, b) are within 0.0053 of each other (Euclidean distance)",
    ):  # fmt: skip
        assert piece in said, said


def test_a_statement_without_a_tube_says_nothing_of_one(arrays: Path) -> None:
    said = check(first(cases.PLANE).replace(", tube: 0.0053", ""), arrays).statement
    assert said.endswith("while over infinite prompts the risk tends to 0.")
    assert "Euclidean" not in said


def test_a_range_that_is_lost_is_named(arrays: Path) -> None:
    """Of the flow, as far as it is followed."""
    text = first(cases.LINE)
    for old, new, said in (
        (
            "[0.4375, 0.002772, 0.002809]",
            "[0.4375, 20, 0.002809]",
            "for L >= 1000, of the time that is needed: 0 >= 0.4",
        ),
        ("[0.4375, 0, 0.0113]", "[0.4375, 20, 0.0113]", "for 100 <= L <= 1000, of the time that is needed: 0 >= 0.4"),
    ):
        assert said in check(text.replace(old, new), arrays).reason


@pytest.mark.parametrize(("length", "later"), [(100, 1000), (1000, 1001)])
def test_a_range_begins_where_the_one_before_ends_or_after_a_single_length(length: int, later: int) -> None:
    text = first(cases.LINE).replace("length: 100\n", f"length: {length}\n")
    stated = risk_transfer.read(loads(text, Path()))
    assert stated.lengths is not None
    found = [(each.fit.first, each.fit.last) for each in stated.lengths.ranges]
    assert found == [(length, 1000), (later, None)]


def test_the_statement_about_given_prompts_says_every_number(arrays: Path) -> None:
    said = check(first(cases.PROMPTS), arrays).statement
    for piece in (
        "2 prompts of 3 tokens", "tokens: ((1), (-0.5), (2), (0.25), (-1), (1.5))", "queries: ((1), (-0.5))",
        "labels: ((1), (-0.5), (2), (-0.5), (2), (-3))", "targets: ((1), (1))", "from A = (0.5) and b = 1.5 exists",
        "R_L <= 0.221 at all times t >= 1, and so in the limit", "N(0, Sigma), Sigma = (1), the risk of the flow",
    ):  # fmt: skip
        assert piece in said, said


# -- a kernel with a part that is wrong


def _flat(self: Jet, *variables: int) -> arb:
    return arb(0) if len(variables) == 3 else ALONG(self, *variables)


def _nothing(of: object, fit: object, a: list[arb], b: arb) -> Rest:
    return Rest(arb(0), [arb(0)] * (len(a) + 1))


def _level(of: object, fit: object, a: list[arb], b: arb) -> Rest:
    return Rest(REST(of, fit, a, b).value, [arb(0)] * (len(a) + 1))


def _free(of: object, fit: object, a: list[arb], b: arb) -> Rest:
    return Rest(arb(0), REST(of, fit, a, b).gradient)


def _room(of: Ranges, index: int) -> arb:
    return ROOM(of.ranges[index].fit, of.table)


ALONG, REST, LARGEST, ROOM = Jet.along, finite_gap.rest, risk_transfer._largest_risk, weight_fits.room

SABOTAGE: dict[str, Sabotage] = {
    "fits leave nothing out": (length_tube, "rest", _nothing),
    "fits leave nothing of the gradient out": (length_tube, "rest", _level),
    "fits leave nothing of the risk out": (length_tube, "rest", _free),
    "any fit is near enough": (risk_transfer, "room", lambda fit, table: arb(1)),
    "moments do not bend": (weight_fits, "BENDS", ((fmpq(0), fmpq(0)), (fmpq(0), fmpq(0)))),
    "kappa does not count": (weight_fits, "SHARE", fmpq(0)),
    "the first range alone has to fit": (Ranges, "room", lambda self: _room(self, 0)),
    "the last range alone has to fit": (Ranges, "room", lambda self: _room(self, -1)),
    "third derivatives are 0": (Jet, "along", _flat),
    "moments do not change with A": (finite_gap, "_by_variance", lambda of, fit, a, b, i: arb(0)),
    "no deviations from a mean": (finite_gap, "_distances", lambda n, t: (arb(0), arb(0))),
    "weights are never large": (finite_gap._Tilted, "mean", lambda self: arb(0)),
    "any guess is right": (length_tube, "_is_within", lambda first, last, low, high: True),
    "every eigenvalue is there once": (Flow, "counts", property(lambda self: [1] * (len(self.spectrum.counts) + 1))),
    "a matrix that does not turn": (length_tube, "_slopes_near", lambda slopes, jet, reach, counts: slopes),
    "no range has a risk": (risk_transfer, "_largest_risk", lambda flows: arb(0)),
    "the last range has the largest risk": (risk_transfer, "_largest_risk", lambda flows: LARGEST(flows[-1:])),
    "runs are nowhere apart": (risk_transfer, "_distance", lambda stated: arb(0)),
    "no risk over infinite prompts": (risk_transfer, "_infinite_risk", lambda stated: arb(0)),
    "every start is known": (StatedTransfer, "known_at_the_start", property(lambda self: True)),
    "bounds are not looked at": (risk_transfer, "Obligation", holding("tube", "risk")),
    "fits are not looked at": (risk_transfer, "Obligation", holding("fits")),
    "paths are not looked at": (risk_transfer, "Obligation", holding("path")),
    "starts are not looked at": (risk_transfer, "Obligation", holding("infinite")),
    "the polygon is near by itself": (prompt_polygon, "distance_within", lambda guess, _: Distance(arb(0), guess)),
    "losses are not curved": (ContextLoss, "curvatures", lambda self, around, radius: Curvatures(arb(0), arb(0))),
}  # fmt: skip

# Those of other lengths or nodes need moments of their own, and come last.
OTHER_MOMENTS = ("prompts", "moments", "lengths", "the stated length")
REJECTS = sorted(
    (
        case
        for family in (cases.LINE, cases.PLANE, cases.OUTSIDE, cases.INSIDE, cases.PROMPTS)
        for case in family.cases()
        if case.verdict in (REJECTED, REFUTED)
    ),
    key=lambda case: any(word in case.name for word in OTHER_MOMENTS),
)


test_a_sabotaged_kernel_fails = noticed(REJECTS, SABOTAGE)
