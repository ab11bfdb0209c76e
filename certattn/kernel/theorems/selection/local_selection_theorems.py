"""Theorems D and F as theorems of `selection-direction`: `local` from p(K), and `cone` from every point of a cone.

The formulas stand in `mathematics.local_convergence` and `mathematics.cone_convergence`, the conditions in
`local_obligations`, the proofs in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Range, Shared
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.descent import CONE, FLOW, GRADIENT, NORMALISED, Rule, Start
from certattn.kernel.theorems.selection.direction_theorems import (
    GROWTH,
    LATERAL,
    OFFSET,
    ROOT,
    SLOPE,
    SQUARE,
    Conclusion,
    DescentTheorem,
    Situation,
)
from certattn.kernel.theorems.selection.local_obligations import (
    cone_obligations,
    local_obligations,
)
from certattn.kernel.theorems.selection.mathematics.cone_convergence import Cone, ConeConvergence
from certattn.kernel.theorems.selection.mathematics.descent_rules import (
    FlowRule,
    GradientRule,
    MoveRule,
    NormalisedRule,
)
from certattn.kernel.theorems.selection.mathematics.local_constants import LocalConstants
from certattn.kernel.theorems.selection.mathematics.local_convergence import LocalConvergence, LocalTrial

REFERENCE = Field("reference", Vector(), "a vector; its part across p_mm is the reference point q")
FRACTIONS = Field(
    "fractions",
    Listing(Rational(above=0)),
    "lambda_t / (delta_t Xi), below 1, of every token that scores no less than the chosen one, in their order",
    required=False,
)
INFLATION = Field("inflation", Rational(above=1), "Omega > 1, where there are such tokens", required=False)
SETBACK = Field("setback", Rational(minimum=0), "E_u >= 0; 0 if left out", required=False)
PROGRESS = Field("progress", Rational(above=0), "chi, at most that of Lemma 4")
MOVE = Field("move", Rational(above=0), "a bound of how far one step moves; none for the flow", required=False)
NEAR = Field(
    "near", Rational(minimum=0), "good tokens of slack at most this count with the neighbours; 0 if left out", False
)
OPENING_SLOPE = Field("slope", Rational(above=0), "tau, the tangent of a wider cone that descent stays in")


def move_rule(rule: Rule) -> MoveRule:
    """The rule on the sum F of the losses."""
    if rule.step is None:
        return FlowRule(fmpq(1, rule.inputs))
    return NormalisedRule(rule.step) if rule.kind == NORMALISED else GradientRule(rule.step / rule.inputs)


def local_constants(situation: Situation) -> LocalConstants:
    """What both theorems depend on."""
    constants = situation.constants
    return LocalConstants(constants.selection, constants.loss, constants.solution)


class Local(DescentTheorem):
    """Theorem D at p(K)."""

    name = "local"
    rules = (GRADIENT, FLOW, NORMALISED)
    record = Record(REFERENCE, FRACTIONS, INFLATION, SETBACK, PROGRESS, MOVE, NEAR)
    rate_form = ROOT

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> LocalTrial:
        return read_trial(values, selection, rule)

    def apply(
        self,
        situation: Callable[[], Situation],
        parameters: LocalTrial,
        selection: Selection,
        needs: Sequence[str] = (),
    ) -> Conclusion:
        proof = Shared(lambda: _local(situation(), parameters))
        return Conclusion(
            list(local_obligations(self.name, proof, parameters, selection, needs)),
            Shared(lambda: RootRate(proof())),
        )


def _local(situation: Situation, trial: LocalTrial) -> LocalConvergence:
    assert situation.point is not None
    return LocalConvergence(local_constants(situation), move_rule(situation.rule), situation.point, trial)


def read_trial(values: Values, selection: Selection, rule: Rule) -> LocalTrial:
    """The numbers of a proof by Theorem D. Raises MalformedError."""
    reference = values[REFERENCE]
    reference.require_length(selection.tokens.dimension, "a key")
    for field in (FRACTIONS, INFLATION):
        if (field in values) is not bool(selection.bad):
            if selection.bad:
                raise values.at.malformed(f"{field.name}, as some tokens score no less than the chosen ones", "none")
            raise values.node(field).malformed(f"no {field.name}, as every token scores less than the chosen one")
    if (MOVE in values) is not rule.discrete:
        if rule.discrete:
            raise values.at.malformed("move, a bound of how far one step moves", "none")
        raise values.node(MOVE).malformed("no move, as the flow has no steps")
    fractions = values.get(FRACTIONS) or []
    if len(fractions) != len(selection.bad):
        expected = f"{counted(len(selection.bad), 'fraction')}, one for every token that scores no less than the chosen"
        raise values.node(FRACTIONS).malformed(expected, f"{len(fractions)}")
    return LocalTrial(
        reference.load(),
        dict(zip(selection.bad, fractions, strict=True)),
        values.get(INFLATION) or fmpq(1),
        values.get(SETBACK) or fmpq(0),
        values[PROGRESS],
        values.get(MOVE) or fmpq(0),
        values.get(NEAR) or fmpq(0),
    )


@dataclass(frozen=True)
class RootRate:
    """1 - cos <= tan^2 / 2 with tan <= (A + sqrt(S + G l)) / l, l = log(B + C (k - K)), from Theorem D."""

    proof: LocalConvergence

    def at(self, elapsed: fmpq) -> arb:
        """1 - 1/sqrt(1 + tan^2), at most 1 as the angle is acute."""
        square = self.proof.tangent(elapsed) ** 2
        root = (1 + square).sqrt()
        # 1 - 1/r = (r^2 - 1) / (r (r + 1)), without cancellation
        return (square / (root * (root + 1))).min(arb(1))

    def proved(self, elapsed: fmpq) -> Mapping[str, arb | Range]:
        """A = Xi (|q| + E), S = Xi^2 (B^2 - 2 kappa (x_0 - E_u) / Xi), G = 2 kappa, and B and C at k0."""
        proof = self.proof
        margin = proof.constants.margin
        start, pace = proof.pace(elapsed)
        return {
            LATERAL.name: margin * proof.lateral,
            SQUARE.name: margin**2 * proof.square,
            GROWTH.name: margin * proof.growth,
            OFFSET.name: start,
            SLOPE.name: pace,
        }


class ConeTheorem(DescentTheorem):
    """Theorem F."""

    name = "cone"
    rules = (GRADIENT, FLOW, NORMALISED)
    record = Record(OPENING_SLOPE)
    rate_form = ""
    starts = (CONE,)

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> tuple[Cone | None, fmpq]:
        return start.cone, values[OPENING_SLOPE]

    def apply(
        self,
        situation: Callable[[], Situation],
        parameters: tuple[Cone | None, fmpq],
        selection: Selection,
        needs: Sequence[str] = (),
    ) -> Conclusion:
        cone, slope = parameters
        assert cone is not None
        proof = Shared(lambda: ConeConvergence(local_constants(situation()), move_rule(situation().rule), cone, slope))
        return Conclusion(list(cone_obligations(self.name, proof, selection, needs)), None)

    def delay(self, parameters: tuple[Cone | None, fmpq]) -> fmpq | None:
        return None


LOCAL = Local()
CONE_THEOREM = ConeTheorem()
