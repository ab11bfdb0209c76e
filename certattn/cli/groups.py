"""Groups of commands: each imported when it is called, and a wrong name answered with the right one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """Commands that are loaded when they are called; `lines` has a line of each, for a help that loads none."""

    def __init__(self, *, lines: Mapping[str, str], load: Callable[[str], click.Command], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._lines = lines
        self._load = load

    def line(self, name: str) -> str:
        """What a command does."""
        return self._lines[name]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._load(cmd_name) if cmd_name in self._lines else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        named = [CompletionItem(name, help=line) for name, line in self._lines.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A name that no command has is answered with the nearest that one has."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            if not near or near[0] in error.message:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None
