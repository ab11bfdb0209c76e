"""How much an obligation has to spare: the distance of its two sides as a share of the larger one.

Numbers are read back from what a report prints, which decides as the enclosures did; they are for readers' eyes. A side
is shown by the end of its enclosure that has to keep the bound, rounded in the safe direction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.report.text import on_one_line

_BITS, _DIGITS, _MOST_DIGITS, _FURTHEST = 256, 6, 30, 4096
_LONGEST = 400
_LEAST = Decimal("0.0001")
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")
_DECIMAL = r"-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]{1,6})?"
_BALL = re.compile(rf"{_DECIMAL}|\[({_DECIMAL} )?\+/- {_DECIMAL}\]")
_AT_MOST = re.compile(r"(at most|up to) between \S+ and (\S+)")
_AT_LEAST = re.compile(r"(at least) between (\S+) and \S+")
_ENCLOSED = re.compile(rf"\[({_DECIMAL} )?\+/- {_DECIMAL}\]")
_LESS, _GREATER = ("<=", "<"), (">=", ">")
_SIGNS = {"<=": "\u2264", ">=": "\u2265"}


@dataclass(frozen=True)
class Margin:
    """One obligation as a page shows it.

    `sides` are what is proved of both, and how they compare. `share` is by how much the inequality holds at least, as a
    share of the larger side: None where the sides are no numbers, where one is 0, or where the printed digits do not
    show it. `exact`: these are no balls.
    """

    name: str
    sentence: str
    sides: str
    result: str
    exact: bool
    share: float | None = None

    @property
    def spare(self) -> str:
        """The share in per cent, two digits, never more than it is."""
        if self.share is None:
            return ""
        with localcontext(prec=2, rounding=ROUND_FLOOR):
            percent = +Decimal(100 * self.share)
        return f"under {_LEAST} %" if 0 < percent < _LEAST else f"{percent.normalize():f} %"


def margins(obligations: Sequence[Mapping[str, Any]]) -> list[Margin]:
    """What is not proved first, then balls with the least to spare; exact comparisons, which need none, last."""
    found = [_margin(obligation) for obligation in obligations]
    return sorted(found, key=lambda m: (m.result == "proved", m.exact, m.share is None, m.share or 0.0))


def least_spare(found: Sequence[Margin]) -> Margin | None:
    """The proved comparison of balls with the least to spare, if all is proved and any has one."""
    if any(margin.result != "proved" for margin in found):
        return None
    return next((margin for margin in found if margin.share is not None and not margin.exact), None)


def _margin(obligation: Mapping[str, Any]) -> Margin:
    name, sentence, left, relation, right = (
        str(obligation.get(key, "")) for key in ("name", "sentence", "left", "relation", "right")
    )
    proved = (result := str(obligation.get("outcome", ""))) == "proved"
    with working_precision(_BITS):
        distance, share = _apart(left, relation, right)
        if proved and distance is not None and (distance < 0) is True:
            # The balls are printed wider than they are.
            share, proved = None, False
        sides = (_said(left, relation in _LESS, right), relation, _said(right, relation in _GREATER, left))
    if not proved or relation not in (*_LESS, *_GREATER):
        sides = (left, relation, right)
    shown = " ".join((sides[0], _SIGNS.get(relation, relation), sides[2]))
    exact = not obligation.get("bits")
    return Margin(on_one_line(name), on_one_line(sentence), on_one_line(shown), on_one_line(result), exact, share)


def _said(side: str, above: bool, other: str) -> str:
    """The end of a ball that matters, in words; what is exact or no number stands as it is.

    It has as many digits as an exact number on the other side: rounded to fewer it might pass that.
    """
    digits = _DIGITS if other.startswith("[") else min(max(_DIGITS, sum(map(str.isdigit, other))), _MOST_DIGITS)
    ball = _number(side) if side.startswith("[") else None
    end = _end(ball, above, digits) if isinstance(ball, arb) and not ball.is_exact() else ""
    return f"{'at most' if above else 'at least'} {end}" if end else side


def without_balls(text: str) -> str:
    """A finding in which a ball stands as the numbers between which it lies, rounded outwards."""

    def between(found: re.Match[str]) -> str:
        with working_precision(_BITS):
            ball = _number(found[0])
            ends = (_end(ball, False), _end(ball, True)) if isinstance(ball, arb) else ("", "")
        return f"between {ends[0]} and {ends[1]}" if all(ends) else found[0]

    # After "at most" one end says it all.
    text = _AT_MOST.sub(r"\1 \2", _ENCLOSED.sub(between, text))
    return _AT_LEAST.sub(r"\1 \2", text)


def _end(ball: arb, above: bool, digits: int = _DIGITS) -> str:
    """The upper or the lower end, rounded away from the ball; "" where that is not to be written."""
    mantissa, exponent = (ball.upper() if above else ball.lower()).man_exp()
    if abs(int(exponent)) > _FURTHEST:
        return ""
    numerator, denominator = int(mantissa) * 2 ** max(int(exponent), 0), 2 ** max(-int(exponent), 0)
    with localcontext(prec=digits, rounding=ROUND_CEILING if above else ROUND_FLOOR):
        return f"{(Decimal(numerator) / Decimal(denominator)).normalize():g}"


def _apart(left: str, relation: str, right: str) -> tuple[arb | None, float | None]:
    """By how much at least the inequality holds, and that by the larger side; negative where it fails."""
    small, large = (left, right) if relation in _LESS else (right, left)
    lower, upper = _number(small), _number(large)
    if relation not in (*_LESS, *_GREATER) or lower is None or upper is None:
        return None, None
    low, high = arb(lower), arb(upper)
    exact = isinstance(lower, fmpq) and isinstance(upper, fmpq)
    distance = arb(upper - lower) if exact else high.lower() - low.upper()
    sizes = [abs(low).mid(), abs(high).mid()]
    if not all((size > 0) is True for size in sizes):
        return distance, None
    share = float(distance / (sizes[0] if (sizes[0] > sizes[1]) is True else sizes[1]))
    return distance, share if math.isfinite(share) else None


def _number(text: str) -> arb | fmpq | None:
    """A printed side: a rational number or a ball; None for other texts."""
    if len(text) > _LONGEST:
        return None
    if _RATIONAL.fullmatch(text):
        numerator, _, denominator = text.partition("/")
        return fmpq(int(numerator), int(denominator or "1")) if int(denominator or "1") else None
    if not _BALL.fullmatch(text):
        return None
    ball = arb(text)
    return ball if ball.is_finite() is True else None
