"""Derivation of the formulas of the claim `regression-risk`, which the other claims about its training share.

The checks stand in `regression_landscape`.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.training import regression_landscape

_RISK = (
    Step(
        "The prediction over an infinite prompt",
        "Given `w`, a token and its label are jointly Gaussian. Attention over that law is linear in the query, by the "
        "kernel's own operator.",
        (
            "(x_i, y_i) ~ N(0, Γ_w),   Γ_w = [[Σ, Σw], [w'Σ, w'Σw]]",
            "U = [[A, 0], [0, 0]],   V = (0, b):   V Γ_w U (x, ·) = b w'Σ A x",
        ),
        (
            r"\Gamma_w &= \begin{pmatrix} \Sigma & \Sigma w \\ w^\top \Sigma & w^\top \Sigma w \end{pmatrix}",
            r"V \Gamma_w U \begin{pmatrix} x \\ \cdot \end{pmatrix} &= b\, w^\top \Sigma A x",
        ),
        regression_landscape.check_prediction,
    ),
    Step(
        "The risk",
        "The mean over normal `w` and `x = B g`, `Sigma = BB'`, monomial by monomial, and in an eigenbasis.",
        ("R(A, b) = 1/2 E (b w'ΣAx - w'x)² = 1/2 tr(E Σ E'),   E = bΣA - I",),
        (
            r"R(A, b) &= \tfrac12 \mathbb E\,(b\, w^\top \Sigma A x - w^\top x)^2 "
            r"= \tfrac12 \operatorname{tr}(E \Sigma E^\top), \qquad E = b \Sigma A - I",
        ),
        regression_landscape.check_risk,
    ),
    Step(
        "Its gradient and second derivatives",
        "By differentiation in every entry, with `K = Sigma E Sigma`.",
        (
            "dR/dA = b K,   dR/db = ⟨A, K⟩",
            "Hess R [(H, h)] = |D Σ^(1/2)|² + 2h ⟨K, H⟩,   D = hΣA + bΣH",
        ),
        (
            r"\partial_A R &= b K, \qquad \partial_b R = \langle A, K \rangle, \qquad K = \Sigma E \Sigma",
            r"\nabla^2 R[(H, h)] &= |D \Sigma^{1/2}|_F^2 + 2 h \langle K, H \rangle, "
            r"\qquad D = h \Sigma A + b \Sigma H",
        ),
        regression_landscape.check_gradient,
    ),
)

_TRAINING = (
    Step(
        "The flow and its invariant",
        "In an eigenbasis of `Sigma` in which `A` is diagonal, the flow is a flow of `d + 1` numbers. `|A|^2 - b^2` is "
        "conserved by the flow; a step of descent changes it by the step's square.",
        (
            "a_i' = b s_i² (1 - b s_i a_i),   b' = Σ a_i s_i² (1 - b s_i a_i)",
            "⟨A, dR/dA⟩ = b dR/db,   so (|A|² - b²)' = 0",
            "|A - ηG|² - (b - ηg)² = |A|² - b² + η² (|G|² - g²),   (G, g) = grad R",
        ),
        (
            r"a_i' &= b\, s_i^2 (1 - b s_i a_i), \qquad b' = \sum_i a_i s_i^2 (1 - b s_i a_i)",
            r"\langle A, \partial_A R \rangle &= b\, \partial_b R",
            r"|A - \eta G|_F^2 - (b - \eta g)^2 &= |A|_F^2 - b^2 + \eta^2 (|G|_F^2 - g^2)",
        ),
        regression_landscape.check_flow,
    ),
    Step(
        "Stationary points",
        "Where `b` is not 0, `dR/dA = 0` means `E = 0`. Where `b = 0`, `dR/dA` is 0 anyway and `dR/db = 0` is one "
        "equation; the second derivative along `(s Sigma^2, h)` then takes both signs.",
        (
            "b E = Σ⁻¹ (dR/dA) Σ⁻¹",
            "b = 0:   dR/db = -tr(Σ²A),   R = tr(Σ)/2,   Hess R [(sΣ², h)] = h² |ΣAΣ^(1/2)|² - 2hs tr(Σ⁴)",
        ),
        (
            r"b E &= \Sigma^{-1} (\partial_A R) \Sigma^{-1}",
            r"b = 0:\quad \partial_b R &= -\operatorname{tr}(\Sigma^2 A), \qquad "
            r"\nabla^2 R[(s \Sigma^2, h)] = h^2 |\Sigma A \Sigma^{1/2}|_F^2 - 2 h s \operatorname{tr} \Sigma^4",
        ),
        regression_landscape.check_stationary,
    ),
    Step(
        "The Bayes points",
        "`A = Sigma^{-1}/b` for any `b` but 0; the invariant chooses `b^2`, a root of a quadratic equation whose "
        "other root is "
        "negative.",
        ("b² (b² + δ) = tr(Σ⁻²),   b² = (√(δ² + 4 tr Σ⁻²) - δ)/2",),
        (
            r"b^2 (b^2 + \delta) &= \operatorname{tr} \Sigma^{-2}, \qquad "
            r"b^2 = \tfrac12 \bigl( \sqrt{\delta^2 + 4 \operatorname{tr} \Sigma^{-2}} - \delta \bigr)",
        ),
        regression_landscape.check_bayes,
    ),
    Step(
        "How fast neighbouring paths part",
        "The second derivative is at least `-k(|H|^2 + h^2)` with `k = |K|`, by a square; `k` is at most a multiple of "
        "the root of the risk, term by term in an eigenbasis of `Sigma` with `s_i <= lambda`.",
        (
            "2h ⟨K, H⟩ + k (|H|² + h²) = |hK + kH|²/k ≥ 0",
            "2λ³R - |K|² = Σ E_ij² s_j (λ³ - s_i² s_j) ≥ 0",
        ),
        (
            r"2 h \langle K, H \rangle + k (|H|_F^2 + h^2) &= |h K + k H|_F^2 / k \ge 0",
            r"2 \lambda^3 R - |K|_F^2 &= \sum_{ij} E_{ij}^2 s_j (\lambda^3 - s_i^2 s_j) \ge 0",
        ),
        regression_landscape.check_curvature,
    ),
    Step(
        "How fast the risk falls",
        "The square of the gradient has a part `b^2 |K|^2`, and `|K|^2 >= 2 l^3 R` term by term as before, with `s_i "
        ">= l`, the least. So "
        "`R' = -|grad R|^2 <= -2 b^2 l^3 R`. What keeps `b` away from 0 is the invariant.",
        (
            "|grad R|² = b²|K|² + ⟨A, K⟩²",
            "b² (b² + δ) = |bA|²",
        ),
        (
            r"|\nabla R|^2 &= b^2 |K|_F^2 + \langle A, K \rangle^2",
            r"b^2 (b^2 + \delta) &= |b A|_F^2",
        ),
        regression_landscape.check_descent,
    ),
    Step(
        "The gradient over a finite prompt",
        "Softmax weights `p_i` of `L` tokens, the prediction `f = b m` with the mean `m = sum_i p_i y_i`, and its "
        "squared loss, "
        "differentiated.",
        (
            "p_i = e^⟨x_i, A x⟩ / Σ_j e^⟨x_j, A x⟩",
            "df/dA = b Cov_p(x_i, y_i) x',   df/db = ȳ",
        ),
        (
            r"p_i &= e^{\langle x_i, A x \rangle} / \textstyle\sum_j e^{\langle x_j, A x \rangle}",
            r"\partial_A f &= b \operatorname{Cov}_p(x_i, y_i)\, x^\top, \qquad \partial_b f = \bar y",
        ),
        regression_landscape.check_finite_prompt,
    ),
)

DERIVATION = Derivation(
    name="regression-risk",
    title="The risk of in-context regression, its derivatives and its stationary points",
    source="Boursier and Boyer 2026, arXiv 2512.11784, sections 4 and 5",
    steps=_RISK + _TRAINING,
)
