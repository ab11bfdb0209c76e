"""Derivation of the formulas of the claim `proposition-3-4`, beyond those that it shares with `proposition-3-1`.

Boursier and Boyer 2026 (arXiv 2512.11784), proposition 3.4, with constants. The checks stand in `covariance_error`,
`proposition_errors` and `token_boxes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from certattn.theory.derivation import Derivation, Step
from certattn.theory.exactness import Check
from certattn.theory.kernel_reading import Kernel
from certattn.theory.prompts import covariance_error, proposition_errors, token_boxes
from certattn.theory.prompts.proposition_3_1 import AVERAGES, BOXES, INSTANCES, LENGTHS


def _check_covariance(kernel: Kernel) -> Iterator[Check]:
    yield from covariance_error.check_formula(kernel)
    yield from covariance_error.check_bounds(kernel)


def _check_query(kernel: Kernel) -> Iterator[Check]:
    yield from proposition_errors.check_gradient(kernel)
    yield from proposition_errors.check_mixed(kernel)


DERIVATION = Derivation(
    name="proposition-3-4",
    title="The errors of the gradients of attention over a prompt, for every length, with constants",
    source="Boursier and Boyer 2026, arXiv 2512.11784, proposition 3.4",
    steps=(
        Step(
            "How the gradients' differences are measured",
            "The gradient in V takes H to H tau, the one in U takes H to s V C H z. The operator norm of the first "
            "difference is the length of a vector; the Hilbert-Schmidt norm of the second a product.",
            ("|H -> s V E H z|_HS = s |V E|_F |z|",),
            (r"\| H \mapsto s V E H z \|_{HS} &= s\, |V E|_F\, |z|",),
            covariance_error.check_gradient,
        ),
        INSTANCES,
        Step(
            "The softmax covariance of Gaussian tokens",
            "Its mean square error is a combination of means of power sums of the weights, by Stein's identity; every "
            "one is bounded by q times a constant.",
            (
                "E |V(C_L - Γ)|_F² <= q (|VΓ|_F² + tr(VΓV') tr Γ + |Vb|² tr Γ + |b|² tr(VΓV')",
                "                        + 5/2 |<Vb, VΓb>| + 13 |Vb|² |b|²)",
            ),
            (
                r"\mathbb E |V(\hat C - \Gamma)|_F^2 &\le q\, \Big( |V\Gamma|_F^2 + \operatorname{tr} V \Gamma V^\top "
                r"\operatorname{tr} \Gamma + |Vb|^2 \operatorname{tr} \Gamma + |b|^2 \operatorname{tr} V \Gamma V^\top "
                r"+ \tfrac52 |\langle Vb, V\Gamma b\rangle| + 13 |Vb|^2 |b|^2 \Big)",
            ),
            _check_covariance,
        ),
        Step(
            "What is averaged",
            "At b = s Gamma U z these are forms in the query. The mixed one is replaced by a form that is never below "
            "its absolute value.",
            ("|<Vb, VΓb>| <= (tr Γ |Vb|² + |VΓb|² / tr Γ) / 2",),
            (
                r"|\langle Vb, V\Gamma b\rangle| &\le \tfrac12 \big( \operatorname{tr}\Gamma\, |Vb|^2 + "
                r"|V\Gamma b|^2 / \operatorname{tr}\Gamma \big)",
            ),
            _check_query,
        ),
        AVERAGES,
        LENGTHS,
        BOXES,
        Step(
            "The softmax covariance of tokens on a box",
            "S is a mean of centred terms over the prompt, d the error of the mean; squares of sums are at most twice "
            "the sums of squares.",
            (
                "C_L - C = S/Z - dd'",
                "E |V(C_L - C)|_F² <= R_2 (6 Y² m + 4 c²) / (L (1-t)²) + 2 (h² + c²) e^(-L t²/(2 R_2))",
            ),
            (
                r"\hat C - C &= S/Z - d d^\top",
                r"\mathbb E |V(\hat C - C)|_F^2 &\le \frac{R_2 (6 Y^2 m + 4 c^2)}{L (1-t)^2} + "
                r"2 (h^2 + c^2) e^{-L t^2/(2 R_2)}",
            ),
            token_boxes.check_box_bounds,
        ),
    ),
)
