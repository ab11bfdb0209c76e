"""Theorem `joint-max-margin`: where a head v and attention p go that are trained together.

Given inputs X_i of tokens x_it, labels Y_i = 1 or -1, a matrix W and a chosen token alpha_i of every input, put

    v_mm   the shortest v with Y_i <v, x_{i alpha_i}> >= 1 for every i,
    S      the support inputs, those with Y_i <v_mm, x_{i alpha_i}> = 1,
    p_mm   the shortest p with <W (x_{i alpha_i} - x_it), p> >= 1 for t != alpha_i, i in S, and >= 0 for other i.

A certificate asserts v_mm, S and p_mm exactly, and any of

    label_margin   bounds on Gamma = 1 / |v_mm|
    drop           nu, so that for all weights s_it >= 0 with sum_t s_it = 1
                   max_{|v| <= 1} min_i Y_i <v, sum_t s_it x_it> <= Gamma - nu max_i (1 - s_{i alpha_i})
                   over i in S, but those of quadratic_drop
    quadratic_drop support inputs, and nu', so that the same is <= Gamma - nu' max_i (1 - s_{i alpha_i})^2 over these
    path           at stated r and R, for every minimiser (v, p) of sum_i l(Y_i <v, X_i'softmax(X_i W'p)>) over
                   |v| <= r, |p| <= R: bounds on the angles of v and v_mm, of p and p_mm, and on the softmax weights

Where every input is a support input, p_mm solves (Att-SVM), otherwise the relaxed problem. Ataee Tarzanagh, Li, Zhang
and Oymak 2023, the section on joint convergence, whose limits the bounds make explicit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Shared
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.schema import Choice, Count, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.joint_path import Compared, JointPath, LabelMargin
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    INPUT,
    KEY_MAP,
    LABELS,
    LENGTHS,
    MULTIPLIER,
    MULTIPLIERS,
    TOKENS,
    StatedTokens,
    kkt_names,
    label_of_rows,
    optimal,
    read_labels,
    read_multipliers,
    read_sections,
    read_selection,
    read_tokens,
)

GIVEN = Record(TOKENS, LENGTHS, KEY_MAP, LABELS, INDICES)

HEAD = Field("v", Vector(), "v_mm, exactly")
SUPPORT = Field("support", Listing(Count(0)), "the support inputs, all of them, counted from 0, in order")
ATTENTION = Field("p", Vector(), "p_mm, exactly")
AT_LEAST = Field("at_least", Rational(minimum=0), "Gamma is at least this", required=False)
AT_MOST = Field("at_most", Rational(minimum=0), "Gamma is at most this", required=False)


_GAMMA = Record(AT_LEAST, AT_MOST, rules=[some_of(AT_LEAST, AT_MOST)])
LABEL_MARGIN = Field("label_margin", _GAMMA, "bounds on Gamma = 1/|v_mm|", required=False)
DROP = Field("drop", Rational(above=0), "nu of the label-margin condition, > 0", required=False)
SLOW = Field("inputs", Listing(Count(0)), "support inputs, of which `drop` then says nothing, in order")
NU = Field("nu", Rational(above=0), "nu' of the condition with squares, > 0")
_SLOW = Record(SLOW, NU)
QUADRATIC = Field("quadratic_drop", _SLOW, "the label-margin condition with squares, for some support inputs", False)

HEAD_NORM = Field("head_norm", Rational(above=0), "r: the loss is minimised over |v| <= r")
ATTENTION_NORM = Field("attention_norm", Rational(above=0), "R: and over |p| <= R")
HEAD_COSINE = Field("head_cosine", Rational(above=0), "the cosine of the angle of v and v_mm, at least", False)
ATTENTION_COSINE = Field("attention_cosine", Rational(above=0), "the same of p and p_mm", False)
MASS = Field("mass", Rational(above=0), "the softmax weight of every support input's chosen token, at least", False)
# What is bounded at a pair of norms, and where its bound is computed.
_BOUNDS: dict[Field[fmpq], Callable[[JointPath], arb]] = {
    HEAD_COSINE: JointPath.head_cosine,
    ATTENTION_COSINE: JointPath.attention_cosine,
    MASS: JointPath.mass,
}
LOSS = Field("loss", Choice(("logistic", "exponential")), "the loss of Y f(X): log(1 + e^-x) or e^-x")
NORMS = Record(HEAD_NORM, ATTENTION_NORM, *_BOUNDS, rules=[some_of(*_BOUNDS)])
AT = Field("at", Listing(NORMS), "pairs of norms, with what is bounded there")
PATH = Field("path", Record(LOSS, AT), "bounds for every minimiser at stated norms", required=False)

_OF_INPUTS = Listing(Record(INPUT, MULTIPLIER))
HEAD_MULTIPLIERS = Field("head_multipliers", _OF_INPUTS, "multipliers of the support inputs for v_mm")
ENTRY = Field("entry", Count(0), "the entry of path.at, counted from 0")
OTHER_HEAD = Field("head", Vector(), "a head v of norm r or less; r v_mm/|v_mm| if left out", required=False)
OTHER_ATTENTION = Field("attention", Vector(), "a p of norm R or less; R p_mm/|p_mm| if left out", required=False)
_COMPARED = Listing(Record(ENTRY, OTHER_HEAD, OTHER_ATTENTION, rules=[some_of(OTHER_HEAD, OTHER_ATTENTION)]))
COMPARATORS = Field("comparators", _COMPARED, "what minimisers are compared with", required=False)

ASSERTS = Record(HEAD, SUPPORT, ATTENTION, LABEL_MARGIN, DROP, QUADRATIC, PATH)
WITNESS = Record(HEAD_MULTIPLIERS, MULTIPLIERS, COMPARATORS, BITS)


# -- what is stated


class LabelledInputs:
    """Inputs with labels and a chosen token each, all exact.

    `rows` are the Y_i x_it, one per row, and `labelled` the Y_i x_{i alpha_i}.
    """

    def __init__(self, stated: StatedTokens, selection: Selection, labels: Sequence[fmpq]) -> None:
        self.stated, self.selection, self.labels = stated, selection, labels
        rows = zip(label_of_rows(labels, selection.tokens.lengths), stated.rows.to_rows(), strict=True)
        self.rows = ExactMatrix.rational([[sign * x for x in row] for sign, row in rows])
        self.labelled = self.rows.take_rows(selection.rows)

    def levels(self, support: Collection[int]) -> tuple[fmpq, ...]:
        """1 for the pairs of support inputs, 0 for the others."""
        return tuple(fmpq(1 if pair.input in support else 0) for pair in self.selection.pairs)


@dataclass(frozen=True)
class StatedPath:
    """What is said at one pair of norms (r, R), by the names of the fields; and the comparators of the witness."""

    loss: str
    norms: tuple[fmpq, fmpq]
    bounds: dict[str, fmpq]
    compared: Compared


@dataclass(frozen=True)
class JointSolution:
    """What is given, what is asserted, and the solutions that the witness states."""

    given: LabelledInputs
    v: ExactMatrix
    support: list[int]
    p: ExactMatrix
    label_margin: Values | None
    drop: fmpq | None
    quadratic: tuple[list[int], fmpq] | None
    path: list[StatedPath]
    head: LabelMargin
    attention: MaxMargin


def read(certificate: Certificate) -> JointSolution:
    """Raises MalformedError."""
    values, asserts, witness = read_sections(certificate, GIVEN, ASSERTS, WITNESS, "the multipliers of v and p")
    given = read_given(values)
    selection, support = given.selection, asserts[SUPPORT]
    count, dimensions = selection.tokens.count, (given.stated.rows.columns, selection.tokens.dimension)
    v, p = _loaded(asserts[HEAD], dimensions, 0), _loaded(asserts[ATTENTION], dimensions, 1)
    _require_some(range(count), f"inputs below {count}, counted from 0", asserts, SUPPORT)
    quadratic, slow = None, asserts.get(QUADRATIC)
    if slow is not None:
        _require_some(support, "support inputs", slow, SLOW)
        quadratic = slow[SLOW], slow[NU]
    head = {i: values[MULTIPLIER] for i, values in _by_number(witness[HEAD_MULTIPLIERS], INPUT, count).items()}
    labels = LabelMargin(given.rows, selection, hard_margin(given.labelled, head))
    multipliers, levels = read_multipliers(witness[MULTIPLIERS], selection), given.levels(support)
    attention = MaxMargin(selection.differences, multipliers, levels)
    path, bounds = _read_path(asserts.get(PATH), witness, dimensions), asserts.get(LABEL_MARGIN)
    return JointSolution(given, v, support, p, bounds, asserts.get(DROP), quadratic, path, labels, attention)


def read_given(values: Values) -> LabelledInputs:
    """The inputs in a record of GIVEN. Raises MalformedError."""
    stated = read_tokens(values)
    selection = read_selection(stated, values)
    return LabelledInputs(stated, selection, read_labels(values, selection.tokens.count))


def _loaded(stated: MatrixInput, dimensions: tuple[int, int], which: int) -> ExactMatrix:
    """A head, or attention, of the dimension of tokens, or of keys."""
    stated.require_length(dimensions[which], ("a token", "a key")[which])
    return stated.load()


def _require_some(known: Collection[int], what: str, values: Values, field: Field[list[int]]) -> None:
    """A list of some of the known inputs, in order."""
    found = values[field]
    if others := [i for i in found if i not in known]:
        raise values.node(field).malformed(what, ", ".join(map(str, others)))
    if any(a >= b for a, b in pairwise(found)):
        raise values.node(field).malformed("every input once, in order", ", ".join(map(str, found)))


def _by_number(records: list[Values], field: Field[int], count: int) -> dict[int, Values]:
    """Records by the number that each has in a field: below `count`, and at most once."""
    found: dict[int, Values] = {}
    for values in records:
        number, node = values[field], values.node(field)
        if number >= count:
            raise node.malformed(f"an {field.name} below {count}, counted from 0", f"{number}")
        if number in found:
            raise values.at.malformed(f"every {field.name} at most once", f"the {field.name} {number} again")
        found[number] = values
    return found


def _read_path(stated: Values | None, witness: Values, dimensions: tuple[int, int]) -> list[StatedPath]:
    """The bounds of `path`, for tokens and keys of these dimensions."""
    listed, found = witness.items(COMPARATORS), []
    if stated is None:
        if listed:
            raise listed[0].at.malformed("no comparators where nothing is asserted of the path")
        return []
    entries = stated[AT]
    comparators = _by_number(listed, ENTRY, len(entries))
    for index, entry in enumerate(entries):
        bounds = {field.name: entry[field] for field in _BOUNDS if field in entry}
        other, head, attention = comparators.get(index), None, None
        if other is not None:
            head = _loaded(other[OTHER_HEAD], dimensions, 0) if OTHER_HEAD in other else None
            attention = _loaded(other[OTHER_ATTENTION], dimensions, 1) if OTHER_ATTENTION in other else None
        norms = (entry[HEAD_NORM], entry[ATTENTION_NORM])
        found.append(StatedPath(stated[LOSS], norms, bounds, (head, attention)))
    return found


# -- what proves it

_ZERO = fmpq(0)
_PART = Part.WITNESS


def obligations(stated: JointSolution) -> Iterator[Obligation]:
    solutions = [*_head(stated), *_attention(stated)]
    yield from solutions
    if stated.drop is None and stated.quadratic is None and not stated.path:
        return
    needs = [each.name for each in solutions]
    if stated.drop is not None:
        # It is about inputs with a multiplier, and says so of all support inputs that are not listed.
        multipliers, slow = stated.head.solution.multipliers, stated.quadratic[0] if stated.quadratic else ()
        least = min((multipliers.get(i, _ZERO) for i in stated.support if i not in slow), default=_ZERO)
        yield Obligation("drop.multipliers", least, ">", _ZERO, _PART, needs)
        needs = ["drop.multipliers"]
    relation: Relation = ">" if stated.drop is None else ">="
    yield Obligation("drop", stated.head.drop, relation, stated.drop or _ZERO, _PART, needs)
    if stated.quadratic is not None:
        inputs, nu = stated.quadratic
        found = lambda: stated.head.quadratic_drop(inputs)  # noqa: E731
        yield Obligation("quadratic_drop", found, ">=", nu, _PART, ("drop",))
    for k, path in enumerate(stated.path):
        yield from _at_norms(f"path[{k}]", stated, path, ("drop",))


def _head(stated: JointSolution) -> Iterator[Obligation]:
    """What is said of v_mm, where the multipliers make it the solution."""
    solution, needs, bounds = stated.head.solution, kkt_names("v"), stated.label_margin
    yield from optimal("v", lambda: solution.conditions)
    yield Obligation("v.solution", stated.v, "=", lambda: solution.solution, needs=needs)
    support = ExactMatrix.row_vector([fmpq(i) for i in stated.support])
    tight = lambda: ExactMatrix.row_vector([fmpq(i) for i in solution.tight])  # noqa: E731
    yield Obligation("support", support, "=", tight, needs=needs)
    squared = lambda: 1 / solution.norm_squared  # noqa: E731
    if bounds is not None and AT_LEAST in bounds:
        yield Obligation("label_margin.at_least", squared, ">=", bounds[AT_LEAST] ** 2, needs=needs)
    if bounds is not None and AT_MOST in bounds:
        yield Obligation("label_margin.at_most", squared, "<=", bounds[AT_MOST] ** 2, needs=needs)


def _attention(stated: JointSolution) -> Iterator[Obligation]:
    solution = stated.attention
    yield from optimal("p", lambda: solution.conditions)
    yield Obligation("p.solution", stated.p, "=", lambda: solution.solution, needs=kkt_names("p"))


def _at_norms(prefix: str, stated: JointSolution, at: StatedPath, needs: Sequence[str]) -> Iterator[Obligation]:
    """The bounds at a pair of norms, and their conditions."""
    path = Shared(lambda: JointPath(stated.head, stated.attention, at.loss, at.norms, at.compared))
    for what, row, norm in zip(("head", "attention"), at.compared, at.norms, strict=True):
        if row is not None:
            yield Obligation(f"{prefix}.comparator_{what}", row.inner(row), "<=", norm * norm, _PART, needs)
    yield Obligation(f"{prefix}.unattended", lambda: path().unattended, "<", fmpq(1), _PART, needs)
    yield Obligation(f"{prefix}.alignment", lambda: path().cosine, ">", _ZERO, _PART, needs)
    # Whether pairs of inputs without a multiplier of v have multipliers of p.
    pairs, multipliers = stated.given.selection.pairs, stated.attention.multipliers
    outside = any(pairs[j].input not in stated.head.weights for j in multipliers)
    if outside and ATTENTION_COSINE.name in at.bounds:
        yield Obligation(f"{prefix}.outside", lambda: path().least_room(), ">", _ZERO, _PART, needs)
    for field, bound in _BOUNDS.items():
        if field.name in at.bounds:
            yield Obligation(f"{prefix}.{field.name}", _side(bound, path), ">=", at.bounds[field.name], _PART, needs)


def _side(bound: Callable[[JointPath], arb], path: Shared[JointPath]) -> Callable[[], arb]:
    return lambda: bound(path())


_TITLE = "max-margin head and attention of joint training, and how near the regularisation path is to them"
THEOREM = Theorem("joint-max-margin", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
