"""Laws made of Gaussians, as the pair (score, output) that one direction sees: each part is plane.

Under a part N(m, Gamma) of the law, with a tilt a, a direction v, weights w = exp(<a, x> - Lambda) and
the tilted mean tau of the whole law,

    w = e^{alpha + s g},   <v, x - tau> - eps = mu + c g + sigma h,   g and h independent standard normals,
    alpha = <a, m> - Lambda,   mu = <v, m> - (<v, tau> + eps),
    s^2 = a'Gamma a,   c = v'Gamma a / s,   sigma^2 = v'Gamma v - c^2,   c = 0 where s = 0.

s^2, c^2 and sigma^2 are rational, so whether they vanish is decided exactly. An atom is a Gaussian of
covariance 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Gaussian, Law, Vector, dot, leaves
from certattn.kernel.mathematics.reals import Real, Surd, square


@dataclass(frozen=True)
class Part:
    """A Gaussian part of a law: probability, mean, and what matters of its covariance, exactly."""

    weight: fmpq
    mean: Sequence[fmpq]
    score_variance: fmpq
    slope_squared: fmpq
    slope_sign: int
    rest_variance: fmpq

    @property
    def is_bounded_above(self) -> bool:
        """Whether Y is bounded above by exact conditions: no noise of its own, and c < 0 or s = 0."""
        return self.rest_variance == 0 and (self.slope_sign < 0 or self.score_variance == 0)


@dataclass(frozen=True)
class Plane:
    """The same numbers as balls, with those of the whole law; `flat_score` and `tied` say that s and sigma are 0."""

    alpha: arb
    mu: arb
    s: arb
    c: arb
    sigma: arb
    flat_score: bool
    tied: bool
    slope_sign: int


def gaussian_parts(law: Law) -> list[tuple[fmpq, Gaussian]] | None:
    """The law as a mixture of Gaussians, atoms among them, with probabilities; None for other laws."""
    zero, found = [[fmpq(0)] * law.dimension] * law.dimension, list[tuple[fmpq, Gaussian]]()
    for weight, part in leaves(law, fmpq(1)):
        if isinstance(part, Gaussian):
            found.append((weight, part))
        elif isinstance(part, Atoms):
            found += [(weight * w, Gaussian(y, zero)) for w, y in zip(part.weights, part.points, strict=True)]
        else:
            return None
    return found


def exact_part(weight: fmpq, law: Gaussian, base: ExactMatrix, scale: Real, direction: ExactMatrix) -> Part:
    """The plane of one Gaussian for the tilt scale * base and a direction, both 1 x d."""
    covariance = ExactMatrix.rational(law.covariance)
    scored = base @ covariance
    along = (scored @ base.T).entry(0, 0)
    across = (scored @ direction.T).entry(0, 0)
    spread = (direction @ covariance @ direction.T).entry(0, 0)
    slope_squared = across * across / along if along != 0 else fmpq(0)
    sign = _sign(across) * (1 if isinstance(scale, Surd) else _sign(scale))
    return Part(weight, law.mean, square(scale) * along, slope_squared, sign, spread - slope_squared)


def _sign(value: fmpq) -> int:
    return int(value > 0) - int(value < 0)


def plane(part: Part, tilt: Vector, direction: Vector, log_mgf: arb, level: arb) -> Plane:
    """A part as balls; `log_mgf` is Lambda(a) of the whole law, and `level` its <v, tau> + eps."""
    centre = [arb(m) for m in part.mean]
    return Plane(
        dot(tilt, centre) - log_mgf,
        dot(direction, centre) - level,
        arb(part.score_variance).sqrt(),
        part.slope_sign * arb(part.slope_squared).sqrt(),
        arb(part.rest_variance).sqrt(),
        part.score_variance == 0,
        part.rest_variance == 0,
        part.slope_sign,
    )
