"""Sums of exponentials near the moments of softmax weights, beside integrals in doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE
from certattn.kernel.mathematics.weight_fits import ExponentialSum, Fit, WeightFit, WeightTable, nodes, room

Tool = Callable[[str], ModuleType]
SPACING = fmpq(1, 3)


def number(text: str) -> fmpq:
    digits, _, places = text.partition(".")
    return fmpq(int(digits + places), 10 ** len(places))


def fit_of(first: int, last: int | None, sums: Iterable[str], errors: Iterable[str]) -> WeightFit:
    """From rows "rate, factor for q, factor for q - 9/2 kappa"."""
    rows, above = ([[number(x) for x in row.split()] for row in table] for table in (sums, errors))
    found = [
        Fit(ExponentialSum([(row[j], row[0]) for row in rows]), ExponentialSum([(row[j], row[0]) for row in above]))
        for j in (1, 2)
    ]
    return WeightFit(first, last, *found)


SHORT = fit_of(
    6,
    8,
    [
        "0 0.6952 0.583",
        "-0.0625 -0.1404 -0.2936",
        "-0.25 -0.37 -0.2459",
        "-1 -0.05761 0.1762",
        "-2 0.01372 -0.08414",
    ],
    ["0.291 0.005121 0.01039", "0.1455 0.005947 0.02769", "0 0.02662 0.01038"],
)
LONG = fit_of(
    1000,
    None,
    ["0 0.3157 0.1809", "-0.0625 -0.4612 -0.2823", "-0.25 0.1593 0.1183", "-1 -0.01383 -0.0186"],
    ["0.4375 0.002772 0.002809"],
)


@pytest.fixture(scope="module")
def short() -> WeightTable:
    return WeightTable(SPACING, 8, (6, 8))


@pytest.fixture(scope="module")
def long() -> WeightTable:
    return WeightTable(SPACING, 8, (1000, 1000))


def floats(of: ExponentialSum, v: float) -> float:
    return sum(float(c.p) / float(c.q) * float(np.exp(float(r.p) / float(r.q) * v)) for c, r in of.terms)


# -- what is proved holds


def test_every_length_of_a_range_is_within_the_errors(short: WeightTable, tool: Tool) -> None:
    """At nodes, between them and at random, to where both are almost as large as they can be."""
    moments = tool("truth.risk_transfer")._moments
    assert room(SHORT, short) >= 0
    rng = np.random.default_rng(1)
    for v in [0.0, 1 / 3, 1 / 2, *rng.exponential(2, 20), *rng.uniform(0, MOST_VARIANCE, 10), float(MOST_VARIANCE)]:
        for length in (6, 7, 8):
            q, kappa = moments(length, v**0.5)
            assert abs(q - floats(SHORT.q.near, v)) <= floats(SHORT.q.error, v)
            assert abs(q - 4.5 * kappa - floats(SHORT.w.near, v)) <= floats(SHORT.w.error, v)


def test_all_longer_prompts_are_within_the_errors(long: WeightTable, tool: Tool) -> None:
    moments = tool("truth.risk_transfer")._moments
    assert room(LONG, long) >= 0
    for v in [0.0, *np.random.default_rng(2).exponential(4, 12), float(MOST_VARIANCE)]:
        for length in (1000, 1001, 3000, 10**6):
            q, kappa = moments(length, v**0.5)
            assert abs(q - floats(LONG.q.near, v)) <= floats(LONG.q.error, v)
            assert abs(q - 4.5 * kappa - floats(LONG.w.near, v)) <= floats(LONG.w.error, v)


@pytest.mark.parametrize("fit", [SHORT, LONG])
def test_beyond_the_last_node_errors_are_above_all_that_there_is(fit: WeightFit) -> None:
    """0 <= q - 9/2 kappa <= q <= 1."""
    for v in (MOST_VARIANCE, 100, 1000):
        for of in (fit.q, fit.w):
            near, error = floats(of.near, v), floats(of.error, v)
            assert near - error <= 0
            assert near + error >= 1


# -- what is not true is not proved


def test_a_range_is_no_longer_than_it_is(short: WeightTable, long: WeightTable) -> None:
    """Its first and its last length decide."""
    wider = WeightTable(SPACING, 8, (5, 9))
    assert room(replace(SHORT, first=7), wider) > 0
    assert room(replace(SHORT, last=7), wider) > 0
    assert room(replace(SHORT, first=5), wider) < 0
    assert room(replace(SHORT, last=9), wider) < 0
    assert room(replace(SHORT, last=None), wider) < 0
    assert room(replace(LONG, first=980), WeightTable(SPACING, 8, (980, 980))) < 0


@pytest.mark.parametrize("part", ["q", "w"])
@pytest.mark.parametrize("place", ["near", "error"])
def test_each_sum_decides(short: WeightTable, part: str, place: str) -> None:
    fit = getattr(SHORT, part)
    (c, r), *others = getattr(fit, place).terms
    for change in (fmpq(1, 2), -fmpq(1, 2)):
        changed = replace(SHORT, **{part: replace(fit, **{place: ExponentialSum([(c + change, r), *others])})})
        wider = place == "error" and change > 0
        assert (room(changed, short) >= 0) is wider


def test_what_sums_do_between_nodes_decides(short: WeightTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as before at all nodes, and leave their chords by a tenth next to 0."""
    near = ExponentialSum([*SHORT.q.near.terms, (fmpq(1), fmpq(-60)), (fmpq(-1), fmpq(-80))])
    changed = replace(SHORT, q=replace(SHORT.q, near=near))
    v = 0.0144
    assert abs(floats(near, v) - floats(SHORT.q.near, v)) > 2 * floats(SHORT.q.error, v)
    assert room(changed, short) < 0
    monkeypatch.setattr(ExponentialSum, "bend", lambda self, v: arb(0))
    assert room(changed, short) > 0


def test_the_end_decides(long: WeightTable) -> None:
    """f may change beyond the last node even where it is about 0 at all nodes: the sizes of its terms count."""

    def flat(size: int) -> WeightFit:
        near = ExponentialSum([(fmpq(size), fmpq(0)), (fmpq(-size), -fmpq(1, 10**6))])
        fit = Fit(near, ExponentialSum([(fmpq(50), fmpq(0))]))
        return WeightFit(1000, None, fit, fit)

    assert room(flat(20), long) > 0
    assert room(flat(25), long) < 0


# -- parts


def test_nodes_reach_from_0_to_the_end() -> None:
    for spacing in (fmpq(1, 64), SPACING, fmpq(1)):
        found = nodes(spacing, 8)
        assert found[0] == 0
        assert found[-1] == MOST_VARIANCE
        gaps = [y - x for x, y in pairwise(found)]
        assert all(0 < gap <= 8 * spacing for gap in gaps)
        assert all(
            gap == spacing for gap, x in zip(gaps, found, strict=False) if x < 11 and x + spacing < MOST_VARIANCE
        )


@pytest.mark.parametrize("reach", [1, 20, MOST_VARIANCE])
def test_nodes_are_even_up_to_the_reach(reach: int) -> None:
    found = nodes(SPACING, reach)
    assert found[-1] == MOST_VARIANCE
    for x, y in pairwise(found[:-1]):
        assert y - x == SPACING * min(8, max(1, int((x / reach * x / reach).floor())))


def test_a_table_has_the_moments_at_every_node(short: WeightTable, tool: Tool) -> None:
    moments = tool("truth.risk_transfer")._moments
    for length in (6, 8):
        column = short.column(length)
        assert len(column) == len(short.nodes)
        for v, (q, kappa) in list(zip(short.nodes, column, strict=True))[::9]:
            truth = moments(length, (int(v.p) / int(v.q)) ** 0.5)
            assert abs(float(q.mid()) - truth[0]) < 1e-4 + float(q.rad())
            assert abs(float(kappa.mid()) - truth[1]) < 1e-6 + float(kappa.rad())
            assert q.rad() < arb("1e-3")
    assert all(q == 0 and kappa == 0 for q, kappa in short.column(None))


def test_sums_and_their_second_derivatives() -> None:
    of = ExponentialSum([(fmpq(2), fmpq(0)), (fmpq(-3), fmpq(-1, 2)), (fmpq(1, 4), fmpq(2))])
    with working_precision(128):
        h = arb(2) ** -30
        for v in (arb(0), arb("0.7"), arb(3)):
            second = (of.at(v + h) - 2 * of.at(v) + of.at(v - h)) / (h * h)
            assert abs(second - of.bend(v)) < arb(2) ** -40 * (1 + of.size(v))
            assert (of.size(v) - (2 + 3 * (-v / 2).exp() + (2 * v).exp() / 4)).contains(0)
