"""The exit status of an error, and what the system's own errors say."""

from __future__ import annotations

import errno

from certattn.kernel.errors import CertattnError, LimitExceededError, NotProvedError

# Errors of the system that more room would mend.
RESOURCES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)


def status_of(error: CertattnError) -> int:
    """1 for what could not be proved, 4 for a limit of time, memory or size, 2 for bad input and usage."""
    if isinstance(error, NotProvedError):
        return 1
    return 4 if isinstance(error, LimitExceededError) else 2


def refused_by_the_system(error: OSError) -> tuple[str, int]:
    """What it says, of which file, and the status: 4 where more room would mend it, else 2."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{(error.strerror or str(error)).lower()}", 4 if error.errno in RESOURCES else 2
