"""The certificate format as a JSON Schema, made from the very records that the reader uses."""

from __future__ import annotations

from typing import Any

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import ENVELOPE
from certattn.kernel.document.fields import Schema
from certattn.kernel.given.attention_inputs import law_schema


def json_schema() -> dict[str, Any]:
    """A schema (draft 2020-12) with one branch per claim."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "certattn certificate",
        "description": "A statement about softmax attention that `certattn check` re-proves.",
        "oneOf": [_claim_schema(name) for name in CLAIMS],
        "$defs": {"law": law_schema()},
    }


def _claim_schema(name: str) -> Schema:
    claim = CLAIMS[name]
    envelope = ENVELOPE.schema()
    properties = dict(envelope["properties"])
    properties["claim"] = {"const": name, "description": claim.title}
    # The version is written without quotes: an editor sees a number.
    properties["certattn"] = {"enum": [1, "1"], "description": properties["certattn"]["description"]}
    for section in ("given", "asserts", "witness"):
        description = properties[section]["description"]
        properties[section] = {**getattr(claim, section).schema(), "description": description}
    return {**envelope, "title": name, "properties": properties}
