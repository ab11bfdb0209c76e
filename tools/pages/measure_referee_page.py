#!/usr/bin/env python3
"""How long the referee's page takes for each certificate of a folder, in Chromium; it must disagree with none.

    python tools/pages/measure_referee_page.py [--seconds N] [--only WORD] [FOLDER]

FOLDER is certificates/ and N is 5 if left out.

The page is written to a temporary folder, opened, and given the folder as a person would. Printed are the seconds of
the clock, as the page shows them, and of the processor, which a busy machine changes less. Exit status 1 where anything
is not proved, rejected or broken, for all of the gallery is verified by certattn.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tools.browser import chromium, served  # noqa: E402
from tools.pages.referee_page import write  # noqa: E402

FINE = {"verified", "not covered", "late"}
DONE = "() => entries.length > 0 && !entries.some((e) => ['waiting', 'checking'].includes(e.state))"
# The page's own functions, which tell this program when a check begins and ends.
TELL = """() => {
  const [begin, end] = [next, settle];
  next = () => { begin(); if (current) tell("", "", 0, ""); };
  settle = (entry, result, more) => {
    if (entry && entry === current) tell(entry.name, result.verdict, result.seconds || 0, result.why || "");
    end(entry, result, more);
  };
}"""


@dataclass(frozen=True)
class Answer:
    """What the page said of a certificate, in how many seconds by the clock, and of the processor's time."""

    name: str
    verdict: str
    clock: float
    processor: float
    why: str


def answers(folder: Path, seconds: int) -> list[Answer]:
    """Of each certificate that the page checks."""
    found: list[Answer] = []
    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch))
        with served(Path(scratch)) as address, chromium() as browser:
            page = browser.new_page()
            page.goto(address)
            page.wait_for_function("() => ready", timeout=120_000)
            told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
            renderers = [int(process["id"]) for process in told if process["type"] == "renderer"]
            begun = [0.0]

            def tell(name: str, verdict: str, clock: float, why: str) -> None:
                now = sum(map(processor_seconds, renderers))
                if name:
                    found.append(Answer(name, verdict, clock, round(now - begun[0], 2), why))
                begun[0] = now

            page.expose_function("tell", tell)
            page.evaluate(TELL)
            page.fill("#seconds", str(seconds))
            page.set_input_files("#folder", folder)
            page.wait_for_function(DONE, timeout=7_200_000, polling=1000)
    return found


def processor_seconds(process: int) -> float:
    """Time that a process has used, its threads included (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "certificates")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", default="", help="files whose path has this in it, and their array files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        chosen = Path(scratch) / options.folder.name
        shutil.copytree(options.folder, chosen)
        for file in chosen.rglob("*.yaml"):
            if options.only not in file.relative_to(chosen).as_posix():
                file.unlink()
        found = answers(chosen, options.seconds)
    for a in found:
        why = "" if a.verdict == "verified" else f"  {a.why[:80]}"
        print(f"{a.verdict:12} {a.clock:7.2f} s {a.processor:7.2f} s  {a.name}{why}")
    print(f"\n{len(found)} certificates: {dict(Counter(a.verdict for a in found))}")
    verified = [a for a in found if a.verdict == "verified"]
    for what, times in (("clock", [a.clock for a in verified]), ("processor", [a.processor for a in verified])):
        shares = [f"{sum(took <= limit for took in times)} within {limit:g} s" for limit in (0.1, 0.5, 1, 2, 3, 5)]
        print(f"verified, by the {what}: {', '.join(shares)}")
    return 0 if {a.verdict for a in found} <= FINE else 1


if __name__ == "__main__":
    sys.exit(main())
