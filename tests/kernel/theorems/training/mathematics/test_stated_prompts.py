"""How certificates state prompts: which tokens belong to which."""

from __future__ import annotations

from pathlib import Path

from certattn.kernel.document.certificate import load
from certattn.kernel.theorems.training import stated_prompts
from certattn.kernel.theorems.training.held_out_risk import read_given

ROOT = Path(__file__).resolve().parents[5]
HELD_OUT = ROOT / "certificates" / "training" / "held-out-risk"


def test_tokens_and_labels_are_cut_as_the_lengths_say() -> None:
    stated = read_given(load(HELD_OUT / "two-lengths.yaml")).prompts
    assert stated.lengths == [6, 18] * 30
    assert (stated.count, stated.tokens) == (60, 720)
    first, second = stated.prompts[:2]
    tokens, labels = (stated.given[field].load() for field in (stated_prompts.TOKENS, stated_prompts.LABELS))
    assert first.keys.to_rows() == tokens.to_rows()[:6]
    assert second.keys.to_rows() == tokens.to_rows()[6:24]
    assert second.values.to_rows() == labels.to_rows()[6:24]


def test_without_lengths_all_prompts_are_alike() -> None:
    stated = read_given(load(HELD_OUT / "signs-line.yaml")).prompts
    assert stated.lengths == [20] * 300
