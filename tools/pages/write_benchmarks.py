#!/usr/bin/env python3
"""Run the programs `tools/bench/*.py` and write what they print into docs/benchmarks.md.

    python tools/pages/write_benchmarks.py                  all of them, most of an hour on two processors
    python tools/pages/write_benchmarks.py flow report      some of them; the others' sections stay as they are
    python tools/pages/write_benchmarks.py --list           which there are, and with which arguments they are run

A section that fails, or takes longer than `--timeout`, is not written, and the page keeps the one that it has. Every
section says on which machine and with which versions it was measured.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
# Arguments by the program's name, where its default is not what the page shows.
ARGUMENTS = {
    "binary64": ["--runs", "9"],
    "check": ["--runs", "1"],
    "concentration": ["--sizes", "0.5", "1", "--lengths", "100", "1000", "--prompts", "20000"],
    "large_file": ["--runs", "1"],
    "regions": ["--prompts", "2"],
    "selection_descent": ["--instances", "20", "--most-steps", "10000"],
    "selection_head": ["--queries", "64"],
    "selection_path": ["--instances", "20"],
}
HEAD = """# Benchmarks

This page is written by `tools/pages/write_benchmarks.py`: what the programs `tools/bench/*.py` print. Where a
program can give a time as a ratio within its run, it does, as machines differ and are seldom idle;
[performance](performance.md) says what the figures mean, and has those of larger runs.

"""
_SECTION = re.compile(r"^## (?P<name>\w+)\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_SECONDS = 3600.0
# A folder that a program made for itself and removed.
_TEMPORARY = re.compile(re.escape(tempfile.gettempdir()) + r"/\w+/")


def programs() -> dict[str, Path]:
    """The programs by name: `flow` is tools/bench/flow.py."""
    return {path.stem: path for path in sorted((ROOT / "tools" / "bench").glob("*.py"))}


def command(name: str) -> list[str]:
    """The program and its arguments, as they are run from the top of the repository."""
    return [f"tools/bench/{name}.py", *ARGUMENTS.get(name, [])]


def sections(page: str) -> dict[str, str]:
    """The sections of a page by the names of their programs."""
    return {found["name"]: found[0] for found in _SECTION.finditer(page)}


def whole(found: Mapping[str, str]) -> str:
    """The page with these sections, in the order of their names."""
    return HEAD + "\n".join(found[name].strip() + "\n" for name in sorted(found))


def measured(name: str, seconds: float, run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run) -> str:
    """Run a program and write its section. Raises CalledProcessError and TimeoutExpired as `run` does."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = run(
        [sys.executable, *command(name)],
        cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "110"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, timeout=seconds, check=True,
    )  # fmt: skip
    after, passed = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = [
        f"## {name}", "", first_sentence(programs()[name]), "",
        "```sh", shlex.join(["python", *command(name)]), "```", "",
        "```text", _TEMPORARY.sub("", done.stdout.strip("\n").replace(str(ROOT) + os.sep, "")), "```", "",
        f"Took {passed:.0f} s, {spent:.0f} s of a processor, on {machine()}.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def first_sentence(program: Path) -> str:
    """What a program says that it measures: the first paragraph of its docstring."""
    text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8")))
    assert text is not None, f"{program} has no docstring"
    return text.split("\n\n")[0]


def machine() -> str:
    """Processors and versions, in words."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    versions = [f"CPython {platform.python_version()}"]
    versions += [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "python-flint")]
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # The load says whether other programs were running, which the reader of a time has to know.
    load = f"load {os.getloadavg()[0]:.1f} at the end"
    return f"{count} x {model[1] if model else platform.processor() or platform.machine()}, " + ", ".join(
        [*versions, load]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs, such as `flow` for tools/bench/flow.py")
    parser.add_argument("--list", action="store_true", help="print the commands, and run none")
    parser.add_argument(
        "--timeout", type=float, default=_SECONDS, help="seconds for one program (default: %(default)g)"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write (default: docs/benchmarks.md)")
    options = parser.parse_args(arguments)
    known = programs()
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(known)}")
    if options.list:
        print("\n".join(shlex.join(["python", *command(name)]) for name in options.names or known))
        return 0
    found = sections(options.page.read_text(encoding="utf-8")) if options.page.exists() else {}
    # A program that is gone takes its section with it.
    found = {name: text for name, text in found.items() if name in known}
    failed = 0
    for name in options.names or known:
        print(shlex.join(["python", *command(name)]), end=" ", file=sys.stderr, flush=True)
        try:
            found[name] = measured(name, options.timeout)
        except subprocess.CalledProcessError as problem:
            failed += 1
            print(f"failed with status {problem.returncode}:\n{problem.stderr}", file=sys.stderr)
        except subprocess.TimeoutExpired:
            failed += 1
            print(f"took longer than {options.timeout:g} s", file=sys.stderr)
        else:
            print("done", file=sys.stderr)
            options.page.write_text(whole(found), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
