"""`certattn`: the group of commands, each loaded only when it is called."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

import click

from certattn._version import __version__
from certattn.cli.groups import LazyGroup
from certattn.cli.statuses import refused_by_the_system, status_of
from certattn.kernel.errors import CertattnError

# What each command does, for a help that loads none: the command `coq-check` is `certattn.cli.coq_check.coq_check`.
COMMANDS = {
    "ask": "Say which command answers a question.",
    "check": "Prove, refute or reject certificates.",
    "generate": "Make a certificate from arrays or a law.",
    "compare": "Prove how far a kernel's output is from attention.",
    "audit": "State and prove what the heads of a transformer do.",
    "sweep": "Make and check many certificates from one spec.",
    "explain": "Say what a verdict or an obligation means.",
    "trust": "List the files that a verdict rests on.",
    "show": "Say in words and LaTeX what a certificate states.",
    "diff": "Say how two certificates differ.",
    "lock": "Record the statements that a repository promises.",
    "bundle": "Pack certificates into an archive for readers.",
    "init": "Set up a repository to keep certificates valid.",
    "plot": "Draw what a certificate states.",
    "report": "Check certificates and write a page about them.",
    "derive": "Print a derivation, or re-prove it with --check.",
    "export": "Write a certificate as a theorem for Coq.",
    "coq-check": "Have Coq prove exported theorems.",
    "schema": "Print the JSON Schema of certificates or reports.",
}

EPILOG = """\b
Exit status: 0 all verified; 1 refuted or rejected; 2 malformed or usage;
3 inconclusive; 4 a resource limit; 70 a bug; 130 interrupted.

\b
Shell completion (bash; zsh and fish likewise):
  eval "$(_CERTATTN_COMPLETE=bash_source certattn)"
"""


class _OutputGoneError(Exception):
    """A broken pipe, under a name that click does not turn into the exit status 1."""


class _Commands(LazyGroup):
    """The commands of `certattn`, whose output may lose its reader."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _OutputGoneError from error


def _load(name: str) -> click.Command:
    name = name.replace("-", "_")
    command: click.Command = getattr(importlib.import_module(f"certattn.cli.{name}"), name)
    return command


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"certattn {__version__}")
        ctx.exit()


@click.command(
    cls=_Commands,
    lines=COMMANDS,
    load=_load,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
    """Run the command line as the program of this process and exit."""
    _prepare_process()
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """The exit status of a command line: the one place where errors become messages."""
    try:
        result: Any = cli.main(args=arguments, prog_name="certattn", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        with _heard_or_not():
            error.show()
        return 2
    except (click.Abort, KeyboardInterrupt) as error:
        # click has an Abort for it, of which it is the cause.
        said = str(error.__cause__ or error)
        return _fail(f"interrupted; {said}" if said else "interrupted", 130)
    except CertattnError as error:
        return _fail(str(error), status_of(error))
    except (_OutputGoneError, BrokenPipeError):
        return _output_gone()
    except OSError as error:
        return _fail(*refused_by_the_system(error))
    except MemoryError:
        return _fail("out of memory", 4)
    except Exception as error:
        from certattn.isolation.worker import bug

        return _fail(bug(error), 70)


def _fail(message: str, status: int) -> int:
    from certattn.report.text import printable

    with _heard_or_not():
        click.echo(f"certattn: {printable(message)}", err=True)
    return status


@contextmanager
def _heard_or_not() -> Iterator[None]:
    """A message that nobody can read (a full disk, a closed pipe) changes no exit status."""
    try:
        yield
    except OSError:
        _fall_silent(sys.stderr)


def _output_gone() -> int:
    """The reader of our output has gone (`| head`): end as a program does that SIGPIPE ends."""
    _fall_silent(sys.stdout, sys.stderr)
    return 128 + signal.SIGPIPE


def _fall_silent(*streams: TextIO) -> None:
    """Let what is still to be written go nowhere, so that the end of the program writes it without an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        with suppress(OSError, ValueError):
            os.dup2(nothing, stream.fileno())


def _prepare_process() -> None:
    """Streams that cannot fail on what is printed; signals that end workers and clean up."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor is the closed one
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # File names need not be text in any encoding.
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, no worker can be waited for
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _ended_by)


def _ended_by(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
