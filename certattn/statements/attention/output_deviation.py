"""`output-deviation` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Enclosure
from certattn.kernel.document.schema import Values
from certattn.kernel.given.attention import read_scale
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.output_deviation import (
    AT_LEAST,
    AT_MOST,
    EACH_AT_LEAST,
    EACH_AT_MOST,
    EACH_RELATIVE,
    LIMIT_MATRIX,
    LIMIT_OFFSET,
    NORM,
    OF_EACH_AT_LEAST,
    OF_EACH_AT_MOST,
    PER_REGION,
    RELATIVE,
    TOKEN_LAW,
    AssertedDeviation,
)
from certattn.kernel.theorems.attention.query_regions import StatedRegion
from certattn.statements.attention.query_regions import over_cell_words, regions_latex, regions_words
from certattn.statements.attention.scales import forgotten_scale
from certattn.statements.given import in_brackets, law_words, prompt_words, sight_words
from certattn.statements.wording import Answer, Statement, Wording, show

# For numbers that only say how far a check came.
_DIGITS = 6


def statement(stated: AssertedDeviation) -> Statement:
    regions = stated.regions
    queries = f"each of {stated.count} queries" if stated.count > 1 else "one query"
    sight = sight_words(stated.prompt, stated.causal)
    masked = stated.causal is not None or any(region.sees is not None for region in regions)
    limit = _limit_words(stated.limit_kind, stated.limit_values, masked)
    words = (
        f"For {regions_words(regions) if regions else queries} and a prompt of {prompt_words(stated.prompt)}"
        f"{sight}, the {stated.bounds[NORM]} distance between softmax attention T(q) and {limit} "
        f"is {_bounds_words(stated)}."
    )
    query, among = ("q", f"{{{regions_latex(regions)}}}") if regions else ("q_i", "i")
    return Statement(words, _latex(stated, query, among))


def _limit_words(kind: str, values: Values, masked: bool) -> str:
    """T_inf in a sentence."""
    if kind == "affine":
        offset, matrix, scale = values[LIMIT_OFFSET], values[LIMIT_MATRIX], read_scale(values)
        if matrix.written_out and matrix.load().is_zero():
            numbers = offset.words()
            return f"the constant vector T_inf(q) = {numbers if numbers.startswith('(') else f'({numbers})'}"
        factor = "" if scale == 1 else f"{describe(scale)} * "
        return f"the affine map T_inf(q) = {offset.words()} + {factor}A q with A = {matrix.words()}"
    if kind == "law":
        return f"attention T_inf(q) over an infinite prompt of {law_words(values[TOKEN_LAW])}"
    whose = "the moments of the tokens that q sees" if masked else "the prompt's own moments"
    return f"the linear map T_inf(q) = v_bar + scale * Cov(v, k) q with {whose}"


def _bounds_words(stated: AssertedDeviation) -> str:
    bounds, parts = stated.bounds, []
    if AT_MOST in bounds:
        parts.append(f"at most {describe(bounds[AT_MOST])} for every query")
    if AT_LEAST in bounds:
        parts.append(f"at least {describe(bounds[AT_LEAST])} for some query")
    if each := stated.each(EACH_AT_MOST):
        parts.append(f"at most the bound stated for each query {_vector(each)}")
    if each := stated.each(EACH_AT_LEAST):
        parts.append(f"at least the bound stated for each query {_vector(each)}")
    if each := stated.each(OF_EACH_AT_MOST, PER_REGION):
        parts.append(f"at most the bound stated for its region {_vector(each)} for every query")
    if each := stated.each(OF_EACH_AT_LEAST, PER_REGION):
        parts.append(f"at least the bound stated for its region {_vector(each)} for some query of each")
    size = f"the {bounds[NORM]} norm of T(q)"
    if RELATIVE in bounds:
        parts.append(f"at most {describe(bounds[RELATIVE])} times {size} for every query")
    if each := stated.each(EACH_RELATIVE):
        parts.append(f"at most the multiple stated for each query {_vector(each)} of {size}")
    return " and ".join(parts)


def _vector(bounds: Sequence[fmpq]) -> str:
    return in_brackets(str(ExactMatrix.row_vector(bounds)))


def _latex(stated: AssertedDeviation, query: str, among: str) -> str:
    """The formulas for `query`, which runs over `among`, written as a subscript."""
    bounds = stated.bounds
    index = {"l2": "2", "linf": r"\infty"}[bounds[NORM]]
    distance, size = rf"\| T({query}) - T_\infty({query}) \|_{index}", rf"\| T({query}) \|_{index}"
    parts = []
    if AT_MOST in bounds:
        parts.append(rf"\max_{among} {distance} \le {describe(bounds[AT_MOST])}")
    if AT_LEAST in bounds:
        parts.append(rf"\max_{among} {distance} \ge {describe(bounds[AT_LEAST])}")
    if stated.each(EACH_AT_MOST):
        parts.append(rf"{distance} \le r_i \ \forall i")
    if stated.each(EACH_AT_LEAST):
        parts.append(rf"{distance} \ge s_i \ \forall i")
    if stated.each(OF_EACH_AT_MOST, PER_REGION):
        parts.append(rf"\max_{{q \in R_k}} {distance} \le r_k \ \forall k")
    if stated.each(OF_EACH_AT_LEAST, PER_REGION):
        parts.append(rf"\max_{{q \in R_k}} {distance} \ge s_k \ \forall k")
    if RELATIVE in bounds:
        parts.append(rf"{distance} \le {describe(bounds[RELATIVE])}\, {size} \ \forall i")
    if stated.each(EACH_RELATIVE):
        parts.append(rf"{distance} \le t_i\, {size} \ \forall i")
    return r",\qquad ".join(parts)


# -- obligations


def sentence(stated: AssertedDeviation, name: str) -> str:
    norm = stated.bounds[NORM]
    distance = f"|T(q) - T_inf(q)|_{norm}"
    if name == "at_least":
        return _somewhere(stated, distance, stated.regions) if stated.regions else f"the largest {distance}"
    kind, _, place = name.removesuffix("]").rpartition("[")
    index = int(place)
    if kind == "per_region.at_least":
        return _somewhere(stated, distance, [stated.regions[index]], stated.each(OF_EACH_AT_LEAST, PER_REGION)[index])
    if stated.regions:
        return _over_cell(stated, *_cell_of(stated, kind.removesuffix(".cell")), distance, index)
    at = f"{distance} at query {index}"
    if not kind.endswith("relative_at_most"):
        return at
    own = kind.startswith("per_query.")
    factor = stated.each(EACH_RELATIVE)[index] if own else stated.bounds[RELATIVE]
    return f"{at}, at most {show(factor)} |T(q)|_{norm}"


def _somewhere(
    stated: AssertedDeviation, distance: str, regions: Sequence[StatedRegion], bound: fmpq | None = None
) -> str:
    known = [stated.suspected.get(region.name, arb("nan")) for region in regions]
    asked = stated.bounds[AT_LEAST] if bound is None else bound
    where = _named(regions[0]) if len(regions) == 1 else "some region"
    queries = "query" if len(regions) == 1 else "queries"
    here = f", here at the {queries} of the witness" if all(value < asked for value in known) else ""
    return f"{distance} at some query of {where}{here}"


def _named(region: StatedRegion) -> str:
    """`the region`, or `region 2` of several."""
    return "the region" if region.place is None else f"region {region.place}"


def _cell_of(stated: AssertedDeviation, kind: str) -> tuple[StatedRegion, fmpq]:
    """The region and the bound that an obligation about a cell is about, from its name without the cell."""
    place = int(kind[kind.index("[") + 1 : -1]) if "[" in kind else 0
    own = kind.startswith(PER_REGION.name)
    return stated.regions[place], (stated.each(OF_EACH_AT_MOST, PER_REGION)[place] if own else stated.bounds[AT_MOST])


def _over_cell(stated: AssertedDeviation, region: StatedRegion, bound: fmpq, distance: str, index: int) -> str:
    """Which of the numbers that are known of a cell is compared."""
    reached = stated.reached.get(region.name, {}).get(index)
    return over_cell_words(distance, region, index, reached, bound)


# -- findings


def findings(stated: AssertedDeviation, obligations: Sequence[Answer]) -> list[str]:
    found = _over_regions(stated) if stated.regions else _at_queries(stated, obligations)
    return found + forgotten_scale(stated.prompt.scale, stated.prompt.key_dimension, stated.prompt.inputs)


def _at_queries(stated: AssertedDeviation, obligations: Sequence[Answer]) -> list[str]:
    bound, worst = stated.bounds.get(AT_MOST), None
    for obligation in obligations:
        enclosure = obligation.left
        if not isinstance(enclosure, arb) or not obligation.name.startswith("at_most["):
            continue
        if worst is None or enclosure.upper() > worst[0].upper():
            worst = enclosure, obligation.name.removeprefix("at_most")
    found = []
    if worst is not None and bound is not None:
        slack = (bound - worst[0]).lower().str(3, radius=False)
        found.append(f"worst query {worst[1][1:-1]}: deviation {show(worst[0])}, slack {slack}")
    return found + _worst_relative(stated, obligations)


def _worst_relative(stated: AssertedDeviation, obligations: Sequence[Answer]) -> list[str]:
    """Which query comes nearest to its bound in units of |T(q)|, in a line; nothing where no such bound is asserted."""
    common = stated.bounds.get(RELATIVE)
    kind = "relative_at_most" if common is not None else "per_query.relative_at_most"
    factors = stated.each(EACH_RELATIVE) if common is None else [common]
    worst: tuple[arb, str, arb, arb] | None = None
    for obligation in obligations:
        deviation, most = obligation.left, obligation.right
        if obligation.name.startswith(f"{kind}[") and isinstance(deviation, arb) and isinstance(most, Enclosure):
            share = _share(deviation, arb(most))
            if worst is None or share.upper() > worst[0].upper():
                worst = share, obligation.name.removeprefix(kind), deviation, arb(most)
    if worst is None:
        return []
    share, place, deviation, most = worst
    factor = factors[int(place[1:-1])] if common is None else factors[0]
    # Where every query has a bound of its own, the one that comes nearest need not deviate most.
    index = place[1:-1]
    which = (
        f"worst query {index} relative to its output" if common is not None else f"query {index}, nearest to its bound"
    )
    if share.is_finite() is not True:
        return [f"{which}: deviation {show(deviation)}, where {show(most)} is asserted"]
    quotient = share * factor
    slack = (factor - quotient).lower().str(3, radius=False)
    return [f"{which}: deviation / |T(q)| {show(quotient)}, slack {slack}"]


def _share(deviation: arb, most: arb) -> arb:
    """The part of a bound that a deviation takes: 0 of any for no deviation, infinite where the bound may be 0."""
    if (deviation == 0) is True:
        return arb(0)
    return deviation / most if (most > 0) is True else arb.pos_inf()


def _over_regions(stated: AssertedDeviation) -> list[str]:
    """What was reached over the regions, of which every cell was looked at: the one that comes nearest to its bound."""
    common, own = stated.bounds.get(AT_MOST), stated.each(OF_EACH_AT_MOST, PER_REGION)
    found: list[tuple[arb, str]] = []
    for place, region in enumerate(stated.regions):
        bounds = [bound for bound in (common, own[place] if own else None) if bound is not None]
        reached = stated.reached.get(region.name, {})
        if not bounds or len(reached) < region.count:
            continue
        name = f"over {_named(region)}"
        uppers = {index: cell.upper for index, cell in reached.items()}
        unknown = [index for index, upper in uppers.items() if upper.is_finite() is not True]
        if unknown:
            return [f"{name}: no bound, because of cell {unknown[0]}"]
        worst = max(uppers, key=lambda index: uppers[index].upper())
        slack = min(bounds) - uppers[worst]
        largest = max((cell.centre for cell in reached.values()), key=lambda centre: centre.upper())
        where = f" (cell {worst} of {region.count})" if region.count > 1 else ""
        text = f"{name}: at most {show(uppers[worst])}{where}, slack {slack.lower().str(3, radius=False)}"
        found.append((slack.lower(), f"{text}; at the centres of cells up to {show(largest, _DIGITS)}"))
    return [min(found, key=lambda item: item[0])[1]] if found else []


WORDING = Wording[AssertedDeviation](statement, sentence, findings)
