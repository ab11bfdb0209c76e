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
from certattn.models.heads import LayerHeads, Model
from certattn.models.layers import activation
from certattn.models.layouts import FAMILIES, model_of
from certattn.models.llama import frequencies
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
    assert gap(found, slow(config, bare, IDS)) < 1e-12


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


def test_roberta_without_its_name_is_known_by_its_tensors(tmp_path: Path) -> None:
    config, tensors = tiny_models.bert(5, "roberta.", pad_token_id=1)
    del config["model_type"]
    assert opened(tmp_path, config, tensors).most_tokens == 8


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
    assert gap(list(opened(tmp_path, config, tensors).heads(np.array(IDS), 3)), slow) < 1e-12


def test_rotary_positions_of_llama_3() -> None:
    """Wavelengths above 64 are stretched by 4, those below 16 are kept, and there is a way between."""
    found = frequencies({"rope_theta": 10000.0, "rope_scaling": LLAMA3}, 8)
    plain = [1.0, 0.1, 0.01, 0.001]
    between = (64 * 0.1 / (2 * np.pi) - 1) / 3
    assert np.allclose(found, [1.0, 0.1 * (between + (1 - between) / 4), 0.01 / 4, 0.001 / 4], rtol=1e-14)
    assert np.allclose(frequencies({"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}, 8), plain)


@pytest.mark.parametrize(
    ("rope", "words"),
    [({"rope_type": "yarn", "factor": 2}, "kind 'yarn'"), ({"rope_type": "linear"}, "without 'factor'")],
)
def test_other_rotary_positions_are_refused(rope: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        frequencies({"rope_scaling": rope}, 8)


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
        ("unknown part", "gate.weight' is no part of BERT; expected attention.self.query"),
        ("layout", "no layout that is known; found .*; expected BERT: embeddings.word_embeddings.weight and"),
    ],
)
def test_weights_with_a_defect_are_refused(change: str, words: str, tmp_path: Path) -> None:
    config, tensors = tiny_models.bert()
    with pytest.raises(UsageError, match=words):
        list(opened(tmp_path, config, broken(change, tensors)).heads(np.array(IDS), 3))


@pytest.mark.parametrize(
    ("made", "changes", "words"),
    [
        (tiny_models.bert, {"model_type": "electra"}, "the model_type 'electra', expected bert"),
        (tiny_models.bert, {"hidden_act": "mish"}, "the activation is 'mish', expected one of gelu"),
        (tiny_models.bert, {"num_attention_heads": None}, "has nothing for num_attention_heads"),
        (tiny_models.bert, {"num_attention_heads": 3}, "8 coordinates for 3 heads"),
        (tiny_models.bert, {"num_attention_heads": 0}, "has 0 for num_attention_heads"),
        (tiny_models.bert, {"num_hidden_layers": 1.5}, "has 1.5 for num_hidden_layers, expected a whole number"),
        (
            tiny_models.bert, {"position_embedding_type": "relative_key"},
            'has position_embedding_type: "relative_key", which is not modelled; expected "absolute"'),
        (tiny_models.gpt2, {"scale_attn_by_inverse_layer_idx": True}, "has scale_attn_by_inverse_layer_idx: true"),
        (tiny_models.gpt2, {"scale_attn_weights": None}, "has scale_attn_weights: null, .*; expected true"),
        (tiny_models.gpt2, {"vocab_size": 30}, "the tensor 'wte.weight' is 20 x 8, expected 30 x 8"),
        (tiny_models.llama, {"model_type": "gemma"}, "the model_type 'gemma', expected llama"),
        (tiny_models.llama, {"num_key_value_heads": 3}, "k_proj.weight' is 8 x 12, expected 12 x 12"),
        (tiny_models.llama, {"head_dim": 3}, "heads of dimension 3, expected an even one"),
        (tiny_models.bert, {"is_decoder": "yes"}, 'has is_decoder: "yes", .*; expected false or true'),
        (
            tiny_models.bert, {"model_type": "roberta", "pad_token_id": None},
            "has None for pad_token_id, expected a whole"),
        (tiny_models.bert, {"model_type": "roberta", "pad_token_id": -1}, "has -1 for pad_token_id"),
        (tiny_models.bert, {"model_type": "roberta", "pad_token_id": "1"}, "has '1' for pad_token_id"),
        (tiny_models.bert, {"model_type": "roberta", "pad_token_id": 4}, "the prompt holds 4, the padding token"),
        (tiny_models.llama, {"rope_theta": None}, "rope_theta.* is None, expected a number"),
        (tiny_models.llama, {"rope_scaling": "linear"}, "rotary positions 'linear'"),
        (
            tiny_models.llama, {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
            "one kind for all layers"),
        (tiny_models.llama, {"rope_parameters": {"partial_rotary_factor": 0.5}}, "a part of each head turns"),
        (tiny_models.llama, {"layer_types": ["full_attention", "chunked_attention"]}, "layer_types: .*chunked"),
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
    "alibi": (tiny_models.llama, True),
    "use_alibi": (tiny_models.llama, True),
    "attention_chunk_size": (tiny_models.llama, 4),
    "attention_multiplier": (tiny_models.llama, 0.1),
    "attn_logit_softcapping": (tiny_models.llama, 50.0),
    "attn_temperature_tuning": (tiny_models.llama, True),
    "clip_qkv": (tiny_models.llama, 8.0),
    "position_embedding_type": (tiny_models.bert, "relative_key_query"),
    "qk_layernorm": (tiny_models.llama, True),
    "qk_norm": (tiny_models.llama, True),
    "use_qk_norm": (tiny_models.llama, True),
    "query_pre_attn_scalar": (tiny_models.llama, 256),
    "embedding_multiplier": (tiny_models.llama, 12.0),
    "residual_multiplier": (tiny_models.llama, 0.2),
    "scale_depth": (tiny_models.llama, 1.4),
    "scale_emb": (tiny_models.llama, 12),
    "scale_embedding": (tiny_models.gpt2, True),
    "parallel_attn": (tiny_models.llama, True),
    "use_parallel_residual": (tiny_models.gpt2, True),
    "bidirectional": (tiny_models.llama, True),
    "is_causal": (tiny_models.llama, False),
    "use_bidirectional_attention": (tiny_models.llama, True),
    "rope_parameters": (tiny_models.bert, {"rope_theta": 10000.0}),
    "rope_scaling": (tiny_models.gpt2, {"rope_type": "linear", "factor": 2.0}),
    "rope_theta": (tiny_models.bert, 10000.0),
    "sliding_window": (tiny_models.bert, 4),
    "is_decoder": (tiny_models.bert, 2),
    "scale_attn_weights": (tiny_models.gpt2, False),
    "scale_attn_by_inverse_layer_idx": (tiny_models.gpt2, True),
    "layer_types": (tiny_models.llama, ["linear_attention"] * 3),
    "no_rope_layer_interval": (tiny_models.llama, 4),
    "no_rope_layers": (tiny_models.llama, [1, 1, 0]),
    "partial_rotary_factor": (tiny_models.llama, 0.5),
    "rope_interleaved": (tiny_models.llama, True),
    "rope_traditional": (tiny_models.llama, True),
    "rotary_pct": (tiny_models.llama, 0.25),
}


@pytest.mark.parametrize("key", SWITCHED)
def test_switches_that_are_not_modelled_are_refused(key: str, tmp_path: Path) -> None:
    made, value = SWITCHED[key]
    config, tensors = made(**{key: value})
    with pytest.raises(UsageError, match=f"config.json has {key}: .*, which is not modelled; expected "):
        opened(tmp_path, config, tensors)


def test_every_switch_is_tried() -> None:
    assert {key for family in FAMILIES for key in family.switches} == SWITCHED.keys()


def test_switches_that_are_off_change_nothing(tmp_path: Path) -> None:
    """As published configurations have them."""
    off = {"add_cross_attention": False, "pruned_heads": {}, "is_encoder_decoder": False, "sliding_window": None}
    for name, ((config, tensors), _, _) in LAYOUTS.items():
        more = {"layer_types": ["full_attention"] * 3, "is_causal": True} if name.startswith("Llama") else {}
        opened(tmp_path / name, {**off, **more, **config}, tensors)


def test_a_sliding_window_bounds_the_prompt(tmp_path: Path) -> None:
    config, tensors = tiny_models.llama(model_type="mistral", sliding_window=6)
    assert opened(tmp_path, config, tensors).most_tokens == 6


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


@pytest.mark.parametrize("weights", [{}, {"weight_map": {}}, {"weight_map": {"a": "../b.safetensors"}}])
def test_an_index_of_something_else_is_refused(weights: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(weights))
    with pytest.raises(UsageError, match=r"index.json: (no weight_map|the file '\.\./b.safetensors')"):
        open_weights(tmp_path)
