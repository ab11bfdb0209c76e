"""Means over random prompts whose scores take finitely many values: atoms, signs, and mixtures of them.

L independent tokens x_i with the weights w_i = e^(<a, x_i> - Lambda(a)), E w = 1, Z = sum w_i, softmax weights
p_i = w_i / Z. Let P = sum over k-tuples of tokens of p_(i_1)..p_(i_k) f(x_(i_1), .., x_(i_k)). For lambda = e^t

    E P (lambda Z)^k e^(-lambda Z) = sum over b of L (L-1) .. (L-b+1) F_b(t) phi(lambda)^(L-b),   phi = E e^(-lambda w),

F_b the sum, over the ways in which k indices agree in b classes, of means over independent tokens of products of
(lambda w)^(size of the class) e^(-lambda w). Z lies in [L w_min, L w_max], and for all Z there h times the sum of
e_k(t + log Z), e_k(x) = e^(kx) exp(-e^x), over nodes t = j h is Gamma(k) (1 + theta), |theta| <= one delta. So

    h sum over j of E P (lambda_j Z)^k e^(-lambda_j Z)  =  Gamma(k) (E P + theta E|P|),   |theta| <= delta:

for P >= 0 the error is relative. delta is the sum of

    strip   2 / (cos^k b (e^(2 pi b/h) - 1)),  b < pi/2: int |e_k(r + ib)| dr = Gamma(k) / cos^k b
    left    (lambda_first L w_max)^k h / (e^(kh) - 1) / Gamma(k):  e_k(x) <= e^(kx), a geometric series
    right   Gamma(k, lambda_last L w_min) / Gamma(k):  e_k falls from log k on

`docs/claims/prompts/output-mean-square.md` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.mathematics.balls import row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Law, Rademacher, Shifted, dot, leaves
from certattn.kernel.mathematics.lognormal_laplace import STRIP, strip_error, within

# Nodes times scores, beyond which an answer is no longer worth the wait.
_MOST_ENTRIES = 1_000_000

Rows = list[list[arb]]


class TooManyError(Exception):
    """There are more scores or tokens than are summed over; it says how many may be."""


def has_finite_scores(law: Law[fmpq]) -> bool:
    """Whether it is made of atoms and signs alone."""
    return all(isinstance(part, Atoms) or signs_about(part) is not None for _, part in leaves(law, fmpq(1)))


def signs_about(law: Law[fmpq]) -> tuple[Rademacher[fmpq], ExactMatrix] | None:
    """Signs and their centre, a row; None of another law."""
    if isinstance(law, Rademacher):
        return law, ExactMatrix.zero(1, law.dimension)
    if isinstance(law, Shifted) and isinstance(law.law, Rademacher):
        return law.law, ExactMatrix.row_vector(law.centre)
    return None


class FiniteScores:
    """Means over prompts of `length` tokens of these scores and probabilities, at the working precision.

    Of the degrees k from `lowest` to `highest`.
    """

    def __init__(
        self, scores: Sequence[arb], masses: Sequence[fmpq], length: int, lowest: int = 2, highest: int = 2
    ) -> None:
        self.length, self.masses = length, row_of_balls(masses)
        top = _largest(scores)
        shift = dot(self.masses, [(score - top).exp() for score in scores]).log() + top
        exponents = [score - shift for score in scores]
        self.weights = [exponent.exp() for exponent in exponents]
        self._high, self._low = _largest(exponents), -_largest([-exponent for exponent in exponents])
        # Any nodes are sound; these give about three quarters of the working precision. 7/10 stands for log 2.
        nats = fmpq(7, 10) * (ctx.prec * 3 // 4)
        self.steps = int(((nats + 3 * highest + 2) / 9).ceil())
        first = -arb(length).log() - self._high - nats / lowest - 1
        last = -arb(length).log() - self._low + arb(2 * nats + 2 * highest).log()
        nodes = range(_floor(first * self.steps), _floor(last * self.steps) + 2)
        # Too many would take too long; the first alone leaves an error that says nothing.
        fits = len(nodes) * len(scores) <= _MOST_ENTRIES
        self._rates = [arb(j * self.step).exp() for j in (nodes if fits else nodes[:1])]

    @property
    def step(self) -> fmpq:
        """h."""
        return fmpq(1, self.steps)

    @cached_property
    def _decays(self) -> arb_mat:
        """e^(-lambda w), nodes by scores."""
        return arb_mat([[(-rate * weight).exp() for weight in self.weights] for rate in self._rates])

    @cached_property
    def _falls(self) -> arb_mat:
        """e^(-lambda w) - 1, nodes by scores."""
        return arb_mat([[(-rate * weight).expm1() for weight in self.weights] for rate in self._rates])

    def psi(self, k: int, parts: Rows) -> Rows:
        """E (lambda w)^k f e^(-lambda w) at the nodes, for a list of f: `parts` has E[f; score] for every score."""
        return self._transform(self._decays, k, parts)

    def centred(self, parts: Rows) -> Rows:
        """The same of k = 1 where E w f = 0, and so also with e^(-lambda w) - 1 for e^(-lambda w).

        Of the two sums this one loses nothing for small lambda, and the other one nothing for large lambda.
        """
        both = self._transform(self._falls, 1, parts), self._transform(self._decays, 1, parts)
        return [[x if x.rad() < y.rad() else y for x, y in zip(*rows, strict=True)] for rows in zip(*both, strict=True)]

    def _transform(self, decays: arb_mat, k: int, parts: Rows) -> Rows:
        weighted = [[weight**k * x for x in row] for weight, row in zip(self.weights, parts, strict=True)]
        rows = (decays * arb_mat(weighted)).tolist()
        return [[rate**k * x for x in row] for rate, row in zip(self._rates, rows, strict=True)]

    @cached_property
    def _transforms(self) -> list[tuple[arb, arb]]:
        """phi and phi - 1 at the nodes."""
        masses = [[mass] for mass in self.masses]
        plain, small = self._transform(self._decays, 0, masses), self._transform(self._falls, 0, masses)
        return list(zip(only(plain), only(small), strict=True))

    def _powers(self, exponent: int) -> list[arb]:
        """phi^exponent at the nodes. Near 1 the logarithm of phi is known better than phi."""
        return [
            (exponent * small.log1p()).exp() if (2 * small > -1) is True else plain**exponent
            for plain, small in self._transforms
        ]

    def total(self, degree: int, classes: Mapping[int, Sequence[arb]]) -> arb:
        """h / Gamma(k) times the sum, over nodes and numbers b of classes, of L (L-1) .. (L-b+1) F_b phi^(L-b)."""
        found = arb(0)
        for blocks, values in classes.items():
            if blocks <= self.length:
                powers = self._powers(self.length - blocks)
                found += math.perm(self.length, blocks) * dot(powers, values)
        return found * self.step / math.factorial(degree - 1)

    def relative(self, degree: int, total: arb) -> arb:
        """E P from its total, for P >= 0."""
        return (total / (1 + within(self.error(degree)))).nonnegative_part()

    def inverse_power(self, tokens: int, degree: int) -> arb:
        """E Z^(-k) for so many tokens: the trapezoid sum for P = Z^(-k)."""
        rates = [rate**degree for rate in self._rates]
        total = dot(self._powers(tokens), rates) * self.step / math.factorial(degree - 1)
        return total / (1 + within(self.error(degree, tokens)))

    def error(self, degree: int, tokens: int | None = None) -> arb:
        """delta: what the sum over the nodes is off by, for Z of so many tokens, of all by default."""
        count = self.length if tokens is None else tokens
        half_width, rates, gamma = arb(STRIP), self._rates, math.factorial(degree - 1)
        strip = strip_error(half_width, self.step) / half_width.cos() ** degree
        largest, smallest = rates[0] * count * self._high.exp(), rates[-1] * count * self._low.exp()
        left = largest**degree * self.step / arb(degree * self.step).expm1() / gamma
        right = smallest.gamma_upper(degree) / gamma if (smallest >= degree) is True else arb("inf")
        return strip + left + right


def only(rows: Rows) -> list[arb]:
    """The entries of rows of one entry."""
    return [entry for (entry,) in rows]


def _largest(numbers: Sequence[arb]) -> arb:
    found = numbers[0]
    for number in numbers:
        found = found.max(number)
    return found


def _floor(number: arb) -> int:
    """An integer near a ball, where it is finite."""
    return int(number.mid().floor().unique_fmpz() or 0)
