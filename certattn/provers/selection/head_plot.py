"""The figure of a certificate of `selection-on-a-head`: the selected token of each query, and its certified weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.selection.selection_on_a_head import AT_LEAST, MARGIN, THEOREM, WEIGHT, HeadStatement
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float

_WEIGHT, _MARGIN = "#1f4e79", "#c0562f"


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw what is stated of each query into a file."""
    problem = THEOREM.read(certificate)
    prompt = problem.head.prompt
    queries = np.arange(prompt.count)
    size = float(np.clip(600 / prompt.count, 2, 24))
    with canvas(path, (5.6, 6.4), 3, sharex=True, height_ratios=[3, 2, 2]) as (figure, (tokens, weights, margins)):
        low = _bounds(problem, WEIGHT.name)
        shown = tokens.scatter(
            queries, problem.selected, s=size, c=low, cmap="viridis", vmin=0, vmax=1, lw=0, rasterized=True
        )
        if problem.head.causal is not None:
            tokens.plot(queries, np.array(problem.head.seen) - 1, color="0.7", lw=1, label="last token that is seen")
            tokens.legend()
        tokens.set_ylim(-0.02 * prompt.length, 1.02 * prompt.length)
        tokens.set_ylabel("selected token")
        figure.colorbar(shown, ax=tokens, label=f"{standing()} weight", pad=0.01)
        _bars(weights, queries, low, _WEIGHT, "weight at least")
        weights.set_ylim(0, 1)
        _bars(margins, queries, _bounds(problem, MARGIN.name), _MARGIN, "margin at least")
        margins.set_xlabel("query")
        distinct = len(set(problem.selected))
        tokens.set_title(f"{prompt.count} queries select {distinct} of {prompt.length} tokens")


def _bounds(problem: HeadStatement, name: str) -> Any:
    """The certified lower bound of each query."""
    bounds = problem.ranges[name][AT_LEAST]
    return np.array([as_float(bounds.at(i)) for i in range(problem.head.prompt.count)])


def _bars(axes: Any, queries: Any, heights: Any, colour: str, label: str) -> None:
    axes.fill_between(queries, heights, step="mid", color=colour, lw=0, rasterized=True)
    axes.set_ylabel(label)
    axes.grid(True, axis="y")
