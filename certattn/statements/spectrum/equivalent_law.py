"""`equivalent-law` in words."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.document.schema import Field, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.equivalent_law import (
    AT,
    CDF,
    DENSITY,
    DENSITY_BOUND,
    GAP,
    IM,
    LOWER,
    MOMENTS,
    NONE,
    NONLINEAR_SHARE,
    OPEN,
    ORDER,
    OUTER_MASS,
    RADIUS,
    RE,
    RIGHT_EDGE,
    SHARE,
    SHARE_REACHED,
    STIELTJES,
    THRESHOLD,
    UPPER,
    UPPER_IM,
    VALUE,
    G,
    StatedOfLaw,
    Z,
    has_no_gap_by_lambda,
)
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.statements.spectrum.limit_law import law_words, listed, up_to
from certattn.statements.wording import Statement, Wording

_NEAR = {
    "right_edge": "right edge",
    "threshold": "beta_c",
    "density": "density",
    "cdf": "mu([0, x])",
    "density_bound": "density at 0",
    "nonlinear_share": "alpha^2/(alpha^2 + beta^2)",
    "share_reached": "beta",
    "gap.lower": "lower end of the gap",
    "gap.upper": "upper end of the gap",
}
_SENTENCES = {
    "threshold.lambda": "lambda < 1 (otherwise no beta has a gap)",
    "gap.lambda": "lambda < 1 (otherwise no beta has a gap)",
    "gap.discriminant": "the discriminant of h (there is a gap exactly where it is positive)",
    "gap.outer_mass": "the mass above the gap is lambda",
    "stieltjes": "|G(z) - value| <= radius",
    **{name: f"|{what} - value| <= radius" for name, what in _NEAR.items()},
}


def statement(stated: StatedOfLaw) -> Statement:
    law, asserts = stated.law, stated.asserts
    words = [f"For {law_words(law)}:"]
    words += listed([f"m_{m[ORDER]} = {_up_to(m)}" for m in asserts.items(MOMENTS)], "moments")
    words += _one("the right edge of the support is", RIGHT_EDGE, asserts)
    words += _gap_words(law, asserts)
    beta = f"beta_c({describe(law.lambda_)}) ="
    words += _one(beta, THRESHOLD, asserts, ", and softmax has a gap exactly for beta below it")
    words += listed([_transform_words(item) for item in asserts.items(STIELTJES)], "values of G")
    densities = [f"the density of mu at {describe(p[AT])} is {_up_to(p)}" for p in asserts.items(DENSITY)]
    words += listed(densities, "densities")
    values = [f"mu([0, {describe(p[AT])}]) = {_up_to(p)}" for p in asserts.items(CDF)]
    words += listed(values, "values of mu([0, x])")
    words += _one("the largest density, at 0, is", DENSITY_BOUND, asserts)
    words += _one("alpha^2/(alpha^2 + beta^2) =", NONLINEAR_SHARE, asserts)
    shares = [
        f"alpha^2/(alpha^2 + beta^2) = {describe(s[SHARE])} for softmax at beta = {_up_to(s)}"
        for s in asserts.items(SHARE_REACHED)
    ]
    head, *rest = [*words, *listed(shares, "values of beta")]
    return Statement(f"{head} {'; '.join(rest)}.", r",\qquad ".join(_latex(asserts)))


def _gap_words(law: SpectralLaw, asserts: Values) -> list[str]:
    if GAP not in asserts:
        return []
    kind, gap = asserts[GAP]
    if kind == NONE:
        return ["its support is an interval"]
    words = (
        f"its support has a gap, from {describe(gap[LOWER])} to {describe(gap[UPPER])} up to {describe(gap[RADIUS])} "
        f"at each end, with the mass {describe(law.lambda_)} above it"
    )
    if OUTER_MASS in gap and gap[OUTER_MASS] != law.lambda_:
        words += f", stated as {describe(gap[OUTER_MASS])}"
    return [words]


def _transform_words(stated: Values) -> str:
    z, value = _complex(stated[Z][RE], stated[Z][UPPER_IM]), _complex(stated[G][RE], stated[G][IM])
    return f"G({z}) = {value}{up_to(stated[RADIUS])}"


def _complex(re: fmpq, im: fmpq) -> str:
    return f"{describe(re)} {'-' if im < 0 else '+'} {describe(abs(im))} i"


def _one(words: str, field: Field[Values], asserts: Values, rest: str = "") -> list[str]:
    return [f"{words} {_up_to(asserts[field])}{rest}"] if field in asserts else []


def _up_to(stated: Values) -> str:
    return f"{describe(stated[VALUE])}{up_to(stated[RADIUS])}"


def _latex(asserts: Values) -> list[str]:
    latex = [r"K(w) = \frac1w + \alpha^2 w + \frac{\beta^2 w}{1 - \beta^2 w^2/\lambda}, \qquad K(G(z)) = z"]
    gap = asserts[GAP][0] if GAP in asserts else None
    pieces = (
        (MOMENTS in asserts, r"\int x^{2n}\, d\mu = \tfrac1{2n+1} [w^{2n}] (w K(w))^{2n+1}"),
        (RIGHT_EDGE in asserts, r"\max \operatorname{supp} \mu = x_r"),
        (gap == OPEN, r"\mu((x_1, x_2)) = 0, \quad \mu((x_2, \infty)) = \lambda"),
        (gap == NONE, r"\operatorname{supp} \mu = [0, x_r]"),
        (THRESHOLD in asserts, r"(e^{\beta_c^2} - 1 - \beta_c^2)/\beta_c^2 = \rho_c(\lambda)"),
        (STIELTJES in asserts, r"G(z_i) = g_i"),
        (DENSITY in asserts, r"f_\mu(x_i) = -\tfrac2\pi \operatorname{Im} G(x_i + i0)"),
        (CDF in asserts, r"1 - \mu([0, x_i]) = \tfrac2\pi \operatorname{Im} \Phi(G(x_i + i0))"),
        (DENSITY_BOUND in asserts, r"\max f_\mu = f_\mu(0) = \tfrac2\pi \sqrt{u_0}"),
        (NONLINEAR_SHARE in asserts, r"\alpha^2/(\alpha^2 + \beta^2) = r"),
        (SHARE_REACHED in asserts, r"1 - \beta_i^2/(e^{\beta_i^2} - 1) = r_i"),
    )
    return latex + [formula for stated, formula in pieces if stated]


def sentence(stated: StatedOfLaw, name: str) -> str:
    what, _, index = name.rstrip("]").partition("[")
    if what == MOMENTS.name:
        return f"|m_{stated.asserts[MOMENTS][int(index)][ORDER]} - value| <= radius"
    if what == "gap.none":
        if has_no_gap_by_lambda(stated.law):
            return "lambda >= 1, so that there is no gap"
        return "the discriminant of h (there is a gap exactly where it is positive)"
    return _SENTENCES[what]


WORDING = Wording[StatedOfLaw](statement, sentence)
