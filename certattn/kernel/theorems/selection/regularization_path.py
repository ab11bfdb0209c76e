"""Theorem `regularization-path`: where the minimisers of the loss over balls |p| <= R are.

Given tokens with scores, a loss l, a prediction head psi and radii R, let p_R be any minimiser over |p| <= R of

    L(p) = (1/n) sum_i l(Y_i psi(sum_t s_it x_it)),     s_i = softmax(<k_it, p>)_t.

A certificate asserts, for chosen tokens alpha and every stated radius, |p_R| = R and a lower bound of the cosine of
the angle between p_R and the max-margin solution p_mm(alpha).

Theorem (page of the claim). With F = n (L - L(alpha selected)), a comparator p^ with |p^| <= R and the costs m_j of
mixing for excesses up to F(p^): if F(p^) < a = min_j m_j, then every p_R has

    cos(p_R, p_mm) >= log(w (1/F(p^) - 1/a)) / (Xi R),     w = exp(sum_j lambda^_j log(m_j / lambda^_j)).

Ataee Tarzanagh, Li, Zhang and Oymak 2023, the theorems on regularisation paths, which are asymptotic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS, Functions, Number
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, least_progress, log_weight
from certattn.kernel.theorems.selection.mathematics.mixing import (
    Activation,
    Identity,
    LeakyRelu,
    Mixing,
    QuadraticMixing,
    ScoreMixing,
    Softplus,
    Tanh,
)
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    LOSS,
    MULTIPLIERS,
    VALUE_DIRECTION,
    StatedTokens,
    optimal,
    point_of,
    read_labels,
    read_selection,
    read_tokens,
    scored_token_forms,
)

# What reads the attended token.
NEGATIVE_SLOPE = Field("slope", Rational(above=0), "its slope below 0, > 0 and at most 1")
QUADRATIC = Field("A", Matrix(), "the symmetric matrix of x'Ax + v'x")
_PLAIN: dict[str, Activation] = {"linear": Identity(), "tanh": Tanh(), "softplus": Softplus()}
_CURVED = {"leaky-relu": Record(NEGATIVE_SLOPE), "quadratic": Record(QUADRATIC)}
_HEADS = Variant("kind", {**{kind: Record() for kind in _PLAIN}, **_CURVED})
HEAD = Field("head", _HEADS, "the prediction head; linear if left out", required=False)

GIVEN = ByKey(
    {"keys": scored_token_forms(LOSS).forms["keys"], "tokens": scored_token_forms(LOSS, HEAD).forms["tokens"]}
)
RADIUS = Field("radius", Rational(above=0), "R > 0: p_R is any minimiser over |p| <= R")
COSINE = Field("cosine", Rational(), "the cosine of the angle between p_R and p_mm is at least this")
PATH = Field("path", Listing(Record(RADIUS, COSINE)), "radii, with a bound of the cosine for each")
_POINTS = "for every radius a point with |p| <= R and a small loss, exactly as stated"
COMPARATORS = Field("comparators", Listing(Vector()), _POINTS)
ASSERTS = Record(INDICES, PATH)
WITNESS = Record(MULTIPLIERS, COMPARATORS)


# -- what is stated

# What mixing costs in input i, which has more than one token.
Mixer = Callable[[Selection, int], Mixing]


@dataclass(frozen=True)
class LossInputs:
    """Tokens, loss and head."""

    stated: StatedTokens
    loss: Loss
    mixing: Mixer


@dataclass(frozen=True)
class StatedRadius:
    """cos(p_R, p_mm) >= cosine, to be shown with the comparator, 1 x d."""

    radius: fmpq
    cosine: fmpq
    comparator: ExactMatrix

    @cached_property
    def norm_squared(self) -> fmpq:
        """|p^|^2."""
        return (self.comparator @ self.comparator.T).entry(0, 0)


@dataclass(frozen=True)
class PathProblem:
    """What is given, and what is asserted of it; `solution` is p_mm, where the conditions on it are proved."""

    given: LossInputs
    selection: Selection
    solution: MaxMargin
    path: list[StatedRadius]

    @cached_property
    def mixings(self) -> dict[int, Mixing]:
        """What mixing costs in the inputs of more than one token."""
        return {i: self.given.mixing(self.selection, i) for i in self.selection.pairs_of}

    @cached_property
    def smallest_gap(self) -> fmpq:
        return min(mixing.smallest for mixing in self.mixings.values())


def read(certificate: Certificate) -> PathProblem:
    """Raises MalformedError."""
    given = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    selection = read_selection(given.stated, asserts)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness with multipliers of p_mm and comparators", "none")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    solution = point_of(selection, witness[MULTIPLIERS])
    return PathProblem(given, selection, solution, _read_path(asserts, witness, selection.tokens.dimension))


def read_given(certificate: Certificate) -> LossInputs:
    """The section `given` alone. Raises MalformedError."""
    _, values = GIVEN.read(certificate.given, certificate.reading)
    stated, loss = read_tokens(values), LOSSES[values[LOSS]]
    return LossInputs(stated, loss, _mixer(stated, loss))


def _mixer(stated: StatedTokens, loss: Loss) -> Mixer:
    """By the head, linear where none is stated."""
    given, count = stated.given, stated.tokens.count
    kind, values = given.get(HEAD) or ("linear", given)
    labels = read_labels(given, count) if VALUE_DIRECTION in given else [fmpq(1)] * count
    if kind == "quadratic":
        return _quadratic(stated, values, loss, labels)
    activation = _leaky(values) if kind == "leaky-relu" else _PLAIN[kind]

    def mixing(selection: Selection, i: int) -> Mixing:
        gaps = tuple(selection.gaps[j] for j in selection.pairs_of[i])
        return ScoreMixing(loss, activation, labels[i], selection.score(i), gaps)

    return mixing


def _leaky(values: Values) -> Activation:
    if values[NEGATIVE_SLOPE] > 1:
        raise values.node(NEGATIVE_SLOPE).malformed("a number > 0 and at most 1")
    return LeakyRelu(values[NEGATIVE_SLOPE])


def _quadratic(stated: StatedTokens, values: Values, loss: Loss, labels: list[fmpq]) -> Mixer:
    size = stated.rows.columns
    values[QUADRATIC].require_shape(size, size, "for tokens of that dimension")
    matrix = values[QUADRATIC].load()
    if matrix.is_symmetric() is not True:
        raise values.node(QUADRATIC).malformed("a symmetric matrix", "one that is not")
    direction = stated.given[VALUE_DIRECTION].load()

    def mixing(selection: Selection, i: int) -> Mixing:
        chosen = selection.rows[i]
        others = stated.rows.take_rows([row for row in selection.tokens.rows_of(i) if row != chosen])
        mine = stated.rows.take_rows([chosen])
        return QuadraticMixing.of(loss, labels[i], mine, others, matrix, direction)

    return mixing


def _read_path(asserts: Values, witness: Values, dimension: int) -> list[StatedRadius]:
    listed, comparators = asserts[PATH], witness[COMPARATORS]
    if len(comparators) != len(listed):
        expected = f"{counted(len(listed), 'comparator')}, one per radius"
        raise witness.node(COMPARATORS).malformed(expected, f"{len(comparators)}")
    found = []
    for values, comparator in zip(listed, comparators, strict=True):
        if values[COSINE] < -1 or values[COSINE] > 1:
            raise values.node(COSINE).malformed("a number from -1 to 1")
        comparator.require_length(dimension, "a key")
        found.append(StatedRadius(values[RADIUS], values[COSINE], comparator.load()))
    return found


# -- what proves it


@dataclass(frozen=True)
class RadiusBounds:
    """The numbers of the theorem for one comparator, enclosed at the working precision."""

    excess: arb
    least: arb
    inward: arb
    cosine: arb


def radius_bounds(problem: PathProblem, radius: fmpq, comparator: ExactMatrix) -> RadiusBounds:
    """F(p^), the least cost a, how fast F falls along p_mm at least, and the bound of the cosine."""
    excess, pairs_of = _excess(problem, comparator), problem.selection.pairs_of
    costs = {i: mixing.costs(excess) for i, mixing in problem.mixings.items()}
    least = reduce(arb.min, [cost for entries in costs.values() for cost in entries])
    inward = reduce(arb.min, [mixing.inward(excess) for mixing in problem.mixings.values()])
    masses = {j: cost for i, entries in costs.items() for j, cost in zip(pairs_of[i], entries, strict=True)}
    multipliers = problem.solution.multipliers
    total = sum(multipliers.values(), fmpq(0))
    log_w = log_weight([masses[j] for j in multipliers], [x / total for x in multipliers.values()])
    cosine = least_progress(log_w, excess, least) / (problem.solution.margin() * radius)
    return RadiusBounds(excess, least, inward, cosine)


def softmax_weights(products: Sequence[Number], fn: Functions) -> list[Number]:
    """The weights of the other tokens: e^{-<z_t, p>} / (1 + sum_r e^{-<z_r, p>})."""
    powers = [fn.exp(-product) for product in products]
    total = 1 + sum(powers[1:], powers[0])
    return [power / total for power in powers]


def _excess(problem: PathProblem, point: ExactMatrix) -> arb:
    """F(p) = sum_i e_i(softmax weights at p)."""
    products = (problem.selection.differences @ point.T).T.row(0)
    total = arb(0)
    for i, positions in problem.selection.pairs_of.items():
        weights = softmax_weights([arb(products[j]) for j in positions], BALLS)
        total += problem.mixings[i].excess(weights)
    return total


def obligations(problem: PathProblem) -> Iterator[Obligation]:
    yield from optimal("p_mm", lambda: problem.solution.conditions)
    # What mixing costs at least: the smallest score gap, less the largest curvature.
    yield Obligation("gaps", lambda: problem.smallest_gap, ">", fmpq(0), Part.WITNESS)
    for k, stated in enumerate(problem.path):
        yield from _at_radius(problem, f"path[{k}]", stated)


def _at_radius(problem: PathProblem, prefix: str, stated: StatedRadius) -> Iterator[Obligation]:
    """The conditions of the theorem at one radius, and its bound."""
    part, radius = Part.WITNESS, stated.radius
    bounds = Shared(lambda: radius_bounds(problem, radius, stated.comparator))
    yield Obligation(f"{prefix}.inside", lambda: stated.norm_squared, "<=", radius * radius, part)
    yield Obligation(f"{prefix}.excess", lambda: bounds().excess, "<", lambda: bounds().least, part)
    yield Obligation(f"{prefix}.inward", lambda: bounds().inward, ">", fmpq(0), part)
    yield Obligation(f"{prefix}.cosine", lambda: bounds().cosine, ">=", stated.cosine, part)


_TITLE = "how near the minimisers of the loss over balls are to the max-margin direction"
THEOREM = Theorem("regularization-path", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
