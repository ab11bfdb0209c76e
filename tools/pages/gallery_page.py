"""The list of docs/gallery.md: every certificate, by its own note and its statement in words.

docs/conf.py puts it where the page has `<!-- generated: gallery -->`.
"""

from __future__ import annotations

import html
import textwrap
from pathlib import Path

import certattn
from certattn.kernel.theorems import CHAPTERS
from certattn.statements.wording import statement_of
from tools.pages.codes_page import escaped

GALLERY = Path(__file__).resolve().parents[2] / "certificates"
# A statement with a matrix in it goes on for pages; `certattn show` has all of it.
_LONGEST = 800


def page() -> str:
    """The certificates of every claim, by chapter."""
    parts = []
    for chapter, claims in CHAPTERS.items():
        for claim in claims:
            folder = f"{chapter}/{claim}"
            parts += [f"### `{claim}`\n", f"In `certificates/{folder}` ([the claim](claims/{folder}.md)).\n"]
            parts += [_entry(path) for path in sorted((GALLERY / folder).glob("*.yaml"))]
    return "\n".join(parts)


def _entry(path: Path) -> str:
    certificate = certattn.load(path)
    words = textwrap.shorten(statement_of(certificate).words, _LONGEST, placeholder=" ...")
    note = escaped(certificate.provenance.get("note", ""))
    return f"- **{path.name}**: {note}\n\n  <details><summary>statement</summary>{html.escape(words)}</details>\n"
