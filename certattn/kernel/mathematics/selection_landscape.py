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
from functools import cached_property

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.bundled_descent import Expansion, identity, reaches
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated, widened
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.leaping_descent import Approach
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Selection

Point = list[arb]
# A number for every pair, input by input; and what `shares` gives of an input.
Products = list[list[arb]]
Shares = tuple[arb, list[arb], arb]


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

    @cached_property
    def differences(self) -> arb_mat:
        """The z_j, one per row."""
        return arb_mat([list(z) for contrasts in self.inputs for z, _ in contrasts.rows])

    @cached_property
    def tables(self) -> list[arb_mat]:
        """Of each input the z_j, one per row."""
        return [arb_mat([list(z) for z, _ in contrasts.rows]) for contrasts in self.inputs]

    def products(self, point: Point) -> Products:
        """The <z_j, p>, input by input."""
        found = iter((self.differences * arb_mat([[x] for x in point])).entries())
        return [[next(found) for _ in contrasts.rows] for contrasts in self.inputs]

    def combined(self, weights: Products) -> Point:
        """The sum of the z_j with these weights."""
        return list((arb_mat([[weight for row in weights for weight in row]]) * self.differences).entries())

    def exponentials(self, point: Point) -> Products:
        """The E_j = e^{-<z_j, p>}, input by input."""
        return [[(-x).exp() for x in row] for row in self.products(point)]

    def shares(self, point: Point) -> list[Shares]:
        """Of each input, the softmax weights of the chosen token and of the others, s_it, and G_i."""
        return self.shares_at(self.products(point))

    def shares_at(self, products: Products) -> list[Shares]:
        """The same where the <z_j, p> are these."""
        found = []
        for contrasts, row in zip(self.inputs, products, strict=True):
            powers = [(-x).exp() for x in row]
            chosen = 1 / (sum(powers, arb(0)) + 1)
            weights = [power * chosen for power in powers]
            gap = sum([s * g for s, (_, g) in zip(weights, contrasts.rows, strict=True)], arb(0))
            found.append((chosen, weights, gap))
        return found

    def excess(self, point: Point) -> arb:
        """F = sum_i f_i(G_i)."""
        terms = zip(self.inputs, self.shares(point), strict=True)
        return sum((self.loss.excess(contrasts.score, gap) for contrasts, (_, _, gap) in terms), arb(0))

    def weights(self, point: Point) -> Products:
        """The omega_j, input by input."""
        found = []
        for contrasts, (_, shares, gap) in zip(self.inputs, self.shares(point), strict=True):
            slope = self.loss.slope(contrasts.score - gap)
            found.append([slope * s * (g - gap) for s, (_, g) in zip(shares, contrasts.rows, strict=True)])
        return found

    def downhill(self, point: Point) -> Point:
        """-grad F."""
        return self.combined(self.weights(point))

    def turning(self, products: Products, rates: Products) -> Point:
        """The derivative of -grad F along y where the <z_j, p> are `products` and the <z_j, y> `rates`.

        ds_j = s_j (sum_t s_t <z_t, y> - <z_j, y>) and dG = sum_j ds_j g_j give that of the omega_j.
        """
        weights = []
        for contrasts, (_, shares, gap), row in zip(self.inputs, self.shares_at(products), rates, strict=True):
            score, gaps = contrasts.score - gap, [g for _, g in contrasts.rows]
            mean = sum([s * a for s, a in zip(shares, row, strict=True)], arb(0))
            moves = [s * (mean - a) for s, a in zip(shares, row, strict=True)]
            rise = sum([move * g for move, g in zip(moves, gaps, strict=True)], arb(0))
            slope, bend = self.loss.slope(score), self.loss.curvature(score) * rise
            weights.append(
                [
                    (bend * s + slope * move) * (g - gap) - slope * s * rise
                    for s, move, g in zip(shares, moves, gaps, strict=True)
                ]
            )
        return self.combined(weights)

    def derivative(self, centre: Point) -> arb_mat:
        """That of -grad F, a symmetric matrix: row by row along the axes."""
        here, size = self.products(centre), len(centre)
        axes = [[arb(1 if j == i else 0) for j in range(size)] for i in range(size)]
        return arb_mat([self.turning(here, self.products(axis)) for axis in axes])

    def bends(self, centre: Point, generators: arb_mat) -> Point:
        """The second derivative of -grad F along y at centre + a y, 0 <= a <= 1, for y = generators w, |w_i| <= 1."""
        reach = iter(reaches(self.differences * generators))
        products = [[inflated(x, next(reach)) for x in row] for row in self.products(centre)]
        found = [arb(0)] * len(centre)
        for contrasts, table, row in zip(self.inputs, self.tables, products, strict=True):
            gaps = [g for _, g in contrasts.rows]
            chosen, *shares = narrow_shares(row)
            gap = inner(shares, gaps)
            score, leads = contrasts.score - gap, [g - gap for g in gaps]
            # zbar and -grad G.
            middle, slide = (arb_mat([shares, [s * h for s, h in zip(shares, leads, strict=True)]]) * table).tolist()
            rows = [[-x for x in middle], *([a - b for a, b in zip(z, middle, strict=True)] for z, _ in contrasts.rows)]
            aways = arb_mat(rows)
            moves, (fall,) = reaches(aways * generators), reaches(arb_mat([slide]) * generators)
            slopes = self.loss.slope(score), self.loss.curvature(score), self.loss.jerk(score)
            tokens = [(s, h, *_up_to(b)) for s, h, b in zip([chosen, *shares], [-gap, *leads], moves, strict=True)]
            weights, factor = bend(slopes, tokens, _up_to(fall))
            turned = (arb_mat([weights]) * aways).entries()
            found = [x + y + factor * z for x, y, z in zip(found, turned, slide, strict=True)]
        return found

    def curvatures(self, point: Point) -> tuple[arb, arb]:
        """Bounds M, N >= 0 with -N <= Hess F <= M: of the mean E_i, each term's trace, by the sign of its weight.

        M = sum_i f_i'' |grad G_i|^2 + f_i' sum_t s_it (g_it - G_i)^+ |z_it - zbar_i|^2, and N the same without
        the first summand, with (g_it - G_i)^-; t runs over all tokens, the chosen one too.
        """
        upward = downward = 0 * point[0]
        for contrasts, table, (chosen, shares, gap) in zip(self.inputs, self.tables, self.shares(point), strict=True):
            score, zero, gaps = contrasts.score - gap, 0 * gap, [g for _, g in contrasts.rows]
            slope, curvature = self.loss.slope(score), self.loss.curvature(score)
            # zbar and -grad G.
            means = arb_mat([shares, [s * (g - gap) for s, g in zip(shares, gaps, strict=True)]]) * table
            centre, slide = means.tolist()
            upward = upward + curvature * inner(slide, slide)
            aways = [[a - b for a, b in zip(z, centre, strict=True)] for z, _ in contrasts.rows]
            for share, away, g in zip([chosen, *shares], [centre, *aways], [zero, *gaps], strict=True):
                spread, excess = slope * share * inner(away, away), g - gap
                upward = upward + spread * excess.max(zero)
                downward = downward + spread * (-excess).max(zero)
        return upward, downward


def bend(
    slopes: tuple[arb, arb, arb], tokens: Sequence[tuple[arb, arb, arb, arb]], fall: tuple[arb, arb]
) -> tuple[list[arb], arb]:
    """The second derivative of -f'(G) grad G along y as sum_t w_t (z_t - zbar) + c Cov(z, g): the w_t, and c.

    From f', f'' and f''', of every token s_t, h_t = g_t - G, b_t = <z_t - zbar, y> and b_t^2, and C and C^2. -grad G is
    Cov(z, g). Along y, G falls by C = E h b, and C by E h b^2; Cov(z, g) turns by -E h b (z - zbar), and that by
    E (h (b^2 - E b^2) - 2 C b)(z - zbar).
    """
    (slope, curvature, jerk), (change, squared) = slopes, fall
    spread = sum((s * square for s, _, _, square in tokens), arb(0))
    swing = sum((s * h * square for s, h, _, square in tokens), arb(0))
    weights = [
        s * (slope * (h * (square - spread) - 2 * change * b) + 2 * curvature * change * h * b)
        for s, h, b, square in tokens
    ]
    return weights, jerk * squared + curvature * swing


def narrow_shares(products: Sequence[arb]) -> list[arb]:
    """The softmax weights of the chosen token and of the others. Every E_j occurs once in each: balls stay narrow."""
    powers = [arb(1), *((-x).exp() for x in products)]
    before, after = [arb(0)], [arb(0)]
    for left, right in zip(powers, reversed(powers), strict=True):
        before.append(before[-1] + left)
        after.append(after[-1] + right)
    others = [x + y for x, y in zip(before[:-1], reversed(after[:-1]), strict=True)]
    return [1 / (1 + other / power) for other, power in zip(others, powers, strict=True)]


def _up_to(size: arb) -> tuple[arb, arb]:
    """The numbers of at most this size, and their squares."""
    return size * arb(0, 1), size * size * arb(0).union(arb(1))


def inner(z: Sequence[arb], point: Sequence[arb]) -> arb:
    """<z, p>."""
    return sum([a * b for a, b in zip(z, point, strict=True)], arb(0))


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

    def expanded(self, centre: Point, generators: arb_mat) -> Expansion:
        """For a bundle."""
        slope = identity(len(centre)) + self.landscape.derivative(centre) * self.size
        return Expansion(self.of(centre), slope, [self.size * x for x in self.landscape.bends(centre, generators)])

    def approach(self, centre: Point) -> GradientApproach:
        """Of a leap from there."""
        return GradientApproach.of(self, centre)


@dataclass(frozen=True)
class GradientApproach(Approach):
    """With the <z_j, c>, <z_j, g> and <z_j, b>."""

    step: GradientStep
    products: tuple[Products, Products, Products]

    @classmethod
    def of(cls, step: GradientStep, centre: Point) -> GradientApproach:
        surface = step.landscape
        first = around([step.size * x for x in surface.downhill(centre)])
        here, along = surface.products(centre), surface.products(first.centre)
        second = [(step.size * x).mid() for x in surface.turning(here, along)]
        return cls(centre, first.centre, second, first.error, step, (here, along, surface.products(second)))

    def turning(self, reach: arb, bend: arb) -> Point:
        here, along, across = self.products
        rates = [[a + bend * b for a, b in zip(*rows, strict=True)] for rows in zip(along, across, strict=True)]
        products = [[x + reach * y for x, y in zip(*rows, strict=True)] for rows in zip(here, rates, strict=True)]
        return [self.step.size * x for x in self.step.landscape.turning(products, rates)]


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
