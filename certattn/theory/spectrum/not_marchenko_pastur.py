"""Derivation of the formulas of the claim `not-marchenko-pastur`; the checks stand in `spectral_distances`."""

from __future__ import annotations

from certattn.theory.derivation import Derivation, Step
from certattn.theory.spectrum import spectral_distances

_STEPS = (
    Step(
        "Fourth moments beside a quarter circle",
        "Every quarter circle has `m_4 = 2 m_2^2`, and the limit law has more. Divided by `m_2^2` that does not "
        "depend on the scale.",
        ("m_4 - 2 m_2^2 = beta^4/lambda", "m_4/m_2^2 - 2 = (1 - r)^2/lambda,   r = alpha^2/(alpha^2 + beta^2)"),
        (
            r"m_4 - 2 m_2^2 &= \beta^4/\lambda",
            r"m_4/m_2^2 - 2 &= (1 - r)^2/\lambda, \qquad r = \alpha^2/(\alpha^2 + \beta^2)",
        ),
        spectral_distances.check_fourth,
    ),
    Step(
        "Cells of two tails",
        "Both tails fall, so that their difference on a cell is at most that of the first at its beginning and of the "
        "second at its end.",
        ("T(x) - S(x) <= T(a) - S(b)   for a <= x <= b",),
        (r"T(x) - S(x) &\le T(a) - S(b) \qquad (a \le x \le b)",),
        spectral_distances.check_cells,
    ),
)

DERIVATION = Derivation(
    name="not-marchenko-pastur",
    title="The limit law of attention beside quarter circles",
    source="Hayase, Collins and Karakida 2026, Gaussian Equivalence for Self-Attention",
    steps=_STEPS,
)
