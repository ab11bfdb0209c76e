"""What a configuration may say: keys that are read, keys with the values that are modelled, keys that change nothing.

Any other key is refused, whatever its value: what is not known cannot be known to leave the forward pass as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from certattn.kernel.errors import UsageError

CONFIG = "config.json"
# In place of a value for a key that has to be there.
REQUIRED: Final = object()
OFF: Sequence[Any] = (False, None)
_RECORD = "Heads that are recorded from a run of the model can be audited all the same"

# Training, heads on top of the model, vocabularies, generation, how weights are loaded and what is returned.
INERT = frozenset({
    "_name_or_path", "architectures", "model_type", "name_or_path", "torch_dtype", "dtype", "transformers_version",
    "unsloth_fixed", "unsloth_version", "_attn_implementation_autoset", "_commit_hash", "_remove_final_layer_norm",
    "use_cache", "output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "output_past",
    "torchscript", "use_bfloat16", "chunk_size_feed_forward", "pretraining_tp", "gradient_checkpointing",
    "cache_implementation", "initializer_range", "init_std", "initializer_factor", "embd_pdrop", "attn_pdrop",
    "resid_pdrop", "dropout", "hidden_dropout", "hidden_dropout_prob", "attention_dropout",
    "attention_probs_dropout_prob", "activation_dropout", "classifier_dropout", "embed_dropout", "qa_dropout",
    "seq_classif_dropout", "summary_first_dropout", "layerdrop", "bos_token_id", "eos_token_id", "pad_token_id",
    "sep_token_id", "cls_token_id", "mask_token_id", "decoder_start_token_id", "prefix", "tie_word_embeddings",
    "tie_weights_", "tie_encoder_decoder", "final_logit_softcapping", "id2label", "label2id", "num_labels",
    "problem_type", "finetuning_task", "task_specific_params", "summary_type", "summary_use_proj",
    "summary_activation", "summary_proj_to_labels", "directionality", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "type_vocab_size",
    "tokenizer_class", "transformers.js_config", "max_length", "min_length", "do_sample", "early_stopping",
    "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "typical_p",
    "repetition_penalty", "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
    "num_return_sequences", "output_scores", "return_dict_in_generate", "forced_bos_token_id",
    "forced_eos_token_id", "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens",
})  # fmt: skip
# For every layout: code of its own beside the weights, weights stored as something else, another sequence beside it.
EVERYWHERE: Mapping[str, Sequence[Any]] = {
    "auto_map": (None, {}), "quantization_config": (None,), "pruned_heads": ({}, None), "add_cross_attention": OFF,
    "is_encoder_decoder": OFF, "cross_attention_hidden_size": (None,),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The configuration of a model, as it is read.

    reads: keys with what their absence means, REQUIRED where they have to be there. only: keys with the values that
    are modelled; the first of these is what absence means.
    """

    path: Path
    config: Mapping[str, Any]
    reads: Mapping[str, Any]
    only: Mapping[str, Sequence[Any]]

    def require_known(self) -> None:
        """Refuse a configuration under which the model may compute something else. Raises UsageError."""
        modelled = {**EVERYWHERE, **self.only}
        for key, found in self.config.items():
            if key in modelled and not any(_same(found, value) for value in modelled[key]):
                expected = " or ".join(json.dumps(value) for value in modelled[key][:2])
                raise UsageError(
                    f"{self._where} has {key}: {_shown(found)}, which is not modelled; expected {expected}. {_RECORD}"
                )
            if key not in modelled and key not in self.reads and key not in INERT:
                raise UsageError(
                    f"{self._where} has {key}: {_shown(found)}, a key that is not known for the model_type "
                    f"{self.config.get('model_type')!r}, and so may change the forward pass; if it does not, take it "
                    f"out. {_RECORD}"
                )

    def get(self, key: str) -> Any:
        """The value, null among them, or what its absence means. Raises UsageError."""
        found = self.config.get(key, self.reads[key])
        if found is REQUIRED:
            raise UsageError(f"{self._where} has nothing for {key}, expected what the model was made with")
        return found

    def number(self, key: str) -> float:
        """A number > 0. Raises UsageError."""
        found = self.get(key)
        if not isinstance(found, int | float) or isinstance(found, bool) or not 0 < found < float("inf"):
            raise UsageError(f"{self._where} has {_shown(found)} for {key}, expected a number > 0")
        return found

    def count(self, key: str) -> int:
        """A whole number >= 1. Raises UsageError."""
        found = self.number(key)
        if found != int(found):
            raise UsageError(f"{self._where} has {found} for {key}, expected a whole number")
        return int(found)

    def flag(self, key: str) -> bool:
        """True or false. Raises UsageError."""
        found = self.get(key)
        if not isinstance(found, bool):
            raise UsageError(f"{self._where} has {_shown(found)} for {key}, expected true or false")
        return found

    def refuse(self, key: str, expected: str) -> UsageError:
        """An error about the value of this key."""
        return UsageError(f"{self._where} has {_shown(self.config.get(key))} for {key}, expected {expected}")

    @property
    def _where(self) -> str:
        return f"{self.path}: {CONFIG}"


def _same(found: Any, value: Any) -> bool:
    # 0 and 1 are equal to false and true in Python; models read them alike.
    return bool(found == value)


def _shown(found: Any) -> str:
    text = json.dumps(found)
    return f"{text[:80]}{'...' * (len(text) > 80)}"
