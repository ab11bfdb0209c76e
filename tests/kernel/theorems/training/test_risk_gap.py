"""Claim `risk-gap`: every case, sabotaged kernels, changed certificates, simulation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import gap_cases as cases
import numpy as np
import pytest
from corpus import ACCEPT, MALFORMED, REFUTED, REJECTED, Case, Family, check, notices
from flint import arb, ctx, fmpq

from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.obligation import Obligation, Relation, Side
from certattn.kernel.decide.proof import Proof
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training import risk_gap
from certattn.kernel.theorems.training.exponential_fits import ExponentialSum
from certattn.kernel.theorems.training.risk_gap import GapAtParameters, obligations, read
from certattn.statements.checking import check_certificate, malformed_report
from certattn.statements.reports import Report

CLAIM = CLAIMS["risk-gap"]


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path) -> None:
    assert case.complaint(check(case.text, tmp_path)) == ""


def test_there_are_more_rejects_than_accepts_and_all_have_names() -> None:
    accepts = [case for case in cases.CASES if case.verdict is ACCEPT]
    assert len(accepts) >= 20
    assert len(cases.CASES) - len(accepts) >= 2 * len(accepts)
    assert len({case.name for case in cases.CASES}) == len({case.text for case in cases.CASES}) == len(cases.CASES)


@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda family: family.title)
def test_what_verifies_proves_each_expected_obligation_once(family: Family, tmp_path: Path) -> None:
    case = next(family.cases())
    found = check(case.text, tmp_path)
    names = [o.name for o in CLAIM.obligations(CLAIM.read(loads(case.text, tmp_path / "case.yaml")))]
    assert [obligation["name"] for obligation in found.obligations] == names
    assert len(names) == len(set(names)) > 0


def test_a_bound_over_a_ball_refutes_nothing() -> None:
    for family in (cases.LOGISTIC, cases.POWER, cases.TABLE):
        assert REFUTED not in {case.verdict for case in family.cases()}
        assert REJECTED in {case.verdict for case in family.cases()}


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    text = check(next(cases.LOGISTIC.cases()).text, tmp_path).statement
    for piece in (
        "((1, 0.5), (0.5, 1))",
        "every L >= 100",
        "|A|_F^2 <= 0.25",
        "b^2 <= sqrt(2)",
        "0.123077",
        "0.295656",
    ):
        assert piece in text
    text = check(next(cases.POINT.cases()).text, tmp_path).statement
    for piece in ("covariance (0.5)", "prompts of 4 tokens", "A = (0.5) and b = 0.5", "0.032", "0.034"):
        assert piece in text


# -- sabotage


def blind(relation: Relation) -> Callable[..., Obligation]:
    """Obligations of this relation hold whatever they compare."""

    def made(name: str, left: Side, given: Relation, right: Side, *more: Any, **options: Any) -> Obligation:
        if given == relation:
            return Obligation(name, fmpq(0), "=", fmpq(0))
        return Obligation(name, left, given, right, *more, **options)

    return made


def hopeful(self: GapAtParameters, gap: arb, bound: fmpq) -> arb | fmpq:
    """What is hopeless passes."""
    return bound if self._hopeless(gap, bound, ctx.prec) else gap


def scaled_miss(self: ExponentialSum, *arguments: Any) -> arb:
    return arb(0)


SABOTAGE: dict[str, tuple[Any, str, Any, Family]] = {
    "upper bounds over a ball are not looked at": (risk_gap, "Obligation", blind("<="), cases.LOGISTIC),
    "tables are not looked at": (risk_gap, "Obligation", blind(">="), cases.TABLE),
    "upper bounds of the gap are not looked at": (risk_gap, "Obligation", blind("<="), cases.POINT),
    "lower bounds of the gap are not looked at": (risk_gap, "Obligation", blind(">="), cases.POINT),
    "what is unproved passes": (GapAtParameters, "beside", hopeful, cases.POINT),
    "fits miss nothing": (ExponentialSum, "miss", scaled_miss, cases.POINT),
    "no spread of the weights": (
        risk_gap,
        "spread_factor",
        lambda b: -24 * b * b,
        cases.POINT,
    ),
    "no cross term": (
        risk_gap,
        "collision_factors",
        lambda b: (b * b, 0 * b, -b * b),
        cases.POINT,
    ),
    "r for r^2": (risk_gap.Ball, "scale", lambda self: self.largest * self.A_squared, cases.LOGISTIC),
    "no query": (risk_gap.Ball, "query_average", lambda self, plain, weighted: 0 * plain, cases.POWER),
    "no chord": (risk_gap, "chord_excess", lambda step, last: arb(0), cases.TABLE),
    "half a ramp": (risk_gap, "ramp", lambda start, scale, lower, upper: scale * upper / 2, cases.TABLE),
}


@pytest.mark.parametrize("name", SABOTAGE)
def test_a_sabotaged_kernel_fails(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    where, what, instead, family = SABOTAGE[name]
    monkeypatch.setattr(where, what, instead)

    def answers(text: str, folder: Path) -> Report:
        try:
            return check_certificate(loads(text, folder / "case.yaml"), CheckOptions(limits=Limits(max_bits=64)))
        except MalformedError as error:
            return malformed_report("case.yaml", error)

    assert notices(family.cases(), tmp_path, answers)


@pytest.mark.parametrize(("bits", "of_nodes"), [(64, 32), (256, 128), (4096, 128)])
def test_nodes_of_a_table_are_computed_to_so_many_bits(
    bits: int, of_nodes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A search at 4096 bits would otherwise spend its time on nodes that are known long since."""
    asked = []
    monkeypatch.setattr(risk_gap.Tabulated, "least_excess", lambda self, length, b: asked.append(b) or arb(1))
    stated = read(loads(next(cases.TABLE.cases()).text, tmp_path / "case.yaml"))
    Proof(list(obligations(stated))).ask(["majorant.above"], bits)
    assert asked == [of_nodes]


def test_two_pieces_are_the_fewest(tmp_path: Path) -> None:
    text = next(cases.POINT.cases()).text.replace("orders: [12, 12, 18]", "orders: [12]")

    def nodes(written: str) -> tuple[fmpq, ...]:
        stated = text.replace("nodes: [0, 0.125, 0.5, 2, 7]", f"nodes: {written}")
        gap = read(loads(stated, tmp_path / "case.yaml")).proof
        assert isinstance(gap, GapAtParameters)
        return gap.fits.nodes

    assert nodes("[0, 1, 7]") == (0, 1, 7)
    with pytest.raises(MalformedError, match="at least 3 variances"):
        nodes("[0, 7]")


# -- fits that are too coarse


COARSE = [
    case
    for case in cases.POINT.cases()
    if case.verdict is REJECTED and case.words not in ("theta = 9", *cases.CONDITIONS)
]


@pytest.mark.parametrize("case", COARSE, ids=lambda case: case.name)
def test_a_hopeless_fit_does_not_raise_the_precision(case: Case, tmp_path: Path) -> None:
    """It went up to 4096 bits, and nothing was said of the fit."""
    found = check(case.text, tmp_path)
    assert found.bits == 64
    assert "more bits do not help" in found.reason


def test_a_bound_at_the_end_of_what_fits_leave_open_is_not_given_up(tmp_path: Path) -> None:
    """Where the last bits may decide, they are asked for; in the middle they may not."""
    problem = read(loads(next(cases.POINT.cases()).text, tmp_path / "case.yaml")).proof
    assert isinstance(problem, GapAtParameters)
    with working_precision(64):
        gap = problem.gap()
        for side in (gap.lower(), gap.upper()):
            near = rational(gap.mid()) + (rational(side) - rational(gap.mid())) * fmpq(4095, 4096)
            assert problem._hopeless(gap, near, 64) == ""
            inside = rational(gap.mid()) + (rational(side) - rational(gap.mid())) * fmpq(9, 10)
            assert "more bits do not help" in problem._hopeless(gap, inside, 64)


def rational(number: arb) -> fmpq:
    mantissa, exponent = number.mid().man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


# -- a second opinion


@pytest.fixture(scope="session")
def truth(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("truth.certificate")


@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda family: family.title)
def test_what_the_corpus_expects_is_true(family: Family, tmp_path: Path, truth: ModuleType) -> None:
    for case in family.cases():
        # A false condition of the proof is no certificate to the second opinion.
        if case.verdict is MALFORMED or case.words in cases.CONDITIONS:
            continue
        judgement = truth.judge(loads(case.text, tmp_path / "case.yaml").plain, tmp_path)
        if case.verdict is ACCEPT:
            assert judgement.truth is not truth.Truth.FALSE, case.name
            assert judgement.provable, case.name
        assert (judgement.truth is truth.Truth.FALSE) >= (case.verdict is REFUTED), case.name
        if family is not cases.POINT:
            assert not (judgement.provable and case.verdict is REJECTED), case.name


@pytest.mark.parametrize(
    ("family", "every"),
    [(cases.LOGISTIC, 11), (cases.POWER, 11), (cases.TABLE, 41), (cases.POINT, 83)],
    ids=lambda value: getattr(value, "title", ""),
)
def test_no_mutant_is_falsely_accepted_or_refuted(
    family: Family, every: int, tmp_path: Path, tool: Callable[[str], ModuleType], truth: ModuleType
) -> None:
    """Every so-manieth change; `tools/mutation/mutate_certificates.py` does all of them."""
    mutate = tool("mutation.mutate_certificates")
    tree = loads(next(family.cases()).text, tmp_path / "case.yaml").plain
    tally = mutate.sweep(list(mutate.mutants(tree))[1::every], tmp_path)
    assert tally.mutants > 10
    assert tally.errors == []
    assert tally.verified_true > 0
    assert tally.refused > 0


# -- simulation


def simulated(covariance: Any, A: Any, b: float, length: int, count: int) -> tuple[float, float]:
    """R_L - R by random prompts, and the standard error: no identity is used."""
    rng = np.random.default_rng(length)
    root = np.linalg.cholesky(covariance)
    size = len(covariance)
    tokens = rng.normal(size=(count, length, size)) @ root.T
    query, task = rng.normal(size=(count, size)) @ root.T, rng.normal(size=(count, size))
    scores = np.einsum("nld,de,ne->nl", tokens, A, query)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    labels = np.einsum("nld,nd->nl", tokens, task)
    wanted = (query * task).sum(axis=1)
    finite = b * (weights * labels).sum(axis=1)
    infinite = b * ((query @ A.T @ covariance) * task).sum(axis=1)
    errors = ((finite - wanted) ** 2 - (infinite - wanted) ** 2) / 2
    return float(errors.mean()), float(errors.std() / count**0.5)


def test_the_enclosure_lies_in_the_interval_of_a_simulation(tmp_path: Path) -> None:
    gap = read(loads(next(cases.POINT.cases()).text, tmp_path / "case.yaml")).proof
    assert isinstance(gap, GapAtParameters)
    with working_precision(64):
        found = gap.gap()
    mean, error = simulated(np.array([[0.5]]), np.array([[0.5]]), 0.5, 4, 400_000)
    assert abs(float(found) - mean) < 3.3 * error + float(found.rad())


@pytest.mark.parametrize("b", [-1.0, 0.0, 0.5, 1.18])
def test_gaps_of_random_parameters_keep_the_bounds_over_the_ball(b: float) -> None:
    """|A|_F^2 = 1/4, b^2 <= sqrt(2), L = 100: excess 0.123077, shortfall 0.295656."""
    rng = np.random.default_rng(3)
    covariance = np.array([[1, 0.5], [0.5, 1]])
    for _ in range(3):
        A = rng.normal(size=(2, 2))
        A *= 0.5 / np.linalg.norm(A)
        mean, error = simulated(covariance, A, b, 100, 20_000)
        assert -0.295656 - 4 * error < mean < 0.123077 + 4 * error


def test_the_majorants_compare_as_they_should() -> None:
    """At length 60 on the line: table, logistic bound and power, from the sharpest to the weakest."""
    ball = risk_gap.Ball(arb(1) / 4, arb(1), arb(1), arb(1))
    scale = ball.scale()
    found = []
    for majorant in (risk_gap.Logistic(60), risk_gap.Power(60, fmpq(9, 10))):
        plain, weighted = (majorant.average(k, scale, 64) for k in (0, 1))
        found.append(ball.excess(plain, weighted))
    assert found[0] < found[1]
