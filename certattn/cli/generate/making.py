"""The way from a prover's inputs to a file, which every `certattn generate` command goes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.reader import read_tree
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import MalformedError, Place, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.provers.output import require_place
from certattn.provers.plots import draw
from certattn.report.text import on_one_line, paragraph, printable


def make_certificate(
    claim: str,
    out: Path,
    inputs: Mapping[str, Any],
    finding: Callable[[Certificate], str],
    drawing: Callable[[Certificate], str] | None,
) -> None:
    """Generate, and say what was written; `finding` is a sentence about what was found, said first, or "".

    `drawing` makes a figure of the certificate, and a sentence about it that is said last.
    """
    from certattn._api import generate as make
    from certattn.statements.wording import statement_of

    if sys.stderr.isatty():
        click.echo("computing proven bounds ...", err=True)
    certificate = make(claim, out, **inputs)
    # Every file is written before anything is said, for the reader of what is said may leave early (`| head`).
    drawn = drawing(certificate) if drawing is not None else ""
    if said := finding(certificate):
        click.echo(said)
    click.echo(f"wrote {on_one_line(str(out))}")
    click.echo("\n".join(paragraph(printable(statement_of(certificate).words))))
    path = on_one_line(str(out))
    click.echo(f"now prove it: certattn check {shlex.quote(f'./{path}' if path.startswith('-') else path)}")
    if drawn:
        click.echo(drawn)


def draw_into(certificate: Certificate, path: Path, **options: Any) -> str:
    """Draw the picture of the certificate's claim into a file, and say so; `options` are the drawing's own."""
    draw(certificate, path, **options)
    return f"drew {on_one_line(str(path))}"


def read_mapping(path: Path, out: Path) -> dict[str, Plain]:
    """A YAML file, read as strictly as a certificate."""
    require_place(out, path)
    plain = read_tree(path, DEFAULT_LIMITS).plain()
    if isinstance(plain, dict) and {"certattn", "claim", "given"} <= plain.keys():
        raise UsageError(f"{path} is a whole certificate; expected a file with what stands under its given")
    return cast(dict[str, Plain], plain)


@contextmanager
def blaming(path: Path, section: str) -> Iterator[None]:
    """Errors in a section of the certificate are errors in the file that it was taken from."""
    try:
        yield
    except MalformedError as error:
        where = error.place.path
        if where != section and not where.startswith(f"{section}."):
            raise
        place = Place(str(path), 0, where.removeprefix(section).removeprefix("."))
        raise MalformedError(place, error.found, error.expected, error.hint) from None


@contextmanager
def default_limits() -> Iterator[None]:
    """Hints at options of `check` are left out: what is generated keeps to the default limits."""
    try:
        yield
    except MalformedError as error:
        hint = "" if "--" in error.hint else error.hint
        raise MalformedError(error.place, error.found, error.expected, hint) from None
