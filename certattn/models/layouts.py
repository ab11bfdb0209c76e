"""Which layout some weights have: the table of families, and what is said where none fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certattn.kernel.document.quoting import listed
from certattn.kernel.errors import UsageError
from certattn.models import bert, gpt2, llama
from certattn.models.heads import Model
from certattn.models.switches import Switches, require_modelled
from certattn.models.weights import CONFIG, Weights


@dataclass(frozen=True)
class Family:
    """A layout: what its tensors are called, after one of some prefixes; `kinds` are its values of model_type.

    `switches` are keys of the configuration that would make it another model.
    """

    name: str
    kinds: Sequence[str]
    prefixes: Sequence[str]
    embeddings: str
    layer: str
    parts: Sequence[str]
    switches: Switches
    make: Callable[[Weights, str], Model]

    @property
    def pattern(self) -> str:
        """What the names look like, for people."""
        return f"{self.embeddings} and {self.layer.format('N')}{self.parts[0]}.weight"

    def prefix(self, weights: Weights) -> str | None:
        """What its names begin with in these weights, None where they are not of this layout."""
        first = f"{self.layer.format(0)}{self.parts[0]}.weight"
        fits = (p for p in self.prefixes if p + self.embeddings in weights.tensors and p + first in weights.tensors)
        return next(fits, None)


FAMILIES = (
    Family("BERT", bert.KINDS, bert.PREFIXES, bert.EMBEDDINGS, bert.LAYER, bert.PARTS, bert.SWITCHES, bert.Bert),
    Family("GPT-2", gpt2.KINDS, gpt2.PREFIXES, gpt2.EMBEDDINGS, gpt2.LAYER, gpt2.PARTS, gpt2.SWITCHES, gpt2.Gpt2),
    Family(
        "Llama", llama.KINDS, llama.PREFIXES, llama.EMBEDDINGS, llama.LAYER, llama.PARTS, llama.SWITCHES, llama.Llama
    ),
)
# Buffers that some files keep beside the weights.
_BUFFERS = ("attn.bias", "attn.masked_bias", "rotary_emb.inv_freq")


def model_of(weights: Weights) -> Model:
    """The model in some weights. Raises UsageError where they are of no known layout."""
    for family in FAMILIES:
        prefix = family.prefix(weights)
        if prefix is not None:
            _require_kind(family, weights)
            require_modelled(weights, family.switches)
            _require_known(family, prefix, weights)
            model = family.make(weights, prefix)
            _require_all_layers(family, prefix, weights, model.shape.layers)
            return model
    known = "; ".join(f"{family.name}: {family.pattern}" for family in FAMILIES)
    raise UsageError(f"{weights.path}: no layout that is known; found {listed(weights.tensors)}; expected {known}")


def _require_all_layers(family: Family, prefix: str, weights: Weights, layers: int) -> None:
    """Layers beyond those of the configuration would be left out of the model in silence. Raises UsageError."""
    layer = re.compile(re.escape(prefix + family.layer).replace(r"\{\}", r"(\d+)"))
    for name in weights.tensors:
        if (found := layer.match(name)) and int(found[1]) >= layers:
            raise UsageError(f"{weights.path}: {CONFIG} says {layers} layers, but there is a tensor {name!r}")


def _require_kind(family: Family, weights: Weights) -> None:
    """Models that share names need not share formulas."""
    kind = weights.config.get("model_type", family.kinds[0])
    if kind not in family.kinds:
        expected = f"expected {' or '.join(family.kinds)} for names as in {family.name}"
        raise UsageError(f"{weights.path}: {CONFIG} has the model_type {kind!r}, {expected}")


def _require_known(family: Family, prefix: str, weights: Weights) -> None:
    """A tensor of a layer that is not used would be a part of the model that is left out."""
    layer = re.compile(re.escape(prefix + family.layer).replace(r"\{\}", r"\d+"))
    for name in weights.tensors:
        found = layer.match(name)
        rest = name[found.end() :] if found else ""
        if found and rest not in _BUFFERS and rest.rpartition(".")[0] not in family.parts:
            expected = ", ".join(family.parts)
            raise UsageError(f"{weights.path}: the tensor {name!r} is no part of {family.name}; expected {expected}")
