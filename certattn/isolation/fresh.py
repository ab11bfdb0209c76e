"""A check in an interpreter of its own: nothing that the caller has loaded, changed or set is there.

`worker` forks the caller's process, and with it every library, patch and setting that the caller has. Here a
new interpreter starts: isolated from the user's variables and folder (-I), without start-up files (-S), with
few variables of the environment. It knows the folders of certattn and of the libraries that the kernel
imports, checks one certificate by `worker`, and prints the report.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.limits import Limits
from certattn.statements.reports import Report

_PACKAGES = ("certattn", "flint", "numpy", "yaml")
# How the interpreter and the libraries are found, where they lie in unusual places; nothing that changes what they do.
_KEPT = ("DYLD_LIBRARY_PATH", "HOME", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TMPDIR")
_PROGRAM = "import sys; sys.path += sys.argv[1:]; from certattn.isolation.fresh import serve; serve()"


def check_in_new_interpreter(path: Path, options: CheckOptions) -> Report:
    """The report of one check; whatever goes wrong with the new process becomes one that does not verify."""
    root = None if options.root is None else str(options.root)
    order = {"path": str(path), "root": root, "limits": asdict(options.limits)}
    order |= {name: getattr(options, name) for name in ("only", "detail", "arithmetic")}
    try:
        answer = run_alone(["-c", _PROGRAM, *_folders()], json.dumps(order))
    except OSError as error:
        reason = f"no interpreter could be started for it ({(error.strerror or str(error)).lower()})"
        return Report(str(path), Verdict.INCONCLUSIVE, reason=reason, limit="processes")
    try:
        if answer.returncode != 0:
            raise ValueError(f"exit status {answer.returncode}")
        report = Report.from_dict(json.loads(answer.stdout))
        if report.path != str(path):
            raise ValueError(f"a report of {report.path!r}")
    except Exception as error:
        said = answer.stderr.strip().splitlines()
        last = f": {said[-1][:200]}" if said else ""
        return Report(str(path), Verdict.ERROR, reason=f"the new interpreter did not send a report ({error}{last})")
    return report


def run_alone(arguments: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, isolated, on a text; what it prints and its exit status. Raises OSError."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    command = [sys.executable or "python3", "-I", "-S", "-X", "utf8", *arguments]
    return subprocess.run(
        command, input=text, capture_output=True, env=environment, check=False, encoding="utf-8", errors="replace"
    )


def check_in_new_interpreters(
    paths: Sequence[Path],
    options: CheckOptions,
    *,
    jobs: int = 1,
    check: Callable[[Path, CheckOptions], Report] = check_in_new_interpreter,
    started: Callable[[Path], None] = lambda path: None,
) -> Generator[Report, None, None]:
    """The reports of several checks, `jobs` at a time, in the order of `paths`."""
    waiting: list[Future[Report]] = []
    following = iter(paths)
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        try:
            while True:
                for path in following:
                    started(path)
                    waiting.append(pool.submit(check, path, options))
                    if len(waiting) > jobs:
                        break
                if not waiting:
                    return
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


def serve() -> None:
    """What the new interpreter does: one order from standard input, one report to standard output."""
    # Ignored by the caller, it would be ignored here, and nobody would hear how the worker ended.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    order = json.loads(sys.stdin.buffer.read())
    path, root = Path(order.pop("path")), order.pop("root")
    options = CheckOptions(Limits(**order.pop("limits")), None if root is None else Path(root), **order)
    (report,) = check_files([path], options)
    sys.stdout.write(json.dumps(report.to_dict()))


def _folders() -> list[str]:
    """Where the packages of the kernel are, for an interpreter that knows its standard library only."""
    found = [find_spec(name) for name in _PACKAGES]
    origins = [spec.origin for spec in found if spec is not None and spec.origin is not None]
    return list(dict.fromkeys(str(Path(origin).resolve().parent.parent) for origin in origins))
