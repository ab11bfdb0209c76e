"""Modules that several tests of models share are found by name."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
