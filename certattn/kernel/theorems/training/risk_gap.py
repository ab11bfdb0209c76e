"""Theorem `risk-gap`: what a finite prompt adds to the risk of in-context linear regression.

Tokens (x_i, y_i) with x_i ~ N(0, Sigma), y_i = <w, x_i>, w ~ N(0, I), a query x ~ N(0, Sigma), attention with
parameters (A, b). R_L(A, b) is the mean of half the squared error over prompts of L tokens, R(A, b) the risk of the
infinite prompt (`regression`). A certificate asserts one of

    gap                         at_least <= R_L - R <= at_most, for given L, A and b
    length, excess, shortfall   R_L - R <= excess and R - R_L <= shortfall, for every L >= length and every A, b with
                                |A|_F^2 <= A_squared, b^2 <= b_squared; one of the two bounds may be left out

Boursier and Boyer 2026, section 4.

Over a ball the witness has a majorant of q. At given parameters there is none: the mean over x in (1) below is enclosed
by quadrature over v = x'Nx, N = A'Sigma A (`weight_averages`).

With T = tr Sigma, tau = Sigma A x, v = x'A'Sigma A x, and q = E P_2, kappa = E[P_3 - P_2^2] at the length L and the
variance v of the scores, P_k = sum p_i^k of the softmax weights p, the two risks differ by

    (1)  R_L - R = 1/2 E_x[ q (b^2 T - b^2 |tau|^2 + 2b <tau, x>) - 6 b^2 kappa |tau|^2 ].

For |A|_F <= rho_A and |b| <= rho_b, with lam the largest eigenvalue of Sigma, r = lam rho_A, g ~ N(0, 1), Q a
nondecreasing convex function above q, and M_k = E[Q(r^2 g^2) g^(2k)]

    (2)  R_L - R <= 1/2 (rho_b^2 T M_0 + Y),   Y = E[Q(r^2 g^2) (T + lam (g^2 - 1))] = T M_0 + lam (M_1 - M_0)
    (3)  R - R_L <= 5/4 X + (X Y)^(1/2),       X = rho_b^2 lam r^2 M_1.

Three kinds of such functions Q of the variance of the scores, with Q(v) >= q(L, v) for L >= 2, are

    logistic    1/(1 + (L-1) e^(-v)) for v <= v_0 = log(L-1), its tangent 1/2 + (v - v_0)/4 beyond
    power       theta^theta (1-theta)^(1-theta) (L-1)^(-theta) e^(theta v), 0 < theta <= 1
    tabulated   linear between nodes (v_i, Q_i), v_0 = 0, and beyond the last node like before it

They rest on 0 <= dq/dv <= q (1 - q), q(L, 0) = 1/L, and d^2 q/dv^2 >= -13/12 q. And q(L, v) does not increase with
L: what is above q at one length is above it at every larger one.

Of each the average E[Q(r^2 g^2) g^(2k)], g ~ N(0, 1), is enclosed, with

    T_k(y) = E[g^(2k); g^2 > y] = 2^k Gamma(k + 1/2, y/2) / pi^(1/2)

where the function is linear, and one integral for the logistic part. `docs/claims/training/risk-gap.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from flint import acb, arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import (
    ByKey,
    Choice,
    Count,
    Field,
    Rational,
    Reading,
    Record,
    Scale,
    Values,
    Variant,
    some_of,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.given.bounds import BOUNDS
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.every_length import log_peak
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.quadrature import integral
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.reals import Real, Surd, describe
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.mathematics.spectrum import largest_eigenvalue, smallest_eigenvalue
from certattn.kernel.mathematics.weight_averages import WeightAverage
from certattn.kernel.mathematics.weight_growth import MOST_CONCAVE
from certattn.kernel.theorems.training import regression as task

if TYPE_CHECKING:
    from certattn.kernel.theorems.training.gap_lines import Gap, Lines


class Square(Scale):
    """A number > 0: a rational or the root of one."""

    expected = "a number > 0"

    def read(self, node: Node, reading: Reading) -> Real:
        value = super().read(node, reading)
        if isinstance(value, fmpq) and (value > 0) is not True:
            raise node.malformed(self.expected)
        return value


PROMPT_LENGTH = Field("length", Count(2), "number L of tokens of a prompt")
POINT = Field("parameters", task.PARAMETERS, "the parameters A and b of attention")
A_SQUARED = Field("A_squared", Square(), "the largest |A|_F^2, > 0: a rational or the root of one")
B_SQUARED = Field("b_squared", Square(), "the largest b^2, > 0: a rational or the root of one")
BALL = Field("ball", Record(A_SQUARED, B_SQUARED), "the parameters that are meant")
GIVEN = ByKey({"ball": Record(task.COVARIANCE, BALL), "parameters": Record(task.COVARIANCE, PROMPT_LENGTH, POINT)})

AT_LEAST = Field("at_least", Rational(), "R_L - R is at least this", required=False)
AT_MOST = Field("at_most", Rational(), "R_L - R is at most this", required=False)
_RANGE = Record(AT_LEAST, AT_MOST, rules=[some_of(AT_LEAST, AT_MOST)])
GAP = Field("gap", _RANGE, "bounds on R_L - R, for given parameters")
LENGTH = Field("length", Count(2), "the length from which on prompts are meant, over a ball")
EXCESS = Field("excess", Rational(), "R_L - R is at most this over the ball", required=False)
SHORTFALL = Field("shortfall", Rational(), "R - R_L is at most this over the ball", required=False)

KINDS = ("logistic", "power", "table", "lines")
MAJORANT = Field("majorant", Choice(KINDS), "what lies above E sum p_i^2")
THETA = Field("theta", Rational(), "the exponent of a power, 0 < theta <= 1")
TABLE = Field("table", Matrix(), "rows [variance of the scores, value], from variance 0 on")
NODES = Field("nodes", Vector(), "variances of the scores of a query with x'Sigma^-1 x = 1, from 0 on")
SLOPES = Field("slopes", Vector(), "slopes of two lines or more above what a direction of the query adds")


def _optional(*fields: Field[Any]) -> list[Field[Any]]:
    return [replace(field, required=False) for field in fields]


# What is asserted and hinted depends on what is given; the section's schema has all of it.
ASSERTS_AT_POINT = Record(GAP)
ASSERTS_OVER_BALL = Record(LENGTH, EXCESS, SHORTFALL, rules=[some_of(EXCESS, SHORTFALL)])
_MAJORANTS = (Record(), Record(THETA), Record(TABLE), Record(NODES, SLOPES))
MAJORANTS = Variant("majorant", dict(zip(KINDS, _MAJORANTS, strict=True)))
ASSERTS = Record(*_optional(GAP, LENGTH), EXCESS, SHORTFALL)
WITNESS = Record(*_optional(MAJORANT, THETA, TABLE, NODES, SLOPES))


# Nodes are asked for again at every precision.
_REMEMBERED = 1024


# -- the formulas


def collision_factors(b: fmpq) -> tuple[fmpq, fmpq, fmpq]:
    """Of T, 2 <tau, x> and |tau|^2 in what multiplies q in (1)."""
    return b * b, b, -b * b


def spread_factor(b: fmpq) -> fmpq:
    """Of |tau|^2, which with this multiplies kappa in (1)."""
    return -6 * b * b


@dataclass(frozen=True)
class Ball:
    """All (A, b) with |A|_F^2 <= rho_A^2, b^2 <= rho_b^2; T and lam of Sigma."""

    A_squared: arb
    b_squared: arb
    trace: arb
    largest: arb

    def scale(self) -> arb:
        """r^2 = lam^2 rho_A^2."""
        return self.largest * self.largest * self.A_squared

    def query_average(self, plain: arb, weighted: arb) -> arb:
        """Y, from M_0 and M_1."""
        return self.trace * plain + self.largest * (weighted - plain)

    def excess(self, plain: arb, weighted: arb) -> arb:
        """(2)."""
        return (self.b_squared * self.trace * plain + self.query_average(plain, weighted)) / 2

    def shortfall(self, plain: arb, weighted: arb) -> arb:
        """(3): the least of (5/2 + 1/eta) X/2 + eta Y/2 over eta > 0."""
        X = self.b_squared * self.largest * self.scale() * weighted
        Y = self.query_average(plain, weighted)
        return 5 * X / 4 + root(X * Y)


# -- majorants


def outer_moment(k: int, y: arb) -> arb:
    """T_k(y) = E[g^(2k); g^2 > y], y >= 0."""
    return arb(2) ** k * (y / 2).gamma_upper(arb(k) + arb(fmpq(1, 2))) / arb.pi().sqrt()


def ramp_average(k: int, start: arb, scale: arb) -> arb:
    """E[(r^2 g^2 - start)_+ g^(2k)], start >= 0."""
    y = start / scale
    return ramp(start, scale, outer_moment(k, y), outer_moment(k + 1, y))


def ramp(start: arb, scale: arb, lower: arb, upper: arb) -> arb:
    """E[(r^2 g^2 - start)_+ g^(2k)] from T_k and T_(k+1) at start / r^2."""
    return scale * upper - start * lower


def chord_excess(step: fmpq, last: arb) -> arb:
    """13/12 h^2/8 q: how far q exceeds its chord on a cell of width h where it is at most `last`."""
    return MOST_CONCAVE * step * step / 8 * last


def power_factor(theta: arb, length: arb) -> arb:
    """theta^theta (1-theta)^(1-theta) (L-1)^(-theta)."""
    return (log_peak(theta) - theta * (length - 1).log()).exp()


def power_moment(k: int, rest: arb) -> arb:
    """E[e^(theta r^2 g^2) g^(2k)] = (2k-1)!! (1 - 2 theta r^2)^(-k - 1/2), rest = 1 - 2 theta r^2 > 0."""
    found = 1 / root(rest)
    for odd in range(1, 2 * k, 2):
        found = found * odd / rest
    return found


@dataclass(frozen=True)
class Logistic:
    """The logistic bound up to v_0 = log(L-1), and its tangent there."""

    length: int

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """E[Q(r^2 g^2) g^(2k)] for r^2 = `scale` > 0, at the working precision; not finite where none is proved."""
        start = arb(self.length - 1).log()
        y = start / scale
        if y.is_finite() is not True:
            return arb.nan()
        # The tangent is 1/2 and a quarter of a ramp.
        beyond = outer_moment(k, y) / 2 + ramp_average(k, start, scale) / 4
        return beyond + (self._logistic_part(k, scale, y.sqrt(), bits) if self.length > 2 else 0)

    def _logistic_part(self, k: int, scale: arb, end: arb, bits: int) -> arb:
        """2 int_0^end g^(2k) density(g) / (1 + (L-1) e^(-r^2 g^2)) dg; at poles off the line balls are not finite."""
        share = arb(1) / (self.length - 1)
        factor = share * 2 / (2 * arb.pi()).sqrt()

        def integrand(g: acb) -> acb:
            # (L-1) times what is wanted is about 1, whatever L is.
            square = g * g
            return square**k * (-square / 2).exp() / (share + (-scale * square).exp())

        return factor * integral(integrand, arb(0), end, bits)


@dataclass(frozen=True)
class Power:
    """A multiple of e^(theta v)."""

    length: int
    theta: fmpq

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """The same: `power_factor` times `power_moment`, and not finite where the average is infinite."""
        rest = 1 - 2 * self.theta * scale
        if (rest > 0) is not True:
            return arb.nan()
        return power_factor(arb(self.theta), arb(self.length)) * power_moment(k, rest)


@dataclass(frozen=True)
class Tabulated:
    """Linear between the nodes (v_i, Q_i), 0 = v_0 < v_1 < ...; at least two of them."""

    nodes: tuple[fmpq, ...]
    values: tuple[fmpq, ...]

    def slopes(self) -> list[fmpq]:
        """Of every cell."""
        ends = list(zip(self.nodes, self.values, strict=True))
        return [(high - low) / (b - a) for (a, low), (b, high) in pairwise(ends)]

    def least_bend(self) -> fmpq:
        """The least of the first slope and the growths of the slope: Q is convex and nondecreasing where it is >= 0."""
        slopes = self.slopes()
        return min([slopes[0], *(b - a for a, b in pairwise(slopes))])

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """The same: Q is its value at 0 and ramps that start at the nodes."""
        moment = outer_moment(k, arb(0))
        total, before = self.values[0] * moment, fmpq(0)
        for start, slope in zip(self.nodes, self.slopes(), strict=False):
            if slope != before:
                total += (slope - before) * ramp_average(k, arb(start), scale)
            before = slope
        return total

    def least_excess(self, length: int, bits: int) -> arb:
        """A ball below the least of Q - q(L, .) up to the last node.

        Between nodes of distance h q exceeds its chord by at most 13/12 h^2/8 times q at the right one.
        """
        q = [_collision(length, node, bits) for node in self.nodes]
        above = [value - known for value, known in zip(self.values, q, strict=True)]
        found = above[0]
        for (a, b), (left, right), last in zip(pairwise(self.nodes), pairwise(above), q[1:], strict=False):
            found = found.min(left.min(right) - chord_excess(b - a, last))
        return found


Majorant = Logistic | Power | Tabulated


@lru_cache(_REMEMBERED)
def _collision(length: int, variance: fmpq, bits: int) -> arb:
    """q, to about `bits` bits."""
    return PowerSums(length, variance, 2, bits).mean(2)


# -- what is stated


@dataclass(frozen=True)
class StatedGap:
    """The sections, Sigma exactly, and what proves it: at given parameters the gap itself, over a ball a majorant."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    proof: WeightAverage | Majorant | Lines


def read(certificate: Certificate) -> StatedGap:
    """Every shape checked. Raises MalformedError."""
    reading = certificate.reading
    form, given = GIVEN.read(certificate.given, reading)
    if form == BALL.name:
        if certificate.witness is None:
            raise certificate.asserts.malformed("a witness, which this is proved with", "no witness")
        asserts = ASSERTS_OVER_BALL.read(certificate.asserts, reading)
        majorant = _read_majorant(*MAJORANTS.read(certificate.witness, reading), asserts)
        return StatedGap(given, asserts, task.read_covariance(given[task.COVARIANCE]), majorant)
    asserts = ASSERTS_AT_POINT.read(certificate.asserts, reading)
    covariance, parameters = task.read_task(given, POINT)
    if certificate.witness is not None:
        Record().read(certificate.witness, reading)
    return StatedGap(given, asserts, covariance, average_gap(given[PROMPT_LENGTH], covariance, parameters))


def average_gap(length: int, covariance: ExactMatrix, parameters: task.Parameters) -> WeightAverage:
    """R_L - R at (A, b)."""
    factors = GapFactors(covariance, parameters)
    return WeightAverage(length, factors.of_q(), factors.of_kappa())


_TWO_VARIANCES = "at least 2 variances, from 0 on and increasing"


def _read_majorant(kind: str, stated: Values, asserts: Values) -> Majorant | Lines:
    length = asserts[LENGTH]
    if kind == "logistic":
        return Logistic(length)
    if kind == "power":
        return Power(length, stated[THETA])
    if kind == "lines":
        return _read_lines(stated, asserts)
    stated[TABLE].require_shape(None, 2, "for a table: rows [variance, value]")
    columns = stated[TABLE].load().T
    if columns.columns < 2:
        raise stated.node(TABLE).malformed(_TWO_VARIANCES)
    return Tabulated(tuple(columns.row(0)), tuple(columns.row(1)))


def _read_lines(stated: Values, asserts: Values) -> Lines:
    from certattn.kernel.theorems.training.gap_lines import Lines

    if SHORTFALL in asserts:
        expected = "no shortfall beside the majorant lines, which bounds the excess alone"
        raise asserts.node(SHORTFALL).malformed(expected, "a shortfall")
    nodes, slopes = (stated[field].load().row(0) for field in (NODES, SLOPES))
    if len(nodes) < 2:
        raise stated.node(NODES).malformed(_TWO_VARIANCES)
    if len(slopes) < 2:
        raise stated.node(SLOPES).malformed("two slopes or more")
    return Lines(asserts[LENGTH], tuple(nodes), slopes[0], tuple(slopes[1:]))


# -- what proves it


def obligations(stated: StatedGap) -> Iterator[Obligation]:
    if isinstance(stated.proof, WeightAverage):
        return _at_parameters(stated.proof, stated.asserts[GAP])
    return _over_ball(stated, stated.proof)


# -- over a ball

NODES_INCREASE = ("nodes.first", "nodes.increase")
# Nodes of a table are known better than their values are ever stated.
_MOST_NODE_BITS = 128


def _over_ball(stated: StatedGap, majorant: Majorant | Lines) -> Iterator[Obligation]:
    if not isinstance(majorant, Logistic | Power | Tabulated):
        yield from _by_lines(stated, majorant)
        return
    needs: tuple[str, ...] = ()
    if isinstance(majorant, Power):
        needs = ("theta.above", "theta.below")
        yield Obligation("theta.above", majorant.theta, ">", fmpq(0), Part.WITNESS)
        yield Obligation("theta.below", majorant.theta, "<=", fmpq(1), Part.WITNESS)
    if isinstance(majorant, Tabulated):
        needs = NODES_INCREASE
        yield from _nodes_increase(majorant.nodes)
        yield from _of_table(majorant, stated.asserts[LENGTH])
    bounds = Shared(lambda: _bounds(stated, majorant))
    if EXCESS in stated.asserts:
        yield Obligation("excess", lambda: bounds()[0], "<=", stated.asserts[EXCESS], Part.WITNESS, needs)
    if SHORTFALL in stated.asserts:
        yield Obligation("shortfall", lambda: bounds()[1], "<=", stated.asserts[SHORTFALL], Part.WITNESS, needs)


def _nodes_increase(nodes: tuple[fmpq, ...]) -> Iterator[Obligation]:
    yield Obligation("nodes.first", nodes[0], "=", fmpq(0), Part.WITNESS)
    yield Obligation("nodes.increase", min(b - a for a, b in pairwise(nodes)), ">", fmpq(0), Part.WITNESS)


def _by_lines(stated: StatedGap, lines: Lines) -> Iterator[Obligation]:
    part, needs = Part.WITNESS, (*NODES_INCREASE, "nodes.reach", "slopes")
    scale = lambda: ball_of(stated.covariance, stated.given[BALL]).scale()  # noqa: E731
    yield from _nodes_increase(lines.nodes)
    yield Obligation("nodes.reach", lines.nodes[-1], ">=", scale, part)
    yield Obligation("slopes", min(lines.plain_slope, *lines.slopes), ">=", fmpq(0), part)
    excess = lambda: _excess_by_lines(stated, lines)  # noqa: E731
    yield Obligation("excess", excess, "<=", stated.asserts[EXCESS], part, needs)


def _excess_by_lines(stated: StatedGap, lines: Lines) -> arb:
    return lines.excess(gap_over(stated.covariance, stated.given[BALL]), min(ctx.prec // 2, _MOST_NODE_BITS))


def gap_over(covariance: ExactMatrix, stated: Values) -> Gap:
    """What lines need to know of the task and the ball."""
    from certattn.kernel.theorems.training.gap_lines import Gap

    ball = ball_of(covariance, stated)
    smallest = smallest_eigenvalue(task.BallMatrix.around(covariance).balls, ctx.prec)
    return Gap(covariance.rows, ball.trace, smallest, ball.largest, ball.scale(), ball.b_squared)


def _of_table(table: Tabulated, length: int) -> Iterator[Obligation]:
    """That it is a majorant: convex, at the end as large as E sum p_i^2 may be, and above it before."""
    part, zero = Part.WITNESS, fmpq(0)
    yield Obligation("majorant.convex", table.least_bend, ">=", zero, part, NODES_INCREASE)
    yield Obligation("majorant.end", table.values[-1], ">=", fmpq(1), part)
    excess = lambda: table.least_excess(length, min(ctx.prec // 2, _MOST_NODE_BITS))  # noqa: E731
    yield Obligation("majorant.above", excess, ">=", zero, part, NODES_INCREASE)


def _bounds(stated: StatedGap, majorant: Majorant) -> tuple[arb, arb]:
    """Of R_L - R and of R - R_L. Raises NoBound."""
    squares = stated.given[BALL]
    if isinstance(majorant, Power) and _has_average(stated.covariance, squares[A_SQUARED], majorant) is not True:
        theta = describe(majorant.theta)
        condition = "2 theta lambda^2 A_squared >= 1, lambda the largest eigenvalue of the covariance"
        raise NoBound(f"averages of e^(theta v) are infinite for theta = {theta}: {condition}. Take a smaller theta")
    ball = ball_of(stated.covariance, squares)
    plain, weighted = (majorant.average(k, ball.scale(), ctx.prec) for k in (0, 1))
    return ball.excess(plain, weighted), ball.shortfall(plain, weighted)


def ball_of(covariance: ExactMatrix, stated: Values) -> Ball:
    """All parameters that are meant, as balls at the working precision."""
    largest = largest_eigenvalue(task.BallMatrix.around(covariance).balls, ctx.prec)
    return Ball(scale_ball(stated[A_SQUARED]), scale_ball(stated[B_SQUARED]), arb(covariance.trace()), largest)


def _has_average(covariance: ExactMatrix, square: Real, majorant: Power) -> bool:
    """Whether 2 theta lam^2 rho_A^2 < 1, exactly: s I - Sigma^2 is positive definite for s = 1/(2 theta rho_A^2).

    Where rho_A^2 is a root, s^2 is rational, and so is s^2 I - Sigma^4.
    """
    power, factor = covariance @ covariance, 2 * majorant.theta
    if isinstance(square, Surd):
        power, square, factor = power @ power, square.radicand, factor * factor
    return task.is_positive_definite(ExactMatrix.identity(power.rows).scaled(1 / (factor * square)) - power)


# -- at given parameters


def _at_parameters(gap: WeightAverage, stated: Values) -> Iterator[Obligation]:
    for side, relation in BOUNDS:
        if side in stated:
            yield Obligation(f"{GAP.name}.{side.name}", partial(enclosed_gap, gap), relation, stated[side])


def enclosed_gap(gap: WeightAverage) -> arb:
    """The gap itself. Raises NoBound."""
    value = gap.value()
    if value.is_finite() is not True:
        raise NoBound(gap.unknown())
    return value


@dataclass(frozen=True)
class GapFactors:
    """What q and kappa are multiplied by in (1), at (A, b)."""

    covariance: ExactMatrix
    parameters: task.Parameters

    def of_q(self) -> QueryAverage:
        b, moved, trace = self.parameters.b, self.parameters.A.T @ self.covariance, self.covariance.trace()
        of_trace, of_cross, of_square = collision_factors(b)
        form = (moved + moved.T).scaled(of_cross) + self._K.scaled(of_square)
        return self._half(of_trace * trace, form)

    def of_kappa(self) -> QueryAverage:
        return self._half(fmpq(0), self._K.scaled(spread_factor(self.parameters.b)))

    def _half(self, constant: fmpq, form: ExactMatrix) -> QueryAverage:
        mean, half = ExactMatrix.row_vector([fmpq(0)] * self.covariance.rows), fmpq(1, 2)
        return QueryAverage(mean, self.covariance, constant * half, form.scaled(half), self._N)

    @cached_property
    def _N(self) -> ExactMatrix:  # noqa: N802 - the mathematical name
        """A'Sigma A: v = x'N x."""
        A: ExactMatrix = self.parameters.A
        return A.T @ self.covariance @ A

    @cached_property
    def _K(self) -> ExactMatrix:  # noqa: N802 - the mathematical name
        """A'Sigma^2 A: |tau|^2 = x'K x."""
        moved: ExactMatrix = self.covariance @ self.parameters.A
        return moved.T @ moved


TITLE = "what a finite prompt adds to the risk of in-context regression, and how long is long enough"
THEOREM = Theorem("risk-gap", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
