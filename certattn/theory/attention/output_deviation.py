"""Derivation of the formulas of the claim `output-deviation`.

The checks stand in `finite_prompts`, those of regions of queries in `query_regions`.

Boursier and Boyer 2026 (arXiv 2512.11784), section 2: the finite prompt beside the infinite one.
"""

from __future__ import annotations

from certattn.theory.attention import finite_prompts, query_regions
from certattn.theory.derivation import Derivation, Step

_LISTED = (
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
        "Under a mask",
        "A query that sees the first `n` tokens has them alone as its prompt, and their moments. The linear limit is "
        "a weighted sum of values whose weights are made of scores, so that no covariance of a prefix is needed.",
        ("T_inf(q) = v̄ + s Cov(v, k) q = (1/n) Σ (1 + s_t - s̄) v_t,   s_t = s ⟨q, k_t⟩,   t ≤ n",),
        (
            r"T_\infty(q) &= \bar v + s\, \operatorname{Cov}(v, k)\, q = "
            r"\frac{1}{n} \sum_{t \le n} (1 + s_t - \bar s)\, v_t, \qquad s_t = s \langle q, k_t \rangle",
        ),
        finite_prompts.check_masks,
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

_REGIONS = (
    Step(
        "Around one query of a region",
        "A cell is the set of all `q = c + x_1 g_1 + ... + x_n g_n` with `x` in a unit set. Let `E` average with the "
        "softmax weights of its centre `c`; then `y = v - E v` and `a_k = s <k - E k, g_k>` have mean 0. What the "
        "kernel computes at the centre is the deviation, its slope along `x`, and second derivatives.",
        (
            "d = T(c) - T_inf(c)",
            "W = E[y a'] = ∂T/∂x,   B = ∂(T - T_inf)/∂x   at x = 0",
            "E[y_j a a'] = ∂²T_j/∂x∂x'   at x = 0",
        ),
        (
            r"d &= T(c) - T_\infty(c)",
            r"W &= \mathbb E[y a^\top] = \frac{\partial T}{\partial x}(0), \qquad "
            r"B = \frac{\partial (T - T_\infty)}{\partial x}(0)",
            r"\mathbb E[y_j a a^\top] &= \frac{\partial^2 T_j}{\partial x \partial x^\top}(0)",
        ),
        query_regions.check_expansion,
    ),
    Step(
        "Over a cell, with what is left over",
        "Tokens are weighed anew by `e^u`, `u = <a, x>`. Both sums are split into their first terms and `phi`; since "
        "`u` has mean 0, the normaliser is 1 plus the mean of `phi`, and so at least 1.",
        (
            "T(q) - T_inf(q) = d + B x + (1 - θ) E[y φ(u)] - θ W x,   φ(u) = e^u - 1 - u",
            "1/(1 - θ) = E e^u = 1 + E φ(u)",
        ),
        (
            r"T(q) - T_\infty(q) &= d + B x + (1 - \theta)\, \mathbb E[y \phi(u)] - \theta W x, "
            r"\qquad \phi(u) = e^u - 1 - u",
            r"\frac{1}{1 - \theta} &= \mathbb E\, e^u = 1 + \mathbb E\, \phi(u)",
        ),
        query_regions.check_remainder,
    ),
    Step(
        "How large the rest is",
        "Both remainders of the exponential series are integrals of `e^{uz}`, which grows with `u`. Where `t` is at "
        "least `|u|` they are at most those at `t`. The kernel bounds `gamma(t)` for small `t` without cancellation: "
        "in the fifth remainder it takes the chord of the convex function `e^{tz}`.",
        (
            "0 ≤ φ(u) = u² ∫ (1 - z) e^(uz) dz ≤ γ(t) u²,   γ(t) = (e^t - 1 - t)/t²",
            "|φ(u) - u²/2| = |u|³ ∫ (1 - z)²/2 e^(uz) dz ≤ (γ(t) - 1/2) u²",
            "γ(t) ≤ 1/2 + t/6 + t²/24 + t³/120 (5 + e^t)/6",
        ),
        (
            r"0 \le \phi(u) &= u^2 \int_0^1 (1 - z) e^{uz}\, dz \le \gamma(t) u^2, \qquad "
            r"\gamma(t) = \frac{e^t - 1 - t}{t^2}",
            r"|\phi(u) - \tfrac{1}{2} u^2| &= |u|^3 \int_0^1 \tfrac{1}{2} (1 - z)^2 e^{uz}\, dz "
            r"\le (\gamma(t) - \tfrac{1}{2}) u^2",
            r"\gamma(t) &\le \frac{1}{2} + \frac{t}{6} + \frac{t^2}{24} + \frac{t^3}{120} \cdot \frac{5 + e^t}{6}",
        ),
        query_regions.check_tails,
    ),
    Step(
        "Suprema over balls, cubes and simplices",
        "Linear and quadratic functions are bounded over each unit set. Over a simplex a norm of an affine map is "
        "largest at a vertex. A box that is cut from a ball has two descriptions, and the smaller bound holds.",
        (
            "|d + B x|² = |d|² + 2 ⟨B'd, x⟩ + x'B'B x",
            "ball:      |⟨a,x⟩| ≤ |a|,         |x'S x| ≤ (tr S^p)^(1/p),  p even",
            "cube:      |⟨a,x⟩| ≤ Σ |a_k|,     |x'S x| ≤ Σ |S_kl|",
            "simplex:   |⟨a,x⟩| ≤ max |a_k|,   |x'S x| ≤ max |S_kl|",
        ),
        (
            r"|d + B x|^2 &= |d|^2 + 2 \langle B^\top d, x \rangle + x^\top B^\top B x",
            r"|x^\top S x| &\le (\operatorname{tr} S^p)^{1/p}, \quad \sum_{k,l} |S_{kl}|, \quad \max_{k,l} |S_{kl}|",
        ),
        query_regions.check_unit_sets,
    ),
    Step(
        "Cells cover the region",
        "The two halves of a box share the middle of an axis. Of a convex combination of the ends of an edge, the "
        "smaller weight is taken twice for the middle: it lies in the half that keeps the nearer end.",
        (
            "λ p_i + μ p_j = (λ - μ) p_i + 2μ (p_i + p_j)/2,   λ ≥ μ",
            "λ p_i + μ p_j = (μ - λ) p_j + 2λ (p_i + p_j)/2,   λ ≤ μ",
        ),
        (
            r"\lambda p_i + \mu p_j &= (\lambda - \mu) p_i + 2 \mu \frac{p_i + p_j}{2}, \qquad \lambda \ge \mu",
            r"\lambda p_i + \mu p_j &= (\mu - \lambda) p_j + 2 \lambda \frac{p_i + p_j}{2}, \qquad \lambda \le \mu",
        ),
        query_regions.check_bisections,
    ),
)

DERIVATION = Derivation(
    name="output-deviation",
    title="The distance between softmax attention over a concrete prompt and its limit",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 2",
    steps=_LISTED + _REGIONS,
)
