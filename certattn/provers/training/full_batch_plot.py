"""A figure of a certificate of `full-batch-descent`: the risk of the tube by steps, and of descent inside."""

from __future__ import annotations

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.full_batch_descent import PROMPTS, follow, read
from certattn.kernel.theorems.training.stochastic_descent import PROBABILITY, RISK, STEP, STEPS
from certattn.provers.figures import Target
from certattn.provers.rounding import as_float
from certattn.provers.training.stochastic_plot import Tubes, shown_counts

_BITS = 64


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure into a file."""
    stated = read(certificate)
    given, asserts = stated.given, stated.asserts
    with working_precision(_BITS):
        counts = shown_counts(given[STEPS])
        start = stated.first()
        reached = [follow(start, given[STEP], k, stated.radius, stated.spread) for k in counts]
        inside = [float(start.error) ** 2 / 2, *(float(tube.end.error) ** 2 / 2 for tube in reached)]
        most = [float(tube.risk()) for tube in reached]
    Tubes(counts, inside, most, "$R$ in the tube, at most").draw(
        target,
        risk=as_float(asserts[RISK]),
        chance=as_float(1 - asserts[PROBABILITY]),
        title=f"{given[PROMPTS]:,} long prompts, all of them in every step",
    )
