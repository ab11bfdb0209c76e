"""Training: risks and their gradients, and descent on finite and infinite prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from algebra import dot, frobenius, identity, integers, matmul, pivots, times, trace, transposed
from arrays import Matrix, matrix, vector
from decisions import at_most, bounds, same, within
from documents import fields, listed, natural, one_of, rational, starting_bits
from functions import exp, langevin, tanh
from intervals import I, absolute, iv, root, square
from laws import Law, series
from outcomes import NotCovered, Rejected
from softmax import Prompt


def regression_risk(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/regression-risk.md, over the rationals; the endpoint in intervals."""
    fields({} if w is None else w, "witness")
    given = fields(g, "given", "covariance parameters")
    S, at = matrix(given["covariance"], "covariance"), fields(given["parameters"], "parameters", "A b")
    d = len(S)
    if transposed(S) != S:
        raise Rejected("given.covariance: not symmetric")
    inverse = pivots(S, identity(d), "given.covariance")[1]
    A, b = matrix(at["A"], "parameters.A", d, d), rational(at["b"], "parameters.b")
    asserts = fields(a, "asserts", "", "risk gradient invariant second_derivative stationary predictions endpoint")
    if not a:
        raise Rejected("asserts: nothing")
    SA = matmul(S, A)
    E = [[b * x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(SA)]
    K = matmul(S, matmul(E, S))
    if asserts["risk"] is not None:
        same(rational(asserts["risk"], "risk") * 2, trace(matmul(E, matmul(S, transposed(E)))), "risk")
    if asserts["gradient"] is not None:
        f = fields(asserts["gradient"], "gradient", "A b")
        same(matrix(f["A"], "gradient.A"), [[b * x for x in row] for row in K], "gradient.A")
        same(rational(f["b"], "gradient.b"), frobenius(A, K), "gradient.b")
    delta = frobenius(A) - b * b
    if asserts["invariant"] is not None:
        same(rational(asserts["invariant"], "invariant"), delta, "invariant")
    if asserts["second_derivative"] is not None:
        f = fields(asserts["second_derivative"], "second_derivative", "along value")
        along = fields(f["along"], "along", "A b")
        H, h = matrix(along["A"], "along.A", d, d), rational(along["b"], "along.b")
        D = [[h * x + b * y for x, y in zip(r, s, strict=True)] for r, s in zip(SA, matmul(S, H), strict=True)]
        same(rational(f["value"], "value"), frobenius(D, matmul(D, S)) + 2 * h * frobenius(H, K), "second_derivative")
    if asserts["stationary"] is not None:
        if one_of(asserts["stationary"], "stationary", "bayes", "saddle") == "bayes":
            same(any(map(any, E)), False, "stationary")
        else:
            same((b, frobenius(matmul(S, S), transposed(A))), (0, 0), "stationary")
    for node in listed(asserts["predictions"], "predictions") if asserts["predictions"] is not None else []:
        f = fields(node, "predictions", "w query value")
        value = b * dot(vector(f["w"], "w", d), times(SA, vector(f["query"], "query", d)))
        same(rational(f["value"], "value"), value, "predictions")
    if asserts["endpoint"] is not None:
        f = fields(asserts["endpoint"], "endpoint", "A b radius", "trace")
        radius, t = rational(f["radius"], "radius"), frobenius(inverse)
        if b == 0:
            raise Rejected("endpoint: b = 0 has no sign")
        if f["trace"] is not None:
            same(rational(f["trace"], "trace"), t, "endpoint.trace")
        end = bayes(delta, t) * (1 if b > 0 else -1)
        at_most(absolute(end - rational(f["b"], "endpoint.b")), radius, "endpoint.b")
        for row, stated in zip(inverse, matrix(f["A"], "endpoint.A", d, d), strict=True):
            for x, y in zip(row, stated, strict=True):
                at_most(absolute(x / end - y), radius, "endpoint.A")


def bayes(delta: Any, t: Any) -> I:
    """b > 0 with b^4 + delta b^2 = t: by the root of whichever sign does not cancel."""
    r = root(delta * delta + 4 * t)
    return root((r - delta) / 2 if iv(delta).a <= 0 else 2 * t / (r + delta))


Weights = tuple[list[list[Any]], list[list[Any]]]


def frobenius_iv(x: Weights, y: Weights) -> I:
    """The Frobenius norm of the difference of two pairs of matrices."""
    return root(
        sum(
            (
                square(iv(p) - q)
                for m, n in zip(x, y, strict=True)
                for r, s in zip(m, n, strict=True)
                for p, q in zip(r, s, strict=True)
            ),
            start=iv(0),
        )
    )


def tilted_covariance(law: Law, a: Sequence[Any]) -> list[list[Any]]:
    """The covariance under a tilt, from second derivatives of the MGF: E x x' e^<a,x> / E e^<a,x> - mean mean'."""
    n, found = law.d, []
    for i, u in enumerate(identity(n)):
        row = []
        for v in identity(n)[: i + 1]:
            f = series(law, a, u, v, 1, 1)
            row.append(f[1][1] / f[0][0] - f[1][0] / f[0][0] * (f[0][1] / f[0][0]))
        found.append(row)
    return [[found[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def descent_trajectory(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/descent-trajectory.md, both recursions in intervals; not Gronwall's lemma."""
    starting_bits(w)
    given = fields(g, "given", "model start step steps tokens queries targets", "covariance tasks labels laws lengths")
    asserts = fields(a, "asserts", "", "distance risk_gap gradient_gap checkpoints gronwall")
    if not a:
        raise Rejected("asserts: nothing")
    if asserts["gronwall"] is not None:
        raise NotCovered("gronwall")
    model = one_of(given["model"], "model", "regression", "attention")
    tokens, queries = matrix(given["tokens"], "tokens"), matrix(given["queries"], "queries")
    n, d, dq = len(queries), len(tokens[0]), len(queries[0])
    targets = matrix(given["targets"], "targets", n)
    start = fields(given["start"], "start", "A b" if model == "regression" else "U V")
    eta, steps = rational(given["step"], "step"), natural(given["steps"], "steps", 1, 100_000)
    if given["lengths"] is None:
        if len(tokens) % n:
            raise Rejected("given.lengths: needed where prompts are not equally long")
        lengths = [len(tokens) // n] * n
    else:
        lengths = [natural(x, "lengths", 1) for x in listed(given["lengths"], "lengths")]
    if len(lengths) != n or sum(lengths) != len(tokens) or eta <= 0:
        raise Rejected("given: lengths that do not fit, or a step that is not positive")
    laws: list[Law] = []
    S: Matrix = []
    if model == "regression":
        if given["laws"] is not None or any(given[k] is None for k in ("covariance", "labels")) or len(targets[0]) != 1:
            raise Rejected("given: the fields of regression")
        S = matrix(given["covariance"], "covariance", d, d)
        same(S, transposed(S), "covariance")
        pivots(S, None, "covariance")
        values = matrix(given["labels"], "labels", len(tokens), 1)
        tasks = None if given["tasks"] is None else matrix(given["tasks"], "tasks", n, d)
        theta: Weights = matrix(start["A"], "start.A", d, dq), [[rational(start["b"], "start.b")]]
        slopes = [times(S, x) for x in tasks] if tasks else []
        if not tasks and dq != d:
            raise Rejected("given.queries: another dimension than the covariance")
    else:
        if given["laws"] is None or any(given[k] is not None for k in ("covariance", "labels", "tasks")):
            raise Rejected("given: the fields of attention")
        laws = [Law(x, "laws") for x in listed(given["laws"], "laws")]
        laws = laws * n if len(laws) == 1 else laws
        if len(laws) != n or any(x.d != d for x in laws):
            raise Rejected("given.laws: one, or one for each prompt, of the tokens' dimension")
        values, tasks, slopes = tokens, None, []
        theta = matrix(start["U"], "start.U", d, dq), matrix(start["V"], "start.V", len(targets[0]), d)
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
        e = [
            exp(I((r - top - spread * m) // dk, -(-(r - top + spread * m) // dk)))
            for r, m in zip(raw, sizes, strict=True)
        ]
        p = Prompt.__new__(Prompt)
        mean, keys, both = p.moments(e, vc, dv), p.moments(e, kc, dk), p.moments(e, cross, dk * dv)
        return mean, [[both[r * d + c] - m * keys[c] for c in range(d)] for r, m in enumerate(mean)]

    def infinite(i: int, tilt: list[I]) -> tuple[list[Any], list[list[Any]]]:
        """The same of the infinite prompt."""
        if model == "regression":
            return [dot(slopes[i], tilt)], [slopes[i]]
        law = laws[i]
        mean = law.tilted(tilt)[1]
        if law.kind == "gaussian":
            return mean, law.cov
        if law.kind in ("atoms", "mixture"):
            return mean, tilted_covariance(law, tilt)
        slope = []
        # tanh' = 1 - tanh^2, and L' = 1 - L^2 - 2 L/u for L = coth u - 1/u
        for c, x in zip(law.sizes, tilt, strict=True):
            u = x * c
            slope.append(
                (1 - square(tanh(u)) if law.kind == "rademacher" else 1 - square(langevin(u)) - 2 * langevin(u) / u)
                * (c * c)
            )
        return mean, [[x if r == s else Fraction(0) for s in range(d)] for r, x in enumerate(slope)]

    def loss(theta: Weights, context: Callable[[int, list[I]], Any]) -> tuple[I, Weights]:
        """The risk, and its gradient in both weights."""
        U, V = theta
        if context is infinite and model == "regression" and tasks is None:
            b = V[0][0]
            E = [[b * x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(matmul(S, U))]
            K = matmul(S, matmul(E, S))
            risk = iv(trace(matmul(E, matmul(S, transposed(E))))) / 2
            return risk, ([[b * x for x in row] for row in K], [[frobenius(U, K)]])
        risk, dU, dV = iv(0), [[iv(0)] * dq for _ in range(d)], [[iv(0)] * len(V[0]) for _ in V]
        for i, q in enumerate(queries):
            m, C = context(i, [iv(x) for x in times(U, q)])
            r = [x - y for x, y in zip(times(V, m), targets[i], strict=True)]
            risk += sum(map(square, r), start=iv(0)) / (2 * n)
            back = times(transposed(C), times(transposed(V), r))
            dU = [[x + y * z / n for x, z in zip(row, q, strict=True)] for row, y in zip(dU, back, strict=True)]
            dV = [[x + y * z / n for x, z in zip(row, m, strict=True)] for row, y in zip(dV, r, strict=True)]
        return risk, (dU, dV)

    def bound_list(node: Any, where: str) -> list[Fraction]:
        """One number for all steps, or one for each from 0."""
        found = vector(node, where)
        if len(found) not in (1, steps + 1):
            raise Rejected(f"{where}: one number, or {steps + 1}")
        return found * (steps + 1) if len(found) == 1 else found

    distance = (
        None
        if asserts["distance"] is None
        else bound_list(fields(asserts["distance"], "distance", "at_most")["at_most"], "distance")
    )
    gaps = {}
    for key in ("risk_gap", "gradient_gap"):
        if asserts[key] is not None:
            f = fields(asserts[key], key, "at at_most")
            gaps[key] = one_of(f["at"], key, "each", "finite", "infinite"), bound_list(f["at_most"], key)
    stops: dict[int, list[dict[str, Any]]] = {}
    for node in listed(asserts["checkpoints"], "checkpoints") if asserts["checkpoints"] is not None else []:
        f = fields(node, "checkpoints", "step", "distance finite_risk infinite_risk finite infinite")
        if all(f[k] is None for k in f if k != "step"):
            raise Rejected("checkpoints: a step of which nothing is asserted")
        stops.setdefault(natural(f["step"], "checkpoints.step", 0, steps), []).append(f)
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
                    if model == "regression":
                        stated: Weights = matrix(node["A"], "A", d, dq), [[rational(node["b"], "b")]]
                    else:
                        stated = matrix(node["U"], "U", d, dq), matrix(node["V"], "V", len(theta[1]), d)
                    at_most(frobenius_iv(point, stated), rational(node["radius"], "radius"), f"checkpoints {k} {key}")
        if k < steps:
            short, theta = (
                tuple(
                    [[iv(x) - y * eta for x, y in zip(r, s, strict=True)] for r, s in zip(m, h, strict=True)]
                    for m, h in zip(t, step, strict=True)
                )
                for t, step in ((short, grad), (theta, slope_))
            )
