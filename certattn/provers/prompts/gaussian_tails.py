"""Sums of weighted Gaussian tokens in floats: the numbers from which a search picks rule and parameters.

In a direction u a token of a component N(m, Gamma), with the tilt a and s^2 = a'Gamma a, is

    Y = w y,    w = e^{kappa + s g},    y = mu + c g + sigma h,    g, h independent N(0, 1),

kappa = <a, m> - Lambda(a), mu = <u, m - tau> - eps, c = u'Gamma a / s and c^2 + sigma^2 = u'Gamma u. A cap B
leaves out the tokens with Y > B; `Capped` holds what is known for one eps and one B, so that a search over
lambda costs little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from certattn.provers.prompts.normal_tails import Array, normal_cdf, scaled_erfc

# Integrals over g end so many standard deviations below, and above at the least and at the most: rare tokens
# of probability P(A) weigh most near g = (2 log 1/P(A))^{1/2}, and e^{lambda Y} moves that up a little.
_BELOW, _ABOVE, _FARTHEST = 10.0, 11.0, 38.0
# Where the integrand is smooth on the whole line a trapezoidal sum is exact enough, at this step or a finer one.
_STEP, _SMOOTH_UP_TO = 0.125, 2.0
# Where it is cut, Gauss and Legendre's rule on panels of about this width; towards the cut, where e^{lambda Y} may
# rise steeply, so many times half as wide.
_PANEL, _ORDER, _HALVINGS = 0.8, 10, 14
# Exponents are cut off where floats end; a lambda with a larger lambda B than this is beyond the kernel's reach too.
_LARGEST, _STEEPEST = 600.0, 999.0


@dataclass(frozen=True)
class Component:
    """A Gaussian part of the law of (w, y), with its probability."""

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
        """Whether Y is bounded above, so that no cap is needed."""
        return self.sigma == 0 and (self.c < 0 or self.s == 0)

    @property
    def top(self) -> float:
        """The supremum of Y where it is bounded: for c < 0 it is attained at g = -mu/c - 1/s."""
        if self.s == 0:
            return math.exp(self.kappa) * self.mu
        return math.exp(self.kappa - self.s * self.mu / self.c - 1) * -self.c / self.s


@dataclass(frozen=True)
class Nodes:
    """A quadrature rule for one component over the tokens that stay: of weight `share` each, with noise below `h`.

    `h` is None where Y is a function of g alone.
    """

    share: Array
    w: Array
    mean: Array
    sigma: float
    h: Array | None

    def total(self, rates: Array, cap: float) -> Array:
        """E[e^{lambda Y}; Y <= B] for each lambda."""
        slope = rates[:, None] * self.w
        if self.h is None:
            return np.asarray(np.exp(np.minimum(slope * self.mean, _LARGEST)) @ self.share)
        shift = slope * self.sigma - self.h
        tail = scaled_erfc(np.abs(shift) / np.sqrt(2)) / 2
        # For a shift > 0 the exponents are combined; below, the complement is of the size of the whole.
        edge = np.exp(np.minimum(rates[:, None] * cap - self.h**2 / 2, _LARGEST)) * tail
        inside = np.exp(np.minimum(slope * self.mean + (slope * self.sigma) ** 2 / 2, _LARGEST))
        return np.asarray(np.where(shift > 0, edge, inside - edge) @ self.share)


@dataclass(frozen=True)
class Capped:
    """The tokens with Y at most `cap`: their expectations, and the probability of the others.

    `top` is the largest Y that stays.
    """

    cap: float
    exceeding: float
    top: float
    parts: Sequence[Nodes]

    def log_moment(self, rates: Array) -> Array:
        """log E[e^{lambda Y}; Y <= B] for each lambda; infinite where lambda is too large to be of use."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            total = np.sum([part.total(rates, self.cap) for part in self.parts], axis=0)
            return np.where(rates * self.top > _STEEPEST, np.inf, np.log(np.maximum(total, np.finfo(float).tiny)))


@dataclass(frozen=True)
class GaussianTail:
    """A direction of a law that is Gaussian, finite, or mixed from these; its components are those for eps = 0."""

    components: Sequence[Component]
    _capped: dict[tuple[float, float], Capped] = field(default_factory=dict, compare=False)

    @property
    def is_bounded(self) -> bool:
        """Whether Chernoff's bound holds without a cap."""
        return all(part.is_bounded for part in self.components)

    def capped(self, cap: float, eps: float) -> Capped:
        if (cap, eps) not in self._capped:
            self._capped[cap, eps] = _leaving_out([replace(part, mu=part.mu - eps) for part in self.components], cap)
        return self._capped[cap, eps]


def _leaving_out(components: Sequence[Component], cap: float) -> Capped:
    noisy = [_noisy(part, cap) for part in components if part.sigma > 0]
    tied = [_tied(part, cap) for part in components if part.sigma == 0]
    nodes = [nodes for _, nodes in noisy]
    if tied:
        # Summands that depend on g alone need no more than one long sum.
        share, w, mean = (np.concatenate(arrays) for arrays in zip(*(found[1:] for found in tied), strict=True))
        nodes.append(Nodes(share, w, mean, 0.0, None))
    top = max(part.top for part in components) if cap == math.inf else cap
    return Capped(cap, sum(found[0] for found in noisy + tied), top, nodes)


def _reach(probability: float) -> float:
    """How far above 0 integrals go where so rare an event matters."""
    if probability <= 0:
        return _FARTHEST
    return min(max(_ABOVE, 4 + 1.5 * math.sqrt(-2 * math.log(probability))), _FARTHEST)


def _density(g: Array) -> Array:
    return np.asarray(np.exp(-g * g / 2) / math.sqrt(2 * math.pi))


def _line(s: float, reach: float) -> tuple[Array, Array]:
    """Nodes and weights for E f(g); one node where nothing depends on g."""
    if s == 0:
        return np.zeros(1), np.ones(1)
    step = _STEP * _SMOOTH_UP_TO / max(s, _SMOOTH_UP_TO)
    g = np.arange(-_BELOW, reach + step, step)
    return g, step * _density(g)


def _between(cut: float, end: float) -> tuple[Array, Array]:
    """Nodes and weights for E[f(g); g between the cut and the end]."""
    x, weights = np.polynomial.legendre.leggauss(_ORDER)
    even = np.linspace(cut, end, math.ceil(abs(end - cut) / _PANEL) + 2)
    near = cut + (even[1] - cut) * 0.5 ** np.arange(_HALVINGS, 0, -1)
    ends = np.sort(np.concatenate([even, near]))
    half, middle = (ends[1:] - ends[:-1]) / 2, (ends[1:] + ends[:-1]) / 2
    g = (middle[:, None] + half[:, None] * x).ravel()
    return g, (half[:, None] * weights).ravel() * _density(g)


def _noisy(part: Component, cap: float) -> tuple[float, Nodes]:
    """P(Y > B) of a component with sigma > 0 and a quadrature over the rest; its probability counted in."""

    def seen(reach: float) -> tuple[float, Nodes]:
        g, share = _line(part.s, reach)
        w, mean = part.heights(g)
        h = (cap / w - mean) / part.sigma
        share = part.probability * share
        return float(normal_cdf(-h) @ share), Nodes(share, w, mean, part.sigma, h)

    with np.errstate(under="ignore"):
        probability, nodes = seen(_ABOVE)
        reach = _reach(probability)
        return seen(reach) if reach > _ABOVE else (probability, nodes)


def _tied(part: Component, cap: float) -> tuple[float, Array, Array, Array]:
    """The same with sigma = 0: the probability, weights of nodes, and w and y there."""
    if part.s == 0:
        w, mean = part.heights(np.zeros(1))
        if float(w[0] * mean[0]) > cap:
            return part.probability, np.zeros(0), np.zeros(0), np.zeros(0)
        return 0.0, np.full(1, part.probability), w, mean
    first, last = _gap(part, cap)
    probability = (math.erfc(first / math.sqrt(2)) - math.erfc(last / math.sqrt(2))) / 2
    reach = _reach(probability)
    below, above = (min(max(cut, -_BELOW), reach) for cut in (first, last))
    pieces = _between(below, -_BELOW), _between(above, reach)
    g, share = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    return part.probability * probability, part.probability * share, *part.heights(g)


def _gap(part: Component, cap: float) -> tuple[float, float]:
    """The ends of the interval of g where Y = w (mu + c g) exceeds the cap, for s > 0 = sigma; inf for no end.

    It increases where it is positive for c >= 0. For c < 0 it has one maximum.
    """

    def height(g: float) -> float:
        return math.exp(min(part.kappa + part.s * g, _LARGEST)) * (part.mu + part.c * g)

    far = 1e3
    if part.c == 0:
        return ((math.log(cap / part.mu) - part.kappa) / part.s if part.mu > 0 else math.inf), math.inf
    zero = -part.mu / part.c
    if part.c > 0:
        return _crossing(height, cap, max(zero, -far), far), math.inf
    if part.top <= cap:
        return math.inf, math.inf
    top = zero - 1 / part.s
    return _crossing(height, cap, top - far, top), _crossing(height, cap, zero, top)


def _crossing(height: Callable[[float], float], cap: float, below: float, above: float) -> float:
    """Where a height passes the cap that it is below at one end and above at the other."""
    for _ in range(60):
        middle = (below + above) / 2
        if height(middle) > cap:
            above = middle
        else:
            below = middle
    return (below + above) / 2
