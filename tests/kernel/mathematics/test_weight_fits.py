"""Sums of exponentials near the moments of softmax weights, beside integrals in doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from math import comb
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
    """From rows "rate, two factors for q, two for q - 9/2 kappa"."""
    rows, above = ([[number(x) for x in row.split()] for row in table] for table in (sums, errors))

    def of(table: list[list[fmpq]], column: int) -> ExponentialSum:
        return ExponentialSum([(row[column], row[0]) for row in table])

    return WeightFit(first, last, *(Fit(of(rows, j), of(rows, j + 1), of(above, k)) for j, k in ((1, 1), (3, 2))))


LENGTHS = (80, 100, 200, 400, 800, 1600)
SHORT = fit_of(
    100,
    400,
    [
        "0 0.4506 0.117 0.2606 0.09343",
        "-0.125 -1.151 0.2003 -0.3696 -0.07261",
        "-0.25 0.7708 -0.4474 -0.02567 -0.01614",
        "-0.5 -0.05821 0.131 0.1448 0.006378",
        "-2 -0.01338 0.009619 -0.01097 -0.001229",
    ],
    ["0.2998 0.01167 0.05527"],
)
LONG = fit_of(
    400,
    None,
    [
        "0 0.2164 0 0.1334 0",
        "-0.125 -0.4466 0 -0.3985 0",
        "-0.25 0.2212 0 0.3672 0",
        "-0.5 0.01536 0 -0.1073 0",
        "-2 -0.005156 0 0.006598 0",
    ],
    ["0.2998 0.009684 0.005836"],
)


@pytest.fixture(scope="module")
def table() -> WeightTable:
    return WeightTable(SPACING, 8, LENGTHS)


def floats(of: ExponentialSum, v: float) -> float:
    return sum(float(c.p) / float(c.q) * float(np.exp(float(r.p) / float(r.q) * v)) for c, r in of.terms)


def near(of: Fit, mu: float, v: float) -> float:
    return floats(of.near, v) + mu * floats(of.share, v)


# -- what is proved holds


def are_within(fit: WeightFit, lengths: Iterable[int], variances: Iterable[float], tool: Tool) -> None:
    moments = tool("truth.risk_transfer")._moments
    for v in variances:
        for length in lengths:
            q, kappa = moments(length, v**0.5)
            mu = fit.first / length
            assert abs(q - near(fit.q, mu, v)) <= floats(fit.q.error, v)
            assert abs(q - 4.5 * kappa - near(fit.w, mu, v)) <= floats(fit.w.error, v)


@pytest.mark.heavy
def test_every_length_of_a_range_is_within_the_errors(table: WeightTable, tool: Tool) -> None:
    """At nodes, between them and at random, to where both are almost as large as they can be."""
    assert room(SHORT, table) >= 0
    rng = np.random.default_rng(1)
    variances = [0.0, 1 / 3, 1 / 2, *rng.exponential(2, 12), *rng.uniform(0, MOST_VARIANCE, 6), float(MOST_VARIANCE)]
    are_within(SHORT, (100, 101, 130, 170, 200, 270, 399, 400), variances, tool)


def test_all_longer_prompts_are_within_the_errors(table: WeightTable, tool: Tool) -> None:
    assert room(LONG, table) >= 0
    variances = [0.0, *np.random.default_rng(2).exponential(4, 12), float(MOST_VARIANCE)]
    are_within(LONG, (400, 401, 3000, 10**6), variances, tool)


@pytest.mark.parametrize(
    ("lengths", "width"), [((4, 6, 12, 16, 30), 0.8), ((2, 3, 9, 10, 11), 9), ((80, 100, 130, 200, 400), 0.3)]
)
def test_cubics_bound_every_length_between(lengths: tuple[int, ...], width: float, tool: Tool) -> None:
    """The polynomials whose coefficients are known hold L q and L w between them, at every integer."""
    moments = tool("truth.risk_transfer")._moments
    table = WeightTable(fmpq(1, 2), 8, lengths)
    first, last = lengths[1:3]
    known = table.known(first, last)
    assert [each.share for each in known] == [
        fmpq(first) / (first + (last - first) * fmpq(i, 6)) for i in range(len(known))
    ]
    widest = 0.0
    for j in (0, 1, 2, 5, 9, 14, 20, len(table.nodes) - 1):
        v = table.nodes[j]
        for length in range(first, last + 1):
            t = (length - first) / (last - first)
            q, kappa = moments(length, (int(v.p) / int(v.q)) ** 0.5)
            for truth, rows in ((q, [x.q[j] for x in known]), (q - 4.5 * kappa, [x.w[j] for x in known])):
                scales = [
                    comb(6, i) * t**i * (1 - t) ** (6 - i) * float(first / x.share.p * x.share.q) / length
                    for i, x in enumerate(known)
                ]
                low, high = (
                    sum(c * float(row[side].mid()) for c, row in zip(scales, rows, strict=True)) for side in (0, 1)
                )
                loose = 1e-4 + sum(
                    c * float(max(row[0].rad(), row[1].rad())) for c, row in zip(scales, rows, strict=True)
                )
                assert low - loose <= truth <= high + loose
                widest = max(widest, high - low)
    assert 1e-4 < widest < width


@pytest.mark.parametrize("fit", [SHORT, LONG])
def test_beyond_the_last_node_errors_are_above_all_that_there_is(fit: WeightFit) -> None:
    """0 <= q - 9/2 kappa <= q <= 1."""
    for v in (MOST_VARIANCE, 100, 1000):
        for of in (fit.q, fit.w):
            for mu in (0, 0.25, 1):
                assert near(of, mu, v) - floats(of.error, v) <= 0
                assert near(of, mu, v) + floats(of.error, v) >= 1


# -- what is not true is not proved


def test_a_range_is_no_longer_than_it_is(table: WeightTable) -> None:
    """Its first and its last length decide."""
    assert room(replace(SHORT, last=200), table) > 0
    assert room(replace(SHORT, last=None), table) < 0
    assert room(replace(SHORT, first=200), table) < 0
    assert room(replace(LONG, first=200), table) < 0
    assert room(replace(LONG, first=800), table) > 0


def test_a_range_over_several_intervals_has_to_fit_in_each(table: WeightTable) -> None:
    both = table.known(100, 400)
    one, other = table.known(100, 200), table.known(200, 400)
    assert len(both) == len(one) + len(other)
    assert [x.share for x in both] == [*(x.share for x in one), *(x.share / 2 for x in other)]
    assert [x.q for x in both] == [x.q for x in [*one, *other]]
    # What is proved of both with a little less error is not proved; of the first one it is.
    for part in ("q", "w"):
        fit = getattr(SHORT, part)
        less = ExponentialSum([(c * fmpq(99, 100), r) for c, r in fit.error.terms])
        assert room(replace(SHORT, **{part: replace(fit, error=less)}), table) < 0


def test_fewer_lengths_bound_less() -> None:
    far = WeightTable(SPACING, 8, (2, 100, 400, 8000, 16000))
    assert room(SHORT, far) < 0


@pytest.mark.parametrize("part", ["q", "w"])
def test_shares_count_with_their_sign(table: WeightTable, part: str) -> None:
    fit = getattr(SHORT, part)
    turned = ExponentialSum([(-c, r) for c, r in fit.share.terms])
    none = ExponentialSum([(fmpq(0), r) for _, r in fit.share.terms])
    total = ExponentialSum([(c + d, r) for (c, r), (d, _) in zip(fit.near.terms, fit.share.terms, strict=True)])
    # The last one is right for the first length alone.
    for changed in (replace(fit, share=turned), replace(fit, share=none), replace(fit, near=total, share=none)):
        assert room(replace(SHORT, **{part: changed}), table) < 0


@pytest.mark.parametrize("part", ["q", "w"])
@pytest.mark.parametrize("place", ["near", "share", "error"])
def test_each_sum_decides(table: WeightTable, part: str, place: str) -> None:
    fit = getattr(SHORT, part)
    (c, r), *others = getattr(fit, place).terms
    for change in (fmpq(1, 2), -fmpq(1, 2)):
        changed = replace(SHORT, **{part: replace(fit, **{place: ExponentialSum([(c + change, r), *others])})})
        wider = place == "error" and change > 0
        assert (room(changed, table) >= 0) is wider


def test_what_sums_do_between_nodes_decides(table: WeightTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as before at all nodes, and leave their chords by a tenth next to 0."""
    steep = ExponentialSum([(fmpq(1), fmpq(-60)), (fmpq(-1), fmpq(-80))])
    for place in ("near", "share"):
        terms = [*getattr(SHORT.q, place).terms, *steep.terms]
        changed = replace(SHORT, q=replace(SHORT.q, **{place: ExponentialSum(terms)}))
        v = 0.0144
        assert floats(steep, v) > 2 * floats(SHORT.q.error, v)
        assert room(changed, table) < 0
        with monkeypatch.context() as patched:
            patched.setattr(ExponentialSum, "bend", lambda self, v: arb(0))
            assert room(changed, table) > 0


def test_the_end_decides(table: WeightTable) -> None:
    """f may change beyond the last node even where it is about 0 at all nodes: the sizes of its terms count."""
    nothing = ExponentialSum([(fmpq(0), fmpq(0))])

    def flat(size: int, is_share: bool) -> WeightFit:
        near = ExponentialSum([(fmpq(size), fmpq(0)), (fmpq(-size), -fmpq(1, 10**6))])
        error = ExponentialSum([(fmpq(50), fmpq(0))])
        fit = Fit(nothing, near, error) if is_share else Fit(near, nothing, error)
        return WeightFit(400, None, fit, fit)

    for is_share in (False, True):
        assert room(flat(20, is_share), table) > 0
        assert room(flat(25, is_share), table) < 0


# -- parts


def test_nodes_reach_from_0_to_the_end() -> None:
    for spacing in (fmpq(1, 64), SPACING, fmpq(1)):
        found = nodes(spacing, 8)
        assert found[0] == 0
        assert found[-1] == 32
        gaps = [y - x for x, y in pairwise(found)]
        assert all(0 < gap <= 8 * spacing for gap in gaps)
        assert all(gap == spacing for gap, x in zip(gaps, found, strict=False) if x < 11 and x + spacing < 32)


@pytest.mark.parametrize("reach", [1, 20, MOST_VARIANCE])
def test_nodes_are_even_up_to_the_reach(reach: int) -> None:
    found = nodes(SPACING, reach)
    assert found[-1] == min(4 * reach, MOST_VARIANCE)
    for x, y in pairwise(found[:-1]):
        assert y - x == SPACING * min(8, max(1, int((x / reach * x / reach).floor())))


def test_a_table_has_the_moments_at_every_node(table: WeightTable, tool: Tool) -> None:
    moments = tool("truth.risk_transfer")._moments
    for length in (100, 400):
        column = table.column(length)
        assert len(column) == len(table.nodes)
        for v, (q, pairs, squares) in list(zip(table.nodes, column, strict=True))[::9]:
            kappa = pairs - squares
            truth = moments(length, (int(v.p) / int(v.q)) ** 0.5)
            assert abs(float(q.mid()) - truth[0]) < 1e-4 + float(q.rad())
            assert abs(float(kappa.mid()) - truth[1]) < 1e-6 + float(kappa.rad())
            assert q.rad() < arb("1e-3")


def test_moments_of_all_longer_prompts_are_between_0_and_those_of_the_first(table: WeightTable) -> None:
    known = table.known(400, None)
    assert [each.share for each in known] == [0, 1]
    for each in known:
        assert all(low == 0 for low, _ in [*each.q, *each.w])
        assert [high for _, high in each.q] == [q for q, _, _ in table.column(400)]


def test_terms_are_those_of_both_moments() -> None:
    """Of q and of q + 6 kappa = 7/3 q - 4/3 (q - 9/2 kappa)."""
    assert SHORT.least_share == fmpq(1, 4)
    assert LONG.least_share == 0
    found = SHORT.terms
    assert [rate for rate, *_ in found] == sorted(rate for _, rate in SHORT.q.near.terms)
    (rate, (f, g), (f1, g1)), *_ = reversed(found)
    assert (rate, f, f1) == (0, number("0.4506"), number("0.117"))
    assert g == fmpq(7, 3) * f - fmpq(4, 3) * number("0.2606")
    assert g1 == fmpq(7, 3) * f1 - fmpq(4, 3) * number("0.09343")


def test_sums_and_their_second_derivatives() -> None:
    of = ExponentialSum([(fmpq(2), fmpq(0)), (fmpq(-3), fmpq(-1, 2)), (fmpq(1, 4), fmpq(2))])
    with working_precision(128):
        h = arb(2) ** -30
        for v in (arb(0), arb("0.7"), arb(3)):
            second = (of.at(v + h) - 2 * of.at(v) + of.at(v - h)) / (h * h)
            assert abs(second - of.bend(v)) < arb(2) ** -40 * (1 + of.size(v))
            assert (of.size(v) - (2 + 3 * (-v / 2).exp() + (2 * v).exp() / 4)).contains(0)
