"""Measure `risk-transfer`: certified lengths beside simulated ones, finding beside checking, tubes beside distances.

    python tools/bench/risk_transfer.py              every start of those below
    python tools/bench/risk_transfer.py NAME ...     some of them, such as line-balanced
    python tools/bench/risk_transfer.py --plot FILE  risks against lengths, beside what the gallery certifies

From each start the shortest length, to a few per cent, is found for a final risk of 0.1. `truth` is the smallest length
whose flow, followed in doubles for a long time, has that risk at some time; with more than two different eigenvalues
its means are over a sample, whose error is about that of the last digit shown. `ratio` is the certified length over it,
and `tube` the stated distance over the simulated one. Times are of the processor, in one process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

import certattn
from certattn.kernel.errors import NotProvedError
from certattn.provers.figures import BOUND, RUN, canvas
from tools.bench.training import Timed, asserted, timed
from tools.truth.reading import read_covariance, read_number, read_table
from tools.truth.risk_transfer import Eigenvalues, Task, followed, shared

RISK = "0.1"
GALLERY = Path(__file__).resolve().parents[2] / "certificates" / "training" / "risk-transfer"
# Starts of the picture; and a length that is as good as infinite.
DRAWN, MOST_LENGTH = ("line-balanced", "line-optimum", "line-large-b"), 10**9


def _scaled(size: int, factor: str) -> list[list[str]]:
    return [[factor if i == j else "0" for j in range(size)] for i in range(size)]


LINE, PLANE = [["1"]], [["1", "1/2"], ["1/2", "5/4"]]
DIAGONAL = [[s if i == j else "0" for j in range(5)] for i, s in enumerate(("1/4", "1/2", "1", "3/2", "2"))]
# Sigma, A and b.
STARTS: dict[str, tuple[list[list[str]], list[list[str]], str]] = {
    "line-small": (LINE, [["1/10"]], "1/10"),
    "line-balanced": (LINE, [["1/2"]], "1/2"),
    "line-optimum": (LINE, [["1"]], "1"),
    "line-beyond": (LINE, [["5/4"]], "5/4"),
    "line-large-A": (LINE, [["1"]], "1/4"),
    "line-large-b": (LINE, [["0"]], "2"),
    "small-outside": ([["1/4"]], [["4"]], "4"),
    "two-balanced": (_scaled(2, "1"), _scaled(2, "1/2"), "1/2"),
    "two-rank-one": (_scaled(2, "1"), [["1/4", "1/4"], ["1/4", "1/4"]], "1/2"),
    "two-large-b": (_scaled(2, "1"), _scaled(2, "0"), "3"),
    "plane-balanced": (PLANE, _scaled(2, "1/6"), "1/4"),
    "plane-large-b": (PLANE, _scaled(2, "0"), "3"),
    "four-balanced": (_scaled(4, "1"), _scaled(4, "1/4"), "1/2"),
    "four-large-b": (_scaled(4, "1"), _scaled(4, "0"), "3"),
    "five-balanced": (_scaled(5, "1"), _scaled(5, "1/5"), "1/2"),
    "five-large-b": (_scaled(5, "1"), _scaled(5, "0"), "3"),
    "diagonal-large-b": (DIAGONAL, _scaled(5, "0"), "10"),
}
# The flow is followed so long, by steps of this share of what is stable.
_LONG, _STABLE, _LARGEST_STEP = 20.0, 0.4, 0.1
_SHORTEST, _LONGEST, _NEAR = 4, 20_000, 1.01


@dataclass(frozen=True)
class Row:
    """What was found from one start: the certified and the simulated length, and the tube over the simulated one."""

    timed: Timed
    length: int
    truth: int
    tube: float | None

    @property
    def ratio(self) -> float:
        """Certified over simulated."""
        return self.length / self.truth


def row(name: str, folder: Path) -> Row:
    """The shortest prompts for a start. Raises AssertionError where they do not verify."""
    covariance, A, b0 = STARTS[name]
    given = {"covariance": covariance, "start": {"A": A, "b": b0}}
    found = timed("risk-transfer", folder, given=given, risk=RISK)
    section = found.certificate.plain["given"]
    assert isinstance(section, dict)
    length, asserts = int(str(section["length"])), asserted(found.certificate)
    spectrum, b = _spectrum(section, folder)
    tube = None
    if "tube" in asserts and len(spectrum) <= 2:
        _, distance = followed(spectrum, b, length, float(Fraction(asserts["time"])))
        tube = float(Fraction(asserts["tube"])) / distance
    return Row(found, length, smallest(spectrum, b, float(Fraction(RISK))), tube)


def _spectrum(given: dict[str, Any], folder: Path) -> tuple[Eigenvalues, float]:
    covariance = read_covariance(given["covariance"], folder)
    A, b = read_table(given["start"]["A"], folder), read_number(given["start"]["b"])
    return shared(np.array(covariance, float), np.array(A, float)), float(b)


def smallest(spectrum: Eigenvalues, b: float, risk: float) -> int:
    """The smallest length at which the flow has the risk at some time, to a per cent."""
    low, high = _SHORTEST, _LONGEST
    while high > low * _NEAR + 1:
        middle = max(low + 1, round((low * high) ** 0.5))
        low, high = (low, middle) if reaches(spectrum, b, middle, risk) else (middle, high)
    return high


def reaches(spectrum: Eigenvalues, b: float, length: int, risk: float) -> bool:
    """Whether R_L is so small at some time, by Heun's steps."""
    sigma, a, counts = zip(*spectrum, strict=True)
    task, point, time, least = Task(sigma, counts, length), np.array([*a, b]), 0.0, np.inf
    while time < _LONG:
        found = task.finite_risk(point)
        if found <= risk:
            return True
        if found > least - 1e-7 and time > 1:
            return False
        least, h = min(least, found), min(_STABLE / task.stiffness(point), _LARGEST_STEP)
        slope = task.finite_slope(point)
        point, time = point - h / 2 * (slope + task.finite_slope(point - h * slope)), time + h
    return False


def table(names: list[str]) -> None:
    print(f"{'start':22} {'length':>7} {'truth':>6} {'ratio':>6} {'found in':>9} {'checked in':>10} {'tube':>5}")
    with tempfile.TemporaryDirectory() as parent:
        for name in names:
            try:
                found = row(name, Path(parent))
            except NotProvedError as error:
                print(f"{name:22} {str(error).partition(';')[0]}", flush=True)
                continue
            tube = "" if found.tube is None else f"{found.tube:5.1f}"
            print(f"{name:22} {found.length:7} {found.truth:6} {found.ratio:6.2f} {found.timed.found:8.1f}s",
                  f"{found.timed.checked:9.1f}s {tube}", flush=True)  # fmt: skip


# -- a picture


def picture(certificates: Sequence[Path], out: Path) -> None:
    """Of each start the simulated risk at the end against the length, what is certified, and the infinite prompt."""
    with canvas(out, (7.2, 2.9), ncols=len(certificates), sharey=True) as (_, panels):
        for axes, path in zip(panels, certificates, strict=True):
            certificate = certattn.load(path).plain
            given, stated = cast(dict[str, Any], certificate["given"]), cast(dict[str, Any], certificate["asserts"])
            spectrum, b = _spectrum(given, path.parent)
            length, risk, time = (float(Fraction(x)) for x in (given["length"], stated["risk"], stated["time"]))
            lengths = np.unique(np.geomspace(length / 3, 12 * length, 10).round().astype(int))
            risks = [followed(spectrum, b, int(L), time)[0] for L in lengths]
            axes.semilogx(lengths, risks, color=RUN, lw=1.6, label="simulated")
            axes.axhline(
                followed(spectrum, b, MOST_LENGTH, time)[0], color=RUN, lw=0.9, ls=":", label="infinite prompts"
            )
            axes.plot([length, lengths[-1]], [risk, risk], color=BOUND, lw=1.4, ls="--")
            axes.plot([length], [risk], color=BOUND, marker="o", ls="--", label="certified, from here on")
            axes.set_title(f"A = {given['start']['A'][0][0]}, b = {given['start']['b']}, t = {stated['time']}")
            axes.set_xlabel("tokens of a prompt")
        panels[0].set_ylabel("risk")
        panels[0].set_ylim(bottom=0)
        panels[0].legend(loc="upper right")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="starts; all if left out")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture instead")
    options = parser.parse_args(arguments)
    names = options.names or list(STARTS)
    if not STARTS.keys() >= set(names):
        parser.error(f"a start is one of {', '.join(STARTS)}")
    if options.plot is not None:
        picture([GALLERY / f"{name}.yaml" for name in DRAWN], options.plot)
    else:
        table(names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
