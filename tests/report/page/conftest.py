"""Entries of every verdict, hostile texts, and a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.report.page.entry import Described, Entry
from certattn.statements.reports import Report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

HOSTILE = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'`|[a](javascript:alert(3))\u202e"


def obligation(name: str, left: str, relation: str, right: str, outcome: str = "proved") -> dict[str, object]:
    texts = {"name": name, "sentence": f"{name} in words", "left": left, "relation": relation, "right": right}
    return {**texts, "outcome": outcome, "bits": 64, "arithmetic": "Arb", "part": "statement"}


@pytest.fixture
def entry(tmp_path: Path) -> Callable[..., Entry]:
    """An entry; fields of its report, of what is described and of its own by name."""

    def make(path: str = "a.yaml", verdict: Verdict = Verdict.VERIFIED, **fields: object) -> Entry:
        own = {
            key: fields.pop(key) for key in ("checked", "picture", "without_picture", "picture_shows") if key in fields
        }
        described = {key: fields.pop(key) for key in ("provenance", "figures") if key in fields}
        report = {"claim": "output-deviation", "statement": "T is near.", "arithmetic": "Arb", "bits": 64, **fields}
        said = Report(path, verdict, **report)  # type: ignore[arg-type]
        return Entry(tmp_path / path, said, **{"checked": True, "described": Described(**described), **own})  # type: ignore[arg-type]

    return make


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and its text without scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        self._inside = tag if tag in ("script", "style") else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page() -> Callable[[str], Elements]:
    return Elements


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open a file in a window of its own; options are those of a Playwright context.

    Errors of the page fail the test, and so does a request for anything but the file; where errors are expected,
    `refused` gives a text that each of them has to hold.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []
    expected: list[str] = []

    def open_file(file: Path, refused: Sequence[str] = (), **options: Any) -> Page:
        contexts.append(chromium.new_context(**options))
        expected.extend(refused)
        window = contexts[-1].new_page()
        window.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        window.on("pageerror", lambda error: errors.append(str(error)))
        window.on("request", lambda asked: errors.append(asked.url) if asked.url != file.as_uri() else None)
        window.goto(file.as_uri())
        return window

    yield open_file
    for context in contexts:
        context.close()
    assert len(errors) == len(expected), errors
    assert all(text in error for text, error in zip(expected, errors, strict=True)), errors
