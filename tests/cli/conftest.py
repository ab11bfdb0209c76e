"""Certificates of every verdict, and a command line to try them on."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.cli.main import run

# pytest leaves test folders off sys.path here.
sys.path.insert(0, str(Path(__file__).resolve().parent))

OPERATOR = """\
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}, V: [[1, 0]]}
asserts: {operator: {matrix: [[1, 1/2]], offset: [0]}}
provenance: {who: somebody}
"""
VALUE = """\
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: rademacher, sizes: [1]}}
asserts: {values: [{query: [1], value: [0.7615941559557649], radius: 1e-16}]}
"""
# Not affine, but so nearly that no query shows it at a low precision.
NEARLY_AFFINE = """\
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: rademacher, sizes: [1e-30]}}
asserts: {operator: {matrix: [[1e-60]], offset: [0]}}
"""
CERTIFICATES = {
    "verified": OPERATOR,
    "refuted": OPERATOR.replace("1/2]], offset", "0.6]], offset"),
    "rejected": NEARLY_AFFINE,
    "inconclusive": VALUE,
    "malformed": "certattn: 1\nclaim: infinite-prompt-operator\n",
}


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[..., Path]:
    """Write a certificate of a verdict."""

    def make(verdict: str, path: str = "") -> Path:
        file = folder / (path or f"{verdict}.yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CERTIFICATES[verdict])
        return file

    return make


@pytest.fixture
def certattn_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a command line in this process."""

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return call


@pytest.fixture
def generate(folder: Path, certattn_run: Callable[..., Done]) -> Callable[..., Done]:
    """Generate `made.yaml`; an argument of several lines stands for a file `task.yaml` that holds it."""

    def call(claim: str, *arguments: str | Path) -> Done:
        named = []
        for argument in arguments:
            if "\n" in str(argument):
                (folder / "task.yaml").write_text(str(argument))
            named.append("task.yaml" if "\n" in str(argument) else argument)
        return certattn_run("generate", claim, *named, "-o", "made.yaml")

    return call


@pytest.fixture
def program(folder: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run certattn as a program of its own, bytes in and out."""

    def call(*arguments: Any, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "certattn", *arguments]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.run(command, env={**os.environ, **(env or {})}, timeout=60, check=False, **options)

    return call


@pytest.fixture
def head(folder: Path) -> Path:
    """A file with a small prompt."""
    rng = np.random.default_rng(3)
    shapes = {"keys": (6, 2), "values": (6, 3), "queries": (4, 2)}
    np.savez(folder / "head.npz", **{name: rng.normal(size=shape) for name, shape in shapes.items()})  # type: ignore[arg-type]
    return folder / "head.npz"


@pytest.fixture
def slow(folder: Path) -> Path:
    """A certificate that takes minutes to check, and its arrays `slow.npz` minutes to generate from."""
    rng = np.random.default_rng(4)
    arrays = {"keys": rng.normal(size=(3000, 3)), "values": rng.normal(size=(3000, 3))}
    arrays["queries"] = rng.normal(size=(20_000, 3))
    # The certificate is written with few queries, and then speaks of all.
    certattn.generate(
        "output-deviation", folder / "slow.yaml", at_most="1e9", **{**arrays, "queries": arrays["queries"][:1]}
    )
    short = (folder / "slow.yaml").read_text()
    (folder / "slow.npz").unlink()
    np.savez(folder / "slow.npz", **arrays)  # type: ignore[arg-type]
    digest = _sha256(folder / "slow.npz")
    lines = [f"    sha256: {digest}" if "sha256" in line else line for line in short.splitlines()]
    (folder / "slow.yaml").write_text("\n".join(lines).replace("shape: [1, 3]", "shape: [20000, 3]") + "\n")
    return folder / "slow.yaml"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
