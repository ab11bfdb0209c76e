"""A process of the matrix of environments: it changes itself, says what it sees, and has certificates checked.

Started by `environments.py` with the file of a job. Nothing of certattn or numpy is imported before the
environment's own code has run.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

DUMPS, LOADS = json.dumps, json.loads
Job = dict[str, Any]
Say = Callable[[str, Any], None]


def words() -> Any:
    """The compiled helper that reads and sets the control words of this thread."""
    import ctypes

    return ctypes.CDLL(LIBRARY)


def openblas() -> Any:
    """The BLAS that numpy has loaded."""
    import ctypes

    import numpy  # noqa: F401

    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        (path,) = {line.split()[-1] for line in maps if "openblas" in line}
    return ctypes.CDLL(path)


def blas_core() -> str:
    import ctypes

    name = openblas().scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    return str(name().decode())


def blas_threads() -> int:
    return int(openblas().scipy_openblas_get_num_threads64_())


def cpu_features() -> list[str]:
    """What numpy uses of the processor beyond its baseline."""
    from numpy._core import _multiarray_umath as core

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]


def fresh_byte() -> int:
    """A byte of memory that nobody has written to since it was handed out."""
    import ctypes

    malloc = ctypes.CDLL(None).malloc
    malloc.restype = ctypes.c_void_p
    return ctypes.string_at(malloc(5000), 4000)[-1]


def seen(probe: str, space: dict[str, Any]) -> str:
    """What a probe finds, as text; an error of its own is a text as well."""
    try:
        return str(eval(probe, space))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# -- who is asked


def by_api(job: Job, isolated: bool = False) -> Iterator[dict[str, Any]]:
    import certattn

    for path in job["paths"]:
        try:
            report = certattn.check(path, detail=True, isolated=isolated, arithmetic=job["arithmetic"]).to_dict()
        except Exception as error:
            report = {"path": path, "verdict": "exception", "reason": f"{type(error).__name__}: {error}"}
        yield report


def by_isolated_api(job: Job) -> Iterator[dict[str, Any]]:
    return by_api(job, isolated=True)


def by_command(job: Job) -> Iterator[dict[str, Any]]:
    from certattn.__main__ import main

    options = ["--jobs", "1", "--explain", "--arithmetic", job["arithmetic"]]
    sys.argv = ["certattn", "check", *options, "--report", f"json={job['report']}", *job["paths"]]
    try:
        main()
    except SystemExit:
        # Without a report, it ends as the command does, with what that said on the error stream.
        if not Path(job["report"]).exists():
            raise
    with open(job["report"], encoding="utf-8") as file:
        yield from LOADS(file.read())["reports"]


def by_recheck(job: Job) -> Iterator[dict[str, Any]]:
    import runpy

    sys.argv = [job["recheck"], "--json", "--seconds", job["seconds"], *job["paths"]]
    with suppress(SystemExit):
        # It prints what it finds, as it always does: `environments.py` reads that.
        runpy.run_path(job["recheck"], run_name="__main__")
    yield from ()


HOW = {"api": by_api, "isolated": by_isolated_api, "command": by_command, "recheck": by_recheck}


# -- the process


def check(job: Job, say: Say, space: dict[str, Any]) -> None:
    """In the thread that checks: import, change what has to be changed late, look, check, look again."""
    if job["how"] != "recheck":
        import certattn  # noqa: F401
    exec(job["interlude"], space)
    say("seen", {probe: seen(probe, space) for probe in job["probes"]})
    for report in HOW[job["how"]](job):
        say("report", report)
    say("after", {probe: seen(probe, space) for probe in job["probes"]})
    sys.stdout.flush()


def run(job: Job, file: str) -> None:
    answer = os.open(job["answer"], os.O_WRONLY | os.O_APPEND)

    def say(what: str, content: Any) -> None:
        os.write(answer, (DUMPS([what, content]) + "\n").encode("ascii"))

    space = {**globals(), "os": os, "sys": sys}
    exec(job["prelude"], space)
    if job["place"] == "main":
        check(job, say, space)
    elif job["place"] == "thread":
        thread = threading.Thread(target=check, args=(job, say, space))
        thread.start()
        thread.join()
    else:
        in_subinterpreter(file)


def in_subinterpreter(file: str) -> None:
    """The same program in another interpreter of this process, which does not start one again."""
    try:
        import _interpreters as interpreters  # from Python 3.13 on
    except ImportError:
        import _xxsubinterpreters as interpreters

    again = f"sys.argv = [{__file__!r}, {file!r}, 'main']; runpy.run_path({__file__!r}, run_name='__main__')"
    code, one = f"import sys, runpy; {again}", interpreters.create()
    failed = interpreters.exec(one, code) if hasattr(interpreters, "exec") else interpreters.run_string(one, code)
    if failed is not None:
        raise RuntimeError(failed)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as content:
        JOB = LOADS(content.read())
    if len(sys.argv) > 2:
        JOB["place"] = sys.argv[2]
    LIBRARY = JOB["library"]
    run(JOB, sys.argv[1])
