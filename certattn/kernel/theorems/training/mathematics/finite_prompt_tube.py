"""A tube around the infinite-prompt flow that the flow of R_L from the same start does not leave.

Let e(t) be the distance of the two flows. On an interval of length h let the infinite-prompt flow be within r of a
centre, and K the ball of radius r + e_1 around it. If |grad R_L - grad R| <= g on K, mu bounds the logarithmic norm of
-grad R there (`regression_flow`), and e <= e_0 at the beginning, then

    e^(mu h) (e_0 + g h) < e_1      implies      e <= e_1 on the interval, and e <= e^(mu h) (e_0 + g h) at its end.

Proof. While e <= e_1, both flows and the segment between them are in K, where e' <= mu e + g almost everywhere; so
e <= e^(mu t) (e_0 + g t) < e_1 there, mu being >= 0, and a first time with e = e_1 does not exist. QED
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.mathematics.finite_prompt_gap import (
    GapBounds,
    Neighbourhood,
    Norms,
    added,
    averages,
    norms,
    scores,
    widest,
)
from certattn.kernel.theorems.training.mathematics.regression import BallMatrix
from certattn.kernel.theorems.training.mathematics.regression_flow import RegressionFlow
from certattn.kernel.theorems.training.mathematics.validated_flow import Step, steps

# e_1 is a little larger than what has to be below it; a few are tried, as long as they are small.
_ROOM = fmpq(9, 8)
_TRIES = 6
_WIDEST = 16
# Steps of the infinite-prompt flow; a checker computes some hundreds in a second.
MOST_STEPS = 2000


class FinitePrompts:
    """The gap between the risks at a length, near points that are known."""

    def __init__(self, covariance: ExactMatrix, length: fmpq) -> None:
        self.field = RegressionFlow(covariance)
        self._length = length
        self._covariance = arb_mat(covariance.numerators) * (1 / arb(covariance.denominator))
        self._largest = largest_eigenvalue(self._covariance, ctx.prec)
        self.token = _norms(self._covariance)

    def root_of_risk(self, near: Enclosure) -> arb:
        """sqrt(2R), which is the norm of E x: at every point of a ball at most this."""
        found: arb = self._error(near).second
        return found

    def gap(self, near: Enclosure) -> GapBounds:
        """Bounds over a ball of parameters."""
        sigma, lam, radius = self._covariance, self._largest, near.error
        point = self.field.parameters(near.centre)
        A = point.A.balls
        # Similar to S'S, which is all that its traces and those of its powers know.
        square = A.transpose() * sigma * A * sigma
        operator = BALLS.sqrt(largest_eigenvalue(square, ctx.prec)) + lam * radius
        frobenius = BALLS.sqrt(square.trace()) + lam * radius
        tau = sigma * A
        variances = scores(operator * operator, frobenius * frobenius, sigma.nrows())
        found = Neighbourhood(
            abs(point.b) + radius,
            added(_norms(tau * sigma * tau.transpose()), widest(lam * BALLS.sqrt(lam) * radius, BALLS)),
            self._error(near),
            variances,
        )
        return GapBounds(self.token, lam, found, averages(self._length, variances), BALLS)

    def _error(self, near: Enclosure) -> Norms:
        """Of E x."""
        sigma, point = self._covariance, self.field.parameters(near.centre)
        size = sigma.nrows()
        E = sigma * point.A.balls * point.b - BallMatrix.identity(size).balls
        return added(_norms(E * sigma * E.transpose()), widest(self._reach(near), BALLS))

    def _reach(self, near: Enclosure) -> arb:
        """lam^(3/2) (|theta| r + r^2/2): by so much |E Sigma^(1/2)|_F changes within r."""
        length, radius = l2_norm(near.centre), near.error
        return self._largest * BALLS.sqrt(self._largest) * (length * radius + radius * radius / 2)


def bound_of_risk(prompts: FinitePrompts, near: Enclosure) -> arb:
    """R_L <= R + (R_L - R) at every point of a ball."""
    root, gap = prompts.root_of_risk(near), prompts.gap(near).risk()
    found: arb = root * root / 2 + gap
    return found


@dataclass(frozen=True)
class Piece:
    """From `first` to `last`: e is at most `reached` at the end, where the infinite-prompt flow is in `flow`.

    This is proved where `reached` is below `bound`, which is e_1, and all pieces before were closed.
    """

    first: fmpq
    last: fmpq
    flow: Enclosure
    reached: arb
    bound: arb

    @property
    def closed(self) -> bool:
        return (self.reached < self.bound) is True

    @property
    def end(self) -> Enclosure:
        """Where both flows are at its end."""
        return Enclosure(self.flow.centre, (self.flow.error + self.reached).upper())


def tube(prompts: FinitePrompts, start: list[arb], until: fmpq, order: int, pieces: int) -> Iterator[Piece]:
    """The pieces from time 0 to `until`, or to one that is not closed, or to where the flow is not enclosed.

    After very many steps of the flow a piece without a bound is the last one.
    """
    distance = arb(0)
    for count, step in enumerate(steps(prompts.field, around(start), until, order)):
        if count == MOST_STEPS:
            yield Piece(step.first, step.last, step.end, arb.pos_inf(), distance)
            return
        for first, last in _cut(step, until / pieces):
            piece = _piece(prompts, step, first, last, distance)
            yield piece
            if piece.closed is not True:
                return
            distance = piece.reached


def _cut(step: Step, width: fmpq) -> Iterator[tuple[fmpq, fmpq]]:
    """The step, cut at the multiples of the width."""
    first = step.first
    while first < step.last:
        following = ((first / width).floor() + 1) * width
        last = following if following < step.last else step.last
        yield first, last
        first = last


def _piece(prompts: FinitePrompts, step: Step, first: fmpq, last: fmpq, distance: arb) -> Piece:
    """The piece from an e_0: with the first e_1 of a few that does, else with the last that says anything."""
    over, flow = step.over(first, last), step.at(last)
    tried = (distance * _ROOM + arb(2) ** -ctx.prec).upper()
    piece = Piece(first, last, flow, arb.pos_inf(), tried)
    for _ in range(_TRIES):
        reached = _reached(prompts, Enclosure(over.centre, (over.error + tried).upper()), distance, arb(last - first))
        if reached.is_finite() is not True:
            return piece
        piece = Piece(first, last, flow, reached, tried)
        if piece.closed or (reached < _WIDEST) is not True:
            return piece
        tried = (reached * _ROOM).upper()
    return piece


def _reached(prompts: FinitePrompts, ball: Enclosure, distance: arb, h: arb) -> arb:
    """e^(mu h) (e_0 + g h) with the bounds of a ball."""
    growth = (prompts.field.expansion(ball) * h).exp()
    found: arb = (growth * (distance + prompts.gap(ball).gradient() * h)).upper()
    return found


def _norms(covariance: arb_mat) -> Norms:
    """Of a centred Gaussian vector with this covariance."""
    return norms(covariance.trace(), (covariance * covariance).trace(), BALLS)
