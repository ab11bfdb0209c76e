"""`cache-error` in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flint import arb, fmpq

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.errors import Binary64Error
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.cache_error import (
    AT_LEAST,
    AT_MOST,
    DEVIATION,
    EACH_AT_LEAST,
    EACH_AT_MOST,
    ERROR,
    EVERYWHERE,
    EVICTED,
    MASS,
    MEASURES,
    PER_QUERY,
    RELATIVE,
    TOKENS,
    AssertedCache,
    measures,
)
from certattn.kernel.theorems.attention.cache_regions import CacheOverRegion
from certattn.kernel.theorems.attention.stated_caches import KEPT, MULTIPLICITIES, CachedArray, StatedCache
from certattn.kernel.theorems.attention.stated_heads import KEYS, QUERIES, VALUES
from certattn.statements.attention.attention_error import heads_words, sight_words
from certattn.statements.attention.query_regions import first_tokens, over_cell_words, regions_latex, regions_words
from certattn.statements.digits import DOUBLE
from certattn.statements.given import in_brackets, scaled
from certattn.statements.ranges import between
from certattn.statements.wording import Answer, Statement, Wording, cut, show

# What is measured at a query, in words and as a formula.
_MEASURED: dict[str, tuple[str, str]] = {
    ERROR.name: ("largest entry of |T' - T|", r"\max_j | T'_{ij} - T_{ij} |"),
    DEVIATION.name: ("deviation |T' - T|_2", r"\| T'_i - T_i \|_2"),
    RELATIVE.name: ("relative deviation |T' - T|_2 / |T|_2", r"\| T'_i - T_i \|_2 / \| T_i \|_2"),
    EVICTED.name: ("softmax weight on the tokens that are not kept", r"\sum_{j \text{ evicted}} p_{ij}"),
    MASS.name: ("softmax weight on stated tokens", r"\sum_{j \in M} p_{ij}"),
}
# Over a region, as formulas.
_OF_REGION: dict[str, str] = {
    ERROR.name: r"\| T'(q) - T(q) \|_\infty",
    DEVIATION.name: r"\| T'(q) - T(q) \|_2",
    EVICTED.name: r"\sum_{j \text{ evicted}} p_j(q)",
    MASS.name: r"\sum_{j \in M} p_j(q)",
}
_BY_NAME = {field.name: field for field in MEASURES}
_INDEX = re.compile(r"\[(\d+)\]")
# So many tokens are written out.
_SHOWN = 16


def statement(stated: AssertedCache) -> Statement:
    heads, given, said, over = stated.heads, stated.heads.given, list(_said(stated)), stated.over
    compared = "; ".join(words for words, _ in said)
    arrays = f"keys: {given[KEYS].words()}, values: {given[VALUES].words()}"
    if over is None:
        whose, sees = f"{heads_words(heads)} (queries: {given[QUERIES].words()}, {arrays})", sight_words(given)
    else:
        whose = f"{regions_words([over.region])} and a head of {counted(heads.tokens, 'token')} ({arrays})"
        sees = f"a query sees {first_tokens(over.region) or 'all tokens'}"
    words = (
        f"For {whose}, let T be the mean of the values that a query sees, weighted by "
        f"e^({scaled(heads.scale, '<q, k>')}), where {sees}. "
        f"{_cache_words(stated.cache) + compared if stated.cache is not None else compared[0].upper() + compared[1:]}."
    )
    return Statement(words, r",\qquad ".join(latex for _, latex in said))


def _cache_words(cache: StatedCache) -> str:
    """What T' is."""
    given = cache.given
    all_kept = cache.tokens == cache.heads.tokens
    kept = "that keeps all tokens" if all_kept else f"of {counted(cache.tokens, 'token')}"
    if KEPT in given:
        kept = f"that keeps {counted(cache.tokens, 'token')} {in_brackets(_kept_words(given[KEPT]))}"
    parts = [
        f"whose {name} are {_part_words(part)}"
        for name, part in (("keys", cache.keys), ("values", cache.values))
        if part is not None
    ]
    if MULTIPLICITIES in given:
        parts.append(f"where the multiplicities of tokens are {given[MULTIPLICITIES].words()}")
    beside = f", {' and '.join(parts)}" if parts else ""
    # Without places all of them are seen.
    seen = "the same tokens, as far as they are in" if KEPT in given or all_kept else "all tokens of"
    return f"Let T' be the same mean over {seen} a cache {kept}{beside}. Then "


def _kept_words(kept: MatrixInput) -> str:
    """Tokens that are written out for all heads, as ranges."""
    if not kept.written_out or kept.shape[0] > 1:
        return kept.words()
    ranges: list[list[fmpq]] = []
    for token in kept.load().row(0):
        if ranges and token == ranges[-1][-1] + 1:
            ranges[-1][1:] = [token]
        else:
            ranges.append([token])
    return f"({', '.join(cut((' to '.join(map(describe, ends)) for ends in ranges), _SHOWN))})"


def _part_words(part: CachedArray) -> str:
    if part.scale is None:
        return part.numbers.words()
    packed = f"; two codes in a byte, {part.packed}" if part.packed is not None else ""
    code = "* code" if part.zero is None else "* (code - zero)"
    after = "" if part.offset is None else " + offset"
    named = {"codes": part.numbers, "scale": part.scale, "zero": part.zero, "offset": part.offset}
    shown = ", ".join(f"{name}: {matrix.words()}" for name, matrix in named.items() if matrix is not None)
    return f"scale {code}{after} ({shown}{packed})"


def _said(stated: AssertedCache) -> Iterator[tuple[str, str]]:
    """What is asserted, every number in it; and the same as a formula."""
    for field in MEASURES:
        if field in stated.asserts:
            bounds, latex, among = stated.asserts[field], _MEASURED[field.name][1], "i"
            if stated.over is not None:
                latex, among = _OF_REGION[field.name], f"{{{regions_latex([stated.over.region])}}}"
            words = f"the {_measure_words(stated, field.name)} is {_bounds_words(bounds)}"
            yield words, _bounds_latex(bounds, latex, among)


def _measure_words(stated: AssertedCache, name: str) -> str:
    words, _ = _MEASURED[name]
    if name != MASS.name:
        return words
    tokens = stated.asserts[MASS][TOKENS]
    shown = ", ".join(cut(map(str, tokens), _SHOWN))
    return f"softmax weight on {'token' if len(tokens) == 1 else 'tokens'} {shown}"


def _bounds_words(bounds: Values) -> str:
    said = []
    if everywhere := between(bounds.get(EVERYWHERE), bounds.get(AT_MOST)):
        said.append(f"{everywhere} at every query")
    if AT_LEAST in bounds:
        said.append(f"at least {describe(bounds[AT_LEAST])} at some query")
    if PER_QUERY in bounds:
        each = bounds[PER_QUERY]
        for field, what in ((EACH_AT_LEAST, "at least"), (EACH_AT_MOST, "at most")):
            if field in each:
                said.append(f"{what} the number stated for each query {in_brackets(each[field].words())}")
    return " and ".join(said)


def _bounds_latex(bounds: Values, latex: str, among: str) -> str:
    """The formulas for queries that run over `among`, written as a subscript."""
    low = rf"{describe(bounds[EVERYWHERE])} \le " if EVERYWHERE in bounds else ""
    high = rf" \le {describe(bounds[AT_MOST])}" if AT_MOST in bounds else ""
    said = [f"{low}{latex}{high}"] if low or high else []
    if AT_LEAST in bounds:
        said.append(rf"\max_{among} {latex} \ge {describe(bounds[AT_LEAST])}")
    if PER_QUERY in bounds:
        each = bounds[PER_QUERY]
        low = r"a_i \le " if EACH_AT_LEAST in each else ""
        said.append(f"{low}{latex}" + (r" \le b_i" if EACH_AT_MOST in each else ""))
    return r",\qquad ".join(said)


def sentence(stated: AssertedCache, name: str) -> str:
    kind, _, rest = name.partition(".")
    if stated.over is not None:
        return _over_region(stated, stated.over, kind, rest)
    place = [int(index) for index in _INDEX.findall(rest)]
    of_head = f" of batch {place[0]}, head {place[1]}" if stated.heads.count > 1 and place else ""
    which = f"at query {place[2]}{of_head}" if rest.startswith(PER_QUERY.name) else f"at the worst query{of_head}"
    if rest.startswith(EVERYWHERE.name):
        which = f"at the query{of_head} where it is least"
    return f"the {_measure_words(stated, kind)} {which}"


def _over_region(stated: AssertedCache, over: CacheOverRegion, kind: str, rest: str) -> str:
    number, bounds = f"the {_measure_words(stated, kind)}", stated.asserts[_BY_NAME[kind]]
    if rest == AT_LEAST.name:
        short = over.suspected.get(kind, arb("nan")) < bounds[AT_LEAST]
        return f"{number} at some query of the region{', here at the query of the witness' * short}"
    end, index = rest.partition(".")[0], int(_INDEX.findall(rest)[0])
    least = end == EVERYWHERE.name
    bound = 1 - bounds[EVERYWHERE] if least else bounds[AT_MOST]
    reached = over.reached.get(f"{kind}.{end}", {}).get(index)
    return over_cell_words(number, over.region, index, reached, bound, least)


def _reached_over_region(stated: AssertedCache, over: CacheOverRegion) -> list[str]:
    """Of each measure what was reached over the region, where every cell was looked at."""
    lines = []
    for field in MEASURES:
        number = _measure_words(stated, field.name) if field in stated.asserts else ""
        ends = (AT_MOST, EVERYWHERE) if field in stated.asserts else ()
        for end in ends:
            reached = over.reached.get(f"{field.name}.{end.name}", {})
            if end not in stated.asserts[field] or len(reached) < over.region.count:
                continue
            worst = max(reached, key=lambda index: _highest(reached[index].upper))
            upper, where = reached[worst].upper, f" (cell {worst} of {len(reached)})" if len(reached) > 1 else ""
            if upper.is_finite() is not True:
                lines.append(f"the {number}: no bound over the region, because of cell {worst}")
            elif end is AT_MOST:
                lines.append(f"the {number} over the region is at most {show(upper)}{where}")
            else:
                lines.append(f"the {number} over the region is at least {show(1 - upper)}{where}")
    return lines


def _highest(upper: arb) -> float:
    return float(upper.mid()) if upper.is_finite() else float("inf")


def findings(stated: AssertedCache, obligations: Sequence[Answer]) -> list[str]:
    """The worst head of each measure, and there the worst query; over a region the worst cell."""
    if stated.over is not None:
        return _reached_over_region(stated, stated.over)
    worst: dict[str, tuple[int, arb]] = {}
    for field in MEASURES:
        named = [(o.name, o.left) for o in obligations if o.name.startswith(f"{field.name}.{AT_MOST.name}[")]
        known = [(float(left.mid()), name, left) for name, left in named if isinstance(left, arb) and left.is_finite()]
        if known:
            _, name, left = max(known, key=lambda each: each[0])
            batch, head = map(int, _INDEX.findall(name))
            worst[field.name] = batch * stated.heads.heads + head, left
    if not worst:
        return []
    queries = _worst_queries(stated, [(name, head) for name, (head, _) in worst.items()])
    lines = []
    for name, (head, left) in worst.items():
        batch, place = divmod(head, stated.heads.heads)
        of_head = f" of batch {batch}, head {place}" if stated.heads.count > 1 else ""
        query = queries[name, head]
        lines.append(f"the {_measure_words(stated, name)} is largest at query {query}{of_head}: {show(left)}")
    return lines


def _worst_queries(stated: AssertedCache, items: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """By measure and head the query at which it is largest, or one of those."""
    found: dict[tuple[str, int], Sequence[arb]] = {}
    with working_precision(2 * DOUBLE):
        for tier in (*stated.tiers, None):
            try:
                found = measures(stated, items, tier)
                break
            except Binary64Error:
                continue
    return {item: max(range(len(row)), key=lambda i: float(row[i].mid())) for item, row in found.items()}


WORDING = Wording[AssertedCache](statement, sentence, findings)
