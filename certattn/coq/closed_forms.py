"""Inequalities of closed formulas, by the interval tactic: `normalizer-bound`, `universality-bound` for random queries.

The theorem is that a formula of the numbers of the certificate is at most (or at least) what is asserted. That the
formula bounds what the certificate speaks of is the theorem of the claim's page, which is not proved in Coq.
"""

from __future__ import annotations

from collections.abc import Iterable

from flint import arb, fmpq

from certattn.coq.instance import Conjunct, Cost, Instance, NotExportableError, bits_above, slack_of
from certattn.coq.terms import Constant, Number
from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum import universality_bound as universality
from certattn.kernel.theorems.spectrum.normalizer_bound import DISTANCE, DRAWN, MEAN_SQUARE, THEOREM
from certattn.kernel.theorems.spectrum.score_matrix import CUT, MOST, THETA, ScoreMatrix, score_matrix
from certattn.kernel.theorems.spectrum.typical_queries import FIELDS

_SLACK_BITS, _SPARE_BITS, _MOST_PRECISION = 512, 128, 2000
_COST = Cost(16.0, 900.0)
_SAYS = "that the bound of the page docs/claims/spectrum/{}.md, a closed formula of d, p, beta^2{}, is as stated. {}"
_PROVED_THERE = (
    "That the expectations and probabilities of the statement are at most this formula is proved on that page, "
    "and not in Coq"
)


class _Numbers:
    """Numbers as constants, met one after the other, and inequalities about formulas of them."""

    def __init__(self, precision: int, **numbers: fmpq | int) -> None:
        self.precision = precision
        self.constants: list[Constant] = [Number(name, fmpq(value)) for name, value in numbers.items()]
        self.conjuncts: list[Conjunct] = []

    def term(self, name: str) -> str:
        """The number of this name over the reals."""
        (found,) = [c for c in self.constants if isinstance(c, Number) and c.name == name]
        return found.term

    def formula(self, name: str, *arguments: str) -> str:
        return f"({name} {' '.join(map(self.term, arguments))})"

    def add(self, name: str, value: fmpq) -> str:
        """One more number."""
        self.constants.append(Number(name, value))
        return self.term(name)

    def state(self, lower: str, upper: str, relation: str = "<=") -> None:
        self.conjuncts.append(Conjunct(f"({lower} {relation} {upper})%R", ""))

    def instance(self, says: str, fast: bool) -> Instance:
        """With the proof of each inequality."""
        names = ", ".join(f"{c.name}_num, {c.name}_den" for c in self.constants)
        proof = f"unfold_formulas; unfold {names}; interval with (i_prec {self.precision})."
        conjuncts = [Conjunct(each.statement, proof) for each in self.conjuncts]
        return Instance(["Statements", "Formulas", "ClosedForms"], self.constants, conjuncts, _COST, says, fast)


def normalizer_bound_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The inequality of the bound. Raises NotExportableError."""
    stated = THEOREM.read(certificate)
    scores, asserts = score_matrix(stated.given), stated.asserts
    if DRAWN in asserts:
        raise NotExportableError("what a drawn matrix is like has no form in Coq here; what the normaliser changes has")
    precision = _precision(THEOREM.obligations(stated), scores.d)
    numbers = _Numbers(precision, **_sizes(scores), theta=stated.hint[THETA], cut=stated.hint[CUT])
    _finite(numbers, 12)
    bound = numbers.formula("normalizer_bound", "d", "p", "beta2", "theta", "cut")
    if MEAN_SQUARE in asserts:
        numbers.state(bound, numbers.add("mean_square", asserts[MEAN_SQUARE][MOST]))
    if DISTANCE in asserts:
        numbers.state(f"sqrt {bound}", numbers.add("distance", asserts[DISTANCE][MOST]))
    return numbers.instance(_SAYS.format("normalizer-bound", ", theta and cut", _PROVED_THERE), fast)


def universality_bound_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The inequalities of the bounds for random queries. Raises NotExportableError for given ones."""
    stated = universality.THEOREM.read(certificate)
    given, asserts = stated.given, stated.asserts
    scores = universality.random_scores(given)
    if scores is None:
        raise NotExportableError(
            "the bound for given queries has an eigenvalue in it and no form in Coq here; those for random queries have"
        )
    precision = _precision(universality.THEOREM.obligations(stated), scores.d)
    numbers = _Numbers(precision, **_sizes(scores), eta=given[universality.ETA])
    if stated.witness is not None:
        for parameter in (THETA, *FIELDS):
            numbers.add(parameter.name, stated.witness[parameter])
    if universality.UNIVERSALITY in asserts:
        _finite(numbers, 12)
        bound = numbers.formula("mean_universality", "d", "p", "beta2", "eta", "cut", "coherence", "excess")
        numbers.state(bound, numbers.add("universality", asserts[universality.UNIVERSALITY][MOST]))
    if universality.CONCENTRATION in asserts:
        concentration = asserts[universality.CONCENTRATION]
        numbers.add("deviation", concentration[universality.DEVIATION])
        bound = numbers.formula("deviation_bound", "d", "eta", "deviation")
        numbers.state(bound, numbers.add("concentration", concentration[MOST]))
    if universality.LINEARISATION in asserts:
        _finite(numbers, 4)
        linearisation = asserts[universality.LINEARISATION]
        formula = numbers.formula("linearisation", "d", "p", "beta2")
        if AT_LEAST in linearisation:
            numbers.state(numbers.add("linearisation_least", linearisation[AT_LEAST]), formula)
        if AT_MOST in linearisation:
            numbers.state(formula, numbers.add("linearisation_most", linearisation[AT_MOST]))
    if universality.EQUIVALENCE in asserts:
        _finite(numbers, 12)
        bound = numbers.formula("equivalence_bound", "d", "p", "beta2", "eta", "theta", "cut", "coherence", "excess")
        numbers.state(bound, numbers.add("equivalence", asserts[universality.EQUIVALENCE][MOST]))
    return numbers.instance(_SAYS.format("universality-bound", " and the witness", _PROVED_THERE), fast)


def _sizes(scores: ScoreMatrix) -> dict[str, fmpq | int]:
    return {"d": scores.d, "p": scores.p, "beta2": scores.beta2}


def _finite(numbers: _Numbers, factor: int) -> None:
    """The means that the formula needs exist."""
    numbers.state(f"{factor} * {numbers.term('beta2')}", numbers.term("p"), "<")


def _precision(obligations: Iterable[Obligation | NoProof], size: int) -> int:
    """Bits with which the tactic decides all inequalities. Raises NotExportableError where none are enough."""
    with working_precision(_SLACK_BITS):
        slack = slack_of(obligations, _SLACK_BITS)
        bits = bits_above(arb(size) ** 2 / slack) + _SPARE_BITS
    if bits > _MOST_PRECISION:
        raise NotExportableError(f"the slack is so small that Coq would need {bits} bits: state it a little wider")
    return bits
