"""The certificate of the family `gradient-mean-square` of the gallery about a real head."""

from __future__ import annotations

from pathlib import Path

import certattn
from tools.gallery.output_tail import head_given


def write(folder: Path) -> None:
    given, _ = head_given(folder)
    certattn.generate(
        "gradient-mean-square",
        folder / "layer0-head6.yaml",
        given=given,
        gradient="U",
        note="Gaussian tokens with the moments of layer 0 head 6 of all-MiniLM-L6-v2, at a query of its own",
    )
