"""A figure of a certificate of `stochastic-descent`: the risk of the tube by steps, and of descent inside."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.descent_tube import follow
from certattn.kernel.theorems.training.stochastic_descent import BATCH, LENGTH, PROBABILITY, RISK, STEP, STEPS, read
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS, _POINTS = 64, 12


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure into a file."""
    stated = read(certificate)
    given, asserts = stated.given, stated.asserts
    last, risk = given[STEPS], as_float(asserts[RISK])
    counts = np.unique(np.linspace(1, last, min(last, _POINTS)).round().astype(int))
    with working_precision(_BITS):
        start = stated.first(given[LENGTH])
        tubes = [follow(start, given[STEP], int(k), given[BATCH], stated.radius) for k in counts]
        inside = [float(start.error) ** 2 / 2, *(float(tube.end.error) ** 2 / 2 for tube in tubes)]
        most = [float(tube.risk()) for tube in tubes]
    with canvas(target, (5.6, 3.9)) as (_, axes):
        label = "$R_L$ in the tube, at most"
        axes.semilogy(counts, most, color=BOUND, lw=1.4, ls="--", marker=".", label=label)
        axes.semilogy([0, *counts], inside, color=RUN, lw=1.6, label="descent on infinite prompts")
        chance = as_float(1 - asserts[PROBABILITY])
        words = f"{standing()}: at most {risk:.4g}\nwith probability {chance:.4g}"
        axes.plot([last], [risk], "v", color=BOUND, ls="", label=words)
        axes.set_xlabel("steps")
        axes.set_ylabel("risk")
        axes.set_xticks(range(0, last + 1, max(1, last // 10)))
        axes.set_title(f"{given[BATCH]:,} prompts of {given[LENGTH]:,} tokens or more for every step")
        axes.legend()
