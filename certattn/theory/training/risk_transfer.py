"""Derivation of the formulas of the claim `risk-transfer`. The checks stand in `finite_prompt_gap`.

The flow over infinite prompts, its risk and how fast neighbouring paths part are derived for `regression-risk`.
"""

from __future__ import annotations

from certattn.theory import gaussian_queries
from certattn.theory.derivation import Derivation, Step
from certattn.theory.training import finite_prompt_gap

_STEPS = (
    Step(
        "The gap between the risks",
        "Given the query `x`, the softmax mean has a known mean and mean square error (claim output-mean-square); `q` "
        "and `kappa` are functions of the variance `v` of the scores.",
        (
            "τ = ΣAx,   E = bΣA - I,   T = tr Σ,   v = x'A'ΣAx",
            "W = b²T - b²|τ|² + 2b ⟨τ, x⟩ = b²T + |x|² - |Ex|²",
            "R_L - R = 1/2 E[q W - 6b²κ |τ|²]",
        ),
        (
            r"W &= b^2 T - b^2 |\tau|^2 + 2 b \langle \tau, x \rangle = b^2 T + |x|^2 - |Ex|^2, "
            r"\qquad \tau = \Sigma A x",
            r"R_L - R &= \tfrac12 \mathbb E\left[q W - 6 b^2 \kappa |\tau|^2\right]",
        ),
        finite_prompt_gap.check_gap,
    ),
    Step(
        "Its gradient",
        "By differentiation in every entry, through the variance of the scores as well.",
        (
            "dG/db = E[q (bT - ⟨τ, Ex⟩) - 6bκ |τ|²]",
            "dG/dA = E[((q_v W - 6b²κ_v |τ|²) τ - bq ΣEx - 6b²κ Στ) x']",
        ),
        (
            r"\partial_b G &= \mathbb E[q (bT - \langle \tau, Ex \rangle) - 6 b \kappa |\tau|^2]",
            r"\partial_A G &= \mathbb E\left[\bigl((q_v W - 6 b^2 \kappa_v |\tau|^2)\, \tau - b q\, \Sigma E x "
            r"- 6 b^2 \kappa\, \Sigma \tau\bigr)\, x^\top\right]",
        ),
        finite_prompt_gap.check_gradient,
    ),
    Step(
        "How fast kappa changes",
        "Its slope by Stein's identity; between the extremes of `P_4` given `P_2` and `P_3`, a polynomial.",
        (
            "κ_v = E[3P_3 - 2P_2² - 13P_4 + 22 P_2 P_3 - 10 P_2³]",
            "P_3² ≤ P_2 P_4,   P_4 ≤ σ P_3 - (σP_2 - P_3)² / (σ - P_2),   σ² = P_2",
            "-q/3 ≤ κ_v ≤ 5q/18",
        ),
        (
            r"\kappa_v &= \mathbb E[3 P_3 - 2 P_2^2 - 13 P_4 + 22 P_2 P_3 - 10 P_2^3]",
            r"P_3^2 / P_2 &\le P_4 \le \sigma P_3 - (\sigma P_2 - P_3)^2 / (\sigma - P_2), \qquad \sigma^2 = P_2",
            r"-\tfrac13 q &\le \kappa_v \le \tfrac5{18} q",
        ),
        finite_prompt_gap.check_growth,
    ),
    Step(
        "A power above q",
        "The largest value of `x^{1 - theta}/(1 + x)`.",
        ("q ≤ x/(1+x) ≤ θ^θ (1-θ)^(1-θ) x^θ,   x = e^v / (L-1)",),
        (
            r"q &\le \frac{x}{1+x} \le \theta^\theta (1-\theta)^{1-\theta} x^\theta, "
            r"\qquad x = \frac{e^v}{L-1}",
        ),
        gaussian_queries.check_logistic,
    ),
    Step(
        "Gaussian averages",
        "The exponential tilts each coordinate; moments under the tilted law are at most those of a wider one.",
        ("a_k = θ^θ (1-θ)^(1-θ) (L-1)^(-θ) (1-2θs)^(-n/2-k) (1-2θs')^(-1/2)",),
        (
            r"a_k &= \theta^\theta (1-\theta)^{1-\theta} (L-1)^{-\theta} (1 - 2 \theta s)^{-n/2 - k} "
            r"(1 - 2 \theta s')^{-1/2}",
        ),
        finite_prompt_gap.check_averages,
    ),
    Step(
        "Norms of Gaussian vectors",
        "Second and fourth moments of `Bg`, monomial by monomial.",
        ("E|Bg|² = tr B'B,   E|Bg|⁴ = (tr B'B)² + 2 tr (B'B)²",),
        (
            r"\mathbb E |Bg|^2 &= \operatorname{tr} B^\top B, \qquad "
            r"\mathbb E |Bg|^4 = (\operatorname{tr} B^\top B)^2 + 2 \operatorname{tr} (B^\top B)^2",
        ),
        finite_prompt_gap.check_norms,
    ),
    Step(
        "The bounds",
        "At the extreme values of the slopes, and the kernel's sums of what they multiply.",
        (
            "|q_v W - 6b²κ_v |τ|²| ≤ q (b²T + c)",
            "c = |x|² + |Ex|² + 2|bτ|²   or   2|bτ||x| + 3|bτ|²",
        ),
        (
            r"|q_v W - 6 b^2 \kappa_v |\tau|^2| &\le q (b^2 T + c)",
            r"c &= |x|^2 + |Ex|^2 + 2 |b\tau|^2 \quad \text{or} \quad 2 |b\tau| |x| + 3 |b\tau|^2",
        ),
        finite_prompt_gap.check_bounds,
    ),
    Step(
        "The tube",
        "Solutions from above of `e' = mu e + g` and of `e' = mu e + beta c t`, and by how much `E` moves within a "
        "distance.",
        (
            "(e^(μt) (e_0 + gt))' = μ e^(μt) (e_0 + gt) + g e^(μt)",
            "(e^(μt) (e_0 + βct²/2))' = μ e^(μt) (e_0 + βct²/2) + βct e^(μt)",
            "|bH + hA| ≤ |(A, b)| |(H, h)|",
        ),
        (
            r"\tfrac{d}{dt}\, e^{\mu t} (e_0 + g t) &= \mu\, e^{\mu t} (e_0 + g t) + g e^{\mu t}",
            r"\tfrac{d}{dt}\, e^{\mu t} (e_0 + \tfrac12 \beta c t^2) "
            r"&= \mu\, e^{\mu t} (e_0 + \tfrac12 \beta c t^2) + \beta c t\, e^{\mu t}",
            r"|b H + h A|_F &\le |(A, b)|\, |(H, h)|",
        ),
        finite_prompt_gap.check_tube,
    ),
)

DERIVATION = Derivation(
    name="risk-transfer",
    title="What training on finite prompts does beside training on infinite ones",
    source="Boursier and Boyer 2026, arXiv 2512.11784, theorem 4.3, with explicit constants",
    steps=_STEPS,
)
