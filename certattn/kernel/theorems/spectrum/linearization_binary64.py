"""The stages of `linearization_inputs` in doubles: the same numbers as in Arb, as wider balls, much faster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from flint import arb

from certattn.fast.attention_matrix import Parts, parts
from certattn.fast.rows import Dense
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite
from certattn.kernel.mathematics.linearization import REMAINDER, STAGES
from certattn.kernel.theorems.spectrum.linearization_inputs import Attention
from certattn.kernel.theorems.spectrum.matrix_binary64 import doubles, spectrum_of
from certattn.kernel.theorems.spectrum.matrix_inputs import Spectrum

if TYPE_CHECKING:
    from certattn.kernel.theorems.spectrum.singular_values import Hint


class FloatStages:
    """Spectra and tbar of one problem, each computed once. The hint is one for M - L. Raises Binary64Error."""

    def __init__(self, attention: Attention, hint: Hint | None) -> None:
        self._attention = attention
        self._hint = hint
        self._spectra: dict[str, Spectrum] = {}

    def spectrum(self, stage: str) -> Spectrum:
        """Of a stage, in Arb balls."""
        if stage not in self._spectra:
            hint = self._hint if stage == REMAINDER else None
            self._spectra[stage] = spectrum_of(self.dense(stage), hint, self._attention.stages[stage].rank_bound)
        return self._spectra[stage]

    @property
    def excess(self) -> Sequence[arb]:
        """tbar_i."""
        return self._parts.excess

    def dense(self, stage: str) -> Dense:
        """A stage in doubles, within a proved distance."""
        return self._parts.stage(STAGES[stage])

    @cached_property
    def _parts(self) -> Parts:
        attention = self._attention
        with naming_what_is_not_finite([attention.queries, attention.keys]):
            queries, keys = doubles(attention.queries), doubles(attention.keys)
            return parts(queries, keys, attention.scale, attention.rate)
