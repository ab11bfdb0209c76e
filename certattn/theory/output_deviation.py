"""Derivation of the formulas of the claim `output-deviation`; the checks stand in `finite_prompts`.

Boursier and Boyer 2026 (arXiv 2512.11784), section 2: the finite prompt beside the infinite one.
"""

from __future__ import annotations

from certattn.theory import finite_prompts
from certattn.theory.derivation import Derivation, Step

_STEPS = (
    Step(
        "Softmax attention is attention of the empirical law",
        "Over the law that gives each pair of key and value the probability `1/L`, the tilted mean of the values is "
        "the softmax average. Checked for prompts of 1 to 4 tokens.",
        ("T(q) = Σ v_i e^(s ⟨q,k_i⟩) / Σ e^(s ⟨q,k_i⟩)",),
        (r"T(q) &= \frac{\sum_i v_i e^{s \langle q, k_i \rangle}}{\sum_i e^{s \langle q, k_i \rangle}}",),
        finite_prompts.check_definition,
    ),
    Step(
        "Keys may be moved together, values may be centred",
        "One vector `r` added to every key multiplies all weights by the same factor `e^{s <q, r>}`, which cancels. "
        "One vector `t` added to every value is added to their average. Checked for sums over `L` tokens, `L` a "
        "symbol, and entry by entry for 1 to 4.",
        ("T(q; k + r, v + t) = T(q; k, v) + t",),
        (r"T(q;\, k + r,\, v + t) &= T(q;\, k,\, v) + t",),
        finite_prompts.check_invariance,
    ),
    Step(
        "The sums that the kernel evaluates",
        "Keys are taken relative to the first and values relative to their mean, as integers over one denominator "
        "each. What comes out is the output minus the mean value, whether the scale is rational or a square root.",
        ("T(q) - v̄ = Σ (v_i - v̄) w_i / Σ w_i,   w_i = e^(s ⟨q, k_i - k_1⟩)",),
        (
            r"T(q) - \bar v &= \frac{\sum_i (v_i - \bar v) w_i}{\sum_i w_i}, \qquad "
            r"w_i = e^{s \langle q, k_i - k_1 \rangle}",
        ),
        finite_prompts.check_sums,
    ),
    Step(
        "The prompt's own moments",
        "Every mean divides by `L`. Centring one side is enough; the result is the block of the covariance of the "
        "empirical law that belongs to values and keys.",
        (
            "Cov(v, k) = (1/L) Σ (v_i - v̄)(k_i - k̄)'",
            "          = (1/L) Σ (v_i - v̄) k_i' = (1/L) Σ v_i k_i' - v̄ k̄'",
        ),
        (
            r"\operatorname{Cov}(v, k) &= \frac{1}{L} \sum_i (v_i - \bar v)(k_i - \bar k)^\top",
            r"&= \frac{1}{L} \sum_i (v_i - \bar v) k_i^\top = \frac{1}{L} \sum_i v_i k_i^\top - \bar v \bar k^\top",
        ),
        finite_prompts.check_moments,
    ),
    Step(
        "The linear limit",
        "The Gaussian with the prompt's own moments has an infinite-prompt operator (Lemma 2.1): the mean value plus "
        "`s Cov(v, k) q`. It is also what softmax attention is to first order at the query 0.",
        (
            "T_inf(q) = v̄ + s Cov(v, k) q",
            "T(0) = T_inf(0),   ∂T/∂q (0) = s Cov(v, k)",
        ),
        (
            r"T_\infty(q) &= \bar v + s\, \operatorname{Cov}(v, k)\, q",
            r"T(0) &= T_\infty(0), \qquad \frac{\partial T}{\partial q}(0) = s\, \operatorname{Cov}(v, k)",
        ),
        finite_prompts.check_linear_part,
    ),
    Step(
        "Tokens with weight matrices",
        "A prompt of tokens with `K`, `Q`, `V`, or with `U` and `V`, has the keys `K x` and values `V x`; its "
        "linear limit is that of Lemma 2.1 with the tokens' own mean `m` and covariance `Gamma`.",
        (
            "⟨K x, Q z⟩ = ⟨x, U z⟩,   U = K'Q",
            "T_inf(z) = V m + s V Γ U z,   m = (1/L) Σ x_i,   Γ = (1/L) Σ (x_i - m)(x_i - m)'",
        ),
        (
            r"\langle K x, Q z \rangle &= \langle x, U z \rangle, \qquad U = K^\top Q",
            r"T_\infty(z) &= V m + s V \Gamma U z, \qquad m = \frac{1}{L} \sum_i x_i, \quad "
            r"\Gamma = \frac{1}{L} \sum_i (x_i - m)(x_i - m)^\top",
        ),
        finite_prompts.check_tokens,
    ),
    Step(
        "The deviation",
        "The kernel subtracts the mean value on both sides. For each kind of limit (the prompt's own moments, a "
        "stated affine map, a law of tokens) the difference is that of the definitions.",
        (
            "T(q) - T_inf(q) = [T(q) - v̄] - [T_inf(q) - v̄]",
            "T_inf(q) = v̄ + s Cov(v, k) q,   or   b + r A q,   or   V τ(s U q)",
        ),
        (
            r"T(q) - T_\infty(q) &= [T(q) - \bar v] - [T_\infty(q) - \bar v]",
            r"T_\infty(q) &= \bar v + s\, \operatorname{Cov}(v, k)\, q, \quad \text{or } b + r A q, "
            r"\quad \text{or } V \tau(s U q)",
        ),
        finite_prompts.check_deviation,
    ),
    Step(
        "The norms",
        "Both norms of a vector, as the kernel computes them from its entries.",
        ("|x|_l2 = (Σ x_j²)^(1/2),   |x|_linf = max |x_j|",),
        (r"|x|_2 &= \Big( \sum_j x_j^2 \Big)^{1/2}, \qquad |x|_\infty = \max_j |x_j|",),
        finite_prompts.check_norms,
    ),
    Step(
        "Cases in closed form",
        "One token, equal keys and the query 0 leave no deviation. For two tokens whose keys differ by `delta` it is "
        "the distance of `tanh` from its tangent.",
        ("T(q) - T_inf(q) = (v_1 - v_2)/2 (tanh h - h),   h = s q δ / 2",),
        (r"T(q) - T_\infty(q) &= \frac{v_1 - v_2}{2} (\tanh h - h), \qquad h = \frac{s q \delta}{2}",),
        finite_prompts.check_exact_cases,
    ),
)

DERIVATION = Derivation(
    name="output-deviation",
    title="The distance between softmax attention over a concrete prompt and its limit",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 2",
    steps=_STEPS,
)
