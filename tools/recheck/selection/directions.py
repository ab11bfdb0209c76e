"""Where descent on a token-selection loss goes: theorems A and A2 of selection-direction, after steps in intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from arrays import Vector, flat_point
from decisions import at_most, below, same
from fields import fields, items, kind_of, one_of, optional, refuse, starting_bits
from functions import exp, log
from intervals import I, iv, largest, root, smallest, square, summed
from outcomes import NotCovered, NotProved
from scalars import natural, positive, rational
from selection.margins import asked, hinted, indices_of, pairs_of, scored, shortest
from vectors import dot, minus, norm2

MOST_STEPS = 100_000
BOUNDED = {"angles": "at_most", "weights": "at_least", "losses": "at_most", "norms": "at_least"}


class Loss:
    """l, and f(G) = l(gamma - G) - l(gamma)."""

    def __init__(self, name: str) -> None:
        self.name = name

    def slope(self, x: Any) -> I:
        """-l', which falls"""
        if self.name == "linear":
            return iv(1)
        return exp(-iv(x)) if self.name == "exponential" else 1 / (1 + exp(iv(x)))

    def bend(self, low: Any, high: Any) -> I:
        """The largest l'' between two numbers; that of the logistic loss falls with |x|."""
        if self.name == "linear":
            return iv(0)
        if self.name == "exponential":
            return exp(-iv(low))
        low, high = iv(low), iv(high)
        e = exp(-largest([iv(0), low, -high]))
        return e / square(1 + e)

    def rise(self, gamma: Any, G: Any) -> I:
        """f(G)"""
        if self.name == "linear":
            return iv(G)
        e = exp(-iv(gamma))
        if self.name == "exponential":
            return e * (exp(iv(G)) - 1)
        return log(1 + e * exp(iv(G))) - log(1 + e)

    def drop(self, gamma: Any, F: Any) -> I:
        """f^-1(F)"""
        if self.name == "linear":
            return iv(F)
        e = exp(iv(gamma))
        return log(1 + F * e) if self.name == "exponential" else log(1 + (exp(iv(F)) - 1) * (1 + e))


class Inputs:
    """Pairs z and gaps g of the tokens that are not chosen, for inputs of more than one token."""

    def __init__(self, given: dict[str, Any], node: Any) -> None:
        keys, scores, _ = scored(given)
        keys, self.shape = asked(given["queries"], keys)
        chosen = indices_of(node, "indices", keys)
        self.loss, self.n = Loss(one_of(given["loss"], "loss", "linear", "logistic", "exponential")), len(keys)
        self.rows = pairs_of(keys, chosen)
        self.gaps = {(i, t): scores[i][chosen[i]] - scores[i][t] for i, t in self.rows}
        self.several = [i for i, rows in enumerate(keys) if len(rows) > 1]
        self.gamma = {i: scores[i][chosen[i]] for i in self.several}
        self.lows = {i: min(scores[i]) for i in self.several}
        self.highs = {i: max(scores[i]) for i in self.several}
        self.wide2 = {i: max(norm2(minus(x, y)) for x in keys[i] for y in keys[i]) for i in self.several}
        self.of = {i: [j for j in self.rows if j[0] == i] for i in self.several}
        self.z = {j: [iv(x) for x in row] for j, row in self.rows.items()}
        self.g = {j: iv(x) for j, x in self.gaps.items()}

    def weights(self, p: list[I]) -> dict[Any, I]:
        """s of the tokens that are not chosen."""
        found = {}
        for i in self.several:
            e = [exp(-dot(self.z[j], p)) for j in self.of[i]]
            for k, j in enumerate(self.of[i]):
                # e/(1 + sum), as 1/(1 + (1 + the others)/e): no interval twice
                others = summed([*e[:k], *e[k + 1 :]]) + 1
                found[j] = e[k] / (e[k] + others) if e[k].a <= 0 else 1 / (1 + others / e[k])
        return found

    def lost(self, s: dict[Any, I]) -> dict[int, I]:
        """G of every input"""
        return {i: summed(s[j] * self.g[j] for j in self.of[i]) for i in self.several}

    def total(self, p: list[I]) -> I:
        """F"""
        G = self.lost(self.weights(p))
        return summed(self.loss.rise(self.gamma[i], G[i]) for i in self.several)

    def least_weight(self, p: list[I]) -> I:
        """The least weight of a chosen token."""
        found = [iv(1)]
        for i in self.several:
            found.append(1 / (1 + summed(exp(-dot(self.z[j], p)) for j in self.of[i])))
        return smallest(found)

    def descended(self, p: list[I], h: Any) -> list[I]:
        """After a step h on F: -grad F = sum f'(G) s (g - G) z."""
        s = self.weights(p)
        for i, G in self.lost(s).items():
            pull = self.loss.slope(self.gamma[i] - G) * h
            for j in self.of[i]:
                factor = pull * s[j] * (self.g[j] - G)
                p = [x + factor * z for x, z in zip(p, self.z[j], strict=True)]
        return p


class Convergence:
    """Theorem A from a place with F <= F0 and |p| <= N on, whose steps on F are h; h = 0 is the flow."""

    def __init__(self, of: Inputs, mults: dict[Any, Fraction], p: Vector, h: I, speed: I, F0: I, N: I) -> None:
        """The conditions, and the constants."""
        self.of, self.F0 = of, F0
        loss, several = of.loss, of.several
        self.xi = 1 / root(norm2(p))
        self.c = {i: loss.slope(of.gamma[i]) for i in several}
        self.g = {i: min(of.gaps[j] for j in of.of[i]) for i in several}
        whole = sum(mults.values())
        self.w = exp(summed(log(self.c[j[0]] * of.gaps[j] * whole / m) * (m / whole) for j, m in mults.items()))
        below(F0, smallest([loss.rise(of.gamma[i], self.g[i]) for i in several]), "F, below the threshold a*")
        self.speed, self.sigma = speed, self.share(F0)
        curve = iv(0)
        for i in several:
            most = smallest([of.highs[i] - of.lows[i], loss.drop(of.gamma[i], F0)])
            low = of.gamma[i] - most
            part = loss.slope(low) + most * loss.bend(low, of.gamma[i])
            curve = largest([curve, of.wide2[i] / self.c[i] * part])
        rho = h * curve * F0 / 2
        worst = smallest([rho, h * whole_bend(of) / 2])
        below(worst, 1, "rho, below 1")
        a = smallest([self.c[i] * self.g[i] for i in several])
        self.r = speed * (1 - worst) * square(self.xi * self.sigma)
        self.J = N - log(self.w * self.sigma / F0) / self.xi + (rho + F0 / a) / ((1 - worst) * self.sigma * self.xi)
        if (F0 - a / 2).b <= 0:
            other = N - log(self.w * (1 / F0 - 1 / a)) / self.xi + rho / ((1 - worst) * self.sigma * self.xi)
            self.J = smallest([self.J, other])

    def share(self, F: I) -> I:
        """varsigma(F)"""
        loss = self.of.loss
        return 1 - largest([loss.drop(self.of.gamma[i], F) / g for i, g in self.g.items()])

    def later(self, key: str, k: Fraction) -> I:
        """What holds k steps later and at all steps after that."""
        F = 1 / (1 / self.F0 + k * self.r)
        if key == "losses":
            return F / self.of.n
        if key == "weights":
            return self.share(F)
        if key == "norms":
            return log(self.w * self.share(F) / F) / self.xi
        size = log(self.w * self.sigma / F)
        below(0, size, "angles: where the bound begins")
        return smallest([2, self.xi * self.J / size])


def whole_bend(of: Inputs) -> I:
    """B_F, which bounds the second derivatives of F everywhere."""
    total = iv(0)
    for i in of.several:
        low, high = of.lows[i], of.highs[i]
        bends = of.loss.slope(low) / 8 + of.loss.bend(low, high) * (high - low) / 16
        total += of.wide2[i] * (high - low) * bends
    return total


def starts_of(node: Any, shape: tuple[int, int]) -> list[I] | None:
    """A point, or a box as intervals; None for every start."""
    if node == "every":
        return None
    if isinstance(node, dict) and "cone" in node:
        raise NotCovered("cones of starts")
    if isinstance(node, dict) and "shape" not in node:
        f = fields(node, "start", "lower upper")
        low, high = (flat_point(f[k], *shape) for k in ("lower", "upper"))
        refuse(any(x > y for x, y in zip(low, high, strict=True)), "start: a lower end above the upper one")
        return [I(iv(x).a, iv(y).b) for x, y in zip(low, high, strict=True)]
    return [iv(x) for x in flat_point(node, *shape)]


def bounds_of(node: Any, key: str, flow: bool) -> Iterator[tuple[Fraction, bool, Fraction | None, Fraction | None]]:
    """Of each bound the step, whether it is about all later steps too, and the numbers from below and from above."""
    when = "time" if flow else "step"
    for item in items(node, key):
        f = fields(item, key, "", f"{when} from at_least at_most")
        refuse((f[when] is None) == (f["from"] is None), f"{key}: {when} or from")
        refuse((f["at_least"] is None) == (f["at_most"] is None), f"{key}: at_least or at_most")
        at = rational(f[when] if f["from"] is None else f["from"], key)
        refuse(at < 0 or (not flow and at.denominator > 1), f"{key}: no step")
        low, high = (optional(rational, f[k], key) for k in ("at_least", "at_most"))
        refuse(any(x is not None and x < 0 for x in (low, high)), f"{key}: a negative bound")
        onwards = f["from"] is not None
        refuse(onwards and f[BOUNDED[key]] is None, f"{key}: a bound of that side at a single {when} only")
        yield at, onwards, low, high


def selection_direction(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/selection-direction.md: theorems A and A2, after steps that are enclosed one by one."""
    given = fields(g, "given", "loss descent start", "keys scores queries tokens W v labels lengths")
    asserts = fields(a, "asserts", "indices", "limit angles weights losses norms rate")
    hint = starting_bits(w, "multipliers steps leaps time theorem")
    of = Inputs(given, asserts["indices"])
    mults = hinted(hint["multipliers"], "multipliers", of.rows, "multiplier")
    p, _ = shortest(of.rows, dict.fromkeys(of.rows, 1), mults, "p_mm")
    if asserts["limit"] is not None:
        same(flat_point(asserts["limit"], *of.shape), p, "limit")
    rule = fields(given["descent"], "descent", "rule", "step")
    flow = one_of(rule["rule"], "descent.rule", "gradient", "flow", "normalised") == "flow"
    refuse(flow == (rule["step"] is not None), "descent: a step belongs to descent alone")
    eta = Fraction(1) if flow else positive(rule["step"], "step")
    name = kind_of(hint["theorem"], "theorem", "global", "every-start", "local", "tube", "cone", key="name")
    start = starts_of(given["start"], of.shape)
    if name in ("local", "tube", "cone") or rule["rule"] == "normalised":
        raise NotCovered(f"the theorem {name}, and normalised steps")
    theorem = fields(hint["theorem"], "theorem", "name", "after")
    refuse(flow and (hint["steps"] is not None or hint["leaps"] is not None), "witness: steps of the flow")
    refuse(not flow and hint["time"] is not None, "witness: a time of descent")
    K = optional(natural, hint["steps"], "steps", 0, 10**12) or 0
    if hint["time"] is not None and rational(hint["time"], "time") > 0:
        raise NotCovered("the flow up to a time")
    optional(positive, hint["leaps"], "leaps")
    if K > MOST_STEPS:
        raise NotCovered(f"more than {MOST_STEPS} steps")
    if K and start and any(x.b - x.a > 1 for x in start):
        raise NotCovered("steps from a box of starts")
    stated = [(key, *bound) for key in BOUNDED for bound in bounds_of(asserts[key], key, flow)]
    for j, gap in of.gaps.items():
        below(0, gap, f"the gap of the score of {j}")
    unit = [iv(x) for x in p]
    long = root(norm2(p))
    measures: dict[str, Callable[[list[I]], I]] = {
        "angles": lambda q: 1 - dot(unit, q) / (long * root(norm2(q))),
        "weights": of.least_weight,
        "losses": lambda q: of.total(q) / of.n,
        "norms": lambda q: root(norm2(q)),
    }
    h = iv(eta / of.n)
    after = Fraction(0)
    if start is None:
        if name != "every-start" or K or stated or asserts["rate"] is not None or theorem["after"] is not None:
            raise NotProved("start: of every start nothing is said at a step")
        every_start(of, h, flow)
        return
    here = start
    for k in range(K + 1):
        for key, at, onwards, low, high in stated:
            if (k == at or (onwards and at <= k < K)) and not (onwards and k == K):
                value = measures[key](here)
                if low is not None:
                    at_most(low, value, f"{key} at {k}")
                if high is not None:
                    at_most(value, high, f"{key} at {k}")
        if k < K:
            here = of.descended(here, h)
    F0, N = (I(x.b, x.b) for x in (of.total(here), root(norm2(here))))
    if name == "every-start":
        rest = every_start(of, h, flow)
        later = [s for s in stated if s[1] > K or s[2]]
        if theorem["after"] is None:
            if later or asserts["rate"] is not None:
                raise NotProved("every-start: without the steps of `after` nothing is said of later ones")
            return
        if not later and asserts["rate"] is None:
            raise NotProved("theorem.after: nothing is stated of later steps")
        after = rational(theorem["after"], "after")
        refuse(after < 0, "theorem.after: negative")
        if not flow and after.denominator > 1:
            raise NotProved("theorem.after: no whole number of steps")
        count = after * h
        still = []
        for i in of.several:
            others = summed(exp(-dot(of.z[j], here)) for j in of.of[i])
            others = others if flow else others * exp(of.wide2[i] * h * F0 / (8 * rest))
            still.append(1 / (1 + others))
        xi2 = 1 / iv(norm2(p))
        N += root(count * F0 / rest)
        F0 = 1 / (1 / F0 + count * rest * xi2 * square(smallest(still)))
        F0, N = I(F0.b, F0.b), I(N.b, N.b)
    else:
        refuse(theorem["after"] is not None, "theorem.after: of every-start alone")
    theory = Convergence(of, mults, p, iv(0) if flow else h, h, F0, N)
    begin = K + after
    for key, at, onwards, low, high in stated:
        if at > K or onwards:
            bound = low if BOUNDED[key] == "at_least" else high
            if bound is None or max(at, Fraction(K)) < begin:
                raise NotProved(f"{key}: nothing is proved of that side, or so early")
            value = theory.later(key, max(at, begin) - begin)
            if BOUNDED[key] == "at_least":
                at_most(bound, value, f"{key} from {at} on")
            else:
                at_most(value, bound, f"{key} from {at} on")
    if asserts["rate"] is not None:
        rate_of(asserts["rate"], theory, begin)


def every_start(of: Inputs, h: I, flow: bool) -> I:
    """The conditions of theorem A2; 1 - h B_F/2."""
    for i in of.several:
        same(len({of.gaps[j] for j in of.of[i]}), 1, f"the scores of input {i} that were not chosen")
    for j, z in of.rows.items():
        for k, y in of.rows.items():
            if j[0] < k[0]:
                at_most(0, dot(z, y), f"products of pairs of different inputs, {j} and {k}")
    rest = iv(1) if flow else 1 - h * whole_bend(of) / 2
    below(0, rest, "1 - h B_F/2")
    return rest


def rate_of(node: Any, theory: Convergence, begin: Fraction) -> None:
    """1 - cos <= A/log(B + C (k - k0)) for all k >= k0."""
    if isinstance(node, dict) and one_of(node.get("form"), "rate.form", "logarithm", "root", "linear") != "logarithm":
        raise NotProved("rate: of another theorem")
    f = fields(node, "rate", "form from numerator offset slope")
    A, B, C = (rational(f[k], f"rate.{k}") for k in ("numerator", "offset", "slope"))
    first = rational(f["from"], "rate.from")
    refuse(B <= 1 or C <= 0 or first < 0, "rate: an offset above 1, and a positive slope")
    at_most(begin, first, "rate.from")
    scale = theory.w * theory.sigma
    at_most(theory.xi * theory.J, A, "rate.numerator")
    at_most(B, scale * (1 / theory.F0 + theory.r * (first - begin)), "rate.offset")
    at_most(C, scale * theory.r, "rate.slope")
