"""The other parts of a layer: normalisation, activations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats

_erf = np.frompyfunc(math.erf, 1, 1)


def layer_norm(rows: Floats, weight: Floats, bias: Floats, eps: float) -> Floats:
    """(x - mean) / sqrt(variance + eps) weight + bias, row by row; the variance divides by the number of columns."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    normed: Floats = centred / np.sqrt(variance + eps) * weight + bias
    return normed


def rms_norm(rows: Floats, weight: Floats, eps: float) -> Floats:
    """x / sqrt(mean x^2 + eps) weight, row by row."""
    normed: Floats = rows / np.sqrt((rows * rows).mean(axis=-1, keepdims=True) + eps) * weight
    return normed


def _gelu(x: Floats) -> Floats:
    halves: Floats = x * (1 + _erf(x / math.sqrt(2)).astype(x.dtype)) / 2
    return halves


def _gelu_tanh(x: Floats) -> Floats:
    halves: Floats = x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    return halves


def _relu(x: Floats) -> Floats:
    return np.maximum(x, 0)


def silu(x: Floats) -> Floats:
    """x / (1 + e^-x), without overflow."""
    found: Floats = x * (1 + np.tanh(x / 2)) / 2
    return found


_ACTIVATIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "gelu": _gelu,
    "gelu_new": _gelu_tanh,
    "gelu_pytorch_tanh": _gelu_tanh,
    "relu": _relu,
    "silu": silu,
    "swish": silu,
}


def activation(name: Any) -> Callable[[Floats], Floats]:
    """The activation that a configuration names. Raises UsageError."""
    if name not in _ACTIVATIONS:
        raise UsageError(f"config.json: the activation is {name!r}, expected one of {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[name]
