"""Probabilities that a random prompt is far from the infinite one: output-tail, gradient-tail, typical-prompt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import intervals
from algebra import convolve, raised, semidefinite
from arrays import Matrix, Vector, matrix, vector
from decisions import at_most, same
from fields import fields, items, listed, one_of, refuse, some, witness_of
from functions import exp, log, mills, pi, upper
from intervals import I, absolute, clip, ends_of, hull, iv, largest, root, smallest, square, summed
from laws import Law, second_moments, series
from matrices import around, gram, identity, less_unit, times, trace, transposed
from outcomes import NotCovered, NotProved, Rejected, Undecided
from prompts.balls import lengths, over_ball
from prompts.gaussians import RANDOM, tilt_of
from prompts.inversions import positive_part, wave_of
from prompts.norm_moments import Split, covariance_moment, mean_moment, order_of
from prompts.ranges import starts_of, worst
from scalars import natural, positive, probability, rational
from softmax import Prompt, length_of, means, scale_iv
from vectors import dot, minus, norm2, plus
from weight_means import FiniteMeans, collisions, exactly, logistic


def gaussians(law: Law) -> Iterator[tuple[Fraction, Vector, Matrix]]:
    """The parts of a law that is made of Gaussians and atoms: weight, mean, covariance."""
    if law.kind == "gaussian":
        yield Fraction(1), law.mean, law.cov
    elif law.kind == "atoms":
        for w, y in zip(law.weights, law.points, strict=True):
            yield w, y, [[Fraction(0)] * law.d] * law.d
    elif law.kind == "mixture":
        for w, part in zip(law.weights, law.parts, strict=True):
            yield from ((w * x, m, c) for x, m, c in gaussians(part))
    else:
        raise Rejected("truncated and chernoff without an order: for Gaussians, atoms and their mixtures")


def grid() -> tuple[Fraction, int]:
    """The width of cells and the end of the range of integrals over N(0, 1): finer with every doubling of P."""
    n = (intervals.P // 96).bit_length() - 1
    return Fraction(1, 64 * 4**n), 10 + n


class Jet:
    """A function of one variable with its first two derivatives, enclosed over an interval."""

    __slots__ = ("f", "f1", "f2")

    def __init__(self, f: I, f1: I, f2: I) -> None:
        self.f, self.f1, self.f2 = f, f1, f2

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.f + other.f, self.f1 + other.f1, self.f2 + other.f2)
        return Jet(self.f + other, self.f1, self.f2)

    def __sub__(self, other: Any) -> Jet:
        return self + (other * -1 if isinstance(other, Jet) else -iv(other))

    def __mul__(self, other: Any) -> Jet:
        """The product rule."""
        if isinstance(other, Jet):
            second = self.f2 * other.f + 2 * (self.f1 * other.f1) + self.f * other.f2
            return Jet(self.f * other.f, self.f1 * other.f + self.f * other.f1, second)
        return Jet(self.f * other, self.f1 * other, self.f2 * other)

    def chain(self, value: I, first: I, second: I) -> Jet:
        """F(f) from F, F' and F'' at f."""
        return Jet(value, first * self.f1, second * square(self.f1) + first * self.f2)

    def exp(self) -> Jet:
        """e^f"""
        e = exp(self.f)
        return self.chain(e, e, e)

    def inverse(self) -> Jet:
        """1/f"""
        r = 1 / self.f
        return self.chain(r, -square(r), 2 * square(r) * r)

    def tail(self) -> Jet:
        """Q(f): Q' = -phi, Q'' = f phi."""
        density = exp(-square(self.f) / 2) / root(2 * pi())
        return self.chain(upper(self.f), -density, self.f * density)

    def mills(self) -> Jet:
        """R = e^(f^2/2) Q(f), f > 0: R' = f R - 1/sqrt(2 pi), R'' = R + f R'."""
        r = mills(self.f)
        first = self.f * r - 1 / root(2 * pi())
        return self.chain(r, first, r + self.f * first)


def integrals(jets: Callable[[I], Sequence[Jet]], low: Fraction, high: Fraction, cells: int) -> list[I]:
    """Integrals of functions from `low` to `high`: the midpoint rule with its remainder on each cell."""
    size = (high - low) / cells
    across, found = I(iv(-size / 2).a, iv(size / 2).b), []
    for i in range(cells):
        middle = iv(low + size * i + size / 2)
        both = zip(jets(middle), jets(middle + across), strict=True)
        found.append([here.f * size + there.f2 * (size**3 / 24) for here, there in both])
    return [summed(column) for column in transposed(found)]


class Tails:
    """Bounds of probabilities that softmax means over L tokens of a law are off, by the witness's rules."""

    def __init__(
        self, law: Law, a: list[Any], L: int, scale: tuple[Fraction, int], base: Vector, onwards: bool = False
    ) -> None:
        """The tilt a = scale * base, its log-MGF and tilted mean; L tokens, or with `onwards` at least L."""
        self.law, self.a, self.L, self.scale, self.base = law, a, L, scale, base
        self.last = None if onwards else L  # None: no end
        self.value, self.tau = law.tilted(a)
        self.known: dict[Any, tuple[I, I]] = {}

    def mean_square(self, V: Matrix, L: int, onwards: bool, most: Fraction = Fraction(0)) -> Any:
        """E|T_L - T|^2, or a bound of it: for all lengths from L on one that falls."""
        if self.law.kind != "gaussian":
            means = FiniteMeans(self.law, self.a, self.base, L)
            return means.falling(V)[0] if onwards else means.mean_square(V)
        b = times(self.law.cov, self.a)
        S, B = trace(around(V, self.law.cov)), norm2(times(V, b))
        closed = (S + B) * logistic(dot(self.a, b), L)
        if onwards or closed.b <= iv(most).a:
            return closed
        return exactly(collisions(dot(self.a, b), L), S, B)

    def split(self) -> Split:
        """For moments of norms, of Gaussian tokens."""
        refuse(self.law.kind != "gaussian", "moment: for Gaussian tokens")
        return Split(self.law.cov, self.base, self.scale[0])

    def by_method(self, node: Any, V: Matrix, eps: Fraction, most: Fraction) -> Any:
        """A bound of P(|V (tau_L - tau)| > eps) by the method mean-square, if it is below `most`, or moment."""
        f = fields(node, "witness", "method", "order from")
        moment = one_of(f["method"], "method", "mean-square", "moment") == "moment"
        refuse(not moment and f["order"] is not None, "order: for the method moment")
        p, split, onwards = order_of(node, 8) if moment else 2, self.split() if moment else None, self.last is None

        def mean_at(n: int) -> Any:
            """E|V (tau_n - tau)|^p / eps^p"""
            return (mean_moment(split, V, p, n) if split else self.mean_square(V, n, False)) / eps**p

        if f["from"] is not None:
            starts = starts_of(f["from"], self.L, onwards)
            return worst(starts, mean_at, lambda n: self.mean_square(V, n, True) / eps**2)
        if not split:
            return self.mean_square(V, self.L, onwards, most * eps * eps) / eps**2
        if onwards:
            raise NotProved("a moment at one length for every length")
        return mean_at(self.L)

    def moments(self, u: Sequence[Any], v: Sequence[Any] | None, shift: Any, top: int) -> list[Any]:
        """E Y^k for k <= top, Y = w (<u, y> + shift), or w (<u, y><v, y> + shift), y = x - tau."""
        found: list[Any] = [iv(1)]
        for k in range(1, top + 1):
            q = 0 if v is None else k
            f = series(self.law, [k * x for x in self.a], u, u if v is None else v, k, q)
            for direction in (u, v):  # each time in the first of both variables, which change places
                if direction is not None:
                    e: list[Any] = [iv(1)]
                    for i in range(1, k + 1):
                        e.append(e[-1] * -dot(direction, self.tau) / i)
                    f = [convolve(r, e, k) for r in transposed(f)]
            f = f if v is not None else transposed(f)
            norm, total = exp(-self.value * k), iv(0)
            for i in range(k + 1):
                joint = f[i][0] * math.factorial(i) if v is None else f[i][i] * math.factorial(i) ** 2
                total += joint * iv(shift) ** (k - i) * math.comb(k, i)
            found.append(total * norm)
        return found

    def bound(self, rule: dict[str, Any], u: Vector, v: Vector | None, mean: Any, eps: Fraction) -> Any:
        """A bound of P(sum Y > 0), Y = w (<u, y> - eps), or w (<u, y><v, y> - mean - eps): E Y = -eps.

        For all lengths of the prompt: of rules by length the largest, each over its own range.
        """
        if not isinstance(rule, dict) or rule.get("rule") != "by-length":
            return self.between(self.L, self.last, rule, u, v, mean, eps)
        f = fields(rule, "rule", "rule from rules")
        starts, rules = starts_of(f["from"], self.L, self.last is None), listed(f["rules"], "rule.rules")
        same(len(rules), len(starts), "the number of rules by length")
        ends: list[int | None] = [*(x - 1 for x in starts[1:]), None]
        spans = zip(starts, ends, rules, strict=True)
        return largest([iv(self.between(first, last, one, u, v, mean, eps)) for first, last, one in spans])

    def between(
        self, L: int, last: int | None, rule: dict[str, Any], u: Vector, v: Vector | None, mean: Any, eps: Fraction
    ) -> Any:
        """A bound for all lengths from L to the last one."""
        if rule.get("rule") == "inversion":
            refuse(v is not None or last != L, "inversion: of means only, for one length")
            return self.inverted(rule, u, eps, L)
        name = one_of(rule.get("rule"), "rule", "cantelli", "moment", "chernoff", "truncated", "exact")
        of_rule = {"moment": "order", "chernoff": "lambda order", "truncated": "lambda cap"}
        f = fields(rule, "rule", "rule", of_rule.get(name, ""))
        if name == "exact":
            return self.exact(u, v, eps, L)
        refuse(eps <= 0, "a rule other than exact for a height of 0")
        if name == "chernoff" and self.law.kind == "atoms" and f["order"] is not None:
            raise Rejected("rule.order: atoms need none")
        p = 2 if name == "cantelli" else 0
        if name == "moment" or f.get("order") is not None:
            p = natural(f["order"], "rule.order", 2, 100 if v is None else 24)
            refuse(p % 2, "rule.order: even")
        lam = positive(f["lambda"], "rule.lambda") if name in ("chernoff", "truncated") else Fraction(0)
        if name == "truncated" or (not p and self.law.kind != "atoms"):
            refuse(v is not None, "truncated and chernoff without an order: for means only")
            cap = positive(f["cap"], "rule.cap") if name == "truncated" else None
            return self.truncated(u, eps, lam, cap, L, last)
        shift = -eps - mean
        if not p:
            each = [exp(lam * self.summand(y, u, v, shift)) for y in self.law.points]
            return power_of(log(iv(dot(self.law.weights, each))), L, last)
        ys = self.moments(u, v, shift, p)
        ds = [summed(ys[i] * eps ** (j - i) * math.comb(j, i) for i in range(j + 1)) for j in range(p + 1)]
        if name == "cantelli":
            return ds[2] / (ds[2] + L * eps * eps)
        coefficients = [x / math.factorial(j) for j, x in enumerate(ds)]
        coefficients[1] = iv(0)  # E D = 0 exactly
        if name == "moment" and last == L:
            return raised(coefficients, L, p)[p] * math.factorial(p) / (L * eps) ** p
        if name == "moment":
            return falling_moment(coefficients, L) * math.factorial(p) / eps**p
        top = largest([self.top(self.law, u, v, mean, eps), iv(0)])
        # e^(lam D) <= sum of j < p + (lam D)^p rest, p even, rest = sum_m (lam top)^m / (m + p)!, which begins at 1/p!
        y, term, rest, m = top * lam, iv(Fraction(1, math.factorial(p))), iv(0), 0
        while term.b > 1 or (m + p + 1) << intervals.P < 2 * y.b:
            rest += term
            m += 1
            term = term * y / (m + p)
        rest += hull(0, 2 * term) + I(0, 4)
        total = summed(x * lam**j for j, x in enumerate(coefficients[:p])) + ds[p] * lam**p * rest
        return power_of(log(total) - lam * eps, L, last)

    def inverted(self, rule: dict[str, Any], u: Vector, eps: Fraction, L: int) -> I:
        """The probability itself, of Gaussians with noise of their own; step and terms are chosen anew."""
        f = fields(rule, "rule", "rule step terms")
        positive(f["step"], "rule.step"), natural(f["terms"], "rule.terms", 1)
        refuse(eps <= 0, "a rule other than exact for a height of 0")
        waves = []
        for weight, mean, cov in gaussians(self.law):
            gb = times(cov, self.base)
            bb, ub, uu = dot(self.base, gb), dot(u, gb), dot(u, times(cov, u))
            al, mu = iv(dot(self.a, mean)) - self.value, iv(dot(u, mean)) - dot(u, self.tau) - eps
            waves.append(wave_of(weight, al, mu, self.scale, (bb, ub, uu)))
        ys = self.moments(u, None, -eps, 8)
        ds = [summed(ys[i] * eps ** (j - i) * math.comb(j, i) for i in range(j + 1)) for j in range(9)]
        coefficients = [x / math.factorial(j) for j, x in enumerate(ds)]
        coefficients[1] = iv(0)  # E D = 0 exactly
        even = [raised(coefficients, L, p)[p] * math.factorial(p) for p in (2, 4, 6, 8)]
        return clip(positive_part(waves, L, eps, even), 0, 1)

    def outside(self, frame: Matrix, levels: Vector, rules: list[Any], back: Matrix) -> I:
        """A bound of P(|<f, y>| exceeds its level for some f of a frame of outputs), `back` being V'."""
        both = ((u, e) for f, e in zip(frame, levels, strict=True) for u in (f, [-x for x in f]))
        pairs = zip(both, rules, strict=True)
        return summed(self.bound(rule, times(back, u), None, 0, e) for (u, e), rule in pairs)

    def summand(self, y: Vector, u: Vector, v: Vector | None, shift: Any) -> I:
        """Y at an atom."""
        rest = minus(y, self.tau)
        form = dot(u, rest) * (1 if v is None else dot(v, rest))
        return exp(dot(self.a, y) - self.value) * (form + shift)

    def top(self, law: Law, u: Vector, v: Vector | None, mean: Any, eps: Fraction) -> I:
        """An upper bound of D = Y + eps: over atoms the largest; else by r <= e^(r - 1), for the best of some theta."""
        if law.kind == "mixture":
            return largest([self.top(part, u, v, mean, eps) for part in law.parts])
        if law.kind == "atoms":
            return largest([self.summand(y, u, v, -eps - mean) + eps for y in law.points])
        refuse(law.kind == "gaussian", "a rule that does not apply to Gaussian tokens")

        def reach(b: Sequence[Any]) -> I:
            """max <b, x> over the support"""
            if law.kind in ("sphere", "ball"):
                return root(summed(square(iv(x)) for x in b) * law.r2) + dot(b, law.centre)
            return summed(absolute(x) * c for x, c in zip(b, law.sizes, strict=True)) + dot(b, law.centre)

        best: I | None = None
        for step in range(-12, 13):
            theta = Fraction(2) ** (step // 2) * (Fraction(3, 2) if step % 2 else 1)
            if v is None:
                h = reach([x + theta * y for x, y in zip(self.a, u, strict=True)])
                now = exp(h - theta * (dot(u, self.tau) + eps) - 1 - self.value) / theta + eps
            else:
                s = plus(u, v)
                both = ((reach([x + t * y for x, y in zip(self.a, s, strict=True)]), t) for t in (theta, -theta))
                ends = [exp(h - t * dot(s, self.tau) - self.value - 2) for h, t in both]
                rest = largest([iv(-mean - eps), iv(0)]) * exp(reach(self.a) - self.value)
                now = largest(ends) / theta**2 + eps + rest
            best = now if best is None or now.b < best.b else best
        return best or iv(0)

    def truncated(self, u: Vector, eps: Fraction, lam: Fraction, cap: Fraction | None, L: int, last: int | None) -> I:
        """An upper bound of 1 - (1 - P(A))^L + (E e^(lam Y) off A)^L, as an interval from 0 on: (2) of output-tail.

        The first part grows with the length, and the second falls: without a cap A is empty.
        """
        refuse(cap is not None and last is None, "truncated: some token of a long prompt exceeds the cap")
        bad, good = iv(0), iv(0)
        for weight, mean, cov in gaussians(self.law):
            key = tuple(map(str, (weight, mean, cov, u, eps, lam, cap, intervals.P))) if len(u) < 9 else None
            if key not in self.known or key is None:
                self.known[key] = self.part(mean, cov, u, eps, lam, cap)
            one, two = self.known[key]
            bad, good = bad + one * weight, good + two * weight
        bad, good = ends_of(bad)[1], ends_of(good)[1]
        if bad.b >= 1 << intervals.P:
            return I(0, (1 << intervals.P) + max(good.b, 0))  # every probability is at most 1
        total = (1 - exp(log(1 - bad) * (last or L)) if cap is not None else iv(0)) + power_of(log(good), L, last)
        return I(0, total.b)  # an upper bound only: it verifies, and never shows that a statement is false

    def part(
        self, mean: Vector, cov: Matrix, u: Vector, eps: Fraction, lam: Fraction, cap: Fraction | None
    ) -> tuple[I, I]:
        """Upper ends of P(A) and E[e^(lam Y); not A] for one part: Y = w (mu + c g + sigma h), w = e^(al + s g)."""
        gb = times(cov, self.base)
        bb, ub, uu = dot(self.base, gb), dot(u, gb), dot(u, times(cov, u))
        al = iv(dot(self.a, mean)) - self.value
        mu = iv(dot(u, mean)) - dot(u, self.tau) - eps
        s = root(self.scale[0] * bb)
        c = self.scale[1] * ub / root(bb) if ub else iv(0)
        sigma2 = uu - ub * ub / bb if bb else uu
        if not bb or not sigma2:
            return self.flat(al, mu, s if bb else None, c, ub * self.scale[1], sigma2, lam, cap)
        refuse(cap is None, "chernoff: the output is not known to be bounded above")
        sigma, (h, G) = root(sigma2), grid()

        def jets(g: I) -> tuple[Jet, Jet]:
            """phi(g) Q(e) and phi(g) e^(x + t^2/2) Q(k), as functions of g."""
            x = Jet(g, iv(1), iv(0))
            w = (x * s + al).exp()
            e = (w.inverse() * cap - x * c - mu) * (1 / sigma)
            t = w * (sigma * lam)
            k = t - e
            density = (x * x * Fraction(-1, 2)).exp()
            if k.f.a > 1 << intervals.P:
                return density * e.tail(), density * (e * e * Fraction(-1, 2) + lam * cap).exp() * k.mills()
            return density * e.tail(), density * (w * (x * c + mu) * lam + t * t * Fraction(1, 2)).exp() * k.tail()

        bad, good = integrals(jets, Fraction(-G), Fraction(G), int(2 * G / h))
        scale = 1 / root(2 * pi())
        return bad * scale + 2 * upper(iv(G)), good * scale + 2 * exp(lam * cap) * upper(iv(G))

    def flat(
        self, al: I, mu: I, s: I | None, c: I, c_sign: Fraction, sigma2: Fraction, lam: Fraction, cap: Fraction | None
    ) -> tuple[I, I]:
        """The parts with s = 0 or sigma = 0. A is an interval of g, chosen in floats: any would do."""
        if s is None:
            w = exp(al)
            if not sigma2:
                y = w * mu
                if cap is not None and (y - cap).a > 0:
                    return iv(1), iv(0)
                return iv(0), exp(lam * y)
            refuse(cap is None, "chernoff: the output is not known to be bounded above")
            sigma = root(sigma2)
            e, t = (cap / w - mu) / sigma, lam * w * sigma
            return upper(e), exp(lam * w * mu + t * t / 2) * upper(t - e)
        refuse(cap is None and c_sign >= 0, "chernoff: the output is not known to be bounded above")
        h, G = grid()
        fs, fc, fm, fa = (x.about() for x in (s, c, mu, al))

        def value(g: Any) -> I:
            """f(g) = e^(al + s g) (mu + c g)"""
            return exp(al + s * g) * (mu + c * g)

        def crossing(low: float, high: float, up: bool) -> Fraction:
            """About where f passes the cap."""
            for _ in range(60):
                middle = (low + high) / 2
                inside = math.exp(fa + fs * middle) * (fm + fc * middle) > float(cap or 0)
                low, high = (low, middle) if inside == up else (middle, high)
            return Fraction(round(low * 2**30), 2**30)

        g1, g2 = Fraction(G), Fraction(G)  # A = (g1, g2), empty
        if c_sign >= 0:
            g1 = crossing(-G, G, True)
            worst, bad = value(g1), upper(iv(g1))
            if c_sign == 0 and mu.b <= 0:
                g1, worst, bad = Fraction(G), iv(0), iv(0)
        else:
            peak = -1 / s - mu / c
            worst, bad = exp(al + s * peak) * (mu + c * peak), iv(0)
            if cap is not None and (worst - cap).a > 0:
                top = peak.about()
                g1, g2 = crossing(min(-64.0, top), top, True), crossing(top, max(64.0, top), False)
                if not (iv(g1).b <= peak.a and peak.b <= iv(g2).a):
                    raise Undecided("the peak of an output")
                worst, bad = largest([value(g1), value(g2)]), I(0, (upper(iv(g1)) - upper(iv(g2))).b)
        H = largest([worst, iv(0)]) * lam

        def jet(g: I) -> list[Jet]:
            """phi(g) e^(lam f(g)) times sqrt(2 pi)"""
            x = Jet(g, iv(1), iv(0))
            return [(x * x * Fraction(-1, 2) + (x * s + al).exp() * (x * c + mu) * lam).exp()]

        pieces = [(Fraction(-G), min(max(g1, Fraction(-G)), Fraction(G)))]
        if c_sign < 0 and g2 > g1:
            pieces.append((max(min(g2, Fraction(G)), Fraction(-G)), Fraction(G)))
        parts = [integrals(jet, low, high, math.ceil((high - low) / h)) for low, high in pieces if low < high]
        good = summed(map(summed, parts))
        return bad, good / root(2 * pi()) + 2 * exp(H) * upper(iv(G))

    def exact(self, u: Vector, v: Vector | None, eps: Fraction, L: int) -> Any:
        """0 where an output is the same for all tokens."""
        for direction in [u] if v is None else [u, v]:
            if constant(self.law, direction):
                return Fraction(0)
        if v is None and self.law.kind == "gaussian" and not any(times(self.law.cov, self.base)):
            return upper(root(eps * eps * L / dot(u, times(self.law.cov, u))))
        raise NotCovered("the rule exact where the output varies")


def power_of(log_mean: I, L: int, last: int | None) -> I:
    """The power of a mean for all lengths from L to the last; as a bound of probabilities it is at most 1."""
    return exp((log_mean if last == L else smallest([log_mean, iv(0)])) * L)


def falling_moment(coefficients: list[Any], L: int) -> I:
    """An upper bound of [t^p] f^n / n^p for all n >= L: the positive terms of f^n = sum_k n^k log(f)^k / k!."""
    p = len(coefficients) - 1
    logs: list[Any] = [iv(0)]  # of f, by n f_n = sum_k k g_k f_(n-k)
    for n in range(1, p + 1):
        logs.append(coefficients[n] - summed(k * logs[k] * coefficients[n - k] for k in range(1, n)) / n)
    total, powers = iv(0), logs
    for k in range(1, p // 2 + 1):  # log f begins with t^2
        total += largest([iv(powers[p]), iv(0)]) / (math.factorial(k) * L ** (p - k))
        powers = convolve(powers, logs, p)
    return total


def constant(law: Law, u: Vector) -> bool:
    """Whether <u, x> is the same for all tokens, exactly."""
    if law.kind == "truncated-gaussian" or not any(u):
        return not any(u)
    if law.kind == "mixture":
        alone = all(constant(part, u) for part in law.parts)
        return alone and len({dot(u, second_moments(part)[0]) for part in law.parts}) == 1
    return dot(u, times(second_moments(law)[1], u)) == 0


def frame_of(node: Any, where: str, size: int, extra: str = "levels bounds") -> tuple[Matrix, Vector, list[Any]]:
    """A frame, sum f f' - I positive semidefinite, its levels, and rules for + and - of every vector."""
    f = fields(node, where, "frame " + extra)
    frame, levels, rules = matrix(f["frame"], where, None, size), vector(f["levels"], where), listed(f["bounds"], where)
    semidefinite(less_unit(gram(frame)), f"{where}: the frame")
    if len(levels) != len(frame) or min(levels) < 0 or len(rules) != 2 * len(frame):
        raise Rejected(f"{where}: a level for each vector, and two rules")
    return frame, levels, rules


def output_tail(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/output-tail.md, for the rules that need no integrals."""
    if "queries" in g:
        over_ball(g, a, w)
        return
    given = fields(g, "given", "law length", RANDOM)
    law = Law(given["law"])
    tilt, _, V, scale, base = tilt_of(given, law)
    L, onwards = lengths(given["length"], "length")
    tails_of(Tails(law, tilt, L, scale, base, onwards), V, a, w)


def tails_of(tails: Tails, V: Matrix, a: dict[str, Any], w: Any) -> None:
    """Directions and norms of output-tail and typical-prompt."""
    asserts, hint = some(a, "asserts", "directions norm"), witness_of(w, "", "directions norm")
    if any((asserts[k] is None) != (hint[k] is None) for k in asserts):
        raise Rejected("asserts and witness: directions, norm or both, with rules for each")
    back = transposed(V)
    stated = items(asserts["directions"], "directions")
    same(len(stated), len(hint["directions"] or []), "the number of rules")
    for node, rule in zip(stated, hint["directions"] or [], strict=True):
        f = fields(node, "directions", "direction exceeds", "probability at_least")
        refuse(f["probability"] is None and f["at_least"] is None, "directions: a bound of the probability")
        eps = positive(f["exceeds"], "directions.exceeds")
        u = times(back, vector(f["direction"], "direction", len(V)))
        bound = tails.bound(rule, u, None, 0, eps)
        if f["probability"] is not None:
            at_most(bound, probability(f["probability"], "probability"), "directions")
        if f["at_least"] is not None:
            refuse(
                tails.last is None or rule.get("rule") not in ("inversion", "exact"), "at_least: one length, exactly"
            )
            at_most(probability(f["at_least"], "at_least"), bound, "directions, from below")
    if asserts["norm"] is not None:
        f = fields(asserts["norm"], "norm", "norm exceeds probability")
        eps, norm = rational(f["exceeds"], "exceeds"), one_of(f["norm"], "norm", "l2", "linf")
        if isinstance(hint["norm"], dict) and "method" in hint["norm"]:
            refuse(eps <= 0, "norm.exceeds: positive")
            most = probability(f["probability"], "probability")
            at_most(tails.by_method(hint["norm"], V, eps, most), most, "norm")
            return
        if norm == "linf":
            rules = listed(fields(hint["norm"], "witness.norm", "bounds")["bounds"], "bounds")
            frame, levels = identity(len(V)), [eps] * len(V)
            same(len(rules), 2 * len(V), "the number of rules")
        else:
            frame, levels, rules = frame_of(hint["norm"], "witness.norm", len(V))
            at_most(norm2(levels), eps * eps, "witness.norm: the levels")
        total = tails.outside(frame, levels, rules, back)
        at_most(total, probability(f["probability"], "probability"), "norm")


def typical_prompt(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/typical-prompt.md: this prompt as in output-deviation, random ones as in output-tail."""
    given = fields(g, "given", "tokens queries law", "K Q U V scale")
    p, law = Prompt({**given, "keys": None, "values": None}), Law(given["law"])
    (q,) = matrix(given["queries"], "given.queries", 1, p.dim)
    refuse(law.d != len(p.V[0]), "given.law: another dimension than the tokens")
    base = times(p.U, q)
    tails = Tails(law, [scale_iv(p.scale) * x for x in base], len(p.keys), p.scale, base)
    out = means(p.softmax(q)[0], transposed(p.values), p.dv)
    gap = minus(out, times(p.V, tails.tau))
    asserts = fields(a, "asserts", "", "directions norm")
    for node in asserts["directions"] or []:
        f = fields(node, "directions", "direction exceeds probability")
        u = vector(f["direction"], "direction", len(gap))
        at_most(dot(u, gap), rational(f["exceeds"], "exceeds"), "here.directions")
    if asserts["norm"] is not None:
        f = fields(asserts["norm"], "norm", "norm exceeds probability")
        far = length_of(gap, one_of(f["norm"], "norm", "l2", "linf"))
        at_most(far, rational(f["exceeds"], "exceeds"), "here.norm")
    tails_of(tails, p.V, a, w)


def gradient_tail(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/gradient-tail.md"""
    given = fields(g, "given", "law length", RANDOM)
    law, (L, onwards) = Law(given["law"]), lengths(given["length"], "length")
    tilt, z, V, scale, base = tilt_of(given, law)
    f = fields(a, "asserts", "gradient exceeds probability")
    kind, eps = one_of(f["gradient"], "gradient", "U", "V"), positive(f["exceeds"], "asserts.exceeds")
    share, tails = probability(f["probability"], "probability"), Tails(law, tilt, L, scale, base, onwards)
    plain = identity(law.d) == V
    need = "tokens" if kind == "V" else "tokens entries" + ("" if plain else " outputs")
    if isinstance(w, dict) and "method" in w:
        p = order_of(w, 4 if kind == "U" else 8)
        refuse(kind == "U" and (z is None or "from" in w), "given.query: needed for the gradient in U, and no ranges")
        if kind == "V":
            at_most(tails.by_method(w, identity(law.d), eps, share), share, "probability")
            return
        if onwards:
            raise NotProved("a moment at one length for every length")
        factor = (scale[0] * norm2(z or [])) ** (p // 2)
        at_most(covariance_moment(tails.split(), V, p, L) * factor, share * eps**p, "probability")
        return
    hint = fields(w, "witness", need)
    G, b, rules = frame_of(hint["tokens"], "witness.tokens", law.d)
    total = tails.outside(G, b, rules, identity(law.d))
    if kind == "V":
        at_most(norm2(b), eps * eps, "witness.tokens: the levels")
        at_most(total, share, "probability")
        return
    refuse(z is None, "given.query: needed for the gradient in U")
    F, c = G, b
    if not plain:
        F, c, rules = frame_of(hint["outputs"], "witness.outputs", len(V))
        total += tails.outside(F, c, rules, transposed(V))
    entries = fields(hint["entries"], "witness.entries", "levels bounds")
    E = matrix(entries["levels"], "witness.entries.levels", len(F), len(G))
    if min(map(min, E)) < 0 or (plain and transposed(E) != E):
        raise Rejected("witness.entries.levels: not negative, and symmetric where V = I")
    square_ = sum((E[i][j] + c[i] * b[j]) ** 2 for i in range(len(F)) for j in range(len(G)))
    at_most(scale[0] * norm2(z) * square_, eps * eps, "witness.entries: the levels")
    places = [(i, j) for i in range(len(F)) for j in range(i if plain else 0, len(G))]
    rules = listed(entries["bounds"], "witness.entries.bounds")
    same(len(rules), 2 * len(places), "the number of rules of entries")
    for n, rule in enumerate(rules):
        i, j = places[n // 2]
        u = [x if n % 2 == 0 else -x for x in times(transposed(V), F[i])]
        one = tails.moments(u, G[j], Fraction(0), 1)[1]  # E w <u, y><v, y> = <u, C v>
        total += tails.bound(rule, u, G[j], one, E[i][j])
    at_most(total, share, "probability")
