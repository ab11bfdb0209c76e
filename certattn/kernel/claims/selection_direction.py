"""Claim `selection-direction`: where descent on the loss of token selection goes.

Keys k_it and scores gamma_it of the tokens of n inputs, a loss l, and

    L(p) = (1/n) sum_i l( sum_t gamma_it s_it ),     s_i = softmax of <k_it, p> over t.

A certificate asserts that descent by a stated rule from a stated p(0) (or every p(0) of a box, or every p(0)) has
|p(k)| -> infinity and p(k) / |p(k)| -> p_mm / |p_mm|, p_mm being the one point of least norm with
<k_i alpha_i - k_it, p> >= 1 for all t != alpha_i; and it may assert p_mm itself, bounds of 1 - cos angle(p(k), p_mm)
at some k, and one for all k >= k0.

Proof: p_mm by its KKT conditions; p(K) is enclosed by K steps; a theorem whose conditions are proved at p(K) says the
rest (Ataee Tarzanagh, Li, Zhang and Oymak 2023, theorems 1 to 3, in explicit form: docs/claims/selection-direction.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from certattn.kernel.arithmetic.balls import ARB, l2_norm
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.losses import LOSSES, Loss
from certattn.kernel.arithmetic.max_margin import MaxMargin, hard_margin
from certattn.kernel.arithmetic.reals import describe
from certattn.kernel.arithmetic.selection_constants import SelectionConstants
from certattn.kernel.arithmetic.selection_descent import Enclosure, descend
from certattn.kernel.arithmetic.selection_landscape import inner, landscape
from certattn.kernel.arithmetic.token_selection import Selection
from certattn.kernel.claims.claim import Claim, Statement
from certattn.kernel.claims.descent_inputs import DESCENT, START, Rule, Start, read_rule, read_start
from certattn.kernel.claims.global_selection_theorems import EVERY_START, GLOBAL
from certattn.kernel.claims.kkt import MULTIPLIERS, kkt_names, kkt_obligations, read_multipliers
from certattn.kernel.claims.selection_inputs import INDICES, LOSS, read_selection, read_tokens, scored_token_forms
from certattn.kernel.claims.selection_theorems import (
    FROM,
    RATE,
    Conclusion,
    Situation,
    Theorem,
    rate_names,
    rate_words,
)
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import ByKey, Count, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.verdict import Obligation, Outcome, Part, at_most, identical, unproved

THEOREMS: Mapping[str, Theorem] = {theorem.name: theorem for theorem in (EVERY_START, GLOBAL)}

GIVEN = scored_token_forms(LOSS, DESCENT, START)

LIMIT = Field("limit", Vector(), "p_mm, exactly", required=False)
ANGLE_STEP = Field("step", Count(0), "a step k")
ANGLE_TIME = Field("time", Rational(minimum=0), "a time of the flow")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of 1 - cos angle(p(k), p_mm)")
ANGLES = Field(
    "angles",
    Listing(ByKey({"time": Record(ANGLE_TIME, AT_MOST), "step": Record(ANGLE_STEP, AT_MOST)})),
    "bounds of 1 - cos angle at some steps or times",
    required=False,
)

STEPS = Field("steps", Count(0), "K, the steps that are enclosed before the theorem is applied; 0 if left out", False)
BITS = Field("bits", Count(2), "working precision at which to begin", required=False)
THEOREM = Field(
    "theorem",
    Variant("name", {name: theorem.record for name, theorem in THEOREMS.items()}),
    "the theorem that is applied at p(K), with its parameters",
)

# So many steps are enclosed in a minute or two.
MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class StatedAngle:
    """1 - cos angle(p(k), p_mm) <= at_most at k = `at`."""

    at: fmpq
    at_most: fmpq


@dataclass(frozen=True)
class StatedRate:
    """A bound for all later steps: its form, its numbers, and where it begins."""

    form: str
    values: Values


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, and how it is to be proved."""

    words: str
    selection: Selection
    loss: Loss
    rule: Rule
    start: Start
    solution: MaxMargin
    limit: ExactMatrix | None
    angles: list[StatedAngle]
    rate: StatedRate | None
    steps: int
    theorem: Theorem
    parameters: Any

    @cached_property
    def theorem_names(self) -> list[str]:
        return self.theorem.names(self.parameters, self.selection)

    @property
    def rate_begins(self) -> fmpq | None:
        """From when on the theorem's rate holds; None where it gives none."""
        delay = self.theorem.delay(self.parameters)
        return None if delay is None else self.steps + delay

    def is_direct(self, angle: StatedAngle) -> bool:
        """Whether p(k) is enclosed itself: at k <= K, and at the start of the flow."""
        return angle.at <= self.steps


class SelectionDirection(Claim[Problem]):
    name = "selection-direction"
    title = "the direction that descent on the loss of token selection converges to"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(INDICES, LIMIT, ANGLES, RATE)
    witness = Record(MULTIPLIERS, STEPS, THEOREM, BITS)

    def read(self, certificate: Certificate) -> Problem:
        form, given = GIVEN.read(certificate.given, certificate.reading)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if certificate.witness is None:
            raise certificate.asserts.malformed("a witness with multipliers and a theorem", "no witness")
        witness = self.witness.read(certificate.witness, certificate.reading)
        stated = read_tokens(form, given)
        selection = read_selection(stated, asserts[INDICES], asserts.node(INDICES))
        rule = read_rule(given[DESCENT], selection.tokens.count)
        start = read_start(given[START], selection.tokens.dimension)
        name, values = witness[THEOREM]
        theorem = THEOREMS[name]
        parameters = theorem.read(values, start, selection)
        problem = Problem(
            stated.words,
            selection,
            LOSSES[given[LOSS]],
            rule,
            start,
            hard_margin(selection.differences, read_multipliers(witness[MULTIPLIERS], selection)),
            _read_limit(asserts, selection),
            _read_angles(asserts, rule),
            StatedRate(*asserts[RATE]) if RATE in asserts else None,
            witness.get(STEPS) or 0,
            theorem,
            parameters,
        )
        _require_fit(problem, given, asserts, witness)
        return problem

    def first_bits(self, certificate: Certificate) -> int | None:
        witness = certificate.witness
        return self.witness.read(witness, certificate.reading).get(BITS) if witness is not None else None

    def statement(self, problem: Problem) -> Statement:
        indices = ", ".join(map(str, problem.selection.indices))
        time = "k" if problem.rule.discrete else "t"
        words = [
            f"For {problem.words}, {problem.rule.words()} on L(p) = (1/n) sum_i l(sum_t gamma_it s_it), s_i the "
            f"softmax of <k_it, p> over t, with {_loss_words(problem.loss)}, from {problem.start.words} "
            f"has |p({time})| -> infinity and p({time})/|p({time})| -> p_mm/|p_mm|, where p_mm is the point of "
            f"least norm with <k_ia - k_it, p> >= 1 for the chosen tokens a = ({indices}) and all other t of input i"
        ]
        angle = f"1 - cos angle(p({time}), p_mm)"
        latex = [r"\|p_k\| \to \infty,\quad p_k / \|p_k\| \to p_{mm} / \|p_{mm}\|"]
        if problem.limit is not None:
            words.append(f"p_mm = {problem.limit}")
        for stated in problem.angles:
            words.append(f"{angle} <= {describe(stated.at_most)} at {time} = {describe(stated.at)}")
        if problem.rate is not None:
            formula = rate_words(problem.rate.form, problem.rate.values, time)
            words.append(f"{angle} <= {formula} for all {time} >= {describe(problem.rate.values[FROM])}")
        if problem.angles or problem.rate is not None:
            latex.append(r"1 - \cos \angle(p_k, p_{mm}) \le b_k")
        return Statement("; ".join(words) + ".", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = kkt_names("p_mm")
        if problem.limit is not None:
            names.append("limit")
        names += problem.theorem_names + [f"angles[{index}]" for index in range(len(problem.angles))]
        return names + (rate_names(problem.rate.form) if problem.rate is not None else [])

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = kkt_obligations("p_mm", problem.solution, "p_mm")
        rest = [name for name in self.names(problem) if name not in {o.name for o in found}]
        if any(o.outcome is not Outcome.PROVED for o in found):
            reason = "the multipliers are not those of the max-margin point"
            found += [unproved(name, "it rests on p_mm", reason) for name in rest]
        else:
            if problem.limit is not None:
                found.append(identical("limit", "limit = p_mm", problem.limit, problem.solution.solution))
            if any(name in names for name in rest if name != "limit"):
                found += _Proof(problem, bits).obligations()
        return [obligation for obligation in found if obligation.name in names]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        if any(o.name.startswith("p_mm.") and o.outcome is not Outcome.PROVED for o in obligations):
            return []
        return [f"p_mm = {problem.solution.solution}, by the theorem {problem.theorem.name!r} at step {problem.steps}"]


class _Proof:
    """The part of the proof that depends on the precision, where the KKT conditions are proved."""

    def __init__(self, problem: Problem, bits: int) -> None:
        self._problem = problem
        self._bits = bits
        self._landscape = landscape(problem.selection, problem.loss)
        self._constants = SelectionConstants(problem.selection, problem.loss, problem.solution)
        self._enclosures = self._descent()

    def obligations(self) -> list[Obligation]:
        problem = self._problem
        last = self._enclosures.get(problem.steps)
        point = last.box if last is not None else None
        situation = Situation(self._constants, self._landscape, problem.rule, point, self._bits)
        conclusion = problem.theorem.apply(situation, problem.parameters)
        return [*conclusion.conditions, *self._direct_angles(), *self._later(conclusion)]

    def _descent(self) -> dict[int, Enclosure]:
        problem = self._problem
        if problem.start.everywhere:
            return {}
        stops = [int(angle.at.p) for angle in problem.angles if problem.is_direct(angle)]
        step = problem.rule.on(self._landscape)
        return descend(step, problem.start.balls(), problem.steps, stops)

    def _direct_angles(self) -> list[Obligation]:
        """Where p(k) is enclosed: what is compared is the stated quantity itself."""
        found = []
        for index, angle in enumerate(self._problem.angles):
            if self._problem.is_direct(angle):
                point = self._enclosures[int(angle.at.p)].box
                value = 1 - inner(self._constants.direction, point) / l2_norm(point)
                sentence = f"1 - cos angle(p({describe(angle.at)}), p_mm)"
                found.append(at_most(f"angles[{index}]", sentence, value, angle.at_most, self._bits))
        return found

    def _later(self, conclusion: Conclusion) -> list[Obligation]:
        """What the theorem says of later steps: nothing where one of its conditions is false."""
        problem, bits = self._problem, self._bits
        angles = [(index, angle) for index, angle in enumerate(problem.angles) if not problem.is_direct(angle)]
        if not angles and problem.rate is None:
            return []
        names = [f"angles[{index}]" for index, _ in angles]
        names += rate_names(problem.rate.form) if problem.rate is not None else []
        if any(condition.outcome is Outcome.REFUTED for condition in conclusion.conditions):
            return [unproved(name, "it rests on the theorem", "a condition of it is false") for name in names]
        assert conclusion.rate is not None
        rate = conclusion.rate()
        before = problem.rate_begins
        assert before is not None
        found = []
        for index, angle in angles:
            bound, sentence = rate.at(angle.at - before), f"the bound of 1 - cos angle(p({describe(angle.at)}), p_mm)"
            found.append(at_most(f"angles[{index}]", sentence, bound, angle.at_most, bits, part=Part.WITNESS))
        if problem.rate is not None:
            found += rate.obligations(problem.rate.values, problem.rate.values[FROM] - before, bits)
        return found


# -- reading


def _read_limit(asserts: Values, selection: Selection) -> ExactMatrix | None:
    stated = asserts.get(LIMIT)
    if stated is None:
        return None
    stated.require_length(selection.tokens.dimension, "a key")
    return stated.load()


def _read_angles(asserts: Values, rule: Rule) -> list[StatedAngle]:
    found = []
    for form, values in asserts.get(ANGLES) or []:
        if (form == "step") is not rule.discrete:
            expected = "a step, as descent goes in steps" if rule.discrete else "a time, as the flow has no steps"
            raise values.at.malformed(expected, f"a {form}")
        at = fmpq(values[ANGLE_STEP]) if form == "step" else values[ANGLE_TIME]
        found.append(StatedAngle(at, values[AT_MOST]))
    return found


def _require_fit(problem: Problem, given: Values, asserts: Values, witness: Values) -> None:
    """That rule, start, steps, theorem, angles and rate fit each other."""
    theorem, rule, start = problem.theorem, problem.rule, problem.start
    if rule.kind not in theorem.rules:
        expected = f"a theorem about the rule {rule.kind}; {theorem.name!r} is about {' and '.join(theorem.rules)}"
        raise witness.node(THEOREM).malformed(expected, f"the theorem {theorem.name!r}")
    if problem.steps > MOST_STEPS:
        raise witness.node(STEPS).malformed(f"at most {MOST_STEPS} steps", counted(problem.steps, "step"))
    if problem.steps > 0 and not rule.discrete:
        raise witness.node(STEPS).malformed("no steps, as the flow is not enclosed", counted(problem.steps, "step"))
    delay = theorem.delay(problem.parameters)
    if rule.discrete and delay is not None and delay.q != 1:
        raise witness.node(THEOREM).malformed("a whole number of steps", describe(delay))
    if start.everywhere:
        _require_fit_for_every_start(problem, given, asserts, witness)
    if start.is_origin() and any(angle.at == 0 for angle in problem.angles):
        raise asserts.node(ANGLES).malformed("angles after the start, which is 0 and has no direction")
    _require_later(problem, asserts)


def _require_fit_for_every_start(problem: Problem, given: Values, asserts: Values, witness: Values) -> None:
    if not problem.theorem.any_start:
        able = ", ".join(repr(name) for name, theorem in THEOREMS.items() if theorem.any_start)
        raise witness.node(THEOREM).malformed(f"a theorem about every start: {able}")
    if problem.steps > 0:
        raise witness.node(STEPS).malformed("no steps, as none is enclosed from every start")
    for field in (ANGLES, RATE):
        if field in asserts:
            raise asserts.node(field).malformed("no bounds of angles from every start: none holds for all of them")


def _require_later(problem: Problem, asserts: Values) -> None:
    """Later angles and rates must lie where the theorem speaks."""
    begins = problem.rate_begins
    later = [angle.at for angle in problem.angles if not problem.is_direct(angle)]
    if problem.rate is not None:
        if problem.rate.form != problem.theorem.rate_form:
            expected = f"a rate of the form {problem.theorem.rate_form}, as the theorem {problem.theorem.name!r} has"
            raise asserts.node(RATE).malformed(expected, f"the form {problem.rate.form}")
        later.append(problem.rate.values[FROM])
    for at in later:
        if begins is None:
            expected = f"bounds of angles up to {problem.steps} only, as the witness leads to no rate"
            raise asserts.at.malformed(expected, describe(at))
        if at < begins:
            expected = f"later bounds of angles from {describe(begins)} on, where the rate begins"
            raise asserts.at.malformed(expected, describe(at))


def _loss_words(loss: Loss) -> str:
    formulas = {"linear": "-x", "logistic": "log(1 + e^-x)", "exponential": "e^-x"}
    return f"the {loss.name} loss l(x) = {formulas[loss.name]}"


CLAIM = SelectionDirection()
