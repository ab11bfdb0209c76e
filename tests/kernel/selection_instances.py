"""Random instances of token selection, and their descent in doubles, by no code of the kernel."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.token_selection import Selection, Tokens

Array = np.ndarray[Any, Any]
_VALUES = {"linear": lambda x: -x, "logistic": lambda x: np.logaddexp(0, -x), "exponential": lambda x: np.exp(-x)}
_SLOPES = {"linear": lambda x: 1.0, "logistic": lambda x: 1 / (1 + np.exp(x)), "exponential": lambda x: np.exp(-x)}


@dataclass(frozen=True)
class Instance:
    """Token 0 of every input is chosen, and is the best."""

    selection: Selection
    loss: Loss

    @property
    def _inputs(self) -> list[tuple[Array, Array]]:
        tokens = self.selection.tokens
        found = []
        for i in range(tokens.count):
            keys = np.array([[number(x) for x in row] for row in tokens.keys_of(i).to_rows()])
            found.append((keys, np.array([number(x) for x in tokens.scores_of(i)])))
        return found

    def excess(self, point: Array) -> float:
        """F by its definition."""
        value, total = _VALUES[self.loss.name], 0.0
        for keys, scores in self._inputs:
            total += value(_softmax(keys @ point) @ scores) - value(scores[0])
        return total

    def gradient(self, point: Array) -> Array:
        """Of F."""
        total = np.zeros(len(point))
        for keys, scores in self._inputs:
            share = _softmax(keys @ point)
            mean = share @ scores
            total -= _SLOPES[self.loss.name](mean) * (keys.T @ (share * (scores - mean)))
        return total

    def hessian(self, point: Array, distance: float = 1e-5) -> Array:
        """Of F, by differences."""
        rows = [
            (self.gradient(point + distance * axis) - self.gradient(point - distance * axis)) / (2 * distance)
            for axis in np.eye(len(point))
        ]
        return (np.array(rows) + np.array(rows).T) / 2


def number(value: fmpq) -> float:
    return int(value.p) / int(value.q)


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def random_instance(seed: int, equal: bool = False) -> Instance:
    """One to three inputs of two to four tokens; where `equal`, the other tokens of an input have one score."""
    rng = random.Random(seed)
    n, length, d = rng.choice([1, 1, 2, 3]), rng.choice([2, 3, 4]), rng.choice([2, 3])
    keys = [[fmpq(rng.randint(-100, 100), 50) for _ in range(d)] for _ in range(n * length)]
    scores: list[fmpq] = []
    for _ in range(n):
        others = [fmpq(rng.randint(-100, 49), 100) for _ in range(length - 1)]
        scores += [fmpq(rng.randint(50, 300), 100), *([others[0]] * (length - 1) if equal else others)]
    tokens = Tokens(ExactMatrix.rational(keys), (length,) * n, tuple(scores))
    return Instance(Selection(tokens, (0,) * n), rng.choice(list(LOSSES.values())))
