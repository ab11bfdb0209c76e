"""Claim `descent-trajectory`: training on concrete prompts beside training on infinite ones, step by step.

Given N prompts of numbers, each with a query and a target, a start theta_0 and a step eta, let

    theta_(k+1) = theta_k - eta grad R(theta_k),      k = 0, ..., K - 1,

be gradient descent on the loss R_L of these prompts (theta^L) and on the loss R_inf of infinite prompts
(theta^inf). A certificate asserts, with the Frobenius norm of all trained numbers, one or more of

    distance       |theta_k^L - theta_k^inf| <= eps_k                        for every k <= K
    risk_gap       |R_L - R_inf| <= eps_k                                    for every k <= K
    gradient_gap   |grad R_L - grad R_inf| <= eps_k                          for every k <= K
    checkpoints    ranges of the distance and of both risks, and the iterates up to a radius, at stated k
    gronwall       |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu     by constants of a tube around theta^inf

Both descents are enclosed in Arb balls from the exact start. Boursier and Boyer 2026, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flint import arb

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Count, Field, Record
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.descent_setting import GIVEN, Setting, read_setting
from certattn.kernel.theorems.training.gronwall_bound import GRONWALL, read_gronwall
from certattn.kernel.theorems.training.mathematics.context_descent import pairs
from certattn.kernel.theorems.training.trajectory_assertions import (
    CHECKPOINTS,
    GRADIENT_GAP,
    RISK_GAP,
    TUBE,
    Asserted,
    Assertion,
    read_assertions,
)

BITS = Field("bits", Count(2), "working precision at which to begin", required=False)


@dataclass(frozen=True)
class Problem:
    """Both descents, and what is asserted of them."""

    setting: Setting
    assertions: Sequence[Assertion]

    def asserted(self) -> list[Asserted]:
        return [part for assertion in self.assertions for part in assertion.asserted()]


class DescentTrajectory(Claim[Problem]):
    name = "descent-trajectory"
    title = "gradient descent on concrete prompts beside the same descent on infinite ones"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(TUBE, RISK_GAP, GRADIENT_GAP, CHECKPOINTS, GRONWALL)
    witness = Record(BITS)

    def read(self, certificate: Certificate) -> Problem:
        self.first_bits(certificate)
        setting = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        assertions = read_assertions(asserts, setting)
        if GRONWALL in asserts:
            assertions.append(read_gronwall(asserts[GRONWALL], setting))
        if not assertions:
            raise asserts.at.malformed(" or ".join(self.asserts.fields), "nothing that is asserted")
        return Problem(setting, assertions)

    def read_given(self, certificate: Certificate) -> Setting:
        """The section `given` alone. Raises MalformedError."""
        return read_setting(*GIVEN.read(certificate.given, certificate.reading))

    def first_bits(self, certificate: Certificate) -> int | None:
        if certificate.witness is None:
            return None
        return self.witness.read(certificate.witness, certificate.reading).get(BITS)

    def statement(self, problem: Problem) -> Statement:
        setting = problem.setting
        words = (
            f"Let theta^L and theta^inf be {counted(setting.steps, 'step')} "
            "theta_(k+1) = theta_k - eta grad R(theta_k) of gradient descent with "
            f"eta = {describe(setting.step)} from {setting.start.words()}, the first on R_L and "
            f"the second on R_inf. {setting.finite_words}, for {setting.prompts.words()}. R_inf is "
            f"{setting.infinite_words}. With Frobenius norms of {' and '.join(setting.start.names)} together: "
            f"{'; '.join(assertion.words() for assertion in problem.assertions)}."
        )
        latex = (
            r"\theta_{k+1} = \theta_k - \eta \nabla R(\theta_k), \qquad "
            r"\| \theta^L_k - \theta^\infty_k \| \le \varepsilon_k, \quad k \le K"
        )
        return Statement(words, latex)

    def names(self, problem: Problem) -> list[str]:
        return [name for part in problem.asserted() for name in part.names]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        wanted, setting = frozenset(names), problem.setting
        by_step: dict[int, list[Asserted]] = {}
        for part in problem.asserted():
            if not wanted.isdisjoint(part.names):
                by_step.setdefault(part.step, []).append(part)
        both = pairs(setting.prompts.loss(), setting.infinite(bits), setting.start.balls(), arb(setting.step))
        found: list[Obligation] = []
        for k, pair in zip(range(max(by_step) + 1), both, strict=False):
            found += [obligation for part in by_step.get(k, []) for obligation in part.of(pair, bits)]
        return [obligation for obligation in found if obligation.name in wanted]


CLAIM = DescentTrajectory()
