"""`not-marchenko-pastur` in words."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.not_marchenko_pastur import (
    DISTANCE,
    EXCESS,
    FOURTH_MOMENT,
    OF_LAW,
    SCALED_DISTANCE,
    VALUE,
)
from certattn.kernel.theorems.spectrum.spectral_distance import SEPARATION_FIELDS, TAKES, StatedDistances
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.spectrum.spectral_distances import (
    NAMES,
    bound_sentence,
    distance_words,
    latex_of_range,
    sign_found,
    words_of_range,
)
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    EXCESS.name: "m_4/m_2^2 - 2",
    DISTANCE.name: "distance of mu to the quarter circle of the same variance",
    SCALED_DISTANCE.name: "smallest distance of mu to any quarter circle",
}
_WORDS = {
    EXCESS.name: "m_4/m_2^2 - 2, which is 0 for every quarter circle law, is {}",
    DISTANCE.name: "the distance of mu to the quarter circle law of the same variance is {}",
    SCALED_DISTANCE.name: "the smallest distance of mu to a quarter circle law of any variance is {}",
}
_FORMULAS = {
    EXCESS.name: "m_4/m_2^2 - 2",
    DISTANCE.name: r"K(\mu, q_{m_2})",
    SCALED_DISTANCE.name: r"\inf_{c > 0} K(\mu, q_{c^2})",
}


def statement(stated: StatedDistances) -> Statement:
    asserts, words, formulas = stated.asserts, [], []
    if FOURTH_MOMENT in asserts:
        value = describe(asserts[FOURTH_MOMENT][VALUE])
        words.append(f"m_4 - 2 m_2^2, m_n the moments of mu, is {value}, and 0 for every quarter circle law")
        formulas.append(f"m_4 - 2 m_2^2 = {value}")
    for field in OF_LAW:
        if field in asserts:
            words.append(_WORDS[field.name].format(range_words(asserts[field])))
            formulas.append(range_latex(asserts[field], _FORMULAS[field.name]))
    separations = [field for field in SEPARATION_FIELDS if field in asserts]
    words += [words_of_range(field, stated) for field in separations]
    formulas += [latex_of_range(field, stated) for field in separations]
    return Statement(f"{distance_words(stated)} {'; '.join(words)}.", r",\qquad ".join(formulas))


def sentence(stated: StatedDistances, name: str) -> str:
    quantity = name.partition(".")[0]
    if quantity == FOURTH_MOMENT.name:
        return "m_4 - 2 m_2^2 = beta^4/lambda = value"
    if quantity in NAMES:
        return bound_sentence(NAMES[quantity], name, exact=quantity not in TAKES)
    return bound_sentence(_SENTENCES[quantity], name, exact=quantity != SCALED_DISTANCE.name)


WORDING = Wording[StatedDistances](statement, sentence, sign_found)
