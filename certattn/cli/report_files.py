"""The files of `certattn check --report FORM=FILE`: which are written, and that none of them is an input."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import click

from certattn.kernel.errors import UsageError
from certattn.report.formats import FORMATS

# Endings of what a check reads: a report of such a name would take the place of a certificate, its arrays or a lock.
_INPUTS = (".yaml", ".yml", ".npz", ".npy", ".safetensors", ".zip", ".lock")


def named_reports(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of format and file from FORM=FILE."""
    pairs = [tuple(value.split("=", 1)) for value in values]
    for value, pair in zip(values, pairs, strict=True):
        if len(pair) != 2 or pair[0] not in FORMATS or not pair[1]:
            raise click.BadParameter(f"{value!r} is not FORM=FILE, with a format of {', '.join(FORMATS)}")
        if pair[1] == "-":
            raise click.BadParameter(f"{value!r}: expected the name of a file; --format {pair[0]} prints a report")
    if len({file for _, file in pairs}) < len(pairs):
        raise click.BadParameter("two reports in one file")
    return [(form, file) for form, file in pairs]


def open_reports(
    files: Sequence[tuple[str, str]], certificates: Sequence[Path], stack: ExitStack
) -> list[tuple[str, TextIO]]:
    """Format and open file of each report, empty. Raises UsageError before any is emptied, and OSError."""
    for _, file in files:
        _require_no_input(Path(file), certificates)
    return [(kind, stack.enter_context(open(file, "w", encoding="utf-8"))) for kind, file in files]


def _require_no_input(file: Path, certificates: Sequence[Path]) -> None:
    # A link is followed when the file is opened.
    for name in (file, file.resolve()):
        if name.suffix.lower() in _INPUTS:
            raise UsageError(f"--report: {name} would be an input by its name; expected one such as report.json")
    if file.exists() and any(path.exists() and file.samefile(path) for path in certificates):
        raise UsageError(f"--report: {file} is a certificate to be checked, and would be overwritten")
