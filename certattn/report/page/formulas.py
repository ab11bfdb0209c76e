"""Sentences of statements as HTML: their mathematics becomes MathML, which browsers typeset without help."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from xml.etree import ElementTree

from certattn.extras import require_extras
from certattn.report.paper.typeset import spans
from certattn.report.text import printable

_ELEMENTS = frozenset(
    ["math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded", "msup", "msub", "msubsup", "mfrac"]
) | {"msqrt", "mroot", "mover", "munder", "munderover", "mtable", "mtr", "mtd"}
_ATTRIBUTES = frozenset(
    ["stretchy", "fence", "form", "width", "display", "displaystyle", "scriptlevel", "mathvariant", "accent"]
) | {"accentunder", "movablelimits", "separator", "lspace", "rspace", "linethickness", "columnalign"}
_VALUE = re.compile(r"[\w.%+ -]*")


def typeset(sentence: str) -> str:
    """A sentence of a statement as HTML, with every number that it has. Raises UsageError without the library."""
    return "".join(_made(kind, printable(part)) for kind, part in spans(sentence))


def _made(kind: str, part: str) -> str:
    if kind == "math":
        return mathml(part) or f"<code>{escape(part)}</code>"
    return f"<code>{escape(part)}</code>" if kind == "code" else escape(part)


@lru_cache(4096)
def mathml(latex: str) -> str:
    """A formula, of known elements; "" where it cannot be converted. Raises UsageError without the library."""
    require_extras("formulas", "report")
    from latex2mathml.converter import convert

    try:
        return _rebuilt(convert(latex))
    except Exception:
        # The library raises errors of many kinds; the reader sees the LaTeX itself then.
        return ""


def _rebuilt(text: str) -> str:
    """The same formula with known elements and attributes only. Raises ValueError for another, or for raw LaTeX."""
    return ElementTree.tostring(_element(ElementTree.fromstring(text)), encoding="unicode")


def _element(found: ElementTree.Element) -> ElementTree.Element:
    name = found.tag.rpartition("}")[2]
    if name not in _ELEMENTS or "\\" in (found.text or ""):
        raise ValueError(name)
    made = ElementTree.Element(name)
    for key, value in found.attrib.items():
        if key in _ATTRIBUTES and _VALUE.fullmatch(value):
            made.set(key, value)
    made.text = found.text
    made.extend(_element(child) for child in found)
    return made
