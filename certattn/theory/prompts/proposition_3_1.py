"""Derivation of the formulas of the claim `proposition-3-1`.

Boursier and Boyer 2026 (arXiv 2512.11784), proposition 3.1, with constants. The checks stand in `gaussian_queries`,
`collision_probability` and `token_boxes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from certattn.theory import gaussian_queries
from certattn.theory.derivation import Derivation, Step
from certattn.theory.exactness import Check
from certattn.theory.kernel_reading import Kernel
from certattn.theory.prompts import collision_probability, proposition_errors, token_boxes


def _check_instances(kernel: Kernel) -> Iterator[Check]:
    yield from gaussian_queries.check_one_token(kernel)
    yield from gaussian_queries.check_equal_weights(kernel)


def _check_averages(kernel: Kernel) -> Iterator[Check]:
    yield from gaussian_queries.check_weighted(kernel)
    yield from gaussian_queries.check_products(kernel)


def _check_boxes(kernel: Kernel) -> Iterator[Check]:
    yield from token_boxes.check_box_moments(kernel)
    yield from token_boxes.check_drift(kernel)


def _check_box_bounds(kernel: Kernel) -> Iterator[Check]:
    yield from token_boxes.check_normaliser(kernel)
    yield from token_boxes.check_box_bounds(kernel)


INSTANCES = Step(
    "Instances whose left side is exact",
    "One token has weight 1: the softmax mean is that token, and the softmax covariance is 0. With U = 0 every weight "
    "is 1/L. For Gaussian tokens and queries the mean squares are then polynomials in normal variables. Checked in "
    "dimension 1 and 2 against the kernel's left sides, for the output and for the gradient in U.",
    (
        "E |V(x - τ)|² = tr(VΓV') + s² E |VΓUz|²            L = 1",
        "E |V τ_L|²    = tr(VCV') / L                        U = 0",
    ),
    (
        r"\mathbb E |V(x - \tau)|^2 &= \operatorname{tr} V \Gamma V^\top + s^2\, \mathbb E |V \Gamma U z|^2, "
        r"\qquad L = 1",
        r"\mathbb E |V \hat\tau|^2 &= \operatorname{tr}(V C V^\top) / L, \qquad U = 0",
    ),
    _check_instances,
)
LENGTHS = Step(
    "The first length is the worst",
    "Over the display, `(L - 1)^{-theta}` decreases from L = 2 on if `theta >= rho`; so does 1/L if `rho <= 1`, and "
    "`e^{-kappa L}` where `kappa L >= rho`. The logarithmic derivatives are sums of negative terms.",
    (
        "d/dL ln[(L-1)^-θ L^ρ / ln L] = ρ/L - θ/(L-1) - 1/(L ln L) < 0",
        "d/dL ln[e^(-κL) L^ρ / ln L]  = ρ/L - κ - 1/(L ln L) < 0",
    ),
    (
        r"\frac{d}{dL} \ln \frac{(L-1)^{-\theta} L^\rho}{\ln L} &= "
        r"\frac{\rho}{L} - \frac{\theta}{L-1} - \frac{1}{L \ln L} < 0",
        r"\frac{d}{dL} \ln \frac{e^{-\kappa L} L^\rho}{\ln L} &= \frac{\rho}{L} - \kappa - \frac{1}{L \ln L} < 0",
    ),
    gaussian_queries.check_lengths,
)
AVERAGES = Step(
    "Averages over Gaussian queries",
    "A Gaussian weighted by the exponential of a quadratic form is a Gaussian again, by completing the square. Means "
    "of products of forms are sums over blocks and orders. Checked for covariances of every rank in dimension 1 and "
    "2, up to four forms.",
    (
        "E[e^(r z'Wz) f(z)] = det(N)^(-1/2) E f(y),   y ~ N(0, S N^-1),   N = I - 2 r W S",
        "E y'Ay y'By        = tr(AS) tr(BS) + 2 tr(ASBS)",
    ),
    (
        r"\mathbb E[e^{r z^\top W z} f(z)] &= \det(N)^{-1/2}\, \mathbb E f(y), \quad y \sim \mathcal N(0, S N^{-1}), "
        r"\quad N = I - 2 r W S",
        r"\mathbb E[y^\top A y \; y^\top B y] &= \operatorname{tr} AS \operatorname{tr} BS + "
        r"2 \operatorname{tr} ASBS",
    ),
    _check_averages,
)
BOXES = Step(
    "A token on a box under a tilt",
    "For one coordinate of half-width 1 and score `y > 0`, from the MGF sinh(y)/y. The drift is below y/3 and below "
    "1/4: the series of `6x - (6 - x^2) sinh x` and of `4x - (4 - x) sinh x` have one sign, the second after its even "
    "terms are shared between their neighbours.",
    (
        "R_2 = y coth y,   L(2y) - L(y) = 1/(2y) - 1/sinh(2y) =: δ,   E_2a (x - τ)² = δ / y",
        "δ <= y/3,   δ <= 1/4",
    ),
    (
        r"R_2 &= y \coth y, \quad L(2y) - L(y) = \frac{1}{2y} - \frac{1}{\sinh 2y} =: \delta, \quad "
        r"\mathbb E_{2a} (x - \tau)^2 = \frac{\delta}{y}",
        r"\delta &\le y/3, \qquad \delta \le 1/4",
    ),
    _check_boxes,
)

DERIVATION = Derivation(
    name="proposition-3-1",
    title="The error of attention over a prompt, for every length, with constants",
    source="Boursier and Boyer 2026, arXiv 2512.11784, proposition 3.1",
    steps=(
        INSTANCES,
        Step(
            "The mean square error of Gaussian tokens",
            "The weights depend on the scores alone, so the error splits into the part along the scores and the "
            "others. Stein's identity gives the mean square of the first; with `kappa = E[P_3 - P_2^2] >= 0` it is "
            "at most `q (1 + s^2)`.",
            (
                "E (Σ p_i u_i - s)² = q (1 + s²) - 6 s² κ",
                "E |V(τ_L - τ)|²    <= q (tr(VΓV') + |VΓa|²)",
            ),
            (
                r"\mathbb E \Big( \sum_i p_i u_i - s \Big)^2 &= q (1 + s^2) - 6 s^2 \kappa",
                r"\mathbb E |V(\hat\tau - \tau)|^2 &\le q\, (\operatorname{tr} V \Gamma V^\top + |V \Gamma a|^2)",
            ),
            collision_probability.check_mean_square,
        ),
        Step(
            "The collision probability is below a logistic function",
            "In `v = s^2` it grows by at most `q - q^2`, by Stein's identity, `P_2^2 <= P_3` and `E P_2^2 >= q^2`. It "
            "begins at 1/L, so it stays below the logistic function that does.",
            ("dq/dv = E[P_2 - 4P_3 + 3P_2²] <= q - q²,   q <= e^v / (e^v + L - 1)",),
            (r"\frac{dq}{dv} &= \mathbb E[P_2 - 4 P_3 + 3 P_2^2] \le q - q^2, \qquad q \le \frac{e^v}{e^v + L - 1}",),
            collision_probability.check_logistic_growth,
        ),
        Step(
            "From the logistic function to a power",
            "`x/(1+x)` over `x^theta` is largest at `x = theta/(1 - theta)`. With `x = e^{s^2}/(L - 1)` the length "
            "comes out of the average over queries.",
            ("x/(1+x) <= θ^θ (1-θ)^(1-θ) x^θ",),
            (r"\frac{x}{1+x} &\le \theta^\theta (1 - \theta)^{1 - \theta} x^\theta",),
            gaussian_queries.check_logistic,
        ),
        AVERAGES,
        Step(
            "What is averaged",
            "The function of the query that multiplies q, as the kernel puts it together.",
            ("f(z) = tr(VΓV') + s² |VΓUz|²",),
            (r"f(z) &= \operatorname{tr} V \Gamma V^\top + s^2 |V \Gamma U z|^2",),
            proposition_errors.check_output,
        ),
        LENGTHS,
        BOXES,
        Step(
            "The bound for every query of a box",
            "The normaliser is rarely small, as `e^{-x} <= 1 - x + x^2/2` for `x >= 0`. The kernel adds up the "
            "coordinates, each at its largest score.",
            (
                "(e^(λ(1-t)) (1 - λ + λ² R_2/2))^L <= e^(-L t²/(2 R_2)) at λ = t/R_2",
                "E |V(τ_L - τ)|² <= R_2 m / (L (1-t)²) + reach² e^(-L t²/(2 R_2))",
            ),
            (
                r"\big(e^{\lambda(1-t)} (1 - \lambda + \lambda^2 R_2/2)\big)^L &\le e^{-L t^2/(2 R_2)}, "
                r"\qquad \lambda = t/R_2",
                r"\mathbb E |V(\hat\tau - \tau)|^2 &\le \frac{R_2 m}{L (1-t)^2} + D^2 e^{-L t^2/(2 R_2)}",
            ),
            _check_box_bounds,
        ),
    ),
)
