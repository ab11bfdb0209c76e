"""Zeros of real functions between two numbers, by bisection with proved signs."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx

# Sizes up to 2 to this are gone through.
_EXPONENTS = 2**14


def zero_between(function: Callable[[arb], arb], below: arb, above: arb) -> arb:
    """A ball with a zero of a continuous function that is proved < 0 at `below` and > 0 at `above`, exact numbers.

    Either of them may be the larger one. As small as the working precision shows; NaN where the signs at the two are
    not proved. With signs proved at all ends, every function that the enclosures hold has such a zero.
    """
    if (function(below) < 0) is not True or (function(above) > 0) is not True:
        return arb.nan()
    for _ in range(ctx.prec + 8):
        middle = ((below + above) / 2).mid()
        value = function(middle)
        if (value < 0) is True:
            below = middle
        elif (value > 0) is True:
            above = middle
        else:
            # It may be the zero itself: come closer from both sides.
            near = ((below + middle) / 2).mid(), ((middle + above) / 2).mid()
            moved = [(function(near[0]) < 0) is True, (function(near[1]) > 0) is True]
            below, above = near[0] if moved[0] else below, near[1] if moved[1] else above
            if not any(moved):
                break
    return below.union(above)


def scale_of_change(function: Callable[[arb], arb], origin: arb, far: arb) -> tuple[arb, arb]:
    """Two numbers on the way from `origin` to `far`, the second at most twice as far from the origin, or (origin, far).

    Of a function that changes its sign once on the way, from < 0 to > 0, they are on both sides of that: bisection
    takes hundreds of steps to come from a large number to a change next to the origin, the exponents of its distance
    are gone through in a few. A guess: `zero_between` looks at the signs.
    """
    size = far - origin
    near, steps = 0, 2 * ctx.prec + _EXPONENTS
    while steps - near > 1:
        middle = (near + steps) // 2
        near, steps = (middle, steps) if (function(origin + size * arb(2) ** -middle) > 0) is True else (near, middle)
    return ((origin + size * arb(2) ** -steps).mid(), (origin + size * arb(2) ** -near).mid())
