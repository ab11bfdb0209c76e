"""How provers about training in context are told where it starts."""

from __future__ import annotations

from typing import Any

from certattn.kernel.errors import UsageError
from certattn.provers.exact_inputs import exact, exact_rational


def scaled_start(start: dict[str, Any]) -> dict[str, Any]:
    """A = alpha P and b = alpha. Raises UsageError."""
    matrix = exact(start.get("P", ""), "P")
    if set(start) != {"alpha", "P"} or not isinstance(matrix, list):
        raise UsageError("a start is A and b, or alpha and P with P as a list of rows")
    alpha = exact_rational(start["alpha"], "alpha")
    rows = [[exact_rational(entry, "P") * alpha for entry in row] for row in matrix]
    return {"A": rows, "b": alpha}
