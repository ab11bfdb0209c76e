"""`certattn generate token-optimality`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, index_list, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate token-optimality tokens.yaml -o optimality.yaml
  certattn generate token-optimality tokens.yaml --indices "0, 1" --no-all -o optimality.yaml

\b
The file holds what certificates write under given, for example
  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[1, 0], [1, 0]]
"""


@click.command("token-optimality", epilog=_EPILOG)
@click.argument("tokens", metavar="TOKENS", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--indices",
    "selections",
    multiple=True,
    metavar="'A1, A2, ...'",
    help="A selection, a token for each input counted from 0: whether it is locally optimal.",
)
@click.option(
    "--all/--no-all",
    "enumerate_all",
    default=None,
    help="Whether to state all locally optimal selections. [default: where there are at most 10,000 selections]",
)
@note_option
def token_optimality(
    tokens: Path, out: Path, selections: tuple[str, ...], enumerate_all: bool | None, note: str
) -> None:
    """State which tokens are the best ones, and which selections are locally optimal.

    TOKENS is a YAML file with `keys` and `scores`, or `tokens`, `v` and if need be `W`, `labels`.
    """
    with blaming(tokens, "given"):
        make_certificate(
            "token-optimality",
            out,
            given=read_mapping(tokens, out),
            selections=[index_list(text) for text in selections],
            enumerate_all=enumerate_all,
            note=note,
        )
