"""certattn: theorems about softmax attention as certificates that a checker re-proves.

    load       read a certificate file
    check      prove, refute or reject it; check_all: several
    generate   make one from numbers, arrays or files
    plot       draw what it states

    >>> import certattn
    >>> report = certattn.check("certificates/prompts/infinite-prompt-operator/gaussian-d1.yaml")
    >>> report.verdict
    <Verdict.VERIFIED: 'verified'>

Errors are subclasses of `CertattnError`: `MalformedError`, `LimitExceededError`, `UsageError`,
`NotProvedError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from certattn._version import __version__
from certattn.kernel.decide.floating_point import default_floating_point

if TYPE_CHECKING:
    from certattn._api import check, check_all, generate, load, plot
    from certattn._certificate import Certificate
    from certattn.isolation.sandbox import active_layers
    from certattn.kernel.decide.checker import CLAIMS
    from certattn.kernel.decide.proof import Outcome, Verdict
    from certattn.kernel.errors import (
        CertattnError,
        LimitExceededError,
        MalformedError,
        NotProvedError,
        UsageError,
    )
    from certattn.kernel.limits import Limits
    from certattn.provers import PROVERS
    from certattn.provers.commands import DoubtWarning
    from certattn.statements.enclosures import Enclosure
    from certattn.statements.reports import Obligation, Report, exit_status

# Where each name is, so that it is imported when it is used: the command line starts at once.
_MODULES = {
    "certattn._api": ("check", "check_all", "generate", "load", "plot"),
    "certattn._certificate": ("Certificate",),
    "certattn.kernel.decide.checker": ("CLAIMS",),
    "certattn.kernel.errors": (
        "CertattnError",
        "LimitExceededError",
        "MalformedError",
        "NotProvedError",
        "UsageError",
    ),
    "certattn.kernel.limits": ("Limits",),
    "certattn.kernel.decide.proof": ("Outcome", "Verdict"),
    "certattn.isolation.sandbox": ("active_layers",),
    "certattn.provers": ("PROVERS",),
    "certattn.provers.commands": ("DoubtWarning",),
    "certattn.statements.enclosures": ("Enclosure",),
    "certattn.statements.reports": ("Obligation", "Report", "exit_status"),
}

__all__ = [
    "CLAIMS",
    "PROVERS",
    "CertattnError",
    "Certificate",
    "DoubtWarning",
    "Enclosure",
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
    "active_layers",
    "check",
    "check_all",
    "exit_status",
    "generate",
    "load",
    "plot",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            # In another one, literals of modules that are compiled now would become other numbers.
            with default_floating_point():
                globals()[name] = getattr(import_module(module), name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
