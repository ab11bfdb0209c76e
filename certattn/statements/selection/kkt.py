"""The conditions of Karush, Kuhn and Tucker in words."""

from __future__ import annotations

from certattn.kernel.theorems.selection.stated_tokens import kkt_names


def kkt_sentences(prefix: str, what: str = "p") -> dict[str, str]:
    """What is compared, for the point called `what`, by the names of the obligations."""
    sentences = (
        "the smallest multiplier",
        f"the smallest slack of the constraints at {what}",
        "the sum of multipliers times slacks",
        f"the squared norm of {what}",
    )
    return dict(zip(kkt_names(prefix), sentences, strict=True))
