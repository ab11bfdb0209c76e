"""Attention over a prompt that is given: softmax-mean and output-deviation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

from algebra import definite, semidefinite
from arrays import Vector, matrix, vector
from decisions import at_most, close, within
from fields import fields, items, kind_of, listed, one_of, optional, refuse, some, starting_bits, witness_of
from functions import log
from intervals import largest, summed
from laws import Law
from matrices import less_unit, scaled, times, transposed
from outcomes import NotCovered
from scalars import natural, rational
from softmax import PROMPT, Prompt, entropy, length_of, mass, means, one_for_each, scale_iv, scale_of
from vectors import dot, integers, minus


def softmax_mean(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/softmax-mean.md. Eigenvalues: Cov - b and b - Cov are positive definite, by their
    pivots.
    """
    starting_bits(w)
    given = fields(g, "given", "queries", PROMPT)
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    n = len(queries)
    asserts = some(a, "asserts", "mean covariance eigenvalues log_normaliser entropy top")
    columns = {"values": (transposed(p.values), p.dv), "keys": (transposed(p.keys), p.dk)}
    weights, tops = zip(*(p.softmax(q) for q in queries), strict=True)
    if (m := asserts["mean"]) is not None:
        m = fields(m, "asserts.mean", "value radius")
        values, d = columns["values"]
        stated, radius = matrix(m["value"], "mean.value", n, len(values)), one_for_each(m["radius"], "mean.radius", n)
        for i in range(n):
            for x, y in zip(means(weights[i], values, d), stated[i], strict=True):
                close(x, y, radius[i], f"mean[{i}]")
    if (m := asserts["log_normaliser"]) is not None:
        m = fields(m, "asserts.log_normaliser", "value radius")
        numbers = vector(m["value"], "log_normaliser.value", n)
        radius = one_for_each(m["radius"], "log_normaliser.radius", n)
        for i in range(n):
            close(log(summed(weights[i])) + tops[i], numbers[i], radius[i], f"log_normaliser[{i}]")
    if (m := asserts["entropy"]) is not None:
        m = some(m, "asserts.entropy", "at_least at_most")
        low, high = (optional(one_for_each, m[k], f"entropy.{k}", n) for k in ("at_least", "at_most"))
        for i in range(n):
            within(entropy(weights[i]), low and low[i], high and high[i], f"entropy[{i}]")
    for j, item in enumerate(items(asserts["top"], "asserts.top")):
        m = some(item, f"top[{j}]", "at_least at_most", "count")
        count = natural(m["count"], f"top[{j}].count", 1)
        refuse(count > len(p.keys), f"top[{j}].count: more tokens than there are")
        low, high = (optional(one_for_each, m[k], f"top[{j}].{k}", n) for k in ("at_least", "at_most"))
        for i in range(n):
            within(mass(weights[i], p.sorted(queries[i])[:count]), low and low[i], high and high[i], f"top[{j}][{i}]")

    def covariance(i: int, left: str, right: str) -> list[list[Any]]:
        """Cov_q of two kinds of columns: mean products less products of means."""
        (x, dx), (y, dy) = columns[left], columns[right]
        mx, my = means(weights[i], x, dx), means(weights[i], y, dy)
        both = iter(means(weights[i], [list(map(mul, u, v)) for u in x for v in y], dx * dy))
        return [[next(both) - r * s for s in my] for r in mx]

    if (m := asserts["covariance"]) is not None:
        m = fields(m, "asserts.covariance", "value radius", "of")
        of = "values" if m["of"] is None else one_of(m["of"], "asserts.covariance.of", "values", "keys", "values-keys")
        left, right = ("values", "keys") if of == "values-keys" else (of, of)
        shape, node = (len(columns[left][0]), len(columns[right][0])), m["value"]
        if isinstance(node, list) and node and (isinstance(node[0], dict) or isinstance(listed(node[0], "")[0], list)):
            node = [row for block in node for row in matrix(block, "covariance.value", *shape)]
            node = [[str(x) for x in row] for row in node]
        stated = matrix(node, "covariance.value", n * shape[0], shape[1])
        radius = one_for_each(m["radius"], "radius", n)
        for i in range(n):
            for row, other in zip(covariance(i, left, right), stated[i * shape[0] :], strict=False):
                for x, y in zip(row, other, strict=True):
                    close(x, y, radius[i], f"covariance[{i}]")
    if (m := asserts["eigenvalues"]) is not None:
        m = fields(m, "asserts.eigenvalues", "", "of at_least at_most")
        refuse(m["at_least"] is None and m["at_most"] is None, "asserts.eigenvalues: no bound")
        of = one_of("values" if m["of"] is None else m["of"], "asserts.eigenvalues.of", "values", "keys")
        low, high = (optional(one_for_each, m[k], f"eigenvalues.{k}", n) for k in ("at_least", "at_most"))
        for i in range(n):
            c = covariance(i, of, of)
            proved = semidefinite if all(isinstance(x, Fraction) for row in c for x in row) else definite
            if low and low[i] > 0:
                proved(less_unit(c, low[i]), f"at_least[{i}]")
            if high:
                proved(scaled(-1, less_unit(c, high[i])), f"at_most[{i}]")


def output_deviation(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/output-deviation.md, for listed queries: T(q) and its limit, each by itself."""
    given = fields(g, "given", "limit", "queries region regions causal " + PROMPT)
    if given["region"] is not None or given["regions"] is not None:
        raise NotCovered("deviations over regions")
    witness_of(w, "", "bits cells query weights")
    of_all = "at_most at_least relative_at_most"
    d = some(fields(a, "asserts", "deviation")["deviation"], "deviation", f"{of_all} per_query", "norm")
    norm = one_of(d["norm"], "deviation.norm", "l2", "linf")
    starting_bits(w)
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    causal = optional(natural, given["causal"], "given.causal", 1)
    refuse(causal is not None and causal + len(queries) - 1 > len(p.keys), "given.causal: more tokens than there are")
    bound = {k: optional(rational, d[k], k) for k in of_all.split()}
    refuse(any(x is not None and x < 0 for x in bound.values()), "asserts: a negative bound")
    each = {} if d["per_query"] is None else some(d["per_query"], "per_query", of_all)
    found, sizes = [], []
    limit = limit_of(given["limit"], p)
    for i, q in enumerate(queries):
        own = p if causal is None else p.some(range(min(len(p.keys), causal + i)))
        out = means(own.softmax(q)[0], transposed(own.values), own.dv)
        at = limit if causal is None else limit_of(given["limit"], own)
        found.append(length_of(minus(out, at(q)), norm))
        sizes.append(length_of(out, norm))
    for i, x in enumerate(found):
        within(x, None, bound["at_most"], f"at_most[{i}]")
    if bound["at_least"] is not None:
        at_most(bound["at_least"], largest(found), "at_least")
    for i, (x, size) in enumerate(zip(found, sizes, strict=True)):
        within(x, None, optional(mul, bound["relative_at_most"], size), f"relative_at_most[{i}]")
    for key, node in each.items():
        for i, y in enumerate(vector(node, f"per_query.{key}", len(found)) if node is not None else []):
            pair = (y, found[i]) if key == "at_least" else (found[i], y * sizes[i] if "rel" in key else y)
            at_most(*pair, f"per_query.{key}[{i}]")


def limit_of(node: Any, p: Prompt) -> Callable[[Vector], list[Any]]:
    """The limit of output-deviation as a function of a stated query."""
    kind = kind_of(node, "limit", "empirical", "affine", "law")
    if kind == "affine":
        f = fields(node, "limit", "kind matrix offset", "scale")
        A, s = matrix(f["matrix"], "limit.matrix", len(p.values[0]), p.dim), scale_of(f["scale"])
        b = vector(f["offset"], "limit.offset", len(A))
        return lambda q: [y + scale_iv(s) * x for x, y in zip(times(A, q), b, strict=True)]
    if kind == "law":
        law = Law(fields(node, "limit", "kind law")["law"], "limit.law")
        refuse(law.d != len(p.V[0]), "limit.law: another dimension than the tokens")
        return lambda q: times(p.V, law.tilted([scale_iv(p.scale) * x for x in times(p.U, q)])[1])
    fields(node, "limit", "kind")
    n, keys, values = len(p.keys), transposed(p.keys), transposed(p.values)
    cov, d = integers([[Fraction(n * dot(v, k) - sum(v) * sum(k), n * n * p.dv * p.dk) for k in keys] for v in values])
    mean = [Fraction(sum(v), n * p.dv) for v in values]

    def linear(q: Vector) -> list[Any]:
        """The mean value plus s Cov(v, k) q."""
        (row,), e = integers([p.acted(q)])
        return [m + scale_iv(p.scale) * Fraction(dot(c, row), d * e) for m, c in zip(mean, cov, strict=True)]

    return linear
