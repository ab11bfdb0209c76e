"""Claim `selection-direction`: where descent on the loss of token selection goes.

Keys k_it and scores gamma_it of the tokens of n inputs, a loss l, and

    L(p) = (1/n) sum_i l( sum_t gamma_it s_it ),     s_i = softmax of <k_it, p> over t.

A certificate asserts that descent by a stated rule from a stated p(0) (or every p(0) of a box, or every p(0)) has
|p(k)| -> infinity and p(k) / |p(k)| -> p_mm / |p_mm|, p_mm being the one point of least norm with
<k_i alpha_i - k_it, p> >= 1 for all t != alpha_i; and it may assert p_mm itself, bounds of 1 - cos angle(p(k), p_mm)
at some k, and one for all k >= k0.

Proof: p_mm by its KKT conditions; p(K) is enclosed by K steps; a theorem whose conditions are proved at p(K) says the
rest (Ataee Tarzanagh, Li, Zhang and Oymak 2023, theorems 1 to 3, in explicit form:
docs/claims/selection/selection-direction.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, Part, at_most, identical, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_descent import descend, shortfall
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.theorems.selection.kkt import kkt_names, kkt_obligations
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants
from certattn.kernel.theorems.selection.selection_problem import ASSERTS, BITS, GIVEN, WITNESS, Problem, read_problem
from certattn.kernel.theorems.selection.selection_theorems import FROM, Conclusion, Situation, rate_names, rate_words


class SelectionDirection(Claim[Problem]):
    name = "selection-direction"
    title = "the direction that descent on the loss of token selection converges to"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = WITNESS

    def read(self, certificate: Certificate) -> Problem:
        return read_problem(certificate)

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
        proved = {o.name for o in obligations if o.outcome is Outcome.PROVED}
        if not proved.issuperset(self.names(problem)):
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
        return descend(step, around(problem.start.balls()), problem.steps, stops)

    def _direct_angles(self) -> list[Obligation]:
        """Where p(k) is enclosed: what is compared is the stated quantity itself."""
        found = []
        for index, angle in enumerate(self._problem.angles):
            if self._problem.is_direct(angle):
                value = shortfall(self._enclosures[int(angle.at.p)], self._constants.direction)
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
        if any(condition.outcome is not Outcome.PROVED for condition in conclusion.conditions):
            # Nothing is said at this precision; NaN decides nothing.
            sentence = "it rests on a condition that is not decided"
            return [at_most(name, sentence, arb.nan(), fmpq(0), bits, part=Part.WITNESS) for name in names]
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


def _loss_words(loss: Loss) -> str:
    formulas = {"linear": "-x", "logistic": "log(1 + e^-x)", "exponential": "e^-x"}
    return f"the {loss.name} loss l(x) = {formulas[loss.name]}"


CLAIM = SelectionDirection()
