"""The gradient flow of the loss of given prompts, enclosed beside a polygon: for `risk-transfer`.

Let theta' = -grad R(theta) be within e_k of theta_k at the time k h, and theta_(k+1) = theta_k - h grad R(theta_k). Let
-mu <= Hess R <= beta and mu <= beta in the ball K around theta_k of radius h |grad R(theta_k)| + e'. Then

    e^(mu h) (e_k + beta h^2 |grad R(theta_k)| / 2) < e'

implies that this bounds the distance of the flow from theta_k - t grad R(theta_k) for 0 <= t <= h.

Proof. While that distance e is at most e', both are in K, and so is the segment between them. On it the slope of the
polygon differs from the field by at most beta t |grad R(theta_k)|, so e' <= mu e + beta t |grad R(theta_k)|, and
e(t) <= e^(mu t) (e_k + beta t^2 |grad R(theta_k)| / 2) < e'. QED
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.theorems.training import context_losses as contexts

# e_1 is a little larger than what has to be below it; a few are tried, as long as they are small.
_ROOM = fmpq(9, 8)
_TRIES = 6
_WIDEST = 16


@dataclass(frozen=True)
class Distance:
    """What a distance comes to, which is proved where that is below `bound`."""

    reached: arb
    bound: arb

    @property
    def closed(self) -> bool:
        return (self.reached < self.bound) is True


def distance_within(guess: arb, reached: Callable[[arb], arb]) -> Distance:
    """With the first bound of a few that does, from a guess on; else with the last that says anything."""
    found, tried = Distance(arb.pos_inf(), guess.upper()), guess.upper()
    for _ in range(_TRIES):
        value = reached(tried).upper()
        if value.is_finite() is not True:
            return found
        found = Distance(value, tried)
        if found.closed or (value < _WIDEST) is not True:
            return found
        tried = (value * _ROOM).upper()
    return found


# Legs are halved so often at most, and there are no more than so many.
_HALVINGS = 60
MOST_LEGS = 20_000


@dataclass(frozen=True)
class Leg:
    """A leg of the polygon up to the time `last`: its end without error, and how far the flow is from it then.

    That is proved where the distance from the leg is, and all legs before were closed.
    """

    last: fmpq
    end: contexts.Trained
    error: arb
    distance: Distance


def legs(loss: contexts.Loss, start: contexts.Trained, until: fmpq, longest: fmpq, travel: fmpq) -> Iterator[Leg]:
    """Legs from time 0 to `until`, or to one that is not closed; after very many the last has no bound.

    None takes longer than `longest`; it is halved until the leg is no longer than `travel`.
    """
    time, point, error = fmpq(0), _middle(start), start.error()
    for _ in range(MOST_LEGS):
        gradient = loss.at(point).gradient
        duration = min(_duration(gradient.norm(), longest, travel), until - time)
        time += duration
        leg = _leg(loss, Leg(time, point, error, Distance(arb.pos_inf(), error)), gradient, arb(duration))
        yield leg
        if leg.distance.closed is not True or time == until:
            return
        point, error = leg.end, leg.error
    yield Leg(time, point, error, Distance(arb.pos_inf(), error))


def _duration(speed: arb, longest: fmpq, travel: fmpq) -> fmpq:
    """Of a leg: any will do."""
    duration = longest
    for _ in range(_HALVINGS):
        if (speed * duration <= travel) is True:
            break
        duration /= 2
    return duration


def risk_near(loss: contexts.Loss, leg: Leg) -> arb:
    """R of the flow at the end of a closed leg: R(theta_k) up to |grad R(theta_k)| e + beta e^2 / 2."""
    evaluation, e = loss.at(leg.end), leg.error
    curvatures = loss.curvatures(leg.end, e)
    change = evaluation.gradient.norm() * e + curvatures.upward.max(curvatures.downward) * e * e / 2
    return (evaluation.risk + change * arb(0, 1)).nonnegative_part()


def _leg(loss: contexts.Loss, start: Leg, gradient: contexts.Trained, h: arb) -> Leg:
    """The leg from where `start` stands."""
    speed, after = gradient.norm().upper(), start.end - gradient.scaled(h)

    def reached(tried: arb) -> arb:
        """e^(mu h) (e_k + beta h^2 |grad R| / 2) with the bounds of the ball of radius h |grad R| + e'."""
        curvatures = loss.curvatures(start.end, (h * speed + tried).upper())
        beta = curvatures.upward.max(curvatures.downward)
        return (curvatures.downward * h).exp() * (start.error + beta * h * h * speed / 2)

    tried = (start.error + h * speed * arb(2) ** -10) * _ROOM + arb(2) ** -ctx.prec
    distance = distance_within(tried, reached)
    return Leg(start.last, _middle(after), (distance.reached + after.error()).upper(), distance)


def _middle(point: contexts.Trained) -> contexts.Trained:
    """The middle of every ball."""
    U, V = (arb_mat(m.nrows(), m.ncols(), [entry.mid() for entry in m.entries()]) for m in (point.U, point.V))
    return contexts.Trained(U, V)
