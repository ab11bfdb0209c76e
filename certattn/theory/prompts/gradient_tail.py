"""Derivation of the formulas of the claim `gradient-tail`. The checks stand in `gradient_tails`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.prompts import covariance_error, gradient_bounds, gradient_tails

DERIVATION = Derivation(
    name="gradient-tail",
    title="How rarely attention's gradients over a random prompt are far from their limits",
    source="after Boursier and Boyer 2026, arXiv 2512.11784, Proposition 3.4",
    steps=(
        Step(
            "The norm of the difference of gradients",
            "As for `gradient-mean-square`.",
            ("|H ↦ s V E H z|²_HS = s² |V E|²_F |z|²",),
            (r"\| H \mapsto s V E H z \|_{\mathrm{HS}}^2 &= s^2\, \|V E\|_F^2\, |z|^2",),
            covariance_error.check_gradient,
        ),
        Step(
            "The error of the softmax covariance",
            "A ratio of sums, less the product of the softmax mean's error with itself.",
            ("C_L - C = S/Z - (τ_L - τ)(τ_L - τ)'",),
            (r"C_L - C &= \frac{S}{Z} - (\tau_L - \tau)(\tau_L - \tau)^\top",),
            gradient_bounds.check_decomposition,
        ),
        Step(
            "An entry is a sum over tokens",
            "The normaliser drops out of the event, as it does for outputs.",
            ("⟨u,Sv⟩/Z > ε   ⇔   Σ Y_i > 0,   Y = w (⟨u,y⟩⟨v,y⟩ - ⟨u,Cv⟩ - ε)",),
            (
                r"\frac{\langle u, S v \rangle}{Z} > \varepsilon &\iff \sum_i Y_i > 0, \qquad "
                r"Y = w (\langle u, y \rangle \langle v, y \rangle - \langle u, C v \rangle - \varepsilon)",
            ),
            gradient_tails.check_event,
        ),
        Step(
            "Frames on both sides of a matrix",
            "With `F'F >= I` and `G'G >= I`, the entries between the rows of the frames bound the Frobenius norm.",
            ("|X|²_F <= |F X G'|²_F = Σ_ij ⟨f_i, X g_j⟩²",),
            (r"\|X\|_F^2 &\le \|F X G^\top\|_F^2 = \sum_{ij} \langle f_i, X g_j \rangle^2",),
            gradient_tails.check_frames,
        ),
        Step(
            "Joint moments of two outputs",
            "Coefficients of one series in two variables; along every line it is the series of one variable.",
            ("E e^⟨a + tu + rv, x⟩ = Σ t^i r^j E[e^⟨a,x⟩ ⟨u,x⟩^i ⟨v,x⟩^j] / i! j!",),
            (
                r"\mathbb E\, e^{\langle a + t u + r v, x \rangle} &= \sum_{ij} \frac{t^i r^j}{i!\, j!} "
                r"\mathbb E[e^{\langle a, x \rangle} \langle u, x \rangle^i \langle v, x \rangle^j]",
            ),
            gradient_tails.check_pair_series,
        ),
        Step(
            "Moments of the summands",
            "Of the weights and outputs from their definition, over atoms; of `Y` and `D = Y + eps` by the binomial "
            "formula. The rules for sums of `D` are those of `output-tail`.",
            ("E Y^k = Σ_j C(k,j) (-⟨u,Cv⟩ - ε)^(k-j) E w^k (⟨u,y⟩⟨v,y⟩)^j",),
            (
                r"\mathbb E\, Y^k &= \sum_j \binom{k}{j} (-\langle u, C v \rangle - \varepsilon)^{k-j}\, "
                r"\mathbb E\, w^k (\langle u, y \rangle \langle v, y \rangle)^j",
            ),
            gradient_tails.check_weighted_moments,
        ),
        Step(
            "The largest summand of a bounded law",
            "A product is at most the square of half the sum, and a square at most an exponential, whose largest value "
            "over the support is known.",
            ("⟨u,y⟩⟨v,y⟩ <= ⟨u+v,y⟩²/4 <= e^(σ|⟨u+v,y⟩| - 2) / σ²",),
            (
                r"\langle u, y \rangle \langle v, y \rangle &\le \tfrac{1}{4} \langle u + v, y \rangle^2 "
                r"\le \sigma^{-2} e^{\sigma |\langle u + v, y \rangle| - 2}",
            ),
            gradient_tails.check_largest,
        ),
    ),
)
