"""`certattn generate joint-max-margin`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.making import blaming, draw_into, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.errors import UsageError

_EPILOG = """\b
Examples:
  certattn generate joint-max-margin data.yaml -o margins.yaml
  certattn generate joint-max-margin data.yaml --at "40, 40" --at "100, 60" -o path.yaml --plot path.svg

\b
A data file holds what certificates write under given, for example
  tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]
  labels: [1, -1, 1]
  indices: [1, 1, 1]
"""


@click.command("joint-max-margin", epilog=_EPILOG)
@click.argument("data", metavar="DATA", type=click.Path(path_type=Path))
@out_option
@click.option("--at", "norms", multiple=True, metavar="'R_V, R_P'", help="Norms of v and p at which to bound the path.")
@click.option(
    "--loss", type=click.Choice(["logistic", "exponential"]), default="logistic", show_default=True, help="The loss."
)
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw tokens in the plane, v and p.")
@note_option
def joint_max_margin(data: Path, out: Path, norms: tuple[str, ...], loss: str, plot: Path | None, note: str) -> None:
    """Find where a head and attention that are trained together go.

    DATA is a YAML file with `tokens`, `labels`, `indices` and any of `W`, `lengths`. The head's max-margin direction,
    its support inputs and the max-margin attention are found exactly; at stated norms, how near every minimiser of
    the loss is to them.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    pairs = [_pair(text) for text in norms]
    drawing = None if plot is None else partial(draw_into, path=plot)
    with blaming(data, "given"):
        make_certificate(
            "joint-max-margin", out, given=read_mapping(data, out), at=pairs, loss=loss, note=note, drawing=drawing
        )


def _pair(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise UsageError(f"--at {text!r}: expected two norms, such as '40, 40'")
    return parts[0], parts[1]
