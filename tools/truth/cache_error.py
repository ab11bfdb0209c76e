"""The part of `tools/truth/certificate.py` about `cache-error`: every output and every weight from the definition.

Codes become numbers one by one, by fractions; a token of a cache is asked by itself whether a query sees it. Of a
region of queries it searches in doubles for the one where a number is largest, and computes it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tools.truth.attention_error import (
    by_batch,
    length_of,
    mean_of,
    numbers_of,
    quotient,
    seen,
    tensor_of,
)
from tools.truth.judgement import Comparison, Judgement, judge_all
from tools.truth.prompt import Region, read_regions, require_bits, require_region_witness
from tools.truth.reading import (
    Scale,
    Table,
    Vector,
    read_counts,
    read_number,
    read_scale,
    require,
    require_record,
    root_of,
    to_real,
)

Array = np.ndarray[Any, Any]
COMPARED = ("error", "deviation", "relative")
MEASURES = (*COMPARED, "evicted", "mass")
ENDS = ("at_most", "at_least", "at_least_everywhere")


def judge_cache_error(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    if not (isinstance(given, dict) and "region" in given):
        require_bits(witness)
    require_record(asserts, "asserts", set(), MEASURES)
    require(asserts != {}, "nothing is asserted")
    stated = read_caches(given, folder)
    if stated.region is not None:
        require_region_witness(witness, [stated.region], "region", folder)
    require(set(asserts) <= {"mass"} or "cache" in given, "no cache")
    require("cache" not in given or not set(asserts) <= {"mass"}, "a cache that nothing is said of")
    require("evicted" not in asserts or "kept" in given["cache"], "evicted, and nothing kept")
    require(set(asserts) & set(COMPARED) or set(given.get("cache", {})) <= {"kept"}, "a part that nothing is said of")
    comparisons: list[Comparison] = []
    for name, bounds in asserts.items():
        require_record(bounds, name, {"tokens"} if name == "mass" else set(), {*ENDS, "per_query"})
        require(any(key in bounds for key in (*ENDS, "per_query")), f"{name} without a bound")
        tokens = read_counts(bounds["tokens"]) if name == "mass" else []
        require(len(set(tokens)) == len(tokens) and all(t < stated.tokens for t in tokens), "tokens of the mass")
        if stated.region is not None:
            require("per_query" not in bounds and name != "relative", f"{name} over a region")
            require("at_least_everywhere" not in bounds or name not in COMPARED, f"{name} everywhere over a region")
            comparisons += _compared_over_region(name, bounds, tokens, stated)
            continue
        comparisons += _compared(name, bounds, lambda name=name, tokens=tokens: stated.measured(name, tokens))
        if "per_query" in bounds:
            require_record(bounds["per_query"], "per_query", set(), {"at_most", "at_least"})
            require(bounds["per_query"] != {}, "no bounds for each query")
            for end, node in bounds["per_query"].items():
                numbers = numbers_of(node, folder)
                wanted = stated.shape
                require(numbers.shape == wanted or (len(wanted) == 1 and numbers.shape == (1, *wanted)), "per_query")
                for i, bound in enumerate(numbers.ravel().tolist()):
                    value = lambda name=name, tokens=tokens, i=i: stated.measured(name, tokens)[i]  # noqa: E731
                    comparisons.append(Comparison(f"{name}.per_query.{end}", value, bound, upper=end == "at_most"))
    return judge_all(comparisons)


def _compared(name: str, bounds: Any, measured: Callable[[], list[mpf]]) -> Iterator[Comparison]:
    of: dict[str, Callable[..., mpf]] = {"at_most": max, "at_least": max, "at_least_everywhere": min}
    for end in ENDS:
        if end in bounds:
            bound = read_number(bounds[end])
            require(bound >= 0, "a negative bound")
            yield Comparison(f"{name}.{end}", lambda end=end: of[end](measured()), bound, upper=end == "at_most")


def _compared_over_region(name: str, bounds: Any, tokens: list[int], stated: Caches) -> Iterator[Comparison]:
    for end in ENDS:
        if end not in bounds:
            continue
        bound = read_number(bounds[end])
        require(bound >= 0, "a negative bound")
        least = end == "at_least_everywhere"

        @cache
        def queries(least: bool = least) -> list[Vector]:
            assert stated.region is not None
            return [stated.region.search(lambda many: stated.many(name, tokens, many, least)), stated.region.middle()]

        def largest(queries: Callable[[], list[Vector]] = queries, least: bool = least) -> mpf:
            found = [stated.of(name, tokens, query) for query in queries()]
            return 1 - min(found) if least else max(found)

        upper = end != "at_least"
        yield Comparison(f"{name}.{end}", largest, 1 - bound if least else bound, upper=upper, searched=True)


@dataclass
class Caches:
    """By batch and head queries, keys, values and, of a cache, kept tokens, keys, values and multiplicities."""

    queries: list[list[Table]]
    keys: list[list[Table]]
    values: list[list[Table]]
    scale: Scale
    sees: list[list[list[int]]]
    tokens: int
    shape: tuple[int, ...]
    # By batch and head; None for tokens without places.
    kept: list[list[list[int]]] | None = None
    cached_keys: Any = None
    cached_values: Any = None
    times: Any = None
    # In the place of queries.
    region: Region | None = None

    def of(self, name: str, tokens: list[int], query: Vector) -> mpf:
        """A number at a query of the region."""
        return self._of_query(name, set(tokens), 0, 0, query, self.sees[0][0])

    def many(self, name: str, tokens: list[int], queries: Array, least: bool) -> Array:
        """The same of many queries in doubles; `least`: what is missing to 1."""
        sees, scale = self.sees[0][0], float(root_of(self.scale))

        def weights(keys: Table, times: list[Fraction]) -> Array:
            scores = scale * queries @ _doubles(keys).T
            masses = np.exp(scores - scores.max(1, keepdims=True)) * _doubles([times])
            return np.asarray(masses / masses.sum(1, keepdims=True))

        own = weights([self.keys[0][0][j] for j in sees], [Fraction(1)] * len(sees))
        if name in ("evicted", "mass"):
            inside = set(tokens) if name == "mass" else set(sees) - set(self.kept[0][0] if self.kept else ())
            found = own @ np.array([float(j in inside) for j in sees])
            return np.asarray(1 - found if least else found)
        held = range(len(self.cached_keys[0][0]))
        places = [c for c in held if self.kept is None or self.kept[0][0][c] in set(sees)]
        cached = weights([self.cached_keys[0][0][c] for c in places], [self.times[0][0][c] for c in places])
        off = cached @ _doubles([self.cached_values[0][0][c] for c in places])
        off = off - own @ _doubles([self.values[0][0][j] for j in sees])
        return np.asarray(np.abs(off).max(1) if name == "error" else np.sqrt((off**2).sum(1)))

    def __post_init__(self) -> None:
        self._at = cache(self._measured)

    def measured(self, name: str, tokens: list[int]) -> list[mpf]:
        """A number for each query, head by head."""
        return self._at(name, tuple(tokens), mp.prec)

    def _measured(self, name: str, tokens: tuple[int, ...], precision: int) -> list[mpf]:
        return [
            self._of_query(name, set(tokens), b, h * len(self.keys[b]) // len(batch), query, self.sees[b][i])
            for b, batch in enumerate(self.queries)
            for h, head in enumerate(batch)
            for i, query in enumerate(head)
        ]

    def _of_query(self, name: str, tokens: set[int], b: int, k: int, query: Vector, sees: list[int]) -> mpf:
        weights = self._weights(query, [self.keys[b][k][j] for j in sees], [Fraction(1)] * len(sees))
        if name in ("evicted", "mass"):
            if name == "evicted":
                assert self.kept is not None
                tokens = set(range(self.tokens)) - set(self.kept[b][k])
            inside = [w for w, j in zip(weights, sees, strict=True) if j in tokens]
            return mpf(1) if len(inside) == len(sees) else mp.fsum(inside) / mp.fsum(weights)
        found = range(len(self.cached_keys[b][k]))
        places = [c for c in found if self.kept is None or self.kept[b][k][c] in set(sees)]
        require(places != [], "a query that sees nothing of the cache")
        of_cache = self._weights(
            query, [self.cached_keys[b][k][c] for c in places], [self.times[b][k][c] for c in places]
        )
        exact = _output(weights, [self.values[b][k][j] for j in sees])
        off = [
            x - t for x, t in zip(_output(of_cache, [self.cached_values[b][k][c] for c in places]), exact, strict=True)
        ]
        if name == "error":
            return max(abs(x) for x in off)
        return length_of(off) if name == "deviation" else quotient(length_of(off), length_of(exact))

    def _weights(self, query: Vector, keys: Table, times: list[Fraction]) -> list[mpf]:
        scores = [sum((x * y for x, y in zip(query, key, strict=True)), Fraction(0)) for key in keys]
        middle = sum(scores) / len(scores)
        return [
            to_real(t) * mp.exp(root_of(self.scale) * to_real(x - middle)) for x, t in zip(scores, times, strict=True)
        ]


def _doubles(rows: Table) -> Array:
    return np.array([[float(x) for x in row] for row in rows])


def _output(weights: list[mpf], values: Table) -> list[mpf]:
    return [mean_of(weights, list(column), mp.fsum(weights)) for column in zip(*values, strict=True)]


# -- reading


def read_caches(given: Any, folder: Path) -> Caches:
    if isinstance(given, dict) and "region" in given:
        return _read_over_region(given, folder)
    masks = {"causal", "window", "lengths", "sequences"}
    require_record(given, "given", {"queries", "keys", "values", "scale"}, masks | {"cache"})
    tensors = {name: _finite(tensor_of(given[name], folder)) for name in ("queries", "keys", "values")}
    (*outer, m, d), (*fewer, n, _), (*_, width) = (array.shape for array in tensors.values())
    require(len(fewer) == len(outer) and fewer[:-1] == outer[:-1], "keys of other batches")
    require(not outer or outer[-1] % fewer[-1] == 0, "heads that do not share keys evenly")
    for name, shape in (("keys", (*fewer, n, d)), ("values", (*fewer, n, width))):
        require(tensors[name].shape == shape, f"the shape of {name}")
    batches = outer[0] if len(outer) == 2 else 1
    sees = [seen(given, b, batches, m, n) for b in range(batches)]
    require(all(one for batch in sees for one in batch), "a query that sees nothing")
    found = Caches(
        **{name: by_batch(array) for name, array in tensors.items()},
        scale=read_scale(given),
        sees=sees,
        tokens=n,
        shape=(*outer, m),
    )
    if "cache" in given:
        _read_cache(found, given, tensors, folder)
    return found


def _read_over_region(given: Any, folder: Path) -> Caches:
    require_record(given, "given", {"region", "keys", "values", "scale"}, {"cache"})
    tensors = {name: _finite(tensor_of(given[name], folder)) for name in ("keys", "values")}
    (*outer, n, d), (*other, count, _) = (array.shape for array in tensors.values())
    require(outer == other and count == n and all(extent == 1 for extent in outer), "keys and values of one head")
    (region,) = read_regions(given["region"], "region", d, folder)
    seen = n if region.sees is None else region.sees
    require(1 <= seen <= n, "a region that sees more tokens than there are")
    by_head = {name: by_batch(array) for name, array in tensors.items()}
    found = Caches(
        [], **by_head, scale=read_scale(given), sees=[[list(range(seen))]], tokens=n, shape=(), region=region
    )
    if "cache" in given:
        _read_cache(found, given, tensors, folder)
        require(found.kept is not None or seen == n, "a cache without places, of which the first tokens are seen")
    return found


def _read_cache(found: Caches, given: Any, tensors: dict[str, Array], folder: Path) -> None:
    node = given["cache"]
    require_record(node, "cache", set(), {"kept", "keys", "values", "multiplicities"})
    require(node != {}, "a cache of nothing")
    *fewer, n, _ = tensors["keys"].shape
    parts = {name: _part(node[name], folder) for name in ("keys", "values") if name in node}
    count = n
    if "kept" in node:
        kept = _by_token(node["kept"], fewer, folder)
        count = kept.shape[-1]
        for row in kept.reshape(-1, count).tolist():
            require(all(x.denominator == 1 and 0 <= x < n for x in row), "kept tokens")
            require(all(x < y for x, y in pairwise(row)), "the order of kept tokens")
    elif len(parts) == 2:
        count = parts["keys"].shape[-2]
    for name, array in parts.items():
        require(array.shape == (*fewer, count, tensors[name].shape[-1]), f"the shape of the cached {name}")
    if "kept" not in node and count != n:
        require(not set(given) & {"causal", "lengths", "sequences"}, "a cache without places under a mask")
    else:
        places = kept if "kept" in node else np.broadcast_to(np.array([Fraction(j) for j in range(n)]), (*fewer, n))
        found.kept = [[[int(x) for x in row] for row in batch] for batch in _rows(places)]
        for batch, sees in zip(found.kept, found.sees, strict=True):
            require(all(set(row) & set(one) for row in batch for one in sees), "a query that sees nothing of the cache")
    for name in ("keys", "values"):
        cached = by_batch(parts[name]) if name in parts else None
        if cached is None:
            assert found.kept is not None
            whole = by_batch(tensors[name])
            cached = [
                [[whole[b][k][j] for j in row] for k, row in enumerate(rows)] for b, rows in enumerate(found.kept)
            ]
        setattr(found, f"cached_{name}", cached)
    times = np.broadcast_to(np.array([Fraction(1)]), (*fewer, count))
    if "multiplicities" in node:
        times = _by_token(node["multiplicities"], fewer, folder)
        require(times.shape[-1] == count and all(x > 0 for x in times.ravel()), "multiplicities")
    found.times = _rows(times)


def _rows(array: Array) -> list[Any]:
    return array.reshape((1,) * (3 - array.ndim) + array.shape).tolist()  # type: ignore[no-any-return]


def _finite(array: Array) -> Array:
    require(all(x is not None for x in array.flat), "not finite")
    return array


def _by_token(node: Any, fewer: list[int], folder: Path) -> Array:
    """A number for each token of the cache, for all heads of keys or for each."""
    numbers = numbers_of(node, folder)
    require(numbers.shape[:-1] in ((), (1,), tuple(fewer)), "numbers of other heads")
    if numbers.shape[:-1] != tuple(fewer):
        numbers = np.broadcast_to(numbers.reshape(-1), (*fewer, numbers.shape[-1]))
    return numbers


def _part(node: Any, folder: Path) -> Array:
    """Keys or values of a cache."""
    if not (isinstance(node, dict) and "codes" in node):
        return _finite(tensor_of(node, folder))
    require_record(node, "codes", {"codes", "scale"}, {"zero", "offset", "packed"})
    codes = _finite(tensor_of(node["codes"], folder))
    if "packed" in node:
        require(node["packed"] in ("low-first", "high-first"), "the order of packed codes")
        dtype = node["codes"].get("dtype") if isinstance(node["codes"], dict) else None
        require(dtype in ("uint8", "int8"), "packed codes that are no bytes")
        codes = _unpacked(codes, node["packed"] == "low-first", dtype == "int8")
    steps = {}
    for name in ("scale", "zero", "offset"):
        if name in node:
            coarse = _finite(tensor_of(node[name], folder))
            fits = coarse.ndim == codes.ndim and all(a % g == 0 for a, g in zip(codes.shape, coarse.shape, strict=True))
            require(fits, f"the shape of {name}")
            for axis, whole in enumerate(codes.shape):
                coarse = np.repeat(coarse, whole // coarse.shape[axis], axis=axis)
            steps[name] = coarse
    shifted = codes - steps["zero"] if "zero" in steps else codes
    scaled = shifted * steps["scale"]
    return scaled + steps["offset"] if "offset" in steps else scaled


def _unpacked(codes: Array, low_first: bool, signed: bool) -> Array:
    found = np.empty((*codes.shape[:-1], codes.shape[-1], 2), object)
    for place in np.ndindex(*codes.shape):
        high, low = divmod(int(codes[place]) % 256, 16)
        both = [low, high] if low_first else [high, low]
        found[place] = [Fraction(x - 16 if signed and x >= 8 else x) for x in both]
    return found.reshape(*codes.shape[:-1], -1)
