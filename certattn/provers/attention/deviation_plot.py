"""A figure of a certificate of `output-deviation`: |T(q) - T_inf(q)| of each listed query, and the certified bounds.

Where bounds are in units of the output, a panel of its own shows |T(q) - T_inf(q)| / |T(q)| beside these. Deviations
are the middles of enclosures, in doubles or at 64 bits, from the smallest on. Of many queries some are drawn, evenly
from the list, and where doubles tell all of them, the worst one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import Binary64Error, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.output_deviation import (
    AT_LEAST,
    AT_MOST,
    EACH_AT_LEAST,
    EACH_AT_MOST,
    EACH_RELATIVE,
    NORM,
    RELATIVE,
    THEOREM,
    AssertedDeviation,
)
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float

_RUN, _BOUND = "#1f4e79", "#c0562f"
_BITS, _MOST, _MARKED = 64, 200, 100
_LIMITS = {"law": "limit: infinite prompt of a law", "empirical": "limit: linear attention of this prompt"}
_INDEX = {"l2": "2", "linf": r"\infty"}

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class _Panel:
    """What is drawn in one axes: numbers by query, NaN where there is none, and bounds of all and of each."""

    quantity: str
    values: Floats
    whole: Sequence[tuple[fmpq | None, str, str]]
    each: Sequence[tuple[Sequence[fmpq], str, str]]

    @property
    def is_stated(self) -> bool:
        return any(bound is not None for bound, _, _ in self.whole) or any(bounds for bounds, _, _ in self.each)


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError for a region, which has no list of queries."""
    problem = THEOREM.read(certificate)
    if problem.regions:
        raise UsageError("a figure shows listed queries; this certificate is about a region of them")
    rows, compared = _compared(problem)
    panels = [panel for panel in _panels(problem, compared) if panel.is_stated]
    with canvas(target, (5.6, 0.6 + 3.2 * len(panels)), len(panels), squeeze=False) as (figure, axes):
        drawn = [_draw(panel, rows, problem.count, part) for panel, part in zip(panels, axes[:, 0], strict=True)]
        shown = f"{max(drawn)} of {problem.count}" if max(drawn) < problem.count else f"{problem.count}"
        figure.suptitle(f"{shown} queries; {_LIMITS[problem.limit_kind]}", fontsize=11)


def _compared(problem: AssertedDeviation) -> tuple[list[int], list[tuple[arb, arb]]]:
    """Deviations and norms of outputs: of all queries where they are few, or doubles tell; else of some."""
    if problem.count > _MOST and problem.tiers:
        rows = list(range(problem.count))
        try:
            with working_precision(_BITS):
                return rows, problem.compared_in_binary64(rows)
        except Binary64Error:
            pass
    rows = _evenly(problem.count)
    with working_precision(_BITS):
        return rows, problem.compared(rows)


def _evenly(count: int) -> list[int]:
    found: list[int] = np.unique(np.linspace(0, count - 1, min(count, _MOST)).round().astype(int)).tolist()
    return found


def _panels(problem: AssertedDeviation, compared: Sequence[tuple[arb, arb]]) -> list[_Panel]:
    deviations = np.array([float(deviation.mid()) for deviation, _ in compared])
    # Beside an output that is 0, or may be, there is nothing to draw.
    sizes = np.array([float(size.mid()) if (size > 0) is True else np.nan for _, size in compared])
    bounds = problem.bounds
    index = _INDEX[bounds[NORM]]
    distance, size = rf"|T(q) - T_\infty(q)|_{{{index}}}", rf"|T(q)|_{{{index}}}"
    return [
        _Panel(
            f"deviation ${distance}$",
            deviations,
            (
                (bounds.get(AT_MOST), "-", f"{standing()}: every query at most"),
                (bounds.get(AT_LEAST), ":", "some query at least"),
            ),
            (
                (problem.each(EACH_AT_MOST), "v", "bound of each query, at most"),
                (problem.each(EACH_AT_LEAST), "^", "at least"),
            ),
        ),
        _Panel(
            rf"relative, ${distance}\,/\,{size}$",
            deviations / sizes,
            ((bounds.get(RELATIVE), "-", f"{standing()}: every query at most"),),
            ((problem.each(EACH_RELATIVE), "v", "bound of each query, at most"),),
        ),
    ]


def _draw(panel: _Panel, rows: Sequence[int], count: int, axes: Any) -> int:
    """Draw some of the queries, the worst one named; how many these are."""
    there = [k for k in range(len(rows)) if np.isfinite(panel.values[k])]
    worst = max(there, key=lambda k: panel.values[k], default=None)
    wanted = {*_evenly(count), *([] if worst is None else [rows[worst]])}
    order = sorted((k for k in there if rows[k] in wanted), key=lambda k: panel.values[k])
    ranks = range(len(order))
    axes.plot(
        ranks,
        panel.values[order],
        color=_RUN,
        marker="o" if len(order) <= _MARKED else "",
        ms=2.5,
        lw=1.2,
        label="computed",
    )
    for stated, marker, label in panel.each:
        if stated:
            heights = [as_float(stated[rows[k]]) for k in order]
            axes.plot(ranks, heights, color=_BOUND, ls="", marker=marker, ms=3, label=label)
    for bound, dashes, words in panel.whole:
        if bound is not None:
            axes.axhline(as_float(bound), color=_BOUND, lw=1.4, ls=dashes, label=f"{words} {describe(bound)}")
    if worst is not None:
        which = "worst" if len(rows) == count else "worst of these"
        at = (len(order) - 1, panel.values[worst])
        axes.annotate(
            f"{which}: query {rows[worst]}", at, (-8, -14), textcoords="offset points", fontsize=8, ha="right"
        )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("queries, in increasing order")
    axes.set_ylabel(panel.quantity)
    axes.legend(loc="best")
    return len(order)
