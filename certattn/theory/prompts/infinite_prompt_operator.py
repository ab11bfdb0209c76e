"""Derivation of the formulas of the claim `infinite-prompt-operator`.

Boursier and Boyer 2026 (arXiv 2512.11784), Lemma 2.1, with every law of tokens that certificates
may state. The checks stand in `tilted_means`, `special_functions`, `operators` and `affine_laws`.
"""

from __future__ import annotations

from certattn.theory import operators, special_functions
from certattn.theory.derivation import Derivation, Step
from certattn.theory.prompts import affine_laws, tilted_means

_LAWS = (
    Step(
        "Attention of a law of tokens",
        "A token `x` has the key `K x` and the value `V x`, a query `z` is read as `Q z`, and scores are multiplied "
        "by `s`. Averaged over a law of tokens, attention depends on the query through the tilt `s U z` alone, and "
        "on the law through its tilted mean `tau`. Weights that are left out are the identity.",
        (
            "T[μ](z) = E[V x e^(s ⟨Kx, Qz⟩)] / E[e^(s ⟨Kx, Qz⟩)] = V τ(s U z),   U = K'Q",
            "τ(a)    = E[x e^⟨a,x⟩] / E[e^⟨a,x⟩]",
        ),
        (
            r"T[\mu](z) &= \frac{\mathbb E[V x\, e^{s \langle K x, Q z \rangle}]}"
            r"{\mathbb E[e^{s \langle K x, Q z \rangle}]} = V \tau(s U z), \qquad U = K^\top Q",
            r"\tau(a) &= \frac{\mathbb E[x\, e^{\langle a, x \rangle}]}{\mathbb E[e^{\langle a, x \rangle}]}",
        ),
        operators.check_attention,
    ),
    Step(
        "Tilted mean and covariance are derivatives of the log-MGF",
        "Where the moment-generating function is finite around `a`, it is differentiated under the expectation. For "
        "every law the gradient of its logarithm is the tilted mean, and the Hessian is the covariance under the "
        "tilt, so it is symmetric. Checked with the integrals of an unspecified density, in dimension 1 to 3.",
        (
            "Λ(a) = log E e^⟨a,x⟩",
            "τ(a) = ∇Λ(a)",
            "C(a) = ∇²Λ(a) = E[(x - τ)(x - τ)' e^⟨a,x⟩] / E[e^⟨a,x⟩]",
        ),
        (
            r"\Lambda(a) &= \log \mathbb E\, e^{\langle a, x \rangle}",
            r"\tau(a) &= \nabla \Lambda(a)",
            r"C(a) &= \nabla^2 \Lambda(a) = \frac{\mathbb E[(x - \tau)(x - \tau)^\top e^{\langle a, x \rangle}]}"
            r"{\mathbb E[e^{\langle a, x \rangle}]}",
        ),
        tilted_means.check_any_law,
    ),
    Step(
        "Gaussian tokens: completing the square",
        "A Gaussian of any covariance `Gamma = B B'`, singular or not, is `x = m + B g` with `g` standard normal, so "
        "`<a, x> = <a, m> + <B' a, g>`. Completing the square in each coordinate of `g` gives one integral; their "
        "product gives the log-MGF, its derivatives the tilted mean and covariance. Checked in symbolic dimension, "
        "and against the kernel for d = 1 to 4 with `B` of every width from 0 to d.",
        (
            "-g²/2 + t g = -(g - t)²/2 + t²/2,   so   E e^(t g) = e^(t²/2)",
            "Λ(a) = ⟨a,m⟩ + |B'a|²/2 = ⟨a,m⟩ + a'Γa/2",
            "τ(a) = m + Γ a,   C(a) = Γ",
        ),
        (
            r"-\tfrac{1}{2} g^2 + t g &= -\tfrac{1}{2} (g - t)^2 + \tfrac{1}{2} t^2, \qquad "
            r"\mathbb E\, e^{t g} = e^{t^2 / 2}",
            r"\Lambda(a) &= \langle a, m \rangle + \tfrac{1}{2} |B^\top a|^2 "
            r"= \langle a, m \rangle + \tfrac{1}{2} a^\top \Gamma a",
            r"\tau(a) &= m + \Gamma a, \qquad C(a) = \Gamma",
        ),
        tilted_means.check_gaussian,
    ),
    Step(
        "Independent signs (Rademacher)",
        "The expectation is a sum over all sign vectors. Checked for d = 1 to 4, with tilts on both sides of 0 and "
        "at 0, against the kernel, which writes `log cosh` so that it cannot overflow.",
        (
            "Λ(a)   = Σ log cosh(c_j a_j)",
            "τ_j(a) = c_j tanh(c_j a_j),   C(a) = diag( c_j² / cosh²(c_j a_j) )",
        ),
        (
            r"\Lambda(a) &= \sum_j \log \cosh(c_j a_j)",
            r"\tau_j(a) &= c_j \tanh(c_j a_j), \qquad C_{jj}(a) = \frac{c_j^2}{\cosh^2(c_j a_j)}",
        ),
        tilted_means.check_signs,
    ),
    Step(
        "The functions that the kernel evaluates, in all their forms",
        "For sizes of at least 1 the kernel uses exponentials, below 1 a hypergeometric series. The series is "
        "compared with that of the exponential term by term, by induction over the index; both forms are proved "
        "equal to the integral over [-1, 1], for `x > 0`, `x < 0` and, where the form applies, at 0.",
        (
            "log cosh x     = |x| + log((1 + e^(-2|x|)) / 2)",
            "log(sinh x/x)  = |x| + log((1 - e^(-2|x|)) / (2|x|)) = log 0F1(; 3/2; x²/4)",
            "coth x - 1/x   = (x/3) 0F1(; 5/2; x²/4) / 0F1(; 3/2; x²/4) = d/dx log(sinh x/x)",
        ),
        (
            r"\log \cosh x &= |x| + \log \frac{1 + e^{-2|x|}}{2}",
            r"\log \frac{\sinh x}{x} &= |x| + \log \frac{1 - e^{-2|x|}}{2|x|} "
            r"= \log {}_0F_1\left(; \tfrac{3}{2}; \tfrac{x^2}{4}\right)",
            r"\coth x - \frac{1}{x} &= \frac{x}{3} \cdot \frac{{}_0F_1(; \frac{5}{2}; \frac{x^2}{4})}"
            r"{{}_0F_1(; \frac{3}{2}; \frac{x^2}{4})} = \frac{d}{dx} \log \frac{\sinh x}{x}",
        ),
        special_functions.check_forms,
    ),
    Step(
        "Tokens uniform on a box",
        "The coordinates are independent, and each is an integral over `[-c, c]`. Checked for every choice of form "
        "in every coordinate, with tilts on both sides of 0 and at 0, and for a box of width 0.",
        (
            "Λ(a)   = Σ log( sinh(c_j a_j) / (c_j a_j) )",
            "τ_j(a) = c_j ( coth(c_j a_j) - 1/(c_j a_j) )",
            "C(a)   = diag( c_j² (1/x_j² - 1/sinh² x_j) ),   x_j = c_j a_j,   c_j²/3 at 0",
        ),
        (
            r"\Lambda(a) &= \sum_j \log \frac{\sinh(c_j a_j)}{c_j a_j}",
            r"\tau_j(a) &= c_j \left( \coth(c_j a_j) - \frac{1}{c_j a_j} \right)",
            r"C_{jj}(a) &= c_j^2 \left( \frac{1}{x_j^2} - \frac{1}{\sinh^2 x_j} \right), \qquad x_j = c_j a_j",
        ),
        tilted_means.check_box,
    ),
    Step(
        "Tokens drawn from finitely many atoms",
        "Sums over the atoms, in dimension 1 to 4 and with up to 5 atoms.",
        (
            "Λ(a) = log Σ w_k e^⟨a,y_k⟩",
            "τ(a) = Σ w_k e^⟨a,y_k⟩ y_k / Σ w_k e^⟨a,y_k⟩",
        ),
        (
            r"\Lambda(a) &= \log \sum_k w_k e^{\langle a, y_k \rangle}",
            r"\tau(a) &= \frac{\sum_k w_k e^{\langle a, y_k \rangle} y_k}{\sum_k w_k e^{\langle a, y_k \rangle}}",
        ),
        tilted_means.check_atoms,
    ),
    Step(
        "Mixtures of laws",
        "Total expectation over the components, for components of which only the log-MGF has a name; then for a "
        "singular Gaussian, a point and signs mixed. The kernel divides all shares by that of the first component.",
        (
            "Λ(a) = log Σ π_r e^(Λ_r(a))",
            "τ(a) = Σ ρ_r τ_r(a),   ρ_r = π_r e^(Λ_r(a) - Λ_1(a)) / Σ π_l e^(Λ_l(a) - Λ_1(a))",
            "C(a) = Σ ρ_r (C_r + τ_r τ_r') - τ τ'",
        ),
        (
            r"\Lambda(a) &= \log \sum_r \pi_r e^{\Lambda_r(a)}",
            r"\tau(a) &= \sum_r \rho_r \tau_r(a), \qquad "
            r"\rho_r = \frac{\pi_r e^{\Lambda_r(a) - \Lambda_1(a)}}{\sum_l \pi_l e^{\Lambda_l(a) - \Lambda_1(a)}}",
            r"C(a) &= \sum_r \rho_r (C_r + \tau_r \tau_r^\top) - \tau \tau^\top",
        ),
        tilted_means.check_mixture,
    ),
)

_OPERATORS = (
    Step(
        "Gaussian tokens: attention is an affine map",
        "The tilted mean of a Gaussian is affine, so attention is, whatever the rank of `Gamma` (Lemma 2.1). Checked "
        "in symbolic dimension, and entry by entry for the matrix and offset that the kernel compares certificates "
        "with, where the scale is rational and where it is a square root.",
        ("T[μ](z) = V m + s V Γ K'Q z",),
        (r"T[\mu](z) &= V m + s V \Gamma K^\top Q z",),
        operators.check_gaussian_operator,
    ),
    Step(
        "The law of the queries is pushed forward",
        "With `z = m_z + R h`, `h` standard normal and `S = R R'`, the MGF of `T(z)` is that of a Gaussian. An "
        "irrational scale leaves the stated mean rational only where the linear part of it vanishes.",
        (
            "E e^⟨b, T(z)⟩ = e^⟨b, Vm⟩ E e^⟨A'b, z⟩,   A = s V Γ U",
            "T(z) ~ N( V m + s V Γ U m_z,  s² V Γ U S U'Γ V' )   for   z ~ N(m_z, S)",
        ),
        (
            r"\mathbb E\, e^{\langle b, T(z) \rangle} &= e^{\langle b, V m \rangle}\, "
            r"\mathbb E\, e^{\langle A^\top b, z \rangle}, \qquad A = s V \Gamma U",
            r"T(z) &\sim \mathcal N(V m + s V \Gamma U m_z,\ s^2 V \Gamma U S U^\top \Gamma V^\top) "
            r"\quad \text{for } z \sim \mathcal N(m_z, S)",
        ),
        operators.check_pushforward,
    ),
    Step(
        "Keys and values that are jointly Gaussian",
        "A token is then key and value side by side. `U` embeds the query where the key stands and `V` reads the "
        "value, so the block of `Gamma` that remains is `Cov(v, k)`.",
        ("T(q) = v̄ + s Cov(v, k) q",),
        (r"T(q) &= \bar v + s\, \operatorname{Cov}(v, k)\, q",),
        operators.check_keys_and_values,
    ),
    Step(
        "A finite prompt is a law",
        "Softmax attention over `L` pairs of keys and values is attention of the law that gives each pair the "
        "probability `1/L`. Checked for up to 4 tokens.",
        ("T[μ_L](q) = Σ v_i e^(s ⟨q,k_i⟩) / Σ e^(s ⟨q,k_i⟩),   μ_L = (1/L) Σ δ_(k_i, v_i)",),
        (
            r"T[\mu_L](q) &= \frac{\sum_i v_i e^{s \langle q, k_i \rangle}}{\sum_i e^{s \langle q, k_i \rangle}}, "
            r"\qquad \mu_L = \frac{1}{L} \sum_i \delta_{(k_i, v_i)}",
        ),
        operators.check_empirical,
    ),
    Step(
        "Gradients at infinite prompt",
        "Attention is linear in `V`; in `U` the chain rule brings the tilted covariance. Checked for an unspecified "
        "density, and for the kernel's operator of Gaussian tokens, where `C = Gamma`.",
        (
            "∂T/∂V [H] = H τ(s U z)",
            "∂T/∂U [H] = s V C(s U z) H z",
        ),
        (
            r"\frac{\partial T}{\partial V}[H] &= H \tau(s U z)",
            r"\frac{\partial T}{\partial U}[H] &= s V C(s U z) H z",
        ),
        operators.check_gradients,
    ),
    Step(
        "Other laws that make attention affine",
        "The kernel calls an operator affine in four more cases: independent coordinates that are each constant, not "
        "scored or not read; atoms that the queries, or the values, cannot tell apart; Gaussians mixed whose means "
        "and covariances agree where queries look; a mixture of one law. In each `V tau` is that affine map, and "
        "without the condition the kernel claims none.",
        (
            "signs, boxes:       T(z) = 0",
            "atoms:              T(z) = Σ w_k V y_k",
            "mixed Gaussians:    T(z) = Σ π_r (V m_r + s V Γ_r U z)   where  U'm_r = U'm_1,  U'Γ_r U = U'Γ_1 U",
        ),
        (
            r"T(z) &= 0 && \text{(signs, boxes)}",
            r"T(z) &= \sum_k w_k V y_k && \text{(atoms)}",
            r"T(z) &= \sum_r \pi_r (V m_r + s V \Gamma_r U z) && \text{(Gaussians with } "
            r"U^\top m_r = U^\top m_1,\ U^\top \Gamma_r U = U^\top \Gamma_1 U \text{)}",
        ),
        affine_laws.check_affine_laws,
    ),
    Step(
        "A law that does not: one sign",
        "An affine map with `T(0) = 0` has `T(2 z) = 2 T(z)`. For a single sign the two differ at every `z > 0`; for a "
        "Gaussian they do not.",
        (
            "T(z) = c v tanh(c s u z)",
            "2 T(z) - T(2z) = 2 c v t³ / (1 + t²) > 0,   t = tanh(c s u z),   z > 0",
        ),
        (
            r"T(z) &= c v \tanh(c s u z)",
            r"2 T(z) - T(2 z) &= \frac{2 c v t^3}{1 + t^2} > 0, \qquad t = \tanh(c s u z),\ z > 0",
        ),
        affine_laws.check_not_linear,
    ),
)

DERIVATION = Derivation(
    name="infinite-prompt-operator",
    title="The operator that attention becomes when the prompt is a law of tokens",
    source="Boursier and Boyer 2026, arXiv 2512.11784, Lemma 2.1",
    steps=_LAWS + _OPERATORS,
)
