"""Attention over a cache of keys and values beside attention over the originals: cache-error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from arrays import Matrix, Vector, tensor
from attention.heads import blocks, given_scale, quotient, reached, seen, size_of
from decisions import at_most
from fields import fields, listed, one_of, optional, present, refuse, some, starting_bits
from intervals import I, largest, summed
from matrices import transposed
from outcomes import NotCovered
from scalars import natural, rational
from softmax import Prompt, means
from vectors import minus, norm2

COMPARED, SQUARED = ("error", "deviation", "relative"), ("deviation", "relative")
BOUNDS = "at_most at_least at_least_everywhere per_query"


def cache_error(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/cache-error.md. Norms are compared by their squares."""
    given = fields(g, "given", "keys values scale", "queries region causal window lengths sequences cache")
    if given["region"] is not None:
        raise NotCovered("caches over regions of queries")
    refuse(given["queries"] is None, "given: no queries")
    starting_bits(w)
    asserts = some(a, "asserts", "error deviation relative evicted mass")
    stated = {name: bounds_of(node, name) for name, node in asserts.items() if node is not None}
    about = [name for name in stated if name != "mass"]
    refuse(about and given["cache"] is None, "asserts: no cache that it is about")
    refuse(not about and given["cache"] is not None, "given.cache: nothing is asserted of it")
    if given["cache"] is not None and not set(stated) & set(COMPARED):
        parts = some(given["cache"], "given.cache", "kept keys values multiplicities")
        refuse(set(present(parts)) > {"kept"}, "given.cache: a part that nothing is said of")
    tokens = list[int]()
    if "mass" in stated:
        tokens = [natural(x, "mass.tokens") for x in listed(asserts["mass"]["tokens"], "mass.tokens")]
        refuse(len(set(tokens)) < len(tokens), "mass.tokens: one of them twice")
    found, shape = read(given, tokens, set(stated))
    for name, bounds in stated.items():
        numbers, power = found[name], 2 if name in SQUARED else 1
        for i, x in enumerate(numbers):
            if bounds["at_most"] is not None:
                at_most(x, bounds["at_most"] ** power, f"{name}.at_most, query {i} of all")
            if bounds["at_least_everywhere"] is not None:
                at_most(bounds["at_least_everywhere"] ** power, x, f"{name}.at_least_everywhere, query {i} of all")
        if bounds["at_least"] is not None:
            reached(bounds["at_least"] ** power, numbers, f"{name}.at_least")
        each = {} if bounds["per_query"] is None else some(bounds["per_query"], name, "at_most at_least")
        for end, node in present(each).items():
            for x, bound in zip(numbers, for_each_query(node, shape), strict=True):
                # The square of a negative number would be no bound of a square.
                limit = bound**power if bound >= 0 else bound
                at_most(*((x, limit) if end == "at_most" else (limit, x)), f"{name}.per_query.{end}")


def bounds_of(node: Any, name: str) -> dict[str, Any]:
    """The bounds of a measure; those for each query as they stand."""
    found = some(node, name, BOUNDS, "tokens" if name == "mass" else "")
    for key in BOUNDS.split()[:3]:
        found[key] = optional(rational, found[key], f"{name}.{key}")
        refuse(found[key] is not None and found[key] < 0, f"{name}.{key}: a negative number")
    return found


def for_each_query(node: Any, shape: list[int]) -> Vector:
    """A number for each query of each head."""
    values, found = tensor(node, "per_query", 1, 3)
    refuse(found != shape and (len(shape) > 1 or found != [1, *shape]), "per_query: not one for each query")
    return values


def share(weights: Sequence[I], inside: Sequence[bool]) -> Any:
    """The part of some of the weights, which is exact where it is all or nothing, or all weights are the same."""
    if all(inside) or not any(inside) or all(x.a == x.b == weights[0].a for x in weights):
        return Fraction(sum(inside), len(inside))
    pairs = list(zip(weights, inside, strict=True))
    part, rest = (summed([x for x, counts in pairs if counts is which]) for which in (True, False))
    return part / (part + rest)


def read(g: dict[str, Any], tokens: list[int], names: set[str]) -> tuple[dict[str, list[Any]], list[int]]:
    """What is measured at every query of every head, by name, squares for norms; and the shape of a number for each."""
    queries, of_queries = tensor(g["queries"], "given.queries", 2, 4)
    keys, of_keys = tensor(g["keys"], "given.keys", 2, 4)
    values, of_values = tensor(g["values"], "given.values", 2, 4)
    scale = given_scale(g["scale"])
    *outer, m, d = of_queries
    *fewer, n, _ = of_keys
    refuse(len(outer) != len(fewer) or outer[:-1] != fewer[:-1], "given.keys: other batches than those of the queries")
    shared, uneven = divmod(outer[-1], fewer[-1]) if outer else (1, 0)
    refuse(uneven, "given.keys: heads that the heads of queries do not share evenly")
    refuse(of_keys != [*fewer, n, d] or of_values[:-1] != [*fewer, n], "given: keys and values that do not fit")
    refuse(tokens and max(tokens) >= n, "mass.tokens: one that is not there")
    width, batches = of_values[-1], outer[0] if len(outer) == 2 else 1
    sight = [[tokens for tokens, _ in seen(g, b, batches, m, n)] for b in range(batches)]
    refuse(any(not tokens for queries in sight for tokens in queries), "given.causal: a query that sees nothing")
    own = list(zip(blocks(keys, n, d), blocks(values, n, width), strict=True))
    whole = [Prompt.of(k, v, scale) for k, v in own]
    cache = None if g["cache"] is None else Cache(g, fewer, own)
    refuse("evicted" in names and (cache is None or g["cache"].get("kept") is None), "given.cache.kept: missing")
    found: dict[str, list[Any]] = {name: [] for name in names}
    asked = blocks(queries, m, d)
    for i, block in enumerate(asked):
        k = i // shared
        cached = Prompt.of(*cache.numbers[k], scale) if cache is not None else None
        for query, there in zip(block, sight[i * batches // len(asked)], strict=True):
            prompt = whole[k].some(there)
            weights, _ = prompt.softmax(query)
            if tokens:
                found["mass"].append(share(weights, [t in tokens for t in there]))
            if cache is None or cached is None:
                continue
            places = cache.seen(k, there)
            if "evicted" in names:
                found["evicted"].append(share(weights, [t not in cache.kept[k] for t in there]))
            if names & set(COMPARED):
                exact = means(weights, transposed(prompt.values), prompt.dv)
                of_cache, times = cached.some(places), [cache.times[k][c] for c in places]
                counted = [x * t for x, t in zip(of_cache.softmax(query)[0], times, strict=True)]
                compare(found, minus(means(counted, transposed(of_cache.values), of_cache.dv), exact), exact)
    return found, [*outer, m]


def compare(found: dict[str, list[Any]], off: list[Any], exact: list[Any]) -> None:
    """Take in what is measured of a difference."""
    if "error" in found:
        sizes = [size_of(x) for x in off]
        found["error"].append(largest(sizes) if any(isinstance(x, I) for x in sizes) else max(sizes))
    if "deviation" in found:
        found["deviation"].append(norm2(off))
    if "relative" in found:
        found["relative"].append(quotient(norm2(off), norm2(exact)))


class Cache:
    """By head of keys the keys and values of a cache, what each token of it counts, and where it stands."""

    def __init__(self, g: dict[str, Any], fewer: list[int], own: list[tuple[Matrix, Matrix]]) -> None:
        node = some(g["cache"], "given.cache", "kept keys values multiplicities")
        n, count = len(own[0][0]), len(own)
        kept, (keys, of_keys), (values, of_values) = None, part(node["keys"]), part(node["values"])
        self.tokens = n
        if node["kept"] is not None:
            kept = by_token(node["kept"], fewer, count)
            self.tokens = len(kept[0])
        elif keys is not None and values is not None:
            self.tokens = of_keys[-2]
        for extents, columns in ((of_keys, len(own[0][0][0])), (of_values, len(own[0][1][0]))):
            refuse(extents and extents != [*fewer, self.tokens, columns], "given.cache: keys or values that do not fit")
        self.has_places = kept is not None or self.tokens == n
        masks = [key for key in ("causal", "lengths", "sequences") if g[key] is not None]
        refuse(masks and not self.has_places, "given.cache.kept: missing under a mask")
        self.kept = [[natural_number(x, n) for x in row] for row in kept] if kept is not None else [[*range(n)]] * count
        for row in self.kept:
            refuse(any(x >= y for x, y in pairwise(row)), "given.cache.kept: not in order, each once")
        self.times = [[1] * self.tokens] * count
        if node["multiplicities"] is not None:
            times = by_token(node["multiplicities"], fewer, count)
            refuse(any(len(row) != self.tokens or min(row) <= 0 for row in times), "given.cache.multiplicities")
            whole = math.lcm(*(x.denominator for row in times for x in row))
            self.times = [[int(x * whole) for x in row] for row in times]
        parts = ((keys, of_keys), (values, of_values))
        cached = [None if x is None else blocks(x, self.tokens, extents[-1]) for x, extents in parts]
        self.numbers = [
            tuple(x[h] if x is not None else [own[h][i][t] for t in self.kept[h]] for i, x in enumerate(cached))
            for h in range(count)
        ]

    def seen(self, head: int, there: range) -> list[int]:
        """Which tokens of the cache stand where a query sees something; all where they have no places."""
        found = [c for c in range(self.tokens) if not self.has_places or self.kept[head][c] in there]
        refuse(not found, "given.cache.kept: nothing that a query sees")
        return found


def natural_number(x: Fraction, n: int) -> int:
    """A token."""
    refuse(x.denominator != 1 or not 0 <= x < n, "given.cache.kept: no token")
    return int(x)


def by_token(node: Any, fewer: list[int], count: int) -> Matrix:
    """A number for each token of the cache: for all heads of keys the same, or for each."""
    values, (*outer, columns) = tensor(node, "given.cache", 1, 3)
    refuse(outer not in ([], [1], fewer), "given.cache: numbers for other heads than there are")
    rows = [values[i : i + columns] for i in range(0, len(values), columns)]
    return rows if len(rows) == count else rows * count


def part(node: Any) -> tuple[Vector | None, list[int]]:
    """Keys or values of a cache as numbers, row after row, and their shape; nothing where they are left out."""
    if node is None:
        return None, []
    if not isinstance(node, dict) or "codes" not in node:
        return tensor(node, "given.cache", 2, 4)
    steps = fields(node, "given.cache", "codes scale", "zero offset packed")
    codes, shape = tensor(steps["codes"], "given.cache.codes", 2, 4)
    if steps["packed"] is not None:
        order = one_of(steps["packed"], "given.cache.packed", "low-first", "high-first")
        dtype = steps["codes"].get("dtype") if isinstance(steps["codes"], dict) else None
        refuse(dtype not in ("int8", "uint8"), "given.cache.packed: codes that are no bytes")
        codes = [Fraction(x) for byte in codes for x in halves(int(byte), order, dtype == "int8")]
        shape = [*shape[:-1], 2 * shape[-1]]
    scale, zero, offset = (spread(steps[key], shape) for key in ("scale", "zero", "offset"))
    return [s * (c - z) + r for s, c, z, r in zip(scale, codes, zero, offset, strict=True)], shape


def halves(byte: int, order: str, signed: bool) -> list[int]:
    """Two codes of four bits."""
    found = [byte % 16, byte % 256 // 16]
    return [x - 16 * (signed and x > 7) for x in (found if order == "low-first" else reversed(found))]


def spread(node: Any, shape: list[int]) -> Iterator[Fraction]:
    """For every code its scale, or what else there is; 0 where nothing is."""
    if node is None:
        yield from [Fraction(0)] * math.prod(shape)
        return
    values, groups = tensor(node, "given.cache", 2, 4)
    refuse(len(groups) != len(shape) or any(n % g for n, g in zip(shape, groups, strict=True)), "given.cache: groups")
    for place in product(*map(range, shape)):
        index = 0
        for i, n, g in zip(place, shape, groups, strict=True):
            index = index * g + i // (n // g)
        yield values[index]
