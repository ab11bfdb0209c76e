"""Risks and their gradients, stored prompts, and descent on them and on infinite ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

from algebra import pivots
from arrays import Matrix, matrix, vector
from decisions import at_most, average_wealth, bounds, close, same, within
from fields import fields, items, listed, one_of, optional, refuse, some, starting_bits, witness_of
from functions import exp, langevin, tanh
from intervals import I, absolute, iv, root, square, summed
from laws import Law, tilted_covariance
from matrices import around, combined, flat, frobenius, identity, less_unit, matmul, scaled, times, trace, transposed
from outcomes import NotCovered, Rejected
from scalars import natural, positive, probability, rational
from softmax import means
from training.in_context import bayes, shifted
from vectors import dot, integers, minus, products


def regression_risk(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/regression-risk.md, over the rationals; the endpoint in intervals."""
    witness_of(w)
    given = fields(g, "given", "covariance parameters")
    S, at = matrix(given["covariance"], "covariance"), fields(given["parameters"], "parameters", "A b")
    d = len(S)
    refuse(transposed(S) != S, "given.covariance: not symmetric")
    inverse = pivots(S, identity(d), "given.covariance")[1]
    A, b = matrix(at["A"], "parameters.A", d, d), rational(at["b"], "parameters.b")
    asserts = some(a, "asserts", "risk gradient invariant second_derivative stationary predictions endpoint shift")
    SA = matmul(S, A)
    E = less_unit(scaled(b, SA))
    K = matmul(S, matmul(E, S))
    if asserts["risk"] is not None:
        same(rational(asserts["risk"], "risk") * 2, trace(around(E, S)), "risk")
    if asserts["gradient"] is not None:
        f = fields(asserts["gradient"], "gradient", "A b")
        same(matrix(f["A"], "gradient.A"), scaled(b, K), "gradient.A")
        same(rational(f["b"], "gradient.b"), frobenius(A, K), "gradient.b")
    delta = frobenius(A) - b * b
    if asserts["invariant"] is not None:
        same(rational(asserts["invariant"], "invariant"), delta, "invariant")
    if asserts["second_derivative"] is not None:
        f = fields(asserts["second_derivative"], "second_derivative", "along value")
        along = fields(f["along"], "along", "A b")
        H, h = matrix(along["A"], "along.A", d, d), rational(along["b"], "along.b")
        D = combined([h, b], [SA, matmul(S, H)])
        same(rational(f["value"], "value"), frobenius(D, matmul(D, S)) + 2 * h * frobenius(H, K), "second_derivative")
    if asserts["stationary"] is not None:
        if one_of(asserts["stationary"], "stationary", "bayes", "saddle") == "bayes":
            same(any(map(any, E)), False, "stationary")
        else:
            same((b, frobenius(matmul(S, S), transposed(A))), (0, 0), "stationary")
    for node in items(asserts["predictions"], "predictions"):
        f = fields(node, "predictions", "w query value")
        value = b * dot(vector(f["w"], "w", d), times(SA, vector(f["query"], "query", d)))
        same(rational(f["value"], "value"), value, "predictions")
    if asserts["endpoint"] is not None:
        f = fields(asserts["endpoint"], "endpoint", "A b radius", "trace")
        radius, t = rational(f["radius"], "radius"), frobenius(inverse)
        refuse(b == 0, "endpoint: b = 0 has no sign")
        if f["trace"] is not None:
            same(rational(f["trace"], "trace"), t, "endpoint.trace")
        end = bayes(delta, t) * (1 if b > 0 else -1)
        close(end, rational(f["b"], "endpoint.b"), radius, "endpoint.b")
        for x, y in zip(flat(inverse), flat(matrix(f["A"], "endpoint.A", d, d)), strict=True):
            close(x / end, y, radius, "endpoint.A")
    if asserts["shift"] is not None:
        shifted(asserts["shift"], S, scaled(b, A))


def held_out_risk(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/held-out-risk.md"""
    witness_of(w)
    given = fields(g, "given", "parameters tokens labels queries targets probability", "lengths largest")
    at, tokens, queries = given["parameters"], matrix(given["tokens"], "tokens"), matrix(given["queries"], "queries")
    f, n, d = fields(at, "parameters", "A b"), len(queries), len(tokens[0])
    A, b, share = matrix(f["A"], "A", d, d), rational(f["b"], "b"), probability(given["probability"], "probability") / 2
    refuse(len(queries[0]) != d, "given.queries: another dimension than the tokens")
    labels, targets = (matrix(given[k], k, m, 1) for k, m in (("labels", len(tokens)), ("targets", n)))
    losses, start = [], 0
    for q, t, size in zip(queries, flat(targets), prompt_lengths(given["lengths"], len(tokens), n), strict=True):
        rows = slice(start, start + size)
        (scores,) = products([times(A, q)], tokens[rows])
        (values,), unit = integers([flat(labels[rows])])
        (mean,) = means([exp(iv(x - max(scores))) for x in scores], [values], unit)
        losses.append(square(iv(mean * b) - t) / 2)
        start += size
    asserts = some(a, "asserts", "at_least at_most")
    if given["largest"] is not None:
        largest = positive(given["largest"], "largest")
        at_most(max(map(abs, flat(labels) + flat(targets))), largest, "largest")
        most = ((abs(b) + 1) * largest) ** 2 / 2
    if asserts["at_least"] is not None:
        not_below(losses, rational(asserts["at_least"], "at_least"), share, "at_least")
    if asserts["at_most"] is not None:
        refuse(given["largest"] is None, "at_most: there is no largest loss")
        not_below([iv(most) - x for x in losses], most - rational(asserts["at_most"], "at_most"), share, "at_most")


def not_below(numbers: list[I], mean: Fraction, share: Fraction, what: str) -> None:
    """Prove that numbers >= 0 of an average mean of at most this would look so with probability `share` at most."""
    if mean > 0:
        at_most(1 / share, average_wealth([x / mean - 1 for x in numbers]), what)


def prompt_lengths(node: Any, tokens: int, n: int) -> list[int]:
    """As stated, or all alike."""
    if node is None:
        refuse(tokens % n, "given.lengths: needed where prompts are not equally long")
        return [tokens // n] * n
    lengths = [natural(x, "lengths", 1) for x in listed(node, "lengths")]
    refuse(len(lengths) != n or sum(lengths) != tokens, "given.lengths: they do not fit")
    return lengths


Weights = tuple[list[list[Any]], list[list[Any]]]


def frobenius_iv(x: Weights, y: Weights) -> I:
    """The Frobenius norm of the difference of two pairs of matrices."""
    return root(summed(square(iv(p) - q) for p, q in zip(flat(flat(x)), flat(flat(y)), strict=True)))


def descent_trajectory(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/descent-trajectory.md, both recursions in intervals; not Gronwall's lemma."""
    starting_bits(w)
    given = fields(g, "given", "model start step steps tokens queries targets", "covariance tasks labels laws lengths")
    asserts = some(a, "asserts", "distance risk_gap gradient_gap checkpoints gronwall")
    if asserts["gronwall"] is not None:
        raise NotCovered("gronwall")
    model = one_of(given["model"], "model", "regression", "attention")
    tokens, queries = matrix(given["tokens"], "tokens"), matrix(given["queries"], "queries")
    n, d, dq = len(queries), len(tokens[0]), len(queries[0])
    targets = matrix(given["targets"], "targets", n)
    start = fields(given["start"], "start", "A b" if model == "regression" else "U V")
    eta, steps = positive(given["step"], "step"), natural(given["steps"], "steps", 1, 100_000)
    lengths = prompt_lengths(given["lengths"], len(tokens), n)
    laws: list[Law] = []
    S: Matrix = []

    def weights(f: dict[str, Any]) -> Weights:
        """What a descent moves."""
        if model == "regression":
            return matrix(f["A"], "A", d, dq), [[rational(f["b"], "b")]]
        return matrix(f["U"], "U", d, dq), matrix(f["V"], "V", len(targets[0]), d)

    theta = weights(start)
    if model == "regression":
        if given["laws"] is not None or any(given[k] is None for k in ("covariance", "labels")) or len(targets[0]) != 1:
            raise Rejected("given: the fields of regression")
        S = matrix(given["covariance"], "covariance", d, d)
        same(S, transposed(S), "covariance")
        pivots(S, None, "covariance")
        values = matrix(given["labels"], "labels", len(tokens), 1)
        tasks = optional(matrix, given["tasks"], "tasks", n, d)
        slopes = [times(S, x) for x in tasks] if tasks else []
        refuse(not tasks and dq != d, "given.queries: another dimension than the covariance")
    else:
        if given["laws"] is None or any(given[k] is not None for k in ("covariance", "labels", "tasks")):
            raise Rejected("given: the fields of attention")
        laws = [Law(x, "laws") for x in listed(given["laws"], "laws")]
        laws = laws * n if len(laws) == 1 else laws
        if len(laws) != n or any(x.d != d for x in laws):
            raise Rejected("given.laws: one, or one for each prompt, of the tokens' dimension")
        values, tasks, slopes = tokens, None, []
    contexts, at = [], 0
    for size in lengths:
        (k, dk), (v, dv) = integers(tokens[at : at + size]), integers(values[at : at + size])
        kc, vc = transposed(k), transposed(v)
        cross = [list(map(mul, x, y)) for x in vc for y in kc]
        contexts.append((k, dk, kc, vc, dv, cross, [sum(map(abs, row)) for row in k]))
        at += size

    def finite(i: int, tilt: list[I]) -> tuple[list[I], list[list[I]]]:
        """Softmax mean of the values of prompt i, and Cov(values, keys)."""
        k, dk, kc, vc, dv, cross, sizes = contexts[i]
        low, spread = [x.a for x in tilt], max(x.b - x.a for x in tilt)
        raw = [dot(row, low) for row in k]
        top = max(raw)
        ends = ((r - top - spread * m, r - top + spread * m) for r, m in zip(raw, sizes, strict=True))
        e = [exp(I(x // dk, -(-y // dk))) for x, y in ends]
        mean, keys, both = means(e, vc, dv), means(e, kc, dk), iter(means(e, cross, dk * dv))
        return mean, [[next(both) - m * k for k in keys] for m in mean]

    def infinite(i: int, tilt: list[I]) -> tuple[list[Any], list[list[Any]]]:
        """The same of the infinite prompt."""
        if model == "regression":
            return [dot(slopes[i], tilt)], [slopes[i]]
        law = laws[i]
        mean = law.tilted(tilt)[1]
        if law.kind == "gaussian":
            return mean, law.cov
        if law.kind not in ("rademacher", "box"):
            return mean, tilted_covariance(law, tilt)

        def slope(u: I) -> I:
            """tanh' = 1 - tanh^2, and L' = 1 - L^2 - 2 L/u for L = coth u - 1/u."""
            if law.kind == "rademacher":
                return 1 - square(tanh(u))
            return 1 - square(langevin(u)) - 2 * langevin(u) / u

        cov: list[list[Any]] = scaled(0, identity(d))
        for r, (c, x) in enumerate(zip(law.sizes, tilt, strict=True)):
            cov[r][r] = slope(x * c) * (c * c)
        return mean, cov

    def loss(theta: Weights, context: Callable[[int, list[I]], Any]) -> tuple[I, Weights]:
        """The risk, and its gradient in both weights."""
        U, V = theta
        if context is infinite and model == "regression" and tasks is None:
            b = V[0][0]
            E = less_unit(scaled(b, matmul(S, U)))
            K = matmul(S, matmul(E, S))
            risk = iv(trace(around(E, S))) / 2
            return risk, (scaled(b, K), [[frobenius(U, K)]])
        risk, dU, dV = iv(0), [[iv(0)] * dq for _ in range(d)], [[iv(0)] * len(V[0]) for _ in V]
        for i, q in enumerate(queries):
            m, C = context(i, [iv(x) for x in times(U, q)])
            r = minus(times(V, m), targets[i])
            risk += summed(map(square, r)) / (2 * n)
            back = times(transposed(C), times(transposed(V), r))
            dU = [[x + y * z / n for x, z in zip(row, q, strict=True)] for row, y in zip(dU, back, strict=True)]
            dV = [[x + y * z / n for x, z in zip(row, m, strict=True)] for row, y in zip(dV, r, strict=True)]
        return risk, (dU, dV)

    def bound_list(node: Any, where: str) -> list[Fraction]:
        """One number for all steps, or one for each from 0."""
        found = vector(node, where)
        refuse(len(found) not in (1, steps + 1), f"{where}: one number, or {steps + 1}")
        return found * (steps + 1) if len(found) == 1 else found

    gaps, distance = {}, None
    if asserts["distance"] is not None:
        distance = bound_list(fields(asserts["distance"], "distance", "at_most")["at_most"], "distance")
    for key in ("risk_gap", "gradient_gap"):
        if asserts[key] is not None:
            f = fields(asserts[key], key, "at at_most")
            gaps[key] = one_of(f["at"], key, "each", "finite", "infinite"), bound_list(f["at_most"], key)
    stops: dict[int, list[dict[str, Any]]] = {}
    for node in items(asserts["checkpoints"], "checkpoints"):
        f = fields(node, "checkpoints", "step", "distance finite_risk infinite_risk finite infinite")
        refuse(all(f[k] is None for k in f if k != "step"), "checkpoints: a step of which nothing is asserted")
        stops.setdefault(natural(f["step"], "checkpoints.step", 0, steps), []).append(f)

    def moved(m: list[list[Any]], slope: list[list[Any]]) -> list[list[Any]]:
        """A step of descent."""
        return [minus(map(iv, r), s) for r, s in zip(m, scaled(eta, slope), strict=True)]

    short = theta
    for k in range(steps + 1):
        apart = frobenius_iv(short, theta) if k else iv(0)
        (risk, grad), (far, slope_) = loss(short, finite), loss(theta, infinite)
        if distance:
            at_most(apart, distance[k], f"distance[{k}]")
        for key, (where, bound) in gaps.items():
            one = (risk, grad) if where != "infinite" else loss(theta, finite)
            two = (far, slope_) if where != "finite" else loss(short, infinite)
            gap = absolute(one[0] - two[0]) if key == "risk_gap" else frobenius_iv(one[1], two[1])
            at_most(gap, bound[k], f"{key}[{k}]")
        for f in stops.get(k, []):
            for key, value in (("distance", apart), ("finite_risk", risk), ("infinite_risk", far)):
                if f[key] is not None:
                    within(value, *bounds(f[key], key), f"checkpoints {k} {key}")
            for key, point in (("finite", short), ("infinite", theta)):
                if f[key] is not None:
                    node = fields(f[key], key, "radius " + ("A b" if model == "regression" else "U V"))
                    far_off = frobenius_iv(point, weights(node))
                    at_most(far_off, rational(node["radius"], "radius"), f"checkpoints {k} {key}")
        if k < steps:
            short, theta = (tuple(map(moved, *pair)) for pair in ((short, grad), (theta, slope_)))
