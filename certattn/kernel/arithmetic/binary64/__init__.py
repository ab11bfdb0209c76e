"""Floating-point arithmetic with proved bounds: the only place of the kernel that rounds.

Everywhere else numbers are exact or Arb balls. Here arrays of binary64 numbers are computed with
numpy, and every result comes with a bound on its error that is derived from these facts only:

- numpy's element-by-element add, subtract and multiply of float64 arrays are IEEE-754 binary64
  operations, rounded to nearest, ties to even, one rounding per operation;
- its bit operations and shifts of 64-bit integers, and `take`, do what they say.

Subnormal numbers may be kept or replaced by zero, as operands and as results: the bounds hold
either way. What depends on a library's idea of a function (`np.exp`) is not used. The bounds are
proved with Arb from the constants that the code runs, not from the formulas they came from.
"""
