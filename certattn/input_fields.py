"""Which fields an input of `certattn generate` may have, read off the schemas of theorems, and what else a file may be.

`certattn check` says by it what a file is that is no certificate; provers read their inputs by it.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import ByKey, Kind, Record, Variant
from certattn.kernel.given.token_laws import LAW_FORMS, LawKind
from certattn.kernel.theorems import CHAPTER_OF

# What one file may say for every command of a chapter: a command leaves out those of these fields that it has no use
# for. Others, such as a mask, change what is said of the rest, and are refused where they are not known.
FOR_SOME: Final[Mapping[str, Collection[str]]] = {
    "prompts": ("tilt", "query", "queries", "U", "K", "Q", "scale", "V", "length", "sigma", "constants"),
    "training": ("start", "parameters", "training", "length", "ball", "step", "steps", "model"),
    "selection": ("loss", "descent", "start", "indices"),
}
_MARKS = {
    b"\x93NUMPY": "a .npy file with an array",
    b"PK\x03\x04": "a .npz file or another zip archive",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"\x7fELF": "a program",
    codecs.BOM_UTF16_LE: "text in UTF-16",
    codecs.BOM_UTF16_BE: "text in UTF-16",
}


# -- fields of the schema


def forms_of(kinds: Iterable[Kind[Any]]) -> Iterator[Kind[Any]]:
    """The kinds, and those that they are written as."""
    for kind in kinds:
        yield kind
        if isinstance(kind, ByKey):
            yield from forms_of(kind.forms.values())
        elif isinstance(kind, Variant):
            yield from forms_of(kind.record(form) for form in kind.forms)
        elif isinstance(kind, LawKind):
            yield from forms_of([LAW_FORMS])
        elif not isinstance(kind, Matrix | Vector):
            yield from forms_of(kind.written)


def fields_of(kinds: Iterable[Kind[Any]]) -> dict[str, list[Kind[Any]]]:
    """What each key may hold, in any of the forms."""
    found: dict[str, list[Kind[Any]]] = {}
    for kind in forms_of(kinds):
        if isinstance(kind, Record):
            for name, each in kind.fields.items():
                found.setdefault(name, []).append(each.kind)
    return found


def claims_with(keys: Collection[str]) -> list[str]:
    """The claims that a file with these fields is an input for: those that use all of them, or else leave some out."""
    found: dict[str, int] = {}
    for claim in CHAPTER_OF:
        left_out = set(FOR_SOME.get(CHAPTER_OF[claim], ()))
        for record in (form for form in forms_of([CLAIMS[claim].given]) if isinstance(form, Record)):
            needed = {name for name, each in record.fields.items() if each.required} - {"length"}
            unused = keys - record.fields.keys()
            if needed and needed <= set(keys) and unused <= left_out:
                found[claim] = min(len(unused), found.get(claim, len(unused)))
    least = min(found.values(), default=0)
    return [claim for claim, unused in found.items() if unused == least]


# -- what a file is


def binary_kind(data: bytes) -> str:
    """What kind of file this is that is no text; "" for text."""
    for mark, kind in _MARKS.items():
        if data.startswith(mark):
            return kind
    if len(data) > 10 and data[8:9] == b"{" and int.from_bytes(data[:8], "little") < 2**32:
        return "a .safetensors file with arrays"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        control = sum(byte < 9 for byte in data[:1000])
        line = data.count(b"\n", 0, error.start) + 1
        return "a binary file" if control else f"bytes that are not UTF-8, on line {line}"
    return "a binary file" if "\0" in text else ""
