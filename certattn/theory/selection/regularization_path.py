"""Derivation of the formulas of the claim `regularization-path`; the checks stand in `mixed_tokens`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.selection import mixed_tokens

_STEPS = (
    Step(
        "Softmax weights, and scores along a direction",
        "The weights of the tokens that are not chosen depend on p through the products with the differences of keys. "
        "Along a direction u with `b_t = <z_t, u>` the score falls by `G = sum s_t g_t`, and G changes as a "
        "covariance: "
        "where `G < g_t` for all t and `b_t > 0`, it falls. Checked for up to three other tokens.",
        ("s_t = e^(-⟨z_t,p⟩) / (1 + Σ e^(-⟨z_r,p⟩))", "d/dτ G(p + τu) = -Σ s_t b_t (g_t - G)"),
        (
            r"s_t &= \frac{e^{-\langle z_t, p \rangle}}{1 + \sum_r e^{-\langle z_r, p \rangle}}",
            r"\frac{d}{d\tau} G(p + \tau u) &= -\sum_t s_t b_t (g_t - G)",
        ),
        mixed_tokens.check_weights,
    ),
    Step(
        "Weighted means",
        "With the shares of the multipliers, which sum to 1, and `x_j = <z_j, p>`, the sum over the pairs is `w e^-X` "
        "times a weighted mean of `e^(y_j)`, where the `y_j` have the weighted mean 0; and `e^t >= 1 + t`. "
        "Checked for up to "
        "three pairs.",
        ("Σ m_j e^(-x_j) = w e^(-X) Σ λ_j e^(y_j) ≥ w e^(-X),   X = Σ λ_j x_j,   log w = Σ λ_j log(m_j/λ_j)",),
        (
            r"\sum_j m_j e^{-x_j} &= w e^{-X} \sum_j \hat\lambda_j e^{y_j} \ge w e^{-X}, \qquad "
            r"X = \sum_j \hat\lambda_j x_j, \quad \log w = \sum_j \hat\lambda_j \log \frac{m_j}{\hat\lambda_j}",
        ),
        mixed_tokens.check_weighted_means,
    ),
    Step(
        "The bound of the angle",
        "`F >= (1 - F/a) w e^-X` is solved for X. The bound falls as F grows, so that any point of the ball "
        "with a small "
        "loss gives one for all minimisers.",
        ("X ≥ log( w (1/F - 1/a) ),   cos ≥ X / (Ξ R)",),
        (r"X &\ge \log\left( w \left( \tfrac{1}{F} - \tfrac{1}{a} \right) \right), \qquad \cos \ge \frac{X}{\Xi R}",),
        mixed_tokens.check_progress,
    ),
    Step(
        "Slopes of the activations",
        "The least slope on an interval is the one at an end: that of tanh where |r| is largest, that of softplus at "
        "the lower end, that of a leaky rectifier below 0.",
        ("tanh' = 4 e^(-2|r|) / (1 + e^(-2|r|))²", "softplus' = 1 / (1 + e^(-r))"),
        (
            r"\tanh'(r) &= \frac{4 e^{-2|r|}}{(1 + e^{-2|r|})^2}",
            r"\operatorname{softplus}'(r) &= \frac{1}{1 + e^{-r}}",
        ),
        mixed_tokens.check_activations,
    ),
    Step(
        "The loss of a score",
        "The kernel's excess is the difference of the losses of the two outputs, for each loss, activation and label.",
        ("e = ℓ(Y φ(Y (γ - G))) - ℓ(Y φ(Y γ))",),
        (r"e &= \ell(Y \varphi(Y (\gamma - G))) - \ell(Y \varphi(Y \gamma))",),
        mixed_tokens.check_scores,
    ),
    Step(
        "Quadratic heads",
        "The drop of the output is quadratic in the weights. The bound that is linear in them leaves a sum that is not "
        "negative where up_t is at least every Q_tr. Checked in dimension 2 with one and two other tokens.",
        (
            "D = Σ s_t g_t - Σ s_t s_r Q_tr = Σ s_t (g_t - ε up_t) + Σ s_t s_r (up_t - Q_tr)",
            "∂D/∂s_t = g_t - 2 Σ Q_tr s_r",
        ),
        (
            r"D &= \sum_t s_t g_t - \sum_{t,r} s_t s_r Q_{tr} "
            r"= \sum_t s_t (g_t - \varepsilon\, \overline Q_t) + \sum_{t,r} s_t s_r (\overline Q_t - Q_{tr})",
            r"\frac{\partial D}{\partial s_t} &= g_t - 2 \sum_r Q_{tr} s_r",
        ),
        mixed_tokens.check_quadratic,
    ),
    Step(
        "Any function of the weights along a direction",
        "The chain rule with the derivatives of the softmax weights. Checked for functions with a square term in every "
        "weight.",
        ("d/dτ D = -Σ s_t b_t (d_t - Σ s_r d_r),   d_t = ∂D/∂s_t",),
        (
            r"\frac{d}{d\tau} D &= -\sum_t s_t b_t \Big( d_t - \sum_r s_r d_r \Big), "
            r"\qquad d_t = \partial D / \partial s_t",
        ),
        mixed_tokens.check_turning,
    ),
)

DERIVATION = Derivation(
    name="regularization-path",
    title="How near minimisers over balls are to the max-margin direction",
    source="explicit form of the regularisation paths of Ataee Tarzanagh, Li, Zhang and Oymak 2023, arXiv 2306.13596",
    steps=_STEPS,
)
