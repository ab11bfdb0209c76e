"""Tokens that are selected, and largest margins: exact linear algebra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from algebra import dot, frobenius, identity, integers, norm2, pivots, times, transposed
from arrays import Matrix, Vector, flat_point, matrix, rows_of, vector
from decisions import at_most, below, bounds, same, within
from documents import fields, listed, natural, one_of, rational, starting_bits
from intervals import iv
from outcomes import NotProved, Rejected
from softmax import PROMPT, Prompt, scale_iv


def inputs_of(g: dict[str, Any], what: str) -> list[Matrix]:
    """A matrix for each input, or one with the rows of all and `lengths`."""
    node, lengths = g[what], g["lengths"]
    if isinstance(node, list) and node and (isinstance(node[0], dict) or isinstance(node[0][0], list)):
        if lengths is not None:
            raise Rejected("given.lengths: beside a list of matrices")
        found = [matrix(x, f"given.{what}") for x in node]
    else:
        rows = matrix(node, f"given.{what}")
        cuts = (
            [len(rows)]
            if lengths is None
            else [natural(n, "given.lengths", 1) for n in listed(lengths, "given.lengths")]
        )
        if sum(cuts) != len(rows):
            raise Rejected("given.lengths: another sum than the number of rows")
        found = [rows[sum(cuts[:i]) : sum(cuts[: i + 1])] for i in range(len(cuts))]
    if any(len(x[0]) != len(found[0][0]) for x in found):
        raise Rejected(f"given.{what}: inputs of different dimensions")
    return found


def indices_of(node: Any, where: str, inputs: Sequence[Sequence[Any]]) -> list[int]:
    """A token of every input."""
    if not isinstance(node, list) or len(node) != len(inputs):
        raise Rejected(f"{where}: expected a token for each of {len(inputs)} inputs")
    return [natural(n, where, 0, len(x) - 1) for n, x in zip(node, inputs, strict=True)]


def scored(g: dict[str, Any]) -> tuple[list[Matrix], list[Vector], Vector]:
    """Keys, scores and labels of token-optimality: stated, or W x and Y_i <v, x>."""
    if g["keys"] is not None:
        if g["scores"] is None or any(g.get(k) is not None for k in ("tokens", "W", "v", "labels")):
            raise Rejected("given: keys with scores, or tokens with v")
        keys, s = inputs_of(g, "keys"), g["scores"]
        if isinstance(s, list) and isinstance(s[0], (list, dict)):
            scores = [vector(x, "given.scores") for x in s]
        else:
            flat = iter(vector(s, "given.scores", sum(map(len, keys))))
            scores = [[next(flat) for _ in x] for x in keys]
        if [len(x) for x in scores] != [len(x) for x in keys]:
            raise Rejected("given.scores: another number than of keys")
        return keys, scores, [Fraction(1)] * len(keys)
    if g["tokens"] is None or g["scores"] is not None or g.get("v", "trained") is None:
        raise Rejected("given: keys with scores, or tokens with v")
    tokens = inputs_of(g, "tokens")
    d = len(tokens[0][0])
    W = None if g["W"] is None else matrix(g["W"], "given.W", None, d)
    labels = [Fraction(1)] * len(tokens) if g["labels"] is None else vector(g["labels"], "given.labels", len(tokens))
    if any(abs(y) != 1 for y in labels):
        raise Rejected("given.labels: 1 and -1")
    v = [Fraction(0)] * d if g.get("v") is None else vector(g["v"], "given.v", d)
    keys = [[times(W, x) for x in rows] for rows in tokens] if W else tokens
    return keys, [[y * dot(v, x) for x in rows] for y, rows in zip(labels, tokens, strict=True)], labels


def pairs_of(keys: Sequence[Matrix], chosen: Sequence[int]) -> dict[tuple[int, int], Vector]:
    """z_it = k_i(chosen) - k_it for every other token."""
    return {
        (i, t): [x - y for x, y in zip(rows[c], row, strict=True)]
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
        f = fields(item, where, f"{'point' if 'point' in item else 'input token'} {number}")
        key: Any = (
            natural(f["point"], where) if "point" in f else tuple(natural(f[k], where) for k in ("input", "token"))
        )
        value = rational(f[number], where) if number else Fraction(1)
        if value <= 0 or (rows is not None and (key not in rows or key in found)):
            raise Rejected(f"{where}: {key} is no constraint, or comes twice, or its {number} is not positive")
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


def max_margin(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/max-margin.md: its three problems as rows z_j and levels r_j, all over the rationals."""
    given = fields(g, "given", "", "keys tokens W lengths indices relaxed queries points labels")
    shape = (1, 0)
    if given["points"] is not None:
        if any(v is not None for k, v in given.items() if k not in ("points", "labels")):
            raise Rejected("given: points beside fields of another form")
        points = matrix(given["points"], "given.points")
        labels = vector(given["labels"], "given.labels", len(points))
        if any(abs(y) != 1 for y in labels):
            raise Rejected("given.labels: 1 and -1")
        rows: dict[Any, Vector] = {i: [y * c for c in x] for i, (x, y) in enumerate(zip(points, labels, strict=True))}
        relaxed: set[int] = set()
    else:
        if (given["keys"] is None) == (given["tokens"] is None) or given["labels"] is not None:
            raise Rejected("given: keys or tokens, without labels")
        keys = inputs_of(given, "keys" if given["keys"] is not None else "tokens")
        if given["W"] is not None:
            if given["keys"] is not None:
                raise Rejected("given.W: beside keys")
            W = matrix(given["W"], "given.W", None, len(keys[0][0]))
            keys = [[times(W, x) for x in part] for part in keys]
        rows = dict(pairs_of(keys, indices_of(given["indices"], "given.indices", keys)))
        if given["queries"] is not None:
            if given["keys"] is None:
                raise Rejected("given.queries: beside tokens")
            queries = matrix(given["queries"], "given.queries")
            if len(queries) not in (1, len(keys)):
                raise Rejected("given.queries: one row, or one for each input")
            shape = (len(keys[0][0]), len(queries[0]))
            queries = queries * (len(keys) if len(queries) == 1 else 1)
            rows = {j: [x * y for x in z for y in queries[j[0]]] for j, z in rows.items()}
        off = [] if given["relaxed"] is None else listed(given["relaxed"], "given.relaxed")
        relaxed = {natural(i, "given.relaxed", 0, len(keys) - 1) for i in off}
        if len(relaxed) < len(off):
            raise Rejected("given.relaxed: an input twice")
    levels = {j: 0 if isinstance(j, tuple) and j[0] in relaxed else 1 for j in rows}
    if not any(levels.values()):
        raise Rejected("given: no constraint of level 1")
    asserts = fields(
        a, "asserts", "", "solution neighbours support direction within neighbours_among gap margin constraints"
    )
    given_now = {k for k, v in asserts.items() if v is not None}
    form = (
        {"constraints"},
        {"direction", "within", "neighbours_among", "gap", "margin"},
        {"solution", "neighbours", "support", "gap", "margin"},
    )
    if not given_now or not any(given_now <= f for f in form):
        raise Rejected("asserts: nothing, or fields of two forms")
    hint = fields(w, "witness", "", "multipliers weights")
    if "constraints" in given_now:
        one_of(asserts["constraints"], "asserts.constraints", "contradictory")
        if hint["multipliers"] is not None:
            hinted(hint["multipliers"], "witness.multipliers", None, "multiplier")
        mu = hinted(hint["weights"], "witness.weights", rows, "weight")
        same(combination(rows, mu), [0] * len(rows[next(iter(mu))]), "combination")
        below(0, sum(mu[j] * levels[j] for j in mu), "total")
        return
    if hint["weights"] is not None:
        hinted(hint["weights"], "witness.weights", None, "weight")
    lam = hinted(hint["multipliers"], "witness.multipliers", rows, "multiplier")
    size = len(next(iter(rows.values())))
    stated = asserts["direction"] if "direction" in given_now else asserts["solution"]
    if stated is not None:
        stated = flat_point(stated, *(shape if shape[1] else (1, size)))
    gap = None if asserts["gap"] is None else rational(asserts["gap"], "asserts.gap")
    among = asserts["neighbours_among" if "direction" in given_now else "neighbours"]
    near = set(rows) if among is None else set(hinted(among, "asserts, a list of neighbours", rows))
    if gap is not None and (gap <= 0 or len(near) == len(rows)):
        raise Rejected("asserts.gap: positive, beside a list of some constraints and not all")
    low, high = (None, None) if asserts["margin"] is None else bounds(asserts["margin"], "asserts.margin")
    if "direction" in given_now or "within" in given_now or "neighbours_among" in given_now:
        if not {"direction", "within"} <= given_now:
            raise Rejected("asserts: direction and within belong together")
        products = {j: dot(z, stated) for j, z in rows.items()}
        m = min(x for j, x in products.items() if levels[j])
        below(0, m, "direction.margin")
        at_most(0, min(products.values()), "direction.relaxed")
        q2 = norm2(stated) / m**2
        dual = 2 * sum(x * levels[j] for j, x in lam.items()) - norm2(combination(rows, lam))
        radius = rational(asserts["within"], "asserts.within")
        if radius < 0:
            raise Rejected("asserts.within: negative")
        at_most(q2 - dual, radius**2, "within")
        for j in set(rows) - near:  # <z, p> >= <z, q> - |z| r
            s, r2 = products[j] / m - levels[j] - (gap or 0), norm2(rows[j]) * radius**2
            (at_most if gap else below)(r2, s * abs(s), f"neighbours.others {j}")
        if low is not None:
            at_most(low**2 * q2, 1, "margin.at_least")
        if high is not None:
            at_most(1, high**2 * dual, "margin.at_most")
        return
    p, slack = shortest(rows, levels, lam, "p")
    if stated is not None:
        same(stated, p, "solution")
    if asserts["neighbours"] is not None:
        for j, x in slack.items():
            if j in near:
                same(x, 0, f"neighbours {j}")
            else:
                (at_most if gap else below)(gap or 0, x, f"neighbours.others {j}")
    if asserts["support"] is not None:
        same(set(hinted(asserts["support"], "support", rows)), set(lam), "support")
    if low is not None:
        at_most(low**2 * norm2(p), 1, "margin.at_least")
    if high is not None:
        at_most(1, high**2 * norm2(p), "margin.at_most")


def token_optimality(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/token-optimality.md. Every selection is met; each needs a cut or a support."""
    keys, scores, _ = scored(fields(g, "given", "", "keys scores tokens W v labels lengths"))
    asserts = fields(a, "asserts", "", "optimal locally_optimal not_locally_optimal all_locally_optimal")
    hints = fields({} if w is None else w, "witness", "", "locally_optimal not_locally_optimal cuts supports")
    if not a or all(len(x) == 1 for x in keys):
        raise Rejected("nothing asserted, or inputs of one token")

    def lead(chosen: Sequence[int], j: tuple[int, int]) -> Fraction:
        """By how much the chosen token scores better than another."""
        return scores[j[0]][chosen[j[0]]] - scores[j[0]][j[1]]

    def point(chosen: Sequence[int], node: Any, what: str) -> dict[Any, Fraction]:
        """The slacks at the max-margin point of a selection, from listed multipliers."""
        z = pairs_of(keys, chosen)
        return shortest(z, dict.fromkeys(z, 1), hinted(node, what, z, "multiplier"), what)[1]

    for i, best in enumerate(asserts["optimal"] or []):
        top = [t for t, x in enumerate(scores[i]) if x == max(scores[i])]
        same(sorted(natural(t, "optimal") for t in listed(best, "optimal")), top, f"optimal[{i}]")
    if asserts["optimal"] is not None:
        same(len(asserts["optimal"]), len(keys), "optimal")
    for kind in ("locally_optimal", "not_locally_optimal"):
        stated = listed(asserts[kind], kind) if asserts[kind] is not None else []
        same(len(stated), len(hints[kind] or []), f"the number of witnesses of {kind}")
        seen = set()
        for k, item in enumerate(stated):
            f = fields(item, kind, "indices because") if kind[0] == "n" else {"indices": item, "because": None}
            chosen, what = indices_of(f["indices"], kind, keys), f"{kind}[{k}]"
            if tuple(chosen) in seen:
                raise Rejected(f"{what}: listed twice")
            seen.add(tuple(chosen))
            if f["because"] == "not-separable":
                z = pairs_of(keys, chosen)
                mu = hinted(hints[kind][k], what, z, "multiplier")
                same(combination(z, mu), [0] * len(keys[0][0]), f"{what}.combination")
                continue
            slack = point(chosen, hints[kind][k], what)
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
        if hints["cuts"] is not None or hints["supports"] is not None:
            raise Rejected("witness: cuts or supports of what is not asserted")
        return
    cuts = []
    for node in hints["cuts"] or []:
        total, chosen_by = [Fraction(0)] * len(keys[0][0]), {}
        for item in listed(node, "cuts"):
            f = fields(item, "cuts", "input chosen other multiplier")
            i = natural(f["input"], "cuts", 0, len(keys) - 1)
            c, t = (natural(f[x], "cuts", 0, len(keys[i]) - 1) for x in ("chosen", "other"))
            mu = rational(f["multiplier"], "cuts")
            if mu <= 0 or c == t or chosen_by.setdefault(i, c) != c:
                raise Rejected("cuts: a multiplier that is not positive, or two chosen tokens of one input")
            total = [x + mu * (y - z) for x, y, z in zip(total, keys[i][c], keys[i][t], strict=True)]
        same(any(total), False, "all.cuts")
        cuts.append(chosen_by)
    if math.prod(map(len, keys)) > 100_000:
        raise Rejected("more than 100,000 selections")
    places = [(i, t) for i, rows in enumerate(keys) for t in range(len(rows))]
    supports, found = iter(hints["supports"] or []), []
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
        gram = [[dot(z[i], z[j]) for j in rows] for i in rows]
        lam = [x for (x,) in pivots(gram, [[Fraction(1)]] * len(rows), "all.supports: a matrix of products")[1]]
        at_most(0, min(lam), "all.multipliers")
        slack = shortest(z, dict.fromkeys(z, 1), dict(zip(rows, lam, strict=True)), f"selection {chosen}")[1]
        if all(lead(chosen, j) > 0 for j, x in slack.items() if x == 0):
            found.append(list(chosen))
    if next(supports, None) is not None:
        raise NotProved("all.coverage: more supports than selections")
    stated = asserts["all_locally_optimal"]
    same(
        sorted([] if stated == "none" else [indices_of(x, "all_locally_optimal", keys) for x in listed(stated, "all")]),
        sorted(found),
        "all_locally_optimal",
    )


def selection_on_a_head(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/selection-on-a-head.md: gaps in integers, weights in intervals, largest margins by weak
    duality.
    """
    given = fields(g, "given", "queries", PROMPT + " causal score")
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    n, total, sign = len(queries), len(p.keys), p.scale[1]
    causal = None if given["causal"] is None else natural(given["causal"], "given.causal", 2)
    seen = [total if causal is None else causal + i for i in range(n)]
    if total < 2 or max(seen) > total:
        raise Rejected("given: one token, or a query that sees more tokens than there are")
    hints = fields({} if w is None else w, "witness", "", "separability exposure bits")
    starting_bits({k: v for k, v in hints.items() if k == "bits" and v is not None})
    asserts = fields(a, "asserts", "selected", "margin weight rank best separability exposure")

    def tokens(node: Any, where: str) -> list[int]:
        """A token that each query sees."""
        if len(listed(node, where)) != n:
            raise Rejected(f"{where}: one for each query")
        return [natural(x, where, 0, s - 1) for x, s in zip(node, seen, strict=True)]

    selected = tokens(asserts["selected"], "selected")
    gaps = []
    for i, q in enumerate(queries):
        (row,), d = integers([p.acted(q)])
        raw = [dot(k, row) for k in p.keys[: seen[i]]]
        gap = min(sign * (raw[selected[i]] - x) for t, x in enumerate(raw) if t != selected[i])
        below(0, gap, f"selected[{i}]")
        gaps.append(Fraction(gap, d * p.dk))
    for key in ("margin", "weight"):
        if asserts[key] is None:
            continue
        f = fields(asserts[key], key, "", "at_least at_most")
        low, high = ([None] * n if f[k] is None else rows_of(f[k], key, n) for k in ("at_least", "at_most"))
        if f["at_least"] is None and f["at_most"] is None:
            raise Rejected(f"{key}: no bound")
        for i, q in enumerate(queries):
            if key == "margin":
                x: Any = scale_iv(p.scale) * sign * gaps[i]
            else:
                e = p.softmax(q, seen[i])[0]
                x = e[selected[i]] / sum(e, start=iv(0))
            within(x, low[i], high[i], f"{key}[{i}]")
    best = selected
    if asserts["rank"] is not None or asserts["best"] is not None or given["score"] is not None:
        s = given["score"]
        if isinstance(s, dict) and s.get("kind") == "direction":
            v = vector(fields(s, "score", "kind v")["v"], "score.v", len(p.values[0]))
            scores = [dot(v, x) for x in p.values]
        else:
            one_of(fields(s, "score", "kind")["kind"], "score.kind", "value-norm")
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
        if low == 0:
            raise Rejected(f"{what}.at_least: not positive")
        if low is not None:
            worst = []
            for c, q, m in zip(chosen, qs, many, strict=True):
                (row,), d = integers([times(W, q)])
                raw = [dot(k, row) for k in p.keys[:m]]
                worst.append(Fraction(min(raw[c] - x for t, x in enumerate(raw) if t != c), d * p.dk))
            below(0, min(worst), f"{what}.at_least")
            at_most(low**2 * frobenius(W), min(worst) ** 2, f"{what}.at_least")
        if high is not None:
            if not mults:
                raise NotProved(f"{what}.at_most: no multipliers")
            C = [[Fraction(0)] * len(qs[0]) for _ in p.keys[0]]
            by: dict[int, Vector] = {}
            for (i, t), mu in mults.items():
                z = [Fraction(x - y, p.dk) * mu for x, y in zip(p.keys[chosen[i]], p.keys[t], strict=True)]
                by[i] = [x + y for x, y in zip(by[i], z, strict=True)] if i in by else z
            for i, z in by.items():
                C = [[c + x * y for c, y in zip(row, qs[i], strict=True)] for row, x in zip(C, z, strict=True)]
            at_most(frobenius(C), (high * sum(mults.values())) ** 2, f"{what}.at_most")

    for kind, name in (("separability", "of"), ("exposure", "token")):
        nodes: dict[str, Any] = {}
        for node in hints[kind] or []:
            may = "W multipliers" if name == "of" else "direction multipliers"
            f = fields(node, f"witness.{kind}", name, may)
            if f[name] in nodes:
                raise Rejected(f"witness.{kind}: {f[name]} twice")
            nodes[f[name]] = f
        done = set()
        for node in listed(asserts[kind], kind) if asserts[kind] is not None else []:
            f = fields(node, kind, name, "at_least at_most")
            h, what = nodes.get(f[name], {}), f"{kind}[{f[name]}]"
            if f[name] in done:
                raise Rejected(f"{kind}: {f[name]} twice")
            done.add(f[name])
            if name == "of":
                one_of(f["of"], "separability.of", "selected", *(["best"] if asserts["best"] is not None else []))
                chosen, qs, many = (selected if f["of"] == "selected" else best), queries, seen
                W = (
                    matrix(h["W"], what, len(p.keys[0]), p.dim)
                    if h.get("W") is not None
                    else [[sign * x for x in row] for row in p.act or identity(p.dim)]
                )
            else:
                chosen, qs, many = [natural(f["token"], what, 0, total - 1)], [[Fraction(1)]], [total]
                W = [
                    [x]
                    for x in (
                        vector(h["direction"], what, len(p.keys[0]))
                        if h.get("direction") is not None
                        else [Fraction(0)] * len(p.keys[0])
                    )
                ]
            mults: dict[tuple[int, int], Fraction] = {}
            for item in h.get("multipliers") or []:
                m = fields(item, what, "token multiplier" + (" query" if name == "of" else ""))
                i = natural(m["query"], what, 0, n - 1) if name == "of" else 0
                t, mu = natural(m["token"], what, 0, many[i] - 1), rational(m["multiplier"], what)
                if mu <= 0 or t == chosen[i] or (i, t) in mults:
                    raise Rejected(f"{what}: a multiplier that is not positive, of the chosen token, or twice")
                mults[i, t] = mu
            largest_margin(f, what, W, mults, chosen, qs, many)
        if set(nodes) - done:
            raise Rejected(f"witness.{kind}: of what is not asserted")
