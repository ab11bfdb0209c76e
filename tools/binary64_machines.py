"""The tests of binary64 arithmetic as other machines would run them, each kind in a process of its own.

    python tools/binary64_machines.py [--only WORD] [PYTEST-ARGUMENT ...]

Kinds differ in the kernels of OpenBLAS, in what numpy may use of the processor, and in the threads
of matrix products. A table shows what passed; the exit status is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "fast"


@dataclass(frozen=True)
class Kind:
    """A kind of machine: a name, and what the environment says of it."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    kind: Kind
    passed: int
    failed: int
    seconds: float
    text: str

    @property
    def ok(self) -> bool:
        return self.passed > 0 and self.failed == 0


def features() -> list[str]:
    """What numpy uses of this processor beyond its baseline, and can be told not to."""
    program = (
        "from numpy._core import _multiarray_umath as m\n"
        "print(*[f for f in m.__cpu_dispatch__ if m.__cpu_features__.get(f)])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return found.stdout.split()


def kinds() -> list[Kind]:
    """The kinds that can be tried here; OpenBLAS falls back to another kernel if it has not the one."""
    less = {"NPY_DISABLE_CPU_FEATURES": " ".join(features())}
    one, two = {"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "2"}
    return [
        Kind("as it is, 1 thread", one),
        Kind("as it is, 2 threads", two),
        *(Kind(f"OpenBLAS {core}", one | {"OPENBLAS_CORETYPE": core}) for core in ("SkylakeX", "Haswell", "Prescott")),
        Kind("OpenBLAS Haswell, 2 threads", two | {"OPENBLAS_CORETYPE": "Haswell"}),
        Kind("numpy at its baseline", one | less),
        Kind("numpy at its baseline, OpenBLAS Prescott", one | less | {"OPENBLAS_CORETYPE": "Prescott"}),
    ]


def run(kind: Kind, command: Sequence[str]) -> Outcome:
    """Run tests as this kind of machine."""
    start = time.perf_counter()
    environment = {**os.environ, **kind.environment}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    spent = time.perf_counter() - start
    text = done.stdout + done.stderr
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", text)}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if done.returncode != 0:
        failed = max(failed, 1)
    return Outcome(kind, counts.get("passed", 0), failed, spent, text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    options, rest = parser.parse_known_args(arguments)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib --all"]
    command += rest or [str(FOLDER)]
    outcomes = []
    print(f"{'kind':42} {'passed':>6} {'failed':>6} {'seconds':>8}")
    for kind in kinds():
        if options.only in kind.name:
            outcome = run(kind, command)
            outcomes.append(outcome)
            print(f"{kind.name:42} {outcome.passed:6} {outcome.failed:6} {outcome.seconds:8.1f}", flush=True)
    for outcome in outcomes:
        if not outcome.ok:
            print(f"\n{outcome.kind.name}: {outcome.kind.environment}\n{outcome.text}")
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
