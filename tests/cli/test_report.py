"""`certattn report`: a page about certificates of several verdicts."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

GALLERY = Path(__file__).resolve().parent.parent.parent / "certificates"


@pytest.mark.heavy
def test_a_page_about_certificates_of_several_verdicts(
    certattn_run: Any, write: Callable[..., Path], folder: Path
) -> None:
    for verdict in ("verified", "refuted", "malformed"):
        write(verdict)
    done = certattn_run("report", ".", "-o", "page.html")
    assert done.status == 1
    assert "3 certificates: 1 verified, 1 refuted, 1 malformed" in done.out
    text = (folder / "page.html").read_text()
    for verdict in ("verified", "refuted", "malformed"):
        assert f'data-verdict="{verdict}"' in text
    assert 'href="verified.yaml"' in text
    assert "1 of 3 certificates verified" in text


@pytest.mark.heavy
def test_links_are_relative_to_the_page(certattn_run: Any, write: Callable[..., Path], folder: Path) -> None:
    write("verified", "certs/verified.yaml")
    (folder / "pages").mkdir()
    assert certattn_run("report", "certs", "-o", "pages/page.html").status == 0
    assert 'href="../certs/verified.yaml"' in (folder / "pages" / "page.html").read_text()


@pytest.mark.heavy
def test_only_what_is_verified_has_a_picture(certattn_run: Any, folder: Path) -> None:
    source = (GALLERY / "selection" / "max-margin" / "single-input.yaml").read_text()
    (folder / "good.yaml").write_text(source)
    (folder / "bad.yaml").write_text(source.replace("[-10/101, 100/101]", "[-10/101, 99/101]"))
    assert certattn_run("report", ".", "-o", "page.html").status == 1
    good, bad = (
        (folder / "page.html").read_text().partition(f'data-verdict="{v}"')[2] for v in ("verified", "refuted")
    )
    assert "<figure>" in good.partition("</article>")[0]
    assert "<figure>" not in bad.partition("</article>")[0]


def test_pictures_may_be_left_out(certattn_run: Any, folder: Path) -> None:
    shutil.copy(GALLERY / "selection" / "max-margin" / "single-input.yaml", folder)
    assert certattn_run("report", ".", "-o", "page.html", "--no-pictures").status == 0
    assert "<figure>" not in (folder / "page.html").read_text()


def test_a_picture_that_takes_too_long_is_left_out(
    certattn_run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    from certattn.provers import plots

    shutil.copy(GALLERY / "selection" / "max-margin" / "single-input.yaml", folder)
    monkeypatch.setattr(plots, "as_svg", lambda certificate, **_: time.sleep(60))
    assert certattn_run("report", ".", "-o", "page.html", "--patience", "1").status == 0
    assert "no picture: it could not be drawn in time" in (folder / "page.html").read_text()


def test_markdown(certattn_run: Any, write: Callable[..., Path], folder: Path) -> None:
    write("verified")
    assert certattn_run("report", ".", "-o", "page.md", "--format", "markdown").status == 0
    assert "1 of 1 certificates verified" in (folder / "page.md").read_text()


@pytest.mark.heavy
def test_reports_of_an_earlier_check(certattn_run: Any, write: Callable[..., Path], folder: Path) -> None:
    write("verified")
    (folder / "reports.json").write_text(certattn_run("check", "verified.yaml", "--format", "json", "--explain").out)
    assert certattn_run("report", "verified.yaml", "--from", "reports.json", "-o", "page.html").status == 0
    text = (folder / "page.html").read_text()
    assert "Nothing was checked by this run" in text
    assert "verified, as reported" in text


def test_an_earlier_report_is_not_believed_of_another_statement(
    certattn_run: Any, write: Callable[..., Path], folder: Path
) -> None:
    write("verified")
    (folder / "reports.json").write_text(certattn_run("check", "verified.yaml", "--format", "json").out)
    write("refuted", "verified.yaml")
    done = certattn_run("report", "verified.yaml", "--from", "reports.json", "-o", "page.html")
    assert done.status == 3
    assert "the statement is not the one that reports.json reports on" in (folder / "page.html").read_text()


def test_errors_of_usage(certattn_run: Any, write: Callable[..., Path], folder: Path) -> None:
    write("verified")
    (folder / "reports.json").write_text(json.dumps({"reports": [{}]}))
    for arguments, message in (
        (("verified.yaml", "-o", "verified.yaml"), "is an input and would be overwritten"),
        (("verified.yaml", "-o", "none/page.html"), "no such folder"),
        (("verified.yaml", "-o", "page.md"), "page.md: expected a name that ends in .html for a page of --format html"),
        (("verified.yaml", "-o", "page.pdf"), "page.pdf: expected a name that ends in .html"),
        (("verified.yaml", "-o", "page.html", "--format", "markdown"), "page.html: expected a name that ends in .md"),
        (("verified.yaml", "-o", "page.html", "--from", "reports.json"), "expected the output of `certattn check"),
    ):
        done = certattn_run("report", *arguments)
        assert done.status == 2
        assert message in done.err


@pytest.mark.parametrize("module", ["jinja2", "latex2mathml", "matplotlib"])
def test_a_missing_library_is_said_before_any_work(
    certattn_run: Any, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    write("verified")
    monkeypatch.setitem(sys.modules, module, None)
    done = certattn_run("report", "verified.yaml", "-o", "page.html")
    assert done.status == 2
    assert f"pages need {module}: pip install {module}" in done.err


def test_all_missing_libraries_are_said_at_once(
    certattn_run: Any, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("verified")
    for module in ("jinja2", "latex2mathml", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    done = certattn_run("report", "verified.yaml", "-o", "page.html")
    assert (
        "pages need jinja2 and latex2mathml and matplotlib: pip install jinja2 latex2mathml matplotlib; --format"
        in done.err
    )


def test_what_changed_since_its_check_is_not_shown() -> None:
    """A picture says "certified", and a map shows numbers: both of the very statement that was verified."""
    from certattn.cli.gathering import _of, same_statement
    from certattn.kernel.decide.proof import Verdict
    from certattn.report.page.entry import Described
    from certattn.statements.reports import Report

    report = Report("a.yaml", Verdict.VERIFIED, digest="a")
    assert _of(report, {"picture": "<svg/>", "digest": "a"})[0] == "<svg/>"
    assert _of(report, {"picture": "<svg/>", "digest": "b"}) == ("", "the file has changed since it was checked")
    found = Described(digest="a", figures={"at_most": "1"})
    assert same_statement(found, report) is found
    assert same_statement(replace(found, digest="b"), report).figures == {}
