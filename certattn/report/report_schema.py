"""The JSON Schema of `certattn check --format json`, made from the enumerations that the kernel uses."""

from __future__ import annotations

from typing import Any

from certattn.kernel.decide.obligation import Part
from certattn.kernel.decide.proof import Verdict
from certattn.statements.digits import RESULTS

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}


def report_schema() -> dict[str, Any]:
    """A schema (draft 2020-12). No key is left out of an object, and there are no others."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "certattn reports",
        "description": "What `certattn check --format json` prints.",
        **_record(
            certattn={"type": "string", "description": "version of certattn"},
            exit_status={"enum": [0, 1, 2, 3, 4, 70], "description": "exit status of these reports"},
            reports={"type": "array", "items": {"$ref": "#/$defs/report"}},
        ),
        "$defs": {"report": _report(), "obligation": _obligation(), "place": _PLACE},
    }


_PLACE = {
    "description": "file, line (0: the file as a whole), key path",
    "type": "array",
    "prefixItems": [_TEXT, _COUNT, _TEXT],
    "items": False,
    "minItems": 3,
}


def _report() -> dict[str, Any]:
    return _record(
        path=_TEXT,
        verdict={"enum": [verdict.value for verdict in Verdict]},
        claim=_TEXT,
        statement={"type": "string", "description": "what was checked, in words"},
        digest={"type": "string", "pattern": "^([0-9a-f]{64})?$", "description": "digest of the statement"},
        sha256={"type": "string", "pattern": "^([0-9a-f]{64})?$", "description": "hash of the file that was read"},
        findings=_TEXTS,
        reason={"type": "string", "description": "why it is not verified"},
        place={"oneOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
        obligation={"type": "string", "description": "name of the first obligation that is not proved"},
        arithmetic={"type": "string", "description": "what the enclosures rest on"},
        bits=_COUNT,
        limit={"enum": ["", "time", "memory", "processes"], "description": "the resource that ran out"},
        counts={"type": "object", "propertyNames": {"enum": list(RESULTS)}, "additionalProperties": _COUNT},
        obligations={"type": "array", "items": {"$ref": "#/$defs/obligation"}},
        strict={**_TEXTS, "description": "how a strict check was made; empty of others"},
        rests_on={
            "type": "object",
            "description": "trusted files that decided, their lines of code, where they lie, a hash",
        },
        nanoseconds={"type": "object", "additionalProperties": _COUNT},
    )


def _obligation() -> dict[str, Any]:
    return _record(
        name=_TEXT,
        sentence=_TEXT,
        left=_TEXT,
        relation={"enum": ["<=", ">=", "<", ">", "=", ""]},
        right=_TEXT,
        outcome={"enum": list(RESULTS)},
        bits={"oneOf": [_COUNT, {"type": "null"}]},
        arithmetic=_TEXT,
        part={"enum": [part.value for part in Part]},
    )


def _record(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
