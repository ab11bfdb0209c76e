"""A figure of a certificate of `infinite-prompt-operator`: the affine map as a table of colours, or stated outputs."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.prompts.infinite_prompt_operator import MATRIX, OPERATOR, QUERY, VALUE, VALUES, read
from certattn.provers.figures import RUN, Target, canvas, standing
from certattn.provers.rounding import doubles

_MOST_WRITTEN = 64


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where neither a map nor outputs are stated."""
    asserts = read(certificate).asserts
    if OPERATOR in asserts:
        matrix = doubles(asserts[OPERATOR][MATRIX].load())
        largest = float(np.abs(matrix).max()) or 1.0
        with canvas(target, (5.6, 4.2)) as (figure, axes):
            shown = axes.imshow(matrix, cmap="PuOr", vmin=-largest, vmax=largest, rasterized=True)
            if matrix.size <= _MOST_WRITTEN:
                for (i, j), entry in np.ndenumerate(matrix):
                    dark = abs(entry) > 0.6 * largest
                    axes.text(j, i, f"{entry:.3g}", ha="center", va="center", color="white" if dark else "black")
            axes.set(xticks=range(matrix.shape[1]), yticks=range(matrix.shape[0]))
            axes.set_xlabel("entry of the query")
            axes.set_ylabel("entry of the output")
            axes.set_title(f"attention over an infinite prompt: {standing()} matrix")
            figure.colorbar(shown, ax=axes, pad=0.02)
        return
    items = asserts.items(VALUES)
    if not items:
        raise UsageError("a figure shows a map or outputs; this certificate states neither")
    outputs = np.array([doubles(item[VALUE].load())[0] for item in items])
    queries = [", ".join(f"{entry:.3g}" for entry in doubles(item[QUERY].load())[0]) for item in items]
    with canvas(target, (5.6, 1.6 + 0.5 * len(items))) as (_, axes):
        for entry in range(outputs.shape[1]):
            axes.plot(
                outputs[:, entry],
                range(len(items)),
                ls="",
                marker=f"${entry}$" if outputs.shape[1] > 1 else "o",
                ms=8,
                mew=0.3,
                color=RUN,
            )
        axes.axvline(0, color="0.8", lw=0.8)
        axes.set_yticks(range(len(items)), [f"q = ({query})" if len(query) < 30 else f"query {k}"
                                            for k, query in enumerate(queries)])  # fmt: skip
        axes.set_ylim(-0.6, len(items) - 0.4)
        axes.set_xlabel("entries of the output, by number")
        axes.set_title(f"attention over an infinite prompt: {standing()} outputs")
        axes.grid(True, axis="x")
