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

    L_p = (1/n) sum_i ( M0 |v|^2 |W|^2 |X_i|^4 + 3 M1 |v| |W|^2 |X_i|^3 ),

with M0 a Lipschitz constant of l' and M1 the largest |l'| on the scores, and spectral norms. These are bounded here by
|A|^2 <= min( trace AA', largest absolute row sum of AA' ), so that what is computed is at least L_p.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Field, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Selection, Tokens, best_tokens, largest_spread
from certattn.kernel.theorems.selection import selection_direction
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.mathematics.selection_constants import ENCLOSED, GRADIENT
from certattn.kernel.theorems.selection.selection_direction import DESCENT, GIVEN, START, DescentProblem
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    KEY_MAP,
    KEYS,
    LIMIT,
    PAIR_MULTIPLIERS,
    VALUE_DIRECTION,
    StatedTokens,
    kkt_names,
    optimal,
    point_of,
    read_sections,
)

APART = Field("apart", Rational(above=0), "1 - cos of the angle between both max-margin points is at least this")
_AT_MOST_1 = "a number that is at least the paper's L_p, with eta times it at most 1"
SMOOTHNESS = Field("smoothness", Rational(above=0), _AT_MOST_1, required=False)
BEST_MULTIPLIERS = Field("best_multipliers", PAIR_MULTIPLIERS, "multipliers of the best tokens' max-margin point")

ASSERTS = Record(INDICES, LIMIT, APART, SMOOTHNESS)
WITNESS = Record(*selection_direction.WITNESS.fields.values(), BEST_MULTIPLIERS)


# -- the smoothness constant of the paper: gradient descent on p with steps up to 1/L_p


def smoothness_bound(stated: StatedTokens, loss: Loss) -> arb:
    """An upper bound of L_p for tokens X_i (one per row) with keys W x and scores Y_i v'x.

    Of keys with scores, for the simplest that give these: x = (key, score), W = [I 0] and v = (0, ..., 0, 1), all
    labels 1; with queries, the keys are the k_it q_i'.
    """
    given, tokens = stated.given, stated.tokens
    scores = [tokens.scores_of(i) for i in range(tokens.count)]
    curvature, steepest = arb(0), arb(0)
    for gammas in scores:
        low, high = arb(min(gammas)), arb(max(gammas))
        curvature = curvature.max(loss.largest_curvature(low, high))
        steepest = steepest.max(loss.slope(low))
    rows = tokens.keys if KEYS in given else stated.rows
    inputs = [Tokens(rows, tokens.lengths).keys_of(i) for i in range(tokens.count)]
    if KEYS in given:
        scored = [zip(part.to_rows(), gammas, strict=True) for part, gammas in zip(inputs, scores, strict=True)]
        inputs = [ExactMatrix.rational([[*key, score] for key, score in pairs]) for pairs in scored]
    direction = _square(given[VALUE_DIRECTION].load()) if VALUE_DIRECTION in given else fmpq(1)
    weights = _square(given[KEY_MAP].load()) if KEY_MAP in given else fmpq(1)
    total = arb(0)
    for size in map(_square, inputs):
        total += curvature * direction * weights * size * size
        total += 3 * steepest * arb(direction).sqrt() * weights * size * arb(size).sqrt()
    return total / tokens.count


def _square(matrix: ExactMatrix) -> fmpq:
    """A bound of the square of the spectral norm, the largest eigenvalue of AA'; exact for one row and for I."""
    gram = matrix @ matrix.T
    sums = [sum((abs(entry) for entry in row), fmpq(0)) for row in gram.to_rows()]
    return min(gram.trace(), max(sums))


# -- what is stated


@dataclass(frozen=True)
class Counterexample:
    """Where descent goes, and what is said of the best tokens."""

    direction: DescentProblem
    asserts: Values
    best: Selection
    best_solution: MaxMargin


def read(certificate: Certificate) -> Counterexample:
    """Gradient descent from a point or a box, for several inputs. Raises MalformedError."""
    given, asserts, witness = read_sections(certificate, GIVEN, ASSERTS, WITNESS, "multipliers and a theorem")
    direction = selection_direction.problem_of(given, asserts, witness)
    tokens, rule, start = direction.selection.tokens, direction.rule.kind, direction.start.kind
    if tokens.count < 2:
        raise given.at.malformed("two inputs or more: for one the reading holds", "one input")
    if rule != GRADIENT:
        raise given.node(DESCENT).malformed(f"the rule {GRADIENT}", f"the rule {rule}")
    if start != ENCLOSED:
        expected = "a point, or a box of points, to start from"
        raise given.node(START).malformed(expected, f"a start of the kind {start!r}")
    best = Selection(tokens, tuple(found[0] for found in best_tokens(tokens)))
    if best.indices == direction.selection.indices:
        raise asserts.node(INDICES).malformed("other tokens than the best ones of every input", "the best tokens")
    return Counterexample(direction, asserts, best, point_of(best, witness[BEST_MULTIPLIERS]))


# -- what proves it


def obligations(problem: Counterexample) -> Iterator[Obligation | NoProof]:
    best, direction, asserts = problem.best, problem.direction, problem.asserts
    yield from optimal("p_best", lambda: problem.best_solution.conditions)
    # Every input has one best token, and its other scores are equal.
    yield Obligation("unique", min(best.gaps), ">", fmpq(0))
    yield Obligation("equal", largest_spread(best), "<=", fmpq(0))
    yield from selection_direction.obligations(direction)
    points = [*kkt_names("p_best"), *kkt_names("p_mm")]
    left, right = problem.best_solution, direction.solution
    # 1 - cos of the angle of both points, from exact products.
    apart = lambda: 1 - left.solution.inner(right.solution) * left.margin() * right.margin()  # noqa: E731
    yield Obligation("apart", apart, ">=", asserts[APART], needs=points)
    eta = direction.rule.step
    if SMOOTHNESS in asserts and eta is not None:
        # L is at least L_p, which is only bounded here, and eta L <= 1, exactly.
        bound = lambda: smoothness_bound(direction.stated, direction.loss)  # noqa: E731
        yield Obligation("smoothness", bound, "<=", asserts[SMOOTHNESS], Part.WITNESS)
        yield Obligation("step", eta * asserts[SMOOTHNESS], "<=", fmpq(1))


_TITLE = "descent that misses the best tokens although all other scores are equal"
THEOREM = Theorem("selection-counterexample", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
