"""`certattn generate descent-trajectory`."""

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
from certattn.report.progress import counting

_EPILOG = """\b
Examples:
  certattn generate descent-trajectory training.yaml --prompts 8 --length 64 -o descent.yaml
  certattn generate descent-trajectory training.yaml --prompts 8 --length 64 --all-tasks -o descent.yaml
  certattn generate descent-trajectory training.yaml --arrays prompts.npz -o descent.yaml --plot descent.svg

\b
The file holds what certificates write under given, but for the arrays, for example
  model: regression
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[1/2, 0], [0, 1/2]], b: 1/2}
  step: 1/20
  steps: 30
"""


@click.command("descent-trajectory", epilog=_EPILOG)
@click.argument("training", metavar="TRAINING", type=click.Path(path_type=Path))
@out_option
@click.option("--prompts", type=int, metavar="N", help="Draw so many regression prompts.")
@click.option("--length", type=int, metavar="L", help="How many tokens a drawn prompt has.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of drawn prompts.")
@click.option("--arrays", "source", metavar="FILE", type=click.Path(path_type=Path), help="A file with the prompts.")
@click.option("--array", "names", multiple=True, metavar="FIELD=NAME", help="Name of an array in that file.")
@click.option("--all-tasks", is_flag=True, help="Compare with infinite prompts of all tasks, not of the prompts' own.")
@click.option(
    "--at",
    type=click.Choice(["each", "finite", "infinite"]),
    default="each",
    show_default=True,
    help="Where risks and gradients are compared: each at its own iterate, or both at that of one descent.",
)
@click.option("--checkpoint", "checkpoints", type=int, multiple=True, metavar="K", help="A step to state more about.")
@click.option("--gronwall", type=int, metavar="K", help="State the closed bound of Gronwall's lemma for so many steps.")
@click.option(
    "--data",
    type=click.Choice(["auto", "copy", "reference"]),
    default="auto",
    show_default=True,
    help="Copy the arrays beside the certificate, or refer to them where they are.",
)
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the certified bounds of the distance."
)
@note_option
def descent_trajectory(
    training: Path,
    out: Path,
    prompts: int | None,
    length: int | None,
    seed: int,
    names: tuple[str, ...],
    all_tasks: bool,
    plot: Path | None,
    **options: Any,
) -> None:
    """State how far descent on concrete prompts is from the same descent on infinite ones, at every step.

    TRAINING is a YAML file with the model, the covariance or laws of the tokens, `start`, `step` and `steps`. The
    prompts are drawn, or arrays `tokens`, `labels`, `queries`, `targets` and `tasks` of a .npz or .safetensors file.
    """
    from certattn.provers.training.context_prompts import Drawing

    if (prompts is None) is not (length is None):
        raise UsageError("--prompts and --length go together: so many prompts of so many tokens are drawn")
    if plot is not None:
        from certattn.provers.figures import require_figure

        require_figure(plot)
    options["draw"] = Drawing(prompts, length, seed) if prompts is not None and length is not None else None
    with blaming(training, "given"):
        make_certificate(
            "descent-trajectory",
            out,
            given=read_mapping(training, out),
            names=array_names(names),
            tasks=not all_tasks,
            said=counting("steps"),
            drawing=None if plot is None else partial(draw_into, path=plot),
            **options,
        )
