"""`observed-prompt` in words."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.observed_prompt import (
    AT_LEAST,
    AT_MOST,
    KEY_REGION,
    LARGEST_SCORES,
    LENGTH,
    MOST,
    NORM_NAME,
    TOKEN_REGION,
    VALUE_REGION,
    ObservedPrompt,
    StatedIntervals,
)
from certattn.kernel.theorems.prompts.stated_supports import CENTRE, HIGH, LOW, RADIUS, StatedRegion
from certattn.statements.given import prompt_words
from certattn.statements.wording import Statement, Wording


def statement(stated: StatedIntervals) -> Statement:
    given = stated.given
    confidence, tokens = describe(1 - given.probability), counted(given.prompt.length, "token")
    where = f"for {_all(given)}, <u, T_inf(q)> lies between at_least = {stated.at_least} and at_most = {stated.at_most}"
    distance = ""
    if stated.distance is not None:
        norm, most = stated.distance[NORM_NAME], describe(stated.distance[MOST])
        distance = f"; the {norm} norm |T_inf(q) - T_L(q)| is at most {most}, where T_L is attention over these tokens"
    another = ""
    if stated.another is not None:
        low, high = stated.another[AT_LEAST].load(), stated.another[AT_MOST].load()
        another = (
            f" The output T'(q) over another prompt of {counted(stated.another[LENGTH], 'token')}, independent and of "
            f"one law with these, has <u, T'(q)> between {low} and {high}, at this confidence by itself."
        )
    chosen = ", ".join(("queries", "directions", "support", *(["the length of the other prompt"] if another else [])))
    proved = (
        "each of the two families of intervals contains those of a rule that is fixed beforehand, and that rule fails "
        f"for any of its family with probability at most {describe(given.probability)}: the first over the drawing of "
        "the tokens, whatever their laws, the second over that of both prompts, if all tokens have one law"
        if another
        else "these intervals contain those of a rule that is fixed beforehand, and over the drawing of the tokens, "
        "whatever their laws, that rule fails for any of them with probability at most "
        f"{describe(given.probability)}"
    )
    words = (
        f"At confidence {confidence}, {where}{distance}.{another} Observed: {prompt_words(given.prompt)}. T_inf is "
        "attention over an infinite prompt of the law of the tokens; if laws differ from position to position, the sum "
        "of the expected weighted outputs over that of the expected weights. Assumed, and no part of the proof: the "
        f"{tokens} {'is' if given.prompt.length == 1 else 'are'} independent, of laws whose tokens "
        f"{_support_words(given)}, and {chosen} and confidence were chosen without looking at them. Proved: {proved}."
    )
    # Of numbers that are stored there is no probability: the confidence is that of the rule.
    latex = (
        rf"\text{{at confidence }} {confidence}: \quad \ell_{{qu}} \le \langle u, T_\infty(q) \rangle \le h_{{qu}} "
        r"\text{ for all listed } q, u"
    )
    if stated.distance is not None:
        index = "2" if stated.distance[NORM_NAME] == "l2" else r"\infty"
        latex += rf" \text{{ and }} \| T_\infty(q) - T_L(q) \|_{{{index}}} \le {describe(stated.distance[MOST])}"
    if stated.another is not None:
        latex += (
            rf",\qquad \ell'_{{qu}} \le \langle u, T'(q) \rangle \le h'_{{qu}}, \quad L' = {stated.another[LENGTH]}"
        )
    return Statement(words, latex)


def _all(given: ObservedPrompt) -> str:
    queries = "the query" if given.prompt.count == 1 else f"all {given.prompt.count} queries"
    if not given.has_directions:
        return f"{queries} q and every coordinate vector u of the outputs"
    return (
        f"{queries} q and every u among {given.directions}"
        if given.directions.rows > 1
        else (f"{queries} q and u = {given.directions}")
    )


def _support_words(given: ObservedPrompt) -> str:
    values = given.stated_support
    if given.form == LARGEST_SCORES.name:
        return (
            f"have scores of at most {values[LARGEST_SCORES].words()} at the queries and outputs <u, v> between "
            f"{values[LOW].words()} and {values[HIGH].words()}, with certainty"
        )
    if given.form == TOKEN_REGION.name:
        return f"lie in {_region_words(values[TOKEN_REGION])} with certainty"
    keys, outputs = (_region_words(values[field]) for field in (KEY_REGION, VALUE_REGION))
    return f"have keys in {keys} and values in {outputs} with certainty"


def _region_words(stated: StatedRegion) -> str:
    values: Values = stated.values
    if stated.kind == "box":
        return f"the box from {values[LOW].words()} to {values[HIGH].words()}"
    return f"the ball of radius {describe(values[RADIUS])} around {values[CENTRE].words()}"


_SUPPORT = {
    "support.tokens": "the observed tokens lie in the stated support: their margin",
    "support.keys": "the observed keys lie in the stated support: their margin",
    "support.values": "the observed values lie in the stated support: their margin",
    "support.scores": "no observed score is above the largest stated one: the margin",
    "support.outputs": "the observed outputs lie between low and high: their margin",
}


def sentence(stated: StatedIntervals, name: str) -> str:
    if name in _SUPPORT:
        return _SUPPORT[name]
    end, _, indices = name.partition("[")
    another = end.startswith("another.")
    first, *rest = map(int, indices.removesuffix("]").split("]["))
    if not rest:
        assert stated.distance is not None
        return f"the largest {stated.distance[NORM_NAME]} norm |T_inf - T_L| at query {first} that the intervals allow"
    side = "at or below at_least" if end == "at_least" else "at or above at_most"
    if another:
        side = "below at_least" if end.endswith("at_least") else "above at_most"
        return (
            f"the p-value of the tokens if the output over another prompt were {side} more often than the right side "
            f"says, at query {first} and direction {rest[0]}"
        )
    count = 2 * stated.given.prompt.count * stated.given.directions.rows
    return (
        f"the p-value of the tokens if <u, T_inf> were {side}, at query {first} and direction {rest[0]} "
        f"<= probability / {count}"
    )


WORDING = Wording[StatedIntervals](statement, sentence)
