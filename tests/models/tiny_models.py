"""Tiny models with drawn weights, in the three layouts: their tensors and configurations, and how files are written."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

Tensors = dict[str, np.ndarray[Any, Any]]


def write_safetensors(path: Path, tensors: Tensors) -> None:
    """Float32 tensors, as the format has them: a length, a header in JSON, the data."""
    header, data = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode("ascii")
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_model(folder: Path, config: dict[str, Any], tensors: Tensors) -> Path:
    """A folder as models are published."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def _drawn(rng: np.random.Generator, shapes: dict[str, tuple[int, ...]]) -> Tensors:
    # Normalisations are around 1, so that nothing vanishes; biases and matrices around 0.
    found = {}
    for name, shape in shapes.items():
        middle = 1.0 if ("norm" in name.lower() or ".ln_" in name) and name.endswith("weight") else 0.0
        found[name] = (middle + rng.normal(size=shape) * 0.4).astype(np.float32)
    return found


def _linear(name: str, outputs: int, inputs: int, *, bias: bool = True) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), **({f"{name}.bias": (outputs,)} if bias else {})}


def bert(seed: int = 0, prefix: str = "", **changes: Any) -> tuple[dict[str, Any], Tensors]:
    config = {
        "model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 3, "vocab_size": 20,
        "intermediate_size": 12, "max_position_embeddings": 10, "hidden_act": "gelu", "layer_norm_eps": 1e-6, **changes,
    }  # fmt: skip
    width = config["hidden_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (20, width),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (2, width),
        **{f"embeddings.LayerNorm.{part}": (width,) for part in ("weight", "bias")},
    }
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            shapes |= _linear(f"{at}attention.self.{part}", width, width)
        shapes |= _linear(f"{at}attention.output.dense", width, width)
        shapes |= _linear(f"{at}intermediate.dense", config["intermediate_size"], width)
        shapes |= _linear(f"{at}output.dense", width, config["intermediate_size"])
        shapes |= {
            f"{at}{which}.LayerNorm.{part}": (width,)
            for which in ("attention.output", "output")
            for part in ("weight", "bias")
        }
    return config, {prefix + name: array for name, array in _drawn(np.random.default_rng(seed), shapes).items()}


def gpt2(seed: int = 0, prefix: str = "", **changes: Any) -> tuple[dict[str, Any], Tensors]:
    config = {
        "model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 3, "vocab_size": 20, "n_positions": 10,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, **changes,
    }  # fmt: skip
    width = config["n_embd"]
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (20, width), "wpe.weight": (10, width)}
    for layer in range(config["n_layer"]):
        at = f"h.{layer}."
        for name, inputs, outputs in (
            ("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
            ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width),
        ):  # fmt: skip
            shapes |= {f"{at}{name}.weight": (inputs, outputs), f"{at}{name}.bias": (outputs,)}
        shapes |= {f"{at}{name}.{part}": (width,) for name in ("ln_1", "ln_2") for part in ("weight", "bias")}
        shapes[f"{at}attn.bias"] = (1, 1, 10, 10)
    return config, {prefix + name: array for name, array in _drawn(np.random.default_rng(seed), shapes).items()}


def llama(
    seed: int = 0, prefix: str = "model.", biases: bool = False, **changes: Any
) -> tuple[dict[str, Any], Tensors]:
    config = {
        "model_type": "llama", "hidden_size": 12, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
        "num_hidden_layers": 3, "vocab_size": 20, "intermediate_size": 14, "max_position_embeddings": 10,
        "rms_norm_eps": 1e-5, "rope_theta": 100.0, "hidden_act": "silu", **changes,
    }  # fmt: skip
    width, heads, shared = (config[name] for name in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    inner, dimension = config["intermediate_size"], config["head_dim"]
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (20, width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"layers.{layer}."
        shapes |= {f"{at}{name}.weight": (width,) for name in ("input_layernorm", "post_attention_layernorm")}
        for name, count in (("q", heads), ("k", shared), ("v", shared)):
            shapes |= _linear(f"{at}self_attn.{name}_proj", count * dimension, width, bias=biases)
        shapes |= _linear(f"{at}self_attn.o_proj", width, heads * dimension, bias=False)
        shapes |= _linear(f"{at}mlp.gate_proj", inner, width, bias=False)
        shapes |= _linear(f"{at}mlp.up_proj", inner, width, bias=False)
        shapes |= _linear(f"{at}mlp.down_proj", width, inner, bias=False)
    return config, {prefix + name: array for name, array in _drawn(np.random.default_rng(seed), shapes).items()}
