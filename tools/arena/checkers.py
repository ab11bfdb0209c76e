"""The checkers of the arena: a name, and a function from a certificate's path to an answer.

To enter another checker, write such a function and add it to CHECKERS. The controls are wrong on purpose:
an arena in which they do well measures nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import enum
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from certattn.coq.check import check_folder
from certattn.coq.compiled import CompiledLibrary, compiled_library
from certattn.coq.coqc import RejectedError, find_coq
from certattn.coq.export import export
from certattn.isolation import worker
from certattn.kernel.decide.checker import CheckOptions, theorem_of
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import CertattnError, LimitExceededError, MalformedError
from certattn.kernel.limits import Limits
from certattn.statements.checking import check_file
from certattn.statements.reports import Report

ROOT = Path(__file__).resolve().parents[2]
RECHECK = ROOT / "tools" / "recheck"
# Of one certificate, for checkers in programs of their own.
SECONDS = 120
# Of the processor's time: then recheck says by itself that it does not decide, as for integrals that have to be sharp.
RECHECK_SECONDS = "20"


class Outcome(enum.Enum):
    VERIFIED = "verified"
    REFUSED = "refused"
    NOT_COVERED = "not covered"
    # It ended without an answer: an exception, a signal, the time limit.
    CRASHED = "crashed"


@dataclass(frozen=True)
class Answer:
    """What a checker says of a certificate; `report` is the kernel's, whose reasons are compared too."""

    outcome: Outcome
    said: str = ""
    report: Report | None = None


@dataclass(frozen=True)
class Checker:
    """`missing` says why the checker is not here, nothing if it is.

    `excused`: cases, as "claim: family: case", in which it may differ from what is expected, with the reason.
    """

    name: str
    answer: Callable[[Path], Answer]
    missing: Callable[[], str] = lambda: ""
    control: bool = False
    excused: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, path: Path) -> Answer:
        """The answer; an exception is one that never came."""
        try:
            return self.answer(path)
        except Exception as error:
            return Answer(Outcome.CRASHED, f"{type(error).__name__}: {error}")


# -- the kernel


def kernel(path: Path) -> Answer:
    """The kernel, in this process: thousands of small certificates, and none that runs away."""
    return _said(check_file(path, CheckOptions()))


def _said(report: Report) -> Answer:
    outcome = {Verdict.VERIFIED: Outcome.VERIFIED, Verdict.ERROR: Outcome.CRASHED}
    return Answer(outcome.get(report.verdict, Outcome.REFUSED), report.reason, report)


# -- checkers in programs of their own


def recheck(path: Path) -> Answer:
    """The second checker, in a Python that finds nothing but the standard library."""
    command = [sys.executable, "-I", "-S", str(RECHECK), "--seconds", RECHECK_SECONDS, str(path)]
    return _by_status(command, {0: Outcome.VERIFIED,
                      1: Outcome.REFUSED, 3: Outcome.NOT_COVERED})  # fmt: skip


# What these state is true. Recheck verifies where the kernel cannot decide, or cannot where the kernel verifies.
EXACT = "an exact number is decided without rounding, where the kernel's enclosure stays around it"
STEPS = "leaps are a hint: all steps are enclosed one by one here, and as narrowly as it takes"
SMALL = "a number below 2^-3072, the last of the second checker's precisions"
RECHECK_EXCUSED = {
    "equivalent-law: extreme numbers: cdf that is not rational": EXACT,
    "infinite-prompt-operator: values of an affine operator: no slack where a ball is no point": EXACT,
    "regression-risk: the inverse of an anisotropic covariance: a radius of nothing": EXACT,
    "selection-direction: one input of three tokens, enclosed in leaps: leaps that are too long to tell": STEPS,
    "softmax-mean: a zero query, for which every token weighs the same: a largest eigenvalue met exactly, "
    "which no ball shows": EXACT,
    "softmax-mean: a zero query, for which every token weighs the same: a smallest eigenvalue met exactly": EXACT,
    "output-deviation: a weight of e^(-10^30)": SMALL,
    "output-deviation: a weight of e^(-10^30): the other token": SMALL,
}


def recheck_missing() -> str:
    return "" if RECHECK.exists() else f"{RECHECK.relative_to(ROOT)} is not here"


def coq(path: Path) -> Answer:
    """A proof of the exported theorem by coqc, with one compiled library for all certificates.

    What is not exported is not covered: what is malformed, has no form in Coq or is too large, and a bound that leaves
    intervals no slack. Whether the certificate verifies is not asked before: that is for Coq to say.
    """
    with tempfile.TemporaryDirectory(prefix="arena-coq-") as folder:
        out = Path(folder) / "proof"
        try:
            export(load(path), out, most_seconds=SECONDS)
        except CertattnError as error:
            return Answer(Outcome.NOT_COVERED, str(error))
        try:
            proof = check_folder(out, find_coq(SECONDS, 2**33), coq_library())
        except RejectedError as error:
            return Answer(Outcome.REFUSED, str(error))
        except LimitExceededError as error:
            return Answer(Outcome.NOT_COVERED, str(error))
        return Answer(Outcome.VERIFIED, proof.theorem)


@functools.cache
def coq_library() -> CompiledLibrary:
    """Of this process, gone with it."""
    library = contextlib.ExitStack()
    atexit.register(library.close)
    return library.enter_context(compiled_library())


def coq_missing() -> str:
    return "" if shutil.which("coqc") else "coqc is not installed"


def _by_status(command: list[str], outcomes: Mapping[int, Outcome]) -> Answer:
    """What a program's exit status says; any other than these, and no end in time, is a crash."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Answer(Outcome.CRASHED, f"no answer within {SECONDS} s")
    lines = (done.stdout + done.stderr).strip().splitlines()
    said = f"exit status {done.returncode}: {' / '.join(lines)[:300]}"
    return Answer(outcomes.get(done.returncode, Outcome.CRASHED), said)


# -- controls


def accept_all(path: Path) -> Answer:
    return Answer(Outcome.VERIFIED)


def reject_all(path: Path) -> Answer:
    return Answer(Outcome.REFUSED)


def parse_only(path: Path) -> Answer:
    """Accepts whatever is read without complaint: fields, numbers, shapes, hashes. It proves nothing."""
    try:
        certificate = load(path)
        theorem_of(certificate).read(certificate)
    except MalformedError as error:
        return Answer(Outcome.REFUSED, str(error))
    return Answer(Outcome.VERIFIED)


def crash(path: Path) -> Answer:
    """Ends without an answer: by an exception, and on the first case of each family by a signal in a worker."""
    if not path.name.startswith("000-"):
        raise ZeroDivisionError("on purpose")
    (report,) = worker.check_files([path], CheckOptions(limits=Limits(timeout_seconds=SECONDS)), check=_killed)
    return _said(report)


def _killed(path: Path, options: CheckOptions) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


CHECKERS = {
    checker.name: checker
    for checker in (
        Checker("kernel", kernel),
        Checker("recheck", recheck, recheck_missing, excused=RECHECK_EXCUSED),
        Checker("coq", coq, coq_missing),
        Checker("accept-all", accept_all, control=True),
        Checker("reject-all", reject_all, control=True),
        Checker("parse-only", parse_only, control=True),
        Checker("crash", crash, control=True),
    )
}
