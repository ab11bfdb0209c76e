"""Checks: the areas of cells in a plane of any dimension, and that four quarters make a cell."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbols import real, vector


def check_areas(kernel: Kernel) -> Iterator[Check]:
    """The area of (a, b) -> o + a s + b t over a square, by the first fundamental form."""
    a, b, low, high, size = (real(name) for name in ("a", "b", "a_0", "b_0", "h"))
    for dimension in (2, 3):
        o, s, t = (sympy.Matrix(vector(name, dimension)) for name in "ost")
        place = o + a * s + b * t
        ways = place.diff(a), place.diff(b)
        form = sympy.Matrix([[(one.T * other)[0] for other in ways] for one in ways])
        # The squared density is the same everywhere, so that shares of area are those of (a, b).
        density = (s.T * s)[0] * (t.T * t)[0] - (s.T * t)[0] ** 2
        yield equal(f"the squared density of area, d = {dimension}", form.det(), density)
        if dimension == 2:
            yield equal("which is the squared determinant", density, s.row_join(t).det() ** 2)
    whole = sympy.integrate(1, (a, low, low + size), (b, high, high + size))
    half = size / 2
    quarters = [
        sympy.integrate(1, (a, low + i * half, low + (i + 1) * half), (b, high + j * half, high + (j + 1) * half))
        for j in (0, 1)
        for i in (0, 1)
    ]
    yield equal("a quarter", quarters, [whole / 4] * 4)
