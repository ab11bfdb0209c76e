"""Theorems D and F as theorems of `selection-direction`: `local` from p(K), and `cone` from every point of a cone.

The formulas stand in `mathematics.local_convergence` and `mathematics.cone_convergence`, the conditions in
`local_obligations`, the proofs in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, at_least, at_most
from certattn.kernel.document.fields import Field, Listing, Rational, Record, Values
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.descent_inputs import CONE, FLOW, GRADIENT, NORMALISED, Rule, Start
from certattn.kernel.theorems.selection.local_obligations import (
    cone_names,
    cone_obligations,
    local_names,
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
from certattn.kernel.theorems.selection.selection_theorems import (
    GROWTH,
    LATERAL,
    OFFSET,
    ROOT,
    SLOPE,
    SQUARE,
    Conclusion,
    Situation,
    Theorem,
    rate_names,
)

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


class Local(Theorem):
    """Theorem D at p(K)."""

    name = "local"
    rules = (GRADIENT, FLOW, NORMALISED)
    record = Record(REFERENCE, FRACTIONS, INFLATION, SETBACK, PROGRESS, MOVE, NEAR)
    rate_form = ROOT

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> LocalTrial:
        return read_trial(values, selection, rule)

    def names(self, parameters: LocalTrial, selection: Selection) -> list[str]:
        return local_names(self.name, selection, parameters.move > 0)

    def apply(self, situation: Situation, parameters: LocalTrial) -> Conclusion:
        assert situation.point is not None
        proof = LocalConvergence(local_constants(situation), move_rule(situation.rule), situation.point, parameters)
        conditions = local_obligations(self.name, proof, situation.bits)
        return Conclusion(conditions, lambda: RootRate(proof))


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

    def obligations(self, stated: Values, elapsed: fmpq, bits: int) -> list[Obligation]:
        proof, part = self.proof, Part.WITNESS
        lateral, square, growth, offset, slope = rate_names(ROOT)
        margin = proof.constants.margin
        start, pace = proof.pace(elapsed)
        return [
            at_least(lateral, "A >= Xi (|q| + E)", stated[LATERAL], margin * proof.lateral, bits, part=part),
            at_least(
                square,
                "S >= Xi^2 (B^2 - 2 kappa (x_0 - E_u) / Xi)",
                stated[SQUARE],
                margin**2 * proof.square,
                bits,
                part=part,
            ),
            at_least(growth, "G >= 2 kappa", stated[GROWTH], margin * proof.growth, bits, part=part),
            at_most(offset, "B <= the offset proved at k0", stated[OFFSET], start, bits, part=part),
            at_most(slope, "C <= the slope proved", stated[SLOPE], pace, bits, part=part),
        ]


class ConeTheorem(Theorem):
    """Theorem F."""

    name = "cone"
    rules = (GRADIENT, FLOW, NORMALISED)
    record = Record(OPENING_SLOPE)
    rate_form = ""
    starts = (CONE,)

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> tuple[Cone | None, fmpq]:
        return start.cone, values[OPENING_SLOPE]

    def names(self, parameters: tuple[Cone | None, fmpq], selection: Selection) -> list[str]:
        return cone_names(self.name, selection)

    def apply(self, situation: Situation, parameters: tuple[Cone | None, fmpq]) -> Conclusion:
        cone, slope = parameters
        assert cone is not None
        proof = ConeConvergence(local_constants(situation), move_rule(situation.rule), cone, slope)
        return Conclusion(cone_obligations(self.name, proof, situation.bits), None)

    def delay(self, parameters: tuple[Cone | None, fmpq]) -> fmpq | None:
        return None


LOCAL = Local()
CONE_THEOREM = ConeTheorem()
