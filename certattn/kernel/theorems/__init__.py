"""The theorems, by chapters: what each claim states, and the obligations that prove it.

Here is the one list of claims. A claim has the same chapter and the same name in every role: its theorem, its words,
its prover, its derivation, its page, its certificates. Whatever needs a table of claims makes it by `Claims`.

A chapter imports no other, but for `prompts.typical_prompt`, which is about a concrete prompt beside random ones and
uses `attention`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

T = TypeVar("T")

CHAPTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "attention": ("output-deviation", "softmax-mean", "attention-error", "cache-error"),
    "prompts": (
        "infinite-prompt-operator", "output-tail", "output-mean-square", "gradient-tail", "gradient-mean-square",
        "proposition-3-1", "proposition-3-4", "typical-prompt", "observed-prompt",
    ),
    "selection": (
        "max-margin", "token-optimality", "selection-direction", "selection-basins", "selection-counterexample",
        "regularization-path", "joint-max-margin", "selection-on-a-head",
    ),
    "training": (
        "descent-trajectory", "flow-trajectory", "regression-risk", "training-convergence", "risk-gap", "risk-transfer",
        "held-out-risk", "stochastic-descent", "full-batch-descent", "theorem-4-3",
    ),
    "spectrum": (
        "linearization", "singular-values", "equivalent-law", "spectral-distance", "not-marchenko-pastur",
        "finite-moments", "normalizer-bound", "universality-bound", "attention-spectrum", "causal-law",
    ),
    "arithmetic": ("binary64-exponential",),
}  # fmt: skip
CHAPTER_OF: Final = {claim: chapter for chapter in CHAPTERS for claim in CHAPTERS[chapter]}


def module_of(role: str, claim: str) -> str:
    """The name of a claim's module in a role, such as `provers`, of the package."""
    return f"certattn.{role}.{CHAPTER_OF[claim]}.{claim.replace('-', '_')}"


class Claims(Mapping[str, T]):
    """Something of every claim, by its name; its module is imported when it is asked for, and no other."""

    def __init__(self, load: Callable[[str], T]) -> None:
        self._load = load
        self._loaded: dict[str, T] = {}

    def __getitem__(self, claim: str) -> T:
        if claim not in self._loaded:
            if claim not in CHAPTER_OF:
                raise KeyError(claim)
            self._loaded[claim] = self._load(claim)
        return self._loaded[claim]

    def __contains__(self, claim: object) -> bool:
        return claim in CHAPTER_OF

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(CHAPTER_OF))

    def __len__(self) -> int:
        return len(CHAPTER_OF)


def attribute_of(role: str, name: str) -> Callable[[str], Any]:
    """What stands under this name in a claim's module of a role."""
    return lambda claim: getattr(import_module(module_of(role, claim)), name)
