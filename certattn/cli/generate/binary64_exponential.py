"""`certattn generate binary64-exponential`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import make_certificate, note_option, out_option

_EXPONENTIAL_EPILOG = """\b
Examples:
  certattn generate binary64-exponential -o exponential.yaml
  certattn generate binary64-exponential --tail -o exponential-with-tail.yaml
"""


@click.command("binary64-exponential", epilog=_EXPONENTIAL_EPILOG)
@out_option
@click.option("--tail", is_flag=True, help="State the bound for the form that adds a tail to the reduced argument.")
@click.option("--at-most", metavar="R", help="The bound to state; by default what is proved, rounded up to 6 digits.")
@note_option
def binary64_exponential(out: Path, **options: Any) -> None:
    """State how exact the kernel's exponential in binary64 is.

    The table of the exponential is written beside the certificate, as exponential-table.npy.
    """
    make_certificate("binary64-exponential", out, **options)
