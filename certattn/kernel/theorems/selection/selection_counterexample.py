"""Claim `selection-counterexample`: descent misses the best tokens although all other scores of every input are equal.

Given inputs of tokens (two or more), a loss, a step eta and a start, as in `selection-direction`. A certificate asserts

    1. every input has one token of the largest score, alpha_i, and all its other scores are equal;
    2. alpha has a max-margin point p_mm(alpha);
    3. gradient descent from p(0) has |p(k)| -> infinity and p(k)/|p(k)| -> p_mm(alpha')/|p_mm(alpha')|
       for the stated tokens alpha';
    4. 1 - cos angle(p_mm(alpha), p_mm(alpha')) is at least a stated number > 0;

and, if it states a smoothness L, that L is at least the constant L_p of the paper and eta <= 1/L.

So at this instance gradient descent does not converge in the direction of p_mm(alpha): "if all other scores of every
input are equal, gradient descent converges in direction to p_mm(alpha) from any p(0)" holds for one input (Theorem
A1) and fails for these. Ataee Tarzanagh, Li, Zhang and Oymak 2023, the theorem on global convergence read so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, Part, above, at_least, at_most, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Rational, Record, Values
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.token_selection import Selection, best_tokens, largest_spread
from certattn.kernel.theorems.selection.descent_inputs import DESCENT, ENCLOSED, GRADIENT, START
from certattn.kernel.theorems.selection.kkt import PairMultipliers, kkt_names, kkt_obligations, read_multipliers
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.mathematics.paper_smoothness import PaperData, smoothness_bound
from certattn.kernel.theorems.selection.selection_direction import CLAIM as DIRECTION
from certattn.kernel.theorems.selection.selection_inputs import INDICES, paper_data
from certattn.kernel.theorems.selection.selection_problem import (
    BITS,
    GIVEN,
    LIMIT,
    WITNESS,
    Problem,
    problem_of,
)

APART = Field("apart", Rational(above=0), "1 - cos of the angle between both max-margin points is at least this")
SMOOTHNESS = Field(
    "smoothness", Rational(above=0), "a number that is at least the paper's L_p, with eta times it at most 1", False
)
BEST_MULTIPLIERS = Field("best_multipliers", PairMultipliers(), "multipliers of the best tokens' max-margin point")

_BEST = "p_best"


@dataclass(frozen=True)
class Counterexample:
    """Where descent goes, and what is said of the best tokens."""

    direction: Problem
    best: Selection
    unique: fmpq
    spread: fmpq
    best_solution: MaxMargin
    apart: fmpq
    smoothness: fmpq | None
    data: PaperData | None
    data_words: str


class SelectionCounterexample(Claim[Counterexample]):
    name = "selection-counterexample"
    title = "descent that misses the best tokens although all other scores are equal"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(INDICES, LIMIT, APART, SMOOTHNESS)
    witness = Record(*WITNESS.fields.values(), BEST_MULTIPLIERS)

    def read(self, certificate: Certificate) -> Counterexample:
        form, given = GIVEN.read(certificate.given, certificate.reading)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if certificate.witness is None:
            raise certificate.asserts.malformed("a witness with multipliers and a theorem", "no witness")
        witness = self.witness.read(certificate.witness, certificate.reading)
        direction = problem_of((form, given), asserts, witness)
        _require_descent(direction, given)
        tokens = direction.selection.tokens
        best = Selection(tokens, tuple(found[0] for found in best_tokens(tokens)))
        if best.indices == direction.selection.indices:
            raise asserts.node(INDICES).malformed("other tokens than the best ones of every input", "the best tokens")
        multipliers = read_multipliers(witness[BEST_MULTIPLIERS], best)
        return Counterexample(
            direction,
            best,
            min(best.gaps),
            largest_spread(best),
            hard_margin(best.differences, multipliers),
            asserts[APART],
            asserts.get(SMOOTHNESS),
            paper_data(form, given, tokens) if SMOOTHNESS in asserts else None,
            " of the tokens x = (key, score) with W = [I 0] and v = (0, ..., 0, 1)" if form == "keys" else "",
        )

    def first_bits(self, certificate: Certificate) -> int | None:
        witness = certificate.witness
        return self.witness.read(witness, certificate.reading).get(BITS) if witness is not None else None

    def statement(self, problem: Counterexample) -> Statement:
        direction = DIRECTION.statement(problem.direction)
        best = ", ".join(map(str, problem.best.indices))
        words = [
            direction.words.removesuffix("."),
            f"in every input the token of ({best}) has the largest score and all other scores are equal, these best "
            "tokens have a max-margin point p_best as well, and "
            f"1 - cos angle(p_best, p_mm) >= {describe(problem.apart)}",
        ]
        rule = problem.direction.rule
        if problem.smoothness is not None and rule.step is not None:
            bound = describe(problem.smoothness)
            words.append(
                f"eta = {describe(rule.step)} <= 1/L for L = {bound}, which is at least the paper's L_p = (1/n) sum_i "
                f"(M0 |v|^2 |W|^2 |X_i|^4 + 3 M1 |v| |W|^2 |X_i|^3) with spectral norms{problem.data_words}"
            )
        words.append(
            "so gradient descent from this p(0) does not converge in the direction of p_best: the reading 'where all "
            "other scores of an input are equal, descent converges in direction to the max-margin point of the best "
            f"tokens from any p(0)' fails for these {problem.best.tokens.count} inputs"
        )
        latex = rf"{direction.latex},\qquad 1 - \cos \angle(p_{{mm}}(\alpha), p_{{mm}}(\alpha')) \ge x"
        return Statement("; ".join(words) + ".", latex)

    def names(self, problem: Counterexample) -> list[str]:
        smoothness = ["smoothness", "step"] if problem.smoothness is not None else []
        return [*kkt_names(_BEST), "unique", "equal", *DIRECTION.names(problem.direction), "apart", *smoothness]

    def prove(self, problem: Counterexample, names: Collection[str], bits: int) -> list[Obligation]:
        best = kkt_obligations(_BEST, problem.best_solution, _BEST)
        found = [*best, *_scores(problem)]
        descent = [name for name in DIRECTION.names(problem.direction) if name in names]
        if descent:
            found += DIRECTION.prove(problem.direction, descent, bits)
        points = [*best, *kkt_obligations("p_mm", problem.direction.solution, "p_mm")]
        if all(o.outcome is Outcome.PROVED for o in points):
            found.append(_apart(problem, bits))
        else:
            found.append(unproved("apart", "the angle of the max-margin points", "they are not proved to be these"))
        return [o for o in [*found, *_steps(problem, bits)] if o.name in names]

    def findings(self, problem: Counterexample, obligations: Sequence[Obligation]) -> list[str]:
        proved = {o.name for o in obligations if o.outcome is Outcome.PROVED}
        if not proved.issuperset(self.names(problem)):
            return []
        return [*DIRECTION.findings(problem.direction, obligations), f"p_best = {problem.best_solution.solution}"]


def _scores(problem: Counterexample) -> list[Obligation]:
    """That every input has one best token, and that its other scores are equal: exact."""
    return [
        above("unique", "the least lead of a best score over another of its input", problem.unique, fmpq(0)),
        at_most("equal", "the largest difference of two other scores of an input", problem.spread, fmpq(0)),
    ]


def _apart(problem: Counterexample, bits: int) -> Obligation:
    """1 - cos of the angle of both points, from exact products."""
    left, right = problem.best_solution, problem.direction.solution
    product = (left.solution @ right.solution.T).entry(0, 0)
    cosine = product * left.margin() * right.margin()
    return at_least("apart", "1 - cos angle(p_best, p_mm)", 1 - cosine, problem.apart, bits)


def _steps(problem: Counterexample, bits: int) -> list[Obligation]:
    """That L is at least L_p, which is only bounded here, and that eta L <= 1, exactly."""
    stated, data, eta = problem.smoothness, problem.data, problem.direction.rule.step
    if stated is None or data is None or eta is None:
        return []
    tokens = problem.best.tokens
    scores = [tokens.scores_of(i) for i in range(tokens.count)]
    bound: arb = smoothness_bound(data, problem.direction.loss, scores)
    return [
        at_most("smoothness", "a bound of the paper's L_p, against L", bound, stated, bits, part=Part.WITNESS),
        at_most("step", "eta L", eta * stated, fmpq(1)),
    ]


def _require_descent(direction: Problem, given: Values) -> None:
    """Gradient descent from a point or a box, for several inputs."""
    if direction.selection.tokens.count < 2:
        raise given.at.malformed("two inputs or more: for one the reading holds", "one input")
    if direction.rule.kind != GRADIENT:
        raise given.node(DESCENT).malformed(f"the rule {GRADIENT}", f"the rule {direction.rule.kind}")
    if direction.start.kind != ENCLOSED:
        raise given.node(START).malformed("a point, or a box of points, to start from", direction.start.words)


CLAIM = SelectionCounterexample()
