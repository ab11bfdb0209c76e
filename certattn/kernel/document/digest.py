"""The statement digest: one name for what a certificate says, however it is written down.

sha256 over a canonical JSON of the format version, claim, given and asserts. Numbers count by
their value (0.1 and 1/10 agree), array references by content, number type, shape, rows, file
format and array name but not by path, mappings without their order. Witness and provenance do
not count: they are not part of the statement.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.document.tensor_files import file_format
from certattn.kernel.document.tree import Plain
from certattn.kernel.limits import DEFAULT_LIMITS

STATEMENT_KEYS = ("certattn", "claim", "given", "asserts")


def statement_digest(certificate: dict[str, Plain]) -> str:
    """The sha256 hex digest of the statement in a certificate's plain tree."""
    statement = {key: canonical(certificate[key]) for key in STATEMENT_KEYS if key in certificate}
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(value: Plain) -> Any:
    """A JSON value that is equal only for trees that state the same."""
    if isinstance(value, dict):
        if "file" in value and isinstance(value["file"], str):
            return {"array": _reference(value)}
        return {"map": {key: canonical(item) for key, item in value.items()}}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    try:
        # Fixed limits: the digest must not depend on what one person allowed.
        return {"number": str(parse_real(value, DEFAULT_LIMITS))}
    except NumberError:
        return {"text": value}


def _reference(value: dict[str, Plain]) -> dict[str, Any]:
    # Names inside files are text even where they look like numbers: array "1" is not array "1.0".
    kept: dict[str, Any] = {key: item for key, item in value.items() if key not in ("file", "shape")}
    kept["format"] = file_format(str(value["file"]))
    shape = value.get("shape")
    if shape is not None:
        kept["shape"] = canonical(shape)
    if isinstance(shape, list) and shape and kept.get("rows") == f"0:{shape[0]}":
        del kept["rows"]  # all rows, which is what leaving them out says
    return kept
