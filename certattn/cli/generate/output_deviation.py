"""`certattn generate output-deviation`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import array_names, blaming, make_certificate, note_option, out_option, read_mapping
from certattn.cli.options import arithmetic_option
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.report.progress import counting
from certattn.report.screen import is_drawn_on

_DEVIATION_EPILOG = """\b
Examples:
  certattn generate output-deviation head.npz --scale "1/sqrt(32)" -o head.yaml
  certattn generate output-deviation head.npz --queries 0:64 --norm linf --at-most 0.9 -o head.yaml
  certattn generate output-deviation model.safetensors --array keys=l0.k --array values=l0.v \\
      --array queries=l0.q -o l0.yaml
  certattn generate output-deviation prompt.npz --limit limit.yaml -o prompt.yaml
  certattn generate output-deviation prompt.npz --queries 38:39 --radius 1/4 -o ball.yaml
  certattn generate output-deviation prompt.npz --box "-1:1, 0:1/2, 0" --cells 1000 -o box.yaml
  certattn generate output-deviation head.npz --scale "1/sqrt(32)" --queries 0:3 --hull -o hull.yaml

\b
A limit file holds what certificates write under given.limit, for example
  kind: law
  law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}
A region file holds what they write under given.region, for example
  kind: box
  lower: [-1, 0, 0]
  upper: [1, 1/2, 0]
"""


@click.command("output-deviation", epilog=_DEVIATION_EPILOG)
@click.argument("source", metavar="HEAD", type=click.Path(path_type=Path))
@out_option
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option("--queries", "query_rows", metavar="FIRST:STOP", help="The queries that are meant; all by default.")
@click.option("--radius", metavar="R", help="State it of a ball of this radius around the query that is meant.")
@click.option("--centre", metavar="'Q1, Q2, ...'", help="The centre of the ball, in the place of a query.")
@click.option("--box", metavar="'A1:B1, A2:B2, ...'", help="State it of a box: an interval or a number per coordinate.")
@click.option("--hull", is_flag=True, help="State it of all convex combinations of the queries that are meant.")
@click.option("--region", metavar="FILE", help="State it of the region in a YAML file.")
@click.option(
    "--cells", type=click.IntRange(1), default=200, show_default=True, help="Most cells to cut a region into."
)
@click.option("--lower-bound", is_flag=True, help="State too, as at_least, the largest deviation found in the region.")
@click.option("--limit", default="empirical", show_default=True, help="`empirical`, or a YAML file with a limit.")
@click.option("--norm", type=click.Choice(["l2", "linf"]), default="l2", show_default=True)
@click.option(
    "--at-most", metavar="R", help="The bound to state; by default the smallest that is proved, rounded up to 6 digits."
)
@click.option("--per-query", is_flag=True, help="State a bound for each query too.")
@click.option("--relative", is_flag=True, help="State bounds in units of the output |T(q)| too.")
@click.option(
    "--causal",
    type=click.IntRange(1),
    metavar="N",
    help="The first query sees the first N tokens, every further one sees one more; all see all by default.",
)
@click.option(
    "--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file, or a .npy file."
)
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are; "
    "auto refers if they lie in the certificate's folder.",
)
@arithmetic_option
@note_option
def output_deviation(
    source: Path,
    out: Path,
    limit: str,
    names: tuple[str, ...],
    radius: str | None,
    centre: str | None,
    box: str | None,
    hull: bool,
    region: str | None,
    **options: Any,
) -> None:
    """Bound the distance between a prompt's attention and its linear limit.

    HEAD is a .npz or .safetensors file with arrays `keys`, `values`, `queries` (one per row), or
    `tokens`, `queries` and any of `K`, `Q`, `V`, or `U` and `V`; or a .npy file with the tokens.
    The bound is for every query that is listed, or for every query of a region: a ball (--radius), a
    box (--box) or a convex hull (--hull). A long run over listed queries that was interrupted goes on
    where it was when the same command is given again.
    """
    where = _region(radius, centre, box, hull, read_mapping(Path(region), out) if region is not None else None)
    with blaming(Path(limit), "given.limit"), blaming(Path(region or ""), "given.region" if region else "-"):
        stated = "empirical" if limit == "empirical" else read_mapping(Path(limit), out)
        said = {"said": _say_part} if is_drawn_on(sys.stderr) else {}
        options |= {"limit": stated, "region": where, "names": array_names(names), **said}
        make_certificate("output-deviation", out, source=source, **options)


def _say_part(done: int, parts: int, left: float) -> None:
    """A line of progress in a long run."""
    counting("parts")(done, parts, f", about {left:.0f} s left")


def _region(
    radius: str | None, centre: str | None, box: str | None, hull: bool, stated: dict[str, Plain] | None
) -> dict[str, Plain] | None:
    """The region that one of the options describes. Raises UsageError for several."""
    if centre is not None and radius is None:
        raise UsageError("--centre is that of a ball, whose radius is missing: --radius R")
    found: dict[str, dict[str, Plain] | None] = {
        "--radius": _ball(radius, centre) if radius is not None else None,
        "--box": _box(box) if box is not None else None,
        "--hull": {"kind": "hull"} if hull else None,
        "--region": stated,
    }
    given = {name: region for name, region in found.items() if region is not None}
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} describe a region each; expected one")
    return next(iter(given.values()), None)


def _ball(radius: str, centre: str | None) -> dict[str, Plain]:
    if centre is None:
        return {"kind": "ball", "radius": radius}
    return {"kind": "ball", "centre": [entry.strip() for entry in centre.split(",")], "radius": radius}


def _box(text: str) -> dict[str, Plain]:
    ends = [[end.strip() for end in interval.split(":")] for interval in text.split(",")]
    if any(len(pair) > 2 for pair in ends):
        raise UsageError(
            f"--box {text!r}: expected an interval A:B or a number for each coordinate, as in '-1:1, 0:1/2, 0'"
        )
    return {"kind": "box", "lower": [pair[0] for pair in ends], "upper": [pair[-1] for pair in ends]}
