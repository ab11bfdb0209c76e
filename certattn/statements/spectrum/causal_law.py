"""`causal-law` in words."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.causal_law import (
    ETA,
    MOMENTS,
    ORDER,
    RADIUS,
    TRANSFORM,
    VALUE,
    StatedOfLaw,
)
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.statements.spectrum.limit_law import listed, up_to
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    "turn": "u < 1",
    "level": "k > alpha^2",
    "cubic": "R > 0 on [u, 1]",
    "transform": "a bound of |s(eta) - value| <= radius",
}


def statement(stated: StatedOfLaw) -> Statement:
    moments = [f"m_{item[ORDER]} = {_value(item)}" for item in stated.asserts.items(MOMENTS)]
    values = [f"s({describe(item[ETA])}) = {_value(item)}" for item in stated.asserts.items(TRANSFORM)]
    words = "; ".join([*listed(moments, "moments"), *listed(values, "values of s")])
    latex = (
        r"s(\eta) = \int \frac{\mu(dx)}{x^2 + \eta} = \int_0^1 \frac{dx}{\theta(x)}, \qquad \tfrac1n = 1 + \alpha^2 "
        r"\int_y^1 \tfrac1\theta + \beta^2 g, \quad \theta = \eta + \alpha^2 \int_0^x n + \beta^2 h"
    )
    latex += r", \qquad \int x^{2n}\, d\mu = m_{2n}" if moments else ""
    latex += r", \qquad s(\eta_i) = s_i" if values else ""
    return Statement(f"For {_law(stated.law)}: {words}.", latex)


def _law(law: SpectralLaw) -> str:
    """The law, every number in it; of softmax where beta is given, as another alpha^2 is not its own."""
    size = f"lambda = d_qk/d = {describe(law.lambda_)}"
    if law.beta is not None:
        whose = "softmax attention under a causal mask"
        numbers = f"beta = {describe(law.beta)}, {size}, alpha^2 = e^(beta^2) - 1 - beta^2"
        matrix = "(i A_ij - 1)/sqrt(d), j <= i"
    else:
        assert law.alpha2 is not None
        whose = "the linear model under a causal mask"
        numbers = f"alpha^2 = {describe(law.alpha2)}, beta^2 = {describe(law.beta2)}, {size}"
        matrix = "(alpha Z_ij + beta S_ij)/sqrt(d), j <= i, Z and S = QK'/sqrt(d_qk) with Z, Q and K standard normal"
    return (
        f"the law mu of {whose} at {numbers}, the limit law of the singular values of the matrix {matrix}, with "
        "m_2n = int x^2n mu(dx) and s(eta) = int mu(dx)/(x^2 + eta)"
    )


def _value(stated: Values) -> str:
    return f"{describe(stated[VALUE])}{up_to(stated[RADIUS])}"


def sentence(stated: StatedOfLaw, name: str) -> str:
    what, _, index = name.rstrip("]").partition("[")
    if what == MOMENTS.name:
        return f"|m_{stated.asserts[MOMENTS][int(index)][ORDER]} - value| <= radius"
    return _SENTENCES[what]


WORDING = Wording[StatedOfLaw](statement, sentence)
