"""What `spectral-distance` and `not-marchenko-pastur` say of distances, in words and as formulas."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.decide.verdict import Obligation
from certattn.kernel.given.ranges import AT_LEAST, AT_MOST, Range
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.spectral_distances import (
    CIRCLE,
    LAW,
    SCALED_CIRCLE,
    SCALED_LAW,
    SCALED_SEPARATION,
    SEPARATION,
)

_WORDS = {
    LAW: "the distance of the singular values to mu is {}",
    CIRCLE: "that to the quarter circle law of the variance {variance} is {}",
    SCALED_LAW: "the smallest distance to the law of c x, x of mu, over all c > 0 is {}",
    SCALED_CIRCLE: "the smallest distance to a quarter circle law of any variance is {}",
    SEPARATION: "the smallest distance to a quarter circle law of any variance less the distance to mu is {}",
    SCALED_SEPARATION: (
        "the smallest distance to a quarter circle law of any variance less the smallest distance to the law of c x, "
        "x of mu, over all c > 0, is {}"
    ),
}
_SPECTRUM = "{}, the law that gives each of its n singular values the share 1/n, and "
_FORMULAS = {
    LAW: r"K(F_n, \mu)",
    CIRCLE: r"K(F_n, q_{VARIANCE})",
    SCALED_LAW: r"\inf_{c > 0} K(F_n, c\mu)",
    SCALED_CIRCLE: r"\inf_{c > 0} K(F_n, q_{c^2})",
    SEPARATION: r"\inf_{c > 0} K(F_n, q_{c^2}) - K(F_n, \mu)",
    SCALED_SEPARATION: r"\inf_{c > 0} K(F_n, q_{c^2}) - \inf_{c > 0} K(F_n, c\mu)",
}


def words_of_range(name: str, stated: Range, law: SpectralLaw) -> str:
    """A piece of the statement; of a difference with its sign, where the bounds say it."""
    words = _WORDS[name].format(stated.words(), variance=law.variance_words)
    if name in (SEPARATION, SCALED_SEPARATION):
        words += sign_of(stated)
    return words


def sign_of(stated: Range) -> str:
    """What the bounds say of the sign of a difference."""
    if stated.at_least is not None and stated.at_least > 0:
        return ": it is positive"
    return ": it is negative" if stated.at_most is not None and stated.at_most < 0 else ""


def latex_of_range(name: str, stated: Range, law: SpectralLaw) -> str:
    return stated.latex(_FORMULAS[name].replace("VARIANCE", law.variance_latex))


def distance_words(matrix: str | None, law: str) -> str:
    """What the quantities are about."""
    return (
        f"For {'' if matrix is None else _SPECTRUM.format(matrix)}{law}; the distance of two laws of distribution "
        "functions F and G is sup_x |F(x) - G(x)|, and the quarter circle law of variance m has the density "
        "sqrt(4m - x^2)/(pi m) on [0, 2 sqrt(m)]:"
    )


def sign_found(obligations: Sequence[Obligation]) -> list[str]:
    """What is proved of the sign of a separation."""
    lines = []
    for obligation in obligations:
        quantity, _, which = obligation.name.partition(".")
        if quantity not in (SEPARATION, SCALED_SEPARATION) or not isinstance(obligation.left, arb):
            continue
        words, known = f"the {quantity.replace('_', ' ')} is", obligation.left
        if which == AT_LEAST.name and (known > 0) is True:
            lines.append(f"{words} positive")
        elif which == AT_MOST.name and (known < 0) is True:
            lines.append(f"{words} negative")
    return lines
