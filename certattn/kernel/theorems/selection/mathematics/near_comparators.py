"""How far a minimiser (v, p) of the joint loss is from a head and attention (v^, p^) that nearly are one.

The loss is f(v, p) = sum_i l(y_i), y_i = Y_i <v, X_i'softmax(X_i W'p)>, over |v| <= r and |p| <= R; l is convex and
decreasing, logistic or exponential. For the tokens t other than the chosen one of input i put
w_it = Y_i (x_{i alpha_i} - x_it), z_it = W (x_{i alpha_i} - x_it) and g_it = <v, w_it>. Hats mark what belongs to the
comparator (v^, p^): softmax weights s^_it, margins y^_i, slopes m^_i = -l'(y^_i). With the scores
gamma_i = Y_i <v, x_{i alpha_i}>, G_i = sum_t s_it g_it is what attention to other tokens costs: y_i = gamma_i - G_i.
Then, in this order,

    5. D bounds |v - v^|, as f(v, p) <= f(v^, p^) and the G_i are >= 0, or at least known numbers.
    6. e_i bounds 1 - s_{i alpha_i}, as f(v, p) <= f(v, p^) for the same v. An input is good where all g_it > 0.
    7. D again, as f(v, p) <= f(v^, p) for the same p, which is convex in v; 6 and 7 twice.
    8. D' bounds |p - p^|, as f(v, p) <= f(v, p^), which is convex in p between the two where
       e_i max_t g_it <= (1 - e_i) min_t g_it, and nearly so where that adds little.

In each the ball adds curvature: <v^, v - v^> <= (r^2 - |v^|^2 - |v - v^|^2) / 2.
The page of the claim `joint-max-margin` has the proofs. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce

from flint import arb

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.functions import root

Row = Sequence[arb]
_ZERO, _ONE = arb(0), arb(1)


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
        # s^_it, g^_it, the y^_i's rows r^_i and what they lack of the chosen ones; m^_i.
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
        self.distance = self._at_first(floors)
        for _ in range(2):
            self.unattended = self._unattended()
            self.distance = _least([self.distance, self._for_its_attention()])
        self.unattended = self._unattended()

    # -- 5

    def _at_first(self, floors: Sequence[arb]) -> arb:
        pull = _sum(self.slopes, self.chosen, len(self.v))
        curvature = l2_norm(pull) / self.r
        lost = _dot(self.slopes, [cost + floor for cost, floor in zip(self.costs, floors, strict=True)])
        return farthest(curvature, _residual(pull, curvature, self.v), curvature * self.spare[0] / 2 + lost)

    # -- 6

    def _least_gap(self, i: int) -> arb:
        return reduce(arb.min, self._moved_gaps(i, -self.distance))

    def _largest_gap(self, i: int) -> arb:
        return reduce(arb.max, self._moved_gaps(i, self.distance))

    def _moved_gaps(self, i: int, distance: arb) -> list[arb]:
        return [g + distance * l2_norm(w) for g, w in zip(self.g[i], self.gaps[i], strict=True)]

    def _is_good(self, i: int) -> bool:
        return not self.gaps[i] or (self._least_gap(i) > 0) is True

    def _largest_cost(self, i: int) -> arb:
        """A bound of G_i at a minimiser, for a good input of several tokens."""
        return gap_of_excess(self.loss, self.scores[i] + self.distance * l2_norm(self.chosen[i]), self._more)

    def _unattended(self) -> list[arb]:
        # How much more than for one-hot attention the loss of all inputs is under p^, for the minimiser's v.
        self._more = _ZERO
        for i in self.inputs:
            score = self.scores[i] - self.distance * l2_norm(self.chosen[i])
            if self._is_good(i):
                self._more += excess(self.loss, score, self.costs[i] + self.distance * l2_norm(self.moved[i]))
            else:
                margin = self.scores[i] - self.costs[i] - self.distance * l2_norm(self.rows[i])
                # Less than e^-y, for both losses.
                self._more += (-margin).exp()
        found = []
        for i in self.inputs:
            if not self._is_good(i):
                found.append(_ONE)
            else:
                found.append(self._largest_cost(i) / self._least_gap(i) if self.gaps[i] else _ZERO)
        return found

    # -- 7

    def _for_its_attention(self) -> arb:
        """D from f(v, p) <= f(v^, p)."""
        pull = _sum(self.slopes, self.rows, len(self.v))
        curvature = l2_norm(pull) / self.r
        residual = _residual(pull, curvature, self.v)
        for i in self.inputs:
            if self.gaps[i]:
                residual += self._pull_by_attention(i)
        return farthest(curvature, residual, curvature * self.spare[0] / 2)

    def _pull_by_attention(self, i: int) -> arb:
        """A bound of how far m_i r_i, of v^ with a minimiser's attention, is from m^_i r^_i."""
        # sum_t |s_it - s^_it|, and by how much y_i differs by it.
        change = self.unattended[i] + self.off[i]
        power = change * _largest(abs(g) for g in self.g[i])
        here, size = self.slopes[i], l2_norm(self.rows[i])
        slopes = here * power.exp()
        found = [here * power.expm1() * size]
        if self._is_good(i):
            cost = self._largest_cost(i) + self.unattended[i] * self.distance * self.widest[i]
            slopes = _least([slopes, slope(self.loss, self.scores[i] - cost)])
            found.append((slopes + here) * size)
        return _least(found) + slopes * change * self.widest[i]

    # -- 8

    @cached_property
    def reach(self) -> arb | None:
        pulls, uncertain, bent = [], _ZERO, _ZERO
        for i in self.inputs:
            if not self.keys[i]:
                continue
            middle = _sum(self.softmax[i], self.keys[i], len(self.p))
            centred = [[a - b for a, b in zip(z, middle, strict=True)] for z in self.keys[i]]
            pull = _sum([s * g for s, g in zip(self.softmax[i], self.g[i], strict=True)], centred, len(self.p))
            pulls.append([self.slopes[i] * x for x in pull])
            power = self.distance * l2_norm(self.rows[i])
            lever = sum(
                (s * l2_norm(w) * l2_norm(z) for s, w, z in zip(self.softmax[i], self.gaps[i], centred, strict=True)),
                _ZERO,
            )
            uncertain += self.slopes[i] * (power.expm1() * l2_norm(pull) + power.exp() * self.distance * lever)
            if not self._bends_up(i):
                bent += self._bend(i)
        pull = [sum(column, _ZERO) for column in zip(*pulls, strict=True)]
        along = l2_norm(pull) / self.R
        curvature = along - bent
        if (curvature > 0) is not True:
            return None
        return farthest(curvature, _residual(pull, along, self.p) + uncertain, along * self.spare[1] / 2)

    def _bends_up(self, i: int) -> bool:
        share = self.unattended[i].max(self.off[i])
        return self._is_good(i) and (convexity(share, self._least_gap(i), self._largest_gap(i)) >= 0) is True

    def _bend(self, i: int) -> arb:
        """How negative the second derivative of l(y_i) can be in p, for any attention and a minimiser's v."""
        high, low = _ZERO.max(self._largest_gap(i)), _ZERO.min(self._least_gap(i))
        lowest = self.scores[i] - self.distance * l2_norm(self.chosen[i]) - high
        longest = _largest(l2_norm(z) for z in self.keys[i])
        return (-lowest).exp() * (high - low) * longest * longest


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
