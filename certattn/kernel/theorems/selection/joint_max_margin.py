"""Claim `joint-max-margin`: where a head v and attention p go that are trained together.

Given inputs X_i of tokens x_it, labels Y_i = 1 or -1, a matrix W and a chosen token alpha_i of every input, put

    v_mm   the shortest v with Y_i <v, x_{i alpha_i}> >= 1 for every i,
    S      the support inputs, those with Y_i <v_mm, x_{i alpha_i}> = 1,
    p_mm   the shortest p with <W (x_{i alpha_i} - x_it), p> >= 1 for t != alpha_i, i in S, and >= 0 for other i.

A certificate asserts v_mm, S and p_mm exactly, and any of

    label_margin   bounds on Gamma = 1 / |v_mm|
    drop           nu, so that for all weights s_it >= 0 with sum_t s_it = 1
                   max_{|v| <= 1} min_i Y_i <v, sum_t s_it x_it> <= Gamma - nu max_{i in S} (1 - s_{i alpha_i})
    path           at stated r and R, for every minimiser (v, p) of sum_i l(Y_i <v, X_i'softmax(X_i W'p)>) over
                   |v| <= r, |p| <= R: bounds on the angles of v and v_mm, of p and p_mm, and on the softmax weights

Where every input is a support input, p_mm solves (Att-SVM), otherwise the relaxed problem. Ataee Tarzanagh, Li, Zhang
and Oymak 2023, the section on joint convergence, whose limits the bounds make explicit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, Part, above, at_least, at_most, identical, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.joint_assertions import COMPARATORS, PATH, StatedPath, read_path
from certattn.kernel.theorems.selection.joint_inputs import (
    ATTENTION,
    DROP,
    GIVEN,
    HEAD,
    HEAD_MULTIPLIERS,
    LABEL_MARGIN,
    SUPPORT,
    Given,
    read_given,
    read_head_multipliers,
    read_label_margin,
    read_support,
)
from certattn.kernel.theorems.selection.kkt import MULTIPLIERS, kkt_names, kkt_obligations, read_multipliers
from certattn.kernel.theorems.selection.mathematics.label_margin import LabelMargin
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, hard_margin


@dataclass(frozen=True)
class Problem:
    """What is given, what is asserted, and the solutions that the witness states."""

    given: Given
    v: ExactMatrix
    support: tuple[int, ...]
    p: ExactMatrix
    at_least: fmpq | None
    at_most: fmpq | None
    drop: fmpq | None
    path: list[StatedPath]
    head: LabelMargin
    attention: MaxMargin

    @property
    def outside(self) -> bool:
        """Whether pairs of other than support inputs have multipliers."""
        pairs = self.given.selection.pairs
        return any(pairs[j].input not in self.support for j in self.attention.multipliers)

    @property
    def needs_drop(self) -> bool:
        return self.drop is not None or bool(self.path)


class JointMaxMargin(Claim[Problem]):
    name = "joint-max-margin"
    title = "max-margin head and attention of joint training, and how near the regularisation path is to them"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(HEAD, SUPPORT, ATTENTION, LABEL_MARGIN, DROP, PATH)
    witness = Record(HEAD_MULTIPLIERS, MULTIPLIERS, COMPARATORS)

    def read(self, certificate: Certificate) -> Problem:
        given = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        tokens, keys = given.stated.rows.columns, given.selection.tokens.dimension
        asserts[HEAD].require_length(tokens, "a token")
        asserts[ATTENTION].require_length(keys, "a key")
        if certificate.witness is None:
            raise certificate.asserts.malformed("a witness with the multipliers of v and p", "no witness")
        witness = self.witness.read(certificate.witness, certificate.reading)
        support = read_support(asserts, given.selection.tokens.count)
        head = hard_margin(given.labelled, read_head_multipliers(witness, given))
        multipliers = read_multipliers(witness[MULTIPLIERS], given.selection)
        low, high = read_label_margin(asserts.get(LABEL_MARGIN))
        return Problem(
            given,
            asserts[HEAD].load(),
            support,
            asserts[ATTENTION].load(),
            low,
            high,
            asserts.get(DROP),
            read_path(asserts.get(PATH), witness, (tokens, keys)),
            LabelMargin(given.stated.rows, given.selection, given.labels, head),
            MaxMargin(given.selection.differences, multipliers, given.levels(support)),
        )

    def read_given(self, certificate: Certificate) -> Given:
        """The section `given` alone. Raises MalformedError."""
        return read_given(GIVEN.read(certificate.given, certificate.reading))

    def statement(self, problem: Problem) -> Statement:
        inputs = ", ".join(map(str, problem.support))
        every = len(problem.support) == problem.given.selection.tokens.count
        others = "" if every else " and >= 0 for the others"
        words = [
            f"the shortest v with Y <v, chosen token> >= 1 for every input is v_mm = {problem.v}",
            f"its support inputs are {inputs}{' (all of them)' if every else ''}",
            "the shortest p with <key of the chosen token - key of another, p> >= 1 for every other token of the "
            f"support inputs{others} is p_mm = {problem.p}",
        ]
        latex = [r"v_{mm} = v", r"p_{mm} = p"]
        ends = (("at least", problem.at_least), ("at most", problem.at_most))
        bounds = " and ".join(f"{side} {describe(bound)}" for side, bound in ends if bound is not None)
        if bounds:
            words.append(f"the label margin 1/|v_mm| is {bounds}")
        if problem.drop is not None:
            words.append(
                "whatever weights attention puts on the tokens, no v with |v| <= 1 has a label margin above 1/|v_mm| - "
                f"{describe(problem.drop)} * (the largest weight that a support input puts off its chosen token)"
            )
            latex.append(r"\Gamma(s) \le \Gamma - \nu \max_{i \in S} (1 - s_{i \alpha_i})")
        if problem.path:
            words.append(
                f"every minimiser (v, p) of the sum of the {problem.path[0].loss} loss of Y <v, X'softmax(X W'p)> has: "
                + "; ".join(stated.words() for stated in problem.path)
            )
            latex.append(r"\cos(v_r, v_{mm}) \ge c_v,\ \cos(p_R, p_{mm}) \ge c_p")
        return Statement(f"For {problem.given.words}: {'; '.join(words)}.", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = [*kkt_names("v"), "v.solution", "support"]
        if problem.at_least is not None:
            names.append("label_margin.at_least")
        if problem.at_most is not None:
            names.append("label_margin.at_most")
        names += [*kkt_names("p"), "p.solution"]
        if problem.needs_drop:
            names += ["drop.multipliers", "drop"]
        for k, stated in enumerate(problem.path):
            names += stated.names(f"path[{k}]", problem.outside)
        return names

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = kkt_obligations("v", problem.head.solution, "v")
        has_head = _all_proved(found)
        found += _head_obligations(problem) if has_head else _no_head(problem)
        conditions = kkt_obligations("p", problem.attention)
        found += conditions
        has_attention = _all_proved(conditions)
        sentence = "p_mm is the sum of multipliers times differences of keys"
        if has_attention:
            found.append(identical("p.solution", sentence, problem.p, problem.attention.solution))
        else:
            found.append(unproved("p.solution", sentence, "the multipliers of p prove nothing"))
        solved = _all_proved(found)
        if problem.needs_drop:
            found += _drop_obligations(problem, bits) if solved else _no_drop()
            solved = _all_proved([o for o in found if o.name == "drop.multipliers"]) and solved
        for k, stated in enumerate(problem.path):
            prefix = f"path[{k}]"
            if not any(name.startswith(f"{prefix}.") for name in names):
                continue
            if solved:
                found += stated.obligations(prefix, problem.head, problem.attention, bits)
            else:
                found += stated.unproved(prefix, problem.outside)
        return [obligation for obligation in found if obligation.name in names]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        proved = {o.name for o in obligations if o.outcome is Outcome.PROVED}
        if not proved.issuperset([*kkt_names("v"), "v.solution", "support"]):
            return []
        lines = []
        if problem.needs_drop and problem.head.enumerated:
            choice, _ = problem.head.nearest_choice
            others = [
                f"token {t} of input {i}"
                for i, t in zip(problem.head.support, choice, strict=True)
                if t != problem.given.selection.indices[i]
            ]
            if others:
                lines.append(f"the label margin drops least for {', '.join(others)}")
        return lines


def _all_proved(obligations: Sequence[Obligation]) -> bool:
    return all(obligation.outcome is Outcome.PROVED for obligation in obligations)


_SOLUTION = "v_mm is the sum of multipliers times labelled chosen tokens"
_SQUARED = "the square of 1/|v_mm| and that of its bound"
_TIGHT = "the support inputs are all those with Y <v_mm, chosen token> = 1"


def _head_obligations(problem: Problem) -> list[Obligation]:
    """What is said of v_mm, which is the solution of the witness."""
    solution = problem.head.solution
    tight = ExactMatrix.row_vector([fmpq(i) for i in solution.tight])
    stated = ExactMatrix.row_vector([fmpq(i) for i in problem.support])
    found = [
        identical("v.solution", _SOLUTION, problem.v, solution.solution),
        identical("support", _TIGHT, stated, tight),
    ]
    squared = 1 / solution.norm_squared
    if problem.at_least is not None:
        found.append(at_least("label_margin.at_least", _SQUARED, squared, problem.at_least * problem.at_least))
    if problem.at_most is not None:
        found.append(at_most("label_margin.at_most", _SQUARED, squared, problem.at_most * problem.at_most))
    return found


def _no_head(problem: Problem) -> list[Obligation]:
    reason = "the multipliers of v prove nothing"
    found = [unproved("v.solution", _SOLUTION, reason), unproved("support", _TIGHT, reason)]
    if problem.at_least is not None:
        found.append(unproved("label_margin.at_least", _SQUARED, reason))
    if problem.at_most is not None:
        found.append(unproved("label_margin.at_most", _SQUARED, reason))
    return found


_MULTIPLIERS = "the smallest multiplier of a support input"
_CHOICES = "by every choice of one token for each support input, nu of the label-margin condition is at least this"
_PAIRS = "by pairs of tokens (there are too many choices), nu of the label-margin condition is at least this"


def _drop_obligations(problem: Problem, bits: int) -> list[Obligation]:
    """The label-margin condition, for the support inputs: each needs a multiplier."""
    multipliers = problem.head.solution.multipliers
    smallest = min(multipliers.get(i, fmpq(0)) for i in problem.support)
    found = [above("drop.multipliers", _MULTIPLIERS, smallest, fmpq(0), part=Part.WITNESS)]
    if not _all_proved(found):
        return [*found, unproved("drop", _CHOICES, "a support input has no multiplier")]
    sentence = _CHOICES if problem.head.enumerated else _PAIRS
    value = problem.head.drop()
    if problem.drop is None:
        return [*found, above("drop", sentence, value, fmpq(0), bits, part=Part.WITNESS)]
    return [*found, at_least("drop", sentence, value, problem.drop, bits, part=Part.WITNESS)]


def _no_drop() -> list[Obligation]:
    reason = "v_mm, its support or p_mm is not proved"
    return [unproved("drop.multipliers", _MULTIPLIERS, reason), unproved("drop", _CHOICES, reason)]


CLAIM = JointMaxMargin()
