"""What kernels do to the scores x_j of a query before the softmax, but for the mask.

    y_j = c tanh(x_j / c) - a |r - j|

with a soft cap c, and, for ALiBi, the slope a of the head and the token r on the diagonal of the query. A sink is one
more token, with a score of its own that neither changes, and the value 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Field, Rational
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.mathematics.softmax_moments import Tokens, WeightedPrompt

SOFT_CAP = Field("soft_cap", Rational(above=0), "c: scores x become c tanh(x / c)", required=False)
ALIBI = Field(
    "alibi",
    Vector(),
    "a slope per head: a score is lowered by it for each token between the query's diagonal and the token",
    required=False,
)
SINKS = Field("sinks", Vector(), "a logit per head, of one more token, with the value 0", required=False)


@dataclass(frozen=True)
class ScoreRule:
    """What is done to the scores of a head."""

    cap: fmpq | None
    slope: fmpq
    sink: fmpq | None

    @property
    def changes_nothing(self) -> bool:
        return self.cap is None and self.slope == 0 and self.sink is None

    def weighted(self, prompt: Prompt, query: ExactMatrix, distances: Sequence[int]) -> WeightedPrompt:
        """The tokens, and the sink as one more, under the weights of a query (1 x d); |r - j| for each token."""
        products, factor = (query @ prompt.keys.T).row(0), scale_ball(prompt.scale)
        lowered = [-self.slope * distance for distance in distances]
        if self.cap is None:
            # Differences of exact numbers first: equal scores have weights that are exactly equal.
            first = factor * products[0] + lowered[0]
            off = [factor * (x - products[0]) + (y - lowered[0]) for x, y in zip(products, lowered, strict=True)]
        else:
            scores = [self.cap * (factor * x / self.cap).tanh() + y for x, y in zip(products, lowered, strict=True)]
            first = scores[0]
            off = [arb(0), *(score - first for score in scores[1:])]
        if self.sink is not None:
            off.append(self.sink - first)
            prompt = Prompt(_with_zeros(prompt.keys), _with_zeros(prompt.values), prompt.scale)
        return WeightedPrompt(Tokens(prompt), [each.exp() for each in off], first)


def _with_zeros(matrix: ExactMatrix) -> ExactMatrix:
    """With one more row."""
    return ExactMatrix.stacked([matrix, ExactMatrix.zero(1, matrix.columns)])
