"""`certattn export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.options import checking_limits, root_option, take_limits
from certattn.report.text import on_one_line, printable

EPILOG = """\b
Examples:
  certattn export cert.yaml --format coq -o cert-coq
  certattn export cert.yaml --format coq --fast -o cert-coq
  certattn coq-check cert-coq

\b
Exit status: 0 written; 1 the certificate is refuted or rejected; 2 no form in
Coq, malformed or usage; 3 inconclusive; 4 a limit, or Coq would take too long.
"""


@click.command(epilog=EPILOG)
@click.argument("certificate", metavar="CERT", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["coq"]), required=True, help="What to write.")
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder to make; it must not exist.",
)
@click.option("--fast", is_flag=True, help="Let Coq use its machine integers: faster, but more has to be trusted.")
@click.option(
    "--most-seconds",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="N",
    help="Refuse what would probably take Coq longer.",
)
@root_option
@checking_limits
def export(
    certificate: Path, form: str, out: Path, fast: bool, most_seconds: int, root: Path | None, **limits: Any
) -> int:
    """Write a certificate as a theorem with its proof, a folder for `certattn coq-check`.

    The certificate is checked first, as by `certattn check`. Coq itself is not needed.
    """
    from certattn.coq.export import export as write
    from certattn.coq.export import theorem_words
    from certattn.isolation.worker import check_files
    from certattn.kernel.decide.checker import CheckOptions
    from certattn.kernel.decide.proof import Verdict
    from certattn.kernel.document.certificate import load
    from certattn.report.text import text_of
    from certattn.statements.reports import exit_status

    taken = take_limits(limits)
    loaded = load(certificate, root=root, limits=taken)
    (report,) = check_files([certificate], CheckOptions(taken, root))
    if report.verdict is not Verdict.VERIFIED:
        click.echo(text_of(report, color=False), err=True)
        return exit_status([report])
    instance = write(loaded, out, root=root, fast=fast, most_seconds=most_seconds)
    click.echo(f"written    {on_one_line(str(out))}")
    click.echo(printable(f"theorem    {theorem_words(instance)}"))
    click.echo(f"expected   about {instance.cost.seconds:.0f} s and {instance.cost.megabytes:.0f} MB for Coq")
    return 0
