"""Theorem `regularization-path`: where the minimisers of the loss over balls |p| <= R are.

Given tokens with scores, a loss l, a prediction head psi and radii R, let p_R be any minimiser over |p| <= R of

    L(p) = (1/n) sum_i l(Y_i psi(sum_t s_it x_it)),     s_i = softmax(<k_it, p>)_t.

A certificate asserts, for chosen tokens alpha and every stated radius, |p_R| = R and a lower bound of the cosine of
the angle between p_R and the max-margin solution p_mm(alpha); and it may assert p_mm itself. With queries q_i, a matrix
W with |W| of Frobenius stands in the place of p, and k_it' W q_i = <k_it q_i', W> in the place of <k_it, p>.

Theorem (page of the claim). With F = n (L - L(alpha selected)), a comparator p^ with |p^| <= R and the costs m_j of
mixing for excesses up to F(p^): if F(p^) < a = min_j m_j, then every p_R has

    cos(p_R, p_mm) >= log(w (1/F(p^) - 1/a)) / (Xi R),     w = exp(sum_j lambda^_j log(m_j / lambda^_j)).

In another norm a certificate asserts |p_R| = R, and how much at least of the largest margin 1 / min |p| p_R / R has:

    min_j <z_j, p_R> / R >= share / min |p|,   shown by   share <= L log(a / F(p^) - 1) / R

with L = sum lambda_j <= min |p| for multipliers of which the dual norm of sum_j lambda_j z_j is at most 1; and for
|p|_l with 1 < l < infinity how far at most p_R / R is from p_mm / |p_mm|_l.

What it costs to mix other tokens into the chosen one: a head psi reads the attended token sum_t s_t x_t of an input
with label Y, where the weights s are >= 0 and sum to 1. With e(s) = l(Y psi(sum_t s_t x_t)) - l(Y psi(x_alpha)), the
path of minimisers needs to know, for bounds F of e,

    excess    e(s) for the weights of the other tokens
    costs     m_t > 0 with   e(s) >= sum_{t != alpha} m_t s_t   wherever e(s) <= F
    inward    a number that is > 0 only if e falls along every direction u with <z_t, u> > 0 for all t, wherever e <= F

Both rest on `smallest` > 0. A head reads a linear score through an increasing activation, or is quadratic:

    identity     r
    tanh         tanh r
    softplus     log(1 + e^r)
    leaky-relu   max(r, beta r)   with 0 < beta <= 1
    quadratic    x'Ax + v'x

Ataee Tarzanagh, Li, Zhang and Oymak 2023, the theorems on regularisation paths, which are asymptotic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_norms import Norm, PowerNorm, power, reach_power, turn
from certattn.kernel.theorems.selection.mathematics.margin_points import (
    MaxMargin,
    combination,
    least_progress,
    log_weight,
)
from certattn.kernel.theorems.selection.stated_norms import FACTOR_PAIR, NORM, NUCLEAR, nuclear_norm
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    LIMIT,
    LOSS,
    MULTIPLIERS,
    QUERIES,
    VALUE_DIRECTION,
    PointKind,
    StatedTokens,
    kkt_names,
    optimal,
    point_of,
    read_labels,
    read_multipliers,
    read_point,
    read_sections,
    read_selection,
    read_tokens,
    scored_token_forms,
)

# -- activations: phi(r), and for an interval a number kappa > 0 with
#    phi(s) - phi(r) >= kappa (s - r) for low <= r <= s <= high


class Identity:
    def value(self, r: arb) -> arb:
        return r

    def least_slope(self, low: arb, high: arb) -> arb:
        return (0 * low).exp()


class Tanh:
    def value(self, r: arb) -> arb:
        return r.tanh()

    def least_slope(self, low: arb, high: arb) -> arb:
        # The slope 1 - tanh^2 falls with |r|: it is least where |r| is largest.
        size = abs(low).max(abs(high))
        decay = (-2 * size).exp()
        return 4 * decay / ((1 + decay) * (1 + decay))


class Softplus:
    def value(self, r: arb) -> arb:
        return (1 + r.exp()).log()

    def least_slope(self, low: arb, high: arb) -> arb:
        # The slope 1 / (1 + e^{-r}) rises with r.
        return 1 / (1 + (-low).exp())


@dataclass(frozen=True)
class LeakyRelu:
    slope: fmpq

    def value(self, r: arb) -> arb:
        return r.max(self.slope * r)

    def least_slope(self, low: arb, high: arb) -> arb:
        one = (0 * low).exp()
        return one if (low >= 0) is True else self.slope * one


Activation = Identity | Tanh | Softplus | LeakyRelu

# -- what mixing costs in one input: its chosen token, whose score the loss falls with, among others in a fixed order


@dataclass(frozen=True)
class ScoreMixing:
    """psi(x) = phi(v'x) with an increasing activation phi: only the score matters, gamma = Y v'x.

    Weights s give the score gamma_alpha - G with G = sum s_t g_t. As a function of it, the loss l(Y phi(Y gamma))
    falls with a slope of at least c on [gamma_alpha - G, gamma_alpha], so that e(s) >= c G.
    """

    loss: Loss
    activation: Activation
    label: fmpq
    score: fmpq
    gaps: tuple[fmpq, ...]

    @property
    def smallest(self) -> fmpq:
        return min(self.gaps)

    def excess(self, weights: Sequence[arb]) -> arb:
        return self.excess_of(sum((s * g for s, g in zip(weights, self.gaps, strict=True)), arb(0)))

    def excess_of(self, drop: arb) -> arb:
        """e where the score has dropped by G."""
        before, after = self.output(arb(self.score)), self.output(self.score - drop)
        return self.loss.excess(before, before - after)

    def output(self, score: arb) -> arb:
        """Y phi(Y gamma)."""
        return arb(self.label * self.activation.value(self.label * score))

    def slope(self, bound: arb) -> arb:
        """c for e <= bound: G is at most the largest gap, and at most bound / c with the c of all scores."""
        largest = arb(max(self.gaps))
        return self._slope(largest.min(bound / self._slope(largest)))

    def _slope(self, drop: arb) -> arb:
        """c: how fast the loss at least falls with the score, where the score has dropped by at most `drop`."""
        low, high = self.score - drop, arb(self.score)
        ends = (low, high) if self.label > 0 else (-high, -low)
        # l falls the slowest at the largest output.
        return self.activation.least_slope(*ends) * self.loss.slope(self.output(high))

    def costs(self, bound: arb) -> list[arb]:
        slope = self.slope(bound)
        return [slope * gap for gap in self.gaps]

    def inward(self, bound: arb) -> arb:
        # Along u the score rises if G < g_t for all t; and G <= e / c.
        return self.smallest - bound / self.slope(bound)


class QuadraticMixing:
    """psi(x) = x'Ax + v'x with a symmetric matrix A.

    With y_t = x_alpha - x_t, g_t = Y (2 A x_alpha + v)'y_t and Q_tr = Y y_t'A y_r, weights s lower Y psi by

        D(s) = sum s_t g_t - sum s_t s_r Q_tr >= sum s_t (g_t - eps up_t),   eps = sum s_t,  up_t = max(0, max_r Q_tr).
    """

    def __init__(
        self, loss: Loss, label: fmpq, chosen: ExactMatrix, others: ExactMatrix, A: ExactMatrix, v: ExactMatrix
    ) -> None:
        """From the chosen token, 1 x d, the other tokens, one per row, and the head; `score` is Y psi(x_alpha)."""
        self.loss = loss
        differences = (-others).centred(-chosen)
        slope = (chosen @ A).scaled(fmpq(2)) + v
        self.score = label * (chosen @ (chosen @ A + v).T).entry(0, 0)
        self.gaps = [label * gap for gap in (slope @ differences.T).row(0)]
        self.products = [[label * entry for entry in row] for row in (differences @ A @ differences.T).to_rows()]

    @cached_property
    def up(self) -> tuple[fmpq, ...]:
        """The largest Q_tr, or 0, for every t."""
        return tuple(max(fmpq(0), *row) for row in self.products)

    @cached_property
    def down(self) -> tuple[fmpq, ...]:
        """The largest -Q_tr, or 0, for every t."""
        return tuple(max(fmpq(0), *(-entry for entry in row)) for row in self.products)

    @property
    def smallest(self) -> fmpq:
        return min(gap - up for gap, up in zip(self.gaps, self.up, strict=True))

    def drop(self, weights: Sequence[arb]) -> arb:
        """D(s)."""
        total = arb(0)
        for s, gap, row in zip(weights, self.gaps, self.products, strict=True):
            total += s * (gap - sum((r * entry for r, entry in zip(weights, row, strict=True)), arb(0)))
        return total

    def excess(self, weights: Sequence[arb]) -> arb:
        return self.loss.excess(arb(self.score), self.drop(weights))

    def mixed(self, bound: arb) -> arb:
        """The largest eps: e(s) >= c D(s) >= c eps `smallest`, as l is convex with the slope c at the chosen token."""
        return arb(1).min(bound / (self._slope() * self.smallest))

    def costs(self, bound: arb) -> list[arb]:
        slope, mixed = self._slope(), self.mixed(bound)
        return [slope * (gap - mixed * up) for gap, up in zip(self.gaps, self.up, strict=True)]

    def inward(self, bound: arb) -> arb:
        # With d_t = g_t - 2 sum_r Q_tr s_r, the output rises along u if d_t > sum_r s_r d_r for all t.
        mixed = self.mixed(bound)
        least = [gap - 2 * mixed * up for gap, up in zip(self.gaps, self.up, strict=True)]
        most = [gap + 2 * mixed * down for gap, down in zip(self.gaps, self.down, strict=True)]
        return reduce(arb.min, least) - mixed * reduce(arb.max, most)

    def _slope(self) -> arb:
        return self.loss.slope(arb(self.score))


# -- what a certificate holds

T = TypeVar("T")

# What reads the attended token.
NEGATIVE_SLOPE = Field("slope", Rational(above=0), "its slope below 0, > 0 and at most 1")
QUADRATIC = Field("A", Matrix(), "the symmetric matrix of x'Ax + v'x")
_PLAIN: dict[str, Activation] = {"linear": Identity(), "tanh": Tanh(), "softplus": Softplus()}
_CURVED = {"leaky-relu": Record(NEGATIVE_SLOPE), "quadratic": Record(QUADRATIC)}
_HEADS = Variant("kind", {**{kind: Record() for kind in _PLAIN}, **_CURVED})
HEAD = Field("head", _HEADS, "the prediction head; linear if left out", required=False)

GIVEN = ByKey(
    {
        "keys": scored_token_forms(LOSS, NORM).forms["keys"],
        "tokens": scored_token_forms(LOSS, HEAD, NORM).forms["tokens"],
    }
)
RADIUS = Field("radius", Rational(above=0), "R > 0: p_R is any minimiser over |p| <= R")
_COSINE = "the cosine of the angle between p_R and p_mm is at least this"
COSINE = Field("cosine", Rational(minimum=-1), _COSINE, required=False)
_SHARE = "p_R / R has at least this share of the largest margin"
SHARE = Field("share", Rational(minimum=0), _SHARE, required=False)
_APART = "|p_R/R - p_mm/|p_mm|| is at most this, for |p|_l with 1 < l < infinity"
APART = Field("apart", Rational(minimum=0), _APART, required=False)
PATH = Field("path", Listing(Record(RADIUS, COSINE, SHARE, APART)), "radii, with bounds for each")
_POINTS = "for every radius a point with |p| <= R and a small loss, exactly as stated"
COMPARATORS = Field("comparators", Listing(PointKind()), _POINTS)
ASSERTS = Record(INDICES, LIMIT, PATH)
_FACTORS = "of a nuclear norm, for every radius K and Q, the product K'Q being the comparator or near it"
FACTORS = Field("factors", Listing(FACTOR_PAIR), _FACTORS, required=False)
WITNESS = Record(MULTIPLIERS, COMPARATORS, FACTORS)


# -- what is stated


@dataclass(frozen=True)
class LossInputs:
    """Tokens, loss, labels and head: its kind, and the record with its numbers."""

    stated: StatedTokens
    loss: Loss
    labels: list[fmpq]
    kind: str
    values: Values

    @cached_property
    def quadratic(self) -> tuple[ExactMatrix, ExactMatrix]:
        """A and v of a quadratic head."""
        return self.values[QUADRATIC].load(), self.stated.given[VALUE_DIRECTION].load()

    def mixing(self, selection: Selection, i: int) -> ScoreMixing | QuadraticMixing:
        """What mixing costs in input i, which has more than one token."""
        if self.kind == "quadratic":
            rows, chosen = self.stated.rows, selection.rows[i]
            others = rows.take_rows([row for row in selection.tokens.rows_of(i) if row != chosen])
            return QuadraticMixing(self.loss, self.labels[i], rows.take_rows([chosen]), others, *self.quadratic)
        leaky = self.kind == "leaky-relu"
        activation = LeakyRelu(self.values[NEGATIVE_SLOPE]) if leaky else _PLAIN[self.kind]
        gaps = tuple(selection.gaps[j] for j in selection.pairs_of[i])
        return ScoreMixing(self.loss, activation, self.labels[i], selection.score(i), gaps)


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
class StatedShare:
    """min_j <z_j, p_R> / R >= share / min |p|, to be shown with the comparator, 1 x d, and a bound of its norm."""

    radius: fmpq
    share: fmpq
    apart: fmpq | None
    comparator: ExactMatrix
    norm: Norm


@dataclass(frozen=True)
class PathInputs:
    """What is given, and the chosen tokens."""

    given: LossInputs
    selection: Selection

    @cached_property
    def mixings(self) -> dict[int, ScoreMixing | QuadraticMixing]:
        """What mixing costs in the inputs of more than one token."""
        return {i: self.given.mixing(self.selection, i) for i in self.selection.pairs_of}

    @cached_property
    def smallest_gap(self) -> fmpq:
        return min(mixing.smallest for mixing in self.mixings.values())


@dataclass(frozen=True)
class PathProblem(PathInputs):
    """What is asserted of the path in the Euclidean norm; `solution` is p_mm, where the conditions on it are proved."""

    solution: MaxMargin
    path: list[StatedRadius]
    limit: ExactMatrix | None = None


@dataclass(frozen=True)
class NormPath(PathInputs):
    """What is asserted of the path in another norm, and multipliers by row."""

    multipliers: dict[int, fmpq]
    path: list[StatedShare]

    @cached_property
    def least(self) -> fmpq:
        """L, at most min |p| where the dual norm of `combined` is at most 1."""
        return sum(self.multipliers.values(), fmpq(0))

    @cached_property
    def combined(self) -> ExactMatrix:
        return combination(self.selection.differences, self.multipliers)


def read(certificate: Certificate) -> PathProblem | NormPath:
    """Raises MalformedError."""
    hint = "multipliers of p_mm and comparators"
    values, asserts, witness = read_sections(certificate, GIVEN, ASSERTS, WITNESS, hint)
    given = read_given(values)
    selection = read_selection(given.stated, asserts)
    if NORM in values:
        return _read_norm_path(given, selection, asserts, witness)
    if FACTORS in witness:
        raise witness.node(FACTORS).malformed("factors where the norm is the nuclear one")
    solution = point_of(selection, witness[MULTIPLIERS])
    shape, variable = given.stated.shape, given.stated.variable
    limit = read_point(asserts[LIMIT], shape, variable) if LIMIT in asserts else None
    return PathProblem(given, selection, solution, _read_path(asserts, witness, shape, variable), limit)


def read_given(given: Values) -> LossInputs:
    """The section `given`. Raises MalformedError."""
    stated = read_tokens(given)
    if given.get(NORM) == NUCLEAR and QUERIES not in given:
        raise given.node(NORM).malformed("queries beside it, with which a matrix W is trained", "none")
    labels = read_labels(given, stated.tokens.count)
    kind, values = given.get(HEAD) or ("linear", given)
    if kind == "leaky-relu" and values[NEGATIVE_SLOPE] > 1:
        raise values.node(NEGATIVE_SLOPE).malformed("a number > 0 and at most 1")
    if kind == "quadratic":
        size = stated.rows.columns
        values[QUADRATIC].require_shape(size, size, "for tokens of that dimension")
        if values[QUADRATIC].load().is_symmetric() is not True:
            raise values.node(QUADRATIC).malformed("a symmetric matrix", "one that is not")
    return LossInputs(stated, LOSSES[given[LOSS]], labels, kind, values)


def _read_path(asserts: Values, witness: Values, shape: tuple[int, int], variable: str) -> list[StatedRadius]:
    listed, comparators = asserts[PATH], _one_each(asserts, witness, COMPARATORS)
    found = []
    for values, comparator in zip(listed, comparators, strict=True):
        _only(values, (COSINE,), (SHARE, APART))
        found.append(StatedRadius(values[RADIUS], values[COSINE], read_point(comparator, shape, variable)))
    return found


def _read_norm_path(given: LossInputs, selection: Selection, asserts: Values, witness: Values) -> NormPath:
    """The same of another norm. Raises MalformedError."""
    shape, variable, norm = given.stated.shape, given.stated.variable, given.stated.given[NORM]
    if LIMIT in asserts:
        raise asserts.node(LIMIT).malformed("no limit: another norm may be least at more than one point", "limit")
    if (FACTORS in witness) is not (norm == NUCLEAR):
        raise witness.at.malformed("factors where the norm is the nuclear one, and only there")
    points = [read_point(point, shape, variable) for point in _one_each(asserts, witness, COMPARATORS)]
    norms: list[Norm]
    if isinstance(norm, PowerNorm):
        norms = [norm] * len(points)
    else:
        norms = [nuclear_norm(pair, shape) for pair in _one_each(asserts, witness, FACTORS)]
    found, listed = [], asserts[PATH]
    for values, comparator, each in zip(listed, points, norms, strict=True):
        _only(values, (SHARE,), (COSINE,))
        if APART in values and not (isinstance(norm, PowerNorm) and norm.is_uniformly_convex):
            raise values.node(APART).malformed("share alone: this norm may be least at more than one point", "apart")
        found.append(StatedShare(values[RADIUS], values[SHARE], values.get(APART), comparator, each))
    return NormPath(given, selection, read_multipliers(witness[MULTIPLIERS], selection), found)


def _one_each(asserts: Values, witness: Values, field: Field[list[T]]) -> list[T]:
    """What the witness holds for every radius. Raises MalformedError."""
    count, found = len(asserts[PATH]), witness.items(field)
    if len(found) != count:
        expected = f"{counted(count, field.name.removesuffix('s'))}, one per radius"
        raise witness.node(field).malformed(expected, f"{len(found)}")
    return found


def _only(values: Values, needed: Sequence[Field[fmpq]], others: Sequence[Field[fmpq]]) -> None:
    """Refuse what belongs to another norm, and a radius of which nothing is said. Raises MalformedError."""
    for field in others:
        if field in values:
            expected = f"{needed[0].name}, as the norm is {'' if field is COSINE else 'not '}another one"
            raise values.node(field).malformed(expected, field.name)
    for field in needed:
        if field not in values:
            raise values.at.malformed(f"a {field.name}", f"no {field.name!r}")


# -- what proves it


@dataclass(frozen=True)
class RadiusBounds:
    """The numbers of the theorem for one comparator, enclosed at the working precision."""

    excess: arb
    least: arb
    inward: arb
    cosine: arb


@dataclass(frozen=True)
class MixingBounds:
    """F(p^), the costs of mixing by row, and how fast F falls at least, enclosed at the working precision."""

    excess: arb
    masses: dict[int, arb]
    inward: arb

    @property
    def least(self) -> arb:
        return reduce(arb.min, self.masses.values())


def mixing_bounds(problem: PathInputs, comparator: ExactMatrix) -> MixingBounds:
    """What holds wherever F is at most that of the comparator."""
    excess, pairs_of = _excess(problem, comparator), problem.selection.pairs_of
    costs = {i: mixing.costs(excess) for i, mixing in problem.mixings.items()}
    inward = reduce(arb.min, [mixing.inward(excess) for mixing in problem.mixings.values()])
    masses = {j: cost for i, entries in costs.items() for j, cost in zip(pairs_of[i], entries, strict=True)}
    return MixingBounds(excess, masses, inward)


def radius_bounds(problem: PathProblem, radius: fmpq, comparator: ExactMatrix) -> RadiusBounds:
    """F(p^), the least cost a, how fast F falls along p_mm at least, and the bound of the cosine."""
    found = mixing_bounds(problem, comparator)
    log_w = log_weight(found.masses, problem.solution.multipliers)
    cosine = least_progress(log_w, found.excess, found.least) / (problem.solution.margin() * radius)
    return RadiusBounds(found.excess, found.least, found.inward, cosine)


def share_bound(problem: NormPath, radius: fmpq, bounds: MixingBounds) -> arb:
    """L log(a / F(p^) - 1) / R: with the mass a alone, <z_j, p_R> is at least the logarithm."""
    return problem.least * least_progress(bounds.least.log(), bounds.excess, bounds.least) / radius


def softmax_weights(products: Sequence[arb]) -> list[arb]:
    """The weights of the other tokens: e^{-<z_t, p>} / (1 + sum_r e^{-<z_r, p>})."""
    powers = [(-product).exp() for product in products]
    total = 1 + sum(powers[1:], powers[0])
    return [power / total for power in powers]


def _excess(problem: PathInputs, point: ExactMatrix) -> arb:
    """F(p) = sum_i e_i(softmax weights at p)."""
    products = (problem.selection.differences @ point.T).T.row(0)
    inputs = problem.selection.pairs_of.items()
    weights = {i: softmax_weights([arb(products[j]) for j in positions]) for i, positions in inputs}
    return sum((problem.mixings[i].excess(found) for i, found in weights.items()), arb(0))


def obligations(problem: PathProblem | NormPath) -> Iterator[Obligation]:
    return _in_norm(problem) if isinstance(problem, NormPath) else _euclidean(problem)


def _euclidean(problem: PathProblem) -> Iterator[Obligation]:
    yield from optimal("p_mm", lambda: problem.solution.conditions)
    if problem.limit is not None:
        yield Obligation("limit", problem.limit, "=", lambda: problem.solution.solution, needs=kkt_names("p_mm"))
    yield _gaps(problem)
    for k, stated in enumerate(problem.path):
        yield from _at_radius(problem, f"path[{k}]", stated)


def _gaps(problem: PathInputs) -> Obligation:
    """What mixing costs at least: the smallest score gap, less the largest curvature."""
    return Obligation("gaps", lambda: problem.smallest_gap, ">", fmpq(0), Part.WITNESS)


def _in_norm(problem: NormPath) -> Iterator[Obligation]:
    part, dual = Part.WITNESS, Shared(lambda: problem.path[0].norm.dual(problem.combined))
    yield Obligation("p_mm.multipliers", min(problem.multipliers.values()), ">=", fmpq(0), part)
    yield Obligation("dual_norm", lambda: dual()[0], "<=", lambda: dual()[1], part)
    yield _gaps(problem)
    for k, stated in enumerate(problem.path):
        yield from _share(problem, f"path[{k}]", stated)


def _share(problem: NormPath, prefix: str, stated: StatedShare) -> Iterator[Obligation]:
    """The conditions of the theorem at one radius in another norm, and its bounds."""
    part, radius, point = Part.WITNESS, stated.radius, stated.comparator
    bounds = Shared(lambda: mixing_bounds(problem, point))
    separated = lambda: min((problem.selection.differences @ point.T).T.row(0))  # noqa: E731
    yield Obligation(f"{prefix}.inside", lambda: stated.norm.bound(point), "<=", radius, part)
    yield Obligation(f"{prefix}.separates", separated, ">", fmpq(0), part)
    yield Obligation(f"{prefix}.excess", lambda: bounds().excess, "<", lambda: bounds().least, part)
    yield Obligation(f"{prefix}.inward", lambda: bounds().inward, ">", fmpq(0), part)
    yield Obligation(f"{prefix}.share", lambda: share_bound(problem, radius, bounds()), ">=", stated.share, part)
    if stated.apart is not None:
        assert isinstance(stated.norm, PowerNorm)
        assert stated.norm.exponent is not None
        yield _apart(f"{prefix}.apart", stated.norm.exponent, stated.share, stated.apart)


def _apart(name: str, exponent: fmpq, share: fmpq, apart: fmpq) -> Obligation:
    """|p_R/R - p_mm/|p_mm||_l <= apart, both sides to the power of the theorem; beside the share, which is proved."""
    right = lambda: power(apart, reach_power(exponent))  # noqa: E731
    return Obligation(name, lambda: turn(exponent, share), "<=", right, Part.WITNESS)


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
