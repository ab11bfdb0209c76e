"""A head and attention that nearly minimise the joint loss over balls, in doubles: comparators for the joint path.

For given attention the loss is convex in the head, for a given head it is nearly convex in attention where that is
concentrated: Newton's steps on the spheres, in turn. Weights of the inputs are relative, so that nothing underflows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.joint_path import LabelMargin
from certattn.provers.selection.joint_multipliers import floats

Array = np.ndarray[Any, Any]

_TURNS, _STEPS = 40, 100
_DIGITS = 20


class JointLoss:
    """sum_i l(y_i) as a function of v and p, for the inputs of `head`."""

    def __init__(self, head: LabelMargin, loss: str) -> None:
        selection = head.selection
        self.loss, self.chosen = loss, floats(head.rows.take_rows(selection.rows))
        gaps, keys = floats(head.differences), floats(selection.differences)
        self.pairs = [selection.pairs_of.get(i, []) for i in range(selection.tokens.count)]
        self.gaps, self.keys = [gaps[js] for js in self.pairs], [keys[js] for js in self.pairs]

    def minimiser(self, v: Array, p: Array, r: float, R: float) -> tuple[Array, Array] | None:
        """Near these directions, on the spheres of radius r and R; None where steps do not converge."""
        v, p = v * (r / np.linalg.norm(v)), p * (R / np.linalg.norm(p))
        with np.errstate(all="ignore"):
            try:
                for _ in range(_TURNS):
                    before = v, p
                    v = self._head(v, p, r)
                    p = self._attention(v, p, R)
                    if np.linalg.norm(v - before[0]) <= 1e-14 * r and np.linalg.norm(p - before[1]) <= 1e-14 * R:
                        break
            except np.linalg.LinAlgError:
                return None
        return (v, p) if bool(np.isfinite(v).all() and np.isfinite(p).all()) else None

    def _softmax(self, p: Array) -> list[Array]:
        """The weights of the other tokens of every input."""
        found = []
        for keys in self.keys:
            products = keys @ p
            least = min(0.0, float(products.min(initial=0.0)))
            powers = np.exp(least - products)
            found.append(powers / (math.exp(least) + powers.sum()))
        return found

    def _slopes(self, margins: Array) -> tuple[Array, Array]:
        """-l'(y), relative to the largest, and l''(y) / -l'(y)."""
        if self.loss == "exponential":
            logs, ratios = -margins, np.ones(len(margins))
        else:
            logs, ratios = -np.logaddexp(0, margins), 1 / (1 + np.exp(-margins))
        return np.exp(logs - logs.max()), ratios

    def _head(self, v: Array, p: Array, r: float) -> Array:
        rows = np.array([x - s @ w for x, s, w in zip(self.chosen, self._softmax(p), self.gaps, strict=True)])
        for _ in range(_STEPS):
            weights, ratios = self._slopes(rows @ v)
            weights = weights / weights.sum()
            hessian = (rows * (weights * ratios)[:, None]).T @ rows
            v, step = _on_sphere(v, r, weights @ rows, hessian, rows)
            if step <= 1e-15 * r:
                break
        return v

    def _attention(self, v: Array, p: Array, R: float) -> Array:
        every = np.concatenate(self.keys)
        gaps = [w @ v for w in self.gaps]
        for _ in range(_STEPS):
            softmax = self._softmax(p)
            margins = np.array([x @ v - s @ g for x, s, g in zip(self.chosen, softmax, gaps, strict=True)])
            weights, ratios = self._slopes(margins)
            pull, hessian = np.zeros(len(p)), np.zeros((len(p), len(p)))
            for weight, ratio, s, g, z in zip(weights, ratios, softmax, gaps, self.keys, strict=True):
                middle, cost = s @ z, s @ g
                centred = z - middle
                turn = (s * g) @ centred
                rest = 1 - s.sum()
                bend = (centred * (s * (g - cost))[:, None]).T @ centred - rest * cost * np.outer(middle, middle)
                pull += weight * turn
                hessian += weight * (ratio * np.outer(turn, turn) + bend)
            size = float(np.linalg.norm(pull))
            p, step = _on_sphere(p, R, pull / size, hessian / size, every)
            if step <= 1e-15 * R:
                break
        return p


def _on_sphere(point: Array, radius: float, pull: Array, hessian: Array, rows: Array) -> tuple[Array, float]:
    """The point after a step of Newton's towards where the pull is along it, and the length of the step; no product
    with a row changes by more than 1."""
    unit = point / radius
    across = np.eye(len(point)) - np.outer(unit, unit)
    values, vectors = np.linalg.eigh(across @ hessian @ across)
    least = max(float(pull @ unit) / radius, 1e-3 * float(np.linalg.norm(pull)) / radius)
    step = across @ (vectors @ ((vectors.T @ (across @ pull)) / (np.abs(values) + least)))
    largest = float(np.abs(rows @ step).max())
    if largest > 1:
        step = step / largest
    moved = point + step
    return moved * (radius / np.linalg.norm(moved)), float(np.linalg.norm(step))


def just_inside(point: Array, norm: fmpq) -> ExactMatrix:
    """The point in this direction whose norm is `norm`, or less by few units of its last digit."""
    scale = 10**_DIGITS
    numbers = [fmpq(*float(x).as_integer_ratio()) for x in point]
    squared = sum((x * x for x in numbers), fmpq(0)) / (norm * norm)
    # An upper bound of |point| / norm, and a little more so that rounding does not lead out.
    root = fmpq(math.isqrt(math.ceil(squared * scale * scale)) + 1, scale) * (1 + fmpq(len(numbers) + 2, scale))
    return ExactMatrix.row_vector([fmpq(round(x / root * scale), scale) for x in numbers])
