"""The certificate of the family `training-convergence` of the gallery in dimension 64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import certattn
from tools.gallery.training import exact, neighbours


def write(folder: Path) -> None:
    """Correlated neighbours, from A = I/16, b = 1/2, in an array file."""
    given = {
        "covariance": np.array(exact(neighbours(64)), np.float32),
        "start": {"A": np.eye(64, dtype=np.float32) / 16, "b": "1/2"},
        "training": {"rule": "flow"},
    }
    note = "dimension 64, correlated neighbours, where rates alone lead"
    path = folder / "sixty-four.yaml"
    certattn.generate("training-convergence", path, given=given, begins="100", enclosed="0", note=note)
