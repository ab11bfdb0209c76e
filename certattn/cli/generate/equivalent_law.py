"""`certattn generate equivalent-law`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from certattn.cli.generate.making import draw_into, make_certificate, note_option, out_option
from certattn.kernel.errors import UsageError

_EPILOG = """\b
Examples:
  certattn generate equivalent-law --beta 1 --lambda 1 -o law.yaml
  certattn generate equivalent-law --beta 1/2 --lambda 1/4 --cdf 0.4 --density 1 -o gap.yaml --plot gap.svg
  certattn generate equivalent-law --alpha2 1/3 --beta2 2 --lambda 1/8 --stieltjes '1, 1/2' -o given.yaml
"""


@click.command("equivalent-law", epilog=_EPILOG)
@out_option
@click.option("--lambda", "lambda_", required=True, metavar="LAMBDA", help="d_qk/d.")
@click.option("--beta", metavar="BETA", help="The inverse temperature of softmax; or")
@click.option("--alpha2", metavar="NUMBER", help="alpha^2 and")
@click.option("--beta2", metavar="NUMBER", help="beta^2.")
@click.option(
    "--moments", type=int, default=4, show_default=True, metavar="N", help="How many moments of even order; 0 for none."
)
@click.option("--cdf", multiple=True, metavar="X", help="State mu([0, X]).")
@click.option("--density", multiple=True, metavar="X", help="State the density at X.")
@click.option("--stieltjes", multiple=True, metavar="'RE, IM'", help="State G(RE + IM i).")
@click.option(
    "--share", "shares", multiple=True, metavar="R", help="State the beta at which R of the variance is not linear."
)
@click.option("--digits", type=int, default=15, show_default=True, help="Of every number that is stated.")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the density and a quarter circle.")
@note_option
def equivalent_law(
    out: Path,
    lambda_: str,
    beta: str | None,
    alpha2: str | None,
    beta2: str | None,
    moments: int,
    cdf: tuple[str, ...],
    density: tuple[str, ...],
    stieltjes: tuple[str, ...],
    shares: tuple[str, ...],
    digits: int,
    plot: Path | None,
    note: str,
) -> None:
    """State what is known of the limit law of the singular values of softmax attention with random weights."""
    points = [_point(text) for text in stieltjes]
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    make_certificate(
        "equivalent-law",
        out,
        lambda_=lambda_,
        beta=beta,
        alpha2=alpha2,
        beta2=beta2,
        moments=moments,
        cdf=cdf,
        density=density,
        stieltjes=points,
        shares=shares,
        digits=digits,
        note=note,
        drawing=None if plot is None else partial(draw_into, path=plot),
    )


def _point(text: str) -> tuple[str, str]:
    """The real and the imaginary part. Raises UsageError."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise UsageError(f"--stieltjes {text!r}: expected a real and an imaginary part, such as '1, 1/2'")
    return parts[0], parts[1]
