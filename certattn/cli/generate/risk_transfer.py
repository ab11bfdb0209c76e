"""`certattn generate risk-transfer`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.making import blaming, draw_into, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.errors import UsageError

_EPILOG = """\b
Examples:
  certattn generate risk-transfer task.yaml -o transfer.yaml
  certattn generate risk-transfer task.yaml --risk 0.05 --pieces 200 -o transfer.yaml --plot transfer.svg

\b
A task file holds what certificates write under given, for example
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/5, 0], [0, 4/5]], b: 1}
and may name a length: then the smallest risk is found that is proved at it.
With tokens, labels, queries and targets, the prompts are given: state a --time.
"""


@click.command("risk-transfer", epilog=_EPILOG)
@click.argument("task", metavar="TASK", type=click.Path(path_type=Path))
@out_option
@click.option("--risk", metavar="R", help="The final risk; 0.1, or with a length the smallest that is proved.")
@click.option("--time", metavar="T", help="Until when the runs are followed; no longer than needed if left out.")
@click.option("--pieces", type=int, default=100, show_default=True, metavar="N", help="Intervals of that time.")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the risk, its bound and the tube.")
@note_option
def risk_transfer(
    task: Path, out: Path, risk: str | None, time: str | None, pieces: int, plot: Path | None, note: str
) -> None:
    """State how long prompts have to be for training on them to end with a small risk.

    TASK is a YAML file with `covariance` and `start`, and possibly `length`, or given prompts.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    with blaming(task, "given"):
        given = read_mapping(task, out)
        if plot is not None and "tokens" in given:
            raise UsageError("--plot: a figure shows prompts of a length; of given prompts there is none")
        make_certificate(
            "risk-transfer",
            out,
            given=given,
            risk=risk,
            time=time,
            pieces=pieces,
            note=note,
            drawing=None if plot is None else partial(draw_into, path=plot),
        )
