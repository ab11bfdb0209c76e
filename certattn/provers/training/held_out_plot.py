"""A figure of a certificate of `held-out-risk`: the mean loss by the number of prompts, and the ends."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.held_out_risk import AT_LEAST, AT_MOST, LARGEST, PROBABILITY, read
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float
from certattn.provers.training.held_out_rule import ends

_BITS, _LEAST, _POINTS = 64, 10, 40


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure into a file."""
    stated = read(certificate)
    held_out = stated.held_out
    with working_precision(_BITS):
        losses = np.array([float(loss) for loss in held_out.losses()])
    most = as_float(held_out.largest_loss) if LARGEST in held_out.given else np.inf
    chance, count = as_float(held_out.chance), len(losses)
    counts = np.unique(np.geomspace(min(_LEAST, count), count, _POINTS).round().astype(int))
    low, high = np.array([ends(losses[:n], most, chance) for n in counts]).T
    means = np.cumsum(losses)[counts - 1] / counts
    marks = [(end, as_float(stated.asserts[end])) for end in (AT_LEAST, AT_MOST) if end in stated.asserts]
    top = 3 * max(float(means[-1]), *(value for _, value in marks))
    with canvas(target, (5.6, 3.9)) as (_, axes):
        label = "the rule, had it stopped there"
        axes.fill_between(counts, low, np.minimum(high, top), color="#c9d9e8", lw=0, label=label)
        axes.semilogx(counts, means, color=RUN, lw=1.6, label="mean loss so far")
        for end, value in marks:
            marker, words = "^" if end is AT_LEAST else "v", end.name.replace("_", " ")
            axes.plot([count], [value], marker, color=BOUND, ls="", label=f"{standing()}: {words} {value:.4g}")
        axes.set_ylim(0, min(top, most))
        axes.set_xlabel("number of prompts held out")
        axes.set_ylabel("risk")
        axes.set_title(f"risk at confidence {as_float(1 - held_out.given[PROBABILITY]):.4g}")
        axes.legend(loc="upper right")
