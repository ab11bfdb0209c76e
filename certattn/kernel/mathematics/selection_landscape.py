"""The excess loss of token selection, its gradient and bounds of its curvature; and steps of descent on it.

For chosen tokens alpha and pairs j = (i, t) (`token_selection`), with the softmax weights

    s_it = e^{-<z_j, p>} / (1 + sum_t' e^{-<z_it', p>}),     G_i = sum_t s_it g_it,

the excess loss is F(p) = n (L(p) - L_alpha) = sum_i f_i(G_i), and

    -grad F = sum_j omega_j z_j,     omega_it = f_i'(G_i) s_it (g_it - G_i),
    Hess F  = sum_i f_i''(G_i) grad G_i grad G_i' + f_i'(G_i) E_i[(g - G_i)(z - zbar_i)(z - zbar_i)'],

where E_i is the mean under the softmax weights of input i (the chosen token has z = 0, g = 0) and
-grad G_i = Cov_i(z, g).

A step is p -> p - h grad F, with h = eta / n for a step eta on L = L_alpha + F / n, or p -> p - s grad F / |grad F|.
The second derivatives of F are bounded below by something that vanishes as tokens are selected, so the factor by which
a step expands distances (`enclosed_descent`) is close to 1 where interval arithmetic alone would inflate.

Every value encloses what it stands for, for every point of the ball p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated, widened
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Selection

Point = list[arb]


@dataclass(frozen=True)
class Contrasts:
    """One input of more than one token: the score of the chosen token, and the others' z_j and g_j."""

    score: arb
    rows: tuple[tuple[Point, arb], ...]


@dataclass(frozen=True)
class Landscape:
    """The excess loss F of some chosen tokens."""

    inputs: tuple[Contrasts, ...]
    loss: Loss

    def exponentials(self, point: Point) -> list[list[arb]]:
        """The E_j = e^{-<z_j, p>}, input by input."""
        return [[(-inner(z, point)).exp() for z, _ in contrasts.rows] for contrasts in self.inputs]

    def shares(self, point: Point) -> list[tuple[arb, list[arb], arb]]:
        """Of each input, the softmax weights of the chosen token and of the others, s_it, and G_i."""
        found = []
        for contrasts, powers in zip(self.inputs, self.exponentials(point), strict=True):
            chosen = 1 / (sum(powers, arb(0)) + 1)
            weights = [power * chosen for power in powers]
            gap = sum([s * g for s, (_, g) in zip(weights, contrasts.rows, strict=True)], arb(0))
            found.append((chosen, weights, gap))
        return found

    def excess(self, point: Point) -> arb:
        """F = sum_i f_i(G_i)."""
        terms = zip(self.inputs, self.shares(point), strict=True)
        return sum((self.loss.excess(contrasts.score, gap) for contrasts, (_, _, gap) in terms), arb(0))

    def weights(self, point: Point) -> list[list[arb]]:
        """The omega_j, input by input."""
        found = []
        for contrasts, (_, shares, gap) in zip(self.inputs, self.shares(point), strict=True):
            slope = self.loss.slope(contrasts.score - gap)
            found.append([slope * s * (g - gap) for s, (_, g) in zip(shares, contrasts.rows, strict=True)])
        return found

    def downhill(self, point: Point) -> Point:
        """-grad F."""
        total = [0 * entry for entry in point]
        for contrasts, weights in zip(self.inputs, self.weights(point), strict=True):
            for weight, (z, _) in zip(weights, contrasts.rows, strict=True):
                total = [entry + weight * component for entry, component in zip(total, z, strict=True)]
        return total

    def curvatures(self, point: Point) -> tuple[arb, arb]:
        """Bounds M, N >= 0 with -N <= Hess F <= M: of the mean E_i, each term's trace, by the sign of its weight.

        M = sum_i f_i'' |grad G_i|^2 + f_i' sum_t s_it (g_it - G_i)^+ |z_it - zbar_i|^2, and N the same without
        the first summand, with (g_it - G_i)^-; t runs over all tokens, the chosen one too.
        """
        upward = downward = 0 * point[0]
        for contrasts, (chosen, shares, gap) in zip(self.inputs, self.shares(point), strict=True):
            score, zero = contrasts.score - gap, 0 * gap
            slope, curvature = self.loss.slope(score), self.loss.curvature(score)
            rows = [z for z, _ in contrasts.rows]
            centre = _average(shares, rows)
            slide = _average([s * (g - gap) for s, (_, g) in zip(shares, contrasts.rows, strict=True)], rows)
            upward = upward + curvature * inner(slide, slide)
            others = [(share, z, g) for share, (z, g) in zip(shares, contrasts.rows, strict=True)]
            for share, z, g in [(chosen, [zero] * len(centre), zero), *others]:
                away = [a - b for a, b in zip(z, centre, strict=True)]
                spread, excess = slope * share * inner(away, away), g - gap
                upward = upward + spread * excess.max(zero)
                downward = downward + spread * (-excess).max(zero)
        return upward, downward


def inner(z: Sequence[arb], point: Sequence[arb]) -> arb:
    """<z, p>."""
    return sum([a * b for a, b in zip(z, point, strict=True)], arb(0))


def _average(weights: Sequence[arb], rows: Sequence[Point]) -> Point:
    return [inner(weights, [row[k] for row in rows]) for k in range(len(rows[0]))]


def landscape(selection: Selection, loss: Loss) -> Landscape:
    """Over balls at the working precision. Inputs of one token add nothing to F."""
    table, gaps = selection.differences.to_rows(), selection.gaps
    rows = [([arb(entry) for entry in z], arb(gap)) for z, gap in zip(table, gaps, strict=True)]
    inputs = selection.pairs_of.items()
    return Landscape(tuple(Contrasts(arb(selection.score(i)), tuple(rows[j] for j in js)) for i, js in inputs), loss)


# -- descent


@dataclass(frozen=True)
class GradientStep:
    """p - h grad F."""

    landscape: Landscape
    size: arb

    def of(self, point: Point) -> Enclosure:
        return around([x + self.size * y for x, y in zip(point, self.landscape.downhill(point), strict=True)])

    def expansion(self, box: Point, distance: arb) -> arb:
        """|I - h Hess F| <= max(1 + h N, h M - 1), as -N <= Hess F <= M."""
        upward, downward = self.landscape.curvatures(widened(box, distance))
        return (1 + self.size * downward).max(self.size * upward - 1)


@dataclass(frozen=True)
class NormalisedStep:
    """p - s grad F / |grad F|; not finite where the gradient may vanish."""

    landscape: Landscape
    size: arb

    def of(self, point: Point) -> Enclosure:
        downhill = self.landscape.downhill(point)
        factor = self.size / self._length(downhill)
        return around([x + factor * y for x, y in zip(point, downhill, strict=True)])

    def expansion(self, box: Point, distance: arb) -> arb:
        """|I - s / |v| (I - v v' / |v|^2) Hess F| <= 1 + s max(M, N) / |v| with v = -grad F."""
        near = widened(box, distance)
        upward, downward = self.landscape.curvatures(near)
        length = self._length(self.landscape.downhill(near))
        return 1 + self.size * upward.max(downward) / length

    def _length(self, downhill: Point) -> arb:
        return root(inner(downhill, downhill))


def shortfall(found: Enclosure, direction: Sequence[arb]) -> arb:
    """1 - cos angle(p, u) for the points p enclosed, u the unit vector `direction`; not finite where p may be 0.

    No p is further than asin(s) from the direction of the centre c, s = error / |c|. So the cosines differ by at
    most s sin angle(c, u) + 1 - sqrt(1 - s^2).
    """
    length = l2_norm(found.centre)
    along = inner(direction, found.centre)
    across = l2_norm([x - along * y for x, y in zip(found.centre, direction, strict=True)])
    turned = found.error / length
    turn = turned * across / length + turned * turned / (1 + (1 - turned * turned).sqrt())
    return inflated(1 - along / length, turn.upper())
