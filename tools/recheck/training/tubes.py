"""Gradient descent on random prompts: in a tube around descent on infinite ones, with a probability."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from decisions import at_most, below
from fields import fields, witness_of
from intervals import I, clip, iv, largest, root, smallest, square
from matrices import around, flat, frobenius, identity, matmul, trace, transposed
from outcomes import NotProved
from scalars import natural, positive, probability
from training.in_context import Point, Task, least_eigenvalue, length

TINY = Fraction(1, 2**100)


def chi_moment(d: int, n: int) -> int:
    """E|N(0, I)|^(2n) = d (d + 2) ... (d + 2n - 2)"""
    return math.prod(d + 2 * i for i in range(n))


class Place:
    """What is known of Phi = F(bM - I) at a point (A, b), S = FF' and M = F'AF: |Phi|, l, and E of the gradients."""

    def __init__(self, task: Task, at: Point) -> None:
        """With |FM|^2 = tr(S A S A' S), and Phi Phi' = E S E'."""
        self.task, self.at, S = task, at, task.S
        E, SA = task.error(at), matmul(S, at[0])
        self.FM2 = clip(iv(trace(around(SA, S))), 0)
        self.lip = root(iv(task.most) ** 3 * square(at[1]) + self.FM2)
        self.phi = root(2 * task.risk(at))
        self.grad = length(task.gradient(at))
        # E|grad loss|^2 with u = E x, tau = S A x: E (x'Px)(x'Qx) = tr PS tr QS + 2 tr PSQS
        uu, tt, ut, one = (
            matmul(transposed(E), E),
            matmul(transposed(SA), SA),
            matmul(transposed(E), SA),
            identity(task.d),
        )
        mixed = [[(x + y) / 2 for x, y in zip(r, s, strict=True)] for r, s in zip(ut, transposed(ut), strict=True)]
        SE = matmul(S, E)

        def both(p: list[list[Any]], q: list[list[Any]]) -> Any:
            """The mean of a product of two quadratic forms of x."""
            pS, qS = matmul(p, S), matmul(q, S)
            return trace(pS) * trace(qS) + 2 * trace(matmul(pS, qS))

        along_b = both(uu, tt) + 2 * both(mixed, mixed)
        along_a = both(one, uu) * frobenius(S) + 2 * both(one, matmul(transposed(SE), SE))
        self.square = iv(along_b + square(at[1]) * along_a)

    def reach(self, r: Any) -> I:
        """A bound of |Phi| within r."""
        return self.phi + self.lip * r + square(r) * self.three_halves() / 2

    def three_halves(self) -> I:
        """lambda^(3/2)"""
        return root(iv(self.task.most) ** 3)

    def ceiling(self, r: Any) -> I:
        """A bound of the second derivatives of R within r from above."""
        return square(self.lip + self.three_halves() * r) + self.three_halves() * self.reach(r)

    def floor(self, r: Any, spread: Fraction) -> I:
        """A bound of the mean second derivatives between the point and another one within r, from below, over
        S >= 0 that are within `spread` of I."""
        size, least = self.three_halves(), max(1 - spread, Fraction(0))
        lost = (1 + spread) * (self.lip * r / 2 + size * square(r) / 6) + spread * self.phi
        found = []
        for kappa in (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1)):
            form = self.form(least * (1 - kappa))
            slack = least * (1 / kappa - 1) * square(size * r) / 4 + size * lost
            found.append(iv(least_eigenvalue(form)) - slack)
        return largest(found)

    def form(self, c: Fraction) -> list[list[Any]]:
        """c |Phi'h|^2 + <Phi, Phi''(h, h)> as a matrix, h = (H, beta): Phi'h = beta FM + b S H F and
        <Phi, Phi''(h, h)> = 2 beta <H, K>."""
        S, S2, (A, b), d = self.task.S, self.task.S2, self.at, self.task.d
        across = [
            c * b * x + y for x, y in zip(flat(matmul(S2, matmul(A, S))), flat(self.task.slope(self.at)), strict=True)
        ]
        size = c * square(b)
        pairs = [(i, j) for i in range(d) for j in range(d)]
        rows = [[size * S2[i][k] * S[j][m] for k, m in pairs] for i, j in pairs]
        return [[*row, x] for row, x in zip(rows, across, strict=True)] + [[*across, c * self.FM2]]


def full_batch_descent(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/full-batch-descent.md"""
    given = fields(g, "given", "covariance start step steps prompts")
    asserts, hint = fields(a, "asserts", "risk probability"), witness_of(w, "radius spread", "settled")
    task = Task(given["covariance"])
    at: Point = task.point(given["start"], "start")
    step, steps = positive(given["step"], "step"), natural(given["steps"], "steps", 1, 1000)
    N = natural(given["prompts"], "prompts", 1, 10**15)
    risk, share = positive(asserts["risk"], "risk"), probability(asserts["probability"], "probability")
    radius, spread = positive(hint["radius"], "radius"), positive(hint["spread"], "spread")
    last, within = steps, None
    if hint["settled"] is not None:
        settled = fields(hint["settled"], "settled", "after within")
        last, within = natural(settled["after"], "after", 1, 1000), positive(settled["within"], "within")
        at_most(last, steps, "the last step of the tube")
    d = task.d

    # the tube, s, and the weights a of the squares of the noise
    s, second, fourth = iv(0), iv(0), iv(0)
    place = Place(task, at)
    for k in range(last):
        variance = largest([place.square - square(place.grad), TINY])
        if k == 0:
            weight, part = square(step / iv(radius)), root(variance)
            rest = part * weight
        else:
            slack = largest([1 - step * place.floor(s, spread), step * (1 + spread) * place.ceiling(s) - 1])
            s2, rest = square(slack * s), rest / slack
            weight = rest / root(variance)
        s = root((s2 if k else iv(0)) + step**2 / weight)
        fourth_moment = (place.lip * place.phi * root(iv(3 * (d + 4) * (d + 6))) + place.grad) ** 4
        second += weight * variance / N
        fourth += weight * root(3 * square(variance) / N**2 + fourth_moment / N**3)
        at = task.descended(at, step)
        place = Place(task, at)

    # how often the second moments of the prompts are farther off
    m2, m3, m4 = (chi_moment(d, n) for n in (2, 3, 4))
    whole = m4**2 - 4 * m3**2 + (4 + 2 * d * d) * m2**2 - 3 * d**4
    two = Fraction(m2**2 - d * d, N) / spread**2
    four = (Fraction((m2**2 - d * d) ** 2 + 14 * m2**2 + 2 * d**4, N**2) + Fraction(whole, N**3)) / spread**4
    at_most(smallest([second, square(fourth)]) + min(two, four), share, "the probability of leaving the tube")

    end = square(place.reach(s)) / 2
    if within is None:
        below(end, risk, "the largest risk")
        return
    below(spread, 1, "a spread with which the risk bounds the gradient")
    ball = iv(within)
    lowest = root(gradient_form(place)) - place.three_halves() * ball
    below(0, lowest, "the gradient over the ball")
    c, top, h = square(lowest) * (1 - spread), (1 + spread) * place.ceiling(ball), (1 + spread) * end
    at_most(step * top, 1, "a gentle step")
    u = 1 - step * top / 2
    below(s + root(2 * h / c) / u, within, "how far a run comes")
    below((1 - 2 * step * u * c) ** (steps - last) * h / (1 - spread), risk, "the largest risk")


def gradient_form(place: Place) -> I:
    """A bound from below of |Phi''y|^2 = b^2 tr(y'S^2 y F'F) + <y, FM>^2, |y| = 1, for S = FF', M = F'AF."""
    task, (A, b), d = place.task, place.at, place.task.d
    F = cholesky(task.S)
    FF, FM = matmul(transposed(F), F), flat(matmul(task.S, matmul(A, F)))
    pairs = [(i, j) for i in range(d) for j in range(d)]
    rows = [[square(b) * task.S2[i][k] * FF[j][m] for k, m in pairs] for i, j in pairs]
    form = [[x + p * q for x, q in zip(row, FM, strict=True)] for row, p in zip(rows, FM, strict=True)]
    least = least_eigenvalue(form)
    if least <= 0:
        raise NotProved("the gradient over the ball: nothing bounds it from below")
    return iv(least)


def cholesky(S: list[list[Any]]) -> list[list[I]]:
    """F, lower triangular, with FF' = S."""
    n = len(S)
    F = [[iv(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = iv(S[i][j]) - sum((F[i][k] * F[j][k] for k in range(j)), start=iv(0))
            F[i][j] = root(rest) if i == j else rest / F[j][j]
    return F
