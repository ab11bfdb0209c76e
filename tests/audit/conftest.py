"""The tiny models of the tests of forward passes are here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "models"))
