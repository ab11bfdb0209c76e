"""Bound the distance between a prompt's attention and its linear limit.

Find the tightest bound on the deviation of a prompt from its limit, and write it down.

For listed queries it is the largest deviation, rounded up; over a region it is what `region_certificates`
can prove.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.checker import ARITHMETICS
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import NORMS
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.attention.output_deviation import AT_MOST, THEOREM, AssertedDeviation
from certattn.provers.array_inputs import placed
from certattn.provers.attention.deviation_search import BITS, DIGITS, arb_bounds, relative_bounds, upper_bounds
from certattn.provers.attention.long_runs import Said
from certattn.provers.attention.region_certificates import Wanted, output_there, over_regions
from certattn.provers.attention.region_options import (
    BOX,
    CELLS,
    CENTRE,
    MOST_CELLS_OF_EACH,
    RADIUS,
    REGION_FILE,
    described_region,
)
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
    Yaml,
    in_arithmetic,
)
from certattn.provers.doubts import relative, spread
from certattn.provers.exact_inputs import Number, exact, exact_text, require_one_of
from certattn.provers.one_head import WhichHead
from certattn.provers.output import Draft, require_place
from certattn.provers.prompt_sources import prompt_sources
from certattn.provers.rounding import round_up

# Limits that are words; the second is none of certificates.
EMPIRICAL, CONSTANT = "empirical", "constant"


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    head: WhichHead = None,
    scale: Number = "1",
    query_rows: str | None = None,
    region: dict[str, Any] | list[dict[str, Any]] | None = None,
    cells: int = CELLS,
    lower_bound: bool = False,
    limit: str | dict[str, Any] = EMPIRICAL,
    norm: str = "l2",
    at_most: Number | None = None,
    per_query: bool = False,
    causal: int | None = None,
    relative: bool = False,
    data: str = "auto",
    note: str = "",
    arithmetic: str = "auto",
    said: Said = lambda done, parts, left: None,
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `output-deviation` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `keys`, `values`, `queries` (L x d_k, L x d_v, n x d_k), or `tokens` (L x d),
        `queries` (n x d_z) and any of `K`, `Q`, `V`, or `U` and `V`.
    names : mapping of str to str, optional
        Names in the file that differ, as {"keys": "attn.k"}, or .npy files, as {"keys": "k.npy"}.
    head : int or str, optional
        Which head is meant, counted from 0, where arrays have three axes, heads first; "0,2" is head 2 of batch 0.
    scale : exact number
        Factor of the scores, such as "1/sqrt(64)".
    query_rows : str, optional
        "first:stop", the queries that are meant; all of them by default.
    region : mapping or list of mappings, optional
        A region in the place of queries, as certificates write it under `given.region`, or a list of them. Left out,
        the `centre` of a ball is the query that is meant (of several, there is a ball around each), and the `points` of
        a hull are the queries.
    cells : int
        Cut each region into at most so many cells.
    lower_bound : bool
        Over a region, also state that some query deviates by as much as the search found.
    limit : "empirical", "constant" or mapping
        "empirical"; "constant" for the output at the middle of the region, rounded, so that the bound says how far the
        output moves; or a mapping as certificates write it under `given.limit`.
    norm : {"l2", "linf"}
        The norm that is bounded.
    at_most : exact number, optional
        The bound to state; by default the smallest that is proved, rounded up to 6 digits.
    per_query : bool
        Also state a bound for each query.
    causal : int, optional
        How many of the first tokens the first query, or region, sees; every further one sees one more. All see all
        tokens by default.
    relative : bool
        Also state bounds in units of the norm of T(q): for all queries, and with `per_query` for each.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    arithmetic : {"auto", "binary64", "arb"}
        "binary64", "arb", or "auto" for the fastest that settles the digits.
    said : callable
        Called during long runs with the parts that are done, of how many, and the seconds left.
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
        `at_most` is too small or not proved.

    Notes
    -----
    An exact number, for `scale`, `at_most` and in `limit` and `region`, is a text as certificates write it, int,
    Fraction, Decimal or flint's fmpq.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 2.
    Statement and proof: docs/claims/attention/output-deviation.md.

    Examples
    --------
    >>> import certattn
    >>> arrays = dict(keys=[[0, 1], [1, 0]], values=[[1], [2]], queries=[[1, 0], [0, 2]])
    >>> certificate = certattn.generate("output-deviation", scale="1/sqrt(2)", **arrays)
    >>> float(certificate.numbers["deviation.at_most"])
    0.0491238
    """
    if norm not in tuple(NORMS):
        raise UsageError(f"norm is {norm!r}, expected {' or '.join(NORMS)}")
    stated: dict[str, Plain] = {"scale": exact_text(scale, "scale"), "limit": exact(limit, "limit")}
    if stated["limit"] in (EMPIRICAL, CONSTANT):
        # What is constant is known when the region is.
        stated["limit"] = {"kind": EMPIRICAL}
    rows = exact_text(query_rows, "query_rows") if query_rows is not None else None
    bound = exact_text(at_most, "at_most") if at_most is not None else None
    require_one_of(ARITHMETICS, arithmetic, "arithmetic")
    over = Wanted.stated(region) if region is not None else None
    if limit == CONSTANT and over is None:
        raise UsageError(
            "how far does the output move, when the query moves how far? expected a region beside --limit constant, "
            "such as --radius 1/4"
        )
    if causal is not None and over is None:
        stated["causal"] = str(causal)
    of_queries = {"per_query": per_query, "relative": relative}
    _require_options(over, cells, lower_bound, [name for name, there in of_queries.items() if there], arithmetic, rows)
    require_place(out, source)
    sources = prompt_sources(source, names or {}, arrays, head, queries=over is None or over.needs_queries)
    with placed(out, sources, data) as references:
        if rows is not None:
            references["queries"]["rows"] = rows
        given: dict[str, Plain] = {**references, **stated}
        if over is None:
            draft = Draft(THEOREM, out, given, note)
            return draft.write(*_listed(draft, norm, bound, (per_query, relative), arithmetic, said))
        draft = Draft(THEOREM, out, over.placed(given, causal), note)
        if limit == CONSTANT:
            draft = draft.about({**over.placed(given, causal), "limit": output_there(draft)})
        return draft.write(*over_regions(draft, norm, bound, cells, lower_bound))


def _require_options(
    regions: Wanted | None,
    cells: int,
    lower_bound: bool,
    of_queries: list[str],
    arithmetic: str,
    rows: str | None,
) -> None:
    """Raises UsageError for an option of listed queries over a region, or the other way round."""
    if regions is None:
        if lower_bound or cells != CELLS:
            raise UsageError("cells and lower_bound are for a region of queries; none is given")
        return
    for name in of_queries:
        raise UsageError(f"{name} is for listed queries; a region lists none")
    if arithmetic == "binary64":
        raise UsageError("binary64 is for listed queries; over a region bounds are proved with Arb")
    if rows is not None and not regions.needs_queries:
        raise UsageError(f"query_rows is {rows!r}, but a region does not use the listed queries")


def _require_within(problem: AssertedDeviation, bounds: list[fmpq], at_most: fmpq, arithmetic: str) -> int:
    """The bits it takes to prove a stated bound. Raises NotProvedError where it is too small."""
    over, bits = [row for row, bound in enumerate(bounds) if bound > at_most], 0
    if over and arithmetic != "binary64":
        # The balls of binary64 may only be too wide.
        sharper, bits = arb_bounds(problem, over)
        for row, bound in zip(over, sharper, strict=True):
            bounds[row] = min(bounds[row], bound)
    if max(bounds) > at_most:
        worst = bounds.index(max(bounds))
        found = arb(max(bounds)).str(10, radius=False)
        raise NotProvedError(
            f"at_most {format_rational(at_most)} is too small: query {worst} deviates by about {found}"
        )
    return bits


def _listed(
    draft: Draft, norm: str, at_most: str | None, also: tuple[bool, bool], arithmetic: str, said: Said
) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is asserted of listed queries: enclose the deviations, state the bounds.

    also: whether for each query, and whether in units of |T(q)|.
    """
    per_query, relative = also
    anything: dict[str, Plain] = {"deviation": {"norm": norm, "at_most": "0" if at_most is None else at_most}}
    problem = draft.read(THEOREM.read, anything)
    bounds, bits = upper_bounds(problem, draft.out, draft.text(anything), arithmetic, said)
    asserts: dict[str, Plain] = {"norm": norm}
    asserts["at_most"] = format_rational(round_up(max(bounds), DIGITS)) if at_most is None else at_most
    if at_most is not None:
        bits = max(bits, _require_within(problem, bounds, problem.bounds[AT_MOST], arithmetic))
    each: dict[str, Plain] = {}
    if per_query:
        each["at_most"] = [format_rational(round_up(bound, DIGITS)) for bound in bounds]
    if relative:
        ratios = [round_up(ratio, DIGITS) for ratio in relative_bounds(problem, arithmetic)]
        asserts["relative_at_most"] = format_rational(max(ratios))
        if per_query:
            each["relative_at_most"] = [format_rational(ratio) for ratio in ratios]
    if each:
        asserts["per_query"] = each
    return {"deviation": asserts}, {} if bits == BITS[0] else {"bits": str(bits)}


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """The region that one of the options describes. Raises UsageError for several."""
    hull = options.pop("hull")
    return described_region(options, {"--hull": {"kind": "hull"} if hull else None})


COMMAND = Command(
    Argument("HEAD", Arrays()),
    SCORE_SCALE,
    QUERY_ROWS,
    RADIUS,
    CENTRE,
    BOX,
    Option("--hull", "Bound it over all convex combinations of the queries.", bool, default=False),
    REGION_FILE,
    MOST_CELLS_OF_EACH,
    Option("--lower-bound", "Also state, as at_least, the largest deviation found in the region.", bool),
    Option(
        "--limit",
        "`empirical`; `constant`, the output at the middle of the region; or a YAML file with a limit.",
        Yaml("given.limit", words=(EMPIRICAL, CONSTANT)),
    ),
    Option("--norm", "", tuple(NORMS)),
    Option(
        "--at-most", "The bound to state; by default the smallest that is proved, rounded up to 6 digits.", metavar="R"
    ),
    Option("--per-query", "Also state a bound for each query.", bool),
    Option("--relative", "Also state bounds in units of the output |T(q)|.", bool),
    Option(
        "--causal",
        "The first query, or region, sees the first N tokens, and each further one one more; by default all see all.",
        Whole(1),
        "N",
    ),
    ARRAY,
    HEAD,
    DATA_OR_AUTO,
    in_arithmetic(ARITHMETICS),
    inputs=_inputs,
    doubts=[relative, spread],
    progress="parts",
)
