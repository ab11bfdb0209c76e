#!/usr/bin/env python3
"""Build the sdist and the wheel, see that they can be built again byte for byte, and try the wheel.

    python tools/build_package.py dist                            build and compare
    python tools/build_package.py dist --try python3.11 python3.13    and try the wheel under these interpreters

The second build is made from the first sdist, unpacked elsewhere: what it gives again byte for byte came from the
sdist alone, not from the folder, its date, its permissions or what else lay there. Times inside the files are
SOURCE_DATE_EPOCH, or hatchling's fixed date where that is not set.

A wheel is tried in a virtual environment of its own without any extra, in an empty folder. Needs hatchling; trying
a wheel downloads its four dependencies.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# All that a wheel without extras brings, in the spelling of `pip list`.
INSTALLED = {"certattn", "click", "numpy", "python-flint", "pyyaml"}
TOOLS = {"pip", "setuptools"}  # what a new virtual environment has

_ARRAYS = """\
import numpy as np
rng = np.random.default_rng(0)
keys, values, queries = rng.normal(size=(3, 8, 2))
np.savez("head.npz", keys=keys, values=values, queries=queries)
"""
_HERE = """\
import pathlib, sys, certattn
assert pathlib.Path(certattn.__file__).is_relative_to(sys.prefix), certattn.__file__
assert (pathlib.Path(certattn.__file__).parent / "py.typed").is_file()
"""
# The second checker comes along, and runs from where it lies.
_STRICT = """\
import certattn
report = certattn.check("head.yaml", strict=True)
assert report.strict[-1] == "second checker: verified", report.strict
"""
# Each command of the trial, and its exit status.
TRIALS = (
    (("python", "-c", _HERE), 0),
    (("certattn", "--version"), 0),
    (("certattn", "--help"), 0),
    (("python", "-c", _ARRAYS), 0),
    (("certattn", "generate", "output-deviation", "head.npz", "-o", "head.yaml"), 0),
    (("certattn", "show", "head.yaml"), 0),
    (("certattn", "check", "head.yaml"), 0),
    (("python", "-c", _STRICT), 0),
    (("python", "-m", "certattn", "check", "--format", "json", "."), 0),
    (("certattn", "generate", "output-deviation", "head.npz", "--at-most", "0", "-o", "never.yaml"), 1),
    # Derivations are an extra.
    (("certattn", "derive"), 2),
)


class PackageError(Exception):
    """What is wrong with a package."""


def build(source: Path, out: Path) -> dict[str, bytes]:
    """Build sdist and wheel of the sources into `out`: their content, by name."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PackageError(f"hatchling ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return {path.name: path.read_bytes() for path in sorted(out.glob("certattn-*"))}


def build_twice(source: Path, out: Path) -> list[Path]:
    """Build into the empty or new folder `out`, and again from the sdist. Raises PackageError where these differ."""
    if out.exists() and any(out.iterdir()):
        raise PackageError(f"{out} is not empty; name a new folder")
    first = build(source, out)
    (sdist,) = out.glob("*.tar.gz")
    before = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(sdist) as archive:
                archive.extractall(folder, filter="data")
            (unpacked,) = Path(folder).iterdir()
            second = build(unpacked, Path(folder) / "again")
    finally:
        os.umask(before)
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            raise PackageError(f"{name} differs from the one that the sdist builds")
    return [out / name for name in first]


def try_wheel(wheel: Path, interpreter: str) -> str:
    """Install the wheel alone and run it in an empty folder; the version of Python. Raises PackageError."""
    with tempfile.TemporaryDirectory() as folder:
        programs, empty = Path(folder) / "venv" / "bin", Path(folder) / "empty"
        empty.mkdir()
        _run([interpreter, "-m", "venv", str(programs.parent)], empty, 0)
        _run([str(programs / "pip"), "install", "--quiet", str(wheel.resolve())], empty, 0)
        listed = _run([str(programs / "pip"), "list", "--format", "freeze"], empty, 0)
        found = {line.partition("==")[0].partition(" @")[0].lower() for line in listed.splitlines() if line} - TOOLS
        if found != INSTALLED:
            expected = ", ".join(sorted(INSTALLED))
            raise PackageError(f"the wheel installs {', '.join(sorted(found))}; expected {expected}")
        for (program, *arguments), status in TRIALS:
            _run([str(programs / program), *arguments], empty, status)
        return _run([str(programs / "python"), "--version"], empty, 0).strip()


def _run(command: list[str], folder: Path, status: int) -> str:
    # Neither this environment nor the sources may be what is tried.
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != status or "Traceback" in done.stderr:
        raise PackageError(
            f"{' '.join(command)}: exit status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build sdist and wheel twice, compare them, and try the wheel.")
    parser.add_argument("out", type=Path, help="a new or empty folder for both files")
    parser.add_argument("--try", dest="interpreters", nargs="+", default=[], metavar="PYTHON")
    options = parser.parse_args(arguments)
    try:
        made = build_twice(ROOT, options.out)
        for path in made:
            print(f"{path}: {path.stat().st_size} bytes, the same byte for byte when built from the sdist")
        (wheel,) = options.out.glob("*.whl")
        for interpreter in options.interpreters:
            print(f"{wheel}: installs and runs without extras, {try_wheel(wheel, interpreter)}")
    except PackageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
