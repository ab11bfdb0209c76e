"""Find the tightest bound on the deviation of a prompt from its limit, and write it down.

For listed queries it is the largest deviation, rounded up; over a region it is what `region_certificates`
can prove.
"""

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
from certattn.provers.output import not_yet_written, provenance, require_place, write_certificate
from certattn.provers.region_certificates import BITS, CELLS, DIGITS, needs_queries, over_region, place_region, sharp
from certattn.provers.rounding import round_up, upper_rational

KEY_VALUE = ("keys", "values", "queries")
TOKENS = ("tokens", "queries")
OPTIONAL = ("K", "Q", "V", "U")


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    scale: str = "1",
    query_rows: str | None = None,
    region: dict[str, Plain] | None = None,
    cells: int = CELLS,
    lower_bound: bool = False,
    limit: str | dict[str, Plain] = "empirical",
    norm: str = "l2",
    at_most: str | None = None,
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
    region : a region in the place of queries, as certificates write it under `given.region`. Left out,
        the `centre` of a ball is the query that is meant, and the `points` of a hull the queries.
    cells : over a region, cut it into at most so many cells.
    lower_bound : over a region, also state that some query deviates by as much as the search found.
    limit : "empirical", or a mapping as certificates write it under `given.limit`.
    norm : "l2" or "linf".
    at_most : the bound to state; by default the smallest that is proved, rounded up to 6 digits.
    per_query : also state a bound for each query.
    data : "copy" the arrays beside the certificate, "reference" them where they are, or "auto".
    note : a line about the certificate for its readers, kept under `provenance`.

    Raises UsageError, MalformedError, and NotProvedError if `at_most` is too small or not proved.
    """
    if norm not in NORMS:
        raise UsageError(f"norm is {norm!r}, expected {' or '.join(NORMS)}")
    if region is None and (lower_bound or cells != CELLS):
        raise UsageError("cells and lower_bound are for a region of queries; none is given")
    if region is not None and per_query:
        raise UsageError("per_query is for listed queries; a region lists none")
    require_place(out, [Path(source)] if source is not None else [])
    from_queries = needs_queries(region)
    if query_rows is not None and not from_queries:
        raise UsageError(f"query_rows is {query_rows!r}, but the region says itself where it is")
    sources = _sources(source, names or {}, arrays, from_queries)
    with not_yet_written(out), placed(out, sources, data) as references:
        if query_rows is not None:
            references["queries"]["rows"] = query_rows
        given: dict[str, Plain] = {**references, "scale": scale}
        given["limit"] = {"kind": "empirical"} if limit == "empirical" else limit
        certificate: dict[str, Plain] = {"certattn": FORMAT_VERSION, "claim": CLAIM.name, "given": given}
        if region is None:
            certificate |= _listed(out, certificate, norm, at_most, per_query)
        else:
            certificate["given"] = place_region(given, region)
            certificate |= over_region(out, certificate, norm, at_most, cells, lower_bound)
        certificate["provenance"] = provenance(note)
        return write_certificate(certificate, CLAIM, out)


def _listed(
    out: Path, certificate: dict[str, Plain], norm: str, at_most: str | None, per_query: bool
) -> dict[str, Plain]:
    """What is asserted of listed queries: enclose the deviations, state the bounds."""
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
    added: dict[str, Plain] = {"asserts": {"deviation": asserts}}
    return added if bits == BITS[0] else {**added, "witness": {"bits": str(bits)}}


def _upper_bounds(problem: Problem) -> tuple[list[fmpq], int]:
    """An upper bound of each query's deviation, sharp to the digits that are printed."""
    rows = range(problem.count)
    for bits in BITS:
        with working_precision(bits):
            deviations = problem.deviations(rows)
            if all(sharp(deviation) for deviation in deviations):
                break
    return [upper_rational(deviation) for deviation in deviations], bits


def _sources(
    source: str | Path | None, names: Mapping[str, str], arrays: Mapping[str, Any], queries: bool
) -> dict[str, Source]:
    """The arrays of one of the two forms, by field. Raises UsageError where neither is whole."""
    known = (*dict.fromkeys(KEY_VALUE + TOKENS), *OPTIONAL)
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
    found.update({field: np.asarray(array) for field, array in arrays.items()})
    forms = [tuple(f for f in form if queries or f != "queries") for form in (KEY_VALUE, TOKENS)]
    for wanted in forms:
        if all(field in found for field in wanted):
            order = [*wanted, *(f for f in OPTIONAL if f in found and "tokens" in wanted)]
            return {field: found[field] for field in order}
    raise UsageError(
        f"expected arrays {', '.join(forms[0])}, or {', '.join(forms[1])} with K, Q, V or U, V; {holds}. "
        "Arrays of other names: --array keys=NAME"
    )
