"""The head of joint training, what attending to others costs, and the joint regularisation path at stated norms.

Inputs X_i with rows x_it, labels Y_i = 1 or -1, chosen tokens alpha_i. v_mm is the shortest v with
Y_i <v, x_{i alpha_i}> >= 1 for all i, with equality for the support inputs S; Gamma = 1 / |v_mm| is the label margin
and u = Gamma v_mm. S+ are the support inputs with a multiplier mu_i > 0 of v_mm; with mu^_i = mu_i / sum mu,

    sum_i mu^_i Y_i x_{i alpha_i} = Gamma u.

Attention with weights s_it yields r_i = sum_t s_it x_it. For e = max_{i in S+} (1 - s_{i alpha_i}),

    max_{|v| <= 1} min_i Y_i <v, r_i>  <=  |sum_i mu^_i Y_i r_i|  <=  Gamma - nu e.

The middle is a convex function of the weights; so is its sum with nu e, and it has its largest value where every input
of S+ attends to one token. This gives nu by enumeration; where that is too long, single pairs give a smaller one. What
the other inputs of S attend to costs nothing to first order, but nu' (1 - s_{i alpha_i})^2.

The path at norms r and R: what every minimiser (v, p) has in common.

(v, p) minimises sum_i l(y_i), y_i = Y_i <v, X_i'softmax(X_i W'p)>, over |v| <= r and |p| <= R, for the logistic or the
exponential loss. With these u, Gamma, mu^, S, S+ and nu, the pairs' z_j = W (x_{i alpha_i} - x_it)
and h_j, and p_mm = sum_j lambda_j z_j the shortest p with <z_j, p> >= 1 for pairs of S and >= 0 for the others,
Xi = 1 / |p_mm|:

    1. sum_i e^{-y_i} <= E by the loss of a comparator; so sum_i mu^_i y_i >= r Gamma - K, K = log E0 - H(mu^).
    2. Each input of S+ has 1 - s_{i alpha_i} <= e = K / (r nu).
    3. <v, u> >= r c with c = 1 - (K/r + e Z) / Gamma. This bounds the g_j from below, which gives a better c, and so
       on; c = 1 - K / (r Gamma) where it makes all g_j of S+ positive.
    4. |p| cos(p, p_mm) >= Xi (L log(1/e - 1) - B), and the same with a logarithm from the comparison of p with other
       attention under the same v; L is the sum of the lambda_j of S+, and B is for the other pairs.
    5-8. (v, p) is near a comparator that nearly is a minimiser: near_comparators.py.

Weights mu^_i stand on S+, E bounds sum_i e^{-y_i} at a minimiser, E0 = e^{r Gamma} E.
The page of the claim `joint-max-margin` has the proofs. Nothing here decides.
Ataee Tarzanagh, Li, Zhang and Oymak 2023, the section on joint convergence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_remainder, root
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.mathematics.near_comparators import NearComparator, least_cosine

_ZERO, _ONE = arb(0), arb(1)
# A head and attention that minimisers are compared with, each in one row.
Compared = tuple[ExactMatrix | None, ExactMatrix | None]
# So many choices of one token for every support input are enumerated.
MOST_CHOICES = 10_000
# So often c is improved by itself.
ROUNDS = 8


class LabelMargin:
    """The head of `solution`, which is a solution where its conditions are proved; `rows` hold the Y_i x_it.

    Attributes: `support` are the inputs with a multiplier, S+, and `weights` their mu^_i; by pair, `differences` are
    the Y_i (x_{i alpha_i} - x_it), `gaps` their products with v_mm, which times Gamma are the h_j, and `distances`
    their squared norms.
    """

    def __init__(self, rows: ExactMatrix, selection: Selection, solution: MaxMargin) -> None:
        self.rows, self.selection, self.solution = rows, selection, solution
        multipliers = {i: value for i, value in sorted(solution.multipliers.items()) if value > 0}
        self.support, total = tuple(multipliers), sum(multipliers.values(), fmpq(0))
        self.weights = {i: value / total for i, value in multipliers.items()}
        others = rows.take_rows([selection.tokens.row(pair.input, pair.token) for pair in selection.pairs])
        self.differences = rows.take_rows([selection.rows[pair.input] for pair in selection.pairs]) - others
        self.gaps = (self.differences @ solution.solution.T).T.row(0)
        self.distances = [sum((x * x for x in row), fmpq(0)) for row in self.differences.to_rows()]

    @property
    def enumerated(self) -> bool:
        """Whether all ways to choose a token of every support input are gone through."""
        return math.prod(self.selection.tokens.lengths[i] for i in self.support) <= MOST_CHOICES

    @cached_property
    def nearest_choice(self) -> tuple[tuple[int, ...], fmpq]:
        """Of all choices of a token of each support input but alpha itself, the one of the largest
        |sum_i mu^_i Y_i x_{i t_i}|^2, and this number; alpha and 0 where there is no other choice."""
        alpha, tokens = tuple(self.selection.indices[i] for i in self.support), self.selection.tokens
        parts = [self.rows.take_rows(tokens.rows_of(i)).scaled(weight) for i, weight in self.weights.items()]
        stacked = ExactMatrix.stacked(parts)
        rows = iter([[int(x) for x in row] for row in stacked.numerators.tolist()])
        sums: list[tuple[tuple[int, ...], list[int]]] = [((), [0] * stacked.columns)]
        for part in parts:
            mine = [next(rows) for _ in range(part.rows)]
            sums = [
                ((*choice, t), [a + b for a, b in zip(total, row, strict=True)])
                for choice, total in sums
                for t, row in enumerate(mine)
            ]
        found = ((choice, sum(x * x for x in total)) for choice, total in sums if choice != alpha)
        best, largest = max(found, key=lambda pair: pair[1], default=(alpha, 0))
        return best, fmpq(largest) / (fmpq(stacked.denominator) ** 2)

    def drop(self) -> arb:
        """A number nu for which the inequality above holds if it is positive; at the working precision."""
        if not self.enumerated:
            return self.drop_by_pairs()
        return self.solution.margin() - arb(self.nearest_choice[1]).sqrt()

    def drop_by_pairs(self) -> arb:
        """The same from single pairs: min over S+ of mu^_i min_t (2 Gamma h_it - |x_{i alpha_i} - x_it|^2) / (2 Gamma).

        Gamma^2 - |Gamma u - q|^2 = 2 Gamma <u, q> - |q|^2 >= sum_i mu^_i sum_t s_it (2 Gamma h_it - |..|^2)
        for q = sum_i mu^_i Y_i (x_{i alpha_i} - r_i), as squares are convex; and Gamma + |Gamma u - q| <= 2 Gamma. An
        input of one token has no pairs.
        """
        norm_squared, pairs_of = self.solution.norm_squared, self.selection.pairs_of
        kept = [2 * gap / norm_squared - square for gap, square in zip(self.gaps, self.distances, strict=True)]
        several = [(weight, pairs_of[i]) for i, weight in self.weights.items() if i in pairs_of]
        least = min(weight * min(kept[j] for j in positions) for weight, positions in several)
        return least / (2 * self.solution.margin())

    def quadratic_drop(self, inputs: Iterable[int]) -> arb:
        """A number nu' so that max_{|v| <= 1} min_k Y_k <v, r_k> <= Gamma - nu' (1 - s_{i alpha_i})^2 for each of these
        tight inputs, if it and nu = `drop` are positive.

        Inputs of S+ have nu itself, and those of one token have 1 - s = 0.
        """
        nu, margin, v = self.drop(), self.solution.margin(), self.solution.solution
        least = nu
        for i in inputs:
            if i not in self.weights and i in self.selection.pairs_of:
                # No h where another token scores as much as the chosen one: 0 proves nothing.
                gap = max(fmpq(0), min(self.gaps[j] for j in self.selection.pairs_of[i]))
                rows = [self.rows.take_rows([row]) for row in self.selection.tokens.rows_of(i)]
                # |Gamma u - y|^2 = Gamma^2 (1 - 2 <v_mm, y>) + |y|^2.
                squares = [margin * margin * (1 - 2 * y.inner(v)) + y.inner(y) for y in rows]
                least = least.min(second_order(margin, margin * gap, reduce(arb.max, squares).sqrt(), nu))
        return least


# -- formulas


def exponential_sum(loss: str, margins: Iterable[arb]) -> arb:
    """A bound E of sum_i e^{-y_i} where sum_i l(y_i) is at most the sum of l over these margins.

    e^{-y} is l(y) for the exponential loss, whose sum is E. For the logistic one it is e^{l(y)} - 1, and
    sum (e^{l_i} - 1) <= e^{sum l_i} - 1 for l_i >= 0: E is prod (1 + e^{-y}) - 1, multiplied out without cancellation.
    """
    total = arb(0)
    for margin in margins:
        power = (-margin).exp()
        total = total + power if loss == "exponential" else total + power + total * power
    return total


def slope_correction(loss: str, bound: arb) -> arb:
    """A bound of log(e^{-y} / -l'(y)) where e^{-y} <= bound: log(1 + e^{-y}) for the logistic loss."""
    return 0 * bound if loss == "exponential" else bound


def entropy(weights: Iterable[fmpq]) -> arb:
    """-sum_i w_i log w_i over the positive weights."""
    return -sum((w * arb(w).log() for w in weights if w > 0), arb(0))


def deficit(log_e0: arb, weights: Iterable[fmpq]) -> arb:
    """K with sum_i mu^_i y_i >= r Gamma - K, by Jensen: log E0 - H(mu^)."""
    return log_e0 - entropy(weights)


def tilt(share: Mapping[int, fmpq], weights: Mapping[int, fmpq], log_e0: arb) -> arb:
    """A bound of sum_i Lambda_i (gamma_i - r Gamma) for probabilities Lambda = `share` on the support inputs.

    It holds where sum_i mu^_i gamma_i <= r Gamma and sum_i e^{-gamma_i} <= E: with theta = max Lambda_i / mu^_i and
    w = (theta mu^ - Lambda) / (theta - 1), Lambda = theta mu^ - (theta - 1) w, and by Jensen
    sum_i w_i gamma_i >= r Gamma + H(w) - log E0. So the bound is (theta - 1) (log E0 - H(w)).
    """
    theta = max(share.get(i, fmpq(0)) / weight for i, weight in weights.items())
    if theta == 1:
        return arb(0)
    rest = [(theta * weight - share.get(i, fmpq(0))) / (theta - 1) for i, weight in weights.items()]
    return (theta - 1) * (log_e0 - entropy(rest))


def second_order(gamma: arb, least: arb, farthest: arb, nu: arb) -> arb:
    """A bound of what a weight x on other tokens of a tight input without multiplier takes off Gamma, over x^2.

    `least` is h = min_t <u, Gamma u - Y_i x_it> >= 0 over them, `farthest` rho = max_t |Gamma u - Y_i x_it| over all
    tokens. With tau = min(Gamma h / rho^2, nu / (h + rho + nu)) the combination of sum_k mu^_k Y_k r_k with Y_i r_i,
    which has the weight tau x, has a norm of at most Gamma - (tau h - tau^2 rho^2 / (2 Gamma)) x^2.
    """
    share = (gamma * least / (farthest * farthest)).min(nu / (least + farthest + nu))
    return share * least - share * share * farthest * farthest / (2 * gamma)


def first_alignment(gamma: arb, lost: arb, moved: arb) -> arb:
    """c with <v, u> >= r c where <v, Gamma u - q> >= r (Gamma - lost) and |q| <= moved, |v| <= r."""
    return 1 - (lost + moved) / gamma


def raised(gap: arb) -> arb:
    """e^G - 1: e^gamma times a bound of l(gamma - G) - l(gamma), for either loss."""
    return gap.exp() - 1 if gap >= 1 else gap * exp_remainder(1, gap)


def sine(cosine: arb) -> arb:
    """(1 - c^2)^(1/2): a bound of |v - <v, u> u| / r where <v, u> >= r c >= 0 and |v| <= r."""
    return root(1 - cosine * cosine)


def least_product(cosine: arb, along: arb, across: arb) -> arb:
    """A lower bound of <v, a> / r, for <a, u> = along and |a - along u| = across: <v, u> / r is in [c, 1]."""
    return -(-along).max(-cosine * along) - sine(cosine) * across


def least_share(required: arb, others: arb, chosen: arb) -> arb:
    """The least weight s of the chosen token where s chosen + (1 - s) others >= required > others."""
    return (required - others) / (chosen - others)


def log_odds(share: arb) -> arb:
    """log(s / (1 - s)): of a token that weighs e^{-x} times the chosen one, and at most 1 - s, x is at least this
    where the chosen one weighs s or more."""
    return (share / (1 - share)).log()


# -- the bounds


class JointPath:
    """The bounds at the norms r and R, at the precision at which it is made.

    `compared` are a head and attention within these norms; r u and R Xi p_mm where they are None.

    Attributes: `lost` is K / r; `unattended` e, a bound of 1 - s_{i alpha_i} for the inputs of S+; `selected` says
    whether at every minimiser the chosen tokens of S+ are proved to have the largest scores; `cosine` is c: <v, u> >=
    r c, and of the angle of v and v_mm, where it is positive; `outside` are the inputs outside S+ whose pairs have
    multipliers, and `within` is L.
    """

    def __init__(
        self, head: LabelMargin, attention: MaxMargin, loss: str, norms: tuple[fmpq, fmpq], compared: Compared
    ) -> None:
        stated_head, stated_attention = compared
        self.loss, self.head, self.attention, self.selection = loss, head, attention, head.selection
        self.r, self.R = arb(norms[0]), arb(norms[1])
        self.gamma, self.xi = head.solution.margin(), attention.margin()
        self.direction = [self.gamma * x for x in head.solution.solution.row(0)]
        self.label_rows = table_of_balls(head.rows, _ONE)
        # The comparator: softmax weights by input, relative to the chosen token; the Y_i sum_t s_it x_it; and their
        # products with v.
        v, r = (head.solution.solution, self.r * self.gamma) if stated_head is None else (stated_head, _ONE)
        p, R = (attention.solution, self.R * self.xi) if stated_attention is None else (stated_attention, _ONE)
        tokens, logits = self.selection.tokens, (self.selection.tokens.keys @ p.T).T.row(0)
        self.softmax, self.attended = list[list[arb]](), list[list[arb]]()
        for i, chosen in enumerate(self.selection.rows):
            powers = [(R * (logits[row] - logits[chosen])).exp() for row in tokens.rows_of(i)]
            total = sum(powers, arb(0))
            self.softmax.append([power / total for power in powers])
            columns = zip(*(self.label_rows[row] for row in tokens.rows_of(i)), strict=True)
            self.attended.append([_dot(self.softmax[i], column) for column in columns])
        self.compared = [r * x for x in v.row(0)], [R * x for x in p.row(0)]
        # What is left of r^2 and R^2, and how the two lie to v_mm and p_mm.
        self.spare = tuple(
            _ZERO if stated is None else arb(norm * norm - stated.inner(stated))
            for stated, norm in zip(compared, norms, strict=True)
        )
        self.position = (
            (self.r, _ZERO) if stated_head is None else _position(stated_head, head.solution),
            (self.R, _ZERO) if stated_attention is None else _position(stated_attention, attention),
        )
        margins = [_dot(row, self.compared[0]) for row in self.attended]
        # Steps 1 and 2: E, a bound of sum_i e^{-y_i} at every minimiser, by the loss of the comparator.
        exponentials = exponential_sum(loss, margins)
        self.correction = arb(slope_correction(loss, exponentials))
        self.log_e0 = arb(exponentials.log() + self.r * self.gamma)
        self.lost = deficit(self.log_e0, head.weights.values()) / self.r
        self.unattended = self.lost / head.drop()
        # A lower bound of every y_i / r.
        self.required = self.gamma - self.log_e0 / self.r
        # Step 3, with the lengths of the parts of x_{i alpha_i} - x_it orthogonal to u, by pair.
        squared, gaps = head.solution.norm_squared, zip(head.gaps, head.distances, strict=True)
        self.across = [arb(distance - gap * gap / squared).nonnegative_part().sqrt() for gap, distance in gaps]
        longest = lambda i: arb(max((head.distances[j] for j in self._pairs(i)), default=fmpq(0))).sqrt()  # noqa: E731
        self.cosine = self._aligned(longest)
        for _ in range(ROUNDS):
            # What is known of v bounds what attention to other tokens can do for it.
            if (self.cosine > 0) is True:
                self.cosine = self.cosine.max(self._aligned(lambda i: self._floor(i) / self.r))
        self.selected = (self.cosine > 0) is True and all(self._is_good(i, self.cosine) for i in head.support)
        # For step 4.
        weights = {j: value for j, value in attention.multipliers.items() if value != 0}
        inputs = {j: self.selection.pairs[j].input for j in weights}
        self.outside = sorted(set(inputs.values()) - set(head.support))
        self.within = sum((value for j, value in weights.items() if inputs[j] in head.weights), fmpq(0))

    def _pairs(self, i: int) -> list[int]:
        """The positions of the pairs of an input."""
        return self.selection.pairs_of.get(i, [])

    def _aligned(self, most: Callable[[int], arb]) -> arb:
        """c, where attention to other tokens adds at most e times `most` to the margin of an input of S+, over r."""
        moved = sum((weight * self.unattended * most(i) for i, weight in self.head.weights.items()), _ZERO)
        return arb(first_alignment(self.gamma, self.lost, moved))

    def _least_gap(self, cosine: arb, j: int) -> arb:
        """A lower bound of g_j / r where <v, u> >= r * cosine."""
        return least_product(cosine, self.gamma * self.head.gaps[j], self.across[j])

    def _is_good(self, i: int, cosine: arb) -> bool:
        """Whether the chosen token of input i is proved to have the largest score, for every such v."""
        return all((self._least_gap(cosine, j) > 0) is True for j in self._pairs(i))

    # -- step 4

    def room(self, i: int) -> arb:
        """By how much the margin of input i, over r, exceeds what its other tokens allow; positive where these cannot
        have all the attention."""
        return self.required - self._other_scores(i)

    def least_room(self) -> arb:
        """How far other tokens alone leave inputs outside S+ short of their margin, over r."""
        return reduce(arb.min, [self.room(i) for i in self.outside])

    def _greatest_score(self, row: int) -> arb:
        """An upper bound of Y_i <v, x_it> / r."""
        return -self._least_along([-x for x in self.label_rows[row]])

    def _least_along(self, vector: list[arb]) -> arb:
        """A lower bound of <v, vector> / r."""
        along = _dot(vector, self.direction)
        across = l2_norm([a - along * b for a, b in zip(vector, self.direction, strict=True)])
        return least_product(self.cosine, along, across)

    def _other_scores(self, i: int) -> arb:
        rows = [row for row in self.selection.tokens.rows_of(i) if row != self.selection.rows[i]]
        return reduce(arb.max, [self._greatest_score(row) for row in rows])

    def _cosine_of(self, logarithm: arb) -> arb:
        """From a lower bound of the mean of the <z_j, p> over the pairs of S+, with -B: the sum over the other pairs of
        lambda_j times a lower bound of <z_j, p>."""
        total = self.within * logarithm
        for i in self.outside:
            weight = sum((self.attention.multipliers.get(j, fmpq(0)) for j in self._pairs(i)), fmpq(0))
            total += weight * log_odds(self._least_share(i))
        return self.xi * total / self.R

    def _least_share(self, i: int) -> arb:
        """The least weight of the chosen token of an input that has `room`."""
        return least_share(self.required, self._other_scores(i), self._greatest_score(self.selection.rows[i]))

    def _excess(self, i: int) -> arb:
        """A bound of e^{-gamma_i} times this: how much larger the loss of input i is under the comparator's attention
        than under its chosen token, for the v of a minimiser; gamma_i is the score of that token."""
        largest = arb(0)
        for j in self._pairs(i):
            along = self.gamma * self.head.gaps[j] + sine(self.cosine) * self.across[j]
            largest += self.softmax[i][self.selection.pairs[j].token] * along
        return raised(self.r * largest)

    def _comparison(self) -> arb:
        """A bound, times e^{-r Gamma}, of sum over S+ of l(y_i) - l(gamma_i) at a minimiser; where `selected`."""
        excess = reduce(arb.max, [self._excess(i) for i in self.head.support], arb(0))
        total = self.log_e0.exp() * excess
        for i, chosen in enumerate(self.selection.rows):
            if i not in self.head.weights:
                good = self._is_good(i, self.cosine)
                vector, factor = (self.label_rows[chosen], self._excess(i)) if good else (self.attended[i], _ONE)
                total += factor * (self.r * (self.gamma - self._least_along(vector))).exp()
        return total

    def _compared_unattended(self) -> arb:
        """A second bound of 1 - s_{i alpha_i} for the inputs of S+; where `selected`."""
        largest, comparison = arb(0), self._comparison()
        for i in self.head.support:
            if self._pairs(i):
                least = reduce(arb.min, [self.r * self._least_gap(self.cosine, j) for j in self._pairs(i)])
                heavier = tilt({i: fmpq(1)}, self.head.weights, self.log_e0)
                largest = largest.max((heavier + self.correction).exp() * comparison / least)
        return largest

    def _compared_cosine(self) -> arb:
        """The bound of step 4 from the comparison of p with the comparator's attention; where `selected`."""
        pairs = self.selection.pairs
        by_input: dict[int, fmpq] = {}
        logarithm = (1 - self.unattended).log() - self.correction - self._comparison().log()
        for j, value in self.attention.multipliers.items():
            i = pairs[j].input
            if i in self.head.weights and value > 0:
                # The lambda^_j of the pairs of S+ sum to 1.
                share = value / self.within
                by_input[i] = by_input.get(i, fmpq(0)) + share
                logarithm += share * (self.r * self._least_gap(self.cosine, j) / share).log()
        return self._cosine_of(logarithm - tilt(by_input, self.head.weights, self.log_e0))

    # -- steps 5 to 8

    @cached_property
    def near(self) -> NearComparator | None:
        """How near minimisers are to the comparator; where `selected`."""
        if not self.selected:
            return None
        inputs = range(self.selection.tokens.count)
        gaps, keys = (table_of_balls(rows, _ONE) for rows in (self.head.differences, self.selection.differences))
        return NearComparator(
            self.loss,
            (self.r, self.R),
            self.compared,
            (self.spare[0], self.spare[1]),
            [self.label_rows[row] for row in self.selection.rows],
            [[gaps[j] for j in self._pairs(i)] for i in inputs],
            [[keys[j] for j in self._pairs(i)] for i in inputs],
            [self._floor(i) for i in inputs],
        )

    def _floor(self, i: int) -> arb:
        """Attention to other tokens raises the margin of input i by no more than this, at a minimiser."""
        return -reduce(arb.min, [self.r * self._least_gap(self.cosine, j) for j in self._pairs(i)], _ZERO)

    def _near_cosine(self, which: int, distance: arb) -> list[arb]:
        """The least cosine with v_mm, or p_mm, of what is so near to the comparator; none where it is too far."""
        along, across = self.position[which]
        return [least_cosine(along, across, distance)] if (along > distance) is True else []

    # -- what is proved

    def head_cosine(self) -> arb:
        """The larger of the bounds that are proved."""
        near = [] if self.near is None else self._near_cosine(0, self.near.distance)
        return _best([self.cosine, *near], arb.max)

    def attention_cosine(self) -> arb:
        """The largest of the bounds that are proved, the first from the attention that S+ spends on other tokens;
        finite where one of them is."""
        bounds = [self._cosine_of(log_odds(1 - self.unattended))]
        if self.selected:
            bounds.append(self._compared_cosine())
        if self.near is not None and self.near.reach is not None:
            bounds += self._near_cosine(1, self.near.reach)
        return _best(bounds, arb.max)

    def mass(self) -> arb:
        """A lower bound of the softmax weight of the chosen token of every input of S."""
        tight = [i for i in self.head.solution.tight if self._pairs(i)]
        others = [i for i in tight if i not in self.head.weights]
        rest = _greatest(1 - self._least_share(i) if (self.room(i) > 0) is True else _ONE for i in others)
        bounds = [rest.max(self.unattended)]
        if self.near is not None:
            bounds += [rest.max(self._compared_unattended()), _greatest(self.near.unattended[i] for i in tight)]
        return 1 - _best(bounds, arb.min)


def _position(point: ExactMatrix, solution: MaxMargin) -> tuple[arb, arb]:
    """The parts of a point along and across the solution: <x, u> and |x - <x, u> u|, by exact squares."""
    product = point.inner(solution.solution)
    across = point.inner(point) - product * product / solution.norm_squared
    return product * solution.margin(), root(arb(across))


def _greatest(numbers: Iterable[arb]) -> arb:
    return reduce(arb.max, numbers, _ZERO)


def _best(bounds: Sequence[arb], better: Callable[[arb, arb], arb]) -> arb:
    return reduce(better, [bound for bound in bounds if bound.is_finite() is True] or bounds[:1])


def _dot(xs: Sequence[arb], ys: Sequence[arb]) -> arb:
    return sum((x * y for x, y in zip(xs, ys, strict=True)), arb(0))
