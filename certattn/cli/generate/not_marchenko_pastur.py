"""`certattn generate not-marchenko-pastur`."""

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
  certattn generate not-marchenko-pastur --beta 1/2 --lambda 1 -o law.yaml
  certattn generate not-marchenko-pastur --alpha2 1/3 --beta2 2 --lambda 1/8 --state excess -o excess.yaml
  certattn generate not-marchenko-pastur --beta 1/2 --lambda 1 --matrix weights.npz --scale "1/40" -o weights.yaml

\b
A YAML file for --matrix holds what certificates write under given.finite, for example
  matrix: [[1, 2], [3, 4]]
"""


@click.command("not-marchenko-pastur", epilog=_EPILOG)
@out_option
@click.option("--beta", metavar="BETA", help="The inverse temperature of softmax; or")
@click.option("--alpha2", metavar="NUMBER", help="alpha^2 and")
@click.option("--beta2", metavar="NUMBER", help="beta^2.")
@click.option("--lambda", "lambda_", required=True, metavar="LAMBDA", help="d_qk/d.")
@click.option(
    "--matrix", "source", metavar="FILE", type=click.Path(path_type=Path), help="One matrix to state separations of."
)
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option(
    "--centred/--not-centred", default=True, show_default=True, help="Whether 1/d is taken off the attention matrix."
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["fourth-moment", "excess", "distance", "scaled-distance", "separation", "scaled-separation"]),
    help="What to state; everything by default.",
)
@click.option("--places", type=int, default=4, show_default=True, help="Decimal places of the bounds.")
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@data_option
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw densities and distribution functions of the law and of quarter circles.",
)
@note_option
def not_marchenko_pastur(
    source: Path | None, out: Path, names: tuple[str, ...], plot: Path | None, **options: Any
) -> None:
    """State by how much the limit law of attention differs from quarter circle laws.

    FILE is a .npy file, or a .npz or .safetensors file with an array `matrix`, or with `queries` and `keys` (one per
    row); or a YAML file with the same.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    options |= {"names": array_names(names), "drawing": None if plot is None else partial(draw_into, path=plot)}
    if source is not None and source.suffix in (".yaml", ".yml"):
        with blaming(source, "given.finite"):
            make_certificate("not-marchenko-pastur", out, finite=read_mapping(source, out), **options)
    else:
        make_certificate("not-marchenko-pastur", out, source=source, **options)
