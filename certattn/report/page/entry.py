"""What a page shows of one certificate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.tree import Plain
from certattn.statements.reports import Report

_NUMBER = re.compile(r"-?[0-9]+(/[0-9]+|(\.[0-9]+)?([eE][-+]?[0-9]{1,4})?)")
_LONGEST_NUMBER = 60
_LAYER_HEAD = re.compile(r"layer[-_ ]?(\d{1,4})[-_ /]*head[-_ ]?(\d{1,4})", re.IGNORECASE)
_PROMPT = re.compile(r"prompt[-_ ]?(\d{1,4})", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class HeadPlace:
    """Which head of which layer, over which prompt; all counted as its file says."""

    prompt: int
    layer: int
    head: int


@dataclass(frozen=True)
class Described:
    """What is read of a certificate beside its check; believed as little as the certificate.

    `digest` of the statement, `provenance` texts by key, `figures` the single numbers that are
    asserted, by their key path.
    """

    digest: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A certificate's file, what a check said of it, whether this run checked it, and what else is shown.

    `picture` is the text of an SVG file; `without_picture` says why there is none, `picture_shows` what is in it.
    """

    file: Path
    report: Report
    checked: bool
    described: Described = Described()
    picture: str = ""
    without_picture: str = ""
    picture_shows: str = ""

    @property
    def verified(self) -> bool:
        return self.report.verdict is Verdict.VERIFIED

    @property
    def place(self) -> HeadPlace | None:
        """The layer and head that the file's name says, or else the provenance."""
        texts = (str(self.file), *self.described.provenance.values())
        found = next((match for match in map(_last_head, texts) if match), None)
        if found is None:
            return None
        prompt = _PROMPT.search(str(self.file))
        return HeadPlace(int(prompt[1]) if prompt else 0, int(found[1]), int(found[2]))


def _last_head(text: str) -> re.Match[str] | None:
    """Of a path the innermost name counts."""
    return next(iter([*_LAYER_HEAD.finditer(text)][::-1]), None)


def single_numbers(asserts: Any, path: str = "") -> dict[str, str]:
    """The numbers of a section that stand alone, by their key path; those in lists are left out."""
    if isinstance(asserts, dict):
        found: dict[str, str] = {}
        for key, value in asserts.items():
            found |= single_numbers(value, f"{path}.{key}" if path else str(key))
        return found
    text: Plain = asserts
    if isinstance(text, str) and len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return {path: text}
    return {}


def as_double(text: str) -> float:
    """A number of `single_numbers` for a colour or a bar; infinite where it is beyond doubles."""
    numerator, _, denominator = text.partition("/")
    try:
        return float(numerator) / float(denominator or "1")
    except (OverflowError, ZeroDivisionError):
        return float("inf")
