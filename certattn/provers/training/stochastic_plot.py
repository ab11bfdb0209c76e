"""A figure of a certificate of `stochastic-descent`: the risk of the tube by steps, and of descent inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    counts = shown_counts(given[STEPS])
    with working_precision(_BITS):
        start = stated.first(given[LENGTH])
        tubes = [follow(start, given[STEP], k, given[BATCH], stated.radius) for k in counts]
        inside = [float(start.error) ** 2 / 2, *(float(tube.end.error) ** 2 / 2 for tube in tubes)]
        most = [float(tube.risk()) for tube in tubes]
    Tubes(counts, inside, most, "$R_L$ in the tube, at most").draw(
        target,
        risk=as_float(asserts[RISK]),
        chance=as_float(1 - asserts[PROBABILITY]),
        title=f"{given[BATCH]:,} prompts of {given[LENGTH]:,} tokens or more for every step",
    )


def shown_counts(steps: int) -> list[int]:
    """Numbers of steps that a figure has points for."""
    return [int(k) for k in np.unique(np.linspace(1, steps, min(steps, _POINTS)).round())]


@dataclass(frozen=True)
class Tubes:
    """After so many steps: the risk inside, from the start on, and at most in the tube."""

    counts: Sequence[int]
    inside: Sequence[float]
    most: Sequence[float]
    label: str

    def draw(self, target: Target, *, risk: float, chance: float, title: str) -> None:
        """With the risk that is stated of the last step."""
        last = self.counts[-1]
        with canvas(target, (5.6, 3.9)) as (_, axes):
            axes.semilogy(self.counts, self.most, color=BOUND, lw=1.4, ls="--", marker=".", label=self.label)
            axes.semilogy([0, *self.counts], self.inside, color=RUN, lw=1.6, label="descent on infinite prompts")
            words = f"{standing()}: at most {risk:.4g}\nwith probability {chance:.4g}"
            axes.plot([last], [risk], "v", color=BOUND, ls="", label=words)
            axes.set_xlabel("steps")
            axes.set_ylabel("risk")
            axes.set_xticks(range(0, last + 1, max(1, last // 10)))
            axes.set_title(title)
            axes.legend()
