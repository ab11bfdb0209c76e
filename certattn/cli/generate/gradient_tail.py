"""`certattn generate gradient-tail`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import blaming, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.document.certificate import Certificate

_EPILOG = """\b
Examples:
  certattn generate gradient-tail law.yaml --probability 0.01 --length 1000 -o tail.yaml
  certattn generate gradient-tail law.yaml --gradient V --exceeds 0.3 --length 1000 -o tail.yaml
  certattn generate gradient-tail law.yaml --exceeds 0.3 --probability 0.01 -o length.yaml

\b
A law file holds what certificates write under given, with or without the length, for example
  law: {kind: gaussian, mean: [0, 0], covariance: [[1/2, 0], [0, 1/2]]}
  U: [[1, 0], [0, 1]]
  query: [1, 1/2]
"""

_WORDS = {"exceeds": "height", "probability": "probability", "length": "length"}


@click.command("gradient-tail", epilog=_EPILOG)
@click.argument("law", metavar="LAW", type=click.Path(path_type=Path))
@out_option
@click.option(
    "--gradient",
    type=click.Choice(["U", "V"]),
    default="U",
    show_default=True,
    help="The gradient in U, in the Hilbert-Schmidt norm, or in V, in the operator norm.",
)
@click.option("--exceeds", metavar="EPS", help="What the norm exceeds rarely; the smallest, if left out.")
@click.option("--probability", metavar="DELTA", help="How rarely; the smallest probability, if left out.")
@click.option("--length", metavar="L", help="The number of tokens; the smallest, if left out.")
@note_option
def gradient_tail(law: Path, out: Path, **options: Any) -> None:
    """Bound how rarely a gradient of attention over a random prompt is far from that over an infinite one.

    LAW is a YAML file with `law`, `query` with any of `K`, `Q` (or `U`) and `scale`, `V`, and `length` unless it is an
    option; for the gradient in V a `tilt` is enough. Of the three numbers two are given; the third is found.
    """
    with blaming(law, "given"):
        given = read_mapping(law, out)
        stated = {"length": given.get("length"), **{name: value for name, value in options.items() if value}}
        missing = [name for name in ("exceeds", "probability", "length") if stated.get(name) is None]

        def finding(certificate: Certificate) -> str:
            plain: Any = certificate.plain
            return "; ".join(
                f"smallest {_WORDS[name]} found: {({**plain['asserts'], **plain['given']})[name]}" for name in missing
            )

        make_certificate("gradient-tail", out, given=given, finding=finding, **options)
