"""Derivation of the formulas of the claim `joint-max-margin`. The checks stand in `joint_path`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.selection import joint_path

DERIVATION = Derivation(
    name="joint-max-margin",
    title="Head and attention of joint training, and bounds for every minimiser at stated norms",
    source="Ataee Tarzanagh, Li, Zhang and Oymak 2023, arXiv 2306.13596, the section on joint convergence",
    steps=(
        Step(
            "The label-margin condition",
            "With the multipliers of v_mm, the label margin of attended features is at most the length of a convex "
            "combination of them, which is a convex function of the weights: by choices of a token each, or by pairs.",
            ("max_v min_i Y_i <v, r_i> <= |Γ u - q|", "Γ² - |Γ u - q|² = 2 Γ <u, q> - |q|²"),
            (
                r"\max_{|v| \le 1} \min_i Y_i \langle v, r_i \rangle &\le |\Gamma u - q|",
                r"\Gamma^2 - |\Gamma u - q|^2 &= 2 \Gamma \langle u, q \rangle - |q|^2",
            ),
            joint_path.check_condition,
        ),
        Step(
            "Sums of exponentials",
            "The loss of a comparator bounds the sum of `e^(-y_i)` at every minimiser.",
            ("Σ e^(-y_i) <= E = Σ e^(-ŷ_i)  or  Π (1 + e^(-ŷ_i)) - 1",),
            (r"\sum_i e^{-y_i} &\le E = \sum_i e^{-\hat y_i} \ \text{ or } \ \prod_i (1 + e^{-\hat y_i}) - 1",),
            joint_path.check_exponentials,
        ),
        Step(
            "What is lost",
            "By convexity, weighted margins are at least what the sum of exponentials and the weights' entropy say.",
            ("Σ w_i y_i >= H(w) - log Σ e^(-y_i)", "K = log E0 - H(μ)"),
            (r"\sum_i w_i y_i &\ge H(w) - \log \sum_i e^{-y_i}", r"K &= \log E_0 - H(\hat\mu)"),
            joint_path.check_entropy,
        ),
        Step(
            "Other weights than the multipliers",
            "Any probabilities are a multiple of the multipliers less a multiple of other probabilities.",
            ("Σ Λ_i (γ_i - r Γ) <= (θ - 1) (log E0 - H(w))",),
            (r"\sum_i \Lambda_i (\gamma_i - r \Gamma) &\le (\theta - 1) (\log E_0 - H(w))",),
            joint_path.check_tilt,
        ),
        Step(
            "The angle of the head",
            "The head's part along v_mm is bounded below, and so is its product with any vector.",
            ("c = 1 - (K/r + e Z) / Γ", "<v, a> / r >= min(<a, u>, c <a, u>) - (1 - c²)^(1/2) |a - <a, u> u|"),
            (
                r"c &= 1 - (K/r + e Z) / \Gamma",
                r"\langle v, a \rangle / r &\ge \min(\langle a, u \rangle, c \langle a, u \rangle) - \sqrt{1 - c^2}\, "
                r"|a - \langle a, u \rangle u|",
            ),
            joint_path.check_alignment,
        ),
        Step(
            "The same head with other attention",
            "At the head of a minimiser its attention does no worse than any other: both losses rise by at most "
            "`e^-gamma (e^G - 1)`, and by at least their slope times G.",
            ("l(γ - G) - l(γ) <= e^-γ (e^G - 1)", "-l'(γ) >= e^-γ e^(-E)"),
            (r"\ell(\gamma - G) - \ell(\gamma) &\le e^{-\gamma} (e^G - 1)", r"-\ell'(\gamma) &\ge e^{-\gamma} e^{-E}"),
            joint_path.check_comparison,
        ),
        Step(
            "The angle of attention",
            "Softmax weights bound products with p, and these its product with p_mm.",
            ("<z_j, p> >= log(s / (1 - s))", "<p, p_mm> = Σ λ_j <z_j, p>"),
            (
                r"\langle z_j, p \rangle &\ge \log(s / (1 - s))",
                r"\langle p, p_{mm} \rangle &= \sum_j \lambda_j \langle z_j, p \rangle",
            ),
            joint_path.check_attention,
        ),
    ),
)
