"""What the process of a check may not do: use the network, change files, start programs, signal others.

A check reads a certificate and its array files, computes, and sends one report through a pipe that is
open already. So everything else is refused, in layers: Python's audit events on every system, the
system's limits on the size of files, and on Linux what `system_calls` installs. A layer that a system
does not have is left out and does not change a verdict; what a check tried and was refused does: it
is an error. The layers guard against mistakes and against code that a file might smuggle in through a
bug of a library. They are no reason to believe a report: `verdict.py` is.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from compileall import compile_dir
from importlib import import_module
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any

from certattn.isolation.system_calls import filter_system_calls, restrict_files

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Audit events, https://docs.python.org/3/library/audit_events.html. Those that name families end with a dot.
_FAMILIES = (
    "socket.", "subprocess.", "shutil.", "ftplib.", "http.", "smtplib.", "urllib.", "webbrowser.", "pty.", "syslog.",
)  # fmt: skip
_REFUSED = frozenset(
    f"os.{name}"
    for name in (
        "chflags", "chmod", "chown", "exec", "fork", "forkpty", "killpg", "lchflags", "link", "lockf", "mkdir",
        "posix_spawn", "remove", "removexattr", "rename", "rmdir", "setxattr", "spawn", "startfile",
        "symlink", "system", "truncate", "utime",
    )
)  # fmt: skip

_PACKAGE = Path(__file__).resolve().parent.parent
_LAST_COMPILED = _PACKAGE / "kernel" / "theorems" / "training" / "training_convergence.py"
_attempts: list[str] = []


class RefusedError(PermissionError):
    """The process of a check tried what it may not do."""


def confine(memory_bytes: int) -> tuple[str, ...]:
    """Refuse this process, from here on and for good, what no check does; the layers that are active.

    Its address space is limited to `memory_bytes`. Raises nothing where a system lacks a layer, but
    OSError or ValueError where it cannot limit memory.
    """
    _keep_bytecode()
    # Modules that are imported from here on are not kept as bytecode: that would be writing.
    sys.dont_write_bytecode = True
    sys.addaudithook(_watch)
    # Writing to a file is then an error, which says more than the signal that would end the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed, sys.maxsize),) * 2)
    # Last, as the filter lets no limit be set: root could take back those above.
    return ("audit", "limits", *(name for name in (restrict_files(), filter_system_calls()) if name))


def _keep_bytecode() -> None:
    """Compile now what a check may import, where its bytecode can be kept and is not yet, as after a fresh checkout.

    Else every check would compile its theorem anew, and numpy where it reads arrays.
    """
    if not sys.dont_write_bytecode and not Path(cache_from_source(str(_LAST_COMPILED))).exists():
        for room in ("statements", "fast", "kernel"):
            compile_dir(_PACKAGE / room, quiet=2)
    spec = find_spec("numpy")
    if spec is None or spec.origin is None or spec.cached is None or sys.dont_write_bytecode:
        return
    if not Path(spec.cached).exists() and os.access(Path(spec.origin).parent, os.W_OK):
        import_module("certattn.kernel.document.bit_patterns")


def active_layers() -> tuple[str, ...]:
    """The layers that are active in a check on this machine, found out in a process that ends at once.

    Raises OSError where the system has no process left, or that process could not be confined.
    """
    ear, mouth = os.pipe()
    with open(ear, "rb") as answer:
        with open(mouth, "wb", buffering=0) as reply:
            pid = os.fork()
            if pid == 0:
                try:
                    reply.write(", ".join(confine(sys.maxsize)).encode("ascii"))
                finally:
                    os._exit(0)
        # The only end that writes is the other process's now: what it ended without saying is empty.
        layers = answer.read().decode("ascii")
    os.waitpid(pid, 0)
    if not layers:
        raise OSError("the process of a check could not be confined")
    return tuple(layers.split(", "))


def refusals() -> str:
    """What this process tried and was refused by Python's audit events, as a message; empty if nothing."""
    if not _attempts:
        return ""
    tried = "; ".join(list(dict.fromkeys(_attempts))[:5])
    return (
        f"the check tried what its process may not do: {tried}. This is a bug in certattn or in a library, or a file "
        "that makes use of one: do not believe the certificate, and please report it"
    )


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Called by Python for everything that it audits."""
    if event == "open":
        # What is open already, such as the pipe of the report, has a number and no path.
        refused = not isinstance(arguments[0], int) and bool(arguments[2] & _WRITING)
    elif event == "os.kill":
        refused = arguments[0] != os.getpid()
    elif event == "resource.prlimit":
        refused = arguments[0] not in (0, os.getpid())
    else:
        refused = event in _REFUSED or event.startswith(_FAMILIES)
    if refused:
        what = f"{event} {arguments[0]!a}"[:200] if arguments else event
        _attempts.append(what)
        raise RefusedError(f"the process of a check may not do this: {what}")
