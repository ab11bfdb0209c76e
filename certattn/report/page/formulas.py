"""LaTeX of statements as MathML, which browsers typeset without help; built from known elements only."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from certattn.extras import require_extras
from certattn.report.text import printable

_ELEMENTS = frozenset(
    ["math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded", "msup", "msub", "msubsup", "mfrac"]
) | {"msqrt", "mroot", "mover", "munder", "munderover", "mtable", "mtr", "mtd"}
_ATTRIBUTES = frozenset(
    ["stretchy", "fence", "form", "width", "display", "displaystyle", "scriptlevel", "mathvariant", "accent"]
) | {"accentunder", "movablelimits", "separator", "lspace", "rspace", "linethickness", "columnalign"}
_VALUE = re.compile(r"[\w.%+ -]*")
# A long statement is several formulas in a row: each is a box of its own, so that lines break between them.
_GAPS = re.compile(r"\\qquad|\\quad")
_ARGUMENT = re.compile(r"\\arg\s*\\(min|max)")
_POWER_OF_TEN = re.compile(r"(?<![\w.\\])(\d+(?:\.\d+)?)e(-?\d+)")


def mathml(latex: str) -> list[str]:
    """Formulas that stand side by side; empty where some cannot be converted. Raises UsageError without the library."""
    if not latex or printable(latex) != latex:
        return []
    require_extras("formulas", "report")
    from latex2mathml.converter import convert

    found = []
    for piece in pieces(latex):
        piece = _ARGUMENT.sub(r"\\text{arg \1}", piece)
        try:
            found.append(_rebuilt(convert(with_powers(piece))))
        except Exception:
            # The library raises errors of many kinds; the reader sees the LaTeX itself then.
            return []
    return found


def with_powers(latex: str) -> str:
    """Decimals with exponents as products with powers of ten."""
    return _POWER_OF_TEN.sub(r"\1 \\cdot 10^{\2}", latex)


def pieces(latex: str) -> list[str]:
    """The parts between wide gaps that stand in no braces."""
    pieces, begin = [], 0
    for gap in _GAPS.finditer(latex):
        before = latex[: gap.start()]
        inside = before.count("{") - before.count(r"\{") > before.count("}") - before.count(r"\}")
        if not (inside or before.count(r"\left") - before.count(r"\leftarrow") > before.count(r"\right")):
            pieces.append(latex[begin : gap.start()])
            begin = gap.end()
    pieces.append(latex[begin:])
    return [piece.strip() for piece in pieces if piece.strip()]


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
