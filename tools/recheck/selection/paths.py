"""Paths of training towards a selection: regularization-path and joint-max-margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from arrays import Matrix, Vector, flat_point, matrix, vector
from decisions import at_most, below, bounds, same
from fields import fields, listed, one_of, optional, present, refuse, some
from functions import exp, log, tanh
from intervals import I, hull, iv, largest, root, smallest, square, summed
from matrices import scaled, times, transposed
from outcomes import NotCovered, Rejected, Undecided
from scalars import natural, positive, rational
from selection.margins import (
    asked,
    combination,
    convex,
    dual_at_most_one,
    factored,
    hinted,
    indices_of,
    inputs_of,
    inverse_root,
    moved,
    nonnegative_power,
    norm_of,
    nuclear_bound,
    pairs_of,
    power_norm,
    scored,
    shortest,
)
from selection.nearness import Near, Pairs, cosine
from vectors import dot, minus, norm2


def minus_slope(loss: str, x: Any) -> Any:
    """-l'(x) > 0, which does not grow."""
    if loss == "linear":
        return Fraction(1)
    return exp(-iv(x)) if loss == "exponential" else 1 / (1 + exp(x))


def loss_at(loss: str, x: Any) -> Any:
    """l(x)"""
    if loss == "linear":
        return -x
    return exp(-iv(x)) if loss == "exponential" else log(1 + exp(-iv(x)))


def regularization_path(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/regularization-path.md"""
    given = fields(g, "given", "loss", "keys queries scores tokens W v labels lengths head norm")
    asserts, hint = (
        fields(a, "asserts", "indices path", "limit"),
        fields(w, "witness", "multipliers comparators", "factors"),
    )
    keys, scores, labels = scored(given)
    keys, shape = asked(given["queries"], keys)
    loss = one_of(given["loss"], "given.loss", "linear", "logistic", "exponential")
    chosen = indices_of(asserts["indices"], "indices", keys)
    head, beta, A = "linear", Fraction(1), None
    if given["head"] is not None:
        h = fields(given["head"], "head", "kind", "slope A")
        head = one_of(h["kind"], "head.kind", "linear", "tanh", "softplus", "leaky-relu", "quadratic")
        refuse(given["keys"] is not None, "given.head: with tokens, not with keys")
        if (h["slope"] is not None, h["A"] is not None) != (head == "leaky-relu", head == "quadratic"):
            raise Rejected("given.head: slope for leaky-relu, A for quadratic")
        beta = optional(positive, h["slope"], "head.slope") or Fraction(1)
        refuse(beta > 1, "head.slope: above 1")
    refuse(given["keys"] is None and given["v"] is None and head != "quadratic", "given.v: missing")
    z = pairs_of(keys, chosen)
    mults = hinted(hint["multipliers"], "multipliers", z, "multiplier")
    norm = optional(norm_of, given["norm"])
    refuse(norm == "nuclear" and given["queries"] is None, "given.norm: without queries")
    refuse(
        (norm == "nuclear") != (hint["factors"] is not None), "witness.factors: with the nuclear norm and only there"
    )
    refuse(norm is not None and asserts["limit"] is not None, "asserts.limit: in another norm")
    p: Vector = []
    if norm is None:
        p, _ = shortest(z, dict.fromkeys(z, 1), mults, "p_mm")
    else:
        dual_at_most_one(norm, combination(z, mults), shape)
    if asserts["limit"] is not None:
        same(flat_point(asserts["limit"], *shape), p, "limit")
    active = [i for i, rows in enumerate(keys) if len(rows) > 1]
    others = {i: [t for t in range(len(keys[i])) if t != chosen[i]] for i in active}
    gaps = {i: [scores[i][chosen[i]] - scores[i][t] for t in others[i]] for i in active}
    base = {i: scores[i][chosen[i]] for i in active}
    Q: dict[int, Matrix] = {i: [[Fraction(0)] for _ in gaps[i]] for i in active}
    if head == "quadratic":
        tokens = inputs_of(given, "tokens")
        A = matrix(given["head"]["A"], "head.A", len(tokens[0][0]), len(tokens[0][0]))
        same(A, transposed(A), "head.A")
        for i in active:
            x, Y = tokens[i][chosen[i]], labels[i]
            y = [minus(x, tokens[i][t]) for t in others[i]]
            gaps[i] = [q + 2 * Y * dot(times(A, x), u) for q, u in zip(gaps[i], y, strict=True)]
            Q[i] = [[Y * dot(u, times(A, v)) for v in y] for u in y]
            base[i] += Y * dot(x, times(A, x))
    up = {i: [max(Fraction(0), *row) for row in Q[i]] for i in active}
    down = {i: [max(Fraction(0), *(-x for x in row)) for row in Q[i]] for i in active}
    for i in active:
        below(0, min(minus(gaps[i], up[i])), f"gaps[{i}]")

    def output(i: int, score: Any) -> Any:
        """Y psi as a function of the score, for heads of the score."""
        r = iv(score) * int(labels[i])
        if head in ("linear", "quadratic"):
            return score
        value = hull(largest([r, r * beta])) if head == "leaky-relu" else tanh(r) if head == "tanh" else log(1 + exp(r))
        return value * int(labels[i])

    def slope(i: int, low: Any) -> Any:
        """The least slope of the head on the scores from `low` to that of the chosen token."""
        r = [iv(low) * int(labels[i]), iv(scores[i][chosen[i]]) * int(labels[i])]
        if head == "tanh":
            return smallest([1 - square(tanh(x)) for x in r])
        if head == "softplus":
            return smallest([1 - 1 / (1 + exp(x)) for x in r])
        return iv(1) if head == "linear" or min(x.a for x in r) >= 0 else iv(beta)

    path, points = listed(asserts["path"], "path"), listed(hint["comparators"], "comparators")
    same(len(path), len(points), "the number of comparators")
    factors = listed(hint["factors"], "factors") if norm == "nuclear" else [None] * len(path)
    same(len(path), len(factors), "the number of factors")
    for k, (node, hat, pair) in enumerate(zip(path, points, factors, strict=True)):
        f = fields(node, f"path[{k}]", *(("radius cosine",) if norm is None else ("radius share", "apart")))
        R, point = positive(f["radius"], "radius"), flat_point(hat, *shape)
        bound_of = rational(f["cosine" if norm is None else "share"], f"path[{k}]")
        refuse(abs(bound_of) > 1 or (norm is not None and bound_of < 0), f"path[{k}]: from -1, or 0, to 1")
        if norm is None:
            at_most(norm2(point), R * R, f"path[{k}].inside")
        else:
            size = nuclear_bound(point, *factored(pair, shape)) if norm == "nuclear" else power_norm(point, norm)
            at_most(size, R, f"path[{k}].inside")
            below(0, min(dot(x, point) for x in z.values()), f"path[{k}].separates")
        F, top, sigma = iv(0), {}, {}
        for i in active:
            e = [exp(-dot(z[i, t], point)) for t in others[i]]
            s = [x / (1 + summed(e)) for x in e]
            top[i] = output(i, base[i])
            sigma[i] = minus_slope(loss, top[i])
            drop = dot(s, gaps[i])
            if head == "quadratic":
                now = top[i] - (drop - dot(s, times(Q[i], s)))
            else:
                now = output(i, scores[i][chosen[i]] - drop)
            F += loss_at(loss, now) - loss_at(loss, top[i])
        below(0, F, f"path[{k}]: the excess loss")
        m: dict[tuple[int, int], Any] = {}
        for i in active:
            g_ = gaps[i]
            if head == "quadratic":
                eps = smallest([iv(1), F / (sigma[i] * min(minus(g_, up[i])))])
                pairs = list(zip(g_, up[i], down[i], strict=True))
                cost = [sigma[i] * (x - eps * y) for x, y, _ in pairs]
                lead = smallest([x - 2 * eps * y for x, y, _ in pairs])
                below(0, lead - eps * largest([x + 2 * eps * y for x, _, y in pairs]), f"path[{k}].inward")
            else:
                c0 = slope(i, scores[i][chosen[i]] - max(g_)) * sigma[i]
                fall = smallest([iv(max(g_)), F / c0])
                c = slope(i, scores[i][chosen[i]] - fall) * sigma[i]
                cost = [c * x for x in g_]
                below(0, min(g_) - F / c, f"path[{k}].inward")
            m |= {(i, t): x for t, x in zip(others[i], cost, strict=True)}
        least = smallest(list(m.values()))
        below(F, least, f"path[{k}].excess")
        total = sum(mults.values())
        if norm is not None:
            at_most(bound_of * R, (log(least) + log(1 / F - 1 / least)) * total, f"path[{k}].share")
            if f["apart"] is not None:
                apart = rational(f["apart"], f"path[{k}].apart")
                refuse(apart < 0 or not convex(norm), f"path[{k}].apart: of a norm that is least at one point")
                at_most(turned(norm, bound_of), nonnegative_power(apart, max(norm, Fraction(2))), f"path[{k}].apart")
            continue
        bound = sum((log(m[j] / (x / total)) * (x / total) for j, x in mults.items()), start=log(1 / F - 1 / least))
        at_most(bound_of * R, bound * root(norm2(p)), f"path[{k}].cosine")


def turned(norm: Fraction, share: Fraction) -> Any:
    """How far unit vectors are, to the power max(l, 2), whose middle has at least the norm (1 + share)/2."""
    s = max(norm, Fraction(2))
    return (1 - nonnegative_power((1 + share) / 2, s)) * (
        4 / (norm - 1) if norm <= 2 else nonnegative_power(Fraction(2), s)
    )


def entropy(weights: Sequence[Fraction]) -> I:
    """-sum w log w"""
    return summed(-log(w) * w for w in weights if w)


def joint_max_margin(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/joint-max-margin.md, whose numbers are computed in its order."""
    given = fields(g, "given", "tokens indices", "lengths W labels")
    _, _, labels = scored({**given, "keys": None, "scores": None})
    tokens = inputs_of(given, "tokens")
    keys = moved(optional(matrix, given["W"], "W", None, len(tokens[0][0])), tokens)
    chosen, n = indices_of(given["indices"], "indices", tokens), len(tokens)
    asserts = fields(a, "asserts", "v support p", "label_margin drop quadratic_drop path")
    hint = fields(w, "witness", "head_multipliers multipliers", "comparators bits")
    refuse(hint["bits"] is not None and natural(hint["bits"], "witness.bits", 2) < 2, "witness.bits")
    refuse(asserts["path"] is None and hint["comparators"] is not None, "witness.comparators: without a path")
    ys = [scaled(y, rows) for y, rows in zip(labels, tokens, strict=True)]
    top = {i: ys[i][chosen[i]] for i in range(n)}
    mu: dict[int, Fraction] = {}
    for node in listed(hint["head_multipliers"], "head_multipliers"):
        f = fields(node, "head_multipliers", "input multiplier")
        i = natural(f["input"], "head_multipliers", 0, n - 1)
        refuse(i in mu, "head_multipliers: an input twice")
        mu[i] = positive(f["multiplier"], "head_multipliers")
    v, slack = shortest(top, dict.fromkeys(top, 1), mu, "v")
    same(vector(asserts["v"], "asserts.v"), v, "v.solution")
    S = [i for i in range(n) if slack[i] == 0]
    same([natural(x, "support") for x in listed(asserts["support"], "support")], S, "support")
    v2 = norm2(v)
    if asserts["label_margin"] is not None:
        inverse_root(*bounds(asserts["label_margin"], "label_margin"), v2, v2, "label_margin")
    z = pairs_of(keys, chosen)
    refuse(not z, "no other token to select from")
    lam = hinted(hint["multipliers"], "multipliers", z, "multiplier")
    of_input = lambda i: sum((x for j, x in lam.items() if j[0] == i), start=Fraction(0))  # noqa: E731
    p, _ = shortest(z, {j: int(j[0] in S) for j in z}, lam, "p")
    same(vector(asserts["p"], "asserts.p"), p, "p.solution")
    if asserts["drop"] is None and asserts["quadratic_drop"] is None and asserts["path"] is None:
        return
    slow, nu_slow = list[int](), None
    if asserts["quadratic_drop"] is not None:
        f = fields(asserts["quadratic_drop"], "quadratic_drop", "inputs nu")
        slow = [natural(x, "quadratic_drop") for x in listed(f["inputs"], "quadratic_drop.inputs")]
        refuse(slow != sorted(set(slow) & set(S)), "quadratic_drop.inputs: not support inputs in order")
        nu_slow = positive(f["nu"], "quadratic_drop.nu")
    if asserts["drop"] is not None:
        fast = [i for i in S if i not in slow]
        below(0, min((mu.get(i, Fraction(0)) for i in fast), default=Fraction(0)), "drop.multipliers")
    # The support inputs with a multiplier: S+ of the page.
    M = sorted(mu)
    share = {i: x / sum(mu.values()) for i, x in mu.items()}
    gamma, p2 = 1 / root(v2), norm2(p)
    lead = {j: minus(top[j[0]], ys[j[0]][j[1]]) for j in z}
    inner = {i: [t for t in range(len(ys[i])) if t != chosen[i]] for i in range(n)}
    if math.prod(len(ys[i]) for i in M) <= 10_000:
        worst = Fraction(-1)
        for choice in product(*(range(len(ys[i])) for i in M)):
            if any(t != chosen[i] for i, t in zip(M, choice, strict=True)):
                picked = transposed([ys[i][t] for i, t in zip(M, choice, strict=True)])
                worst = max(worst, norm2(times(picked, [share[i] for i in M])))
        if worst < 0:
            raise NotCovered("support inputs of one token each")
        nu = gamma - root(worst)
    else:
        cost = {i: min(2 * dot(v, lead[i, t]) / v2 - norm2(lead[i, t]) for t in inner[i]) for i in M if inner[i]}
        below(0, min(cost.values()), "drop")
        nu = min(share[i] * x for i, x in cost.items()) / (2 * gamma)
    if asserts["drop"] is not None:
        at_most(positive(asserts["drop"], "asserts.drop"), nu, "drop")
    below(0, nu, "drop")
    if nu_slow is not None:
        middle = [x / v2 for x in v]
        for i in (i for i in slow if i not in mu and inner[i]):
            off = [minus(row, middle) for row in ys[i]]
            h = gamma * max(Fraction(0), min(-dot(v, off[t]) for t in inner[i]))
            rho = root(max(norm2(row) for row in off))
            below(0, rho, "quadratic_drop")
            tau = smallest([gamma * h / square(rho), nu / (h + rho + nu)])
            at_most(nu_slow, tau * h - square(tau * rho) / (2 * gamma), "quadratic_drop")
        at_most(nu_slow, nu, "quadratic_drop")
    if asserts["path"] is None:
        return
    path = fields(asserts["path"], "path", "loss at")
    loss, entries = one_of(path["loss"], "path.loss", "logistic", "exponential"), listed(path["at"], "path.at")
    comparators: dict[int, dict[str, Any]] = {}
    for node in hint["comparators"] or []:
        f = fields(node, "comparators", "entry", "head attention")
        k = natural(f["entry"], "comparators.entry", 0, len(entries) - 1)
        refuse(k in comparators, "comparators: an entry twice")
        comparators[k] = f
    for k, node in enumerate(entries):
        f = some(node, f"path[{k}]", "head_cosine attention_cosine mass", "head_norm attention_norm")
        stated = {key: positive(x, f"path[{k}].{key}") for key, x in present(f).items()}
        r, R = stated.pop("head_norm"), stated.pop("attention_norm")
        hat = comparators.get(k, {"head": None, "attention": None})
        hv: list[Any] = [x * r * gamma for x in v]
        if hat["head"] is not None:
            hv = list(vector(hat["head"], "comparators.head", len(v)))
            at_most(norm2(hv), r * r, "comparator_head")
        hp: list[Any] = [x * R / root(p2) for x in p]
        if hat["attention"] is not None:
            hp = list(vector(hat["attention"], "comparators.attention", len(p)))
            at_most(norm2(hp), R * R, "comparator_attention")
        soft: dict[int, list[I]] = {}
        for i in range(n):
            e_ = [exp(-dot(z[i, t], hp) if t != chosen[i] else iv(0)) for t in range(len(ys[i]))]
            soft[i] = [x / summed(e_) for x in e_]
        mixed = {i: times(transposed(ys[i]), soft[i]) for i in range(n)}
        losses = [exp(-iv(dot(hv, mixed[i]))) for i in range(n)]
        E = summed(losses) if loss == "exponential" else math.prod((1 + x for x in losses), start=iv(1)) - 1
        log_e0 = log(E) + r * gamma
        K = log_e0 - entropy(list(share.values()))
        e = largest([K / (r * nu), iv(0)])
        below(e, 1, f"path[{k}].unattended")
        Z = summed(share[i] * root(max(norm2(lead[i, t]) for t in inner[i])) for i in M if inner[i])
        c = 1 - (K / r + e * Z) / gamma
        below(0, c, f"path[{k}].alignment")  # of this c or the next one: with c <= 0 nothing is selected

        def least(b: Sequence[Any], c: I, r: Fraction = r) -> I:
            """(4): a lower bound of <v, b>, as the lower end."""
            along = dot(b, v) * gamma
            exact = all(isinstance(x, Fraction) for x in b)
            rest = root(norm2(b) - dot(b, v) ** 2 / v2) if exact else root(summed(map(square, b)) - square(along))
            return r * (smallest([along, c * along]) - root(1 - square(smallest([c, iv(1)]))) * rest)

        def most(b: Sequence[Any], c: I, least: Callable[..., I] = least) -> I:
            """An upper bound of <v, b>."""
            return -least([-x for x in b], c)

        for _ in range(8):
            spent = {i: largest([iv(0), *(-least(lead[i, t], c) for t in inner[i])]) for i in M}
            freed = summed(share[i] * e * x / r for i, x in spent.items())
            c = largest([c, 1 - (largest([K, iv(0)]) / r + freed) / gamma])
        selected = all(least(lead[i, t], c).a > 0 for i in M for t in inner[i])
        near, far = None, None
        if selected:
            floors = [0 if i in mu else largest([0, *(-least(lead[i, t], c) for t in inner[i])]) for i in range(n)]
            pairs = Pairs(
                [top[i] for i in range(n)],
                [[lead[i, t] for t in inner[i]] for i in range(n)],
                [[z[i, t] for t in inner[i]] for i in range(n)],
                [[soft[i][t] for t in inner[i]] for i in range(n)],
            )
            spare = (
                0 if hat["head"] is None else r * r - norm2(hv),
                0 if hat["attention"] is None else R * R - norm2(hp),
            )
            near = Near(loss, (r, R), (hv, hp), spare, pairs, floors)
            far = near.reach
        if "head_cosine" in stated:
            found = None if near is None else cosine(hv, v, near.D)
            at_most(stated["head_cosine"], c if found is None else largest([c, found]), f"path[{k}].head_cosine")
        within = sum((of_input(i) for i in M), start=Fraction(0))
        hat_l = {j: x / within for j, x in lam.items() if j[0] in mu}
        chi = iv(0) if loss == "exponential" else E
        lower = {j: least(x, c) for j, x in lead.items()}

        def above(weights: dict[int, Fraction], log_e0: I = log_e0) -> I:
            """(7): an upper bound of sum Lambda_i (gamma_i - r Gamma)."""
            pairs = [(x, weights.get(i, Fraction(0))) for i, x in share.items()]
            theta = max(y / x for x, y in pairs)
            if theta <= 1:
                return iv(0)
            return (theta - 1) * (log_e0 - entropy([(theta * x - y) / (theta - 1) for x, y in pairs]))

        log_a = iv(0)
        if selected:
            grown = {}
            for i in range(n):
                b = times(transposed([lead[i, t] for t in inner[i]]), [soft[i][t] for t in inner[i]])
                grown[i] = exp(largest([most(b, c), iv(0)])) - 1 if b else iv(0)
            loss_sum = E * largest([grown[i] for i in M])
            for i in (i for i in range(n) if i not in mu):
                if all(lower[i, t].a > 0 for t in inner[i]):
                    loss_sum += exp(-least(top[i], c)) * grown[i]
                else:
                    loss_sum += exp(-least(mixed[i], c))
            log_a = log(loss_sum) + r * gamma
        tops = {i: [most(ys[i][t], c) / r for t in inner[i]] for i in range(n) if i not in mu}

        def kept(i: int, required: I = gamma - log_e0 / r, c: I = c, tops: Any = tops, r: Fraction = r) -> I:
            """The least weight of the chosen token of an input outside S+ whose other tokens have too small scores."""
            tau = largest(tops[i])
            return (required - tau) / (most(top[i], c) / r - tau)

        if "attention_cosine" in stated:
            B = iv(0)
            for i in {j[0] for j in lam if j[0] not in mu}:
                below(largest(tops[i]), gamma - log_e0 / r, f"path[{k}].outside")
                B -= of_input(i) * log(kept(i) / (1 - kept(i)))
            beta = log(1 / e - 1) if e.a > 0 else None
            if selected:
                total = log(1 - e) - chi - log_a - (above({i: of_input(i) / within for i in M}) if within else 0)
                total += summed(x * log(lower[j] / x) for j, x in hat_l.items())
                beta = total if beta is None or total.a > beta.a else beta
            angles = [] if beta is None else [(beta * within - B) / root(p2) / R]
            found = None if far is None else cosine(hp, p, far)
            angles += [] if found is None else [found]
            if not angles:
                raise Undecided("the attention off the chosen tokens")
            at_most(stated["attention_cosine"], largest(angles), f"path[{k}].attention_cosine")
        if "mass" in stated:
            rest = [iv(0)]
            for i in (i for i in S if i not in mu and inner[i]):
                rest.append(1 - kept(i) if (gamma - log_e0 / r - largest(tops[i])).a > 0 else iv(1))
            lack = largest([e, *rest])
            if near is not None:
                nearest = {i: smallest([lower[i, t] for t in inner[i]]) for i in M if inner[i]}
                each = [exp(log_a + chi + above({i: Fraction(1)}) - log(x)) for i, x in nearest.items()]
                lack = smallest([lack, largest([*each, *rest]), largest([near.e[i] for i in S])])
            at_most(stated["mass"], 1 - lack, f"path[{k}].mass")
