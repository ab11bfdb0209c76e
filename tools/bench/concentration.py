"""How sharp tail bounds of random prompts are, and how long they take to find and to check.

    python tools/bench/concentration.py [--of along against across output V U]
        [--laws gaussian signs box sphere mixture] [--sizes 0.5 1 1.5 2] [--lengths 100 1000 10000] [--deltas 1e-2 1e-3]
        [--dimension 2] [--method NAME] [--prompts 100000] [--numbers 200000000]
    python tools/bench/concentration.py --shortest [...]

Tokens of mean square 1 in every coordinate, and a tilt of size s along the first one. The certified threshold that is
exceeded with probability at most delta is divided by the (1 - delta)-quantile of simulated prompts: of the output
along the tilt, against it and across it, of its l2 norm, and of the norms of the gradients' errors in V and in U. The
interval beside a ratio is that of the quantile's 95% confidence interval. `none` stands where nothing is proved.

So many prompts are drawn for each law, s and L, fewer where that would be more than so many tokens, but at least
20,000. With --shortest a threshold of 0.3 is stated, and the length from which on it is exceeded with probability at
most delta, or of one length where there is no other, is divided by the simulated one.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb

import certattn
from certattn.kernel.document.certificate import load, loads
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.output_tail import read_given
from certattn.provers.prompts.prompt_simulation import Quantile, quantile

AXES = {"along": (0, 1), "against": (0, -1), "across": (1, 1)}
FAMILIES = (*AXES, "output", "V", "U")
LEAST_PROMPTS, EPS = 20_000, "0.3"


def laws(d: int) -> dict[str, dict[str, Any]]:
    """Laws of tokens in d dimensions, each coordinate of variance 1 or nearly."""
    ones = ["1"] * d
    identity = [["1" if i == j else "0" for j in range(d)] for i in range(d)]
    signs = {"kind": "rademacher", "sizes": ones}
    return {
        "gaussian": {"kind": "gaussian", "mean": ["0"] * d, "covariance": identity},
        "signs": signs,
        "box": {"kind": "box", "sizes": ["1.732"] * d},
        "sphere": {"kind": "sphere", "dimension": str(d), "radius": str(round(d**0.5, 3))},
        "mixture": {
            "kind": "mixture",
            "components": [
                {"weight": "3/4", "law": signs},
                {"weight": "1/4", "law": {"kind": "atoms", "points": [["1", *["0"] * (d - 1)]], "weights": ["1"]}},
            ],
        },
    }


@dataclass(frozen=True)
class Problem:
    """What is bounded: a part of the output or of a gradient, of L tokens of a law under a tilt of size s."""

    of: str
    law: str
    d: int
    s: str
    delta: str
    method: str | None = None

    def given(self) -> dict[str, Any]:
        """The query is the first unit vector and U = s I, so that the tilt has size s."""
        query = ["1", *["0"] * (self.d - 1)]
        bilinear = [[self.s if i == j else "0" for j in range(self.d)] for i in range(self.d)]
        return {"law": laws(self.d)[self.law], "query": query, "U": bilinear}

    def options(self) -> dict[str, Any]:
        chosen = {} if self.method is None else {"method": self.method}
        if self.of in AXES:
            axis, sign = AXES[self.of]
            return {"directions": [[str(sign) if k == axis else "0" for k in range(self.d)]], **chosen}
        return {"norm": "l2", **chosen} if self.of == "output" else {"gradient": self.of, **chosen}

    def generate(self, path: Path, **two: Any) -> Any:
        claim = "gradient-tail" if self.of in ("V", "U") else "output-tail"
        length = two.pop("length", None)
        given = self.given() if length is None else {**self.given(), "length": str(length)}
        return certattn.generate(claim, path, given=given, probability=self.delta, **self.options(), **two)

    def values(self, length: int, prompts: int) -> Any:
        """What is bounded, of simulated prompts."""
        output, covariance = drawn(self.law, self.d, self.s, length, prompts)
        if self.of == "U":
            return covariance
        if self.of not in AXES:
            return np.linalg.norm(output, axis=1)
        axis, sign = AXES[self.of]
        return sign * output[:, axis]


# -- simulation


def tokens(law: str, shape: tuple[int, ...], draw: np.random.Generator) -> Any:
    if law == "gaussian":
        return draw.standard_normal(shape, dtype=np.float32)
    if law == "box":
        return draw.uniform(-1.732, 1.732, shape).astype(np.float32)
    if law == "sphere":
        x = draw.standard_normal(shape, dtype=np.float32)
        return x * (round(shape[-1] ** 0.5, 3) / np.linalg.norm(x, axis=-1, keepdims=True))
    x = draw.choice(np.array([-1, 1], np.float32), shape)
    if law == "mixture":
        x[draw.random(shape[:-1]) < 0.25] = np.eye(shape[-1])[0]
    return x


@lru_cache(maxsize=1)
def drawn(law: str, d: int, s: str, length: int, prompts: int) -> tuple[Any, Any]:
    """T_L - T and |C_L - C|_F of so many prompts."""
    tilt, mean, covariance = float(s), *limit(law, d, s)
    draw, outputs, distances = np.random.default_rng(0), [], []
    for start in range(0, prompts, size := max(1, 2**20 // (length * d))):
        x = tokens(law, (min(size, prompts - start), length, d), draw)
        p = np.exp(tilt * (x[..., 0] - x[..., 0].max(1, keepdims=True)))
        p /= p.sum(1, keepdims=True)
        output = np.einsum("nl,nli->ni", p, x)
        second = np.einsum("nli,nlj->nij", p[..., None] * x, x, optimize=True)
        outputs.append(output - mean)
        distances.append(np.linalg.norm(second - output[:, None] * output[..., None] - covariance, axis=(1, 2)))
    return np.concatenate(outputs).astype(float), np.concatenate(distances).astype(float)


def limit(law: str, d: int, s: str) -> tuple[Any, Any]:
    """The tilted mean, and by differences of it the tilted covariance."""
    step = arb(2) ** -40
    with working_precision(256):
        given = Problem("output", law, d, s, "0.1").given() | {"length": "1"}
        text = f"certattn: 1\nclaim: output-tail\ngiven: {json.dumps(given)}\nasserts: {{}}\n".replace('"', "")
        prompt = read_given(loads(text, "bench.yaml"))
        balls = prompt.law.law.map(arb)

        def mean(axis: int, by: arb) -> Any:
            return balls.tilted_mean([a + by if k == axis else a for k, a in enumerate(prompt.tilt())])

        slopes = [
            [float((up - down) / (2 * step)) for up, down in zip(mean(k, step), mean(k, -step), strict=True)]
            for k in range(d)
        ]
        return np.array([float(m) for m in mean(0, arb(0))]), np.array(slopes)


# -- rows


@dataclass(frozen=True)
class Row:
    """One certificate against simulated prompts; `found` and `truth` are thresholds, or lengths."""

    problem: Problem
    length: str
    found: float
    truth: Quantile
    finding: float
    checking: float

    @property
    def ratio(self) -> float:
        return self.found / self.truth.value

    def __str__(self) -> str:
        of, truth = self.problem, self.truth
        head = f"{of.of:<8}{of.law:<9}{of.d:>3}{of.s:>5}{self.length:>8}{of.delta:>7}"
        if not np.isfinite(self.found):
            return f"{head}{'none':>10}{truth.value:>10.4g}"
        interval = f"{self.found / truth.high:.2f} to {self.found / truth.low:.2f}"
        figures = f"{self.found:>10.4g}{truth.value:>10.4g}{self.ratio:>7.2f}   {interval:<14}"
        return f"{head}{figures}{self.finding:>7.2f}{self.checking:>8.2f}"


HEAD = (
    f"{'of':<8}{'law':<9}{'d':>3}{'s':>5}{'L':>8}{'delta':>7}{'found':>10}{'truth':>10}{'ratio':>7}   {'interval':<14}"
    f"{'find s':>7}{'check s':>8}"
)


def certified(problem: Problem, path: Path, **two: Any) -> tuple[Any, float, float]:
    """A certificate that verifies, or None, and the seconds of finding and of checking it."""
    start = time.perf_counter()
    try:
        certificate = problem.generate(path, **two)
    except NotProvedError:
        return None, time.perf_counter() - start, 0.0
    middle = time.perf_counter()
    report = certattn.check(path)
    assert report.verdict is certattn.Verdict.VERIFIED, report.reason
    return certificate, middle - start, time.perf_counter() - middle


def number(certificate: Any, name: str) -> float:
    """The stated number whose name ends so."""
    return float(next(value for key, value in certificate.numbers.items() if key.endswith(name)))


def thresholds(problem: Problem, length: int, prompts: int, folder: Path) -> Row:
    certificate, finding, checking = certified(problem, folder / "tail.yaml", length=length)
    truth = quantile(problem.values(length, prompts), float(problem.delta))
    found = math.inf if certificate is None else number(certificate, "exceeds")
    return Row(problem, str(length), found, truth, finding, checking)


def shortest(problem: Problem, numbers: int, folder: Path) -> Row:
    """The smallest length found, and the one at which simulated prompts reach the threshold as often as stated."""
    certificate, finding, checking = certified(problem, folder / "tail.yaml", exceeds=EPS)
    if certificate is None:
        nothing = Quantile(math.nan, math.nan, math.nan)
        return Row(problem, f"eps {EPS}", math.inf, nothing, finding, checking)
    lengths = load(folder / "tail.yaml").given.value["length"]
    one = isinstance(lengths.value, str)
    found = float(lengths.value if one else lengths.value["at_least"].value)
    # Errors fall as 1 over the root of the length, nearly: two steps from there.
    at, many = found, LEAST_PROMPTS
    for _ in range(4):
        whole = max(1, round(at))
        simulated = quantile(problem.values(whole, max(2_000, min(many, numbers // whole))), float(problem.delta))
        squares = ((each / float(EPS)) ** 2 for each in (simulated.value, simulated.low, simulated.high))
        value, low, high = (whole * square for square in squares)
        at = value
    return Row(problem, "one" if one else "onwards", found, Quantile(value, low, high), finding, checking)


def summary(found: Sequence[Row]) -> str:
    """Medians and largest ratios, by everything that varies."""
    some = [row for row in found if np.isfinite(row.found)]
    lines = []
    for names in (
        lambda row: "all",
        lambda row: row.problem.of,
        lambda row: row.problem.law,
        lambda row: f"s = {row.problem.s}",
        lambda row: f"L = {row.length}",
    ):
        groups: dict[str, list[float]] = {}
        for row in some:
            groups.setdefault(names(row), []).append(row.ratio)
        lines += [
            f"{name}: {len(ratios)} rows, median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}"
            for name, ratios in groups.items()
        ]
    lines.append(f"nothing proved: {len(found) - len(some)} of {len(found)}")
    below = [row for row in some if row.found < row.truth.low]
    lines.append(f"bounds below the interval of the simulated quantile: {len(below)} of {len(some)}")
    for name, seconds in (("finding", [row.finding for row in found]), ("checking", [row.checking for row in some])):
        if seconds:
            lines.append(f"{name}: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")
    return "\n".join(lines)


def problems(chosen: argparse.Namespace) -> Iterator[Problem]:
    for law, s in product(chosen.laws, chosen.sizes):
        for of, delta in product(chosen.of, chosen.deltas):
            yield Problem(of, law, chosen.dimension, s, delta, chosen.method)


def table(chosen: argparse.Namespace) -> list[Row]:
    """The rows of the table, printed one by one; prompts are drawn once for a law, a tilt and a length."""
    print(HEAD)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _, group in groupby(problems(chosen), key=lambda problem: (problem.law, problem.s)):
            some = list(group)
            for length, problem in product([None] if chosen.shortest else chosen.lengths, some):
                if length is None:
                    row = shortest(problem, chosen.numbers, Path(folder))
                else:
                    prompts = min(chosen.prompts, max(chosen.numbers // length, LEAST_PROMPTS))
                    row = thresholds(problem, length, prompts, Path(folder))
                print(row, flush=True)
                found.append(row)
    return found


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--laws", nargs="+", choices=laws(1), default=[*laws(1)])
    parser.add_argument("--sizes", nargs="+", default=["0.5", "1", "1.5", "2"], help="sizes s of the tilt")
    parser.add_argument("--lengths", nargs="+", type=int, default=[100, 1000, 10000])
    parser.add_argument("--deltas", nargs="+", default=["1e-2", "1e-3"])
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--method", help="as `certattn generate` names it; the best one if left out")
    parser.add_argument("--prompts", type=int, default=100_000, help="prompts to simulate")
    parser.add_argument("--numbers", type=int, default=200_000_000, help="tokens to draw for a law and a length")
    parser.add_argument("--shortest", action="store_true", help="lengths instead of thresholds")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    print(f"\n{summary(table(options()))}")
