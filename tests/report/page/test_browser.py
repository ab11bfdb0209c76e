"""The page in a real browser: no errors, light and dark, filtered, printed, narrow."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from certattn.kernel.verdict import Verdict
from certattn.report.page.content import Content
from certattn.report.page.entry import Entry
from certattn.report.page.html import as_html

from .conftest import HOSTILE, obligation

Browser = Callable[..., subprocess.CompletedProcess[str]]
# Appended to the page, with its digest left to a policy that allows it: types into the filter as a reader would.
TYPING = """<script>
const words = document.getElementById("words");
words.value = "SECOND"; words.dispatchEvent(new Event("input"));
document.title = [...document.querySelectorAll("article:not([hidden])")].map((a) => a.id).join() + "|" +
  [...document.querySelectorAll("#table tr[id]:not([hidden])")].map((r) => r.id).join() + "|" +
  document.getElementById("said").textContent + "|" + document.documentElement.scrollWidth;
</script>"""


@pytest.fixture
def file(tmp_path: Path, entry: Callable[..., Entry]) -> Path:
    bounds = (obligation("bound", "[0.75 +/- 1e-9]", "<=", "1"),)
    entries = [
        entry("first.yaml", obligations=bounds, latex=r"\frac{a}{b} \le \sqrt{2}", provenance={"note": HOSTILE}),
        entry("second.yaml", Verdict.REFUTED, reason="2 <= 1 is false", statement="word " * 400),
    ]
    page = tmp_path / "page.html"
    page.write_text(as_html(Content(entries, tmp_path, "today")), encoding="utf-8")
    return page


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_it_opens_without_errors_light_and_dark(file: Path, chromium: Browser) -> None:
    pictures = []
    for name, options in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
        picture = file.with_name(f"{name}.png")
        done = chromium(file, f"--screenshot={picture}", "--window-size=800,600", *options)
        assert errors(done) == []
        pictures.append(corner(picture))
    assert sum(pictures[0]) > 700 > 150 > sum(pictures[1])


def corner(picture: Path) -> tuple[int, ...]:
    from matplotlib.image import imread

    return tuple(round(255 * float(part)) for part in imread(picture)[2, 2][:3])


def test_the_filter_hides_what_does_not_fit(file: Path, chromium: Browser) -> None:
    text = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", file.read_text(encoding="utf-8"))
    file.write_text(text.replace("</body>", TYPING + "</body>"), encoding="utf-8")
    done = chromium(file, "--dump-dom", "--window-size=500,900")
    assert errors(done) == []
    found = re.search("<title>(.*?)</title>", done.stdout)
    assert found is not None
    articles, rows, said, width = found[1].split("|")
    assert (articles, rows, said) == ("c1", "row-c1", "1 of 2 shown")
    # Nothing is wider than a narrow window.
    assert int(width) <= 500


def test_a_script_that_was_put_into_the_page_does_not_run(file: Path, chromium: Browser) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace("</body>", TYPING + "</body>"), encoding="utf-8")
    done = chromium(file, "--dump-dom")
    assert "<title>1 of 2 certificates verified</title>" in done.stdout
    assert any("Content Security Policy" in line for line in errors(done))


def test_it_prints(file: Path, chromium: Browser) -> None:
    printed = file.with_suffix(".pdf")
    chromium(file, f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    assert printed.read_bytes().startswith(b"%PDF")
    assert printed.stat().st_size > 5000
