"""The mathematics of two chapters or more: exact matrices, balls, laws, softmax sums, series, quadrature.

Exact numbers and balls in, exact numbers and balls out. It imports flint and itself, knows no certificate, and decides
nothing. What only one chapter needs lies with it, in ``theorems/CHAPTER/mathematics``.
"""
