"""How far a minimiser (v, p) of the joint loss is from a head and attention (v^, p^) that nearly are one.

The loss is f(v, p) = sum_i l(y_i), y_i = Y_i <v, X_i'softmax(X_i W'p)>, over |v| <= r and |p| <= R; l is convex and
decreasing, logistic or exponential. For the tokens t other than the chosen one of input i put
w_it = Y_i (x_{i alpha_i} - x_it), z_it = W (x_{i alpha_i} - x_it) and g_it = <v, w_it>. Hats mark what belongs to the
comparator (v^, p^): softmax weights s^_it, margins y^_i, slopes m^_i = -l'(y^_i). With the scores
gamma_i = Y_i <v, x_{i alpha_i}>, G_i = sum_t s_it g_it is what attention to other tokens costs: y_i = gamma_i - G_i.
Then, in this order,

    5. D bounds |v - v^|, as f(v, p) <= f(v^, p^) and the G_i are >= 0, or at least known numbers.
    6. e_i bounds 1 - s_{i alpha_i}, as f(v, p) <= f(v, p^) for the same v. An input is good where all g_it > 0.
    7. D again, as f(v, p) <= f(v^, p) for the same p, which is convex in v.
    8. D' bounds |p - p^|, as f(v, p) <= f(v, p^), which is convex in p between the two where
       e_i max_t g_it <= (1 - e_i) min_t g_it, and nearly so where that adds little.

6 to 8 are repeated. In each the ball adds curvature, <v^, v - v^> <= (r^2 - |v^|^2 - |v - v^|^2) / 2, and the loss has
its own, H = sum_i l'' r_i r_i' and its like: both together are a metric, in which distances are bounded.
The page of the claim `joint-max-margin` has the proofs. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import reduce

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.functions import root

Row = Sequence[arb]
_ZERO, _ONE = arb(0), arb(1)
# How often 6 to 8 are gone through: each makes the next ones sharper.
ROUNDS = 4
# Distances from p^ at which second derivatives are tried.
RADII = tuple(fmpq(n, 64) for n in (1, 2, 4, 8, 16, 32, 64))
# (a + b)^2 >= k a^2 - k / (1 - k) b^2, for k in (0, 1).
_KEPT = arb(fmpq(31, 32))


# -- formulas


def farthest(curvature: arb, residual: arb, spare: arb) -> arb:
    """The largest x with curvature x^2 / 2 <= residual x + spare."""
    return (residual + root(residual * residual + 2 * curvature * spare)) / curvature


def least_cosine(along: arb, across: arb, distance: arb) -> arb:
    """The least cosine with a unit vector u of what is so near to a point with <x, u> = along > distance and
    |x - along u| = across."""
    tangent = (across + distance) / (along - distance)
    return 1 / root(1 + tangent * tangent)


def slope(loss: str, margin: arb) -> arb:
    """-l'(y)."""
    return (-margin).exp() if loss == "exponential" else 1 / (1 + margin.exp())


def excess(loss: str, score: arb, gap: arb) -> arb:
    """l(score - gap) - l(score), without cancellation."""
    if loss == "exponential":
        return (-score).exp() * gap.expm1()
    return (gap.expm1() / (1 + score.exp())).log1p()


def gap_of_excess(loss: str, score: arb, more: arb) -> arb:
    """The gap with l(score - gap) - l(score) = more; it grows with the score."""
    if loss == "exponential":
        return (more * score.exp()).log1p()
    return (more.expm1() * (1 + score.exp())).log1p()


def convexity(unattended: arb, least: arb, largest: arb) -> arb:
    """What attention costs an input has in p at least this times the variance of the <z_it, q> as second derivative
    along q, where it spends `unattended` on other tokens than the chosen one, with all g in [least, largest]."""
    return (1 - unattended) * least - unattended * largest


# -- the bounds


class Metric:
    """|x|_H = (x'Hx)^(1/2) for H = least I + sum_k weights_k rows_k rows_k', all weights >= 0 and least > 0."""

    def __init__(self, least: arb, weights: Sequence[arb], rows: Sequence[Row], size: int) -> None:
        self.least, inverse = least, None
        table = [
            [sum((w * row[a] * row[b] for w, row in zip(weights, rows, strict=True)), _ZERO) for b in range(size)]
            for a in range(size)
        ]
        scaled = arb_mat(
            [[(x / least if a != b else 1 + x / least) for b, x in enumerate(r)] for a, r in enumerate(table)]
        )
        # Raised where there are too few bits to tell that it is not singular.
        with suppress(ZeroDivisionError):
            inverse = scaled.inv()
        self.inverse = None if inverse is None else [[inverse[a, b] for b in range(size)] for a in range(size)]

    def dual(self, row: Row) -> arb:
        """|<x, row>| is at most |x|_H times this."""
        plain = l2_norm(row) / root(self.least)
        if self.inverse is None:
            return plain
        return _least([root(_dot(row, [_dot(r, row) for r in self.inverse]) / self.least), plain])

    def longest(self) -> arb:
        """|x| is at most |x|_H times this."""
        plain = 1 / root(self.least)
        if self.inverse is None:
            return plain
        return _least([root(sum((row[k] for k, row in enumerate(self.inverse)), _ZERO) / self.least), plain])


class NearComparator:
    """The bounds for one comparator `head`, `attention`, at the working precision.

    `norms` are r and R; `spare` are r^2 - |v^|^2 and R^2 - |p^|^2, both >= 0. `chosen` are the Y_i x_{i alpha_i},
    `gaps` the w_it and `keys` the z_it by input; `floors` have G_i >= -floor at every minimiser.

    Attributes: `distance` is D; `unattended` are the e_i; `reach` is D', None where 8 is not proved.
    """

    def __init__(
        self,
        loss: str,
        norms: tuple[arb, arb],
        compared: tuple[Row, Row],
        spare: tuple[arb, arb],
        chosen: Sequence[Row],
        gaps: Sequence[Sequence[Row]],
        keys: Sequence[Sequence[Row]],
        floors: Sequence[arb],
    ) -> None:
        self.loss, (self.r, self.R), (self.v, self.p), self.spare = loss, norms, compared, spare
        self.chosen, self.gaps, self.keys = chosen, gaps, keys
        self.inputs = range(len(chosen))
        self.several = [i for i in self.inputs if gaps[i]]
        # s^_it, g^_it, the rows r^_i of the y^_i and what they lack of the chosen ones; m^_i.
        self.softmax = [_softmax([_dot(z, self.p) for z in rows]) for rows in keys]
        self.g = [[_dot(w, self.v) for w in rows] for rows in gaps]
        self.moved = [_sum(s, rows, len(self.v)) for s, rows in zip(self.softmax, gaps, strict=True)]
        both = zip(chosen, self.moved, strict=True)
        self.rows = [[a - b for a, b in zip(row, moved, strict=True)] for row, moved in both]
        self.scores = [_dot(row, self.v) for row in chosen]
        self.costs = [_dot(s, g) for s, g in zip(self.softmax, self.g, strict=True)]
        self.slopes = [slope(loss, score - cost) for score, cost in zip(self.scores, self.costs, strict=True)]
        self.off = [sum(s, _ZERO) for s in self.softmax]
        self.widest = [_largest(l2_norm(w) for w in rows) for rows in gaps]
        self.longest = [_largest(l2_norm(z) for z in rows) for rows in keys]
        # z_it less their mean, and how p pulls at y_i.
        means = [_sum(s, rows, len(self.p)) for s, rows in zip(self.softmax, keys, strict=True)]
        self.centred = [
            [[a - b for a, b in zip(z, mean, strict=True)] for z in rows]
            for rows, mean in zip(keys, means, strict=True)
        ]
        self.turns = [
            _sum([a * b for a, b in zip(self.softmax[i], self.g[i], strict=True)], self.centred[i], len(self.p))
            for i in self.inputs
        ]
        self.reach: arb | None = None
        self.distance = self._at_first(floors)
        self._move_by(lambda row: self.distance * l2_norm(row))
        for _ in range(ROUNDS):
            self._attend()
            self._narrow_head()
            self._narrow_attention()
        self._attend()

    def _move_by(self, bound: Callable[[Row], arb]) -> None:
        """Notes by how much products with v can differ from those with v^, and which inputs are good."""
        self.far = [[bound(w) for w in rows] for rows in self.gaps]
        self.far_chosen, self.far_moved, self.far_rows = (
            [bound(row) for row in rows] for rows in (self.chosen, self.moved, self.rows)
        )
        self.least, self.most = [_ONE for _ in self.inputs], [_ONE for _ in self.inputs]
        for i in self.several:
            self.least[i] = reduce(arb.min, [g - far for g, far in zip(self.g[i], self.far[i], strict=True)])
            self.most[i] = reduce(arb.max, [g + far for g, far in zip(self.g[i], self.far[i], strict=True)])
        self.good = [(least > 0) is True for least in self.least]

    # -- 5

    def _at_first(self, floors: Sequence[arb]) -> arb:
        pull = _sum(self.slopes, self.chosen, len(self.v))
        curvature = l2_norm(pull) / self.r
        lost = _dot(self.slopes, [cost + floor for cost, floor in zip(self.costs, floors, strict=True)])
        return farthest(curvature, _residual(pull, curvature, self.v), curvature * self.spare[0] / 2 + lost)

    # -- 6

    def _attend(self) -> None:
        # How much more than for one-hot attention the loss of all inputs is under p^, for the minimiser's v.
        more = _ZERO
        for i in self.inputs:
            if self.good[i]:
                more += excess(self.loss, self.scores[i] - self.far_chosen[i], self.costs[i] + self.far_moved[i])
            else:
                # Less than e^-y, for both losses.
                more += (self.costs[i] - self.scores[i] + self.far_rows[i]).exp()
        self.unattended, self.change = [_ZERO for _ in self.inputs], [_ZERO for _ in self.inputs]
        # Bounds of G_i at a minimiser.
        self.largest_costs: dict[int, arb] = {}
        for i in self.several:
            bounds = [_ONE]
            if self.good[i]:
                self.largest_costs[i] = gap_of_excess(self.loss, self.scores[i] + self.far_chosen[i], more)
                bounds.append(self.largest_costs[i] / self.least[i])
            turned = None if self.reach is None else 2 * self.longest[i] * self.reach
            if turned is not None:
                bounds.append(self.off[i] * turned.exp())
            self.unattended[i] = _least(bounds)
            # sum_t |s_it - s^_it|.
            changes = [
                self.unattended[i] + self.off[i],
                sum((s.max(self.unattended[i]) for s in self.softmax[i]), _ZERO),
            ]
            if turned is not None:
                changes.append(self._share(i) * turned)
            self.change[i] = _least(changes)

    def _share(self, i: int) -> arb:
        """The largest 1 - s_{i alpha_i} between p^ and p."""
        return self.unattended[i].max(self.off[i])

    # -- 7

    def _narrow_head(self) -> None:
        """D from f(v, p) <= f(v^, p)."""
        pull = _sum(self.slopes, self.rows, len(self.v))
        along = l2_norm(pull) / self.r
        least, weights, slopes = along, list[arb](), list[arb]()
        for i in self.inputs:
            # By how much y^_i and the products with v - v^ differ between the two kinds of attention.
            power = self.change[i] * _largest(abs(g) for g in self.g[i])
            bounds = [self.slopes[i] * power.exp()]
            if i in self.largest_costs:
                cost = self.largest_costs[i] + self.unattended[i] * _largest(self.far[i])
                bounds.append(slope(self.loss, self.scores[i] - cost))
            slopes.append(_least(bounds))
            farthest_row = self.far_rows[i] + self.change[i] * _largest(self.far[i])
            weight = self.slopes[i] * (-power - farthest_row).exp()
            if self.loss == "logistic":
                weight = weight * slope(self.loss, power + farthest_row + self.costs[i] - self.scores[i])
            weights.append(weight * _KEPT)
            moved = self.change[i] * self.widest[i]
            least -= weight * moved * moved * _KEPT / (1 - _KEPT)
        if (least > 0) is not True:
            return
        metric = Metric(least, weights, self.rows, len(self.v))
        residual = _residual(pull, along, self.v) / root(least)
        for i in self.inputs:
            size, power = metric.dual(self.rows[i]), self.change[i] * _largest(abs(g) for g in self.g[i])
            turned = [self.slopes[i] * power.expm1() * size, (slopes[i] + self.slopes[i]) * size]
            residual += _least(turned) + slopes[i] * self.change[i] * _largest(metric.dual(w) for w in self.gaps[i])
        radius = farthest(_ONE, residual, along * self.spare[0] / 2)
        if radius.is_finite() is True:
            before = self.distance
            self.distance = before.min(radius * metric.longest())
            self._move_by(lambda row: (self.distance * l2_norm(row)).min(radius * metric.dual(row)))

    # -- 8

    def _narrow_attention(self) -> None:
        pull, bent = [_ZERO for _ in self.p], _ZERO
        convex = dict[int, arb]()
        for i in self.several:
            pull = [a + self.slopes[i] * b for a, b in zip(pull, self.turns[i], strict=True)]
            found = convexity(self._share(i), self.least[i], self.most[i])
            if self.good[i] and (found >= 0) is True:
                convex[i] = found
            else:
                bent += self._bend(i)
        along = l2_norm(pull) / self.R
        least = along - bent
        if (least > 0) is not True:
            return
        stationary, spare = _residual(pull, along, self.p), along * self.spare[1] / 2
        bounds = [] if self.reach is None else [self.reach]
        bounds.append(farthest(least, stationary + self._uncertain(l2_norm), spare))
        # Beyond a radius nothing is as good, where nothing is at it: for that the loss has to be convex in between.
        for radius in RADII if len(convex) == len(self.several) else ():
            metric = self._near_metric(least, convex, arb(radius))
            residual = stationary / root(least) + self._uncertain(metric.dual)
            found = farthest(_ONE, residual, spare) * metric.longest()
            if (found < radius) is True:
                bounds.append(found)
                break
        self.reach = _least(bounds)

    def _bend(self, i: int) -> arb:
        """How negative the second derivative of l(y_i) can be in p, for any attention and a minimiser's v."""
        high, low = _ZERO.max(self.most[i]), _ZERO.min(self.least[i])
        lowest = self.scores[i] - self.far_chosen[i] - high
        return (-lowest).exp() * (high - low) * self.longest[i] * self.longest[i]

    def _uncertain(self, size: Callable[[Row], arb]) -> arb:
        """A bound of how far the pull at p^ under a minimiser's v is from that under v^."""
        total = _ZERO
        for i in self.several:
            power = self.far_rows[i]
            terms = zip(self.softmax[i], self.far[i], self.centred[i], strict=True)
            lever = sum((s * far * size(z) for s, far, z in terms), _ZERO)
            total += self.slopes[i] * (power.expm1() * size(self.turns[i]) + power.exp() * lever)
        return total

    def _near_metric(self, least: arb, convex: dict[int, arb], radius: arb) -> Metric:
        """A lower bound of second derivatives of the loss in p, as near to p^ as this."""
        weights, rows = list[arb](), list[Row]()
        for i, found in convex.items():
            weight = slope(self.loss, self.scores[i] + self.far_chosen[i]) * found * (1 - self._share(i))
            weight = weight * (-2 * self.longest[i] * radius).exp()
            weights += [weight * s for s in self.softmax[i]]
            rows += self.keys[i]
        return Metric(least, weights, rows, len(self.p))


def _softmax(products: Sequence[arb]) -> list[arb]:
    """The weights of the other tokens, whose scores fall short of the chosen one's by these."""
    powers = [(-x).exp() for x in products]
    total = sum(powers, _ONE)
    return [power / total for power in powers]


def _residual(pull: Row, curvature: arb, point: Row) -> arb:
    return l2_norm([a - curvature * b for a, b in zip(pull, point, strict=True)])


def _sum(weights: Row, rows: Sequence[Row], size: int) -> list[arb]:
    """sum_t weights_t rows_t, of this many coordinates even where there are no rows."""
    return [_dot(weights, [row[k] for row in rows]) for k in range(size)]


def _dot(xs: Row, ys: Row) -> arb:
    return sum((x * y for x, y in zip(xs, ys, strict=True)), _ZERO)


def _largest(numbers: Iterable[arb]) -> arb:
    return reduce(arb.max, numbers, _ZERO)


def _least(bounds: Sequence[arb]) -> arb:
    """The least bound that is finite; the first where none is."""
    return reduce(arb.min, [bound for bound in bounds if bound.is_finite() is True] or bounds[:1])
