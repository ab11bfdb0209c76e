"""The forward pass of all layouts: what differs between them is data (`Layout`), and this reads it.

A layer adds what its heads give to a stream of rows, one for each token, and then what its inner layers give. Where
norms stand, how tensors are called, which rows are positions: see the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats, Ids, LayerHeads, Shape, attend, repeated, side_by_side, split_heads
from certattn.models.layers import activation, layer_norm, rms_norm
from certattn.models.rotary import Rotary, Singles, rotated
from certattn.models.settings import Settings
from certattn.models.weights import Weights

# A part with a bias: always, never, or where this key of the configuration is true.
Bias = bool | str


@dataclass(frozen=True)
class Names:
    """Keys of a configuration under which the same numbers stand in each layout."""

    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    width: str = "hidden_size"
    inner: str = "intermediate_size"
    activation: str = "hidden_act"
    most: str = "max_position_embeddings"


@dataclass(frozen=True)
class Layout:
    """How a model is laid out: `kinds` are values of model_type, tensors are named after one of `prefixes`.

    reads, only: see `Settings`. In `layer`, {} is the number of the layer, and parts of a layer are named after it.
    """

    name: str
    kinds: Sequence[str]
    prefixes: Sequence[str]
    reads: Mapping[str, Any]
    only: Mapping[str, Sequence[Any]]
    names: Names
    # -- embeddings
    words: str
    layer: str
    # queries, keys, values; or all three in one tensor
    attention: Sequence[str]
    output: str
    # to the inner layer and back; three where a gate comes first; a gate and the way to it may be in one tensor
    inner: Sequence[str]
    attention_norm: str
    inner_norm: str
    eps: str | float
    positions: str | None = None
    # The row of the first token's position, or the key of the padding token, after which rows are counted.
    first_position: int | str = 0
    types: str | None = None
    embedding_norm: str | None = None
    # From embeddings to the stream, where they are of another width.
    widened: str | None = None
    # Words are multiplied by the root of the width, in float32.
    scaled_words: bool = False
    # -- attention
    causal: bool | str = True
    shared_keys: bool = False
    # Of one tensor for all three: by head, and not all queries first.
    fused_by_head: bool = False
    head_norms: Sequence[str] = ()
    attention_bias: Bias = True
    output_bias: Bias = True
    score_dimension: str | None = None
    cap: str | None = None
    # Of a configuration and the dimension of a head.
    rotary: Callable[[Settings, int], Rotary] | None = None
    windows: Callable[[Settings, int], Sequence[int | None]] | None = None
    # -- what is around it
    inner_bias: Bias = True
    gated: bool = False
    # Tensors stand inputs x outputs.
    transposed: bool = False
    # Norms by the root mean square; those of Gemma are multiplied by 1 + weight.
    rms: bool = False
    one_more: bool = False
    # The sum is normalised, and not what goes into each half; a key that is true where it is not so.
    norm_of_sums: bool | str = False
    # Of what each half adds.
    branch_norms: tuple[str, str] | None = None
    # A key that is true where both halves see the same rows.
    parallel: str | None = None
    # Buffers that some files keep beside the weights of a layer.
    buffers: Sequence[str] = ()

    def parts(self, settings: Settings) -> Mapping[str, bool]:
        """The parts of a layer, and whether each has a bias."""
        norms = (self.attention_norm, self.inner_norm, *(self.branch_norms or ()))
        return {
            **dict.fromkeys(self.attention, self.has(self.attention_bias, settings)),
            self.output: self.has(self.output_bias, settings),
            **dict.fromkeys(self.inner, self.has(self.inner_bias, settings)),
            **dict.fromkeys(norms, not self.rms),
            **dict.fromkeys(self.head_norms, False),
        }

    @staticmethod
    def has(what: Bias, settings: Settings) -> bool:
        return settings.flag(what) if isinstance(what, str) else what


@dataclass(frozen=True)
class Transformer:
    """A model of a layout, in some weights whose names begin with `prefix`."""

    layout: Layout
    settings: Settings
    weights: Weights
    prefix: str

    @cached_property
    def shape(self) -> Shape:
        settings, layout = self.settings, self.layout
        scores = settings.count(layout.score_dimension) if layout.score_dimension else self.dimension
        return Shape(
            layout.name,
            settings.count(layout.names.layers),
            settings.count(layout.names.heads),
            f"1/sqrt({scores})",
            settings.flag(layout.causal) if isinstance(layout.causal, str) else layout.causal,
            settings.number(layout.cap) if layout.cap and settings.get(layout.cap) is not None else None,
        )

    @property
    def width(self) -> int:
        return self.settings.count(self.layout.names.width)

    @property
    def dimension(self) -> int:
        """That of a head. Raises UsageError."""
        if "head_dim" in self.layout.reads and self.settings.get("head_dim") is not None:
            return self.settings.count("head_dim")
        heads = self.settings.count(self.layout.names.heads)
        if self.width % heads != 0:
            raise UsageError(f"{self.weights.path}: {self.width} coordinates for {heads} heads, expected a multiple")
        return self.width // heads

    @property
    def vocabulary(self) -> int:
        return self.settings.count("vocab_size")

    @property
    def most_tokens(self) -> int:
        if self.layout.rotary is not None:
            return self.layout.rotary(self.settings, self.dimension).reach
        most = self.settings.count(self.layout.names.most)
        # RoBERTa counts the rows before the first position too.
        return most - self.first_position if isinstance(self.layout.first_position, str) else most

    @property
    def first_position(self) -> int:
        """The row of the first token's position. Raises UsageError."""
        found = self.layout.first_position
        if isinstance(found, int):
            return found
        padding = self.settings.get(found)
        if type(padding) is not int or padding < 0:
            raise self.settings.refuse(found, "a whole number >= 0: positions are counted from the one after it on")
        return padding + 1

    def heads(self, ids: Ids, layers: int) -> Iterator[LayerHeads]:
        """See `Model`."""
        layout, shape, settings = self.layout, self.shape, self.settings
        sums = layout.norm_of_sums
        sums = not settings.flag(sums) if isinstance(sums, str) else sums
        parallel = layout.parallel is not None and settings.flag(layout.parallel)
        act = activation(settings.get(layout.names.activation))
        windows = layout.windows(settings, shape.layers) if layout.windows else [None] * shape.layers
        scale = float(1 / np.sqrt(float(shape.scale.removeprefix("1/sqrt(").removesuffix(")"))))
        turns = layout.rotary(settings, self.dimension).turns(len(ids)) if layout.rotary else None
        rows = self._embedded(ids)
        for layer in range(min(layers, shape.layers)):
            at = f"{self.prefix}{layout.layer.format(layer)}"
            queries, keys, values = self._three(
                rows if sums else self._norm(rows, at, layout.attention_norm), at, turns
            )
            mixed = attend(queries, keys, values, scale, causal=shape.causal, window=windows[layer], cap=shape.cap)
            added = self._linear(side_by_side(mixed), at, layout.output, self.width)
            shares = self._shares(mixed, added, rows, at)
            yield LayerHeads(layer, queries, keys, values, windows[layer], shares)
            if layer + 1 >= layers:
                return
            added = self._norm(added, at, layout.branch_norms[0]) if layout.branch_norms else added
            before, rows = rows, rows + added
            if sums:
                rows = self._norm(rows, at, layout.attention_norm)
                inner = rows
            else:
                inner = self._norm(before if parallel else rows, at, layout.inner_norm)
            added = self._inner(inner, at, act)
            rows = rows + (self._norm(added, at, layout.branch_norms[1]) if layout.branch_norms else added)
            if sums:
                rows = self._norm(rows, at, layout.inner_norm)

    def _embedded(self, ids: Ids) -> Floats:
        layout, width = self.layout, self.width
        if isinstance(layout.first_position, str) and self.first_position - 1 in ids:
            what = f"the prompt holds {self.first_position - 1}, the padding token of the model"
            raise UsageError(f"{self.weights.path}: {what}, which has no position; leave it out")
        widened = f"{self.prefix}{layout.widened}" if layout.widened else ""
        narrow = self.settings.get("word_embed_proj_dim") if widened else None
        rows = self.weights.take(f"{self.prefix}{layout.words}", self.vocabulary, narrow or width, rows=ids)
        if narrow is not None and narrow != width:
            rows = rows @ self.weights.take(f"{widened}.weight", width, narrow).T
        if layout.scaled_words:
            rows = rows * np.float32(width**0.5).astype(rows.dtype)
        if layout.types is not None:
            rows = rows + self.weights.take(f"{self.prefix}{layout.types}", None, width)[0]
        if layout.positions is not None:
            table = self.weights.take(f"{self.prefix}{layout.positions}", None, width)
            places = self.first_position + np.arange(len(ids))
            if places[-1] >= len(table):
                most = f"the model has positions for {len(table) - self.first_position}"
                raise UsageError(f"{self.weights.path}: {len(ids)} tokens, but {most}; --tokens N takes the first N")
            rows = rows + table[places]
        return rows if layout.embedding_norm is None else self._norm(rows, self.prefix, layout.embedding_norm)

    def _three(self, rows: Floats, at: str, turns: tuple[Singles, Singles] | None) -> Sequence[Floats]:
        """Queries, keys and values by head, as they go into the scores, shared ones repeated."""
        layout, heads, dimension = self.layout, self.shape.heads, self.dimension
        shared = (layout.shared_keys and self.settings.get("num_key_value_heads")) or heads
        if type(shared) is not int or shared < 1:
            raise self.settings.refuse("num_key_value_heads", "a whole number >= 1")
        counts = (heads, shared, shared)
        if len(layout.attention) == 1:
            fused = self._linear(rows, at, layout.attention[0], sum(counts) * dimension)
            if layout.fused_by_head:
                columns = fused.reshape(len(fused), heads, 3, dimension).transpose(2, 1, 0, 3)
                parts = [np.ascontiguousarray(part) for part in columns]
            else:
                ends = np.cumsum(counts)[:2] * dimension
                parts = [split_heads(part, count) for part, count in zip(np.split(fused, ends, 1), counts, strict=True)]
        else:
            parts = [
                split_heads(self._linear(rows, at, name, count * dimension), count)
                for name, count in zip(layout.attention, counts, strict=True)
            ]
        for index, name in enumerate(layout.head_norms):
            parts[index] = self._norm(parts[index], at, name)
        if turns is not None:
            parts[:2] = [rotated(part, *turns) for part in parts[:2]]
        return [parts[0], *(repeated(part, heads) for part in parts[1:])]

    def _shares(self, mixed: Floats, added: Floats, rows: Floats, at: str) -> Floats:
        """By head and token, |what the head adds to the stream| / |the stream there|; infinite for a stream of 0."""
        dimension = mixed.shape[2]
        weight = self._weight(at, self.layout.output, len(mixed) * dimension, self.width)
        factor: Any = 1.0
        if self.layout.branch_norms:
            # The sum of all heads is normalised: each is multiplied by the same.
            name = f"{at}{self.layout.branch_norms[0]}.weight"
            size = np.sqrt((added * added).mean(axis=1, keepdims=True) + self._eps)
            factor = (self.weights.take(name, self.width) + self.layout.one_more) / size
        stream = np.linalg.norm(rows, axis=1)
        found = np.empty(mixed.shape[:2], mixed.dtype)
        for head, part in enumerate(mixed):
            columns = weight[head * dimension : (head + 1) * dimension]
            found[head] = np.linalg.norm(part @ columns * factor, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: Floats = found / stream
        return shares

    def _inner(self, rows: Floats, at: str, act: Callable[[Floats], Floats]) -> Floats:
        layout = self.layout
        *forth, back = layout.inner
        size = self.settings.get(layout.names.inner)
        size = None if size is None else self.settings.count(layout.names.inner)
        if not layout.gated:
            inner = act(self._linear(rows, at, forth[0], size))
        elif len(forth) == 1:
            gate, up = np.split(self._linear(rows, at, forth[0], None if size is None else 2 * size), 2, axis=1)
            inner = act(gate) * up
        else:
            gate, up = (self._linear(rows, at, name, size) for name in forth)
            inner = act(gate) * up
        return self._linear(inner, at, back, self.width)

    def _weight(self, at: str, name: str, inputs: int, outputs: int | None) -> Floats:
        """A matrix, inputs x outputs."""
        if self.layout.transposed:
            return self.weights.take(f"{at}{name}.weight", inputs, outputs)
        return self.weights.take(f"{at}{name}.weight", outputs, inputs).T

    def _linear(self, rows: Floats, at: str, name: str, outputs: int | None) -> Floats:
        weight = self._weight(at, name, rows.shape[1], outputs)
        found: Floats = rows @ weight
        biased = self.layout.parts(self.settings)[name]
        return found + self.weights.take(f"{at}{name}.bias", weight.shape[1]) if biased else found

    @property
    def _eps(self) -> float:
        eps = self.layout.eps
        return self.settings.number(eps) if isinstance(eps, str) else eps

    def _norm(self, rows: Floats, at: str, name: str) -> Floats:
        """Over the last axis."""
        # Older files call them gamma and beta.
        new = f"{at}{name}.weight" in self.weights.tensors or self.layout.rms
        weight, bias = (f"{at}{name}.{part}" for part in (("weight", "bias") if new else ("gamma", "beta")))
        found = self.weights.take(weight, rows.shape[-1])
        if self.layout.rms:
            return rms_norm(rows, found + self.layout.one_more, self._eps)
        return layer_norm(rows, found, self.weights.take(bias, rows.shape[-1]), self._eps)
