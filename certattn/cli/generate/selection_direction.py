"""`certattn generate selection-direction`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.shared import blaming, index_list, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.document.certificate import Certificate
from certattn.report.text import on_one_line

_EPILOG = """\b
Examples:
  certattn generate selection-direction descent.yaml -o direction.yaml
  certattn generate selection-direction descent.yaml --angle 1000 --angle 1000000000 -o direction.yaml
  certattn generate selection-direction descent.yaml -o direction.yaml --plot direction.svg

\b
The file holds what certificates write under given, for example
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0.9]]
  loss: logistic
  descent: {rule: gradient, step: 1}
  start: [0, -1.5]
"""


@click.command("selection-direction", epilog=_EPILOG)
@click.argument("descent", metavar="DESCENT", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--indices",
    metavar="'A1, A2, ...'",
    help="The chosen token of each input, counted from 0; where the descent goes if left out.",
)
@click.option("--theorem", metavar="NAME", help="The theorem to apply; found if left out.")
@click.option("--steps", type=int, metavar="K", help="How many steps are enclosed first; found if left out.")
@click.option(
    "--most-steps", type=int, default=100_000, show_default=True, metavar="K", help="How many steps are tried."
)
@click.option(
    "--angle", "angles", multiple=True, metavar="K", help="A step (time of the flow) at which to bound the angle."
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw the run and what is certified of it, for keys in the plane.",
)
@note_option
def selection_direction(
    descent: Path,
    out: Path,
    indices: str | None,
    theorem: str | None,
    steps: int | None,
    most_steps: int,
    angles: tuple[str, ...],
    plot: Path | None,
    note: str,
) -> None:
    """State the direction that descent on the loss of token selection converges to, with a rate.

    DESCENT is a YAML file with `keys` and `scores`, or `tokens`, `v` and if need be `W`, `labels`; `loss`, `descent`
    and `start`.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    with blaming(descent, "given"):
        make_certificate(
            "selection-direction",
            out,
            given=read_mapping(descent, out),
            indices=None if indices is None else index_list(indices),
            theorem=theorem,
            steps=steps,
            most_steps=most_steps,
            angles=angles,
            note=note,
            drawing=None if plot is None else partial(_draw, path=plot),
        )


def _draw(certificate: Certificate, path: Path) -> str:
    from certattn.provers.selection_plot import draw_certificate

    draw_certificate(certificate, path)
    return f"drew {on_one_line(str(path))}"
