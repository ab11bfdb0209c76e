"""Derivation of the bounds of the claim `universality-bound`; the checks stand in `gaussian_columns`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import gaussian_columns

DERIVATION = Derivation(
    "universality-bound",
    "Exponential scores beside Gaussian columns",
    "Hayase, Collins, Karakida, Gaussian Equivalence for Self-Attention, 2026 (arXiv 2510.06685): the limit of the law",
    (
        Step(
            "The covariance of exponential scores",
            "Given the queries, the columns are independent. Weighing with the square of one entry shifts the key, "
            "which multiplies the other entries by constants.",
            (
                "E[e_i e_l | X] = exp(β² G_il),   G = XX'/p",
                "E[e_i² h(e) | X] = exp(β² G_ii) E[h((e^(2β² G_ij) e_j)_j) | X]",
            ),
            (
                r"\mathbb E[e_i e_l \mid X] &= e^{\beta^2 G_{il}}, \qquad G = XX^\top/p",
                r"\mathbb E[e_i^2\, h(e) \mid X] &= "
                r"e^{\beta^2 G_{ii}}\, \mathbb E[h((e^{2\beta^2 G_{ij}} e_j)_j) \mid X]",
            ),
            gaussian_columns.check_covariance,
        ),
        Step(
            "The distance of the covariances",
            "Moments of inner products and of squared lengths of Gaussian queries are derivatives of their generating "
            "functions.",
            (
                "E e^(a x.x') = (1 - a²)^(-p/2),   E e^(a|x|²) = (1 - 2a)^(-p/2)",
                "E |Σ - Σ_lin|² = d(d-1) E(e^y - 1 - y)² + d E(e^u - u - e^(β²) + β²)²",
            ),
            (
                r"\mathbb E \lVert \Sigma - \Sigma_{\mathrm{lin}} \rVert_F^2 &= d(d-1)\,\mathbb E(e^y - 1 - y)^2 "
                r"+ d\,\mathbb E(e^u - u - e^{\beta^2} + \beta^2)^2",
            ),
            gaussian_columns.check_linearisation,
        ),
        Step(
            "One column after the other",
            "The resolvent changes by a ratio of quadratic forms of the column, which is compared with the ratio of "
            "their means. The part of first order has mean 0.",
            (
                "tr(M'M' + tt' + η)⁻¹ = tr R - t'R²t/(1 + t'Rt)",
                "r/(1+q) - s/(1+u) = (r - s - κ(q - u))/(1+q),   κ = s/(1+u),   |R² - κR| ≤ η⁻²",
            ),
            (
                r"\operatorname{tr}(MM^\top + tt^\top + \eta)^{-1} &= "
                r"\operatorname{tr} R - \frac{t^\top R^2 t}{1 + t^\top R t}",
                r"\frac{r}{1+q} - \frac{\bar r}{1 + \bar q} &= \frac{(r - \bar r) - \kappa (q - \bar q)}{1 + q}, "
                r"\qquad \kappa = \frac{\bar r}{1 + \bar q}",
            ),
            gaussian_columns.check_columns,
        ),
        Step(
            "Sizes of given queries",
            "What the bound needs of the queries, for queries of symbols.",
            ("|E s_T - E s_N| ≤ η⁻³ d⁻² (4β² |G| (Σ_i e^(β²G_ii) |u_i|² + e^(5β²s²) tr Σ) + 2 |Σ|²)",),
            (
                r"\lvert \mathbb E s_T - \mathbb E s_N \rvert &\le \frac{4\beta^2 \lVert G\rVert "
                r"\left( \sum_i e^{\beta^2 G_{ii}} |u_i|^2 + e^{5\beta^2 s^2} \operatorname{tr} \Sigma \right) "
                r"+ 2 \lVert\Sigma\rVert_F^2}{d^2 \eta^3}",
            ),
            gaussian_columns.check_given_queries,
        ),
        Step(
            "Random queries and all steps",
            "Means over queries, deviations by bounded differences, and the way from attention to a Gaussian matrix.",
            (
                "P(|s - E s| ≥ x) ≤ 2 exp(-dη²x²)",
                "|E s_M - E s_Y| ≤ (3√3/8) η^(-3/2) (normaliser + covariance) + 1/(dη) + universality",
            ),
            (
                r"\mathbb P(|s - \mathbb E s| \ge x) &\le 2 e^{-d \eta^2 x^2}",
                r"\max_x \left|\frac{d}{dx} \frac{1}{x^2 + \eta}\right| &= \tfrac{3\sqrt3}{8}\, \eta^{-3/2}",
            ),
            gaussian_columns.check_random_queries,
        ),
    ),
)
