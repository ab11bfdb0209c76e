"""The mean square error of attention over tokens that are uniform on a box, for every query of a box at once.

Tokens x uniform on prod [-c_j, c_j] under a tilt a with |a_j| <= A_j, and y_j = c_j A_j. Coordinate by coordinate, with
w = e^{<a, x> - Lambda(a)} and the Langevin function L(y) = coth y - 1/y,

    R_2 = E w^2 = prod_j t_j coth t_j <= prod_j y_j coth y_j,   t_j = c_j |a_j|,
    tau_j(2a) - tau_j(a) = c_j delta(t_j),   delta(t) = 1/(2t) - 1/sinh(2t) <= min(t/3, 1/4),
    E_{2a} (x_j - tau_j(a))^2 = c_j^2 delta(t_j) / t_j <= c_j^2 / 3,
    |x_j - tau_j(a)| <= c_j (1 + L(y_j)).

So E w^2 |V(x - tau)|^2 <= v below, a deviation never exceeds the diameter below, and where the normaliser
(1/N) sum w_i of N tokens is at least 1 - t, which fails with probability at most e^{-N t^2 / (2 R_2)},

    E |V(tau_hat - tau)|^2 <= v / (N (1 - t)^2) + diameter^2 e^{-N t^2 / (2 R_2)}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certattn.kernel.arithmetic.functions import Functions, Number, langevin
from certattn.kernel.arithmetic.laws import Vector


@dataclass(frozen=True)
class BoxBounds:
    """R_2, v and the square of the diameter, as upper bounds over every query of the box."""

    second_weight: Number
    second_moment: Number
    squared_diameter: Number

    def mean_square(self, length: Number, t: Number, fn: Functions) -> Number:
        """v / (N (1 - t)^2) + diameter^2 e^{-N t^2 / (2 R_2)}: decreasing in N."""
        tail = fn.exp(-length * self.rate(t))
        return self.second_moment / (length * (1 - t) ** 2) + self.squared_diameter * tail

    def rate(self, t: Number) -> Number:
        """t^2 / (2 R_2)."""
        return t * t / (2 * self.second_weight)


def box_bounds(sizes: Vector, tilts: Vector, values: Sequence[Vector], fn: Functions) -> BoxBounds:
    """For tokens of half-widths `sizes`, tilts of sizes at most `tilts` and the rows of |V|, entry by entry."""
    t = [c * a for c, a in zip(sizes, tilts, strict=True)]
    means = [langevin(entry, fn) for entry in t]
    R = 1
    for entry, mean in zip(t, means, strict=True):
        R = R * (1 + entry * mean)
    diameter = moment = 0
    for row in values:
        reach = [v * c for v, c in zip(row, sizes, strict=True)]
        drift = [r * _smaller(entry / 3, fn.ratio(1, 4), fn) for r, entry in zip(reach, t, strict=True)]
        diameter = diameter + sum(r * (1 + mean) for r, mean in zip(reach, means, strict=True)) ** 2
        moment = moment + sum(r * r / 3 - d * d for r, d in zip(reach, drift, strict=True)) + sum(drift) ** 2
    return BoxBounds(R, R * moment, diameter)


def _smaller(x: Number, y: Number, fn: Functions) -> Number:
    """min(x, y)."""
    return (x + y - fn.absolute(x - y)) / 2
