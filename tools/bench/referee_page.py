#!/usr/bin/env python3
"""How long the referee's page takes for each certificate of a folder, in Chromium; it must disagree with none.

    python tools/bench/referee_page.py [--seconds N] [--only WORD] [FOLDER]     certificates/, 5 s each, if left out

The page is written to a temporary folder, opened, and given the folder as a person would. Seconds are those of the
clock, as the page shows them: on a busy machine they are more. Exit status 1 where anything is not proved, rejected or
broken, for all of the gallery is verified by certattn.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tools.browser import chromium, served  # noqa: E402
from tools.pages.referee_page import write  # noqa: E402

FINE = {"verified", "not covered", "late"}
DONE = "() => entries.length > 0 && !entries.some((e) => ['waiting', 'checking'].includes(e.state))"
FOUND = "() => entries.map((e) => [e.name, e.state, e.result.seconds || 0, e.result.why || ''])"


def answers(folder: Path, seconds: int) -> list[tuple[str, str, float, str]]:
    """Name, verdict, seconds and reason of each certificate."""
    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch))
        with served(Path(scratch)) as address, chromium() as browser:
            page = browser.new_page()
            page.goto(address)
            page.fill("#seconds", str(seconds))
            page.wait_for_function("() => ready", timeout=120_000)
            page.set_input_files("#folder", folder)
            page.wait_for_function(DONE, timeout=7_200_000, polling=1000)
            return [(name, state, took, why) for name, state, took, why in page.evaluate(FOUND)]


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
    for name, state, took, why in found:
        print(f"{state:12} {took:7.2f} s  {name}{'' if state == 'verified' else '  ' + why[:80]}")
    times = sorted(took for _, state, took, _ in found if state == "verified")
    print(f"\n{len(found)} certificates: {dict(Counter(state for _, state, _, _ in found))}")
    shares = [f"{sum(took <= limit for took in times)} within {limit:g} s" for limit in (0.1, 0.5, 1, 2, 3, 5)]
    print(f"verified: {', '.join(shares)}")
    return 0 if {state for _, state, _, _ in found} <= FINE else 1


if __name__ == "__main__":
    sys.exit(main())
