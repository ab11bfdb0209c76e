"""What is sought for a gradient's tail: levels and rules that bound the norm of its error.

For the gradient in V that is the l2 norm of the softmax mean, sought as for `output-tail`. For the gradient in U
a threshold x of |V (C_L - C)|_F is shared out: entries get e_ij = s_ij (1 - r) x with sum s_ij^2 = 1, and the two
frames get levels a and b with |a| |b| = r x, so that the norm of the table e_ij + a_i b_j is at most x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from flint import fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.random_prompts import GradientError
from certattn.provers.output import text_rows
from certattn.provers.prompts.entry_tails import entry_families, output_families
from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_frames import frame_of
from certattn.provers.prompts.tail_goals import Goal, goals_of
from certattn.provers.prompts.tail_lengths import for_every_length
from certattn.provers.prompts.tail_rules import Candidate, Family
from certattn.provers.rounding import round_down

_LEVEL_DIGITS = 5
_LEAST_SHARE = 1e-3
# Shares of the threshold that the product of the outputs' errors may take.
_REMAINDERS = (0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6)
# Levels for which a sum of powers of bounds is smallest grow like deviations to this power: p / (p + 2), p about 6.
_GROWTH = 0.75
# Rounding levels down leaves the stated threshold provable.
_SAFE = 1 - 1e-9


class Search(Protocol):
    """A bound of the norm's tail as a function of the threshold and the length."""

    @property
    def deviation(self) -> float:
        """The natural unit of thresholds, for one token."""

    def log_bound(self, eps: float, length: float) -> float: ...
    def tuned(self, eps: float, length: float) -> Search: ...
    def witness(self, eps: fmpq, length: int, log_delta: float | None = None) -> dict[str, Plain]: ...


def search_of(error: GradientError) -> Search:
    if error.gradient == "V":
        (goal,) = goals_of(error.prompt_without_values, [], "l2")
        return SearchInV(goal)
    return search_in_u(error)


@dataclass(frozen=True)
class SearchInV:
    """|tau_L - tau|, the l2 norm of the output for V = I."""

    goal: Goal

    @property
    def deviation(self) -> float:
        return self.goal.target.deviation

    def log_bound(self, eps: float, length: float) -> float:
        return self.goal.target.log_bound(eps, length)

    def tuned(self, eps: float, length: float) -> SearchInV:
        return SearchInV(self.goal.tuned(eps, length))

    def witness(self, eps: fmpq, length: int, log_delta: float | None = None) -> dict[str, Plain]:
        return {"tokens": self.goal.witness(eps, length, log_delta)}


@dataclass(frozen=True)
class Frame:
    """A frame, the families for both signs of its rows, and shares of unit length."""

    frame: ExactMatrix
    families: Sequence[Sequence[Family]]
    shares: Array


@dataclass(frozen=True)
class SearchInU:
    """sqrt(`factor`) |V (C_L - C)|_F; `entries` by row and column, only i <= j where there are no `outputs`."""

    factor: float
    outputs: Frame | None
    tokens: Frame
    entries: Sequence[Sequence[Sequence[Family]]]
    shares: Array
    remainder: float

    @property
    def deviation(self) -> float:
        largest = max(
            families[0].deviation / share
            for row, shares in zip(self.entries, self.shares, strict=True)
            for families, share in zip(row, shares[len(shares) - len(row) :], strict=True)
        )
        return float(math.sqrt(self.factor) * largest / (1 - self.remainder))

    def log_bound(self, eps: float, length: float) -> float:
        levels = self._levels(eps / math.sqrt(self.factor))
        logs = [candidate.log_bound for candidate in self._of_entries(levels[0], length)]
        return float(np.logaddexp.reduce([self._frames(levels, length), float(np.logaddexp.reduce(logs))]))

    def tuned(self, eps: float, length: float) -> SearchInU:
        """With the best of some shares for the product of the outputs' errors."""
        tried = [replace(self, remainder=remainder) for remainder in _REMAINDERS]
        return min(tried, key=lambda search: search.log_bound(eps, length))

    def witness(self, eps: fmpq, length: int, log_delta: float | None = None) -> dict[str, Plain]:
        """Rules at that length; with `log_delta` for every larger one too. Those of entries all hold for ever."""
        threshold = float(eps.p) / float(eps.q)
        spare = None if log_delta is None else log_delta - self.log_bound(threshold, float(length))
        entries, a, b = self._levels(threshold / math.sqrt(self.factor) * _SAFE)
        found: dict[str, Plain] = {"tokens": _framed(self.tokens, b, length, spare)}
        if self.outputs is not None:
            found["outputs"] = _framed(self.outputs, a, length, spare)
        rows = [[_level(level) for level in row] for row in entries]
        rules = [candidate.rule for candidate in self._of_entries(entries, length)]
        return {**found, "entries": {"levels": [list(row) for row in rows], "bounds": list(rules)}}

    def _levels(self, threshold: float) -> tuple[Array, Array, Array]:
        """Of the entries, the outputs and the tokens."""
        entries = self.shares * (1 - self.remainder) * threshold
        reach = math.sqrt(self.remainder * threshold)
        if self.outputs is None:
            return entries, self.tokens.shares * reach, self.tokens.shares * reach
        # Each frame is given what its deviations ask for.
        ratio = math.sqrt(_size(self.outputs) / _size(self.tokens))
        return entries, self.outputs.shares * reach * ratio, self.tokens.shares * reach / ratio

    def _frames(self, levels: tuple[Array, Array, Array], length: float) -> float:
        found = [_log_bound(self.tokens, levels[2], length)]
        if self.outputs is not None:
            found.append(_log_bound(self.outputs, levels[1], length))
        return float(np.logaddexp.reduce(found))

    def _of_entries(self, levels: Array, length: float) -> list[Candidate]:
        """The best rules of the entries that there are: of each row the last ones."""
        rows = zip(levels, self.entries, strict=True)
        return [found for row, of in rows for found in _best(of, row[len(row) - len(of) :], length)]


def _best(families: Sequence[Sequence[Family]], levels: Array, length: float) -> list[Candidate]:
    """The best rule of every family, those of a level one after the other."""
    pairs = zip(levels, families, strict=True)
    return [family.best(float(level), length) for level, pair in pairs for family in pair]


def search_in_u(error: GradientError) -> SearchInU:
    """Frames, families and first shares for the gradient in U."""
    prompt = error.prompt
    tokens = _frame(error, ExactMatrix.identity(prompt.dimension))
    symmetric = prompt.values() == ExactMatrix.identity(prompt.dimension)
    outputs = None if symmetric else _frame(error, prompt.values())
    left = tokens.frame if outputs is None else outputs.frame @ prompt.values()
    entries = [
        [
            entry_families(prompt, left.take_rows([i]), tokens.frame.take_rows([j]))
            for j in range(i if symmetric else 0, tokens.frame.rows)
        ]
        for i in range(left.rows)
    ]
    deviations = np.zeros((left.rows, tokens.frame.rows))
    for i, row in enumerate(entries):
        for j, pair in enumerate(row, start=tokens.frame.rows - len(row)):
            deviations[i, j] = pair[0].deviation
            if symmetric:
                deviations[j, i] = deviations[i, j]
    factor = float(error.factor.p) / float(error.factor.q)
    return SearchInU(factor, outputs, tokens, entries, _shares(deviations), _REMAINDERS[4])


def _frame(error: GradientError, map_: ExactMatrix) -> Frame:
    """The frame that suits the errors of V x, or of x for the identity."""
    with_values = map_ != ExactMatrix.identity(error.prompt.dimension)
    prompt = error.prompt if with_values else error.prompt_without_values
    frame, deviations = frame_of(prompt)
    families = [output_families(prompt, ExactMatrix.row_vector(row)) for row in (frame @ map_).to_rows()]
    return Frame(frame, families, _shares(deviations))


def _shares(deviations: Array) -> Array:
    """Shares of unit length that grow with the deviations."""
    raised = np.maximum(deviations, _LEAST_SHARE * max(float(deviations.max()), 1e-300)) ** _GROWTH
    length = np.linalg.norm(raised)
    return np.asarray(raised / length) if length > 0 else raised


def _size(frame: Frame) -> float:
    return max(math.sqrt(sum(pair[0].deviation ** 2 for pair in frame.families)), 1e-300)


def _log_bound(frame: Frame, levels: Array, length: float) -> float:
    return float(np.logaddexp.reduce([found.log_bound for found in _best(frame.families, levels, length)]))


def _framed(frame: Frame, levels: Array, length: int, spare: float | None) -> Plain:
    """Its rules; for every larger length if bounds may be larger than at this one by `spare`, in their logarithms."""
    found = _best(frame.families, levels, length)
    rules = [candidate.rule for candidate in found]
    if spare is not None:
        families = [
            (family, float(level)) for level, pair in zip(levels, frame.families, strict=True) for family in pair
        ]
        rules = [
            for_every_length(family, level, length, candidate.log_bound + spare)
            for (family, level), candidate in zip(families, found, strict=True)
        ]
    return {"frame": text_rows(frame.frame), "levels": [_level(level) for level in levels], "bounds": list(rules)}


def _level(level: float) -> Plain:
    return format_rational(round_down(fmpq(*float(level).as_integer_ratio()), _LEVEL_DIGITS))
