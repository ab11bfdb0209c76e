"""Measure `risk-transfer`: finding the shortest prompts beside checking them, and tubes beside simulated distances.

    python tools/bench/risk_transfer.py              every start of the gallery
    python tools/bench/risk_transfer.py NAME ...     some of them, such as line-balanced

From each start the shortest length, to two digits, is found for a final risk of 0.1. `ratio` is the time of that over
the time of the check, both of the processor and in one process. In dimension 1 `tube` is the stated distance over that
of the two flows, followed in doubles: an estimate of what a sharper proof could gain, no theorem.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tools.bench.training import Timed, asserted, timed
from tools.gallery.regenerate import stated
from tools.truth.risk_transfer import simulated

RISK = "0.1"
INSTANCES = stated("training/risk-transfer")


@dataclass(frozen=True)
class Row:
    """What was found from one start; `sharpness` is the stated tube over the simulated one, in dimension 1."""

    timed: Timed
    length: int
    sharpness: float | None

    @property
    def ratio(self) -> float:
        """Finding over checking."""
        return self.timed.found / self.timed.checked


def row(name: str, folder: Path) -> Row:
    """The shortest prompts for a start of the gallery. Raises AssertionError where they do not verify."""
    given = {key: INSTANCES[name]["given"][key] for key in ("covariance", "start")}
    found = timed("risk-transfer", folder, given=given, risk=RISK)
    section = found.certificate.plain["given"]
    assert isinstance(section, dict)
    length = int(Fraction(str(section["length"])))
    return Row(found, length, _sharpness(found, length) if len(given["covariance"]) == 1 else None)


def _sharpness(found: Timed, length: int) -> float:
    given, asserts = found.certificate.plain["given"], asserted(found.certificate)
    assert isinstance(given, dict)
    entries: Any = given["covariance"][0][0], given["start"]["A"][0][0], given["start"]["b"]  # type: ignore[index,call-overload]
    covariance, A, b = map(Fraction, entries)
    _, distance = simulated(covariance, A, b, length, Fraction(asserts["time"]))
    return float(Fraction(asserts["tube"])) / distance


def table(names: list[str]) -> None:
    print(f"{'start':22} {'length':>10} {'found in':>9} {'checked in':>10} {'ratio':>6} {'tube':>6}")
    with tempfile.TemporaryDirectory() as parent:
        for name in names:
            found = row(name, Path(parent))
            sharp = "" if found.sharpness is None else f"{found.sharpness:6.1f}"
            print(f"{name:22} {found.length:10.1e} {found.timed.found:8.2f}s {found.timed.checked:9.2f}s",
                  f"{found.ratio:6.1f} {sharp}", flush=True)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="starts of the gallery; all if left out")
    names = parser.parse_args(arguments).names or list(INSTANCES)
    if not INSTANCES.keys() >= set(names):
        parser.error(f"a start is one of {', '.join(INSTANCES)}")
    table(names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
