"""Checking `risk-transfer`: what is said, and a sabotaged kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from corpus import REFUTED, REJECTED, Cases, Family, check
from flint import arb, arb_mat, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import weight_fits
from certattn.kernel.mathematics.weight_fits import Known, WeightTable
from certattn.kernel.theorems.training import finite_gap, length_tube, prompt_polygon, risk_transfer
from certattn.kernel.theorems.training.context_losses import ContextLoss, Curvatures
from certattn.kernel.theorems.training.finite_gap import Jet, Rest
from certattn.kernel.theorems.training.length_tube import Flow
from certattn.kernel.theorems.training.prompt_polygon import Distance
from certattn.kernel.theorems.training.risk_transfer import Ranges, StatedTransfer
from certattn.statements.training import risk_transfer as words

cases = Cases("transfer_cases")


@pytest.fixture(autouse=True)
def one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments are computed once for all cases with the same nodes and lengths."""
    monkeypatch.setattr(risk_transfer, "WeightTable", _table)


@cache
def _kept(spacing: fmpq, reach: int, lengths: tuple[int, ...]) -> WeightTable:
    return WeightTable(spacing, reach, lengths)


def _table(spacing: fmpq, reach: int, lengths: Sequence[int]) -> WeightTable:
    return copy(_kept(spacing, reach, tuple(lengths)))


def first(family: Family) -> str:
    return next(family.cases()).text


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = check(first(cases.PLANE), arrays).statement
    for piece in (
        "prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>", "w ~ N(0, I)", "half the mean square error",
        "b sum_i p_i <w, x_i> of <w, x>, p the softmax of <x_i, A x>", "Sigma = ((1, 0.25), (0.25, 0.75))",
        "from A = ((0.5, 0), (0, 0.5)) and b = 0.5", "for every L >= 3000",
        "R_L <= 0.4185 at all times t >= 0.15, and so in the limit", "over infinite prompts the risk tends to 0",
        "up to t = 0.15 the two runs (A, b) are within 0.00415 of each other (Euclidean distance)",
    ):  # fmt: skip
        assert piece in said, said


def test_a_statement_without_a_tube_says_nothing_of_one(arrays: Path) -> None:
    said = check(first(cases.PLANE).replace(", tube: 0.00415", ""), arrays).statement
    assert said.endswith("while over infinite prompts the risk tends to 0.")
    assert "Euclidean" not in said


def test_numbers_of_thousands_of_places_stay_readable() -> None:
    for text, said in (("1e-19999", "1e-19999"), ("0x1p-19999", "5.02477611539...e-6021")):
        stated = risk_transfer.read(loads(first(cases.PLANE).replace("risk: 0.4185", f"risk: {text}"), Path()))
        assert f"R_L <= {said} at all times" in words.statement(stated).words


def test_a_range_that_is_lost_is_named(arrays: Path) -> None:
    """Of the flow, as far as it is followed."""
    text = first(cases.LINE)
    for old, new, said in (
        (
            "[0.2998, 0.009684, 0.005836]",
            "[0.2998, 20, 0.005836]",
            "for L >= 400, of the time that is needed: 0 >= 0.4",
        ),
        (
            "[0.2998, 0.01167, 0.05527]",
            "[0.2998, 20, 0.05527]",
            "for 100 <= L <= 400, of the time that is needed: 0 >= 0.4",
        ),
    ):
        assert said in check(text.replace(old, new), arrays).reason


def test_a_range_begins_where_the_one_before_ends() -> None:
    stated = risk_transfer.read(loads(first(cases.LINE), Path()))
    assert stated.lengths is not None
    found = [(each.fit.first, each.fit.last, each.fit.least_share) for each in stated.lengths.ranges]
    assert found == [(100, 400, fmpq(1, 4)), (400, None, 0)]


def test_sums_are_read_by_their_columns() -> None:
    """Of a row: its rate, then what is near q, what comes with mu there, and the same for q - 9/2 kappa."""
    stated = risk_transfer.read(loads(first(cases.LINE), Path()))
    assert stated.lengths is not None
    fit = stated.lengths.ranges[0].fit
    found = [of.terms[0] for of in (fit.q.near, fit.q.share, fit.w.near, fit.w.share)]
    assert found == [(fmpq(c, 100000), 0) for c in (45060, 11700, 26060, 9343)]
    assert [of.terms for of in (fit.q.error, fit.w.error)] == [
        [(fmpq(c, 100000), fmpq(2998, 10000))] for c in (1167, 5527)
    ]


def test_the_statement_about_given_prompts_says_every_number(arrays: Path) -> None:
    said = check(first(cases.PROMPTS), arrays).statement
    for piece in (
        "2 prompts of 3 tokens", "tokens: ((1), (-0.5), (2), (0.25), (-1), (1.5))", "queries: ((1), (-0.5))",
        "labels: ((1), (-0.5), (2), (-0.5), (2), (-3))", "targets: ((1), (1))", "from A = (0.5) and b = 1.5 exists",
        "R_L <= 0.221 at all times t >= 1, and so in the limit", "N(0, Sigma), Sigma = (1), the risk of the flow",
    ):  # fmt: skip
        assert piece in said, said


# -- a kernel with a part that is wrong


def _flat(order: int) -> Callable[..., arb]:
    return lambda self, *variables: arb(0) if len(variables) == order else ALONG(self, *variables)


def _one_length(self: Jet, *variables: int) -> arb:
    return arb(0) if self.size + 1 in variables else ALONG(self, *variables)


def _nothing(of: object, fit: object, a: list[arb], b: arb, mu: arb) -> Rest:
    return Rest(arb(0), [arb(0)] * (len(a) + 1))


def _level(of: object, fit: object, a: list[arb], b: arb, mu: arb) -> Rest:
    return Rest(REST(of, fit, a, b, mu).value, [arb(0)] * (len(a) + 1))


def _free(of: object, fit: object, a: list[arb], b: arb, mu: arb) -> Rest:
    return Rest(arb(0), REST(of, fit, a, b, mu).gradient)


def _believed(
    pushed: Callable[[list[arb]], list[arb]], carried: list[arb], sizes: arb_mat, h: fmpq, like: list[arb]
) -> tuple[list[arb], list[arb]]:
    """What the flow carries along, as if nothing acted on it."""
    return [arb(0)] * len(like), carried


def _turned_about(lengths: Sequence[int], columns: Sequence[Any]) -> list[Known]:
    found = BOUNDS(lengths, columns)
    return [Known(x.share, *([(high, low) for low, high in rows] for rows in (x.q, x.w))) for x in found]


def _short(lengths: Sequence[int], columns: Sequence[Any]) -> list[Known]:
    """At the first length alone."""
    return BOUNDS(lengths, columns)[:1]


def _unmoved(lengths: Sequence[int], columns: Sequence[Any]) -> list[Known]:
    return BOUNDS(lengths, columns)[-1:]


def _one(cls: type[Flow], spectrum: object, fit: object, point: list[arb]) -> Flow:
    return cls(spectrum, fit, point if fit is None else [*point, arb(1)])  # type: ignore[arg-type]


def _still(slopes: arb_mat, h: fmpq) -> list[arb_mat]:
    size = slopes.nrows()
    return [arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])]


def _room(of: Ranges, index: int) -> arb:
    return ROOM(of.ranges[index].fit, of.table)


ALONG, REST, LARGEST, ROOM = Jet.along, finite_gap.rest, risk_transfer._largest_risk, weight_fits.room
MEAN_SIZE, VIEWS = length_tube._mean_size, length_tube._views
BOUNDS, KNOWN, LEFT = weight_fits._bounds, WeightTable.known, weight_fits._left

SABOTAGE: dict[str, Sabotage] = {
    "fits leave nothing out": (length_tube, "rest", _nothing),
    "fits leave nothing of the gradient out": (length_tube, "rest", _level),
    "fits leave nothing of the risk out": (length_tube, "rest", _free),
    "any fit is near enough": (risk_transfer, "room", lambda fit, table: arb(1)),
    "moments do not bend": (weight_fits, "BENDS", ((fmpq(0), fmpq(0)), (fmpq(0), fmpq(0)))),
    "kappa does not count": (weight_fits, "SHARE", fmpq(0)),
    "the first range alone has to fit": (Ranges, "room", lambda self: _room(self, 0)),
    "the last range alone has to fit": (Ranges, "room", lambda self: _room(self, -1)),
    "cubics above are below, and those below above": (weight_fits, "_bounds", _turned_about),
    "the first length of an interval alone has to fit": (weight_fits, "_bounds", _short),
    "the last length of an interval alone has to fit": (weight_fits, "_bounds", _unmoved),
    "the first interval alone has to fit": (WeightTable, "known", lambda self, *ends: KNOWN(self, *ends)[:7]),
    "shares are 0": (weight_fits, "_left", lambda of, v, known: LEFT(of, v, [(fmpq(0), x) for _, x in known])),
    "first derivatives along the length are 0": (Jet, "along", _one_length),
    "third derivatives are 0": (Jet, "along", _flat(3)),
    "fourth derivatives are 0": (Jet, "along", _flat(4)),
    "nothing bends": (length_tube, "_bent", lambda second, wide, i, reach: arb(0)),
    "slopes and risks have no second derivatives": (length_tube, "_square", lambda second, reach: arb(0)),
    "what acts on the distances does so at one time": (length_tube, "_mean_size", lambda sizes: 0 * MEAN_SIZE(sizes)),
    "distances are nowhere carried along": (length_tube, "_views", lambda line: 0 * VIEWS(line)),
    "moments do not change with A": (finite_gap, "_by_variance", lambda of, near, a, b, i: arb(0)),
    "no deviations from a mean": (finite_gap, "_distances", lambda n, t: (arb(0), arb(0))),
    "weights are never large": (finite_gap._Tilted, "mean", lambda self: arb(0)),
    "any guess is right": (length_tube, "_held", _believed),
    "distances are 0 at every end": (length_tube, "_sizes", lambda matrix: [arb(0)] * matrix.nrows()),
    "all lengths are one": (Flow, "of", classmethod(_one)),
    "every eigenvalue is there once": (Flow, "counts", property(lambda self: [1] * (len(self.spectrum.counts) + 1))),
    "distances do not turn with the flow": (length_tube, "_turns", _still),
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
