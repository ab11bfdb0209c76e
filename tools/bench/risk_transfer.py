"""Measure `risk-transfer`: certified lengths beside simulated ones, finding beside checking, tubes beside distances.

    python tools/bench/risk_transfer.py                every start of those below: hours
    python tools/bench/risk_transfer.py NAME ...       those whose names begin so, such as line, or four-balanced
    python tools/bench/risk_transfer.py --keep FOLDER  keep each row and certificate there, and take what is there
    python tools/bench/risk_transfer.py --truths       only the simulated lengths, by several ways
    python tools/bench/risk_transfer.py --plot FILE    risks against lengths, beside what certificates in FOLDER say

From each start the shortest length, to a few per cent, is found for a final risk of 0.1. `truth` is the smallest length
whose flow, followed in doubles, has that risk in the end, and `by then` the smallest one whose flow has it at the
stated time: along the Bayes points the risk falls slowly, to one number for all starts. `ratio` is the certified length
over the truth, and `tube` the stated distance over the simulated one. Times are of the processor, in one process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
from tools.truth.risk_transfer import Eigenvalues, followed, shared

RISK = "0.1"
GALLERY = Path(__file__).resolve().parents[2] / "certificates" / "training" / "risk-transfer"
# Starts of the picture; and a length that is as good as infinite.
DRAWN, MOST_LENGTH = ("line-balanced", "line-optimum", "line-large-b"), 10**9
_COLUMNS, _HIGHEST = 4, 0.5


Table = list[list[str]]
Start = tuple[Table, Table, str]


def _equal(size: int, variance: str | Fraction, covariance: str | Fraction = "0") -> Table:
    """The matrix with these numbers on the diagonal and beside it."""
    return [[str(variance if i == j else covariance) for j in range(size)] for i in range(size)]


def _diagonal(*entries: str) -> Table:
    return [[each if i == j else "0" for j in range(len(entries))] for i, each in enumerate(entries)]


# The root of a dimension, and the A = x I that is as large as b = 1/x, about.
_ROOT = {1: "1", 2: "7/5", 3: "7/4", 4: "2", 5: "9/4"}
_OPTIMUM = {1: "1", 2: "5/6", 4: "5/7"}
# |A|_F = b for A = x I, about.
_BALANCED = {"tenth": "1/10", "quarter": "1/4", "half": "1/2", "most": "3/4"}


def _balanced(size: int, factor: str) -> tuple[Table, str]:
    return _equal(size, factor), str(Fraction(factor) * Fraction(_ROOT[size]))


def _isotropic(size: int) -> dict[str, Start]:
    """Starts with Sigma = I, by their names."""
    best = Fraction(_OPTIMUM[size])
    found = {f"balanced-{name}": _balanced(size, factor) for name, factor in _BALANCED.items()}
    if size > 1:
        for name, x in (("half", Fraction(1, 2)), ("whole", Fraction(1))):
            found[f"rank-one-{name}"] = _equal(size, x / size, x / size), str(x)
    found |= {
        "small": (_equal(size, "1/100"), "1/100"),
        "negative": (_equal(size, "-1/10"), "1/2"),
        "large-A": (_equal(size, best), "1/4"),
        "large-b": (_equal(size, "0"), "2"),
        "larger-b": (_equal(size, "0"), "4"),
        "optimum": (_equal(size, best), str(1 / best)),
        "optimum-large-b": (_equal(size, best / 2), str(2 / best)),
        "beyond": (_equal(size, best * 5 / 4), str(Fraction(5, 4) / best)),
    }
    return {name: (_equal(size, "1"), *start) for name, start in found.items()}


# Those with two different eigenvalues, of which one has the direction (1, ..., 1), by how many and which numbers; and
# others, with two to five.
_CORRELATED = {"correlated-3": (3, "1", "1/4"), "correlated-4": (4, "3/4", "1/4")}
_OTHERS = {
    "plane": [["1", "1/2"], ["1/2", "5/4"]],
    "spiked-5": _diagonal("1/2", "1/2", "1/2", "1/2", "1"),
    "levels-4": _diagonal("1/2", "1", "1", "3/2"),
    "diagonal-3": _diagonal("1/2", "1", "3/2"),
    "diagonal-5": _diagonal("1/4", "1/2", "1", "3/2", "2"),
}


def _anisotropic(covariance: Table) -> dict[str, Start]:
    size = len(covariance)
    return {
        "balanced": (covariance, *_balanced(size, "1/6")),
        "large-b": (covariance, _equal(size, "0"), "3"),
    }


def _correlated(size: int, variance: str, covariance: str) -> dict[str, Start]:
    """And the half inverse of Sigma, at the optimum, and the projection to (1, ..., 1)."""
    x, y, sigma = Fraction(variance), Fraction(covariance), _equal(size, variance, covariance)
    shared = -y / ((x - y) * (x + (size - 1) * y))
    return _anisotropic(sigma) | {
        "optimum": (sigma, _equal(size, (1 / (x - y) + shared) / 2, shared / 2), "2"),
        "rank-one": (sigma, _equal(size, Fraction(1, 2 * size), Fraction(1, 2 * size)), "1/2"),
    }


# Sigma, A and b.
STARTS: dict[str, Start] = {
    f"{task}-{kind}": start
    for task, starts in {
        **{name: _isotropic(size) for name, size in (("line", 1), ("two", 2), ("four", 4))},
        **{name: _anisotropic(covariance) for name, covariance in _OTHERS.items()},
        **{name: _correlated(*numbers) for name, numbers in _CORRELATED.items()},
        "five": _anisotropic(_equal(5, "1")),
    }.items()
    for kind, start in starts.items()
}
# A time that is as good as infinite, and one that certificates state, about.
_LONG, _USUAL = 1000.0, 10.0
_SHORTEST, _LONGEST, _NEAR = 4, 20_000, 1.005


@dataclass(frozen=True)
class Row:
    """What was found from one start: the certified length and simulated ones, and the tube over the simulated one."""

    timed: Timed
    length: int
    by_then: int
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
    time, tube = float(Fraction(asserts["time"])), None
    if "tube" in asserts:
        tube = float(Fraction(asserts["tube"])) / followed(spectrum, b, length, time)[1]
    by_then, truth = (smallest(spectrum, b, float(Fraction(RISK)), until) for until in (time, _LONG))
    return Row(found, length, by_then, truth, tube)


def _spectrum(given: dict[str, Any], folder: Path) -> tuple[Eigenvalues, float]:
    covariance = read_covariance(given["covariance"], folder)
    A, b = read_table(given["start"]["A"], folder), read_number(given["start"]["b"])
    return shared(np.array(covariance, float), np.array(A, float)), float(b)


def smallest(spectrum: Eigenvalues, b: float, risk: float, time: float) -> int:
    """The smallest length at which the flow has the risk by then, to half a per cent; 0 if none has it."""
    low, high = _SHORTEST, _LONGEST
    if not reaches(spectrum, b, high, risk, time):
        return 0
    while high > low * _NEAR + 1:
        middle = max(low + 1, round((low * high) ** 0.5))
        low, high = (low, middle) if reaches(spectrum, b, middle, risk, time) else (middle, high)
    return high


def reaches(spectrum: Eigenvalues, b: float, length: int, risk: float, time: float = _LONG) -> bool:
    """Whether R_L, which falls along its flow, is so small by then."""
    return followed(spectrum, b, length, time)[0] <= risk


_HEADER = "length  by then  truth  ratio   found in checked in  tube"


def table(names: Sequence[str], kept: Path | None) -> None:
    """Rows are printed as they are found."""
    print(f"{'start':26}", _HEADER)
    with tempfile.TemporaryDirectory() as parent:
        for name in names:
            folder = (kept or Path(parent)) / name
            folder.mkdir(parents=True, exist_ok=True)
            shown = folder / "row.txt"
            if not shown.exists():
                shown.write_text(_shown(name, folder))
            print(f"{name:26} {shown.read_text()}", flush=True)


def _shown(name: str, folder: Path) -> str:
    try:
        found = row(name, folder)
    except NotProvedError as error:
        return str(error).partition(";")[0]
    except AssertionError as error:
        return f"found, but not checked: {' '.join(str(error).split())}"
    tube = "" if found.tube is None else f" {found.tube:5.1f}"
    times = f"{found.timed.found:8.1f}s {found.timed.checked:9.1f}s"
    return f"{found.length:6} {found.by_then:8} {found.truth:6} {found.ratio:6.2f} {times}{tube}"


def truths(names: Sequence[str]) -> None:
    """By a usual time, and in the end."""
    print(f"{'start':26} by {_USUAL:g}  truth")
    for name in names:
        covariance, A, b0 = STARTS[name]
        spectrum, b = _spectrum({"covariance": covariance, "start": {"A": A, "b": b0}}, Path())
        by_then, truth = (smallest(spectrum, b, float(Fraction(RISK)), time) for time in (_USUAL, _LONG))
        print(f"{name:26} {by_then:5} {truth:6}", flush=True)


# -- a picture


def picture(certificates: Mapping[str, Path], out: Path) -> None:
    """Of each start the simulated risk at the end against the length, what is certified, and the infinite prompt."""
    columns = min(len(certificates), _COLUMNS)
    rows = -(-len(certificates) // columns)
    options = {"ncols": columns, "sharey": True, "squeeze": False}
    with canvas(out, (2.4 * columns, 0.7 + 2.2 * rows), rows, **options) as (_, panels):
        for axes, (name, path) in zip(panels.flat, certificates.items(), strict=False):
            _panel(axes, name, path)
        for axes in panels.flat[len(certificates) :]:
            axes.set_visible(False)
        for row in panels:
            row[0].set_ylabel("risk")
        panels[0, 0].set_ylim(0, _HIGHEST)
        panels[0, 0].legend(loc="upper right")


def _panel(axes: Any, name: str, path: Path) -> None:
    certificate = certattn.load(path).plain
    given, stated = cast(dict[str, Any], certificate["given"]), cast(dict[str, Any], certificate["asserts"])
    spectrum, b = _spectrum(given, path.parent)
    length, risk, time = (float(Fraction(x)) for x in (given["length"], stated["risk"], stated["time"]))
    lengths = np.unique(np.geomspace(length / 3, 12 * length, 10).round().astype(int))
    risks = [followed(spectrum, b, int(L), time)[0] for L in lengths]
    axes.semilogx(lengths, risks, color=RUN, lw=1.6, label="simulated")
    axes.axhline(followed(spectrum, b, MOST_LENGTH, time)[0], color=RUN, lw=0.9, ls=":", label="infinite prompts")
    axes.plot([length, lengths[-1]], [risk, risk], color=BOUND, lw=1.4, ls="--")
    axes.plot([length], [risk], color=BOUND, marker="o", ls="--", label="certified, from here on")
    axes.set_title(f"{name}, L = {given['length']}, t = {stated['time']}", fontsize=8)
    axes.set_xlabel("tokens of a prompt")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="how names of starts begin; all if left out")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="what is found already, and where to keep it")
    parser.add_argument("--truths", action="store_true", help="simulated lengths alone")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture instead")
    options = parser.parse_args(arguments)
    for start in options.names:
        if not any(name.startswith(start) for name in STARTS):
            parser.error(f"{start} begins none of {', '.join(STARTS)}")
    names = [name for name in STARTS if name.startswith(tuple(options.names or [""]))]
    if options.plot is not None:
        drawn = {name: GALLERY / f"{name}.yaml" for name in DRAWN}
        if options.keep is not None:
            drawn = {name: path for name in names for path in (options.keep / name).glob("*.yaml")}
        picture(drawn, options.plot)
    elif options.truths:
        truths(names)
    else:
        table(names, options.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
