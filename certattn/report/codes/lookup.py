"""From what somebody types to what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.errors import UsageError
from certattn.report.codes.obligations import SEPARATOR, Explanation, entries, explained, plain, read

VERDICT = "verdict"


@cache
def general() -> dict[str, tuple[Explanation, ...]]:
    """Verdicts, exit statuses and so on, by group."""
    groups = {}
    for group, content in read("general.yaml").items():
        groups[group] = tuple(
            Explanation(code, group, text["says"], tuple(_more(text)), content["page"])
            for code, text in content["codes"].items()
        )
    return groups


def _more(text: dict[str, str]) -> Iterator[tuple[str, str]]:
    if "means" in text:
        yield "means", text["means"]
    yield "what to do", text["do"]


def obligations(claim: str) -> list[Explanation]:
    """Those of a claim, in the order in which a check names them."""
    return [explained(claim, entry) for entry in entries(claim).values()]


def codes() -> Iterator[str]:
    """Everything that can be asked for: general codes, claims, obligations of claims."""
    seen = dict.fromkeys(each.code for group in general().values() for each in group)
    yield from seen
    for claim in CLAIMS:
        yield claim
        yield from (f"{claim}{SEPARATOR}{code}" for code in entries(claim))


def look_up(code: str) -> list[Explanation]:
    """What a code stands for: more than one where it has several meanings. Raises UsageError, with what is nearest.

    An obligation may be given with or without its claim, its indices with any number or none, and with its claim only
    the first words of its name: `softmax-mean/top` has those of all bounds of `top`.
    """
    found = [each for group in general().values() for each in group if each.code == code]
    claim, _, name = code.rpartition(SEPARATOR)
    for each in [claim] if claim else CLAIMS:
        known, wanted = entries(each) if each in CLAIMS else {}, plain(name)
        below = [other for other in known if claim and other.startswith(f"{wanted}.")]
        found += [explained(each, known[entry]) for entry in ([wanted] if wanted in known else below)]
    if not found:
        raise UsageError(f"there is no code {code!r}; {_nearest(code)}")
    return found


def _nearest(code: str) -> str:
    wanted = plain(code)
    known = dict.fromkeys(codes())
    names = dict.fromkeys(each.rpartition(SEPARATOR)[2] for each in known)
    near = get_close_matches(wanted, [*known, *names], 3, 0.6)
    if near:
        return f"the nearest {'are' if len(near) > 1 else 'is'} {', '.join(dict.fromkeys(near))}"
    return "`certattn explain` lists all of them"
