"""`certattn generate`: a command of every claim, made from the description at the end of its prover."""

from __future__ import annotations

from pathlib import Path

import click

import certattn
from certattn.cli.generate.command import command_of
from certattn.cli.groups import LazyGroup
from certattn.kernel.theorems import CHAPTERS, Claims, module_of


def first_line(claim: str) -> str:
    """What the prover of a claim says that it does, read from its source: to import all of them takes a second."""
    source = Path(certattn.__file__).parents[1] / f"{module_of('provers', claim).replace('.', '/')}.py"
    with source.open(encoding="utf-8") as lines:
        return next(lines).strip().strip('"')


# What the chapters are about, for the help.
_CHAPTERS = {
    "attention": "One prompt",
    "prompts": "Random prompts",
    "selection": "Token selection",
    "training": "Training in context",
    "spectrum": "Spectra",
    "arithmetic": "The checker's arithmetic",
}


class _ByChapter(LazyGroup):
    """Claims, by chapter."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for chapter, title in _CHAPTERS.items():
            with formatter.section(title):
                formatter.write_dl([(claim, self.line(claim)) for claim in CHAPTERS[chapter]])


EPILOG = """\b
Which of them answers a question? certattn ask "how long must my prompt be"
"""


@click.group(cls=_ByChapter, lines=Claims(first_line), load=command_of, epilog=EPILOG)
def generate() -> None:
    """Make a certificate. What is generated is not trusted: `certattn check` proves it.

    A file under the name of the certificate is overwritten; a .npz file beside it never is. Numbers keep to the default
    limits, so that a check needs no option.
    """
