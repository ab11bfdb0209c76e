"""`certattn check --cache` and `certattn cache`: what is said, and when there is a cache at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from certattn.report.report_schema import report_schema

Run = Callable[..., Any]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's cache, beside nothing that is checked."""
    above = tmp_path / ".home"
    above.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(above))
    monkeypatch.delenv("CI", raising=False)
    return above / "certattn"


# -- what is said


def test_a_verdict_from_the_cache_is_told_from_a_new_one(certattn_run: Run, write: Write) -> None:
    write("verified", "a.yaml")
    fresh = certattn_run("check", "a.yaml", "--cache")
    known = certattn_run("check", "a.yaml", "--cache")
    assert (fresh.status, fresh.err, known.status, known.err) == (0, "", 0, "")
    assert fresh.out.startswith("verified  a.yaml\n")
    assert known.out.startswith("verified earlier  a.yaml\n")
    assert "verified earlier, at 20" in " ".join(known.out.split())
    assert "looked up in" in " ".join(known.out.split())


def test_the_sum_says_how_many_were_looked_up(certattn_run: Run, write: Write) -> None:
    write("verified", "a.yaml")
    write("refuted", "b.yaml")
    certattn_run("check", ".", "--cache")
    write("verified", "sub/c.yaml").write_text(Path("a.yaml").read_text() + "# another\n")
    done = certattn_run("check", ".", "--cache")
    assert done.status == 1
    assert done.out.endswith("3 certificates: 2 verified, 1 refuted (1 of them earlier, as the cache says)\n")


def test_every_format_that_shows_what_is_verified_says_since_when(certattn_run: Run, write: Write) -> None:
    write("verified", "a.yaml")
    certattn_run("check", "a.yaml", "--cache")
    shown = {form: certattn_run("check", "a.yaml", "--cache", "--format", form).out for form in (
        "json", "github", "markdown", "junit", "sarif",
    )}  # fmt: skip
    content = json.loads(shown["json"])
    jsonschema.validate(content, report_schema())
    when = content["reports"][0]["cached"]
    assert when
    assert shown["github"] == ("certattn: 1 of 1 certificates verified (1 of them earlier, as the cache says)\n")
    assert f"| **verified** earlier, {when.replace(':', '&#58;')} | <code>a.yaml</code> |" in shown["markdown"]
    assert f"verified earlier, at {when}, as the cache says" in shown["junit"]
    assert json.loads(shown["sarif"])["runs"][0]["properties"]["verifiedEarlier"] == 1


def test_a_page_from_reports_says_so_too(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "a.yaml")
    for _ in range(2):
        (folder / "r.json").write_text(certattn_run("check", "a.yaml", "--cache", "--format", "json").out)
    assert certattn_run("report", "a.yaml", "--from", "r.json", "-o", "page.md", "--format", "markdown").status == 0
    assert "verified earlier, at 20" in (folder / "page.md").read_text()


def test_jobs_explain_and_fail_fast(certattn_run: Run, write: Write) -> None:
    write("verified", "a.yaml")
    write("refuted", "b.yaml")
    write("verified", "c.yaml").write_text(Path("a.yaml").read_text() + "# another\n")
    for start in ("verified  a.yaml", "verified earlier  a.yaml"):
        done = certattn_run("check", ".", "--cache", "--jobs", "2", "--explain", "--fail-fast")
        assert done.status == 1
        assert done.out.startswith(start)
        assert "+ operator.matrix" in done.out
        assert "1 not checked" in done.out


# -- when there is a cache


def test_there_is_none_unless_it_is_asked_for(certattn_run: Run, write: Write, home: Path) -> None:
    write("verified", "a.yaml")
    certattn_run("check", "a.yaml")
    certattn_run("check", "a.yaml", "--no-cache")
    certattn_run("check", "a.yaml", "--cache", "--only", "*")
    assert not home.exists()


def test_settings_turn_it_on_but_not_in_ci(
    certattn_run: Run, write: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("verified", "a.yaml")
    (folder / "certattn.toml").write_text("cache = true\n")
    for start in ("verified  a.yaml", "verified earlier  a.yaml"):
        done = certattn_run("check", "a.yaml")
        assert done.out.startswith(start)
        assert done.err == "certattn: settings from certattn.toml: cache = True\n"
    assert certattn_run("check", "a.yaml", "--no-cache").out.startswith("verified  a.yaml")
    for value in ("true", "1", "yes"):
        monkeypatch.setenv("CI", value)
        done = certattn_run("check", "a.yaml")
        assert done.out.startswith("verified  a.yaml")
        assert "settings alone do not turn it on in CI" in done.err
        assert certattn_run("check", "a.yaml", "--cache").out.startswith("verified earlier  a.yaml")
    for value in ("", "0", "false", "False"):
        monkeypatch.setenv("CI", value)
        assert certattn_run("check", "a.yaml").out.startswith("verified earlier  a.yaml")


@pytest.mark.parametrize("value", ['"true"', '"."', "1", '["."]'])
def test_settings_do_not_say_where_it_is(certattn_run: Run, write: Write, folder: Path, value: str) -> None:
    write("verified", "a.yaml")
    (folder / "certattn.toml").write_text(f"cache = {value}\n")
    done = certattn_run("check", "a.yaml")
    assert done.status == 2
    assert "true or false" in done.err
    (folder / "certattn.toml").write_text("cache-dir = '.'\n")
    done = certattn_run("check", "a.yaml")
    assert done.status == 2
    assert "is said on the command line" in done.err


def test_a_cache_that_cannot_be_used_is_said_and_left(certattn_run: Run, write: Write, home: Path) -> None:
    write("verified", "a.yaml")
    write("refuted", "b.yaml")
    certattn_run("check", "a.yaml", "--cache")
    (home / "key").chmod(0o644)
    done = certattn_run("check", ".", "--cache")
    assert done.status == 1
    assert "verified  a.yaml" in done.out
    assert done.err.startswith("certattn: no cache: ")
    assert "is open to others (mode 0644)" in done.err
    assert done.err.count("\n") == 1


def test_a_folder_of_ones_own(certattn_run: Run, write: Write, folder: Path, home: Path) -> None:
    write("verified", "a.yaml")
    for start in ("verified  a.yaml", "verified earlier  a.yaml"):
        assert certattn_run("check", "a.yaml", "--cache-dir", ".entries").out.startswith(start)
    assert [path.name for path in home.iterdir()] == ["key"]
    assert not (folder / ".entries" / "key").exists()
    done = certattn_run("check", "a.yaml", "--no-cache", "--cache-dir", ".entries")
    assert done.status == 2
    assert "exclude each other" in done.err


# -- `certattn cache`


def test_showing_and_clearing(certattn_run: Run, write: Write, home: Path) -> None:
    assert certattn_run("cache").out.startswith(f"{home}: 0 entries, 0 bytes\n0 of this program")
    write("verified", "a.yaml")
    certattn_run("check", "a.yaml", "--cache")
    other = home / ("ab" * 32)
    other.mkdir()
    (other / ("cd" * 32)).write_text("")
    (other / f".{'cd' * 32}-{'0' * 16}").write_text("left by a program that was killed")
    (home / "notes.txt").write_text("mine")
    shown = certattn_run("cache").out
    assert shown.startswith(f"{home}: 2 entries, ")
    assert "\n1 of this program (" in shown
    assert shown.endswith(", 1 of others\n")
    assert certattn_run("cache", "--clear").out == f"{home}: 2 entries removed\n"
    assert sorted(path.name for path in home.iterdir()) == ["key", "notes.txt"]
    assert certattn_run("check", "a.yaml", "--cache").out.startswith("verified  a.yaml")
