#!/usr/bin/env python3
"""Packages of the npm registry that pages and their tests need, pinned by version and hash; none is in the repository.

    python tools/npm_packages.py             bring all into the cache, and say where they are

`npm pack` downloads them, from the registry that npm is configured for, into `certattn/` of the user's cache folder
(XDG_CACHE_HOME, or ~/.cache). Nothing of them is installed or run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection
from pathlib import Path

# version, and sha256 of the package
PINNED = {
    "pyodide": ("314.0.7", "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"),
    "axe-core": ("4.14.1", "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"),
}
SECONDS = 180


class UnavailableError(Exception):
    """A package cannot be had here; the message says why."""


def cached(name: str) -> Path:
    """The package's file, with the pinned content. Raises UnavailableError."""
    version, sha256 = PINNED[name]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "certattn"
    file = folder / f"{name}-{version}.tgz"
    if not file.is_file() or _sha256(file) != sha256:
        folder.mkdir(parents=True, exist_ok=True)
        # Beside its place, so that it appears there whole or not at all, whoever else is downloading it.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = _packed(f"{name}@{version}", Path(scratch))
            if (found := _sha256(fresh)) != sha256:
                raise UnavailableError(f"{name}-{version}: the sha256 is {found}, expected {sha256}")
            fresh.replace(file)
    return file


def _packed(wanted: str, folder: Path) -> Path:
    command = ["npm", "pack", "--silent", "--fetch-retries=1", "--pack-destination", str(folder), wanted]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False
        )
    except FileNotFoundError:
        raise UnavailableError(f"{wanted}: npm is not installed") from None
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{wanted}: npm did not answer in {SECONDS} s") from None
    found = list(folder.glob("*.tgz"))
    if done.returncode != 0 or len(found) != 1:
        raise UnavailableError(f"{wanted}: npm pack ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return found[0]


def unpacked(name: str, files: Collection[str]) -> dict[str, bytes]:
    """Files of a package by name. Raises UnavailableError."""
    with tarfile.open(cached(name)) as archive:
        return {file: _content(archive, f"package/{file}") for file in files}


def _content(archive: tarfile.TarFile, member: str) -> bytes:
    stream = archive.extractfile(member)
    assert stream is not None, f"{member} is no file"
    return stream.read()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> int:
    try:
        for name in PINNED:
            print(cached(name))
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
