"""What claims about training state of the risk at test time: the option, and the risk."""

from __future__ import annotations

from typing import Any

from certattn.kernel.document.schema import Record
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.training.shifted_risk import SHIFTED, read_shift
from certattn.provers.commands import Option, Yaml
from certattn.provers.exact_inputs import exact
from certattn.provers.output import Draft

TEST_TIME = Option("--shift", "State the risk where these are the laws at test time.", Yaml("shift"), "TEST")
_SHIFTED = Record(*SHIFTED)


def stated_shift(draft: Draft, shift: dict[str, Any], covariance: ExactMatrix, product: ExactMatrix) -> Plain:
    """The laws at test time and the risk at bA, as certificates write them. Raises UsageError, MalformedError."""
    written = exact(shift, "shift")
    if not isinstance(written, dict) or not written:
        names = ", ".join(field.name for field in SHIFTED)
        raise UsageError(f"shift is {shift!r:.60}, expected a mapping with some of {names}")
    there = draft.about(written, "shift")
    found = there.read(lambda one: read_shift(_SHIFTED.read(one.given, one.reading), covariance))
    return {**written, "risk": format_rational(found.risk(product))}
