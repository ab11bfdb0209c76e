"""The certificate format as a JSON Schema, made from the very kinds that the reader uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import ENVELOPE, Provenance, Section
from certattn.kernel.document.matrices import RowRange, Sha256
from certattn.kernel.document.numbers import RATIONAL_FORMS, REAL_FORMS
from certattn.kernel.document.schema import (
    MAX_TEXT,
    ByKey,
    Choice,
    Count,
    Flag,
    Kind,
    Listing,
    Rational,
    Record,
    Scale,
    Text,
    Variant,
)
from certattn.kernel.given.token_laws import LAW_FORMS, LawKind

Schema = dict[str, Any]

# The grammar of kernel/document/numbers.py as patterns for editors, which see the forms and not the limits. To Python,
# $ is also before an end of line.
_INTEGER = r"(?:0|[1-9][0-9]*)"
_NUMBER_PATTERN = (
    rf"-?(?:{_INTEGER}(?:/[1-9][0-9]*|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{{1,6}})?)"
    r"|0x[0-9a-fA-F]+(?:\.[0-9a-fA-F]+)?p[+-]?[0-9]{1,6})"
)
_RATIONAL = rf"^{_NUMBER_PATTERN}$(?!\n)"
_REAL = rf"^(?:{_NUMBER_PATTERN}|(?:1/)?sqrt\({_NUMBER_PATTERN}\))$(?!\n)"
_COUNT = r"^(?:0|[1-9][0-9]{0,17})$(?!\n)"

# An editor has typed plain scalars already; the reader takes their text.
_NUMBER: Schema = {"type": ["number", "string"]}
_TEXT: Schema = {"type": ["string", "number", "boolean", "null"], "minLength": 1, "maxLength": MAX_TEXT}
_SHAPES: Mapping[type[Kind[Any]], Callable[[Any], Schema]] = {
    Rational: lambda kind: {**_NUMBER, "pattern": _RATIONAL, "description": RATIONAL_FORMS},
    Scale: lambda kind: {**_NUMBER, "pattern": _REAL, "description": REAL_FORMS},
    Count: lambda kind: {"type": ["integer", "string"], "minimum": kind.minimum, "pattern": _COUNT},
    # A word such as 2 is a number to an editor.
    Choice: lambda kind: {"enum": [*kind.words, *(int(word) for word in kind.words if word.isdigit())]},
    Flag: lambda kind: {"enum": [True, False, "true", "false"]},
    Text: lambda kind: _TEXT,
    Sha256: lambda kind: {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    # To YAML 1.1, which some editors read, 5:6 is a number of base sixty.
    RowRange: lambda kind: {"type": ["string", "integer"], "pattern": "^[0-9]+:[0-9]+$"},
    Section: lambda kind: {"type": "object"},
    Provenance: lambda kind: {"type": "object", "additionalProperties": _TEXT},
    # Components of a mixture are laws again.
    LawKind: lambda kind: {"$ref": "#/$defs/law"},
    Listing: lambda kind: {"type": "array", "minItems": 1, "items": schema_of(kind.item)},
    Record: lambda kind: _record(kind),
    Variant: lambda kind: {"oneOf": [schema_of(kind.record(form)) for form in kind.forms]},
    ByKey: lambda kind: {"oneOf": [schema_of(form) for form in kind.forms.values()]},
}


def schema_of(kind: Kind[Any]) -> Schema:
    """The JSON Schema of what a kind reads, as a YAML-aware editor sees it. Raises TypeError for one not known here."""
    for known in type(kind).__mro__:
        if known in _SHAPES:
            return _SHAPES[known](kind)
    if not kind.written:
        raise TypeError(f"no JSON Schema for {type(kind).__name__}: it has to say in which kinds it is `written`")
    schemas = [schema_of(form) for form in kind.written]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def json_schema() -> Schema:
    """A schema (draft 2020-12) with one branch per claim."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "certattn certificate",
        "description": "A statement about softmax attention that `certattn check` re-proves.",
        "oneOf": [_claim(name) for name in CLAIMS],
        "$defs": {"law": schema_of(LAW_FORMS)},
    }


def _claim(name: str) -> Schema:
    claim = CLAIMS[name]
    envelope = schema_of(ENVELOPE)
    properties = dict(envelope["properties"])
    properties["claim"] = {"const": name, "description": claim.title}
    # The version is written without quotes: an editor sees a number.
    properties["certattn"] = {"enum": [1, "1"], "description": properties["certattn"]["description"]}
    for section in ("given", "asserts", "witness"):
        description = properties[section]["description"]
        properties[section] = {**schema_of(getattr(claim, section)), "description": description}
    return {**envelope, "title": name, "properties": properties}


def _record(record: Record) -> Schema:
    fields = record.fields.values()
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {field.name: {**schema_of(field.kind), "description": field.doc} for field in fields},
        "required": [field.name for field in fields if field.required],
    }
