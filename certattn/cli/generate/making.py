"""The way from a prover's inputs to a file, which every `certattn generate` command goes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import MalformedError
from certattn.provers.commands import Rule
from certattn.provers.output import require_place
from certattn.provers.plots import draw
from certattn.report.text import on_one_line, paragraph, printable


def make_certificate(
    claim: str,
    out: Path,
    inputs: Mapping[str, Any],
    finding: Callable[[Certificate], str],
    doubts: Iterable[Rule],
    drawing: Callable[[Certificate], str] | None,
) -> Certificate:
    """Generate, and say what was written; `finding` is a sentence about what was found, said first, or "".

    `doubts` are rules that say where it says little. `drawing` makes a figure of the certificate, and a sentence about
    it that is said last.
    """
    from certattn._inputs import prove
    from certattn.statements.wording import statement_of

    if sys.stderr.isatty():
        click.echo("computing proven bounds ...", err=True)
    certificate = prove(claim, out, inputs)
    # Every file is written before anything is said, for the reader of what is said may leave early (`| head`).
    drawn = drawing(certificate) if drawing is not None else ""
    if said := finding(certificate):
        click.echo(said)
    click.echo(f"wrote {on_one_line(str(out))}")
    click.echo("\n".join(paragraph(printable(statement_of(certificate).words))))
    _tell_doubts(certificate, doubts)
    path = on_one_line(str(out))
    click.echo(f"now prove it: certattn check {shlex.quote(f'./{path}' if path.startswith('-') else path)}")
    if drawn:
        click.echo(drawn)
    return certificate


def draw_into(certificate: Certificate, path: Path, **options: Any) -> str:
    """Draw the picture of the certificate's claim into a file, and say so; `options` are the drawing's own."""
    draw(certificate, path, **options)
    return f"drew {on_one_line(str(path))}"


@contextmanager
def taken_file(
    claim: str, path: Path, section: str, out: Path, source: Path | None, names: Mapping[str, str]
) -> Iterator[dict[str, Plain]]:
    """A section of the certificate from a file; errors in it are errors in the file. Says what is not used.

    Arrays that an option names, which is no part of it, are in `source`, under these `names`.
    """
    from certattn.provers.input_files import columns_beside, notes_on, read_input

    require_place(out, path)
    taken = read_input(path, claim, section, columns_beside(source, names))
    for note in notes_on(taken, claim):
        tell(note)
    with taken.given(out) as given:
        yield given


def _tell_doubts(certificate: Certificate, rules: Iterable[Rule]) -> None:
    """Say where a certificate says little, by the rules of its command and by that of all."""
    from certattn.provers.doubts import doubts

    for doubt in doubts(rules, certificate):
        click.echo("\n".join(paragraph(f"note: {printable(doubt)}")))


def tell(note: str) -> None:
    """What a person should know who can go on: on stderr, beside what is found."""
    click.echo(f"certattn: note: {printable(note)}", err=True)


@contextmanager
def default_limits() -> Iterator[None]:
    """Hints at options of `check` are left out: what is generated keeps to the default limits."""
    try:
        yield
    except MalformedError as error:
        hint = "" if "--" in error.hint else error.hint
        raise MalformedError(error.place, error.found, error.expected, hint) from None
