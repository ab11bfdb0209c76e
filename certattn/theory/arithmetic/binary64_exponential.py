"""Derivation of the formulas of the claim `binary64-exponential`; the checks stand in `reduced_exponential`.

J.-M. Muller, Elementary Functions, chapter 6: table-based reduction and short polynomials.
"""

from __future__ import annotations

from certattn.theory.arithmetic import reduced_exponential
from certattn.theory.derivation import Derivation, Step

_STEPS = (
    Step(
        "The argument is split",
        "An integer `k = 2048 m + j` takes a power of two and an entry of the table out of the exponential; what is "
        "left is small if `k` is near `s / L`.",
        ("e^s = 2^m 2^(j/2048) e^r,   r = s - k L,   L = ln 2 / 2048",),
        (r"e^s &= 2^m\, 2^{j/2048}\, e^r, \qquad r = s - k L, \quad L = \frac{\ln 2}{2048}",),
        reduced_exponential.check_split,
    ),
    Step(
        "The operations",
        "Without their rounding, the operations that the kernel evaluates exactly are an entry of the table times a "
        "cubic polynomial of the residual, with `L = L1 + L2` and a tail `x`.",
        ("w = T_j (1 + r + C2 r^2 + C3 r^3),   r = s - k (L1 + L2) + x",),
        (r"w &= T_j (1 + r + C_2 r^2 + C_3 r^3), \qquad r = s - k (L_1 + L_2) + x",),
        reduced_exponential.check_operations,
    ),
    Step(
        "What the cubic leaves out",
        "With `a = 1/2 - C2` and `b = 1/6 - C3`, term by term. From the sixth power on, `n! >= 720 (n - 6)!` bounds "
        "the rest of the series by `R^6 e^R / 720` for `|r| <= R`.",
        (
            "r (1 + C2 r + C3 r^2) - (e^r - 1) = -(a r^2 + r^4/24) - r (b r^2 + r^4/120) - r^6/720 - ...",
            "Σ_{n>=6} R^n / n! <= R^6 / 720 Σ_n R^n / n!",
        ),
        (
            r"r (1 + C_2 r + C_3 r^2) - (e^r - 1) &= -\Big(a r^2 + \frac{r^4}{24}\Big) - "
            r"r \Big(b r^2 + \frac{r^4}{120}\Big) - \frac{r^6}{720} - \cdots",
            r"\sum_{n \ge 6} \frac{R^n}{n!} &\le \frac{R^6}{720} \sum_n \frac{R^n}{n!}",
        ),
        reduced_exponential.check_remainder,
    ),
    Step(
        "A parabola on an interval",
        "For `c > 0` the parabola `a x + c x^2` on `[0, X]` lies above its vertex value and below its chord from 0; "
        "it is monotone where the vertex lies outside. The kernel takes the end alone there, and both otherwise.",
        (
            "a x + c x^2 = c (x + a/2c)^2 - a^2/4c",
            "a x + c x^2 = (x/X) (a X + c X^2) - c x (X - x)",
        ),
        (
            r"a x + c x^2 &= c \Big(x + \frac{a}{2c}\Big)^2 - \frac{a^2}{4c}",
            r"a x + c x^2 &= \frac{x}{X} (a X + c X^2) - c\, x (X - x)",
        ),
        reduced_exponential.check_parabola,
    ),
    Step(
        "The constants C2 and C3",
        "Moved by `2 (sqrt 2 - 1) R^2` times the next coefficient, the value at the end is the vertex value with the "
        "other sign. More would raise the one, less the other: no other constants make a parabola's maximum smaller.",
        (
            "C2 = 1/2 + 2 (√2 - 1) R²/24,   C3 = 1/6 + 2 (√2 - 1) R²/120",
            "|P(r) - (e^r - 1)| <= (√2 - 1)² (R^4/24 + R^5/120) + R^6 e^R / 720",
        ),
        (
            r"C_2 &= \frac12 + 2(\sqrt2 - 1) \frac{R^2}{24}, \qquad C_3 = \frac16 + 2(\sqrt2 - 1) \frac{R^2}{120}",
            r"|P(r) - (e^r - 1)| &\le (\sqrt2 - 1)^2 \Big(\frac{R^4}{24} + \frac{R^5}{120}\Big) + "
            r"\frac{R^6 e^R}{720}",
        ),
        reduced_exponential.check_balance,
    ),
    Step(
        "The errors put together",
        "With `T_j = 2^(j/2048) (1 + t)`, `P = e^r - 1 + E` and the relative errors `d`, `f` of the last two "
        "operations, the relative error of the result is exactly this.",
        ("w / (2^(j/2048) e^r) = (1 + t) (1 + (E + d P) e^-r) (1 + f)",),
        (r"\frac{w}{2^{j/2048} e^r} &= (1 + t) \big(1 + (E + d P)\, e^{-r}\big) (1 + f)",),
        reduced_exponential.check_assembly,
    ),
)

DERIVATION = Derivation(
    name="binary64-exponential",
    title="The error of an exponential made of binary64 additions and multiplications",
    source="J.-M. Muller, Elementary Functions, chapter 6",
    steps=_STEPS,
)
