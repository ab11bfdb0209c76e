"""`certattn show` and `certattn schema`: what is stated, without checking it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import certattn

Run = Callable[..., Any]
Write = Callable[..., Path]
ROOT = Path(__file__).resolve().parent.parent.parent
GALLERY = sorted((ROOT / "certificates").rglob("*.yaml"))


def test_show_says_the_statement_in_words_and_latex(certattn_run: Run, write: Write) -> None:
    done = certattn_run("show", write("verified"))
    assert done.status == 0
    words = " ".join(done.out.split())
    assert "claim infinite-prompt-operator: the operator that" in words
    assert "Gaussian tokens of mean (0, 1)" in words
    assert r"T[\mu](z) = b + s A z" in words
    assert "2 obligations" in words
    assert certattn.load("verified.yaml").digest in words
    assert "(who) somebody" in words


def test_show_does_not_check(certattn_run: Run, write: Write) -> None:
    assert certattn_run("show", write("refuted")).status == 0


def test_show_does_not_open_array_files(certattn_run: Run, head: Path) -> None:
    assert certattn_run("generate", "output-deviation", head, "-o", "cert.yaml").status == 0
    head.unlink()
    assert certattn_run("show", "cert.yaml").status == 0
    assert certattn_run("check", "cert.yaml").status == 2


@pytest.mark.parametrize("claim", certattn.CLAIMS)
def test_every_certificate_of_the_gallery_can_be_shown(certattn_run: Run, claim: str) -> None:
    for path in GALLERY:
        if path.parent.name == claim:
            assert certattn_run("show", path).status == 0, path.stem
            shown = certattn_run("show", path, "--format", "json").out
            assert json.loads(shown) == certattn.load(path).plain, path.stem


def test_latex_is_an_environment_of_the_style_that_cites_the_bibliography(certattn_run: Run, write: Write) -> None:
    latex = certattn_run("show", write("verified"), "--format", "latex").out
    assert latex.count(r"\begin{certified}") == latex.count(r"\end{certified}") == 1
    style, bibliography = certattn_run("show", "--style"), certattn_run("show", "--bibtex")
    assert (style.status, bibliography.status) == (0, 0)
    assert r"\newenvironment{certified}" in style.out
    for keys in re.findall(r"\\cite\{([^}]*)\}", latex):
        assert f"{{{keys}," in bibliography.out


def test_provenance_cannot_reach_the_terminal(certattn_run: Run, folder: Path, write: Write) -> None:
    path = write("verified")
    path.write_text(path.read_text().replace("who: somebody", r'"w\e[2J": "x\u202e\e[31m\nverified  a.yaml"'))
    for form in ("text", "latex", "json"):
        done = certattn_run("show", path, "--format", form)
        assert all(c == "\n" or c.isprintable() for c in done.out + done.err)
        assert not any(line.startswith("verified") for line in done.out.splitlines())


@pytest.mark.parametrize("verdict", ["malformed", "missing"])
def test_what_is_malformed_is_not_shown(certattn_run: Run, write: Write, verdict: str) -> None:
    path = write("malformed") if verdict == "malformed" else Path("missing.yaml")
    done = certattn_run("show", path)
    assert (done.status, done.out) == (2, "")
    assert "  found:    " in done.err
    assert "  expected: " in done.err


def test_limits_hold_for_show(certattn_run: Run, write: Write) -> None:
    done = certattn_run("show", write("verified"), "--max-nodes", "3")
    assert done.status == 2
    assert "--max-nodes" in done.err


def test_schema(certattn_run: Run) -> None:
    done = certattn_run("schema")
    assert done.status == 0
    assert json.loads(done.out)["$schema"].endswith("2020-12/schema")
    assert done.out.isascii()
