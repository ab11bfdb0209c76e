"""`certattn generate max-margin`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import array_names, blaming, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate max-margin problem.yaml -o margin.yaml
  certattn generate max-margin inputs.npz -o margin.yaml
  certattn generate max-margin inputs.npz --form direction --digits 50 -o margin.yaml

\b
A YAML file holds what certificates write under given, for example
  keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]
  indices: [1, 1]
"""


@click.command("max-margin", epilog=_EPILOG)
@click.argument("source", metavar="PROBLEM", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--form",
    type=click.Choice(["auto", "exact", "direction"]),
    default="auto",
    show_default=True,
    help="State the solution itself, or a direction and its distance from the solution; "
    "auto states a direction where the solution has more than 32 multipliers.",
)
@click.option(
    "--digits",
    type=click.IntRange(2, 1000),
    default=30,
    show_default=True,
    help="Digits of a direction; half as many of its distance from the solution.",
)
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are; "
    "auto refers if they lie in the certificate's folder.",
)
@note_option
def max_margin(source: Path, out: Path, names: tuple[str, ...], **options: Any) -> None:
    """State the solution of a max-margin problem of token selection, or that it has none.

    PROBLEM is a YAML file with what stands under `given`, or a .npz or .safetensors file with `keys` (or `tokens` and
    `W`) of all inputs, one per row, and `lengths` and `indices`; or with `points` and `labels`.
    """
    if source.suffix in (".yaml", ".yml"):
        with blaming(source, "given"):
            make_certificate("max-margin", out, given=read_mapping(source, out), names=array_names(names), **options)
    else:
        make_certificate("max-margin", out, source=source, names=array_names(names), **options)
