"""`certattn compare`."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import click
from flint import fmpq

from certattn.cli.options import format_option
from certattn.kernel.document.quoting import counted
from certattn.kernel.errors import Binary64Error, NotProvedError, UsageError
from certattn.kernel.mathematics.reals import describe
from certattn.report.progress import counting
from certattn.report.text import on_one_line, printable

if TYPE_CHECKING:
    from certattn.fast.output_errors import OutputErrors
    from certattn.testing.comparing import Compared, Task
    from certattn.testing.errors import Enclosed
    from certattn.testing.heat_map import HeatMap
    from certattn.testing.measuring import Bad

EPILOG = """\b
Examples:
  certattn compare kernel.npz
  certattn compare kernel.safetensors --causal top-left --relative 5e-4
  certattn compare kernel.npz --max-abs 1e-3 -o kernel.yaml
  certattn compare new.npz --against old.npz --plot errors.png
  certattn compare both.npz --array output=flash --against both.npz --array against=math

\b
Exit status: 0 measured, and all bounds proved; 1 a bound refuted; 2 malformed
or usage; 3 a bound not decided; 4 a resource limit.
"""
_WORDS = {True: "proved", False: "refuted", None: "undecided"}
_CLOSER = {"<": "file", ">": "against", "=": "same", "?": None}
_MOST_HEADS = 32
T = TypeVar("T")


def _whole_numbers(text: str, option: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"{option} {text!r}: expected whole numbers, such as 3,5")
    return [int(part) for part in parts]


def _pair(text: str) -> tuple[list[int], list[int]]:
    queries, colon, keys = text.partition(":")
    if not colon:
        raise UsageError(f"--sequences {text!r}: expected lengths of queries and of keys, such as 3,5:3,7")
    return _whole_numbers(queries, "--sequences"), _whole_numbers(keys, "--sequences")


@click.command(epilog=EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--max-abs", metavar="X", help="Prove that no entry is off by more.")
@click.option(
    "--relative", metavar="X", help="Prove it of the error of each row, divided by the norm of the exact row."
)
@click.option("--ulps", metavar="X", help="Prove it in units in the last place of the exact entry.")
@click.option("--rms", metavar="X", help="Prove it of the root mean square of the errors of each head.")
@click.option("--lse", metavar="X", help="Prove it of the log-sum-exps that the kernel returned.")
@click.option(
    "--array",
    "arrays",
    multiple=True,
    metavar="FIELD=NAME",
    help="Name of an array: q, k, v, output, lse, mask, alibi or sinks; against in the other file. May be repeated.",
)
@click.option(
    "--layout",
    type=click.Choice(["bhsd", "bshd"]),
    default="bhsd",
    show_default=True,
    help="Order of the axes batch, heads, sequence, dimension.",
)
@click.option("--scale", metavar="S", help="Factor of the scores, an exact number; 1/sqrt(d) by default.")
@click.option("--causal", metavar="MASK", help="A causal mask: top-left, bottom-right, or an offset.")
@click.option(
    "--window", type=click.IntRange(1), metavar="N", help="How many keys a query sees at most under the mask."
)
@click.option("--lengths", metavar="N,N", help="How many keys each of the batch has; the rest is padding.")
@click.option("--sequences", metavar="N,N:N,N", help="Lengths of packed sequences: of queries, and of keys.")
@click.option("--empty", type=click.Choice(["zero"]), help="What a query that sees no key should have returned.")
@click.option("--soft-cap", metavar="C", help="C, if scores x are replaced by C tanh(x / C).")
@click.option(
    "--lse-base", type=click.Choice(["e", "2"]), default="e", show_default=True, help="The base of the log-sum-exps."
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Another output of the same inputs, to say which is closer.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="CERT",
    help="Write a certificate of the bounds, or of the smallest ones that hold.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="PICTURE",
    help="Draw a heat map of the errors (.svg, .png, .pdf).",
)
@click.option(
    "--digits", type=click.IntRange(1, 15), default=3, show_default=True, help="Digits of the smallest bounds."
)
@format_option
def compare(
    file: Path,
    arrays: Sequence[str],
    layout: str,
    scale: str | None,
    causal: str | None,
    window: int | None,
    lengths: str | None,
    sequences: str | None,
    empty: str | None,
    soft_cap: str | None,
    lse_base: str,
    against: Path | None,
    out: Path | None,
    plot: Path | None,
    digits: int,
    form: str,
    **options: Any,
) -> int:
    """Prove how far a kernel's output is from attention.

    FILE is a .npz or .safetensors file, or a folder of .npy files, with the arrays q, k, v and output; lse, if the
    kernel returned it; a mask, True where a query sees a key; alibi and sinks, a number for each head. Inputs may be
    integers, the output must be floats. Prints the smallest bounds that hold for each head. With bounds to prove, the
    exit status says whether they hold.

    Names found without --array: output, o, out, outputs, attn_output; q, queries, query; k, keys, key; v, values,
    value; lse, logsumexp, softmax_lse; mask; alibi; sinks.
    """
    from certattn.provers.figures import require_figure
    from certattn.provers.output import require_place
    from certattn.testing.comparing import FIELDS, compared, read_task
    from certattn.testing.exact_numbers import exact_bound
    from certattn.testing.heat_map import HeatMap

    stated = {name: options.pop(name) for name in FIELDS}
    bounds = {name: exact_bound(x, f"--{name.replace('_', '-')}") for name, x in stated.items() if x is not None}
    if out is not None:
        require_place(out, *(path for path in (file, against) if path is not None and not path.is_dir()))
    if plot is not None:
        require_figure(plot)
    masks = {
        "causal": _causal(causal),
        "window": window,
        "lengths": None if lengths is None else _whole_numbers(lengths, "--lengths"),
        "sequences": None if sequences is None else _pair(sequences),
        "empty": empty,
    }
    task = read_task(
        file,
        against,
        dict(map(_named, arrays)),
        layout=layout,
        scale=scale,
        lse_base=lse_base,
        soft_cap=soft_cap,
        **masks,
    )
    picture = None if plot is None else HeatMap()
    try:
        result = compared(task, bounds, digits, _Heads(task, picture).tell)
    except Binary64Error as error:
        return _left_to_arb(task, bounds, out, form, error)
    done, refused = ([], "") if out is None else _written(task, out, result.to_state)
    if picture is not None and plot is not None:
        picture.draw(plot, result.found)
        done.append(f"drew {on_one_line(str(plot))}")
    # Every file is written before anything is said, for the reader of what is said may leave early (`| head`).
    if form == "json":
        click.echo(json.dumps(_plain(result), indent=2))
    else:
        if out is None and None in result.outcomes.values():
            done.append("a certificate of it (-o CERT) may be decided by certattn check, which continues in Arb")
        click.echo("\n".join([*_lines(result), *done]))
    return _refused(refused) if refused else _status(result.outcomes.values())


def _causal(text: str | None) -> bool | int | str:
    if text is None:
        return False
    if text.isascii() and text.isdecimal():
        return int(text)
    if text not in ("top-left", "bottom-right"):
        raise UsageError(f"--causal {text!r}: expected top-left, bottom-right, or an offset, such as 3")
    return text


def _named(text: str) -> tuple[str, str]:
    from certattn.provers.commands import array_name
    from certattn.testing.array_names import field_of
    from certattn.testing.comparing import AGAINST

    word, name = array_name(text)
    return (AGAINST if word == AGAINST else field_of(word)), name


class _Heads:
    """Says how many heads are measured, and hands on what was found of each output's first."""

    def __init__(self, task: Task, picture: HeatMap | None) -> None:
        self._total, self._picture = len(list(task.heads.places())), picture
        self._done, self._lock, self._say = 0, Lock(), counting("heads measured")

    def tell(self, output: int, batch: int, head: int, errors: OutputErrors, bad: Bad | None) -> None:
        if output > 0:
            return
        if self._picture is not None:
            self._picture.tell(batch, head, errors, bad)
        with self._lock:
            self._done += 1
            self._say(self._done, self._total)


def _left_to_arb(task: Task, bounds: Mapping[str, Fraction], out: Path | None, form: str, error: Binary64Error) -> int:
    """Nothing is decided here, but a certificate of bounds may be: its check goes on in Arb."""
    refused = ""
    if out is None:
        done = ["with bounds and -o CERT, a certificate is written whose check continues in Arb, which takes longer"]
    elif bounds:
        done, refused = _written(task, out, lambda: bounds)
    else:
        done = ["no certificate is written: state bounds, such as --relative 1e-3"]
    if form == "json":
        undecided = {name: {"at_most": str(bound), "outcome": _WORDS[None]} for name, bound in bounds.items()}
        click.echo(json.dumps({"file": str(task.path), "undecided": str(error), "bounds": undecided}, indent=2))
    else:
        click.echo(printable("\n".join([f"undecided: binary64 bounds nothing here ({error})", *done])))
    return _refused(refused) if refused else 3


def _written(task: Task, out: Path, bounds: Callable[[], Mapping[str, Fraction]]) -> tuple[list[str], str]:
    """Write a certificate; what is said of it, and why there is none."""
    try:
        task.write(out, bounds())
    except NotProvedError as error:
        return [], f"certattn: no certificate is written: {error}"
    path = on_one_line(str(out))
    shown = shlex.quote(f"./{path}" if path.startswith("-") else path)
    return [f"wrote {path}", f"now prove it: certattn check {shown}"], ""


def _refused(why: str) -> int:
    click.echo(why, err=True)
    return 1


def _status(outcomes: Iterable[bool | None]) -> int:
    found = list(outcomes)
    return 1 if False in found else 3 if None in found else 0


# -- for people


def _lines(result: Compared) -> list[str]:
    found, heads = result.found, result.task.heads
    tokens, dimension = heads.keys.shape[2:]
    batches, each = heads.shape
    what = counted(each, "head") if batches == 1 else f"{batches} x {each} heads"
    sizes = f"{counted(heads.queries.shape[2], 'query')} and {counted(tokens, 'key')} in dimension {dimension}"
    lines = [
        f"{on_one_line(str(result.task.path))}: {found.dtype}, {what} of {sizes}, proved errors, rounded up",
        "",
        *_table(result),
        "",
        f"worst entry at {found.worst}",
    ]
    if found.not_finite:
        lines.append(f"NaN or infinite: {counted(found.not_finite, 'entry')} of the output")
    if found.worst_lse is not None:
        batch, head, query = found.worst_lse
        lines.append(f"worst log-sum-exp at batch {batch}, head {head}, query {query}")
    lines += [*result.causes, "", *_smallest(result)]
    if result.sides:
        lines += ["", *_side_by_side(result)]
    if result.bounds:
        lines += ["", *_verdicts(result)]
    return lines


def _table(result: Compared) -> list[str]:
    from certattn.testing.comparing import measures
    from certattn.testing.errors import aligned

    names, rows = list(result.least), []
    for each in _shown(result.found.heads, lambda head: head.max_abs.upper):
        found = measures(each)
        rows.append([str(each.batch), str(each.head), *(_bound(found[name], result) for name in names)])
    return [*aligned([["batch", "head", *names], *rows]), *_left_out(result.found.heads)]


def _bound(found: Enclosed, result: Compared) -> str:
    from certattn.testing.comparing import least_bound

    least = least_bound(found, result.digits)
    return "-" if least is None else str(least)


def _shown(heads: Sequence[T], size: Callable[[T], float]) -> Sequence[T]:
    """Those with the largest errors, the worst first, where there are many."""
    return heads if len(heads) <= _MOST_HEADS else sorted(heads, key=lambda head: -size(head))[:_MOST_HEADS]


def _left_out(heads: Sequence[object]) -> list[str]:
    left = len(heads) - _MOST_HEADS
    return [f"and {counted(left, 'head')} with smaller errors, which --format json has"] if left > 0 else []


def _smallest(result: Compared) -> list[str]:
    from certattn.testing.errors import unbounded

    rows = []
    for name, least in result.least.items():
        why = unbounded(result.worst[name], name == "relative") if least is None else least.words
        rows.append((name, "-" if least is None else str(least), why))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    shown = [f"  {name.ljust(widths[0])}  {least.rjust(widths[1])}  {why}".rstrip() for name, least, why in rows]
    return ["the smallest bounds that hold for every head:", *shown]


def _side_by_side(result: Compared) -> list[str]:
    """Of each head both errors, and between them a sign where one is proved to be smaller."""
    from certattn.testing.comparing import FIRST, SAME, SECOND, UNKNOWN, measures
    from certattn.testing.errors import aligned

    assert result.task.other is not None
    sides, other = result.sides, on_one_line(str(result.task.other.path))
    names = list(sides[0].closer)
    rows = [["batch", "head", *(cell for name in names for cell in (name, "", "other"))]]
    for side in _shown(sides, lambda side: max(side.first.max_abs.upper, side.second.max_abs.upper)):
        ours, theirs = measures(side.first), measures(side.second)
        cells = [(_bound(ours[n], result), side.closer[n], _bound(theirs[n], result)) for n in names]
        rows.append([str(side.first.batch), str(side.first.head), *(cell for each in cells for cell in each)])
    lines = [f"beside {other} (< and >: proved; =: the same output; ?: not decided)", *aligned(rows), *_left_out(sides)]
    for name in names:
        count = Counter(side.closer[name] for side in sides)
        parts = [f"the first is closer in {count[FIRST]}", f"the other in {count[SECOND]}"]
        parts += [f"the same in {count[SAME]}"] if count[SAME] else []
        parts += [f"not decided in {count[UNKNOWN]}"] if count[UNKNOWN] else []
        lines.append(f"{name}: {', '.join(parts)} of {counted(len(sides), 'head')}")
    return lines


def _verdicts(result: Compared) -> list[str]:
    from certattn.testing.errors import unbounded

    lines = []
    for name, outcome in result.outcomes.items():
        worst = result.worst[name]
        found = str(worst) if worst.lower < math.inf else ""
        if worst.upper == math.inf:
            found += f"{', ' if found else ''}{unbounded(worst, name == 'relative')}"
        bound = result.bounds[name]
        stated = describe(fmpq(bound.numerator, bound.denominator))
        lines.append(f"{_WORDS[outcome]}: {name} at most {stated}; it is {found}")
    return lines


# -- for programs


def _plain(result: Compared) -> dict[str, Any]:
    """Numbers that are infinite or NaN are null."""
    content: dict[str, Any] = {
        "file": str(result.task.path),
        **result.found.to_dict(),
        "smallest_bounds": {name: None if least is None else str(least) for name, least in result.least.items()},
        "bounds": {
            name: {"at_most": str(result.bounds[name]), "outcome": _WORDS[outcome]}
            for name, outcome in result.outcomes.items()
        },
        "likely_causes": list(result.causes),
    }
    if result.task.other is not None and result.against is not None:
        content["against"] = {
            "file": str(result.task.other.path),
            **result.against.to_dict(),
            "closer": [{name: _CLOSER[sign] for name, sign in side.closer.items()} for side in result.sides],
        }
    found: dict[str, Any] = _finite(content)
    return found


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(each) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(each) for each in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
