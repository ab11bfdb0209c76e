"""Minimisers of the joint loss over balls, in doubles: by scipy from many starts. For tests and second opinions."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Instance:
    """Inputs X_i, labels, W and the loss: sum_i l(Y_i <v, X_i'softmax(X_i W'p)>)."""

    inputs: Sequence[Array]
    labels: Array
    W: Array
    loss: str


def softmax(instance: Instance, p: Array) -> list[Array]:
    """The attention that p gives each input."""
    found = []
    for X in instance.inputs:
        logits = X @ (instance.W.T @ p)
        powers = np.exp(logits - logits.max())
        found.append(powers / powers.sum())
    return found


def minimiser(
    instance: Instance, r: float, R: float, extra: Sequence[tuple[Array, Array]], *, seed: int, starts: int
) -> tuple[Array, Array]:
    """The best (v, p) found over |v| <= r, |p| <= R: from random starts and those of `extra`."""
    # Most changes of a certificate are of what is asserted of one and the same minimiser.
    asked = pickle.dumps((instance, r, R, extra, seed, starts))
    if asked not in _KNOWN:
        _KNOWN[asked] = _minimiser(instance, r, R, extra, seed, starts)
    return _KNOWN[asked]


_KNOWN: dict[bytes, tuple[Array, Array]] = {}


def _minimiser(
    instance: Instance, r: float, R: float, extra: Sequence[tuple[Array, Array]], seed: int, starts: int
) -> tuple[Array, Array]:
    d, k = instance.inputs[0].shape[1], instance.W.shape[0]
    draw = np.random.default_rng(seed)
    points = [np.concatenate([r * draw.normal(size=d), R * draw.random() * draw.normal(size=k)]) for _ in range(starts)]
    points += [1.2 * np.concatenate(pair) for pair in extra]
    best = None
    for point in points:
        found = minimize(_objective, point, args=(instance, r, R), jac=True, method="L-BFGS-B", options=_OPTIONS)
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    return _into(best.x[:d], r)[0], _into(best.x[d:], R)[0]


_OPTIONS = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-12}


def _into(vector: Array, radius: float) -> tuple[Array, bool]:
    """The vector, or the point of the sphere in its direction; and whether it was outside."""
    size = float(np.linalg.norm(vector))
    return (vector * radius / size, True) if size > radius else (vector, False)


def _objective(point: Array, instance: Instance, r: float, R: float) -> tuple[float, Array]:
    """The logarithm of the loss, as what is flat is told apart by it, and its gradient."""
    d = instance.inputs[0].shape[1]
    (v, v_outside), (p, p_outside) = _into(point[:d], r), _into(point[d:], R)
    weights = softmax(instance, p)
    margins = np.array([y * s @ X @ v for X, y, s in zip(instance.inputs, instance.labels, weights, strict=True)])
    # log l(y) and -l'(y) / l(y); for y > 30 both losses are e^-y to double precision.
    logs, ratios = -margins, np.ones(len(margins))
    if instance.loss == "logistic":
        near = margins < 30
        losses = np.logaddexp(0, -margins[near])
        logs[near], ratios[near] = np.log(losses), np.exp(-np.logaddexp(0, margins[near])) / losses
    powers = np.exp(logs - logs.max())
    value, slopes = logs.max() + np.log(powers.sum()), -ratios * powers / powers.sum()
    slope_v, slope_p = np.zeros(d), np.zeros(len(p))
    for X, y, s, slope in zip(instance.inputs, instance.labels, weights, slopes, strict=True):
        scores = X @ v
        slope_v += slope * y * (s @ X)
        slope_p += slope * y * (instance.W @ ((s * (scores - s @ scores)) @ X))
    if v_outside:
        slope_v = (slope_v - v * (v @ slope_v) / r**2) * r / np.linalg.norm(point[:d])
    if p_outside:
        slope_p = (slope_p - p * (p @ slope_p) / R**2) * R / np.linalg.norm(point[d:])
    return float(value), np.concatenate([slope_v, slope_p])
