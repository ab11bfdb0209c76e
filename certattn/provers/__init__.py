"""Provers find what a certificate should state. Nothing here is trusted: the checker re-proves it.

One module per claim, each with `generate(out, **inputs) -> Certificate` and, at its end, what its command takes; the
words of its help stand in the file of the claim's name beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems import Claims, attribute_of

PROVERS: Mapping[str, Callable[..., Certificate]] = Claims(attribute_of("provers", "generate"))
