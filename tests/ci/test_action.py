"""The GitHub action: its form, and its steps run as a runner would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GOOD = "certificates/prompts/infinite-prompt-operator/gaussian-d1.yaml"


@dataclass(frozen=True)
class Step:
    status: int
    out: str
    summary: str
    called: list[str]


def run(step: dict[str, Any], folder: Path, inputs: dict[str, str], program: str) -> Step:
    """A step of the action in a folder, with `program` in the place of what the action has installed."""
    tools = folder / "temp" / "certattn" / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for name in ("pip", "certattn"):
        (tools / name).write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" > {folder}/called\n{program} "$@"\n')
        (tools / name).chmod(0o755)
    context = {**{f"inputs.{key}": default["default"] for key, default in ACTION["inputs"].items()}}
    context |= {f"inputs.{key}": value for key, value in inputs.items()} | {"github.action_path": str(ROOT)}
    variables = {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: context[match[1]], text) for name, text in step["env"].items()
    }
    variables |= {"RUNNER_TEMP": str(folder / "temp"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env={**os.environ, **variables, "PATH": path}, text=True, capture_output=True, timeout=100,
        check=False,
    )  # fmt: skip
    called, summary = folder / "called", folder / "summary"
    return Step(
        done.returncode,
        done.stdout,
        summary.read_text() if summary.exists() else "",
        called.read_text().splitlines() if called.exists() else [],
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "certificates").mkdir()
    text = (ROOT / GOOD).read_text()
    (tmp_path / "certificates" / "good.yaml").write_text(text)
    (tmp_path / "bad one.yaml").write_text(text.replace("- [9]", "- [8]"))
    return tmp_path


def check(repository: Path, **inputs: str) -> Step:
    return run(ACTION["runs"]["steps"][1], repository, inputs, f"{sys.executable} -I -m certattn")


def test_the_action_fits_its_schema() -> None:
    Draft7Validator(json.loads((ROOT / "tests" / "schemas" / "github-action.json").read_text())).validate(ACTION)


def test_inputs_are_never_part_of_a_script() -> None:
    assert all("${{" not in step["run"] for step in ACTION["runs"]["steps"])


def test_what_is_verified(repository: Path) -> None:
    done = check(repository, paths="certificates")
    assert (done.status, done.out) == (0, "certattn: 1 of 1 certificates verified\n")
    assert done.summary.startswith("### certattn: 1 of 1 certificates verified\n")


def test_what_is_refuted_is_annotated_and_keeps_its_status(repository: Path) -> None:
    done = check(repository, paths="certificates\n\nbad one.yaml\n", args="--jobs 1")
    assert done.status == 1
    line = (repository / "bad one.yaml").read_text().splitlines().index("    - [8]") + 1
    assert done.out.startswith(f"::error file=bad one.yaml,line={line},title=certattn%3A refuted::")
    assert "| **refuted** | <code>bad one.yaml</code> |" in done.summary


@pytest.mark.parametrize(("args", "status"), [("--only operator.offset", 3), ("--timeout 0", 2), ("--max-nodes 3", 2)])
def test_statuses_are_kept(repository: Path, args: str, status: int) -> None:
    assert check(repository, paths="certificates", args=args).status == status


def test_options_of_all_lines_count(repository: Path) -> None:
    done = check(repository, paths="certificates", args="\n--jobs 1\n  --only operator.offset\n")
    assert done.status == 3


def test_without_paths_the_folder_of_certificates_is_checked(repository: Path) -> None:
    assert check(repository).status == 0
    assert check(repository, paths="").status == 2


@pytest.mark.parametrize(
    "text", ["$(touch owned)", "`touch owned`", "; touch owned", "'; touch owned; '", "*", "--help"]
)
def test_no_input_is_run(repository: Path, text: str) -> None:
    done = run(ACTION["runs"]["steps"][1], repository, {"paths": text, "args": text}, "true")
    assert not (repository / "owned").exists()
    assert done.called[-1] == text
    assert done.called[done.called.index("--") :] == ["--", text]


def test_the_action_installs_itself(repository: Path) -> None:
    step = dict(ACTION["runs"]["steps"][0])
    step["run"] = step["run"].replace("python3 -m venv", "true")
    done = run(step, repository, {}, "true")
    assert (done.status, done.called) == (0, ["install", "--quiet", str(ROOT)])
