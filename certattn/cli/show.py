"""`certattn show`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from certattn.cli.options import reading_limits, root_option, take_limits
from certattn.report.text import on_one_line, printable

EPILOG = """\b
Examples:
  certattn show cert.yaml                  the statement in words and LaTeX
  certattn show cert.yaml --format latex   a numbered statement, to paste into a paper
  certattn show --style > certattn.sty     the package that defines its environment
  certattn show --bibtex > certattn.bib    the entries that it cites
  certattn show cert.yaml --format json    the certificate as JSON, keys sorted
"""


def _print(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Print a file that the package holds, instead of showing a certificate."""

    def callback(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            from certattn.report.paper.theorem import shipped

            click.echo(shipped(name), nl=False)
            ctx.exit()

    return callback


@click.command(epilog=EPILOG)
@click.argument("certificate", metavar="CERT")
@click.option("--format", "form", type=click.Choice(["text", "latex", "json"]), default="text", show_default=True)
@click.option(
    "--style", is_flag=True, expose_value=False, is_eager=True, callback=_print("certattn.sty"),
    help="Print the LaTeX package that --format latex needs.",
)  # fmt: skip
@click.option(
    "--bibtex", is_flag=True, expose_value=False, is_eager=True, callback=_print("certattn.bib"),
    help="Print the BibTeX entries that --format latex cites.",
)  # fmt: skip
@root_option
@reading_limits
def show(certificate: str, form: str, root: Path | None, **limits: Any) -> None:
    """Say what a certificate states. Nothing is checked beyond its form."""
    from certattn.kernel.decide.checker import theorem_of
    from certattn.kernel.document.certificate import load
    from certattn.statements.wording import statement_of

    loaded = load(certificate, root=root, limits=take_limits(limits))
    theorem, statement = theorem_of(loaded), statement_of(loaded)
    if form == "json":
        click.echo(json.dumps(loaded.plain, indent=2, sort_keys=True))
    elif form == "latex":
        from certattn.report.paper.theorem import as_latex

        click.echo(as_latex(loaded, statement))
    else:
        count = len(list(theorem.obligations(theorem.read(loaded))))
        rows = [
            ("claim", f"{theorem.name}: {theorem.title}"),
            ("states", statement.words),
            ("formula", statement.latex),
            ("to prove", f"{count} obligation{'s' if count != 1 else ''}; `certattn check` proves or refutes them"),
            ("statement", loaded.digest),
            *((f"({on_one_line(key)})", text) for key, text in loaded.provenance.items()),
        ]
        click.echo("\n".join(_row(label, text) for label, text in rows))


def _row(label: str, text: str) -> str:
    return textwrap.fill(
        printable(" ".join(text.split())),
        100,
        initial_indent=f"{label:<13}",
        subsequent_indent=" " * 13,
        break_long_words=False,
        break_on_hyphens=False,
    )
