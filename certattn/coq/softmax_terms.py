"""Parts of theorems about softmax attention: constants with their shapes, sides with their enclosures, precision, cost.

Coq encloses one exponential for each query and token. Its precision follows from the slack that a certificate leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.coq.instance import COMPUTED, Conjunct, Cost, Instance, NotExportableError, bits_above, cost_of
from certattn.coq.terms import Constant, Factor, IndexLists, Indices, Number, Row, Table, Tables, natural, positive
from certattn.kernel.mathematics.balls import scale_ball, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real

# Bits at which slacks are measured, and the precision of Coq's intervals.
SLACK_BITS = 256
_LEAST_PRECISION, _MOST_PRECISION, _PRECISION_STEP = 30, 1000, 5
_SPARE_BITS, _SUM_BITS = 8, 4

# Measured on one core of a server: see docs/coq.md.
_SECONDS_EXPONENTIAL, _SECONDS_PRODUCT = 2.2e-3, 0.1e-3
_PRECISION_MEASURED, _FAST = 40, 2


@dataclass(frozen=True)
class Bits:
    """Precisions of Coq's intervals: of exponentials, and of the sums of so many of them."""

    exponentials: int
    sums: int

    @property
    def exponentials_term(self) -> str:
        return f"(S.precision {positive(self.exponentials)})"

    @property
    def sums_term(self) -> str:
        return f"(S.precision {positive(self.sums)})"


@dataclass(frozen=True)
class Points:
    """Points as the theorem writes them, and as the check computes with them: integers, and their denominator."""

    term: str
    denominator: str
    integers: str

    @property
    def arguments(self) -> str:
        return f"{self.denominator} {self.integers}"


@dataclass
class Builder:
    """Constants as they are met, with their shapes."""

    constants: list[Constant] = field(default_factory=list)
    shapes: list[Conjunct] = field(default_factory=list)

    def table(self, name: str, matrix: ExactMatrix) -> Points:
        """A matrix as a constant."""
        found = Table(name, matrix)
        self.constants.append(found)
        shape = f"{natural(matrix.rows)} {natural(matrix.columns)}"
        self.shapes.append(Conjunct(f"shaped {shape} {found.term}", f"apply shaped_mat. {COMPUTED}"))
        return Points(found.term, f"{name}_den", name)

    def tables(self, name: str, stacked: ExactMatrix, count: int) -> Points:
        """So many equally large matrices, which stand one below the other, as a constant."""
        rows = stacked.rows // count
        found = Tables(name, stacked, [rows] * count)
        self.constants.append(found)
        shape = f"{natural(count)} {natural(rows)} {natural(stacked.columns)}"
        self.shapes.append(Conjunct(f"stacked {shape} {found.term}", f"apply stacked_mats. {COMPUTED}"))
        return Points(found.term, f"{name}_den", name)

    def sight(self, first: Sequence[int], stop: Sequence[int], tokens: int) -> str:
        """Of each query the first token that it sees, and the first after it that it does not: two constants."""
        self.constants += [Indices("first", first), Indices("stop", stop)]
        self.shapes.append(Conjunct(f"sighted {natural(tokens)} first stop", f"apply sighted_correct. {COMPUTED}"))
        return "first stop"

    def sights(self, first: Sequence[Sequence[int]], stop: Sequence[Sequence[int]], tokens: int) -> str:
        """The same for each of several heads with so many tokens."""
        self.constants += [IndexLists("first", first), IndexLists("stop", stop)]
        statement = f"Forall2 (sighted {natural(tokens)}) first stop"
        self.shapes.append(Conjunct(statement, f"apply all_sighted_correct. {COMPUTED}"))
        return "first stop"

    def row(self, name: str, entries: Sequence[fmpq]) -> Row:
        """A vector as a constant."""
        found = Row.of(name, entries)
        self.constants.append(found)
        statement = f"length {found.term} = {natural(len(entries))}"
        self.shapes.append(
            Conjunct(statement, "rewrite length_vec. vm_cast_no_check (eq_refl " + natural(len(entries)) + ").")
        )
        return found

    def factor(self, name: str, value: Real) -> str:
        """A factor of scores as a constant; the term for it."""
        found = Factor.of(name, value)
        self.constants.append(found)
        return found.term

    def number(self, name: str, value: fmpq) -> Number:
        found = Number(name, value)
        self.constants.append(found)
        return found

    def mapped(self, matrix: Points | None, points: Points) -> Points:
        """M x for every row x; the same points for the identity."""
        if matrix is None:
            return points
        return Points(
            f"(map (image {matrix.term}) {points.term})",
            f"({matrix.denominator} * {points.denominator})",
            f"(map (imageZ {matrix.integers}) {points.integers})",
        )


@dataclass(frozen=True)
class Side:
    """A list of vectors, one for each query: the term, and the proof that the check's enclosures enclose it."""

    term: str
    proof: str


def distances(norm: str, left: Side, right: Side, bounds: str, precision: str) -> Conjunct:
    """What is asserted of the distances of two lists of vectors."""
    check = f"S.check_sound {precision} {norm} {bounds} _ _ _ _ {left.proof} {right.proof} _"
    return Conjunct(
        f"distances {norm}\n    {left.term}\n    {right.term}\n    {bounds}",
        f"rewrite ?images_mat. refine ({check}); {COMPUTED}",
    )


# -- precision and cost


@dataclass(frozen=True)
class Size:
    """What precision and cost depend on: numbers of weights (each of a query and a token), of tokens that are summed
    over and of coordinates, and largest sizes."""

    weights: int
    tokens: int
    outputs: int
    value: fmpq
    score: arb


def largest(matrix: ExactMatrix) -> fmpq:
    return fmpq(max(abs(entry) for entry in matrix.numerators.entries()), matrix.denominator)


def largest_score(keys: ExactMatrix, queries: ExactMatrix, scale: Real) -> arb:
    with working_precision(64):
        return abs(scale_ball(scale)) * arb(largest(queries @ keys.T))


def precision_for(slack: arb, size: Size) -> Bits:
    """Bits with which intervals decide what leaves this slack. Raises NotExportableError where none do."""
    with working_precision(SLACK_BITS):
        needed = bits_above(arb(size.value) * (1 + size.score) * arb(size.outputs).sqrt() / slack) + _SPARE_BITS
    return bits_for(max(_LEAST_PRECISION, math.ceil(needed / _PRECISION_STEP) * _PRECISION_STEP), size)


def bits_for(bits: int, size: Size) -> Bits:
    """So many bits for exponentials, and what is needed for their sums. Raises NotExportableError for too many."""
    if bits > _MOST_PRECISION:
        raise NotExportableError(
            f"the slack is so small that Coq would need intervals of {bits} bits, at most {_MOST_PRECISION} are used: "
            "state the bound a little wider"
        )
    return Bits(bits, bits + _SUM_BITS + size.tokens.bit_length())


def softmax_instance(
    builder: Builder,
    conjuncts: Sequence[Conjunct],
    sums: Sequence[int],
    size: Size,
    bits: Bits,
    says: str | None = None,
    *,
    fast: bool,
) -> Instance:
    """The theorem of shapes and of conjuncts, each of which takes every weight once and so many sums at each query."""
    library = ["Digits", "Statements", "Integers", "Heads", "SoftmaxFast" if fast else "SoftmaxExact"]
    cost = _cost(builder, sums, size, bits.exponentials, fast)
    return Instance(library, builder.constants, [*builder.shapes, *conjuncts], cost, says, fast)


def _cost(builder: Builder, sums: Sequence[int], size: Size, bits: int, fast: bool) -> Cost:
    slower = (bits / _PRECISION_MEASURED) ** 1.5
    work = size.weights * slower * (len(sums) * _SECONDS_EXPONENTIAL + sum(sums) * _SECONDS_PRODUCT)
    work /= _FAST if fast else 1
    return cost_of(builder.constants, work)
