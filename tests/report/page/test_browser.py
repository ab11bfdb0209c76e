"""The page in a real browser: no errors, light and dark, filtered, narrow, printed; it loads nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.report.page.content import Content
from certattn.report.page.entry import Entry
from certattn.report.page.html import as_html

from .conftest import HOSTILE, obligation

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opened = Callable[..., "Page"]


@pytest.fixture
def file(tmp_path: Path, entry: Callable[..., Entry]) -> Path:
    many = tuple(obligation(f"bound[{k}]", "[0.75 +/- 1e-9]", "<=", "1") for k in range(12))
    entries = [
        entry("first.yaml", obligations=many, statement="It is sqrt(1/32) and x^2.", provenance={"note": HOSTILE}),
        entry("second.yaml", Verdict.REFUTED, reason="2 <= 1 is false", statement="word " * 400),
    ]
    page = tmp_path / "page.html"
    page.write_text(as_html(Content(entries, tmp_path, "today")), encoding="utf-8")
    return page


def brightness(window: Page) -> int:
    color = window.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in color.removeprefix("rgb(").rstrip(")").split(","))


def test_it_opens_without_errors_light_and_dark(file: Path, opened: Opened) -> None:
    assert brightness(opened(file, color_scheme="light")) > 700
    assert brightness(opened(file, color_scheme="dark")) < 150


def test_mathematics_in_a_sentence_is_laid_out(file: Path, opened: Opened) -> None:
    box = opened(file).locator("math msqrt").bounding_box()
    assert box is not None
    assert min(box["height"], box["width"]) > 8


def test_the_filter_hides_what_does_not_fit(file: Path, opened: Opened) -> None:
    window = opened(file)
    window.get_by_role("searchbox").press_sequentially("SECOND")
    assert [a.get_attribute("id") for a in window.locator("article:visible").all()] == ["c1"]
    assert [row.get_attribute("id") for row in window.locator("#table tr[id]:visible").all()] == ["row-c1"]
    assert window.locator("#said").inner_text() == "1 of 2 shown"
    window.get_by_label("Verdict").select_option("verified")
    assert window.locator("article:visible").count() == 0
    window.get_by_role("searchbox").fill("")
    assert [a.get_attribute("id") for a in window.locator("article:visible").all()] == ["c0"]


def test_a_row_leads_to_its_certificate_and_back(file: Path, opened: Opened) -> None:
    window = opened(file, viewport={"width": 900, "height": 500})
    window.get_by_role("link", name="second.yaml").first.click()
    window.wait_for_function("document.getElementById('c1').getBoundingClientRect().top < innerHeight")
    window.locator("#c1").get_by_text("to the table").click()
    assert window.url.endswith("#row-c1")


def test_details_open(file: Path, opened: Opened) -> None:
    window = opened(file)
    more = window.locator("details.margins")
    assert not more.get_by_text("bound[11]", exact=True).is_visible()
    more.locator("summary").click()
    assert more.get_by_text("bound[11]", exact=True).is_visible()


def test_nothing_is_wider_than_a_narrow_window(file: Path, opened: Opened) -> None:
    window = opened(file, viewport={"width": 390, "height": 800})
    assert window.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_script_that_was_put_into_the_page_does_not_run(file: Path, opened: Opened) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("</body>", "<script>document.title = 'owned'</script></body>"), encoding="utf-8")
    window = opened(file, refused=["Content Security Policy"])
    assert window.title() == "1 of 2 certificates verified"


@pytest.mark.heavy
def test_it_prints(file: Path, opened: Opened) -> None:
    window = opened(file, color_scheme="dark")
    window.emulate_media(media="print")
    # Black on white, whatever the screen's colours; what was folded is printed, the filter is not.
    assert brightness(window) > 700
    assert not window.get_by_role("search").is_visible()
    printed = window.pdf()
    assert printed.startswith(b"%PDF")
    window.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert window.get_by_text("bound[11]", exact=True).is_visible()
