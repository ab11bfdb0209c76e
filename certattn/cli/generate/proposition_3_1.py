"""`certattn generate proposition-3-1`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate proposition-3-1 one-token.yaml -o published.yaml
  certattn generate proposition-3-1 laws.yaml -o repaired.yaml
  certattn generate proposition-3-1 laws.yaml --c2 1/4 -o repaired.yaml

\b
A law file holds what certificates write under given. For the published form at one length, for example
  law: {kind: gaussian, mean: [0], covariance: [[1]]}
  queries: {kind: gaussian, mean: [0], covariance: [[1]]}
  K: [[0]]
  length: 1
and for a repaired form, for every length, `sigma` in the place of `length`.
"""

c2_option = click.option(
    "--c2", metavar="X", help="The constant c2 of a repaired form; by default nearly the largest that is proved."
)


@click.command("proposition-3-1", epilog=_EPILOG)
@click.argument("law", metavar="LAW", type=click.Path(path_type=Path))
@out_option
@c2_option
@note_option
def proposition_3_1(law: Path, out: Path, c2: str | None, note: str) -> None:
    """Decide a published bound at an instance, or repair it for every length.

    LAW is a YAML file with `law`, `queries`, any of `K`, `Q`, `V` (or `U`, `V`), `scale`, and `length` or
    `sigma`. The bound is that of proposition 3.1: c1 sigma^6 ln L / L^(c2/sigma^2) for the mean square error
    of attention over a prompt of L tokens.
    """
    with blaming(law, "given"):
        make_certificate("proposition-3-1", out, given=read_mapping(law, out), c2=c2, note=note)
