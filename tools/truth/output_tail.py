"""Whether a certificate of `output-tail` is true, and whether the rules of its witness show it: a second opinion.

Reads the certificate as `certificate_truth` does, and compares with `random_prompts`, in doubles. Where
simulated prompts exceed what is stated more often than is stated, the statement is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tools.truth import random_prompts
from tools.truth.ball_of_queries import judge_ball
from tools.truth.finite_means import MARGIN, finite_means, is_finite
from tools.truth.judgement import Judgement, Truth
from tools.truth.laws import About, Box, Gaussian, Independent, Law, Mixture, Points, Round, Truncated
from tools.truth.prompt import largest_over, read_random_prompt, read_starts
from tools.truth.reading import (
    NothingShown,
    Table,
    Vector,
    applies,
    dot,
    identity_matrix,
    is_semidefinite,
    read_count,
    read_number,
    read_table,
    read_vector,
    require,
    require_mapping,
    require_record,
    times,
)

# How far what a rule gives in doubles has to be from what is stated to count.
_MARGIN = 1e-6
# An exact probability is one formula, and its statement is refuted where it is false.
_SMALL_MARGIN = 1e-12
_TAIL_RULES = {
    "cantelli": set(),
    "moment": {"order"},
    "chernoff": {"lambda"},
    "truncated": {"lambda", "cap"},
    "exact": set(),
    "inversion": {"step", "terms"},
}


def judge_tails(given: Any, asserts: Any, witness: Any, folder: Path, from_below: bool = True) -> Judgement:
    """False where simulated prompts say so, proved where the rules of the witness give it.

    With `from_below` directions may have lower bounds.
    """
    if "queries" in require_mapping(given, "given"):
        return _judge_ball(given, asserts, witness, folder)
    prompt = read_random_prompt(given, folder)
    law, length, base, square, V = prompt.law, prompt.length, prompt.base, prompt.scale.square, prompt.V
    tilt, positive = prompt.tilt, prompt.scale.is_root or prompt.scale.value > 0
    require_record(asserts, "asserts", set(), {"directions", "norm"})
    require(
        asserts != {} and set(asserts) == set(require_mapping(witness, "witness")), "a rule for everything asserted"
    )
    plain = law_in_doubles(law, 1.0)

    def along(u: Vector, eps: float, first: int, last: float) -> random_prompts.Tail:
        direction = times([list(column) for column in zip(*V, strict=True)], u)
        return random_prompts.Tail(plain, tilt, tuple(map(float, direction)), eps, first, last)

    def read_rule(u: Vector, eps: float, one: Any) -> random_prompts.Rule:
        direction = times([list(column) for column in zip(*V, strict=True)], u)
        return _tail_rule(one, law, base, positive, square, direction, eps)

    def tail(u: Vector, eps: float, rule: Any) -> tuple[float, float]:
        def bound(first: int, last: float, one: Any) -> tuple[float, float]:
            try:
                read = read_rule(u, eps, one)
            except NothingShown:
                return math.inf, math.inf
            if one["rule"] == "truncated" and math.isinf(last):
                return math.inf, math.inf
            return along(u, eps, first, last).bound(read)

        return over_ranges(rule, prompt, bound)

    def tail_from_below(u: Vector, eps: float, rule: Any) -> tuple[float, float]:
        if prompt.onwards:
            return -math.inf, -math.inf
        try:
            return along(u, eps, length, length).from_below(read_rule(u, eps, rule))
        except NothingShown:
            return -math.inf, -math.inf

    differences = random_prompts.outputs(plain, tilt, tuple(tuple(map(float, row)) for row in V), length)
    found = []
    if "directions" in asserts:
        items, rules = asserts["directions"], witness["directions"]
        require(isinstance(items, list) and isinstance(rules, list) and len(items) == len(rules) > 0, "directions")
        for item, rule in zip(items, rules, strict=True):
            bounds_of = {"probability", "at_least"} if from_below else {"probability"}
            require_record(item, "a direction", {"direction", "exceeds"}, bounds_of)
            require(any(name in item for name in bounds_of), "a bound of the probability")
            u, eps = read_vector(item["direction"], folder), _height(item)
            require(len(u) == len(V), "a direction of another dimension")
            name = rule.get("rule") if isinstance(rule, dict) else None
            bound = tail(u, eps, rule)
            happened = random_prompts.frequency(differences @ np.array([float(x) for x in u]) > eps)
            if name == "exact" and math.isfinite(bound[1]):
                happened = bound
            if name == "inversion" and bound[0] <= 1:
                happened = along(u, eps, length, length).probability()
            if "probability" in item:
                found.append(_tail_judgement(bound, _chance(item, "probability"), happened))
            if "at_least" in item:
                # P(not) <= 1 - alpha.
                lowest, low = tail_from_below(u, eps, rule)
                others = (1 - happened[1], 1 - happened[0])
                found.append(_tail_judgement((1 - low, 1 - lowest), 1 - _chance(item, "at_least"), others))
    if "norm" in asserts:
        item, hint = asserts["norm"], witness["norm"]
        require_record(item, "a norm", {"norm", "exceeds", "probability"})
        eps, delta = _levels(item)
        require(item["norm"] in ("l2", "linf"), "the norm")
        sizes = np.linalg.norm(differences, axis=1) if item["norm"] == "l2" else np.abs(differences).max(axis=1)
        happened = random_prompts.frequency(sizes > eps)
    if "norm" in asserts and "method" in require_mapping(hint, "the witness of the norm"):
        require(hint["method"] in ("mean-square", "moment"), "the method")
        bounds = (math.inf, math.inf)
        if hint["method"] == "moment":
            require_record(hint, "the witness of the norm", {"method", "order"}, {"from"})
            order_of = read_moment_order(hint["order"], 8)
            # The moment bounds the l2 norm, and with it linf.
            if isinstance(law, Gaussian) and not prompt.onwards:
                bounds = simulated_moment(np.linalg.norm(differences, axis=1), eps, order_of)
        else:
            require_record(hint, "the witness of the norm", {"method"}, {"from"})
            order_of = 2
            low, high = _mean_square(law, plain, tilt, base, float(square), V, length, prompt.onwards)
            bounds = (low / eps**2, high / eps**2)

        def mean_at(n: int) -> tuple[float, float]:
            """E D^p / eps^p at that length."""
            if hint["method"] == "moment":
                simulated = random_prompts.outputs(plain, tilt, tuple(tuple(map(float, row)) for row in V), n)
                return simulated_moment(np.linalg.norm(simulated, axis=1), eps, order_of)
            low, high = _mean_square(law, plain, tilt, base, float(square), V, n, False)
            return low / eps**2, high / eps**2

        if "from" in hint:
            starts = read_starts(hint["from"], length, prompt.onwards)
            if isinstance(law, Gaussian) or hint["method"] == "mean-square":
                low, high = _mean_square(law, plain, tilt, base, float(square), V, starts[-1], True)
                bounds = largest_over(starts, mean_at, (low / eps**2, high / eps**2))
        found.append(_tail_judgement(bounds, delta, happened))
    elif "norm" in asserts:
        frame, levels, bounded = _frame(item, hint, len(V), folder)
        rules = hint["bounds"]
        require(isinstance(rules, list) and len(rules) == 2 * len(frame), "two rules for every vector of the frame")
        signed = [(([x * sign for x in u]), level) for u, level in zip(frame, levels, strict=True) for sign in (1, -1)]
        # Levels that do not bound the norm by eps prove nothing of it, whatever the rules say.
        bounds = [(math.inf, math.inf)]
        if bounded:
            bounds = [tail(u, float(level), rule) for (u, level), rule in zip(signed, rules, strict=True)]
        total = (sum(low for low, _ in bounds), sum(high for _, high in bounds))
        found.append(_tail_judgement(total, delta, happened))
    order = (Truth.FALSE, Truth.OPEN, Truth.TRUE)
    return min(found, key=lambda judgement: (order.index(judgement.truth), judgement.provable, judgement.slack))


def _judge_ball(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """The norm at every query of a ball."""
    require_record(asserts, "asserts", {"norm"}, set())
    require_record(witness, "the witness", {"norm"}, set())
    item = asserts["norm"]
    require_record(item, "a norm", {"norm", "exceeds", "probability"})
    require(item["norm"] in ("l2", "linf"), "the norm")
    eps, delta = _levels(item)
    bound, happened = judge_ball(given, witness["norm"], eps, item["norm"], folder, law_in_doubles)
    return _tail_judgement(bound, delta, happened)


def read_moment_order(node: Any, most: int) -> int:
    order = read_count(node)
    require(order % 2 == 0 and 2 <= order <= most, "an even order")
    return order


def simulated_moment(sizes: Any, eps: float, order: int) -> tuple[float, float]:
    """E D^p / eps^p from simulated prompts, with eight standard errors: heavy tails are seen rarely."""
    if len(sizes) == 0:
        return 0.0, math.inf
    powers = (sizes / eps) ** order
    error = 8 * float(powers.std()) / math.sqrt(len(powers))
    return max(float(powers.mean()) - error, 0.0), float(powers.mean()) + error


def over_ranges(rule: Any, prompt: Any, bound: Callable[[int, float, Any], tuple[float, float]]) -> tuple[float, float]:
    """What a rule gives for all lengths of the prompt: the largest over the ranges of one by length."""
    end = math.inf if prompt.onwards else prompt.length
    if require_mapping(rule, "a rule").get("rule") != "by-length":
        return bound(prompt.length, end, rule)
    require_record(rule, "a rule", {"rule", "from", "rules"})
    first, rules = read_starts(rule["from"], prompt.length, prompt.onwards), rule["rules"]
    require(isinstance(rules, list) and len(first) == len(rules), "ranges")
    found = [bound(a, b - 1, one) for a, b, one in zip(first, [*first[1:], math.inf], rules, strict=True)]
    return max(low for low, _ in found), max(high for _, high in found)


def _mean_square(
    law: Any, plain: Any, tilt: Any, base: Vector, square: float, V: Table, length: int, onwards: bool
) -> tuple[float, float]:
    """Between which numbers the checker's bound of E|T_L - T|^2 is."""
    if isinstance(law, Gaussian):
        # (S + B) / (1 + (L - 1) e^-v); of one length the mean square itself, at least (S - B/2) / L, at most that.
        moved = times(law.covariance, base)
        spread = float(sum(_form(law, row) for row in V))
        shift = float(sum(x * x for x in times(V, moved))) * square
        closed = (spread + shift) / (1 + (length - 1) * math.exp(-float(_form(law, base)) * square))
        return (closed if onwards else max(spread - shift / 2, 0.0) / length), closed
    means = finite_means(plain, tilt, np.array([[float(x) for x in row] for row in V]), length)
    if means is None:
        return (0.0 if is_finite(plain) else math.inf), math.inf
    bound = means.falling()[0] if onwards else means.mean_square()
    error = MARGIN * means.size()
    return bound - error, bound + error


def _tail_judgement(bound: tuple[float, float], delta: float, probability: tuple[float, float]) -> Judgement:
    low, high = bound
    margin = _SMALL_MARGIN if bound == probability else _MARGIN
    if high < probability[0] * (1 - margin):
        raise AssertionError(f"a bound of {high} on a probability of at least {probability[0]}")
    if probability[0] * (1 - margin) > delta:
        return Judgement(Truth.FALSE, (delta - probability[0]) / delta, "simulation")
    if high * (1 + margin) < delta:
        return Judgement(Truth.TRUE, (delta - high) / delta, "the rules")
    return Judgement(Truth.OPEN, 0.0, "the rules", provable=not low * (1 - margin) > delta)


def _levels(item: Any) -> tuple[float, float]:
    return _height(item), _chance(item, "probability")


def _height(item: Any) -> float:
    eps = read_number(item["exceeds"])
    require(eps > 0, "exceeds must be positive")
    return float(eps)


def _chance(item: Any, name: str) -> float:
    chance = read_number(item[name])
    require(0 < chance < 1, "a probability is between 0 and 1")
    return float(chance)


def _frame(item: Any, hint: Any, size: int, folder: Path) -> tuple[Table, Vector, bool]:
    """A frame with its levels, and whether the norm is at most eps where these are kept."""
    eps = read_number(item["exceeds"])
    if item["norm"] == "linf":
        require_record(hint, "the witness of the norm", {"bounds"})
        return identity_matrix(size), [eps] * size, True
    require_record(hint, "the witness of the norm", {"bounds", "frame", "levels"})
    frame, levels = read_table(hint["frame"], folder), read_vector(hint["levels"], folder)
    require(len(frame[0]) == size and len(levels) == len(frame), "a frame of another shape")
    columns = list(zip(*frame, strict=True))
    gram = [[dot(x, y) - (i == j) for j, y in enumerate(columns)] for i, x in enumerate(columns)]
    small = min(levels) >= 0 and sum(level**2 for level in levels) <= eps**2
    return frame, levels, is_semidefinite(gram) and small


def _tail_rule(
    node: Any, law: Law, base: Vector, positive: bool, square: Fraction, direction: Vector, eps: float
) -> random_prompts.Rule:
    """A rule that applies to a tail; by exact conditions on the law and the direction."""
    name = require_mapping(node, "a rule").get("rule")
    require(isinstance(name, str) and name in _TAIL_RULES, "the rule")
    parts = _parts(law)
    gaussian = all(isinstance(part, Gaussian | Points) for part in parts)
    ordered = {"order"} if name == "chernoff" else set()
    require_record(node, "a rule", {"rule", *_TAIL_RULES[name]}, ordered)
    applies(not ordered or ("order" in node) is not gaussian, "an order where the exponential is not taken as it is")
    order = read_count(node["order"]) if "order" in node else 0
    require("order" not in node or (order % 2 == 0 and 2 <= order <= 100), "an even order")
    slope, cap, step = (read_number(node[key]) if key in node else Fraction(1) for key in ("lambda", "cap", "step"))
    require(slope > 0 and cap > 0 and step > 0, "lambda, cap and step must be positive")
    terms = read_count(node["terms"], 1) if name == "inversion" else 0
    applies(eps > 0 or name == "exact", "a level of 0")
    if name == "truncated":
        applies(gaussian, "Gaussians and atoms are truncated")
        applies(slope * cap <= 1000, "an exponential that is too large")
    if name == "inversion":
        applies(all(isinstance(part, Gaussian) and _is_noisy(part, base, direction) for part in parts), "noise")
        applies(terms <= 10_000, "too many terms")
    if gaussian and name in ("truncated", "chernoff", "inversion"):
        squares = [_form(part, base) for part in parts if isinstance(part, Gaussian)]
        applies(max(squares, default=Fraction(0)) * square <= 1000, "scores that vary too much")
    if name == "chernoff":
        signed = base if positive else [-x for x in base]
        for part in parts:
            if isinstance(part, Gaussian):
                applies(not gaussian or _is_bounded_above(part, signed, direction), "unbounded summands")
        applies(gaussian or not any(isinstance(part, Gaussian) for part in parts), "unbounded summands")
    if name == "exact":
        values = {_constant(part, direction) for part in parts}
        if len(values) == 1 and None not in values:
            return "constant", 1.0, 0, 0.0
        equal = isinstance(law, Gaussian) and not any(times(law.covariance, base))
        applies(equal, "weights and outputs that vary")
    if name == "inversion":
        return name, float(step), terms, 0.0
    return name, float(slope), order, float(cap) if name == "truncated" else 0.0


def _parts(law: Law) -> list[Law]:
    return [inner for part in law.parts for inner in _parts(part)] if isinstance(law, Mixture) else [law]


def _form(law: Gaussian, tilt: Vector) -> Fraction:
    """a'Gamma a."""
    return dot(tilt, times(law.covariance, tilt))


def law_in_doubles(law: Law, weight: float) -> random_prompts.Law:
    """The law in doubles; signs as the points that they are."""

    def doubles(table: Iterable[Iterable[Fraction]]) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in table)

    if isinstance(law, Mixture):
        return tuple(
            x for w, part in zip(law.weights, law.parts, strict=True) for x in law_in_doubles(part, weight * float(w))
        )
    if isinstance(law, Gaussian):
        return ((weight, random_prompts.Gaussian(tuple(map(float, law.mean)), doubles(law.covariance))),)
    if isinstance(law, Points):
        return ((weight, random_prompts.Points(doubles(law.points), tuple(map(float, law.weights)))),)
    if isinstance(law, Truncated):
        ends = list(zip(law.lower, law.upper, strict=True))
        sizes, middles = ([float(high + s * low) / 2 for low, high in ends] for s in (-1, 1))
        of_law = tuple(map(float, law.mean)), tuple(map(float, law.variances))
        return ((weight, random_prompts.Truncated(tuple(sizes), tuple(middles), *of_law)),)
    centre: Vector = law.centre if isinstance(law, About) else [Fraction(0)] * law.dimension
    about = law.law if isinstance(law, About) else law
    if isinstance(about, Round):
        require(about.dimension <= 3, "a sphere or ball in more than three dimensions")
        radius, place = float(about.squared_radius) ** 0.5, tuple(map(float, centre))
        return ((weight, random_prompts.Round(about.dimension, radius, about.solid, place)),)
    assert isinstance(about, Independent)
    if isinstance(about, Box):
        return ((weight, random_prompts.Box(tuple(map(float, about.sizes)), tuple(map(float, centre)))),)
    corners = list(product(*((m - c, m + c) for m, c in zip(centre, about.sizes, strict=True))))
    return ((weight, random_prompts.Points(doubles(corners), (1 / len(corners),) * len(corners))),)


def _is_bounded_above(law: Gaussian, tilt: Vector, direction: Vector) -> bool:
    """Perfectly anticorrelated with the score, or constant where the score is."""
    along, across, spread = _forms(law, tilt, direction)
    return along * spread == across**2 and (across < 0 or (along == 0 and spread == 0))


def _is_noisy(law: Gaussian, tilt: Vector, direction: Vector) -> bool:
    """Whether the output is not determined by the score."""
    along, across, spread = _forms(law, tilt, direction)
    return along * spread > across**2 if along else spread > 0


def _forms(law: Gaussian, tilt: Vector, direction: Vector) -> tuple[Fraction, ...]:
    """a'Gamma a, a'Gamma v and v'Gamma v."""
    return tuple(dot(u, times(law.covariance, v)) for u, v in ((tilt, tilt), (tilt, direction), (direction, direction)))


def _constant(law: Law, direction: Vector) -> Fraction | None:
    """<v, x>, if it is the same for every token."""
    if isinstance(law, Gaussian):
        return dot(law.mean, direction) if not any(times(law.covariance, direction)) else None
    if isinstance(law, Points):
        found = {dot(point, direction) for point in law.points}
        return found.pop() if len(found) == 1 else None
    if isinstance(law, Round):
        return Fraction(0) if law.squared_radius == 0 or not any(direction) else None
    if isinstance(law, Truncated):
        return None if any(direction) else Fraction(0)
    if isinstance(law, About):
        return None if _constant(law.law, direction) is None else dot(law.centre, direction)
    assert isinstance(law, Independent)
    return Fraction(0) if not any(c * v for c, v in zip(law.sizes, direction, strict=True)) else None
