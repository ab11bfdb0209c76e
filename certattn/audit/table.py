"""The summary for people: a line for each head, what the columns mean, and what to do with them.

The first columns are those that predict best how much a model changes when the head is replaced by its linear map:
tools/audit_minilm.py --replace measures that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from certattn.audit import deviation, measures, prompt_length, selection, spectrum
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.quoting import counted
from certattn.report.rounded import between, downward, upward

Figures = Mapping[str, Any]

_NOTHING = "-"
_NUMBER = re.compile(r"\d[\d.]*(e[-+]?\d+)?")
# Lengths from here on are shown to three digits.
_LONG = 10**6


@dataclass(frozen=True)
class Column:
    """What stands in a column: `of` reads it from a head and from the figures of its statements that hold.

    known: how, for the legend, where `meaning` is of columns that begin here; both are empty where that says enough.
    """

    name: str
    known: str
    meaning: str
    of: Callable[[Mapping[str, Any], Mapping[str, Figures]], str]


def table(found: dict[str, Any]) -> list[str]:
    """A line for each head, below the names of the columns."""
    lines = [tuple(column.name for column in COLUMNS), *rows(found)]
    # A column without any entry says nothing.
    shown = [i for i in range(len(COLUMNS)) if any(line[i] != _NOTHING for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in shown}
    return ["  ".join(line[i].rjust(widths[i]) if i else line[i].ljust(widths[i]) for i in shown) for line in lines]


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """What the table has of each head."""
    several = len(found["prompts"]) > 1
    return [
        (_name(head, several=several), *(column.of(head, _figures(head)) for column in COLUMNS[1:]))
        for head in found["heads"]
    ]


def legend(found: dict[str, Any]) -> list[str]:
    """What the columns that have an entry mean, a paragraph for each."""
    lines = rows(found)
    # Without a check nothing is proved yet.
    said = {PROVED: PROVED if found["checked"] else "stated, not checked"}
    return [
        f"{column.name}, {said.get(column.known, column.known)}: {column.meaning}"
        for i, column in enumerate(COLUMNS)
        if column.known and any(line[i] != _NOTHING for line in lines)
    ]


def reasons(found: dict[str, Any]) -> list[str]:
    """Why there are cells without a number: a line for each kind of reason, with how many heads have it."""
    several, alike = len(found["prompts"]) > 1, dict[tuple[str, str], list[tuple[str, str]]]()
    for head in found["heads"]:
        said = [("fewer queries", head["cut"])] if head["cut"] else []
        for statement in head["statements"]:
            if statement["missing"]:
                some = "not all of " if statement["certificates"] else "no "
                said.append((some + statement["name"], statement["missing"]))
        for what, reason in said:
            alike.setdefault((what, _NUMBER.sub("#", reason)), []).append((_name(head, several=several), reason))
    return [
        f"{what} for {counted(len(heads), 'head')}, {'such as ' if len(heads) > 1 else ''}{heads[0][0]}: {heads[0][1]}"
        for (what, _), heads in alike.items()
    ]


def verdict(head: Mapping[str, Any]) -> str:
    """In a word: what all certificates of a head are, or the first verdict that is another."""
    verdicts = [verdict for statement in head["statements"] for verdict in statement.get("verdicts", [])]
    if not verdicts:
        return _NOTHING
    return next((found for found in verdicts if found != "verified"), "verified")


def _name(head: Mapping[str, Any], *, several: bool) -> str:
    return f"{head['prompt']}." * several + f"{head['layer']}.{head['head']}"


def _figures(head: Mapping[str, Any]) -> dict[str, Figures]:
    """By statement. What is not verified says nothing."""
    return {statement["name"]: statement["figures"] for statement in head["statements"] if _holds(statement)}


def _holds(statement: Mapping[str, Any]) -> bool:
    """Whether it was verified, or not checked yet."""
    return all(found == Verdict.VERIFIED.value for found in statement.get("verdicts", []))


# -- cells: upper bounds and lengths are rounded up, lower bounds down, ranges outwards; measured numbers to the nearest


def _percent(rounded: str) -> str:
    return f"{(Decimal(rounded) * 100).normalize():f}%"


def change(head: Mapping[str, Any], figures: Mapping[str, Figures]) -> Decimal | None:
    """The part of the stream that changes where the head is replaced, about."""
    off, share = figures.get(deviation.NAME, {}).get("relative_median"), head["measures"]["share"]
    return Decimal(upward(off)) * Decimal(share) if off is not None and share is not None else None


def _rounded_change(found: Decimal | None) -> str:
    return _NOTHING if found is None else _percent(f"{found:.2g}")


def _measured(share: float | None) -> str:
    return _NOTHING if share is None else _percent(f"{share:.3g}")


def _off(name: str) -> Callable[[Any, Mapping[str, Figures]], str]:
    def of(_: Any, figures: Mapping[str, Figures]) -> str:
        found = figures.get(deviation.NAME, {})
        return _percent(upward(found[name])) if name in found else _NOTHING

    return of


def _distance(_: Any, figures: Mapping[str, Figures]) -> str:
    found = figures.get(deviation.NAME, {})
    return upward(found["at_most"]) if found else _NOTHING


def _sink(head: Mapping[str, Any], _: Any) -> str:
    found = head["measures"]["sink"]
    return f"{_measured(found['weight'])} at {found['token']}" if found else _NOTHING


def _weight(_: Any, figures: Mapping[str, Figures]) -> str:
    found = figures.get(selection.NAME)
    return _percent(downward(found["median_weight"])) if found else _NOTHING


def _token(_: Any, figures: Mapping[str, Figures]) -> str:
    found = figures.get(selection.NAME)
    if not found:
        return _NOTHING
    most = found["most_selected"]
    return f"{most['token']} ({most['queries']}/{found['queries']})"


def _length(_: Any, figures: Mapping[str, Figures]) -> str:
    """Without a certificate: `none` where the deviation has one, and no length was found for it."""
    found = figures.get(prompt_length.NAME)
    if found:
        return upward(str(found["length"])) if found["length"] >= _LONG else str(found["length"])
    return "none" if figures.get(deviation.NAME) and found is not None else _NOTHING


def _range(name: str, field: str) -> Callable[[Any, Mapping[str, Figures]], str]:
    return lambda _, figures: between(figures[name][field]) if figures.get(name) else _NOTHING


PROVED, MEASURED, BOTH = "proved", "measured", "a guess from both"
COLUMNS = (
    Column("head", "", "", lambda head, _: ""),
    Column(
        "change",
        BOTH,
        "off (half) times share: about how much of the stream changes if a linear map replaces the head; of all "
        "columns the best predictor of the change of the model's output",
        lambda head, figures: _rounded_change(change(head, figures)),
    ),
    Column(
        "off (half)",
        PROVED,
        "at half of the queries the head is at most this far from the linear map with the prompt's moments, in units "
        "of its output; another linear map may be nearer",
        _off("relative_median"),
    ),
    Column("off (all)", PROVED, "the same at all queries", _off("relative_at_most")),
    Column(
        "share",
        MEASURED,
        "what the head adds to the residual stream, through its output projection, by the length of the stream there; "
        "the median over tokens",
        lambda head, _: _measured(head["measures"]["share"]),
    ),
    Column("sink", MEASURED, "the largest mean weight of one token over all queries, and which token", _sink),
    Column(
        "evicted",
        MEASURED,
        f"the mean weight that is lost when the first {measures.FIRST} tokens and the last ones, 1 in "
        f"{measures.RECENT} of the prompt, are all that a query keeps",
        lambda head, _: _measured(head["measures"]["evicted"]),
    ),
    Column("weight", PROVED, "half of the queries give one token at least this weight", _weight),
    Column("token", PROVED, "the token that most queries give the largest weight, and how many do", _token),
    Column(
        "rank",
        PROVED,
        "the effective rank of the attention matrix without its mean",
        _range(spectrum.SINGULAR, "effective_rank"),
    ),
    Column(
        "random",
        PROVED,
        "the distance of its singular values from the law of random queries and keys, of at most 1",
        _range(spectrum.DISTANCE, "law"),
    ),
    Column("distance", PROVED, "how far the head is from that map at any query, in units of the values", _distance),
    Column(
        "enough",
        PROVED,
        "with this many Gaussian tokens attention is within that distance of its limit, except with the given "
        "probability",
        _length,
    ),
    Column("verdict", "", "", lambda head, _: verdict(head)),
)


# -- what to do with it


@dataclass(frozen=True)
class Advice:
    """A kind of head: those whose value is at most (or at least) a bound, the most extreme first."""

    what: str
    then: str
    value: Callable[[Mapping[str, Any], Mapping[str, Figures]], Decimal | None]
    bound: Decimal
    at_least: bool = False
    # Of keys that later queries see again: those of a causal model.
    cached: bool = False


def _bound(statement: str, name: str) -> Callable[[Any, Mapping[str, Figures]], Decimal | None]:
    def value(_: Any, figures: Mapping[str, Figures]) -> Decimal | None:
        found = figures.get(statement, {})
        rounded = downward if statement == selection.NAME else upward
        return Decimal(rounded(found[name])) if name in found else None

    return value


def _number(name: str) -> Callable[[Mapping[str, Any], Any], Decimal | None]:
    def value(head: Mapping[str, Any], _: Any) -> Decimal | None:
        found = head["measures"][name]
        found = found["weight"] if isinstance(found, dict) else found
        return None if found is None else Decimal(f"{found:.3g}")

    return value


_MOST_NAMED = 5
ADVICE = (
    Advice(
        "matter little beside a linear map",
        "by the column change, which is a guess: replace these first, and measure what the model loses",
        change,
        Decimal("0.02"),
    ),
    Advice(
        "nearly linear",
        "fit a linear layer to one and have its distance proved (generate output-deviation --limit)",
        _bound(deviation.NAME, "relative_median"),
        Decimal("0.1"),
    ),
    Advice(
        "pick one token",
        "that is weight and not output: generate cache-error --keep bounds what the token alone would leave out",
        _bound(selection.NAME, "median_weight"),
        Decimal("0.9"),
        at_least=True,
    ),
    Advice(
        "have a sink",
        "one token takes most of the weight of all queries: where keys are cached keep it, whatever else goes",
        _number("sink"),
        Decimal("0.5"),
        at_least=True,
    ),
    Advice("add little", "candidates for pruning; measure the loss", _number("share"), Decimal("0.01")),
    Advice(
        "fit a small cache",
        "that is weight and not output: generate cache-error --keep proves what such a cache changes",
        _number("evicted"),
        Decimal("0.01"),
        cached=True,
    ),
)


def advice(found: dict[str, Any]) -> list[str]:
    """For each kind of head, which they are and what may be done with them."""
    several = len(found["prompts"]) > 1
    lines = []
    for kind in ADVICE:
        if kind.cached and not found["model"]["causal"]:
            continue
        valued = [(kind.value(head, _figures(head)), _name(head, several=several)) for head in found["heads"]]
        sign = -1 if kind.at_least else 1
        fits = sorted(
            (sign * value, name) for value, name in valued if value is not None and sign * value <= sign * kind.bound
        )
        if fits:
            named = ", ".join(f"{name} ({_percent(f'{sign * value:.3g}')})" for value, name in fits[:_MOST_NAMED])
            more = f" and {len(fits) - _MOST_NAMED} more" if len(fits) > _MOST_NAMED else ""
            lines.append(f"{kind.what}: {named}{more}; {kind.then}")
    return lines or ["no head stands out by the measures that docs/audit.md lists"]


def shown(found: dict[str, Any]) -> Sequence[tuple[str, Sequence[str]]]:
    """The paragraphs below the table by their titles, an empty one for reasons."""
    return [("", reasons(found)), ("Columns", legend(found)), ("What to do with this", advice(found))]
