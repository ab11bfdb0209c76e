"""How the softmax weights of a query are spread over the tokens: their entropy, and the mass outside the largest.

With the scores a_i, r a token of the largest, and w_i > 0 proportional to e^{a_i}, W = sum_i w_i,

    H = -sum_i p_i log p_i = log(1 + R) + sum_i w_i (a_r - a_i) / W,     R = sum_{i != r} w_i / w_r
    mass outside the k largest weights = sum over the tokens beyond the k of the largest scores of w_i / W

Both terms of H are sums of what is not negative, so that an entropy of about 0 is known to as many digits as one of
about log L. Tokens are sorted by exact scores: no ball decides which ones are the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flint import arb, fmpz

from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Surd
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.mathematics.softmax_moments import WeightedPrompt, weighted_prompts


@dataclass(frozen=True)
class Ranking:
    """The tokens from the largest score at a query to the smallest, exactly.

    order: the tokens; equal scores in any order
    gaps: a_r - a_i over `unit` for each, in this order: whole numbers, the first of them 0
    denominator: `unit` is |scale| over it
    """

    prompt: Prompt
    order: Sequence[int]
    gaps: Sequence[fmpz]
    denominator: fmpz

    @classmethod
    def of(cls, prompt: Prompt, query: ExactMatrix) -> Ranking:
        """`query` is 1 x d_k."""
        products = query @ prompt.keys.T
        (scores,) = products.numerators.tolist()
        if not isinstance(prompt.scale, Surd) and prompt.scale < 0:
            scores = [-score for score in scores]
        order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        return cls(prompt, order, [scores[order[0]] - scores[token] for token in order], products.denominator)

    def in_order(self, weights: Sequence[arb]) -> list[arb]:
        """The weights of the tokens, those of the largest scores first."""
        return [weights[token] for token in self.order]

    def score_gaps(self) -> list[arb]:
        """a_r - a_i >= 0, at the working precision."""
        unit = abs(scale_ball(self.prompt.scale)) / self.denominator
        return [gap * unit for gap in self.gaps]


@dataclass(frozen=True)
class RankedPrompt(WeightedPrompt):
    """The tokens as one query weighs them, with the query itself, 1 x d_k."""

    query: ExactMatrix = field(kw_only=True)

    @cached_property
    def ranking(self) -> Ranking:
        """The tokens by their scores."""
        return Ranking.of(self.tokens.prompt, self.query)

    def entropy(self) -> arb:
        """-sum_i p_i log p_i."""
        return entropy(self.ranking.in_order(self.weights), self.ranking.score_gaps())

    def mass_outside(self, count: int) -> arb:
        """1 less the sum of the `count` largest p_i."""
        return mass_outside(self.ranking.in_order(self.weights), count)


def ranked_prompts(prompt: Prompt, queries: ExactMatrix) -> Iterator[RankedPrompt]:
    """The prompt under the softmax weights of every row of `queries`, one after the other."""
    for row, each in enumerate(weighted_prompts(prompt, queries)):
        yield RankedPrompt(each.tokens, each.weights, each.first_score, query=queries.take_rows([row]))


def entropy(weights: Sequence[arb], gaps: Sequence[arb]) -> arb:
    """H of tokens from the largest score on, by their w_i and a_r - a_i, where r is the first. One token has H = 0."""
    largest, *others = weights
    rest = sum(others, arb(0))
    spread = sum((w * gap for w, gap in zip(others, gaps[1:], strict=True)), arb(0))
    return ((rest / largest).log1p() + spread / (largest + rest)).nonnegative_part()


def mass_outside(weights: Sequence[arb], count: int) -> arb:
    """The part of the whole that the weights from number `count` on have; 0, exactly, where there are none."""
    rest = sum(weights[count:], arb(0))
    return (rest / (sum(weights[:count], arb(0)) + rest)).nonnegative_part()
