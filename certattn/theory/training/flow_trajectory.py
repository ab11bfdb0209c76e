"""Derivation of the formulas of the claim `flow-trajectory`: a Taylor method for the flow that proves its error."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.training import enclosed_flows

_STEPS = (
    Step(
        "Taylor coefficients of the flow",
        "With `S = Sigma E Sigma` the flow is `A' = -bS`, `b' = -tr(A'S)`; the kernel's recursion makes `z' + grad "
        "R(z)` vanish "
        "to the order of the polynomial.",
        (
            "S_k = Σ² P_k Σ - [k = 0] Σ²,   P_k = Σ_j b_j A_(k-j)",
            "(k+1) A_(k+1) = -Σ_j b_j S_(k-j),   (k+1) b_(k+1) = -Σ_j ⟨A_j, S_(k-j)⟩",
        ),
        (
            r"S_k &= \Sigma^2 P_k \Sigma - [k = 0] \Sigma^2, \qquad P_k = \textstyle\sum_j b_j A_{k-j}",
            r"(k+1) A_{k+1} &= -\textstyle\sum_j b_j S_{k-j}, \qquad "
            r"(k+1) b_{k+1} = -\textstyle\sum_j \langle A_j, S_{k-j} \rangle",
        ),
        enclosed_flows.check_coefficients,
    ),
    Step(
        "What the polynomial leaves over",
        "The coefficients of `F(p)` from the order of `p` on are bounded by norms: products of matrices by products of "
        "norms, `Sigma^2 P Sigma` by `lambda^3` times the norm of `P`, in an eigenbasis of `Sigma` with `s_i <= "
        "lambda`. In one dimension, where "
        "everything is positive, the bound is met.",
        (
            "|S_k| ≤ λ³ Σ_j |b_j| |A_(k-j)|,   k ≥ 1",
            "|f_k|² ≤ (Σ_j |b_j| |S_(k-j)|)² + (Σ_j |A_j| |S_(k-j)|)²",
        ),
        (
            r"|S_k|_F &\le \lambda^3 \textstyle\sum_j |b_j| |A_{k-j}|_F, \qquad k \ge 1",
            r"|f_k|^2 &\le \bigl(\textstyle\sum_j |b_j| |S_{k-j}|_F\bigr)^2 "
            r"+ \bigl(\textstyle\sum_j |A_j|_F |S_{k-j}|_F\bigr)^2",
        ),
        enclosed_flows.check_excess,
    ),
    Step(
        "How far paths part in a ball",
        "The flow expands distances at most at the rate `|S|` (derivation of `regression-risk`). Within `r` of a "
        "point, `bA` differs from what it is there by `b_0 H + h A_0 + h H`, and its norm by Cauchy and Schwarz.",
        ("|S| ≤ |S₀| + λ³ (|(A₀, b₀)| r + r²/2)",),
        (r"|S|_F &\le |S_0|_F + \lambda^3 \bigl(|(A_0, b_0)|\, r + r^2/2\bigr)",),
        enclosed_flows.check_expansion,
    ),
    Step(
        "The error of a step",
        "The solution of `u' = mu u + sum_k f_k t^k` from `u(0) = r` is what the distance of path and polynomial is at "
        "most; with `m = max(mu, 0)` it is below the kernel's two bounds, for `e^{mu (h - t)} <= e^{m h}`.",
        (
            "D = Σ_(k≥n) f_k h^(k+1)/(k+1) = ∫_0^h Σ_(k≥n) f_k t^k dt",
            "u(t) ≤ e^(mh) (r + D),   u(h) ≤ e^(μh) r + e^(mh) D",
        ),
        (
            r"D &= \sum_{k \ge n} f_k \frac{h^{k+1}}{k+1} = \int_0^h \sum_{k \ge n} f_k t^k \, dt",
            r"u(t) &\le e^{mh} (r + D), \qquad u(h) \le e^{\mu h} r + e^{mh} D",
        ),
        enclosed_flows.check_error,
    ),
    Step(
        "Between the stated times",
        "A polynomial around another point of time, and its difference from a straight line.",
        ("p(m + s) = Σ_k p^(k)(m) s^k / k!,   (p - l)(t) = p(t) - (x + t v)",),
        (r"p(m + s) &= \sum_k p^{(k)}(m) \frac{s^k}{k!}, \qquad (p - l)(t) = p(t) - (x + t v)",),
        enclosed_flows.check_pieces,
    ),
    Step(
        "Which points may be on the flow",
        "The flow conserves `|A|^2 - b^2`; so much does it change within a radius.",
        ("| |A+H|² - (b+h)² - |A|² + b² | ≤ 2 r |(A, b)| + r²,   |(H, h)| ≤ r",),
        (r"\bigl| |A + H|_F^2 - (b + h)^2 - |A|_F^2 + b^2 \bigr| &\le 2 r\, |(A, b)| + r^2, \qquad |(H, h)| \le r",),
        enclosed_flows.check_invariant,
    ),
)

DERIVATION = Derivation(
    name="flow-trajectory",
    title="The gradient flow of in-context regression, enclosed",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 4",
    steps=_STEPS,
)
