"""`certattn generate singular-values`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import (
    array_names,
    blaming,
    data_option,
    draw_into,
    make_certificate,
    note_option,
    out_option,
    read_mapping,
)

_EPILOG = """\b
Examples:
  certattn generate singular-values head.npz --scale "1/sqrt(32)" -o head.yaml
  certattn generate singular-values head.npz --scale "1/sqrt(32)" --above 1 --above 2 -o counts.yaml
  certattn generate singular-values head.npz --scale "1/sqrt(32)" --causal --largest 8 -o causal.yaml
  certattn generate singular-values matrix.npy --largest 10 --radius 1e-9 -o largest.yaml
  certattn generate singular-values matrix.npy --state norm --state effective-rank -o norm.yaml
  certattn generate singular-values weights.npz --scale "1/20" --unit 1 --state norm -o weights.yaml --plot weights.svg

\b
A YAML file in the place of MATRIX holds what certificates write under given, for example
  matrix: [[1, 2], [3, 4]]
"""


@click.command("singular-values", epilog=_EPILOG)
@click.argument("source", metavar="MATRIX", type=click.Path(path_type=Path))
@out_option
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option(
    "--centred/--not-centred", default=True, show_default=True, help="Whether 1/d is taken off the attention matrix."
)
@click.option("--causal", is_flag=True, help="Query i sees the first i tokens alone: the matrix of a decoder's head.")
@click.option("--largest", type=int, metavar="K", help="How many singular values to state; all by default.")
@click.option("--radius", metavar="R", help="How far stated values may be off, an exact number.")
@click.option("--above", multiple=True, metavar="T", help="State how many singular values are larger than T.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["values", "norm", "energy", "stable-rank", "entropy", "effective-rank"]),
    help="What to state; all but entropy by default, nothing but counts with --above alone.",
)
@click.option(
    "--hint",
    type=click.Choice(["recompute", "float32", "float64"]),
    default="recompute",
    show_default=True,
    help="Store singular vectors beside the certificate, or let the checker compute them.",
)
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@data_option
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the singular values.")
@click.option(
    "--unit",
    metavar="U",
    help="With --plot: the standard deviation of queries and keys, for the limit law.",
)
@note_option
def singular_values(
    source: Path, out: Path, names: tuple[str, ...], plot: Path | None, unit: str | None, **options: Any
) -> None:
    """State the singular values of a matrix, or of attention over queries and keys.

    MATRIX is a .npy file, or a .npz or .safetensors file with an array `matrix`, or with `queries` and `keys` (one per
    row); or a YAML file with the same.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    if unit is not None:
        from certattn.provers.spectrum.singular_plot import require_drawable

        require_drawable(unit, plot is not None)
    options["names"] = array_names(names)
    options["drawing"] = None if plot is None else partial(draw_into, path=plot, unit=unit)
    if source.suffix in (".yaml", ".yml"):
        with blaming(source, "given"):
            make_certificate("singular-values", out, given=read_mapping(source, out), **options)
    else:
        make_certificate("singular-values", out, source=source, **options)
