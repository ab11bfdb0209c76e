"""State softmax means at queries, and on request covariances, eigenvalues, log-normalisers, entropies, top weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flint import arb, fmpq, fmpz

from certattn.kernel.decide.checker import ARITHMETICS
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.softmax_moments import COVARIANCES
from certattn.kernel.theorems.attention.softmax_mean import (
    COVARIANCE,
    EIGENVALUES,
    ENTROPY,
    LOG_NORMALISER,
    MEAN,
    THEOREM,
    TOP,
    read_given,
)
from certattn.provers.array_inputs import Source, placed
from certattn.provers.attention.mean_enclosures import FIRST_BITS, Found, Wanted, enclosures
from certattn.provers.attention.stated_tables import Array, Printing, exactly, matrices, numbers, vectors
from certattn.provers.commands import (
    ARRAY,
    DATA_OR_AUTO,
    HEAD,
    QUERY_ROWS,
    SCORE_SCALE,
    Argument,
    Arrays,
    Command,
    Option,
    Whole,
    in_arithmetic,
)
from certattn.provers.exact_inputs import exact_text, positive, require_one_of, require_within
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place
from certattn.provers.prompt_sources import prompt_sources
from certattn.provers.rounding import lower_rational, round_below_one, round_down, round_up, upper_rational

DIGITS = 12
_HALF = fmpq(1, 2)
_LEAST_LACKING = fmpq(1, fmpz(10) ** 20)
_ORDER = (MEAN.name, COVARIANCE.name, EIGENVALUES.name, LOG_NORMALISER.name, ENTROPY.name, TOP.name)


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    given: Mapping[str, Plain] | None = None,
    scale: str = "1",
    query_rows: str | None = None,
    covariance: bool = False,
    eigenvalues: bool = False,
    log_normaliser: bool = False,
    entropy: bool = False,
    top: Sequence[int] = (),
    of: str = "values",
    digits: int = DIGITS,
    radius: str | None = None,
    per_query: bool = False,
    data: str = "auto",
    arithmetic: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `softmax-mean` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `keys`, `values`, `queries` (L x d_k, L x d_v, n x d_k), or `tokens` (L x d),
        `queries` (n x d_z) and any of `K`, `Q`, `V`, or `U` and `V`.
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    given : mapping, optional
        Instead of arrays, `scale` and `query_rows`: what the certificate is about, whole.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    query_rows : str, optional
        "first:stop", the queries that are meant; all of them by default.
    covariance : bool
        State the covariance at each query too.
    eigenvalues : bool
        State the range of its eigenvalues too.
    log_normaliser : bool
        State log Z(q) too.
    entropy : bool
        State the entropy of the softmax weights too, in nats.
    top : sequence of int
        State the sum of so many of the largest softmax weights too, for each of these numbers.
    of : {"values", "keys", "values-keys"}
        Whose covariance, "values", "keys" or "values-keys" (which has no eigenvalues).
    digits : int
        How many digits to state, counted from the first digit of the largest number.
    radius : exact number, optional
        The radius to state; by default the smallest, rounded up to 3 digits.
    per_query : bool
        State radii and bounds for each query.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    arithmetic : {"auto", "binary64", "arb"}
        "arb" encloses to as many digits as are stated; "binary64" at the speed of numpy, for array files, where radii
        are as wide as its balls (about 1e-12 of the largest number); "auto" takes binary64 where Arb would take long.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    **arrays : array_like
        What `source` would hold, as numpy arrays, by keyword; they are written beside the certificate.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        `radius` is too small.

    Notes
    -----
    Means and covariances of more than 4096 numbers are stated as doubles in a .npz file beside the certificate.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 2.
    Statement and proof: docs/claims/attention/softmax-mean.md.

    Examples
    --------
    >>> import certattn
    >>> arrays = dict(keys=[[0, 1], [1, 0]], values=[[1], [2]], queries=[[1, 0]])
    >>> certificate = certattn.generate("softmax-mean", **arrays)
    >>> float(certificate.numbers["mean.value[0][0]"])
    1.73105857863
    """
    printing = Printing(digits, None if radius is None else positive(radius, "radius"), per_query)
    wanted = Wanted(covariance, eigenvalues, log_normaliser, of, printing, entropy, tuple(top))
    _require(wanted)
    require_place(out, source)
    if given is not None:
        if source is not None or names or arrays or head is not None or scale != "1" or query_rows is not None:
            raise UsageError("with a whole prompt, leave out arrays, names, scale and rows of queries")
        return _write(out, dict(given), wanted, arithmetic, note)
    with placed(out, prompt_sources(source, names or {}, arrays, head), data) as references:
        if query_rows is not None:
            references["queries"]["rows"] = exact_text(query_rows, "query_rows")
        return _write(out, {**references, "scale": exact_text(scale, "scale")}, wanted, arithmetic, note)


def _require(wanted: Wanted) -> None:
    require_one_of(COVARIANCES, wanted.of, "of")
    if wanted.of != "values" and not wanted.second:
        raise UsageError(f"of is {wanted.of}, whose covariance is not stated; expected covariance or eigenvalues too")
    if wanted.eigenvalues and wanted.of == "values-keys":
        raise UsageError("the covariance of values and keys has no eigenvalues; expected --of values or --of keys")
    require_within(1, 1000, wanted.printing.digits, "digits")
    if len(set(wanted.top)) < len(wanted.top):
        raise UsageError("top names a number of tokens twice")


def _write(out: Path, given: dict[str, Plain], wanted: Wanted, arithmetic: str, note: str) -> Certificate:
    """Enclose, round, write the file, and beside it the tables that are too long for it."""
    draft = Draft(THEOREM, out, given, note)
    prompt = draft.read(read_given)
    for count in wanted.top:
        require_within(1, prompt.length, count, "top")
    found, bits = enclosures(prompt, wanted, arithmetic)
    # Logarithms are a vector, one number for each query: they are written out.
    tables = [table for table in found.tables if table.name != LOG_NORMALISER.name]
    long = {table.name: array for table in tables if (array := table.doubles(wanted.printing)) is not None}
    with _beside(out, long) as references, working_precision(2 * bits):
        asserts = _asserts(found, wanted, references, long)
        return draft.write(asserts, {"bits": str(bits)} if bits > FIRST_BITS else {})


@contextmanager
def _beside(out: Path, arrays: Mapping[str, Source]) -> Iterator[Mapping[str, Plain]]:
    """References to long tables in a file of their own, which is removed again if the block raises."""
    if not arrays:
        yield {}
        return
    with placed(out.with_name(f"{out.stem}-stated{out.suffix}"), arrays, "copy") as references:
        yield references


# -- numbers to state


def _asserts(
    found: Found, wanted: Wanted, references: Mapping[str, Plain], long: Mapping[str, Array]
) -> dict[str, Plain]:
    """The section `asserts`."""
    whose: dict[str, Plain] = {"of": wanted.of} if wanted.of != "values" else {}
    parts: dict[str, Plain] = {}
    for table in found.tables:
        if table.name in long:
            values, value = exactly(long[table.name], len(table.rows)), references[table.name]
        else:
            values = table.rounded(wanted.printing)
            value = _WRITE[table.name](values, table.columns)
        stated: dict[str, Plain] = {"value": value, "radius": table.radius(values, wanted.printing)}
        parts[table.name] = {**whose, **stated} if table.name == COVARIANCE.name else stated
    if found.ends:
        parts[EIGENVALUES.name] = {**whose, **_range(found.ends, wanted.printing)}
    if found.entropies:
        parts[ENTROPY.name] = _range([(x, x) for x in found.entropies], wanted.printing)
    if found.outside:
        parts[TOP.name] = [
            {"count": str(count), **_inside(each, wanted.printing)} for count, each in found.outside.items()
        ]
    return {name: parts[name] for name in _ORDER if name in parts}


_WRITE: Mapping[str, Callable[[list[list[fmpq]], int], Plain]] = {
    MEAN.name: lambda rows, _: vectors(rows),
    COVARIANCE.name: matrices,
    LOG_NORMALISER.name: lambda rows, _: numbers(rows),
}


def _range(ends: Sequence[tuple[arb, arb]], printing: Printing) -> dict[str, Plain]:
    """A range of numbers that are not negative, rounded outwards."""
    smallest = [round_down(max(lower_rational(low), fmpq(0)), printing.digits) for low, _ in ends]
    largest = [round_up(upper_rational(high), printing.digits) for _, high in ends]
    return _stated_range(smallest, largest, printing)


def _inside(outside: Sequence[arb], printing: Printing) -> dict[str, Plain]:
    """The range of the masses that have these numbers outside, rounded outwards; none exceeds 1.

    What is nearer to 1 than to 0 has so many digits of what it lacks.
    """
    smallest, largest, digits = [], [], printing.digits
    for ball in outside:
        low, lacking = max(1 - upper_rational(ball), fmpq(0)), max(lower_rational(ball), fmpq(0))
        smallest.append(round_down(low, digits) if low < _HALF else round_below_one(low, digits))
        largest.append(round_up(1 - lacking, digits) if lacking > _HALF else 1 - _shortly(lacking, digits))
    return _stated_range(smallest, largest, printing)


def _shortly(lacking: fmpq, digits: int) -> fmpq:
    """No more than this, with so many digits; 0 for what would be a long row of nines."""
    return round_down(lacking, digits) if lacking > _LEAST_LACKING else fmpq(0)


def _stated_range(smallest: list[fmpq], largest: list[fmpq], printing: Printing) -> dict[str, Plain]:
    if printing.per_query:
        return {"at_least": numbers([smallest]), "at_most": numbers([largest])}
    return {"at_least": format_rational(min(smallest)), "at_most": format_rational(max(largest))}


COMMAND = Command(
    Argument("HEAD", Arrays("given")),
    SCORE_SCALE,
    QUERY_ROWS,
    Option("--covariance", "Also state the covariance under the softmax weights.", bool),
    Option("--eigenvalues", "Also state the range of its eigenvalues.", bool),
    Option("--log-normaliser", "Also state log Z(q), the log of the sum of e^score.", bool),
    Option("--entropy", "Also state the entropy of the softmax weights, in nats.", bool),
    Option("--top", "Also state the sum of the K largest weights.", Whole(1), "K", many=True),
    Option("--of", "Which covariance.", tuple(COVARIANCES)),
    Option("--digits", "Digits to state.", Whole(1, 1000)),
    Option("--radius", "The radius to state; by default the smallest, rounded up to 3 digits.", metavar="R"),
    Option("--per-query", "State radii and bounds for each query.", bool),
    ARRAY,
    HEAD,
    DATA_OR_AUTO,
    in_arithmetic(ARITHMETICS),
)
