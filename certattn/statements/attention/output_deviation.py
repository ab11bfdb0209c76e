"""`output-deviation` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

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
    RELATIVE,
    TOKEN_LAW,
    AssertedDeviation,
)
from certattn.kernel.theorems.attention.query_regions import StatedRegion
from certattn.statements.attention.query_regions import at_words, region_latex, region_words
from certattn.statements.given import law_words, prompt_words, sight_words
from certattn.statements.wording import Answer, Statement, Wording, show

# For numbers that only say how far a check came.
_DIGITS = 6
_FINER = "a finer subdivision may do (certattn generate --cells)"


def statement(stated: AssertedDeviation) -> Statement:
    region = stated.region
    queries = f"each of {stated.count} queries" if stated.count > 1 else "one query"
    sight = sight_words(stated.prompt, stated.causal)
    limit = _limit_words(stated.limit_kind, stated.limit_values, stated.causal)
    words = (
        f"For {queries if region is None else region_words(region)} and a prompt of {prompt_words(stated.prompt)}"
        f"{sight}, the {stated.bounds[NORM]} distance between softmax attention T(q) and {limit} "
        f"is {_bounds_words(stated)}."
    )
    query, among = ("q_i", "i") if region is None else ("q", f"{{{region_latex(region)}}}")
    return Statement(words, _latex(stated, query, among))


def _limit_words(kind: str, values: Values, causal: int | None) -> str:
    """T_inf in a sentence."""
    if kind == "affine":
        offset, matrix, scale = values[LIMIT_OFFSET], values[LIMIT_MATRIX], read_scale(values)
        factor = "" if scale == 1 else f"{describe(scale)} * "
        return f"the affine map {offset.words()} + {factor}A q with A = {matrix.words()}"
    if kind == "law":
        return f"attention over an infinite prompt of {law_words(values[TOKEN_LAW])}"
    whose = "the prompt's own moments" if causal is None else "the moments of the tokens that q sees"
    return f"the linear map v_bar + scale * Cov(v, k) q with {whose}"


def _bounds_words(stated: AssertedDeviation) -> str:
    bounds, parts = stated.bounds, []
    if AT_MOST in bounds:
        parts.append(f"at most {describe(bounds[AT_MOST])} for every query")
    if AT_LEAST in bounds:
        parts.append(f"at least {describe(bounds[AT_LEAST])} for some query")
    if each := stated.each(EACH_AT_MOST):
        parts.append(f"at most the stated bound of each query, {ExactMatrix.row_vector(each)}")
    if each := stated.each(EACH_AT_LEAST):
        parts.append(f"at least the stated bound of each query, {ExactMatrix.row_vector(each)}")
    size = f"the {bounds[NORM]} norm of T(q)"
    if RELATIVE in bounds:
        parts.append(f"at most {describe(bounds[RELATIVE])} times {size} for every query")
    if each := stated.each(EACH_RELATIVE):
        parts.append(f"at most the stated multiple of each query, {ExactMatrix.row_vector(each)}, of {size}")
    return " and ".join(parts)


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
        return f"the largest {distance}" if stated.region is None else _somewhere(stated, distance)
    kind, _, place = name.removesuffix("]").rpartition("[")
    index = int(place)
    if stated.region is not None:
        return _over_cell(stated, stated.region, distance, index)
    at = f"{distance} at query {index}"
    if not kind.endswith("relative_at_most"):
        return at
    own = kind.startswith("per_query.")
    factor = stated.each(EACH_RELATIVE)[index] if own else stated.bounds[RELATIVE]
    return f"{at}, at most {show(factor)} |T(q)|_{norm}"


def _somewhere(stated: AssertedDeviation, distance: str) -> str:
    value, *_ = stated.suspected or [arb("nan")]
    here = ", here at the query of the witness" if value < stated.bounds[AT_LEAST] else ""
    return f"{distance} at some query of the region{here}"


def _over_cell(stated: AssertedDeviation, region: StatedRegion, distance: str, index: int) -> str:
    """Which of the numbers that are known of a cell is compared."""
    bound, reached = stated.bounds[AT_MOST], stated.reached.get(index)
    where = at_words(region.cell(index), index, region.count)
    if reached is None or reached.upper <= bound:
        return f"a bound of {distance} over {where}"
    if reached.centre > bound:
        return f"{distance} at the centre of {where}"
    if (reached.centre <= bound) is not True:
        return f"the largest {distance} over {where}"
    finer = f", where {_FINER}" if reached.upper > bound else ""
    return f"a bound of {distance} over {where}{finer}"


# -- findings


def findings(stated: AssertedDeviation, obligations: Sequence[Answer]) -> list[str]:
    if stated.region is not None:
        return _over_region(stated, stated.region)
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
        found.append(f"worst query {worst[1]}: deviation {show(worst[0])}, slack {slack}")
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
    which = f"worst query {place} beside its output" if common is not None else f"nearest to its bound {place}"
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


def _over_region(stated: AssertedDeviation, region: StatedRegion) -> list[str]:
    """What was reached over the region, if every cell was looked at."""
    bound, reached = stated.bounds.get(AT_MOST), stated.reached
    if bound is None or len(reached) < region.count:
        return []
    worst, largest = 0, arb(0)
    for index, cell in reached.items():
        if cell.upper.is_finite() is not True:
            return [f"over the region: no bound, because of cell {index}"]
        largest = largest.max(cell.centre)
        worst = index if cell.upper.upper() > reached[worst].upper.upper() else worst
    upper = reached[worst].upper
    slack = (bound - upper).lower().str(3, radius=False)
    where = f" (cell {worst} of {region.count})" if region.count > 1 else ""
    found = f"over the region: at most {show(upper)}{where}, slack {slack}"
    return [f"{found}; at the centres of cells up to {show(largest, _DIGITS)}"]


WORDING = Wording[AssertedDeviation](statement, sentence, findings)
