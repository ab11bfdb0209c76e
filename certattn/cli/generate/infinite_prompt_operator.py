"""`certattn generate infinite-prompt-operator`."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping

_OPERATOR_EPILOG = """\b
Examples:
  certattn generate infinite-prompt-operator law.yaml -o operator.yaml
  certattn generate infinite-prompt-operator signs.yaml --query "1, 1/2" --query "0, 2" -o signs-values.yaml

\b
A law file holds what certificates write under given, for example
  law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}
  V: [[1, 0]]
"""


@click.command("infinite-prompt-operator", epilog=_OPERATOR_EPILOG)
@click.argument("law", metavar="LAW", type=click.Path(path_type=Path))
@out_option
@click.option("--query", "queries", multiple=True, metavar="'Z1, Z2, ...'", help="A query at which to state T(z).")
@click.option("--radius", default="1e-15", show_default=True, help="Half-width of the stated values.")
@note_option
def infinite_prompt_operator(law: Path, out: Path, queries: tuple[str, ...], radius: str, note: str) -> None:
    """State the operator that attention becomes for a law of tokens.

    LAW is a YAML file with `law`, and any of `K`, `Q`, `V` (or `U`, `V`), `scale`, `queries`.
    """
    points = [[text.strip() for text in query.split(",")] for query in queries]
    with blaming(law, "given"):
        make_certificate(
            "infinite-prompt-operator", out, given=read_mapping(law, out), queries=points, radius=radius, note=note
        )
