"""Largest margins and the tokens that are selected: max-margin, token-optimality, selection-on-a-head.

Constraints are rows z_j with levels r_j, named by input and token or by the number of a point, over the rationals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from algebra import pivots, semidefinite
from arrays import Matrix, Vector, flat_point, matrix, vector
from decisions import at_most, below, bounds, same, within
from fields import fields, items, kind_of, listed, one_of, optional, refuse, some, starting_bits, witness_of
from functions import power
from intervals import iv, summed
from matrices import frobenius, identity, matmul, scaled, times, transposed
from outcomes import NotProved, Rejected
from scalars import natural, positive, rational
from softmax import PROMPT, Prompt, one_for_each, scale_iv
from vectors import dot, integers, minus, norm2


def inputs_of(g: dict[str, Any], what: str) -> list[Matrix]:
    """A matrix for each input, or one with the rows of all and `lengths`."""
    node, lengths = g[what], g["lengths"]
    if isinstance(node, list) and node and (isinstance(node[0], dict) or isinstance(node[0][0], list)):
        refuse(lengths is not None, "given.lengths: beside a list of matrices")
        found = [matrix(x, f"given.{what}") for x in node]
    else:
        rows = matrix(node, f"given.{what}")
        cuts = [natural(n, "given.lengths", 1) for n in items(lengths, "given.lengths")] or [len(rows)]
        if sum(cuts) != len(rows):
            raise Rejected("given.lengths: another sum than the number of rows")
        found = [rows[sum(cuts[:i]) : sum(cuts[: i + 1])] for i in range(len(cuts))]
    refuse(any(len(x[0]) != len(found[0][0]) for x in found), f"given.{what}: inputs of different dimensions")
    return found


def indices_of(node: Any, where: str, inputs: Sequence[Sequence[Any]]) -> list[int]:
    """A token of every input."""
    if not isinstance(node, list) or len(node) != len(inputs):
        raise Rejected(f"{where}: expected a token for each of {len(inputs)} inputs")
    return [natural(n, where, 0, len(x) - 1) for n, x in zip(node, inputs, strict=True)]


def signs_of(node: Any, where: str, n: int) -> Vector:
    """Labels, 1 and -1; 1 for all where they are left out."""
    found = [Fraction(1)] * n if node is None else vector(node, where, n)
    refuse(any(abs(y) != 1 for y in found), f"{where}: 1 and -1")
    return found


def moved(W: Matrix | None, inputs: list[Matrix]) -> list[Matrix]:
    """The rows W x."""
    return inputs if W is None else [[times(W, x) for x in rows] for rows in inputs]


def asked(node: Any, inputs: list[Matrix]) -> tuple[list[Matrix], tuple[int, int]]:
    """The k q', each in one row, for the query of the input; and the shape of p, or of W with <k q', W> = k'Wq."""
    d = len(inputs[0][0])
    if node is None:
        return inputs, (1, d)
    queries = matrix(node, "given.queries")
    refuse(len(queries) not in (1, len(inputs)), "given.queries: one row, or one for each input")
    each = queries * (len(inputs) if len(queries) == 1 else 1)
    found = [[[x * y for x in row for y in q] for row in rows] for rows, q in zip(inputs, each, strict=True)]
    return found, (d, len(queries[0]))


def scored(g: dict[str, Any]) -> tuple[list[Matrix], list[Vector], Vector]:
    """Keys, scores and labels of token-optimality: stated, or W x and Y_i <v, x>. Queries are left aside."""
    if g["keys"] is not None:
        if g["scores"] is None or any(g.get(k) is not None for k in ("tokens", "W", "v", "labels")):
            raise Rejected("given: keys with scores, or tokens with v")
        keys, s = inputs_of(g, "keys"), g["scores"]
        if isinstance(s, list) and isinstance(s[0], (list, dict)):
            scores = [vector(x, "given.scores") for x in s]
        else:
            flat = iter(vector(s, "given.scores", sum(map(len, keys))))
            scores = [[next(flat) for _ in x] for x in keys]
        refuse([len(x) for x in scores] != [len(x) for x in keys], "given.scores: another number than of keys")
        return keys, scores, [Fraction(1)] * len(keys)
    if g["tokens"] is None or g["scores"] is not None or g.get("v", "trained") is None:
        raise Rejected("given: keys with scores, or tokens with v")
    refuse(g.get("queries") is not None, "given.queries: beside tokens")
    tokens = inputs_of(g, "tokens")
    d = len(tokens[0][0])
    W = optional(matrix, g["W"], "given.W", None, d)
    labels = signs_of(g["labels"], "given.labels", len(tokens))
    v = [Fraction(0)] * d if g.get("v") is None else vector(g["v"], "given.v", d)
    return moved(W, tokens), [[y * dot(v, x) for x in rows] for y, rows in zip(labels, tokens, strict=True)], labels


def pairs_of(keys: Sequence[Matrix], chosen: Sequence[int]) -> dict[tuple[int, int], Vector]:
    """z_it = k_i(chosen) - k_it for every other token."""
    return {
        (i, t): minus(rows[c], row)
        for i, (rows, c) in enumerate(zip(keys, chosen, strict=True))
        for t, row in enumerate(rows)
        if t != c
    }


def hinted(node: Any, where: str, rows: dict[Any, Any] | None, number: str = "") -> dict[Any, Fraction]:
    """A list of constraints, {input, token} or {point}, each once and with a positive number, if that is asked for.

    Without rows the list is not used in a proof, and is looked at for its form only.
    """
    found: dict[Any, Fraction] = {}
    for item in listed(node, where):
        names = ["point"] if "point" in item else ["input", "token"]
        f = fields(item, where, " ".join([*names, number]))
        key: Any = tuple(natural(f[k], where) for k in names)
        key = key if len(names) == 2 else key[0]
        value = positive(f[number], where) if number else Fraction(1)
        if rows is not None and (key not in rows or key in found):
            raise Rejected(f"{where}: {key} is no constraint, or comes twice")
        found[key] = value
    return found


def combination(rows: dict[Any, Vector], mults: dict[Any, Fraction]) -> Vector:
    """sum_j lambda_j z_j"""
    return [dot(list(mults.values()), column) for column in transposed([rows[j] for j in mults])]


def shortest(
    rows: dict[Any, Vector], levels: dict[Any, int], mults: dict[Any, Fraction], what: str
) -> tuple[Vector, dict[Any, Fraction]]:
    """The shortest p with <z_j, p> >= r_j, from multipliers, and all slacks. Proved by the conditions of optimality:

    p = sum lambda_j z_j, lambda >= 0, slacks >= 0, and slack 0 wherever lambda > 0. For any feasible q then
    <p, q> >= sum lambda_j r_j = |p|^2, so that |q| >= |p|, with equality for q = p only.
    """
    p = combination(rows, mults)
    (row,), d = integers([p])
    slack = {}
    for j, z in rows.items():
        (zs,), e = integers([z])
        slack[j] = Fraction(dot(zs, row), d * e) - levels[j]
    below(0, norm2(p), f"{what}: |p|^2")
    for j, x in slack.items():
        at_most(0, x, f"{what}: the slack of {j}")
        if j in mults:
            at_most(x, 0, f"{what}: the slack of {j}, which has a multiplier")
    return p, slack


def inverse_root(low: Any, high: Any, least: Fraction, most: Fraction, what: str) -> None:
    """Prove low <= x^(-1/2) <= high for all x from `least` to `most`."""
    if low is not None:
        at_most(low**2 * most, 1, f"{what}.at_least")
    if high is not None:
        at_most(1, high**2 * least, f"{what}.at_most")


def constraints(given: dict[str, Any]) -> tuple[dict[Any, Vector], dict[Any, int], tuple[int, int]]:
    """The rows and levels of one of the three problems of max-margin, and the shape of a solution."""
    if given["points"] is not None:
        if given["labels"] is None or any(v is not None for k, v in given.items() if k not in ("points", "labels")):
            raise Rejected("given: points without labels, or beside fields of another form")
        points = matrix(given["points"], "given.points")
        labels = signs_of(given["labels"], "given.labels", len(points))
        rows: dict[Any, Vector] = {i: [y * c for c in x] for i, (x, y) in enumerate(zip(points, labels, strict=True))}
        return rows, dict.fromkeys(rows, 1), (1, len(points[0]))
    if (given["keys"] is None) == (given["tokens"] is None) or given["labels"] is not None:
        raise Rejected("given: keys or tokens, without labels")
    keys = inputs_of(given, "keys" if given["keys"] is not None else "tokens")
    if given["W"] is not None:
        refuse(given["keys"] is not None, "given.W: beside keys")
        keys = moved(matrix(given["W"], "given.W", None, len(keys[0][0])), keys)
    refuse(given["queries"] is not None and given["keys"] is None, "given.queries: beside tokens")
    keys, shape = asked(given["queries"], keys)
    rows = dict(pairs_of(keys, indices_of(given["indices"], "given.indices", keys)))
    off = [natural(i, "given.relaxed", 0, len(keys) - 1) for i in items(given["relaxed"], "given.relaxed")]
    refuse(len(set(off)) < len(off), "given.relaxed: an input twice")
    return rows, {j: int(j[0] not in off) for j in rows}, shape


def max_margin(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/max-margin.md"""
    problem = fields(g, "given", "", "keys tokens W lengths indices relaxed queries points labels norm")
    norm = optional(norm_of, problem["norm"])
    refuse(norm == "nuclear" and problem["queries"] is None, "given.norm: without queries")
    rows, levels, shape = constraints({k: v for k, v in problem.items() if k != "norm"})
    refuse(not any(levels.values()), "given: no constraint of level 1")
    nearby = {"direction", "within", "neighbours_among", "gap", "margin"}
    exactly = {"solution", "neighbours", "support", "gap", "margin"}
    words = "solution neighbours support direction within excess neighbours_among gap margin constraints"
    asserts = some(a, "asserts", words)
    here = {k for k, v in asserts.items() if v is not None}
    forms = [{"constraints"}, {"direction", "excess", "margin"} | ({"within"} if convex(norm) else set())]
    forms = forms if norm is not None else [{"constraints"}, nearby, exactly]
    refuse(not any(here <= form for form in forms), "asserts: fields of two forms, or of another norm")
    hint = witness_of(w, "", "multipliers weights factors")
    if "constraints" in here:
        one_of(asserts["constraints"], "asserts.constraints", "contradictory")
        optional(hinted, hint["multipliers"], "witness.multipliers", None, "multiplier")
        mu = hinted(hint["weights"], "witness.weights", rows, "weight")
        same(combination(rows, mu), [0] * len(rows[next(iter(mu))]), "combination")
        below(0, sum(mu[j] * levels[j] for j in mu), "total")
        return
    optional(hinted, hint["weights"], "witness.weights", None, "weight")
    if norm is not None:
        least_norm(norm, rows, levels, shape, asserts, hint)
        return
    lam = hinted(hint["multipliers"], "witness.multipliers", rows, "multiplier")
    point = optional(flat_point, asserts["direction" if "direction" in here else "solution"], *shape)
    gap = optional(positive, asserts["gap"], "asserts.gap")
    among = asserts["neighbours_among" if "direction" in here else "neighbours"]
    around = set(rows) if among is None else set(hinted(among, "asserts, a list of neighbours", rows))
    refuse(gap is not None and len(around) == len(rows), "asserts.gap: beside a list of some constraints and not all")
    beyond = at_most if gap else below
    low, high = optional(bounds, asserts["margin"], "asserts.margin") or (None, None)
    if here & {"direction", "within", "neighbours_among"}:
        refuse(not {"direction", "within"} <= here, "asserts: direction and within belong together")
        products = {j: dot(z, point) for j, z in rows.items()}
        m = min(x for j, x in products.items() if levels[j])
        below(0, m, "direction.margin")
        at_most(0, min(products.values()), "direction.relaxed")
        q2 = norm2(point) / m**2
        dual = 2 * sum(x * levels[j] for j, x in lam.items()) - norm2(combination(rows, lam))
        radius = rational(asserts["within"], "asserts.within")
        refuse(radius < 0, "asserts.within: negative")
        best, away = combination(rows, lam), q2 - dual
        if dual == norm2(best) and all(dot(z, best) >= levels[j] for j, z in rows.items()):
            away = norm2([x / m - y for x, y in zip(point, best, strict=True)])  # the multipliers make the solution
        at_most(away, radius**2, "within")
        for j in set(rows) - around:  # <z, p> >= <z, q> - |z| r
            s, r2 = products[j] / m - levels[j] - (gap or 0), norm2(rows[j]) * radius**2
            beyond(r2, s * abs(s), f"neighbours.others {j}")
        inverse_root(low, high, dual, q2, "margin")
        return
    p, slack = shortest(rows, levels, lam, "p")
    if point is not None:
        same(point, p, "solution")
    for j, x in slack.items() if asserts["neighbours"] is not None else ():
        if j in around:
            same(x, 0, f"neighbours {j}")
        else:
            beyond(gap or 0, x, f"neighbours.others {j}")
    if asserts["support"] is not None:
        same(set(hinted(asserts["support"], "support", rows)), set(lam), "support")
    inverse_root(low, high, norm2(p), norm2(p), "margin")


def norm_of(node: Any) -> Any:
    """The nuclear norm, or the exponent l >= 1 of |p|_l, which may be infinity: words stay words."""
    if node in ("nuclear", "infinity"):
        return node
    exponent = rational(node, "given.norm")
    refuse(exponent < 1 or max(exponent.numerator, exponent.denominator) >= 1 << 64, "given.norm: at least 1, 64 bits")
    return exponent


def convex(norm: Any) -> bool:
    """Whether one point is least in it."""
    return isinstance(norm, Fraction) and norm > 1


def power_norm(point: Sequence[Fraction], norm: Any) -> Any:
    """|p|_l, the largest entry divided by."""
    sizes = [abs(x) for x in point]
    top = max(sizes)
    if norm == "infinity" or top == 0:
        return top
    if norm == 1:
        return sum(sizes)
    return power(summed([nonnegative_power(x / top, norm) for x in sizes]), 1 / norm) * top


def nonnegative_power(x: Any, exponent: Fraction) -> Any:
    """x^e for x >= 0 and e > 0."""
    return iv(x) if x in (0, 1) else power(x, exponent)


def factored(node: Any, shape: tuple[int, int]) -> tuple[Vector, Fraction]:
    """K'Q row after row, and (|K|^2 + |Q|^2)/2, which bounds its nuclear norm."""
    factors = fields(node, "factors", "K Q")
    K = matrix(factors["K"], "factors.K", None, shape[0])
    Q = matrix(factors["Q"], "factors.Q", len(K), shape[1])
    return [x for row in matmul(transposed(K), Q) for x in row], (frobenius(K) + frobenius(Q)) / 2


def nuclear_bound(point: Vector, product: Vector, half: Fraction) -> Fraction:
    """What |W|_* is at most: entries beside K'Q count by their sizes."""
    return half + sum(abs(x - y) for x, y in zip(point, product, strict=True))


def dual_at_most_one(norm: Any, flat: Vector, shape: tuple[int, int]) -> None:
    """Prove that the dual norm of sum lambda_j z_j is at most 1."""
    if norm == "nuclear":
        M = [flat[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]
        squares = matmul(transposed(M), M)
        semidefinite([[(i == j) - x for j, x in enumerate(row)] for i, row in enumerate(squares)], "I - M'M")
        return
    dual = Fraction(1) if norm == "infinity" else "infinity" if norm == 1 else norm / (norm - 1)
    at_most(power_norm(flat, dual), 1, "dual_norm")


def least_norm(
    norm: Any,
    rows: dict[Any, Vector],
    levels: dict[Any, int],
    shape: tuple[int, int],
    asserts: dict[str, Any],
    hint: dict[str, Any],
) -> None:
    """sum lambda_j r_j <= min |p| <= |p~| / m, where the dual norm of sum lambda_j z_j is at most 1."""
    low, high = optional(bounds, asserts["margin"], "asserts.margin") or (None, None)
    said = [rational(asserts[k], f"asserts.{k}") for k in ("excess", "within") if asserts[k] is not None]
    refuse((asserts["direction"] is None) == bool(said), "asserts: direction and what is said of it belong together")
    refuse(min(said, default=Fraction(0)) < 0, "asserts: a negative excess or distance")
    lam = hinted(hint["multipliers"], "witness.multipliers", rows, "multiplier")
    if norm == "nuclear":
        product, half = factored(hint["factors"], shape)
        point = optional(flat_point, asserts["direction"], *shape) or product
        size: Any = nuclear_bound(point, product, half)
    else:
        point = flat_point(asserts["direction"], *shape)
        size = power_norm(point, norm)
    dual_at_most_one(norm, combination(rows, lam), shape)
    products = {j: dot(z, point) for j, z in rows.items()}
    m = min(x for j, x in products.items() if levels[j])
    below(0, m, "direction.margin")
    at_most(0, min(products.values()), "direction.relaxed")
    least = sum(x * levels[j] for j, x in lam.items())
    if asserts["excess"] is not None:
        at_most(size, (1 + said[0]) * least * m, "excess")
    if asserts["within"] is not None:
        s = max(norm, Fraction(2))
        curved = 1 / (norm - 1) if norm <= 2 else nonnegative_power(Fraction(2), norm - 1) - 1
        away = (nonnegative_power(size / m, s) - nonnegative_power(least, s)) * curved
        at_most(away, nonnegative_power(said[-1], s), "within")
    if low is not None:
        at_most(low * size, m, "margin.at_least")
    if high is not None:
        at_most(1, high * least, "margin.at_most")


def token_optimality(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/token-optimality.md. Every selection is met; each needs a cut or a support."""
    given = fields(g, "given", "", "keys queries scores tokens W v labels lengths")
    keys, scores, _ = scored(given)
    keys, _ = asked(given["queries"], keys)
    asserts = some(a, "asserts", "optimal locally_optimal not_locally_optimal all_locally_optimal")
    hint = witness_of(w, "", "locally_optimal not_locally_optimal cuts supports")
    refuse(all(len(x) == 1 for x in keys), "given: inputs of one token")

    def lead(chosen: Sequence[int], j: tuple[int, int]) -> Fraction:
        """By how much the chosen token scores better than another."""
        return scores[j[0]][chosen[j[0]]] - scores[j[0]][j[1]]

    def slacks(chosen: Sequence[int], mults: dict[Any, Fraction], what: str) -> dict[Any, Fraction]:
        """The slacks at the max-margin point of a selection."""
        z = pairs_of(keys, chosen)
        return shortest(z, dict.fromkeys(z, 1), mults, what)[1]

    for i, best in enumerate(asserts["optimal"] or []):
        top = [t for t, x in enumerate(scores[i]) if x == max(scores[i])]
        same(sorted(natural(t, "optimal") for t in listed(best, "optimal")), top, f"optimal[{i}]")
    if asserts["optimal"] is not None:
        same(len(asserts["optimal"]), len(keys), "optimal")
    for kind in ("locally_optimal", "not_locally_optimal"):
        stated = items(asserts[kind], kind)
        same(len(stated), len(hint[kind] or []), f"the number of witnesses of {kind}")
        seen = set()
        for k, item in enumerate(stated):
            f = fields(item, kind, "indices because") if kind[0] == "n" else {"indices": item, "because": None}
            chosen, what = indices_of(f["indices"], kind, keys), f"{kind}[{k}]"
            refuse(tuple(chosen) in seen, f"{what}: listed twice")
            seen.add(tuple(chosen))
            z = pairs_of(keys, chosen)
            mults = hinted(hint[kind][k], what, z, "multiplier")
            if f["because"] == "not-separable":
                same(combination(z, mults), [0] * len(keys[0][0]), f"{what}.combination")
                continue
            slack = slacks(chosen, mults, what)
            if kind[0] == "l":
                for j in (j for j, x in slack.items() if x == 0):
                    below(0, lead(chosen, j), f"{what}.neighbours {j}")
            else:
                f = fields(f["because"], what, "input token")
                j = natural(f["input"], what), natural(f["token"], what)
                if j not in slack:
                    raise Rejected(f"{what}: {j} is no pair")
                same(slack[j], 0, f"{what}.tight")
                at_most(lead(chosen, j), 0, f"{what}.score")
    if asserts["all_locally_optimal"] is None:
        if hint["cuts"] is not None or hint["supports"] is not None:
            raise Rejected("witness: cuts or supports of what is not asserted")
        return
    cuts = []
    for node in hint["cuts"] or []:
        total, chosen_by = [Fraction(0)] * len(keys[0][0]), {}
        for item in listed(node, "cuts"):
            f = fields(item, "cuts", "input chosen other multiplier")
            i = natural(f["input"], "cuts", 0, len(keys) - 1)
            c, t = (natural(f[x], "cuts", 0, len(keys[i]) - 1) for x in ("chosen", "other"))
            mu = positive(f["multiplier"], "cuts")
            if c == t or chosen_by.setdefault(i, c) != c:
                raise Rejected("cuts: the chosen token itself, or two chosen tokens of one input")
            total = [x + mu * y for x, y in zip(total, minus(keys[i][c], keys[i][t]), strict=True)]
        same(any(total), False, "all.cuts")
        cuts.append(chosen_by)
    refuse(math.prod(map(len, keys)) > 100_000, "more than 100,000 selections")
    places = [(i, t) for i, rows in enumerate(keys) for t in range(len(rows))]
    supports, found = iter(hint["supports"] or []), []
    for chosen in product(*(range(len(rows)) for rows in keys)):
        if any(all(chosen[i] == c for i, c in cut.items()) for cut in cuts):
            continue
        node = next(supports, None)
        if node is None:
            raise NotProved("all.coverage: a selection without a support")
        z = pairs_of(keys, chosen)
        rows = [places[natural(n, "supports", 0, len(places) - 1)] for n in listed(node, "supports")]
        if any(j not in z for j in rows) or len(set(rows)) < len(rows):
            raise NotProved("all.supports: a chosen token, or one twice")
        products = [[dot(z[i], z[j]) for j in rows] for i in rows]
        lam = [x for (x,) in pivots(products, [[Fraction(1)]] * len(rows), "all.supports: a matrix of products")[1]]
        at_most(0, min(lam), "all.multipliers")
        slack = slacks(chosen, dict(zip(rows, lam, strict=True)), f"selection {chosen}")
        if all(lead(chosen, j) > 0 for j, x in slack.items() if x == 0):
            found.append(list(chosen))
    if next(supports, None) is not None:
        raise NotProved("all.coverage: more supports than selections")
    node = asserts["all_locally_optimal"]
    stated = [] if node == "none" else [indices_of(x, "all_locally_optimal", keys) for x in listed(node, "all")]
    same(sorted(stated), sorted(found), "all_locally_optimal")


def selection_on_a_head(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/selection-on-a-head.md: gaps in integers, weights in intervals, largest margins by weak
    duality.
    """
    given = fields(g, "given", "queries", PROMPT + " causal score")
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    n, total, sign = len(queries), len(p.keys), p.scale[1]
    causal = optional(natural, given["causal"], "given.causal", 2)
    seen = [total if causal is None else causal + i for i in range(n)]
    refuse(total < 2 or max(seen) > total, "given: one token, or a query that sees more tokens than there are")
    hint = starting_bits(w, "separability exposure")
    asserts = fields(a, "asserts", "selected", "margin weight rank best separability exposure")

    def tokens(node: Any, where: str) -> list[int]:
        """A token that each query sees."""
        refuse(len(listed(node, where)) != n, f"{where}: one for each query")
        return [natural(x, where, 0, s - 1) for x, s in zip(node, seen, strict=True)]

    def gap(c: int, q: Vector, many: int, sign: int = 1) -> Fraction:
        """min <k_c - k_t, q> over the other tokens t that are seen."""
        (row,), d = integers([q])
        raw = [sign * dot(k, row) for k in p.keys[:many]]
        return Fraction(min(raw[c] - x for t, x in enumerate(raw) if t != c), d * p.dk)

    selected = tokens(asserts["selected"], "selected")
    gaps = [gap(c, p.acted(q), many, sign) for c, q, many in zip(selected, queries, seen, strict=True)]
    for i, x in enumerate(gaps):
        below(0, x, f"selected[{i}]")
    for key in ("margin", "weight"):
        if asserts[key] is None:
            continue
        f = some(asserts[key], key, "at_least at_most")
        low, high = (optional(one_for_each, f[k], key, n) or [None] * n for k in ("at_least", "at_most"))
        for i, q in enumerate(queries):
            if key == "margin":
                x: Any = scale_iv(p.scale) * sign * gaps[i]
            else:
                e = p.softmax(q, seen[i])[0]
                x = e[selected[i]] / summed(e)
            within(x, low[i], high[i], f"{key}[{i}]")
    best = selected
    if asserts["rank"] is not None or asserts["best"] is not None or given["score"] is not None:
        s = given["score"]
        if kind_of(s, "score", "direction", "value-norm") == "direction":
            v = vector(fields(s, "score", "kind v")["v"], "score.v", len(p.values[0]))
            scores = [dot(v, x) for x in p.values]
        else:
            fields(s, "score", "kind")
            scores = [norm2(x) for x in p.values]
        if asserts["rank"] is not None:
            better = [str(sum(x > scores[c] for x in scores[:m])) for c, m in zip(selected, seen, strict=True)]
            same(asserts["rank"], better, "rank")
        if asserts["best"] is not None:
            best = tokens(asserts["best"], "best")
            for i, (c, m) in enumerate(zip(best, seen, strict=True)):
                below(max(x for t, x in enumerate(scores[:m]) if t != c), scores[c], f"best[{i}]")

    def largest_margin(
        f: dict[str, Any],
        what: str,
        W: Matrix,
        mults: dict[tuple[int, int], Fraction],
        chosen: list[int],
        qs: Matrix,
        many: list[int],
    ) -> None:
        """min <W, Z>/|W| <= Xi <= |sum mu Z| / sum mu, with Z = (key - key') q'."""
        low, high = bounds({k: v for k, v in f.items() if k in ("at_least", "at_most") and v is not None}, what)
        refuse(low == 0, f"{what}.at_least: not positive")
        if low is not None:
            worst = min(gap(c, times(W, q), m) for c, q, m in zip(chosen, qs, many, strict=True))
            below(0, worst, f"{what}.at_least")
            at_most(low**2 * frobenius(W), worst**2, f"{what}.at_least")
        if high is not None:
            if not mults:
                raise NotProved(f"{what}.at_most: no multipliers")
            by = [[Fraction(0)] * len(p.keys[0]) for _ in qs]
            for (i, t), mu in mults.items():
                z = minus(p.keys[chosen[i]], p.keys[t])
                by[i] = [x + mu * y / p.dk for x, y in zip(by[i], z, strict=True)]
            at_most(frobenius(matmul(transposed(by), qs)), (high * sum(mults.values())) ** 2, f"{what}.at_most")

    for kind, name in (("separability", "of"), ("exposure", "token")):
        nodes: dict[str, Any] = {}
        for node in hint[kind] or []:
            f = fields(node, f"witness.{kind}", name, ("W" if name == "of" else "direction") + " multipliers")
            refuse(f[name] in nodes, f"witness.{kind}: {f[name]} twice")
            nodes[f[name]] = f
        done = set()
        for node in items(asserts[kind], kind):
            f = fields(node, kind, name, "at_least at_most")
            h, what = nodes.get(f[name], {}), f"{kind}[{f[name]}]"
            refuse(f[name] in done, f"{kind}: {f[name]} twice")
            done.add(f[name])
            if name == "of":
                one_of(f["of"], "separability.of", "selected", *(["best"] if asserts["best"] is not None else []))
                chosen, qs, many = (selected if f["of"] == "selected" else best), queries, seen
                W = optional(matrix, h.get("W"), what, len(p.keys[0]), p.dim)
                W = W or scaled(sign, p.act or identity(p.dim))
            else:
                chosen, qs, many = [natural(f["token"], what, 0, total - 1)], [[Fraction(1)]], [total]
                d = len(p.keys[0])
                W = transposed([optional(vector, h.get("direction"), what, d) or [Fraction(0)] * d])
            mults: dict[tuple[int, int], Fraction] = {}
            for item in h.get("multipliers") or []:
                m = fields(item, what, "token multiplier" + (" query" if name == "of" else ""))
                i = natural(m["query"], what, 0, n - 1) if name == "of" else 0
                t, mu = natural(m["token"], what, 0, many[i] - 1), positive(m["multiplier"], what)
                refuse(t == chosen[i] or (i, t) in mults, f"{what}: a multiplier of the chosen token, or twice")
                mults[i, t] = mu
            largest_margin(f, what, W, mults, chosen, qs, many)
        refuse(set(nodes) - done, f"witness.{kind}: of what is not asserted")
