"""How sharp tail bounds are, and how long they take to find and to check.

    python tools/bench/concentration.py [--of directions] [--sizes 0.5 1 1.5 2] [--lengths 100 1000 10000]
        [--deltas 1e-2 1e-3] [--prompts 100000] [--numbers 200000000]

Gaussian tokens in the plane, Gamma = I, and a tilt of size s: the certified height eps that a direction exceeds
with probability at most delta is divided by the (1 - delta)-quantile of simulated prompts, along the tilt (+),
against it (-) and across. With `--of output` the l2 norm of the output is taken, and with `--of gradient` that of
C_L - C, each by rules and by a moment; where rules prove nothing there is no row.

So many prompts are drawn for each s and L, fewer where that would be more than so many
tokens, but at least 20,000. The interval beside the ratio is that of the quantile's 95% confidence interval.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

import certattn
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.theorems.prompts.output_tail import read
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS
from certattn.provers.prompts.prompt_simulation import Quantile, errors, quantile

# What the method of a row is told to the prover: the search for a gradient's tail takes what is better.
METHODS = {"output": ("rules", "moment"), "gradient": ("best",)}
DIRECTIONS = {"+": ["1", "0"], "-": ["-1", "0"], "across": ["0", "1"]}
LEAST_PROMPTS = 20_000


@dataclass(frozen=True)
class Row:
    """One certificate: its height against the simulated quantile, and the seconds it took."""

    s: str
    length: int
    delta: str
    direction: str
    eps: float
    truth: Quantile
    finding: float
    checking: float

    @property
    def ratio(self) -> float:
        return self.eps / self.truth.value

    def __str__(self) -> str:
        interval = f"{self.eps / self.truth.high:.2f} to {self.eps / self.truth.low:.2f}"
        return (
            f"{self.s:>5}{self.length:>8}{self.delta:>8}{self.direction:>8}{self.eps:>10.4g}"
            f"{self.truth.value:>10.4g}{self.ratio:>7.2f}   {interval:<14}{self.finding:>7.2f}{self.checking:>8.2f}"
        )


HEAD = (
    f"{'s':>5}{'L':>8}{'delta':>8}{'u':>8}{'eps':>10}{'quantile':>10}{'ratio':>7}   {'interval':<14}"
    f"{'find s':>7}{'check s':>8}"
)


def given(s: str, length: int) -> dict[str, Any]:
    identity = [["1", "0"], ["0", "1"]]
    law = {"kind": "gaussian", "mean": ["0", "0"], "covariance": identity}
    return {"law": law, "tilt": [s, "0"], "length": str(length)}


def norm_rows(of: str, s: str, length: int, deltas: Sequence[str], prompts: int, folder: Path) -> list[Row]:
    """The norm of the output's error or of the covariance's, by every method that proves something."""
    path, found = folder / "tail.yaml", []
    sample = covariance_errors(float(s), length, prompts) if of == "gradient" else None
    for delta in deltas:
        for method in METHODS[of]:
            start = time.perf_counter()
            try:
                certificate = generated(of, s, length, delta, method, path)
            except NotProvedError:
                continue
            middle = time.perf_counter()
            report = certattn.check(path)
            end = time.perf_counter()
            assert report.verdict is certattn.Verdict.VERIFIED, report.reason
            if sample is None:
                sample = np.linalg.norm(errors(read(certificate).prompt, length, prompts), axis=1)
            truth = quantile(sample, as_float(parse_rational(delta, DEFAULT_LIMITS)))
            eps = float(next(value for name, value in certificate.numbers.items() if name.endswith("exceeds")))
            found.append(Row(s, length, delta, method, eps, truth, middle - start, end - middle))
    return found


def generated(of: str, s: str, length: int, delta: str, method: str, path: Path) -> Any:
    law = given(s, length)["law"]
    if of == "output":
        return certattn.generate(
            "output-tail", path, given=given(s, length), norm="l2", probability=delta, method=method
        )
    # |z| = 1 and scale 1: the norm of the gradient's error is that of C_L - C.
    about = {"law": law, "query": ["1", "0"], "U": [[s, "0"], ["0", s]], "length": str(length)}
    return certattn.generate("gradient-tail", path, given=about, probability=delta)


def covariance_errors(s: float, length: int, count: int, seed: int = 0) -> Any:
    """|C_L - I|_F of so many prompts."""
    draw, found = np.random.default_rng(seed), []
    for start in range(0, count, size := max(1, 2**19 // length)):
        many = min(size, count - start)
        x = draw.standard_normal((2, many, length), dtype=np.float32)
        p = np.exp(np.float32(s) * (x[0] - x[0].max(1, keepdims=True)))
        p /= p.sum(1, keepdims=True)
        mean = np.einsum("nl,inl->in", p, x)
        second = np.einsum("nl,inl,jnl->ijn", p, x, x, optimize=True) - mean[:, None] * mean[None]
        found.append(np.linalg.norm(second - np.eye(2)[..., None], axis=(0, 1)))
    return np.concatenate(found)


def rows(s: str, length: int, deltas: Sequence[str], prompts: int, folder: Path) -> list[Row]:
    """Every direction and probability for one law and length; the prompts are simulated once."""
    path, sample, found = folder / "tail.yaml", None, []
    for delta in deltas:
        for name, direction in DIRECTIONS.items():
            start = time.perf_counter()
            certificate = certattn.generate(
                "output-tail", path, given=given(s, length), directions=[direction], probability=delta
            )
            middle = time.perf_counter()
            report = certattn.check(path)
            end = time.perf_counter()
            assert report.verdict is certattn.Verdict.VERIFIED, report.reason
            problem = read(certificate)
            if sample is None:
                sample = errors(problem.prompt, length, prompts)
            along = sample @ np.array([float(entry) for entry in direction])
            truth = quantile(along, as_float(parse_rational(delta, DEFAULT_LIMITS)))
            eps = as_float(problem.directions[0][EXCEEDS])
            found.append(Row(s, length, delta, name, eps, truth, middle - start, end - middle))
    return found


def as_float(value: fmpq) -> float:
    return float(value.p) / float(value.q)


def table(
    sizes: Sequence[str],
    lengths: Sequence[int],
    deltas: Sequence[str],
    prompts: int,
    numbers: int,
    least: int = LEAST_PROMPTS,
    of: str = "directions",
) -> list[Row]:
    """The rows of the table, printed one by one."""
    print(HEAD)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for s in sizes:
            for length in lengths:
                count = min(prompts, max(numbers // length, least))
                place = Path(folder)
                of_these = (
                    rows(s, length, deltas, count, place)
                    if of == "directions"
                    else norm_rows(of, s, length, deltas, count, place)
                )
                for row in of_these:
                    print(row, flush=True)
                    found.append(row)
    return found


def summary(found: Sequence[Row]) -> str:
    ratios = [row.ratio for row in found]
    lines = [f"all: median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}"]
    for name in dict.fromkeys(row.direction for row in found):
        some = [row.ratio for row in found if row.direction == name]
        lines.append(f"{name}: {len(some)} rows, median {statistics.median(some):.2f}, largest {max(some):.2f}")
    for s in dict.fromkeys(row.s for row in found):
        some = [row.ratio for row in found if row.s == s]
        lines.append(f"s = {s}: median {statistics.median(some):.2f}, largest {max(some):.2f}")
    below = [row for row in found if row.eps < row.truth.low]
    lines.append(f"bounds below the interval of the simulated quantile: {len(below)} of {len(found)}")
    for name, seconds in (("finding", [row.finding for row in found]), ("checking", [row.checking for row in found])):
        lines.append(f"{name}: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["0.5", "1", "1.5", "2"], help="sizes s of the tilt")
    parser.add_argument("--lengths", nargs="+", type=int, default=[100, 1000, 10000])
    parser.add_argument("--deltas", nargs="+", default=["1e-2", "1e-3"])
    parser.add_argument("--prompts", type=int, default=100_000, help="prompts to simulate")
    parser.add_argument("--numbers", type=int, default=200_000_000, help="tokens to draw for a law and a length")
    parser.add_argument("--of", choices=("directions", "output", "gradient"), default="directions")
    chosen = parser.parse_args()
    found = table(chosen.sizes, chosen.lengths, chosen.deltas, chosen.prompts, chosen.numbers, of=chosen.of)
    print(f"\n{summary(found)}")


if __name__ == "__main__":
    main()
