"""Options that several commands share: limits, the root folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from certattn.kernel.decide.checker import ARITHMETICS
from certattn.kernel.limits import DEFAULT_LIMITS, Limits

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def size(value: str | int) -> int:
    """A number of bytes: 500M, 4G."""
    text = str(value).lower().removesuffix("b")
    unit = text[-1:] if text[-1:] in ("k", "m", "g") else ""
    digits = text.removesuffix(unit) if unit else text
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18 or int(digits) == 0:
        raise click.BadParameter(f"{value!r} is not a size such as 500M or 4G")
    return int(digits) * _UNITS[unit]


# Option, type, the field of Limits that it sets, help.
_LIMITS = (
    ("--max-document-bytes", size, "max_document_bytes", "Largest certificate file."),
    ("--max-nodes", click.IntRange(1), "max_nodes", "Largest number of values in a certificate file."),
    ("--max-depth", click.IntRange(1), "max_depth", "Deepest nesting in a certificate file."),
    ("--max-digits", click.IntRange(1), "max_digits", "Longest number, in characters."),
    ("--max-exponent", click.IntRange(1), "max_exponent", "Largest decimal or binary exponent."),
    ("--max-tensor-bytes", size, "max_tensor_bytes", "Largest array file."),
)
_CHECK_LIMITS = (
    ("--max-bits", click.IntRange(2), "max_bits", "Highest working precision."),
    ("--timeout", click.IntRange(1), "timeout_seconds", "Seconds for one certificate."),
    ("--memory", size, "memory_bytes", "Memory for one certificate, such as 500M or 8G."),
)


def reading_limits(command: F) -> F:
    """The options that bound what a file may hold."""
    return _limit_options(_LIMITS, command)


def checking_limits(command: F) -> F:
    """The options that bound what a check may use."""
    return _limit_options(_CHECK_LIMITS, _limit_options(_LIMITS, command))


def _limit_options(options: tuple[tuple[str, Any, str, str], ...], command: F) -> F:
    for name, kind, field, text in reversed(options):
        default, metavar = getattr(DEFAULT_LIMITS, field), "N"
        if kind is size:
            default, metavar = _shown(default), "SIZE"
        add = click.option(name, field, type=kind, default=default, metavar=metavar, show_default=True, help=text)
        command = add(command)
    return command


def _shown(default: int) -> str:
    for unit in ("g", "m"):
        if default % _UNITS[unit] == 0:
            return f"{default // _UNITS[unit]}{unit.upper()}"
    return str(default)


def take_limits(options: dict[str, Any]) -> Limits:
    """Move the limits out of a command's options."""
    fields = [field for field in Limits.__dataclass_fields__ if field in options]
    return Limits(**{field: options.pop(field) for field in fields})


root_option = click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder that array files may lie in; the certificate's own by default.",
)


arithmetic_option = click.option(
    "--arithmetic",
    type=click.Choice(ARITHMETICS),
    default="auto",
    show_default=True,
    help="Balls in binary64 with proved bounds (fast), in Arb (any precision), or auto: first one, then the other.",
)


jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1),
    metavar="N",
    help="Certificates checked at once; one per processor by default.",
)


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or programs.",
)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def goes_on() -> Iterator[None]:
    """Work that the same command goes on with: an interrupt says so."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on from here") from None
