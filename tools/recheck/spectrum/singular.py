"""Singular values of a matrix that is given: singular-values and linearization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from operator import mul
from typing import Any

import intervals
from arrays import Matrix, matrix, vector
from decisions import at_most, below, bounded, bounds, close, within
from fields import fields, items, one_of, optional, present, refuse, some, witness_of
from functions import arctan, exp, log, pi
from intervals import I, absolute, clip, ends_of, falling, iv, largest, root, square, summed
from matrices import frobenius, transposed
from outcomes import NotCovered, Rejected
from scalars import natural, positive, rational
from softmax import PROMPT, Prompt, one_for_each, scale_iv, scale_of
from vectors import dot, integers, norm2

MOST_SINGULAR = 300  # rows or columns of a matrix whose singular values are computed here: more would take hours


def attended(
    given: dict[str, Any], scale: tuple[Fraction, int], causal: bool = False
) -> tuple[list[list[Any]], list[Any], Prompt, Matrix]:
    """Attention A of given queries and keys, sum_j e^(s <q_i, k_j>) of each row as its logarithm, keys and queries.

    Under a mask the i-th query takes the first i keys, and its row has so many entries.
    """
    p = Prompt(dict.fromkeys(PROMPT.split()) | {"keys": given["keys"], "values": given["keys"]})
    p.scale, queries = scale, matrix(given["queries"], "given.queries")
    if len(p.keys) != len(queries) or p.dim != len(queries[0]) or len(queries) > 16384:
        raise Rejected("given: as many keys as queries, of one dimension")
    if len(queries) > MOST_SINGULAR:
        raise NotCovered(f"attention of more than {MOST_SINGULAR} tokens")
    rows, logs = [], []
    for i, q in enumerate(queries):
        e, top = p.softmax(q, i + 1 if causal else None)
        whole = summed(e)
        even = all(x.a == x.b == e[0].a for x in e)  # scores that are equal exactly, as for equal keys
        rows.append([Fraction(1, len(e)) if even else x / whole for x in e])
        logs.append(log(whole) + top)
    return rows, logs, p, queries


def singular(m: list[list[Any]], zeros: int = 0) -> list[Any]:
    """The singular values of a matrix of intervals or rationals, falling; the last `zeros` are known to be 0.

    One-sided Jacobi rotations, in integers times 2^-P, make the columns of B = N V nearly orthogonal, N being m
    rounded and V a product of rotations. What they found is not believed: with N and V as they stand, |m - N| <= e,
    |V'V - 1| <= d < 1 and G = B'B in integers, sorted diagonal g_k and off-diagonal part of Frobenius norm o, Weyl's
    inequality gives |s_k(B)^2 - g_k| <= o, and s_k(N) sqrt(1 - d) <= s_k(B) <= s_k(N) sqrt(1 + d) and
    |s_k(m) - s_k(N)| <= e (Frobenius norms).
    """
    P, unit = intervals.P, 1 << 2 * intervals.P
    if len(m) < len(m[0]):
        m = transposed(m)
    rows, n = [[iv(x) for x in row] for row in m], len(m[0])
    if len(rows) > MOST_SINGULAR:
        raise NotCovered(f"singular values of more than {MOST_SINGULAR} rows or columns")
    N = [[(x.a + x.b) >> 1 for x in row] for row in rows]
    pairs = ((x, c) for r, s in zip(rows, N, strict=True) for x, c in zip(r, s, strict=True))
    e = root(summed(square(I(0, max(x.b - c, c - x.a))) for x, c in pairs))
    if not e.b and not any(map(any, N)):
        return [Fraction(0)] * n
    B, V = transposed(N), [[int(i == j) << P for j in range(n)] for i in range(n)]  # columns
    small = math.isqrt(sum(x * x for column in B for x in column)) << 10  # what rounding leaves of a product
    for _ in range(60):
        moved = False
        for i, j in combinations(range(n), 2):
            x, y = B[i], B[j]
            cross = sum(map(mul, x, y))
            alpha, beta = sum(map(mul, x, x)), sum(map(mul, y, y))
            if cross * cross <= (alpha * beta >> (2 * P - 40)) or abs(cross) <= small:
                continue
            moved = True
            zeta = ((beta - alpha) << P) // (2 * cross)
            t = unit // (abs(zeta) + math.isqrt(zeta * zeta + unit)) * (1 if zeta >= 0 else -1)
            c = unit // math.isqrt(t * t + unit)
            s = c * t >> P
            for columns in (B, V):
                x, y = columns[i], columns[j]
                columns[i] = [(c * p - s * q) >> P for p, q in zip(x, y, strict=True)]
                columns[j] = [(s * p + c * q) >> P for p, q in zip(x, y, strict=True)]
        if not moved:
            break
    B = [[sum(map(mul, row, v)) for row in N] for v in V]  # exactly N V, times 2^-2P
    g = sorted((sum(map(mul, b, b)) for b in B), reverse=True)  # times 2^-4P, as `off`
    across = lambda columns: 2 * sum(sum(map(mul, x, y)) ** 2 for x, y in combinations(columns, 2))  # noqa: E731
    off = math.isqrt(across(B)) + 1
    d = math.isqrt(sum((sum(map(mul, x, x)) - unit) ** 2 for x in V) + across(V)) + 1  # times 2^-2P
    delta = I(0, (d >> P) + 1)
    below(delta, 1, "the distance of V from a rotation")
    found: list[Any] = []
    for x in g[: n - zeros]:
        low, high = ends_of(root(I(max(x - off, 0) >> (3 * P), ((x + off) >> (3 * P)) + 1)))
        found.append(clip(I((low / root(1 + delta) - e).a, (high / root(1 - delta) + e).b), 0))
    return found + [Fraction(0)] * zeros


def rank(m: Matrix) -> int:
    """The rank of a rational matrix, by elimination."""
    rows, found = [row[:] for row in m], 0
    for j in range(len(m[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            if f := rows[i][j] / rows[found][j]:
                rows[i] = [x - f * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def factors(node: Any, rows: int, columns: int, in_files: bool) -> None:
    """A witness with approximate factors: looked at, and not used."""
    hint = witness_of(node, "", "hint")["hint"]
    if hint is None:
        return
    f = fields(hint, "witness.hint", "U s V")
    s = vector(f["s"], "hint.s")
    if not in_files or not isinstance(f["U"], dict) or not isinstance(f["V"], dict):
        raise Rejected("witness.hint: array files, beside array files")
    matrix(f["U"], "hint.U", rows, len(s))
    matrix(f["V"], "hint.V", columns, len(s))
    if s[-1] < 0 or any(x < y for x, y in pairwise(s)) or len(s) > min(rows, columns):
        raise Rejected("witness.hint: values that rise, are negative or too many")
    refuse(any(not str(f[k]["dtype"]).startswith(("float", "bfloat")) for k in "UV"), "witness.hint: U and V in floats")


def share_entropy(xs: Sequence[Any], most: int) -> I:
    """-sum p log p of the shares p of some numbers that are not negative, of which at most `most` are not 0."""
    whole, found = summed(xs), iv(0)
    for x in xs:
        if iv(x).b <= 0:
            continue
        p = clip(iv(x) / whole, 0, 1)
        if p.a > 0:
            found -= p * log(p)
        else:
            below(p, Fraction(1, 3), "a share")  # -p log p grows up to 1/e
            end = ends_of(p)[1]
            found += I(0, (-end * log(end)).b)
    return clip(found, 0, log(iv(most)))


def stated_matrix(given: dict[str, Any]) -> tuple[list[list[Any]], int, Any, bool]:
    """A matrix, or that of attention: entries, a bound of its rank, the sum of squares, and whether it is in files."""
    if given["matrix"] is not None:
        others = [given.get(k) for k in ("queries", "keys", "scale", "centred", "causal")]
        refuse(any(x is not None for x in others), "given: a matrix, or queries and keys")
        found = matrix(given["matrix"], "given.matrix")
        least, most = sorted((len(found), len(found[0])))
        return found, rank(found) if most <= 40 else least, frobenius(found), isinstance(given["matrix"], dict)
    if any(given[k] is None for k in ("queries", "keys", "centred")):
        raise Rejected("given: queries, keys and centred, or a matrix")
    centred = one_of(given["centred"], "given.centred", "true", "false") == "true"
    mask = given.get("causal")  # of singular-values alone; the others have no such field
    causal = mask is not None and one_of(mask, "given.causal", "true", "false") == "true"
    m = attended(given, scale_of(given["scale"]), causal)[0]
    n = len(m)
    wide = root(iv(n))
    m = [[wide * (x - Fraction(int(centred), len(row))) for x in row] + [Fraction(0)] * (n - len(row)) for row in m]
    files = isinstance(given["queries"], dict) and isinstance(given["keys"], dict)
    return m, n - centred, summed(square(x) for row in m for x in row), files


def singular_values(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/singular-values.md, by rotations of its own; up to 300 rows and columns."""
    given = fields(g, "given", "", "matrix queries keys scale centred causal")
    m, full, energy, files = stated_matrix(given)
    shape = len(m), len(m[0])
    factors(w, *shape, files)
    asserts = some(a, "asserts", "values counts norm energy stable_rank entropy effective_rank")
    size = min(shape)
    sigma = singular(m, size - full)
    if (node := asserts["values"]) is not None:
        f = fields(node, "values", "value radius")
        stated = vector(f["value"], "values.value")
        radius = one_for_each(f["radius"], "values.radius", len(stated))
        refuse(len(stated) > size or min(radius) < 0, "values: more than there are, or a negative radius")
        for x, y, r in zip(sigma, stated, radius, strict=False):
            close(x, y, r, "values")
    for node in items(asserts["counts"], "counts"):
        f = fields(node, "counts", "above count", "at_least at_most")
        t, count = rational(f["above"], "above"), natural(f["count"], "count", 0, size)
        low, high = (optional(rational, f[k], k) for k in ("at_least", "at_most"))
        refuse(t < 0, "counts.above: negative")
        refuse(low is not None and (low < t or not count), "counts.at_least: below `above`, or of no value")
        refuse(
            high is not None and (not 0 <= high <= t or count == size), "counts.at_most: above `above`, or of no value"
        )
        if count:
            below(t, sigma[count - 1], "counts.above")
            within(sigma[count - 1], low, None, "counts.at_least")
        if count < size:
            at_most(sigma[count], t if high is None else high, "counts.not_above")
    top = sigma[0]

    @cache
    def wanted(of: str) -> I:
        """The entropy of the shares of the values, or of their squares."""
        return share_entropy(sigma if of == "values" else [square(x) for x in sigma], full)

    if any(asserts[k] is not None for k in ("stable_rank", "entropy", "effective_rank")):
        below(0, top, "the matrix is not 0")
    bounded(asserts, "norm", lambda: top)
    bounded(asserts, "energy", lambda: energy)
    if asserts["stable_rank"] is not None:
        x = clip(energy / square(top), 1, full)
        within(x, *bounds(asserts["stable_rank"], "stable_rank"), "stable_rank")
    for key in ("entropy", "effective_rank"):
        for of, node in present(optional(some, asserts[key], key, "values squares") or {}).items():
            x = wanted(of)
            within(x if key == "entropy" else exp(x), *bounds(node, key), f"{key}.{of}")


STAGES = {
    "attention": (1, 0, 0),
    "scores": (1, 1, 0),
    "linear": (0, 0, 1),
    "attention_less_scores": (0, -1, 0),
    "scores_less_linear": (1, 1, -1),
    "attention_less_linear": (1, 0, -1),
}


def linearization(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/linearization.md: its stages diag(a + b tbar) M + c L, and their singular values as
    above.
    """
    given = fields(g, "given", "queries keys", "scale beta unit")
    keys = matrix(given["keys"], "keys")
    d, p = len(keys), len(keys[0])
    beta, unit = (optional(positive, given[k], f"given.{k}") for k in ("beta", "unit"))
    refuse(d < 2 or (beta or 0) > 1000, "given: two tokens or more, and beta at most 1000")
    if beta is None:
        refuse(given["scale"] is None or unit is not None, "given: a scale or beta, and unit beside beta only")
    unit = unit or Fraction(1)
    scale = scale_of(given["scale"]) if beta is None else (beta**2 * unit**4 / p, 1)
    refuse(given["scale"] is not None and scale_of(given["scale"]) != scale, "given.scale: not beta u^2/sqrt(p)")
    groups = {"remainder": "norm distance", "normaliser": "largest difference bound wasserstein"}
    groups["stages"] = " ".join(STAGES)
    asserts = some(a, "asserts", " ".join(groups))
    rest, norm, stages = (present(optional(some, asserts[k], k, may) or {}) for k, may in groups.items())
    if beta is None:
        refuse("distance" in rest or norm or any(STAGES[k][1] for k in stages), "asserts: what needs given.beta")
    factors(w, d, d, isinstance(given["queries"], dict) and isinstance(given["keys"], dict))
    rows, logs, prompt, queries = attended(given, scale)
    wide, one = root(iv(d)), Fraction(1, d)
    M = [[wide * (x - one) for x in row] for row in rows]
    qi, dq = integers(queries)
    total = [sum(column) for column in transposed(prompt.keys)]
    factor = iv(scale_iv(scale)) / wide
    L = [[factor * Fraction(d * dot(k, q) - dot(total, q), d * prompt.dk * dq) for k in prompt.keys] for q in qi]
    if beta is None:
        bar = [iv(0)] * d
    else:
        cs = [beta**2 * unit**2 * norm2(q) / (2 * p) for q in queries]
        bar = [exp(z - c) / d - 1 for z, c in zip(logs, cs, strict=True)]
    known: dict[str, tuple[list[Any], I]] = {}

    def stage(name: str, values: bool = True) -> tuple[list[Any], I]:
        """Singular values, if asked for, and Frobenius norm of a stage. The last value is 0; L has rank p."""
        x, y, z = STAGES[name]
        if name not in known or (values and not known[name][0]):
            lines = zip(bar, M, L, strict=True)
            m = [[(x + y * t) * u + z * v for u, v in zip(r, s, strict=True)] for t, r, s in lines]
            flat = root(summed(square(u) for row in m for u in row))
            zeros = max(1, d - p) if name == "linear" else 1
            known[name] = (singular(m, zeros) if values else []), flat
        return known[name]

    least, most = (max(absolute(t).a for t in bar), max(absolute(t).b for t in bar))
    for key, node in rest.items():
        low, high = bounds(node, f"remainder.{key}")
        sigma = stage("attention_less_linear")[0]
        if key == "norm":
            within(sigma[0], low, high, "remainder.norm")
        else:
            c = root(exp(iv(beta * beta)) - 1 - beta * beta)
            gaps = []
            for k, s in enumerate(sigma):
                q = quarter_tail(s, c)
                gaps += [Fraction(k + 1, d) - q, q - Fraction(k, d)]
            within(largest(gaps), low, high, "remainder.distance")
    for key, node in norm.items():
        low, high = bounds(node, f"normaliser.{key}")
        if key in ("largest", "bound"):
            x = I(least, most)
            within(x if key == "largest" else x * stage("attention")[0][0], low, high, key)
        elif key == "difference":
            within(stage("attention_less_scores")[0][0], low, high, key)
        else:
            pairs = zip(stage("attention")[0], stage("scores")[0], strict=True)
            within(root(summed(square(iv(x) - y) for x, y in pairs) / d), low, high, key)
    for name, node in stages.items():
        relative = "" if name == "attention" else " relative_norm relative_frobenius"
        for key, stated in present(some(node, f"stages.{name}", "norm frobenius" + relative)).items():
            size = (lambda of: stage(of)[0][0]) if key.endswith("norm") else (lambda of: stage(of, False)[1])
            x = size(name) / size("attention") if key.startswith("relative") else size(name)
            within(x, *bounds(stated, key), f"{name}.{key}")


def quarter_tail(x: Any, c: I) -> I:
    """1 - F(x) of the quarter circle law of variance c^2, which falls: (2/pi)(arccos r - r sqrt(1 - r^2)), r = x/(2c).

    arccos r = 2 arctan sqrt((1 - r)/(1 + r)).
    """

    def at(y: I) -> I:
        """At an end."""
        y = I(max(y.a, 0), max(y.a, 0))
        if not y.a or y.a >= 1 << intervals.P:
            return iv(0 if y.a else 1)
        return (2 * arctan(root((1 - y) / (1 + y))) - y * root(1 - square(y))) * 2 / pi()

    return clip(falling(at, iv(x) / (2 * c)), 0, 1)
