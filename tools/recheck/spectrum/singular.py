"""Singular values of a matrix that is given: singular-values and linearization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from operator import mul
from typing import Any

import intervals
from algebra import dot, frobenius, integers, norm2, transposed
from arrays import Matrix, matrix, rows_of, vector
from decisions import at_most, below, bounds, within
from documents import fields, listed, natural, one_of, rational
from functions import arctan, exp, log, pi
from intervals import I, absolute, iv, largest, root, square
from outcomes import NotCovered, Rejected
from softmax import Prompt, scale_iv, scale_of


def attention(
    given: dict[str, Any], scale: tuple[Fraction, int], causal: bool = False
) -> tuple[list[list[Any]], list[Any], Matrix, Matrix]:
    """Attention A of given queries and keys, sum_j e^(s <q_i, k_j>) of each row as its logarithm, queries and keys.

    Under a mask the i-th query takes the first i keys, and its row has so many entries.
    """
    keys, queries = matrix(given["keys"], "given.keys"), matrix(given["queries"], "given.queries")
    if len(keys) != len(queries) or len(keys[0]) != len(queries[0]) or len(keys) > 16384:
        raise Rejected("given: as many keys as queries, of one dimension")
    if len(keys) > MOST_SINGULAR:
        raise NotCovered(f"attention of more than {MOST_SINGULAR} tokens")
    p = Prompt.__new__(Prompt)
    p.act, p.scale, (p.keys, p.dk) = None, scale, integers(keys)
    rows, logs = [], []
    all_keys = p.keys
    for i, q in enumerate(queries):
        p.keys = all_keys[: i + 1] if causal else all_keys
        e, top = p.softmax(q)
        total = sum(e, start=iv(0))
        even = all(x.a == x.b == e[0].a for x in e)  # scores that are equal exactly, as for equal keys
        rows.append([Fraction(1, len(e)) if even else x / total for x in e])
        logs.append(log(total) + top)
    return rows, logs, queries, keys


MOST_SINGULAR = 300  # rows or columns of a matrix whose singular values are computed here: more would take hours


def singular(m: list[list[Any]], zeros: int = 0) -> list[Any]:
    """The singular values of a matrix of intervals or rationals, falling; the last `zeros` are known to be 0.

    One-sided Jacobi rotations, in integers times 2^-P, make the columns of B = N V nearly orthogonal, N being m
    rounded and V a product of rotations. What they found is not believed: with N and V as they stand, |m - N| <= e,
    |V'V - 1| <= d < 1 and G = B'B in integers, sorted diagonal g_k and off-diagonal part of Frobenius norm o, Weyl's
    inequality gives |s_k(B)^2 - g_k| <= o, and s_k(N) sqrt(1 - d) <= s_k(B) <= s_k(N) sqrt(1 + d) and
    |s_k(m) - s_k(N)| <= e (Frobenius norms).
    """
    if len(m) < len(m[0]):
        m = transposed(m)
    rows, n = [[iv(x) for x in row] for row in m], len(m[0])
    if len(rows) > MOST_SINGULAR:
        raise NotCovered(f"singular values of more than {MOST_SINGULAR} rows or columns")
    N = [[(x.a + x.b) >> 1 for x in row] for row in rows]
    e = root(sum((square(I(0, max(x.b - c, c - x.a))) for r, s in zip(rows, N, strict=True)
                  for x, c in zip(r, s, strict=True)), start=iv(0)))  # fmt: skip
    if not e.b and not any(map(any, N)):
        return [Fraction(0)] * n
    B, V = transposed(N), [[int(i == j) << intervals.P for j in range(n)] for i in range(n)]  # columns
    small = math.isqrt(sum(x * x for column in B for x in column)) << 10  # what rounding leaves of a product
    for _ in range(60):
        moved = False
        for i, j in combinations(range(n), 2):
            x, y = B[i], B[j]
            cross = sum(map(mul, x, y))
            alpha, beta = sum(map(mul, x, x)), sum(map(mul, y, y))
            if cross * cross <= (alpha * beta >> (2 * intervals.P - 40)) or abs(cross) <= small:
                continue
            moved = True
            zeta = ((beta - alpha) << intervals.P) // (2 * cross)
            t = (
                (1 << 2 * intervals.P)
                // (abs(zeta) + math.isqrt(zeta * zeta + (1 << 2 * intervals.P)))
                * (1 if zeta >= 0 else -1)
            )
            c = (1 << 2 * intervals.P) // math.isqrt(t * t + (1 << 2 * intervals.P))
            s = c * t >> intervals.P
            for columns in (B, V):
                x, y = columns[i], columns[j]
                columns[i] = [(c * p - s * q) >> intervals.P for p, q in zip(x, y, strict=True)]
                columns[j] = [(s * p + c * q) >> intervals.P for p, q in zip(x, y, strict=True)]
        if not moved:
            break
    B = [[sum(map(mul, row, v)) for row in N] for v in V]  # exactly N V, times 2^-2P
    shift = 4 * intervals.P
    g = sorted((sum(map(mul, b, b)) for b in B), reverse=True)
    off = math.isqrt(2 * sum(sum(map(mul, x, y)) ** 2 for x, y in combinations(B, 2))) + 1
    d = (
        math.isqrt(
            sum((sum(map(mul, x, x)) - (1 << 2 * intervals.P)) ** 2 for x in V)
            + 2 * sum(sum(map(mul, x, y)) ** 2 for x, y in combinations(V, 2))
        )
        + 1
    )  # times 2^-2P
    delta = I(0, (d >> intervals.P) + 1)
    below(delta, 1, "the distance of V from a rotation")
    found: list[Any] = []
    for x in g[: n - zeros]:
        low, high = max(x - off, 0) >> (shift - intervals.P), ((x + off) >> (shift - intervals.P)) + 1
        s = root(I(low, high))
        s = I((I(s.a, s.a) / root(1 + delta)).a, (I(s.b, s.b) / root(1 - delta)).b)
        found.append(I(max((s - e).a, 0), (s + e).b))
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
    hint = fields({} if node is None else node, "witness", "", "hint")["hint"]
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
    if any(not str(f[k]["dtype"]).startswith(("float", "bfloat")) for k in "UV"):
        raise Rejected("witness.hint: U and V in floats")


def share_entropy(xs: Sequence[Any], most: int) -> I:
    """-sum p log p of the shares p of some numbers that are not negative, of which at most `most` are not 0."""
    total, found = sum(map(iv, xs), start=iv(0)), iv(0)
    for x in xs:
        if iv(x).b <= 0:
            continue
        p = iv(x) / total
        p = I(max(p.a, 0), min(p.b, 1 << intervals.P))
        if p.a > 0:
            found -= p * log(p)
        else:
            below(p, Fraction(1, 3), "a share")  # -p log p grows up to 1/e
            end = I(p.b, p.b)
            found += I(0, (-end * log(end)).b)
    return I(max(found.a, 0), min(found.b, log(iv(most)).b))


def stated_matrix(given: dict[str, Any]) -> tuple[list[list[Any]], int, Any, bool]:
    """A matrix, or that of attention: entries, a bound of its rank, the sum of squares, and whether it is in files."""
    if given["matrix"] is not None:
        if (
            any(given[k] is not None for k in ("queries", "keys", "scale", "centred"))
            or given.get("causal") is not None
        ):
            raise Rejected("given: a matrix, or queries and keys")
        found = matrix(given["matrix"], "given.matrix")
        least, most = sorted((len(found), len(found[0])))
        return found, rank(found) if most <= 40 else least, frobenius(found), isinstance(given["matrix"], dict)
    if any(given[k] is None for k in ("queries", "keys", "centred")):
        raise Rejected("given: queries, keys and centred, or a matrix")
    centred = one_of(given["centred"], "given.centred", "true", "false") == "true"
    mask = given.get("causal")  # of singular-values alone; the others have no such field
    causal = mask is not None and one_of(mask, "given.causal", "true", "false") == "true"
    m = attention(given, scale_of(given["scale"]), causal)[0]
    n = len(m)
    wide = root(iv(n))
    m = [[wide * (x - Fraction(int(centred), len(row))) for x in row] + [Fraction(0)] * (n - len(row)) for row in m]
    files = isinstance(given["queries"], dict) and isinstance(given["keys"], dict)
    return m, n - centred, sum((square(x) for row in m for x in row), start=iv(0)), files


def singular_values(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/singular-values.md, by rotations of its own; up to 300 rows and columns."""
    given = fields(g, "given", "", "matrix queries keys scale centred causal")
    m, full, energy, files = stated_matrix(given)
    shape = len(m), len(m[0])
    factors(w, *shape, files)
    asserts = fields(a, "asserts", "", "values counts norm energy stable_rank entropy effective_rank")
    if not a:
        raise Rejected("asserts: nothing")
    size = min(shape)
    sigma = singular(m, size - full)
    spectrum(asserts, sigma, energy, full)


def spectrum(asserts: dict[str, Any], sigma: list[Any], energy: Any, full: int) -> None:
    """What singular-values asserts of singular values, of their squares' sum, and of a rank that is at most `full`."""
    size = len(sigma)
    if (node := asserts["values"]) is not None:
        f = fields(node, "values", "value radius")
        stated = vector(f["value"], "values.value")
        radius = rows_of(f["radius"], "values.radius", len(stated))
        if len(stated) > size or min(radius) < 0:
            raise Rejected("values: more than there are, or a negative radius")
        for x, y, r in zip(sigma, stated, radius, strict=False):
            at_most(absolute(x - y) if isinstance(x, I) else abs(x - y), r, "values")
    for node in listed(asserts["counts"], "counts") if asserts["counts"] is not None else []:
        f = fields(node, "counts", "above count", "at_least at_most")
        t, count = rational(f["above"], "above"), natural(f["count"], "count", 0, size)
        low, high = (None if f[k] is None else rational(f[k], k) for k in ("at_least", "at_most"))
        if (
            t < 0
            or (low is not None and (low < t or not count))
            or (high is not None and (not 0 <= high <= t or count == size))
        ):
            raise Rejected("counts: a bound on the wrong side, or of values that the count leaves none of")
        if count:
            below(t, sigma[count - 1], "counts.above")
            within(sigma[count - 1], low, None, "counts.at_least")
        if count < size:
            at_most(sigma[count], t if high is None else high, "counts.not_above")
    top, wanted = sigma[0], {}
    if any(asserts[k] is not None for k in ("stable_rank", "entropy", "effective_rank")):
        below(0, top, "the matrix is not 0")
    if asserts["norm"] is not None:
        within(top, *bounds(asserts["norm"], "norm"), "norm")
    if asserts["energy"] is not None:
        within(energy, *bounds(asserts["energy"], "energy"), "energy")
    if asserts["stable_rank"] is not None:
        x = energy / square(top)
        x = I(max(x.a, 1 << intervals.P), min(x.b, full << intervals.P))
        within(x, *bounds(asserts["stable_rank"], "stable_rank"), "stable_rank")
    for key in ("entropy", "effective_rank"):
        if asserts[key] is None:
            continue
        f = fields(asserts[key], key, "", "values squares")
        if f["values"] is None and f["squares"] is None:
            raise Rejected(f"{key}: values, squares or both")
        for of, node in f.items():
            if node is None:
                continue
            if of not in wanted:
                wanted[of] = share_entropy(sigma if of == "values" else [square(x) for x in sigma], full)
            within(wanted[of] if key == "entropy" else exp(wanted[of]), *bounds(node, key), f"{key}.{of}")


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
    d, p = (len(x) for x in (matrix(given["keys"], "keys"), matrix(given["keys"], "keys")[0]))
    beta = None if given["beta"] is None else rational(given["beta"], "beta")
    unit = Fraction(1) if given["unit"] is None else rational(given["unit"], "unit")
    if d < 2 or (beta is None and (given["scale"] is None or given["unit"] is not None)):
        raise Rejected("given: two tokens or more; a scale or beta, and unit beside beta only")
    if (beta is not None and not 0 < beta <= 1000) or unit <= 0:
        raise Rejected("given: beta from above 0 to 1000, and a positive unit")
    scale = (Fraction(0), 1) if beta is None else (beta**2 * unit**4 / p, 1)
    if given["scale"] is not None:
        if beta is not None and scale_of(given["scale"]) != scale:
            raise Rejected("given.scale: not beta u^2/sqrt(p)")
        scale = scale_of(given["scale"])
    asserts = fields(a, "asserts", "", "remainder normaliser stages")
    rest, norm, stages = (
        {} if asserts[k] is None else fields(asserts[k], k, "", may)
        for k, may in (
            ("remainder", "norm distance"),
            ("normaliser", "largest difference bound wasserstein"),
            ("stages", " ".join(STAGES)),
        )
    )
    if not a or any(asserts[k] is not None and not asserts[k] for k in asserts):
        raise Rejected("asserts: nothing")
    if beta is None and (rest.get("distance") is not None or norm or any(
        stages.get(k) is not None for k, x in STAGES.items() if x[1])):  # fmt: skip
        raise Rejected("asserts: what needs given.beta")
    factors(w, d, d, isinstance(given["queries"], dict) and isinstance(given["keys"], dict))
    rows, logs, queries, keys = attention(given, scale)
    wide, one = root(iv(d)), Fraction(1, d)
    M = [[wide * (x - one) for x in row] for row in rows]
    (ki, dk), (qi, dq) = integers(keys), integers(queries)
    total = [sum(column) for column in transposed(ki)]
    factor = iv(scale_iv(scale)) / wide
    L = [[factor * Fraction(d * dot(k, q) - dot(total, q), d * dk * dq) for k in ki] for q in qi]
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
            m = [
                [(x + y * t) * u + z * v for u, v in zip(r, s, strict=True)] for t, r, s in zip(bar, M, L, strict=True)
            ]
            flat = root(sum((square(u) for row in m for u in row), start=iv(0)))
            zeros = max(1, d - p) if name == "linear" else 1
            known[name] = (singular(m, zeros) if values else []), flat
        return known[name]

    least, most = (max(absolute(t).a for t in bar), max(absolute(t).b for t in bar))
    for key, node in rest.items():
        if node is None:
            continue
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
        if node is None:
            continue
        low, high = bounds(node, f"normaliser.{key}")
        if key in ("largest", "bound"):
            x = I(least, most)
            within(x if key == "largest" else x * stage("attention")[0][0], low, high, key)
        elif key == "difference":
            within(stage("attention_less_scores")[0][0], low, high, key)
        else:
            pairs = zip(stage("attention")[0], stage("scores")[0], strict=True)
            within(root(sum((square(iv(x) - y) for x, y in pairs), start=iv(0)) / d), low, high, key)
    for name, node in stages.items():
        if node is None:
            continue
        f = fields(
            node, name, "", "norm frobenius" + ("" if name == "attention" else " relative_norm relative_frobenius")
        )
        if all(x is None for x in f.values()):
            raise Rejected(f"stages.{name}: nothing")
        for key, stated in f.items():
            if stated is None:
                continue

            def number(of: str, key: str = key) -> Any:
                """The spectral or the Frobenius norm."""
                return stage(of)[0][0] if key.endswith("norm") else stage(of, False)[1]

            x = number(name)
            within(x / number("attention") if key.startswith("relative") else x, *bounds(stated, key), f"{name}.{key}")


def quarter_tail(x: Any, c: I) -> I:
    """1 - F(x) of the quarter circle law of variance c^2, which falls: (2/pi)(arccos r - r sqrt(1 - r^2)), r = x/(2c).

    arccos r = 2 arctan sqrt((1 - r)/(1 + r)).
    """
    r, ends = iv(x) / (2 * c), []
    for n in (r.a, r.b):
        y = I(max(n, 0), max(n, 0))
        if not y.a or y.a >= 1 << intervals.P:
            ends.append(iv(0 if y.a else 1))
        else:
            ends.append((2 * arctan(root((1 - y) / (1 + y))) - y * root(1 - square(y))) * 2 / pi())
    return I(max(ends[1].a, 0), min(ends[0].b, 1 << intervals.P))
