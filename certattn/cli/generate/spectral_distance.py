"""`certattn generate spectral-distance`."""

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
  certattn generate spectral-distance weights.npz --scale "1/sqrt(400)" --unit 1 -o weights.yaml --plot weights.svg
  certattn generate spectral-distance weights.npz --scale "1/20" --beta 1/2 --lambda 1 -o weights.yaml
  certattn generate spectral-distance weights.npz --scale "sqrt(9/1600)" --unit 1 --truncate-at fixed-point -o cut.yaml
  certattn generate spectral-distance matrix.npy --alpha2 1/30 --beta2 1/4 --lambda 1 --state separation -o matrix.yaml

\b
A YAML file in the place of MATRIX holds what certificates write under given, for example
  {matrix: [[1, 2], [3, 4]], law: {beta: 1, lambda: 1}}
"""


@click.command("spectral-distance", epilog=_EPILOG)
@click.argument("source", metavar="MATRIX", type=click.Path(path_type=Path))
@out_option
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option(
    "--centred/--not-centred", default=True, show_default=True, help="Whether 1/d is taken off the attention matrix."
)
@click.option("--beta", metavar="BETA", help="The law, by the inverse temperature of softmax; or")
@click.option("--alpha2", metavar="NUMBER", help="by alpha^2 and")
@click.option("--beta2", metavar="NUMBER", help="beta^2,")
@click.option("--lambda", "lambda_", metavar="LAMBDA", help="and d_qk/d; or")
@click.option("--unit", metavar="U", help="by queries and keys whose entries have the standard deviation U.")
@click.option(
    "--truncate-at",
    metavar="TAU",
    help="Cut the weights of softmax off at TAU in that law; fixed-point finds the TAU of the number of tokens.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(
        [
            "fixed-point",
            "law",
            "quarter-circle",
            "scaled-law",
            "scaled-quarter-circle",
            "separation",
            "scaled-separation",
        ]
    ),
    help="What to state; all bounds by default.",
)
@click.option("--places", type=int, default=5, show_default=True, help="Decimal places of the bounds.")
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@data_option
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the singular values and both densities."
)
@note_option
def spectral_distance(source: Path, out: Path, names: tuple[str, ...], plot: Path | None, **options: Any) -> None:
    """State how far singular values are from the limit law of attention, and from quarter circles.

    MATRIX is a .npy file, or a .npz or .safetensors file with an array `matrix`, or with `queries` and `keys` (one per
    row); or a YAML file with the same and the law.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    options |= {"names": array_names(names), "drawing": None if plot is None else partial(draw_into, path=plot)}
    if source.suffix in (".yaml", ".yml"):
        with blaming(source, "given"):
            make_certificate("spectral-distance", out, given=read_mapping(source, out), **options)
    else:
        make_certificate("spectral-distance", out, source=source, **options)
