"""A figure of a certificate of `softmax-mean`: the stated outputs among the values that they are means of."""

from __future__ import annotations

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.attention.softmax_mean import MEAN, read
from certattn.provers.figures import RUN, Target, canvas, standing
from certattn.provers.rounding import doubles

_TOKEN = "#9aa3ab"
_NAMED = 8


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where no means are stated, or outputs are single numbers."""
    stated = read(certificate)
    if MEAN not in stated.asserts or stated.means.columns < 2:
        raise UsageError("a figure shows stated means of two entries or more; this certificate has none")
    tokens, means = doubles(stated.prompt.exact.values), doubles(stated.means)
    with canvas(target, (5.6, 4.6)) as (_, axes):
        axes.plot(
            *tokens[:, :2].T, ls="", marker="s", ms=4, color=_TOKEN, label="values of the tokens", rasterized=True
        )
        axes.plot(*means[:, :2].T, ls="", marker="o", ms=5, color=RUN, label=f"{standing()} outputs")
        for number, mean in enumerate(means[:_NAMED] if len(means) <= _NAMED else ()):
            axes.annotate(f"query {number}", mean[:2], (6, 4), textcoords="offset points", fontsize=9.5)
        entries = "" if means.shape[1] == 2 else f", first two of {means.shape[1]} entries"
        axes.set_title(f"{len(means)} queries over {len(tokens)} tokens{entries}")
        axes.set_xlabel("entry 0")
        axes.set_ylabel("entry 1")
        axes.margins(0.12)
        axes.legend()
