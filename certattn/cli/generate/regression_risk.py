"""`certattn generate regression-risk`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.errors import UsageError

_EPILOG = """\b
Examples:
  certattn generate regression-risk point.yaml -o risk.yaml
  certattn generate regression-risk point.yaml --predict "1, 0; 2, -1/2" --state stationary -o bayes.yaml
  certattn generate regression-risk point.yaml --along direction.yaml -o curved.yaml

\b
A point file holds what certificates write under given, for example
  covariance: [[1, 1/2], [1/2, 5/4]]
  parameters: {A: [[5/4, -1/2], [-1/2, 1]], b: 1}
and a direction file A and b in the same way.
"""


@click.command("regression-risk", epilog=_EPILOG)
@click.argument("point", metavar="POINT", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["risk", "gradient", "invariant", "stationary", "endpoint"]),
    help="What to state; all that hold there if left out, matrices up to 8 x 8 only.",
)
@click.option(
    "--predict", "pairs", multiple=True, metavar="'W1, W2, ...; X1, X2, ...'", help="State the prediction at w and x."
)
@click.option(
    "--along", type=click.Path(path_type=Path), metavar="DIRECTION", help="State the second derivative along it."
)
@click.option("--radius", default="1e-15", show_default=True, help="Half-width of the endpoint.")
@note_option
def regression_risk(
    point: Path, out: Path, states: tuple[str, ...], pairs: tuple[str, ...], along: Path | None, radius: str, note: str
) -> None:
    """State the risk of in-context regression at a point, its gradient, and the Bayes point with the same invariant.

    POINT is a YAML file with `covariance` and `parameters`; DIRECTION one with `A` and `b`.
    """
    predictions = [_pair(text) for text in pairs]
    with blaming(point, "given"):
        make_certificate(
            "regression-risk",
            out,
            given=read_mapping(point, out),
            states=states,
            predictions=predictions,
            along=None if along is None else read_mapping(along, out),
            radius=radius,
            note=note,
        )


def _pair(text: str) -> tuple[list[str], list[str]]:
    """w and x. Raises UsageError."""
    parts = [[entry.strip() for entry in part.split(",")] for part in text.split(";")]
    if len(parts) != 2:
        raise UsageError(f"--predict {text!r}: expected w and x, such as '1, 0; 2, -1/2'")
    return parts[0], parts[1]
