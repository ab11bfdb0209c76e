"""How far a law of bounded support reaches: h(a) = max <a, x> over its support.

Generic in the number type.
"""

from __future__ import annotations

from functools import reduce

from certattn.kernel.arithmetic.functions import Functions, Number
from certattn.kernel.arithmetic.laws import Atoms, Box, Law, Mixture, Rademacher, Vector, dot


def is_bounded(law: Law) -> bool:
    """Whether `support_function` knows the law's support."""
    if isinstance(law, Mixture):
        return all(is_bounded(part) for part in law.components)
    return isinstance(law, Rademacher | Box | Atoms)


def support_function(law: Law, tilt: Vector, fn: Functions) -> Number:
    """max <tilt, x> over the support: sum c_j |a_j| for signs and boxes, a maximum over atoms or components."""
    if isinstance(law, Rademacher | Box):
        return dot(law.sizes, [fn.absolute(a) for a in tilt])
    if isinstance(law, Atoms):
        return reduce(fn.maximum, [dot(tilt, point) for point in law.points])
    if isinstance(law, Mixture):
        return reduce(fn.maximum, [support_function(part, tilt, fn) for part in law.components])
    raise TypeError(f"{type(law).__name__} has no bounded support")
