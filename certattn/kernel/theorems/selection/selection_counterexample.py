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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Field, Rational, Record
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Selection, Tokens, best_tokens, largest_spread
from certattn.kernel.theorems.selection.kkt import PAIR_MULTIPLIERS, kkt_names, optimal, point_of
from certattn.kernel.theorems.selection.mathematics.descents import ENCLOSED, GRADIENT
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.selection_direction import (
    DESCENT,
    GIVEN,
    LIMIT,
    START,
    WITNESS,
    DescentProblem,
    problem_of,
)
from certattn.kernel.theorems.selection.selection_direction import obligations as direction_obligations
from certattn.kernel.theorems.selection.stated_tokens import INDICES, KEY_MAP, KEYS, VALUE_DIRECTION, StatedTokens

APART = Field("apart", Rational(above=0), "1 - cos of the angle between both max-margin points is at least this")
_AT_MOST_1 = "a number that is at least the paper's L_p, with eta times it at most 1"
SMOOTHNESS = Field("smoothness", Rational(above=0), _AT_MOST_1, required=False)
BEST_MULTIPLIERS = Field("best_multipliers", PAIR_MULTIPLIERS, "multipliers of the best tokens' max-margin point")

ASSERTS = Record(INDICES, LIMIT, APART, SMOOTHNESS)
BOTH_WITNESS = Record(*WITNESS.fields.values(), BEST_MULTIPLIERS)


# -- the smoothness constant of the paper: gradient descent on p with steps up to 1/L_p


@dataclass(frozen=True)
class PaperData:
    """Tokens X_i (one per row) with keys W x and scores Y_i v'x."""

    tokens: tuple[ExactMatrix, ...]
    direction: ExactMatrix
    key_map: ExactMatrix


def data_of_keys(keys: Sequence[ExactMatrix], scores: Sequence[Sequence[fmpq]]) -> PaperData:
    """The data with given keys and scores: x = (key, score), W = [I 0] and v = (0, ..., 0, 1), all labels 1."""
    dimension = keys[0].columns
    rows = tuple(
        ExactMatrix.rational([[*row, score] for row, score in zip(part.to_rows(), gammas, strict=True)])
        for part, gammas in zip(keys, scores, strict=True)
    )
    identity = [[fmpq(int(a == b)) for b in range(dimension + 1)] for a in range(dimension + 1)]
    return PaperData(rows, ExactMatrix.rational(identity[-1:]), ExactMatrix.rational(identity[:-1]))


def paper_data(stated: StatedTokens) -> PaperData:
    """The X_i, W and v of the paper behind checked tokens; of keys with scores, the simplest that give these."""
    given, inputs = stated.given, range(stated.tokens.count)
    if KEYS in given:
        return data_of_keys([stated.tokens.keys_of(i) for i in inputs], [stated.tokens.scores_of(i) for i in inputs])
    rows, key_map = Tokens(stated.rows, stated.tokens.lengths), ExactMatrix.identity(stated.rows.columns)
    if KEY_MAP in given:
        key_map = given[KEY_MAP].load()
    return PaperData(tuple(rows.keys_of(i) for i in inputs), given[VALUE_DIRECTION].load(), key_map)


def smoothness_bound(data: PaperData, loss: Loss, scores: Sequence[Sequence[fmpq]]) -> arb:
    """An upper bound of L_p."""
    curvature, steepest = arb(0), arb(0)
    for gammas in scores:
        low, high = arb(min(gammas)), arb(max(gammas))
        curvature = curvature.max(loss.largest_curvature(low, high, BALLS))
        steepest = steepest.max(loss.slope(low, BALLS))
    direction, weights = _square(data.direction), _square(data.key_map)
    total = arb(0)
    for rows in data.tokens:
        size = _square(rows)
        total += curvature * direction * weights * size * size
        total += 3 * steepest * arb(direction).sqrt() * weights * size * arb(size).sqrt()
    return total / len(data.tokens)


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
    best: Selection
    best_solution: MaxMargin
    apart: fmpq
    smoothness: fmpq | None


def read(certificate: Certificate) -> Counterexample:
    """Gradient descent from a point or a box, for several inputs. Raises MalformedError."""
    _, given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise certificate.asserts.malformed("a witness with multipliers and a theorem", "no witness")
    witness = BOTH_WITNESS.read(certificate.witness, certificate.reading)
    direction = problem_of(given, asserts, witness)
    tokens, rule = direction.selection.tokens, direction.rule
    if tokens.count < 2:
        raise given.at.malformed("two inputs or more: for one the reading holds", "one input")
    if rule.kind != GRADIENT:
        raise given.node(DESCENT).malformed(f"the rule {GRADIENT}", f"the rule {rule.kind}")
    if direction.start.kind != ENCLOSED:
        raise given.node(START).malformed(
            "a point, or a box of points, to start from", f"a start of the kind {direction.start.kind!r}"
        )
    best = Selection(tokens, tuple(found[0] for found in best_tokens(tokens)))
    if best.indices == direction.selection.indices:
        raise asserts.node(INDICES).malformed("other tokens than the best ones of every input", "the best tokens")
    solution = point_of(best, witness[BEST_MULTIPLIERS])
    return Counterexample(direction, best, solution, asserts[APART], asserts.get(SMOOTHNESS))


# -- what proves it


def obligations(problem: Counterexample) -> Iterator[Obligation]:
    best, direction = problem.best, problem.direction
    yield from optimal("p_best", lambda: problem.best_solution.conditions)
    # Every input has one best token, and its other scores are equal.
    yield Obligation("unique", min(best.gaps), ">", fmpq(0))
    yield Obligation("equal", largest_spread(best), "<=", fmpq(0))
    yield from direction_obligations(direction)
    points = [*kkt_names("p_best"), *kkt_names("p_mm")]
    yield Obligation("apart", lambda: _apart(problem), ">=", problem.apart, needs=points)
    stated, eta = problem.smoothness, direction.rule.step
    if stated is not None and eta is not None:
        # L is at least L_p, which is only bounded here, and eta L <= 1, exactly.
        yield Obligation("smoothness", lambda: _smoothness(direction), "<=", stated, Part.WITNESS)
        yield Obligation("step", eta * stated, "<=", fmpq(1))


def _apart(problem: Counterexample) -> arb:
    """1 - cos of the angle of both points, from exact products."""
    left, right = problem.best_solution, problem.direction.solution
    product = (left.solution @ right.solution.T).entry(0, 0)
    return 1 - product * left.margin() * right.margin()


def _smoothness(direction: DescentProblem) -> arb:
    """A bound of the paper's L_p."""
    tokens = direction.selection.tokens
    scores = [tokens.scores_of(i) for i in range(tokens.count)]
    return smoothness_bound(paper_data(direction.stated), direction.loss, scores)


_TITLE = "descent that misses the best tokens although all other scores are equal"
THEOREM = Theorem("selection-counterexample", _TITLE, GIVEN, ASSERTS, BOTH_WITNESS, read, obligations)
