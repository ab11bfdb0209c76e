"""A figure of a certificate of `token-optimality`: keys with their scores, and which tokens are best."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.selection.token_optimality import read
from certattn.provers.figures import BOUND, Target, canvas, standing
from certattn.provers.rounding import as_float, doubles

_MARKERS = "osD^vP*X"


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure; of keys beyond the plane the first two entries."""
    stated = read(certificate)
    tokens, best = stated.stated.tokens, stated.optimal
    scores = [[as_float(score) for score in tokens.scores_of(i)] for i in range(tokens.count)]
    low, high = min(map(min, scores)), max(map(max, scores))
    with canvas(target, (5.6, 4.4)) as (figure, axes):
        for i in range(tokens.count):
            keys = doubles(tokens.keys_of(i))
            flat = keys if keys.shape[1] > 1 else np.column_stack([keys, np.zeros(len(keys))])
            label = f"input {i}" if tokens.count <= len(_MARKERS) else None
            shown = axes.scatter(*flat[:, :2].T, s=70, c=scores[i], marker=_MARKERS[i % len(_MARKERS)], cmap="cividis",
                                 vmin=low, vmax=high, edgecolors="black", lw=0.6, label=label)  # fmt: skip
            for k in best[i] if best is not None else ():
                ring = f"{standing()}: best token" if i == 0 else None
                axes.plot(*flat[k, :2], marker="o", ms=16, mfc="none", mec=BOUND, mew=1.8, ls="", label=ring)
        figure.colorbar(shown, ax=axes, label="score", pad=0.02)
        entries = "" if tokens.dimension <= 2 else f", first two of {tokens.dimension} entries"
        axes.set_title(f"keys of {tokens.count} input{'s' if tokens.count > 1 else ''}{entries}")
        axes.set_xlabel("entry 0")
        axes.set_ylabel("entry 1")
        axes.margins(0.2)
        if (
            tokens.dimension == 1
            or len({row[1] for i in range(tokens.count) for row in tokens.keys_of(i).to_rows()}) == 1
        ):
            axes.set_ylim(-1, 1)
        axes.legend(loc="best")
