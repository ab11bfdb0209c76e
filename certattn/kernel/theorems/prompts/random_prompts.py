"""What a claim about random prompts is given: a law of tokens, a tilt, values, and how many tokens are drawn.

The tokens x_1..x_L are independent and have the law mu. With a tilt a = s U z, weights p_i
proportional to e^{<a, x_i>} and tau the tilted mean of mu,

    T_L = V sum_i p_i x_i,     T = V tau(a).
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import ByKey, Count, Field, Record, Values
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, Weights, read_scale, read_weights, weighted_forms
from certattn.kernel.given.token_laws import LAW, StatedLaw
from certattn.kernel.mathematics.balls import scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real

TOKEN_LAW = Field("law", LAW, "law of the tokens")
LENGTH = Field("length", Count(1), "number L of independent tokens of the prompt")
TILT = Field("tilt", Vector(), "the tilt a: token x has the score <a, x>")
QUERY = Field("query", Vector(), "the query z; the tilt is scale * U z with U = K'Q")

_SHARED = (TOKEN_LAW, VALUE_WEIGHTS, LENGTH)
# A tilt, or a query with U, or with K and Q.
RANDOM_PROMPT = ByKey({"tilt": Record(TILT, *_SHARED), **weighted_forms("law", QUERY, SCALE, *_SHARED).forms})


@dataclass(frozen=True)
class RandomPrompt:
    """L independent tokens of a law under a tilt, all exact; the tilt is scale * `base` (1 x d).

    `given` is the section that states it, where one does.
    """

    law: StatedLaw
    base: ExactMatrix
    scale: Real
    weights: Weights
    length: int
    given: Values | None = None

    @property
    def dimension(self) -> int:
        """The dimension d of the tokens."""
        return self.law.dimension

    @property
    def output_dimension(self) -> int:
        """The dimension d_v of V x."""
        return self.weights.output_dimension

    def values(self) -> ExactMatrix:
        """V, d_v x d."""
        return self.weights.values()

    def tilt(self) -> list[arb]:
        """a, at the working precision."""
        (row,) = table_of_balls(self.base, scale_ball(self.scale))
        return list(row)


def read_random_prompt(form: str, values: Values) -> RandomPrompt:
    """The random prompt that a section `given` states, shapes checked against each other."""
    law = values[TOKEN_LAW]
    weights = read_weights(values, law.dimension)
    if form == "tilt":
        values[TILT].require_length(law.dimension, "the tokens")
        return RandomPrompt(law, values[TILT].load(), fmpq(1), weights, values[LENGTH], values)
    values[QUERY].require_length(weights.query_dimension, "what U or Q acts on")
    base = values[QUERY].load() @ weights.bilinear().T
    return RandomPrompt(law, base, read_scale(values), weights, values[LENGTH], values)
