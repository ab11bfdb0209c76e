"""A tube around the gradient flows of R_L for a range of lengths L, where Sigma and A have the same eigenvectors.

For orthogonal O that commutes with Sigma, R_L(O A O', b) = R_L(A, b). So the flow from A = sum a_i P_i keeps that form,
P_i the projections to the common eigenspaces, of ranks n_i, and is a_i' = -dR_L/da_i / n_i, b' = -dR_L/db.

Write F for the field of R + G (`finite_gap`), which is the same for all L of a range, and e_i for bounds of what it is
off by. On a piece of length h from z let s = F(m) up to rounding, m = z + s h/2, and let p(t) = z + s t + w t (t - h)/2
be any parabola. On a box that holds p and all within r of it, coordinate by coordinate, let J be F', J_m = F'(m), and

    c_i >= |F(m) - s|_i + (h/2) |J_m s - w|_i + (h/2) (|J - J_m| |s|)_i + (h^2/8) (|J| |w|)_i + e_i.

If the flow is within r_0 of z, and  r_0 + t u  stays in [r_low, r] on the piece, where for every i

    J_ii r' + sum_(j != i) |J_ij| r_j + c_i < u_i,     r' = r_i or, where J_ii < 0, r_low_i,

then it is within r_0 + t u of p(t). Proof. As p' = s + w (t - h/2) and F(y) - F(m) = (mean of F' over the segment)
(y - m), with y - m = s (t - h/2) + w t (t - h)/2 + (y - p), the distance d_i of y_i from p_i grows at most at the rate
J_ii d_i + sum |J_ij| d_j + c_i while y is in the box. At a first time where d_i = r_0i + t u_i for some i that would be
less than u_i; so there is none. QED
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.weight_fits import WeightFit
from certattn.kernel.theorems.training.finite_gap import Jet, Rest, Spectrum, fitted_gap, infinite_risk, rest

Vector = list[arb]

# F(m) is looked for so often; the remainder is bounded like everything else.
_MIDPOINTS = 2
# r and r_low are guessed with so much room, and so often.
_ROOM, _TRIES = fmpq(33, 32), 6
_TINY = fmpq(1, 2**40)


@dataclass(frozen=True)
class Flow:
    """From (a_1, ..., a_p, b) along -grad (R + G), which is off by something; without a fit along -grad R, exactly."""

    spectrum: Spectrum
    fit: WeightFit | None
    start: Vector

    def risk(self, at: Sequence[arb], order: int) -> Jet:
        """R + G, by its derivatives along a_i and b."""
        *a, b = at
        found = infinite_risk(self.spectrum, a, b, order)
        return found if self.fit is None else found + fitted_gap(self.spectrum, self.fit, a, b, order)

    def rest(self, box: Sequence[arb]) -> Rest:
        """What it leaves out."""
        *a, b = box
        if self.fit is None:
            return Rest(arb(0), [arb(0)] * len(box))
        return rest(self.spectrum, self.fit, a, b)

    @cached_property
    def counts(self) -> list[int]:
        """n_1, ..., n_p, 1."""
        return [*self.spectrum.counts, 1]

    def at(self, point: Sequence[arb]) -> Vector:
        """F."""
        jet = self.risk(point, 1)
        return [-jet.along(i) / n for i, n in enumerate(self.counts)]


@dataclass(frozen=True)
class Piece:
    """Up to the time `last` the flows are near a parabola from `start` to `end` with this `bend`.

    At first they are within `before`, at last within `error` of it, and between them within what lies between these.
    """

    last: fmpq
    duration: fmpq
    start: Vector
    end: Vector
    bend: Vector
    before: Vector
    error: Vector

    @property
    def is_proved(self) -> bool:
        return all(e.is_finite() is True for e in self.error)

    def apart(self, other: Piece, counts: Sequence[int]) -> arb:
        """At most the distance of their flows, whose coordinates count so often."""
        total = arb(0)
        for i, n in enumerate(counts):
            ends = abs(self.start[i] - other.start[i]).max(abs(self.end[i] - other.end[i]))
            bends = abs(self.bend[i] - other.bend[i]) * self.duration * self.duration / 8
            errors = self.before[i].max(self.error[i]) + other.before[i].max(other.error[i])
            total += n * (ends + bends + errors) ** 2
        return root(total)


def follow(flow: Flow, until: fmpq, pieces: int) -> Iterator[Piece]:
    """The pieces from time 0 to `until`, or to one that is not proved."""
    z, error = [x.mid() for x in flow.start], [arb(x.rad()) for x in flow.start]
    h, grown = until / pieces, [arb(0)] * len(error)
    for k in range(pieces):
        piece = _piece(flow, z, error, grown, h, h * (k + 1))
        yield piece
        if not piece.is_proved:
            return
        grown = [x - y for x, y in zip(piece.error, error, strict=True)]
        z, error = piece.end, piece.error


def _piece(flow: Flow, z: Vector, error: Vector, grown: Vector, h: fmpq, last: fmpq) -> Piece:
    s = flow.at(z)
    for _ in range(_MIDPOINTS):
        s = [x.mid() for x in flow.at(_moved(z, s, h / 2))]
    middle = _moved(z, s, h / 2)
    jet = flow.risk(middle, 2)
    residual = [abs(-jet.along(i) / n - y) for i, (n, y) in enumerate(zip(flow.counts, s, strict=True))]
    slopes = _derivative(jet, flow.counts)
    turned = _times(slopes, s)
    w = [x.mid() for x in turned]
    travel = [abs(x) * h / 2 + abs(y) * h * h / 8 for x, y in zip(s, w, strict=True)]

    def rates(low: Vector, high: Vector) -> Vector:
        """Upper bounds of the left sides."""
        reach = [y + r for y, r in zip(travel, high, strict=True)]
        box = [x + r * arb(0, 1) for x, r in zip(middle, reach, strict=True)]
        J, off = _slopes_near(slopes, flow.risk(box, 3), reach, flow.counts), flow.rest(box).gradient
        found = []
        for i, row in enumerate(J):
            c = residual[i] + abs(turned[i] - w[i]) * h / 2 + off[i] / flow.counts[i]
            for j, entry in enumerate(row):
                c += abs(entry - slopes[i][j]) * abs(s[j]) * h / 2 + abs(entry) * abs(w[j]) * h * h / 8
                if i != j:
                    c += abs(entry) * high[j]
            found.append((c + (row[i] * high[i]).max(row[i] * low[i]) + _TINY).upper())
        return found

    end = [x.mid() for x in _moved(z, s, h)]
    rounding = [abs(x - y) for x, y in zip(_moved(z, s, h), end, strict=True)]
    after = _grown(rates, error, [x + y for x, y in zip(error, grown, strict=True)], h)
    return Piece(last, h, z, end, w, error, [(x + y).upper() for x, y in zip(after, rounding, strict=True)])


def _grown(rates: Callable[[Vector, Vector], Vector], error: Vector, likely: Vector, h: fmpq) -> Vector:
    """r_0 + h u, proved; not finite where no guess of r does, from what is likely on."""
    for _ in range(_TRIES):
        low = [(x.min(y) / _ROOM).max(arb(0)).lower() for x, y in zip(error, likely, strict=True)]
        high = [(x.max(y) * _ROOM + _TINY).upper() for x, y in zip(error, likely, strict=True)]
        u = rates(low, high)
        likely = [x + h * y for x, y in zip(error, u, strict=True)]
        if any(x.is_finite() is not True for x in likely):
            break
        if all(_is_within(x, y, b, t) for x, y, b, t in zip(error, likely, low, high, strict=True)):
            return likely
    return [arb.pos_inf()] * len(error)


def _is_within(first: arb, last: arb, low: arb, high: arb) -> bool:
    return all((low <= x) is True and (x <= high) is True for x in (first, last))


def _derivative(jet: Jet, counts: Sequence[int]) -> list[Vector]:
    """F'."""
    each = range(len(counts))
    return [[-jet.along(i, j) / counts[i] for j in each] for i in each]


def _slopes_near(slopes: Sequence[Vector], jet: Jet, reach: Vector, counts: Sequence[int]) -> list[Vector]:
    """F' on a box, from the middle by its derivatives on the box."""
    each = range(len(counts))
    found = []
    for i in each:
        row = []
        for j in each:
            moved = sum((abs(jet.along(i, j, k)) * reach[k] for k in each), arb(0)) / counts[i]
            row.append(slopes[i][j] + moved * arb(0, 1))
        found.append(row)
    return found


def _moved(z: Vector, s: Vector, t: fmpq) -> Vector:
    return [x + t * y for x, y in zip(z, s, strict=True)]


def _times(matrix: Sequence[Vector], vector: Vector) -> Vector:
    return [sum((x * y for x, y in zip(row, vector, strict=True)), arb(0)) for row in matrix]


def risk_bound(flow: Flow, piece: Piece) -> arb:
    """R_L of all the flows at the end of a piece, at most."""
    box = [x + r * arb(0, 1) for x, r in zip(piece.end, piece.error, strict=True)]
    jet, wide = flow.risk(piece.end, 1), flow.risk(box, 2)
    value = jet.along()
    for i, r in enumerate(piece.error):
        slope = jet.along(i)
        for j, other in enumerate(piece.error):
            slope += wide.along(i, j) * other * arb(0, 1)
        value += abs(slope) * r
    # More bits do not narrow the tube: what is not at most this is no smaller with them.
    return (value + flow.rest(box).value).upper()
