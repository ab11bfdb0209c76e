"""Derivation of the formulas of the claim `output-mean-square`; checks in `softmax_weights` and `mean_squares`.

Boursier and Boyer 2026 (arXiv 2512.11784), Proposition 3.1, with exact values and named constants.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.prompts import mean_squares, softmax_weights

_STEPS = (
    Step(
        "Gaussian tokens: Stein's identity",
        "The weights depend on the standardised scores `u` alone. `E u_i F = E d_i F` turns the mean of "
        "`t = sum p_i u_i`, and of `(t - s)^2`, into moments of the weights, `P_k = sum p_i^k`; across the tilt tokens "
        "are independent of the weights. Checked for 1 to 3 tokens, as identities for all scores.",
        (
            "q = E P_2,   κ = E[P_3 - P_2²],   v = s² = a'Γa",
            "E t = s (1 - q),   E(t - s)² = q (1 + v) - 6 v κ",
            "E(T_L - T) = -q V Γ a,   E|T_L - T|² = q (tr VΓV' + |VΓa|²) - 6 κ |VΓa|²",
        ),
        (
            r"q &= \mathbb E P_2, \qquad \kappa = \mathbb E[P_3 - P_2^2], \qquad v = s^2 = a^\top \Gamma a",
            r"\mathbb E\, t &= s (1 - q), \qquad \mathbb E (t - s)^2 = q (1 + v) - 6 v \kappa",
            r"\mathbb E(T_L - T) &= -q\, V \Gamma a, \qquad \mathbb E |T_L - T|^2 = "
            r"q\, (\operatorname{tr} V \Gamma V^\top + |V \Gamma a|^2) - 6 \kappa\, |V \Gamma a|^2",
        ),
        softmax_weights.check_stein,
    ),
    Step(
        "Moments of the weights are integrals",
        "A product of power sums is sorted by which of its tokens agree, and a power of the normaliser is an "
        "integral. Checked for up to 4 factors and 4 tokens. The bounds of the trapezoid sums use how a normal "
        "density grows in a strip and under a tilt, and where `e^(ky) exp(-c e^y)` is largest.",
        (
            "E Π P_(k_j) = Σ_π L(L-1)...(L-b+1) / (K-1)! ∫ Π Ψ_(k_β)(t) φ(t)^(L-b) dt",
            "Ψ_k(t) = E[(λw)^k e^(-λw)],   φ = Ψ_0,   λ = e^t,   log w ~ N(-v/2, v)",
        ),
        (
            r"\mathbb E \prod_j P_{k_j} &= \sum_\pi \frac{L (L-1) \cdots (L-b+1)}{(K-1)!} \int "
            r"\prod_\beta \Psi_{k_\beta}(t)\, \varphi(t)^{L-b}\, dt",
            r"\Psi_k(t) &= \mathbb E[(\lambda w)^k e^{-\lambda w}], \quad \varphi = \Psi_0, \quad \lambda = e^t, \quad "
            r"\log w \sim \mathcal N(-\tfrac v2, v)",
        ),
        softmax_weights.check_power_sums,
    ),
    Step(
        "Closed bounds of the moments",
        "Along the heat equation `q` grows at most like the logistic function; `kappa` is the mean of a variance, at "
        "most a quarter of `q`.",
        (
            "dq/dv = E[P_2 - 4 P_3 + 3 P_2²] ≤ q - q²,   q = 1/L at v = 0",
            "1/L ≤ q ≤ 1 / (1 + (L-1) e^(-v)),   0 ≤ κ ≤ q/4",
        ),
        (
            r"\frac{dq}{dv} &= \mathbb E[P_2 - 4 P_3 + 3 P_2^2] \le q - q^2, \qquad q = \tfrac 1L \text{ at } v = 0",
            r"\tfrac 1L &\le q \le \frac{1}{1 + (L-1) e^{-v}}, \qquad 0 \le \kappa \le \tfrac q4",
        ),
        softmax_weights.check_logistic,
    ),
    Step(
        "Weights tilt a token",
        "For any law the square of a weight is a tilt by `2a`. Checked for an unspecified density.",
        (
            "E w² |V(x - τ)|² = R_2 (tr V C(2a) V' + |V(τ(2a) - τ(a))|²)",
            "w = e^(⟨a,x⟩ - Λ(a)),   R_2 = e^(Λ(2a) - 2Λ(a))",
        ),
        (
            r"\mathbb E\, w^2 |V(x - \tau)|^2 &= R_2 (\operatorname{tr} V C(2a) V^\top + |V(\tau(2a) - \tau(a))|^2)",
            r"w &= e^{\langle a, x \rangle - \Lambda(a)}, \qquad R_2 = e^{\Lambda(2a) - 2 \Lambda(a)}",
        ),
        mean_squares.check_tilted_second_moment,
    ),
    Step(
        "Second and fourth moments of the laws",
        "Of every kind of law, by integration and summation, in dimension 2.",
        ("tr G C(a),   E((x - c)'G(x - c))²,   G = V'V",),
        (r"\operatorname{tr} G\, C(a), & \qquad \mathbb E((x - c)^\top G (x - c))^2, \qquad G = V^\top V",),
        mean_squares.check_moments,
    ),
    Step(
        "The normaliser is rarely small",
        "`e^-x` is below its second-order expansion for `x >= 0`; Chernoff's bound does the rest.",
        (
            "P(Z < 1-t) ≤ (e^(λ(1-t)) (1 - λ + λ²R_2/2))^L",
            "E|T_L - T|² ≤ E w²|V(x - τ)|² / (L (1-t)²) + (L E|V(x - τ)|⁴ P(Z < 1-t))^(1/2)",
        ),
        (
            r"\mathbb P(Z < 1 - t) &\le \left( e^{\lambda(1-t)} (1 - \lambda + \tfrac12 \lambda^2 R_2) \right)^L",
            r"\mathbb E |T_L - T|^2 &\le \frac{\mathbb E\, w^2 |V(x - \tau)|^2}{L (1-t)^2} + "
            r"\left( L\, \mathbb E |V(x - \tau)|^4\, \mathbb P(Z < 1-t) \right)^{1/2}",
        ),
        mean_squares.check_lower_tail,
    ),
    Step(
        "Averages over Gaussian queries",
        "The logistic bound is a Mellin-Barnes integral of exponentials of `v = z'Nz`, whose means are Gaussian: one "
        "integral in any dimension. The square is completed in dimension 1 and 2.",
        (
            "1 / (1 + e^(-y)) = 1/(2πi) ∫ π / sin(πw) e^(wy) dw,   0 < Re w < 1",
            "|sin(π(θ + iη))|² = sin²(πθ) + sinh²(πη)",
            "x / (1 + x) ≤ θ^θ (1-θ)^(1-θ) x^θ",
        ),
        (
            r"\frac{1}{1 + e^{-y}} &= \frac{1}{2 \pi i} \int \frac{\pi}{\sin \pi w} e^{w y}\, dw, \qquad "
            r"0 < \operatorname{Re} w < 1",
            r"|\sin \pi(\theta + i \eta)|^2 &= \sin^2 \pi\theta + \sinh^2 \pi\eta",
            r"\frac{x}{1 + x} &\le \theta^\theta (1 - \theta)^{1 - \theta} x^\theta",
        ),
        mean_squares.check_averages,
    ),
)

DERIVATION = Derivation(
    name="output-mean-square",
    title="The mean square of what a random prompt misses of the infinite prompt",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 3",
    steps=_STEPS,
)
