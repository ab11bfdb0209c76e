"""The closed bound of the distance of two descents, as `descent-trajectory` asserts it.

If within r of theta_0^inf, ..., theta_(K-1)^inf the gradients differ by at most g and |I - eta Hess R_inf| is at most
1 + eta nu, and g ((1 + eta nu)^K - 1)/nu <= r, then |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu for k <= K.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Part
from certattn.kernel.document.schema import Count, Field, Rational, Record, Values
from certattn.kernel.theorems.training.descent_setting import Setting
from certattn.kernel.theorems.training.mathematics.context_descent import INFINITE, Pair, growth, tube_around
from certattn.kernel.theorems.training.trajectory_assertions import AtStep, Compared, Found

TUBE_RADIUS = Field("radius", Rational(above=0), "r, the radius of the tube around the infinite iterates")
GAP = Field("gap", Rational(above=0), "g, a bound of |grad R_L - grad R_inf| in the tube")
RATE = Field("rate", Rational(above=0), "nu, with |I - eta Hess R_inf| <= 1 + eta nu in the tube")
TUBE_STEPS = Field("steps", Count(1), "the steps that the bound is for, at most K; K if left out", required=False)
GRONWALL = Field(
    "gronwall", Record(TUBE_RADIUS, GAP, RATE, TUBE_STEPS), "the closed bound of the distance", required=False
)

# A bound over the tube is wide because the tube is. It is only compared where the iterate is known to this part of
# the radius, and counts as not to be had where even this part less of it is too much: more bits gain no more.
_PART = fmpq(1, 1024)
_EXACT_STEPS = 1000


@dataclass(frozen=True)
class Gronwall:
    """The stated numbers; `step` is eta, `steps` is K."""

    radius: fmpq
    gap: fmpq
    rate: fmpq
    step: fmpq
    steps: int

    def closing(self) -> arb | fmpq:
        """g ((1 + eta nu)^K - 1)/nu: exact where that is short, for the stated radius may be the bound itself."""
        lift = fmpq if self.steps <= _EXACT_STEPS else arb
        bound: arb | fmpq = growth(lift(self.gap), lift(self.rate), lift(self.step), self.steps)
        return bound

    def at_steps(self) -> Iterator[AtStep]:
        for k in range(self.steps):
            compared = [
                Compared(f"gronwall.centre[{k}]", "<=", self.gap),
                Compared(f"gronwall.gap[{k}]", "<=", self.gap, Part.WITNESS),
                Compared(f"gronwall.rate[{k}]", "<=", self.rate, Part.WITNESS),
            ]
            yield AtStep(k, compared, self._at)

    def _at(self, pair: Pair) -> Found:
        tube = tube_around(pair, self.radius, arb(self.step))
        known = (pair.infinite.point.error() < _PART * self.radius) is True
        return [pair.gradient_gap(INFINITE), _bounded(tube.gap, known), _bounded(tube.rate, known)]


def _bounded(bound: arb, known: bool) -> arb | NoBound:
    """A bound over the tube; `known` says that the iterate is, well enough for the bound to be compared."""
    upper = bound.upper()
    if not known:
        return arb.nan()
    if upper.is_finite() is not True:
        return NoBound("no bound is found: the radius is too large")
    return upper.union(upper * (1 - _PART))


def read_gronwall(values: Values, setting: Setting) -> Gronwall:
    """Raises MalformedError."""
    steps = values.get(TUBE_STEPS) or setting.steps
    if steps > setting.steps:
        raise values.node(TUBE_STEPS).malformed(f"at most K = {setting.steps} steps", f"{steps}")
    return Gronwall(values[TUBE_RADIUS], values[GAP], values[RATE], setting.step, steps)
