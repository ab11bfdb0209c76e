"""The part of a certificate of `output-deviation` that is about regions: what is stated of them, and the witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import row_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.attention.cells import Hull
from certattn.kernel.theorems.attention.output_deviation import AT_MOST, NORM, THEOREM, AssertedDeviation
from certattn.kernel.theorems.attention.query_regions import MOST_CELLS, StatedRegion
from certattn.provers.attention.deviation_search import BITS, DIGITS, sharp
from certattn.provers.attention.region_search import search
from certattn.provers.exact_inputs import exact, require_within
from certattn.provers.output import Draft, texts
from certattn.provers.rounding import last_place, lower_rational, round_down, round_nearest, round_up, upper_rational

# A bound above this is none. Written out, it could fill the memory.
_MOST = arb(2) ** 4096
# A bound that is so many times what was found says nothing that anybody wants to know.
_USELESS = 10**6
# Of an output that is stated as a limit.
_OUTPUT_DIGITS, _OUTPUT_BITS = 12, 256


@dataclass(frozen=True)
class Wanted:
    """Regions as a caller states them, and whether as one: what one leaves out is the queries that are meant."""

    regions: list[dict[str, Plain]]
    is_one: bool

    @classmethod
    def stated(cls, regions: Any) -> Wanted:
        """A region from Python, or a list of them. Raises UsageError."""
        plain = exact(regions, "region")
        several = plain if isinstance(plain, list) else [plain]
        found = [region for region in several if isinstance(region, dict)]
        if not found or len(found) < len(several):
            raise UsageError("a region is a mapping with a kind (ball, box or hull); several regions are a list")
        return cls(found, isinstance(plain, dict))

    @property
    def needs_queries(self) -> bool:
        """Whether the queries' array is what is meant, or says where a region is."""
        return any(_left_out(region) is not None for region in self.regions)

    def placed(self, given: dict[str, Plain], causal: int | None) -> dict[str, Plain]:
        """`given` with the regions in the place of queries; under a mask the first sees so many tokens, each one more.

        A ball without a centre is one around each query that is meant.
        """
        found, queries = list[dict[str, Plain]](), given.get("queries")
        for region in self.regions:
            field = _left_out(region)
            if field is None or not isinstance(queries, dict):
                found.append(region)
                continue
            rows = _each_row(queries) if field == "centre" else [queries]
            if len(rows) > 1 and not self.is_one:
                raise UsageError(
                    f"a ball has one centre, but {len(rows)} queries are given: pick one of them, as with "
                    "--queries 5:6, or state the centre of each ball"
                )
            found += [{"kind": region["kind"], field: row, **region} for row in rows]
        if causal is not None:
            found = [{**region, "sees": str(causal + place)} for place, region in enumerate(found)]
        arrays = {name: given[name] for name in given if name not in ("scale", "limit", "queries")}
        one = self.is_one and len(found) == 1
        stated: dict[str, Plain] = {"region": found[0]} if one else {"regions": list(found)}
        return {**arrays, **stated, "scale": given["scale"], "limit": given["limit"]}


def _left_out(region: dict[str, Plain]) -> str | None:
    """The field that queries stand for."""
    field = {"ball": "centre", "hull": "points"}.get(str(region.get("kind")))
    return field if field is not None and field not in region else None


def _each_row(queries: dict[str, Plain]) -> list[dict[str, Plain]]:
    """A reference to each of the rows that are meant; the reference itself where there is one."""
    shape, rows = queries.get("shape"), queries.get("rows")
    ends = str(rows).split(":") if rows is not None else ["0", str(shape[0]) if isinstance(shape, list) else ""]
    if len(ends) != 2 or not all(end.isdigit() for end in ends) or int(ends[1]) - int(ends[0]) <= 1:
        return [queries]
    return [{**queries, "rows": f"{row}:{row + 1}"} for row in range(int(ends[0]), int(ends[1]))]


def output_there(draft: Draft) -> dict[str, Plain]:
    """The output at the middle of the regions of a draft, rounded, as a limit that is the same for every query.

    Raises UsageError where they have several middles.
    """
    problem = draft.read(THEOREM.read, {"deviation": {"norm": "l2", "at_most": "0"}})
    (middle, sees), *others = {(tuple(region.exact.middle().row(0)), region.sees) for region in problem.regions}
    if others:
        raise UsageError(
            f"{len(others) + 1} queries have outputs of their own; expected one beside --limit constant, such as "
            "--queries 5:6"
        )
    prompt = problem.prompt
    seen = prompt.exact if sees is None else prompt.exact.first(sees)
    with working_precision(_OUTPUT_BITS):
        (from_mean,) = seen.outputs_from_mean(ExactMatrix.row_vector(middle) @ prompt.query_map.T)
        output = [x + y for x, y in zip(from_mean, row_of_balls(seen.values.mean_row().row(0)), strict=True)]
        if not all(entry.is_finite() for entry in output):
            raise NotProvedError("the output at the middle of the region has no bound at this precision")
        largest = max(upper_rational(abs(entry)) for entry in output)
        offset = texts(round_nearest(lower_rational(entry), last_place(largest, _OUTPUT_DIGITS)) for entry in output)
    zeros: list[Plain] = ["0"] * prompt.query_dimension
    return {"kind": "affine", "matrix": [zeros] * len(offset), "offset": offset}


def over_regions(
    draft: Draft, norm: str, at_most: str | None, cells: int, lower_bound: bool
) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is asserted, and the witness. Raises NotProvedError where `at_most` is not proved.

    Of several regions each has a bound of its own, unless one for all is asked for.
    """
    require_within(1, MOST_CELLS, cells, "cells")
    asserts: dict[str, Plain] = {"norm": norm, "at_most": "0" if at_most is None else at_most}
    problem = draft.read(THEOREM.read, {"deviation": asserts})
    bound = problem.bounds[AT_MOST] if at_most is not None else None
    enough = float(int(bound.p) / int(bound.q)) if bound is not None else None
    hints: list[dict[str, Plain]] = []
    for region in problem.regions:
        found = search(region.exact, problem.around(region), norm, cells, enough)
        hints.append({"cells": found.words()} if len(found.bisections) > 1 else {})
        if found.suspect is not None:
            hints[-1]["weights" if isinstance(region.exact, Hull) else "query"] = texts(found.suspect)
    one = problem.regions[0].place is None
    problem = draft.read(THEOREM.read, {"deviation": asserts}, _witness(hints, one))
    reached = [_bounds(problem, region, cells) for region in problem.regions]
    for place, (upper, lower, _) in enumerate(reached):
        where = "the region" if one else f"region {place}"
        if bound is not None and upper > bound:
            raise NotProvedError(_too_small(str(at_most), lower > bound, upper, lower, cells, where))
        if bound is None and 0 < _USELESS * lower < upper:
            raise NotProvedError(_too_large(upper, lower, cells, where))
    asserts = _stated(norm, at_most, reached, one, lower_bound)
    if not lower_bound:
        hints = [{name: value for name, value in hint.items() if name == "cells"} for hint in hints]
    witness = _witness(hints, one)
    bits = max(bits for _, _, bits in reached)
    if bits != BITS[0]:
        witness["bits"] = str(bits)
    return {"deviation": asserts}, witness


def _stated(
    norm: str, at_most: str | None, reached: list[tuple[fmpq, fmpq, int]], one: bool, lower_bound: bool
) -> dict[str, Plain]:
    """What is asserted, of what was reached over each region."""
    found: dict[str, list[Plain]] = {"at_most": [format_rational(round_up(upper, DIGITS)) for upper, _, _ in reached]}
    if lower_bound:
        found["at_least"] = [format_rational(round_down(lower, DIGITS)) for _, lower, _ in reached]
    asserts: dict[str, Plain] = {"norm": norm}
    if at_most is not None:
        asserts["at_most"] = at_most
        del found["at_most"]
    if one:
        return {**asserts, **{name: bounds[0] for name, bounds in found.items()}}
    return {**asserts, "per_region": dict(found)} if found else asserts


def _witness(hints: list[dict[str, Plain]], one: bool) -> dict[str, Plain]:
    if one:
        return dict(hints[0])
    return {"regions": list(hints)} if any(hints) else {}


def _too_small(asked: str, false: bool, upper: fmpq, lower: fmpq, cells: int, where: str) -> str:
    low, high = (arb(value).str(6, radius=False) for value in (lower, upper))
    if false:
        return f"at_most {asked} is too small: some query of {where} deviates by about {low}"
    return (
        f"at_most {asked} could not be proved with {cells} cells: about {high} can, and some query of {where} "
        f"deviates by about {low}. More cells may do (--cells)"
    )


def _too_large(upper: fmpq, lower: fmpq, cells: int, where: str) -> str:
    low, high = (arb(value).str(3, radius=False) for value in (lower, upper))
    return (
        f"with {cells} cells about {high} is the smallest bound that can be proved, and no query was found to deviate "
        f"by more than about {low}: {where} is too large, or needs more cells (--cells); to state a bound as large "
        "as that, give it (--at-most)"
    )


def _bounds(problem: AssertedDeviation, region: StatedRegion, cells: int) -> tuple[fmpq, fmpq, int]:
    """What the kernel proves with this witness: a bound over the region, and a deviation that occurs."""
    deviation = problem.around(region)
    suspect = region.suspected() or region.exact.middle()
    for bits in BITS:
        with working_precision(bits):
            (lower,) = problem.deviations_at(region, suspect)
            uppers = [deviation.over(region.cell(index), problem.bounds[NORM]).upper for index in range(region.count)]
            if all(sharp(value) for value in (lower, *uppers)):
                break
    if not all(value.is_finite() and value < _MOST for value in uppers):
        raise NotProvedError(
            f"no bound can be proved with {cells} cells: the region is too large, or needs more cells (--cells)"
        )
    upper = max(upper_rational(value) for value in uppers)
    return upper, max(lower_rational(lower), fmpq(0)), bits
