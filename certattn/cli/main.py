"""`certattn`: the group of commands, each loaded only when it is called."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import Any

import click

from certattn._version import __version__
from certattn.kernel.errors import CertattnError, NotProvedError

# name -> (module, object, line of help). The line stands here so that --help loads no command.
COMMANDS = {
    "check": ("certattn.cli.check", "check", "Prove, refute or reject certificates."),
    "generate": ("certattn.cli.generate", "generate", "Make a certificate from arrays or a law."),
    "show": ("certattn.cli.show", "show", "Say in words and LaTeX what a certificate states."),
    "derive": ("certattn.cli.derive", "derive", "Print a derivation, or re-prove it with --check."),
    "schema": ("certattn.cli.schema", "schema", "Print the JSON Schema of the certificate format."),
}

EPILOG = """\b
Exit status: 0 all verified; 1 refuted or rejected; 2 malformed or usage;
3 inconclusive; 4 a time or memory limit; 70 a bug; 130 interrupted.

\b
Shell completion (bash; zsh and fish likewise):
  eval "$(_CERTATTN_COMPLETE=bash_source certattn)"
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"certattn {__version__}")
        ctx.exit()


@click.command(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
def cli() -> None:
    """Certificates about softmax attention, re-proved with interval arithmetic.

    \b
    certattn generate output-deviation head.npz --scale "1/sqrt(32)" -o head.yaml
    certattn check head.yaml
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: the one place where errors become messages."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """The exit status of a command line."""
    try:
        result: Any = cli.main(args=arguments, prog_name="certattn", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", 130)
    except NotProvedError as error:
        return _fail(str(error), 1)
    except CertattnError as error:
        return _fail(str(error), 2)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return _fail("no space left on the device", 4)
        return _fail(f"{error.filename or 'input or output'}: {(error.strerror or str(error)).lower()}", 2)
    except MemoryError:
        return _fail("out of memory", 4)


def _fail(message: str, status: int) -> int:
    click.echo(f"certattn: {message}", err=True)
    return status
