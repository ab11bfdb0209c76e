"""What is proved of the error of an attention kernel, for a test, a person or a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from certattn.fast.output_errors import Interval
from certattn.kernel.document.quoting import counted

_SHOWN_HEADS = 16


@dataclass(frozen=True)
class Enclosed:
    """Two doubles with the true number between them: ``lower <= true number <= upper``, proved."""

    lower: float
    upper: float

    @property
    def mid(self) -> Fraction:
        """The middle, exactly. Raises OverflowError for an infinite end."""
        return (Fraction(self.lower) + Fraction(self.upper)) / 2

    def __float__(self) -> float:
        return float(self.mid)

    @classmethod
    def of(cls, interval: Interval) -> Enclosed:
        """Of a size >= 0; an end that is NaN or has overflowed bounds nothing."""
        low, high = interval.low, interval.high
        return cls(low if 0 <= low < math.inf else 0.0, high if high >= 0 else math.inf)

    def __str__(self) -> str:
        """The digits that both ends have, or both."""
        for digits in range(8, 1, -1):
            shown = f"{self.upper:.{digits}g}"
            if f"{self.lower:.{digits}g}" == shown:
                return shown
        return f"{self.lower:.3g} to {self.upper:.3g}" if self.lower != self.upper else f"{self.upper:.3g}"


@dataclass(frozen=True)
class Entry:
    """An entry of the output: where, what the kernel wrote, and what is exact there."""

    batch: int
    head: int
    query: int
    coordinate: int
    output: float
    exact: Enclosed

    def __str__(self) -> str:
        place = f"batch {self.batch}, head {self.head}, query {self.query}, coordinate {self.coordinate}"
        return f"{place}: {self.output:.9g}, where {self.exact} is exact"


@dataclass(frozen=True)
class HeadError:
    """The errors of one head; see `AttentionError`."""

    batch: int
    head: int
    max_abs: Enclosed
    max_relative: Enclosed
    max_ulps: Enclosed
    rms: Enclosed
    worst: Entry
    lse: Enclosed | None = None
    worst_lse: int | None = None


@dataclass(frozen=True)
class AttentionError:
    """How far an output is from exact attention, each an enclosure with `lower` and `upper`.

    max_abs       largest absolute error of an entry
    max_relative  largest |o - T|_2 / |T|_2 of a row, T the exact row; unbounded where T may be 0
    max_ulps      largest error in units in the last place of the exact value, in the number type of the output
    rms           root mean square of the errors of all entries
    lse           largest error of the log-sum-exps, where they were given; infinite where one is no finite number
    worst         the entry with the largest error
    worst_lse     batch, head and query of the log-sum-exp with the largest error
    not_finite    how many entries are NaN or infinite: their errors are infinite, and `worst` is the first of them
    heads         the same of every head
    """

    dtype: str
    shape: tuple[int, int, int, int]
    heads: Sequence[HeadError]
    not_finite: int

    @property
    def max_abs(self) -> Enclosed:
        return _largest([head.max_abs for head in self.heads])

    @property
    def max_relative(self) -> Enclosed:
        return _largest([head.max_relative for head in self.heads])

    @property
    def max_ulps(self) -> Enclosed:
        return _largest([head.max_ulps for head in self.heads])

    @property
    def rms(self) -> Enclosed:
        # Not of squares, which overflow.
        root, slack = math.sqrt(len(self.heads)), 2.0**-40
        low = math.hypot(*(head.rms.lower / root for head in self.heads))
        high = math.hypot(*(head.rms.upper / root for head in self.heads))
        return Enclosed(low * (1 - slack), high * (1 + slack))

    @property
    def lse(self) -> Enclosed | None:
        known = [head.lse for head in self.heads if head.lse is not None]
        return _largest(known) if known else None

    @property
    def worst(self) -> Entry:
        return max(self.heads, key=lambda head: head.max_abs.upper).worst

    @property
    def worst_lse(self) -> tuple[int, int, int] | None:
        known = [(each.lse.upper, each.batch, each.head, each.worst_lse) for each in self.heads if each.lse is not None]
        _, batch, head, query = max(known, key=lambda each: each[0], default=(0, 0, 0, None))
        return None if query is None else (batch, head, query)

    def measures(self) -> Mapping[str, Enclosed]:
        """By name, those that there are."""
        found = {
            "max_abs": self.max_abs,
            "max_relative": self.max_relative,
            "max_ulps": self.max_ulps,
            "rms": self.rms,
        }
        return found if self.lse is None else {**found, "lse": self.lse}

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {each}" for name, each in self.measures().items())
        bad = f", {counted(self.not_finite, 'entry')} not finite" if self.not_finite else ""
        worst = f"worst entry at {self.worst}"
        if self.worst_lse is not None:
            batch, head, query = self.worst_lse
            worst += f"; worst log-sum-exp at batch {batch}, head {head}, query {query}"
        return f"<AttentionError of {self.dtype} {self.shape}: {said}{bad}; {worst}>"

    def table(self) -> str:
        """The errors by head, the worst ones first where there are many."""
        heads = list(self.heads)
        if len(heads) > _SHOWN_HEADS:
            heads = sorted(heads, key=lambda head: -head.max_abs.upper)[:_SHOWN_HEADS]
        rows = [["batch", "head", "max_abs", "max_relative", "max_ulps", "rms"]]
        for each in heads:
            measured = [each.max_abs, each.max_relative, each.max_ulps, each.rms]
            rows.append([str(each.batch), str(each.head), *(f"{one.upper:.3g}" for one in measured)])
        lines = aligned(rows)
        left = len(self.heads) - len(heads)
        return "\n".join([*lines, *([f"and {counted(left, 'head')} with smaller errors"] if left else [])])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "dtype": self.dtype,
            "shape": list(self.shape),
            **{name: asdict(each) for name, each in self.measures().items()},
            "worst": asdict(self.worst),
            **({} if self.worst_lse is None else {"worst_lse": list(self.worst_lse)}),
            "not_finite": self.not_finite,
            "heads": [asdict(head) for head in self.heads],
        }


def unbounded(found: Enclosed, relative: bool) -> str:
    """Why a measure has no upper bound."""
    if found.lower == math.inf:
        return "NaN or infinite"
    if relative:
        return "not bounded: a row of the exact output is nearly or exactly 0; state max_abs"
    return "not bounded in doubles"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table of numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _largest(each: Sequence[Enclosed]) -> Enclosed:
    return Enclosed(max(one.lower for one in each), max(one.upper for one in each))
