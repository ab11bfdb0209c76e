"""Whether a theorem may hold of some chosen tokens at a point of descent, or later: what doubles say beforehand.

Exact max-margin points and enclosed conditions are dear where there are many tokens. From the conditions of theorems D
and T these follow, whatever numbers a certificate would state, with rho_t = r_t / w:

    P < min c_i g_j,     P sum_t rho_t < 1 for every input i with neighbours j, P being their part of P(p),
    sum over bad t of c_i |g_t| b_t rho_t < Xi,     rho_t >= exp(-delta_t <p, u> - <z_t^, p^>) / w,

as kappa_t >= c_i |g_t| / w and r_t bounds what the token weighs at p itself. Theorem A has no bad tokens at all.
Where doubles show that one fails by far, nothing else is computed. What is wrong here costs a certificate, and proves
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Tokens
from certattn.provers.selection.active_set_in_doubles import multipliers_in_doubles
from certattn.provers.selection.reference_point import minimiser_across

Array = np.ndarray[Any, Any]

# By this factor a condition has to fail.
_BY_FAR = 1.05
# A slack below this counts as 0.
_TIGHT = 1e-9
_LARGE = 700.0


def in_doubles(x: fmpq) -> float:
    return float(arb(x))


class TokensInDoubles:
    """Keys and scores of all tokens in doubles, read once."""

    def __init__(self, tokens: Tokens) -> None:
        assert tokens.scores is not None
        denominator = tokens.keys.denominator
        rows = tokens.keys.numerators.tolist()
        self.keys = np.array([[in_doubles(fmpq(x, denominator)) for x in row] for row in rows])
        self.scores = np.array([in_doubles(x) for x in tokens.scores])
        self.offsets, self.lengths = np.array(tokens.offsets), np.array(tokens.lengths)
        self.input_of = np.repeat(np.arange(len(self.lengths)), self.lengths)

    def heaviest(self, point: Array) -> tuple[int, ...]:
        """The token of largest softmax weight of each input, the first of equals."""
        logits = self.keys @ point
        ends = zip(self.offsets, self.lengths, strict=True)
        return tuple(int(logits[start : start + length].argmax()) for start, length in ends)


@dataclass(frozen=True)
class Prospect:
    """Of chosen tokens that can be separated, as doubles say: the pairs and constants that the conditions are about.

    `contrasts` holds the z_j, `gaps` the g_j, `slopes` the c_i of each pair, `solution` p_mm.
    """

    contrasts: Array
    gaps: Array
    slopes: Array
    input_of: Array
    solution: Array

    @cached_property
    def margin(self) -> float:
        return float(1 / np.linalg.norm(self.solution))

    @cached_property
    def direction(self) -> Array:
        return np.asarray(self.solution * self.margin)

    @cached_property
    def slacks(self) -> Array:
        return np.asarray(self.contrasts @ self.solution - 1)

    @cached_property
    def bad(self) -> Array:
        """Where tokens score no less than the chosen ones."""
        return np.flatnonzero(self.gaps <= 0)

    @cached_property
    def has_bad_neighbours(self) -> bool:
        """Whether one of them is a neighbour, and the chosen tokens are not locally optimal."""
        return bool(np.any(self.slacks[self.bad] < _TIGHT))

    @cached_property
    def _neighbours(self) -> Array:
        """Of the chosen tokens, all of smaller scores where something may hold."""
        return np.flatnonzero((self.gaps > 0) & (self.slacks < _TIGHT))

    def may_hold(self, point: Array) -> bool:
        """Whether the conditions may hold at a point; where there are no bad tokens another theorem may."""
        if len(self.bad) == 0:
            return True
        if self.has_bad_neighbours:
            return False
        near = self._neighbours
        level, reaches = self._level(point), self._reaches(point)
        heights = self.contrasts[self.bad] @ self.direction
        dangers = (self.slopes * -self.gaps)[self.bad] * heights * reaches
        if level > _BY_FAR * (self.slopes * self.gaps)[near].min() or dangers.sum() > _BY_FAR * self.margin:
            return False
        sums = np.bincount(self.input_of[self.bad], reaches, minlength=int(self.input_of.max()) + 1)
        return bool(np.all(level * sums[self.input_of[near]] <= _BY_FAR))

    def _level(self, point: Array) -> float:
        near = self._neighbours
        exponents = np.minimum(-self.contrasts[near] @ point, _LARGE)
        return float((self.slopes * self.gaps)[near] @ np.exp(exponents))

    def _reaches(self, point: Array) -> Array:
        """The least that the rho_t can be."""
        distance = float(self.direction @ point)
        near = self._neighbours
        rows, bad = self._across(near), self._across(self.bad)
        logs, aside = np.log((self.slopes * self.gaps)[near]), point - distance * self.direction
        exponents = logs - rows @ minimiser_across(rows, logs).nearest(aside)
        log_weight = float(exponents.max() + np.log(np.exp(exponents - exponents.max()).sum()))
        slacks = self.slacks[self.bad] * self.margin
        return np.asarray(np.exp(np.clip(-slacks * distance - bad @ aside - log_weight, -_LARGE, _LARGE)))

    def _across(self, pairs: Array) -> Array:
        """The z_j^ of these pairs."""
        rows = self.contrasts[pairs]
        return np.asarray(rows - np.outer(rows @ self.direction, self.direction))


def prospect(tokens: TokensInDoubles, loss: Loss, indices: tuple[int, ...]) -> Prospect | None:
    """That of these tokens; None where doubles show that they cannot be separated from the others."""
    chosen = tokens.offsets + np.array(indices)
    others = np.ones(len(tokens.scores), dtype=bool)
    others[chosen] = False
    input_of = tokens.input_of[others]
    contrasts = tokens.keys[chosen][input_of] - tokens.keys[others]
    gaps = tokens.scores[chosen][input_of] - tokens.scores[others]
    lengths = np.linalg.norm(contrasts, axis=1)
    if len(lengths) == 0 or lengths.min() == 0:
        return None
    rows = contrasts / lengths[:, None]
    multipliers = multipliers_in_doubles(rows, lengths.min() / lengths)
    if multipliers is None or not np.any(multipliers > 0):
        return None
    solution = multipliers @ rows
    slopes = np.array([float(loss.slope(arb(float(score)))) for score in tokens.scores[chosen]])[input_of]
    return Prospect(contrasts, gaps, slopes, input_of, solution / float((contrasts @ solution).min()))
