"""How certificates state N concrete prompts and what is asked in each.

The tokens of all prompts stand one below the other. `lengths` says how many tokens each prompt has; left out, the
prompts are equally long. A regression prompt has a label for every token, and its query one target; an attention prompt
has a target of several numbers for its query, and its tokens are its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from flint import fmpq

from certattn.kernel.decide.obligation import Tier
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Listing, Values
from certattn.kernel.given.prompts import DEFAULT, NO_DOUBLES
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt

TOKENS = Field("tokens", Matrix(), "tokens of all prompts, one per row, prompt after prompt")
LABELS = Field("labels", Matrix(), "label y of every token: one column")
LENGTHS = Field("lengths", Listing(Count(1)), "tokens of each prompt; all equally long if left out", required=False)
QUERIES = Field("queries", Matrix(), "query of each prompt, one per row")
TARGETS = Field("targets", Matrix(), "target of each query, one per row")
ATTENTION_PROMPTS = (TOKENS, LENGTHS, QUERIES, TARGETS)
REGRESSION_PROMPTS = (TOKENS, LABELS, LENGTHS, QUERIES, TARGETS)


@dataclass(frozen=True)
class StatedPrompts:
    """Prompts of checked shapes, as the section `given` has them; their numbers are read when first needed."""

    given: Values
    lengths: Sequence[int]

    @property
    def count(self) -> int:
        """N."""
        return len(self.lengths)

    @cached_property
    def prompts(self) -> list[Prompt]:
        """Keys and values of every prompt."""
        keys = self.given[TOKENS].load()
        values = self.given[LABELS].load() if LABELS in self.given else keys
        stops = list(accumulate(self.lengths))
        ranges = [range(stop - length, stop) for stop, length in zip(stops, self.lengths, strict=True)]
        return [Prompt(keys.take_rows(rows), values.take_rows(rows), fmpq(1)) for rows in ranges]

    @property
    def tokens(self) -> int:
        """Of all prompts together."""
        return sum(self.lengths)

    @property
    def tiers(self) -> list[Tier]:
        """Binary64 where the tokens stand in array files of doubles."""
        arrays = [self.given[field].stored for field in (TOKENS, LABELS) if field in self.given]
        return [DEFAULT] if all(array is not None and array.dtype not in NO_DOUBLES for array in arrays) else []

    @cached_property
    def asked(self) -> tuple[ExactMatrix, ExactMatrix]:
        """Queries and targets."""
        return self.given[QUERIES].load(), self.given[TARGETS].load()


def read_regression_prompts(values: Values, dimension: int) -> StatedPrompts:
    """Prompts of tokens x_i with labels y_i, a query and one target each. Raises MalformedError."""
    values[TOKENS].require_shape(None, dimension, "like the covariance")
    values[LABELS].require_shape(values[TOKENS].shape[0], 1, "(one label per token)")
    values[QUERIES].require_shape(None, dimension, "like the covariance")
    values[TARGETS].require_shape(values[QUERIES].shape[0], 1, "(one target per query)")
    return StatedPrompts(values, _read_lengths(values))


def read_attention_prompts(values: Values, dimension: int, query_dimension: int, outputs: int) -> StatedPrompts:
    """Prompts of tokens, a query and a target of so many numbers each. Raises MalformedError."""
    values[TOKENS].require_shape(None, dimension, "like the law of the tokens")
    values[QUERIES].require_shape(None, query_dimension, "(queries of the dimension that U takes)")
    values[TARGETS].require_shape(values[QUERIES].shape[0], outputs, "(a target per query, as long as V has rows)")
    return StatedPrompts(values, _read_lengths(values))


def _read_lengths(values: Values) -> list[int]:
    total, count = values[TOKENS].shape[0], values[QUERIES].shape[0]
    lengths = values.get(LENGTHS)
    if lengths is None:
        if total % count != 0:
            expected = f"equally many tokens for each of {counted(count, 'query')}, or lengths"
            raise values.node(TOKENS).malformed(expected, counted(total, "token"))
        return [total // count] * count
    if len(lengths) != count:
        expected, found = f"{counted(count, 'length')}, one per query", counted(len(lengths), "length")
        raise values.node(LENGTHS).malformed(expected, found)
    if sum(lengths) != total:
        found = f"{counted(sum(lengths), 'token')} by lengths and {counted(total, 'token')} in the table"
        raise values.node(LENGTHS).malformed("lengths that sum to the number of tokens", found)
    return lengths
