"""`certattn init`: what it writes works, fits the schemas of CI systems, and overwrites nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

import certattn

Run = Callable[..., Any]
SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
CI = ["--ci", "github", "--install", "./certattn"]
WRITTEN = [
    "certificates/example.yaml", ".pre-commit-config.yaml", ".gitattributes", ".github/workflows/certattn.yml",
]  # fmt: skip


def tree(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_what_is_set_up_verifies(certattn_run: Run, folder: Path) -> None:
    (folder / ".git").mkdir()
    done = certattn_run("init", *CI)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        *(f"wrote {path}" for path in WRITTEN), "now prove what is there: certattn check certificates",
    ]  # fmt: skip
    assert certattn_run("check", "certificates").status == 0


def test_a_new_folder(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("init", "paper/proofs")
    assert sorted(tree(folder)) == sorted(f"paper/proofs/{path}" for path in WRITTEN[:3])
    assert done.out.endswith("now prove what is there: cd paper/proofs && certattn check certificates\n")


def test_nothing_is_overwritten(certattn_run: Run, folder: Path) -> None:
    for path in WRITTEN[1:]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("mine")
    (folder / WRITTEN[0]).parent.mkdir()
    (folder / WRITTEN[0]).symlink_to("nowhere")
    before = tree(folder)
    done = certattn_run("init", *CI)
    assert done.status == 0
    assert tree(folder) == before
    assert not (folder / "certificates" / "nowhere").exists()
    assert done.out.splitlines()[:4] == [f"left {path} as it is" for path in WRITTEN]
    assert "\n*.npz binary\n" in done.out
    hook = yaml.safe_load(done.out.split("there:\n\n")[1].split("\n\n")[0])
    assert hook[0]["hooks"][0]["id"] == "certattn-check"


def test_a_second_time_nothing_happens(certattn_run: Run, folder: Path) -> None:
    certattn_run("init", *CI)
    before = tree(folder)
    done = certattn_run("init", *CI)
    assert tree(folder) == before
    assert "under `repos:`" not in done.out


def test_a_dry_run_writes_nothing(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("init", "new", *CI, "--dry-run")
    assert done.out.splitlines() == [f"would write new/{path}" for path in WRITTEN]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["file"], "not a folder"), (["file/below"], ""), ([*CI[:3], "a\nb"], "on one line"),
        ([*CI[:3], " "], "what pip installs"), ([*CI[:3], "--pre"], "what pip installs"),
        (["--ci", "x"], "--ci"), (CI[2:], "expected --ci beside it"),
    ],
)  # fmt: skip
def test_what_cannot_be_set_up(certattn_run: Run, folder: Path, arguments: list[str], said: str) -> None:
    (folder / "file").touch()
    done = certattn_run("init", *arguments)
    assert done.status == 2
    assert said in done.err
    assert list(tree(folder)) == ["file"]


def test_the_workflow_of_github(certattn_run: Run, folder: Path) -> None:
    certattn_run("init", *CI[:3], "./my folder")
    # YAML 1.1 reads the key `on` as true.
    content = yaml.safe_load((folder / WRITTEN[-1]).read_text())
    workflow = {"on" if key is True else key: value for key, value in content.items()}
    Draft7Validator(json.loads((SCHEMAS / "github-workflow.json").read_text())).validate(workflow)
    *_, install, check = workflow["jobs"]["certattn"]["steps"]
    assert install["run"] == "pip install './my folder'\n"
    summary = folder / "summary.md"
    variables = environment(GITHUB_STEP_SUMMARY=str(summary))
    done = subprocess.run(["bash", "-ec", check["run"]], env=variables, check=True, capture_output=True)
    assert done.stdout == b"certattn: 1 of 1 certificates verified\n"
    assert summary.read_text().startswith("### certattn: 1 of 1 certificates verified\n")


def test_without_an_address_the_job_installs_a_wheel_that_the_repository_keeps(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("init", "--ci", "gitlab")
    wheel = f"certattn-{certattn.__version__}-py3-none-any.whl"
    assert done.status == 0
    assert f"the job installs ./{wheel}, which is not there yet" in done.out
    assert f"pip install ./{wheel}\n" in (folder / ".gitlab-ci.yml").read_text()
    (folder / wheel).touch()
    (folder / ".gitlab-ci.yml").unlink()
    assert "not there yet" not in certattn_run("init", "--ci", "gitlab").out


@pytest.mark.parametrize("system", ["github", "gitlab"])
def test_where_there_is_a_lock_the_job_checks_against_it(certattn_run: Run, folder: Path, system: str) -> None:
    certattn_run("init")
    certattn_run("lock", "certificates")
    certattn_run("init", "--ci", system)
    written = folder / (".gitlab-ci.yml" if system == "gitlab" else WRITTEN[-1])
    assert "certattn check certificates --locked --" in written.read_text()


def test_a_lock_says_that_a_job_does_not_look_at_it(certattn_run: Run, folder: Path) -> None:
    certattn_run("init", *CI)
    said = f"{WRITTEN[-1]} does not look at it yet: add --locked to its `certattn check`"
    assert said in certattn_run("lock", "certificates").out
    job = folder / WRITTEN[-1]
    job.write_text(job.read_text().replace("check certificates", "check certificates --locked"))
    assert said not in certattn_run("lock").out


def test_the_job_of_gitlab(certattn_run: Run, folder: Path) -> None:
    certattn_run("init", "--ci", "gitlab", "--install", ".")
    pipeline = yaml.safe_load((folder / ".gitlab-ci.yml").read_text())
    Draft7Validator(json.loads((SCHEMAS / "gitlab-ci.json").read_text())).validate(pipeline)
    job = pipeline["certificates"]
    subprocess.run(["bash", "-ec", job["script"][1]], env=environment(), check=True, capture_output=True)
    reports = job["artifacts"]["reports"]
    assert '<testsuites tests="1"' in (folder / reports["junit"]).read_text()


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more}
