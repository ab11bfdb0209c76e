"""Derivation of the formulas of the claim `selection-direction`; the checks stand in `selection_landscapes`.

Ataee Tarzanagh, Li, Zhang and Oymak 2023 (arXiv 2306.13596), in explicit form:
docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.selection import local_convergence, selection_landscapes

_LANDSCAPE = (
    Step(
        "The losses",
        "Linear, logistic and exponential: slope, curvature, the excess `f` over the loss of the chosen token, and its "
        "inverse, each from the loss itself.",
        ("f(G) = l(γ - G) - l(γ),   f'(0) = -l'(γ) = c,   l'' ≥ 0",),
        (r"f(G) &= \ell(\gamma - G) - \ell(\gamma), \qquad f'(0) = -\ell'(\gamma) = c, \qquad \ell'' \ge 0",),
        selection_landscapes.check_losses,
    ),
    Step(
        "The gradient is a combination of the differences",
        "Let `z_j` and `g_j` be the key and the score of the chosen token less those of another one, for the pairs `j` "
        "of an input and another token. The excess loss depends on `p` through the products `<z_j, p>` alone. "
        "Differentiated from its definition, for a loss of unspecified first and second derivative, with up to three "
        "tokens an input and two inputs.",
        (
            "F(p) = n (L(p) - L_α) = Σ f_i(G_i),   G_i = Σ s_it g_it,   s_it = e^(-⟨z_it,p⟩) / (1 + Σ e^(-⟨z_ir,p⟩))",
            "-∇F = Σ ω_j z_j,   ω_it = f_i'(G_i) s_it (g_it - G_i)",
        ),
        (
            r"F(p) &= n (L(p) - L_\alpha) = \sum_i f_i(G_i), \qquad G_i = \sum_t s_{it} g_{it}, \qquad "
            r"s_{it} = \frac{e^{-\langle z_{it}, p \rangle}}{1 + \sum_r e^{-\langle z_{ir}, p \rangle}}",
            r"-\nabla F &= \sum_j \omega_j z_j, \qquad \omega_{it} = f_i'(G_i)\, s_{it} (g_{it} - G_i)",
        ),
        selection_landscapes.check_gradient,
    ),
    Step(
        "Second derivatives are third cumulants",
        "The chosen token has `z = 0`, `g = 0`. The bounds that the kernel carries distances along with are the traces "
        "of the terms of either sign, so that their difference is the trace of the Hessian.",
        (
            "∇²F = Σ f_i'' ∇G_i ∇G_i' + f_i' E_i[(g - G_i)(z - z̄_i)(z - z̄_i)']",
            "-N ≤ ∇²F ≤ M,   N = Σ f_i' E_i[(g - G_i)⁻ |z - z̄_i|²]",
        ),
        (
            r"\nabla^2 F &= \sum_i f_i'' \nabla G_i \nabla G_i^\top + f_i' \mathbb E_i[(g - G_i)(z - \bar z_i)"
            r"(z - \bar z_i)^\top]",
            r"-N \le \nabla^2 F \le M, &\qquad N = \sum_i f_i' \mathbb E_i[(g - G_i)^- |z - \bar z_i|^2]",
        ),
        selection_landscapes.check_hessian,
    ),
    Step(
        "A bound of the second derivatives everywhere",
        "Popoviciu's inequality bounds the covariance. The third cumulant is a covariance of `g` with `y^2 - 2 y E y`, "
        "`y` being `<z, q>` less the middle of its range; with `D = 2` the variance of that is at most 1: one less it "
        "is a square and a polynomial that is not negative, both checked exactly.",
        (
            "|Cov(g, a)| ≤ Γ D / 4,   |E (g - ḡ)(a - ā)²| ≤ Γ D² / 8",
            "|∇²F| ≤ B_F = Σ D_i² Γ_i (M1_i / 8 + M0_i Γ_i / 16)",
        ),
        (
            r"|\operatorname{Cov}(g, a)| &\le \tfrac{1}{4} \Gamma D, \qquad "
            r"|\mathbb E (g - \bar g)(a - \bar a)^2| \le \tfrac{1}{8} \Gamma D^2",
            r"\| \nabla^2 F \| &\le B_F = \sum_i D_i^2 \Gamma_i \left( \tfrac{1}{8} M_{1,i} + \tfrac{1}{16} M_{0,i} "
            r"\Gamma_i \right)",
        ),
        selection_landscapes.check_curvature_bound,
    ),
)

_DIRECTION = (
    Step(
        "The margin of any direction",
        "The multipliers of tight constraints sum to `|p_mm|^2`, and the mean of `<z_j, q>` with weights "
        "proportional to them is the cosine of the angle of a unit vector `q` from `p_mm`, over `|p_mm|`.",
        ("Σ m_j ⟨z_j, q⟩ = ⟨p_mm, q⟩ / |p_mm|² = Ξ cos θ   ≥   min ⟨z_j, q⟩",),
        (
            r"\sum_j m_j \langle z_j, q \rangle &= \frac{\langle p_{mm}, q \rangle}{|p_{mm}|^2} = \Xi \cos \theta "
            r"\ge \min_j \langle z_j, q \rangle",
        ),
        selection_landscapes.check_margin,
    ),
    Step(
        "Jensen's bound",
        "Written as `m_j e^(y_j)` the terms have exponents with mean 0, and `e^y >= 1 + y`.",
        ("Σ w_j e^(-⟨z_j,p⟩) ≥ w e^(-Ξ ⟨p,u⟩),   w = exp Σ m_j log(w_j / m_j)",),
        (
            r"\sum_j w_j e^{-\langle z_j, p \rangle} &\ge w\, e^{-\Xi \langle p, u \rangle}, \qquad "
            r"w = \exp \sum_j m_j \log \frac{w_j}{m_j}",
        ),
        selection_landscapes.check_weight,
    ),
    Step(
        "What a step gains, and the bound of theorem A",
        "The weights of an input sum to the slope times `G` times the softmax weight of the chosen token. The "
        "potential `log(1/F)`, or `log(1/F - 1/a)`, grows by at least the length of a step over `|p_mm|`, up to "
        "errors that sum "
        "to a constant; and it is at most the height of `p` along `p_mm`, over `|p_mm|`, less `log w`. The "
        "difference of the two is the kernel's `J`, whatever `F_k` is.",
        (
            "|p_k| - N ≤ (ψ(F_k) - ψ(F_0)) / Ξ + errors,   Ξ ⟨p_k,u⟩ ≥ log w + ψ(F_k)",
            "1 - cos θ_k ≤ J / |p_k| ≤ Ξ J / log( w s_0 (1/F_0 + k h (1-ρ) Ξ² s_0²) )",
        ),
        (
            r"|p_k| - N &\le \frac{\psi(F_k) - \psi(F_0)}{\Xi} + \text{errors}, \qquad "
            r"\Xi \langle p_k, u \rangle \ge \log w + \psi(F_k)",
            r"1 - \cos \theta_k &\le \frac{J}{|p_k|} "
            r"\le \frac{\Xi J}{\log( w s_0 (1/F_0 + k h (1 - \rho) \Xi^2 s_0^2))}",
        ),
        selection_landscapes.check_descent,
    ),
    Step(
        "Equal scores: theorem A2",
        "Where the other tokens of an input have one score, the gradient is a combination of those of "
        "the margins `m_i`, and the softmax weight of the chosen token is the logistic function of `m_i`.",
        (
            "m_i = -log Σ e^(-⟨z_it,p⟩),   -∇F = Σ ω_i ∇m_i,   ω_i = f_i' g_i s_α (1 - s_α)",
            "m_i(p_k) ≥ m_i(p_0) - (D_i² / 8) h F_0 / (1 - h B_F / 2)",
        ),
        (
            r"m_i &= -\log \sum_t e^{-\langle z_{it}, p \rangle}, \qquad "
            r"-\nabla F = \sum_i \omega_i \nabla m_i, \qquad \omega_i = f_i' g_i s_{i\alpha} (1 - s_{i\alpha})",
            r"m_i(p_k) &\ge m_i(p_0) - \frac{D_i^2}{8} \cdot \frac{h F_0}{1 - h B_F / 2}",
        ),
        selection_landscapes.check_equal_scores,
    ),
)

DERIVATION = Derivation(
    "selection-direction",
    "The direction that descent on the loss of token selection converges to",
    "Ataee Tarzanagh, Li, Zhang and Oymak 2023, arXiv 2306.13596",
    _LANDSCAPE + _DIRECTION + local_convergence.STEPS,
)
