"""Derivation of the formulas of the claim `risk-gap`; checks in `regression_gaps` and `weight_growth`.

Boursier and Boyer 2026 (arXiv 2512.11784), section 4: the risk of a finite prompt, exactly, and with named constants.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.training import regression_gaps, weight_growth

_STEPS = (
    Step(
        "The gap of the risks is exact",
        "The mean over the task turns the risk into a mean square of `b tau_hat - x`; mean and mean square of "
        "`tau_hat - tau` are those of Gaussian tokens at one query.",
        (
            "R_L - R = 1/2 E_x[ q (b²T - b²|τ|² + 2b⟨τ,x⟩) - 6 b² κ |τ|² ]",
            "q = E P_2,   κ = E[P_3 - P_2²],   τ = ΣAx,   T = tr Σ",
        ),
        (
            r"R_L - R &= \tfrac12 \mathbb E_x \left[ q\, (b^2 T - b^2 |\tau|^2 + 2 b \langle \tau, x \rangle) "
            r"- 6 b^2 \kappa\, |\tau|^2 \right]",
            r"q &= \mathbb E P_2, \qquad \kappa = \mathbb E[P_3 - P_2^2], \qquad \tau = \Sigma A x, \qquad "
            r"T = \operatorname{tr} \Sigma",
        ),
        regression_gaps.check_identity,
    ),
    Step(
        "Over a ball of parameters",
        "A convex function of `M` with `tr M <= r^2` is largest at a matrix of rank 1: one Gaussian average.",
        (
            "R_L - R ≤ 1/2 (ρ_b² T M_0 + Y),   Y = T M_0 + λ (M_1 - M_0)",
            "R - R_L ≤ 5/4 X + (X Y)^(1/2),   X = ρ_b² λ r² M_1",
        ),
        (
            r"R_L - R &\le \tfrac12 (\rho_b^2 T M_0 + Y), \qquad Y = T M_0 + \lambda (M_1 - M_0)",
            r"R - R_L &\le \tfrac54 X + \sqrt{X Y}, \qquad X = \rho_b^2 \lambda r^2 M_1",
        ),
        regression_gaps.check_ball,
    ),
    Step(
        "Functions above the collision probability, and their averages",
        "The logistic bound bends where it is one half; a power touches it; means of linear pieces are "
        "incomplete gamma functions.",
        (
            "1/2 + (v - v_0)/4,   v_0 = log(L - 1)",
            "θ^θ (1-θ)^(1-θ) (L-1)^-θ E[e^(θr²g²) g^(2k)],   E[g^(2k); g² > y] = 2^k Γ(k + 1/2, y/2) / √π",
        ),
        (
            r"& \tfrac12 + \tfrac14 (v - v_0), \qquad v_0 = \log(L - 1)",
            r"& \theta^\theta (1-\theta)^{1-\theta} (L-1)^{-\theta}\, \mathbb E[e^{\theta r^2 g^2} g^{2k}], \qquad "
            r"\mathbb E[g^{2k}; g^2 > y] = 2^k \Gamma(k + \tfrac12, \tfrac y2) / \sqrt \pi",
        ),
        regression_gaps.check_majorants,
    ),
    Step(
        "How fast the moments of the weights bend",
        "Half the Laplacian in the scores is the derivative by their variance. What comes out is bounded by the "
        "moments of weights that are at most `s`, `s^2 = P_2`, through polynomials on intervals (Bernstein).",
        ("d²q/dv² ≥ -13/12 q,   |d²q/dv²|, |d²κ/dv²| ≤ 17/4 q",),
        (
            r"\frac{d^2 q}{dv^2} &\ge -\tfrac{13}{12} q, \qquad "
            r"\left| \frac{d^2 q}{dv^2} \right|, \left| \frac{d^2 \kappa}{dv^2} \right| \le \tfrac{17}4 q",
        ),
        weight_growth.check_second_derivatives,
    ),
    Step(
        "Longer prompts have a smaller collision probability",
        "The sum of a log-concave and a normal variable is log-concave (Prekopa), so that `Psi_2 / Psi_1` grows.",
        ("q(L, v) = ∫ h(u) L u^(L-1) du,   h(φ(t)) = Ψ_2(t) / Ψ_1(t) = 1 - (log Ψ_1)'",),
        (
            r"q(L, v) &= \int_0^1 h(u)\, L u^{L-1}\, du, \qquad "
            r"h(\varphi(t)) = \frac{\Psi_2(t)}{\Psi_1(t)} = 1 - (\log \Psi_1)'",
        ),
        weight_growth.check_lengths,
    ),
    Step(
        "The moments of the weights are analytic in the variance",
        "A normal density of complex variance is at most `c` times one of real variance, and prompts of which each "
        "token is kept with probability `p` bound the rest.",
        (
            "|q(x + iy)| ≤ (c/p) E q_N(x'),   N ~ Bin(L, p),   x' = x + y²/x",
            "c = (1 + y²/x²)^(1/4) e^(y²/8x),   p = 1 - c|y|/3,   E q_N(x') ≤ 2 e^(x') / (p L)",
        ),
        (
            r"|q(x + iy)| &\le \frac cp\, \mathbb E\, q_N(x'), \qquad N \sim \operatorname{Bin}(L, p), \qquad "
            r"x' = x + y^2 / x",
            r"c &= (1 + y^2/x^2)^{1/4} e^{y^2/8x}, \qquad p = 1 - \tfrac13 c |y|, \qquad "
            r"\mathbb E\, q_N(x') \le \frac{2 e^{x'}}{p L}",
        ),
        weight_growth.check_complex_variances,
    ),
)

DERIVATION = Derivation(
    name="risk-gap",
    title="What a finite prompt adds to the risk of in-context regression",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 4",
    steps=_STEPS,
)
