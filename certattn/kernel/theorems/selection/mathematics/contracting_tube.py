"""Descent stays in a tube around the max-margin ray of a locally optimal selection: Theorem T.

Theorem D adds up all that may push descent sideways. Among the neighbours nothing has to be added up: across u the good
tokens pull descent towards the minimiser of the sum of their c_j g_j e^{-<z_j, q>}, strictly convex on the span L of
the z_j^ of the neighbours. So there it is enough that the pull holds what pushes and is not added up.

With the notation of `local_convergence`, let N be the neighbours, all of them good, F the other good pairs, q any
vector across u, and p^ - q = y' + y'' with y' in L and y'' orthogonal to L and u. Every z_j^ is split likewise, into
parts of lengths zeta'_j along L and zeta''_j beside it; zeta''_j = 0 for neighbours. For rho, nu, mu of the witness put

    r_t = exp(-delta_t x_0 - <z_t^, q> + zeta'_t rho + zeta''_t nu)            for bad t,
    e_j = (c_j g_j / w) exp(-delta_j x_0 - <z_j^, q> + zeta''_j nu),   f_j = e_j e^{zeta'_j rho}      for j in F,

theta_+-, kappa_t, d, chi and xi = Xi - sum kappa_t b_t r_t those of Lemmas 3 and 4 at (P_0, r), m the longest move, D
the diameter of the z_j^ of N, D_g that of the z_j of all good pairs, and

    pull = mu / (1 + sum f_j) (1 - e^{-D rho}) / (D rho) (1 - D_g^2 m / 8),
    push = |g| + d + sum e_j zeta'_j + sum kappa_t zeta'_t r_t,

g being the mean of the z_j^ of N under weights in proportion to c_j g_j e^{-<z_j^, q>}. If mu is less than every
eigenvalue of their covariance on L, |y'_0| <= rho, push < pull rho (or what `drifted` says for some summands), and

    |y''_0| + theta_+/theta_- sum f_j zeta''_j Lambda(delta_j xi) + sum kappa_t zeta''_t r_t Lambda(delta_t xi) < nu,

then |y'_k| <= rho, |y''_k| <= nu and x_k >= x_0 + xi sigma_k for all k, and

    tan angle(p_k, u) <= (|q| + nu + |y'_k|) / x_k,     e^{Xi x_k} >= e^{Xi x_0} + k h Xi xi theta_- w,

with a bound of |y'_k| that falls as the pushes fade (`TubeConvergence.offset`). Normalised steps turn to u, so that
nearly all of their length is progress: x_k >= x_0 + s (pace k - lost) (`TubeConvergence.straightness`).

From the other side, at this very k, with q = q' + q'' split likewise, H that bounds P_k e^{Xi x_k}, and
<V + e, u> <= eta:

    e^{Xi x_k} <= e^{Xi x_0} + k h Xi eta theta_+ H (e^{Xi eta m} - 1) / (Xi eta m),      of normalised steps x_0 + s k,
    |p_k^|^2 >= (max(|q'| - |y'_k|, 0))^2 + (max(|q''| - nu, 0))^2,

which bound the angle from below (`TubeConvergence.least_angle`), |p_k|, the loss and the weights.

Proof: docs/claims/selection/selection-direction-local.md. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_remainder
from certattn.kernel.mathematics.selection_landscape import inner
from certattn.kernel.theorems.selection.mathematics.local_convergence import (
    NearbyWeights,
    across_direction,
    decaying_sum,
    level_after,
    level_at,
    longest_move,
    minimum,
    product,
    progress,
    shortfall_of_tangent,
)
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    NORMALISED,
    Rule,
    SelectionConstants,
    largest,
    least,
)


def contraction(curvature: arb, others: arb, diameter: arb, radius: arb, move: arb, breadth: arb) -> arb:
    """pull, from mu, sum f_j, D, rho, m and D_g: how much a move shortens y', per |y'| and move, where |y'| <= rho."""
    return curvature / (1 + others) * exp_remainder(1, -diameter * radius) * (1 - breadth * breadth * move / 8)


def remaining(size: arb, rate: arb, pull: arb, move: arb, total: arb) -> arb:
    """What a push `size` e^{-rate sigma_j} per move adds to |y'_k| at sigma_k = `total`: see the page, from a slower
    rate s = min(rate, pull/2) on: size e^{pull m - s total} / (pull - s)."""
    slower = minimum(rate, pull / 2)
    return size * (pull * move - slower * total).exp() / (pull - slower)


def ascent(margin: arb, pace: arb, rate: arb, move: arb) -> arb:
    """What e^{Xi x} grows by in a step, at most, from Xi, eta, m e^{Xi x} <= `rate` and m <= `move`.

    As (e^a - 1) / a increases, e^{Xi eta m} <= 1 + Xi eta m (e^a - 1) / a with a = Xi eta `move`.
    """
    return margin * pace * rate * exp_remainder(1, margin * pace * move)


def topmost(total: arb, mean: arb, diameter: arb, radius: arb) -> arb:
    """sum_j m_j e^{-<a_j, y>} where |y| <= rho, at most, from sum m_j, |their mean|, the diameter of the a_j, and rho.

    The logarithm has the gradient -mean at 0, and second derivatives that are variances of points of this diameter.
    """
    return total * (mean * radius + (diameter * radius) ** 2 / 8).exp()


def sum_of_squares(terms: Sequence[tuple[arb, arb]], move: arb) -> arb:
    """sum_{i >= 0} (sum_l a_l e^{-r_l i m})^2 of terms (a_l, r_l), r_l > 0: term by term geometric series."""
    total = arb(0)
    for size, rate in terms:
        for other, faster in terms:
            total += size * other / (1 - (-(rate + faster) * move).exp())
    return total


def drifted(inside: arb, pushes: Sequence[tuple[arb, arb]], pull: arb, move: arb) -> arb:
    """A bound of every |y'_k|: the larger of |y'_0| and (sum of some pushes) / pull, and all that the others may move.

    Any others would do. The lesser bound of two: of those that move less in all than they hold against the pull, and of
    none. Nothing is held unless the pull is positive.
    """
    if (pull > 0) is not True:
        return arb.nan()
    held, passing = arb(0), arb(0)
    for size, rate in pushes:
        if (rate > 0) is True and (decaying_sum(rate, move) * pull < 1) is True:
            passing += size * decaying_sum(rate, move)
        else:
            held += size
    together = sum((size for size, _ in pushes), arb(0))
    return minimum(inside.max(together / pull), inside.max(held / pull) + passing)


def smallest_pivot(table: list[list[arb]]) -> arb:
    """Of elimination in a symmetric matrix, which is positive definite if all pivots are positive; 1 for none."""
    rest, pivots = [list(row) for row in table], [arb(1)]
    for k, row in enumerate(rest):
        pivots.append(row[k])
        for below in rest[k + 1 :]:
            share = below[k] / row[k]
            below[:] = [x - share * y for x, y in zip(below, row, strict=True)]
    return least(pivots)


@dataclass(frozen=True)
class TubeTrial:
    """The numbers of a proof: any vector `reference`, whose part across u is q; rho, nu and mu.

    Good tokens of more slack than `far`, if it is given, count with those that score no less than the chosen one.
    """

    reference: ExactMatrix
    radius: fmpq
    aside: fmpq
    curvature: fmpq
    far: fmpq | None = None


class TubeConvergence:
    """Theorem T from the point p_0 = `start`, a ball for every coordinate: what is enclosed holds at all its points.

    Attributes: `inside` is |y'_0| and `outside` |y''_0| with all that y'' may drift, which rho and nu have to bound;
    `definite` is the smallest pivot of the covariance less mu; `near` is Lemma 3 and `progress` the chi of Lemma 4;
    `drift` bounds every |y'_k|, which rho, the `width`, has to exceed. Where L is {0} they are 0 and 1.
    """

    def __init__(self, constants: SelectionConstants, rule: Rule, start: list[arb], trial: TubeTrial) -> None:
        self.constants = k = constants.within(trial.far)
        self.rule, self.trial, solution = rule, trial, constants.solution
        radius, aside = arb(trial.radius), arb(trial.aside)
        along = product(solution.solution.row(0), start)
        self.distance = along * k.margin
        q = across_direction(k, trial.reference)
        share, reference = along / solution.norm_squared, q.row(0)
        across = [arb(entry) for entry in reference]
        self.reference_length = l2_norm(across)
        apart = [p - share * m - x for p, m, x in zip(start, solution.solution.row(0), reference, strict=True)]
        neighbours, frame, lengthwise, sideways = k.neighbours, k.frame, k.lengthwise, k.sideways
        others = [j for j in k.good if solution.slacks[j] != 0]
        self.inside = l2_norm(frame.along(apart))
        self.reference_parts = l2_norm(frame.along(across)), frame.distance(across)
        # The <z_j^, q>, which are the <z_j, q>: q has no part along u.
        tilts = (k.selection.differences @ q.T).T.row(0)
        self.level = level_at(k, start)
        # e_j and f_j; the r_t.
        weaker = {
            j: k.gains[j] / k.concentration * (sideways[j] * aside - k.slacks[j] * self.distance - tilts[j]).exp()
            for j in others
        }
        stronger = {j: weight * (lengthwise[j] * radius).exp() for j, weight in weaker.items()}
        reaches = {
            t: (lengthwise[t] * radius + sideways[t] * aside - k.slacks[t] * self.distance - tilts[t]).exp()
            for t in k.bad
        }
        self.near = near = NearbyWeights(k, self.level, reaches)
        self.move = move = longest_move(rule, near)
        self.progress = arb(progress(near.spread, near.error, move, k.good_diameter, k.margin))
        # y'': of what is not a neighbour alone.
        ratio, bad = near.high / near.low, {t: near.kappas[t] * reach for t, reach in reaches.items()}
        # Nothing fades unless descent leads forward.
        forward = near.forward if (near.forward > 0) is True else arb.nan()
        fades = {j: decaying_sum(k.slacks[j] * forward, move) for j in (*others, *k.bad)}
        drift = sum((ratio * weight * sideways[j] * fades[j] for j, weight in stronger.items()), arb(0))
        drift += sum((weight * sideways[t] * fades[t] for t, weight in bad.items()), arb(0))
        self.outside = frame.distance(apart) + drift
        # y': the covariance of the neighbours at q, in coordinates of L.
        masses = [k.gains[j] * arb(-tilts[j]).exp() for j in neighbours]
        total = sum(masses, arb(0))
        self._shares = [mass / total for mass in masses]
        self._points = k.coordinates
        mean = [inner(self._shares, column) for column in zip(*self._points, strict=True)]
        self._mean = mean
        diameter = k.neighbours_diameter
        amount = sum(stronger.values(), arb(0))
        self.pull = contraction(arb(trial.curvature), amount, diameter, radius, move, k.good_diameter)
        # The pushes at sigma_k = 0, and how fast they fade.
        rate = self.progress * k.margin**2
        self.pushes = [(l2_norm(mean), arb(0)), (near.spread, rate)]
        self.pushes += [(weight * lengthwise[j], k.slacks[j] * forward) for j, weight in weaker.items()]
        self.pushes += [(weight * lengthwise[t], k.slacks[t] * forward) for t, weight in bad.items()]
        # What moves p beside L.
        self.beside = [(weight * sideways[j], k.slacks[j] * forward) for j, weight in stronger.items()]
        self.beside += [(weight * sideways[t], k.slacks[t] * forward) for t, weight in bad.items()]
        self.flat = frame.rank == 0
        self.drift = arb(0) if self.flat else drifted(self.inside, self.pushes, self.pull, move)
        self.width = arb(1) if self.flat else radius
        # Of neighbours the input, e^{-<z_j^, q>} and zeta'_j.
        self.masses = [(k.input_of[j], arb(-tilts[j]).exp(), k.widths[j]) for j in neighbours]
        # P_k e^{Xi x_k} is at most this, and <V + e, u> at most that.
        self.top = topmost(total, l2_norm(mean), diameter, radius) + k.concentration * amount
        self.pace = k.margin + ratio * sum((weight * k.slacks[j] for j, weight in stronger.items()), arb(0))
        self.pace += near.total(k.heights)

    @cached_property
    def definite(self) -> arb:
        """As above: the pivots of sum_j s_j (x_j - mean)(x_j - mean)' - mu, in coordinates x_j of L."""
        if self.flat:
            return arb(1)
        centred = [[x - y for x, y in zip(point, self._mean, strict=True)] for point in self._points]
        weighted = [[share * x for x in row] for share, row in zip(self._shares, centred, strict=True)]
        spread = (arb_mat(centred).transpose() * arb_mat(weighted)).tolist()
        rows = enumerate(spread)
        return smallest_pivot(
            [[x - (self.trial.curvature if i == j else 0) for j, x in enumerate(row)] for i, row in rows]
        )

    def argument(self, elapsed: fmpq) -> tuple[arb, arb]:
        """(b, c) with Xi x_k >= log(b + c (k - k0)) for k >= k0, k0 being `elapsed` after p_0; not of normalised
        steps."""
        k, near, rule = self.constants, self.near, self.rule
        slope = k.margin * near.forward * near.low * k.concentration * rule.unit
        return (k.margin * self.distance).exp() + slope * elapsed, slope

    def reached(self, elapsed: fmpq) -> tuple[arb, arb]:
        """Lower bounds of x_k and sigma_k for every k from `elapsed` after p_0 on."""
        k, rule = self.constants, self.rule
        if rule.kind == NORMALISED:
            (pace, lost), total = self.straightness, self.shortest_move * elapsed
            straight = rule.unit * (pace * elapsed - lost)
            return self.distance + (self.near.forward * total).max(straight), total
        far = self.argument(elapsed)[0].log() / k.margin
        return far, ((far - self.distance) / self.pace).max(arb(0))

    @property
    def shortest_move(self) -> arb:
        """Of normalised steps, s / (max |z_j| + e)."""
        lengths = self.constants.lengths
        return self.rule.unit / (largest(lengths[j] for j in self.constants.good) + self.near.error)

    @cached_property
    def straightness(self) -> tuple[arb, arb]:
        """(pace, lost) with x_k >= x_0 + s (pace k - lost) for normalised steps, pace >= 0."""
        (lasting, none), *fading = self.pushes
        swerves = [*fading, *self.beside]
        if not self.flat:
            steepness = self.constants.good_diameter**2 / 4
            swerves.append((steepness * self.inside, self.pull))
            for size, rate in fading:
                left = remaining(size, rate, self.pull, self.move, arb(0))
                swerves.append((steepness * left, minimum(rate, self.pull / 2)))
            lasting += steepness * remaining(lasting, none, self.pull, self.move, arb(0))
        forward = self.near.forward**2
        return (1 - lasting**2 / forward).max(arb(0)), sum_of_squares(swerves, self.shortest_move) / forward

    def offset(self, total: arb) -> arb:
        """A bound of |y'_k| where sigma_k is at least `total`; at most rho."""
        if self.flat:
            return arb(0)
        found = self.inside * (-self.pull * total).exp()
        for size, rate in self.pushes:
            found += remaining(size, rate, self.pull, self.move, total)
        return found.min(arb(self.trial.radius))

    def lateral(self, elapsed: fmpq) -> arb:
        """|q| + nu + |y'_k|, for every k from `elapsed` after p_0 on."""
        return self.reference_length + self.trial.aside + self.offset(self.reached(elapsed)[1])

    def at(self, elapsed: fmpq) -> arb:
        """A bound of 1 - cos angle(p_k, u) for every k from `elapsed` after p_0 on; 1 where x_k may be 0."""
        far = self.reached(elapsed)[0]
        if (far > 0) is not True:
            return arb(1)
        return shortfall_of_tangent(self.lateral(elapsed) / far)

    def _level(self, elapsed: fmpq) -> arb:
        rate = self.progress * self.constants.margin**2
        return level_after(self.rule, self.near, rate, elapsed, self.reached(elapsed)[1])

    def least_weight(self, elapsed: fmpq) -> arb:
        """A lower bound of the chosen tokens' weights for every k from `elapsed` after p_0 on."""
        return self.near.least_weight(self._level(elapsed))

    def loss_gap(self, elapsed: fmpq) -> arb:
        """An upper bound of L less its limit then."""
        return self.near.excess(self._level(elapsed)) / self.rule.inputs

    def least_norm(self, elapsed: fmpq) -> arb:
        """A lower bound of |p_k| >= x_k then."""
        return self.reached(elapsed)[0]

    # -- from the other side, at this very k

    def farthest(self, elapsed: fmpq) -> arb:
        """An upper bound of x_k, k being `elapsed` after p_0."""
        k, near, rule = self.constants, self.near, self.rule
        if rule.kind == NORMALISED:
            return self.distance + rule.unit * elapsed
        rise = ascent(k.margin, self.pace, rule.unit * near.high * self.top, self.move)
        return ((k.margin * self.distance).exp() + rise * elapsed).log() / k.margin

    def least_angle(self, elapsed: fmpq) -> arb:
        """A lower bound of 1 - cos angle(p_k, u): tan >= |p_k^| / x_k, as x_k > 0 or else the angle is not acute."""
        (along, beside), far = self.reference_parts, self.farthest(elapsed)
        if (far > 0) is not True:
            return arb(0)
        inner_part = (along - self.offset(self.reached(elapsed)[1])).max(arb(0))
        outer_part = (beside - self.trial.aside).max(arb(0))
        return shortfall_of_tangent(l2_norm([inner_part, outer_part]) / far)

    def most_weight(self, elapsed: fmpq) -> arb:
        """An upper bound of the least weight of a chosen token: of an input's neighbours alone, at the largest x_k."""
        k, off = self.constants, self.offset(self.reached(elapsed)[1])
        level = (-k.margin * self.farthest(elapsed)).exp()
        sums = dict.fromkeys(k.scores, arb(0))
        for i, mass, width in self.masses:
            sums[i] += mass * (-width * off).exp()
        return 1 / (1 + level * largest(sums.values()))

    def least_gap(self, elapsed: fmpq) -> arb:
        """A lower bound of L less its limit: F >= e^{-Xi x_k} (s w - sum c_i |g_t| r_t e^{-delta_t xi sigma_k}), with
        the least weight s of a chosen token."""
        k, near, (nearest, total) = self.constants, self.near, self.reached(elapsed)
        share = self.least_weight(elapsed) * k.concentration
        for t, reach in near.reaches.items():
            fade = (-k.slacks[t] * near.forward * total).exp()
            share -= k.slopes[k.input_of[t]] * abs(k.selection.gaps[t]) * reach * fade
        if (share > 0) is True:
            return share * (-k.margin * self.farthest(elapsed)).exp() / self.rule.inputs
        return share.min(arb(0)) * (-k.margin * nearest).exp() / self.rule.inputs

    def most_norm(self, elapsed: fmpq) -> arb:
        """An upper bound of |p_k|."""
        (along, beside), off = self.reference_parts, self.offset(self.reached(elapsed)[1])
        return l2_norm([self.farthest(elapsed), along + off, beside + self.trial.aside])

    def proved(self, elapsed: fmpq) -> tuple[arb, ...]:
        """(A, S, G, B, C) with tan <= (A + sqrt(S + G l)) / l, l = log(B + C (k - k0)), k0 being `elapsed` after p_0:
        A = Xi (|q| + nu + |y'|), S = G = 0. Of normalised steps (A, B, C) with tan <= A / (B + C (k - k0))."""
        aside = self.lateral(elapsed)
        if self.rule.kind == NORMALISED:
            pace, lost = self.straightness
            return aside, self.distance + self.rule.unit * (pace * elapsed - lost), self.rule.unit * pace
        return self.constants.margin * aside, arb(0), arb(0), *self.argument(elapsed)
