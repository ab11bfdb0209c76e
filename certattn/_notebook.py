"""How reports and certificates show themselves in a notebook.

The kernel knows nothing of pages, so its classes are left as they are: where IPython runs, it is told which function
makes HTML of them. Without the extra `report` they are shown as text.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import CertattnError
from certattn.statements.reports import Report


def register() -> None:
    """Tell IPython, where it runs, how to show reports and certificates."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    formatter: Any = getattr(shell, "display_formatter", None)
    if formatter is not None:
        html = formatter.formatters["text/html"]
        html.for_type(Report, html_of_report)
        html.for_type(Certificate, html_of_certificate)
        # A node knows its place, which fills a screen.
        formatter.formatters["text/plain"].for_type(Node, lambda node, printer, _: printer.pretty(node.plain()))


def html_of_report(report: Report) -> str | None:
    """What a page shows of a report; None, for text instead, where a library is missing."""
    from certattn.report.page.content import Content
    from certattn.report.page.entry import Entry
    from certattn.report.page.html import article

    try:
        return article(Content([Entry(Path(report.path), report, checked=True)], Path(), "").shown[0])
    except CertattnError:
        return None


def html_of_certificate(certificate: Certificate) -> str | None:
    """What a certificate states, in words; None, for text instead, where it states nothing."""
    from html import escape

    from certattn.report.page.formulas import typeset
    from certattn.report.text import on_one_line
    from certattn.statements.wording import statement_of

    try:
        statement = statement_of(certificate)
        words = typeset(on_one_line(statement.words))
    except CertattnError:
        return None
    rows = (f"<b>{escape(certificate.claim)}</b>, not checked", words)
    return "".join(f"<p>{row}</p>" for row in (*rows, f"statement <code>{certificate.digest}</code>") if row)
