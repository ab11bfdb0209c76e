"""A display of the published form with explicit constants, for every length L >= 2 at once.

    E |error|^2 in L2(nu) <= c1 sigma^6 ln L / L^rho,   rho = c2 / sigma^2,   sigma >= 1

Gaussian tokens and queries: by the logistic bound, for theta as the witness's steps say. From the last
step on, which must have theta >= rho, the first length is the worst (`every_length`); before it every length is
looked at. Box tokens and queries: by the bound of `box_bounds`, with t of the witness; from the length
`from` on that one is the worst, and before it every length is looked at, with the smaller of this
bound and the largest error there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Part
from certattn.kernel.decide.verdict import Obligation, at_least, at_most, unproved
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.every_length import display, logistic_bound
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.laws import Box, Gaussian
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.error_polynomials import error_polynomial
from certattn.kernel.theorems.prompts.mathematics.box_bounds import BoxBounds, TokenBox
from certattn.kernel.theorems.prompts.mathematics.query_gaussians import weighted_queries
from certattn.kernel.theorems.prompts.proposition_inputs import C1, C2, QUERY_LAW, SIGMA, Error, Setting

REPAIRED = Field("repaired", Record(C1, C2), "constants with which the display holds for every L >= 2", required=False)
FROM = Field("from", Count(2), "the first length for which it is used")
THETA = Field("theta", Rational(minimum=0), "the exponent of L - 1 in the bound, between 0 and 1")
STEPS = Field("steps", Listing(Record(FROM, THETA)), "for Gaussian laws: the exponents used, by length", required=False)
T = Field("t", Rational(above=0), "for box laws: how far the normaliser may fall below 1, below 1", required=False)
START = Field("from", Count(2), "for box laws: the length from which the bound is monotone", required=False)

# Lengths that are looked at one by one.
_MOST_LENGTHS = 100000


@dataclass(frozen=True)
class Repaired(ABC):
    """The display with its constants."""

    setting: Setting
    error: Error
    sigma: fmpq
    c1: fmpq
    c2: fmpq

    @property
    def rho(self) -> fmpq:
        """c2 / sigma^2."""
        return self.c2 / (self.sigma * self.sigma)

    def words(self, proposition: str) -> str:
        return (
            f"In the form of {proposition} of Boursier and Boyer 2026, with c1 = {describe(self.c1)} and "
            f"c2 = {describe(self.c2)}: for every number L >= 2 of tokens the mean square, over prompts and queries, "
            f"of {self.error.words} is at most c1 sigma^6 ln L / L^(c2/sigma^2), for "
            f"{self.setting.words()}{self._queries_words()}."
        )

    def latex(self) -> str:
        return (
            rf"\mathbb E \| {self.error.latex} \|^2_{{L^2(\nu)}} \le c_1 \sigma^6 \ln L / L^{{c_2 / \sigma^2}}, \quad "
            rf"c_1 = {describe(self.c1)}, c_2 = {describe(self.c2)}, \sigma = {describe(self.sigma)}, \forall L \ge 2"
        )

    @abstractmethod
    def names(self) -> list[str]:
        """The obligations."""

    @abstractmethod
    def prove(self, bits: int) -> list[Obligation]:
        """All of them, at the working precision."""

    def _queries_words(self) -> str:
        return ""

    def _worst(self, bound: Callable[[arb], arb], lengths: Iterable[int]) -> arb:
        """The largest ratio of a bound to sigma^6 ln L / L^rho among these lengths."""
        rho, sigma = arb(self.rho), arb(self.sigma)
        ratios = [bound(arb(n)) / display(arb(n), rho, sigma, BALLS) for n in lengths]
        worst: arb = ratios[0]
        for ratio in ratios[1:]:
            worst = worst.max(ratio)
        return worst

    def _at_most_c1(self, name: str, lengths: str, worst: arb, bits: int) -> Obligation:
        sentence = f"bound * L^(c2/sigma^2) / (sigma^6 ln L) <= c1 for {lengths}"
        return at_most(name, sentence, worst, self.c1, bits, part=Part.WITNESS)


@dataclass(frozen=True)
class Step:
    """The logistic bound with `theta`, for lengths from `start` on."""

    start: int
    theta: fmpq


@dataclass(frozen=True)
class GaussianRepaired(Repaired):
    """Gaussian tokens and queries."""

    steps: tuple[Step, ...]

    def names(self) -> list[str]:
        return [f"steps[{i}]" for i in range(len(self.steps))]

    def prove(self, bits: int) -> list[Obligation]:
        *earlier, last = self.steps
        found = [self._step(i, a, range(a.start, b.start), bits) for i, (a, b) in enumerate(pairwise(self.steps))]
        name = f"steps[{len(earlier)}]"
        if (last.theta >= self.rho) is not True:
            reason = f"c2/sigma^2 = {describe(self.rho)} is more than the last theta, {describe(last.theta)}"
            return [*found, unproved(name, f"the bound is proved for every L >= {last.start}", reason)]
        return [*found, self._step(len(earlier), last, None, bits)]

    def _step(self, index: int, step: Step, lengths: range | None, bits: int) -> Obligation:
        """The lengths of a step; None stands for every length from its start on, of which the first is the worst."""
        name = f"steps[{index}]"
        spoken = f"every L >= {step.start}" if lengths is None else f"{lengths.start} <= L < {lengths.stop}"
        average = weighted_average(self.setting, self.error, step.theta)
        if average is None:
            reason = f"2 theta |M| >= 1 for theta = {describe(step.theta)}: an infinite bound"
            return unproved(name, f"the bound is proved for {spoken}", reason)
        theta, determinant, mean = arb(step.theta), arb(average[0]), arb(average[1])

        def bound(length: arb) -> arb:
            value: arb = logistic_bound(length, theta, determinant, mean, BALLS)
            return value

        return self._at_most_c1(name, spoken, self._worst(bound, lengths or [step.start]), bits)


def weighted_average(setting: Setting, error: Error, theta: fmpq) -> tuple[fmpq, fmpq] | None:
    """(D, A) with E_z[e^{theta s2(z)} f(z)] = D^{-1/2} A for the f of `error_polynomial`; None where it is infinite."""
    W = setting.U.T @ setting.covariance @ setting.U
    queries = weighted_queries(setting.query_covariance, W, theta * setting.squared_scale)
    return None if queries is None else (queries.determinant, queries.mean(error_polynomial(setting, error)))


@dataclass(frozen=True)
class BoxRepaired(Repaired):
    """Tokens uniform on a box; queries of any law on a box, the uniform one among them."""

    t: fmpq
    start: int

    def names(self) -> list[str]:
        earlier = ["before"] if self.start > 2 else []
        return [*earlier, "monotone", "onwards"]

    def prove(self, bits: int) -> list[Obligation]:
        bounds, t = self.bounds(), arb(self.t)

        def either(length: arb) -> arb:
            value: arb = bounds.mean_square(length, t, BALLS).min(bounds.largest)
            return value

        found = []
        if self.start > 2:
            worst = self._worst(either, range(2, self.start))
            found.append(self._at_most_c1("before", f"2 <= L < {self.start}", worst, bits))
        onwards = f"every L >= {self.start}"
        sentence = f"L t^2/(2 R_2) >= c2/sigma^2 for {onwards}"
        if (self.rho <= 1) is not True:
            found.append(unproved("monotone", f"the bound is monotone for {onwards}", "c2/sigma^2 is more than 1"))
        else:
            found.append(at_least("monotone", sentence, self.start * bounds.rate(t), self.rho, bits, part=Part.WITNESS))
        worst = self._worst(lambda length: bounds.mean_square(length, t, BALLS), [self.start])
        return [*found, self._at_most_c1("onwards", onwards, worst, bits)]

    def bounds(self) -> BoxBounds:
        """The bounds over every query of the box, at the working precision."""
        law, queries = self.setting.law.law, self.setting.queries.law
        assert isinstance(law, Box)
        assert isinstance(queries, Box)
        scale = abs(scale_ball(self.setting.scale))
        (tilts,) = table_of_balls(ExactMatrix.row_vector(queries.sizes) @ _sizes(self.setting.U).T, scale)
        values = [row_of_balls(row) for row in _sizes(self.setting.read_out(self.error)).to_rows()]
        box = TokenBox(row_of_balls(law.sizes), tilts, values, BALLS)
        if self.error is not Error.GRADIENT_U:
            return box.output()
        return box.covariance(scale * scale * sum((arb(r * r) for r in queries.sizes), arb(0)))

    def _queries_words(self) -> str:
        return " (and for queries of any other law on that box)"


def _sizes(matrix: ExactMatrix) -> ExactMatrix:
    """|entry|, entry by entry."""
    return ExactMatrix.rational([[abs(entry) for entry in row] for row in matrix.to_rows()])


def read_repaired(setting: Setting, error: Error, stated: Values, witness: Values) -> Repaired:
    """The display with its constants and the witness for it. Raises MalformedError."""
    if setting.sigma is None:
        raise setting.values.at.malformed("sigma, which the display is about", "no 'sigma'")
    if (setting.sigma >= 1) is not True:
        raise setting.values.node(SIGMA).malformed("sigma >= 1 for a repaired form", describe(setting.sigma))
    base = setting, error, setting.sigma, stated[C1], stated[C2]
    laws = setting.law.law, setting.queries.law
    if all(isinstance(law, Gaussian) for law in laws):
        return GaussianRepaired(*base, _read_steps(witness))
    if all(isinstance(law, Box) for law in laws):
        return BoxRepaired(*base, *_read_box(witness))
    raise setting.values.node(QUERY_LAW).malformed("Gaussian tokens and queries, or box tokens and queries")


def _read_steps(witness: Values) -> tuple[Step, ...]:
    _require(witness, (STEPS,), "Gaussian laws")
    items = witness[STEPS]
    steps = tuple(Step(item[FROM], item[THETA]) for item in items)
    for item, step in zip(items, steps, strict=True):
        if (step.theta <= 1) is not True:
            raise item.node(THETA).malformed("theta between 0 and 1", describe(step.theta))
    starts = [step.start for step in steps]
    if starts[0] != 2 or any(b <= a for a, b in pairwise(starts)) or starts[-1] > _MOST_LENGTHS:
        expected = f"steps from 2 on, each from a larger length than the one before, up to {_MOST_LENGTHS}"
        raise witness.node(STEPS).malformed(expected, f"steps from {', '.join(map(str, starts[:5]))}")
    return steps


def _read_box(witness: Values) -> tuple[fmpq, int]:
    _require(witness, (T, START), "box laws")
    t, start = witness[T], witness[START]
    if (t < 1) is not True:
        raise witness.node(T).malformed("t below 1", describe(t))
    if start > _MOST_LENGTHS:
        raise witness.node(START).malformed(f"a length of at most {_MOST_LENGTHS}", str(start))
    return t, start


def _require(witness: Values, wanted: tuple[Field[Any], ...], laws: str) -> None:
    """These fields of the witness, and no others."""
    names = [field.name for field in wanted]
    fields: tuple[Field[Any], ...] = (STEPS, T, START)
    for field in fields:
        if (field in witness) is not (field.name in names):
            raise witness.at.malformed(f"{' and '.join(names)} alone, for {laws}")
