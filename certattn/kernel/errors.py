"""Everything that can go wrong for a person using certattn.

CertattnError
    MalformedError      a file is not a certificate, or a tensor file is not what it should be
    LimitExceededError  a stated limit on size, depth, digits, time or memory was reached
    UsageError          a call or command line that makes no sense
    NotProvedError      generation: what was asked to be stated could not be proved
    Binary64Error       binary64 arithmetic with proved bounds gives no answer here; Arb may
        GuardError          this machine, process or thread does not compute as the bounds assume
        RefusedError        these numbers are out of the reach of the bounds
        BoundNotProvedError the error of a floating-point function has no proof for its constants

Messages are for people: where (file, line, key path), what was found, what was
expected, what to do.
"""

from __future__ import annotations

from dataclasses import dataclass


class CertattnError(Exception):
    """Base of every error that certattn raises on purpose."""


class UsageError(CertattnError):
    """The call itself makes no sense."""


class LimitExceededError(CertattnError):
    """A limit on time, memory or precision was reached; a person can raise it."""


class NotProvedError(CertattnError):
    """What generation was asked to state is false or could not be proved."""


class Binary64Error(CertattnError):
    """Binary64 arithmetic with proved bounds gives no answer here."""


class GuardError(Binary64Error):
    """The machine does not compute as the bounds assume. The message says what is wrong."""


class RefusedError(Binary64Error):
    """These numbers are out of the reach of the bounds."""


class BoundNotProvedError(Binary64Error):
    """The proof of a bound on rounding errors does not go through for the constants at hand."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file: 1-based line (0: the file as a whole) and key path."""

    file: str
    line: int = 0
    path: str = ""

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        path = f": {self.path}" if self.path else ""
        return f"{self.file}{line}{path}"


class MalformedError(CertattnError):
    """A file is not what it must be.

    Attributes: `place` (file, line, key path), `found`, `expected`, `hint`.
    """

    def __init__(self, place: Place, found: str, expected: str, hint: str = "") -> None:
        self.place = place
        self.found = found
        self.expected = expected
        self.hint = hint
        advice = f"\n  hint:     {hint}" if hint else ""
        super().__init__(f"{place}\n  found:    {found}\n  expected: {expected}{advice}")
