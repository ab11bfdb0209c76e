"""`certattn generate output-tail`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import blaming, draw_into, make_certificate, note_option, out_option, read_mapping
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError

_TAIL_EPILOG = """\b
Examples:
  certattn generate output-tail law.yaml --direction "1, 0" --probability 0.01 --length 1000 -o tail.yaml
  certattn generate output-tail law.yaml --norm l2 --exceeds 0.3 --length 1000 -o tail.yaml
  certattn generate output-tail law.yaml --norm linf --exceeds 0.3 --probability 0.01 -o length.yaml
  certattn generate output-tail law.yaml --direction "0, 1" --exceeds 0.3 --probability 0.01 \\
      -o tail.yaml --plot tail.svg

\b
A law file holds what certificates write under given, with or without the length, for example
  law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}
  query: [1, 1/2]
  U: [[1, 0], [0, 1]]
"""


_WORDS = {"exceeds": "height", "probability": "probability"}


@click.command("output-tail", epilog=_TAIL_EPILOG)
@click.argument("law", metavar="LAW", type=click.Path(path_type=Path))
@out_option
@click.option("--direction", "directions", multiple=True, metavar="'U1, U2, ...'", help="A direction u of the output.")
@click.option("--norm", type=click.Choice(["l2", "linf"]), help="Bound a norm of the deviation.")
@click.option("--exceeds", metavar="EPS", help="The height that is exceeded rarely; the smallest, if left out.")
@click.option("--probability", metavar="DELTA", help="How rarely; the smallest probability, if left out.")
@click.option("--length", metavar="L", help="The number of tokens; the smallest, if left out.")
@click.option(
    "--method",
    type=click.Choice(["rules", "mean-square"]),
    default="rules",
    show_default=True,
    help="mean-square bounds a norm over Gaussian tokens by Markov's inequality: instant, and less sharp.",
)
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the bound against the length.")
@note_option
def output_tail(law: Path, out: Path, directions: tuple[str, ...], plot: Path | None, **options: Any) -> None:
    """Bound how rarely the output over a random prompt is far from that over an infinite one.

    LAW is a YAML file with `law`, and `tilt`, or `query` with any of `K`, `Q` (or `U`) and `scale`; `V`, and
    `length` unless it is an option. Of the height, the probability and the length two are given; the third is
    found, as small as the rules allow. A direction or norm is bounded, or several at once.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        if len(directions) + (options["norm"] is not None) != 1:
            raise UsageError("--plot shows one direction or one norm")
        if options["method"] != "rules":
            raise UsageError("--plot shows bounds by rules; expected --method rules")
        require_figure(plot)
    vectors = [[text.strip() for text in direction.split(",")] for direction in directions]
    with blaming(law, "given"):
        given = read_mapping(law, out)
        finding = partial(_finding, found=_left_out({**options, "length": options["length"] or given.get("length")}))
        drawing = None if plot is None else partial(draw_into, path=plot)
        make_certificate(
            "output-tail", out, given=given, directions=vectors, finding=finding, drawing=drawing, **options
        )


def _left_out(stated: dict[str, Any]) -> str:
    """Which of the three numbers is to be found; "" for none."""
    return next((name for name in ("exceeds", "probability", "length") if stated.get(name) is None), "")


def _finding(certificate: Certificate, found: str) -> str:
    """What was found, in a sentence; "" where nothing was to be found."""
    plain: Any = certificate.plain
    if found in ("", "length"):
        return f"smallest length found: {plain['given']['length']} tokens" if found else ""
    parts = [
        *plain["asserts"].get("directions", []),
        *([plain["asserts"]["norm"]] if "norm" in plain["asserts"] else []),
    ]
    return f"smallest {_WORDS[found]} found: {', '.join(part[found] for part in parts)}"
