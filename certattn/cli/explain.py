"""`certattn explain`."""

from __future__ import annotations

import json

import click
from click.shell_completion import CompletionItem

from certattn.cli.options import format_option
from certattn.kernel.decide.checker import CLAIMS
from certattn.report.codes.lookup import codes, general, look_up, obligations
from certattn.report.codes.obligations import Explanation
from certattn.report.text import WIDTH, paragraph

EPILOG = """\b
Examples:
  certattn explain                          all codes, in groups
  certattn explain rejected                 a verdict
  certattn explain 3                        an exit status
  certattn explain output-deviation         the obligations of a claim
  certattn explain output-deviation/at_most what `check` names in full
"""


def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes that begin so, for the shell; obligations once their claim is typed."""
    found = [code for code in codes() if code.startswith(incomplete)]
    return [CompletionItem(code) for code in found if "/" in incomplete or "/" not in code]


@click.command(epilog=EPILOG)
@click.argument("code", required=False, shell_complete=complete)
@format_option
def explain(code: str | None, form: str) -> None:
    """Say what a verdict, exit status, obligation or error means, and what to do.

    CODE is what `certattn check` prints. Of a claim, its obligations are listed; without CODE, everything.
    """
    if code is None:
        every = [each for group in general().values() for each in group]
        every += [each for claim in CLAIMS for each in obligations(claim)] if form == "json" else []
        text = _overview()
    elif code in CLAIMS:
        every = obligations(code)
        text = [f"{code}: {CLAIMS[code].title}", "", *_listed(every)]
    else:
        every = look_up(code)
        text = [line for each in every for line in (*_in_full(each), "")][:-1]
    click.echo(json.dumps([each.to_dict() for each in every], indent=2) if form == "json" else "\n".join(text))


def _overview() -> list[str]:
    """All groups, and the claims."""
    lines = []
    for group, found in general().items():
        lines += [f"{group}:", *_table([(each.code, each.says) for each in found]), ""]
    rows = [(name, claim.title) for name, claim in CLAIMS.items()]
    return [*lines, "claims, with their obligations by `certattn explain CLAIM`:", *_table(rows)]


def _listed(found: list[Explanation]) -> list[str]:
    return [line for each in found for line in (f"  {each.code}", *paragraph(each.says, "      "))]


def _in_full(each: Explanation) -> list[str]:
    first = "must hold" if each.group.startswith("obligation") else "says"
    return [f"{each.code}  ({each.group})", *_table([(first, each.says), *each.more, ("page", each.page)])]


def _table(rows: list[tuple[str, str]]) -> list[str]:
    """Two columns; what is too long for a line goes on below."""
    width = max(len(label) for label, _ in rows) + 2
    lines = []
    for label, text in rows:
        first, *rest = paragraph(text, width=WIDTH - 2 - width)
        lines += [f"  {label:<{width}}{first}", *(" " * (2 + width) + line for line in rest)]
    return lines
