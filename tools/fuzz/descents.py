"""Certificates of `selection-direction` and `joint-max-margin` near true ones, most of them spoiled, against descents.

    python tools/fuzz/descents.py --count 4000 --seed 0

Of a base, which verifies, one to three things are changed: a stated bound goes beyond what it was, to the other side or
to another step, list or time, a rate to other numbers or another form, a number of the tokens, the start or the rule to
another one, what the witness says to something else, or any field to nothing. What verifies is judged by descents in
50 digits that share no code with the checker: gradient and normalised steps, and the flow by extrapolation; p_mm by
trying every support. Of what is refuted some stated number has to be false there, if all of them can be looked at.
`joint-max-margin` is judged by `tools.truth.joint_max_margin`. What is false and verifies, or refuted and not false, is
printed with the seed and number by which it is made again; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from mpmath import mp, mpf

from certattn.kernel.decide.checker import CheckOptions, check
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits
from tools.truth.joint_max_margin import judge_joint
from tools.truth.judgement import Truth
from tools.truth.reading import NotAStatement, read_counts, read_number, read_point
from tools.truth.token_optimality import Instance

Content = dict[str, Any]
Point = list[mpf]
LIMITS = Limits(max_bits=256)
HERE = Path()
DIGITS = 50
# Descents are followed for so many steps, and the flow for so long.
LAST, LAST_TIME = 400, 16
# By what the numbers of a simulation may be off: of the flow by what its extrapolation leaves.
NEAR, NEAR_FLOW = mpf(10) ** -40, mpf(10) ** -12
# Of the flow: columns of extrapolation, and what the last two may differ by.
COLUMNS, SETTLED, LONGEST, SHORTEST = 11, mpf(10) ** -18, Fraction(1, 2), Fraction(1, 512)

FIVE = "keys: [[[0, 0, 0], [-1, -1, 0], [-1, 1, 0], [-2, 0, -1], [-1.6, -0.5, 1]]], scores: [[0, -1, -2, -1, 0.5]]"
PAIR = "multipliers: [{input: 0, token: 1, multiplier: 0.5}, {input: 0, token: 2, multiplier: 0.5}]"
BASES = {
    "tube": f"""
given: {{{FIVE}, loss: logistic, descent: {{rule: gradient, step: 1}}, start: [9, 0, 0.01]}}
asserts:
  indices: [0]
  limit: [1, 0, 0]
  angles: [{{step: 300, at_most: 0.002858}}, {{from: 50, at_most: 0.002972}}, {{step: 300, at_least: 9.454e-7}}]
  weights: [{{step: 300, at_least: 0.9996484}}, {{from: 0, at_least: 0.999629}}, {{step: 300, at_most: 0.9998231}}]
  losses: [{{step: 200, at_most: 0.0001786}}, {{step: 200, at_least: 0.000168}}]
  norms: [{{step: 300, at_least: 9.05}}, {{step: 300, at_most: 9.081}}]
  rate: {{form: root, from: 0, lateral: 0.6982, square: 0, growth: 0, offset: 8103, slope: 1.41}}
witness:
  {PAIR}
  theorem:
    {{name: tube, reference: [0, -0.346573590279975, 0.01], radius: 0.353506, aside: 0.0019967, curvature: 0.999}}
""",
    "flow": f"""
given: {{{FIVE}, loss: logistic, descent: {{rule: flow}}, start: [9, -0.2, 0.01]}}
asserts:
  indices: [0]
  limit: [1, 0, 0]
  angles: [{{time: 2, at_most: 0.0002476}}, {{from: 10, at_most: 0.001522}}, {{time: 2, at_least: 0.0002475}}]
  weights: [{{time: 1, at_least: 0.9997476}}, {{time: 10, at_least: 0.9996471}}, {{time: 10, at_most: 0.9997748}}]
  losses: [{{time: 10, at_most: 0.0001762}}, {{time: 10, at_least: 0.0001739}}]
  norms: [{{from: 3, at_least: 9}}, {{time: 10, at_least: 9.001}}, {{time: 10, at_most: 9.016}}]
  rate: {{form: root, from: 2, lateral: 0.4973, square: 0, growth: 0, offset: 8105, slope: 1.41}}
witness:
  {PAIR}
  time: 2
  theorem:
    {{name: tube, reference: [0, -0.3465735902799725, 0.0100003262798874], radius: 0.149453, aside: 0.00180636,
      curvature: 0.999}}
""",
    "normalised": f"""
given: {{{FIVE}, loss: linear, descent: {{rule: normalised, step: 1/20}}, start: [9, -0.2, 0.01]}}
asserts:
  indices: [0]
  limit: [1, 0, 0]
  angles: [{{step: 10, at_most: 0.000371}}, {{from: 20, at_most: 0.000805}}, {{step: 100, at_most: 0.0003276}},
    {{step: 10, at_least: 0.0003709}}, {{step: 100, at_least: 0.0002884}}]
  weights: [{{step: 20, at_least: 0.99990467}}, {{step: 20, at_most: 0.99990468}}]
  losses: [{{step: 30, at_most: 0.000104}}, {{step: 30, at_least: 0.00007821}}]
  norms: [{{step: 100, at_least: 13.99}}, {{step: 100, at_most: 14}}]
  rate: {{form: linear, from: 20, lateral: 0.4013, offset: 9.991, slope: 0.04999}}
witness:
  {PAIR}
  steps: 20
  theorem:
    {{name: tube, reference: [0, -0.3465735902799726, 0.01071989595567096], radius: 0.0537363, aside: 0.000954346,
      curvature: 0.999}}
""",
    "leaps": """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]], [[0, 1], [-1, 0]]]
  scores: [[1, 0.9, 0.5], [1, 0]]
  loss: logistic
  descent: {rule: gradient, step: 4}
  start: [0, 0.5]
asserts:
  indices: [0, 0]
  limit: [0, 1]
  angles: [{step: 100, at_most: 0.04083}, {from: 60, at_most: 0.05604}, {step: 260, at_most: 0.04699},
    {step: 100, at_least: 0.04082}]
  weights: [{step: 200, at_least: 0.96136}, {step: 200, at_most: 0.96137}]
  losses: [{step: 260, at_most: 0.001116}]
  norms: [{step: 260, at_least: 4.905}, {from: 10, at_least: 1.914}]
  rate: {form: logarithm, from: 200, numerator: 0.2294, offset: 103.6, slope: 0.4677}
witness:
  multipliers: [{input: 0, token: 1, multiplier: 131743291797/549755813888},
    {input: 0, token: 2, multiplier: 2730949011143/6047313952768},
    {input: 1, token: 1, multiplier: 933594365929/3023656976384}]
  steps: 200
  leaps: 1/1000
  theorem: {name: global}
""",
    "box": """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0.8]]
  loss: exponential
  descent: {rule: gradient, step: 20}
  start: {lower: [0, 0.5], upper: [1e-6, 0.500001]}
asserts:
  indices: [0]
  limit: [-10/101, 100/101]
  angles: [{step: 10, at_most: 0.008934}, {from: 12, at_most: 0.04075}, {step: 10, at_least: 0.008933}]
  weights: [{from: 5, at_least: 0.7985}]
  losses: [{step: 100, at_most: 0.0004922}, {step: 100, at_least: 0.0004921}]
  norms: [{step: 4, at_least: 1.663}, {from: 100, at_least: 4.999}, {step: 4, at_most: 1.664}]
  rate: {form: logarithm, from: 103, numerator: 0.2048, offset: 152.1, slope: 1.414}
witness:
  multipliers: [{input: 0, token: 2, multiplier: 100/101}]
  steps: 103
  theorem: {name: global}
""",
}
GALLERY = Path(__file__).resolve().parents[2] / "certificates" / "selection" / "joint-max-margin"
JOINT = ("tight", "not-tight")
WEIGHTS = {"tube": 8, "normalised": 8, "leaps": 6, "flow": 3, "box": 2, **dict.fromkeys(JOINT, 2)}
LISTS = ("angles", "weights", "losses", "norms")


@lru_cache
def base(name: str) -> tuple[str, Content]:
    """The claim and the content of a base."""
    claim = "joint-max-margin" if name in JOINT else "selection-direction"
    head = f"certattn: 1\nclaim: {claim}\n"
    text = (GALLERY / f"{name}.yaml").read_text() if name in JOINT else head + BASES[name]
    plain = loads(text, "base.yaml").plain
    return claim, {key: section for key, section in plain.items() if key in ("given", "asserts", "witness")}


# -- descents


class Data(NamedTuple):
    """Keys, scores and the rule as 50 digits have them."""

    keys: list[list[Point]]
    scores: list[Point]
    loss: str
    rule: str
    step: mpf


def exactly(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def dot(x: Point, y: Point) -> mpf:
    return mp.fsum(a * b for a, b in zip(x, y, strict=True))


def slope_of(loss: str, score: mpf) -> mpf:
    """-l'."""
    return {
        "linear": lambda: mpf(1),
        "logistic": lambda: 1 / (1 + mp.exp(score)),
        "exponential": lambda: mp.exp(-score),
    }[loss]()


def value_of(loss: str, score: mpf) -> mpf:
    """l."""
    return {
        "linear": lambda: -score,
        "logistic": lambda: mp.log1p(mp.exp(-score)),
        "exponential": lambda: mp.exp(-score),
    }[loss]()


def shares_of(rows: list[Point], point: Point) -> Point:
    logits = [dot(row, point) for row in rows]
    masses = [mp.exp(x - max(logits)) for x in logits]
    return [mass / mp.fsum(masses) for mass in masses]


def downhill(data: Data, point: Point) -> Point:
    """-grad L."""
    found = [mpf(0)] * len(point)
    for rows, gamma in zip(data.keys, data.scores, strict=True):
        shares = shares_of(rows, point)
        mean = dot(shares, gamma)
        factor = slope_of(data.loss, mean) / len(data.keys)
        for share, score, row in zip(shares, gamma, rows, strict=True):
            weight = factor * share * (score - mean)
            found = [a + weight * b for a, b in zip(found, row, strict=True)]
    return found


def stepped(data: Data, point: Point) -> Point:
    way = downhill(data, point)
    size = data.step if data.rule == "gradient" else data.step / mp.sqrt(dot(way, way))
    return [a + size * b for a, b in zip(point, way, strict=True)]


def flowed(data: Data, point: Point, duration: Fraction) -> Point | None:
    """The flow after so long: the midpoint rule in 2, 4, 6, ... steps, extrapolated; None where that is not settled."""
    rest = duration
    while rest > 0:
        length = min(rest, LONGEST)
        while (found := _extrapolated(data, point, exactly(length))) is None:
            length /= 2
            if length < SHORTEST:
                return None
        point, rest = found, rest - length
    return point


def _extrapolated(data: Data, point: Point, length: mpf) -> Point | None:
    table: list[list[Point]] = []
    for column in range(COLUMNS):
        count = 2 * (column + 1)
        size, before = length / count, point
        here = [a + size * b for a, b in zip(point, downhill(data, point), strict=True)]
        for _ in range(count - 1):
            way = downhill(data, here)
            before, here = here, [a + 2 * size * b for a, b in zip(before, way, strict=True)]
        way = downhill(data, here)
        row = [[(a + b + size * c) / 2 for a, b, c in zip(before, here, way, strict=True)]]
        for k in range(1, column + 1):
            ratio = mpf((column + 1) ** 2) / (column + 1 - k) ** 2
            row.append([a + (a - b) / (ratio - 1) for a, b in zip(row[k - 1], table[column - 1][k - 1], strict=True)])
        table.append(row)
        if column > 0 and max(abs(a - b) for a, b in zip(row[-1], table[-2][-1], strict=True)) < SETTLED:
            return row[-1]
    return None


@lru_cache(200)
def run_of(given: str, start: tuple[Fraction, ...]) -> Callable[[Fraction], Point | None]:
    """Where the descent from a start is at a step or time; computed as far as it is asked for."""
    content = json.loads(given)
    instance, descent = _instance(content), content["descent"]
    keys = [[[exactly(x) for x in row] for row in rows] for rows in instance.keys]
    scores = [[exactly(x) for x in row] for row in instance.scores]
    rule, step = descent["rule"], exactly(read_number(descent.get("step", "0")))
    data, points = Data(keys, scores, content["loss"], rule, step), [[exactly(x) for x in start]]
    times: dict[Fraction, Point | None] = {Fraction(0): points[0]}

    def at(k: Fraction) -> Point | None:
        if rule == "flow":
            if k not in times:
                last = max(t for t in times if t < k)
                before = times[last]
                times[k] = None if before is None else flowed(data, before, k - last)
            return times[k]
        while len(points) <= k:
            points.append(stepped(data, points[-1]))
        return points[int(k)]

    return at


def _instance(given: Any) -> Instance:
    return Instance({key: given[key] for key in given if key not in ("loss", "descent", "start")}, HERE)


class Judged(NamedTuple):
    """What is false of a statement, in words; and whether all that it says has been looked at."""

    wrong: str
    complete: bool


def judged(content: Content) -> Judged:
    given, asserts = content["given"], content["asserts"]
    instance = _instance(given)
    indices = tuple(read_counts(asserts["indices"]))
    limit = instance.solve(indices)
    if limit is None or ("limit" in asserts and read_point(asserts["limit"], instance.shape, HERE) != limit):
        return Judged("p_mm", True)
    flow, start = given["descent"]["rule"] == "flow", given["start"]
    ends = [start[end] for end in ("lower", "upper")] if isinstance(start, dict) and "lower" in start else [start]
    if not isinstance(ends[0], list):
        return Judged("", False)
    complete = len(ends) == 1
    with mp.workdps(DIGITS):
        direction, near = [exactly(x) for x in limit], NEAR_FLOW if flow else NEAR
        for end in ends:
            run = run_of(json.dumps(given, sort_keys=True), tuple(read_point(end, instance.shape, HERE)))
            for kind in LISTS:
                for item in asserts.get(kind, []):
                    where, places = _places(item, flow)
                    complete = complete and places != [] and (where != "from" or not flow)
                    for k in places:
                        value = _value(kind, instance, indices, given["loss"], run(k), direction)
                        if value is None:
                            complete = False
                        elif _broken(item, value, near):
                            return Judged(f"{kind} at {k}", True)
            if "rate" in asserts:
                complete, rate = False, asserts["rate"]
                for k in _places(rate, flow)[1]:
                    value = _value("angles", instance, indices, given["loss"], run(k), direction)
                    if value is not None and value > _stated_rate(rate, k) * (1 + near) + near:
                        return Judged(f"the rate at {k}", True)
    return Judged("", complete)


def _places(item: Any, flow: bool) -> tuple[str, list[Fraction]]:
    """Which of step, time and from it has; and where to look."""
    where = next(name for name in ("step", "time", "from") if name in item)
    first, last = read_number(item[where]), LAST_TIME if flow else LAST
    if where != "from":
        return where, [first] if first <= last else []
    if flow:
        return where, [first + k for k in (0, 1, 3, 8) if first + k <= last]
    return where, [Fraction(k) for k in range(int(first), last + 1)]


def _value(
    kind: str, instance: Instance, indices: tuple[int, ...], loss: str, point: Point | None, direction: Point
) -> mpf | None:
    if point is None:
        return None
    if kind in ("angles", "norms"):
        norm = mp.sqrt(dot(point, point))
        if kind == "norms" or norm == 0:
            return norm if kind == "norms" else None
        return 1 - dot(point, direction) / norm / mp.sqrt(dot(direction, direction))
    weights, gap = [], mpf(0)
    for keys, scores, chosen in zip(instance.keys, instance.scores, indices, strict=True):
        gamma = [exactly(x) for x in scores]
        shares = shares_of([[exactly(x) for x in row] for row in keys], point)
        weights.append(shares[chosen])
        gap += value_of(loss, dot(shares, gamma)) - value_of(loss, gamma[chosen])
    return min(weights) if kind == "weights" else gap / len(instance.keys)


def _broken(item: Any, value: mpf, near: mpf) -> bool:
    if "at_most" in item:
        return bool(value > exactly(read_number(item["at_most"])) + near * (1 + abs(value)))
    return bool(value < exactly(read_number(item["at_least"])) - near * (1 + abs(value)))


def _stated_rate(rate: Any, k: Fraction) -> mpf:
    number = {name: exactly(read_number(rate[name])) for name in rate if name != "form"}
    argument = number["offset"] + number["slope"] * (exactly(k) - number["from"])
    if rate["form"] == "logarithm":
        return number["numerator"] / mp.log(argument)
    if rate["form"] == "linear":
        return (number["lateral"] / argument) ** 2 / 2
    log = mp.log(argument)
    return ((number["lateral"] + mp.sqrt(number["square"] + number["growth"] * log)) / log) ** 2 / 2


# -- changes: each is given the certificate, and changes it


def nudged(draw: random.Random, text: str) -> str:
    """Another number near it, or far away."""
    x = Fraction(text)
    near = (
        Fraction(999, 1000),
        Fraction(1001, 1000),
        Fraction(49, 50),
        Fraction(51, 50),
        Fraction(4, 5),
        Fraction(3, 2),
    )
    far = (Fraction(0), Fraction(-1), Fraction(2), Fraction(1, 10), Fraction(10), Fraction(1, 10**6))
    found = x * draw.choice(near if draw.random() < 0.75 else far)
    if found == x or draw.random() < 0.1:
        found += draw.choice((Fraction(1, 1000), Fraction(-1, 100), Fraction(1)))
    return str(found)


def stated(draw: random.Random, content: Content) -> tuple[str, Content]:
    """One of the bounds at a step, with its list."""
    kind = draw.choice([name for name in LISTS if name in content["asserts"]])
    return kind, draw.choice(content["asserts"][kind])


def sharper(draw: random.Random, content: Content) -> None:
    """A bound goes a little or far beyond what it was."""
    kind, item = stated(draw, content)
    end = "at_most" if "at_most" in item else "at_least"
    x, off = Fraction(item[end]), draw.choice((Fraction(1, 10**4), Fraction(1, 200), Fraction(1, 20), Fraction(1, 2)))
    if kind == "weights":
        x = 1 - (1 - x) * (1 + off if end == "at_most" else 1 - off)
    else:
        x *= 1 - off if end == "at_most" else 1 + off
    item[end] = str(x)


def turned(draw: random.Random, content: Content) -> None:
    """The same number from the other side."""
    _, item = stated(draw, content)
    end, other = ("at_most", "at_least") if "at_most" in item else ("at_least", "at_most")
    item[other] = item.pop(end)


def moved(draw: random.Random, content: Content) -> None:
    """To another step or time, or to be for good, or to another list."""
    _, item = stated(draw, content)
    where = next(name for name in ("step", "time", "from") if name in item)
    way = draw.random()
    if way < 0.6:
        x = Fraction(item[where])
        if where == "time" or (where == "from" and draw.random() < 0.1):
            item[where] = nudged(draw, item[where])
        else:
            item[where] = str(max(0, int(x) + draw.choice((-50, -5, -1, 1, 5, 50, 1000, 10**6))))
    elif way < 0.85:
        names = [name for name in ("step", "time", "from") if name != where]
        item[draw.choice(names)] = item.pop(where)
    else:
        content["asserts"].setdefault(draw.choice(LISTS), []).append(copy.deepcopy(item))


def rate(draw: random.Random, content: Content) -> None:
    """A number of the rate, or its form."""
    holder = content["asserts"]["rate"]
    if draw.random() < 0.15:
        holder["form"] = draw.choice(("linear", "root", "logarithm"))
        if holder["form"] == "linear":
            holder.pop("square", None)
            holder.pop("growth", None)
        return
    name = draw.choice([name for name in holder if name != "form"])
    if name == "from":
        holder[name] = str(max(0, int(Fraction(holder[name])) + draw.choice((-20, -1, 1, 10, 100))))
    else:
        holder[name] = nudged(draw, holder[name])


def task(draw: random.Random, content: Content) -> None:
    """A number of what is given."""
    given = content["given"]
    way = draw.random()
    if way < 0.1:
        given["loss"] = draw.choice(("linear", "logistic", "exponential"))
    elif way < 0.25:
        given["descent"]["rule"] = draw.choice(("gradient", "normalised", "flow"))
        if given["descent"]["rule"] == "flow":
            given["descent"].pop("step", None)
    else:
        names = [name for name in ("keys", "scores", "start", "descent", "tokens", "labels") if name in given]
        holder, key = draw.choice(
            [each for each in places(given[draw.choice(names)]) if isinstance(each[0][each[1]], str)]
        )
        holder[key] = nudged(draw, holder[key])


def witness(draw: random.Random, content: Content) -> None:
    """Steps, leaps, times, or a number of the theorem or its name; a comparator of a minimiser."""
    holder, way = content["witness"], draw.random()
    if "comparators" in holder:
        place, key = draw.choice([each for each in places(holder) if isinstance(each[0][each[1]], str)])
        place[key] = nudged(draw, place[key])
    elif way < 0.25:
        holder["leaps"] = draw.choice(("1", "10", "1/10", "1e-3", "1e-6", "1e-12", "1000"))
    elif way < 0.5:
        name = "time" if "time" in holder else "steps"
        holder[name] = str(max(0, int(Fraction(holder.get(name, "0"))) + draw.choice((-20, -5, -1, 1, 5, 60))))
    elif way < 0.6:
        holder["theorem"]["name"] = draw.choice(("global", "every-start", "local", "tube", "cone"))
    else:
        at = [each for each in places(holder) if isinstance(each[0][each[1]], str) and each[1] != "name"]
        place, key = draw.choice(at)
        place[key] = nudged(draw, place[key])


def path(draw: random.Random, content: Content) -> None:
    """A bound of a minimiser goes beyond what it was, or the norms change."""
    item = draw.choice(content["asserts"]["path"]["at"])
    name = draw.choice(list(item))
    x = Fraction(item[name])
    item[name] = nudged(draw, item[name]) if name.endswith("norm") else str(1 - (1 - x) * draw.choice((0.99, 0.9, 0.5)))


def places(at: Any) -> Iterator[tuple[Any, Any]]:
    """Every field and entry, as what holds it and its key there."""
    for key in list(at) if isinstance(at, dict) else range(len(at)):
        yield at, key
        if not isinstance(at[key], str):
            yield from places(at[key])


def field(draw: random.Random, content: Content) -> None:
    """Any field or entry is left out, something else, or a number near it."""
    holder, key = draw.choice([each for part in ("given", "asserts", "witness") for each in places(content[part])])
    way = draw.random()
    if way < 0.2:
        del holder[key]
    elif way < 0.4:
        holder[key] = draw.choice(("0", "-1", "1e9", "1e-400", "nan", "x", [], {}, [["1"]], "1/0", "0x1p3", "every"))
    elif isinstance(holder[key], str):
        holder[key] = nudged(draw, holder[key])
    elif isinstance(holder[key], list):
        holder[key].append(copy.deepcopy(holder[key][-1]) if holder[key] else "1")
    else:
        holder[draw.choice(("extra", "rate", "time", "leaps", "cone"))] = holder[key]


Change = Callable[[random.Random, Content], None]
CHANGES: dict[str, Change] = {
    each.__name__: each for each in (sharper, turned, moved, rate, task, witness, path, field)
}
OFTEN = {"sharper": 6, "turned": 2, "moved": 4, "rate": 4, "task": 3, "witness": 4, "path": 2, "field": 2}


# -- checking


def text_of(claim: str, content: Content) -> str:
    head = f"certattn: 1\nclaim: {claim}\n"
    return head + "".join(f"{key}: {json.dumps(value)}\n" for key, value in content.items()).replace('"', "")


def verdict(claim: str, content: Content) -> str:
    try:
        return check(loads(text_of(claim, content), "made.yaml", limits=LIMITS), CheckOptions(LIMITS)).verdict.value
    except MalformedError:
        return "malformed"


def complaint(claim: str, content: Content, found: str) -> str:
    """Why a verdict is wrong; nothing where it is not."""
    if found not in ("verified", "refuted"):
        return ""
    try:
        if claim == "joint-max-margin":
            judgement = judge_joint(content["given"], content["asserts"], content["witness"], HERE)
            wrong = (judgement.where or "false") if judgement.truth is Truth.FALSE else ""
            judgement_complete = judgement.truth is Truth.TRUE
        else:
            wrong, judgement_complete = judged(content)
    except NotAStatement as error:
        return f"no statement: {error}"
    if found == "verified":
        return wrong
    return "not false" if not wrong and judgement_complete else ""


def made(draw: random.Random) -> tuple[str, str, Content]:
    """The base, what was changed, and the certificate."""
    (name,) = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))
    content, done = copy.deepcopy(base(name)[1]), []
    for kind in draw.choices(list(OFTEN), list(OFTEN.values()), k=draw.choice((1, 1, 1, 2, 3))):
        try:
            CHANGES[kind](draw, content)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, StopIteration):
            # What was changed before is no longer what this one changes.
            continue
        done.append(kind)
    return name, done[0] if len(done) == 1 else f"{len(done) or 'none'} of these", content


Tally = Counter[tuple[str, str, str]]


def run(numbers: range, seed: int) -> tuple[Tally, list[str]]:
    """How often each change of each base had each verdict; and what was wrong."""
    tally: Tally = Counter()
    findings: list[str] = []
    for step in numbers:
        name, kind, content = made(random.Random(f"{seed} {step}"))
        claim = base(name)[0]
        found = verdict(claim, content)
        tally[name, kind, found] += 1
        if wrong := complaint(claim, content, found):
            findings.append(f"number {step}: {found}, but {wrong}: {text_of(claim, content)}")
            print(findings[-1], flush=True)
    return tally, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4000, help="certificates to check")
    parser.add_argument("--first", type=int, default=0, help="the number to begin with")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    start = time.process_time()
    tally, findings = run(range(chosen.first, chosen.first + chosen.count), chosen.seed)
    for (name, kind, found), times in sorted(tally.items()):
        print(f"{name:<14}{kind:<12}{found:<14}{times:>7}")
    verdicts = Counter[str]()
    for (_, _, found), times in tally.items():
        verdicts[found] += times
    print(f"\n{', '.join(f'{found} {times}' for found, times in sorted(verdicts.items()))}")
    print(f"{tally.total()} certificates in {time.process_time() - start:.0f} s, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
