"""`attention-error` in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flint import arb, fmpq

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.errors import Binary64Error, MalformedError
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.attention_error import (
    BEYOND,
    ERROR,
    FINITE,
    MEASURES,
    NO_FEWER,
    NO_MORE,
    OF_LSE,
    RADIUS,
    RELATIVE,
    RMS,
    ULPS,
    AssertedErrors,
    exact_rows,
)
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS, SOFT_CAP
from certattn.kernel.theorems.attention.stated_heads import (
    BASE,
    BOTTOM_RIGHT,
    CAUSAL,
    EMPTY,
    KEYS,
    LENGTHS,
    LOGARITHMS,
    LSE,
    MASK,
    OF_KEYS,
    OF_QUERIES,
    OUTPUT,
    QUERIES,
    SEQUENCES,
    TOP_LEFT,
    VALUES,
    WINDOW,
    StatedHeads,
)
from certattn.statements.attention.scales import forgotten_scale
from certattn.statements.given import scaled
from certattn.statements.ranges import between, range_latex, range_words
from certattn.statements.wording import Answer, Statement, Wording, cut, show

# What is measured, in words and as a formula.
_MEASURED: dict[str, tuple[str, str]] = {
    ERROR.name: ("largest error |o - T| of an entry", r"\max_{i,j} | o_{ij} - T_{ij} |"),
    RELATIVE.name: ("largest relative error |o - T|_2 / |T|_2 of a row", r"\max_i \| o_i - T_i \|_2 / \| T_i \|_2"),
    ULPS.name: (
        "largest error of an entry in units in the last place of T",
        r"\max_{ij} |o_{ij} - T_{ij}| / \mathrm{ulp}(T_{ij})",
    ),
    RMS.name: ("root mean square of the errors o - T", r"\mathrm{rms}_{i,j}\,( o_{ij} - T_{ij} )"),
    OF_LSE.name: ("largest error of the log-sum-exp of a query", r"\max_i | \ell_i - \log Z_i |"),
}
_INDEX = re.compile(r"\[(\d+)\]")
# The lengths of so many sequences are written out.
_SHOWN = 16


def statement(stated: AssertedErrors) -> Statement:
    heads, said = stated.heads, list(_said(stated))
    given = heads.given
    score = f"e^({_score_words(heads)})"
    returned = ""
    if LSE in given:
        base = "natural logarithms" if given[LSE][BASE] == "e" else "logarithms to base 2"
        returned = f", returned with the log-sum-exps {given[LSE][LOGARITHMS].words()} ({base})"
    words = (
        f"For {heads_words(heads)} (queries: {given[QUERIES].words()}, keys: {given[KEYS].words()}, "
        f"values: {given[VALUES].words()}), let T be the mean of the values that a query sees, weighted by {score}, "
        f"where {sight_words(given)}{_more_words(given)}. The output o is {given[OUTPUT].words()}{returned}. "
        f"All its entries are finite; {'; '.join(words for words, _ in said)}."
    )
    return Statement(words, r",\qquad ".join(latex for _, latex in said))


def heads_words(heads: StatedHeads) -> str:
    """How many heads there are, and of what sizes."""
    each = f"{counted(heads.queries, 'query')} on {counted(heads.tokens, 'token')}"
    of = f"{counted(heads.count, 'head')}, each of {each}" if heads.count > 1 else f"a head of {each}"
    batch = f" (a batch of {heads.batches})" if heads.batches > 1 else ""
    shared = f", {heads.shared} to each head of keys and values" if heads.shared > 1 else ""
    return of + batch + shared


def _score_words(heads: StatedHeads) -> str:
    given, score = heads.given, scaled(heads.scale, "<q, k>")
    if SOFT_CAP in given:
        score = f"c tanh({score} / c)"
    return score + (" - a |r - j|" if ALIBI in given else "")


def _more_words(given: Values) -> str:
    """What has a letter in the weights, or is no token."""
    words = []
    if SOFT_CAP in given:
        words.append(f"c is {describe(given[SOFT_CAP])}")
    if ALIBI in given:
        # The diagonal of causal masks, and what takes its place where there is none.
        stated = given.get(CAUSAL)
        offset = BOTTOM_RIGHT if stated is None else stated
        sizes = " of m on n tokens" if offset == BOTTOM_RIGHT else ""
        words.append(
            f"a is the slope of the head in {given[ALIBI].words()}, j the token and r = {_place(offset, 0)} "
            f"for query i{sizes}, counted from 0"
        )
    if SINKS in given:
        words.append(
            "one more token, the sink, has the value 0 and the weight e^z, where z is the logit of the head in "
            f"{given[SINKS].words()}"
        )
    if EMPTY in given:
        words.append("T is 0 for a query that sees no token")
    return f". Here {'; '.join(words)}" if words else ""


def sight_words(given: Values) -> str:
    """What a query sees; m queries and n tokens are counted in what the mask is about: a head, a batch, a sequence."""
    sees, of = "a query sees all tokens", ""
    if CAUSAL in given:
        end = _place(given[CAUSAL], 0)
        begin = f"from {_place(given[CAUSAL], 1 - given[WINDOW])} " if WINDOW in given else ""
        of_m, of_n = (" of m", " of n") if given[CAUSAL] == BOTTOM_RIGHT else ("", "")
        sees = f"query i{of_m} sees the tokens {begin}up to {end}{of_n}, as far as they exist (counted from 0)"
    if LENGTHS in given:
        lengths = given[LENGTHS]
        of = f", among the first n tokens of its batch, n = {_list_words(lengths)}"
    if SEQUENCES in given:
        queries, tokens = given[SEQUENCES][OF_QUERIES], given[SEQUENCES][OF_KEYS]
        of = f", within its own sequence of m = {_list_words(queries)} queries and n = {_list_words(tokens)} tokens"
    if MASK in given:
        of += f", and of these only the tokens that have a 1 in its row of the mask, {given[MASK].words()}"
    return sees + of


def _place(offset: int | str, moved: int) -> str:
    """The token on the diagonal of query i, moved."""
    if isinstance(offset, int):
        diagonal, moved = "i", offset + moved
    else:
        diagonal = {TOP_LEFT: "i", BOTTOM_RIGHT: "i + n - m"}[offset]
    return diagonal if moved == 0 else f"{diagonal} {'+' if moved > 0 else '-'} {abs(moved)}"


def _list_words(lengths: Sequence[int]) -> str:
    return f"({', '.join(cut(map(str, lengths), _SHOWN))})"


def _said(stated: AssertedErrors) -> Iterator[tuple[str, str]]:
    """What is asserted, every number in it; and the same as a formula."""
    asserts, several = stated.asserts, stated.heads.count > 1
    for field in MEASURES:
        if field in asserts:
            words, latex = _MEASURED[field.name]
            stored = stated.heads.given[OUTPUT].stored
            of = f", in {stored.dtype}," if field is ULPS and stored is not None else ""
            yield f"the {words}{of} is {_range_words(asserts[field], several)}", range_latex(asserts[field], latex)
    if BEYOND in asserts:
        counts = asserts[BEYOND]
        radius = describe(counts[RADIUS])
        low = rf"{counts[NO_FEWER]} \le " if NO_FEWER in counts else ""
        high = rf" \le {counts[NO_MORE]}" if NO_MORE in counts else ""
        latex = rf"{low}\#\{{ | o_{{ij}} - T_{{ij}} | > {radius} \}}{high}"
        yield f"{_count_words(counts.get(NO_FEWER), counts.get(NO_MORE))} off by more than {radius}", latex


def _count_words(no_fewer: int | None, no_more: int | None) -> str:
    """How many entries are."""
    if no_more == 0:
        return "no entry is"
    low, high = (None if count is None else fmpq(count) for count in (no_fewer, no_more))
    last = no_more if no_more is not None else no_fewer
    return f"{between(low, high)} {'entry is' if last == 1 else 'entries are'}"


def _range_words(stated: Values, several: bool) -> str:
    """`at_most` is about every head, `at_least` about the worst."""
    if not several:
        return range_words(stated)
    said = [f"at most {describe(stated[AT_MOST])} in every head"] if AT_MOST in stated else []
    said += [f"at least {describe(stated[AT_LEAST])} in some head"] if AT_LEAST in stated else []
    return " and ".join(said)


def sentence(stated: AssertedErrors, name: str) -> str:
    if name == FINITE:
        return "the number of entries of the output that are NaN or infinite"
    kind, _, rest = name.partition(".")
    if kind == BEYOND.name:
        return f"the number of entries that are off by more than {describe(stated.asserts[BEYOND][RADIUS])}"
    head = ", in the worst head"
    if "[" in rest:
        head = " in batch {}, head {}".format(*_INDEX.findall(rest))
    return f"the {_MEASURED[kind][0]}{head if stated.heads.count > 1 else ''}"


def findings(stated: AssertedErrors, obligations: Sequence[Answer]) -> list[str]:
    """The worst head of each measure, and of the largest error the entry."""
    output = stated.heads.given[OUTPUT]
    if any(o.name == FINITE and o.left != fmpq(0) for o in obligations) and output.stored is not None:
        try:
            output.stored.require_finite(stated.heads.queries)
        except MalformedError as error:
            return [f"the output has {error.found}"]
    lines = []
    for field in MEASURES:
        # Those about single heads, where there are any: they say which is the worst.
        named = [(o.name, o.left) for o in obligations if o.name.startswith(f"{field.name}.at_most")]
        named = named or [(o.name, o.left) for o in obligations if o.name.startswith(f"{field.name}.")]
        known = [(float(left.mid()), name, left) for name, left in named if isinstance(left, arb) and left.is_finite()]
        if known:
            _, worst, left = max(known, key=lambda each: each[0])
            lines.append(f"{sentence(stated, worst)}: {show(left)}")
            if field is ERROR and "[" in worst:
                lines += _worst_entry(stated, worst)
    return lines + forgotten_scale(stated.heads.scale, stated.heads.given[KEYS].shape[1], [stated.heads.given[KEYS]])


def _worst_entry(stated: AssertedErrors, name: str) -> list[str]:
    """Where in a head the error is largest, and what is there."""
    heads = stated.heads
    batch, head = map(int, _INDEX.findall(name))
    index = batch * heads.heads + head
    row, column, exact = _exact_worst(stated, index)
    value = show(heads.given[OUTPUT].load().entry(index * heads.queries + row, column))
    place = f"query {row}, coordinate {column}"
    if heads.count > 1:
        place = f"batch {batch}, head {head}, {place}"
    return [f"worst entry: {value} at {place}, where T is {show(exact)}"]


def _exact_worst(stated: AssertedErrors, index: int) -> tuple[int, int, arb]:
    """Row and column of the entry of a head with the largest error, and what is exact there."""
    if stated.tiers:
        from certattn.kernel.theorems.attention.stored_heads import stored_errors

        try:
            ((_, errors, _),) = stored_errors(stated.heads, [index])
            row, column = errors.worst()
            means = errors.means
            return row, column, arb(means.middle[row, column].item(), means.radius[row, column].item())
        except Binary64Error:
            pass
    rows = list(exact_rows(stated.heads, index))
    entries = [(float(abs(x).mid()), i, j) for i, row in enumerate(rows) for j, x in enumerate(row.off)]
    _, row, column = max(entries)
    return row, column, rows[row].exact[column]


WORDING = Wording[AssertedErrors](statement, sentence, findings)
