"""Theorem `descent-trajectory`: training on concrete prompts beside training on infinite ones, step by step.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from flint import arb, ctx

from certattn.kernel.decide.obligation import NoBound, Obligation, Shared
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Record, Values, some_of
from certattn.kernel.theorems.training.descent_setting import GIVEN, Setting, read_setting
from certattn.kernel.theorems.training.gronwall_bound import GRONWALL, Gronwall, read_gronwall
from certattn.kernel.theorems.training.mathematics.context_descent import pairs
from certattn.kernel.theorems.training.trajectory_assertions import (
    CHECKPOINTS,
    GRADIENT_GAP,
    RISK_GAP,
    TUBE,
    Assertion,
    AtStep,
    read_assertions,
)

_ASSERTED = (TUBE, RISK_GAP, GRADIENT_GAP, CHECKPOINTS, GRONWALL)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record(BITS)


@dataclass(frozen=True)
class StatedDescents:
    """Both descents, and what is asserted of them."""

    setting: Setting
    asserts: Values
    assertions: Sequence[Assertion]


def read(certificate: Certificate) -> StatedDescents:
    """Every step and shape checked. Raises MalformedError."""
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    setting = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    assertions = read_assertions(asserts, setting)
    if GRONWALL in asserts:
        assertions.append(read_gronwall(asserts[GRONWALL], setting))
    return StatedDescents(setting, asserts, assertions)


def read_given(certificate: Certificate) -> Setting:
    """The section `given` alone. Raises MalformedError."""
    return read_setting(*GIVEN.read(certificate.given, certificate.reading))


def obligations(stated: StatedDescents) -> Iterator[Obligation]:
    walk = Shared(lambda: Walk(stated))
    for assertion in stated.assertions:
        if isinstance(assertion, Gronwall):
            yield Obligation("gronwall.radius", assertion.closing, "<=", assertion.radius)
        for at in assertion.at_steps():
            for one in at.compared:
                side = partial(_side, walk, one.name, at.step)
                yield Obligation(one.name, side, one.relation, one.bound, one.part)


def _side(walk: Shared[Walk], name: str, step: int) -> arb:
    return walk().value(name, step)


class Walk:
    """Both descents at the working precision, as far as they are asked for. Of each pair only numbers are kept."""

    def __init__(self, stated: StatedDescents) -> None:
        setting = stated.setting
        self._pairs = pairs(
            setting.prompts.loss(), setting.infinite(ctx.prec), setting.start.balls(), arb(setting.step)
        )
        self._by_step: dict[int, list[AtStep]] = {}
        for assertion in stated.assertions:
            for at in assertion.at_steps():
                self._by_step.setdefault(at.step, []).append(at)
        self._next = 0
        self._found: dict[str, arb | NoBound] = {}

    def value(self, name: str, step: int) -> arb:
        """What has this name after so many steps. Raises NoBound."""
        while self._next <= step:
            pair = next(self._pairs)
            for at in self._by_step.get(self._next, []):
                self._found.update(zip((one.name for one in at.compared), at.values(pair), strict=True))
            self._next += 1
        found = self._found[name]
        if isinstance(found, NoBound):
            raise found
        return found


THEOREM = Theorem(
    name="descent-trajectory",
    title="gradient descent on concrete prompts beside the same descent on infinite ones",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
