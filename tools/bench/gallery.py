#!/usr/bin/env python3
"""Measure what checking the gallery takes, and which certificates take most of it.

    python tools/bench/gallery.py              print the tables
    python tools/bench/gallery.py --write      and put them into docs/performance.md

Processor seconds, of the user and of the system, of whole commands with their workers: other programs on the machine
disturb them little. With two processors a folder takes half of them, and at least its slowest certificate.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "certificates"
PAGE = ROOT / "docs" / "performance.md"
_PLACE = re.compile(r"(?<=<!-- gallery: begin -->\n).*?(?=<!-- gallery: end -->)", re.DOTALL)


def check(path: Path) -> tuple[float, list[dict[str, object]]]:
    """Processor seconds of `certattn check` of a file or folder, and its reports. Raises where one is not verified."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "certattn", "check", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, json.loads(done.stdout)["reports"]


def tables(gallery: Path, slowest: int) -> str:
    """Two tables in Markdown: the gallery as a whole and its slowest families, and its slowest certificates."""
    total, reports = check(gallery)
    families = {folder.name: check(folder) for folder in sorted(gallery.glob("*/*")) if folder.is_dir()}
    lines = ["| family | certificates | processor seconds |", "|---|---|---|"]
    lines.append(f"| all of {len(families)}, in one command | {len(reports)} | {total:.1f} |")
    by_time = sorted(families.items(), key=lambda item: -item[1][0])
    lines += [f"| `{name}` | {len(found)} | {spent:.1f} |" for name, (spent, found) in by_time[:slowest]]
    lines += ["", "| certificate | processor seconds |", "|---|---|"]
    found = {name: check(Path(name))[0] for name in _longest(reports, 2 * slowest)}
    by_time = sorted(found.items(), key=lambda item: -item[1])[:slowest]
    lines += [f"| `{Path(name).relative_to(gallery)}` | {spent:.1f} |" for name, spent in by_time]
    return "\n".join(lines) + "\n"


def _longest(reports: Sequence[dict[str, object]], count: int) -> list[str]:
    """The certificates that took longest by the clock: candidates, as other programs disturb the clock."""

    def total(report: dict[str, object]) -> int:
        nanoseconds = report["nanoseconds"]
        assert isinstance(nanoseconds, dict)
        return int(nanoseconds["total"])

    return [str(report["path"]) for report in sorted(reports, key=total, reverse=True)[:count]]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure what checking the gallery takes.")
    parser.add_argument("--slowest", type=int, default=8, help="rows of each table")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    options = parser.parse_args(arguments)
    found = tables(GALLERY, options.slowest)
    print(found, end="")
    if options.write:
        PAGE.write_text(_PLACE.sub(lambda _: found, PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
