"""What every `certattn generate` command needs: its common options, and the way from inputs to a file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.reader import read_tree
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import MalformedError, Place, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.report.text import on_one_line, paragraph, printable

out_option = click.option(
    "-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The certificate to write."
)
data_option = click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are.",
)
note_option = click.option("--note", default="", help="A line about the certificate for its readers.")


def make_certificate(
    claim: str,
    out: Path,
    *,
    finding: Callable[[Certificate], str] | None = None,
    drawing: Callable[[Certificate], str] | None = None,
    **inputs: Any,
) -> None:
    """Generate, and say what was written; `finding` is a sentence about what was found, said first.

    `drawing` makes a figure of the certificate, and a sentence about it that is said last.
    """
    from certattn._api import generate as make
    from certattn.kernel.decide.checker import claim_of

    # Sums are shared between threads of our own: those of matrix products would only be in the way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stderr.isatty():
        click.echo("computing proven bounds ...", err=True)
    certificate = make(claim, out, **inputs)
    # Every file is written before anything is said, for the reader of what is said may leave early (`| head`).
    drawn = drawing(certificate) if drawing is not None else ""
    made = claim_of(certificate)
    if finding is not None and (said := finding(certificate)):
        click.echo(said)
    click.echo(f"wrote {on_one_line(str(out))}")
    click.echo("\n".join(paragraph(printable(made.statement(made.read(certificate)).words))))
    path = on_one_line(str(out))
    click.echo(f"now prove it: certattn check {shlex.quote(f'./{path}' if path.startswith('-') else path)}")
    if drawn:
        click.echo(drawn)


def draw_into(certificate: Certificate, path: Path, **options: Any) -> str:
    """Draw the picture of the certificate's claim into a file, and say so; `options` are the drawing's own."""
    from certattn.provers.plots import draw

    draw(certificate, path, **options)
    return f"drew {on_one_line(str(path))}"


def read_mapping(path: Path, out: Path) -> dict[str, Plain]:
    """A YAML file, read as strictly as a certificate."""
    from certattn.provers.output import require_place

    require_place(out, [path])
    plain = read_tree(path, DEFAULT_LIMITS).plain()
    if isinstance(plain, dict) and {"certattn", "claim", "given"} <= plain.keys():
        raise UsageError(f"{path} is a whole certificate; expected a file with what stands under its given")
    return cast(dict[str, Plain], plain)


@contextmanager
def blaming(path: Path, section: str) -> Iterator[None]:
    """Errors in a section of the certificate are errors in the file that it was taken from.

    Hints at options of `check` are left out: what is generated keeps to the default limits.
    """
    try:
        yield
    except MalformedError as error:
        place, where = error.place, error.place.path
        if where == section or where.startswith(f"{section}."):
            place = Place(str(path), 0, where.removeprefix(section).removeprefix("."))
        hint = "" if "--" in error.hint else error.hint
        raise MalformedError(place, error.found, error.expected, hint) from None


def array_names(names: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in names:
        field, separator, name = text.partition("=")
        if not field or not separator or not name:
            raise UsageError(f"--array {text!r}: expected FIELD=NAME, such as keys=layer0.k")
        pairs[field] = name
    return pairs


def index_list(text: str) -> list[int]:
    """The indices in a text such as "0, 2, 1". Raises UsageError."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--indices {text!r}: expected indices counted from 0, such as '0, 2, 1'")
    return [int(part) for part in parts]
