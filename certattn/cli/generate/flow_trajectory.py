"""`certattn generate flow-trajectory`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.making import blaming, draw_into, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.errors import UsageError

_EPILOG = """\b
Examples:
  certattn generate flow-trajectory flow.yaml --time 1 --time 10 -o points.yaml
  certattn generate flow-trajectory flow.yaml --within 1e-6 -o arrival.yaml
  certattn generate flow-trajectory flow.yaml --time 8 --points 16 --tube -o tube.yaml --plot tube.svg

\b
The file holds what certificates write under given, for example
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/10, 0], [0, 2/5]], b: 1/2}
where {alpha: 1/2, P: [[3/5, 0], [0, 4/5]]} is a start, too: A = alpha P and b = alpha.
"""


@click.command("flow-trajectory", epilog=_EPILOG)
@click.argument("flow", metavar="FLOW", type=click.Path(path_type=Path))
@out_option
@click.option("--time", "times", multiple=True, metavar="T", help="A time at which to state where the flow is.")
@click.option(
    "--within",
    metavar="DISTANCE",
    help="Instead: until it is so near to the zero of R with the same |A|_F^2 - b^2 and sign of b.",
)
@click.option(
    "--points",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="At N times up to then, T (k/N)^2 for k = 1 to N.",
)
@click.option("--radius", default="1e-20", show_default=True, help="How near what is stated is to the truth.")
@click.option("--tube", is_flag=True, help="Bound the distance from straight lines between the points as well.")
@click.option("--order", type=int, metavar="N", help="Order of the Taylor polynomials; chosen if left out.")
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw what is certified of the path and the risk."
)
@click.option(
    "--across",
    default="0, 0",
    show_default=True,
    metavar="'I, J'",
    help="With --plot: the entry of A to draw, or norm.",
)
@note_option
def flow_trajectory(
    flow: Path,
    out: Path,
    times: tuple[str, ...],
    within: str | None,
    points: int,
    radius: str,
    tube: bool,
    order: int | None,
    plot: Path | None,
    across: str,
    note: str,
) -> None:
    """State where the gradient flow of training in context is, at some times.

    FLOW is a YAML file with `covariance` and `start`.
    """
    entry = _entry(across)
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    with blaming(flow, "given"):
        make_certificate(
            "flow-trajectory",
            out,
            given=read_mapping(flow, out),
            times=times,
            within=within,
            points=points,
            radius=radius,
            tube=tube,
            order=order,
            note=note,
            drawing=None if plot is None else partial(draw_into, path=plot, entry=entry),
        )


def _entry(text: str) -> tuple[int, int] | None:
    """The row and column of an entry of A, counted from 0; None for the norm. Raises UsageError."""
    parts = [part.strip() for part in text.split(",")]
    if text == "norm":
        return None
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--across {text!r}: expected norm, or a row and a column counted from 0, such as '0, 1'")
    return int(parts[0]), int(parts[1])
