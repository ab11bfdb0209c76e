"""`certattn generate`: one module per claim."""

from __future__ import annotations

from importlib import import_module

import click

from certattn.cli.groups import SuggestingGroup
from certattn.kernel.theorems import CHAPTER_OF


class _Claims(SuggestingGroup):
    """A command of every claim, imported when it is asked for: the command `max-margin` is `max_margin.max_margin`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(CHAPTER_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in CHAPTER_OF:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"certattn.cli.generate.{name}"), name)
        return command


@click.group(cls=_Claims)
def generate() -> None:
    """Make a certificate. What is generated is not trusted: `certattn check` proves it."""
