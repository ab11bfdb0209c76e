"""`certattn generate normalizer-bound`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import make_certificate, note_option, out_option

_EPILOG = """\b
Examples:
  certattn generate normalizer-bound --beta 1/2 --d 1000 -o normalizer.yaml
  certattn generate normalizer-bound --beta 1 --lambda 1/2 --d 10000 -o normalizer.yaml
"""


@click.command("normalizer-bound", epilog=_EPILOG)
@out_option
@click.option("--beta", required=True, help="The inverse temperature of the scores.")
@click.option("--lambda", "lambda_", default="1", show_default=True, help="p / d, the width over the number of keys.")
@click.option("--d", "d", type=click.IntRange(2), required=True, help="Number of queries and of keys.")
@click.option("--digits", type=click.IntRange(1, 12), default=4, show_default=True, help="Digits of bounds.")
@note_option
def normalizer_bound(out: Path, **options: Any) -> None:
    """State what the normaliser of softmax attention changes in its singular values, on average.

    How far normalisers may fall below their mean, and how long queries may be, is searched for.
    """
    make_certificate("normalizer-bound", out, **options)
