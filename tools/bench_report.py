"""Measures a page about many certificates: the time to write it, its size, and the time in which Chromium opens it.

    python tools/bench_report.py [--count 100] [--no-pictures]

The certificates are taken evenly from the gallery. Opening is the time of a browser without a window that prints the
page's elements, less that for an empty page; the least of three.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GALLERY = Path(__file__).resolve().parent.parent / "certificates"
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
RUNS = 3


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
        text = page.read_text(encoding="utf-8")
        opened = least_time(page) - least_time(empty)
        print(f"{len(chosen)} certificates, {text.count('<figure>')} pictures: written in {written:.1f} s")
        print(f"{page.stat().st_size / 1e6:.2f} MB; opened in {opened:.2f} s")


def least_time(page: Path) -> float:
    times = []
    for _ in range(RUNS):
        begun = time.monotonic()
        subprocess.run([*BROWSER, page.as_uri()], capture_output=True, timeout=300, check=True)
        times.append(time.monotonic() - begun)
    return min(times)


if __name__ == "__main__":
    main()
