"""Running Coq's compiler: with nothing of the user's settings, within limits of time and memory."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from certattn.kernel.errors import LimitExceededError, NotProvedError, UsageError

_POLL_SECONDS = 0.05
_SAID = 2000
_OUT_OF_MEMORY = ("Out of memory", "out of memory", "Cannot allocate memory", "Stack overflow")

MISSING = (
    "Coq was not found: `coqc` is not on the path. On Debian and Ubuntu `apt-get install coq libcoq-interval` installs "
    "it with the library coq-interval; elsewhere `opam install coq coq-interval`"
)


class RejectedError(NotProvedError):
    """Coq does not prove the theorem, or the folder is not what it says; `said`: what Coq complained of."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


@dataclass(frozen=True)
class Coq:
    """The programs, and the limits that hold for each run of them.

    `waited` is called again and again while one runs.
    """

    coqc: str
    seconds: int
    memory_bytes: int
    waited: Callable[[], None] = lambda: None

    def compile(self, file: Path, folder: Path, maps: Sequence[tuple[Path, str]]) -> str:
        """Compile a file in `folder`; what Coq prints. Raises RejectedError where it has an error."""
        arguments = [part for path, name in maps for part in ("-Q", str(path), name)]
        status, printed, complaint = self.run([self.coqc, "-q", *arguments, str(file)], folder)
        if status != 0:
            said = _shortened(complaint or printed)
            raise RejectedError(f"{file.name} is not proved by Coq: {said or 'it said nothing'}", said)
        return printed

    def run(self, command: Sequence[str], folder: Path) -> tuple[int, str, str]:
        """Exit status, output and complaints. Raises LimitExceededError, and ends the program whatever happens."""
        out, err = folder / ".printed", folder / ".complained"
        with out.open("wb") as printed, err.open("wb") as complained:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=complained,
                start_new_session=True,
            )
            try:
                self._limit(process.pid)
                self._wait(process)
            finally:
                if process.poll() is None:
                    # The group, which is its own: what stands under the name of coqc may be a script.
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        said = err.read_text(encoding="utf-8", errors="replace")
        if process.returncode < 0 or (process.returncode != 0 and any(words in said for words in _OUT_OF_MEMORY)):
            raise LimitExceededError(
                f"Coq ended without an answer (exit status {process.returncode}{': ' if said else ''}"
                f"{_shortened(said)}); the memory limit is {self.memory_bytes >> 20} MiB (--memory)"
            )
        return process.returncode, out.read_text(encoding="utf-8", errors="replace"), said

    def _limit(self, pid: int) -> None:
        if hasattr(resource, "prlimit"):
            for kind, amount in ((resource.RLIMIT_AS, self.memory_bytes), (resource.RLIMIT_CPU, self.seconds + 60)):
                with suppress(ProcessLookupError):
                    _, hard = resource.prlimit(pid, kind)
                    allowed = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
                    resource.prlimit(pid, kind, (allowed, hard))

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + self.seconds
        while process.poll() is None:
            if time.monotonic() > end:
                raise LimitExceededError(f"stopped at the time limit of {self.seconds} s (--timeout)")
            self.waited()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)


def find_coq(seconds: int, memory_bytes: int, waited: Callable[[], None] = lambda: None) -> Coq:
    """Coq as it is installed. Raises UsageError where it is not."""
    found = shutil.which("coqc")
    if found is None:
        raise UsageError(MISSING)
    return Coq(found, seconds, memory_bytes, waited)


def _environment(folder: Path) -> dict[str, str]:
    """No COQPATH, COQLIB or settings: what is loaded stands in the command."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "LC_ALL": "C.UTF-8"}


def _shortened(text: str) -> str:
    """On one line."""
    words = " ".join(text.split())
    return words if len(words) <= _SAID else f"{words[:_SAID]} ..."
