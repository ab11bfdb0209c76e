"""`certattn generate`: a command of every claim, made from the description at the end of its prover."""

from __future__ import annotations

from pathlib import Path

import click

import certattn
from certattn.cli.generate.command import command_of
from certattn.cli.groups import LazyGroup
from certattn.kernel.theorems import Claims, module_of


def first_line(claim: str) -> str:
    """What the prover of a claim says that it does, read from its source: to import all of them takes a second."""
    source = Path(certattn.__file__).parents[1] / f"{module_of('provers', claim).replace('.', '/')}.py"
    with source.open(encoding="utf-8") as lines:
        return next(lines).strip().strip('"')


@click.group(cls=LazyGroup, lines=Claims(first_line), load=command_of)
def generate() -> None:
    """Make a certificate. What is generated is not trusted: `certattn check` proves it."""
