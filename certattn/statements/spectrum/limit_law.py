"""The limit law mu in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.statements.wording import cut

_SHOWN = 6


def listed(pieces: Sequence[str], what: str) -> list[str]:
    """Pieces of a statement, of many the first."""
    return cut(pieces, _SHOWN, f"{{}} more {what} are as stated")


def up_to(radius: fmpq) -> str:
    """What follows a number: nothing where it is exact."""
    return "" if radius == 0 else f" up to {describe(radius)}"


def definition(alpha2: str = "alpha^2", beta2: str = "beta^2") -> str:
    """What follows the numbers of a law, by what two of them are called."""
    return (
        "which is the law of |x| for x from the symmetric law whose Stieltjes transform G has the inverse "
        f"K(w) = 1/w + {alpha2} w + {beta2} w/(1 - {beta2} w^2/lambda)"
    )


DEFINITION = definition()


def law_words(law: SpectralLaw) -> str:
    """Which law it is, every number in it."""
    if law.alpha2 is not None:
        numbers = f"alpha^2 = {describe(law.alpha2)}, beta^2 = {describe(law.beta2)}, "
        return f"the law mu of {numbers}lambda = {describe(law.lambda_)}, {DEFINITION}"
    beta = f"beta^2 = {describe(law.beta2)}" if law.beta is None else f"beta = {describe(law.beta)}"
    size = f"lambda = d_qk/d = {describe(law.lambda_)}"
    source = ""
    if law.unit is not None:
        source = f" (those of queries and keys whose entries have the standard deviation {describe(law.unit)})"
    head = f"the law mu of softmax attention at {beta}, {size}{source}"
    if law.tau is None:
        return f"{head}, alpha^2 = e^(beta^2) - 1 - beta^2, {DEFINITION}"
    return (
        f"{head}, truncated at tau = {describe(law.tau)}: with f = min(e^(beta g - beta^2/2), tau), g a standard "
        "normal number, beta_tau = E[g f]/E[f] and alpha_tau^2 = E[f^2]/E[f]^2 - 1 - beta_tau^2, "
        f"{definition('alpha_tau^2', 'beta_tau^2')}"
    )


def variance_words(law: SpectralLaw) -> str:
    """What m_2 is, by the names of `law_words`."""
    return "alpha^2 + beta^2" if law.tau is None else "alpha_tau^2 + beta_tau^2"


def variance_latex(law: SpectralLaw) -> str:
    """The same as a formula."""
    return r"\alpha^2 + \beta^2" if law.tau is None else r"\alpha_\tau^2 + \beta_\tau^2"
