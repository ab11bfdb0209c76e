"""A check for a paper: whatever could be shared with the one who made the certificate is left out.

Arb alone; an interpreter of its own in the default floating-point environment; and, where it covers the
claim, the second checker besides, which has no line in common with the kernel. The second checker can only
take a verdict away.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from certattn.isolation.fresh import check_in_new_interpreter, run_alone
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.statements.reports import Report

_PACKAGE = Path(__file__).parent
# In an installed package, and in a checkout: a folder that Python runs, of modules that are no part of the package.
_SECOND_CHECKERS = (_PACKAGE / "recheck", _PACKAGE.parent / "tools" / "recheck")
_VERIFIED, _NOT_COVERED, _UNDECIDED, _REJECTED = "verified", "not covered", "undecided", "rejected"
_CONDITIONS = ("Arb alone", "an interpreter of its own", "the default floating-point environment, set and proved")


def strict_options(options: CheckOptions) -> CheckOptions:
    """Options of a strict check. Raises UsageError for those that say otherwise."""
    if options.only is not None:
        raise UsageError("a strict check is of a whole certificate: leave out --only")
    if options.arithmetic == "binary64":
        raise UsageError("a strict check is by Arb alone: leave out --arithmetic binary64")
    return replace(options, arithmetic="arb")


def check_strictly(path: Path, options: CheckOptions) -> Report:
    """The report of a strict check, with what was done under `strict`."""
    report = check_in_new_interpreter(path, options)
    if not report.digest:
        return report  # no check came to its end
    if report.verdict is not Verdict.VERIFIED:
        return replace(report, strict=_CONDITIONS)
    found, why = second_opinion(path, options, report.sha256)
    report = replace(report, strict=(*_CONDITIONS, f"second checker: {found}" + (f" ({why})" if why else "")))
    if found in (_VERIFIED, _NOT_COVERED, _UNDECIDED):
        return report
    if found == _REJECTED:
        return replace(report, verdict=Verdict.INCONCLUSIVE, reason=f"the second checker does not take the file: {why}")
    reason = f"the two checkers disagree: the second one says {found} ({why}); do not believe either, and report it"
    return replace(report, verdict=Verdict.ERROR, reason=reason)


def second_checker() -> Path | None:
    """The folder of the second checker, where it is installed."""
    return next((place for place in _SECOND_CHECKERS if place.exists()), None)


def second_opinion(path: Path, options: CheckOptions, sha256: str) -> tuple[str, str]:
    """What the second checker says of the file, as long as it has these bytes, and why."""
    program = second_checker()
    if program is None:
        return _NOT_COVERED, "it is not installed"
    seconds = str(min(options.limits.timeout_seconds, 999_999))
    root = [] if options.root is None else ["--root", str(options.root.absolute())]
    asked = [str(program), "--json", "--seconds", seconds, "--sha256", sha256, *root, str(path.absolute())]
    try:
        answer = run_alone(asked)
        (found,) = json.loads(answer.stdout)["certificates"]
        verdict, why = str(found["verdict"]), str(found["why"])
    except Exception as error:
        return "nothing that can be read", f"{type(error).__name__}: {error}"
    return verdict, "" if verdict == _VERIFIED else why
