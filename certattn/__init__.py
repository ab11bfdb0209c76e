"""certattn: theorems about softmax attention as certificates that a small trusted checker re-proves.

    load      read a certificate file
    check     prove, refute or reject it
    generate  make one from arrays or files

    >>> import certattn
    >>> report = certattn.check("certificates/infinite-prompt-operator/gaussian-d1.yaml")
    >>> report.verdict
    <Verdict.VERIFIED: 'verified'>

Errors are subclasses of `CertattnError`: `MalformedError`, `LimitExceededError`, `UsageError`,
`NotProvedError`.
"""

from __future__ import annotations

from certattn._api import check, generate, load
from certattn._version import __version__
from certattn.kernel.checker import CLAIMS
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import (
    CertattnError,
    LimitExceededError,
    MalformedError,
    NotProvedError,
    UsageError,
)
from certattn.kernel.limits import Limits
from certattn.kernel.verdict import Obligation, Outcome, Report, Verdict, exit_status

__all__ = [
    "CLAIMS",
    "CertattnError",
    "Certificate",
    "LimitExceededError",
    "Limits",
    "MalformedError",
    "NotProvedError",
    "Obligation",
    "Outcome",
    "Report",
    "UsageError",
    "Verdict",
    "__version__",
    "check",
    "exit_status",
    "generate",
    "load",
]
