"""Makes helpers of this folder and of the kernel's tests importable: pytest leaves test folders off sys.path here."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "kernel")]
