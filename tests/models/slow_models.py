"""The three layouts once more, number by number: no arrays, no code of the package, only its tensors.

Each function gives queries, keys and values of a layer by head, token and coordinate, in double precision.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

Row = list[float]
Rows = list[Row]
# By head: queries, keys, values, token by token.
Layer = list[tuple[Rows, Rows, Rows]]


def _apply(matrix: Any, x: Row, bias: Any = None) -> Row:
    """W x + b, outputs x inputs."""
    found = [math.fsum(float(w) * e for w, e in zip(row, x, strict=True)) for row in matrix]
    return found if bias is None else [f + float(b) for f, b in zip(found, bias, strict=True)]


def _layer_norm(x: Row, weight: Any, bias: Any, eps: float) -> Row:
    mean = math.fsum(x) / len(x)
    variance = math.fsum((e - mean) ** 2 for e in x) / len(x)
    return [
        (e - mean) / math.sqrt(variance + eps) * float(w) + float(b) for e, w, b in zip(x, weight, bias, strict=True)
    ]


def _rms_norm(x: Row, weight: Any, eps: float) -> Row:
    size = math.sqrt(math.fsum(e * e for e in x) / len(x) + eps)
    return [e / size * float(w) for e, w in zip(x, weight, strict=True)]


def _add(x: Row, y: Row) -> Row:
    return [a + b for a, b in zip(x, y, strict=True)]


def _attention(query: Row, keys: Rows, values: Rows) -> Row:
    scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in keys]
    weights = [math.exp(score - max(scores)) for score in scores]
    return [sum(w * v[j] for w, v in zip(weights, values, strict=True)) / sum(weights) for j in range(len(values[0]))]


def _mixed(layer: Layer, *, causal: bool) -> Rows:
    """The outputs of all heads side by side, token by token."""
    tokens = len(layer[0][0])
    rows: Rows = []
    for t in range(tokens):
        seen = t + 1 if causal else tokens
        rows.append([e for q, k, v in layer for e in _attention(q[t], k[:seen], v[:seen])])
    return rows


def _heads(rows: Rows, count: int) -> list[Rows]:
    d = len(rows[0]) // count
    return [[row[h * d : (h + 1) * d] for row in rows] for h in range(count)]


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def gelu_new(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def bert(config: dict[str, Any], w: dict[str, Any], ids: list[int], first: int = 0) -> list[Layer]:
    eps, act = config["layer_norm_eps"], gelu if config["hidden_act"] == "gelu" else lambda x: max(x, 0.0)

    def norm(x: Row, name: str) -> Row:
        return _layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"], eps)

    def linear(x: Row, name: str) -> Row:
        return _apply(w[f"{name}.weight"], x, w[f"{name}.bias"])

    e = "embeddings."
    rows = []
    for t, token in enumerate(ids):
        parts = (("word", token), ("position", t + first), ("token_type", 0))
        found = [[float(x) for x in w[f"{e}{name}_embeddings.weight"][index]] for name, index in parts]
        rows.append(norm(_add(_add(found[0], found[1]), found[2]), f"{e}LayerNorm"))
    layers = []
    for i in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        q, k, v = (
            _heads([linear(row, f"{at}attention.self.{name}") for row in rows], config["num_attention_heads"])
            for name in ("query", "key", "value")
        )
        layer = list(zip(q, k, v, strict=True))
        layers.append(layer)
        out = []
        for row, mixed in zip(rows, _mixed(layer, causal=config.get("is_decoder", False)), strict=True):
            middle = norm(_add(row, linear(mixed, f"{at}attention.output.dense")), f"{at}attention.output.LayerNorm")
            inner = [act(x) for x in linear(middle, f"{at}intermediate.dense")]
            out.append(norm(_add(middle, linear(inner, f"{at}output.dense")), f"{at}output.LayerNorm"))
        rows = out
    return layers


def gpt2(config: dict[str, Any], w: dict[str, Any], ids: list[int]) -> list[Layer]:
    width, eps = config["n_embd"], config["layer_norm_epsilon"]

    def linear(x: Row, name: str) -> Row:
        return _apply(w[f"{name}.weight"].T, x, w[f"{name}.bias"])

    def norm(x: Row, name: str) -> Row:
        return _layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"], eps)

    rows = [
        [float(a) + float(b) for a, b in zip(w["wte.weight"][id_], w["wpe.weight"][t], strict=True)]
        for t, id_ in enumerate(ids)
    ]
    layers = []
    for i in range(config["n_layer"]):
        at = f"h.{i}."
        three = [linear(norm(row, f"{at}ln_1"), f"{at}attn.c_attn") for row in rows]
        parts = [[row[j * width : (j + 1) * width] for row in three] for j in range(3)]
        layer = list(zip(*(_heads(part, config["n_head"]) for part in parts), strict=True))
        layers.append(layer)
        out = []
        for row, mixed in zip(rows, _mixed(layer, causal=True), strict=True):
            middle = _add(row, linear(mixed, f"{at}attn.c_proj"))
            inner = [gelu_new(x) for x in linear(norm(middle, f"{at}ln_2"), f"{at}mlp.c_fc")]
            out.append(_add(middle, linear(inner, f"{at}mlp.c_proj")))
        rows = out
    return layers


def llama(config: dict[str, Any], w: dict[str, Any], ids: list[int], angles: list[float] | None = None) -> list[Layer]:
    heads, shared, d = (config[name] for name in ("num_attention_heads", "num_key_value_heads", "head_dim"))
    eps = config["rms_norm_eps"]
    angles = angles or [config["rope_theta"] ** (-2 * j / d) for j in range(d // 2)]

    def linear(x: Row, name: str) -> Row:
        return _apply(w[f"{name}.weight"], x, w.get(f"{name}.bias"))

    def turned(row: Row, t: int) -> Row:
        """Coordinates j and j + d/2 are a complex number that is turned."""
        found = [complex(row[j], row[j + d // 2]) * cmath.exp(1j * t * angles[j]) for j in range(d // 2)]
        return [z.real for z in found] + [z.imag for z in found]

    rows = [[float(x) for x in w["embed_tokens.weight"][token]] for token in ids]
    layers = []
    for i in range(config["num_hidden_layers"]):
        at = f"layers.{i}."
        normed = [_rms_norm(row, w[f"{at}input_layernorm.weight"], eps) for row in rows]
        q, k, v = (
            _heads([linear(row, f"{at}self_attn.{name}_proj") for row in normed], count)
            for name, count in (("q", heads), ("k", shared), ("v", shared))
        )
        q, k = ([[turned(row, t) for t, row in enumerate(head)] for head in part] for part in (q, k))
        layer = [(q[h], k[h // (heads // shared)], v[h // (heads // shared)]) for h in range(heads)]
        layers.append(layer)
        out = []
        for row, mixed in zip(rows, _mixed(layer, causal=True), strict=True):
            middle = _add(row, linear(mixed, f"{at}self_attn.o_proj"))
            x = _rms_norm(middle, w[f"{at}post_attention_layernorm.weight"], eps)
            gate, up = linear(x, f"{at}mlp.gate_proj"), linear(x, f"{at}mlp.up_proj")
            inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up, strict=True)]
            out.append(_add(middle, linear(inner, f"{at}mlp.down_proj")))
        rows = out
    return layers
