"""The mean square error of attention over tokens that are uniform on a box, for every query of a box at once.

Tokens x uniform on prod [-c_j, c_j] under a tilt a with |a_j| <= A_j, and y_j = c_j A_j. Coordinate by coordinate, with
w = e^{<a, x> - Lambda(a)} and the Langevin function L(y) = coth y - 1/y,

    R_2 = E w^2 = prod_j t_j coth t_j <= prod_j y_j coth y_j,   t_j = c_j |a_j|,
    |tau_j(2a) - tau_j(a)| = c_j delta(t_j),   delta(t) = 1/(2t) - 1/sinh(2t) <= min(t/3, 1/4),
    E_{2a} (x_j - tau_j(a))^2 = c_j^2 delta(t_j) / t_j <= c_j^2 / 3,
    |x_j - tau_j(a)| <= c_j (1 + L(y_j)).

So E w^2 |V (x - tau)|^2 <= R_2 m for the m of `_second_moment`, and every |V (x - tau)|^2 is at most the squared
reach. Where Z, the mean of w over N tokens, is at least 1 - t, which fails with probability at most
e^{-N t^2 / (2 R_2)}, the error of the output is a mean of N terms over Z:

    E |V (tau_hat - tau)|^2 <= R_2 m / (N (1 - t)^2) + reach^2 e^{-N t^2 / (2 R_2)}.

For C_hat - C = S/Z - (tau_hat - tau)(tau_hat - tau)' with S the mean of w ((x - tau)(x - tau)' - C), and with
Y^2 >= |x - tau|^2 and c^2 >= |V C|_F^2, squares of sums are at most twice the sums of squares:

    E |V (C_hat - C)|_F^2 <= R_2 (6 Y^2 m + 4 c^2) / (N (1 - t)^2) + 2 (h^2 + c^2) e^{-N t^2 / (2 R_2)},

h^2 = sum_r (sum_j |V_rj| c_j)^2 sum_j c_j^2, which |V C_hat|_F^2 <= tr(V C_hat V') tr C_hat never exceeds (Popoviciu).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certattn.kernel.mathematics.functions import Functions, Number, langevin
from certattn.kernel.mathematics.laws import Vector


@dataclass(frozen=True)
class BoxBounds:
    """E |error|^2 <= second_moment / (N (1 - t)^2) + largest e^{-N t^2 / (2 R_2)}, and |error|^2 <= largest always."""

    second_weight: Number
    second_moment: Number
    largest: Number

    def mean_square(self, length: Number, t: Number, fn: Functions) -> Number:
        """The bound for N = `length` tokens: decreasing in N."""
        return self.second_moment / (length * (1 - t) ** 2) + self.largest * fn.exp(-length * self.rate(t))

    def rate(self, t: Number) -> Number:
        """t^2 / (2 R_2)."""
        return t * t / (2 * self.second_weight)


@dataclass(frozen=True)
class TokenBox:
    """Half-widths c_j of the tokens, sizes A_j of the tilts, and the rows of |V|, entry by entry."""

    sizes: Vector
    tilts: Vector
    values: Sequence[Vector]
    fn: Functions

    def output(self) -> BoxBounds:
        """For |V (tau_hat - tau)|^2."""
        R = self._second_weight()
        return BoxBounds(R, R * self._second_moment(), self._reach())

    def covariance(self, factor: Number) -> BoxBounds:
        """For factor * |V (C_hat - C)|_F^2."""
        R, product = self._second_weight(), self._product()
        reach = sum(far**2 for far in self._far())
        size = sum(sum(v * c for v, c in zip(row, self.sizes, strict=True)) ** 2 for row in self.values)
        moment = R * (6 * reach * self._second_moment() + 4 * product)
        largest = 2 * (size * sum(c * c for c in self.sizes) + product)
        return BoxBounds(R, factor * moment, factor * largest)

    def _scores(self) -> list[Number]:
        """y_j."""
        return [c * a for c, a in zip(self.sizes, self.tilts, strict=True)]

    def _means(self) -> list[Number]:
        """L(y_j)."""
        return [langevin(y, self.fn) for y in self._scores()]

    def _second_weight(self) -> Number:
        """prod_j y_j coth y_j, with y coth y = 1 + y L(y)."""
        found: Number = 1
        for y, mean in zip(self._scores(), self._means(), strict=True):
            found = found * (1 + y * mean)
        return found

    def _second_moment(self) -> Number:
        """m = sum_r [ sum_j V_rj^2 c_j^2 / 3 + sum_(j != k) |V_rj V_rk| c_j c_k delta_j delta_k ]."""
        found: Number = 0
        for row in self.values:
            parts = [v * c for v, c in zip(row, self.sizes, strict=True)]
            drifts = [
                part * _smaller(y / 3, self.fn.ratio(1, 4), self.fn)
                for part, y in zip(parts, self._scores(), strict=True)
            ]
            found = found + sum(part**2 / 3 - drift**2 for part, drift in zip(parts, drifts, strict=True))
            found = found + sum(drifts) ** 2
        return found

    def _far(self) -> list[Number]:
        """c_j (1 + L(y_j)) >= |x_j - tau_j|."""
        return [c * (1 + mean) for c, mean in zip(self.sizes, self._means(), strict=True)]

    def _reach(self) -> Number:
        """sum_r (sum_j |V_rj| c_j (1 + L(y_j)))^2."""
        far = self._far()
        return sum(sum(v * x for v, x in zip(row, far, strict=True)) ** 2 for row in self.values)

    def _product(self) -> Number:
        """sum_rj V_rj^2 (c_j^2 / 3)^2 >= |V C|_F^2: C is diagonal, with entries at most c_j^2 / 3."""
        return sum((v * c * c) ** 2 / 9 for row in self.values for v, c in zip(row, self.sizes, strict=True))


def _smaller(x: Number, y: Number, fn: Functions) -> Number:
    """min(x, y)."""
    return (x + y - fn.absolute(x - y)) / 2
