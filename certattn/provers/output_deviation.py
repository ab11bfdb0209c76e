"""Find the tightest bound on the deviation of a prompt from its limit, and write it down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import NORMS, working_precision
from certattn.kernel.arithmetic.reals import format_rational
from certattn.kernel.claims.output_deviation import CLAIM, Problem
from certattn.kernel.document.certificate import FORMAT_VERSION, Certificate, loads
from certattn.kernel.document.quoting import listed
from certattn.kernel.document.tree import Plain
from certattn.kernel.document.writer import to_text
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.provers.array_files import open_array_file
from certattn.provers.array_inputs import InFile, Source, placed
from certattn.provers.exact_inputs import Number, exact, exact_text
from certattn.provers.output import not_yet_written, provenance, require_place, write_certificate
from certattn.provers.rounding import round_up, upper_rational

DIGITS = 6
# Every obligation gets slack of at least this many bits at the precision of the first try.
_BITS = (64, 128, 256, 512, 1024)

KEY_VALUE = ("keys", "values", "queries")
TOKENS = ("tokens", "queries")
BILINEAR = ("tokens", "U", "queries")
# The arrays of each form of a prompt: those it needs, and those it may have.
FORMS = ((KEY_VALUE, ()), (TOKENS, ("K", "Q", "V")), (BILINEAR, ("V",)))


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    scale: Number = "1",
    query_rows: str | None = None,
    limit: str | dict[str, Any] = "empirical",
    norm: str = "l2",
    at_most: Number | None = None,
    per_query: bool = False,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `output-deviation` to `out` and return it.

    Parameters
    ----------
    source : .npz or .safetensors file holding `keys`, `values`, `queries` (L x d_k, L x d_v, n x d_k),
        or `tokens` (L x d), `queries` (n x d_z) and any of `K`, `Q`, `V`, or `U` and `V`.
    arrays : the same as numpy arrays, by keyword; they are written beside the certificate.
    names : names in the file that differ, as {"keys": "attn.k"}.
    scale : factor of the scores, an exact number such as "1/sqrt(32)".
    query_rows : "first:stop", the queries that are meant; all of them by default.
    limit : "empirical", or a mapping as certificates write it under `given.limit`.
    norm : "l2" or "linf".
    at_most : the bound to state; by default the tightest one, rounded up to 6 digits.
    per_query : also state a bound for each query.
    data : "copy" the arrays beside the certificate, "reference" them where they are, or "auto".
    note : a line about the certificate for its readers, kept under `provenance`.

    An exact number, for `scale`, `at_most` and in `limit`, is a text as certificates write it, int,
    Fraction, Decimal or flint's fmpq. Raises UsageError, MalformedError, and NotProvedError if
    `at_most` is too small.
    """
    if norm not in tuple(NORMS):
        raise UsageError(f"norm is {norm!r}, expected {' or '.join(NORMS)}")
    stated: dict[str, Plain] = {"scale": exact_text(scale, "scale"), "limit": exact(limit, "limit")}
    if stated["limit"] == "empirical":
        stated["limit"] = {"kind": "empirical"}
    rows = exact_text(query_rows, "query_rows") if query_rows is not None else None
    bound = exact_text(at_most, "at_most") if at_most is not None else None
    line = exact_text(note, "note")
    require_place(out, [Path(source)] if source is not None else [])
    sources = _sources(source, names or {}, arrays)
    with not_yet_written(out), placed(out, sources, data) as references:
        if rows is not None:
            references["queries"]["rows"] = rows
        return _write(out, {**references, **stated}, norm, bound, per_query, line)


def _write(
    out: Path, given: dict[str, Plain], norm: str, at_most: str | None, per_query: bool, note: str
) -> Certificate:
    """Enclose the deviations, state the bounds, write the file."""
    certificate: dict[str, Plain] = {"certattn": FORMAT_VERSION, "claim": CLAIM.name, "given": given}
    draft: dict[str, Plain] = {
        **certificate,
        "asserts": {"deviation": {"norm": norm, "at_most": "0" if at_most is None else at_most}},
    }
    problem = CLAIM.read(loads(to_text(draft), out))
    bounds, bits = _upper_bounds(problem)
    asserts: dict[str, Plain] = {"norm": norm}
    asserts["at_most"] = format_rational(round_up(max(bounds), DIGITS)) if at_most is None else at_most
    if at_most is not None and problem.bounds.at_most is not None and max(bounds) > problem.bounds.at_most:
        worst = bounds.index(max(bounds))
        found = arb(max(bounds)).str(10, radius=False)
        raise NotProvedError(f"at_most {at_most} is too small: query {worst} deviates by about {found}")
    if per_query:
        asserts["per_query"] = {"at_most": [format_rational(round_up(bound, DIGITS)) for bound in bounds]}
    certificate["asserts"] = {"deviation": asserts}
    if bits != _BITS[0]:
        certificate["witness"] = {"bits": str(bits)}
    certificate["provenance"] = provenance(note)
    return write_certificate(certificate, CLAIM, out)


def _upper_bounds(problem: Problem) -> tuple[list[fmpq], int]:
    """An upper bound of each query's deviation, sharp to the digits that are printed."""
    rows = range(problem.count)
    for bits in _BITS:
        with working_precision(bits):
            deviations = problem.deviations(rows)
            if all(_sharp(deviation) for deviation in deviations):
                break
    return [upper_rational(deviation) for deviation in deviations], bits


def _sharp(deviation: arb) -> bool:
    """Whether the ball's radius is far below the printed digits, or the deviation is about nothing."""
    return deviation.is_finite() and (deviation.rel_accuracy_bits() > 4 * DIGITS or deviation < arb(2) ** -200)


def _sources(source: str | Path | None, names: Mapping[str, str], arrays: Mapping[str, Any]) -> dict[str, Source]:
    """The arrays of one form of a prompt, by field. Raises UsageError where none is whole, or several are."""
    known = tuple(dict.fromkeys(field for needed, optional in FORMS for field in needed + optional))
    unknown = (set(arrays) | set(names)) - set(known)
    if unknown:
        raise UsageError(f"unknown arrays {listed(sorted(unknown))}; expected {', '.join(known)}")
    found: dict[str, Source] = {}
    holds = "no file was given"
    if source is not None:
        file = open_array_file(Path(source))
        holds = f"{source} holds {file.listed()}"
        for field in known:
            name = names.get(field, field)
            if name in file.headers:
                found[field] = InFile(file, name)
            elif field in names:
                raise UsageError(f"{source}: no array {name!r}; it holds {file.listed()}")
    found.update({field: _array(field, array) for field, array in arrays.items()})
    whole = [[f for f in needed + optional if f in found] for needed, optional in FORMS if set(needed) <= set(found)]
    expected = f"expected arrays {', '.join(KEY_VALUE)}, or {', '.join(TOKENS)} with K, Q, V or U, V"
    if not whole:
        raise UsageError(f"{expected}; {holds}. Arrays of other names: --array keys=NAME")
    # What was named is meant; of the forms that have it, the one that leaves nothing out that another takes.
    named = set(arrays) | set(names)
    meant = [fields for fields in whole if named <= set(fields)]
    if not meant:
        raise UsageError(f"the arrays {listed(sorted(named))} do not go together; {expected}")
    fullest = [fields for fields in meant if not any(set(fields) < set(other) for other in meant)]
    if len(fullest) > 1:
        several = " or of ".join(", ".join(fields) for fields in fullest)
        own = next(field for field in fullest[0] if field not in fullest[1])
        raise UsageError(
            f"{holds}: a prompt of {several}? Say so with an array that only one of them has, such as "
            f"--array {own}={own}, or take what is not meant out of the file (U replaces K and Q)"
        )
    return {field: found[field] for field in fullest[0]}


def _array(field: str, array: Any) -> np.ndarray[Any, Any]:
    """An array that was passed from Python. Raises UsageError for what would not be all of it."""
    if isinstance(array, np.ma.MaskedArray):
        raise UsageError(
            f"{field} is a masked array, whose mask a certificate cannot hold; pass what is meant, unmasked"
        )
    try:
        return np.asarray(array)
    except ValueError as error:
        raise UsageError(f"{field} is no array ({error})") from None
