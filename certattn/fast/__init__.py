"""Floating-point arithmetic with proved bounds: the only place of all that is trusted that rounds.

Everywhere else numbers are exact or Arb balls. Here arrays of binary64 numbers are computed with
numpy, and every result comes with a bound on its error that is derived from these facts only:

- numpy's element-by-element add, subtract and multiply of float64 arrays are IEEE-754 binary64
  operations, rounded to nearest, ties to even, one rounding per operation, subnormal numbers kept;
- its bit operations and shifts of 64-bit integers, and `take`, do what they say.

That a thread computes so is set and proved (`floating_point`, `units`), not assumed. What depends on a
library's idea of a function (`np.exp`) is not used. The bounds are proved with Arb from the constants
that the code runs, not from the formulas they came from.

It is trusted by verdicts that name binary64, and by no other. It imports the kernel's mathematics, errors and
`decide.floating_point`, and decides nothing.
"""

from certattn.kernel.decide.floating_point import require_default

# No module of this package is compiled, and no constant of theirs made, where literals may become other numbers.
require_default()


def binary64() -> str:
    """What a verdict rests on that this package had a part in, as reports say it."""
    import numpy

    return f"binary64 with proved bounds (numpy {numpy.__version__})"
