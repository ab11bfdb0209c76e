"""`certattn generate risk-gap`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.document.numbers import MOST_COUNT
from certattn.report.progress import counting

_EPILOG = """\b
Examples:
  certattn generate risk-gap ball.yaml --excess 0.1 -o gap.yaml
  certattn generate risk-gap ball.yaml --length 1000 --majorant logistic -o gap.yaml
  certattn generate risk-gap point.yaml -o gap.yaml

\b
A task file holds what certificates write under given: a ball of parameters,
  covariance: [[1, 0], [0, 1]]
  ball: {A_squared: sqrt(2), b_squared: sqrt(2)}
or a length and parameters,
  covariance: [[1, 0], [0, 1]]
  length: 64
  parameters: {A: [[1, 0], [0, 1]], b: 1}
"""


@click.command("risk-gap", epilog=_EPILOG)
@click.argument("task", metavar="TASK", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--length", type=click.IntRange(2, MOST_COUNT), help="Of prompts, over a ball; the shortest is found by default."
)
@click.option("--excess", metavar="E", help="Over a ball: how far R_L may be above R.")
@click.option("--shortfall", metavar="E", help="Over a ball: how far R_L may be below R.")
@click.option(
    "--majorant",
    type=click.Choice(["table", "logistic", "power"]),
    default="table",
    show_default=True,
    help="Over a ball: what lies above the sum of squared weights.",
)
@click.option("--theta", metavar="THETA", help="power: its exponent, 0 < THETA <= 1; searched for by default.")
@click.option(
    "--digits", type=click.IntRange(1, 6), default=3, show_default=True, help="Digits of bounds that are found."
)
@note_option
def risk_gap(task: Path, out: Path, **options: Any) -> None:
    """State what a finite prompt adds to the risk of in-context regression, or how long is long enough.

    TASK is a YAML file with a `covariance`, and either a `ball` of parameters or a `length` and `parameters`.
    """
    with blaming(task, "given"):
        make_certificate("risk-gap", out, given=read_mapping(task, out), said=counting("points"), **options)
