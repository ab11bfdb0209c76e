"""The hook for pre-commit: its form, which files it takes, and what git does with its status."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from certattn.cli.scaffold import HOOK

ROOT = Path(__file__).resolve().parent.parent.parent
(MANIFEST,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
GOOD = ROOT / "certificates" / "prompts" / "infinite-prompt-operator" / "gaussian-d1.yaml"


def test_the_hook_has_what_pre_commit_needs() -> None:
    assert {"id", "name", "entry", "language"} <= set(MANIFEST)
    assert (MANIFEST["language"], MANIFEST["types"]) == ("python", ["yaml"])


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("certificates/a.yaml", True), ("paper/certificates/x/a.yml", True), ("mycertificates/a.yaml", False),
        (".github/workflows/certificates.yml", False), ("docs/a.yaml", False),
    ],
)  # fmt: skip
def test_which_files_it_takes(path: str, taken: bool) -> None:
    assert (re.search(MANIFEST["files"], path) is not None) is taken


@pytest.mark.parametrize("name", ["--only=operator.offset/a.yaml", "-h/a.yaml", "--help"])
def test_no_file_is_taken_for_an_option(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(GOOD.read_text().replace("- [9]", "- [8]"))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [*MANIFEST["entry"].split(), *MANIFEST["args"], str(GOOD), name]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    assert b"refuted" in done.stdout


def test_both_hooks_have_one_name() -> None:
    ((local,),) = [repo["hooks"] for repo in yaml.safe_load(HOOK)]
    assert local["id"] == MANIFEST["id"]
