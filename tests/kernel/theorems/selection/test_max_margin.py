"""Claim `max-margin`: what is said, sabotaged kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from corpus import ACCEPT, Cases, Family, check
from flint import arb, fmpq
from sabotage import Sabotage, always, believed, holds, noticed

from certattn.kernel.decide import proof
from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.proof import Outcome, Proof, Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import matrix_rows
from certattn.kernel.theorems.selection import max_margin
from certattn.kernel.theorems.selection.mathematics import margin_norms
from certattn.kernel.theorems.selection.mathematics.margin_norms import NormMargin, NuclearNorm, PowerNorm
from certattn.kernel.theorems.selection.mathematics.margin_points import Contradiction, Direction, MaxMargin
from certattn.kernel.theorems.selection.max_margin import MarginDistance
from certattn.statements.checking import check_certificate
from certattn.statements.wording import WORDINGS

cases = Cases("margin_cases")

Tool = Callable[[str], ModuleType]
CLAIM = CLAIMS["max-margin"]


@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda family: family.title)
def test_what_is_checked_has_the_names_that_were_expected(family: Family, arrays: Path) -> None:
    for case in family.cases():
        found = check(case.text, arrays)
        if found.verdict is not Verdict.MALFORMED:
            names = [o.name for o in CLAIM.obligations(CLAIM.read(loads(case.text, arrays / "case.yaml")))]
            assert [obligation["name"] for obligation in found.obligations] == names


def test_the_words_say_every_number(arrays: Path) -> None:
    for family, pieces in (
        (cases.THREE_INPUTS, (
            "3 inputs of 2 tokens: keys ((0, 0), (1, 1)), ((0, 0), (1, -1)), ((0, 0), (0.5, 1))", "alpha = (1, 1, 1)",
            "minimise |p| subject to <k_(i alpha_i) - k_it, p> >= 1", "it is p = (4/3, 1/3)",
            "exactly those of (input, token) (1, 0), (2, 0)", "has a slack of at least 2/3 there",
            "at least 0.7276068 and at most 0.7276069",
        )),
        (cases.RELAXED, ("and only >= 0 for input 1", "p = (1, 1)")),
        (cases.MATRICES, (
            "queries q_i, the rows of ((1, 0), (0, 1))", "minimise |W|_F", "W = ((1, 0), (0, 0.5))",
        )),
        (cases.LABELS, (
            "3 points x_i ((1, 0), (0, -1), (1, 1)) with labels Y (1, -1, 1)", "Y_i x_i'v >= 1", "v = (1, 1)",
            "positive exactly for points 0, 1",
        )),
        (cases.NEAR, (
            "d = (1.3334, 0.3333)", "|d/m - p| <= 0.02", "among those of (input, token) (1, 0), (2, 0)",
            "slack of at least 0.6", "at least 0.7275 and at most 0.7277",
        )),
        (cases.NUCLEAR, (
            "minimise the nuclear norm |W|_* subject to", "with D = ((1, 0), (0, 0.25)) and m > 0",
            "|D/m|_* is at most 1 times the least norm", "the margin, 1 over the least norm, is 0.8",
        )),
        (cases.SUM, (
            "minimise |p|_1, the sum of all |p_k|, subject to", "with d = (1, 1) and m > 0",
            "|d/m|_1 is at most 1 times the least norm", "the margin, 1 over the least norm, is 1.5",
        )),
        (cases.LARGEST, (
            "minimise |W|_infinity, the largest |W_ab|, subject to", "|D/m|_infinity is at most 1 times",
        )),
        (cases.RELAXED_POWER, (
            "minimise |p|_l = (sum |p_k|^l)^(1/l) with l = 1.5 subject to", "and only >= 0 for input 1",
            "|d/m|_l is at most 1.000000002 times the least norm",
            "the solution p is unique, and |d/m - p|_l <= 0.000166",
        )),
        (cases.CONTRADICTION, ("no p satisfies these constraints",)),
    ):  # fmt: skip
        words = WORDINGS[CLAIM.name].statement(CLAIM.read(loads(next(family.cases()).text, arrays / "case.yaml"))).words
        assert [piece for piece in pieces if piece not in words] == [], words


def test_what_is_found_is_said_of_what_is_proved_only(arrays: Path) -> None:
    texts = {case.name: case.text for case in cases.CASES}
    said = check(texts["three inputs of two tokens"], arrays).findings
    assert said == (
        "the margin is [0.727606875108999 +/- 2.90e-16]; 2 of 3 constraints hold with equality",
        "2 nonzero multipliers: no others give this point",
    )
    said = check(texts["constraints that stand twice"], arrays).findings
    assert said[1] == "1 nonzero multiplier: others may give this point"
    assert check(texts["three inputs of two tokens: p turned round"], arrays).findings == ()


def test_a_wrong_witness_refutes_nothing(arrays: Path) -> None:
    """Everything that is asserted is false, and the multipliers are those of another point."""
    text = next(cases.THREE_INPUTS.cases()).text
    for old, new in (("4/3, 1/3", "5, 5"), ("gap: 2/3", "gap: 9"), ("at_least: 0.7276068", "at_least: 9")):
        text = text.replace(old, new)
    assert check(text, arrays).verdict is Verdict.REFUTED
    assert check(text.replace("7/9", "7/8"), arrays).verdict is Verdict.REJECTED
    only = CheckOptions(only="solution")
    wrong = loads(text.replace("7/9", "7/8"), arrays / "case.yaml")
    assert check_certificate(wrong, only).verdict is Verdict.REJECTED


# -- kernels with one part sabotaged


def passing(**wrong: fmpq) -> property:
    """The conditions with one of their numbers replaced."""
    real = MaxMargin.conditions.fget
    return property(lambda self: real(self)._replace(**wrong))


def computed(number: Callable[[NormMargin], fmpq]) -> property:
    return property(number, lambda self, found: None)


def every_multiplier(near: NormMargin) -> fmpq:
    return sum(near.multipliers.values(), fmpq(0))


def factors_alone(norm: NuclearNorm, point: ExactMatrix) -> fmpq:
    """The bound without what W~ has beside K'Q."""
    return (norm.K.inner(norm.K) + norm.Q.inner(norm.Q)) / 2


def largest_size(norm: PowerNorm, point: ExactMatrix) -> fmpq:
    return max(abs(entry) for entry in point.row(0))


real_reach = margin_norms.reach


SABOTAGE: dict[str, Sabotage] = {
    "negative slacks pass": (MaxMargin, "conditions", passing(slack=fmpq(0))),
    "multipliers of loose constraints pass": (MaxMargin, "complementarity", always(fmpq(0))),
    "slacks are not looked at": (
        MaxMargin,
        "slacks",
        property(lambda self: [fmpq(0)] * self.rows.rows, lambda self, computed: None),
    ),
    "the solution is not compared": (proof, "_identical", lambda left, relation, right: Outcome.PROVED),
    "upper bounds are not looked at": holds("<="),
    "lower bounds are not looked at": holds(">="),
    "strict lower bounds are not looked at": holds(">"),
    "conditions are not looked at": (max_margin, "optimal", believed),
    "the dual value is that of no multipliers": (MarginDistance, "dual_value", always(fmpq(10))),
    "multipliers always make the solution": (
        MarginDistance,
        "solution",
        property(lambda self: max_margin.combination(self.rows, self.multipliers)),
    ),
    "slacks of multipliers are not looked at": (MaxMargin, "slacks", always([fmpq(0)])),
    "the direction is always feasible": (MarginDistance, "smallest_relaxed", always(None)),
    "the norm is not divided by the margin": (MarginDistance, "norm_squared", always(fmpq(17, 9))),
    "neighbours have no norm": (MarginDistance, "looseness", lambda self, j, gap, radius: fmpq(1)),
    "singular values of multipliers are not looked at": (ExactMatrix, "negative_signs", lambda self: 0),
    "the larger square is a smaller one": (NuclearNorm, "room", lambda self, point: ExactMatrix.identity(2)),
    "what factors leave has no norm": (NuclearNorm, "bound", factors_alone),
    "multipliers of relaxed constraints count": (NormMargin, "least", computed(every_multiplier)),
    "every norm is the largest size": (PowerNorm, "bound", largest_size),
    "every norm is its own dual": (margin_norms, "conjugate", lambda exponent: exponent),
    "dual norms are not looked at": (PowerNorm, "dual", lambda self, point: (fmpq(0), fmpq(1))),
    "exponents do not matter": (margin_norms, "power", lambda x, exponent: arb(x)),
    "any norm is least at one point": (PowerNorm, "is_uniformly_convex", always(True)),
    "every norm is as convex as the Euclidean one": (
        max_margin,
        "reach",
        lambda exponent, norm, least: real_reach(fmpq(2), norm, least),
    ),
    "distances of powers below 2 are halved": (
        max_margin,
        "reach",
        lambda exponent, norm, least: real_reach(exponent, norm, least) / (4 if exponent < 2 else 1),
    ),
    "a direction has the margin 1": (Direction, "margin", always(fmpq(1))),
    "factors are feasible": (max_margin, "_feasible", lambda near, part: iter(())),
    "sums are 0": (Contradiction, "largest_entry", always(fmpq(0))),
    "totals are 1": (Contradiction, "total", always(fmpq(1))),
}


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


def test_every_row_of_a_problem_for_matrices_has_one_query() -> None:
    rows, queries = ExactMatrix.identity(2), ExactMatrix.identity(3)
    assert matrix_rows(rows, queries, [2, 0]) == ExactMatrix.rational([[*map(fmpq, (0, 0, 1, 0, 0, 0))],
                                                                      [*map(fmpq, (0, 0, 0, 1, 0, 0))]])  # fmt: skip
    for asked in ([2], [2, 0, 1]):
        with pytest.raises(ValueError):
            matrix_rows(rows, queries, asked)


def outcomes_of(stated: max_margin.MarginStatement) -> dict[str, Outcome]:
    decided = Proof(list(max_margin.obligations(stated)))
    decided.ask(decided.obligations, 64)
    return {name: answer.outcome for name, answer in decided.answers.items()}


def test_one_negative_multiplier_is_enough_for_no_proof(arrays: Path) -> None:
    """The reader refuses one; the bounds by duality need all of them, whoever made them."""
    near = next(case for case in cases.CASES if "within: 0.02" in case.text and case.verdict is ACCEPT)
    assertion = max_margin.read(loads(near.text, arrays / "case.yaml"))
    assert assertion.form == "nearly"
    assert set(outcomes_of(assertion).values()) == {Outcome.PROVED}
    multipliers = assertion.numbers
    assert len(multipliers) > 1
    negative = {**multipliers, min(multipliers): fmpq(-1, 10**9)}
    assert outcomes_of(replace(assertion, numbers=negative))["optimality.multipliers"] is Outcome.REFUTED


@pytest.mark.parametrize("exponent", [fmpq(21, 20), fmpq(3, 2), fmpq(2), fmpq(5, 2), fmpq(7)])
def test_no_feasible_point_is_farther_from_the_solution_than_its_norm_allows(exponent: fmpq) -> None:
    """Of p = (x, 1) with x free the least norm is 1, at x = 0: |q - p|_l = |x|, whatever x."""
    with working_precision(256):
        for x in (fmpq(1, 10**6), fmpq(1, 3), fmpq(1), fmpq(50)):
            bound = margin_norms.reach(exponent, margin_norms.power_norm([x, fmpq(1)], exponent), fmpq(1))
            away = margin_norms.power(x, margin_norms.reach_power(exponent))
            assert away.overlaps(bound) if exponent == 2 else away < bound


@pytest.mark.parametrize(
    ("norm", "key", "direction", "words"),
    [
        (
            "2001/2000",
            "[1, 1/1000]",
            "[1, 0]",
            "dual_norm {}, slightly smaller multipliers or l = 1, whose norms are exact",
        ),
        ("5000", "[1, 0]", "[1, 1/1000]", "excess {}, a weaker bound or l = infinity, whose norms are exact"),
    ],
)
def test_what_powers_leave_undecided_is_named_with_what_to_try(
    tmp_path: Path, norm: str, key: str, direction: str, words: str
) -> None:
    text = f"""certattn: 1
claim: max-margin
given: {{keys: [[[0, 0], {key}]], indices: [1], norm: {norm}}}
asserts: {{direction: {direction}, excess: 0}}
witness: {{multipliers: [{{input: 0, token: 0, multiplier: 1}}]}}
"""
    report = check(text, tmp_path)
    assert report.verdict is Verdict.INCONCLUSIVE
    tried = "are equal as far as can be seen: try more bits (--max-bits)"
    assert report.findings == (f"the sides of {words.format(tried)}",)
    one = text.replace(f"norm: {norm}", f"norm: {'infinity' if norm == '5000' else '1'}")
    assert check(one, tmp_path).verdict is Verdict.VERIFIED
