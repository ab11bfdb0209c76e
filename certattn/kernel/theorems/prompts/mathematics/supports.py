"""Laws of bounded support, part by part: points, and boxes or their corners.

Generic in the number type.
"""

from __future__ import annotations

from certattn.kernel.mathematics.functions import Functions, Number
from certattn.kernel.mathematics.laws import Atoms, Box, Law, Mixture, Rademacher, Vector, dot

BoundedPart = Rademacher | Box | Atoms


def bounded_parts(law: Law) -> list[BoundedPart] | None:
    """The laws that a law is mixed from; None if one of them has no bounded support."""
    if isinstance(law, Rademacher | Box | Atoms):
        return [law]
    if not isinstance(law, Mixture):
        return None
    found: list[BoundedPart] = []
    for component in law.components:
        parts = bounded_parts(component)
        if parts is None:
            return None
        found += parts
    return found


def support_function(law: Rademacher | Box, tilt: Vector, fn: Functions) -> Number:
    """h(a) = max <a, x> over the support of signs or a box: sum c_j |a_j|."""
    return dot(law.sizes, [fn.absolute(a) for a in tilt])
