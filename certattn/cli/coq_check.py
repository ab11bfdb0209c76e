"""`certattn coq-check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.options import reading_limits, size, take_limits
from certattn.report.progress import Progress
from certattn.report.text import on_one_line, paragraph, printable

EPILOG = """\b
Examples:
  certattn coq-check cert-coq
  certattn coq-check cert-coq --coqchk --timeout 3600

\b
Exit status: 0 proved; 1 not proved, or the folder was changed; 2 no such folder,
no Coq, or usage; 4 a limit of time or memory; 130 interrupted.
"""


@click.command("coq-check", epilog=EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--coqchk", is_flag=True, help="Go through the compiled proof with coqchk too: 30 times slower.")
@click.option(
    "--timeout", type=click.IntRange(1), default=300, metavar="N", show_default=True, help="Seconds for a run of Coq."
)
@click.option("--memory", type=size, default="8G", metavar="SIZE", show_default=True, help="Memory for a run of Coq.")
@reading_limits
def coq_check(folder: Path, coqchk: bool, timeout: int, memory: int, **limits: Any) -> int:
    """Have Coq prove what `certattn export --format coq` wrote.

    Coq runs once for each module of the library, for the theorem, and for what is asked about it.
    """
    from certattn.coq.check import check_folder
    from certattn.coq.coqc import find_coq

    with Progress(1) as progress:
        progress.started(folder)
        coq = find_coq(timeout, memory, progress.waited)
        proof = check_folder(folder, coq, recheck=coqchk, limits=take_limits(limits))
    click.echo(f"proved in Coq  {on_one_line(str(folder))}")
    lines = [
        *paragraph(printable(proof.states), "  "),
        *paragraph(printable(f"theorem: {proof.theorem}"), "  "),
        *paragraph(f"axioms: {', '.join(proof.axioms) or 'none'}", "  "),
    ]
    if proof.primitive:
        lines.append(f"  and {proof.primitive} about the machine integers of Coq's kernel (--fast)")
    if proof.rechecked:
        lines.append("  coqchk accepts the compiled proof")
    click.echo("\n".join([*lines, f"  {proof.seconds:.1f} s", f"  statement {proof.digest}"]))
    return 0
