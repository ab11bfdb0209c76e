"""What a configuration may switch on that the forward passes here do not have: it is refused, never left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from certattn.kernel.errors import UsageError
from certattn.models.weights import CONFIG, Weights

# Keys of a configuration, each with the values that are modelled. A list has to have such entries.
Switches = Mapping[str, Sequence[Any]]

OFF: Sequence[Any] = (False, None, 0, [], {})
ON: Sequence[Any] = (True, None)
ONE: Sequence[Any] = (1, None)

EVERYWHERE: Switches = {
    # code beside the weights, which may compute anything; weights that are stored as something else
    "auto_map": OFF, "quantization_config": OFF, "pruned_heads": OFF,
    # another sequence
    "add_cross_attention": OFF, "is_encoder_decoder": OFF,
    # other scores
    "alibi": OFF, "attention_chunk_size": OFF, "attention_multiplier": OFF, "attn_logit_softcapping": OFF,
    "attn_temperature_tuning": OFF, "clip_qkv": OFF, "position_embedding_type": ("absolute", None),
    "qk_layernorm": OFF, "qk_norm": OFF, "query_pre_attn_scalar": OFF, "use_alibi": OFF, "use_qk_norm": OFF,
    # other sums
    "embedding_multiplier": ONE, "parallel_attn": OFF, "residual_multiplier": ONE, "scale_depth": ONE, "scale_emb": ONE,
    "scale_embedding": OFF, "use_parallel_residual": OFF,
}  # fmt: skip
UNDER_A_MASK: Switches = {"bidirectional": OFF, "is_causal": ON, "use_bidirectional_attention": OFF}
LEARNED_POSITIONS: Switches = dict.fromkeys(("rope_parameters", "rope_scaling", "rope_theta", "sliding_window"), OFF)


def require_modelled(weights: Weights, switches: Switches) -> None:
    """Refuse a configuration under which the model computes something else than is computed here. Raises UsageError."""
    for key, values in switches.items():
        found = weights.config.get(key, values[0])
        entries = found if isinstance(found, list) and found else [found]
        if not all(entry in values for entry in entries):
            shown = json.dumps(found)
            shown, expected = f"{shown[:80]}{'...' * (len(shown) > 80)}", " or ".join(map(json.dumps, values[:2]))
            raise UsageError(
                f"{weights.path}: {CONFIG} has {key}: {shown}, which is not modelled; expected {expected}. "
                "Heads that are recorded from a run of the model can be audited all the same"
            )
