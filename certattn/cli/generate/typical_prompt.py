"""`certattn generate typical-prompt`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import array_names, blaming, make_certificate, note_option, out_option, read_mapping

_EPILOG = """\b
Examples:
  certattn generate typical-prompt prompt.npz --law law.yaml --probability 0.01 -o typical.yaml
  certattn generate typical-prompt prompt.npz --law law.yaml --query 5 --norm linf --exceeds 0.3 -o typical.yaml
  certattn generate typical-prompt prompt.npz --law law.yaml --direction "1, 0" --probability 0.01 -o typical.yaml

\b
A law file holds a law as certificates write it, alone or under `law`, for example
  law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}
"""


@click.command("typical-prompt", epilog=_EPILOG)
@click.argument("source", metavar="PROMPT", type=click.Path(path_type=Path))
@out_option
@click.option("--law", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The law of the tokens.")
@click.option("--query", type=int, default=0, show_default=True, help="Which of the queries, counted from 0.")
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option("--direction", "directions", multiple=True, metavar="'U1, U2, ...'", help="A direction u of the output.")
@click.option("--norm", type=click.Choice(["l2", "linf"]), help="The norm; l2 where no direction is given.")
@click.option("--exceeds", metavar="EPS", help="The height that is exceeded rarely; the smallest, if left out.")
@click.option("--probability", metavar="DELTA", help="How rarely; the smallest probability, if left out.")
@click.option(
    "--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file, or a .npy file."
)
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are.",
)
@note_option
def typical_prompt(
    source: Path, out: Path, law: Path, names: tuple[str, ...], directions: tuple[str, ...], **options: Any
) -> None:
    """State of a prompt what a random prompt nearly always keeps to.

    PROMPT is a .npz or .safetensors file with arrays `tokens`, `queries` and any of `K`, `Q`, `V`, or `U` and
    `V`; or a .npy file with the tokens. Of the height and the probability at least one is given; the other is
    found, as small as the rules allow.
    """
    vectors = [[text.strip() for text in direction.split(",")] for direction in directions]
    with blaming(law, "given.law"):
        stated = read_mapping(law, out)
        inner: Any = stated.get("law", stated)
        options |= {"law": inner, "names": array_names(names), "directions": vectors}
        make_certificate("typical-prompt", out, source=source, **options)
