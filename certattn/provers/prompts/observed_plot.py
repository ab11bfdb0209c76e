"""A figure of a certificate of `observed-prompt`: what the rule says after fewer tokens, and the certified interval."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, working_precision
from certattn.kernel.theorems.prompts.observed_prompt import read
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.prompts.observed_rule import as_array, interval
from certattn.provers.rounding import as_float

_BITS, _LEAST, _POINTS = 64, 10, 40


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure, of the first query and the direction in which the interval is widest."""
    stated = read(certificate)
    given = stated.given
    widths = [as_float(width) for width in (stated.at_most - stated.at_least).row(0)]
    direction = int(np.argmax(widths))
    with working_precision(_BITS):
        weights, outputs = as_array(given.weights(0)), as_array(row_of_balls(given.outputs.row(direction)))
        least, most = (
            -sign * float(scale_ball(end.rational) + scale_ball(end.squared).sqrt())
            for sign in (1, -1)
            for end in [given.support.outputs[sign][direction]]
        )
    length, chance = len(weights), as_float(given.chance)
    lengths = np.unique(np.geomspace(min(_LEAST, length), length, _POINTS).round().astype(int))
    band = np.array([interval(weights[:n], outputs[:n], (least, most), chance) for n in lengths])
    observed = np.cumsum(weights * outputs)[lengths - 1] / np.cumsum(weights)[lengths - 1]
    low, high = (as_float(table.entry(0, direction)) for table in (stated.at_least, stated.at_most))
    with canvas(target, (5.6, 3.9)) as (_, axes):
        axes.fill_between(lengths, *band.T, color="#c9d9e8", lw=0, label="the rule, had it stopped there")
        axes.semilogx(lengths, observed, color=RUN, lw=1.6, label="attention over the tokens so far")
        label = f"{standing()} with all {length}: {low:.4g} to {high:.4g}"
        axes.errorbar(
            [length],
            [(low + high) / 2],
            yerr=(high - low) / 2,
            fmt="none",
            ecolor=BOUND,
            lw=2.2,
            capsize=5,
            label=label,
        )
        axes.set_ylim(*_view(low, high, least, most))
        axes.set_xlabel("number of tokens observed")
        axes.set_ylabel(r"$\langle u, T \rangle$")
        axes.set_title(f"attention over infinite prompts, at confidence {as_float(1 - given.probability):.4g}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))


def _view(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Four widths around the interval, as far as there are outputs."""
    room = 1.6 * (high - low)
    return max(low - room, least), min(high + room, most)
