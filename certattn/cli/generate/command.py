"""A command of `certattn generate` from its description: what click has to know, and what becomes of what was typed."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from certattn.cli.generate.making import (
    default_limits,
    draw_into,
    make_certificate,
    taken_file,
    tell,
)
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import MalformedError, Place
from certattn.kernel.theorems import module_of
from certattn.provers.commands import Argument, Arrays, Command, Kind, Option, Whole, Words, Yaml, array_name, words_of
from certattn.provers.exact_inputs import out_of_hundred
from certattn.provers.figures import require_figure
from certattn.report.progress import counting
from certattn.report.text import on_one_line

_OUT = click.Option(
    ["-o", "--out"], required=True, type=click.Path(dir_okay=False, path_type=Path), help="The certificate to write."
)
_NOTE = click.Option(["--note"], default="", help="A line about the certificate for its readers.")


def command_of(claim: str) -> click.Command:
    """The command of a claim, whose prover is imported for it."""
    # Sums are shared between threads of our own: those of matrix products would only be in the way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    prover = import_module(module_of("provers", claim))
    described: Command = prover.COMMAND
    inputs = inspect.signature(prover.generate).parameters
    defaults = {name: None if of.default is of.empty else of.default for name, of in inputs.items()}
    first, words = str(prover.__doc__).partition("\n")[0], words_of(claim)
    return click.Command(
        claim,
        params=[
            *(click.Argument([of.input], metavar=of.name, type=_type(of.kind)) for of in described.arguments),
            _OUT,
            *(_option(option, defaults) for option in described.options),
            _NOTE,
        ],
        help=f"{first}\n\n{words.help}",
        epilog=_epilog(claim, words),
        callback=partial(_generate, claim, described, "plot" in inputs),
    )


def _option(option: Option, defaults: Mapping[str, Any]) -> click.Option:
    """An option has the default of its input, which is shown where it says more than that the option is left out."""
    default = defaults.get(option.input, option.default)
    flag = option.kind is bool
    text = f"{option.help} May be repeated.".strip() if option.many else option.help
    said = isinstance(default, str | int | float) and default != "" and (not flag or "/" in option.flags)
    return click.Option(
        [option.flags, option.input],
        type=None if flag else _type(option.kind),
        is_flag=flag or None,
        help=text or None,
        metavar=option.metavar,
        multiple=option.many,
        required=option.required,
        show_default=said,
        # To click, a default of None is one, with which nothing is missing.
        **({} if option.required else {"default": default}),
    )


def _type(kind: Kind) -> Any:
    if isinstance(kind, Whole):
        return click.IntRange(kind.least, kind.most)
    if isinstance(kind, Yaml):
        return str
    if isinstance(kind, Arrays) or kind is Path:
        return click.Path(path_type=Path)
    return kind if isinstance(kind, type) else click.Choice(list(kind))


def _epilog(claim: str, words: Words) -> str:
    """The examples, and what the YAML file holds. Below a line with a backspace, click keeps lines as they are."""
    lines = words.examples.splitlines()
    typed = [f"  {line}" if line.startswith(" ") else f"  certattn generate {claim} {line}" for line in lines]
    count = sum(not line.startswith(" ") for line in lines)
    examples = "\n".join(["\b", "Examples:" if count > 1 else "Example:", *typed])
    return f"{examples}\n\n\b\n{words.file}" if words.file else examples


def _generate(claim: str, described: Command, draws_itself: bool, out: Path, note: str, **typed: Any) -> None:
    """What a command does: read the files, make the inputs of the prover, and have it make the certificate."""
    plot: Path | None = typed.get("plot")
    if plot is not None:
        require_figure(plot)
    with ExitStack() as files:
        files.enter_context(default_limits())
        files.enter_context(_blaming_options(described, typed))
        read: dict[str, Any] = {}
        source = typed["source"] if described.names_arrays else None
        names = dict(map(array_name, typed.get("names") or ()))

        def section(path: Path, of: Yaml | Arrays) -> dict[str, Any]:
            return files.enter_context(taken_file(claim, path, of.section, out, source, names))

        for taken in described.takes:
            read |= _read(taken, typed[taken.input], section)
        inputs = {**described.inputs(read), "note": note}
        of_picture = {option.input: inputs.pop(option.input) for option in described.options if option.picture}
        if not draws_itself:
            inputs.pop("plot", None)
        if described.progress:
            inputs["said"] = _saying(described.progress)
        drawing = None if plot is None else partial(_said_drawn if draws_itself else draw_into, path=plot, **of_picture)

        def finding(certificate: Certificate) -> str:
            return described.finding(certificate, inputs)

        certificate = make_certificate(claim, out, inputs, finding, described.doubts, drawing)
        if "scale" in typed and _is_default("scale"):
            from certattn.provers.doubts import scale_left_out

            for doubt in scale_left_out(certificate, default=inputs.get("given") is None):
                tell(doubt)


@contextmanager
def _blaming_options(described: Command, typed: Mapping[str, Any]) -> Iterator[None]:
    """Errors in a field that is as an option was typed are errors in that option."""
    try:
        yield
    except MalformedError as error:
        for option in described.options:
            # Rows are those of the queries.
            field = "queries.rows" if option.input == "query_rows" else option.input
            if error.place.path in (field, f"given.{field}") and typed[option.input] is not None:
                place = Place(f"{option.flags.partition('/')[0]} {typed[option.input]}")
                raise MalformedError(place, error.found, error.expected, error.hint) from None
        raise


def _read(
    taken: Argument | Option, typed: Any, section: Callable[[Path, Yaml | Arrays], dict[str, Any]]
) -> dict[str, Any]:
    """The input that was typed, by its name; `section` reads one from a file."""
    kind = taken.kind
    if isinstance(kind, Yaml | Arrays) and typed is not None and kind.is_yaml(typed):
        return {kind.input: section(Path(typed), kind)}
    if isinstance(taken, Option) and taken.parse is not None and typed is not None:
        return {taken.input: taken.gather(map(taken.parse, typed)) if taken.many else taken.parse(typed)}
    return {taken.input: out_of_hundred(typed) if isinstance(taken, Option) and isinstance(typed, str) else typed}


def _is_default(name: str) -> bool:
    """Whether an option was not typed."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.COMMANDLINE


def _said_drawn(certificate: Certificate, path: Path) -> str:
    """Of a picture that the prover has drawn."""
    return f"drew {on_one_line(str(path))}"


def _saying(what: str) -> Callable[..., None]:
    """A line of progress in a long run."""

    def say(done: int, total: int, left: float | None = None) -> None:
        counting(what)(done, total, "" if left is None else f", about {left:.0f} s left")

    return say
