"""The summary of an audit, for programs: one JSON file and its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from certattn._version import __version__
from certattn.audit.statements import STATES
from certattn.audit.subject import Subject
from certattn.provers.output import write_file

VERSION = 1
SUMMARY = "audit.json"

_COUNT = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}
_SECONDS = {"type": "number", "minimum": 0}
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SHARE = {"type": ["number", "null"], "minimum": 0}


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
_SINK = _object({"token": _COUNT, "weight": {"type": "number", "minimum": 0}})
_MEASURES = _object({"share": _SHARE, "sink": {**_SINK, "type": ["object", "null"]}, "evicted": _SHARE})
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
                cap={"type": ["number", "null"]},
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
                        "cut": _TEXT,
                        "measures": _MEASURES,
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
