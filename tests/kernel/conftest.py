"""Makes this folder's helper modules importable: pytest leaves test folders off sys.path here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
