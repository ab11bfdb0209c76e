"""Whether a certificate of `observed-prompt` is true: the interval of the rule, from its definition, by mpmath.

The products are taken as logarithms, and each end is compared with where the rule rejects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, exactly, judge_all, worst
from tools.truth.prompt import read_prompt
from tools.truth.reading import (
    Vector,
    dot,
    identity_matrix,
    minus,
    read_count,
    read_number,
    read_positive,
    read_table,
    read_vector,
    require,
    require_record,
    root_of,
    times,
    to_real,
    transposed,
)

# rational + sqrt(squared)
Extreme = tuple[Fraction, Fraction]


def judge_observed(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where an end lies inside of the rule's interval, or a token outside of the support."""
    others = {"support", "probability"} | (
        {"directions"} if isinstance(given, dict) and "directions" in given else set()
    )
    prompt = read_prompt(given, others, folder)
    require_record(witness, "witness", set())
    size = len(prompt.values[0])
    directions = read_table(given["directions"], folder) if "directions" in given else identity_matrix(size)
    require(len(directions[0]) == size, "directions of another dimension")
    share = read_positive(given["probability"])
    require(share < 1, "a probability of 1 or more")
    share /= 2 * len(prompt.queries) * len(directions)
    pairs = prompt.V is None
    tilts = [times(prompt.U, query) for query in prompt.queries]
    if not prompt.scale.is_root and prompt.scale.value < 0:
        tilts = [[-x for x in tilt] for tilt in tilts]

    def factor() -> mpf:
        return abs(root_of(prompt.scale))

    rows = directions if prompt.V is None else [times(transposed(prompt.V), u) for u in directions]
    points = prompt.values if pairs else prompt.tokens
    outputs = [[dot(row, x) for x in points] for row in rows]
    scores = [[dot(tilt, x) for x in prompt.tokens] for tilt in tilts]
    support = given["support"]
    found: list[Judgement] = []
    tops: list[Callable[[], mpf]]
    if isinstance(support, dict) and "scores" in support:
        require_record(support, "support", {"scores", "low", "high"})
        stated = read_vector(support["scores"], folder)
        require(len(stated) == len(tilts), "another number of scores than queries")
        low, high = _ends(support, len(directions), folder)
        tops = [lambda top=top: to_real(top) for top in stated]
        if prompt.scale.is_root:
            kept = [
                Comparison("support.scores", lambda row=row: factor() * to_real(max(row)), top)
                for row, top in zip(scores, stated, strict=True)
            ]
            found.append(judge_all(kept))
        else:
            size_of = abs(prompt.scale.value)
            below = all(size_of * max(row) <= top for row, top in zip(scores, stated, strict=True))
            found.append(exactly("support.scores", below))
        inside = all(x <= min(row) and max(row) <= y for x, row, y in zip(low, outputs, high, strict=True))
        found.append(exactly("support.outputs", inside))
        floors: list[Extreme] = [(-x, Fraction(0)) for x in low]
        ceilings: list[Extreme] = [(x, Fraction(0)) for x in high]
    else:
        names = ("keys", "values") if pairs else ("tokens",)
        require_record(support, "support", set(names))
        regions = [
            _region(support[name], len(x[0]), folder) for name, x in zip(names, (prompt.tokens, points), strict=False)
        ]
        for (holds, _), name, x in zip(regions, names, (prompt.tokens, points), strict=False):
            found.append(exactly(f"support.{name}", all(map(holds, x))))
        first, last = regions[0][1], regions[-1][1]
        tops = [lambda top=top: factor() * _value(top) for top in map(first, tilts)]
        floors, ceilings = [last([-x for x in row]) for row in rows], [last(row) for row in rows]
    require_record(asserts, "asserts", {"at_least", "at_most"}, {"distance", "another"})
    at_least, at_most = (read_table(asserts[name], folder) for name in ("at_least", "at_most"))
    for table in (at_least, at_most):
        require((len(table), len(table[0])) == (len(tilts), len(directions)), "ends of another shape")
    asked = [("", at_least, at_most, share, 0)]
    if "another" in asserts:
        more = asserts["another"]
        require_record(more, "another", {"length", "at_least", "at_most"})
        tables = [read_table(more[name], folder) for name in ("at_least", "at_most")]
        for table in tables:
            require((len(table), len(table[0])) == (len(tilts), len(directions)), "ends of another shape")
        asked.append(("another.", tables[0], tables[1], share / 2, read_count(more["length"], 1)))
    comparisons = []
    for k, row in enumerate(scores):

        def weights(k: int = k, row: Vector = row) -> list[mpf]:
            return [mp.exp(factor() * to_real(score) - tops[k]()) for score in row]

        for j, each in enumerate(outputs):
            for name, sign, table, floor, part, length in (
                (f"{prefix}{side}", sign, (low, high)[sign < 0], (floors, ceilings)[sign < 0], part, length)
                for prefix, low, high, part, length in asked
                for side, sign in (("at_least", 1), ("at_most", -1))
            ):
                end, signed = sign * table[k][j], [sign * y for y in each]
                # The least output of that sign is minus the largest of the other.
                comparisons.append(
                    Comparison(
                        f"{name}[{k}][{j}]",
                        lambda w=weights, y=signed, end=end, least=floor[j], part=part, n=length: _p_value(
                            w(), y, end, least, part, n
                        ),
                        part,
                    )
                )
    if "distance" in asserts:
        stated_distance = asserts["distance"]
        require_record(stated_distance, "distance", {"norm", "at_most"})
        require(stated_distance["norm"] in ("l2", "linf") and "directions" not in given, "the distance")
        most = read_number(stated_distance["at_most"])
        require(most >= 0, "a negative distance")
        for k, query in enumerate(prompt.queries):

            def far(k: int = k, query: Vector = query) -> mpf:
                seen = prompt.attention(query)
                gaps = [
                    max(to_real(high) - t, t - to_real(low))
                    for t, low, high in zip(seen, at_least[k], at_most[k], strict=True)
                ]
                return mp.sqrt(mp.fsum(x * x for x in gaps)) if stated_distance["norm"] == "l2" else max(map(abs, gaps))

            comparisons.append(Comparison(f"distance[{k}]", far, most))
    return worst([*found, judge_all(comparisons)])


def _ends(node: Any, size: int, folder: Path) -> tuple[Vector, Vector]:
    low, high = read_vector(node["low"], folder), read_vector(node["high"], folder)
    require(len(low) == len(high) == size, "ends of another dimension")
    require(all(x <= y for x, y in zip(low, high, strict=True)), "low above high")
    return low, high


def _region(
    node: Any, size: int, folder: Path
) -> tuple[Callable[[Sequence[Fraction]], bool], Callable[[Vector], Extreme]]:
    """Whether a point lies there, and the largest value of a linear function."""
    kind = node.get("kind") if isinstance(node, dict) else None
    if kind == "box":
        require_record(node, "a box", {"kind", "low", "high"})
        low, high = _ends(node, size, folder)

        def in_box(x: Sequence[Fraction]) -> bool:
            return all(a <= entry <= b for a, entry, b in zip(low, x, high, strict=True))

        def corner(row: Vector) -> Extreme:
            return sum(
                (r * (b if r > 0 else a) for r, a, b in zip(row, low, high, strict=True)), Fraction(0)
            ), Fraction(0)

        return in_box, corner
    require(kind == "ball", "a region of another kind")
    require_record(node, "a ball", {"kind", "centre", "radius"})
    centre, radius = read_vector(node["centre"], folder), read_positive(node["radius"])
    require(len(centre) == size, "a centre of another dimension")

    def in_ball(x: Sequence[Fraction]) -> bool:
        gap = minus(x, centre)
        return dot(gap, gap) <= radius**2

    return in_ball, lambda row: (dot(row, centre), radius**2 * dot(row, row))


def _value(extreme: Extreme) -> mpf:
    return to_real(extreme[0]) + mp.sqrt(to_real(extreme[1]))


def _p_value(weights: list[mpf], outputs: Vector, end: Fraction, least: Extreme, share: Fraction, length: int) -> mpf:
    """1, or 1 over the average wealth of the bets 1, 1/2, 1/4, ... that the average output is above `end`.

    With a length, that E e^(-nu g) is at most the power 1/length of the share, for the best nu of all that are paid.
    """
    above = to_real(end) + _value(least)
    if above <= mpf(10) ** (10 - mp.dps):
        return mpf(0)
    gains = [w * to_real(y - end) / above for w, y in zip(weights, outputs, strict=True)]
    if length == 0:
        return 1 / max(_wealth(gains), mpf(1))
    kappa, found = mp.power(to_real(share), mpf(1) / length), []
    for k in range(_bets(16 * length)):
        rate = mpf(4) / 2**k
        found.append(_wealth([(kappa - mp.exp(-rate * gain)) / (mp.exp(rate) - kappa) for gain in gains]))
    return len(found) / max(*found, mpf(len(found)))


def _bets(length: int) -> int:
    count, size = 1, 8
    while size < length:
        count, size = count + 1, 4 * size
    return count


def _wealth(gains: list[mpf]) -> mpf:
    count = _bets(len(gains))
    return mp.fsum(mp.fprod([1 + gain / 2**k for gain in gains]) for k in range(count)) / count
