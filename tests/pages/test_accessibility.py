"""axe finds what is grave in a page, and nothing in a plain one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GOOD = "<!doctype html><html lang=en><title>t</title><main><h1>A page</h1><img src='data:,' alt='nothing'></main>"
BAD = {
    "image-alt": (" alt='nothing'", ""),
    "html-has-lang": (" lang=en", ""),
    "color-contrast": ("<h1>", "<h1 style='color: #ccc; background: #fff'>"),
    "label": ("</main>", "<input type=text></main>"),
}


@pytest.mark.heavy
def test_what_is_grave_is_found(
    chromium: Browser, tool: Callable[[str], ModuleType], from_npm: Callable[[str], None]
) -> None:
    from_npm("axe-core")
    axe = tool("npm_packages").unpacked("axe-core", ["axe.min.js"])["axe.min.js"].decode()
    page = chromium.new_page()
    page.set_content(GOOD)
    assert list(tool("pages.accessibility").findings(page, axe)) == []
    for rule, (old, new) in BAD.items():
        page.set_content(GOOD.replace(old, new))
        (found,) = tool("pages.accessibility").findings(page, axe)
        assert rule in found
    page.close()


def test_without_a_build_it_says_how_it_is_used(
    tool: Callable[[str], ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("pages.accessibility").main([str(tmp_path)]) == 2
    assert "tools/pages/accessibility.py" in capsys.readouterr().err
