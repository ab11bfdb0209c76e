"""Numbers of a report as a program takes them: a fraction, or an enclosure with both ends as fractions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.limits import DEFAULT_LIMITS

_BALL = re.compile(r"\[(?:(?P<middle>\S+) )?\+/- (?P<radius>\S+)\]")


@dataclass(frozen=True, slots=True, repr=False)
class Enclosure:
    """Two fractions with the true number between them.

    Attributes
    ----------
    lower, upper : fractions.Fraction
        ``lower <= true number <= upper``, proved.
    text : str
        The enclosure as it was printed.

    Examples
    --------
    >>> from certattn import Enclosure
    >>> third = Enclosure.read("[0.333 +/- 4e-4]")
    >>> third.lower, float(third.mid)
    (Fraction(1663, 5000), 0.333)
    """

    lower: Fraction
    upper: Fraction
    text: str = field(compare=False)

    @property
    def mid(self) -> Fraction:
        """The middle, exactly; ``float(enclosure)`` is the double nearest to it."""
        return (self.lower + self.upper) / 2

    @classmethod
    def read(cls, text: str) -> Enclosure:
        """Read a ball as reports print it. Raises ValueError for anything else."""
        ball = _BALL.fullmatch(text)
        middle, radius = (None, None) if ball is None else (fraction(ball["middle"] or "0"), fraction(ball["radius"]))
        if middle is None or radius is None:
            raise ValueError(f"{text!r}: expected a ball such as [0.333 +/- 4e-4]")
        return cls(middle - radius, middle + radius, text)

    def __float__(self) -> float:
        return float(self.mid)

    def __repr__(self) -> str:
        return f"Enclosure({self.text})"


def fraction(text: str) -> Fraction | None:
    """The number that a text means; None for what is no number, or too long to be written out."""
    try:
        value = parse_rational(text, DEFAULT_LIMITS)
    except NumberError:
        return None
    return Fraction(int(value.p), int(value.q))


def number(text: str) -> Fraction | Enclosure | None:
    """One side of an obligation; None for a matrix, a reason, or a ball without bounds."""
    try:
        return Enclosure.read(text)
    except ValueError:
        return fraction(text)
