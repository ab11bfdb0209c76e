"""`certattn generate selection-counterexample`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, index_list, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Example:
  certattn generate selection-counterexample descent.yaml -o counterexample.yaml

\b
The file holds what certificates write under given, for example
  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[1, 0], [1, 0]]
  loss: linear
  descent: {rule: gradient, step: 1/60}
  start: [3, 0]
"""


@click.command("selection-counterexample", epilog=_EPILOG)
@click.argument("descent", metavar="DESCENT", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--indices",
    metavar="'A1, A2, ...'",
    help="The tokens that the descent selects, one of each input, counted from 0; found if left out.",
)
@click.option("--steps", type=int, metavar="K", help="How many steps are enclosed first; found if left out.")
@click.option(
    "--most-steps", type=int, default=100_000, show_default=True, metavar="K", help="How many steps are tried."
)
@note_option
def selection_counterexample(
    descent: Path, out: Path, indices: str | None, steps: int | None, most_steps: int, note: str
) -> None:
    """State that a gradient descent misses the best tokens although all other scores of every input are equal.

    DESCENT is a YAML file with two inputs or more: `keys` and `scores`, or `tokens`, `v` and if need be `W`,
    `labels`; `loss`, `descent` and `start`.
    """
    with blaming(descent, "given"):
        make_certificate(
            "selection-counterexample",
            out,
            given=read_mapping(descent, out),
            indices=None if indices is None else index_list(indices),
            steps=steps,
            most_steps=most_steps,
            note=note,
        )
