"""`certattn generate`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click

from certattn.cli.options import arithmetic_option
from certattn.kernel.document.tree import Plain, read_tree
from certattn.kernel.errors import MalformedError, Place, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.report.text import on_one_line, paragraph, printable

out_option = click.option(
    "-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The certificate to write."
)


note_option = click.option("--note", default="", help="A line about the certificate for its readers.")


@click.group()
def generate() -> None:
    """Make a certificate. What is generated is not trusted: `certattn check` proves it."""


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


@generate.command("output-deviation", epilog=_DEVIATION_EPILOG)
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
    where = _region(radius, centre, box, hull, _mapping(Path(region), out) if region is not None else None)
    with _blaming(Path(limit), "given.limit"), _blaming(Path(region or ""), "given.region" if region else "-"):
        stated = "empirical" if limit == "empirical" else _mapping(Path(limit), out)
        said = {"said": _say_part} if sys.stderr.isatty() else {}
        options |= {"limit": stated, "region": where, "names": _pairs(names), **said}
        _generate("output-deviation", out, source=source, **options)


_OPERATOR_EPILOG = """\b
Examples:
  certattn generate infinite-prompt-operator law.yaml -o operator.yaml
  certattn generate infinite-prompt-operator signs.yaml --query "1, 1/2" --query "0, 2" -o signs-values.yaml

\b
A law file holds what certificates write under given, for example
  law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}
  V: [[1, 0]]
"""


@generate.command("infinite-prompt-operator", epilog=_OPERATOR_EPILOG)
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
    with _blaming(law, "given"):
        _generate("infinite-prompt-operator", out, given=_mapping(law, out), queries=points, radius=radius, note=note)


_EXPONENTIAL_EPILOG = """\b
Examples:
  certattn generate binary64-exponential -o exponential.yaml
  certattn generate binary64-exponential --tail -o exponential-with-tail.yaml
"""


@generate.command("binary64-exponential", epilog=_EXPONENTIAL_EPILOG)
@out_option
@click.option("--tail", is_flag=True, help="State the bound for the form that adds a tail to the reduced argument.")
@click.option("--at-most", metavar="R", help="The bound to state; by default what is proved, rounded up to 6 digits.")
@note_option
def binary64_exponential(out: Path, **options: Any) -> None:
    """State how exact the kernel's exponential in binary64 is.

    The table of the exponential is written beside the certificate, as exponential-table.npy.
    """
    _generate("binary64-exponential", out, **options)


def _generate(claim: str, out: Path, **inputs: Any) -> None:
    from certattn._api import generate as make
    from certattn.kernel.checker import claim_of

    # Sums are shared between threads of our own: those of matrix products would only be in the way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stderr.isatty():
        click.echo("computing proven bounds ...", err=True)
    certificate = make(claim, out, **inputs)
    made = claim_of(certificate)
    click.echo(f"wrote {on_one_line(str(out))}")
    click.echo("\n".join(paragraph(printable(made.statement(made.read(certificate)).words))))
    path = on_one_line(str(out))
    click.echo(f"now prove it: certattn check {shlex.quote(f'./{path}' if path.startswith('-') else path)}")


def _say_part(done: int, parts: int, left: float) -> None:
    """A line of progress in a long run."""
    end = "\n" if done == parts else ""
    click.echo(f"\r\x1b[K{done} of {parts} parts, about {left:.0f} s left{end}", err=True, nl=False, color=True)


def _mapping(path: Path, out: Path) -> dict[str, Plain]:
    """A YAML file, read as strictly as a certificate."""
    from certattn.provers.output import require_place

    require_place(out, [path])
    plain = read_tree(path, DEFAULT_LIMITS).plain()
    return cast(dict[str, Plain], plain)


@contextmanager
def _blaming(path: Path, section: str) -> Iterator[None]:
    """Errors in a section of the certificate are errors in the file that it was taken from.

    Hints at options of `check` are left out: what is generated keeps to the default limits.
    """
    try:
        yield
    except MalformedError as error:
        place, where = error.place, error.place.path
        if where == section or where.startswith(f"{section}."):
            place = Place(str(path), 0, where.removeprefix(section).removeprefix("."))
        hint = "" if "--" in error.hint else error.hint
        raise MalformedError(place, error.found, error.expected, hint) from None


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


def _pairs(names: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in names:
        field, separator, name = text.partition("=")
        if not field or not separator or not name:
            raise UsageError(f"--array {text!r}: expected FIELD=NAME, such as keys=layer0.k")
        pairs[field] = name
    return pairs


_MEAN_EPILOG = """\b
Examples:
  certattn generate softmax-mean head.npz --scale "1/sqrt(32)" --queries 0:4 -o mean.yaml
  certattn generate softmax-mean head.npz --covariance --eigenvalues --log-normaliser -o all.yaml
  certattn generate softmax-mean head.npz --covariance --of values-keys --radius 1e-9 -o slope.yaml
  certattn generate softmax-mean prompt.yaml -o mean.yaml

\b
A prompt file holds what certificates write under given, for example
  keys: [[0, 1], [1, 0]]
  values: [[1], [2]]
  queries: [[1, 1/2]]
"""


@generate.command("softmax-mean", epilog=_MEAN_EPILOG)
@click.argument("source", metavar="HEAD", type=click.Path(path_type=Path))
@out_option
@click.option("--scale", default="1", show_default=True, help="Factor of the scores, an exact number.")
@click.option("--queries", "query_rows", metavar="FIRST:STOP", help="The queries that are meant; all by default.")
@click.option("--covariance", is_flag=True, help="State the covariance under the softmax weights too.")
@click.option("--eigenvalues", is_flag=True, help="State the range of its eigenvalues too.")
@click.option("--log-normaliser", is_flag=True, help="State log Z(q), the log of the sum of e^score, too.")
@click.option(
    "--of",
    type=click.Choice(["values", "keys", "values-keys"]),
    default="values",
    show_default=True,
    help="Whose covariance.",
)
@click.option("--digits", type=click.IntRange(1, 1000), default=12, show_default=True, help="Digits to state.")
@click.option("--radius", metavar="R", help="The radius to state; by default the smallest, rounded up to 3 digits.")
@click.option("--per-query", is_flag=True, help="State a radius, and bounds on eigenvalues, for each query.")
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are; "
    "auto refers if they lie in the certificate's folder.",
)
@note_option
def softmax_mean(source: Path, out: Path, names: tuple[str, ...], **options: Any) -> None:
    """State softmax means at queries, and on request covariances, their eigenvalues and log-normalisers.

    HEAD is a .npz or .safetensors file with arrays `keys`, `values`, `queries` (one per row), or
    `tokens`, `queries` and any of `K`, `Q`, `V`, or `U` and `V`; or a YAML file with a prompt.
    """
    if source.suffix in (".yaml", ".yml"):
        with _blaming(source, "given"):
            _generate("softmax-mean", out, given=_mapping(source, out), names=_pairs(names), **options)
    else:
        _generate("softmax-mean", out, source=source, names=_pairs(names), **options)
