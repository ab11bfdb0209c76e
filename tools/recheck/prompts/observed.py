"""Where attention over infinite prompts of an unknown law lies, from one prompt that was observed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from arrays import Matrix, Vector, matrix, vector
from decisions import at_most, average_wealth, halves
from fields import fields, kind_of, one_of, optional, refuse, witness_of
from functions import exp, log
from intervals import I, iv, largest, root, summed
from matrices import identity, times, transposed
from outcomes import Rejected, Undecided
from scalars import natural, positive, probability, rational
from softmax import PROMPT, Prompt, length_of, rational_root, scale_iv
from vectors import dot, minus, norm2, products


class Region:
    """A box or a ball that holds what is known to be possible."""

    def __init__(self, node: Any, where: str, d: int) -> None:
        self.low, self.high, self.centre, self.radius = [], [], [], Fraction(0)
        if kind_of(node, where, "box", "ball") == "box":
            self.low, self.high = ends(fields(node, where, "kind low high"), where, d)
        else:
            f = fields(node, where, "kind centre radius")
            self.centre, self.radius = vector(f["centre"], where, d), positive(f["radius"], where)

    def hold(self, points: Matrix, where: str) -> None:
        """Prove that all points lie in it."""
        for x in points:
            if self.centre:
                at_most(norm2(minus(x, self.centre)), self.radius**2, where)
            for low, entry, high in zip(self.low, x, self.high, strict=False):
                at_most(low, entry, where)
                at_most(entry, high, where)

    def most(self, row: Vector) -> Any:
        """The largest <row, x>: at a corner, or at the centre plus the radius times |row|."""
        if not self.centre:
            return sum(max(r * low, r * high) for r, low, high in zip(row, self.low, self.high, strict=True))
        exact = rational_root(norm2(row))
        return dot(row, self.centre) + self.radius * (root(norm2(row)) if exact is None else exact)


def ends(f: dict[str, Any], where: str, size: int) -> tuple[Vector, Vector]:
    """Vectors low and high of which no entry is below the other's."""
    low, high = vector(f["low"], f"{where}.low", size), vector(f["high"], f"{where}.high", size)
    refuse(any(x > y for x, y in zip(low, high, strict=True)), f"{where}: low above high")
    return low, high


def excluded(
    weights: list[I], outputs: Vector, end: Fraction, floor: Any, share: Fraction, what: str, length: int = 0
) -> None:
    """Prove that tokens of an average output of at most `end` would bet so well with probability `share` at most.

    With a length, that the output of another prompt of so many tokens is below `end` too rarely.
    """
    above = iv(end - floor)
    if above.b <= 0:
        return  # no output is below the floor
    if above.a <= 0:
        raise Undecided(f"{what}: the end is at the least output")
    gains = [w * (iv(y - end) / above) for w, y in zip(weights, outputs, strict=True)]
    if not length:
        at_most(1 / share, average_wealth(gains), what)
        return
    kappa, rates, found = exp(log(iv(share)) / length), [4 * x for x in halves(16 * length)], []
    for rate in rates:
        room = exp(iv(rate)) - kappa
        found.append(average_wealth([(kappa - exp(gain * -rate)) / room for gain in gains]))
    at_most(len(rates) / share, largest(found), what)


def observed_prompt(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/observed-prompt.md"""
    witness_of(w)
    given = fields(g, "given", "queries support probability", "directions " + PROMPT)
    p, s, pairs = Prompt(given), given["support"], given["tokens"] is None
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    d = len(p.values[0])
    stated = optional(matrix, given["directions"], "given.directions", None, d)
    directions = identity(d) if stated is None else stated
    first = matrix(given["keys" if pairs else "tokens"], "given")
    second = matrix(given["values"], "given.values") if pairs else first
    tilts = [[p.scale[1] * x for x in (q if pairs else times(p.U, q))] for q in queries]
    rows = directions if pairs else [times(transposed(p.V), u) for u in directions]
    scores, outputs, size = products(tilts, first), products(rows, second), scale_iv((p.scale[0], 1))
    share = probability(given["probability"], "given.probability") / (2 * len(queries) * len(directions))
    if isinstance(s, dict) and "scores" in s:
        f = fields(s, "support", "scores low high")
        tops: list[Any] = list(vector(f["scores"], "support.scores", len(queries)))
        floors, ceilings = ends(f, "support", len(directions))
        for top, row in zip(tops, scores, strict=True):
            at_most(size * max(row), top, "support.scores")
        for floor, row, ceiling in zip(floors, outputs, ceilings, strict=True):
            at_most(floor, min(row), "support.outputs")
            at_most(max(row), ceiling, "support.outputs")
    else:
        names = ("keys", "values") if pairs else ("tokens", "tokens")
        f = fields(s, "support", " ".join(dict.fromkeys(names)))
        one, other = (Region(f[k], k, len(x[0])) for k, x in zip(names, (first, second), strict=True))
        one.hold(first, f"support.{names[0]}")
        other.hold(second, f"support.{names[1]}")
        tops = [size * one.most(tilt) for tilt in tilts]
        floors, ceilings = [-other.most([-x for x in row]) for row in rows], [other.most(row) for row in rows]
    asserts = fields(a, "asserts", "at_least at_most", "distance another")
    low, high = (matrix(asserts[k], k, len(queries), len(directions)) for k in ("at_least", "at_most"))
    asked = [("", low, high, share, 0)]
    if asserts["another"] is not None:
        f = fields(asserts["another"], "another", "length at_least at_most")
        more = [matrix(f[k], f"another.{k}", len(queries), len(directions)) for k in ("at_least", "at_most")]
        asked.append(("another.", more[0], more[1], share / 2, natural(f["length"], "another.length", 1)))
    norm, most = "", Fraction(0)
    if asserts["distance"] is not None:
        f = fields(asserts["distance"], "distance", "norm at_most")
        norm, most = one_of(f["norm"], "norm", "l2", "linf"), rational(f["at_most"], "distance.at_most")
        if most < 0 or stated is not None:
            raise Rejected("distance: not negative, and of the coordinates")
    for k, row in enumerate(scores):
        weights, gaps = [exp(iv(size * score - tops[k])) for score in row], []
        for j, y in enumerate(outputs):
            for name, least, most_, part, length in asked:
                excluded(weights, y, least[k][j], floors[j], part, f"{name}at_least[{k}][{j}]", length)
                negated = [-x for x in y]
                excluded(weights, negated, -most_[k][j], -ceilings[j], part, f"{name}at_most[{k}][{j}]", length)
            mean = summed(map(I.__mul__, weights, map(iv, y))) / summed(weights)
            gaps.append(largest([high[k][j] - mean, mean - low[k][j]]))
        if norm:
            at_most(length_of(gaps, norm), most, f"distance[{k}]")
