"""`certattn generate selection-on-a-head`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from certattn.cli.generate.making import (
    array_names,
    blaming,
    draw_into,
    make_certificate,
    note_option,
    out_option,
    read_mapping,
)
from certattn.kernel.errors import UsageError

_EPILOG = """\b
Examples:
  certattn generate selection-on-a-head head.npz --scale "1/sqrt(32)" -o head.yaml
  certattn generate selection-on-a-head head.npz --scale "1/sqrt(32)" --queries 1:512 --causal 2 -o causal.yaml
  certattn generate selection-on-a-head head.npz --score value-norm --separability selected -o head.yaml
  certattn generate selection-on-a-head head.npz --exposure 7 --exposure 11 --per-query -o head.yaml --plot head.svg

\b
A YAML file in the place of HEAD holds what certificates write under given, for example
  keys: [[0, 1], [1, 0], [0, 0]]
  values: [[1], [2], [0]]
  queries: [[1, 1/2]]
"""


VALUE_NORM = "value-norm"


@click.command("selection-on-a-head", epilog=_EPILOG)
@click.argument("source", metavar="HEAD", type=click.Path(path_type=Path))
@out_option
@click.option("--scale", default="1", show_default=True, help="Factor of the logits, an exact number.")
@click.option("--queries", "query_rows", metavar="FIRST:STOP", help="The queries that are meant; all by default.")
@click.option(
    "--causal", type=int, metavar="N", help="The first query sees the first N tokens, every further one one more."
)
@click.option("--score", metavar="value-norm|'V1, V2, ...'", help="What tokens are worth: |value|, or <v, value>.")
@click.option(
    "--separability",
    type=click.Choice(["selected", "best"]),
    multiple=True,
    help="How clearly one matrix selects the selected, or the best, tokens.",
)
@click.option("--exposure", type=int, multiple=True, metavar="TOKEN", help="How clearly any query selects the token.")
@click.option(
    "--gap", type=float, default=0.05, show_default=True, help="How far bounds of a largest margin may be apart."
)
@click.option("--per-query", is_flag=True, help="State margins and weights of each query.")
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in the file.")
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw selected tokens and weights; with --per-query.",
)
@note_option
def selection_on_a_head(
    source: Path, out: Path, names: tuple[str, ...], score: str | None, plot: Path | None, **options: Any
) -> None:
    """State which token a head selects at each query, by what margin, and with what softmax weight.

    HEAD is a .npz or .safetensors file with arrays `keys`, `values`, `queries` (one per row), or
    `tokens`, `queries` and any of `K`, `Q`, `V`, or `U` and `V`; or a YAML file with a head.
    """
    if plot is not None:
        from certattn.provers.figures import require_figure

        if not options["per_query"]:
            raise UsageError("--plot shows what is stated of each query; expected --per-query beside it")
        require_figure(plot)
    if score is not None:
        options["score"] = score if score.replace("-", "").isalpha() else [text.strip() for text in score.split(",")]
    options |= {"names": array_names(names), "drawing": None if plot is None else partial(draw_into, path=plot)}
    if source.suffix in (".yaml", ".yml"):
        with blaming(source, "given"):
            make_certificate("selection-on-a-head", out, given=read_mapping(source, out), **options)
    else:
        make_certificate("selection-on-a-head", out, source=source, **options)
