"""Derivation of the formulas of the claim `equivalent-law`; checks in `spectral_laws` and `spectral_gaps`.

Hayase, Collins and Karakida, AISTATS 2026 (arXiv 2510.06685): which law; its closed formulas are derived here.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import spectral_gaps, spectral_laws

_LAW = (
    Step(
        "The two parts of softmax's variance",
        "For `g ~ N(0, 1)` the centred weight `e^(beta g - beta^2/2) - 1` has the linear part `beta g`; the rest has "
        "the variance `alpha^2`. Their ratio determines the nonlinear share.",
        (
            "α² + β² = e^(β²) - 1,   ρ = α²/β² = (e^x - 1 - x)/x,   x = β²",
            "α²/(α² + β²) = ρ/(1 + ρ) = 1 - x/(e^x - 1)",
        ),
        (
            r"\alpha^2 + \beta^2 &= e^{\beta^2} - 1, \qquad \rho = \alpha^2/\beta^2 = (e^x - 1 - x)/x, "
            r"\qquad x = \beta^2",
            r"\frac{\alpha^2}{\alpha^2 + \beta^2} &= \frac{\rho}{1 + \rho} = 1 - \frac{x}{e^x - 1}",
        ),
        spectral_laws.check_energy,
    ),
    Step(
        "Free cumulants and the function K",
        "The product of queries and keys is a sum of `lambda d` free rank-one matrices, a free compound Poisson law; "
        "the Gaussian part adds its variance. The cumulants sum to a geometric series.",
        (
            "κ_2 = α² + β²,   κ_2n = λ (β²/λ)^n",
            "K(w) = 1/w + Σ κ_2n w^(2n-1) = 1/w + α² w + β² w/(1 - b w²),   b = β²/λ",
        ),
        (
            r"\kappa_2 &= \alpha^2 + \beta^2, \qquad \kappa_{2n} = \lambda (\beta^2/\lambda)^n",
            r"K(w) &= \frac1w + \sum_n \kappa_{2n} w^{2n-1} = \frac1w + \alpha^2 w + \frac{\beta^2 w}{1 - b w^2}, "
            r"\qquad b = \beta^2/\lambda",
        ),
        spectral_laws.check_cumulants,
    ),
    Step(
        "The quartic equation and its roots far out",
        "`z = K(w)` times a denominator is `P(w; z) = 0`, which has no root where the denominator vanishes. For "
        "`z = iy`, `y` large, one root is below the real line, three above. Near a number there is a root by the "
        "logarithmic derivative.",
        (
            "P(w; z) = α² b w⁴ - z b w³ + (b - α² - β²) w² + z w - 1 = w (1 - b w²)(z - K(w))",
            "P(0; z) = -1,   P(±b^(-1/2); z) = -λ,   P'/P = Σ 1/(w - w_j)",
        ),
        (
            r"P(w; z) &= \alpha^2 b w^4 - z b w^3 + (b - \alpha^2 - \beta^2) w^2 + z w - 1 = w (1 - b w^2)(z - K(w))",
            r"P(0; z) &= -1, \qquad P(\pm b^{-1/2}; z) = -\lambda, \qquad P'/P = \sum_j \frac{1}{w - w_j}",
        ),
        spectral_laws.check_quartic,
    ),
    Step(
        "A primitive of the Stieltjes transform",
        "`Phi' = w K'`, so that `Phi(G(z))` has the derivative `G(z)`. Above a gap only one logarithm is not real.",
        (
            "Φ(w) = 1 + α² w²/2 + λ v/(1-v) - Log w + λ/2 (Log(1 - √b w) + Log(1 + √b w)),   v = b w²",
            "μ((x, ∞)) = (2/π) Im Φ(G(x + i0))",
        ),
        (
            r"\Phi(w) &= 1 + \tfrac12 \alpha^2 w^2 + \frac{\lambda v}{1-v} - \operatorname{Log} w + \tfrac\lambda2 "
            r"(\operatorname{Log}(1 - \sqrt b w) + \operatorname{Log}(1 + \sqrt b w)), \qquad v = b w^2",
            r"\mu((x, \infty)) &= \tfrac2\pi \operatorname{Im} \Phi(G(x + i0))",
        ),
        spectral_laws.check_primitive,
    ),
    Step(
        "The moments",
        "By Lagrange inversion of `z G = 1 + C(G)`; the inverted series solves `z = K(G)` order by order. The fourth "
        "moment exceeds that of the quarter circle law.",
        (
            "m_2n = [w^2n] (1 + C(w))^(2n+1) / (2n+1)",
            "m_4 = 2 m_2² + β⁴/λ,   m_4/m_2² - 2 = (1 - r)²/λ",
        ),
        (
            r"m_{2n} &= \tfrac1{2n+1} [w^{2n}] (1 + C(w))^{2n+1}",
            r"m_4 &= 2 m_2^2 + \beta^4/\lambda, \qquad m_4/m_2^2 - 2 = (1-r)^2/\lambda",
        ),
        spectral_laws.check_moments,
    ),
)

_SUPPORT = (
    Step(
        "The largest density",
        "The imaginary part of `z = K(w)` is at least 0, which bounds `u = |w|^2` by the root of a quadratic equation; "
        "at `z = 0` it is met.",
        (
            "Im K(w) = (-Im w) [1/u - α² - β² (1 + b u)/|1 - b w²|²],   |1 - b w²| ≤ 1 + b u",
            "α² b u_0² + (m_2 - b) u_0 - 1 = 0,   G(i0) = -i √u_0",
        ),
        (
            r"\operatorname{Im} K(w) &= (-\operatorname{Im} w) \Bigl[ \frac1u - \alpha^2 - "
            r"\frac{\beta^2 (1 + b u)}{|1 - b w^2|^2} \Bigr], \qquad |1 - b w^2| \le 1 + b u",
            r"0 &= \alpha^2 b u_0^2 + (m_2 - b) u_0 - 1, \qquad G(i0) = -i \sqrt{u_0}",
        ),
        spectral_gaps.check_density,
    ),
    Step(
        "The critical points of K",
        "`K'` has the sign of a cubic polynomial in `v = b w^2`. `K` is convex up to its first pole, and positive at "
        "all its critical points on the right.",
        (
            "w² (1-v)² K'(w) = h(v) = -(1-v)² + λρ v (1-v)² + λ v (1+v)",
            "K(w) = (2/w)(1 - λ v²/(1-v)²) where h(v) = 0",
        ),
        (
            r"w^2 (1-v)^2 K'(w) &= h(v) = -(1-v)^2 + \lambda\rho\, v (1-v)^2 + \lambda v (1+v)",
            r"K(w) &= \tfrac2w \Bigl( 1 - \frac{\lambda v^2}{(1-v)^2} \Bigr) \quad \text{where } h(v) = 0",
        ),
        spectral_gaps.check_critical,
    ),
    Step(
        "Where the gap closes",
        "`h` has a double root `v = 1/t` where `lambda rho = q(v)` is at a maximum of `q`. The discriminant of `h` is "
        "`lambda` times a cubic polynomial.",
        (
            "λ = (v-1)³/(v² (v+3)) = (1-t)³/(1+3t),   ρ_c = (3v+1)/(v-1)³ = t² (3+t)/(1-t)³",
            "disc h = λ [8(1-s)³ - 3λ(5s² + 26s + 5) + 6λ²(1-s) + λ³],   s = λρ",
        ),
        (
            r"\lambda &= \frac{(v-1)^3}{v^2 (v+3)} = \frac{(1-t)^3}{1+3t}, \qquad "
            r"\rho_c = \frac{3v+1}{(v-1)^3} = \frac{t^2 (3+t)}{(1-t)^3}",
            r"\operatorname{disc} h &= \lambda\, [ 8 (1-s)^3 - 3 \lambda (5 s^2 + 26 s + 5) + 6 \lambda^2 (1-s) + "
            r"\lambda^3 ], \qquad s = \lambda\rho",
        ),
        spectral_gaps.check_gap,
    ),
)

DERIVATION = Derivation(
    name="equivalent-law",
    title="The limit law of the singular values of softmax attention",
    source="Hayase, Collins and Karakida, AISTATS 2026, arXiv 2510.06685, and this project",
    steps=_LAW + _SUPPORT,
)
