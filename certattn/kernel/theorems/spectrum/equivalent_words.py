"""What `equivalent-law` states, in words and as formulas."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.equivalent_assertions import (
    NONE,
    Problem,
    Stated,
    StatedAt,
    StatedGap,
    StatedTransform,
)


def definition(alpha2: str = "alpha^2", beta2: str = "beta^2") -> str:
    """What follows the numbers of a law, by what two of them are called."""
    return (
        "which is that of |x| for x of the symmetric law whose Stieltjes transform G has the inverse "
        f"K(w) = 1/w + {alpha2} w + {beta2} w/(1 - {beta2} w^2/lambda)"
    )


DEFINITION = definition()
_SHOWN = 6


def words_of(problem: Problem) -> list[str]:
    """How the statement begins, then a piece for each assertion."""
    words = [_law_words(problem)]
    words += _listed([f"m_{_index(m)} = {_up_to(m)}" for m in problem.moments], "moments")
    words += _one("the right edge of the support is", problem.right_edge)
    words += _gap_words(problem)
    words += _one(
        f"beta_c({describe(problem.lambda_)}) =", problem.threshold, ", and softmax has a gap exactly for beta below it"
    )
    words += _listed([_transform_words(item) for item in problem.stieltjes], "values of G")
    words += _listed([f"the density of mu at {describe(p.at)} is {_up_to(p)}" for p in problem.density], "densities")
    words += _listed([f"mu([0, {describe(p.at)}]) = {_up_to(p)}" for p in problem.cdf], "values of mu([0, x])")
    words += _one("the largest density, that at 0, is", problem.density_bound)
    words += _one("alpha^2/(alpha^2 + beta^2) =", problem.nonlinear_share)
    shares = [
        f"alpha^2/(alpha^2 + beta^2) = {describe(s.at)} for softmax at beta = {_up_to(s)}"
        for s in problem.share_reached
    ]
    return words + _listed(shares, "values of beta")


def _law_words(problem: Problem) -> str:
    if problem.beta is not None:
        law = f"the law mu of softmax attention at beta = {describe(problem.beta)}, lambda = d_qk/d = "
        numbers = f"{describe(problem.lambda_)}, alpha^2 = e^(beta^2) - 1 - beta^2"
    else:
        law = f"the law mu of alpha^2 = {describe(problem.alpha2 or fmpq(0))}, beta^2 = {describe(problem.beta2)}, "
        numbers = f"lambda = {describe(problem.lambda_)}"
    return f"Of {law}{numbers}, {DEFINITION}:"


def _gap_words(problem: Problem) -> list[str]:
    gap, lambda_ = problem.gap, describe(problem.lambda_)
    if gap is None:
        return []
    if not isinstance(gap, StatedGap):
        return ["its support is an interval"]
    words = (
        f"its support has a gap, from {describe(gap.lower)} to {describe(gap.upper)} up to {describe(gap.radius)} at "
        f"each end, with the mass {lambda_} above it"
    )
    if gap.outer_mass is not None and gap.outer_mass != problem.lambda_:
        words += f", stated as {describe(gap.outer_mass)}"
    return [words]


def _transform_words(stated: StatedTransform) -> str:
    z, value = _complex(stated.z), _complex(stated.value)
    return f"G({z}) = {value}{_radius(stated.radius)}"


def _complex(parts: tuple[fmpq, fmpq]) -> str:
    re, im = parts
    sign = "-" if im < 0 else "+"
    return f"{describe(re)} {sign} {describe(abs(im))} i"


def _one(words: str, stated: Stated | None, rest: str = "") -> list[str]:
    return [] if stated is None else [f"{words} {_up_to(stated)}{rest}"]


def _listed(pieces: Sequence[str], what: str) -> list[str]:
    more = [f"{len(pieces) - _SHOWN} more {what} are as stated"] if len(pieces) > _SHOWN else []
    return [*pieces[:_SHOWN], *more]


def _up_to(stated: Stated | StatedAt) -> str:
    return f"{describe(stated.value)}{_radius(stated.radius)}"


def _radius(radius: fmpq) -> str:
    return "" if radius == 0 else f" up to {describe(radius)}"


def _index(moment: StatedAt) -> str:
    return describe(moment.at)


def latex_of(problem: Problem) -> list[str]:
    latex = [r"K(w) = \frac1w + \alpha^2 w + \frac{\beta^2 w}{1 - \beta^2 w^2/\lambda}, \qquad K(G(z)) = z"]
    pieces = (
        (problem.moments, r"\int x^{2n}\, d\mu = \tfrac1{2n+1} [w^{2n}] (w K(w))^{2n+1}"),
        (problem.right_edge is not None, r"\max \operatorname{supp} \mu = x_r"),
        (isinstance(problem.gap, StatedGap), r"\mu((x_1, x_2)) = 0, \quad \mu((x_2, \infty)) = \lambda"),
        (problem.gap == NONE, r"\operatorname{supp} \mu = [0, x_r]"),
        (problem.threshold is not None, r"(e^{\beta_c^2} - 1 - \beta_c^2)/\beta_c^2 = \rho_c(\lambda)"),
        (problem.stieltjes, r"G(z_i) = g_i"),
        (problem.density, r"f_\mu(x_i) = -\tfrac2\pi \operatorname{Im} G(x_i + i0)"),
        (problem.cdf, r"1 - \mu([0, x_i]) = \tfrac2\pi \operatorname{Im} \Phi(G(x_i + i0))"),
        (problem.density_bound is not None, r"\max f_\mu = f_\mu(0) = \tfrac2\pi \sqrt{u_0}"),
        (problem.nonlinear_share is not None, r"\alpha^2/(\alpha^2 + \beta^2) = r"),
        (problem.share_reached, r"1 - \beta_i^2/(e^{\beta_i^2} - 1) = r_i"),
    )
    return latex + [formula for stated, formula in pieces if stated]
