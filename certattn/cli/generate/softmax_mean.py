"""`certattn generate softmax-mean`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import array_names, blaming, make_certificate, note_option, out_option, read_mapping
from certattn.cli.options import arithmetic_option

_MEAN_EPILOG = """\b
Examples:
  certattn generate softmax-mean head.npz --scale "1/sqrt(32)" --queries 0:4 -o mean.yaml
  certattn generate softmax-mean head.npz --covariance --eigenvalues --log-normaliser -o all.yaml
  certattn generate softmax-mean head.npz --covariance --of values-keys --radius 1e-9 -o slope.yaml
  certattn generate softmax-mean prompt.yaml -o mean.yaml

\b
A prompt file holds what certificates write under given, for example
  keys: [[0, 1], [1, 0]]
  values: [[1], [2]]
  queries: [[1, 1/2]]
"""


@click.command("softmax-mean", epilog=_MEAN_EPILOG)
@click.argument("source", metavar="HEAD", type=click.Path(path_type=Path))
@out_option
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option("--queries", "query_rows", metavar="FIRST:STOP", help="The queries that are meant; all by default.")
@click.option("--covariance", is_flag=True, help="State the covariance under the softmax weights too.")
@click.option("--eigenvalues", is_flag=True, help="State the range of its eigenvalues too.")
@click.option("--log-normaliser", is_flag=True, help="State log Z(q), the log of the sum of e^score, too.")
@click.option(
    "--of",
    type=click.Choice(["values", "keys", "values-keys"]),
    default="values",
    show_default=True,
    help="Whose covariance.",
)
@click.option("--digits", type=click.IntRange(1, 1000), default=12, show_default=True, help="Digits to state.")
@click.option("--radius", metavar="R", help="The radius to state; by default the smallest, rounded up to 3 digits.")
@click.option("--per-query", is_flag=True, help="State a radius, and bounds on eigenvalues, for each query.")
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are; "
    "auto refers if they lie in the certificate's folder.",
)
@arithmetic_option
@note_option
def softmax_mean(source: Path, out: Path, names: tuple[str, ...], **options: Any) -> None:
    """State softmax means at queries, and on request covariances, their eigenvalues and log-normalisers.

    HEAD is a .npz or .safetensors file with arrays `keys`, `values`, `queries` (one per row), or
    `tokens`, `queries` and any of `K`, `Q`, `V`, or `U` and `V`; or a YAML file with a prompt.
    """
    if source.suffix in (".yaml", ".yml"):
        with blaming(source, "given"):
            make_certificate("softmax-mean", out, given=read_mapping(source, out), names=array_names(names), **options)
    else:
        make_certificate("softmax-mean", out, source=source, names=array_names(names), **options)
