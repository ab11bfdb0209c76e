"""The same enclosures with other kernels of OpenBLAS and less of the processor: a small run of each kind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
_PROCESSOR = Path("/proc/cpuinfo")
# A kernel for AVX-512 ends with an illegal instruction where the processor has none.
_LARGEST = "SkylakeX" if _PROCESSOR.is_file() and "avx512f" in _PROCESSOR.read_text() else "Zen"
# All that numpy finds beyond its baseline on x86-64; elsewhere there is nothing to leave out.
FEATURES = """
from numpy._core import _multiarray_umath as m
print(*[f for f in m.__cpu_dispatch__ if m.__cpu_features__.get(f)])
"""


def run(program: list[str], **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *program],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("core", "threads", "reduced"), [("Haswell", "2", False), ("Prescott", "1", True), (_LARGEST, "1", False)]
)
def test_hard_prompts_on_another_kind_of_machine(core: str, threads: str, reduced: bool) -> None:
    kind = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": threads}
    if reduced:
        kind["NPY_DISABLE_CPU_FEATURES"] = run(["-c", FEATURES]).strip()
    assert "enclosures, the worst error is" in run([str(FOLDER / "compact_check.py")], **kind)
