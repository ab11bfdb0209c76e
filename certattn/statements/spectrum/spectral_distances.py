"""Distances of singular values to the equivalent law and to quarter circles, in words and as formulas."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.document.schema import Field, Values
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.theorems.spectrum.spectral_distance import (
    CIRCLE,
    LAW,
    SCALED_CIRCLE,
    SCALED_LAW,
    SCALED_SEPARATION,
    SEPARATION,
    StatedDistances,
)
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.spectrum.limit_law import law_words, variance_latex, variance_words
from certattn.statements.spectrum.matrices import matrix_words
from certattn.statements.wording import Answer

# What obligations call the quantities.
NAMES = {
    LAW: "distance to mu",
    CIRCLE: "distance to the quarter circle of the same variance",
    SCALED_LAW: "smallest distance to mu at any scale",
    SCALED_CIRCLE: "smallest distance to any quarter circle",
    SEPARATION: "distance to any quarter circle minus that to mu",
    SCALED_SEPARATION: "distance to any quarter circle minus that to mu at any scale",
}
_WORDS = {
    LAW: "the distance of the singular values to mu is {}",
    CIRCLE: "that to the quarter circle law of the variance {variance} is {}",
    SCALED_LAW: "the smallest distance to the law of c x, x from mu, over all c > 0, is {}",
    SCALED_CIRCLE: "the smallest distance to a quarter circle law of any variance is {}",
    SEPARATION: "the smallest distance to a quarter circle law of any variance minus the distance to mu is {}",
    SCALED_SEPARATION: (
        "the smallest distance to a quarter circle law of any variance minus the smallest distance to the law of c x, "
        "x from mu, over all c > 0, is {}"
    ),
}
_SHOWN = "by the witness's scale"
_SPECTRUM = "{}, the law that gives each of its n singular values the share 1/n, and "
_FORMULAS = {
    LAW: r"K(F_n, \mu)",
    CIRCLE: r"K(F_n, q_{VARIANCE})",
    SCALED_LAW: r"\inf_{c > 0} K(F_n, c\mu)",
    SCALED_CIRCLE: r"\inf_{c > 0} K(F_n, q_{c^2})",
    SEPARATION: r"\inf_{c > 0} K(F_n, q_{c^2}) - K(F_n, \mu)",
    SCALED_SEPARATION: r"\inf_{c > 0} K(F_n, q_{c^2}) - \inf_{c > 0} K(F_n, c\mu)",
}


def words_of_range(field: Field[Values], stated: StatedDistances) -> str:
    """A piece of the statement; of a difference with its sign, where the bounds say it."""
    bounds = stated.asserts[field]
    words = _WORDS[field.name].format(range_words(bounds), variance=variance_words(stated.law))
    if field.name in (SEPARATION, SCALED_SEPARATION):
        words += sign_of(bounds)
    return words


def sign_of(bounds: Values) -> str:
    """What the bounds say of the sign of a difference."""
    if AT_LEAST in bounds and bounds[AT_LEAST] > 0:
        return ": it is positive"
    return ": it is negative" if AT_MOST in bounds and bounds[AT_MOST] < 0 else ""


def latex_of_range(field: Field[Values], stated: StatedDistances) -> str:
    formula = _FORMULAS[field.name].replace("VARIANCE", variance_latex(stated.law))
    return range_latex(stated.asserts[field], formula)


def bound_sentence(quantity: str, name: str, *, exact: bool) -> str:
    """What an obligation of a bound compares."""
    bound, at_the_scale, _ = name.partition(".at_the_scale")
    words = f"{quantity} {'>=' if bound.endswith(AT_LEAST.name) else '<='} bound"
    if exact:
        return words
    return f"{words}, or its value at the witness's scale refutes it" if at_the_scale else f"{words}, {_SHOWN}"


def distance_words(stated: StatedDistances) -> str:
    """What the quantities are about."""
    matrix = "" if stated.matrix is None else _SPECTRUM.format(matrix_words(stated.matrix))
    return (
        f"For {matrix}{law_words(stated.law)}; the distance of two laws of distribution "
        "functions F and G is sup_x |F(x) - G(x)|, and the quarter circle law of variance m has the density "
        "sqrt(4m - x^2)/(pi m) on [0, 2 sqrt(m)]:"
    )


def sign_found(stated: StatedDistances, obligations: Sequence[Answer]) -> list[str]:
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
