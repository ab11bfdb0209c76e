"""What the provers about random score matrices share: their `given`, and bounds of what they compute."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.provers.commands import Option
from certattn.provers.rounding import last_place, lower_rational, precisions, round_up, upper_rational

_FIRST_BITS = 128
# The law of the scores, for commands.
SCORE_OPTIONS = (
    Option("--beta", "The inverse temperature of the scores.", required=True),
    Option("--lambda", "p / d, the width over the number of keys.", sets="lambda_"),
)


def enclosed(value: Callable[[], arb], digits: int, what: str) -> arb:
    """A ball with more than so many digits known. Raises NotProvedError where the default precision has none."""
    for bits in precisions(_FIRST_BITS):
        with working_precision(bits):
            found = value()
            # Also where the value itself is too near to 0 to be told from it.
            if (found.rad() * 10 ** (digits + 1) < found.abs_lower()) is True:
                return found
    raise NotProvedError(
        f"{what} could not be enclosed to {digits} digits at {DEFAULT_LIMITS.max_bits} bits, the most that a check "
        "takes by default; expected a less extreme beta"
    )


def around(value: arb, digits: int) -> dict[str, Plain]:
    """Bounds of a positive ball, rounded outward to so many digits."""
    low, high = lower_rational(value), upper_rational(value)
    unit = last_place(high, digits)
    return {
        "at_least": format_rational((low / unit).floor() * unit),
        "at_most": format_rational((high / unit).ceil() * unit),
    }


def at_most(value: arb, digits: int) -> dict[str, Plain]:
    """An upper bound of a positive ball, rounded up to so many digits."""
    return {"at_most": format_rational(round_up(upper_rational(value), digits))}
