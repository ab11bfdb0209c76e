"""Measures a page about many certificates: the time to write it, its size, and the time in which Chromium opens it.

    python tools/bench/report.py [--count 100] [--no-pictures]

The certificates are taken evenly from the gallery. Opening ends with the second frame that is drawn after the page's
load event; the median of five new windows of one browser without a window, and beside it that of an empty page. Once it
is open, the page is scrolled to its end, which lays out everything.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

GALLERY = Path(__file__).resolve().parents[2] / "certificates"
RUNS = 5
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
SCROLL = """async () => {
  const begun = performance.now();
  for (const article of document.querySelectorAll("article")) {
    article.scrollIntoView();
    await new Promise((done) => requestAnimationFrame(done));
  }
  return performance.now() - begun;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--no-pictures", action="store_true")
    options = parser.parse_args()
    found = sorted(GALLERY.rglob("*.yaml"))
    chosen = [found[k * len(found) // options.count] for k in range(min(options.count, len(found)))]
    with tempfile.TemporaryDirectory() as folder:
        page, empty = Path(folder, "page.html"), Path(folder, "empty.html")
        empty.write_text("<!DOCTYPE html><title>empty</title>", encoding="utf-8")
        command = [sys.executable, "-m", "certattn", "report", *map(str, chosen), "-o", str(page)]
        begun = time.monotonic()
        subprocess.run([*command, *(["--no-pictures"] if options.no_pictures else [])], check=False)
        written = time.monotonic() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = used.ru_utime + used.ru_stime
        text = page.read_text(encoding="utf-8")
        print(
            f"{len(chosen)} certificates, {text.count('<figure>')} pictures: "
            f"written in {written:.1f} s, {spent:.1f} s of processors"
        )
        print(f"{page.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            print(f"opened in {opened(browser, page):.2f} s, an empty page in {opened(browser, empty):.2f} s")
            print(f"scrolled from certificate to certificate in {scrolled(browser, page):.2f} s")
            browser.close()


def opened(browser: Browser, page: Path) -> float:
    """Seconds from the start of the navigation, by the page's own clock."""
    times = []
    for _ in range(RUNS):
        window = browser.new_page()
        window.goto(page.as_uri())
        times.append(window.evaluate(TWO_FRAMES) / 1000)
        window.close()
    return median(times)


def scrolled(browser: Browser, page: Path) -> float:
    window = browser.new_page()
    window.goto(page.as_uri())
    seconds = window.evaluate(SCROLL) / 1000
    window.close()
    return float(seconds)


if __name__ == "__main__":
    main()
