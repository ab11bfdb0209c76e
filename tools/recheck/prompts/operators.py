"""The operator of an infinite prompt: infinite-prompt-operator."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from arrays import Matrix, Vector, matrix, vector
from decisions import close, same
from fields import fields, items, optional, refuse, some, witness_of
from laws import Law
from matrices import around, combined, matmul, scaled, times, transposed
from outcomes import NotProved
from prompts.gaussians import gaussian_queries
from scalars import rational
from softmax import bilinear, rational_root, scale_iv, scale_of
from vectors import dot, plus


def affine(law: Law, U: Matrix, V: Matrix) -> tuple[Matrix, Vector]:
    """A and b of T(z) = b + s A z: of a Gaussian law, or of one of the degenerate cases of the page."""
    columns, still = transposed(U), [[Fraction(0)] * len(U[0]) for _ in V]
    if law.kind == "gaussian":
        return matmul(V, matmul(law.cov, U)), times(V, law.mean)
    if law.kind in ("rademacher", "box", "truncated-gaussian"):
        # the mean of what is read has to be the middle
        slopes = [b for _, b in law.bumps] if law.kind == "truncated-gaussian" else []
        symmetric = not any(b and any(row[j] for row in V) for j, b in enumerate(slopes))
        if symmetric and all(not c or not any(U[j]) or not any(row[j] for row in V) for j, c in enumerate(law.sizes)):
            return still, times(V, law.centre)
    elif law.kind in ("sphere", "ball"):
        if not law.r2 or not any(any(row) for row in matmul(V, U)):
            return still, times(V, law.centre)
    elif law.kind == "atoms":
        seen, values = ([times(m, y) for y in law.points] for m in (columns, V))
        if all(x == seen[0] for x in seen) or all(x == values[0] for x in values):
            return still, [dot(law.weights, x) for x in transposed(values)]
    elif len(law.parts) == 1:
        return affine(law.parts[0], U, V)
    elif all(part.kind == "gaussian" for part in law.parts):
        tilts = [(times(columns, part.mean), matmul(columns, matmul(part.cov, U))) for part in law.parts]
        if all(x == tilts[0] for x in tilts):
            both = [affine(part, U, V) for part in law.parts]
            return combined(law.weights, [m for m, _ in both]), times(transposed([b for _, b in both]), law.weights)
    raise NotProved("an affine map of a law that is not known to have one")


def infinite_prompt_operator(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/infinite-prompt-operator.md"""
    tests = witness_of(w, "", "queries")["queries"]
    given = fields(g, "given", "law", "K Q U V scale queries")
    law, scale = Law(given["law"], "given.law"), scale_of(given["scale"])
    U, V = bilinear(given, law.d)
    asserts = some(a, "asserts", "operator pushforward values")
    refuse(asserts["pushforward"] is not None and given["queries"] is None, "pushforward: without given.queries")
    optional(matrix, tests, "witness.queries", None, len(U[0]))
    m, S = optional(gaussian_queries, given["queries"], len(U[0])) or ([], [])
    if asserts["operator"] is not None or asserts["pushforward"] is not None:
        A, b = affine(law, U, V)
        if asserts["operator"] is not None:
            o = fields(asserts["operator"], "operator", "matrix offset")
            same(matrix(o["matrix"], "operator.matrix", len(A), len(A[0])), A, "operator.matrix")
            same(vector(o["offset"], "operator.offset", len(A)), b, "operator.offset")
        if asserts["pushforward"] is not None:
            o = fields(asserts["pushforward"], "pushforward", "mean covariance")
            move, exact = times(A, m), rational_root(scale[0])
            if exact is None and any(move):
                raise NotProved("pushforward.mean: irrational")
            factor = scale[1] * (exact or 0)
            mean, cov = plus(b, [factor * x for x in move]), scaled(scale[0], around(A, S))
            same(vector(o["mean"], "pushforward.mean"), mean, "pushforward.mean")
            same(matrix(o["covariance"], "pushforward.covariance"), cov, "pushforward.covariance")
    for i, node in enumerate(items(asserts["values"], "values")):
        v = fields(node, f"values[{i}]", "query value radius")
        z, r = vector(v["query"], f"values[{i}].query", len(U[0])), rational(v["radius"], f"values[{i}].radius")
        try:  # exact where T is affine and the scale rational
            A, b = affine(law, U, V)
            out = plus(b, [scale_iv(scale) * x for x in times(A, z)])
        except NotProved:
            out = times(V, law.tilted([scale_iv(scale) * x for x in times(U, z)])[1])
        for x, y in zip(out, vector(v["value"], f"values[{i}].value", len(V)), strict=True):
            close(x, y, r, f"values[{i}]")
