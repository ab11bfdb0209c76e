"""The constants that theorems on descent for token selection are stated with; its rules, and where it starts.

For chosen tokens alpha with the max-margin point p_mm = sum_j lambda_j z_j (`max_margin`), a convex decreasing loss l
and f_i(G) = l(gamma_i - G) - l(gamma_i), gamma_i the score of the chosen token:

    c_i = f_i'(0),   M1_i = max |l'|,   M0_i = max l''   on the hull of the scores of input i,
    D_i = largest distance of two keys,   Gamma_i = largest difference of two scores,   g_i^min = smallest good gap,
    Xi = 1 / |p_mm|,   u = Xi p_mm,   b_j = <z_j, u>,   delta_j = b_j - Xi,
    z_j^perp = z_j - b_j u,   zeta_j = |z_j^perp|,
    w_* = exp sum_j m_j log(c_j g_j / m_j)   with m_j = lambda_j / sum lambda,
    a = min_i c_i g_i^min,
    B_F = sum_i D_i^2 Gamma_i (M1_i / 8 + M0_i Gamma_i / 16) >= |Hess F| everywhere.

Minima and maxima range over the inputs with good tokens, B_F over the inputs of more than one token. A good token has
a smaller score than the chosen one. What local convergence depends on is meant for chosen tokens that are locally
optimal: every pair of slack 0 is good, so that there is a good pair, and every bad one has delta_t > 0.

L is the average of the losses of n inputs, so that a step eta on L is h = eta / n on their sum F:

    gradient     p - h grad F
    flow         dp/dt = -h grad F        moves are infinitely small, k is time
    normalised   p - s grad F / |grad F|
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import l2_norm, row_of_balls, table_of_balls
from certattn.kernel.mathematics.bundled_descent import bundle, spanned
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.selection_landscape import GradientStep, Landscape, NormalisedStep
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.frames import Frame
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, log_weight


class SelectionConstants:
    """At the working precision: make a new one for another. What is said of p_mm holds where KKT is proved.

    With `far` >= 0, what is said of the good tokens is said of those of at most this slack, the others are `bad` too.
    """

    def __init__(self, selection: Selection, loss: Loss, solution: MaxMargin, far: fmpq | None = None) -> None:
        self.selection, self.loss, self.solution, self.far = selection, loss, solution, far
        gaps, hulls = selection.gaps, {i: selection.tokens.scores_of(i) for i in selection.pairs_of}
        self.good = tuple(j for j in selection.good if far is None or solution.slacks[j] <= far)
        among = set(self.good)
        self.bad = tuple(j for j in range(len(gaps)) if j not in among)
        self.input_of = [pair.input for pair in selection.pairs]
        # Of the inputs of more than one token gamma_i, c_i, M1_i, M0_i and Gamma_i; of those with good tokens g_i^min.
        self.scores = {i: arb(selection.score(i)) for i in hulls}
        self.slopes = {i: loss.slope(score) for i, score in self.scores.items()}
        self.steepest = {i: loss.slope(arb(min(hull))) for i, hull in hulls.items()}
        self.bends = {i: loss.largest_curvature(arb(min(hull)), arb(max(hull))) for i, hull in hulls.items()}
        self.score_ranges = {i: max(hull) - min(hull) for i, hull in hulls.items()}
        rises = {i: [gaps[j] for j in positions if j in among] for i, positions in selection.pairs_of.items()}
        self.smallest_gaps = {i: min(found) for i, found in rises.items() if found}
        # a, and the c_j g_j of the good pairs.
        self.least_gain = least(self.slopes[i] * gap for i, gap in self.smallest_gaps.items())
        self.gains = {j: self.slopes[self.input_of[j]] * gaps[j] for j in self.good}
        # Xi and u; the b_j and delta_j of every pair, the latter exactly 0 for neighbours.
        self.margin = solution.margin()
        self.direction = [entry * self.margin for entry in solution.solution.row(0)]
        self.heights = [self.margin * product for product in solution.products]
        self.slacks = [self.margin * slack for slack in solution.slacks]
        # log w_* and w_*: not finite where a support token is not good.
        self.log_weight = log_weight(self.gains, solution.multipliers)
        self.concentration = self.log_weight.exp()

    @cached_property
    def diameters_squared(self) -> dict[int, fmpq]:
        """The D_i^2."""
        return {i: largest_distance_squared(self.selection.tokens.keys_of(i)) for i in self.scores}

    @cached_property
    def curvature_bound(self) -> arb:
        """B_F."""
        squares, ranges = self.diameters_squared, self.score_ranges
        return arb(curvature_bound([(squares[i], ranges[i], self.steepest[i], self.bends[i]) for i in self.scores]))

    # -- for local convergence

    def within(self, far: fmpq | None) -> SelectionConstants:
        """The same with this `far`."""
        return self if far == self.far else SelectionConstants(self.selection, self.loss, self.solution, far)

    @cached_property
    def across(self) -> ExactMatrix:
        """The z_j^perp = z_j - <z_j, p> / |p|^2 p, exactly, one per row."""
        solution = self.solution
        column = ExactMatrix.row_vector(solution.products).T
        return self.selection.differences - (column @ solution.solution).scaled(1 / solution.norm_squared)

    @cached_property
    def across_balls(self) -> arb_mat:
        """The same in balls."""
        return arb_mat(table_of_balls(self.across, arb(1)))

    @cached_property
    def differences(self) -> arb_mat:
        """The z_j, one per row, in balls."""
        return arb_mat(table_of_balls(self.selection.differences, arb(1)))

    @cached_property
    def widths(self) -> list[arb]:
        """The zeta_j."""
        return [l2_norm(row) for row in self.across_balls.tolist()]

    @cached_property
    def lengths(self) -> list[arb]:
        """The |z_j|."""
        return [l2_norm(row) for row in self.differences.tolist()]

    @cached_property
    def good_diameter(self) -> arb:
        """D_g = max |z_j - z_j'| over good pairs."""
        return arb(largest_distance_squared(self.selection.differences.take_rows(self.good))).sqrt()

    @cached_property
    def neighbours(self) -> list[int]:
        """The good pairs of slack 0."""
        return [j for j in self.good if self.solution.slacks[j] == 0]

    @cached_property
    def frame(self) -> Frame:
        """Of the span L of the z_j^perp of the neighbours."""
        return Frame(self.across.take_rows(self.neighbours))

    @cached_property
    def coordinates(self) -> list[list[arb]]:
        """Of the z_j^perp of the neighbours, in the frame of L."""
        balls = self.across_balls
        return [self.frame.along([balls[j, i] for i in range(balls.ncols())]) for j in self.neighbours]

    @cached_property
    def neighbours_diameter(self) -> arb:
        """That of the z_j^perp of the neighbours."""
        return root(arb(largest_distance_squared(self.across.take_rows(self.neighbours))))

    @cached_property
    def _parts(self) -> list[tuple[arb, arb]]:
        return self.frame.lengths(self.across_balls)

    @property
    def lengthwise(self) -> list[arb]:
        """The lengths of the parts of the z_j^perp along L; none of a neighbour has another part."""
        return [inside for inside, _ in self._parts]

    @property
    def sideways(self) -> list[arb]:
        """Those of their parts beside L."""
        return [outside for _, outside in self._parts]

    @property
    def good_width(self) -> arb:
        """zeta_g, the largest zeta_j of a good pair."""
        return largest(self.widths[j] for j in self.good)


def curvature_bound(inputs: Iterable[tuple[fmpq, fmpq, arb, arb]]) -> arb:
    """sum_i D_i^2 Gamma_i (M1_i / 8 + M0_i Gamma_i / 16), from D_i^2, Gamma_i, M1_i and M0_i."""
    terms = [square * scores * (steepest / 8 + bend * scores / 16) for square, scores, steepest, bend in inputs]
    return sum(terms, arb(0))


def largest_distance_squared(rows: ExactMatrix) -> fmpq:
    """max |x_s - x_t|^2 over two rows."""
    products = rows @ rows.T
    # In integers, over their common denominator, and every pair once.
    table = products.numerators.tolist()
    squares = [row[s] for s, row in enumerate(table)]
    distances = (squares[s] + squares[t] - 2 * x for s, row in enumerate(table) for t, x in enumerate(row[: s + 1]))
    return fmpq(max(distances), products.denominator)


def least(values: Iterable[arb]) -> arb:
    """The smallest ball; of none, one that decides nothing."""
    return reduce(arb.min, list(values) or [arb.nan()])


def largest(values: Iterable[arb]) -> arb:
    """The largest ball; of none, one that decides nothing."""
    return reduce(arb.max, list(values) or [arb.nan()])


# -- descent

GRADIENT, NORMALISED, FLOW = "gradient", "normalised", "flow"
# The kinds of start: one that is enclosed as a box, and two that are no boxes.
ENCLOSED, CONE, EVERY = "box", "cone", "every"


@dataclass(frozen=True)
class Rule:
    """A rule of descent for n inputs; `step` is eta or s, and None of the flow."""

    kind: str
    step: fmpq | None
    inputs: int

    @property
    def discrete(self) -> bool:
        """Whether it goes in steps."""
        return self.step is not None

    @property
    def unit(self) -> fmpq:
        """What a step, or a unit of time, is on the sum F of the losses: eta / n, s, or 1 / n."""
        if self.step is None:
            return fmpq(1, self.inputs)
        return self.step if self.kind == NORMALISED else self.step / self.inputs

    def size(self) -> arb:
        """h = eta / n, or s; 0 for the flow."""
        return arb(self.unit if self.discrete else 0)

    def on(self, landscape: Landscape) -> GradientStep | NormalisedStep:
        """One step there."""
        return (NormalisedStep if self.kind == NORMALISED else GradientStep)(landscape, self.size())


@dataclass(frozen=True)
class Cone:
    """The p with <p, u> >= (1 - opening) |p| and |p| >= norm; 0 <= opening < 1."""

    opening: fmpq
    norm: fmpq

    def slope(self) -> arb:
        """tau_0 = sqrt(1/(1 - mu)^2 - 1): every |p^| is at most this times <p, u>."""
        return root(arb(1 / (1 - self.opening) ** 2 - 1))


@dataclass(frozen=True)
class Patch:
    """The points centre + a first + b second with |a|, |b| <= 1, each in one row."""

    centre: ExactMatrix
    ways: tuple[ExactMatrix, ExactMatrix]


@dataclass(frozen=True)
class Start:
    """Where descent starts: in a box between two corners, which may be equal; or in a patch, or a cone; or anywhere."""

    box: tuple[ExactMatrix, ExactMatrix] | None = None
    cone: Cone | None = None
    patch: Patch | None = None

    @property
    def kind(self) -> str:
        """Enclosed, a cone or every."""
        if self.box is not None or self.patch is not None:
            return ENCLOSED
        return EVERY if self.cone is None else CONE

    def balls(self) -> list[arb]:
        """The box at the working precision, or one around the patch."""
        if self.patch is not None:
            rows = zip(self.patch.centre.row(0), *(way.row(0) for way in self.patch.ways), strict=True)
            return [arb(x - abs(s) - abs(t)).union(arb(x + abs(s) + abs(t))) for x, s, t in rows]
        assert self.box is not None
        return [arb(low).union(arb(high)) for low, high in zip(*(end.row(0) for end in self.box), strict=True)]

    def enclosed(self, step: GradientStep | NormalisedStep) -> Enclosure:
        """The box, or the patch, as what these steps carry along: of more than one point, a bundle if they can."""
        is_point = self.box is not None and self.box[0] == self.box[1]
        if is_point or not isinstance(step, GradientStep):
            return around(self.balls())
        if self.patch is None:
            return bundle(self.balls())
        columns = arb_mat([row_of_balls(way.row(0)) for way in self.patch.ways])
        return spanned(row_of_balls(self.patch.centre.row(0)), columns.transpose())
