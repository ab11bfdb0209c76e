"""Which layouts there are, as data; which of them some weights have, and what is said where none fits.

Keys of configurations with their defaults are those of transformers 5.24, for each model_type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from certattn.kernel.document.quoting import listed
from certattn.kernel.errors import UsageError
from certattn.models.heads import Model
from certattn.models.layers import activation
from certattn.models.rotary import Rotary
from certattn.models.settings import CONFIG, OFF, REQUIRED, Settings
from certattn.models.transformer import Layout, Names, Transformer
from certattn.models.weights import Weights

_SIZES = dict.fromkeys(("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"), REQUIRED)
_INNER = {"intermediate_size": None}
_LENGTH = {"max_position_embeddings": REQUIRED}


def _rotary(settings: Settings, dimension: int) -> Rotary:
    """Positions of models that turn the whole of a head. Raises UsageError."""
    found = _given_rotary(settings)
    found.setdefault("rope_theta", settings.get("rope_theta"))
    if found.get("partial_rotary_factor", 1) != 1:
        raise UsageError(f"{CONFIG}: a part of each head turns (partial_rotary_factor), expected the whole")
    return _made(settings, found, dimension)


def _rotary_of_phi(settings: Settings, dimension: int) -> Rotary:
    found = _given_rotary(settings)
    found.setdefault("rope_theta", settings.get("rope_theta"))
    found.setdefault("partial_rotary_factor", settings.get("partial_rotary_factor"))
    kind = found.get("rope_type", found.get("type", "default"))
    # Older names of the same.
    found["rope_type"] = "longrope" if kind in ("su", "yarn") else kind
    if found["rope_type"] == "longrope":
        found["original_max_position_embeddings"] = settings.get("original_max_position_embeddings")
    return _made(settings, found, dimension)


def _rotary_of_neox(settings: Settings, dimension: int) -> Rotary:
    found = _given_rotary(settings)
    found.setdefault("rope_theta", settings.get("rotary_emb_base"))
    found.setdefault("partial_rotary_factor", settings.get("rotary_pct"))
    return _made(settings, found, dimension)


def _given_rotary(settings: Settings) -> dict[str, Any]:
    found = settings.get("rope_scaling") or settings.get("rope_parameters") or {}
    if not isinstance(found, dict) or any(isinstance(value, dict) for value in found.values()):
        raise UsageError(f"{CONFIG}: rotary positions {found!r}, expected one kind for all layers")
    return dict(found)


def _made(settings: Settings, parameters: dict[str, Any], dimension: int) -> Rotary:
    found = Rotary(parameters, dimension, settings.count("max_position_embeddings"))
    found.require_known()
    return found


_ROTARY_KEYS = {"rope_scaling": None, "rope_parameters": None, "rope_theta": 10000.0}


def _window(settings: Settings) -> int | None:
    return None if settings.get("sliding_window") is None else settings.count("sliding_window")


def _same_window(settings: Settings, layers: int) -> Sequence[int | None]:
    return [_window(settings)] * layers


def _late_windows(settings: Settings, layers: int) -> Sequence[int | None]:
    """Layers from one on have a window, or those that are named."""
    window = _window(settings) if settings.flag("use_sliding_window") else None
    first = settings.get("max_window_layers")
    if type(first) is not int or first < 0:
        raise settings.refuse("max_window_layers", "a whole number >= 0")
    return _named_windows(settings, window, [layer >= first and window is not None for layer in range(layers)])


def _other_windows(settings: Settings, layers: int) -> Sequence[int | None]:
    """The first layer has a window, the second has none and so on, or those that are named."""
    return _named_windows(settings, _window(settings), [layer % 2 == 0 for layer in range(layers)])


def _named_windows(settings: Settings, window: int | None, default: Sequence[bool]) -> Sequence[int | None]:
    found = settings.get("layer_types")
    kinds = {"full_attention": False, "sliding_attention": True}
    if found is not None and (
        not isinstance(found, list) or len(found) != len(default) or not all(kind in kinds for kind in found)
    ):
        raise settings.refuse("layer_types", f"{' or '.join(kinds)} for each of {len(default)} layers")
    slides = default if found is None else [kinds[kind] for kind in found]
    if any(slides) and window is None:
        raise settings.refuse("sliding_window", "a window: there are layers that have one")
    return [window if each else None for each in slides]


BERT = Layout(
    name="bert",
    kinds=("bert",),
    prefixes=("", "bert."),
    reads={
        **_SIZES, **_INNER, **_LENGTH, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "is_decoder": False,
    },
    only={"position_embedding_type": ("absolute", None)},
    names=Names(),
    words="embeddings.word_embeddings.weight",
    positions="embeddings.position_embeddings.weight",
    types="embeddings.token_type_embeddings.weight",
    embedding_norm="embeddings.LayerNorm",
    layer="encoder.layer.{}.",
    attention=("attention.self.query", "attention.self.key", "attention.self.value"),
    output="attention.output.dense",
    inner=("intermediate.dense", "output.dense"),
    attention_norm="attention.output.LayerNorm",
    inner_norm="output.LayerNorm",
    eps="layer_norm_eps",
    causal="is_decoder",
    norm_of_sums=True,
)  # fmt: skip
ROBERTA = replace(
    BERT,
    name="roberta",
    kinds=("roberta", "xlm-roberta", "camembert"),
    prefixes=("", "roberta."),
    reads={**BERT.reads, "pad_token_id": 1},
    first_position="pad_token_id",
)
DISTILBERT = replace(
    BERT,
    name="distilbert",
    kinds=("distilbert",),
    prefixes=("", "distilbert."),
    reads={
        **dict.fromkeys(("vocab_size", "dim", "n_layers", "n_heads", "max_position_embeddings"), REQUIRED),
        "hidden_dim": None, "activation": "gelu",
    },
    # Sinusoids are what the rows of positions begin as; they are stored like others.
    only={"sinusoidal_pos_embds": (False, True)},
    names=Names(layers="n_layers", heads="n_heads", width="dim", inner="hidden_dim", activation="activation"),
    types=None,
    layer="transformer.layer.{}.",
    attention=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    output="attention.out_lin",
    inner=("ffn.lin1", "ffn.lin2"),
    attention_norm="sa_layer_norm",
    inner_norm="output_layer_norm",
    eps=1e-12,
    causal=False,
)  # fmt: skip
GPT2 = Layout(
    name="gpt2",
    kinds=("gpt2",),
    prefixes=("", "transformer."),
    reads={
        **dict.fromkeys(("vocab_size", "n_embd", "n_layer", "n_head", "n_positions"), REQUIRED),
        "n_inner": None, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "n_ctx": None,
    },
    # `reorder_and_upcast_attn` is another order of the same steps.
    only={
        "scale_attn_weights": (True,), "scale_attn_by_inverse_layer_idx": (False,),
        "reorder_and_upcast_attn": (False, True),
    },
    names=Names("n_layer", "n_head", "n_embd", "n_inner", "activation_function", "n_positions"),
    words="wte.weight",
    positions="wpe.weight",
    layer="h.{}.",
    attention=("attn.c_attn",),
    output="attn.c_proj",
    inner=("mlp.c_fc", "mlp.c_proj"),
    attention_norm="ln_1",
    inner_norm="ln_2",
    eps="layer_norm_epsilon",
    transposed=True,
    buffers=("attn.bias", "attn.masked_bias"),
)  # fmt: skip
OPT = Layout(
    name="opt",
    kinds=("opt",),
    prefixes=("model.decoder.", "decoder.", ""),
    reads={
        **_SIZES, **_LENGTH, "ffn_dim": None, "activation_function": "relu", "word_embed_proj_dim": None,
        "do_layer_norm_before": True, "enable_bias": True,
    },
    only={"layer_norm_elementwise_affine": (True,)},
    names=Names(inner="ffn_dim", activation="activation_function"),
    words="embed_tokens.weight",
    positions="embed_positions.weight",
    first_position=2,
    widened="project_in",
    layer="layers.{}.",
    attention=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    output="self_attn.out_proj",
    inner=("fc1", "fc2"),
    attention_norm="self_attn_layer_norm",
    inner_norm="final_layer_norm",
    eps=1e-5,
    attention_bias="enable_bias",
    output_bias="enable_bias",
    inner_bias="enable_bias",
    norm_of_sums="do_layer_norm_before",
)  # fmt: skip
NEOX = Layout(
    name="gpt-neox",
    kinds=("gpt_neox",),
    prefixes=("gpt_neox.", ""),
    reads={
        **_SIZES, **_INNER, **_LENGTH, "rope_scaling": None, "rope_parameters": None, "rotary_pct": 0.25,
        "rotary_emb_base": 10000, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "use_parallel_residual": True,
        "attention_bias": True,
    },
    only={"is_decoder": (False, True)},
    names=Names(),
    words="embed_in.weight",
    layer="layers.{}.",
    attention=("attention.query_key_value",),
    fused_by_head=True,
    output="attention.dense",
    inner=("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
    attention_norm="input_layernorm",
    inner_norm="post_attention_layernorm",
    eps="layer_norm_eps",
    attention_bias="attention_bias",
    output_bias="attention_bias",
    rotary=_rotary_of_neox,
    parallel="use_parallel_residual",
    buffers=("attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq"),
)  # fmt: skip
LLAMA = Layout(
    name="llama",
    kinds=("llama",),
    prefixes=("model.", ""),
    reads={
        **_SIZES, **_INNER, **_LENGTH, **_ROTARY_KEYS, "num_key_value_heads": None, "head_dim": None,
        "hidden_act": "silu", "rms_norm_eps": 1e-6, "attention_bias": False, "mlp_bias": False,
    },
    # Notes of those who convert weights.
    only={"is_llama_config": (True,), "rope_interleaved": OFF},
    names=Names(),
    words="embed_tokens.weight",
    layer="layers.{}.",
    attention=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    output="self_attn.o_proj",
    inner=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
    attention_norm="input_layernorm",
    inner_norm="post_attention_layernorm",
    eps="rms_norm_eps",
    shared_keys=True,
    attention_bias="attention_bias",
    output_bias="attention_bias",
    inner_bias="mlp_bias",
    rotary=_rotary,
    gated=True,
    rms=True,
    buffers=("self_attn.rotary_emb.inv_freq",),
)  # fmt: skip
_NO_BIAS = {key: value for key, value in LLAMA.reads.items() if key not in ("attention_bias", "mlp_bias")}
MISTRAL = replace(
    LLAMA,
    name="mistral",
    kinds=("mistral",),
    reads={**_NO_BIAS, "sliding_window": 4096},
    only={},
    attention_bias=False,
    output_bias=False,
    inner_bias=False,
    windows=_same_window,
)
_QWEN = {
    **_NO_BIAS, "num_key_value_heads": REQUIRED, "use_sliding_window": False, "sliding_window": 4096,
    "max_window_layers": 28, "layer_types": None,
}  # fmt: skip
QWEN2 = replace(
    MISTRAL,
    name="qwen2",
    kinds=("qwen2",),
    reads=_QWEN,
    only={"use_mrope": OFF},
    attention_bias=True,
    windows=_late_windows,
)
QWEN3 = replace(
    MISTRAL,
    name="qwen3",
    kinds=("qwen3",),
    reads={**_QWEN, "head_dim": 128, "attention_bias": False},
    attention_bias="attention_bias",
    output_bias="attention_bias",
    head_norms=("self_attn.q_norm", "self_attn.k_norm"),
    windows=_late_windows,
)
PHI3 = replace(
    MISTRAL,
    name="phi3",
    kinds=("phi3",),
    reads={
        **_NO_BIAS, "rms_norm_eps": 1e-5, "sliding_window": None, "original_max_position_embeddings": 4096,
        "partial_rotary_factor": 1.0,
    },
    # The code beside the published weights, from which that of transformers was made; transformers runs its own.
    only={
        "auto_map": (
            None,
            {"AutoConfig": "configuration_phi3.Phi3Config", "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
        ),
        "attention_bias": OFF, "mlp_bias": OFF, "lm_head_bias": (False, True), "full_attn_mod": (1,),
        "interpolate_factor": (1,),
    },
    attention=("self_attn.qkv_proj",),
    inner=("mlp.gate_up_proj", "mlp.down_proj"),
    rotary=_rotary_of_phi,
)  # fmt: skip
GEMMA2 = replace(
    MISTRAL,
    name="gemma2",
    kinds=("gemma2",),
    reads={
        **{key: value for key, value in _NO_BIAS.items() if key != "hidden_act"},
        "num_key_value_heads": REQUIRED, "head_dim": 256, "attention_bias": False, "sliding_window": 4096,
        "layer_types": None, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256,
        "attn_logit_softcapping": 50.0,
    },
    # Published configurations have a `hidden_act` and a `sliding_window_size` too, which are not read.
    only={
        "use_bidirectional_attention": (None, False), "hidden_act": ("gelu_pytorch_tanh", "gelu"),
        "sliding_window_size": (4096,),
    },
    names=Names(activation="hidden_activation"),
    attention_bias="attention_bias",
    output_bias="attention_bias",
    inner_norm="pre_feedforward_layernorm",
    branch_norms=("post_attention_layernorm", "post_feedforward_layernorm"),
    one_more=True,
    scaled_words=True,
    score_dimension="query_pre_attn_scalar",
    cap="attn_logit_softcapping",
    windows=_other_windows,
)  # fmt: skip
LAYOUTS = (BERT, ROBERTA, DISTILBERT, GPT2, OPT, NEOX, LLAMA, MISTRAL, QWEN2, QWEN3, PHI3, GEMMA2)


def model_of(weights: Weights) -> Model:
    """The model in some weights. Raises UsageError where it is of no layout that is known, or not wholly so."""
    layout = _layout(weights)
    settings = Settings(weights.path, weights.config, layout.reads, layout.only)
    settings.require_known()
    model = Transformer(layout, settings, weights, _prefix(layout, weights))
    _require_known(model)
    # What can be wrong with the configuration is said before anything is run.
    _ = model.most_tokens, layout.windows and layout.windows(settings, model.shape.layers)
    activation(settings.get(layout.names.activation))
    return model


def _layout(weights: Weights) -> Layout:
    """Models that share names of tensors need not share formulas: the model_type decides."""
    kind = weights.config.get("model_type")
    for layout in LAYOUTS:
        if kind in layout.kinds:
            return layout
    known = ", ".join(kind for layout in LAYOUTS for kind in layout.kinds)
    found = f"the model_type {kind!r}" if kind is not None else "no model_type"
    raise UsageError(f"{weights.path}: {CONFIG} has {found}, expected one of {known}")


def _prefix(layout: Layout, weights: Weights) -> str:
    """What the names of tensors begin with. Raises UsageError where they are none of this layout."""
    first = f"{layout.layer.format(0)}{layout.attention[0]}.weight"
    for prefix in layout.prefixes:
        if prefix + layout.words in weights.tensors and prefix + first in weights.tensors:
            return prefix
    expected = f"expected {layout.words} and {layout.layer.format('N')}{layout.attention[0]}.weight"
    raise UsageError(f"{weights.path}: tensors of another layout; found {listed(weights.tensors)}; {expected}")


def _require_known(model: Transformer) -> None:
    """A tensor of a layer that is not used would be a part of the model that is left out. Raises UsageError."""
    layout, layers = model.layout, model.shape.layers
    parts = layout.parts(model.settings)
    layer = re.compile(re.escape(model.prefix + layout.layer).replace(r"\{\}", r"(\d+)"))
    for name in model.weights.tensors:
        found = layer.match(name)
        if not found:
            continue
        if int(found[1]) >= layers:
            raise UsageError(f"{model.weights.path}: {CONFIG} says {layers} layers, but there is a tensor {name!r}")
        part, _, kind = name[found.end() :].rpartition(".")
        biased = parts.get(part)
        known = biased is not None and (kind in ("weight", "gamma") or (biased and kind in ("bias", "beta")))
        if not known and f"{part}.{kind}" not in layout.buffers:
            expected = ", which has no biases here" if biased is False else f"; expected {', '.join(parts)}"
            raise UsageError(f"{model.weights.path}: the tensor {name!r} is no part of {layout.name}{expected}")
