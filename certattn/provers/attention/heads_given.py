"""What heads have in certificates beside arrays: the scale, and who sees what."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.provers.exact_inputs import exact_text


def scale_and_masks(
    scale: str | None,
    causal: str | int | None,
    window: int | None,
    lengths: Sequence[int] | None,
    sequences: tuple[Sequence[int], Sequence[int]] | None,
) -> dict[str, Plain]:
    """As certificates write them. Raises UsageError without a scale."""
    if scale is None:
        raise UsageError(
            "no scale; expected the factor of the scores, such as 1/sqrt(64): a kernel's default is 1/sqrt(d)"
        )
    stated: dict[str, Plain] = {"scale": exact_text(scale, "scale")}
    mask = {"causal": causal, "window": window}
    stated |= {name: str(value) for name, value in mask.items() if value is not None}
    if lengths is not None:
        stated["lengths"] = [str(length) for length in lengths]
    if sequences is not None:
        stated["sequences"] = {
            name: [str(n) for n in each] for name, each in zip(("queries", "keys"), sequences, strict=True)
        }
    return stated
