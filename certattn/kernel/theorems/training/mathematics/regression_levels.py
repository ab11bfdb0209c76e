"""The regression risk at a later time, bounded by rates alone.

Let log R fall at least at the rate s(r) wherever R <= r, with s >= 0 and decreasing in r. From R_0, R is at most
R_j = f^j R_0 (f = 3/4) after

    T_j = sum_{i < j} n_i,     n_i >= log(1/f) / s(R_i),  rounded up to whole steps for descent,

and at most R_j e^(-s(R_j) (t - T_j)) at every later t: a staircase that costs no step of the run itself, and reaches
the rate of the limit however small the first one is.

The flow's path is as short: -d sqrt(R) >= sqrt(c/2) |d theta| where R falls at the rate 2c, so between two levels it is
no longer than sqrt(2/c(R_j)) (sqrt(R_j) - sqrt(R_(j+1))), and from the last one on than sqrt(2R_j/c(R_j)).
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

Bound = Callable[[arb], arb]

# The risk falls by the factor f from level to level; after so many the last rate is kept.
_FALL = fmpq(3, 4)
_LEVELS = 256


def risk_after(duration: fmpq, risk: arb, decay: Bound, whole: bool) -> arb:
    """A bound of R so long after it was `risk`; `whole` for descent, whose time goes in steps."""
    level, spent = risk, arb(0)
    fall = -arb(_FALL).log()
    for _ in range(_LEVELS):
        need = (fall / decay(level)).upper()
        if need.is_finite() is not True:
            break
        reached = (spent + (need.ceil() if whole else need)).upper()
        if (reached <= duration) is not True:
            break
        level, spent = level * _FALL, reached
    return level * (-decay(level) * (arb(duration) - spent)).exp()


def length_below(risk: arb, rate: Bound) -> arb:
    """A bound of the length of the flow's path from where R is `risk`; `rate` is c."""
    level, total = risk, arb(0)
    kept = 1 - arb(_FALL).sqrt()
    for _ in range(_LEVELS):
        total += (2 * level / rate(level)).sqrt() * kept
        level = level * _FALL
    return total + (2 * level / rate(level)).sqrt()
