"""Derivation of the formulas of the claim `softmax-mean`; the checks stand in `weighted_moments` and `spectra`.

Boursier and Boyer 2026 (arXiv 2512.11784), section 2: the finite prompt.
"""

from __future__ import annotations

from certattn.theory.attention import spectra, weighted_moments
from certattn.theory.derivation import Derivation, Step

_STEPS = (
    Step(
        "The mean is a gradient",
        "Tilt the values by `b` beside the scores: `T(q)` is the gradient of the log-normaliser in `b`, at `b = 0`, "
        "and its gradient in `q` is `s` times the mean of the keys. Checked for prompts of 1 to 3 tokens.",
        ("Z(q, b) = Σ e^(s ⟨q,k_i⟩ + ⟨b,v_i⟩)", "T(q) = ∂/∂b log Z(q, b) at b = 0,   ∂/∂q log Z = s K(q)"),
        (
            r"Z(q, b) &= \sum_i e^{s \langle q, k_i \rangle + \langle b, v_i \rangle}",
            r"T(q) &= \partial_b \log Z(q, b) \Big|_{b = 0}, \qquad \partial_q \log Z = s \sum_i p_i k_i",
        ),
        weighted_moments.check_gradient,
    ),
    Step(
        "Covariances are Hessians",
        "Differentiated twice, the same function gives the covariances under the softmax weights `p_i`; the mixed "
        "derivative is that of `T`.",
        (
            "Cov(x, y) = Σ p_i (x_i - X)(y_i - Y)',   p_i = e^(s ⟨q,k_i⟩) / Z",
            "∂²/∂b² log Z = Cov(v, v),   ∂²/∂q² log Z = s² Cov(k, k),   ∂T/∂q = s Cov(v, k)",
        ),
        (
            r"\operatorname{Cov}(x, y) &= \sum_i p_i (x_i - X)(y_i - Y)^\top, \qquad "
            r"p_i = e^{s \langle q, k_i \rangle} / Z",
            r"\partial_b^2 \log Z &= \operatorname{Cov}(v, v), \quad \partial_q^2 \log Z = s^2 "
            r"\operatorname{Cov}(k, k), \quad \partial_q T = s \operatorname{Cov}(v, k)",
        ),
        weighted_moments.check_hessian,
    ),
    Step(
        "What may be moved",
        "A covariance is the mean product less the product of means, and constants added to `x` or `y` leave it as it "
        "is. A score may be taken out of `log Z`. A quadratic form of `Cov(x, x)` is a mean of squares, so no "
        "eigenvalue is negative. Checked for sums over `L` tokens, `L` a symbol.",
        (
            "Cov(x, y) = Σ p_i x_i y_i' - X Y' = Cov(x + s, y + t)",
            "log Z = a_1 + log Σ e^(a_i - a_1),   a_i = s ⟨q,k_i⟩",
            "⟨u, Cov(x, x) u⟩ = Σ p_i ⟨u, x_i - X⟩²",
        ),
        (
            r"\operatorname{Cov}(x, y) &= \sum_i p_i x_i y_i^\top - X Y^\top = \operatorname{Cov}(x + s, y + t)",
            r"\log Z &= a_1 + \log \sum_i e^{a_i - a_1}, \qquad a_i = s \langle q, k_i \rangle",
            r"\langle u, \operatorname{Cov}(x, x) u \rangle &= \sum_i p_i \langle u, x_i - X \rangle^2",
        ),
        weighted_moments.check_identities,
    ),
    Step(
        "The sums that the kernel evaluates",
        "Scores are taken relative to the first, values and keys relative to their plain means, with a 1 beside each: "
        "one product over the tokens then holds all sums.",
        (
            "[x | 1]' diag(w) [y | 1] = [[Σ w x y', Σ w x], [Σ w y', Σ w]],   w_i = e^(a_i - a_1)",
            "Cov(x, y) = (Σ w x y' - (Σ w x)(Σ w y')/Σ w) / Σ w",
        ),
        (
            r"(x \,|\, 1)^\top \operatorname{diag}(w)\, (y \,|\, 1) &= \begin{pmatrix} \sum w x y^\top & \sum w x \\ "
            r"\sum w y^\top & \sum w \end{pmatrix}, \qquad w_i = e^{a_i - a_1}",
            r"\operatorname{Cov}(x, y) &= \Big( \sum w x y^\top - \tfrac{(\sum w x)(\sum w y^\top)}{\sum w} \Big) "
            r"\Big/ \sum w",
        ),
        weighted_moments.check_sums,
    ),
    Step(
        "What is compared",
        "The mean less the stated value is taken as `(T - v_bar) + (v_bar - value)`, the second bracket exact; "
        "covariances are compared entry by entry, `log Z` as a number.",
        ("T(q) - t = [T(q) - v̄] + [v̄ - t],   Cov - C,   log Z - z",),
        (r"T(q) - t &= [T(q) - \bar v] + [\bar v - t], \qquad \operatorname{Cov} - C, \qquad \log Z - z",),
        weighted_moments.check_assertions,
    ),
    Step(
        "Tokens with weight matrices",
        "Tokens `x` with `K`, `Q`, `V` have the keys `K x` and values `V x`; with `U` and `V` the keys are the tokens. "
        "The derivative by a stated query `z` gains the factor `Q` or `U`.",
        ("∂T/∂z = s Cov(V x, K x) Q,   or   s Cov(V x, x) U",),
        (
            r"\partial_z T &= s \operatorname{Cov}(V x, K x)\, Q \quad \text{or} \quad "
            r"s \operatorname{Cov}(V x, x)\, U",
        ),
        weighted_moments.check_tokens,
    ),
    Step(
        "Squares of a matrix",
        "The square of `A / m` has the squared eigenvalues, so that the largest eigenvalue of `A` follows from that of "
        "`B`. Checked for symmetric matrices of size 1 to 3.",
        ("B = (A/m)²,   l_1(A) = m √l_1(B)",),
        (r"B &= (A / m)^2, \qquad \lambda_1(A) = m \sqrt{\lambda_1(B)}",),
        spectra.check_squares,
    ),
    Step(
        "Between two traces",
        "For a positive semidefinite matrix the largest eigenvalue is at most the trace, and at least the sum of the "
        "squares divided by the sum. The two are no further apart than a factor of `d`, whose root is what a square "
        "leaves of it.",
        ("Σ l_i² / Σ l_i = m² tr B / tr A ≤ l_1 ≤ tr A ≤ d · m² tr B / tr A",),
        (
            r"\frac{\sum_i \lambda_i^2}{\sum_i \lambda_i} = \frac{m^2 \operatorname{tr} B}{\operatorname{tr} A} &\le "
            r"\lambda_1 \le \operatorname{tr} A \le d\, \frac{m^2 \operatorname{tr} B}{\operatorname{tr} A}",
        ),
        spectra.check_traces,
    ),
    Step(
        "The smallest eigenvalue",
        "The inverse of `A + c I` turns the order of the eigenvalues round.",
        ("l_d(A) = 1 / l_1((A + c I)⁻¹) - c",),
        (r"\lambda_d(A) &= \frac{1}{\lambda_1((A + c I)^{-1})} - c",),
        spectra.check_inverse,
    ),
    Step(
        "Cases in closed form",
        "One token has no covariance, and its score is `log Z`. Equal keys leave the prompt's own covariance and "
        "`log L`. For two tokens whose keys differ by `delta` the covariance is a square over `cosh^2`.",
        ("Cov(v, v) = (v_1 - v_2)² / (4 cosh² h),   h = s q δ / 2",),
        (r"\operatorname{Cov}(v, v) &= \frac{(v_1 - v_2)^2}{4 \cosh^2 h}, \qquad h = \frac{s q \delta}{2}",),
        weighted_moments.check_exact_cases,
    ),
)

DERIVATION = Derivation(
    name="softmax-mean",
    title="The softmax mean of a prompt, its covariance and its normaliser",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 2",
    steps=_STEPS,
)
