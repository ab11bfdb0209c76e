"""Random prompts drawn with numpy: how far their softmax outputs are from the infinite prompt's, and quantiles.

A simulation proves nothing; it shows how sharp a proved bound is. Memory is bounded: prompts are drawn in
chunks. For Gaussian tokens only the scores are drawn: given the weights, the rest of the output is Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import scale_ball, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Law,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
    leaves,
)
from certattn.kernel.mathematics.spreads import spread_of
from certattn.kernel.theorems.prompts.ball_of_queries import CENTRE, BallOfQueries
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.provers.rounding import as_float, doubles

Array = np.ndarray[Any, Any]

# Tokens drawn at once.
_CHUNK = 2**19
_BITS = 128
# Of an ascent over queries.
_STARTS, _ASCENT = 24, 40
# The 95% interval of a normal, for ranks.
_NORMAL = 1.959964


@dataclass(frozen=True)
class Quantile:
    """A simulated quantile with the 95% confidence interval that order statistics give."""

    value: float
    low: float
    high: float


def quantile(sample: Array, delta: float) -> Quantile:
    """The (1 - delta)-quantile of the law that a sample was drawn from; infinite where the sample does not reach."""
    ordered, count = np.sort(sample), len(sample)
    rank, spread = count * (1 - delta), _NORMAL * math.sqrt(count * delta * (1 - delta))

    def at(position: float) -> float:
        index = math.ceil(position) - 1
        if index >= count:
            return math.inf
        return float(ordered[index]) if index >= 0 else -math.inf

    return Quantile(
        float(ordered[min(max(math.ceil(rank) - 1, 0), count - 1)]), at(rank - spread), at(rank + spread + 1)
    )


def errors(prompt: RandomPrompt, length: int, count: int, seed: int = 0) -> Array:
    """T_L - T for so many prompts of that length, one per row."""
    draw = np.random.default_rng(seed)
    law = prompt.law.law
    source = _gaussian_errors if isinstance(law, Gaussian) else _errors
    found = source(prompt, length, count, draw)
    return np.asarray(found @ doubles(prompt.values()).T)


def farthest_over_ball(prompt: BallOfQueries, length: int, count: int, norm: str = "l2", seed: int = 0) -> Array:
    """The largest norm of T_L - T over the ball of queries, for so many prompts.

    It is found by ascent from where single tokens count most, and from queries at random: from below. How T moves is
    taken from a bound of the covariance under tilts, which is that of Gaussian tokens.
    """
    draw, law, spread = np.random.default_rng(seed), prompt.law.law, spread_of(prompt.law.law)
    assert spread is not None
    with working_precision(_BITS):
        scale = float(scale_ball(prompt.scale))
    gamma, values = doubles(spread.covariance), doubles(prompt.values())
    tilts, centre = scale * doubles(prompt.weights.bilinear()), doubles(prompt.ball[CENTRE].load())[0]
    radius, found = as_float(prompt.radius), []
    for _ in range(count):
        x = _tokens(law, length, draw)
        pulls = x @ tilts
        starts = pulls[np.argsort(-np.linalg.norm(pulls, axis=1))[:_STARTS]]
        toward = np.vstack([starts, draw.standard_normal((_STARTS // 3, len(centre)))])
        z = centre + radius * toward / (np.linalg.norm(toward, axis=1)[:, None] + 1e-300)
        best, step = 0.0, 0.3 * radius
        for _ in range(_ASCENT):
            a = z @ tilts.T
            scores = x @ a.T
            weights = np.exp(scores - scores.max(0))
            weights /= weights.sum(0)
            off = (weights.T @ x - _tilted_means(law, a)) @ values.T
            sizes = np.linalg.norm(off, axis=1)
            best = max(best, float((sizes if norm == "l2" else np.abs(off).max(axis=1)).max()))
            v = off / (sizes[:, None] + 1e-300) @ values
            along = x @ v.T
            slope = ((weights * (along - (weights * along).sum(0))).T @ x - v @ gamma) @ tilts
            z = z + step * slope / (np.linalg.norm(slope, axis=1)[:, None] + 1e-300) - centre
            z = centre + z * np.minimum(1, radius / (np.linalg.norm(z, axis=1)[:, None] + 1e-300))
            step *= 0.93
        found.append(best)
    return np.array(found)


def _tilted_means(law: Law[fmpq], tilts: Array) -> Array:
    if isinstance(law, Gaussian):
        return np.asarray(_vector(law.mean) + tilts @ doubles(ExactMatrix.rational(law.covariance)))
    with working_precision(_BITS):
        balls = law.map(arb)
        return np.array([[float(m) for m in balls.tilted_mean([arb(a) for a in tilt])] for tilt in tilts])


def _vector(row: Any) -> Array:
    return np.asarray(doubles(ExactMatrix.row_vector(list(row)))[0])


def _tilt_and_mean(prompt: RandomPrompt) -> tuple[Array, Array]:
    """a and tau(a)."""
    with working_precision(_BITS):
        tilt = prompt.tilt()
        mean = prompt.law.law.map(arb).tilted_mean(tilt)
        return np.array([float(a) for a in tilt]), np.array([float(m) for m in mean])


def _chunks(length: int, count: int) -> Iterator[int]:
    size = max(1, _CHUNK // length)
    for start in range(0, count, size):
        yield min(size, count - start)


def _gaussian_errors(prompt: RandomPrompt, length: int, count: int, draw: np.random.Generator) -> Array:
    """tau_L - tau = c (E_p g - s) + (sum p_i^2)^{1/2} R zeta: the weights p depend on g alone."""
    law = prompt.law.law
    assert isinstance(law, Gaussian)
    tilt, _ = _tilt_and_mean(prompt)
    gamma = doubles(ExactMatrix.rational(law.covariance))
    image = gamma @ tilt
    s = math.sqrt(max(float(tilt @ image), 0.0))
    c = image / s if s > 0 else np.zeros(len(tilt))
    variances, basis = np.linalg.eigh(gamma - np.outer(c, c))
    root = basis * np.sqrt(np.maximum(variances, 0.0))
    found = []
    for size in _chunks(length, count):
        g = draw.standard_normal((size, length), dtype=np.float32)
        weights = np.exp(np.float32(s) * g - np.float32(s) * g.max(1, keepdims=True))
        total = weights.sum(1, dtype=np.float64)
        mean = np.einsum("ij,ij->i", weights, g) / total
        spread = np.sqrt(np.einsum("ij,ij->i", weights, weights)) / total
        rest = draw.standard_normal((size, len(tilt))) * spread[:, None]
        found.append(np.outer(mean - s, c) + rest @ root.T)
    return np.concatenate(found)


def _errors(prompt: RandomPrompt, length: int, count: int, draw: np.random.Generator) -> Array:
    """Tokens of any law, drawn one by one."""
    tilt, mean = _tilt_and_mean(prompt)
    found = []
    for size in _chunks(length * prompt.dimension, count):
        x = _tokens(prompt.law.law, size * length, draw).reshape(size, length, -1)
        scores = x @ tilt
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        found.append(np.einsum("ij,ijk->ik", weights, x) - mean)
    return np.concatenate(found)


def _tokens(law: Law[fmpq], count: int, draw: np.random.Generator) -> Array:
    """So many independent tokens of a law, one per row."""
    parts = list(leaves(law, fmpq(1)))
    shares = np.array([float(weight.p) / float(weight.q) for weight, _ in parts])
    kinds = draw.choice(len(parts), size=count, p=shares / shares.sum())
    tokens = np.empty((count, law.dimension))
    for kind, (_, part) in enumerate(parts):
        chosen = np.flatnonzero(kinds == kind)
        tokens[chosen] = _plain_tokens(part, len(chosen), draw)
    return tokens


def _truncated_normals(k: float, slope: float, shares: Array) -> Array:
    """Where the density e^{-k y^2/2 + slope y} on [-1, 1] has these shares below, by its values on a grid."""
    y = np.linspace(-1, 1, 8193)
    exponents = slope * y - k * y * y / 2
    density = np.exp(exponents - exponents.max())
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return np.asarray(np.interp(shares * below[-1], below, y))


def _plain_tokens(law: Law[fmpq], count: int, draw: np.random.Generator) -> Array:
    if isinstance(law, Gaussian):
        variances, basis = np.linalg.eigh(doubles(ExactMatrix.rational(law.covariance)))
        root = basis * np.sqrt(np.maximum(variances, 0.0))
        return np.asarray(_vector(law.mean) + draw.standard_normal((count, law.dimension)) @ root.T)
    if isinstance(law, Rademacher):
        return np.asarray(_vector(law.sizes) * draw.choice([-1.0, 1.0], size=(count, law.dimension)))
    if isinstance(law, Box):
        return np.asarray(_vector(law.sizes) * draw.uniform(-1, 1, size=(count, law.dimension)))
    if isinstance(law, Radial):
        directions = draw.standard_normal((count, law.dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = draw.random((count, 1)) ** (1 / law.dimension) if law.solid else 1.0
        return np.asarray(np.sqrt(_vector([law.squared_radius])) * lengths * directions)
    if isinstance(law, TruncatedGaussian):
        rows = zip(_vector(law.curvatures), _vector(law.slopes), strict=True)
        columns = [_truncated_normals(k, slope, draw.random(count)) for k, slope in rows]
        return np.asarray(_vector(law.sizes) * np.stack(columns, axis=1))
    if isinstance(law, Shifted):
        return np.asarray(_vector(law.centre) + _plain_tokens(law.law, count, draw))
    assert isinstance(law, Atoms)
    weights = _vector(law.weights)
    return doubles(ExactMatrix.rational(law.points))[draw.choice(len(weights), size=count, p=weights / weights.sum())]
