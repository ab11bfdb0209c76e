"""Claim `regularization-path`: where the minimisers of the loss over balls |p| <= R are.

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, Part, above, at_least, at_most, below, show
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Listing, Rational, Record, Values
from certattn.kernel.document.forms import ByKey
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.kkt import MULTIPLIERS, kkt_names, kkt_obligations, read_multipliers
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.mathematics.mixing import Mixing, smallest
from certattn.kernel.theorems.selection.mathematics.path_bound import (
    least_cosine,
    least_progress,
    log_weight,
    softmax_weights,
)
from certattn.kernel.theorems.selection.prediction_heads import HEAD, StatedHead, read_head
from certattn.kernel.theorems.selection.selection_inputs import (
    INDICES,
    LOSS,
    StatedTokens,
    read_selection,
    read_tokens,
    scored_token_forms,
)

GIVEN = ByKey(
    {"keys": scored_token_forms(LOSS).forms["keys"], "tokens": scored_token_forms(LOSS, HEAD).forms["tokens"]}
)
RADIUS = Field("radius", Rational(above=0), "R > 0: p_R is any minimiser over |p| <= R")
COSINE = Field("cosine", Rational(), "the cosine of the angle between p_R and p_mm is at least this")
PATH = Field("path", Listing(Record(RADIUS, COSINE)), "radii, with a bound of the cosine for each")
COMPARATORS = Field(
    "comparators", Listing(Vector()), "for every radius a point with |p| <= R and a small loss, exactly as stated"
)

_FORMULAS = {"linear": "l(x) = -x", "logistic": "l(x) = log(1 + e^-x)", "exponential": "l(x) = e^-x"}
_P_MM, _GAPS = "p_mm", "gaps"


@dataclass(frozen=True)
class Given:
    """Tokens, loss and head."""

    stated: StatedTokens
    loss: Loss
    head: StatedHead


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
class Problem:
    """What is given, and what is asserted of it."""

    given: Given
    selection: Selection
    multipliers: Mapping[int, fmpq]
    path: list[StatedRadius]

    @cached_property
    def solution(self) -> MaxMargin:
        """p_mm, where the conditions on the multipliers are proved."""
        return hard_margin(self.selection.differences, self.multipliers)

    @cached_property
    def pairs_of(self) -> dict[int, list[int]]:
        """The positions of the pairs of every input that has more than one token."""
        found: dict[int, list[int]] = {}
        for j, pair in enumerate(self.selection.pairs):
            found.setdefault(pair.input, []).append(j)
        return found

    @cached_property
    def mixings(self) -> dict[int, Mixing]:
        """What mixing costs in these inputs."""
        return {i: self.given.head.mixing(self.selection, self.given.loss, i) for i in self.pairs_of}

    @cached_property
    def smallest_gap(self) -> fmpq:
        return min(mixing.smallest for mixing in self.mixings.values())

    def shares(self) -> dict[int, fmpq]:
        """The lambda^_j > 0."""
        total = sum(self.multipliers.values(), fmpq(0))
        return {j: value / total for j, value in self.multipliers.items()}


class RegularizationPath(Claim[Problem]):
    name = "regularization-path"
    title = "how near the minimisers of the loss over balls are to the max-margin direction"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(INDICES, PATH)
    witness = Record(MULTIPLIERS, COMPARATORS)

    def read(self, certificate: Certificate) -> Problem:
        given = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        selection = read_selection(given.stated, asserts[INDICES], asserts.node(INDICES))
        if certificate.witness is None:
            raise asserts.at.malformed("a witness with multipliers of p_mm and comparators", "none")
        witness = self.witness.read(certificate.witness, certificate.reading)
        multipliers = read_multipliers(witness[MULTIPLIERS], selection)
        return Problem(given, selection, multipliers, _read_path(asserts, witness, selection.tokens.dimension))

    def read_given(self, certificate: Certificate) -> Given:
        """The section `given` alone. Raises MalformedError."""
        form, values = GIVEN.read(certificate.given, certificate.reading)
        stated = read_tokens(form, values)
        return Given(stated, LOSSES[values[LOSS]], read_head(values, stated))

    def statement(self, problem: Problem) -> Statement:
        given = problem.given
        chosen = ", ".join(map(str, problem.selection.indices))
        bounds = ", ".join(f"{describe(s.cosine)} for R = {describe(s.radius)}" for s in problem.path)
        words = (
            f"For {given.stated.words}, the head {given.head.words} and the {given.loss.name} loss "
            f"{_FORMULAS[given.loss.name]}: every minimiser p_R of L(p) = (1/n) sum_i l(Y_i psi(sum_t s_it x_it)), "
            f"s_i = softmax of the <k_it, p>, over |p| <= R has |p_R| = R, and the cosine of its angle with the "
            f"max-margin solution p_mm of the selection ({chosen}) is at least {bounds}."
        )
        latex = r"\cos \angle(p_R, p_{mm}(\alpha)) \ge c_R, \quad |p_R| = R, \qquad p_R \in \arg\min_{|p| \le R} L(p)"
        return Statement(words, latex)

    def names(self, problem: Problem) -> list[str]:
        names = [*kkt_names(_P_MM), _GAPS]
        for k in range(len(problem.path)):
            names += [f"path[{k}].{condition}" for condition in ("inside", "excess", "inward", "cosine")]
        return names

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        part, zero = Part.WITNESS, fmpq(0)
        found = kkt_obligations(_P_MM, problem.solution, "p_mm")
        sentence = "what mixing costs at least: the smallest score gap, less the largest curvature"
        found.append(above(_GAPS, sentence, problem.smallest_gap, zero, part=part))
        for k, stated in enumerate(problem.path):
            if any(name.startswith(f"path[{k}].") for name in names):
                found += _radius_obligations(problem, f"path[{k}]", stated, bits)
        return [obligation for obligation in found if obligation.name in names]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        proved = {o.name: o for o in obligations if o.outcome is Outcome.PROVED}
        shown = []
        for k, stated in enumerate(problem.path):
            bound = proved.get(f"path[{k}].cosine")
            needed = [n for n in self.names(problem) if not n.startswith("path[") or n.startswith(f"path[{k}].")]
            if bound is not None and proved.keys() >= set(needed) and isinstance(bound.left, arb):
                with working_precision(bound.bits or 2):
                    shown.append(f"R = {describe(stated.radius)}: 1 - cosine is at most {show(1 - bound.left, 5)}")
        return shown


@dataclass(frozen=True)
class RadiusBounds:
    """The numbers of the theorem for one comparator, enclosed at the working precision."""

    excess: arb
    least: arb
    inward: arb
    cosine: arb


def radius_bounds(problem: Problem, radius: fmpq, comparator: ExactMatrix) -> RadiusBounds:
    """F(p^), the least cost a, how fast F falls along p_mm at least, and the bound of the cosine."""
    excess = _excess(problem, comparator)
    costs = {i: mixing.costs(excess) for i, mixing in problem.mixings.items()}
    least = smallest([cost for entries in costs.values() for cost in entries])
    inward = smallest([mixing.inward(excess) for mixing in problem.mixings.values()])
    masses = {j: cost for i, entries in costs.items() for j, cost in zip(problem.pairs_of[i], entries, strict=True)}
    shares = problem.shares()
    log_w = log_weight([masses[j] for j in shares], [arb(share) for share in shares.values()], BALLS)
    progress = least_progress(log_w, excess, least, BALLS)
    return RadiusBounds(excess, least, inward, least_cosine(progress, problem.solution.margin(), radius))


def _radius_obligations(problem: Problem, prefix: str, stated: StatedRadius, bits: int) -> list[Obligation]:
    """The conditions of the theorem at one radius, and its bound."""
    part, radius = Part.WITNESS, stated.radius
    bounds = radius_bounds(problem, radius, stated.comparator)
    inside = "the squared norm of the comparator, against R^2"
    excess = "F of the comparator, against the least cost"
    inward = "how fast F falls along p_mm, at least"
    cosine = "the cosine of the angle between p_R and p_mm"
    return [
        at_most(f"{prefix}.inside", inside, stated.norm_squared, radius * radius, part=part),
        below(f"{prefix}.excess", excess, bounds.excess, bounds.least, bits, part=part),
        above(f"{prefix}.inward", inward, bounds.inward, fmpq(0), bits, part=part),
        at_least(f"{prefix}.cosine", cosine, bounds.cosine, stated.cosine, bits, part=part),
    ]


def _excess(problem: Problem, point: ExactMatrix) -> arb:
    """F(p) = sum_i e_i(softmax weights at p)."""
    products = (problem.selection.differences @ point.T).T.row(0)
    total = arb(0)
    for i, positions in problem.pairs_of.items():
        weights = softmax_weights([arb(products[j]) for j in positions], BALLS)
        total += problem.mixings[i].excess(weights)
    return total


def _read_path(asserts: Values, witness: Values, dimension: int) -> list[StatedRadius]:
    listed, comparators = asserts[PATH], witness[COMPARATORS]
    if len(comparators) != len(listed):
        expected = f"{counted(len(listed), 'comparator')}, one per radius"
        raise witness.node(COMPARATORS).malformed(expected, f"{len(comparators)}")
    found = []
    for values, comparator in zip(listed, comparators, strict=True):
        cosine = values[COSINE]
        if cosine < -1 or cosine > 1:
            raise values.node(COSINE).malformed("a number from -1 to 1")
        comparator.require_length(dimension, "a key")
        found.append(StatedRadius(values[RADIUS], cosine, comparator.load()))
    return found


CLAIM = RegularizationPath()
