"""Sums of weighted Gaussian tokens in floats: the numbers from which a search picks rule and parameters.

In a direction u a token of a component N(m, Gamma), with the tilt a and s^2 = a'Gamma a, is

    Y = w (y - eps),    w = e^{kappa + s g},    y = mu + c g + sigma h,    g, h independent N(0, 1),

kappa = <a, m> - Lambda(a), mu = <u, m - tau>, c = u'Gamma a / s and c^2 + sigma^2 = u'Gamma u. A cap B
leaves out the tokens with w y > B; `Capped` holds what is known for one B, so that a search over lambda
costs little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from certattn.provers.normal_tails import Array, normal_cdf, scaled_erfc

# Standard normals beyond are of probability 1e-44, and half of that is far below what is sought.
_REACH = 14.0
_PANELS, _ORDER = 48, 12
_LARGEST = 600.0


@dataclass(frozen=True)
class Component:
    """A Gaussian part of the law of one token's weight and height, with its probability."""

    probability: float
    kappa: float
    s: float
    mu: float
    c: float
    sigma: float

    def heights(self, g: Array) -> tuple[Array, Array]:
        """w and E[y | g]."""
        return np.exp(self.kappa + self.s * g), self.mu + self.c * g

    @property
    def is_bounded(self) -> bool:
        """Whether w y is bounded above, so that no cap is needed."""
        return self.sigma == 0 and (self.c < 0 or (self.c == 0 and (self.mu <= 0 or self.s == 0)))


@dataclass(frozen=True)
class Nodes:
    """A quadrature rule for one component over the tokens that stay: of weight `share` each, below height `h`.

    `h` is None where a token's height is a function of g alone.
    """

    share: Array
    w: Array
    mean: Array
    sigma: float
    h: Array | None

    def total(self, rates: Array, eps: float, cap: float) -> Array:
        """E[e^{lambda Y}; w y <= B] for a column of lambdas."""
        slope = rates[:, None] * self.w
        if self.h is None:
            return np.asarray(np.exp(np.minimum(slope * (self.mean - eps), _LARGEST)) @ self.share)
        shift = slope * self.sigma - self.h
        tail = scaled_erfc(np.abs(shift) / np.sqrt(2)) / 2
        # For a shift > 0 the exponents are combined; below, the complement is of the size of the whole.
        edge = np.exp(np.minimum(rates[:, None] * (cap - self.w * eps) - self.h**2 / 2, _LARGEST)) * tail
        inside = np.exp(np.minimum(slope * (self.mean - eps) + (slope * self.sigma) ** 2 / 2, _LARGEST))
        return np.asarray(np.where(shift > 0, edge, inside - edge) @ self.share)


@dataclass(frozen=True)
class Capped:
    """The tokens whose height w y is at most `cap`: their expectations, and the probability of the others."""

    cap: float
    exceeding: float
    parts: Sequence[Nodes]

    def log_moment(self, rates: Array, eps: float) -> Array:
        """log E[e^{lambda Y}; w y <= B] for each lambda."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            total = sum(part.total(rates, eps, self.cap) for part in self.parts)
            return np.log(np.maximum(total, np.finfo(float).tiny))


@dataclass(frozen=True)
class GaussianTail:
    """A direction of a Gaussian law or of a mixture of Gaussians."""

    components: Sequence[Component]
    _capped: dict[float, Capped] = field(default_factory=dict, compare=False)

    @property
    def is_bounded(self) -> bool:
        """Whether Chernoff's bound holds without a cap."""
        return all(part.is_bounded for part in self.components)

    def capped(self, cap: float) -> Capped:
        if cap not in self._capped:
            found = [_below(part, cap) for part in self.components]
            self._capped[cap] = Capped(cap, sum(p for p, _ in found), [nodes for _, kept in found for nodes in kept])
        return self._capped[cap]

    def second_moment(self) -> float:
        """E (w y)^2, of the tokens that are not extremely rare."""
        total = 0.0
        for part in self.components:
            g, share = _interval(-_REACH, _REACH + 2 * part.s)
            w, mean = part.heights(g)
            total += part.probability * float((w**2 * (mean**2 + part.sigma**2)) @ share)
        return total


def _interval(low: float, high: float) -> tuple[Array, Array]:
    """Nodes and weights for E[f(g); low < g < high]."""
    if low >= high:
        return np.zeros(0), np.zeros(0)
    x, weights = np.polynomial.legendre.leggauss(_ORDER)
    ends = np.linspace(low, high, _PANELS + 1)
    half, middle = (ends[1:] - ends[:-1]) / 2, (ends[1:] + ends[:-1]) / 2
    g = (middle[:, None] + half[:, None] * x).ravel()
    share = (half[:, None] * weights).ravel() * np.exp(-g * g / 2) / np.sqrt(2 * np.pi)
    return g, share


def _below(part: Component, cap: float) -> tuple[float, list[Nodes]]:
    """P(w y > B) of a component and a quadrature over the rest; the component's probability counted in."""
    if part.sigma > 0:
        g, share = _interval(-_REACH, _REACH)
        w, mean = part.heights(g)
        h = (cap / w - mean) / part.sigma
        share = part.probability * share
        return float(normal_cdf(-h) @ share), [Nodes(share, w, mean, part.sigma, h)]
    low, high = _exceeding(part, cap)
    kept = []
    for ends in ((-_REACH, min(low, _REACH)), (max(high, -_REACH), _REACH)):
        g, share = _interval(*ends)
        w, mean = part.heights(g)
        kept.append(Nodes(part.probability * share, w, mean, 0.0, None))
    return part.probability * max(_beyond(low) - _beyond(high), 0.0), kept


def _beyond(g: float) -> float:
    """P(g' > g) of a standard normal."""
    return math.erfc(g / math.sqrt(2)) / 2


def _exceeding(part: Component, cap: float) -> tuple[float, float]:
    """An interval of g with all w y > B > 0, where the height is a function of g alone; both ends inf if there is none.

    w (mu + c g) is increasing in g where it is positive for c >= 0. For c < 0 it has one maximum, and with
    what exceeds the cap all larger g are left out, as the kernel does.
    """

    def height(g: float) -> float:
        return float(np.exp(min(part.kappa + part.s * g, _LARGEST))) * (part.mu + part.c * g)

    nothing, far = (math.inf, math.inf), 1e3
    if part.s == 0:
        edge = (cap * np.exp(-part.kappa) - part.mu) / part.c if part.c else 0.0
        if part.c == 0:
            return (-math.inf, math.inf) if height(0.0) > cap else nothing
        return (edge, math.inf) if part.c > 0 else (-math.inf, edge)
    if part.c >= 0:
        positive = -part.mu / part.c if part.c > 0 else -far
        if part.c == 0 and part.mu <= 0:
            return nothing
        return _crossing(height, cap, max(positive, -far), far), math.inf
    top = -part.mu / part.c - 1 / part.s
    return (_crossing(height, cap, top - far, top), math.inf) if height(top) > cap else nothing


def _crossing(height: Callable[[float], float], cap: float, below: float, above: float) -> float:
    """Where a height that is monotone between them passes the cap."""
    for _ in range(80):
        middle = (below + above) / 2
        if height(middle) > cap:
            above = middle
        else:
            below = middle
    return (below + above) / 2
