"""Room for exact numbers: a few short texts can need very much of it.

1e20000 has 20001 digits, and fractions with unrelated denominators grow with each other when they
are brought to a common one.
"""

from __future__ import annotations

from certattn.kernel.document.tree import Node
from certattn.kernel.limits import Limits

_TIMES = 16


class Room:
    """The room that the written numbers of one document may take, in proportion to its largest size."""

    def __init__(self, limits: Limits) -> None:
        self._bytes = _TIMES * limits.max_document_bytes
        self._taken = 0

    def take(self, bits: int, node: Node) -> None:
        """Room for a number, beside those before. Raises MalformedError where it is used up."""
        self._taken += bits
        self.require(self._taken, node)

    def require(self, bits: int, node: Node) -> None:
        """Room for something by itself. Raises MalformedError where there is not so much."""
        if bits > 8 * self._bytes:
            found = f"numbers that need over {self._bytes} bytes when written out exactly"
            raise node.malformed("shorter numbers", found, "use array files, or raise --max-document-bytes")
