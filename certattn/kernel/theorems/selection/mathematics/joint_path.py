"""The joint regularisation path at stated norms: what every minimiser (v, p) has in common.

(v, p) minimises sum_i l(y_i), y_i = Y_i <v, X_i'softmax(X_i W'p)>, over |v| <= r and |p| <= R, for the logistic or the
exponential loss. With the head's u, Gamma, mu^, S and nu of `label_margin`, the pairs' z_j = W (x_{i alpha_i} - x_it)
and h_j, and p_mm = sum_j lambda_j z_j the shortest p with <z_j, p> >= 1 for pairs of S and >= 0 for the others,
Xi = 1 / |p_mm|:

    1. sum_i e^{-y_i} <= E by the loss of a comparator; so sum_i mu^_i y_i >= r Gamma - K, K = log E0 - H(mu^).
    2. Each input of S has 1 - s_{i alpha_i} <= e = K / (r nu).
    3. <v, u> >= r c with c = 1 - (K/r + e Z) / Gamma; and c = 1 - K / (r Gamma) where that makes all g_j > 0.
    4. |p| cos(p, p_mm) >= (1/Xi) log(1/e - 1) - Xi B, and the same with a logarithm from the comparison of p with
       other attention under the same v; B is for multipliers of pairs outside S.

Weights mu^_i stand on the support inputs, E bounds sum_i e^{-y_i} at a minimiser, E0 = e^{r Gamma} E.
The page of the claim `joint-max-margin` has the proofs. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS, Functions, Number, exp_remainder
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.label_margin import LabelMargin
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin

_ONE = arb(1)


# -- formulas, generic in the number type


def exponential_sum(loss: str, margins: Iterable[Number], fn: Functions, zero: Number) -> Number:
    """A bound E of sum_i e^{-y_i} where sum_i l(y_i) is at most the sum of l over these margins.

    e^{-y} is l(y) for the exponential loss, whose sum is E. For the logistic one it is e^{l(y)} - 1, and
    sum (e^{l_i} - 1) <= e^{sum l_i} - 1 for l_i >= 0: E is prod (1 + e^{-y}) - 1, multiplied out without cancellation.
    """
    total = zero
    for margin in margins:
        power = fn.exp(-margin)
        total = total + power if loss == "exponential" else total + power + total * power
    return total


def slope_correction(loss: str, bound: Number) -> Number:
    """A bound of log(e^{-y} / -l'(y)) where e^{-y} <= bound: log(1 + e^{-y}) for the logistic loss."""
    return 0 * bound if loss == "exponential" else bound


def entropy(weights: Iterable[fmpq], fn: Functions, one: Number) -> Number:
    """-sum_i w_i log w_i over the positive weights; `one` is the 1 of the number type."""
    return -sum((w * fn.log(one * w) for w in weights if w > 0), 0 * one)


def deficit(log_e0: Number, weights: Iterable[fmpq], fn: Functions, one: Number) -> Number:
    """K with sum_i mu^_i y_i >= r Gamma - K, by Jensen: log E0 - H(mu^)."""
    return log_e0 - entropy(weights, fn, one)


def tilt(share: Mapping[int, fmpq], weights: Mapping[int, fmpq], log_e0: Number, fn: Functions, one: Number) -> Number:
    """A bound of sum_i Lambda_i (gamma_i - r Gamma) for probabilities Lambda = `share` on the support inputs.

    It holds where sum_i mu^_i gamma_i <= r Gamma and sum_i e^{-gamma_i} <= E: with theta = max Lambda_i / mu^_i and
    w = (theta mu^ - Lambda) / (theta - 1), Lambda = theta mu^ - (theta - 1) w, and by Jensen
    sum_i w_i gamma_i >= r Gamma + H(w) - log E0. So the bound is (theta - 1) (log E0 - H(w)).
    """
    theta = max(share.get(i, fmpq(0)) / weight for i, weight in weights.items())
    if theta == 1:
        return 0 * one
    rest = [(theta * weight - share.get(i, fmpq(0))) / (theta - 1) for i, weight in weights.items()]
    return (theta - 1) * (log_e0 - entropy(rest, fn, one))


def first_alignment(gamma: Number, lost: Number, moved: Number) -> Number:
    """c with <v, u> >= r c where <v, Gamma u - q> >= r (Gamma - lost) and |q| <= moved, |v| <= r."""
    return 1 - (lost + moved) / gamma


def raised(gap: Number, fn: Functions) -> Number:
    """e^G - 1: e^gamma times a bound of l(gamma - G) - l(gamma), for either loss."""
    return fn.exp(gap) - 1 if fn.is_large(gap) else gap * exp_remainder(1, gap, fn)


def sine(cosine: Number, fn: Functions) -> Number:
    """(1 - c^2)^(1/2): a bound of |v - <v, u> u| / r where <v, u> >= r c >= 0 and |v| <= r."""
    return fn.sqrt(1 - cosine * cosine)


def least_product(cosine: Number, along: Number, across: Number, fn: Functions) -> Number:
    """A lower bound of <v, a> / r, for <a, u> = along and |a - along u| = across: <v, u> / r is in [c, 1]."""
    return -fn.maximum(-along, -cosine * along) - sine(cosine, fn) * across


def least_share(required: Number, others: Number, chosen: Number) -> Number:
    """The least weight s of the chosen token where s chosen + (1 - s) others >= required > others."""
    return (required - others) / (chosen - others)


def log_odds(share: Number, fn: Functions) -> Number:
    """log(s / (1 - s)): of a token that weighs e^{-x} times the chosen one, and at most 1 - s, x is at least this
    where the chosen one weighs s or more."""
    return fn.log(share / (1 - share))


# -- what minimisers are compared with


@dataclass(frozen=True)
class Comparator:
    """A head v and attention p, each a direction and a factor; `label_rows` hold the Y_i x_it, one per row."""

    selection: Selection
    label_rows: Sequence[Sequence[arb]]
    head: tuple[ExactMatrix, arb]
    attention: tuple[ExactMatrix, arb]

    @cached_property
    def softmax(self) -> list[list[arb]]:
        """The softmax weights by input, computed relative to the chosen token."""
        tokens, (direction, factor) = self.selection.tokens, self.attention
        logits = (tokens.keys @ direction.T).T.row(0)
        found = []
        for i, chosen in enumerate(self.selection.rows):
            powers = [(factor * (logits[row] - logits[chosen])).exp() for row in tokens.rows_of(i)]
            total = sum(powers, arb(0))
            found.append([power / total for power in powers])
        return found

    @cached_property
    def attended(self) -> list[list[arb]]:
        """The Y_i sum_t s_it x_it."""
        found = []
        for i, weights in enumerate(self.softmax):
            rows = [self.label_rows[row] for row in self.selection.tokens.rows_of(i)]
            columns = zip(*rows, strict=True)
            found.append([sum((s * x for s, x in zip(weights, xs, strict=True)), arb(0)) for xs in columns])
        return found

    @cached_property
    def margins(self) -> list[arb]:
        """The Y_i <v, sum_t s_it x_it>."""
        direction, factor = self.head
        head = [factor * x for x in direction.row(0)]
        return [sum((a * x for a, x in zip(row, head, strict=True)), arb(0)) for row in self.attended]


# -- the bounds


class JointPath:
    """The bounds at the norms r and R, at the precision at which it is made and asked.

    `stated_head` and `stated_attention` are comparators within these norms; r u and R Xi p_mm where they are None.
    """

    def __init__(
        self,
        head: LabelMargin,
        attention: MaxMargin,
        loss: str,
        norms: tuple[fmpq, fmpq],
        stated_head: ExactMatrix | None = None,
        stated_attention: ExactMatrix | None = None,
    ) -> None:
        self.head, self.attention, self.loss = head, attention, loss
        self.r, self.R = arb(norms[0]), arb(norms[1])
        self.gamma, self.xi = head.margin(), attention.margin()
        self._label_table = table_of_balls(head.rows, _ONE)
        v = (head.solution.solution, self.r * self.gamma) if stated_head is None else (stated_head, _ONE)
        p = (attention.solution, self.R * self.xi) if stated_attention is None else (stated_attention, _ONE)
        self.comparator = Comparator(head.selection, self._label_table, v, p)

    # -- steps 1 and 2

    @cached_property
    def exponentials(self) -> arb:
        """E: a bound of sum_i e^{-y_i} at every minimiser, by the loss of the comparator."""
        return arb(exponential_sum(self.loss, self.comparator.margins, BALLS, arb(0)))

    @cached_property
    def log_e0(self) -> arb:
        return self.exponentials.log() + self.r * self.gamma

    @cached_property
    def lost(self) -> arb:
        """K / r."""
        return arb(deficit(self.log_e0, self.head.weights.values(), BALLS, _ONE) / self.r)

    @cached_property
    def unattended(self) -> arb:
        """e = K / (r nu): a bound of 1 - s_{i alpha_i} for the inputs of S."""
        return self.lost / self.head.drop()

    # -- step 3

    @cached_property
    def _across(self) -> list[arb]:
        """The lengths of the parts of x_{i alpha_i} - x_it orthogonal to u, by pair."""
        squared = self.head.solution.norm_squared
        return [
            arb(distance - gap * gap / squared).nonnegative_part().sqrt()
            for gap, distance in zip(self.head.gaps, self.head.distances, strict=True)
        ]

    def _least_gap(self, cosine: arb, j: int) -> arb:
        """A lower bound of g_j / r where <v, u> >= r * cosine."""
        return arb(least_product(cosine, self.gamma * self.head.gaps[j], self._across[j], BALLS))

    def _pairs(self, i: int) -> list[int]:
        """The positions of the pairs of an input."""
        return self.head.selection.pairs_of.get(i, [])

    def _is_good(self, i: int, cosine: arb) -> bool:
        """Whether the chosen token of input i is proved to have the largest score, for every such v."""
        return all((self._least_gap(cosine, j) > 0) is True for j in self._pairs(i))

    @cached_property
    def _first_cosine(self) -> arb:
        moved = arb(0)
        for i, weight in self.head.weights.items():
            longest = max((self.head.distances[j] for j in self._pairs(i)), default=fmpq(0))
            moved += weight * self.unattended * arb(longest).sqrt()
        return arb(first_alignment(self.gamma, self.lost, moved))

    @cached_property
    def selected(self) -> bool:
        """Whether at every minimiser the chosen tokens of S are proved to have the largest scores."""
        first = self._first_cosine
        return (first > 0) is True and all(self._is_good(i, first) for i in self.head.support)

    @cached_property
    def cosine(self) -> arb:
        """c: <v, u> >= r c; and of the angle of v and v_mm, where it is positive."""
        if self.selected:
            return arb(first_alignment(self.gamma, self.lost, arb(0)))
        return self._first_cosine

    # -- step 4

    @cached_property
    def outside(self) -> list[int]:
        """The inputs outside S whose pairs have multipliers."""
        pairs = self.head.selection.pairs
        inputs = {pairs[j].input for j, value in self.attention.multipliers.items() if value != 0}
        return sorted(inputs - set(self.head.support))

    def room(self, i: int) -> arb:
        """By how much the margin of input i, over r, exceeds what its other tokens allow; positive where these cannot
        have all the attention."""
        return self._required - self._other_scores(i)

    def least_room(self) -> arb:
        """How far other tokens alone leave inputs outside the support short of their margin, over r."""
        return reduce(arb.min, [self.room(i) for i in self.outside])

    @property
    def _required(self) -> arb:
        """A lower bound of every y_i / r."""
        return self.gamma - self.log_e0 / self.r

    def _greatest_score(self, row: int) -> arb:
        """An upper bound of Y_i <v, x_it> / r."""
        return -self._least_along([-x for x in self._label_table[row]])

    def _least_along(self, vector: list[arb]) -> arb:
        """A lower bound of <v, vector> / r."""
        direction = [self.gamma * x for x in self.head.solution.solution.row(0)]
        along = sum((a * b for a, b in zip(vector, direction, strict=True)), arb(0))
        across = l2_norm([a - along * b for a, b in zip(vector, direction, strict=True)])
        return arb(least_product(self.cosine, along, across, BALLS))

    def _other_scores(self, i: int) -> arb:
        selection = self.head.selection
        rows = [row for row in selection.tokens.rows_of(i) if row != selection.rows[i]]
        return reduce(arb.max, [self._greatest_score(row) for row in rows])

    @cached_property
    def penalty(self) -> arb:
        """-B: sum over the pairs outside S of lambda_j times a lower bound of <z_j, p>."""
        total = arb(0)
        for i in self.outside:
            share = least_share(
                self._required, self._other_scores(i), self._greatest_score(self.head.selection.rows[i])
            )
            weight = sum((self.attention.multipliers.get(j, fmpq(0)) for j in self._pairs(i)), fmpq(0))
            total += weight * log_odds(share, BALLS)
        return total

    def _cosine_of(self, logarithm: arb) -> arb:
        return (logarithm / self.xi + self.xi * self.penalty) / self.R

    @cached_property
    def direct_cosine(self) -> arb:
        """The bound of step 4 from the attention that S spends on other tokens."""
        return self._cosine_of(log_odds(1 - self.unattended, BALLS))

    def _excess(self, i: int) -> arb:
        """A bound of e^{-gamma_i} times this: how much larger the loss of input i is under the comparator's attention
        than under its chosen token, for the v of a minimiser; gamma_i is the score of that token."""
        largest = arb(0)
        for j in self._pairs(i):
            along = self.gamma * self.head.gaps[j] + sine(self.cosine, BALLS) * self._across[j]
            largest += self.comparator.softmax[i][self.head.selection.pairs[j].token] * along
        return arb(raised(self.r * largest, BALLS))

    @cached_property
    def comparison(self) -> arb:
        """A bound, times e^{-r Gamma}, of sum over S of l(y_i) - l(gamma_i) at a minimiser; where `selected`."""
        excess = reduce(arb.max, [self._excess(i) for i in self.head.support], arb(0))
        total = self.log_e0.exp() * excess
        for i in range(self.head.selection.tokens.count):
            if i in self.head.weights:
                continue
            if self._is_good(i, self.cosine):
                vector, factor = self._label_table[self.head.selection.rows[i]], self._excess(i)
            else:
                vector, factor = self.comparator.attended[i], arb(1)
            total += factor * (self.r * (self.gamma - self._least_along(vector))).exp()
        return total

    @cached_property
    def _correction(self) -> arb:
        return arb(slope_correction(self.loss, self.exponentials))

    @cached_property
    def compared_unattended(self) -> arb:
        """A second bound of 1 - s_{i alpha_i} for the inputs of S; where `selected`."""
        largest = arb(0)
        for i in self.head.support:
            if not self._pairs(i):
                continue
            least = reduce(arb.min, [self.r * self._least_gap(self.cosine, j) for j in self._pairs(i)])
            heavier = tilt({i: fmpq(1)}, self.head.weights, self.log_e0, BALLS, _ONE)
            largest = largest.max((heavier + self._correction).exp() * self.comparison / least)
        return largest

    @cached_property
    def compared_cosine(self) -> arb:
        """The bound of step 4 from the comparison of p with the comparator's attention; where `selected`."""
        shares = self._shares()
        by_input: dict[int, fmpq] = {}
        logarithm = (1 - self.unattended).log() - self._correction - self.comparison.log()
        for j, share in shares.items():
            i = self.head.selection.pairs[j].input
            by_input[i] = by_input.get(i, fmpq(0)) + share
            logarithm += share * (self.r * self._least_gap(self.cosine, j) / share).log()
        return self._cosine_of(logarithm - tilt(by_input, self.head.weights, self.log_e0, BALLS, _ONE))

    def _shares(self) -> dict[int, fmpq]:
        """The lambda^_j = lambda_j / |p_mm|^2 of the pairs of S: they sum to 1."""
        pairs, squared = self.head.selection.pairs, self.attention.norm_squared
        return {
            j: value / squared
            for j, value in self.attention.multipliers.items()
            if pairs[j].input in self.head.weights and value > 0
        }

    # -- what is proved

    def attention_cosine(self) -> arb:
        """The larger of the bounds that are proved; finite where one of them is."""
        bounds = [self.direct_cosine] + ([self.compared_cosine] if self.selected else [])
        return _best(bounds, largest=True)

    def mass(self) -> arb:
        """A lower bound of the softmax weight of the chosen token of every input of S."""
        bounds = [self.unattended] + ([self.compared_unattended] if self.selected else [])
        return 1 - _best(bounds, largest=False)


def _best(bounds: list[arb], *, largest: bool) -> arb:
    finite = [bound for bound in bounds if bound.is_finite() is True]
    if not finite:
        return bounds[0]
    return reduce(arb.max if largest else arb.min, finite)
