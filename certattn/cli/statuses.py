"""The exit status of an error."""

from __future__ import annotations

from certattn.kernel.errors import CertattnError, LimitExceededError, NotProvedError


def status_of(error: CertattnError) -> int:
    """1 for what could not be proved, 4 for a limit of time, memory or size, 2 for bad input and usage."""
    if isinstance(error, NotProvedError):
        return 1
    return 4 if isinstance(error, LimitExceededError) else 2
