"""Claim `singular-values`: singular values of a matrix, and what follows from them.

The matrix M is given exactly, m x n, or is that of softmax attention over given queries and keys,

    M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A,   A_ij = e^(s <q_i, k_j>) / sum_j e^(s <q_i, k_j>).

Under a causal mask query i sees the first i keys alone, and the attention of equal scores over these takes the place of
1 1'/d: `causal_matrix`.

With sigma_1 >= sigma_2 >= ... its min(m, n) singular values, a certificate asserts one or more of

    values          |sigma_k - value_k| <= radius_k for the largest of them, or for all
    counts          exactly so many are larger than a threshold, and how far from it they and the others are
    norm            bounds of sigma_1
    energy          bounds of |M|_F^2 = sum sigma_k^2
    stable_rank     bounds of |M|_F^2 / sigma_1^2
    entropy         bounds of H = -sum p_k log p_k, p_k = sigma_k / sum sigma or sigma_k^2 / sum sigma^2
    effective_rank  bounds of e^H

Approximate factors of M, from the certificate or found while checking, are a hint; what is proved of them stands in
`mathematics.singular_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.decide.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.decide.verdict import (
    DOUBLE,
    Enclosure,
    Obligation,
    above,
    at_least,
    at_most,
    show,
    unproved,
)
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Record, Values
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum.causal_matrix import HEAD_FORMS, read_head_matrix
from certattn.kernel.theorems.spectrum.mathematics.spectrum_shape import effective_rank, entropy, stable_rank
from certattn.kernel.theorems.spectrum.matrix_inputs import Spectrum, StatedMatrix
from certattn.kernel.theorems.spectrum.spectrum_assertions import (
    ASSERTS,
    QUANTITIES,
    Assertions,
    StatedCount,
    read_assertions,
)
from certattn.kernel.theorems.spectrum.spectrum_words import latex_of, words_of

LEFT = Field("U", Matrix(), "left singular vectors, a column for each value, m x r")
SINGULAR = Field("s", Vector(), "r singular values, from the largest on")
RIGHT = Field("V", Matrix(), "right singular vectors, a column for each value, n x r")
HINT = Field("hint", Record(LEFT, SINGULAR, RIGHT), "approximate factors of M in array files", required=False)
_ZERO = "M is 0, which has no shares of a sum, and no stable rank"
_OF_A_SUM = ("stable_rank", "entropy", "effective_rank")


@dataclass(frozen=True)
class Hint:
    """U (m x r), s (1 x r, falling, not negative) and V (n x r), not trusted."""

    left: MatrixInput
    values: ExactMatrix
    right: MatrixInput


@dataclass(frozen=True)
class Problem:
    """A matrix, what is asserted of it, and a hint."""

    matrix: StatedMatrix
    asserted: Assertions
    hint: Hint | None


class SingularValuesClaim(Claim[Problem]):
    name = "singular-values"
    title = "singular values of a matrix or of softmax attention: values, counts, norms, effective rank"
    arithmetic = ARB
    given = HEAD_FORMS
    asserts = ASSERTS
    witness = Record(HINT)

    def read(self, certificate: Certificate) -> Problem:
        matrix = self.read_given(certificate)
        asserted = read_assertions(self.asserts.read(certificate.asserts, certificate.reading), matrix)
        hint = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
            hint = read_hint(witness[HINT], matrix) if HINT in witness else None
        return Problem(matrix, asserted, hint)

    def read_given(self, certificate: Certificate) -> StatedMatrix:
        """The section `given` alone. Raises MalformedError."""
        return read_head_matrix(*HEAD_FORMS.read(certificate.given, certificate.reading))

    def statement(self, problem: Problem) -> Statement:
        return Statement(words_of(problem.matrix, problem.asserted), latex_of(problem.matrix, problem.asserted))

    def names(self, problem: Problem) -> list[str]:
        return [name for name, _ in _obligations(problem)]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return _proved(problem, names, problem.matrix.spectrum(bits), bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return problem.matrix.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64
        from certattn.kernel.theorems.spectrum.matrix_binary64 import spectrum_in_binary64

        with working_precision(AFTER_BINARY64):
            return _proved(problem, names, spectrum_in_binary64(problem.matrix, problem.hint), DOUBLE, BINARY64)

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        errors = [o for o in obligations if o.name.startswith("values[") and isinstance(o.left, arb)]
        finite = [o for o in errors if isinstance(o.left, arb) and o.left.is_finite() is True]
        if len(finite) == 0 or len(finite) < len(errors):
            return []
        worst = max(finite, key=_upper_end)
        return [f"largest |sigma_k - value|: {show(worst.left, 3)}, at {worst.name}"]


@dataclass(frozen=True)
class _Proof:
    """What all obligations are made of: a spectrum in one arithmetic or another."""

    matrix: StatedMatrix
    spectrum: Spectrum
    bits: int
    arithmetic: str
    _known: dict[str, Enclosure] = field(default_factory=dict)

    def sigma(self, k: int) -> arb:
        return self.spectrum.singular.value(k)

    def at_most(self, name: str, sentence: str, value: Enclosure, bound: fmpq) -> Obligation:
        return at_most(name, sentence, value, bound, self.bits, self.arithmetic)

    def at_least(self, name: str, sentence: str, value: Enclosure, bound: fmpq) -> Obligation:
        return at_least(name, sentence, value, bound, self.bits, self.arithmetic)

    def above(self, name: str, sentence: str, value: Enclosure, bound: fmpq) -> Obligation:
        return above(name, sentence, value, bound, self.bits, self.arithmetic)

    def quantity(self, name: str) -> Enclosure:
        """One of QUANTITIES, computed once."""
        if name not in self._known:
            self._known[name] = quantity(self.spectrum, name)
        return self._known[name]


def quantity(spectrum: Spectrum, name: str) -> Enclosure:
    """One of QUANTITIES, enclosed at the working precision; not finite where it may be undefined."""
    singular = spectrum.singular
    kind, _, of = name.partition(".")
    if kind == "norm":
        return singular.value(1)
    if kind == "energy":
        return spectrum.energy
    most = max(1, singular.rank)
    if kind == "stable_rank":
        return stable_rank(arb(spectrum.energy), singular.value(1), most)
    shares = singular.values() if of == "values" else [value * value for value in singular.values()]
    found = entropy(shares, most)
    return found if kind == "entropy" else effective_rank(found)


# An obligation by its name, made when it is asked for.
_Made = tuple[str, Callable[[_Proof], Obligation]]


def _proved(
    problem: Problem, names: Collection[str], spectrum: Spectrum, bits: int, arithmetic: str
) -> list[Obligation]:
    proof, wanted = _Proof(problem.matrix, spectrum, bits, arithmetic), frozenset(names)
    return [make(proof) for name, make in _obligations(problem) if name in wanted]


def _obligations(problem: Problem) -> list[_Made]:
    asserted = problem.asserted
    found = list(_of_values(asserted))
    for index, stated in enumerate(asserted.counts):
        found += _of_count(f"counts[{index}]", stated, problem.matrix.count)
    for name, stated_range in asserted.ranges.items():
        found += [_of_range(name, which, bound) for which, bound in stated_range.bounds.items()]
    return found


def _of_values(asserted: Assertions) -> Iterator[_Made]:
    stated = asserted.values
    if stated is None:
        return
    for index in range(stated.count):
        name, k = f"values[{index}]", index + 1

        def make(proof: _Proof, name: str = name, k: int = k) -> Obligation:
            value, radius = stated.loaded.entry(0, k - 1), stated.radius.at(k - 1)
            return proof.at_most(name, f"|sigma_{k} - value| <= radius", abs(proof.sigma(k) - value), radius)

        yield name, make


def _of_count(name: str, stated: StatedCount, count: int) -> list[_Made]:
    """sigma_k > t for the k that are above, sigma_(k+1) <= t, and the bounds on either side."""
    k, t = stated.count, stated.above
    found: list[_Made] = []
    if k > 0:
        inside = f"{name}.above"
        found.append((inside, lambda proof: proof.above(inside, f"sigma_{k} > threshold", proof.sigma(k), t)))
    if k < count:
        outside = f"{name}.not_above"
        words = f"sigma_{k + 1} <= threshold"
        found.append((outside, lambda proof: proof.at_most(outside, words, proof.sigma(k + 1), t)))
    least, most = stated.inside, stated.outside
    if least is not None:
        low = f"{name}.at_least"
        found.append((low, lambda proof: proof.at_least(low, f"sigma_{k} >= bound", proof.sigma(k), least)))
    if most is not None:
        high = f"{name}.at_most"
        found.append((high, lambda proof: proof.at_most(high, f"sigma_{k + 1} <= bound", proof.sigma(k + 1), most)))
    return found


def _of_range(quantity: str, which: str, bound: fmpq) -> _Made:
    name = f"{quantity}.{which}"
    sentence = f"{QUANTITIES[quantity]} {'>=' if which == 'at_least' else '<='} bound"

    def make(proof: _Proof) -> Obligation:
        value = proof.quantity(quantity)
        undefined = quantity.startswith(_OF_A_SUM) and (proof.sigma(1) > 0) is not True
        if undefined and proof.matrix.is_zero:
            return unproved(name, sentence, _ZERO)
        return (proof.at_least if which == "at_least" else proof.at_most)(name, sentence, value, bound)

    return name, make


def read_hint(values: Values, matrix: StatedMatrix) -> Hint:
    """Shapes that fit, and values in order; raises MalformedError."""
    left, stated, right = values[LEFT], values[SINGULAR], values[RIGHT]
    if matrix.tiers == ():
        where = "a matrix in array files of floats or of integers up to 32 bits; others need no hint"
        raise values.at.malformed(where, "a hint for another matrix", "leave the hint out")
    count = stated.shape[1]
    if count > matrix.count:
        raise stated.node.malformed(f"at most {matrix.count} values, as many as there are", f"{count}")
    for part, rows in ((left, matrix.shape[0]), (right, matrix.shape[1])):
        part.require_shape(rows, count, "(a column for each value)")
        if StatedMatrix.holds_doubles(part) is not True:
            raise part.node.malformed("an array file of floats", "other numbers")
    loaded = stated.load()
    entries = loaded.row(0)
    for k, entry in enumerate(entries):
        if (entry < 0) is True or (k > 0 and (entry > entries[k - 1]) is True):
            raise stated.node.malformed("values in falling order, none negative", f"another one at index {k}")
    return Hint(left, loaded, right)


def _upper_end(obligation: Obligation) -> arb:
    return obligation.left.upper() if isinstance(obligation.left, arb) else arb(0)


CLAIM = SingularValuesClaim()
