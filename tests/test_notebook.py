"""Reports and certificates in notebooks."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest

import certattn
from certattn._notebook import html_of_certificate, html_of_report
from certattn.report.page.formulas import mathml

ROOT = Path(__file__).resolve().parent.parent
CERTIFICATE = ROOT / "certificates" / "selection" / "max-margin" / "single-input.yaml"
HOSTILE = """\
certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: gaussian, mean: [0], covariance: [["<script>alert(1)</script>"]]}}
asserts: {operator: {matrix: [[1]], offset: [0]}}
"""


@pytest.mark.heavy
def test_the_example_runs_and_shows_pages() -> None:
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "docs" / "notebooks" / "certificates.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    shown = [out["data"] for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    assert "<math" in shown[0]["text/html"]
    assert 'class="badge verified"' in shown[1]["text/html"]
    assert "</svg>" in shown[2]["image/svg+xml"]


def test_a_report_of_a_bad_file_is_shown_without_its_markup(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(HOSTILE)
    shown = html_of_report(certattn.check(tmp_path / "bad.yaml"))
    assert shown is not None
    assert "malformed" in shown
    assert "<script" not in shown
    assert html_of_certificate(certattn.load(tmp_path / "bad.yaml")) is None


def test_without_the_extra_they_are_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    # A formula that another test has made already would be shown without the library.
    mathml.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    assert html_of_report(certattn.check(CERTIFICATE)) is None
    assert html_of_certificate(certattn.load(CERTIFICATE)) is None
