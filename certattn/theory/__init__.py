"""Where the kernel's formulas come from: derived from first principles, proved equal to what it runs.

Everything here is exact symbolic algebra (sympy, `pip install sympy`). The kernel does
not depend on it; a derivation shows that the formula a certificate is checked with is the right one.
"""

from __future__ import annotations

from collections.abc import Mapping

from certattn.kernel.theorems import Claims
from certattn.theory.derivation import Derivation, read

DERIVATIONS: Mapping[str, Derivation] = Claims(read)
