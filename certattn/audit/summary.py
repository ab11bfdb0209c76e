"""The summary of an audit: one JSON file, its schema, and a table for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from certattn._version import __version__
from certattn.audit import deviation, prompt_length, selection, spectrum
from certattn.audit.statements import STATES
from certattn.audit.subject import Subject
from certattn.provers.output import write_file

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


def _padded(row: tuple[str, ...], widths: list[int]) -> list[str]:
    return [
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _row(head: dict[str, Any], *, several: bool) -> tuple[str, ...]:
    statements = {statement["name"]: statement for statement in head["statements"]}
    figures = {name: statement["figures"] for name, statement in statements.items()}
    off, length = figures.get(deviation.NAME, {}), figures.get(prompt_length.NAME, {})
    chosen, rank = figures.get(selection.NAME, {}), figures.get(spectrum.SINGULAR, {})
    law = figures.get(spectrum.DISTANCE, {}).get("law", {})
    most = chosen.get("most_selected")
    return (
        f"{head['prompt']}." * several + f"{head['layer']}.{head['head']}",
        _short(off.get("at_most")),
        *(_short(off.get(f"relative_{name}")) for name in ("median", "quantile_90", "at_most")),
        _length(statements.get(prompt_length.NAME), length),
        _short(chosen.get("median_weight")),
        f"{most['token']} ({most['queries']} of {chosen['queries']})" if most else _NOTHING,
        _short(rank.get("effective_rank", {}).get("at_most")),
        _short(law.get("at_most")),
        verdict(head),
    )


def _length(statement: dict[str, Any] | None, figures: dict[str, Any]) -> str:
    if "length" in figures:
        return f"{figures['length']:.3g}" if figures["length"] >= 10**6 else str(figures["length"])
    return "none" if statement is not None and "query" in figures else _NOTHING


def _short(number: str | None) -> str:
    """Three digits for a table; the certificate has all."""
    if number is None:
        return _NOTHING
    numerator, _, denominator = number.partition("/")
    return f"{float(numerator) / float(denominator or 1):.3g}"


def verdict(head: dict[str, Any]) -> str:
    """In a word: what all certificates of a head are, or the first verdict that is another."""
    verdicts = [verdict for statement in head["statements"] for verdict in statement.get("verdicts", [])]
    if not verdicts:
        return _NOTHING
    return next((found for found in verdicts if found != "verified"), "verified")
