"""Decoders laid out as Llama: rotary positions, a causal mask, shared keys, RMS normalisation, gated inner layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats, Ids, LayerHeads, Shape, attend, repeated, split_heads
from certattn.models.layers import activation, rms_norm, rotated
from certattn.models.switches import EVERYWHERE, OFF, ONE, UNDER_A_MASK, Switches
from certattn.models.weights import Weights

KINDS = ("llama", "mistral", "qwen2")
PREFIXES = ("model.", "")
EMBEDDINGS = "embed_tokens.weight"
LAYER = "layers.{}."
PARTS = (
    "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
)  # fmt: skip
# A window cuts the prompt, see `most_tokens`; kinds of rotary positions: see `frequencies`.
SWITCHES: Switches = {
    **EVERYWHERE, **UNDER_A_MASK, "layer_types": ("full_attention", "sliding_attention", None),
    "no_rope_layer_interval": OFF, "no_rope_layers": (None, []), "partial_rotary_factor": ONE, "rope_interleaved": OFF,
    "rope_traditional": OFF, "rotary_pct": ONE,
}  # fmt: skip


@dataclass(frozen=True)
class Llama:
    """The model in some weights whose names begin with `prefix`."""

    weights: Weights
    prefix: str

    @property
    def shape(self) -> Shape:
        layers, heads = (self.weights.count(name) for name in ("num_hidden_layers", "num_attention_heads"))
        return Shape("llama", layers, heads, f"1/sqrt({self._dimension})", True)

    @property
    def _dimension(self) -> int:
        """That of a head, an even number."""
        heads, width = self.weights.count("num_attention_heads"), self.weights.count("hidden_size")
        dimension = self.weights.count("head_dim", default=max(1, width // heads))
        if dimension % 2 != 0:
            raise UsageError(f"{self.weights.path}: heads of dimension {dimension}, expected an even one")
        return dimension

    @property
    def vocabulary(self) -> int:
        return self.weights.count("vocab_size")

    @property
    def most_tokens(self) -> int:
        config = self.weights.config
        most = self.weights.count("max_position_embeddings")
        windowed = config.get("sliding_window") is not None and config.get("use_sliding_window", True)
        return min(most, self.weights.count("sliding_window")) if windowed else most

    def heads(self, ids: Ids, layers: int) -> Iterator[LayerHeads]:
        """See `Model`."""
        config, weights, shape, dimension = self.weights.config, self.weights, self.shape, self._dimension
        act, width = activation(config.get("hidden_act", "silu")), weights.count("hidden_size")
        shared = weights.count("num_key_value_heads", default=shape.heads)
        angles = np.arange(len(ids))[:, None] * frequencies(config, dimension)
        rows = weights.take(f"{self.prefix}{EMBEDDINGS}", self.vocabulary, width, rows=ids)
        for layer in range(min(layers, shape.layers)):
            at = f"{self.prefix}{LAYER.format(layer)}"
            normed = self._norm(rows, f"{at}input_layernorm")
            query, key, value = (
                split_heads(self._linear(normed, f"{at}self_attn.{name}_proj", count * dimension), count)
                for name, count in (("q", shape.heads), ("k", shared), ("v", shared))
            )
            keys, values = (repeated(part, shape.heads) for part in (rotated(key, angles), value))
            heads = LayerHeads(layer, rotated(query, angles), keys, values)
            yield heads
            if layer + 1 < layers:
                mixed = attend(heads, 1 / math.sqrt(dimension), causal=True)
                rows = rows + self._linear(mixed, f"{at}self_attn.o_proj", width)
                normed = self._norm(rows, f"{at}post_attention_layernorm")
                gate, up = (self._linear(normed, f"{at}mlp.{name}_proj", None) for name in ("gate", "up"))
                rows = rows + self._linear(act(gate) * up, f"{at}mlp.down_proj", width)

    def _linear(self, rows: Floats, name: str, outputs: int | None) -> Floats:
        weight = self.weights.take(f"{name}.weight", outputs, rows.shape[1])
        found: Floats = rows @ weight.T
        # Some have biases for queries, keys and values.
        return (
            found + self.weights.take(f"{name}.bias", len(weight)) if f"{name}.bias" in self.weights.tensors else found
        )

    def _norm(self, rows: Floats, name: str) -> Floats:
        eps = self.weights.number("rms_norm_eps", default=1e-6)
        return rms_norm(rows, self.weights.take(f"{name}.weight", rows.shape[1]), eps)


def frequencies(config: Mapping[str, Any], dimension: int) -> Floats:
    """The angles by which the d/2 pairs of coordinates turn from one token to the next. Raises UsageError."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(rope, dict) or any(isinstance(value, dict) for value in rope.values()):
        raise UsageError(f"config.json: rotary positions {rope!r}, expected one kind for all layers")
    if rope.get("partial_rotary_factor", 1) != 1:
        raise UsageError("config.json: a part of each head turns (partial_rotary_factor), expected the whole")
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    if not isinstance(theta, int | float) or isinstance(theta, bool) or not 0 < theta < math.inf:
        raise UsageError(f"config.json: the base of rotary positions (rope_theta) is {theta!r}, expected a number > 0")
    angles: Floats = float(theta) ** (-np.arange(0, dimension, 2) / dimension)
    kind = rope.get("rope_type", rope.get("type", "default"))
    try:
        if kind == "default":
            return angles
        if kind == "linear":
            return angles / float(rope["factor"])
        if kind == "llama3":
            return _llama3(angles, *(float(rope[name]) for name in _LLAMA3))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"config.json: rotary positions of the kind {kind!r} without {error}") from None
    raise UsageError(f"config.json: rotary positions of the kind {kind!r}, expected default, linear or llama3")


_LLAMA3 = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


def _llama3(angles: Floats, factor: float, low: float, high: float, length: float) -> Floats:
    """Slow pairs turn slower by the factor, fast ones as before, those between by something between."""
    turns = length * angles / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    slowed: Floats = angles * (kept + (1 - kept) / factor)
    return slowed
