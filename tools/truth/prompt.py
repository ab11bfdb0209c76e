"""The part of `certificate_truth` about one prompt: `infinite-prompt-operator`, `output-deviation`, `softmax-mean`.

Of a region of queries it looks for the largest deviation on a grid and around the best points of it: a query
that deviates by more than is stated shows the statement to be false, and nothing shows it to be true.

Boursier and Boyer 2026, section 2: softmax attention over a prompt, and over the law of a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tools.truth.judgement import Comparison
from tools.truth.laws import Gaussian, Law, read_gaussian, read_law
from tools.truth.reading import (
    NATURAL,
    NotAStatement,
    Scale,
    Table,
    Vector,
    identity_matrix,
    inner_product,
    read_count,
    read_counts,
    read_number,
    read_scale,
    read_table,
    read_vector,
    require,
    require_mapping,
    require_record,
    root_of,
    times,
    to_real,
    unit_vector,
)


def operator_comparisons(given: Any, asserts: Any, witness: Any, folder: Path) -> list[Comparison]:
    named = {"U"} if isinstance(given, dict) and "U" in given else {"K", "Q"}
    require_record(given, "given", {"law"} | (named & {"U"}), (named - {"U"}) | {"V", "scale", "queries"})
    require_record(asserts, "asserts", set(), {"operator", "pushforward", "values"})
    require_record(witness, "witness", set(), {"queries"})
    law = read_law(given["law"], folder)
    U, V = read_weights(given, law.dimension, folder)
    scale, width, outputs = read_scale(given), len(U[0]), len(V)
    queries = read_gaussian(given["queries"], folder, "queries") if "queries" in given else None
    if queries is not None:
        require(queries.dimension == width, "queries of another dimension")
    if "queries" in witness:
        require(len(read_table(witness["queries"], folder)[0]) == width, "suspects of another dimension")

    def truth(z: Vector) -> list[mpf]:
        """T(z) = V tau(s U z)."""
        mean = law.tilted_mean([root_of(scale) * to_real(entry) for entry in times(U, z)])
        return [inner_product(row, mean) for row in V]

    comparisons: list[Comparison] = []
    if "operator" in asserts:
        stated = asserts["operator"]
        require_record(stated, "operator", {"matrix", "offset"})
        matrix, offset = read_table(stated["matrix"], folder), read_vector(stated["offset"], folder)
        require((len(matrix), len(matrix[0]), len(offset)) == (outputs, width, outputs), "operator of another shape")

        def gap(z: Vector) -> mpf:
            claimed = [to_real(o) + root_of(scale) * to_real(t) for o, t in zip(offset, times(matrix, z), strict=True)]
            return max(abs(c - t) for c, t in zip(claimed, truth(z), strict=True))

        comparisons += [_zero(f"operator at {_shown(z)}", lambda z=z: gap(z)) for z in _probes(width)]
    if "pushforward" in asserts:
        require(queries is not None, "no law of queries")
        assert queries is not None
        comparisons += _pushforward(asserts["pushforward"], queries, truth, outputs, folder)
    if "values" in asserts:
        require(isinstance(asserts["values"], list) and asserts["values"] != [], "values must be a list")
        for index, item in enumerate(asserts["values"]):
            require_record(item, "a value", {"query", "value", "radius"})
            z, y, radius = (
                read_vector(item["query"], folder),
                read_vector(item["value"], folder),
                read_number(item["radius"]),
            )
            require((len(z), len(y)) == (width, outputs), "a value of another dimension")
            require(radius >= 0, "a negative radius")

            def distance(z: Vector = z, y: Vector = y) -> mpf:
                return max(abs(t - to_real(c)) for t, c in zip(truth(z), y, strict=True))

            comparisons.append(Comparison(f"values[{index}]", distance, radius))
    return comparisons


def _pushforward(
    stated: Any, queries: Gaussian, truth: Callable[[Vector], list[mpf]], outputs: int, folder: Path
) -> list[Comparison]:
    """z ~ N(m, S) is mapped to N(mean, covariance): T must be affine, T(z) = b + A z; then b + A m and A S A'."""
    require_record(stated, "pushforward", {"mean", "covariance"})
    mean, covariance = read_vector(stated["mean"], folder), read_table(stated["covariance"], folder)
    require(len(mean) == outputs, "pushforward of another dimension")
    require((len(covariance), len(covariance[0])) == (outputs, outputs), "pushforward covariance of another shape")
    width = queries.dimension

    def affine() -> tuple[list[mpf], list[list[mpf]]]:
        b = truth([Fraction(0)] * width)
        columns = [[t - o for t, o in zip(truth(unit_vector(j, width)), b, strict=True)] for j in range(width)]
        return b, [list(row) for row in zip(*columns, strict=True)]

    def bend(z: Vector) -> mpf:
        b, A = affine()
        return max(abs(t - o - inner_product(z, row)) for t, o, row in zip(truth(z), b, A, strict=True))

    def off_mean() -> mpf:
        b, A = affine()
        true_mean = [o + inner_product(queries.mean, row) for o, row in zip(b, A, strict=True)]
        return max(abs(t - to_real(c)) for t, c in zip(true_mean, mean, strict=True))

    def off_covariance() -> mpf:
        _, A = affine()
        spread = [[inner_product(row, line) for line in A] for row in queries.covariance]  # S A'
        gaps = [
            abs(mp.fsum(a * s for a, s in zip(A[i], [line[j] for line in spread], strict=True)) - to_real(c))
            for i, row in enumerate(covariance)
            for j, c in enumerate(row)
        ]
        return max(gaps)

    bends = [_zero(f"affine at {_shown(z)}", lambda z=z: bend(z)) for z in _probes(width)]
    return [*bends, _zero("pushforward.mean", off_mean), _zero("pushforward.covariance", off_covariance)]


def _zero(name: str, value: Callable[[], mpf]) -> Comparison:
    """An identity: true if the difference is below 10^-100 at 150 digits. Mutants differ by far more."""

    @cache  # the precision is its own, so that both evaluations are one
    def rounded() -> mpf:
        with mp.workdps(150):
            difference = value()
            return mpf(0) if difference < mpf(10) ** -100 else difference

    return Comparison(name, rounded, Fraction(1, 10**100))


def deviation_comparisons(given: Any, asserts: Any, witness: Any, folder: Path) -> list[Comparison]:
    kinds = [kind for kind in ("region", "regions") if isinstance(given, dict) and kind in given]
    asked = kinds[0] if kinds else "queries"
    causal = given.get("causal") if isinstance(given, dict) else None
    prompt = read_prompt(given, {"limit", "causal"} if causal is not None else {"limit"}, folder, asked)
    keys, values, queries, scale = prompt.tokens, prompt.values, prompt.queries, prompt.scale
    U, V, outputs, attention = prompt.U, prompt.V, len(values[0]), prompt.attention
    regions = read_regions(given[asked], asked, len(U[0]), folder) if kinds else []
    require_region_witness(witness, regions, asked, folder)

    limit = _limit(given["limit"], keys, values, (U, V), outputs, scale, folder)
    require_record(asserts, "asserts", {"deviation"})
    stated = asserts["deviation"]
    require_record(
        stated, "deviation", {"norm"}, {"at_most", "at_least", "relative_at_most", "per_query", "per_region"}
    )
    require(stated["norm"] in ("l2", "linf"), "the norm")

    def norm(entries: list[mpf]) -> mpf:
        return mp.sqrt(mp.fsum(x * x for x in entries)) if stated["norm"] == "l2" else max(abs(x) for x in entries)

    def view(seen: int) -> tuple[Callable[[Vector], list[mpf]], Callable[[Vector], list[mpf]]]:
        """Attention over the first so many tokens, and its limit."""
        first = replace(prompt, tokens=keys[:seen], keys=prompt.keys[:seen], values=values[:seen])
        own = _limit(given["limit"], first.tokens, first.values, (U, V), outputs, scale, folder)
        return first.attention, own

    if regions:
        require("per_query" not in stated, "per_query of a region")
        require("relative_at_most" not in stated and causal is None, "a mask or relative bounds over a region")
        require(asked == "regions" or "per_region" not in stated, "per_region of one region")
        largest = []
        for region in regions:
            seen = len(keys) if region.sees is None else region.sees
            require(1 <= seen <= len(keys), "a region that sees more tokens than there are")
            off = view(seen)
            met = [region.search(_in_doubles(keys[:seen], values[:seen], U, scale, off[1], stated["norm"]))]
            largest.append((off, [*met, region.middle()]))

        def over(k: int) -> mpf:
            (seen, own), queries = largest[k]
            return max(norm([x - y for x, y in zip(seen(q), own(q), strict=True)]) for q in queries)

        places = range(len(regions))
        found = [
            Comparison(
                name, lambda: max(map(over, places)), read_number(stated[name]), name == "at_most", searched=True
            )
            for name in ("at_most", "at_least")
            if name in stated
        ]
        each = stated.get("per_region", {"at_most": []})
        require_record(each, "per_region", set(), {"at_most", "at_least"})
        require(len(each) > 0, "per_region states nothing")
        for name in each if "per_region" in stated else ():
            bounds = read_vector(each[name], folder)
            require(len(bounds) == len(regions), "another number of bounds than regions")
            found += [
                Comparison(f"per_region.{name}[{k}]", lambda k=k: over(k), bound, name == "at_most", searched=True)
                for k, bound in enumerate(bounds)
            ]
        return found
    require("per_region" not in stated, "per_region of listed queries")
    if causal is None:
        views = [(attention, limit)] * len(queries)
    else:
        require(re.fullmatch(NATURAL, str(causal)) is not None and int(causal) >= 1, "causal")
        require(int(causal) + len(queries) - 1 <= len(keys), "a mask over more tokens than there are")
        views = [view(int(causal) + i) for i in range(len(queries))]

    def off(i: int) -> mpf:
        seen, own = views[i]
        return norm([x - y for x, y in zip(seen(queries[i]), own(queries[i]), strict=True)])

    def beyond(i: int, factor: Fraction) -> mpf:
        """What the deviation is above this multiple of the output."""
        return off(i) - to_real(factor) * norm(views[i][0](queries[i]))

    comparisons: list[Comparison] = []
    places = range(len(queries))
    if "at_most" in stated:
        bound = read_number(stated["at_most"])
        require(bound >= 0, "a negative bound")
        comparisons += [Comparison(f"at_most[{i}]", lambda i=i: off(i), bound) for i in places]
    if "at_least" in stated:
        bound = read_number(stated["at_least"])
        require(bound >= 0, "a negative bound")
        comparisons.append(Comparison("at_least", lambda: max(map(off, places)), bound, upper=False))
    if "relative_at_most" in stated:
        factor, none = read_number(stated["relative_at_most"]), Fraction(0)
        require(factor >= 0, "a negative bound")
        comparisons += [Comparison(f"relative_at_most[{i}]", lambda i=i: beyond(i, factor), none) for i in places]
    if "per_query" in stated:
        each = stated["per_query"]
        require_record(each, "per_query", set(), {"at_most", "at_least", "relative_at_most"})
        require(len(each) > 0, "per_query states nothing")
        for name in each:
            bounds = read_vector(each[name], folder)
            require(len(bounds) == len(queries), "another number of bounds than queries")
            for i, bound in enumerate(bounds):
                value, most = (lambda i=i: off(i)), bound
                if name == "relative_at_most":
                    value, most = (lambda i=i, bound=bound: beyond(i, bound)), Fraction(0)
                comparisons.append(Comparison(f"per_query.{name}[{i}]", value, most, name != "at_least"))
    return comparisons


@dataclass(frozen=True)
class Prompt:
    """Tokens (or keys) that U z is multiplied with, keys and values, queries, V where it is stated, and the scale."""

    tokens: Table
    keys: Table
    values: Table
    queries: Table
    U: Table
    V: Table | None
    scale: Scale

    def masses(self, z: Vector) -> list[mpf]:
        """e^score of every token, sum by sum."""
        tilt = times(self.U, z)
        scores = (sum((a * b for a, b in zip(token, tilt, strict=True)), Fraction(0)) for token in self.tokens)
        return [mp.exp(root_of(self.scale) * to_real(score)) for score in scores]

    def attention(self, z: Vector) -> list[mpf]:
        """Softmax over the keys."""
        return _average(self.masses(z), self.values)


def _average(masses: Sequence[mpf], rows: Table) -> list[mpf]:
    total = mp.fsum(masses)
    columns = zip(*rows, strict=True)
    return [mp.fsum(w * to_real(x) for w, x in zip(masses, c, strict=True)) / total for c in columns]


def read_prompt(given: Any, others: set[str], folder: Path, asked: str = "queries") -> Prompt:
    """A prompt in one of its three forms, beside other fields; `asked` stands where queries are listed."""
    present = given if isinstance(given, dict) else {}
    named = {"U"} if "U" in present else {"K", "Q"}
    if "keys" in present:
        require_record(given, "given", {"keys", "values", asked} | others, {"scale"})
        keys = tokens = read_table(given["keys"], folder)
        values = read_table(given["values"], folder)
        U, V = identity_matrix(len(keys[0])), None
    else:
        require_record(given, "given", {"tokens", asked} | (named & {"U"}) | others, (named - {"U"}) | {"V", "scale"})
        tokens = read_table(given["tokens"], folder)
        U, V = read_weights(given, len(tokens[0]), folder)
        keys = [times(read_table(given["K"], folder), token) for token in tokens] if "K" in given else tokens
        values = [times(V, token) for token in tokens]
    require(len(keys) == len(values), "another number of values than keys")
    queries = read_table(given["queries"], folder) if asked == "queries" else []
    require(queries == [] or len(queries[0]) == len(U[0]), "queries of another dimension")
    return Prompt(tokens, keys, values, queries, U, V, read_scale(given))


def require_bits(witness: Any, others: frozenset[str] | set[str] = frozenset()) -> None:
    require_record(witness, "witness", set(), {"bits"} | others)
    if "bits" in witness:
        require(re.fullmatch("[1-9][0-9]*", str(witness["bits"])) is not None, "bits")
        require(witness["bits"] != "1", "too few bits")


def mean_comparisons(given: Any, asserts: Any, witness: Any, folder: Path) -> list[Comparison]:
    prompt = read_prompt(given, set(), folder)
    queries = prompt.queries
    require_bits(witness)
    require_record(asserts, "asserts", set(), {"mean", "covariance", "eigenvalues", "log_normaliser", "entropy", "top"})
    comparisons: list[Comparison] = []

    @cache
    def masses_at(i: int, precision: int) -> list[mpf]:
        return prompt.masses(queries[i])

    def masses(i: int) -> list[mpf]:
        return masses_at(i, mp.prec)

    def within(name: str, radius: Any, error: Callable[[int], mpf]) -> None:
        for i, bound in enumerate(read_each(radius, len(queries), folder, minimum=0)):
            comparisons.append(Comparison(f"{name}[{i}]", lambda i=i: error(i), bound))

    if "mean" in asserts:
        stated = asserts["mean"]
        require_record(stated, "mean", {"value", "radius"})
        means = read_table(stated["value"], folder)
        require((len(means), len(means[0])) == (len(queries), len(prompt.values[0])), "means of another shape")
        within("mean", stated["radius"], lambda i: _largest_gap(_average(masses(i), prompt.values), means[i]))
    if "covariance" in asserts:
        stated = asserts["covariance"]
        require_record(stated, "covariance", {"value", "radius"}, {"of"})
        left, right = _sides(prompt, stated.get("of", "values"), ("values", "keys", "values-keys"))
        tables = _stacked(stated["value"], len(queries), len(left[0]), len(right[0]), folder)

        def off(i: int) -> mpf:
            found = _spread(masses(i), left, right)
            return max(_largest_gap(row, line) for row, line in zip(found, tables[i], strict=True))

        within("covariance", stated["radius"], off)
    if "eigenvalues" in asserts:
        stated = asserts["eigenvalues"]
        require_record(stated, "eigenvalues", set(), {"of", "at_least", "at_most"})
        require("at_least" in stated or "at_most" in stated, "eigenvalues state nothing")
        rows, _ = _sides(prompt, stated.get("of", "values"), ("values", "keys"))

        @cache
        def eigenvalues_at(i: int, precision: int) -> list[mpf]:
            return list(mp.eigsy(mp.matrix(_spread(masses(i), rows, rows)), eigvals_only=True))

        for name, end in (("at_least", min), ("at_most", max)):
            if name in stated:
                for i, bound in enumerate(read_each(stated[name], len(queries), folder)):
                    value = lambda i=i, end=end: end(eigenvalues_at(i, mp.prec))  # noqa: E731
                    comparisons.append(Comparison(f"eigenvalues.{name}[{i}]", value, bound, name == "at_most"))
    if "log_normaliser" in asserts:
        stated = asserts["log_normaliser"]
        require_record(stated, "log_normaliser", {"value", "radius"})
        logarithms = read_vector(stated["value"], folder)
        require(len(logarithms) == len(queries), "another number of logarithms than queries")
        within(
            "log_normaliser",
            stated["radius"],
            lambda i: abs(mp.log(mp.fsum(masses(i))) - to_real(logarithms[i])),
        )

    def between(name: str, stated: Any, value: Callable[[int], mpf]) -> None:
        require("at_least" in stated or "at_most" in stated, "no bound")
        for end in ("at_least", "at_most"):
            if end in stated:
                for i, bound in enumerate(read_each(stated[end], len(queries), folder)):
                    comparisons.append(Comparison(f"{name}.{end}[{i}]", lambda i=i: value(i), bound, end == "at_most"))

    if "entropy" in asserts:
        require_record(asserts["entropy"], "entropy", set(), {"at_least", "at_most"})
        between("entropy", asserts["entropy"], lambda i: _entropy(masses(i)))
    if "top" in asserts:
        require(isinstance(asserts["top"], list) and len(asserts["top"]) > 0, "top is no list")
        for j, stated in enumerate(asserts["top"]):
            require_record(stated, "top", {"count"}, {"at_least", "at_most"})
            require(re.fullmatch("[1-9][0-9]*", str(stated["count"])) is not None, "count")
            count = int(stated["count"])
            require(count <= len(prompt.keys), "more tokens than there are")
            between(f"top[{j}]", stated, lambda i, count=count: _of_largest(masses(i), count))
    return comparisons


def _entropy(masses: Sequence[mpf]) -> mpf:
    """-sum p log p, from the definition."""
    total = mp.fsum(masses)
    return -mp.fsum(w / total * mp.log(w / total) for w in masses)


def _of_largest(masses: Sequence[mpf], count: int) -> mpf:
    """What the largest have of the whole; what they lack, so that it never exceeds 1 by rounding."""
    return 1 - mp.fsum(sorted(masses)[: len(masses) - count]) / mp.fsum(masses)


def _largest_gap(found: Sequence[mpf], stated: Vector) -> mpf:
    return max(abs(x - to_real(y)) for x, y in zip(found, stated, strict=True))


def _sides(prompt: Prompt, of: Any, known: Sequence[str]) -> tuple[Table, Table]:
    require(of in known, "whose covariance")
    sides = {"values": prompt.values, "keys": prompt.keys}
    left, _, right = of.partition("-")
    return sides[left], sides[right or left]


def _spread(masses: list[mpf], left: Table, right: Table) -> list[list[mpf]]:
    """sum p (x - X)(y - Y)', from the definition."""
    total = mp.fsum(masses)
    X, Y = _average(masses, left), _average(masses, right)
    first = [[to_real(x) - m for x, m in zip(row, X, strict=True)] for row in left]
    second = [[to_real(y) - m for y, m in zip(row, Y, strict=True)] for row in right]
    return [
        [mp.fsum(w * x[a] * y[b] for w, x, y in zip(masses, first, second, strict=True)) / total for b in range(len(Y))]
        for a in range(len(X))
    ]


def read_each(node: Any, count: int, folder: Path, minimum: int | None = None) -> Vector:
    """One number for all queries, or a vector with one for each."""
    if isinstance(node, str):
        value = read_number(node)
        require(minimum is None or value >= minimum, "a number that is too small")
        return [value] * count
    bounds = read_vector(node, folder)
    require(len(bounds) == count, "another number of bounds than queries")
    return bounds


def _stacked(node: Any, count: int, rows: int, columns: int, folder: Path) -> list[Table]:
    """A table per query: in a list, or one below the other."""
    first = node[0] if isinstance(node, list) and node else None
    if isinstance(first, dict) or (isinstance(first, list) and first and isinstance(first[0], list)):
        tables = [read_table(item, folder) for item in node]
    else:
        whole = read_table(node, folder)
        require(len(whole) == count * rows, "covariances of another shape")
        tables = [whole[i * rows : (i + 1) * rows] for i in range(count)]
    require(len(tables) == count, "another number of covariances than queries")
    require(all((len(t), len(t[0])) == (rows, columns) for t in tables), "covariances of another shape")
    return tables


# The deviation at many queries at once, one per row, in doubles.
Deviations = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def _in_doubles(
    keys: Table, values: Table, U: Table, scale: Scale, limit: Callable[[Vector], list[mpf]], norm: str
) -> Deviations:
    """T - T_inf in doubles; an affine T_inf is read off at 0 and along the axes."""
    width = len(U[0])
    with mp.workdps(40):
        offset = limit([Fraction(0)] * width)
        columns = [[x - o for x, o in zip(limit(unit_vector(j, width)), offset, strict=True)] for j in range(width)]
        for probe in _probes(width):
            affine = [o + inner_product(probe, row) for o, row in zip(offset, zip(*columns, strict=True), strict=True)]
            gap = max(abs(x - y) for x, y in zip(affine, limit(probe), strict=True))
            require(gap <= mpf(10) ** -25 * (1 + max(map(abs, affine))), "a region with a limit that is not affine")
        shift, slope = np.array([float(o) for o in offset]), np.array([[float(x) for x in c] for c in columns])
        seen = np.array(
            [[float(sum(k * u for k, u in zip(key, c, strict=True))) for c in zip(*U, strict=True)] for key in keys]
        )
        seen *= float(root_of(scale))
    outputs = np.array([[float(v) for v in value] for value in values])

    def deviations(queries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with np.errstate(all="ignore"):
            scores = queries @ seen.T
            weights = np.exp(scores - scores.max(1, keepdims=True))
            gaps = weights @ outputs / weights.sum(1, keepdims=True) - shift - queries @ slope
            sizes = np.sqrt((gaps**2).sum(1)) if norm == "l2" else np.abs(gaps).max(1)
        return np.where(np.isnan(sizes), -1.0, sizes)

    return deviations


@dataclass(frozen=True)
class Region:
    """All queries that belong to parameters in [-1, 1]^n: `many` in doubles, `exact` in the region exactly."""

    kind: str
    size: int
    many: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
    exact: Callable[[Vector], Vector]
    sees: int | None = None

    def search(self, deviations: Deviations) -> Vector:
        """The query of the largest deviation that a grid and steps from the best of it come across."""
        draw = np.random.default_rng(0)
        axis = np.linspace(-1, 1, {1: 101, 2: 25, 3: 9}.get(self.size, 3))
        points = np.array(np.meshgrid(*[axis] * min(self.size, 6))).reshape(min(self.size, 6), -1).T
        if self.size > 6:
            points = draw.uniform(-1, 1, (600, self.size))
        best = points[int(deviations(self.many(points)).argmax())]
        # From a coarse grid the way is longer: more steps in more dimensions.
        steps = (step for step in (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6) for _ in range(min(self.size, 6)))
        for step in steps:
            points = np.vstack([best, np.clip(best + step * draw.normal(size=(60, self.size)), -1, 1)])
            best = points[int(deviations(self.many(points)).argmax())]
        return self.exact([Fraction(float(x)) for x in best])

    def middle(self) -> Vector:
        return self.exact([Fraction(0)] * self.size)


def read_regions(node: Any, asked: str, width: int, folder: Path) -> list[Region]:
    """One region, or a list of them; each may say how many tokens its queries see."""
    require(asked == "region" or (isinstance(node, list) and node != []), "no list of regions")
    found = []
    for stated in [node] if asked == "region" else node:
        region = dict(require_mapping(stated, "region"))
        sees = region.pop("sees", None)
        require(sees is None or re.fullmatch(NATURAL, str(sees), re.ASCII) is not None, "sees")
        found.append(replace(_region(region, width, folder), sees=None if sees is None else int(sees)))
    return found


def _region(node: Any, width: int, folder: Path) -> Region:
    kind = require_mapping(node, "region").get("kind")
    if kind == "ball":
        require_record(node, "region", {"kind", "centre", "radius"})
        centre, radius = _point(node["centre"], folder), read_number(node["radius"])
        require(len(centre) == width and radius >= 0, "a ball of another dimension, or of a negative radius")

        def in_ball(z: Vector) -> Vector:
            return [c + radius * x for c, x in zip(centre, _into_ball(z), strict=True)]

        def in_balls(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return _doubles(centre) + float(radius) * z / np.maximum(1, np.sqrt((z**2).sum(1, keepdims=True)))

        return Region(kind, width, in_balls, in_ball)
    if kind == "box":
        require_record(node, "region", {"kind", "lower", "upper"})
        lower, upper = _point(node["lower"], folder), _point(node["upper"], folder)
        require(len(lower) == len(upper) == width, "a box of another dimension")
        require(all(a <= b for a, b in zip(lower, upper, strict=True)), "an interval that is empty")

        def in_box(z: Vector) -> Vector:
            return [a + (b - a) * (x + 1) / 2 for a, b, x in zip(lower, upper, z, strict=True)]

        def in_boxes(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return _doubles(lower) + _doubles([b - a for a, b in zip(lower, upper, strict=True)]) * (z + 1) / 2

        return Region(kind, width, in_boxes, in_box)
    require(kind == "hull", f"the region {kind!r}")
    require_record(node, "region", {"kind", "points"})
    points = read_table(node["points"], folder)
    require(len(points[0]) == width, "points of another dimension")

    def in_hulls(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        weights = z + 1
        total = weights.sum(1, keepdims=True)
        weights = np.where(total > 0, weights, np.eye(len(points))[0]) / np.where(total > 0, total, 1)
        return weights @ np.array([_doubles(point) for point in points])

    return Region("hull", len(points), in_hulls, lambda z: _combined(points, z))


def _doubles(entries: Vector) -> np.ndarray[Any, Any]:
    return np.array([float(entry) for entry in entries])


def _into_ball(z: Vector) -> Vector:
    """z if |z| <= 1, else about z/|z|, and a little less."""
    square = sum((x * x for x in z), Fraction(0))
    if square <= 1:
        return z
    return [x / Fraction(isqrt(int(square * 10**30)) + 1, 10**15) for x in z]


def _combined(points: Table, z: Vector) -> Vector:
    weights = [x + 1 for x in z]
    total = sum(weights, Fraction(0))
    if total == 0:
        return points[0]
    return [
        sum((w * p for w, p in zip(weights, column, strict=True)), Fraction(0)) / total
        for column in zip(*points, strict=True)
    ]


def _point(node: Any, folder: Path) -> Vector:
    """A vector, or one row of a two-dimensional array."""
    if isinstance(node, dict) and isinstance(node.get("shape"), list) and len(node["shape"]) == 2:
        rows = read_table(node, folder)
        require(len(rows) == 1, "a point that is several rows")
        return rows[0]
    return read_vector(node, folder)


def require_region_witness(witness: Any, regions: list[Region], asked: str, folder: Path) -> None:
    """What a witness may say; none of it is used."""
    if asked != "regions":
        more = {"weights"} if regions and regions[0].kind == "hull" else {"query"}
        require_bits(witness, {"cells"} | more if regions else set())
        hints = [witness] if regions else []
    else:
        require_bits(witness, {"regions"})
        hints = witness.get("regions", [{}] * len(regions))
        require(isinstance(hints, list) and len(hints) == len(regions), "another number of witnesses than regions")
    for region, hint in zip(regions, hints, strict=True):
        own = {"cells", "weights"} if region.kind == "hull" else {"cells", "query"}
        require_record(hint, "witness", set(), own | ({"bits"} if asked == "region" else set()))
        if "query" in hint or "weights" in hint:
            given = _point(hint["query"], folder) if "query" in hint else read_vector(hint["weights"], folder)
            require(len(given) == region.size, "a witness of another dimension")
        if "cells" in hint:
            require(isinstance(hint["cells"], str), "cells")
            require(_cells(hint["cells"].split(" "), region) == [], "cells that go on after the last one")


def _cells(words: list[str], region: Region) -> list[str]:
    """The words that are left after a tree of bisections."""
    require(words != [], "cells that end too early")
    word, *rest = words
    if word == ".":
        return rest
    ends = word.split("-")
    require(all(re.fullmatch(NATURAL, end, re.ASCII) and int(end) < region.size for end in ends), f"the cut {word}")
    require(len({int(end) for end in ends}) == len(ends) == (2 if region.kind == "hull" else 1), f"the cut {word}")
    return _cells(_cells(rest, region), region)


def _limit(
    given: Any,
    keys: Table,
    values: Table,
    weights: tuple[Table, Table | None],
    outputs: int,
    scale: Scale,
    folder: Path,
) -> Callable[[Vector], list[mpf]]:
    """T_inf as a function of the stated query."""
    U, V = weights
    kind = require_mapping(given, "limit").get("kind")
    if kind == "empirical":
        require_record(given, "limit", {"kind"})
        count = len(keys)
        mean = [sum(column) / count for column in zip(*values, strict=True)]
        centre = [sum(column) / count for column in zip(*keys, strict=True)]
        # Cov(v, k) = mean of v k' minus the product of the means.
        joint = [
            [
                sum(v[i] * k[j] for v, k in zip(values, keys, strict=True)) / count - mean[i] * centre[j]
                for j in range(len(centre))
            ]
            for i in range(outputs)
        ]
        return lambda z: [
            to_real(m) + root_of(scale) * to_real(t) for m, t in zip(mean, times(joint, times(U, z)), strict=True)
        ]
    if kind == "affine":
        require_record(given, "limit", {"kind", "matrix", "offset"}, {"scale"})
        matrix, offset, own = (
            read_table(given["matrix"], folder),
            read_vector(given["offset"], folder),
            read_scale(given),
        )
        require((len(matrix), len(matrix[0]), len(offset)) == (outputs, len(U[0]), outputs), "limit of another shape")
        return lambda z: [to_real(o) + root_of(own) * to_real(t) for o, t in zip(offset, times(matrix, z), strict=True)]
    if kind == "law":
        require_record(given, "limit", {"kind", "law"})
        law = read_law(given["law"], folder)
        d = len(keys[0])
        require(law.dimension == (d if V is not None else d + outputs), "a law of another dimension")

        def attention(z: Vector) -> list[mpf]:
            tilt = [root_of(scale) * to_real(t) for t in times(U, z)]
            if V is not None:
                mean = law.tilted_mean(tilt)
                return [inner_product(row, mean) for row in V]
            # The law of key and value side by side: the tilt acts on the key, the value is read.
            return law.tilted_mean([*tilt, *[mpf(0)] * outputs])[d:]

        return attention
    raise NotAStatement(f"the limit {kind!r}")


def read_weights(given: Mapping[str, Any], dimension: int, folder: Path) -> tuple[Table, Table]:
    """U = K'Q (d x d_z) and V (d_v x d); what is left out is the identity."""
    V = read_table(given["V"], folder) if "V" in given else identity_matrix(dimension)
    require(len(V[0]) == dimension, "V of another width")
    if "U" in given:
        U = read_table(given["U"], folder)
        require(len(U) == dimension, "U of another height")
        return U, V
    K = read_table(given["K"], folder) if "K" in given else identity_matrix(dimension)
    require(len(K[0]) == dimension, "K of another width")
    Q = read_table(given["Q"], folder) if "Q" in given else identity_matrix(len(K))
    require(len(Q) == len(K), "Q of another height")
    U = [
        [sum(k * q for k, q in zip(kc, qc, strict=True)) for qc in zip(*Q, strict=True)] for kc in zip(*K, strict=True)
    ]
    return U, V


@dataclass(frozen=True)
class RandomPrompt:
    """A law of tokens, how many there are, and what they are tilted by: s U z of a query, or a tilt that is stated.

    With `onwards` any number of tokens from `length` on is meant.
    """

    law: Law
    length: int
    base: Vector
    scale: Scale
    V: Table
    query: Vector | None
    onwards: bool = False

    @property
    def tilt(self) -> tuple[float, ...]:
        return tuple(float(x) * float(root_of(self.scale)) for x in self.base)


def read_random_prompt(given: Any, folder: Path) -> RandomPrompt:
    form = next((key for key in ("tilt", "U") if key in require_mapping(given, "given")), "query")
    forms = {"tilt": {"tilt"}, "U": {"U", "query"}, "query": {"query"}}
    others = {"tilt": {"V"}, "U": {"V", "scale"}, "query": {"K", "Q", "V", "scale"}}
    require_record(given, "given", {"law", "length"} | forms[form], others[form])
    law, (length, onwards) = read_law(given["law"], folder), read_lengths(given["length"])
    if form == "tilt":
        base = read_vector(given["tilt"], folder)
        require(len(base) == law.dimension, "a tilt of another dimension")
        _, V = read_weights({key: given[key] for key in given if key == "V"}, law.dimension, folder)
        return RandomPrompt(law, length, base, Scale(Fraction(1), False), V, None, onwards)
    U, V = read_weights(given, law.dimension, folder)
    query = read_vector(given["query"], folder)
    require(len(query) == len(U[0]), "a query of another dimension")
    return RandomPrompt(law, length, times(U, query), read_scale(given), V, query, onwards)


def read_starts(node: Any, first: int, onwards: bool) -> list[int]:
    """The first length of each range."""
    starts = read_counts(node, 1)
    require(onwards and starts[0] == first and starts == sorted(set(starts)), "ranges that rise")
    return starts


def largest_over(
    starts: list[int], mean_at: Callable[[int], tuple[float, float]], falling: tuple[float, float]
) -> tuple[float, float]:
    """Between which numbers a bound for every length is: m/n times the mean at n up to m tokens, and one after all."""
    found = [falling]
    for n, after in pairwise(starts):
        low, high = mean_at(n)
        found.append((low * ((after - 1) / n), high * ((after - 1) / n)))
    return max(low for low, _ in found), max(high for _, high in found)


def read_lengths(node: Any) -> tuple[int, bool]:
    """A number of tokens, and whether every larger one is meant too."""
    if isinstance(node, dict):
        require_record(node, "the length", {"at_least"})
        return read_count(node["at_least"], 1), True
    return read_count(node, 1), False


def _probes(width: int) -> list[Vector]:
    """Queries in general position, and the axes: an affine map that is right at these is right."""
    general = [[Fraction((7 * i + 3 * k) % 11 - 5, 2 + (i + k) % 3) for i in range(width)] for k in range(3)]
    return [[Fraction(0)] * width, *(unit_vector(j, width) for j in range(width)), *general]


def _shown(z: Vector) -> str:
    return f"({', '.join(map(str, z))})"
