"""`certattn coq-check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certattn.cli.options import reading_limits, size, take_limits
from certattn.cli.statuses import refused_by_the_system, status_of
from certattn.kernel.errors import CertattnError
from certattn.report.progress import Progress
from certattn.report.text import on_one_line, paragraph, printable

if TYPE_CHECKING:
    from certattn.coq.check import Proof

EPILOG = """\b
Examples:
  certattn coq-check cert-coq
  certattn coq-check one-coq two-coq three-coq
  certattn coq-check cert-coq --coqchk --timeout 3600

\b
Exit status: 0 all proved; 1 one not proved, or its folder was changed; 2 no such
folder or one that cannot be read, no Coq, or usage; 4 a limit of time, memory or
disk; 130 interrupted.
"""


@click.command("coq-check", epilog=EPILOG)
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--coqchk", is_flag=True, help="Check the compiled proof with coqchk too: 30 to 70 times slower.")
@click.option(
    "--timeout", type=click.IntRange(1), default=300, metavar="N", show_default=True, help="Seconds for a run of Coq."
)
@click.option("--memory", type=size, default="8G", metavar="SIZE", show_default=True, help="Memory for a run of Coq.")
@reading_limits
def coq_check(folders: tuple[Path, ...], coqchk: bool, timeout: int, memory: int, **limits: Any) -> int:
    """Have Coq prove what `certattn export --format coq` wrote.

    It needs coqc on the path, and the library coq-interval. The library of lemmas is compiled once. Then, for each
    folder, Coq proves the theorem and reports its assumptions. A folder that is not proved does not stop the others.
    """
    from certattn.coq.check import check_folder
    from certattn.coq.compiled import compiled_library
    from certattn.coq.coqc import find_coq

    taken = take_limits(limits)
    statuses = []
    with Progress(len(folders)) as progress, compiled_library() as library:
        coq = find_coq(timeout, memory, progress.waited)
        for folder in folders:
            progress.started(folder)
            try:
                words, status = _proved(folder, check_folder(folder, coq, library, recheck=coqchk, limits=taken)), 0
            except CertattnError as error:
                words, status = _not_proved(folder, str(error)), status_of(error)
            except BrokenPipeError:
                raise  # The reader of our output has gone: that ends a run.
            except OSError as error:
                message, status = refused_by_the_system(error)
                words = _not_proved(folder, message)
            progress.finished()
            progress.clear()
            click.echo("\n".join(words))
            statuses.append(status)
    # That one is not proved is louder than bad input, and this louder than a limit.
    return min((status for status in statuses if status), default=0)


def _proved(folder: Path, proof: Proof) -> list[str]:
    lines = [
        f"proved in Coq  {on_one_line(str(folder))}",
        *_said(proof.states),
        *_said(f"theorem: {proof.theorem}"),
        *_said(f"axioms: {', '.join(proof.axioms) or 'none'}"),
    ]
    if proof.primitive:
        lines.append(f"  and {proof.primitive} about the machine integers of Coq's kernel (--fast)")
    if proof.rechecked:
        lines.append("  coqchk accepts the compiled proof")
    return [*lines, f"  {proof.seconds:.1f} s", f"  statement {proof.digest}"]


def _not_proved(folder: Path, why: str) -> list[str]:
    return [f"not proved     {on_one_line(str(folder))}", *(f"  {line}" for line in printable(why).split("\n"))]


def _said(words: str) -> list[str]:
    return paragraph(printable(words), "  ")
