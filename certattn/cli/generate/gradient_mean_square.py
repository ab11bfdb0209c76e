"""`certattn generate gradient-mean-square`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate gradient-mean-square prompt.yaml -o gradient.yaml
  certattn generate gradient-mean-square prompt.yaml --gradient V --digits 12 -o values.yaml
  certattn generate gradient-mean-square signs.yaml --method general -o signs.yaml

\b
A prompt file holds what certificates write under given, for example
  law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}
  U: [[1, 0], [0, 1]]
  query: [1, 1/2]
  length: 1000
"""


@click.command("gradient-mean-square", epilog=_EPILOG)
@click.argument("prompt", metavar="PROMPT", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--gradient",
    type=click.Choice(["U", "V"]),
    default="U",
    show_default=True,
    help="The gradient in U, in the Hilbert-Schmidt norm, or in V, in the operator norm.",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "exact", "logistic", "general"]),
    default="auto",
    show_default=True,
    help="How the bounds are proved; auto takes the sharpest that applies.",
)
@click.option(
    "--digits", type=click.IntRange(1, 100), default=6, show_default=True, help="Significant digits to state."
)
@note_option
def gradient_mean_square(prompt: Path, out: Path, **options: Any) -> None:
    """State the mean square of what the gradients of attention over a random prompt miss of their limits.

    PROMPT is a YAML file with `law`, `length`, optionally `V`, and `query` with `U` (or `K`, `Q`) and `scale`; for
    the gradient in V a `tilt` is enough.
    """
    with blaming(prompt, "given"):
        make_certificate("gradient-mean-square", out, given=read_mapping(prompt, out), **options)
