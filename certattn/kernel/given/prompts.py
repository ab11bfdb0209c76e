"""What a claim about a concrete prompt is given: keys and values, or tokens with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Tier
from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.schema import ByKey, Count, Field, Record, Values
from certattn.kernel.given.attention import (
    BILINEAR,
    KEY_WEIGHTS,
    QUERY_WEIGHTS,
    SCALE,
    VALUE_WEIGHTS,
    Weights,
    read_scale,
    read_weights,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Law
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.reals import Real
from certattn.kernel.mathematics.softmax import Prompt

KEYS = Field("keys", Matrix(), "keys, one per row")
VALUES = Field("values", Matrix(), "values, one per row, paired with the keys")
TOKENS = Field("tokens", Matrix(), "tokens, one per row")
QUERIES = Field("queries", Matrix(), "queries, one per row")
OPTIONAL_QUERIES = Field("queries", Matrix(), "queries, one per row; or a region", required=False)


def prompt_forms(*others: Field[Any], queries: Field[MatrixInput] = QUERIES) -> ByKey:
    """The record of a prompt with its queries and scale, in its three forms, and `others`."""
    shared: tuple[Field[Any], ...] = (queries, SCALE, *others)
    return ByKey(
        {
            "keys": Record(KEYS, VALUES, *shared),
            "U": Record(TOKENS, BILINEAR, VALUE_WEIGHTS, *shared),
            "tokens": Record(TOKENS, KEY_WEIGHTS, QUERY_WEIGHTS, VALUE_WEIGHTS, *shared),
        }
    )


def _binary64() -> str:
    # Imported where a tier was used, which needs numpy.
    from certattn.fast import binary64

    return binary64()


# Tiers of binary64 arithmetic: radii of some 1e-12 at the speed of numpy, and of 1e-15 at a third of it.
DEFAULT, TIGHT = Tier("binary64", _binary64), Tier("tight binary64", _binary64)
# Number types with values that are no doubles; of all others `certattn.fast` takes the numbers as they are.
NO_DOUBLES = ("int64", "uint64")


@dataclass(frozen=True)
class StatedPrompt:
    """A prompt with checked shapes; its arrays are read when first needed.

    `inputs` are the keys and values, or the tokens and None; `weights` is None for keys and values,
    and `queries` where none are listed.
    """

    inputs: tuple[MatrixInput, MatrixInput | None]
    queries: MatrixInput | None
    scale: Real
    weights: Weights | None

    @property
    def length(self) -> int:
        """The number of tokens, L."""
        return self.inputs[0].shape[0]

    @property
    def count(self) -> int:
        """The number of listed queries."""
        return self.queries.shape[0] if self.queries is not None else 0

    @property
    def output_dimension(self) -> int:
        keys_or_tokens, values = self.inputs
        if self.weights is not None:
            return self.weights.output_dimension
        return values.shape[1] if values is not None else keys_or_tokens.shape[1]

    @property
    def key_dimension(self) -> int:
        return self.weights.key_dimension if self.weights is not None else self.inputs[0].shape[1]

    @property
    def query_dimension(self) -> int:
        """The dimension of the stated queries."""
        return self.weights.query_dimension if self.weights is not None else self.inputs[0].shape[1]

    @property
    def law_dimension(self) -> int:
        """The dimension of a law of tokens; a token of a key-value prompt is both side by side."""
        if self.weights is not None:
            return self.weights.dimension
        return self.inputs[0].shape[1] + self.output_dimension

    @cached_property
    def query_map(self) -> ExactMatrix:
        """From a stated query to the vector whose product with a key is the score."""
        weights = self.weights
        if weights is None:
            return ExactMatrix.identity(self.query_dimension)
        if weights.U is not None:
            return weights.U.load()
        return weights.Q.load() if weights.Q is not None else ExactMatrix.identity(weights.key_dimension)

    @property
    def tiers(self) -> list[Tier]:
        """Those that it can be computed in, the fastest first: none unless it stands in array files of doubles."""
        arrays = [part.stored for part in self.inputs if part is not None]
        in_doubles = all(array is not None and array.dtype not in NO_DOUBLES for array in arrays)
        return [DEFAULT, TIGHT] if in_doubles else []

    @cached_property
    def score_map(self) -> ExactMatrix:
        """From a stated query z to the vector a with score <a, x> for the inputs x: keys, or tokens."""
        weights = self.weights
        return weights.bilinear() if weights is not None else ExactMatrix.identity(self.query_dimension)

    @cached_property
    def stated_queries(self) -> ExactMatrix:
        assert self.queries is not None
        return self.queries.load()

    @cached_property
    def exact(self) -> Prompt:
        """Keys and values of every token."""
        first, values = self.inputs[0].load(), self.inputs[1]
        if values is not None:
            return Prompt(first, values.load(), self.scale)
        assert self.weights is not None
        K = self.weights.K.load() if self.weights.K is not None else None
        return Prompt(first @ K.T if K is not None else first, first @ self.weights.values().T, self.scale)

    def seen_by_queries(self) -> Prompt:
        """The same with the keys that are multiplied with the stated queries: <Q'k, z> = <k, Qz>."""
        return Prompt(self.exact.keys @ self.query_map, self.exact.values, self.scale)

    def operator(self, law: Law[fmpq]) -> Operator:
        """T[mu] for a law of tokens, as a map of the stated queries."""
        if self.weights is not None:
            return Operator(law, self.weights.bilinear(), self.weights.values(), self.scale)
        keys, outputs = self.inputs[0].shape[1], self.output_dimension
        whole = ExactMatrix.identity(keys + outputs)
        return Operator(law, whole.take_rows(range(keys)).T, whole.take_rows(range(keys, keys + outputs)), self.scale)


def read_prompt(form: str, given: Values) -> StatedPrompt:
    """The prompt in a record of `prompt_forms`; every dimension checked. Raises MalformedError."""
    queries, scale = given.get(QUERIES), read_scale(given)
    if form == "keys":
        keys, values = given[KEYS], given[VALUES]
        values.require_shape(keys.shape[0], None, "(one value per key)")
        prompt, why = StatedPrompt((keys, values), queries, scale, None), "(queries of the keys' dimension)"
    else:
        tokens = given[TOKENS]
        weights = read_weights(given, tokens.shape[1])
        prompt = StatedPrompt((tokens, None), queries, scale, weights)
        why = "(queries of the dimension that Q or U takes)"
    if queries is not None:
        queries.require_shape(None, prompt.query_dimension, why)
    return prompt


def compared_to_mean(
    prompt: StatedPrompt, exact: Prompt, limit: AffineMap | Operator, stated: ExactMatrix
) -> list[tuple[list[arb], list[arb]]]:
    """T(q) - T_inf(q) and T(q) - v_bar for every row q of `stated`, at the working precision.

    Both sides are taken relative to the mean value, so what agrees exactly cancels exactly.
    """
    finite = exact.outputs_from_mean(stated @ prompt.query_map.T)
    infinite = limit.from_point(exact.values.mean_row(), stated)
    gaps = [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(finite, infinite, strict=True)]
    return list(zip(gaps, finite, strict=True))


# -- causal masks: how many of the first tokens each query of a prompt sees


def causal_field(least: int) -> Field[int]:
    """The field of a mask whose first query sees at least so many tokens."""
    return Field(
        "causal",
        Count(least),
        "how many of the first tokens the first query sees; every further query sees one more; all see all if left out",
        required=False,
    )


def read_causal(given: Values, field: Field[int], prompt: StatedPrompt) -> int | None:
    """How many tokens the first query sees, None for all. Raises MalformedError where the last would see too many."""
    causal = given.get(field)
    if causal is not None and causal + prompt.count - 1 > prompt.length:
        expected = f"at most {prompt.length - prompt.count + 1}, so that the last query sees tokens that are there"
        raise given.node(field).malformed(expected, f"{causal}")
    return causal


def seen_tokens(prompt: StatedPrompt, causal: int | None) -> tuple[int, ...]:
    """How many of the first tokens each query sees."""
    return tuple(prompt.length if causal is None else causal + i for i in range(prompt.count))
