"""Derivation of the formulas of the claim `spectral-distance`.

The checks stand in `spectral_distances` and `truncated_weights`.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import spectral_distances, truncated_weights

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
    Step(
        "Weights that are cut off",
        "`f = min(e^(beta g - beta^2/2), tau)` for a standard normal `g` is `tau` from `c = (log tau)/beta + beta/2` "
        "on: its mean, its part along `g` and its mean square are Gaussian integrals on both sides of `c`.",
        (
            "E f = Q(beta - c) + tau Q(c)",
            "E g f = beta Q(beta - c)",
            "E f^2 = e^(beta^2) Q(2 beta - c) + tau^2 Q(c)",
            "m = E f^2/(E f)^2 - 1,   beta_tau = E g f/E f,   alpha_tau^2 = m - beta_tau^2",
        ),
        (
            r"\operatorname{E} f &= Q(\beta - c) + \tau Q(c), \qquad \operatorname{E} g f = \beta Q(\beta - c)",
            r"\operatorname{E} f^2 &= e^{\beta^2} Q(2\beta - c) + \tau^2 Q(c)",
            r"m &= \frac{\operatorname{E} f^2}{(\operatorname{E} f)^2} - 1, \qquad \beta_\tau = "
            r"\frac{\operatorname{E} g f}{\operatorname{E} f}, \qquad \alpha_\tau^2 = m - \beta_\tau^2",
        ),
        truncated_weights.check_moments,
    ),
    Step(
        "Without a cut",
        "As `tau` grows the numbers become those of softmax. Checked at `beta = 1`.",
        ("E f -> 1,   E g f -> beta,   E f^2 -> e^(beta^2)",),
        (
            r"\lim \operatorname{E} f &= 1, \qquad \lim \operatorname{E} g f = \beta, \qquad "
            r"\lim \operatorname{E} f^2 = e^{\beta^2}",
        ),
        truncated_weights.check_limits,
    ),
    Step(
        "Where the equation for the cut grows",
        "The slope of `m` is below `2 tau Q(c)/(E f)^2`, in which `Q(c)` falls and `E f` grows: from where "
        "`d Q(c) <= (E f)^2` holds, `t^2 - d m(t)` grows, and has one zero at most.",
        (
            "(E f)' = Q(c),   (E f^2)' = 2 tau Q(c)",
            "m' = 2 Q(c) (tau - E f^2/E f)/(E f)^2",
            "(t^2 - d m)' = 2 t ((E f)^2 - d Q(c))/(E f)^2 + 2 d Q(c) E f^2/(E f)^3",
        ),
        (
            r"(\operatorname{E} f)' &= Q(c), \qquad (\operatorname{E} f^2)' = 2 \tau Q(c)",
            r"m' &= \frac{2 Q(c)}{(\operatorname{E} f)^2} \left( \tau - "
            r"\frac{\operatorname{E} f^2}{\operatorname{E} f} \right)",
            r"(t^2 - d\,m)' &= 2t\,\frac{(\operatorname{E} f)^2 - d\,Q(c)}{(\operatorname{E} f)^2} + "
            r"\frac{2 d\,Q(c) \operatorname{E} f^2}{(\operatorname{E} f)^3}",
        ),
        truncated_weights.check_growth,
    ),
)

DERIVATION = Derivation(
    name="spectral-distance",
    title="Distances of singular values to laws, at one scale and at all",
    source="Hayase, Collins and Karakida 2026; Kolmogorov 1933, Sulla determinazione empirica di una legge",
    steps=_STEPS,
)
