"""Attention over a prompt that is given: softmax-mean and output-deviation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

from algebra import definite, dot, integers, norm2, semidefinite, times, transposed
from arrays import Vector, matrix, rows_of, vector
from decisions import at_most
from documents import fields, listed, natural, one_of, rational, starting_bits
from functions import log
from intervals import I, absolute, iv, largest, root
from laws import Law
from outcomes import NotCovered, Rejected
from softmax import PROMPT, Prompt, scale_iv, scale_of


def softmax_mean(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/softmax-mean.md. Eigenvalues: Cov - b and b - Cov are positive definite, by their
    pivots.
    """
    starting_bits(w)
    given = fields(g, "given", "queries", PROMPT)
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    n = len(queries)
    asserts = fields(a, "asserts", "", "mean covariance eigenvalues log_normaliser")
    if not a:
        raise Rejected("asserts: nothing")
    keys, values = transposed(p.keys), transposed(p.values)
    columns = {"values": (values, p.dv), "keys": (keys, p.dk)}
    weights = [p.softmax(q) for q in queries]
    if (m := asserts["mean"]) is not None:
        m = fields(m, "asserts.mean", "value radius")
        stated, radius = matrix(m["value"], "mean.value", n, len(values)), rows_of(m["radius"], "mean.radius", n)
        for i in range(n):
            for x, y in zip(p.moments(weights[i][0], values, p.dv), stated[i], strict=True):
                at_most(absolute(x - y), radius[i], f"mean[{i}]")
    if (m := asserts["log_normaliser"]) is not None:
        m = fields(m, "asserts.log_normaliser", "value radius")
        stated1, radius = (
            vector(m["value"], "log_normaliser.value", n),
            rows_of(m["radius"], "log_normaliser.radius", n),
        )
        for i in range(n):
            z = log(sum(weights[i][0], start=iv(0))) + weights[i][1]
            at_most(absolute(z - stated1[i]), radius[i], f"log_normaliser[{i}]")

    def covariance(i: int, left: str, right: str) -> list[list[I]]:
        """Cov_q of two kinds of columns: mean products less products of means."""
        (x, dx), (y, dy) = columns[left], columns[right]
        mx, my = (p.moments(weights[i][0], c, d) for c, d in ((x, dx), (y, dy)))
        flat = [list(map(mul, u, v)) for u in x for v in y]
        both = p.moments(weights[i][0], flat, dx * dy)
        return [[both[r * len(y) + c] - mx[r] * my[c] for c in range(len(y))] for r in range(len(x))]

    if (m := asserts["covariance"]) is not None:
        m = fields(m, "asserts.covariance", "value radius", "of")
        left, right = ("values", "keys") if m["of"] == "values-keys" else (m["of"] or "values",) * 2
        one_of(left, "asserts.covariance.of", "values", "keys")
        shape, node = (len(columns[left][0]), len(columns[right][0])), m["value"]
        if isinstance(node, list) and node and (isinstance(node[0], dict) or isinstance(listed(node[0], "")[0], list)):
            node = [row for block in node for row in matrix(block, "covariance.value", *shape)]
            node = [[str(x) for x in row] for row in node]
        stated, radius = matrix(node, "covariance.value", n * shape[0], shape[1]), rows_of(m["radius"], "radius", n)
        for i in range(n):
            for r, row in enumerate(covariance(i, left, right)):
                for x, y in zip(row, stated[i * shape[0] + r], strict=True):
                    at_most(absolute(x - y), radius[i], f"covariance[{i}]")
    if (m := asserts["eigenvalues"]) is not None:
        m = fields(m, "asserts.eigenvalues", "", "of at_least at_most")
        of = one_of(m["of"] or "values", "asserts.eigenvalues.of", "values", "keys")
        if m["at_least"] is None and m["at_most"] is None:
            raise Rejected("asserts.eigenvalues: no bound")
        low, high = (None if m[k] is None else rows_of(m[k], f"eigenvalues.{k}", n) for k in ("at_least", "at_most"))
        for i in range(n):
            c = covariance(i, of, of)
            proved = semidefinite if all(isinstance(x, Fraction) for row in c for x in row) else definite
            if low and low[i] > 0:
                proved(
                    [[x - low[i] * (r == s) for s, x in enumerate(row)] for r, row in enumerate(c)], f"at_least[{i}]"
                )
            if high:
                proved(
                    [[high[i] * (r == s) - x for s, x in enumerate(row)] for r, row in enumerate(c)], f"at_most[{i}]"
                )


def output_deviation(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/output-deviation.md, for listed queries: T(q) and its limit, each by itself."""
    fields({} if w is None else w, "witness", "", "bits cells query weights")
    given = fields(g, "given", "limit", "queries region causal " + PROMPT)
    bounds = "at_most at_least relative_at_most"
    d = fields(fields(a, "asserts", "deviation")["deviation"], "deviation", "norm", bounds + " per_query")
    norm = one_of(d["norm"], "deviation.norm", "l2", "linf")
    if given["region"] is not None:
        raise NotCovered("deviations over regions")
    starting_bits(w)
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    causal = None if given["causal"] is None else natural(given["causal"], "given.causal", 1)
    if causal is not None and causal + len(queries) - 1 > len(p.keys):
        raise Rejected("given.causal: more tokens than there are")
    each = fields({} if d["per_query"] is None else d["per_query"], "per_query", "", bounds)
    if all(x is None for x in (*(d[k] for k in bounds.split()), *each.values())):
        raise Rejected("asserts: no bound")
    if any(d[k] is not None and rational(d[k], k) < 0 for k in bounds.split()):
        raise Rejected("asserts: a negative bound")
    if d["per_query"] is not None and all(x is None for x in each.values()):
        raise Rejected("per_query: no bound")
    size = lambda y: root(norm2(y)) if norm == "l2" else largest([absolute(x) for x in y])  # noqa: E731
    limit, found, sizes = limit_of(given["limit"], p), [], []
    for i, q in enumerate(queries):
        own = p if causal is None else p.first(causal + i)
        out = own.moments(own.softmax(q)[0], transposed(own.values), own.dv)
        at = limit if causal is None else limit_of(given["limit"], own)
        found.append(size([x - y for x, y in zip(out, at(q), strict=True)]))
        sizes.append(size(out))
    if d["at_most"] is not None:
        for i, x in enumerate(found):
            at_most(x, rational(d["at_most"], "at_most"), f"at_most[{i}]")
    if d["at_least"] is not None:
        at_most(rational(d["at_least"], "at_least"), largest(found), "at_least")
    if d["relative_at_most"] is not None:
        for i, (x, y) in enumerate(zip(found, sizes, strict=True)):
            at_most(x, y * rational(d["relative_at_most"], "relative_at_most"), f"relative_at_most[{i}]")
    for key, node in each.items():
        for i, bound in enumerate(vector(node, f"per_query.{key}", len(found)) if node is not None else []):
            pair = (bound, found[i]) if key == "at_least" else (found[i], bound * sizes[i] if "rel" in key else bound)
            at_most(*pair, f"per_query.{key}[{i}]")


def limit_of(node: Any, p: Prompt) -> Callable[[Vector], list[Any]]:
    """The limit of output-deviation as a function of a stated query."""
    kind = one_of(node.get("kind") if isinstance(node, dict) else None, "limit.kind", "empirical", "affine", "law")
    if kind == "affine":
        f = fields(node, "limit", "kind matrix offset", "scale")
        A, b, s = matrix(f["matrix"], "limit.matrix", len(p.values[0]), p.dim), f["offset"], scale_of(f["scale"])
        b = vector(b, "limit.offset", len(A))
        return lambda q: [y + scale_iv(s) * x for x, y in zip(times(A, q), b, strict=True)]
    if kind == "law":
        law = Law(fields(node, "limit", "kind law")["law"], "limit.law")
        if law.d != len(p.V[0]):
            raise Rejected("limit.law: another dimension than the tokens")
        return lambda q: times(p.V, law.tilted([scale_iv(p.scale) * x for x in times(p.U, q)])[1])
    fields(node, "limit", "kind")
    n, keys, values = len(p.keys), transposed(p.keys), transposed(p.values)
    cov = [[Fraction(n * dot(v, k) - sum(v) * sum(k), n * n * p.dv * p.dk) for k in keys] for v in values]
    ints, d = integers(cov)
    mean = [Fraction(sum(v), n * p.dv) for v in values]

    def linear(q: Vector) -> list[Any]:
        """The mean value plus s Cov(v, k) q."""
        (row,), e = integers([p.acted(q)])
        return [m + scale_iv(p.scale) * Fraction(dot(c, row), d * e) for m, c in zip(mean, ints, strict=True)]

    return linear
