"""Derivation of the formulas of the claim `output-tail`; checks in `weighted_sums`, `capped_sums`, `mean_squares`.

How rarely the softmax output over a random prompt is far from its infinite-prompt limit (Boursier and Boyer
2026, arXiv 2512.11784, section 3), with every constant explicit.
"""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.prompts import capped_sums, mean_squares, weighted_sums

_MOMENTS = (
    Step(
        "One event, one sum",
        "The softmax mean of a prompt exceeds its limit by more than `eps` in a direction `v` exactly where a sum of "
        "independent variables is positive: the normaliser is positive and drops out. Their mean is `-eps`. Checked "
        "for 1 to 3 tokens, and for an unspecified density in dimension 1 and 2.",
        (
            "{ ⟨v, τ_L - τ⟩ > ε } = { Σ Y_i > 0 },   Y = w (⟨v, x - τ⟩ - ε)",
            "w = e^(⟨a,x⟩ - Λ(a)),   E w = 1,   E Y = -ε,   D = Y + ε",
        ),
        (
            r"\{ \langle v, \tau_L - \tau \rangle > \varepsilon \} &= \Big\{ \sum_i Y_i > 0 \Big\}, \qquad "
            r"Y = w (\langle v, x - \tau \rangle - \varepsilon)",
            r"w &= e^{\langle a, x \rangle - \Lambda(a)}, \qquad \mathbb E w = 1, \quad \mathbb E Y = -\varepsilon, "
            r"\quad D = Y + \varepsilon",
        ),
        weighted_sums.check_event,
    ),
    Step(
        "Moments of one token",
        "A power of the weight is another tilt, so all moments of `Y` are coefficients of the moment-generating "
        "function along a line, as a power series. Checked for every kind of law against expectations taken by "
        "integration and summation; for boxes the coefficients are 1F2 series, compared term by term.",
        ("E Y^k / k! = e^(-k Λ(a)) [t^k] E e^⟨ka + tv, x⟩ e^(-t (⟨v,τ⟩ + ε))",),
        (
            r"\frac{\mathbb E Y^k}{k!} &= e^{-k \Lambda(a)} [t^k]\, \mathbb E\, e^{\langle k a + t v, x \rangle} "
            r"e^{-t (\langle v, \tau \rangle + \varepsilon)}",
        ),
        weighted_sums.check_token_moments,
    ),
    Step(
        "Cantelli's inequality",
        "Markov's inequality for `(S + t)^2` with `S = sum D_i`, at `t = V/T`. For Gaussian tokens the variance of a "
        "summand has a closed form, which is what the power series gives.",
        (
            "P(S ≥ Lε) ≤ v / (v + Lε²),   v = E D²",
            "v = e^(s²) (v'Γv + (v'Γa - ε)²) - ε²,   s² = a'Γa   for N(m, Γ)",
        ),
        (
            r"\mathbb P(S \ge L \varepsilon) &\le \frac{\sigma_D^2}{\sigma_D^2 + L \varepsilon^2}, \qquad "
            r"\sigma_D^2 = \mathbb E D^2",
            r"\sigma_D^2 &= e^{s^2} \big( v^\top \Gamma v + (v^\top \Gamma a - \varepsilon)^2 \big) - \varepsilon^2, "
            r"\qquad s^2 = a^\top \Gamma a \quad \text{for } \mathcal N(m, \Gamma)",
        ),
        weighted_sums.check_cantelli,
    ),
    Step(
        "Even moments of the sum",
        "The exponential generating function of the moments of a sum is the power of that of one summand. Checked by "
        "multiplying out sums of 1 to 5 independent variables, for orders 2 and 4.",
        ("P(S ≥ Lε) ≤ E S^p / (Lε)^p,   E S^p / p! = [t^p] ( Σ_j E D^j t^j / j! )^L",),
        (
            r"\mathbb P(S \ge L \varepsilon) &\le \frac{\mathbb E S^p}{(L \varepsilon)^p}, \qquad "
            r"\frac{\mathbb E S^p}{p!} = [t^p] \Big( \sum_{j \le p} \mathbb E D^j \frac{t^j}{j!} \Big)^L",
        ),
        weighted_sums.check_moments_of_a_sum,
    ),
    Step(
        "Exponentials by finitely many moments",
        "What the exponential series leaves after `p` terms is `y^p` times an average of `e^(sy)` over `s`, which "
        "increases with `y`; for even `p` it is bounded at the largest summand. That is bounded by convexity: "
        "`z <= e^(z-1)`. For `p = 2` this is Bennett's inequality.",
        (
            "e^y = Σ_{j<p} y^j/j! + y^p φ_p(y),   φ_p(y) = ∫ (1-s)^(p-1)/(p-1)! e^(sy) ds = 1F1(1; p+1; y)/p!",
            "E e^(λD) ≤ Σ_{j<p} λ^j E D^j/j! + λ^p E D^p φ_p(λb)   for D ≤ b",
            "D - ε ≤ e^(h(a + θv) - θ(⟨v,τ⟩ + ε) - 1 - Λ(a)) / θ,   h(a) = max ⟨a,x⟩",
        ),
        (
            r"e^y &= \sum_{j < p} \frac{y^j}{j!} + y^p \phi_p(y), \qquad \phi_p(y) = \int_0^1 "
            r"\frac{(1-s)^{p-1}}{(p-1)!} e^{s y}\, ds = \frac{1}{p!}\, {}_1F_1(1; p + 1; y)",
            r"\mathbb E e^{\lambda D} &\le \sum_{j < p} \lambda^j \frac{\mathbb E D^j}{j!} + \lambda^p \mathbb E D^p "
            r"\phi_p(\lambda b) \quad \text{for } D \le b",
            r"D - \varepsilon &\le \tfrac{1}{\theta} e^{h(a + \theta v) - \theta (\langle v, \tau \rangle + "
            r"\varepsilon) - 1 - \Lambda(a)}, \qquad h(a) = \max \langle a, x \rangle",
        ),
        weighted_sums.check_bounded,
    ),
)

_CAPPED = (
    Step(
        "Gaussian tokens from one direction",
        "Score and output of a Gaussian token are two normal variables: one behind the score, and what is left of the "
        "output. Checked against the covariance of both, from a factor of `Gamma`.",
        (
            "⟨a, x - m⟩ = s g,   ⟨v, x - m⟩ = c g + σ h",
            "s² = a'Γa,   c = v'Γa / s,   σ² = v'Γv - c²",
        ),
        (
            r"\langle a, x - m \rangle &= s g, \qquad \langle v, x - m \rangle = c g + \sigma h",
            r"s^2 &= a^\top \Gamma a, \qquad c = v^\top \Gamma a / s, \qquad \sigma^2 = v^\top \Gamma v - c^2",
        ),
        capped_sums.check_plane,
    ),
    Step(
        "Capped summands",
        "Either some token lies in `A`, or Markov's inequality holds for what is left. Where the weights are equal the "
        "output is Gaussian, and the probability known exactly.",
        ("P(Σ Y_i > 0) ≤ 1 - (1 - P(A))^L + ( E[e^(λY); not A] )^L",),
        (
            r"\mathbb P\Big(\sum_i Y_i > 0\Big) &\le 1 - (1 - \mathbb P(A))^L + "
            r"\big( \mathbb E[e^{\lambda Y}; A^c] \big)^L",
        ),
        capped_sums.check_truncation,
    ),
    Step(
        "The noise of the output is integrated out",
        "At a given `g` the cap is reached at one value `e` of `h`. The Gaussian integral up to it has two forms, and "
        "the kernel takes the one whose factors are moderate. `U(1/2, 1/2, z^2)` is identified by an integral over `t` "
        "that has the same derivative.",
        (
            "E[e^(x + t h); h ≤ e] = e^(x + t²/2) Q(k) = e^(x + t e - e²/2) erfcx(k/√2) / 2,   k = t - e",
            "w (μ + c g + σ e) = B,   x = λ w (μ + c g),   t = λ w σ,   x + t e = λ B",
            "erfcx(z) = e^(z²) erfc(z) = U(1/2, 1/2, z²) / √π",
        ),
        (
            r"\mathbb E[e^{x + t h}; h \le e] &= e^{x + t^2/2} Q(k) = \tfrac{1}{2} e^{x + t e - e^2/2} "
            r"\operatorname{erfcx}(k / \sqrt 2), \qquad k = t - e",
            r"w (\mu + c g + \sigma e) &= B, \quad x = \lambda w (\mu + c g), \quad t = \lambda w "
            r"\sigma, \quad x + t e = \lambda B",
            r"\operatorname{erfcx}(z) &= e^{z^2} \operatorname{erfc}(z) = U(\tfrac12, \tfrac12, z^2) / \sqrt \pi",
        ),
        capped_sums.check_noise,
    ),
    Step(
        "Outputs without noise of their own",
        "For `sigma = 0` the summand is a function of the score. Its derivative has one sign where `c >= 0` "
        "and the function positive, and changes once, at the peak, where `c < 0`; the cap is met where Lambert's "
        "function says.",
        (
            "Y = f(g) = e^(α + s g) (μ + c g),   f' = e^(α + s g) (s (μ + c g) + c)",
            "f(g) = B  where  r y e^(r y) = r B e^(r μ - α),   r = s/c,   y = μ + c g",
        ),
        (
            r"Y &= f(g) = e^{\alpha + s g} (\mu + c g), \qquad f' = e^{\alpha + s g} (s (\mu + c g) + c)",
            r"f(g) &= B \quad \text{where} \quad r y e^{r y} = r B e^{r \mu - \alpha}, \quad r = s/c, \quad "
            r"y = \mu + c g",
        ),
        capped_sums.check_tied,
    ),
    Step(
        "A norm by a frame",
        "If the vectors `u_c` are a frame, a small output in each of them is small in norm. Checked for up to three "
        "vectors.",
        ("Σ ⟨u_c, y⟩² - |y|² = y' (Σ u_c u_c' - I) y ≥ 0",),
        (r"\sum_c \langle u_c, y \rangle^2 - |y|^2 &= y^\top \Big( \sum_c u_c u_c^\top - I \Big) y \ge 0",),
        weighted_sums.check_norm,
    ),
    Step(
        "Markov's inequality for a norm",
        "Beyond `eps` the square of the norm is more than `eps^2`, so its mean is at least `eps^2` times the "
        "probability. The largest entry is at most the l2 norm. The mean square over Gaussian tokens is that of the "
        "derivation of `output-mean-square`; what it takes off is left out. Checked for laws with two atoms on either "
        "side, and in dimension 1 to 3.",
        (
            "ε² 1{|y| > ε} ≤ |y|²,   P(|T_L - T| > ε) ≤ E|T_L - T|² / ε²",
            "E|T_L - T|² = q (S + B) - 6 κ B ≤ q (S + B),   κ, B ≥ 0",
        ),
        (
            r"\varepsilon^2\, 1_{\{|y| > \varepsilon\}} &\le |y|^2, \qquad \mathbb P(|T_L - T| > \varepsilon) \le "
            r"\mathbb E |T_L - T|^2 / \varepsilon^2",
            r"\mathbb E |T_L - T|^2 &= q (S + B) - 6 \kappa B \le q (S + B), \qquad \kappa, B \ge 0",
        ),
        mean_squares.check_markov,
    ),
)

DERIVATION = Derivation(
    name="output-tail",
    title="How rarely attention over a random prompt is far from its infinite-prompt limit",
    source="Boursier and Boyer 2026, arXiv 2512.11784, section 3",
    steps=(*_MOMENTS, *_CAPPED),
)
