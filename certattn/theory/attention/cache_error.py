"""Checks: attention over a cache with its multiplicities, codes and their scales, and what eviction does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import sympy
from flint import fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.theory.attention.attention_error import Given, StoredTable
from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import softmax
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

Expr = Any


def check_rows(kernel: Kernel) -> Iterator[Check]:
    """T, T' - T and shares by their definitions: heads that share keys, kept tokens that count, and a mask."""
    m, n, d, d_v, s = 2, 3, 1, 2, positive_symbol("s")
    kept = [[0, 2], [0, 1]]
    for heads, key_heads, causal in ((2, 2, None), (4, 2, None), (2, 1, "bottom-right")):
        q, k, v = matrix("q", heads * m, d), matrix("k", key_heads * n, d), matrix("v", key_heads * n, d_v)
        own_keys, times = matrix("x", key_heads * 2, d), sympy.Matrix(1, 2, positive_vector("m", 2))
        given = Given(
            queries=StoredTable((heads, m, d), kernel.exact(q, 2)),
            keys=StoredTable((key_heads, n, d), kernel.exact(k, 3)),
            values=StoredTable((key_heads, n, d_v), kernel.exact(v, 5)),
            scale=SymbolicNumber(s),
            **({"causal": causal} if causal else {}),
        )
        cache = Given(
            kept=StoredTable((key_heads, 2), ExactMatrix(fmpz_mat(kept[:key_heads]))),
            keys=kernel.stated_caches.CachedArray(StoredTable((key_heads, 2, d), kernel.exact(own_keys, 7))),
            multiplicities=StoredTable((1, 2), kernel.exact(times)),
        )
        stated_heads = kernel.stated_heads.StatedHeads(given, 1, heads, heads // key_heads)
        stated = kernel.cache_error.AssertedCache(
            stated_heads,
            kernel.stated_caches.StatedCache(stated_heads, cache, 2),
            Given(deviation=None, evicted=None, mass=Given(tokens=[1])),
        )
        for head in range(heads):
            shared = head * key_heads // heads
            for i, row in enumerate(kernel.cache_error.exact_rows(stated, head)):
                seen = [j for j in range(n) if causal is None or j <= i + n - m]
                places = [c for c, token in enumerate(kept[shared]) if token in seen]
                query, below = q[head * m + i, :] / 2, [shared * n + j for j in seen]
                keys, values = k.extract(below, range(d)) / 3, v.extract(below, range(d_v)) / 5
                exact = softmax(keys, values, query, s)
                weights = [sympy.exp(score) for score in s * keys * query.T]
                of_cache = own_keys.extract([2 * shared + c for c in places], range(d)) / 7
                counted = [times[c] * sympy.exp(x) for c, x in zip(places, s * of_cache * query.T, strict=True)]
                kept_values = v.extract([shared * n + kept[shared][c] for c in places], range(d_v)) / 5
                over_cache = [
                    sum(w * kept_values[c, j] for c, w in enumerate(counted)) / sum(counted) for j in range(d_v)
                ]
                what = f"query {i} of head {head} of {heads}, {key_heads} of keys, mask {causal}"
                yield equal(f"T, {what}", plain(row.exact), exact)
                off = [x - t for x, t in zip(over_cache, exact, strict=True)]
                yield equal(f"T' - T, {what}", plain(row.off), off)
                for name, chosen in (("evicted", {0, 1, 2} - set(kept[shared])), ("mass", {1})):
                    part = sum((w for j, w in zip(seen, weights, strict=True) if j in chosen), sympy.Integer(0))
                    yield equal(f"{name}, {what}", plain(row.shares[name]), part / sum(weights))


def check_repeated(kernel: Kernel) -> Iterator[Check]:
    """A token that counts m times is m tokens; multiplicities times one factor are the same."""
    for counts in ((1, 1), (2, 1), (1, 3), (2, 2)):
        a, v, f = vector("a", 2), vector("v", 2), positive_symbol("f")
        weights = [count * sympy.exp(score) for count, score in zip(counts, a, strict=True)]
        mean = sum(w * x for w, x in zip(weights, v, strict=True)) / sum(weights)
        tokens = [t for t, count in enumerate(counts) for _ in range(count)]
        scores = sympy.Matrix([[a[t]] for t in tokens])
        values = sympy.Matrix([[v[t]] for t in tokens])
        repeated = softmax(scores, values, sympy.Matrix([[1]]), sympy.Integer(1))
        yield equal(f"counts {counts}", mean, repeated[0])
        scaled = sum(f * w * x for w, x in zip(weights, v, strict=True)) / sum(f * w for w in weights)
        yield equal(f"counts {counts}, times a factor", mean, scaled)


def check_codes(kernel: Kernel) -> Iterator[Check]:
    """x = z (c - o) + r with the scale of the group that a code lies in: every division of a matrix of four by two."""
    rows, columns = 4, 2
    codes = matrix("c", rows, columns)
    for groups in product((1, 2, 4), (1, 2)):
        z, o, r = (matrix(name, *groups) for name in ("z", "o", "r"))
        steps = Given(
            scale=StoredTable(groups, kernel.exact(z, 4)),
            zero=StoredTable(groups, kernel.exact(o, 3)),
            offset=StoredTable(groups, kernel.exact(r, 5)),
        )
        found = kernel.stated_caches.CachedArray(StoredTable((rows, columns), kernel.exact(codes, 2)), steps).load()
        wanted = []
        for i, j in product(range(rows), range(columns)):
            group = i // (rows // groups[0]), j // (columns // groups[1])
            wanted.append(z[group] / 4 * (codes[i, j] / 2 - o[group] / 3) + r[group] / 5)
        flat = [entry for row in plain(found.to_rows()) for entry in row]
        yield equal(f"groups of {rows // groups[0]} tokens and {columns // groups[1]} channels", flat, wanted)


def check_eviction(kernel: Kernel) -> Iterator[Check]:
    """T' - T is the evicted share times the distance of two means; and a zero point of all keys moves nothing."""
    for kept, evicted in ((1, 1), (2, 1), (1, 2)):
        w = positive_vector("w", kept + evicted)
        v = vector("v", kept + evicted)
        pairs = list(zip(w, v, strict=True))
        means = [sum(x * y for x, y in part) / sum(x for x, _ in part) for part in (pairs, pairs[:kept], pairs[kept:])]
        share = sum(w[kept:]) / sum(w)
        yield equal(f"{kept} kept, {evicted} evicted", means[1] - means[0], share * (means[1] - means[2]))
    k, v, q, o, s = matrix("k", 3, 2), matrix("v", 3, 1), matrix("q", 1, 2), matrix("o", 1, 2), real("s")
    moved = k + sympy.ones(3, 1) * o
    yield equal("a zero point of every channel of the keys", softmax(moved, v, q, s), softmax(k, v, q, s))


def check_indicators(kernel: Kernel) -> Iterator[Check]:
    """The share of some tokens is the softmax mean of a value that is 1 on them and 0 elsewhere."""
    k, q, s = matrix("k", 3, 1), matrix("q", 1, 1), positive_symbol("s")
    weights = [sympy.exp(score) for score in s * k * q.T]
    for chosen in ((0,), (1, 2), (0, 1, 2)):
        values = sympy.Matrix([[int(j in chosen)] for j in range(3)])
        part = sum(weights[j] for j in chosen) / sum(weights)
        yield equal(f"tokens {chosen}", softmax(k, values, q, s)[0], part)


def check_measures(kernel: Kernel) -> Iterator[Check]:
    """Of a query the largest entry, the norm, and this by the norm of the output."""
    module, size = kernel.cache_error, positive_symbol("t")
    x = positive_symbol("x")
    yield equal("relative", plain(module.quotient(SymbolicNumber(x), SymbolicNumber(size))), x / size)
    yield equal("relative, of 0", plain(module.quotient(SymbolicNumber(0), SymbolicNumber(size))), 0)
    numbers = [SymbolicNumber(entry) for entry in positive_vector("y", 3)]
    yield equal("the largest query", plain(module.largest(numbers[:1], numbers[1:])), sympy.Max(*plain(numbers)))
    yield equal("the smallest query", plain(module.smallest(numbers)), sympy.Min(*plain(numbers)))
    weights, inside = numbers, [True, False, True]
    y = plain(weights)
    yield equal("a share", plain(module.share(weights, inside)), (y[0] + y[2]) / sum(y))
    yield equal("a share of all", plain(module.share(weights, [True] * 3)), 1)
    yield equal("a share of none", plain(module.share(weights, [False] * 3)), 0)


def check_difference(kernel: Kernel) -> Iterator[Check]:
    """T' - T at c + G x, from what the kernel knows at c of both means, and phi(u) = e^u - 1 - u."""
    for shape in ((2, 1, 1, 1, 1), (1, 2, 1, 1, 1), (2, 2, 1, 2, 1), (2, 1, 2, 1, 2)):
        yield from _difference(kernel, *shape)
    a, b = positive_symbol("a"), positive_symbol("b")
    yield equal("theta - theta' of two normalisers", (1 - 1 / a) - (1 - 1 / b), (a - b) / (a * b))


def _difference(kernel: Kernel, n: int, held: int, d: int, d_v: int, count: int) -> Iterator[Check]:
    s, times = positive_symbol("s"), sympy.Matrix(1, held, positive_vector("m", held))
    k, v, own, new = matrix("k", n, d), matrix("v", n, d_v), matrix("x", held, d), matrix("y", held, d_v)
    c, g, z = matrix("c", 1, d), matrix("g", count, d), matrix("z", 1, count)
    stated = kernel.cells.Difference.of(
        kernel.softmax.Prompt(kernel.exact(k, 2), kernel.exact(v, 3), SymbolicNumber(s)),
        kernel.softmax.Prompt(kernel.exact(own, 5), kernel.exact(new, 7), SymbolicNumber(s)),
        kernel.exact(times).row(0),
    )
    cell, query = kernel.cells.Cell(kernel.exact(c), kernel.exact(g), None, True), c + z * g
    first, second = stated.first.expand(cell), stated.second.expand(cell)

    def mean(at: sympy.Matrix, keys: sympy.Matrix, values: sympy.Matrix, m: sympy.Matrix) -> sympy.Matrix:
        weights = sympy.Matrix([[t * sympy.exp(s * (keys[i, :] * at.T)[0]) for i, t in enumerate(m)]])
        return weights * values / sum(weights)

    def off(at: sympy.Matrix) -> list[Expr]:
        return list(mean(at, own / 5, new / 7, times) - mean(at, k / 2, v / 3, sympy.ones(1, n)))

    what = f"{n} tokens, {held} in the cache, {d} and {d_v} dimensions"
    yield equal(f"T'(c) - T(c), {what}", plain(stated.at(kernel.exact(c))), off(c))
    grown, rests, slopes = list[Expr](), list[sympy.Matrix](), list[sympy.Matrix]()
    for part in (first, second):
        u = [(row * z.T)[0] for row in (sympy.Matrix([tilt]) for tilt in plain(part.tilts))]
        phi = sympy.Matrix([sympy.exp(x) - 1 - x for x in u])
        grown.append((sympy.Matrix([plain(part.weights)]) * phi)[0])
        rests.append(sympy.Matrix(plain(part.weighed)) * phi)
        slopes.append(sympy.Matrix(plain(part.slope.tolist())))
    theta, other = (growth / (1 + growth) for growth in reversed(grown))
    centre = sympy.Matrix(plain(first.offset)) - sympy.Matrix(plain(second.offset))
    moved = centre + (1 - theta) * ((slopes[0] - slopes[1]) * z.T + rests[0] - rests[1])
    moved += (theta - other) * (slopes[0] * z.T + rests[0])
    yield equal(f"T' - T at c + G x, {what}", list(moved), off(query))
