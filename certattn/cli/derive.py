"""`certattn derive`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from certattn.extras import require_extras

if TYPE_CHECKING:
    from certattn.theory.derivation import Derivation, Outcome

EPILOG = """\b
Examples:
  certattn derive                                      what there is
  certattn derive infinite-prompt-operator             the derivation, step by step
  certattn derive output-deviation --latex > steps.tex a fragment to paste into a paper
  certattn derive infinite-prompt-operator --check     prove every step again
  certattn derive --check                              prove every step of every derivation

\b
Exit status: 0 printed, and with --check every step proved; 1 a step is not proved;
2 usage, or sympy is not installed.
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False)
@click.option("--latex", is_flag=True, help="Print LaTeX for a document with amsmath and amssymb.")
@click.option(
    "--check", is_flag=True, help="Prove every step again with sympy, and that the kernel runs the same formulas."
)
@click.pass_context
def derive(ctx: click.Context, name: str | None, latex: bool, check: bool) -> None:
    """Print how a claim's formulas follow from first principles, or prove it again.

    NAME is the name of a claim. Left out, it lists what there is; with --latex or --check it stands
    for all of them.
    """
    derivations = _load()
    if name is None and not latex and not check:
        for derivation in derivations.values():
            click.echo(f"{derivation.name:<26}{derivation.title} ({len(derivation.steps)} steps)")
        return
    chosen = list(derivations.values()) if name is None else [_find(name, derivations)]
    failed = False
    for index, derivation in enumerate(chosen):
        if index > 0:
            click.echo()
        if latex:
            from certattn.theory.rendering import as_latex

            click.echo(as_latex(derivation))
        if check:
            # With --latex the results are comments, so that the output stays a fragment.
            failed = not _prove(derivation, prefix="% " if latex else "") or failed
        if not latex and not check:
            from certattn.theory.rendering import as_text

            click.echo(as_text(derivation))
    if failed:
        ctx.exit(1)


def _load() -> Mapping[str, Derivation]:
    require_extras("derivations", "theory")
    from certattn.theory import DERIVATIONS

    return DERIVATIONS


def _find(name: str, derivations: Mapping[str, Derivation]) -> Derivation:
    if name not in derivations:
        near = "".join(f"; did you mean {each!r}?" for each in get_close_matches(name, derivations, 1))
        raise click.UsageError(f"no derivation is called {name!r}{near or '.'} There are: {', '.join(derivations)}")
    return derivations[name]


def _prove(derivation: Derivation, prefix: str) -> bool:
    """Prove every step, print a line for each, and say whether all hold."""
    click.echo(f"{prefix}{derivation.name}: {derivation.title}")
    holds, proved = [], 0
    for number, outcome in enumerate(derivation.prove(), start=1):
        for line in _result_lines(number, outcome):
            click.echo(f"{prefix}{line}")
        holds.append(outcome.holds)
        proved += outcome.proved
    summary = f"{sum(holds)} of {len(derivation.steps)} steps proved, {proved} checks"
    click.echo(f"{prefix}{summary}")
    return len(holds) == len(derivation.steps) > 0 and all(holds)


def _result_lines(number: int, outcome: Outcome) -> list[str]:
    total = outcome.proved + len(outcome.failed)
    verdict = "proved" if outcome.holds else "FAILED"
    counted = f"{outcome.proved} of {total} checks" if outcome.failed else f"{total} checks"
    lines = [f"{verdict}  {number:>2}. {outcome.step.title} ({counted}, {outcome.seconds:.1f} s)"]
    return lines + [f"            not proved: {name}" for name in outcome.failed]
