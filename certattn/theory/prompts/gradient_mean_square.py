"""Derivation of the formulas of the claim `gradient-mean-square`.

The checks stand in `covariance_error`, `stein_reduction`, `nonnegativity` and `gradient_bounds`.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.prompts import covariance_error, gradient_bounds, gradient_tails

_GAUSSIAN = (
    Step(
        "The norm of a gradient's error",
        "The gradient in `U` at a query `z` maps a matrix `H` to `s V C H z`. Over the basis of the `H` with one entry "
        "the squares of what a difference `E` of covariances does add up to its Hilbert-Schmidt norm.",
        ("|H ↦ s V E H z|²_HS = s² |V E|²_F |z|²",),
        (r"\| H \mapsto s V E H z \|_{\mathrm{HS}}^2 &= s^2\, \|V E\|_F^2\, |z|^2",),
        covariance_error.check_gradient,
    ),
    Step(
        "Stein's identity for softmax weights",
        "Integration by parts in one Gaussian score. The weights' derivatives are polynomials in the weights; a mean "
        "of a product of sums `T(k, m) = sum p_i^k u_i^m` becomes one of products with fewer factors `u`. Checked "
        "against differentiation of explicit prompts.",
        (
            "E u_i F = E ∂_i F,   ∂_i p_k = s p_k (δ_ik - p_i)",
            "E T(k,m) R = Σ E ∂_i (p_i^k u_i^(m-1) R)",
        ),
        (
            r"\mathbb E\, u_i F &= \mathbb E\, \partial_i F, \qquad \partial_i p_k = s p_k (\delta_{ik} - p_i)",
            r"\mathbb E\, T_{k,m} R &= \sum_i \mathbb E\, \partial_i (p_i^k u_i^{m-1} R)",
        ),
        covariance_error.check_stein,
    ),
    Step(
        "Given the scores, the other coordinates",
        "In coordinates where the tilt is the first axis, the weights depend on the scores `u` only, and the other "
        "coordinates are standard normal whatever the scores are. With `D` the error of the covariance in these "
        "coordinates, `d` its first entry and symmetric `N` and `W`, the mean of `tr N D W D` over them is a "
        "combination of five numbers. Checked for up to 3 tokens and rank 1 to 3.",
        (
            "d = Var_p u - 1,   E|c|² = Σ p_i² (u_i - ū)²,   E[M | u] = -P_2 I",
            "E[M W M | u] = P_2² W + (P_2 - 2P_3 + P_2²)(W + tr W I)",
        ),
        (
            r"d &= \operatorname{Var}_p u - 1, \qquad \mathbb E[c c^\top \mid u] = \sum_i p_i^2 (u_i - \bar u)^2\, I, "
            r"\qquad \mathbb E[M \mid u] = -P_2 I",
            r"\mathbb E[M W M \mid u] &= P_2^2 W + (P_2 - 2 P_3 + P_2^2)(W + \operatorname{tr} W\, I)",
        ),
        covariance_error.check_directions,
    ),
    Step(
        "The mean square, exactly",
        "Stein's identity reduces the five means to means of products of power sums. Put together they are the formula "
        "that the kernel evaluates, polynomial for polynomial; nothing is divided by `s`.",
        (
            "E|V(C_L - Γ)|²_F = E[P_2 - 2P_3 + 2P_2²] |VΓ|²_F + E[P_2 - 2P_3 + P_2²] tr(VΓV') tr Γ",
            "   + E[P_2 + 7P_2² - 14P_3 + 20P_2³ - 52P_2P_3 + 38P_4] (|Vb|² tr Γ + |b|² tr(VΓV')) + ...",
        ),
        (
            r"\mathbb E \|V(C_L - \Gamma)\|_F^2 &= \mathbb E[P_2 - 2P_3 + 2P_2^2]\, \|V\Gamma\|_F^2 "
            r"+ \mathbb E[P_2 - 2P_3 + P_2^2]\, \operatorname{tr}(V \Gamma V^\top) \operatorname{tr} \Gamma",
            r"&\quad + \mathbb E[P_2 + 7P_2^2 - 14P_3 + 20P_2^3 - 52P_2P_3 + 38P_4]\, "
            r"(|Vb|^2 \operatorname{tr} \Gamma + |b|^2 \operatorname{tr}(V \Gamma V^\top)) + \dots",
        ),
        covariance_error.check_formula,
    ),
    Step(
        "Bounds of the polynomials",
        "The power sums are moments of `p_I`, `I` drawn with the weights. With `P_2 = y^2`, `P_3` lies between `y^4` "
        "and `y^3`, and `P_4` and `P_5` between bounds by Cauchy and Schwarz. What is left are polynomials in up to "
        "three variables in [0, 1], nonnegative by the signs of their coefficients in Bernstein's form.",
        ("each polynomial <= P_2, P_2, P_2, 5/2 P_2, 13 P_2",),
        (r"\text{each polynomial} &\le P_2,\ P_2,\ P_2,\ \tfrac{5}{2} P_2,\ 13 P_2",),
        covariance_error.check_bounds,
    ),
)

_ANY_LAW = (
    Step(
        "Sums over tokens",
        "For any law, both errors are ratios of sums over tokens, with `Z` the normaliser.",
        ("τ_L - τ = N/Z,   C_L - C = S/Z - NN'/Z²",),
        (r"\tau_L - \tau &= \frac{N}{Z}, \qquad C_L - C = \frac{S}{Z} - \frac{N N^\top}{Z^2}",),
        gradient_bounds.check_decomposition,
    ),
    Step(
        "Joint moments of two outputs",
        "The moments of weights and of two linear forms are coefficients of one series in two variables. Along every "
        "line it is the series of one variable.",
        ("E[w^k ⟨u,y⟩^i ⟨v,y⟩^j] / i! j! = e^(-k Λ(a)) [t^i r^j] E e^(⟨ka + tu + rv, x⟩ - ⟨tu + rv, τ⟩)",),
        (
            r"\frac{\mathbb E[w^k \langle u, y \rangle^i \langle v, y \rangle^j]}{i!\, j!} &= "
            r"e^{-k \Lambda(a)} [t^i r^j]\, "
            r"\mathbb E\, e^{\langle k a + t u + r v, x \rangle - \langle t u + r v, \tau \rangle}",
        ),
        gradient_tails.check_pair_series,
    ),
    Step(
        "Second moments of the sums",
        "Of `S` one token at a time; of `N` four at a time, where only equal tokens and pairs have a mean.",
        (
            "E|VS|²_F = E w²|V(yy' - C)|²_F / L",
            "L³ E|VN|²|N|² = E w⁴|Vy|²|y|² + (L-1)(tr VMV' tr M + 2|VM|²_F),   M = E w² yy'",
        ),
        (
            r"\mathbb E \|V S\|_F^2 &= \tfrac{1}{L} \mathbb E\, w^2 \|V (y y^\top - C)\|_F^2",
            r"L^3\, \mathbb E |V N|^2 |N|^2 &= \mathbb E\, w^4 |V y|^2 |y|^2 "
            r"+ (L - 1) (\operatorname{tr} V M V^\top \operatorname{tr} M + 2 \|V M\|_F^2), "
            r"\quad M = \mathbb E\, w^2 y y^\top",
        ),
        gradient_bounds.check_first,
    ),
    Step(
        "Sums of independent centred vectors",
        "Four coordinates of a sum, multiplied out: a vector that stands alone has the mean 0.",
        ("E (ΣY)_i (ΣY)_j (ΣY)_k (ΣY)_m = L m_ijkm + L(L-1)(s_ij s_km + s_ik s_jm + s_im s_jk)",),
        (r"\mathbb E \textstyle\prod (\sum Y) &= L m_{ijkm} + L(L-1)(s_{ij} s_{km} + s_{ik} s_{jm} + s_{im} s_{jk})",),
        gradient_bounds.check_second,
    ),
    Step(
        "A small normaliser is unlikely",
        "By `e^-x <= 1 - x + x^2/2` for `x >= 0` and Markov's inequality, for the tokens other than one.",
        ("P(Σ_(i>1) w_i < L(1-t)) <= e^(λL(1-t)) (1 - λ + λ²R_2/2)^(L-1)",),
        (
            r"\mathbb P\Bigl(\sum_{i > 1} w_i < L(1-t)\Bigr) &\le e^{\lambda L (1-t)} "
            r"\bigl(1 - \lambda + \tfrac{1}{2} \lambda^2 R_2\bigr)^{L-1}",
        ),
        gradient_bounds.check_normaliser,
    ),
)

DERIVATION = Derivation(
    name="gradient-mean-square",
    title="The mean square error of attention's gradients over a random prompt",
    source="after Boursier and Boyer 2026, arXiv 2512.11784, Proposition 3.4",
    steps=_GAUSSIAN + _ANY_LAW,
)
