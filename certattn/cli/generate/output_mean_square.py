"""`certattn generate output-mean-square`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping

_METHODS = ["auto", "exact", "logistic", "general", "integral", "closed"]

_EPILOG = """\b
Examples:
  certattn generate output-mean-square prompt.yaml -o mean-square.yaml
  certattn generate output-mean-square signs.yaml --method general -o signs.yaml
  certattn generate output-mean-square queries.yaml --method closed -o closed.yaml

\b
A prompt file holds what certificates write under given, for example
  law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}
  tilt: [1, 1/2]
  length: 1000
or, for an average over queries,
  law: {kind: gaussian, mean: [0, 0], covariance: [[1/4, 0], [0, 1/4]]}
  queries: {mean: [0, 0], covariance: [[1, 0], [0, 1]]}
  length: 1000
"""


@click.command("output-mean-square", epilog=_EPILOG)
@click.argument("prompt", metavar="PROMPT", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    default="auto",
    show_default=True,
    help="How the bounds are proved; auto takes the sharpest way.",
)
@click.option(
    "--digits", type=click.IntRange(1, 300), default=9, show_default=True, help="Significant digits of the bounds."
)
@click.option("--t", metavar="T", help="general: share of the normaliser, 0 < T < 1; searched for by default.")
@click.option("--rate", metavar="R", help="general: lambda of the Chernoff bound; the best one by default.")
@click.option("--theta", metavar="THETA", help="closed: exponent of 1/(L - 1); searched for by default.")
@note_option
def output_mean_square(prompt: Path, out: Path, **options: Any) -> None:
    """State the mean square of what a random prompt's attention misses of the infinite prompt's.

    PROMPT is a YAML file with `law`, `length`, optionally `V`, and either `tilt`, or `query` and `U` (or
    `K`, `Q`) and `scale`, or a Gaussian law `queries` in the place of `query`.
    """
    with blaming(prompt, "given"):
        make_certificate("output-mean-square", out, given=read_mapping(prompt, out), **options)
