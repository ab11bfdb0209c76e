"""The part of the second opinion about `singular-values`: the matrix and its singular values by mpmath.

Meant for matrices of a few rows: singular values of `mpmath.svd_r`, from the definition of softmax attention.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from mpmath import matrix as mp_matrix
from mpmath import mp, mpf, svd_r

from tools.truth.judgement import Comparison, Judgement, Truth, judge_all, worst
from tools.truth.reading import (
    Table,
    dot,
    read_array,
    read_bounds,
    read_count,
    read_items,
    read_number,
    read_scale,
    read_table,
    read_vector,
    require,
    require_record,
    root_of,
    to_real,
)

_EXACT_TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "uint8", "uint16", "uint32")
# What computed singular values that are 0 come out as, relative to the largest, is much less than this.
_NOTHING = 10


def judge_singular_values(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """Values, counts and bounds, all on mpmath's singular values."""
    sigma, shape = spectrum_of(given, folder)
    count = min(shape)
    require_hint(witness, given, shape, folder)
    require_record(
        asserts, "asserts", set(), {"values", "counts", "norm", "energy", "stable_rank", "entropy", "effective_rank"}
    )
    require(len(asserts) > 0, "nothing is asserted")
    found: list[Judgement] = []
    if "values" in asserts:
        found += _values(asserts["values"], sigma, count, folder)
    for index, item in enumerate(read_items(asserts, "counts")):
        found += _count(f"counts[{index}]", item, sigma, count)
    for name, quantity in (("norm", _norm), ("energy", _energy), ("stable_rank", _stable_rank)):
        if name in asserts:
            found += judge_range(name, asserts[name], lambda of=quantity: of(sigma()))
    for name, last in (("entropy", lambda value: value), ("effective_rank", mp.exp)):
        if name in asserts:
            stated = asserts[name]
            require_record(stated, name, set(), {"values", "squares"})
            require(len(stated) > 0, "no shares")
            for of, power in (("values", 1), ("squares", 2)):
                if of in stated:
                    found += judge_range(
                        f"{name}.{of}", stated[of], lambda p=power, f=last: f(_entropy([x**p for x in sigma()]))
                    )
    return worst(found)


def spectrum_of(given: Any, folder: Path) -> tuple[Callable[[], list[mpf]], tuple[int, int]]:
    """The singular values at mpmath's precision, from the largest on; and the shape of the matrix."""
    if isinstance(given, dict) and "queries" in given:
        require_record(given, "given", {"queries", "keys", "centred"}, {"scale", "causal"})
        queries, keys = read_table(given["queries"], folder), read_table(given["keys"], folder)
        scale = read_scale(given)
        require((len(queries), len(queries[0])) == (len(keys), len(keys[0])), "queries and keys of other shapes")
        require(given["centred"] in ("true", "false"), "centred")
        require(given.get("causal", "false") in ("true", "false"), "causal")
        size = len(keys)

        def entries() -> list[list[mpf]]:
            masked = given.get("causal") == "true"
            return _attention(queries, keys, root_of(scale), centred=given["centred"] == "true", masked=masked)

        shape = (size, size)
    else:
        require_record(given, "given", {"matrix"})
        table = read_table(given["matrix"], folder)
        shape = (len(table), len(table[0]))

        def entries() -> list[list[mpf]]:
            return [[to_real(entry) for entry in row] for row in table]

    @cache
    def at(digits: int) -> tuple[mpf, ...]:
        with mp.workdps(digits + _NOTHING):
            rows = entries()
            rows = rows if shape[0] >= shape[1] else [list(column) for column in zip(*rows, strict=True)]
            largest = max(abs(x) for row in rows for x in row)
            if largest == 0:
                return (mpf(0),) * min(shape)
            found = sorted(svd_r(mp_matrix(rows) / largest, compute_uv=False), reverse=True)
            # What is left of a singular value that is 0.
            return tuple(mpf(0) if abs(x) < mpf(10) ** -(digits - 5) else x * largest for x in found)

    return lambda: list(at(mp.dps)), shape


def _attention(queries: Table, keys: Table, scale: mpf, *, centred: bool, masked: bool) -> list[list[mpf]]:
    size, rows = len(keys), []
    for i, query in enumerate(queries):
        seen = keys[: i + 1] if masked else keys
        scores = [scale * to_real(dot(query, key)) for key in seen]
        top = max(scores)
        masses = [mp.exp(score - top) for score in scores]
        total = mp.fsum(masses)
        less = mpf(1) / len(seen) if centred else 0
        rows.append([mp.sqrt(size) * (mass / total - less) for mass in masses] + [mpf(0)] * (size - len(seen)))
    return rows


def _values(stated: Any, sigma: Callable[[], list[mpf]], count: int, folder: Path) -> list[Judgement]:
    require_record(stated, "values", {"value", "radius"})
    values = read_vector(stated["value"], folder)
    require(len(values) <= count, "more values than there are")
    one = isinstance(stated["radius"], str)
    radii = [read_number(stated["radius"])] * len(values) if one else read_vector(stated["radius"], folder)
    require(len(radii) == len(values) and all(radius >= 0 for radius in radii), "radii")
    return [
        judge_all([Comparison(f"values[{k}]", lambda k=k, v=value: abs(sigma()[k] - to_real(v)), radius)])
        for k, (value, radius) in enumerate(zip(values, radii, strict=True))
    ]


def _count(name: str, item: Any, sigma: Callable[[], list[mpf]], count: int) -> list[Judgement]:
    require_record(item, name, {"above", "count"}, {"at_least", "at_most"})
    threshold, many = read_number(item["above"]), read_count(item["count"])
    require(threshold >= 0 and many <= count, "a threshold or a count")
    found: list[Judgement] = []
    if many > 0:
        above = Comparison(f"{name}.above", lambda: sigma()[many - 1], threshold, upper=False, strict=True)
        found.append(judge_all([above]))
    if many < count:
        found.append(judge_all([Comparison(f"{name}.not_above", lambda: sigma()[many], threshold)]))
    if "at_least" in item:
        bound = read_number(item["at_least"])
        require(many > 0 and bound >= threshold, "a lower bound")
        found.append(judge_all([Comparison(f"{name}.at_least", lambda: sigma()[many - 1], bound, upper=False)]))
    if "at_most" in item:
        bound = read_number(item["at_most"])
        require(many < count and 0 <= bound <= threshold, "an upper bound")
        found.append(judge_all([Comparison(f"{name}.at_most", lambda: sigma()[many], bound)]))
    return found


def judge_range(name: str, stated: Any, value: Callable[[], mpf]) -> list[Judgement]:
    found = []
    for which, bound in read_bounds(stated, name).items():
        require(bound >= 0, "a negative bound")
        try:
            found.append(judge_all([Comparison(f"{name}.{which}", value, bound, upper=which == "at_most")]))
        except ZeroDivisionError:
            # Of the matrix 0: there is no such number.
            found.append(Judgement(Truth.FALSE, 0.0, name))
    return found


def _norm(sigma: list[mpf]) -> mpf:
    return sigma[0]


def _energy(sigma: list[mpf]) -> mpf:
    return mp.fsum(x * x for x in sigma)


def _stable_rank(sigma: list[mpf]) -> mpf:
    return _energy(sigma) / sigma[0] ** 2


def _entropy(parts: list[mpf]) -> mpf:
    total = mp.fsum(parts)
    shares = [part / total for part in parts]
    return -mp.fsum(share * mp.log(share) for share in shares if share > 0)


def require_hint(witness: Any, given: Any, shape: tuple[int, int], folder: Path) -> None:
    require_record(witness, "witness", set(), {"hint"})
    if "hint" not in witness:
        return
    hint = witness["hint"]
    require_record(hint, "hint", {"U", "s", "V"})
    inputs = [given[name] for name in ("matrix", "queries", "keys") if name in given]
    for node in (*inputs, hint["U"], hint["V"]):
        require(isinstance(node, dict) and node.get("dtype") in _EXACT_TYPES, "no array file of doubles")
    values = read_vector(hint["s"], folder)
    require(len(values) <= min(shape), "more values than there are")
    require(all(a >= b for a, b in pairwise(values)) and values[-1] >= 0, "values not in order")
    for name, rows in (("U", shape[0]), ("V", shape[1])):
        require(read_array(hint[name], folder, 2).shape == (rows, len(values)), "vectors of another shape")
