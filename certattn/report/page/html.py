"""One HTML file that needs nothing else: styles, script, formulas and pictures are in it, and it loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certattn.extras import require_extras
from certattn.report.page.content import FEW, MANY, OTHERS, Content, Shown
from certattn.report.page.formulas import typeset
from certattn.report.page.pictures import SharedParts
from certattn.report.text import printable

_TEMPLATES = Path(__file__).parent / "templates"


def as_html(content: Content) -> str:
    """The whole page. Raises UsageError where a library of the extra `report` is missing."""
    return _render("page.html.j2", content=content, articles=content.shown, whole=True)


def article(shown: Shown) -> str:
    """One certificate, as a part of another page such as a notebook, with the styles that it needs."""
    return _render("part.html.j2", articles=[shown], shown=shown, whole=False)


def _render(template: str, *, articles: Sequence[Shown], **values: Any) -> str:
    require_extras("pages", "report")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    parts = SharedParts()
    pictures = {shown.number: Markup(_picture(parts, shown)) for shown in articles}
    script = (_TEMPLATES / "page.js").read_text(encoding="utf-8")
    styles = (_TEMPLATES / "page.css").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        # Of what is no markup of ours, control characters and turns of direction are shown as escapes.
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else printable(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text: str = environment.get_template(template).render(
        **values,
        pictures=pictures,
        typeset=lambda sentence: Markup(typeset(sentence)),
        letters=Markup(parts.letters if parts.pictures else ""),
        styles=Markup(styles + (parts.styles if parts.pictures else "")),
        script=Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii"),
        few=FEW,
        many=MANY,
        others=OTHERS,
    )
    return text


def _picture(parts: SharedParts, shown: Shown) -> str:
    """The embedded picture; none where it is not such an SVG file as our figures are."""
    if not shown.entry.picture:
        return ""
    try:
        return parts.embed(shown.entry.picture)
    except (ValueError, SyntaxError):
        return ""
