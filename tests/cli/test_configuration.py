"""Settings: where they are found, what they may say, and that they weaken nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn.cli.check import check
from certattn.cli.configuration import _LIMITS, _SETTINGS, find, read
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits

Run = Callable[..., Any]
Write = Callable[..., Path]


def settle(folder: Path, text: str, name: str = "certattn.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


# -- what is found


def test_paths_are_checked_where_none_is_named(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "in/a.yaml")
    write("refuted", "in/b.yaml")
    write("verified", "other/c.yaml")
    settle(folder, 'paths = ["in"]')
    done = certattn_run("check")
    assert done.status == 1
    assert done.out.endswith("2 certificates: 1 verified, 1 refuted\n")
    assert done.err == "certattn: settings from certattn.toml: paths = in\n"
    named = certattn_run("check", "other")
    assert (named.status, named.err) == (0, "")


def test_settings_are_found_upward_in_a_repository(
    certattn_run: Run, write: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("verified", "in/a.yaml")
    (folder / ".git").mkdir()
    (folder / "sub" / "deep").mkdir(parents=True)
    settle(folder, '[tool.certattn]\npaths = ["in/*.yaml"]\n', "pyproject.toml")
    settle(folder / "sub", "[project]\nname = 'another'\n", "pyproject.toml")
    monkeypatch.chdir(folder / "sub" / "deep")
    done = certattn_run("check")
    assert (done.status, done.err) == (0, "certattn: settings from ../../pyproject.toml: paths = ../../in/*.yaml\n")
    assert done.out.startswith("verified  ../../in/a.yaml\n")


def test_no_settings_from_above_the_repository(folder: Path) -> None:
    settle(folder, "jobs = 1")
    inner = folder / "repository" / "sub"
    inner.mkdir(parents=True)
    assert find(folder) == Path("certattn.toml")
    assert find(inner) is None
    (inner.parent / ".git").write_text("gitdir: elsewhere")
    assert find(inner) is None
    settle(inner.parent, "jobs = 2")
    assert find(inner) == Path("repository/certattn.toml")


def test_a_glob_in_a_folder_with_marks_in_its_name(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "a[b]*/c.yaml")
    settle(folder / "a[b]*", 'paths = ["*.yaml"]')
    assert certattn_run("check", "--config", "a[b]*/certattn.toml").status == 0


# -- the command line wins


def test_the_command_line_wins(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "a.yaml")
    settle(folder, 'format = "json"\njobs = 1\n[limits]\ntimeout = 7\nmemory = "3G"\n')
    done = certattn_run("check", "a.yaml", "--format", "text", "--timeout", "8")
    assert done.out.startswith("verified  a.yaml\n")
    assert done.err == "certattn: settings from certattn.toml: jobs = 1, limits.memory = 3221225472\n"
    assert json.loads(certattn_run("check", "a.yaml").out)["exit_status"] == 0


def test_settings_have_their_effect(certattn_run: Run, write: Write, folder: Path) -> None:
    write("inconclusive", "a.yaml")
    assert certattn_run("check", "a.yaml").status == 0
    settle(folder, "limits.max-bits = 40")
    assert certattn_run("check", "a.yaml").status == 3
    assert certattn_run("check", "a.yaml", "--no-config").status == 0
    assert certattn_run("check", "a.yaml", "--max-bits", "4096").status == 0


def test_config_and_no_config_exclude_each_other(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "a.yaml")
    settle(folder, "jobs = 1", "x.toml")
    for order in (["--config", "x.toml", "--no-config"], ["--no-config", "--config", "x.toml"]):
        done = certattn_run("check", "a.yaml", *order)
        assert done.status == 2
        assert "exclude each other" in done.err


def test_every_limit_and_setting_is_an_option() -> None:
    assert {name for name, _ in _LIMITS.values()} == set(Limits.__dataclass_fields__) - {"start_bits"}
    names = {parameter.name for parameter in check.params}
    assert {name for name, _ in (*_SETTINGS.values(), *_LIMITS.values())} <= names


# -- nothing is weakened


@pytest.mark.parametrize(
    "key", ["only", "explain", "fail_fast", "fail-fast", "verbose", "config", "no-config", "limit", "cache"]
)
def test_no_setting_leaves_something_out(certattn_run: Run, write: Write, folder: Path, key: str) -> None:
    write("refuted", "a.yaml")
    settle(folder, f'{key} = "at_most"')
    done = certattn_run("check", "a.yaml")
    assert (done.status, done.out) == (2, "")
    assert f"the unknown key '{key}'" in done.err


@pytest.mark.parametrize("root", ["..", "/", "in/../..", "out", "file.yaml", "nowhere", "", "in\\u0000"])
def test_a_root_outside_is_refused(folder: Path, root: str) -> None:
    here = folder / "here"
    (here / "in").mkdir(parents=True)
    (here / "file.yaml").touch()
    (here / "out").symlink_to("..")
    with pytest.raises(MalformedError, match="root"):
        read(settle(here, f'root = "{root}"'))
    assert read(settle(here, 'root = "in"'))["root"] == str(here / "in")
    assert read(settle(here, 'root = "."'))["root"] == str(here)


@pytest.mark.parametrize(
    "paths", ["[]", '"in"', '["/etc"]', '["in", "../other"]', '["in/../../other"]', '[""]', "[1]", '["a\\u0000"]', "{}"]
)
def test_paths_outside_are_refused(folder: Path, paths: str) -> None:
    with pytest.raises(MalformedError) as caught:
        read(settle(folder, f"paths = {paths}"))
    assert caught.value.place.path == "paths"


def test_paths_that_match_nothing_are_no_success(certattn_run: Run, folder: Path) -> None:
    settle(folder, 'paths = ["none/*.yaml"]')
    assert certattn_run("check").status == 2
    (folder / "certattn.toml").unlink()
    done = certattn_run("check")
    assert done.status == 2
    assert "nothing to check: " in done.err


# -- what is wrong is named


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("jobs = 0", "jobs"), ("jobs = true", "jobs"), ('jobs = "2"', "jobs"), ("jobs = 2.0", "jobs"),
        ("jobs = 99999999", "jobs"), ('format = "xml"', "format"), ("format = 1", "format"),
        ('arithmetic = "floats"', "arithmetic"), ("limits = 3", "limits"), ("limits.timeout = 0", "limits.timeout"),
        ("limits.timeout = nan", "limits.timeout"), ("limits.timeout = true", "limits.timeout"),
        ('limits.timeout = "60"', "limits.timeout"), ('limits.memory = "3Q"', "limits.memory"),
        ("limits.memory = -1", "limits.memory"), ("limits.memory = inf", "limits.memory"),
        ("limits.max-bits = 1", "limits.max-bits"), ("limits.jobs = 1", "limits.jobs"),
        ("limits.start-bits = 64", "limits.start-bits"), ("root = 1979-05-27", "root"),
        ("format = {a = 1}", "format"), ('"a\\u001b" = 1', r"'a\x1b'"),
    ],
)  # fmt: skip
def test_wrong_values_name_file_and_key(certattn_run: Run, write: Write, folder: Path, text: str, key: str) -> None:
    write("verified", "a.yaml")
    settle(folder, text)
    done = certattn_run("check", "a.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"certattn: certattn.toml: {key}\n  found:    ")
    (folder / "certattn.toml").unlink()
    settle(folder, f"[tool.certattn]\n{text}", "pyproject.toml")
    assert certattn_run("check", "a.yaml").err.startswith(f"certattn: pyproject.toml: tool.certattn.{key}\n")


@pytest.mark.parametrize(
    "data",
    [
        b"jobs = ",
        b"jobs = 1\njobs = 2",
        b"\xff",
        b"a = " + b"[" * 100_000,
        b"jobs = " + b"9" * 5000,
        b"#" * (2**20 + 1),
    ],
    ids=["syntax", "twice", "bytes", "deep", "huge", "long"],
)
def test_files_that_cannot_be_read(certattn_run: Run, write: Write, folder: Path, data: bytes) -> None:
    write("verified", "a.yaml")
    for name in ("certattn.toml", "pyproject.toml"):
        (folder / name).write_bytes(data)
        done = certattn_run("check", "a.yaml")
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"certattn: {name}\n  found:    ")
        (folder / name).unlink()


def test_settings_twice_in_a_folder(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "a.yaml")
    settle(folder, "jobs = 1")
    settle(folder, "[tool.certattn]\njobs = 2", "pyproject.toml")
    assert "settings in one file" in certattn_run("check", "a.yaml").err
    settle(folder, "[tool.other]\njobs = 2", "pyproject.toml")
    assert certattn_run("check", "a.yaml").status == 0
    settle(folder, "tool = {certattn = 3}", "pyproject.toml")
    assert "a table" in certattn_run("check", "a.yaml").err


@pytest.mark.parametrize("name", ["none.toml", ".", "pipe"])
def test_a_file_of_settings_that_is_none(certattn_run: Run, write: Write, folder: Path, name: str) -> None:
    write("verified", "a.yaml")
    os.mkfifo(folder / "pipe")
    done = certattn_run("check", "a.yaml", "--config", name)
    assert done.status == 2
    assert done.err.startswith(f"certattn: {name}\n  found:    ")
