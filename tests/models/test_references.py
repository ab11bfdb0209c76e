"""Forward passes against those of transformers: stored ones of tiny drawn models, and its own where it is installed."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.models.heads import LayerHeads, attend, side_by_side
from certattn.models.layouts import LAYOUTS, model_of
from certattn.models.weights import open_weights

DATA = Path(__file__).parent / "data"
CASES = sorted(folder.name for folder in DATA.iterdir())
# transformers computes norms and softmax in float32; a wrong epsilon or activation makes 1e-4 and more.
CLOSE = 5e-6


def factor(scale: str) -> float:
    return float(scale.removeprefix("1/sqrt(").removesuffix(")")) ** -0.5


def gap(found: np.ndarray[Any, Any], reference: np.ndarray[Any, Any]) -> float:
    """The largest difference, in units of the largest number; keys that are shared stand once in the reference."""
    if len(found) != len(reference):
        reference = np.repeat(reference, len(found) // len(reference), axis=0)
    assert found.shape == reference.shape
    return float(np.abs(found - reference).max() / np.abs(reference).max())


def worst_gaps(folder: Path, reference: Any) -> dict[str, float]:
    """By kind of array, over all layers."""
    model = model_of(open_weights(folder))
    shape, worst = model.shape, dict.fromkeys(("queries", "keys", "values", "attention"), 0.0)
    layers: list[LayerHeads] = list(model.heads(reference["ids"], shape.layers))
    assert len(layers) == shape.layers
    for heads in layers:
        mixed = attend(
            heads.queries, heads.keys, heads.values, factor(shape.scale),
            causal=shape.causal, window=heads.window, cap=shape.cap,
        )  # fmt: skip
        arrays = {"queries": heads.queries, "keys": heads.keys, "values": heads.values, "attention": mixed}
        for name, array in arrays.items():
            worst[name] = max(worst[name], gap(array, reference[f"layer{heads.layer}.{name}"]))
    return worst


@pytest.mark.parametrize("case", CASES)
def test_heads_are_those_of_transformers(case: str) -> None:
    with np.load(DATA / case / "reference.npz") as reference:
        assert max(worst_gaps(DATA / case, reference).values()) < CLOSE


def test_every_layout_has_a_reference() -> None:
    kinds = {json.loads((DATA / case / "config.json").read_text())["model_type"] for case in CASES}
    # The other names of RoBERTa are the same code there.
    assert kinds == {kind for layout in LAYOUTS for kind in layout.kinds} - {"xlm-roberta", "camembert"}


@pytest.mark.parametrize(
    ("case", "key", "value"),
    [
        ("bert-decoder", "is_decoder", False),
        ("gpt-neox", "use_parallel_residual", False),
        ("gpt-neox", "rotary_pct", 0.25),
        ("gemma2", "attn_logit_softcapping", None),
        ("gemma2", "query_pre_attn_scalar", 8),
        ("mistral", "sliding_window", 6),
        ("mistral", "sliding_window", None),
        ("qwen3", "max_window_layers", 2),
        ("opt-350m", "do_layer_norm_before", True),
        ("llama", "rms_norm_eps", 1e-3),
        ("llama", "hidden_act", "gelu"),
        ("rope-yarn", "rope_scaling", {"rope_type": "linear", "factor": 4.0}),
        ("rope-dynamic", "max_position_embeddings", 14),
    ],
)
def test_the_references_tell_another_model(case: str, key: str, value: Any, tmp_path: Path) -> None:
    """What one key changes is seen: the comparison is sharp enough to find a forward pass that leaves it out."""
    config = json.loads((DATA / case / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, key: value}))
    (tmp_path / "model.safetensors").symlink_to(DATA / case / "model.safetensors")
    with np.load(DATA / case / "reference.npz") as reference:
        assert max(worst_gaps(tmp_path, reference).values()) > 100 * CLOSE


@pytest.mark.parametrize("case", ["bert", "gpt2", "gpt-neox", "llama", "opt-350m"])
def test_what_heads_add_to_the_stream_is_in_units_of_it(case: str) -> None:
    weights = open_weights(DATA / case)
    model = model_of(weights)
    name = {
        "bert": "encoder.layer.1.attention.output.dense", "gpt2": "h.1.attn.c_proj",
        "gpt-neox": "layers.1.attention.dense", "llama": "layers.1.self_attn.o_proj",
        "opt-350m": "decoder.layers.1.self_attn.out_proj",
    }[case]  # fmt: skip
    matrix = weights.tensors[f"{name}.weight"].read(f"{name}.weight").astype(float)
    matrix = matrix.T if case == "gpt2" else matrix
    with np.load(DATA / case / "reference.npz") as reference:
        (_, layer) = model.heads(reference["ids"], 2)
        stream = np.linalg.norm(reference["layer1.stream"], axis=1)
        for head in range(model.shape.heads):
            alone = reference["layer1.attention"].astype(float)
            alone[np.arange(len(alone)) != head] = 0
            added = np.linalg.norm(side_by_side(alone) @ matrix.T, axis=1)
            assert layer.shares is not None
            assert np.allclose(layer.shares[head], added / stream, rtol=1e-4)


def test_the_share_of_a_head_whose_sum_is_normalised() -> None:
    """Gemma 2 normalises what all heads give together: the parts of all heads still add up to that."""
    weights = open_weights(DATA / "gemma2")
    name, norm = "layers.0.self_attn.o_proj.weight", "layers.0.post_attention_layernorm.weight"
    matrix, scale = (weights.tensors[key].read(key).astype(float) for key in (name, norm))
    with np.load(DATA / "gemma2" / "reference.npz") as reference:
        (layer,) = model_of(weights).heads(reference["ids"], 1)
        attention = reference["layer0.attention"].astype(float)
        added = side_by_side(attention) @ matrix.T
        size = np.sqrt((added**2).mean(axis=1, keepdims=True) + 1e-5)
        alone = attention * (np.arange(len(attention)) == 2)[:, None, None]
        part = side_by_side(alone) @ matrix.T / size * (1 + scale)
        stream = np.linalg.norm(reference["layer0.stream"], axis=1)
        assert layer.shares is not None
        assert np.allclose(layer.shares[2], np.linalg.norm(part, axis=1) / stream, rtol=1e-4)


# Where transformers is installed; elsewhere what it computed stands in files.
if all(map(importlib.util.find_spec, ("torch", "transformers", "safetensors"))):

    @pytest.mark.heavy
    @pytest.mark.parametrize("case", CASES)
    def test_transformers_itself_agrees(case: str, tmp_path: Path) -> None:
        """Other weights and tokens than the stored ones, in the version that is installed."""
        tool = references()
        seed = 1000 + CASES.index(case)
        tool.write(tmp_path / case, tool.CASES[case], seed)
        # And with the configuration as transformers writes it.
        tool.built(tool.CASES[case], seed).save_pretrained(tmp_path / "saved")
        with np.load(tmp_path / case / "reference.npz") as reference:
            assert max(worst_gaps(tmp_path / case, reference).values()) < CLOSE
            assert max(worst_gaps(tmp_path / "saved", reference).values()) < CLOSE


def references() -> Any:
    """tools/model_references.py as a module."""
    path = Path(__file__).parents[2] / "tools" / "model_references.py"
    spec = importlib.util.spec_from_file_location("model_references", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_cases_are_those_that_are_stored() -> None:
    assert {name: dict(config) for name, config in references().CASES.items()} == {
        case: json.loads((DATA / case / "config.json").read_text()) for case in CASES
    }
