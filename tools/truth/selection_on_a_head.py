"""Whether a certificate of `selection-on-a-head` is true: gaps in fractions, weights by mpmath, distances exactly.

The distance of 0 from the hull of a few points is found by trying every set of affinely independent points: the
nearest point is the nearest of the affine hull of one of them. Meant for a handful of tokens and queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, Truth, exactly, judge_all
from tools.truth.prompt import Prompt, read_each, read_prompt, require_bits
from tools.truth.reading import (
    Table,
    Vector,
    dot,
    identity_matrix,
    minus,
    read_count,
    read_number,
    read_table,
    read_vector,
    require,
    require_record,
    root_of,
    solved,
    times,
    to_real,
)

_ORDER = (Truth.FALSE, Truth.EQUAL, Truth.OPEN, Truth.TRUE)
Points = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class _Head:
    prompt: Prompt
    own: Table
    seen: list[int]
    scores: list[Fraction] | None

    @property
    def sign(self) -> int:
        return -1 if not self.prompt.scale.is_root and self.prompt.scale.value < 0 else 1

    def scores_at(self, i: int) -> list[Fraction]:
        """<x, U z> over the tokens that query i sees."""
        tilt = times(self.prompt.U, self.prompt.queries[i])
        return [dot(token, tilt) for token in self.prompt.tokens[: self.seen[i]]]


def judge_head(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where something that is stated is; not provable where the witness does not show a largest margin."""
    head = _head(given, folder)
    require_record(asserts, "asserts", {"selected"}, {"margin", "weight", "rank", "best", "separability", "exposure"})
    require_bits(witness, {"separability", "exposure"})
    selected = _tokens(asserts["selected"], head.seen)
    require(head.scores is not None or not {"rank", "best"} & set(asserts), "no score")
    best = _tokens(asserts["best"], head.seen) if "best" in asserts else None
    found = [*_at_queries(head, asserts, selected, best, folder)]
    shown: list[Judgement] = []
    for node, beside, key in (("separability", "separability", "of"), ("exposure", "exposure", "token")):
        records, witnesses = _records(asserts.get(node), key), _records(witness.get(beside), key)
        require(node not in asserts or bool(records), "nothing that is stated")
        require(beside not in witness or bool(witnesses), "a list of nothing")
        require(set(witnesses) <= set(records), "a witness of what is not stated")
        for name, record in records.items():
            require_record(record, node, {key}, {"at_least", "at_most"})
            if key == "of":
                require(name in ("selected", "best"), "of")
                chosen = selected if name == "selected" else best
                require(chosen is not None, "no best tokens")
                assert chosen is not None
                keys, queries, seen, own = head.prompt.keys, head.prompt.queries, head.seen, head.own
                own = [[head.sign * x for x in row] for row in own]
            else:
                keys, chosen = head.prompt.keys, [read_count(name)]
                require(chosen[0] < len(keys), "a token that is not there")
                queries, seen, own = [[Fraction(1)]], [len(keys)], None
            true, proved = _margin(record, witnesses.get(name), (keys, queries, chosen, seen), own, key, folder)
            found += true
            shown += proved
    worst = min([*found, *shown], key=lambda judgement: (_ORDER.index(judgement.truth), judgement.slack))
    provable = all(judgement.truth is not Truth.FALSE for judgement in shown)
    if provable or any(judgement.truth is Truth.FALSE for judgement in found):
        lowest = worst if provable else min(found, key=lambda j: (_ORDER.index(j.truth), j.slack))
        return Judgement(lowest.truth, lowest.slack, lowest.where, provable)
    return Judgement(Truth.OPEN, 0.0, worst.where, False)


# -- what is given


def _head(given: Any, folder: Path) -> _Head:
    present = dict(given) if isinstance(given, dict) else {}
    require(isinstance(given, dict), "given must be a mapping")
    causal, score = present.pop("causal", None), present.pop("score", None)
    prompt = read_prompt(present, set(), folder)
    length, count = len(prompt.keys), len(prompt.queries)
    require(length >= 2, "nothing to select from")
    own = identity_matrix(len(prompt.keys[0]))
    for name in ("Q", "U"):
        own = read_table(present[name], folder) if name in present else own
    seen = [length] * count
    if causal is not None:
        first = read_count(causal)
        require(first >= 2 and first + count - 1 <= length, "causal")
        seen = [first + i for i in range(count)]
    scores = None
    if score is not None:
        require(isinstance(score, dict) and score.get("kind") in ("direction", "value-norm"), "a score")
        if score["kind"] == "direction":
            require_record(score, "score", {"kind", "v"})
            v = read_vector(score["v"], folder)
            require(len(v) == len(prompt.values[0]), "a direction of another dimension")
            scores = times(prompt.values, v)
        else:
            require_record(score, "score", {"kind"})
            scores = [dot(value, value) for value in prompt.values]
    return _Head(prompt, own, seen, scores)


def _tokens(node: Any, seen: Sequence[int]) -> list[int]:
    found = _counts(node, len(seen))
    require(all(token < most for token, most in zip(found, seen, strict=True)), "a token that is not there")
    return found


def _counts(node: Any, count: int) -> list[int]:
    require(isinstance(node, list) and len(node) == count, "a number per query")
    return [read_count(item) for item in node]


def _records(node: Any, key: str) -> dict[str, dict[str, Any]]:
    """Records by their key, each at most once."""
    if node is None:
        return {}
    require(isinstance(node, list) and node != [], "a list of records")
    found: dict[str, dict[str, Any]] = {}
    for record in node:
        require(isinstance(record, dict) and isinstance(record.get(key), str), "a record")
        require(record[key] not in found, "a record twice")
        found[record[key]] = record
    return found


# -- at the queries


def _at_queries(
    head: _Head, asserts: Any, selected: list[int], best: list[int] | None, folder: Path
) -> Iterator[Judgement]:
    count = len(head.prompt.queries)
    ranges = {name: asserts[name] for name in ("margin", "weight") if name in asserts}
    ends = {}
    for name, record in ranges.items():
        require_record(record, name, set(), {"at_least", "at_most"})
        require(record != {}, "nothing that is stated")
        ends[name] = {end: read_each(node, count, folder) for end, node in record.items()}
    ranks = _counts(asserts["rank"], count) if "rank" in asserts else None
    for i in range(count):
        scores, token = head.scores_at(i), selected[i]
        gap = min(head.sign * (scores[token] - score) for t, score in enumerate(scores) if t != token)
        yield exactly(f"selected[{i}]", gap > 0)
        values: dict[str, Callable[[], mpf]] = {
            "margin": lambda gap=gap: abs(root_of(head.prompt.scale)) * to_real(gap),
            "weight": lambda scores=scores, token=token: _weight(head, scores, token),
        }
        for name, bounds in ends.items():
            for end, numbers in bounds.items():
                yield judge_all([Comparison(f"{name}.{end}[{i}]", values[name], numbers[i], end == "at_most")])
        if head.scores is None:
            continue
        worths = head.scores[: head.seen[i]]
        if ranks is not None:
            yield exactly(f"rank[{i}]", sum(worth > worths[token] for worth in worths) == ranks[i])
        if best is not None:
            others = [worth for t, worth in enumerate(worths) if t != best[i]]
            yield exactly(f"best[{i}]", worths[best[i]] > max(others))


def _weight(head: _Head, scores: Vector, token: int) -> mpf:
    masses = [mp.exp(root_of(head.prompt.scale) * to_real(score)) for score in scores]
    return masses[token] / mp.fsum(masses)


# -- largest margins


def _margin(
    record: dict[str, Any],
    witness: dict[str, Any] | None,
    instance: tuple[Table, Table, list[int], list[int]],
    own: Table | None,
    key: str,
    folder: Path,
) -> tuple[list[Judgement], list[Judgement]]:
    """Whether the bounds hold, and whether the witness shows them."""
    keys, queries, chosen, seen = instance
    lower = read_number(record["at_least"]) if "at_least" in record else None
    upper = read_number(record["at_most"]) if "at_most" in record else None
    require(lower is not None or upper is not None, "nothing that is stated")
    require(lower is None or lower > 0, "a lower bound that is not positive")
    require(upper is None or upper >= 0, "an upper bound that is negative")
    points = {
        (i, t): [a * b for a in minus(keys[chosen[i]], keys[t]) for b in z]
        for i, z in enumerate(queries)
        for t in range(seen[i])
        if t != chosen[i]
    }
    matrix, weights = _read_witness(witness, key, (len(keys[0]), len(queries[0])), set(points), folder)
    matrix = matrix if matrix is not None or own is None else [x for row in own for x in row]
    square = _distance_squared(tuple(tuple(point) for point in points.values()))
    found, shown = [], []
    if lower is not None:
        found.append(_root_at_least(f"{record[key]}.at_least", square, lower))
        shown.append(Judgement(Truth.FALSE))
        if matrix is not None and any(matrix):
            low = min(dot(point, matrix) for point in points.values())
            norm = dot(matrix, matrix)
            shown[-1] = Judgement(Truth.FALSE) if low <= 0 else _root_at_least("shown", low * low / norm, lower)
    if upper is not None:
        found.append(_root_at_most(f"{record[key]}.at_most", square, upper))
        shown.append(Judgement(Truth.FALSE))
        if weights:
            total = sum(weights.values())
            columns = zip(*(points[pair] for pair in weights), strict=True)
            mean = [dot(column, list(weights.values())) / total for column in columns]
            shown[-1] = _root_at_most("shown", dot(mean, mean), upper)
    return found, shown


def _read_witness(
    witness: dict[str, Any] | None, key: str, shape: tuple[int, int], pairs: set[tuple[int, int]], folder: Path
) -> tuple[Vector | None, dict[tuple[int, int], Fraction]]:
    if witness is None:
        return None, {}
    name = "W" if key == "of" else "direction"
    require_record(witness, "witness", {key}, {name, "multipliers"})
    matrix = None
    if name in witness:
        table = read_table(witness[name], folder) if key == "of" else [[x] for x in read_vector(witness[name], folder)]
        require((len(table), len(table[0])) == shape, "a matrix of another shape")
        matrix = [x for row in table for x in row]
    weights: dict[tuple[int, int], Fraction] = {}
    if "multipliers" in witness:
        require(isinstance(witness["multipliers"], list) and witness["multipliers"] != [], "multipliers")
        for record in witness["multipliers"]:
            require_record(record, "a multiplier", {"token", "multiplier"} | ({"query"} if key == "of" else set()))
            pair = (read_count(record.get("query", "0")), read_count(record["token"]))
            require(pair in pairs and pair not in weights, "a pair that is none, or twice")
            weights[pair] = read_number(record["multiplier"])
            require(weights[pair] > 0, "a multiplier that is not positive")
    return matrix, weights


def _root_at_least(where: str, square: Fraction, bound: Fraction) -> Judgement:
    """sqrt(square) >= bound > 0, by squares."""
    gap = square - bound * bound
    return Judgement(Truth.TRUE if gap >= 0 else Truth.FALSE, float(abs(gap) / (bound * bound)), where)


def _root_at_most(where: str, square: Fraction, bound: Fraction) -> Judgement:
    """sqrt(square) <= bound, by squares; that 0 <= 0 is no close call."""
    gap, size = bound * bound - square, max(square, bound * bound)
    return Judgement(Truth.TRUE if gap >= 0 else Truth.FALSE, float(abs(gap) / size) if size else 1.0, where)


@cache
def _distance_squared(points: Points) -> Fraction:
    """The squared distance of 0 from the convex hull, exactly: over all sets of affinely independent points."""
    distinct = tuple(dict.fromkeys(points))
    best = min(dot(point, point) for point in distinct)
    for size in range(2, min(len(distinct), len(points[0]) + 1) + 1):
        for chosen in combinations(distinct, size):
            nearest = _nearest_of_affine_hull(chosen)
            if nearest is not None:
                best = min(best, dot(nearest, nearest))
    return best


def _nearest_of_affine_hull(points: Sequence[Sequence[Fraction]]) -> Vector | None:
    """The point of least norm of the affine hull, where it lies in the convex hull and the points are independent."""
    first = points[0]
    edges = [minus(point, first) for point in points[1:]]
    steps = solved([[dot(a, b) for b in edges] for a in edges], [-dot(a, first) for a in edges])
    if steps is None or min(steps) < 0 or sum(steps) > 1:
        return None
    return [x + sum(s * edge[k] for s, edge in zip(steps, edges, strict=True)) for k, x in enumerate(first)]
