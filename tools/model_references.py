"""Tiny random models of every layout, and what transformers computes in them: references for the tests.

    pip install torch==2.13.0 transformers==5.24.0
    python tools/model_references.py            # writes tests/models/data

For each case a folder with config.json, model.safetensors and reference.npz: the token ids, and of every layer queries,
keys and values as they go into the scores, what the heads give (attention) and the stream before the layer (stream).
Attention is the implementation that transformers calls eager, and the model runs in float64; norms and softmax of most
models are computed in float32 there.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "models" / "data"
REFERENCE = "reference.npz"
TOKENS, VOCABULARY = 14, 23

_BERT = {
    "vocab_size": VOCABULARY, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3,
    "intermediate_size": 16, "max_position_embeddings": 20, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
}  # fmt: skip
_LLAMA = {
    "vocab_size": VOCABULARY, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 14, "max_position_embeddings": 32,
    "rms_norm_eps": 1e-5, "rope_theta": 100.0, "hidden_act": "silu",
}  # fmt: skip
_NO_DIM = {key: value for key, value in _LLAMA.items() if key != "head_dim"} | {"hidden_size": 16}
_PHI = {**_NO_DIM, "pad_token_id": 0}
_OPT = {
    "vocab_size": VOCABULARY, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3, "ffn_dim": 16,
    "max_position_embeddings": 20, "activation_function": "relu",
}  # fmt: skip
_NEOX = {
    "vocab_size": VOCABULARY, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 3,
    "intermediate_size": 16, "max_position_embeddings": 32, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
    "rotary_pct": 0.5, "rotary_emb_base": 100,
}  # fmt: skip
_QWEN = {**_LLAMA, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}
_GEMMA = {
    **{key: value for key, value in _LLAMA.items() if key != "hidden_act"}, "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 6, "sliding_window": 5, "attn_logit_softcapping": 2.0,
}  # fmt: skip


def _rope(**parameters: Any) -> dict[str, Any]:
    return {"model_type": "llama", **_LLAMA, "rope_scaling": parameters}


# Configurations as they are published, with the keys of their time.
CASES: Mapping[str, Mapping[str, Any]] = {
    "bert": {"model_type": "bert", **_BERT},
    "bert-decoder": {"model_type": "bert", **_BERT, "is_decoder": True, "num_hidden_layers": 2},
    "roberta": {"model_type": "roberta", **_BERT, "pad_token_id": 1, "type_vocab_size": 1, "num_hidden_layers": 2},
    "distilbert": {
        "model_type": "distilbert", "vocab_size": VOCABULARY, "dim": 12, "n_layers": 3, "n_heads": 3, "hidden_dim": 16,
        "max_position_embeddings": 20, "activation": "gelu",
    },
    "gpt2": {
        "model_type": "gpt2", "vocab_size": VOCABULARY, "n_embd": 12, "n_layer": 3, "n_head": 3, "n_positions": 20,
        "n_inner": 16, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
    },
    "opt": {"model_type": "opt", **_OPT},
    "opt-350m": {
        "model_type": "opt", **_OPT, "do_layer_norm_before": False, "word_embed_proj_dim": 8, "num_hidden_layers": 2,
    },
    "gpt-neox": {"model_type": "gpt_neox", **_NEOX},
    "gpt-neox-serial": {"model_type": "gpt_neox", **_NEOX, "use_parallel_residual": False, "num_hidden_layers": 2},
    "llama": {"model_type": "llama", **_LLAMA},
    "llama-biases": {
        "model_type": "llama", **_LLAMA, "attention_bias": True, "mlp_bias": True, "num_hidden_layers": 2,
    },
    "mistral": {"model_type": "mistral", **_LLAMA, "sliding_window": 5},
    "qwen2": {"model_type": "qwen2", **_NO_DIM, **{k: v for k, v in _QWEN.items() if k not in _LLAMA}},
    "qwen3": {"model_type": "qwen3", **_QWEN},
    "phi3": {"model_type": "phi3", **_PHI, "sliding_window": 6},
    "phi3-longrope": {
        "model_type": "phi3", **_PHI, "num_hidden_layers": 2, "original_max_position_embeddings": 8,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1], "long_factor": [1.5, 3.0]},
    },
    "phi3-partial": {
        "model_type": "phi3", **_PHI, "hidden_size": 32, "partial_rotary_factor": 0.5, "num_hidden_layers": 2,
    },
    "gemma2": {"model_type": "gemma2", **_GEMMA},
    "gemma2-uncapped": {
        "model_type": "gemma2", **_GEMMA, "attn_logit_softcapping": None, "num_hidden_layers": 2,
    },
    "rope-linear": _rope(type="linear", factor=2.0),
    "rope-dynamic": {**_rope(type="dynamic", factor=4.0), "max_position_embeddings": 8},
    "rope-yarn": _rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=8),
    "rope-llama3": _rope(
        rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16
    ),
}  # fmt: skip


def drawn_ids(seed: int) -> np.ndarray[Any, Any]:
    """Tokens other than those that are padding in some model."""
    return np.random.default_rng(seed).integers(2, VOCABULARY, size=TOKENS)


def built(config: Mapping[str, Any], seed: int) -> Any:
    """The model that transformers makes of a configuration, with drawn weights, none of them near 0 or 1 for all."""
    import torch
    from transformers import AutoConfig, AutoModel

    settings = copy.deepcopy(dict(config))  # transformers fills in what is missing
    made = AutoConfig.for_model(settings.pop("model_type"), **settings)
    model = AutoModel.from_config(made, attn_implementation="eager")
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            norm = "norm" in name.lower() or ".ln_" in name
            middle = 1.0 if norm and name.endswith("weight") and config["model_type"] != "gemma2" else 0.0
            weight.copy_(middle + 0.4 * torch.randn(weight.shape))
    return model.eval()


def recorded(model: Any, ids: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Queries, keys, values, what the heads give, and the stream before each layer, on these tokens."""
    import torch
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    found: dict[str, np.ndarray[Any, Any]] = {}
    layers = iter(range(model.config.num_hidden_layers))

    def record(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        layer = next(layers)
        outputs = _eager(type(module))(module, query, key, value, mask, **options)
        # OPT has the scale in its queries.
        scale = options["scaling"] if options["scaling"] != 1 else 1 / module.scaling
        taken = (query if options["scaling"] != 1 else query * scale, key, value, outputs[0].transpose(1, 2))
        for name, array in zip(("queries", "keys", "values", "attention"), taken, strict=True):
            found[f"layer{layer}.{name}"] = array[0].numpy().astype(np.float32)
        return outputs

    ALL_ATTENTION_FUNCTIONS.register("recorded", record)
    ALL_MASK_ATTENTION_FUNCTIONS.register("recorded", ALL_MASK_ATTENTION_FUNCTIONS["eager"])
    model = model.double()
    model.set_attn_implementation("recorded")
    with torch.no_grad():
        states = model(torch.tensor(ids)[None], output_hidden_states=True, use_cache=False).hidden_states
    for layer in range(model.config.num_hidden_layers):
        found[f"layer{layer}.stream"] = states[layer][0].numpy().astype(np.float32)
    return found


def _eager(kind: type) -> Callable[..., Any]:
    """What the module of an attention calls when it is eager."""
    import sys

    found: Callable[..., Any] = sys.modules[kind.__module__].eager_attention_forward
    return found


def write(folder: Path, config: Mapping[str, Any], seed: int) -> None:
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    model, ids = built(config, seed), drawn_ids(seed)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    tensors = {name: weight.contiguous() for name, weight in model.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    np.savez_compressed(folder / REFERENCE, ids=ids, **recorded(model, ids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=DATA)
    folder = parser.parse_args().folder
    for seed, (name, config) in enumerate(CASES.items()):
        shutil.rmtree(folder / name, ignore_errors=True)
        write(folder / name, config, seed)
        print(name, sum(file.stat().st_size for file in (folder / name).iterdir()))


if __name__ == "__main__":
    main()
