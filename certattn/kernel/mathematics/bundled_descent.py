"""Descents from every point of a box: a box that is turned and bent along, where a ball would only grow.

After k steps every point is c_k + A_k x + Q_k y for an x in [-1, 1]^m, the same for all k, and a y with |y_i| <= r_i.
With G = (A_k, Q_k diag(r)), J the derivative of the step at c_k and d = G w the way to a point, |w_i| <= 1, Taylor's
theorem gives

    step(c_k + d) = step(c_k) + J d + (1/2) B,     B in any box of the second derivatives of t -> step(c_k + t d) on
                                                   [0, 1], for every such d.

A_{k+1} is J A_k, rounded, and c_{k+1} is about step(c_k) plus half of the midpoint of the box; what is left over is the
vector (J Q_k) y and a vector a with |a_i| <= s_i. For any invertible Q, these sum to Q z with

    |z_i| <= sum_j |(Q^-1 J Q_k)_ij| r_j + sum_j |(Q^-1)_ij| s_j.

Q_{k+1} is nearly orthogonal: Gram and Schmidt, of the columns of J Q_k, the longest first (Lohner 1987). The box of
starts is followed to first order without loss, so that the y hold what is of second order in its size alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosed_descent import Step, descend, every_point
from certattn.kernel.mathematics.enclosure import Enclosure, inflated


class Expansion(NamedTuple):
    """Of a step at c: step(c), the derivative J there, and B as above, balls."""

    image: Enclosure
    slope: arb_mat
    second: list[arb]


@runtime_checkable
class SmoothStep(Protocol):
    """A step of which bundles are carried along."""

    def expanded(self, centre: list[arb], generators: arb_mat) -> Expansion:
        """Its expansion at a centre, for the points centre + generators w, |w_i| <= 1."""


@dataclass(frozen=True)
class Bundle(Enclosure):
    """The points c + A x + Q y, |x_i| <= 1 and |y_i| <= r_i: exact A, Q and r; all are within `error` of c."""

    carried: arb_mat
    frame: arb_mat
    radii: list[arb]

    @classmethod
    def of(cls, centre: list[arb], carried: arb_mat, frame: arb_mat, radii: list[arb]) -> Bundle:
        error = l2_norm(reaches(_generators(carried, frame, radii))).upper()
        return cls(centre, error, carried, frame, radii)

    @property
    def generators(self) -> arb_mat:
        """G."""
        return _generators(self.carried, self.frame, self.radii)

    @property
    def box(self) -> list[arb]:
        return [inflated(x, size) for x, size in zip(self.centre, reaches(self.generators), strict=True)]


def bundle(box: Sequence[arb]) -> Bundle:
    """The points of a box."""
    size, none = range(len(box)), arb(0)
    carried = arb_mat([[box[i].rad() if i == j else none for j in size] for i in size])
    return Bundle.of([entry.mid() for entry in box], carried, identity(len(box)), [none] * len(box))


def spanned(centre: Sequence[arb], generators: arb_mat) -> Bundle:
    """The points centre + generators x, |x_i| <= 1, of these balls: what they are wide is in the frame."""
    wide = [
        (entry.rad() + sum((each.rad() for each in row), arb(0))).upper()
        for entry, row in zip(centre, generators.tolist(), strict=True)
    ]
    return Bundle.of([entry.mid() for entry in centre], generators.mid(), identity(len(wide)), wide)


def reaches(rows: arb_mat) -> list[arb]:
    """Of each row the largest value at a w with |w_i| <= 1: its sum of sizes."""
    return [sum((abs(entry) for entry in row), arb(0)).upper() for row in rows.tolist()]


def carried_along(step: Step, start: Enclosure, steps: int, stops: Sequence[int] = ()) -> Mapping[int, Enclosure]:
    """Enclosures of p(k) from every point of `start`, for k = 0, k = steps and the `stops` between.

    From where a number is no longer finite, nothing is enclosed and the error is not finite.
    """
    if not isinstance(start, Bundle):
        return descend(step, start, steps, stops)
    wanted = sorted({0, steps, *(stop for stop in stops if stop <= steps)})
    found, here = dict[int, Enclosure](), start
    for k, here in enumerate(_bundles(step, start, steps + 1)):
        if k in wanted:
            found[k] = here
    return {**dict.fromkeys(wanted, here), **found}


def every_one(step: Step, start: Enclosure, steps: int) -> Iterator[Enclosure]:
    """Enclosures of p(0), ..., p(steps - 1), one after the other; the last is not finite where not all are enclosed."""
    return _bundles(step, start, steps) if isinstance(start, Bundle) else every_point(step, start, steps)


def _bundles(step: Step, start: Bundle, steps: int) -> Iterator[Bundle]:
    assert isinstance(step, SmoothStep)
    here = start
    for k in range(steps):
        if k > 0:
            here = _after(step, here)
        yield here
        if here.error.is_finite() is not True:
            return


def _after(step: SmoothStep, here: Bundle) -> Bundle:
    """One step."""
    image, slope, second = step.expanded(here.centre, here.generators)
    carried, turned = slope * here.carried, slope * here.frame
    sums = [x + y / 2 for x, y in zip(image.centre, second, strict=True)]
    aside = [
        entry.rad() + image.error + sum((each.rad() for each in row), arb(0))
        for entry, row in zip(sums, carried.tolist(), strict=True)
    ]
    frame, back = _framed(turned, here.radii)
    inside = reaches(back * turned * _diagonal(here.radii))
    outside = reaches(back * _diagonal(aside))
    radii = [(x + y).upper() for x, y in zip(inside, outside, strict=True)]
    return Bundle.of([entry.mid() for entry in sums], carried.mid(), frame, radii)


def _framed(turned: arb_mat, radii: Sequence[arb]) -> tuple[arb_mat, arb_mat]:
    """A matrix that is nearly orthogonal, and its inverse enclosed; the identity where none is found."""
    columns = turned.mid().transpose().tolist()
    lengths = [(l2_norm(column) * radius).mid() for column, radius in zip(columns, radii, strict=True)]
    found: dict[int, list[arb]] = {}
    for j in sorted(range(len(columns)), key=lambda j: -lengths[j]):
        rest = columns[j]
        for other in found.values():
            share = sum((x * y for x, y in zip(other, rest, strict=True)), arb(0)).mid()
            rest = [(x - share * y).mid() for x, y in zip(rest, other, strict=True)]
        length = l2_norm(rest)
        found[j] = [(x / length).mid() for x in rest]
    frame = arb_mat([found[j] for j in range(len(columns))]).transpose()
    try:
        return frame, frame.inv()
    except ZeroDivisionError:
        return identity(len(columns)), identity(len(columns))


def identity(size: int) -> arb_mat:
    """The identity matrix."""
    return _diagonal([arb(1)] * size)


def _generators(carried: arb_mat, frame: arb_mat, radii: list[arb]) -> arb_mat:
    rest = (frame * _diagonal(radii)).tolist()
    return arb_mat([[*row, *more] for row, more in zip(carried.tolist(), rest, strict=True)])


def _diagonal(entries: Sequence[arb]) -> arb_mat:
    return arb_mat([[entry if i == j else arb(0) for j in range(len(entries))] for i, entry in enumerate(entries)])
