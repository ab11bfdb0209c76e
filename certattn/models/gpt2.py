"""Decoders laid out as GPT-2: learned positions, a causal mask, normalisation before each half of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certattn.models.heads import Floats, Ids, LayerHeads, Shape, attend, split_heads
from certattn.models.layers import activation, layer_norm
from certattn.models.switches import EVERYWHERE, LEARNED_POSITIONS, OFF, UNDER_A_MASK, Switches
from certattn.models.weights import Weights

KINDS = ("gpt2",)
PREFIXES = ("", "transformer.")
EMBEDDINGS = "wte.weight"
LAYER = "h.{}."
PARTS = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
# `reorder_and_upcast_attn` is another order of the same steps, and so is not among them.
SWITCHES: Switches = {
    **EVERYWHERE, **UNDER_A_MASK, **LEARNED_POSITIONS, "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": OFF,
}  # fmt: skip


@dataclass(frozen=True)
class Gpt2:
    """The model in some weights whose names begin with `prefix`."""

    weights: Weights
    prefix: str

    @property
    def shape(self) -> Shape:
        heads = self.weights.count("n_head")
        return Shape("gpt2", self.weights.count("n_layer"), heads, f"1/sqrt({self._width // heads})", True)

    @property
    def _width(self) -> int:
        return self.weights.width("n_embd", "n_head")

    @property
    def vocabulary(self) -> int:
        return self.weights.count("vocab_size")

    @property
    def most_tokens(self) -> int:
        return self.weights.count("n_positions", "n_ctx")

    def heads(self, ids: Ids, layers: int) -> Iterator[LayerHeads]:
        """See `Model`."""
        act, shape, width = (
            activation(self.weights.config.get("activation_function", "gelu_new")),
            self.shape,
            self._width,
        )
        scale = float(1 / np.sqrt(width // shape.heads))
        words = self.weights.take(f"{self.prefix}{EMBEDDINGS}", self.vocabulary, width, rows=ids)
        rows = words + self.weights.take(f"{self.prefix}wpe.weight", self.most_tokens, width)[: len(ids)]
        for layer in range(min(layers, shape.layers)):
            at = f"{self.prefix}{LAYER.format(layer)}"
            all_three = self._linear(self._norm(rows, f"{at}ln_1"), f"{at}attn.c_attn", 3 * width)
            heads = LayerHeads(layer, *(split_heads(part, shape.heads) for part in np.split(all_three, 3, axis=1)))
            yield heads
            if layer + 1 < layers:
                rows = rows + self._linear(attend(heads, scale, causal=True), f"{at}attn.c_proj", width)
                inner = act(self._linear(self._norm(rows, f"{at}ln_2"), f"{at}mlp.c_fc", None))
                rows = rows + self._linear(inner, f"{at}mlp.c_proj", width)

    def _linear(self, rows: Floats, name: str, outputs: int | None) -> Floats:
        # These weights stand the other way round: inputs x outputs.
        weight = self.weights.take(f"{name}.weight", rows.shape[1], outputs)
        found: Floats = rows @ weight + self.weights.take(f"{name}.bias", weight.shape[1])
        return found

    def _norm(self, rows: Floats, name: str) -> Floats:
        weight, bias = (self.weights.take(f"{name}.{part}", rows.shape[1]) for part in ("weight", "bias"))
        return layer_norm(rows, weight, bias, self.weights.number("layer_norm_epsilon", default=1e-5))
