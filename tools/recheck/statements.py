"""The digest of a statement: docs/format.md, statement digest. It names what was checked, and decides nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePosixPath
from typing import Any

from outcomes import Rejected
from scalars import ROOT, positive, rational
from softmax import rational_root


def digest(top: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a certificate's version, claim, given and asserts."""
    statement = {key: canonical(top[key]) for key in ("certattn", "claim", "given", "asserts")}
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(node: Any) -> Any:
    """A JSON value that is equal only for trees that state the same."""
    if isinstance(node, dict):
        return {"array": reference(node)} if isinstance(node.get("file"), str) else {"map": each(node)}
    if isinstance(node, list):
        return [canonical(item) for item in node]
    try:
        return {"number": number(node)}
    except Rejected:
        return {"text": node}


def each(node: dict[str, Any]) -> dict[str, Any]:
    """A mapping with canonical values."""
    return {key: canonical(item) for key, item in node.items()}


def reference(node: dict[str, Any]) -> dict[str, Any]:
    """A reference to an array, whose path does not count, nor `rows` that are all. Names in it are never numbers."""
    kept = {key: item for key, item in node.items() if key not in ("file", "shape")}
    kept["format"] = PurePosixPath(node["file"].rpartition("/")[2].lstrip(".")).suffix
    if (shape := node.get("shape")) is not None:
        kept["shape"] = canonical(shape)
    if isinstance(shape, list) and shape and kept.get("rows") == f"0:{shape[0]}":
        del kept["rows"]
    return kept


def number(text: str) -> str:
    """A rational number or a root, in lowest terms."""
    if not (m := ROOT.fullmatch(text)):
        return str(rational(text))
    inside = positive(m[2], "what the root is of")
    value = 1 / inside if m[1] else inside
    exact = rational_root(value)
    return f"sqrt({value})" if exact is None else str(exact)
