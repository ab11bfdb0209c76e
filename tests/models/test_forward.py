"""Forward passes against a slow one that is written number by number, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slow_models
import tiny_models
from tiny_models import Tensors, write_model, write_safetensors

from certattn.kernel.errors import UsageError
from certattn.models.heads import LayerHeads, Model, attend
from certattn.models.layers import activation
from certattn.models.layouts import LAYOUTS as KNOWN
from certattn.models.layouts import model_of
from certattn.models.rotary import Rotary
from certattn.models.settings import EVERYWHERE, INERT, Settings
from certattn.models.weights import open_weights

IDS = [3, 1, 4, 1, 5, 9, 2]
LLAMA3 = {
    "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip


def opened(folder: Path, config: dict[str, Any], tensors: Tensors, dtype: str = "float64") -> Model:
    return model_of(open_weights(write_model(folder, config, tensors), dtype))


def gap(found: list[LayerHeads], slow: list[slow_models.Layer]) -> float:
    """The largest difference of any number."""
    assert len(found) == len(slow)
    assert [heads.layer for heads in found] == list(range(len(slow)))
    worst = 0.0
    for heads, layer in zip(found, slow, strict=True):
        for index, parts in enumerate(zip(*layer, strict=True)):
            array = (heads.queries, heads.keys, heads.values)[index]
            assert array.shape == np.shape(parts)
            worst = max(worst, float(np.abs(array - np.array(parts)).max()))
    return worst


LAYOUTS: dict[str, tuple[tuple[dict[str, Any], Tensors], str, Callable[..., Any]]] = {
    "BERT": (tiny_models.bert(), "", slow_models.bert),
    "BERT with a prefix and relu": (tiny_models.bert(1, "bert.", hidden_act="relu"), "bert.", slow_models.bert),
    "BERT as a decoder": (tiny_models.bert(2, "bert.", is_decoder=True), "bert.", slow_models.bert),
    "GPT-2": (tiny_models.gpt2(), "", slow_models.gpt2),
    "GPT-2 with a prefix": (tiny_models.gpt2(1, "transformer."), "transformer.", slow_models.gpt2),
    "Llama": (tiny_models.llama(), "model.", slow_models.llama),
    "Llama with biases": (tiny_models.llama(1, "", True, model_type="qwen2"), "", slow_models.llama),
    "Llama with keys for every head": (tiny_models.llama(2, num_key_value_heads=4), "model.", slow_models.llama),
    "Llama with one key for all": (tiny_models.llama(3, num_key_value_heads=1), "model.", slow_models.llama),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_heads_are_those_of_a_slow_forward_pass(name: str, tmp_path: Path) -> None:
    (config, tensors), prefix, slow = LAYOUTS[name]
    found = list(opened(tmp_path, config, tensors).heads(np.array(IDS), 3))
    bare = {name.removeprefix(prefix): array for name, array in tensors.items()}
    # Angles of the slow one are exact; those that are compared are float32 numbers.
    assert gap(found, slow(config, bare, IDS)) < (1e-6 if name.startswith("Llama") else 1e-12)


@pytest.mark.parametrize("name", ["BERT", "GPT-2", "Llama"])
def test_in_single_precision_they_are_nearly_those(name: str, tmp_path: Path) -> None:
    (config, tensors), prefix, slow = LAYOUTS[name]
    found = list(opened(tmp_path, config, tensors, "float32").heads(np.array(IDS), 3))
    assert {heads.queries.dtype.name for heads in found} == {"float32"}
    bare = {name.removeprefix(prefix): array for name, array in tensors.items()}
    assert 0 < gap(found, slow(config, bare, IDS)) < 1e-4


def test_positions_of_roberta_begin_after_the_padding_token(tmp_path: Path) -> None:
    config, tensors = tiny_models.bert(5, "roberta.", model_type="roberta", pad_token_id=1)
    model = opened(tmp_path, config, tensors)
    assert model.most_tokens == 8
    bare = {name.removeprefix("roberta."): array for name, array in tensors.items()}
    ids = [id_ + (id_ == 1) for id_ in IDS]
    assert gap(list(model.heads(np.array(ids), 3)), slow_models.bert(config, bare, ids, first=2)) < 1e-12


def test_a_decoder_has_a_mask_whatever_its_layout(tmp_path: Path) -> None:
    for name, ((config, tensors), _, _) in LAYOUTS.items():
        causal = opened(tmp_path / name, config, tensors).shape.causal
        assert causal is (not name.startswith("BERT") or "decoder" in name), name


def test_older_names_of_normalisations_are_read(tmp_path: Path) -> None:
    config, tensors = tiny_models.bert()
    old = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): a for name, a in tensors.items()
    }
    found = list(opened(tmp_path, config, old).heads(np.array(IDS), 3))
    assert gap(found, slow_models.bert(config, tensors, IDS)) < 1e-12


@pytest.mark.parametrize("linear", [{"rope_type": "linear", "factor": 2.0}, {"type": "linear", "factor": 2}])
def test_scaled_rotary_positions(linear: dict[str, Any], tmp_path: Path) -> None:
    config, tensors = tiny_models.llama(7, rope_scaling=linear)
    bare = {name.removeprefix("model."): array for name, array in tensors.items()}
    slow = slow_models.llama(config, bare, IDS, [1 / 2, 1 / 20])
    assert gap(list(opened(tmp_path, config, tensors).heads(np.array(IDS), 3)), slow) < 1e-6


def frequencies(parameters: dict[str, Any], dimension: int = 8, tokens: int = 2) -> np.ndarray[Any, Any]:
    """By pair, what turns from one token to the next."""
    rotary = Rotary({"rope_theta": 10000.0, **parameters}, dimension, 32)
    rotary.require_known()
    cosines, sines = rotary.turns(tokens)
    return np.arctan2(sines[1], cosines[1])


def test_rotary_positions_of_llama_3() -> None:
    """Wavelengths above 64 are stretched by 4, those below 16 are kept, and there is a way between."""
    between = (64 * 0.1 / (2 * np.pi) - 1) / 3
    expected = [1.0, 0.1 * (between + (1 - between) / 4), 0.01 / 4, 0.001 / 4]
    assert np.allclose(frequencies(LLAMA3), expected, rtol=1e-6)
    assert np.allclose(frequencies({}), [1.0, 0.1, 0.01, 0.001], rtol=1e-6)


def test_dynamic_rotary_positions_change_beyond_the_length_of_the_model() -> None:
    dynamic = {"rope_type": "dynamic", "factor": 2.0}
    assert np.allclose(frequencies(dynamic, tokens=32), frequencies({}), rtol=1e-6)
    base = 10000.0 * (2 * 64 / 32 - 1) ** (8 / 6)
    assert np.allclose(frequencies(dynamic, tokens=64), base ** (-np.arange(0, 8, 2) / 8), rtol=1e-6)


def test_angles_are_those_of_single_precision() -> None:
    """As transformers has them: at position 32,767 they are off by up to 0.003 from the exact ones, and no more."""
    cosines, _ = Rotary({"rope_theta": 500000.0}, 128, 32768).turns(32768)
    exact = np.cos(np.arange(32768)[:, None] * 500000.0 ** (-np.arange(0, 128, 2) / 128))
    assert cosines.dtype == np.float32
    assert 1e-4 < np.abs(cosines - exact).max() < 3e-3
    assert np.abs(cosines - exact)[:64].max() < 1e-5


@pytest.mark.parametrize(
    ("rope", "words"),
    [
        ({"rope_type": "mrope"}, "kind 'mrope', expected one of default, linear, dynamic, yarn"),
        ({"rope_type": "linear"}, "without 'factor'"),
        ({"rope_type": "yarn", "factor": 2}, "without 'original_max_position_embeddings'"),
        ({"rope_type": "linear", "factor": 2, "beta_fast": 32}, "with 'beta_fast', which is not modelled"),
        ({"rope_type": "default", "mrope_section": [1, 1]}, "with 'mrope_section', which is not modelled"),
        ({"rope_type": "linear", "factor": -2}, "factor of rotary positions is -2, expected a number > 0"),
        ({"partial_rotary_factor": 0.375}, "3 of 8 coordinates of a head turn, expected an even number"),
        ({"partial_rotary_factor": 2}, "16 of 8 coordinates of a head turn"),
        (
            {
                "rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0],
                "original_max_position_embeddings": 4,
            },
            "short_factor of rotary positions, expected a list of 4 numbers"),
        (
            {
                "rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 4, "truncate": "no",
            },
            "truncate of rotary positions is 'no'"),
    ],
)  # fmt: skip
def test_other_rotary_positions_are_refused(rope: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        frequencies(rope)


def slow_attention(q: Any, k: Any, v: Any, seen: Callable[[int], range], cap: float | None) -> Any:
    outputs = []
    for i, query in enumerate(q):
        scores = np.array([query @ k[j] for j in seen(i)]) / 2
        weights = np.exp(scores if cap is None else cap * np.tanh(scores / cap))
        outputs.append(sum(w * v[j] for w, j in zip(weights, seen(i), strict=True)) / weights.sum())
    return np.array(outputs)


@pytest.mark.parametrize("block", [1, 50, 10**9])
@pytest.mark.parametrize(("causal", "window", "cap"), [(False, None, None), (True, None, 1.5), (True, 3, None)])
def test_attention_in_blocks_is_attention(
    block: int, causal: bool, window: int | None, cap: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certattn.models.heads._BLOCK", block)
    q, k, v = (np.random.default_rng(i).normal(size=(2, 11, 4)) for i in range(3))

    def seen(i: int) -> range:
        return range(max(0, i + 1 - window) if window else 0, i + 1 if causal else 11)

    found = attend(q, k, v, 0.5, causal=causal, window=window, cap=cap)
    for head in range(2):
        assert np.allclose(found[head], slow_attention(q[head], k[head], v[head], seen, cap), rtol=0, atol=1e-13)


def test_long_prompts_take_little_memory() -> None:
    """32 heads of 1,024 tokens: all scores at once would be 256 MB, and took three times that."""
    import tracemalloc

    q, k, v = (np.zeros((32, 1024, 8)) for _ in range(3))
    tracemalloc.start()
    attend(q, k, v, 1.0, causal=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 64 * 2**20


@pytest.mark.parametrize(("name", "value"), [("gelu", 0.8413447460685429), ("relu", 1.0), ("silu", 0.7310585786300049)])
def test_activations_at_one(name: str, value: float) -> None:
    assert float(activation(name)(np.array([1.0]))[0]) == pytest.approx(value, rel=1e-15)
    assert float(activation(name)(np.array([-800.0]))[0]) == pytest.approx(0, abs=1e-300)


def test_only_the_layers_that_are_asked_for_are_read(tmp_path: Path) -> None:
    config, tensors = tiny_models.bert()
    later = {name: array for name, array in tensors.items() if "layer.2." not in name}
    assert len(list(opened(tmp_path, config, later).heads(np.array(IDS), 2))) == 2


def test_an_index_leads_to_its_parts(tmp_path: Path) -> None:
    config, tensors = tiny_models.gpt2()
    names = list(tensors)
    parts = {"a.safetensors": names[:7], "b.safetensors": names[7:]}
    for file, held in parts.items():
        write_safetensors(tmp_path / file, {name: tensors[name] for name in held})
    index = {"weight_map": {name: file for file, held in parts.items() for name in held}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = list(model_of(open_weights(tmp_path)).heads(np.array(IDS), 3))
    assert gap(found, slow_models.gpt2(config, tensors, IDS)) < 1e-12


# -- what is refused


def broken(change: str, tensors: Tensors) -> Tensors:
    """Weights with one defect."""
    name = "encoder.layer.1.output.dense.weight"
    if change == "missing":
        return {key: array for key, array in tensors.items() if key != name}
    if change == "shape":
        return {**tensors, name: tensors[name].T}
    if change == "NaN":
        bad = tensors[name].copy()
        bad[0, 0] = np.nan
        return {**tensors, name: bad}
    if change == "unknown part":
        return {**tensors, "encoder.layer.1.attention.self.gate.weight": np.ones((2, 2))}
    return {key.replace("encoder.layer", "blocks"): array for key, array in tensors.items()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("missing", "no tensor 'encoder.layer.1.output.dense.weight'; found"),
        ("shape", "dense.weight' is 12 x 8, expected 8 x 12"),
        ("NaN", "dense.weight' holds NaN or an infinity"),
        ("unknown part", "gate.weight' is no part of bert; expected attention.self.query"),
        ("layout", "tensors of another layout; found .*; expected embeddings.word_embeddings.weight and"),
    ],
)
def test_weights_with_a_defect_are_refused(change: str, words: str, tmp_path: Path) -> None:
    config, tensors = tiny_models.bert()
    with pytest.raises(UsageError, match=words):
        list(opened(tmp_path, config, broken(change, tensors)).heads(np.array(IDS), 3))


@pytest.mark.parametrize(
    ("made", "changes", "words"),
    [
        (tiny_models.bert, {"model_type": "electra"}, "the model_type 'electra', expected one of bert, roberta"),
        (tiny_models.bert, {"hidden_act": "mish"}, "the activation is 'mish', expected one of gelu"),
        (tiny_models.bert, {"model_type": None}, "config.json has no model_type, expected one of bert"),
        (tiny_models.bert, {"num_attention_heads": None}, "has null for num_attention_heads"),
        (tiny_models.bert, {"num_attention_heads": 3}, "8 coordinates for 3 heads"),
        (tiny_models.bert, {"num_attention_heads": 0}, "has 0 for num_attention_heads"),
        (tiny_models.bert, {"num_hidden_layers": 1.5}, "has 1.5 for num_hidden_layers, expected a whole number"),
        (
            tiny_models.bert, {"position_embedding_type": "relative_key"},
            'has position_embedding_type: "relative_key", which is not modelled; expected "absolute"'),
        (tiny_models.gpt2, {"scale_attn_by_inverse_layer_idx": True}, "has scale_attn_by_inverse_layer_idx: true"),
        (tiny_models.gpt2, {"scale_attn_weights": None}, "has scale_attn_weights: null, .*; expected true"),
        (tiny_models.gpt2, {"vocab_size": 30}, "the tensor 'wte.weight' is 20 x 8, expected 30 x 8"),
        (tiny_models.llama, {"model_type": "gemma"}, "the model_type 'gemma', expected one of bert"),
        (tiny_models.llama, {"model_type": "mistral", "sliding_window": 0}, "has 0 for sliding_window"),
        (tiny_models.llama, {"attention_bias": True}, "no tensor 'model.layers.0.self_attn.q_proj.bias'"),
        (tiny_models.llama, {"attention_bias": 1}, "has 1 for attention_bias, expected true or false"),
        (tiny_models.llama, {"num_key_value_heads": 3}, "k_proj.weight' is 8 x 12, expected 12 x 12"),
        (tiny_models.llama, {"head_dim": 3}, "3 of 3 coordinates of a head turn, expected an even number"),
        (tiny_models.bert, {"is_decoder": "yes"}, 'has "yes" for is_decoder, expected true or false'),
        (tiny_models.bert, {"is_decoder": None}, "has null for is_decoder, expected true or false"),
        (
            tiny_models.bert, {"model_type": "roberta", "pad_token_id": None},
            "has null for pad_token_id, expected a whole"),
        (tiny_models.bert, {"model_type": "roberta", "pad_token_id": -1}, "has -1 for pad_token_id"),
        (tiny_models.bert, {"model_type": "roberta", "pad_token_id": "1"}, 'has "1" for pad_token_id'),
        (tiny_models.bert, {"model_type": "roberta", "pad_token_id": 4}, "the prompt holds 4, the padding token"),
        (tiny_models.llama, {"rope_theta": "big"}, "rope_theta of rotary positions is 'big', expected a number"),
        (tiny_models.llama, {"rope_scaling": "linear"}, "rotary positions 'linear', expected one kind"),
        (
            tiny_models.llama, {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
            "one kind for all layers"),
        (tiny_models.llama, {"rope_parameters": {"partial_rotary_factor": 0.5}}, "a part of each head turns"),
        (tiny_models.llama, {"layer_types": ["full_attention"] * 3}, "layer_types: .*, a key that is not known for"),
    ],
)  # fmt: skip
def test_configurations_that_do_not_fit_are_refused(
    made: Callable[..., Any], changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    config, tensors = made()
    with pytest.raises(UsageError, match=words):
        list(opened(tmp_path, {**config, **changes}, tensors).heads(np.array(IDS), 3))


# What each would do to a model, if it were left out of it.
SWITCHED: dict[str, tuple[Callable[..., Any], Any]] = {
    "auto_map": (tiny_models.bert, {"AutoModel": "modeling.Other"}),
    "quantization_config": (tiny_models.llama, {"bits": 4}),
    "pruned_heads": (tiny_models.bert, {"1": [0]}),
    "add_cross_attention": (tiny_models.bert, True),
    "is_encoder_decoder": (tiny_models.bert, True),
    "cross_attention_hidden_size": (tiny_models.bert, 8),
    "position_embedding_type": (tiny_models.bert, "relative_key_query"),
    "scale_attn_weights": (tiny_models.gpt2, False),
    "scale_attn_by_inverse_layer_idx": (tiny_models.gpt2, True),
    "is_llama_config": (tiny_models.llama, False),
    "rope_interleaved": (tiny_models.llama, True),
}
# Of other layouts, other models' features, and what nobody has thought of.
UNKNOWN: dict[str, tuple[Callable[..., Any], Any]] = {
    "alibi": (tiny_models.llama, True),
    "attention_chunk_size": (tiny_models.llama, 4),
    "attention_multiplier": (tiny_models.llama, 0.1),
    "attn_logit_softcapping": (tiny_models.llama, 50.0),
    "attn_temperature_tuning": (tiny_models.llama, True),
    "clip_qkv": (tiny_models.llama, 8.0),
    "qk_layernorm": (tiny_models.llama, True),
    "query_pre_attn_scalar": (tiny_models.llama, 256),
    "embedding_multiplier": (tiny_models.llama, 12.0),
    "scale_embedding": (tiny_models.gpt2, True),
    "parallel_attn": (tiny_models.llama, True),
    "use_parallel_residual": (tiny_models.gpt2, True),
    "is_causal": (tiny_models.llama, False),
    "is_decoder": (tiny_models.gpt2, True),
    "rope_scaling": (tiny_models.gpt2, {"rope_type": "linear", "factor": 2.0}),
    "rope_theta": (tiny_models.bert, 10000.0),
    "sliding_window": (tiny_models.llama, 4),
    "layer_types": (tiny_models.llama, ["linear_attention"] * 3),
    "no_rope_layers": (tiny_models.llama, [1, 1, 0]),
    "partial_rotary_factor": (tiny_models.llama, 0.5),
    "embedding_size": (tiny_models.bert, 4),
    "made_up_tomorrow": (tiny_models.llama, False),
}


@pytest.mark.parametrize("key", SWITCHED)
def test_switches_that_are_not_modelled_are_refused(key: str, tmp_path: Path) -> None:
    made, value = SWITCHED[key]
    config, tensors = made(**{key: value})
    with pytest.raises(UsageError, match=f"config.json has {key}: .*, which is not modelled; expected "):
        opened(tmp_path, config, tensors)


@pytest.mark.parametrize("key", UNKNOWN)
def test_keys_that_are_not_known_are_refused(key: str, tmp_path: Path) -> None:
    made, value = UNKNOWN[key]
    config, tensors = made(**{key: value})
    with pytest.raises(UsageError, match=f"config.json has {key}: .*, a key that is not known for the model_type"):
        opened(tmp_path, config, tensors)


def test_every_switch_of_these_layouts_is_tried() -> None:
    layouts = [layout for layout in KNOWN if layout.name in ("bert", "gpt2", "llama")]
    free = {"reorder_and_upcast_attn"}
    assert {*EVERYWHERE, *(key for layout in layouts for key in layout.only)} - free == SWITCHED.keys()


def test_no_key_is_both_read_and_without_effect() -> None:
    for layout in KNOWN:
        assert not layout.reads.keys() & layout.only.keys(), layout.name
        # What numbers positions in one is padding in the others.
        assert (layout.reads.keys() | layout.only.keys() | EVERYWHERE.keys()) & INERT <= {"pad_token_id"}, layout.name


def test_switches_that_are_off_change_nothing(tmp_path: Path) -> None:
    """As published configurations have them."""
    off = {"add_cross_attention": False, "pruned_heads": {}, "is_encoder_decoder": False, "torch_dtype": "float16"}
    for name, ((config, tensors), _, _) in LAYOUTS.items():
        opened(tmp_path / name, {**off, **config}, tensors)


# Keys of configurations as models are published: all-MiniLM-L6-v2, GPT-2, opt-125m, Pythia, SmolLM2, Qwen2-7B-Instruct,
# gemma-2-2b, Phi-3-mini-4k-instruct. Sizes and numbers that are the same everywhere are left out.
PUBLISHED: dict[str, dict[str, Any]] = {
    "bert": {
        "_name_or_path": "nreimers/MiniLM-L6-H384-uncased", "attention_probs_dropout_prob": 0.1,
        "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "layer_norm_eps": 1e-12,
        "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.8.2", "type_vocab_size": 2,
    },
    "gpt2": {
        "activation_function": "gelu_new", "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1,
        "layer_norm_epsilon": 1e-05, "n_ctx": 1024, "resid_pdrop": 0.1, "summary_activation": None,
        "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index",
        "summary_use_proj": True, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    },
    "opt": {
        "activation_dropout": 0.0, "activation_function": "relu", "do_layer_norm_before": True, "dropout": 0.1,
        "init_std": 0.02, "layerdrop": 0.0, "word_embed_proj_dim": 768, "prefix": "</s>",
        "_remove_final_layer_norm": False, "torch_dtype": "float16",
    },
    "gpt_neox": {
        "hidden_act": "gelu", "rotary_pct": 0.25, "rotary_emb_base": 10000, "attention_dropout": 0.0,
        "hidden_dropout": 0.0, "classifier_dropout": 0.1, "layer_norm_eps": 1e-5, "use_parallel_residual": True,
    },
    "llama": {
        "attention_bias": False, "attention_dropout": 0.0, "is_llama_config": True, "pretraining_tp": 1,
        "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000, "tie_word_embeddings": True,
    },
    "qwen2": {
        "attention_dropout": 0.0, "hidden_act": "silu", "max_window_layers": 28, "rope_theta": 1000000.0,
        "sliding_window": 131072, "use_sliding_window": False,
    },
    "gemma2": {
        "attn_logit_softcapping": 50.0, "cache_implementation": "hybrid", "final_logit_softcapping": 30.0,
        "head_dim": 256, "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 256, "rope_theta": 10000.0, "sliding_window": 4096, "sliding_window_size": 4096,
    },
    "phi3": {
        "_name_or_path": "Phi-3-mini-4k-instruct", "attention_bias": False, "attention_dropout": 0.0,
        "auto_map": {
            "AutoConfig": "configuration_phi3.Phi3Config", "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM",
        },
        "embd_pdrop": 0.0, "original_max_position_embeddings": 4096, "resid_pdrop": 0.0, "rope_scaling": None,
        "rope_theta": 10000.0, "sliding_window": 2047,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", PUBLISHED)
def test_published_configurations_are_known(kind: str) -> None:
    (layout,) = (layout for layout in KNOWN if kind in layout.kinds)
    config = {"model_type": kind, "architectures": ["Any"], "use_cache": True, **PUBLISHED[kind]}
    Settings(Path("model"), config, layout.reads, layout.only).require_known()


def test_a_bias_that_the_configuration_has_not_is_refused(tmp_path: Path) -> None:
    """transformers leaves it out with a warning; who trained it did not."""
    config, tensors = tiny_models.llama(1, "", True)
    with pytest.raises(UsageError, match=r"q_proj.bias' is no part of llama, which has no biases here"):
        opened(tmp_path, config, tensors)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_window_layers": -1}, "has -1 for max_window_layers, expected a whole number >= 0"),
        ({"layer_types": ["full_attention"]}, "for layer_types, expected full_attention or sliding_attention for each"),
        ({"layer_types": ["full_attention", "sliding_attention", "x"]}, "for layer_types, expected full_attention"),
        (
            {"layer_types": ["sliding_attention"] * 3, "use_sliding_window": False},
            "for sliding_window, expected a window: there are layers that have one"),
    ],
)  # fmt: skip
def test_windows_that_make_no_sense_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    qwen = {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
    config, tensors = tiny_models.llama(1, "", True, **{**qwen, **changes})
    with pytest.raises(UsageError, match=words):
        opened(tmp_path, config, tensors)


def test_windows_are_those_of_the_layers(tmp_path: Path) -> None:
    qwen = {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
    kinds = ["full_attention", "full_attention", "sliding_attention"]
    for changes, windows in (({}, [None, 4, 4]), ({"layer_types": kinds}, [None, None, 4])):
        model = opened(tmp_path, *tiny_models.llama(1, "", True, **qwen, **changes))
        assert [heads.window for heads in model.heads(np.array(IDS), 3)] == windows
        assert model.most_tokens == 10


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("config.json", None, "config.json: no such file, expected the configuration"),
        ("config.json", "{", "config.json: cannot be read"),
        ("config.json", "[]", "config.json: a list, expected the configuration of the model as a mapping"),
        ("model.safetensors", None, "neither model.safetensors nor model.safetensors.index.json"),
        ("model.safetensors", "no header", "not a .safetensors file"),
    ],
)
def test_folders_that_are_no_model_are_refused(file: str, content: str | None, words: str, tmp_path: Path) -> None:
    write_model(tmp_path, *tiny_models.bert())
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match=words):
        open_weights(tmp_path)


def test_an_adapter_beside_the_weights_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path, *tiny_models.bert())
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(UsageError, match=r"adapter_config\.json, an adapter that changes the forward pass; merge it"):
        open_weights(folder)
    # Who names the file means its weights.
    assert open_weights(folder / "model.safetensors").tensors


@pytest.mark.parametrize("weights", [{}, {"weight_map": {}}, {"weight_map": {"a": "../b.safetensors"}}])
def test_an_index_of_something_else_is_refused(weights: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(weights))
    with pytest.raises(UsageError, match=r"index.json: (no weight_map|the file '\.\./b.safetensors')"):
        open_weights(tmp_path)
