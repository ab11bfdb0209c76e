"""The floating-point environment of a check: set right, proved, and given back; never believed."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from rounding_modes import MODES, flushing_subnormals, rounding, set_rounding

from certattn import Report, Verdict, check
from certattn.kernel.decide import floating_point
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.floating_point import default_floating_point, require_default, set_default
from certattn.kernel.errors import GuardError
from certattn.statements.checking import check_file

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# 10^-39 is subnormal in single precision: taken for 0, both scores are equal and the mean is 1/2. It is 0.731.
STATEMENT = """\
certattn: 1
claim: softmax-mean
given:
  keys: {{file: keys.npy, sha256: {sha256}, dtype: float32, shape: [2, 1]}}
  values: [[0], [1]]
  queries: [[1e39]]
asserts:
  mean: {{value: [[{mean}]], radius: 1e-5}}
"""
TRUTH = "0.731058"
# What the constructor of a library does that was linked with -ffast-math, in the child before anything is imported.
FLUSH = """\
import ctypes, sys
state = (ctypes.c_uint32 * 128)()
library = ctypes.CDLL(None)
library.fegetenv(state)
state[{index}] |= {bits}
library.fesetenv(state)
assert sys.float_info.min * 0.5 == 0 or float.fromhex("0x1p-1074") * 1.0 == 0
"""
X86 = os.uname().machine == "x86_64"
STATES = {"flush and zero": 0x8040, "flush alone": 0x8000, "zero alone": 0x40} if X86 else {"flush": 1 << 24}


def certificate(folder: Path, mean: str) -> Path:
    np.save(folder / "keys.npy", np.array([[0], [1e-39]], np.float32))
    digest = hashlib.sha256((folder / "keys.npy").read_bytes()).hexdigest()
    path = folder / "certificate.yaml"
    path.write_text(STATEMENT.format(sha256=digest, mean=mean))
    return path


def in_child(path: Path, tmp_path: Path, state: str, program: str) -> str:
    """What a program prints that begins with the state of such a library, without bytecode of before."""
    prelude = FLUSH.format(index=7 if X86 else 0, bits=STATES[state])
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path / "none")}
    command = [sys.executable, "-c", prelude + program, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT).stdout.strip()


@pytest.mark.heavy
@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mean", ["0.5", TRUTH])
def test_a_library_that_flushed_before_changes_no_verdict(
    state: str, isolated: bool, mean: str, tmp_path: Path
) -> None:
    path = certificate(tmp_path, mean)
    program = f"import certattn; print(certattn.check(sys.argv[1], isolated={isolated}).verdict.value)"
    clean = check(path).verdict.value
    assert clean == ("refuted" if mean == "0.5" else "verified")
    assert in_child(path, tmp_path, state, program) == clean


@pytest.mark.heavy
def test_the_command_line_sets_it_before_anything_is_imported(tmp_path: Path) -> None:
    path = certificate(tmp_path, "0.5")
    program = "sys.argv[1:] = ['check', '--format', 'json', sys.argv[1]]; from certattn.__main__ import main; main()"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path / "none")}
    prelude = FLUSH.format(index=7 if X86 else 0, bits=next(iter(STATES.values())))
    command = [sys.executable, "-c", prelude + program, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert run.returncode == 1, run.stderr
    assert '"verdict": "refuted"' in run.stdout


@pytest.mark.parametrize("state", STATES)
def test_binary64_is_not_compiled_where_its_literals_would_be_others(state: str, tmp_path: Path) -> None:
    program = """
try:
    import certattn.fast.units
except Exception as error:
    print(type(error).__name__, error, "certattn.fast.units" in sys.modules)
"""
    said = in_child(tmp_path, tmp_path, state, program)
    assert said == "GuardError this thread flushes subnormal numbers to zero False"


def test_this_thread_has_the_default() -> None:
    require_default()


@pytest.mark.parametrize("mode", MODES)
def test_another_rounding_mode_is_found_set_right_and_given_back(mode: str) -> None:
    with rounding(mode):
        with pytest.raises(GuardError, match="this thread does not round to nearest"):
            require_default()
        with default_floating_point():
            require_default()
        with pytest.raises(GuardError):
            require_default()


def test_flushed_subnormal_numbers_are_found_set_right_and_given_back() -> None:
    with flushing_subnormals():
        with pytest.raises(GuardError, match="this thread flushes subnormal numbers to zero"):
            require_default()
        with default_floating_point():
            require_default()
        with pytest.raises(GuardError):
            require_default()


@pytest.mark.skipif(not X86, reason="x86 has two switches, and one more for traps")
@pytest.mark.parametrize(("bits", "cleared"), [(0x8000, 0), (0x40, 0), (0, 0x1F80)])
def test_each_switch_is_set_back_alone(bits: int, cleared: int) -> None:
    """Flush to zero, denormals are zero, and exceptions that end the process."""
    library = ctypes.CDLL(None)
    before, state = (ctypes.c_uint32 * 128)(), (ctypes.c_uint32 * 128)()
    library.fegetenv(before)
    changed = (ctypes.c_uint32 * 128)(*before)
    changed[7] = (before[7] | bits) & ~cleared & ~0x3F
    try:
        library.fesetenv(changed)
        set_default()
        library.fegetenv(state)
    finally:
        library.fesetenv(before)
    assert state[7] & 0xFFC0 == 0x1F80


@pytest.mark.parametrize("mode", MODES)
def test_what_changes_it_during_a_check_takes_the_verdict_away(mode: str, tmp_path: Path) -> None:
    path, before = certificate(tmp_path, TRUTH), ctypes.CDLL(None).fegetround()
    original = floating_point.require_default
    asked: list[None] = []

    def change_after_the_first() -> None:
        original()
        asked.append(None)
        if len(asked) == 1:
            set_rounding(mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floating_point, "require_default", change_after_the_first)
        report = check_file(path, CheckOptions(arithmetic="arb"))
    assert not_verified(report)
    assert ctypes.CDLL(None).fegetround() == before


def not_verified(report: Report) -> bool:
    return report.verdict is Verdict.INCONCLUSIVE and "this thread does not round to nearest" in report.reason


@pytest.mark.parametrize("arithmetic", ["auto", "arb"])
def test_where_it_cannot_be_set_the_guard_decides(
    arithmetic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = certificate(tmp_path, TRUTH)
    monkeypatch.setattr(floating_point, "_library", lambda: None)
    options = CheckOptions(arithmetic=arithmetic)
    assert check_file(path, options).verdict is Verdict.VERIFIED
    for mode in MODES:
        with rounding(mode):
            assert not_verified(check_file(path, options))
    with flushing_subnormals():
        report = check_file(path, options)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith("this thread flushes subnormal numbers to zero")
    assert "another process" in report.reason


def test_a_thread_that_inherited_another_one_is_set_right(tmp_path: Path) -> None:
    path, found = certificate(tmp_path, "0.5"), []
    thread = threading.Thread(target=lambda: found.append(check(path).verdict))
    with flushing_subnormals():
        thread.start()
    thread.join()
    assert found == [Verdict.REFUTED]
