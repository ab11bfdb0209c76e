"""A figure of a certificate of `output-deviation`: |T(q) - T_inf(q)| of each listed query, and the certified bounds.

Deviations are the middles of enclosures at 64 bits, from the smallest on. Of many queries some are drawn, evenly from
the list: the one that deviates most need not be among them.
"""

from __future__ import annotations

import numpy as np

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.reals import describe
from certattn.kernel.claims.output_deviation import CLAIM
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float

_RUN, _BOUND = "#1f4e79", "#c0562f"
_BITS, _MOST = 64, 200
_NORMS = {"l2": r"$|T(q) - T_\infty(q)|_2$", "linf": r"$|T(q) - T_\infty(q)|_\infty$"}


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError for a region, which has no list of queries."""
    problem = CLAIM.read(certificate)
    if problem.region is not None:
        raise UsageError("a figure shows listed queries; this certificate is about a region of them")
    bounds = problem.bounds
    rows = np.unique(np.linspace(0, problem.count - 1, min(problem.count, _MOST)).round().astype(int)).tolist()
    with working_precision(_BITS):
        found = np.array([float(deviation.mid()) for deviation in problem.deviations(rows)])
    order = np.argsort(found, kind="stable")
    ranks = np.arange(len(rows))
    each = ((bounds.each_at_most, "v", "bound of each query, at most"), (bounds.each_at_least, "^", "at least"))
    whole = ((bounds.at_most, "-", f"{standing()}: every query at most"), (bounds.at_least, ":", "some query at least"))
    with canvas(target, (6.0, 3.6)) as (_, axes):
        axes.plot(ranks, found[order], color=_RUN, marker="o", ms=2.5, lw=0.8, label="deviation, computed")
        for stated, marker, label in each:
            if stated is not None:
                heights = [as_float(stated[rows[k]]) for k in order]
                axes.plot(ranks, heights, color=_BOUND, ls="", marker=marker, ms=3, label=label)
        for bound, dashes, words in whole:
            if bound is not None:
                label = f"{words} {describe(bound)}"
                axes.axhline(as_float(bound), color=_BOUND, lw=1.4, ls=dashes, label=label)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("queries, from the smallest deviation on")
        axes.set_ylabel(_NORMS[bounds.norm])
        shown = f"{len(rows)} of {problem.count}" if len(rows) < problem.count else f"{problem.count}"
        axes.set_title(f"{shown} queries, limit {problem.limit_kind}", fontsize=10)
        axes.legend(frameon=False, fontsize=9)
