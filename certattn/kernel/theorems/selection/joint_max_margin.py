"""Theorem `joint-max-margin`: where a head v and attention p go that are trained together.

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

from collections.abc import Iterator
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Record
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.joint_assertions import COMPARATORS, PATH, StatedPath, read_path
from certattn.kernel.theorems.selection.joint_inputs import (
    ATTENTION,
    DROP,
    GIVEN,
    HEAD,
    HEAD_MULTIPLIERS,
    LABEL_MARGIN,
    SUPPORT,
    LabelledInputs,
    read_given,
    read_head_multipliers,
    read_label_margin,
    read_support,
)
from certattn.kernel.theorems.selection.kkt import MULTIPLIERS, kkt_names, optimal, read_multipliers
from certattn.kernel.theorems.selection.mathematics.label_margin import LabelMargin
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, hard_margin

ASSERTS = Record(HEAD, SUPPORT, ATTENTION, LABEL_MARGIN, DROP, PATH)
WITNESS = Record(HEAD_MULTIPLIERS, MULTIPLIERS, COMPARATORS)


@dataclass(frozen=True)
class JointSolution:
    """What is given, what is asserted, and the solutions that the witness states."""

    given: LabelledInputs
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


def read(certificate: Certificate) -> JointSolution:
    """Raises MalformedError."""
    given = read_given(GIVEN.read(certificate.given, certificate.reading))
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    tokens, keys = given.stated.rows.columns, given.selection.tokens.dimension
    asserts[HEAD].require_length(tokens, "a token")
    asserts[ATTENTION].require_length(keys, "a key")
    if certificate.witness is None:
        raise certificate.asserts.malformed("a witness with the multipliers of v and p", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    support = read_support(asserts, given.selection.tokens.count)
    head = hard_margin(given.labelled, read_head_multipliers(witness, given))
    multipliers = read_multipliers(witness[MULTIPLIERS], given.selection)
    low, high = read_label_margin(asserts.get(LABEL_MARGIN))
    return JointSolution(
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


def obligations(stated: JointSolution) -> Iterator[Obligation]:
    solutions = [*_head(stated), *_attention(stated)]
    yield from solutions
    if not stated.needs_drop:
        return
    yield from _drop(stated, [each.name for each in solutions])
    for k, path in enumerate(stated.path):
        yield from path.obligations(
            f"path[{k}]", stated.head, stated.attention, outside=stated.outside, needs=("drop.multipliers",)
        )


def _head(stated: JointSolution) -> Iterator[Obligation]:
    """What is said of v_mm, where the multipliers make it the solution."""
    solution, needs = stated.head.solution, kkt_names("v")
    yield from optimal("v", lambda: solution)
    yield Obligation("v.solution", stated.v, "=", lambda: solution.solution, needs=needs)
    support = ExactMatrix.row_vector([fmpq(i) for i in stated.support])
    tight = lambda: ExactMatrix.row_vector([fmpq(i) for i in solution.tight])  # noqa: E731
    yield Obligation("support", support, "=", tight, needs=needs)
    squared = lambda: 1 / solution.norm_squared  # noqa: E731
    if stated.at_least is not None:
        yield Obligation("label_margin.at_least", squared, ">=", stated.at_least**2, needs=needs)
    if stated.at_most is not None:
        yield Obligation("label_margin.at_most", squared, "<=", stated.at_most**2, needs=needs)


def _attention(stated: JointSolution) -> Iterator[Obligation]:
    solution = stated.attention
    yield from optimal("p", lambda: solution)
    yield Obligation("p.solution", stated.p, "=", lambda: solution.solution, needs=kkt_names("p"))


def _drop(stated: JointSolution, needs: list[str]) -> Iterator[Obligation]:
    """The label-margin condition, for the support inputs: each needs a multiplier."""
    multipliers, part = stated.head.solution.multipliers, Part.WITNESS
    smallest = min(multipliers.get(i, fmpq(0)) for i in stated.support)
    yield Obligation("drop.multipliers", smallest, ">", fmpq(0), part, needs)
    if stated.drop is None:
        yield Obligation("drop", stated.head.drop, ">", fmpq(0), part, ("drop.multipliers",))
    else:
        yield Obligation("drop", stated.head.drop, ">=", stated.drop, part, ("drop.multipliers",))


THEOREM = Theorem(
    name="joint-max-margin",
    title="max-margin head and attention of joint training, and how near the regularisation path is to them",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
