"""`certattn generate training-convergence`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.making import blaming, draw_into, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate training-convergence training.yaml -o rate.yaml
  certattn generate training-convergence training.yaml --from auto -o rate.yaml --plot rate.svg
  certattn generate training-convergence training.yaml --from 40 --enclosed 0 --risk-at 100 -o rate.yaml

\b
A training file holds what certificates write under given, for example
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/5, 0], [0, 4/5]], b: 1}
  training: {rule: flow}
where {alpha: 1/2, P: [[3/5, 0], [0, 4/5]]} is a start, too: A = alpha P and b = alpha.
"""


@click.command("training-convergence", epilog=_EPILOG)
@click.argument("training", metavar="TRAINING", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--from",
    "begins",
    default="0",
    show_default=True,
    metavar="TIME",
    help="From when on to state the rate (descent: a step); auto: where it is nine tenths of that at the limit.",
)
@click.option(
    "--enclosed", metavar="TIME", help="Until when the run is enclosed step by step; as far as --from if left out."
)
@click.option("--risk-at", "risks", multiple=True, metavar="TIME", help="A time or step at which to bound the risk.")
@click.option(
    "--numbers/--no-numbers", default=None, help="State the limit in numbers; up to 8 x 8 they are if left out."
)
@click.option("--most-steps", type=int, default=20_000, show_default=True, metavar="K", help="How far auto looks.")
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the risk of the run and what is certified."
)
@note_option
def training_convergence(
    training: Path,
    out: Path,
    begins: str,
    enclosed: str | None,
    risks: tuple[str, ...],
    numbers: bool | None,
    most_steps: int,
    plot: Path | None,
    note: str,
) -> None:
    """State the rate at which training in context converges, and to which Bayes point.

    TRAINING is a YAML file with `covariance`, `start` and `training`.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    with blaming(training, "given"):
        make_certificate(
            "training-convergence",
            out,
            given=read_mapping(training, out),
            begins=begins,
            enclosed=enclosed,
            risks=risks,
            numbers=numbers,
            most_steps=most_steps,
            note=note,
            drawing=None if plot is None else partial(draw_into, path=plot),
        )
