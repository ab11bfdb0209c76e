"""The corpora of the propositions and of `typical-prompt` are worth something, and agree with a second opinion.

As in `test_corpus_controls` and `test_mutations`: control checkers, sabotaged kernels, and every single change of
the accepted certificates against `tools/truth/proposition.py` and `tools/truth/typical_prompt.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import proposition_cases
import pytest
import typical_cases
from corpus import ACCEPT, MALFORMED, REFUTED, REJECTED, Case, Family, complaints, notices
from flint import arb, fmpq
from sabotaged import true

from certattn.kernel.decide import proof
from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import every_length
from certattn.kernel.theorems.prompts import output_tail, propositions, typical_prompt
from certattn.kernel.theorems.prompts.mathematics import over_queries
from certattn.kernel.theorems.prompts.mathematics.over_queries import TokenBox, WeightedQueries, constant
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.statements.reports import Report

CORPORA = {"propositions": proposition_cases.CASES, "typical-prompt": typical_cases.CASES}
FAMILIES = [*proposition_cases.FAMILIES, *typical_cases.FAMILIES]


# -- control checkers


@pytest.mark.parametrize("cases", CORPORA.values(), ids=CORPORA.keys())
def test_a_checker_that_verifies_everything_gets_every_reject_wrong(cases: list[Case], arrays: Path) -> None:
    wrong = complaints(cases, arrays, lambda text, folder: Report("c.yaml", Verdict.VERIFIED))
    assert len(wrong) == sum(case.verdict is not ACCEPT for case in cases) > 25


@pytest.mark.parametrize("refusal", [REFUTED, REJECTED, MALFORMED])
@pytest.mark.parametrize("cases", CORPORA.values(), ids=CORPORA.keys())
def test_a_checker_that_rejects_everything_gets_every_accept_wrong(
    cases: list[Case], refusal: Verdict, arrays: Path
) -> None:
    wrong = complaints(cases, arrays, lambda text, folder: Report("c.yaml", refusal))
    assert len(wrong) >= sum(case.verdict is ACCEPT for case in cases) > 10


# -- sabotaged kernels


def holding(*kinds: str) -> Callable[..., Obligation]:
    """Obligations, of which those of these names and relations hold whatever is compared."""

    def made(name: str, left: Any, relation: Any, right: Any, *others: Any) -> Obligation:
        here = f"{name.partition('[')[0]} {relation}" in kinds
        return true(name) if here else Obligation(name, left, relation, right, *others)

    return made


def unweighted(S: Any, W: Any, rate: fmpq) -> WeightedQueries:
    return WeightedQueries(fmpq(1), S)


def of_small_rates(S: Any, W: Any, rate: fmpq) -> WeightedQueries | None:
    found = over_queries.weighted_queries(S, W, rate)
    return found if found is not None else WeightedQueries(fmpq(1), S)


def product_of_means(forms: Any, covariance: Any) -> fmpq:
    total = fmpq(1)
    for form in forms:
        total *= (form @ covariance).trace()
    return total


def without_queries(setting: Any, error: Any) -> Any:
    return constant((setting.read_out(error) @ setting.covariance @ setting.read_out(error).T).trace())


def one_length(self: Any, bound: Any, lengths: Any) -> arb:
    last = list(lengths)[-1:]
    return WORST(self, bound, last)


WORST = propositions.Display.worst

PROPOSITION_SABOTAGE: dict[str, tuple[Any, str, Any]] = {
    "every inequality holds": (proof, "decide", lambda left, relation, right: Outcome.PROVED),
    "no display fails": (propositions, "Obligation", holding("published <")),
    "every display holds": (propositions, "Obligation", holding("published >=")),
    "the bound is not compared with c1": (propositions, "Obligation", holding("steps <=", "before <=", "onwards <=")),
    "monotony is not looked at": (propositions, "Obligation", holding("monotone >=")),
    "what is unproved passes": (propositions, "NoProof", true),
    "the left side is that of many tokens": (propositions, "left_side", lambda *_: fmpq(1, 10**9)),
    "the display has no logarithm": (propositions, "display", lambda n, rho, sigma: sigma**6),
    "sigma is one": (propositions, "display", lambda n, rho, sigma: every_length.display(n, rho, arb(1))),
    "the display does not decay": (
        propositions, "display", lambda n, rho, sigma: every_length.display(n, arb(0), sigma),
    ),
    "queries are not weighted": (propositions, "weighted_queries", unweighted),
    "infinite averages are finite": (propositions, "weighted_queries", of_small_rates),
    "forms are independent": (over_queries, "product_mean", product_of_means),
    "the tokens' own spread alone": (propositions, "error_polynomial", without_queries),
    "no determinant": (over_queries, "determinant", lambda matrix: fmpq(1)),
    "no peak": (every_length, "log_peak", lambda theta: arb(0)),
    "the last length is the worst": (propositions.Display, "worst", one_length),
    "mixed terms are left out": (
        propositions, "_size_of_mixed", lambda left, right, total: (left.T @ left).scaled(fmpq(0)),
    ),
    "any law is sub-Gaussian": (propositions, "is_sub_gaussian", lambda law, variance: True),
    "any law is centred": (propositions, "is_centred", lambda law: True),
    "any left side is exact": (propositions, "_require_exact_left_side", lambda *_: None),
    "weights of tokens on a box are one": (TokenBox, "_second_weight", lambda self: arb(1)),
    "tokens on a box do not drift": (over_queries, "_smaller", lambda x, y: arb(0)),
    "the box has half its width": (TokenBox, "_far", lambda self: list(self.sizes)),
    "scales are one": (propositions, "scale_ball", lambda scale: arb(1)),
    "signs of V count": (propositions, "_sizes", lambda matrix: matrix),
}  # fmt: skip

TYPICAL_SABOTAGE: dict[str, tuple[Any, str, Any]] = {
    "every inequality holds": (proof, "decide", lambda left, relation, right: Outcome.PROVED),
    "this prompt is not looked at": (typical_prompt, "Obligation", true),
    "random prompts are not looked at": (output_tail, "Obligation", true),
    "this prompt is the infinite one": (typical_prompt.Compared, "difference", lambda self: [arb(0)]),
    "directions are not signed": (typical_prompt, "dot", lambda u, v: abs(u[0] * v[0])),
    "there is one token": (
        typical_prompt.Compared, "random",
        lambda self: RandomPrompt(self.law, self.prompt.stated_queries, fmpq(1), self.prompt.weights, 1),
    ),
}  # fmt: skip
ALL = [("propositions", name) for name in PROPOSITION_SABOTAGE] + [
    ("typical-prompt", name) for name in TYPICAL_SABOTAGE
]


@pytest.mark.parametrize(("corpus", "name"), ALL)
def test_a_sabotaged_kernel_fails(corpus: str, name: str, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = PROPOSITION_SABOTAGE if corpus == "propositions" else TYPICAL_SABOTAGE
    monkeypatch.setattr(*table[name])
    assert notices(CORPORA[corpus], arrays)


# -- a second opinion


@pytest.fixture(scope="module")
def truth(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("truth.certificate")


@pytest.fixture(scope="module")
def mutate(truth: ModuleType, tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("mutation.mutate_certificates")


@pytest.mark.parametrize("cases", CORPORA.values(), ids=CORPORA.keys())
def test_what_the_corpus_expects_is_true(cases: list[Case], arrays: Path, truth: ModuleType) -> None:
    """Accepted cases state what is true, refuted ones something false, rejected ones what the witness does not show."""
    for case in cases:
        if case.verdict is MALFORMED:
            continue
        judgement = truth.judge(loads(case.text, arrays / "case.yaml").plain, arrays)
        if case.verdict is ACCEPT:
            assert judgement.truth is truth.Truth.TRUE, case.name
        if case.verdict is REFUTED:
            assert judgement.truth is truth.Truth.FALSE, case.name
        if case.verdict is REJECTED:
            assert not judgement.provable, case.name


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_no_mutant_is_falsely_accepted_or_refuted(family: Family, arrays: Path, mutate: ModuleType) -> None:
    tree = loads(next(family.cases()).text, arrays / "case.yaml").plain
    # Where prompts are simulated, every third or fifth change; the script does all of them.
    every = 5 if family.claim == "typical-prompt" else 3 if "repaired" in family.title else 1
    mutants = list(mutate.mutants(tree))[::every]
    tally = mutate.sweep(mutants, arrays)
    assert tally.mutants == len(mutants) > 150
    assert tally.errors == tally.not_verified == []
    assert tally.verified_true > 20
    assert tally.refused > 50


def test_the_sweep_notices_a_checker_that_lets_things_pass(
    arrays: Path, mutate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "decide", lambda left, relation, right: Outcome.PROVED)
    for family in (proposition_cases.FAMILIES[4], proposition_cases.FAMILIES[7]):
        tree = loads(next(family.cases()).text, arrays / "case.yaml").plain
        assert len(mutate.sweep(list(mutate.mutants(tree))[::3], arrays).false_accepts) > 3
