"""Packages of npm: the pinned bytes, or a reason why not."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Npm = Callable[[str], None]


@pytest.fixture
def packages(tool: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, with an empty cache, and a package `toy` whose one file is `a.js`."""
    module = tool("npm_packages")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("package/a.js")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"1;\n"))
    (tmp_path / "toy.tgz").write_bytes(buffer.getvalue())
    monkeypatch.setattr(module, "PINNED", {"toy": ("1.0.0", hashlib.sha256(buffer.getvalue()).hexdigest())})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return module


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    """Put a program in the place of npm."""

    def put(script: str) -> None:
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")

    return put


def test_a_package_is_downloaded_once(packages: ModuleType, npm: Npm, tmp_path: Path) -> None:
    npm(f"cp {tmp_path}/toy.tgz .")
    assert packages.unpacked("toy", ["a.js"]) == {"a.js": b"1;\n"}
    npm("exit 1")
    assert packages.unpacked("toy", ["a.js"]) == {"a.js": b"1;\n"}
    assert [file.name for file in (tmp_path / "cache" / "certattn").iterdir()] == ["toy-1.0.0.tgz"]


def test_other_bytes_in_the_cache_are_not_used(packages: ModuleType, npm: Npm, tmp_path: Path) -> None:
    npm(f"cp {tmp_path}/toy.tgz .")
    packages.cached("toy").write_bytes(b"something else")
    assert packages.unpacked("toy", ["a.js"]) == {"a.js": b"1;\n"}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo other > toy.tgz", "the sha256 is"),
        ("echo E404 not found >&2; exit 1", "npm pack ended with 1: E404 not found"),
        ("true", "npm pack ended with 0"),
    ],
)
def test_what_is_not_the_package_is_refused(
    script: str, said: str, packages: ModuleType, npm: Npm, tmp_path: Path
) -> None:
    npm(script)
    with pytest.raises(packages.UnavailableError, match=said):
        packages.cached("toy")
    assert list((tmp_path / "cache" / "certattn").iterdir()) == []


def test_without_npm_that_is_said(packages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(packages.UnavailableError, match="npm is not installed"):
        packages.cached("toy")
