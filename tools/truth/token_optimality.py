"""Whether a certificate of `token-optimality` is true: max-margin points by trying every support, in fractions.

p_mm exists if and only if some linearly independent set of differences, made tight, has multipliers >= 0 and
satisfies all constraints. For the few tokens of a test every set is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import (
    Table,
    Vector,
    dot,
    minus,
    read_count,
    read_counts,
    read_inputs,
    read_items,
    read_number,
    read_table,
    read_vector,
    require,
    require_record,
    solved,
    split,
    times,
)

Pair = tuple[int, int]
Indices = tuple[int, ...]


class Instance:
    """Keys and scores of every input."""

    def __init__(self, given: Any, folder: Path, *, path: bool = False) -> None:
        """`path`: there is a loss, and perhaps a head."""
        require(isinstance(given, dict), "given must be a mapping")
        loss, head, norm = ({"loss"}, {"head"}, {"norm"}) if path else (set(), set(), set())
        if "keys" in given:
            require_record(given, "given", {"keys", "scores"} | loss, {"lengths", "queries"} | norm)
            self.rows = read_inputs(given, "keys", folder)
            self.keys, self.shape = self.rows, (1, len(self.rows[0][0]))
            if "queries" in given:
                queries = read_table(given["queries"], folder)
                require(len(queries) in (1, len(self.rows)), "queries")
                self.shape = len(self.rows[0][0]), len(queries[0])
                each = queries if len(queries) > 1 else queries * len(self.rows)
                self.keys = [
                    [[x * y for x in row for y in q] for row in rows] for rows, q in zip(self.rows, each, strict=True)
                ]
            self.labels = [Fraction(1)] * len(self.keys)
            self.scores = _scores(given["scores"], [len(rows) for rows in self.keys], folder)
        else:
            require_record(given, "given", {"tokens", "v"} | loss, {"lengths", "W", "labels"} | head | norm)
            self.rows = read_inputs(given, "tokens", folder)
            weights = read_table(given["W"], folder) if "W" in given else None
            require(weights is None or len(weights[0]) == len(self.rows[0][0]), "W of another width")
            self.keys = [[row if weights is None else times(weights, row) for row in rows] for rows in self.rows]
            self.shape = (1, len(self.keys[0][0]))
            direction = self.direction = read_vector(given["v"], folder)
            require(len(direction) == len(self.rows[0][0]), "v of another length")
            self.labels = read_vector(given["labels"], folder) if "labels" in given else [Fraction(1)] * len(self.rows)
            require(len(self.labels) == len(self.rows), "labels of another number")
            require(all(abs(label) == 1 for label in self.labels), "labels")
            self.scores = [
                [label * dot(direction, row) for row in rows]
                for label, rows in zip(self.labels, self.rows, strict=True)
            ]
        self.solve = cache(self._solve)

    def pairs(self, indices: Indices) -> list[Pair]:
        return [(i, t) for i, rows in enumerate(self.keys) for t in range(len(rows)) if t != indices[i]]

    def difference(self, indices: Indices, pair: Pair) -> Vector:
        i, t = pair
        return minus(self.keys[i][indices[i]], self.keys[i][t])

    def gap(self, indices: Indices, pair: Pair) -> Fraction:
        i, t = pair
        return self.scores[i][indices[i]] - self.scores[i][t]

    def _solve(self, indices: Indices) -> Vector | None:
        """p_mm, or None where the constraints contradict each other."""
        rows = [self.difference(indices, pair) for pair in self.pairs(indices)]
        for size in range(1, min(len(rows), len(rows[0])) + 1):
            for support in combinations(rows, size):
                multipliers = solved([[dot(a, b) for b in support] for a in support], [Fraction(1)] * size)
                if multipliers is None or min(multipliers) < 0:
                    continue
                point = [dot(multipliers, column) for column in zip(*support, strict=True)]
                if all(dot(row, point) >= 1 for row in rows):
                    return point
        return None

    def neighbours(self, indices: Indices) -> list[Pair] | None:
        point = self.solve(indices)
        if point is None:
            return None
        return [pair for pair in self.pairs(indices) if dot(self.difference(indices, pair), point) == 1]

    def locally_optimal(self, indices: Indices) -> bool:
        found = self.neighbours(indices)
        return found is not None and all(self.gap(indices, pair) > 0 for pair in found)

    def everything(self) -> Iterator[Indices]:
        yield from product(*(range(len(rows)) for rows in self.keys))


def judge_optimality(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """Exactly true or false; of what the witness must show, only whether it does is left to the checker."""
    instance = Instance(given, folder)
    require_record(
        asserts, "asserts", set(), {"optimal", "locally_optimal", "not_locally_optimal", "all_locally_optimal"}
    )
    require(asserts != {}, "nothing is stated")
    facts = [*_optimal(instance, asserts), *_single(instance, asserts), *_all(instance, asserts)]
    shown = _shown(instance, asserts, witness)
    for name, holds in facts:
        if not holds:
            return Judgement(Truth.FALSE, 0.0, name)
    return Judgement(Truth.TRUE, 1.0 if shown else 0.0, "", shown)


Fact = tuple[str, bool]


def _optimal(instance: Instance, asserts: Any) -> Iterator[Fact]:
    if "optimal" not in asserts:
        return
    listed = _lists(asserts["optimal"])
    require(len(listed) == len(instance.scores), "optimal tokens of another number of inputs")
    for found, scores in zip(listed, instance.scores, strict=True):
        require(max(found) < len(scores) and len(set(found)) == len(found), "optimal tokens")
        yield "optimal", set(found) == {t for t, score in enumerate(scores) if score == max(scores)}


def _single(instance: Instance, asserts: Any) -> Iterator[Fact]:
    for listed in _lists(asserts["locally_optimal"]) if "locally_optimal" in asserts else []:
        yield "locally optimal", instance.locally_optimal(require_indices(instance, listed))
    for item in read_items(asserts, "not_locally_optimal"):
        require_record(item, "an item", {"indices", "because"})
        indices = require_indices(instance, read_counts(item["indices"]))
        found = instance.neighbours(indices)
        if item["because"] == "not-separable":
            yield "not separable", found is None
        else:
            pair = read_pair(item["because"], {"input", "token"})
            require(pair in instance.pairs(indices), "a reason that is no pair")
            yield "a bad neighbour", found is not None and pair in found and instance.gap(indices, pair) <= 0


def _all(instance: Instance, asserts: Any) -> Iterator[Fact]:
    if "all_locally_optimal" not in asserts:
        return
    stated = asserts["all_locally_optimal"]
    listed = [] if stated == "none" else [require_indices(instance, found) for found in _lists(stated)]
    require(len(set(listed)) == len(listed), "a selection twice")
    require(any(len(rows) > 1 for rows in instance.keys), "nothing to select from")
    yield "all", set(listed) == {indices for indices in instance.everything() if instance.locally_optimal(indices)}


# -- what the witness shows


def _shown(instance: Instance, asserts: Any, witness: Any) -> bool:
    """Whether multipliers, cuts and supports are what they have to be."""
    require_record(witness, "witness", set(), {"locally_optimal", "not_locally_optimal", "cuts", "supports"})
    shown = True
    accepted = [require_indices(instance, listed) for listed in _lists(asserts.get("locally_optimal", []), empty=True)]
    for indices, weights in zip(accepted, _multipliers(witness, "locally_optimal", len(accepted)), strict=False):
        shown &= combination(instance, indices, weights) == instance.solve(indices)
    refused = read_items(asserts, "not_locally_optimal")
    for item, weights in zip(refused, _multipliers(witness, "not_locally_optimal", len(refused)), strict=False):
        indices = require_indices(instance, read_counts(item["indices"]))
        wanted = instance.solve(indices)
        if item["because"] == "not-separable":
            wanted = [Fraction(0)] * len(instance.keys[0][0])
        shown &= combination(instance, indices, weights) == wanted
    cuts, supports = witness.get("cuts"), witness.get("supports")
    cut = [_cut(instance, terms) for terms in read_items(witness, "cuts")]
    listed = _lists(supports) if supports is not None else []
    if "all_locally_optimal" not in asserts:
        return shown
    require(cuts is not None or supports is not None, "nothing that settles the selections")
    left = [a for a in instance.everything() if not any(all(a[i] == t for i, t in c.items()) for _, c in cut)]
    if not all(norm == 0 for norm, _ in cut) or len(left) != len(listed):
        return False
    return shown and all(_supports(instance, a, rows) for a, rows in zip(left, listed, strict=True))


def _multipliers(witness: Any, name: str, count: int) -> list[Any]:
    found = read_items(witness, name)
    require(count == 0 or len(found) == count, f"multipliers of {name}")
    for weights in found:
        require(isinstance(weights, list) and weights != [], "multipliers")
        for term in weights:
            read_pair(term, {"input", "token", "multiplier"})
            require(read_number(term["multiplier"]) > 0, "a multiplier that is not positive")
    return found


def combination(instance: Instance, indices: Indices, weights: Any) -> Vector:
    total = [Fraction(0)] * len(instance.keys[0][0])
    pairs = [read_pair(term, {"input", "token", "multiplier"}) for term in weights]
    require(len(set(pairs)) == len(pairs), "a pair twice")
    for pair, term in zip(pairs, weights, strict=True):
        require(pair in instance.pairs(indices), "multipliers of no pair")
        value = read_number(term["multiplier"])
        total = [x + value * y for x, y in zip(total, instance.difference(indices, pair), strict=True)]
    return total


def _cut(instance: Instance, terms: Any) -> tuple[Fraction, dict[int, int]]:
    """|sum mu (k_chosen - k_other)|^2, and the chosen tokens."""
    require(isinstance(terms, list) and terms != [], "a cut")
    chosen: dict[int, int] = {}
    total = [Fraction(0)] * len(instance.keys[0][0])
    for term in terms:
        require_record(term, "a cut", {"input", "chosen", "other", "multiplier"})
        i, a, t = (read_count(term[name]) for name in ("input", "chosen", "other"))
        require(i < len(instance.keys) and max(a, t) < len(instance.keys[i]) and a != t, "a cut")
        require(chosen.setdefault(i, a) == a, "a cut")
        value = read_number(term["multiplier"])
        require(value > 0, "a cut")
        step = minus(instance.keys[i][a], instance.keys[i][t])
        total = [x + value * y for x, y in zip(total, step, strict=True)]
    return dot(total, total), chosen


def _supports(instance: Instance, indices: Indices, rows: list[int]) -> bool:
    places = [(i, t) for i, keys in enumerate(instance.keys) for t in range(len(keys))]
    if len(set(rows)) < len(rows) or max(rows) >= len(places):
        return False
    pairs = [places[row] for row in rows]
    if any(t == indices[i] for i, t in pairs):
        return False
    z = [instance.difference(indices, pair) for pair in pairs]
    multipliers = solved([[dot(a, b) for b in z] for a in z], [Fraction(1)] * len(z))
    if multipliers is None or min(multipliers) < 0:
        return False
    return [dot(multipliers, column) for column in zip(*z, strict=True)] == instance.solve(indices)


# -- reading


def _scores(stated: Any, lengths: list[int], folder: Path) -> Table:
    nested = isinstance(stated, list) and stated != [] and not isinstance(stated[0], str)
    parts = [read_vector(part, folder) for part in stated] if nested else [read_vector(stated, folder)]
    if len(parts) == 1 and len(parts[0]) == sum(lengths):
        return split(parts[0], lengths)
    require([len(part) for part in parts] == lengths, "scores of another number")
    return parts


def require_indices(instance: Instance, found: list[int]) -> Indices:
    require(len(found) == len(instance.keys), "indices of another number of inputs")
    require(all(t < len(rows) for t, rows in zip(found, instance.keys, strict=True)), "an index out of range")
    require(any(len(rows) > 1 for rows in instance.keys), "nothing to select from")
    return tuple(found)


def _lists(node: Any, *, empty: bool = False) -> list[list[int]]:
    require(isinstance(node, list) and (empty or node != []), "a list of lists")
    return [read_counts(item) for item in node]


def read_pair(node: Any, keys: set[str]) -> Pair:
    require_record(node, "a pair", keys)
    return read_count(node["input"]), read_count(node["token"])
