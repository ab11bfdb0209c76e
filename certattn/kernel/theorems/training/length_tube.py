"""A tube around the gradient flows of R_L for a range of lengths L, where Sigma and A have the same eigenvectors.

For orthogonal O that commutes with Sigma, R_L(O A O', b) = R_L(A, b). So the flow from A = sum a_i P_i keeps that form,
P_i the projections to the common eigenspaces, of ranks n_i, and is a_i' = -dR_L/da_i / n_i, b' = -dR_L/db.

The fit of a range is linear in mu = L_1 / L, which is one more coordinate: it rests. With y = (a, b, mu) write F for
the field of R + G (`finite_gap`), 0 along mu, the same for all L of a range, and e_i for bounds of what it is off by.
On a piece of length h from z let s = F(m) up to rounding, m = z + s h/2, and let p(t) = z + s t + w t (t - h)/2 be any
parabola. With a matrix N of one column, that of b, and 0 in its row, distances d have two views, d and d - N d: V d. On
a box that holds p and all within r of it, rho_j = |s_j| h/2 + |w_j| h^2/8 + r_j off from m, let

    c_i >= |F(m) - s|_i + (h/2) |F'(m) s - w|_i + (h^2/8) |F'(m) w|_i + e_i
           + 1/2 |F_i''(m)| + 1/6 sum |d^3 F_i / dj dk dl| rho_j rho_k rho_l,

|H| the lesser of sum |H_jk| rho_j rho_k and sum |((1 + N)' H (1 + N))_jk| rho'_j rho'_k, rho' likewise of d - N d. If
the flow is z + G x at first, for some |x_j| <= 1, and with E(t) = e^(t F'(m))

    |V E(t) G| 1 + int |V E(u)| c du < (r, r')   for all 0 <= t <= h, the integral over all of them,

then it is within r of p(t), and p(h) + E(h) G x + g at last, |g| <= int |E| c: another G with some columns more.
Proof. The distance d from p(t) has d' = F'(m) d + k with |k_i| <= c_i while its views are at most r and r', by Taylor's
formula in m, and as (1 + N)(1 - N) = 1. So d = E(t) G x + int E(t - u) k(u) du, whose views stay below these. QED
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import factorial, prod

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.weight_fits import WeightFit
from certattn.kernel.theorems.training.finite_gap import Jet, Rest, Spectrum, fitted_gap, infinite_risk, rest

Vector = list[arb]

# F(m) is looked for so often, from a guess; the remainder is bounded like everything else.
_MIDPOINTS = 2
# r is guessed with so much room, twice as much each time, and so often: first as if the distances grew as before.
_ROOM, _TRIES = fmpq(1, 128), 6
_TINY = fmpq(1, 2**40)
# e^(t F'(m)) is bounded on so many parts of a piece, one by one.
_PARTS = 4


@dataclass(frozen=True)
class Flow:
    """From (a_1, ..., a_p, b, mu) along -grad (R + G), which is off by something, while mu rests.

    Without a fit from (a_1, ..., a_p, b) along -grad R, exactly.
    """

    spectrum: Spectrum
    fit: WeightFit | None
    start: Vector

    @classmethod
    def of(cls, spectrum: Spectrum, fit: WeightFit | None, point: Vector) -> Flow:
        """From a_1, ..., a_p and b, for all lengths of the fit."""
        return cls(spectrum, fit, point if fit is None else [*point, arb(fit.least_share).union(arb(1))])

    def risk(self, at: Sequence[arb], order: int) -> Jet:
        """R + G, by its derivatives."""
        a, b = at[: len(self.spectrum.counts)], at[len(self.spectrum.counts)]
        found = infinite_risk(self.spectrum, a, b, order)
        return found if self.fit is None else fitted_gap(self.spectrum, self.fit, a, b, at[-1], order) + found

    def rest(self, box: Sequence[arb]) -> Rest:
        """What it leaves out."""
        if self.fit is None:
            return Rest(arb(0), [arb(0)] * len(box))
        *a, b, mu = box
        return rest(self.spectrum, self.fit, a, b, mu)

    @cached_property
    def counts(self) -> list[int]:
        """n_1, ..., n_p, 1."""
        return [*self.spectrum.counts, 1]

    def resting(self, moving: Sequence[arb]) -> Vector:
        """These of a_1, ..., a_p and b, and 0 for what rests."""
        return [*moving, *[arb(0)] * (len(self.start) - len(moving))]

    def field(self, jet: Jet, *along: int) -> Vector:
        """F, or its derivative."""
        return self.resting([-jet.along(i, *along) / n for i, n in enumerate(self.counts)])

    def at(self, point: Sequence[arb]) -> Vector:
        """F."""
        return self.field(self.risk(point, 1))


@dataclass(frozen=True)
class Piece:
    """Up to the time `last` the flows are near a parabola from `start` to `end` with this `bend`.

    On it they are within `most`, coordinate by coordinate; at last the distance is G x with |x_j| <= 1, G the `error`.
    """

    last: fmpq
    duration: fmpq
    start: Vector
    end: Vector
    bend: Vector
    most: Vector
    error: arb_mat

    @property
    def is_proved(self) -> bool:
        return all(x.is_finite() is True for x in self.most)

    def apart(self, other: Piece, counts: Sequence[int]) -> arb:
        """At most the distance of their flows, whose coordinates count so often."""
        total = arb(0)
        for i, n in enumerate(counts):
            ends = abs(self.start[i] - other.start[i]).max(abs(self.end[i] - other.end[i]))
            bends = abs(self.bend[i] - other.bend[i]) * self.duration * self.duration / 8
            total += n * (ends + bends + self.most[i] + other.most[i]) ** 2
        return root(total)


def follow(flow: Flow, durations: Iterable[fmpq]) -> Iterator[Piece]:
    """Pieces that last so long, one after the other, from time 0 on; none after one that is not proved."""
    z, last = [x.mid() for x in flow.start], fmpq(0)
    error, like = _diagonal([x.rad() for x in flow.start]), _Likely(flow.at(z), [arb(0)] * len(z))
    for h in durations:
        last += h
        piece, like = _piece(flow, z, error, h, last, like)
        yield piece
        if not piece.is_proved:
            return
        z, error = piece.end, piece.error


@dataclass(frozen=True)
class _Likely:
    """Guesses for a piece: F in its middle, and how fast the distances grow."""

    slope: Vector
    push: Vector


def _piece(flow: Flow, z: Vector, error: arb_mat, h: fmpq, last: fmpq, like: _Likely) -> tuple[Piece, _Likely]:
    s = like.slope
    for _ in range(_MIDPOINTS):
        s = [x.mid() for x in flow.at(_moved(z, s, h / 2))]
    middle = _moved(z, s, h / 2)
    jet = flow.risk(middle, 3)
    slopes = arb_mat([flow.field(jet, j) for j in range(len(z))]).transpose()
    turned = _times(slopes, s)
    w = [x.mid() for x in turned]
    curved = _times(slopes, w)
    fixed = [
        abs(x - y) + abs(turn - bend) * h / 2 + abs(curve) * h * h / 8
        for x, y, turn, bend, curve in zip(flow.field(jet), s, turned, w, curved, strict=True)
    ]
    size, line = len(z), _line(jet, len(z))
    views = _views(line)
    travel = [abs(x) * h / 2 + abs(y) * h * h / 8 for x, y in zip(_times(views, s), _times(views, w), strict=True)]
    seen = [views * turn for turn in _turns(slopes, h)]
    carried = [arb(0)] * views.nrows()
    for turn in seen:
        carried = [x.max(y) for x, y in zip(carried, _sizes(turn * error), strict=True)]
    sizes, seconds = _mean_size(seen), [_second(jet, line, i) for i in range(len(flow.counts))]

    def pushed(most: Vector) -> Vector:
        """A bound of what acts on the distances where their views are at most so large."""
        reach = [y + r for y, r in zip(travel, most, strict=True)]
        box = _box(middle, reach[:size])
        wide, off = flow.risk(box, 4), flow.rest(box).gradient
        bent = [_bent(second, wide, i, reach) for i, second in enumerate(seconds)]
        left = flow.resting([(x + y) / n for x, y, n in zip(bent, off, flow.counts, strict=True)])
        # Lower ends mean nothing, and would widen what these are multiplied with.
        return [(x + y).upper() for x, y in zip(fixed, left, strict=True)]

    push, most = _held(pushed, carried, sizes, h, like.push)
    end = [x.mid() for x in _moved(z, s, h)]
    # The parabola that is kept ends in `end`.
    rounded = [abs(x - y) for x, y in zip(_moved(z, s, h), end, strict=True)]
    moved = (slopes * h).exp() * error
    grown = [(x + h * g).upper() for x, g in zip(rounded, _times(sizes, push)[:size], strict=True)]
    most = [(x + y).upper() for x, y in zip(most[:size], rounded, strict=True)]
    found = Piece(last, h, z, end, w, most, _beside(moved, grown, len(flow.counts)))
    return found, _Likely(_moved(s, w, h), push)


def _held(
    pushed: Callable[[Vector], Vector], carried: Vector, sizes: arb_mat, h: fmpq, like: Vector
) -> tuple[Vector, Vector]:
    """What acts on the distances, and how large they become, proved; not finite where no guess of these does."""

    def grown(push: Vector) -> Vector:
        return [x + h * y for x, y in zip(carried, _times(sizes, push), strict=True)]

    most = grown(like)
    for k in range(_TRIES):
        guess = [(x * (1 + _ROOM * 2**k) + _TINY).upper() for x in most]
        push = pushed(guess)
        most = grown(push)
        if any(x.is_finite() is not True for x in most):
            break
        if all((x < y) is True for x, y in zip(most, guess, strict=True)):
            return push, [x.upper() for x in most]
    return [arb.pos_inf()] * len(like), [arb.pos_inf()] * len(carried)


def _line(jet: Jet, size: int) -> arb_mat:
    """With a column for b: where the a_i that relax fast follow b to, so that the slopes along them do not change."""
    b, found = jet.size, arb_mat(size, size)
    for i in range(b):
        bend, mixed = jet.along(i, i), jet.along(i, b)
        if (abs(mixed) < bend) is True:
            found[i, b] = (-mixed / bend).mid()
    return found


def _views(line: arb_mat) -> arb_mat:
    """Takes a distance d to d and, below that, to d - line d."""
    one = _diagonal([arb(1)] * line.nrows())
    return arb_mat([*one.tolist(), *(one - line).tolist()])


def _second(jet: Jet, line: arb_mat, *along: int) -> tuple[arb_mat, arb_mat]:
    """Sizes of second derivatives H of the derivative along these, and of those in d - line d: line^2 = 0."""
    each = range(line.nrows())
    H, back = arb_mat([[jet.along(*along, j, k) for k in each] for j in each]), _diagonal([arb(1)] * len(each)) + line
    return _absolute(H), _absolute(back.transpose() * H * back)


def _square(second: tuple[arb_mat, arb_mat], reach: Vector) -> arb:
    """The largest d'Hd where both views of d are at most so large."""
    half = len(reach) // 2
    plain, other = (
        sum((x * y for x, y in zip(_times(sizes, part), part, strict=True)), arb(0))
        for sizes, part in zip(second, (reach[:half], reach[half:]), strict=True)
    )
    return plain.min(other)


def _bent(second: tuple[arb_mat, arb_mat], wide: Jet, i: int, reach: Vector) -> arb:
    """What the i-th slope is off from its linear part: by third derivatives in the middle, and fourth ones on a box."""
    total, size = _square(second, reach) / 2, len(reach) // 2
    for key in combinations_with_replacement(range(size), 3):
        j, k, m = key
        # Of 6 orders of three variables.
        total += abs(wide.along(i, *key)) * reach[j] * reach[k] * reach[m] / _repeats(key)
    return total


def _repeats(key: tuple[int, ...]) -> int:
    """The product of the factorials of how often each is there."""
    return prod(factorial(key.count(x)) for x in set(key))


def _turns(slopes: arb_mat, h: fmpq) -> list[arb_mat]:
    """e^(t F'(m)) at every time t of each part of a piece: a wide exponential is far from the narrow ones in it."""
    part = h / _PARTS
    found = [(slopes * (part * (arb(1) + arb(0, 1)) / 2)).exp()]
    step = (slopes * part).exp()
    while len(found) < _PARTS:
        found.append(step * found[-1])
    return found


def _mean_size(matrices: Sequence[arb_mat]) -> arb_mat:
    total = arb_mat(matrices[0].nrows(), matrices[0].ncols())
    for each in matrices:
        total += _absolute(each)
    return total / len(matrices)


def _absolute(matrix: arb_mat) -> arb_mat:
    return arb_mat(matrix.nrows(), matrix.ncols(), [abs(x) for x in matrix.entries()])


def _sizes(matrix: arb_mat) -> Vector:
    """The largest that each coordinate of G x is."""
    return [sum((abs(x) for x in row), arb(0)).upper() for row in matrix.tolist()]


def _beside(left: arb_mat, entries: Vector, count: int) -> arb_mat:
    """With a column for each of the first so many of these; the others are 0."""
    return arb_mat([x + y[:count] for x, y in zip(left.tolist(), _diagonal(entries).tolist(), strict=True)])


def _diagonal(entries: Sequence[arb]) -> arb_mat:
    size = len(entries)
    return arb_mat(size, size, [x if i == j else 0 for i, x in enumerate(entries) for j in range(size)])


def _box(middle: Vector, reach: Vector) -> Vector:
    return [x + r * arb(0, 1) for x, r in zip(middle, reach, strict=True)]


def _moved(z: Vector, s: Vector, t: fmpq) -> Vector:
    return [x + t * y for x, y in zip(z, s, strict=True)]


def _times(matrix: arb_mat, vector: Vector) -> Vector:
    return (matrix * arb_mat(len(vector), 1, vector)).entries()


def risk_bound(flow: Flow, piece: Piece) -> arb:
    """R_L of all the flows at the end of a piece, at most."""
    reach, size = _sizes(piece.error), len(piece.end)
    box = _box(piece.end, reach)
    jet, wide = flow.risk(piece.end, 2), flow.risk(box, 2)
    line = _line(jet, size)
    slope = arb_mat(1, size, [jet.along(i) for i in range(size)]) * piece.error
    value = jet.along() + _sizes(slope)[0] + _square(_second(wide, line), _sizes(_views(line) * piece.error)) / 2
    # More bits do not narrow the tube: what is not at most this is no smaller with them.
    return (value + flow.rest(box).value).upper()
