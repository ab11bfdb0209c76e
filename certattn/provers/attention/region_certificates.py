"""The part of a certificate of `output-deviation` that is about a region: what is asserted, and its witness."""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.attention.cells import Hull
from certattn.kernel.theorems.attention.output_deviation import AT_MOST, NORM, THEOREM, AssertedDeviation
from certattn.kernel.theorems.attention.query_regions import MOST_CELLS
from certattn.provers.attention.deviation_search import BITS, DIGITS, sharp
from certattn.provers.attention.region_search import search
from certattn.provers.exact_inputs import exact, require_within
from certattn.provers.output import Draft, texts
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

CELLS = 200
# A bound above this is none. Written out, it could fill the memory.
_MOST = arb(2) ** 4096
# A bound that is so many times what was found says nothing that anybody wants to know.
_USELESS = 10**6


def stated_region(region: Any) -> dict[str, Plain]:
    """A region from Python as certificates write it. Raises UsageError."""
    plain = exact(region, "region")
    if not isinstance(plain, dict):
        raise UsageError("a region is a mapping with a kind: ball, box or hull")
    return plain


def needs_queries(region: dict[str, Plain] | None) -> bool:
    """Whether the queries' array is what is meant, or says where the region is."""
    return region is None or _left_out(region) is not None


def _left_out(region: dict[str, Plain]) -> str | None:
    """The field that queries stand for."""
    field = {"ball": "centre", "hull": "points"}.get(str(region.get("kind")))
    return field if field is not None and field not in region else None


def place_region(given: dict[str, Plain], region: dict[str, Plain]) -> dict[str, Plain]:
    """`given` with the region in the place of queries."""
    field, queries = _left_out(region), given.get("queries")
    if field is not None and isinstance(queries, dict):
        if field == "centre":
            _require_one(queries)
        region = {"kind": region["kind"], field: queries, **region}
    arrays = {name: given[name] for name in given if name not in ("scale", "limit", "queries")}
    return {**arrays, "region": region, "scale": given["scale"], "limit": given["limit"]}


def _require_one(queries: dict[str, Plain]) -> None:
    shape, rows = queries["shape"], queries.get("rows")
    first, stop = str(rows).split(":") if rows is not None else ("0", str(shape[0]) if isinstance(shape, list) else "1")
    if first.isdigit() and stop.isdigit() and int(stop) - int(first) > 1:
        raise UsageError(
            f"a ball has one centre, and {int(stop) - int(first)} queries are meant: pick one of them, as with "
            f"--queries {first}:{int(first) + 1}, or state a centre"
        )


def over_region(
    draft: Draft, norm: str, at_most: str | None, cells: int, lower_bound: bool
) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is asserted, and the witness. Raises NotProvedError where `at_most` is not proved."""
    require_within(1, MOST_CELLS, cells, "cells")
    asserts: dict[str, Plain] = {"norm": norm, "at_most": "0" if at_most is None else at_most}
    problem = draft.read(THEOREM.read, {"deviation": asserts})
    assert problem.region is not None
    bound = problem.bounds[AT_MOST] if at_most is not None else None
    enough = float(int(bound.p) / int(bound.q)) if bound is not None else None
    found = search(problem.region.exact, problem.around, norm, cells, enough)
    witness: dict[str, Plain] = {"cells": found.words()} if len(found.bisections) > 1 else {}
    if found.suspect is not None:
        witness["weights" if isinstance(problem.region.exact, Hull) else "query"] = texts(found.suspect)
    upper, lower, bits = _bounds(draft.read(THEOREM.read, {"deviation": asserts}, witness), cells)
    if bound is not None and upper > bound:
        raise NotProvedError(_too_small(str(at_most), lower > bound, upper, lower, cells))
    if bound is None and 0 < _USELESS * lower < upper:
        raise NotProvedError(_too_large(upper, lower, cells))
    if bound is None:
        asserts["at_most"] = format_rational(round_up(upper, DIGITS))
    if lower_bound:
        asserts["at_least"] = format_rational(round_down(lower, DIGITS))
    else:
        witness = {name: value for name, value in witness.items() if name == "cells"}
    if bits != BITS[0]:
        witness["bits"] = str(bits)
    return {"deviation": asserts}, witness


def _too_small(asked: str, false: bool, upper: fmpq, lower: fmpq, cells: int) -> str:
    low, high = (arb(value).str(6, radius=False) for value in (lower, upper))
    if false:
        return f"at_most {asked} is too small: some query of the region deviates by about {low}"
    return (
        f"at_most {asked} could not be proved with {cells} cells: about {high} can, and some query of the region "
        f"deviates by about {low}. More cells may do (--cells)"
    )


def _too_large(upper: fmpq, lower: fmpq, cells: int) -> str:
    low, high = (arb(value).str(3, radius=False) for value in (lower, upper))
    return (
        f"with {cells} cells about {high} is the smallest bound that can be proved, and no query was found to deviate "
        f"by more than about {low}: the region is too large, or needs more cells (--cells); to state a bound as large "
        "as that, give it (--at-most)"
    )


def _bounds(problem: AssertedDeviation, cells: int) -> tuple[fmpq, fmpq, int]:
    """What the kernel proves with this witness: a bound over the region, and a deviation that occurs."""
    region, deviation = problem.region, problem.around
    assert region is not None
    suspect = region.suspected() or region.exact.middle()
    for bits in BITS:
        with working_precision(bits):
            (lower,) = problem.deviations_at(suspect)
            uppers = [deviation.over(region.cell(index), problem.bounds[NORM]).upper for index in range(region.count)]
            if all(sharp(value) for value in (lower, *uppers)):
                break
    if not all(value.is_finite() and value < _MOST for value in uppers):
        raise NotProvedError(
            f"no bound can be proved with {cells} cells: the region is too large, or needs more cells (--cells)"
        )
    upper = max(upper_rational(value) for value in uppers)
    return upper, max(lower_rational(lower), fmpq(0)), bits
