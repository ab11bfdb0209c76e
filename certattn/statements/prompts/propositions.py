"""Boursier and Boyer's propositions 3.1 and 3.4 in words."""

from __future__ import annotations

from functools import partial

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.every_law import (
    DIMENSION,
    NORMS,
    QUERY_DIMENSION,
    QUERY_SIGMA,
    RADIUS,
    U_NORM,
    V_NORM,
    ClassSetting,
    StatedClass,
)
from certattn.kernel.theorems.prompts.proposition_forms import Stated
from certattn.kernel.theorems.prompts.propositions import (
    C1,
    C2,
    CONSTANTS,
    FROM,
    LENGTH,
    PUBLISHED,
    REPAIRED,
    START,
    STEPS,
    Error,
    Setting,
    StatedDisplay,
)
from certattn.statements.given import law_words, scaled, weights_words
from certattn.statements.wording import Statement, Wording

_GRADIENT = "the gradient of attention with respect to {} at a prompt of L independent tokens and at their law"
_ERRORS = {
    Error.OUTPUT: "the l2 distance between attention over L independent tokens and attention over their law",
    Error.GRADIENT_V: f"the operator norm of the difference between {_GRADIENT.format('V')}",
    Error.GRADIENT_U: f"the Hilbert-Schmidt norm of the difference between {_GRADIENT.format('U')}",
}
_LATEX = {
    Error.OUTPUT: r"T[\hat\mu_L] - T[\mu]",
    Error.GRADIENT_V: r"\nabla_V T[\hat\mu_L] - \nabla_V T[\mu]",
    Error.GRADIENT_U: r"\nabla_U T[\hat\mu_L] - \nabla_U T[\mu]",
}
_AT_MOST = r"\le"
# Where both displays are quoted.
_SOURCE = "arXiv 2512.11784 (as quoted by the public audit icml26-repro-MvuCgK0Qns)"


def display(error: Error) -> str:
    """The right side without numbers, in ASCII."""
    return "c1 sigma^12 (ln L)^2 / L^(c2/sigma^2)" if error.power == 2 else "c1 sigma^6 ln L / L^(c2/sigma^2)"


def statement(proposition: str, stated: Stated) -> Statement:
    """`proposition` as sentences name it."""
    if isinstance(stated, StatedClass):
        return Statement(_of_a_class(proposition, stated), _latex_of_a_class(stated))
    words = _published(proposition, stated) if PUBLISHED in stated.asserts else _repaired(proposition, stated)
    return Statement(words, _latex(stated))


def _published(proposition: str, stated: StatedDisplay) -> str:
    word, values = stated.asserts[PUBLISHED], stated.setting.values
    given = values.get(CONSTANTS)
    if given is not None:
        constants = f"with c1 = {describe(given[C1])} and c2 = {describe(given[C2])}"
    elif word == "fails":
        constants = "for all c1, c2 > 0"
    else:
        constants = "for some c1, c2 > 0 (and then for all, as ln 1 = 0)"
    sigma = "" if stated.setting.sigma is not None else " and every sigma"
    return (
        f"The display of {proposition} of Boursier and Boyer 2026, {_SOURCE}, which bounds the mean square, over "
        f"prompts and queries, of {_ERRORS[stated.error]} by {display(stated.error)}, {word} "
        f"{constants}{sigma} at this instance: L = {values[LENGTH]} and {_setting(stated.setting)}."
    )


def _repaired(proposition: str, stated: StatedDisplay) -> str:
    return f"{_constants(proposition, stated)}: {_for_every_length(stated)}, for {_setting(stated.setting)}."


def _constants(proposition: str, stated: Stated) -> str:
    constants = stated.asserts[REPAIRED]
    return (
        f"In the form of {proposition} of Boursier and Boyer 2026, with c1 = {describe(constants[C1])} and "
        f"c2 = {describe(constants[C2])}"
    )


def _for_every_length(stated: Stated) -> str:
    return (
        f"for every number L >= 2 of tokens, the mean square, over prompts and "
        f"queries, of {_ERRORS[stated.error]} is at most {display(stated.error)}"
    )


def _of_a_class(proposition: str, stated: StatedClass) -> str:
    setting, about = stated.setting, stated.setting.about
    queries = describe(about[QUERY_SIGMA])
    ball = f" on a ball of radius {describe(about[RADIUS])}" if RADIUS in about else ""
    return (
        f"{_constants(proposition, stated)}: for every centred sigma-sub-Gaussian law of tokens{ball} in dimension "
        f"{about[DIMENSION]}, that is E exp(<u, x>) <= exp(sigma^2 |u|^2 / 2) for all u, every centred "
        f"{queries}-sub-Gaussian law of queries in dimension {about[QUERY_DIMENSION]}, and "
        f"{_for_every_length(stated)}, for scores {scaled(setting.scale, '<x, U z>', ' * ')} and outputs V x with "
        f"{_weights(setting)} and "
        f"sigma = {describe(setting.sigma)}."
    )


def _weights(setting: ClassSetting) -> str:
    if setting.weights is not None:
        return weights_words(setting.weights)
    norms = setting.values[NORMS]
    most = "of operator norm at most"
    return f"any U {most} {describe(norms[U_NORM])} and any V {most} {describe(norms[V_NORM])}"


def _setting(setting: Setting) -> str:
    sigma = "" if setting.sigma is None else f" and sigma = {describe(setting.sigma)}"
    return (
        f"{law_words(setting.law)}, {law_words(setting.queries, 'queries')}, scores "
        f"{scaled(setting.scale, '<x, U z>', ' * ')} and outputs V x with {weights_words(setting.weights)}{sigma}"
    )


def _latex_of_a_class(stated: StatedClass) -> str:
    constants, about = stated.asserts[REPAIRED], stated.setting.about
    return (
        rf"{_latex_sides(stated, _AT_MOST)}, \quad c_1 = {describe(constants[C1])}, c_2 = {describe(constants[C2])}, "
        rf"\sigma = {describe(stated.setting.sigma)}, \sigma_\nu = {describe(about[QUERY_SIGMA])}, \forall L \ge 2, "
        rf"\forall \mu \text{{ on }} \mathbb R^{{{about[DIMENSION]}}}: "
        r"\mathbb E_\mu e^{\langle u, x \rangle} \le e^{\sigma^2 |u|^2 / 2}, "
        rf"{_latex_ball(about)}"
        rf"\forall \nu \text{{ on }} \mathbb R^{{{about[QUERY_DIMENSION]}}}: "
        r"\mathbb E_\nu e^{\langle u, z \rangle} \le e^{\sigma_\nu^2 |u|^2 / 2}"
    )


def _latex_ball(about: Values) -> str:
    if RADIUS not in about:
        return ""
    return rf"\exists m: \mu(|x - m| \le {describe(about[RADIUS])}) = 1, "


def _latex_sides(stated: Stated, relation: str) -> str:
    right = r"c_1 \sigma^{12} (\ln L)^2" if stated.error.power == 2 else r"c_1 \sigma^6 \ln L"
    left = rf"\mathbb E \| {_LATEX[stated.error]} \|^2_{{L^2(\nu)}}"
    return rf"{left} {relation} {right} / L^{{c_2 / \sigma^2}}"


def _latex(stated: StatedDisplay) -> str:
    if PUBLISHED in stated.asserts:
        relation = ">" if stated.asserts[PUBLISHED] == "fails" else _AT_MOST
        return rf"{_latex_sides(stated, relation)}, \quad L = {stated.setting.values[LENGTH]}"
    constants, sigma = stated.asserts[REPAIRED], stated.setting.sigma
    assert sigma is not None
    return (
        rf"{_latex_sides(stated, _AT_MOST)}, \quad c_1 = {describe(constants[C1])}, "
        rf"c_2 = {describe(constants[C2])}, \sigma = {describe(sigma)}, \forall L \ge 2"
    )


# What is said only where it is not so.
_CONDITIONS = {
    "sigma": "the law of the tokens is sigma-sub-Gaussian",
    "queries": "the law of the queries is 1-sub-Gaussian",
    "repaired": "the laws are of the kind that the witness is about",
    "t": "t < 1",
    "norm": "the operator norm of V is at most that of the witness",
}


def sentence(stated: Stated, name: str) -> str:
    if name in _CONDITIONS:
        return _CONDITIONS[name]
    if name == PUBLISHED.name:
        relation = "<" if stated.asserts[PUBLISHED] == "fails" else ">="
        return f"{display(stated.error)} {relation} the mean square error"
    lengths = _lengths(stated, name)
    if name == "monotone":
        return f"L t^2/(2 R_2) >= c2/sigma^2 for {lengths}"
    over = "(sigma^12 (ln L)^2)" if stated.error.power == 2 else "(sigma^6 ln L)"
    return f"bound * L^(c2/sigma^2) / {over} <= c1 for {lengths}"


def _lengths(stated: Stated, name: str) -> str:
    """The lengths that an obligation of a repaired form is about."""
    assert stated.witness is not None
    if name == "before":
        return f"2 <= L < {stated.witness[START]}"
    if STEPS not in stated.witness:
        return f"every L >= {stated.witness[START]}"
    starts = [step[FROM] for step in stated.witness[STEPS]]
    first, *later = starts[int(name.removeprefix("steps[").removesuffix("]")) :]
    return f"{first} <= L < {later[0]}" if later else f"every L >= {first}"


def wording(proposition: str) -> Wording[Stated]:
    return Wording(partial(statement, proposition), sentence)
