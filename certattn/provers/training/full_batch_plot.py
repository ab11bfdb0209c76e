"""A figure of a certificate of `full-batch-descent`: the risk of the tube by steps, and of descent inside."""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.descent_tube import Point
from certattn.kernel.theorems.training.full_batch_descent import AFTER, PROMPTS, WITHIN, Settled, follow, read
from certattn.kernel.theorems.training.stochastic_descent import PROBABILITY, RISK, STEP, STEPS
from certattn.provers.figures import Target
from certattn.provers.rounding import as_float
from certattn.provers.training.stochastic_plot import Tubes, shown_counts

_BITS = 256


def _further(point: Point, step: fmpq, steps: int) -> Point:
    """After so many steps of descent on infinite prompts, if any."""
    for _ in range(steps):
        point = point.after(step)
    return point


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure into a file."""
    stated = read(certificate)
    given, asserts = stated.given, stated.asserts
    with working_precision(_BITS):
        counts = shown_counts(given[STEPS])
        start = stated.first()
        after = given[STEPS] if stated.settled is None else stated.settled[AFTER]
        reached = [follow(start, given[STEP], min(k, after), stated.radius, stated.spread) for k in counts]
        inside, most = [float(start.error) ** 2 / 2], []
        for k, tube in zip(counts, reached, strict=True):
            inside.append(float(_further(tube.end, given[STEP], k - after).error) ** 2 / 2)
            if stated.settled is not None and k > after:
                most.append(float(Settled(tube, given[STEP], arb(stated.settled[WITHIN])).risk(k - after)))
            else:
                most.append(float(tube.risk()))
    Tubes(counts, inside, most, "$R$ in the tube, at most").draw(
        target,
        risk=as_float(asserts[RISK]),
        chance=as_float(1 - asserts[PROBABILITY]),
        title=f"{given[PROMPTS]:,} long prompts, all of them in every step",
    )
