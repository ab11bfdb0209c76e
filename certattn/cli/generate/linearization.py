"""`certattn generate linearization`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import (
    array_names,
    blaming,
    draw_into,
    make_certificate,
    note_option,
    out_option,
    read_mapping,
)
from certattn.kernel.document.certificate import Certificate

_EPILOG = """\b
Examples:
  certattn generate linearization weights.npz --beta 1/2 -o linear.yaml --plot linear.svg
  certattn generate linearization weights.npz --beta 1 --unit 1/1024 --state norm --state distance -o far.yaml
  certattn generate linearization head.npz --scale "1/sqrt(32)" -o head.yaml

\b
A YAML file in the place of TOKENS holds what certificates write under given, for example
  queries: [[1, 0], [0, 1]]
  keys: [[1, 2], [-1, 1]]
  beta: 1/2
"""


@click.command("linearization", epilog=_EPILOG)
@click.argument("source", metavar="TOKENS", type=click.Path(path_type=Path))
@out_option
@click.option("--beta", metavar="BETA", help="Inverse temperature; scores are beta unit^2 <q_i, k_j>/sqrt(p).")
@click.option("--unit", metavar="U", help="What queries and keys are multiples of; 1 by default.")
@click.option("--scale", metavar="NUMBER", help="Without beta, the factor of the scores, such as '1/sqrt(32)'.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["norm", "distance", "normaliser", "stages"]),
    help="What to state; all by default, without beta norm and stages.",
)
@click.option("--digits", type=int, default=6, show_default=True, help="Of every bound.")
@click.option(
    "--hint",
    type=click.Choice(["recompute", "float32", "float64"]),
    default="recompute",
    show_default=True,
    help="Store singular vectors of the remainder beside the certificate, or let the checker compute them.",
)
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw the singular values of the remainder and the quarter circle.",
)
@note_option
def linearization(source: Path, out: Path, names: tuple[str, ...], plot: Path | None, **options: Any) -> None:
    """State how far softmax attention is from its linear part.

    TOKENS is a .npz or .safetensors file with arrays `queries` and `keys` (one per row); or a YAML file with what
    certificates write under given.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    options["names"] = array_names(names)
    options["finding"] = _finding
    options["drawing"] = None if plot is None else partial(draw_into, path=plot)
    if source.suffix in (".yaml", ".yml"):
        with blaming(source, "given"):
            make_certificate("linearization", out, given=read_mapping(source, out), **options)
    else:
        make_certificate("linearization", out, source=source, **options)


def _finding(certificate: Certificate) -> str:
    from certattn.provers.spectrum.linearization import words_of_zeros

    return words_of_zeros(certificate)
