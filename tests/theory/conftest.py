"""Shared by the tests of derivations: this folder's helper module."""

from __future__ import annotations

import sys
from pathlib import Path

# pytest leaves test folders off sys.path here.
sys.path.insert(0, str(Path(__file__).resolve().parent))
