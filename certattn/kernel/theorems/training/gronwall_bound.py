"""The closed bound of the distance of two descents, as `descent-trajectory` asserts it.

If within r of theta_0^inf, ..., theta_(K-1)^inf the gradients differ by at most g and |I - eta Hess R_inf| is at most
1 + eta nu, and g ((1 + eta nu)^K - 1)/nu <= r, then |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu for k <= K.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, at_most, unproved
from certattn.kernel.document.fields import Count, Field, Rational, Record, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.descent_setting import Setting
from certattn.kernel.theorems.training.mathematics.context_descent import INFINITE, Pair, growth, tube_around
from certattn.kernel.theorems.training.trajectory_assertions import Asserted

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

    def words(self) -> str:
        r, g, nu = describe(self.radius), describe(self.gap), describe(self.rate)
        return (
            f"for every k = 0, ..., {self.steps - 1} and all weights within r = {r} of theta_k^inf, "
            f"|grad R_L - grad R_inf| is at most g = {g} and |I - eta Hess R_inf| at most 1 + eta nu with nu = {nu}, "
            f"so that |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu <= r for every k = 0, ..., {self.steps}"
        )

    def asserted(self) -> list[Asserted]:
        parts = [
            Asserted(k, [f"gronwall.{what}[{k}]" for what in ("centre", "gap", "rate")], self._at)
            for k in range(self.steps)
        ]
        return [Asserted(0, ["gronwall.radius"], self._closing), *parts]

    def _closing(self, pair: Pair, bits: int) -> list[Obligation]:
        sentence = f"g ((1 + eta nu)^{self.steps} - 1)/nu <= r"
        # Exact where that is short: the stated radius may be the bound itself.
        lift = fmpq if self.steps <= _EXACT_STEPS else arb
        bound = growth(lift(self.gap), lift(self.rate), lift(self.step), self.steps)
        return [at_most("gronwall.radius", sentence, bound, self.radius, bits)]

    def _at(self, pair: Pair, bits: int) -> list[Obligation]:
        k, tube = pair.k, tube_around(pair, self.radius, arb(self.step))
        known = pair.infinite.point.error() < _PART * self.radius
        centre = "|grad R_L - grad R_inf| at theta_k^inf"
        return [
            at_most(f"gronwall.centre[{k}]", f"{centre}, k = {k}", pair.gradient_gap(INFINITE), self.gap, bits),
            _bounded(f"gronwall.gap[{k}]", "|grad R_L - grad R_inf|", k, tube.gap, self.gap, known, bits),
            _bounded(f"gronwall.rate[{k}]", "the rate of expansion", k, tube.rate, self.rate, known, bits),
        ]


def _bounded(name: str, symbol: str, k: int, bound: arb, stated: fmpq, known: bool, bits: int) -> Obligation:
    """A bound over the tube at k; `known` says that the iterate is, well enough for the bound to be compared."""
    sentence = f"a bound of {symbol} within r of theta_k^inf, k = {k}"
    upper = bound.upper()
    if known is not True:
        upper = arb("nan")
    elif upper.is_finite() is not True:
        return unproved(name, sentence, "no bound is found: the radius is too large")
    ball = upper.union(upper * (1 - _PART))
    return at_most(name, sentence, ball, stated, bits, part=Part.WITNESS)


def read_gronwall(values: Values, setting: Setting) -> Gronwall:
    """Raises MalformedError."""
    steps = values.get(TUBE_STEPS) or setting.steps
    if steps > setting.steps:
        raise values.node(TUBE_STEPS).malformed(f"at most K = {setting.steps} steps", f"{steps}")
    return Gronwall(values[TUBE_RADIUS], values[GAP], values[RATE], setting.step, steps)
