"""A figure of a certificate of `not-marchenko-pastur`: the law beside quarter circles, and where they differ most.

Above are the densities, below the distribution functions with the largest difference to the quarter circle law of the
same variance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.law_distance import quarter_circle_tail
from certattn.kernel.theorems.spectrum.not_marchenko_pastur import DISTANCE, SCALE, THEOREM
from certattn.kernel.theorems.spectrum.spectral_distance import StatedDistances
from certattn.provers.figures import THIRD, Target, canvas
from certattn.provers.spectrum.best_scales import tail_table
from certattn.provers.spectrum.equivalent_plot import density_curve, law_title
from certattn.provers.spectrum.not_marchenko_pastur import bits_of_support
from certattn.provers.spectrum.spectrum_figures import (
    CIRCLE,
    FILL,
    LAW,
    POINT,
    Floats,
    circle_curve,
    show_whole,
)
from certattn.statements.ranges import range_words

# A law with nearly an atom at 0 has a density there that would leave nothing else to be seen.
_HIGHEST = 4
_NEAREST = THIRD
_BETWEEN = 100


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file. Raises NotProvedError where the ends of the law's support are not known."""
    problem = THEOREM.read(certificate)
    stated = problem.law
    with working_precision(bits_of_support(stated)):
        law = stated.at_precision()
        variance = law.numbers.variance
        curve, circle, (places, tails) = density_curve(law), circle_curve(variance), tail_table(law)
        # The table has no points in a gap, where the other functions still rise.
        between = circle[:: len(circle) // _BETWEEN, 0]
        tails = np.concatenate([tails, [float(law.tail(arb(x))) for x in (*between, circle[-1, 0])]])
        places = np.concatenate([places, between, circle[-1:, 0]])
        order = np.argsort(places)
        places, tails = places[order], tails[order]
        circles = {"quarter circle of its variance": variance}
        if SCALE.name in problem.scales:
            circles["nearest quarter circle"] = arb(problem.scales[SCALE.name]) ** 2
        others = {label: [float(quarter_circle_tail(arb(x), m)) for x in places] for label, m in circles.items()}
        nearest = [circle_curve(m) for m in circles.values()]
    with canvas(path, (5.6, 5.8), 2, sharex=True) as (_, (above, below)):
        with working_precision(bits_of_support(stated)):
            show_whole(above, law, float(circle[-1, 0]))
            below.set_xlabel(above.get_xlabel())
            above.set_xlabel("")
        above.fill_between(*curve.T, color=FILL, lw=0)
        for axes, line in ((above, curve.T), (below, (places, 1 - tails))):
            axes.plot(*line, color=LAW, lw=1.4, label="limit law")
        styles = ((CIRCLE, "--"), (_NEAREST, ":"))
        for (label, tail), points, (colour, dashes) in zip(others.items(), nearest, styles, strict=False):
            above.plot(*points.T, color=colour, lw=1.2, ls=dashes, label=label)
            below.plot(places, 1 - np.array(tail), color=colour, lw=1.2, ls=dashes)
        _mark_distance(below, problem, places, 1 - tails, 1 - np.array(next(iter(others.values()))))
        above.set_ylabel("density")
        above.set_ylim(0, 1.1 * min(float(curve[:, 1].max()), _HIGHEST * float(circle[:, 1].max())))
        above.set_title(law_title(stated.beta, stated.alpha2, stated.beta2, stated.lambda_))
        above.legend()
        below.set_ylabel("distribution function")
        below.set_ylim(0, 1.02)
        below.legend(loc="lower right")


def _mark_distance(axes: Any, problem: StatedDistances, places: Floats, law: Floats, circle: Floats) -> None:
    """Where the two functions differ most among the points, with what the certificate states of the distance."""
    k = int(np.argmax(np.abs(law - circle)))
    stated = problem.asserts.get(DISTANCE)
    label = "largest difference" if stated is None else f"largest difference: {range_words(stated)}"
    axes.plot([places[k]] * 2, [law[k], circle[k]], color=POINT, lw=1.6, marker="_", ms=7, label=label)
