"""`certattn generate selection-direction`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.shared import (
    blaming,
    draw_into,
    index_list,
    make_certificate,
    note_option,
    out_option,
    read_mapping,
)
from certattn.kernel.document.certificate import Certificate

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
@click.option("--late-rate", is_flag=True, help="State a rate even if it is below 1 only after 10^30 steps.")
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
    late_rate: bool,
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
            late_rate=late_rate,
            note=note,
            finding=partial(_left_out, angles=angles),
            drawing=None if plot is None else partial(draw_into, path=plot),
        )


def _left_out(certificate: Certificate, angles: tuple[str, ...]) -> str:
    """What was asked for, or found, and is not stated because it says nothing."""
    from certattn.kernel.theorems.selection.selection_direction import read
    from certattn.provers.exact_inputs import exact_rational

    problem = read(certificate)
    stated = {angle.at for angle in problem.angles}
    missing = [text for text in angles if exact_rational(text, "--angle") not in stated]
    said = []
    if missing:
        said.append(
            f"left out --angle {', '.join(missing)}: no bound of 1 - cos below 1, a right angle, is proved there"
        )
    if problem.rate is None and problem.rate_begins is not None:
        said.append("left out the rate: none is proved that is below 1 within 10^30 steps (--late-rate states it)")
    return "\n".join(said)
