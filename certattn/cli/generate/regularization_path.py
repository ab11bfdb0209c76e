"""`certattn generate regularization-path`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, index_list, make_certificate, note_option, out_option, read_mapping
from certattn.report.text import on_one_line

_EPILOG = """\b
Examples:
  certattn generate regularization-path tokens.yaml --radius 40 --radius 400 -o path.yaml
  certattn generate regularization-path tokens.yaml --plot path.svg -o path.yaml

\b
The file holds what certificates write under given, for example
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0.9]]
  loss: logistic
"""


@click.command("regularization-path", epilog=_EPILOG)
@click.argument("tokens", metavar="TOKENS", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--radius",
    "radii",
    multiple=True,
    metavar="R",
    help="A radius of the path; one of about 40 times the norm of p_mm if left out.",
)
@click.option(
    "--indices",
    metavar="'A1, A2, ...'",
    help="The chosen token of each input, counted from 0; the best ones if left out.",
)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw the path into this file.")
@note_option
def regularization_path(
    tokens: Path, out: Path, radii: tuple[str, ...], indices: str | None, plot: Path | None, note: str
) -> None:
    """State how near the minimisers over balls |p| <= R are to the max-margin direction.

    TOKENS is a YAML file with `keys` and `scores`, or `tokens`, `v` and if need be `W`, `labels`, `head`; and `loss`.
    """
    with blaming(tokens, "given"):
        make_certificate(
            "regularization-path",
            out,
            given=read_mapping(tokens, out),
            radii=radii,
            indices=None if indices is None else index_list(indices),
            plot=plot,
            drawing=None if plot is None else lambda _: f"drew {on_one_line(str(plot))}",
            note=note,
        )
