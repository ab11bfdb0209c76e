"""Derivation of the formulas of the claim `spectral-distance`; the checks stand in `spectral_distances`."""

from __future__ import annotations

from certattn.theory import spectral_distances
from certattn.theory.derivation import Derivation, Step

_STEPS = (
    Step(
        "Steps beside a tail",
        "Between two neighbours the share of larger numbers is constant and the tail falls: the largest difference is "
        "a limit at one of the numbers. Checked for 1 to 3 numbers.",
        ("D+ = max_k (k/n - T(x_k))", "D- = max_k (T(x_k) - (k-1)/n)", "sup |F_n - F| = max(D+, D-)"),
        (
            r"D_+ &= \max_k \left( \frac kn - T(x_k) \right), \qquad D_- = \max_k \left( T(x_k) - \frac{k-1}n "
            r"\right)",
            r"\operatorname{sup} |F_n - F| &= \max(D_+, D_-)",
        ),
        spectral_distances.check_steps,
    ),
    Step(
        "Scales of a law",
        "The tail of c times a number grows with c, so that D+ falls and D- grows: at every c the smaller of the two "
        "is below all distances at other scales.",
        ("P(c X > x) = T(x/c)", "min(D+(c), D-(c)) <= inf over all scales <= max(D+(c), D-(c))"),
        (
            r"P(cX > x) &= T(x/c)",
            r"\min(D_+(c), D_-(c)) &\le \operatorname{inf}_{c' > 0} \max(D_+(c'), D_-(c')) \le \max(D_+(c), D_-(c))",
        ),
        spectral_distances.check_scales,
    ),
    Step(
        "Tails of quarter circles",
        "From the density `sqrt(4m - x^2)/(pi m)`, with `r = x/(2 sqrt(m))`.",
        ("P(X > x) = 2/pi (arccos r - r sqrt(1 - r^2))",),
        (r"P(X > x) &= \frac2\pi \left( \operatorname{arccos} r - r \sqrt{1 - r^2} \right)",),
        spectral_distances.check_circles,
    ),
)

DERIVATION = Derivation(
    name="spectral-distance",
    title="Distances of singular values to laws, at one scale and at all",
    source="Hayase, Collins and Karakida 2026; Kolmogorov 1933, Sulla determinazione empirica di una legge",
    steps=_STEPS,
)
