"""Theorem `selection-counterexample`: descent misses the best tokens although all other scores of an input are equal.

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

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Field, Rational, Record, Values
from certattn.kernel.mathematics.token_selection import Selection, best_tokens, largest_spread
from certattn.kernel.theorems.selection.descent import DESCENT, ENCLOSED, GRADIENT, START
from certattn.kernel.theorems.selection.kkt import PairMultipliers, kkt_names, optimal, read_multipliers
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.mathematics.paper_smoothness import PaperData, smoothness_bound
from certattn.kernel.theorems.selection.selection_direction import obligations as direction_obligations
from certattn.kernel.theorems.selection.selection_problem import (
    GIVEN,
    LIMIT,
    WITNESS,
    DescentProblem,
    problem_of,
)
from certattn.kernel.theorems.selection.stated_tokens import INDICES, paper_data

APART = Field("apart", Rational(above=0), "1 - cos of the angle between both max-margin points is at least this")
SMOOTHNESS = Field(
    "smoothness", Rational(above=0), "a number that is at least the paper's L_p, with eta times it at most 1", False
)
BEST_MULTIPLIERS = Field("best_multipliers", PairMultipliers(), "multipliers of the best tokens' max-margin point")

ASSERTS = Record(INDICES, LIMIT, APART, SMOOTHNESS)
BOTH_WITNESS = Record(*WITNESS.fields.values(), BEST_MULTIPLIERS)


@dataclass(frozen=True)
class Counterexample:
    """Where descent goes, and what is said of the best tokens."""

    direction: DescentProblem
    best: Selection
    unique: fmpq
    spread: fmpq
    best_solution: MaxMargin
    apart: fmpq
    smoothness: fmpq | None
    data: PaperData | None
    form: str


def read(certificate: Certificate) -> Counterexample:
    form, given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise certificate.asserts.malformed("a witness with multipliers and a theorem", "no witness")
    witness = BOTH_WITNESS.read(certificate.witness, certificate.reading)
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
        form,
    )


def _require_descent(direction: DescentProblem, given: Values) -> None:
    """Gradient descent from a point or a box, for several inputs."""
    if direction.selection.tokens.count < 2:
        raise given.at.malformed("two inputs or more: for one the reading holds", "one input")
    if direction.rule.kind != GRADIENT:
        raise given.node(DESCENT).malformed(f"the rule {GRADIENT}", f"the rule {direction.rule.kind}")
    if direction.start.kind != ENCLOSED:
        raise given.node(START).malformed("a point, or a box of points, to start from", direction.start.words)


def obligations(problem: Counterexample) -> Iterator[Obligation]:
    yield from optimal("p_best", lambda: problem.best_solution)
    # Every input has one best token, and its other scores are equal.
    yield Obligation("unique", problem.unique, ">", fmpq(0))
    yield Obligation("equal", problem.spread, "<=", fmpq(0))
    yield from direction_obligations(problem.direction)
    points = [*kkt_names("p_best"), *kkt_names("p_mm")]
    yield Obligation("apart", lambda: _apart(problem), ">=", problem.apart, needs=points)
    stated, data, eta = problem.smoothness, problem.data, problem.direction.rule.step
    if stated is not None and data is not None and eta is not None:
        # L is at least L_p, which is only bounded here, and eta L <= 1, exactly.
        yield Obligation("smoothness", lambda: _smoothness(problem, data), "<=", stated, Part.WITNESS)
        yield Obligation("step", eta * stated, "<=", fmpq(1))


def _apart(problem: Counterexample) -> arb:
    """1 - cos of the angle of both points, from exact products."""
    left, right = problem.best_solution, problem.direction.solution
    product = (left.solution @ right.solution.T).entry(0, 0)
    return 1 - product * left.margin() * right.margin()


def _smoothness(problem: Counterexample, data: PaperData) -> arb:
    """A bound of the paper's L_p."""
    tokens = problem.best.tokens
    bound: arb = smoothness_bound(data, problem.direction.loss, [tokens.scores_of(i) for i in range(tokens.count)])
    return bound


THEOREM = Theorem(
    name="selection-counterexample",
    title="descent that misses the best tokens although all other scores are equal",
    given=GIVEN,
    asserts=ASSERTS,
    witness=BOTH_WITNESS,
    read=read,
    obligations=obligations,
)
