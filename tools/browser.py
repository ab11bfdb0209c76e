"""Debian's Chromium without a window, and pages served on this machine: for tools and tests that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: requests are what the browser's side looks at."""

    def handle(self) -> None:
        # A browser that goes elsewhere hangs up.
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder's address, on the loopback interface, as long as the block runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser. Raises FileNotFoundError where it is not installed."""
    found = shutil.which("chromium")
    if found is None:
        raise FileNotFoundError("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
