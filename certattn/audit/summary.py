"""The summary of an audit: one JSON file, its schema, and a table for people."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from certattn._version import __version__
from certattn.audit import deviation, prompt_length, selection, spectrum
from certattn.audit.statements import STATES
from certattn.audit.subject import Subject
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.quoting import counted
from certattn.provers.output import write_file
from certattn.report.rounded import between, downward, upward

VERSION = 1
SUMMARY = "audit.json"

_COUNT = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}
_SECONDS = {"type": "number", "minimum": 0}
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    properties = {**required, **optional}
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


_STATEMENT = _object(
    {
        "name": {"enum": list(STATES)},
        "certificates": {"type": "array", "items": _TEXT},
        "digests": {"type": "array", "items": _DIGEST},
        "figures": {"type": "object"},
        "missing": _TEXT,
        "seconds": _SECONDS,
    },
    verdicts={"type": "array", "items": _TEXT},
    check_seconds=_SECONDS,
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "summary of certattn audit",
    **_object(
        {
            "certattn_audit": {"const": VERSION},
            "generator": _TEXT,
            "model": _object(
                {
                    "source": _TEXT,
                    "family": _TEXT,
                    "layers": _COUNT,
                    "heads": _COUNT,
                    "scale": _TEXT,
                    "causal": {"type": "boolean"},
                    "sha256": {"type": "object", "additionalProperties": _DIGEST},
                },
                dtype=_TEXT,
            ),
            "prompts": {
                "type": "array",
                "items": _object({"source": _TEXT, "tokens": _COUNT, "whole": _COUNT}, ids_sha256=_DIGEST),
            },
            "probability": _TEXT,
            "checked": {"type": "boolean"},
            "heads": {
                "type": "array",
                "items": _object(
                    {
                        "prompt": _COUNT,
                        "layer": _COUNT,
                        "head": _COUNT,
                        "folder": _TEXT,
                        "tokens": _COUNT,
                        "dimension": _COUNT,
                        "files": {"type": "object", "additionalProperties": _DIGEST},
                        "statements": {"type": "array", "items": _STATEMENT},
                    }
                ),
            },
            "seconds": _object({"state": _SECONDS, "check": _SECONDS}),
        }
    ),
}


def summary(
    subject: Subject, probability: str, heads: list[dict[str, Any]], seconds: dict[str, float], *, checked: bool
) -> dict[str, Any]:
    """What `audit.json` holds; SCHEMA says how."""
    return {
        "certattn_audit": VERSION,
        "generator": f"certattn {__version__}",
        "model": subject.model,
        "prompts": list(subject.prompts),
        "probability": probability,
        "checked": checked,
        "heads": heads,
        "seconds": seconds,
    }


def write_summary(out: Path, found: dict[str, Any]) -> None:
    """Write it into the folder, whole or not at all."""
    write_file(out / SUMMARY, (json.dumps(found, indent=1) + "\n").encode("utf-8"))


# -- the table

_NOTHING = "-"
_NUMBER = re.compile(r"\d[\d.]*(e[-+]?\d+)?")
# Lengths from here on are shown to three digits.
_LONG = 10**6
COLUMNS = (
    "head",
    "|T-T_inf|",
    "/|T|: median",
    "90%",
    "all",
    "length",
    "weight",
    "most selected",
    "rank",
    "law",
    "verdict",
)


def table(found: dict[str, Any]) -> list[str]:
    """A line for each head, below the names of the columns."""
    lines = [COLUMNS, *rows(found)]
    widths = [max(len(row[i]) for row in lines) for i in range(len(COLUMNS))]
    return ["  ".join(_padded(row, widths)).rstrip() for row in lines]


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """What the table has of each head."""
    return [_row(head, several=len(found["prompts"]) > 1) for head in found["heads"]]


def reasons(found: dict[str, Any]) -> list[str]:
    """Why there are cells without a number: a line for each kind of reason, with how many heads have it."""
    several, alike = len(found["prompts"]) > 1, dict[tuple[str, bool, str], list[tuple[str, str]]]()
    for head in found["heads"]:
        for statement in head["statements"]:
            if reason := statement["missing"]:
                key = statement["name"], bool(statement["certificates"]), _NUMBER.sub("#", reason)
                alike.setdefault(key, []).append((_name(head, several=several), reason))
    return [
        f"{'not all of ' if some else 'no '}{name} for {counted(len(heads), 'head')}, "
        f"{'such as ' if len(heads) > 1 else ''}{heads[0][0]}: {heads[0][1]}"
        for (name, some, _), heads in alike.items()
    ]


def _name(head: dict[str, Any], *, several: bool) -> str:
    return f"{head['prompt']}." * several + f"{head['layer']}.{head['head']}"


def _padded(row: tuple[str, ...], widths: list[int]) -> list[str]:
    return [
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _row(head: dict[str, Any], *, several: bool) -> tuple[str, ...]:
    """Upper bounds and lengths are rounded up, lower bounds of weights down, ranges outwards."""
    statements = {statement["name"]: statement for statement in head["statements"]}
    # What is not verified says nothing.
    figures = {name: found["figures"] for name, found in statements.items() if _holds(found)}
    off, chosen = figures.get(deviation.NAME, {}), figures.get(selection.NAME, {})
    most = chosen.get("most_selected")
    return (
        _name(head, several=several),
        *(
            upward(off[name]) if name in off else _NOTHING
            for name in ("at_most", "relative_median", "relative_quantile_90", "relative_at_most")
        ),
        _length(figures.get(prompt_length.NAME), stated=bool(off)),
        downward(chosen["median_weight"]) if chosen else _NOTHING,
        f"{most['token']} ({most['queries']} of {chosen['queries']})" if most else _NOTHING,
        _range(figures.get(spectrum.SINGULAR), "effective_rank"),
        _range(figures.get(spectrum.DISTANCE), "law"),
        verdict(head),
    )


def _length(figures: dict[str, Any] | None, *, stated: bool) -> str:
    """Without a certificate: `none` where the deviation has one, and no length was found for it."""
    if figures:
        return upward(str(figures["length"])) if figures["length"] >= _LONG else str(figures["length"])
    return "none" if stated and figures is not None else _NOTHING


def _range(figures: dict[str, Any] | None, name: str) -> str:
    return between(figures[name]) if figures else _NOTHING


def _holds(statement: dict[str, Any]) -> bool:
    """Whether it was verified, or not checked yet."""
    return all(found == Verdict.VERIFIED.value for found in statement.get("verdicts", []))


def verdict(head: dict[str, Any]) -> str:
    """In a word: what all certificates of a head are, or the first verdict that is another."""
    verdicts = [verdict for statement in head["statements"] for verdict in statement.get("verdicts", [])]
    if not verdicts:
        return _NOTHING
    return next((found for found in verdicts if found != "verified"), "verified")
