#!/usr/bin/env python3
"""Look at pages with axe in Chromium: what it finds serious or critical is printed, and makes the exit status 1.

    python tools/pages/accessibility.py docs/_build/html

Pages of the docs, the referee's page before and after a check, and a report that is written here; each is looked at
wide and light, and narrow and dark.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tools.browser import chromium, served  # noqa: E402
from tools.npm_packages import UnavailableError, unpacked  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = "index.html", "claims.html", "claims/attention/output-deviation.html", "cli.html"
REFEREE = "referee/index.html"
REPORTED = (
    "attention/output-deviation/gaussian-prompt.yaml", "selection/max-margin/single-input.yaml",
    "prompts/infinite-prompt-operator/gaussian-d1.yaml",
)  # fmt: skip
WINDOWS: tuple[dict[str, Any], ...] = (
    {"viewport": {"width": 1366, "height": 768}, "color_scheme": "light"},
    {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
)
GRAVE = ("serious", "critical")
AXE = "() => axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"


def findings(page: Page, axe: str) -> Iterator[str]:
    """What axe finds grave in a page that is open: its rule, and the first places."""
    page.evaluate(axe)
    for found in page.evaluate(AXE):
        if found["impact"] in GRAVE:
            places = [f"{' '.join(map(str, node['target']))}: {node['html'][:120]}" for node in found["nodes"]]
            more = [f"... {len(places) - 3} more"] if len(places) > 3 else []
            yield "\n    ".join([f"{found['impact']}: {found['id']}: {found['help']}", *places[:3], *more])


def looked_at(browser: Browser, docs: str, report: str, axe: str) -> Iterator[tuple[str, list[str]]]:
    """Each page in each window with its findings."""
    for window in WINDOWS:
        context = browser.new_context(**window)
        size = f"{window['viewport']['width']} px, {window['color_scheme']}"
        for address in [docs + name for name in (*PAGES, REFEREE)] + [report]:
            page = context.new_page()
            page.goto(address)
            yield f"{address.removeprefix(docs)} ({size})", list(findings(page, axe))
            if address.endswith(REFEREE):
                page.click("#example")
                page.wait_for_selector("#certificates > li.verified", timeout=120_000)
                yield f"{REFEREE} with verdicts ({size})", list(findings(page, axe))
            page.close()
        context.close()


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not (Path(arguments[0]) / "index.html").is_file():
        print(__doc__, file=sys.stderr)
        return 2
    try:
        axe = unpacked("axe-core", ["axe.min.js"])["axe.min.js"].decode("utf-8")
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    grave, begin = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.html"
        chosen = [str(ROOT / "certificates" / name) for name in REPORTED]
        command = [sys.executable, "-m", "certattn", "report", *chosen, "-o", str(report)]
        subprocess.run(command, check=True, capture_output=True)
        with served(Path(arguments[0])) as docs, chromium() as browser:
            for name, found in looked_at(browser, docs, report.as_uri(), axe):
                grave += len(found)
                print(f"{'ok' if not found else len(found)}  {name}")
                print("".join(f"  {text}\n" for text in found), end="")
    print(f"{grave} serious or critical findings, in {time.monotonic() - begin:.0f} s")
    return 1 if grave else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
