"""`certattn generate proposition-3-4`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping
from certattn.cli.generate.proposition_3_1 import c2_option

_EPILOG = """\b
Examples:
  certattn generate proposition-3-4 one-token.yaml --gradient U -o published.yaml
  certattn generate proposition-3-4 laws.yaml --gradient V -o repaired.yaml

\b
The law file is that of `certattn generate proposition-3-1`.
"""


@click.command("proposition-3-4", epilog=_EPILOG)
@click.argument("law", metavar="LAW", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--gradient", type=click.Choice(["V", "U"]), default="V", show_default=True, help="With respect to V, or to U."
)
@c2_option
@note_option
def proposition_3_4(law: Path, out: Path, gradient: str, c2: str | None, note: str) -> None:
    """Decide a published bound of gradients at an instance, or repair it for every length.

    LAW is a YAML file with `law`, `queries`, any of `K`, `Q`, `V` (or `U`, `V`), `scale`, and `length` or
    `sigma`.
    """
    with blaming(law, "given"):
        make_certificate("proposition-3-4", out, given=read_mapping(law, out), gradient=gradient, c2=c2, note=note)
