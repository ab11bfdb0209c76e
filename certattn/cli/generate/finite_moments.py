"""`certattn generate finite-moments`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import make_certificate, note_option, out_option

_EPILOG = """\b
Examples:
  certattn generate finite-moments --beta 1/2 --d 1000 -o moments.yaml
  certattn generate finite-moments --beta 3/4 --lambda 1/2 --d 1000 --order 4 -o fourth.yaml
  certattn generate finite-moments --beta 1 --order 4 --within 0.05 -o smallest.yaml
"""


@click.command("finite-moments", epilog=_EPILOG)
@out_option
@click.option("--beta", required=True, help="The inverse temperature of the scores.")
@click.option("--lambda", "lambda_", default="1", show_default=True, help="p / d, the width over the number of keys.")
@click.option("--d", "d", type=click.IntRange(2), help="Number of queries and of keys; found with --within by default.")
@click.option(
    "--order", "orders", type=int, multiple=True, help="2k of a moment to state: 2, 4, 6 or 8; all by default."
)
@click.option("--within", metavar="E", help="State that d is the smallest with the moment this near to its limit.")
@click.option("--digits", type=click.IntRange(1, 30), default=6, show_default=True, help="Digits of bounds.")
@note_option
def finite_moments(out: Path, orders: tuple[int, ...], **options: Any) -> None:
    """State expected moments of the matrix of exponential scores at finite size, beside those of its limit.

    With --within, the smallest size is looked for at which the moment of one --order is that near to its limit.
    """
    if orders:
        options["orders"] = orders
    make_certificate("finite-moments", out, **options)
