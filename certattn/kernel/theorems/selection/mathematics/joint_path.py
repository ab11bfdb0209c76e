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

The page of the claim `joint-max-margin` has the proofs. Nothing here decides.
"""

from __future__ import annotations

from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.theorems.selection.mathematics.joint_bounds import (
    deficit,
    exponential_sum,
    first_alignment,
    least_product,
    least_share,
    log_odds,
    raised,
    sine,
    slope_correction,
    tilt,
)
from certattn.kernel.theorems.selection.mathematics.joint_comparator import Comparator, Scaled
from certattn.kernel.theorems.selection.mathematics.label_margin import LabelMargin
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin

_ONE = arb(1)


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
        self._label_table = table_of_balls(head.label_rows, _ONE)
        v = Scaled(head.solution.solution, self.r * self.gamma) if stated_head is None else Scaled(stated_head, _ONE)
        p = Scaled(attention.solution, self.R * self.xi)
        if stated_attention is not None:
            p = Scaled(stated_attention, _ONE)
        self.comparator = Comparator(head.selection, self._label_table, v, p)

    # -- steps 1 and 2

    @cached_property
    def exponentials(self) -> arb:
        """E: a bound of sum_i e^{-y_i} at every minimiser, by the loss of the comparator."""
        found: arb = exponential_sum(self.loss, self.comparator.margins, BALLS, arb(0))
        return found

    @cached_property
    def log_e0(self) -> arb:
        return self.exponentials.log() + self.r * self.gamma

    @cached_property
    def lost(self) -> arb:
        """K / r."""
        found: arb = deficit(self.log_e0, self.head.weights.values(), BALLS, _ONE) / self.r
        return found

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
        found: arb = least_product(cosine, self.gamma * self.head.gaps[j], self._across[j], BALLS)
        return found

    @cached_property
    def _pairs(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.head.labels]
        for j, pair in enumerate(self.head.selection.pairs):
            found[pair.input].append(j)
        return found

    def _is_good(self, i: int, cosine: arb) -> bool:
        """Whether the chosen token of input i is proved to have the largest score, for every such v."""
        return all((self._least_gap(cosine, j) > 0) is True for j in self._pairs[i])

    @cached_property
    def _first_cosine(self) -> arb:
        moved = arb(0)
        for i, weight in self.head.weights.items():
            longest = max((self.head.distances[j] for j in self._pairs[i]), default=fmpq(0))
            moved += weight * self.unattended * arb(longest).sqrt()
        found: arb = first_alignment(self.gamma, self.lost, moved)
        return found

    @cached_property
    def selected(self) -> bool:
        """Whether at every minimiser the chosen tokens of S are proved to have the largest scores."""
        first = self._first_cosine
        return (first > 0) is True and all(self._is_good(i, first) for i in self.head.support)

    @cached_property
    def cosine(self) -> arb:
        """c: <v, u> >= r c; and of the angle of v and v_mm, where it is positive."""
        if self.selected:
            found: arb = first_alignment(self.gamma, self.lost, arb(0))
            return found
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
        found: arb = least_product(self.cosine, along, across, BALLS)
        return found

    def _other_scores(self, i: int) -> arb:
        tokens = self.head.selection.tokens
        rows = [row for row in tokens.rows_of(i) if row != self.head.chosen[i]]
        largest = self._greatest_score(rows[0])
        for row in rows[1:]:
            largest = largest.max(self._greatest_score(row))
        return largest

    @cached_property
    def penalty(self) -> arb:
        """-B: sum over the pairs outside S of lambda_j times a lower bound of <z_j, p>."""
        total = arb(0)
        for i in self.outside:
            share = least_share(self._required, self._other_scores(i), self._greatest_score(self.head.chosen[i]))
            weight = sum((self.attention.multipliers.get(j, fmpq(0)) for j in self._pairs[i]), fmpq(0))
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
        for j in self._pairs[i]:
            along = self.gamma * self.head.gaps[j] + sine(self.cosine, BALLS) * self._across[j]
            largest += self.comparator.softmax[i][self.head.selection.pairs[j].token] * along
        found: arb = raised(self.r * largest, BALLS)
        return found

    @cached_property
    def comparison(self) -> arb:
        """A bound, times e^{-r Gamma}, of sum over S of l(y_i) - l(gamma_i) at a minimiser; where `selected`."""
        excess = arb(0)
        for i in self.head.support:
            excess = excess.max(self._excess(i))
        total = self.log_e0.exp() * excess
        for i in range(self.head.selection.tokens.count):
            if i in self.head.weights:
                continue
            if self._is_good(i, self.cosine):
                vector, factor = self._label_table[self.head.chosen[i]], self._excess(i)
            else:
                vector, factor = self.comparator.attended[i], arb(1)
            total += factor * (self.r * (self.gamma - self._least_along(vector))).exp()
        return total

    @cached_property
    def _correction(self) -> arb:
        found: arb = slope_correction(self.loss, self.exponentials)
        return found

    @cached_property
    def compared_unattended(self) -> arb:
        """A second bound of 1 - s_{i alpha_i} for the inputs of S; where `selected`."""
        largest = arb(0)
        for i in self.head.support:
            pairs = self._pairs[i]
            if not pairs:
                continue
            least = self.r * self._least_gap(self.cosine, pairs[0])
            for j in pairs[1:]:
                least = least.min(self.r * self._least_gap(self.cosine, j))
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
    best = finite[0]
    for bound in finite[1:]:
        best = best.max(bound) if largest else best.min(bound)
    return best
