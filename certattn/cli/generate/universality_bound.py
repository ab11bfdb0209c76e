"""`certattn generate universality-bound`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate universality-bound random.yaml -o universality.yaml
  certattn generate universality-bound queries.yaml --probability 0.001 -o universality.yaml

\b
A task file holds what certificates write under given: sizes of random queries,
  {beta: 1/2, eta: 1, lambda: 1, d: 1000}
or queries, one a row, written out or in an array file,
  {beta: 1/2, eta: 1, queries: [[1, 0], [0, 1]]}
"""


@click.command("universality-bound", epilog=_EPILOG)
@click.argument("task", metavar="TASK", type=click.Path(path_type=Path))
@out_option
@click.option("--probability", default="0.01", show_default=True, help="Of the deviation from the mean that is stated.")
@click.option("--digits", type=click.IntRange(1, 12), default=4, show_default=True, help="Digits of bounds.")
@note_option
def universality_bound(task: Path, out: Path, **options: Any) -> None:
    """State how far exponential scores are from Gaussian columns, for given queries or for random ones.

    TASK is a YAML file with `beta`, `eta`, and either `queries` or `lambda` and `d`.
    """
    with blaming(task, "given"):
        make_certificate("universality-bound", out, given=read_mapping(task, out), **options)
