"""Derivation of the formulas of the claim `descent-trajectory`; the checks stand in `context_losses`.

Boursier and Boyer 2026 (arXiv 2512.11784), sections 4 and 5: training in context.
"""

from __future__ import annotations

from certattn.theory import special_functions
from certattn.theory.derivation import Derivation, Step
from certattn.theory.training import context_losses

_STEPS = (
    Step(
        "A finite context",
        "Attention to keys `k_i` and values `v_i` under a tilt `a`: its mean `m`, and its derivatives, which are "
        "covariances under the softmax weights. Checked for prompts of 1 to 3 tokens.",
        (
            "m(a) = Σ p_i v_i,   p_i = e^⟨a,k_i⟩ / Σ e^⟨a,k_j⟩",
            "C(a) = dm/da = Cov_p(v, k),   ∂²⟨c,m⟩ = Σ p_i ⟨c, v_i - m⟩ (k_i - K)(k_i - K)'",
        ),
        (
            r"m(a) &= \sum_i p_i v_i, \qquad p_i = e^{\langle a, k_i \rangle} / \sum_j e^{\langle a, k_j \rangle}",
            r"C(a) &= \frac{dm}{da} = \operatorname{Cov}_p(v, k), \qquad \partial_a^2 \langle c, m \rangle = "
            r"\sum_i p_i \langle c, v_i - m \rangle (k_i - K)(k_i - K)^\top",
        ),
        context_losses.check_finite,
    ),
    Step(
        "A law of tokens",
        "For a law the mean is the tilted mean, and the derivatives are the tilted covariance and third cumulant: for "
        "Gaussian tokens, signs, boxes (both forms of the kernel), atoms and a mixture.",
        ("m = τ,   C(a) = τ'(a),   d/ds C(a + s c) at s = 0",),
        (r"m &= \tau, \qquad C(a) = \tau'(a), \qquad \tfrac{d}{ds} C(a + s c) \big|_{s = 0}",),
        context_losses.check_laws,
    ),
    Step(
        "Closed forms near 0",
        "The series by which the kernel evaluates `coth x - 1/x` and its derivatives near 0 are hyperbolic functions.",
        ("0F1(; 7/2; x²/4) = 15 ((x² + 3) sinh x - 3x cosh x) / x⁵",),
        (r"{}_0F_1(; \tfrac72; \tfrac{x^2}{4}) &= 15\, \frac{(x^2 + 3) \sinh x - 3 x \cosh x}{x^5}",),
        special_functions.check_closed_forms,
    ),
    Step(
        "Infinite prompts",
        "Tokens `(x, <w, x>)` of a regression task are Gaussian, so that their tilted mean is linear in the tilt. Over "
        "all tasks the loss is the risk of regression. A law as a context gives its own moments.",
        ("m(a) = w'Σ a,   C(a) = w'Σ", "R(A, b) = 1/2 tr(E Σ E'),   E = b Σ A - I"),
        (
            r"m(a) &= w^\top \Sigma a, \qquad C(a) = w^\top \Sigma",
            r"R(A, b) &= \tfrac12 \operatorname{tr}(E \Sigma E^\top), \qquad E = b \Sigma A - I",
        ),
        context_losses.check_infinite,
    ),
    Step(
        "The gradient",
        "Of the context only `m` and `C` at the point matter: they are symbols here, so that what holds for them "
        "holds for every prompt and every law. Checked for up to 2 prompts and several shapes.",
        (
            "R(U, V) = 1/(2N) Σ |r_n|²,   r_n = V m_n(U q_n) - t_n",
            "dR/dU = 1/N Σ C_n' V' r_n q_n',   dR/dV = 1/N Σ r_n m_n'",
        ),
        (
            r"R(U, V) &= \frac1{2N} \sum_n |r_n|^2, \qquad r_n = V m_n(U q_n) - t_n",
            r"\frac{dR}{dU} &= \frac1N \sum_n C_n^\top V^\top r_n q_n^\top, \qquad "
            r"\frac{dR}{dV} = \frac1N \sum_n r_n m_n^\top",
        ),
        context_losses.check_gradient,
    ),
    Step(
        "The second derivative, and its bounds",
        "Along a direction `(H, h)`, with `u_n = H q_n`. The first term is a square, at most `(|m|^2 + |VC|^2 |q|^2) "
        "(|h|^2 + |H|^2)` by Cauchy and Schwarz; the others are at most `s_n (|h|^2 + |H|^2)` in size.",
        (
            "1/N Σ |h m_n + V C_n u_n|² + 2 ⟨r_n, h C_n u_n⟩ + u_n' K_n u_n,   K_n = ∂²⟨V'r_n, m_n⟩",
            "s_n = |r_n| |C_n| |q_n| + |K_n| |q_n|²",
        ),
        (
            r"\frac1N \sum_n & |h m_n + V C_n u_n|^2 + 2 \langle r_n, h C_n u_n \rangle + u_n^\top K_n u_n, \qquad "
            r"K_n = \partial_a^2 \langle V^\top r_n, m_n \rangle",
            r"s_n &= |r_n| |C_n| |q_n| + |K_n| |q_n|^2",
        ),
        context_losses.check_second,
    ),
    Step(
        "Gronwall's lemma in steps",
        "A step expands the distance by at most `1 + eta nu` and adds at most `eta g`: the closed form of the "
        "recursion, "
        "and what is left of a step where the second derivative is at most `beta`.",
        ("e_(k+1) = (1 + η ν) e_k + η g,   e_k = g ((1 + η ν)^k - 1)/ν", "η β - 1 = 1 + η (β - 2/η)"),
        (
            r"e_{k+1} &= (1 + \eta \nu) e_k + \eta g, \qquad e_k = g\, \frac{(1 + \eta \nu)^k - 1}{\nu}",
            r"\eta \beta - 1 &= 1 + \eta (\beta - 2 / \eta)",
        ),
        context_losses.check_gronwall,
    ),
)

DERIVATION = Derivation(
    name="descent-trajectory",
    title="Gradient descent on concrete prompts beside infinite ones",
    source="Boursier and Boyer 2026, arXiv 2512.11784, sections 4 and 5",
    steps=_STEPS,
)
