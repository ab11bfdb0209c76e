"""How much slack an obligation has: the distance of its two sides, and its share of the larger one.

Numbers are read back from what a report prints, which decides as the enclosures did; they are for readers' eyes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.report.text import on_one_line

# Where the bar of a slack ends that is hardly one.
SMALLEST = 1e-12
_BITS = 256
_LONGEST = 400
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")
_DECIMAL = r"-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]{1,6})?"
_BALL = re.compile(rf"{_DECIMAL}|\[({_DECIMAL} )?\+/- {_DECIMAL}\]")
_LESS, _GREATER = ("<=", "<"), (">=", ">")


@dataclass(frozen=True)
class Margin:
    """One obligation as a page shows it.

    `distance` is by how much the inequality holds at least, and `share` that as a share of the larger side: None where
    the sides are no numbers, where one is 0, or where the printed digits do not show it. `exact`: these are no balls.
    """

    name: str
    sentence: str
    left: str
    relation: str
    right: str
    result: str
    exact: bool
    distance: str = ""
    share: float | None = None

    @property
    def slack(self) -> str:
        """The share in words."""
        return "" if self.share is None else percent(self.share)

    @property
    def length(self) -> float:
        """For a bar: per cent, by the logarithm of the share; all of it for a share of 1, nothing for SMALLEST."""
        if self.share is None or not self.share > SMALLEST:
            return 0.0
        return round(100 * min(1.0, 1 - math.log10(self.share) / math.log10(SMALLEST)), 1)


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def margins(obligations: Sequence[Mapping[str, Any]]) -> list[Margin]:
    """What is not proved first, then balls with the least slack; exact comparisons, which need none, last."""
    found = [_margin(obligation) for obligation in obligations]
    return sorted(found, key=lambda m: (m.result == "proved", m.exact, m.share is None, m.share or 0.0))


def least_slack(found: Sequence[Margin]) -> Margin | None:
    """The proved comparison of balls with the least slack, if all is proved and any has one."""
    if any(margin.result != "proved" for margin in found):
        return None
    return next((margin for margin in found if margin.share is not None and not margin.exact), None)


def _margin(obligation: Mapping[str, Any]) -> Margin:
    texts = {key: str(obligation.get(key, "")) for key in ("name", "sentence", "left", "relation", "right")}
    result = str(obligation.get("outcome", ""))
    distance, share = _slack(texts["left"], texts["relation"], texts["right"])
    if result == "proved" and distance.startswith("-"):
        # The balls are printed wider than they are.
        distance, share = "", None
    shown = {key: on_one_line(text) for key, text in texts.items()}
    return Margin(**shown, result=on_one_line(result), exact=not obligation.get("bits"), distance=distance, share=share)


def _slack(left: str, relation: str, right: str) -> tuple[str, float | None]:
    """By how much at least the inequality holds, and that as a share of the larger side; negative where it fails."""
    with working_precision(_BITS):
        small, large = (left, right) if relation in _LESS else (right, left)
        lower, upper = _number(small), _number(large)
        if relation not in (*_LESS, *_GREATER) or lower is None or upper is None:
            return "", None
        if isinstance(lower, fmpq) and isinstance(upper, fmpq):
            distance, sizes = arb(upper - lower), [arb(abs(lower)), arb(abs(upper))]
        else:
            low, high = arb(lower), arb(upper)
            distance, sizes = high.lower() - low.upper(), [abs(low).mid(), abs(high).mid()]
        shown = distance.str(3, radius=False)
        if not all((size > 0) is True for size in sizes):
            return shown, None
        larger = sizes[0] if (sizes[0] > sizes[1]) is True else sizes[1]
        share = float(distance / larger)
        return shown, share if math.isfinite(share) else None


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
