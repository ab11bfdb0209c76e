"""Models laid out as BERT: learned positions, a causal mask in decoders, normalisation after each half of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats, Ids, LayerHeads, Shape, attend, split_heads
from certattn.models.layers import activation, layer_norm
from certattn.models.switches import EVERYWHERE, LEARNED_POSITIONS, OFF, Switches
from certattn.models.weights import Weights

KINDS = ("bert", "roberta", "xlm-roberta", "camembert")
PREFIXES = ("", "bert.", "roberta.")
EMBEDDINGS = "embeddings.word_embeddings.weight"
LAYER = "encoder.layer.{}."
PARTS = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
)  # fmt: skip
SWITCHES: Switches = {**EVERYWHERE, **LEARNED_POSITIONS, "is_causal": OFF, "is_decoder": (False, True, None)}


@dataclass(frozen=True)
class Bert:
    """The model in some weights whose names begin with `prefix`."""

    weights: Weights
    prefix: str

    @property
    def shape(self) -> Shape:
        heads = self.weights.count("num_attention_heads")
        layers, scale = self.weights.count("num_hidden_layers"), f"1/sqrt({self._width // heads})"
        return Shape("bert", layers, heads, scale, self.weights.config.get("is_decoder") is True)

    @property
    def _width(self) -> int:
        return self.weights.width("hidden_size", "num_attention_heads")

    @property
    def _first_position(self) -> int:
        return 0 if self._padding is None else self._padding + 1

    @property
    def _padding(self) -> int | None:
        """The padding token of RoBERTa, after which it numbers positions; None for BERT. Raises UsageError."""
        config = self.weights.config
        if config.get("model_type", "roberta" if self.prefix == "roberta." else "bert") == "bert":
            return None
        found = config.get("pad_token_id", 1)
        if type(found) is not int or found < 0:
            expected = "expected a whole number >= 0: RoBERTa numbers positions from the one after it on"
            raise UsageError(f"{self.weights.path}: config.json has {found!r} for pad_token_id, {expected}")
        return found

    @property
    def vocabulary(self) -> int:
        return self.weights.count("vocab_size")

    @property
    def most_tokens(self) -> int:
        return self.weights.count("max_position_embeddings") - self._first_position

    def heads(self, ids: Ids, layers: int) -> Iterator[LayerHeads]:
        """See `Model`."""
        act, shape, width = activation(self.weights.config.get("hidden_act", "gelu")), self.shape, self._width
        scale = 1 / np.sqrt(width // shape.heads)
        rows = self._embedded(ids, width)
        for layer in range(min(layers, shape.layers)):
            at = f"{self.prefix}{LAYER.format(layer)}"
            query, key, value = (
                split_heads(self._linear(rows, f"{at}attention.self.{name}", width), shape.heads)
                for name in ("query", "key", "value")
            )
            heads = LayerHeads(layer, query, key, value)
            yield heads
            if layer + 1 < layers:
                mixed = self._linear(
                    attend(heads, float(scale), causal=shape.causal), f"{at}attention.output.dense", width
                )
                rows = self._norm(rows + mixed, f"{at}attention.output.LayerNorm")
                inner = act(self._linear(rows, f"{at}intermediate.dense", None))
                rows = self._norm(rows + self._linear(inner, f"{at}output.dense", width), f"{at}output.LayerNorm")

    def _embedded(self, ids: Ids, width: int) -> Floats:
        if self._padding is not None and self._padding in ids:
            what = f"the prompt holds {self._padding}, the padding token of the model"
            raise UsageError(f"{self.weights.path}: {what}, which has no position; leave it out")
        at, places = f"{self.prefix}embeddings.", self._first_position + np.arange(len(ids))
        words = self.weights.take(f"{at}word_embeddings.weight", self.vocabulary, width, rows=ids)
        positions = self.weights.take(f"{at}position_embeddings.weight", None, width)
        if places[-1] >= len(positions):
            most = f"the model has positions for {len(positions)}"
            raise UsageError(f"{self.weights.path}: {len(ids)} tokens, but {most}; --tokens N takes the first N")
        types = self.weights.take(f"{at}token_type_embeddings.weight", None, width)
        return self._norm(words + types[0] + positions[places], f"{at}LayerNorm")

    def _linear(self, rows: Floats, name: str, outputs: int | None) -> Floats:
        weight = self.weights.take(f"{name}.weight", outputs, rows.shape[1])
        found: Floats = rows @ weight.T + self.weights.take(f"{name}.bias", len(weight))
        return found

    def _norm(self, rows: Floats, name: str) -> Floats:
        # Older files call them gamma and beta.
        new = f"{name}.weight" in self.weights.tensors
        weight, bias = (f"{name}.{part}" for part in (("weight", "bias") if new else ("gamma", "beta")))
        eps = self.weights.number("layer_norm_eps", default=1e-12)
        return layer_norm(rows, self.weights.take(weight, rows.shape[1]), self.weights.take(bias, rows.shape[1]), eps)
