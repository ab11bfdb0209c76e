"""Tables of enclosures, a row per query, as a certificate states them: rounded, with a radius, in text or in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.reals import format_rational
from certattn.provers.rounding import last_place, midpoint, round_nearest, round_up, upper_rational

_RADIUS_DIGITS = 3
# A ball is sharp where its radius is so much smaller than the last place that is printed.
_SHARP = 2**10
# Longer tables go into an array file, as doubles.
MOST_WRITTEN = 4096

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Printing:
    """How numbers are stated: so many digits of the largest, or a radius; radii for all queries or for each."""

    digits: int
    radius: fmpq | None
    per_query: bool


@dataclass
class Table:
    """Enclosures of `name`: a row per query, which is a vector, or a matrix of so many `columns`."""

    name: str
    columns: int
    rows: list[list[arb]] = field(default_factory=list)

    def units(self, printing: Printing) -> list[fmpq]:
        """The last place that is printed, for each query."""
        if printing.radius is not None:
            return [last_place(printing.radius, 1)] * len(self.rows)
        sizes = [max(abs(midpoint(entry)) for entry in row) for row in self.rows]
        if not printing.per_query:
            sizes = [max(sizes)] * len(sizes)
        return [last_place(size, printing.digits) for size in sizes]

    def is_sharp(self, printing: Printing) -> bool:
        """Whether every enclosure is far narrower than what is printed of it."""
        if not all(entry.is_finite() for row in self.rows for entry in row):
            return False
        rows = zip(self.rows, self.units(printing), strict=True)
        return all(bool(entry.rad() * _SHARP <= unit) for row, unit in rows for entry in row)

    def doubles(self, printing: Printing) -> Array | None:
        """A long table as the nearest doubles, its queries one below the other; None for one to write out."""
        if printing.radius is not None or len(self.rows) * len(self.rows[0]) <= MOST_WRITTEN:
            return None
        array = np.array([[float(entry.mid()) for entry in row] for row in self.rows])
        return array.reshape(-1, self.columns) if np.isfinite(array).all() else None

    def rounded(self, printing: Printing) -> list[list[fmpq]]:
        """The decimals to state."""
        rows = zip(self.rows, self.units(printing), strict=True)
        return [[round_nearest(midpoint(entry), unit) for entry in row] for row, unit in rows]

    def radius(self, values: list[list[fmpq]], printing: Printing) -> Plain:
        """The largest error of what is stated, rounded up, or the radius asked for.

        Raises NotProvedError if that is too small.
        """
        pairs = zip(self.rows, values, strict=True)
        errors = [max(_error(entry, value) for entry, value in zip(*pair, strict=True)) for pair in pairs]
        if printing.radius is not None:
            worst = errors.index(max(errors))
            if errors[worst] > printing.radius:
                shown, radius = arb(errors[worst]).str(3, radius=False), format_rational(printing.radius)
                raise NotProvedError(f"{self.name} at query {worst} is known up to {shown} only, expected {radius}")
            return format_rational(printing.radius)
        if printing.per_query:
            return [format_rational(round_up(error, _RADIUS_DIGITS)) for error in errors]
        return format_rational(round_up(max(errors), _RADIUS_DIGITS))


def _error(entry: arb, value: fmpq) -> fmpq:
    """At least how far a number is from what is stated of it, however a check of the same precision rounds."""
    return upper_rational(abs(entry - value) + 4 * entry.rad())


def exactly(array: Array, queries: int) -> list[list[fmpq]]:
    """Doubles as rationals, a row per query."""
    rows = [[Fraction(entry) for entry in row] for row in array.reshape(queries, -1).tolist()]
    return [[fmpq(entry.numerator, entry.denominator) for entry in row] for row in rows]


def vectors(rows: list[list[fmpq]]) -> Plain:
    """A vector per query."""
    return [[format_rational(entry) for entry in row] for row in rows]


def numbers(rows: list[list[fmpq]]) -> Plain:
    """A number per query."""
    return [format_rational(entry) for row in rows for entry in row]


def matrices(rows: list[list[fmpq]], columns: int) -> Plain:
    """A matrix per query; of one query, the matrix itself."""
    found = [vectors([row[i : i + columns] for i in range(0, len(row), columns)]) for row in rows]
    return found if len(found) > 1 else found[0]
