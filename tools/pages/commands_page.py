"""The sections of docs/cli.md about single commands, from what `--help` says of them.

docs/conf.py puts them where the page has `<!-- generated: commands -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from certattn.cli.main import cli
from certattn.kernel.theorems import CHAPTER_OF
from tools.pages.codes_page import escaped, table

# They are options of most commands, and described at `certattn check`.
READING = {f"--max-{what}" for what in ("document-bytes", "nodes", "depth", "digits", "exponent", "tensor-bytes")}
_AS_FOR_CHECK = "Limits for reading (`--max-nodes` and others) are those of [`check`](#certattn-check).\n"


def page() -> str:
    """A section for every command."""
    return "\n".join(_section(name, command) for name, command in commands("certattn", cli) if name != "certattn")


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, by their full names, in the order of the help."""
    yield name, command
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            inner = {each: command.get_command(context, each) for each in command.list_commands(context)}
        for each, found in inner.items():
            assert found is not None
            yield from commands(f"{name} {each}", found)


def _section(name: str, command: click.Command) -> str:
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    claim = name.removeprefix("certattn generate ")
    parts = [f"## `{name}`\n", f"```text\n{name} {usage}\n```\n", _prose(command.help)]
    if claim in CHAPTER_OF:
        parts.append(f"What is stated and how it is proved: [{claim}](claims/{CHAPTER_OF[claim]}/{claim}.md).\n")
    with click.Context(command) as context:
        shown = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        rows = [_row(each, context) for each in shown if name == "certattn check" or READING.isdisjoint(each.opts)]
    if rows:
        parts.append(table(("option", "default", ""), rows))
    if len(rows) < len(shown):
        parts.append(_AS_FOR_CHECK)
    return "\n".join([*parts, _prose(command.epilog)])


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join(f"`{each}`" for each in [*option.opts, *option.secondary_opts])
    if not option.is_flag:
        value = re.sub(r"^INTEGER( RANGE)?$", "N", option.make_metavar(context))
        names = f"{names[:-1]} {value}`"
    extra = option.get_help_extra(context)
    default = "required" if extra.get("required") else f"`{extra['default']}`" if extra.get("default") else ""
    bounds = f"({extra['range']})" if extra.get("range") else ""
    return names, default, " ".join(filter(None, [option.help or "", bounds]))


def _prose(text: str | None) -> str:
    """A help text in Markdown: paragraphs, and as code those that click keeps as they are."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", (text or "").strip()):
        if paragraph.lstrip().startswith("\b"):
            parts.append(f"```text\n{paragraph.lstrip().removeprefix(chr(8)).strip(chr(10))}\n```\n")
        elif paragraph:
            parts.append(escaped(" ".join(paragraph.split())) + "\n")
    return "\n".join(parts)
