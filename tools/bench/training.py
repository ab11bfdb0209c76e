"""Measure the certificates about training in context: times of checks, how sharp rates and tubes are.

    python tools/bench/training.py                     everything: some minutes
    python tools/bench/training.py convergence         rates for d = 64 and 256
    python tools/bench/training.py restart             certified rates beside fitted ones, near the limit
    python tools/bench/training.py flow                the flow to within 1e-6 of its limit, d = 5
    python tools/bench/training.py descent             descents over 32 prompts of 256 tokens, 200 steps
    python tools/bench/training.py gap                 lengths over the balls of the Bayes points, beside simulation

Every line ends with what was wanted; times are the processor's. The
integrator beside a plain interval method: `flow.py`; how long prompts must be: `risk_transfer.py`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.training import (
    BALANCED,
    COVARIANCES,
    RANK_ONE,
    Array,
    Table,
    exact,
    inverse,
    neighbours,
    prompts,
    start,
)

# So near to the limit a run is restarted, relative to it.
_NEAR = 0.01


@dataclass(frozen=True)
class Timed:
    """A certificate, and the processor's seconds that it took to find and to check."""

    certificate: certattn.Certificate
    found: float
    checked: float


def timed(claim: str, folder: Path, **inputs: Any) -> Timed:
    """Generate, and check in another process, which remembers nothing. Raises AssertionError if it does not verify."""
    path = folder / f"{claim}-{len(list(folder.iterdir()))}.yaml"
    before = time.process_time()
    certificate = certattn.generate(claim, path, **inputs)
    found, already = time.process_time() - before, _children()
    done = subprocess.run([sys.executable, "-m", "certattn", "check", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return Timed(certificate, found, _children() - already)


def _children() -> float:
    """Seconds of the processor that processes that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def asserted(certificate: certattn.Certificate) -> Any:
    """The section `asserts` as plain texts."""
    return certificate.plain["asserts"]


# -- convergence


def numbers(table: Table) -> Array:
    return np.array([[float(entry) for entry in row] for row in exact(table)])


def convergence(dimension: int, folder: Path) -> Timed:
    """A rate for all times in a large dimension; the start is a multiple of I, balanced."""
    root = int(np.sqrt(dimension))
    given = {
        "covariance": numbers(neighbours(dimension)),
        "start": {"A": np.eye(dimension) / root, "b": "1"},
        "training": {"rule": "flow"},
    }
    return timed("training-convergence", folder, given=given)


def convergence_table(sizes: tuple[int, ...] = (64, 256)) -> None:
    wanted = {64: "check <= 1 s", 256: "check <= 20 s"}
    with tempfile.TemporaryDirectory() as parent:
        for size in sizes:
            found = convergence(size, Path(parent))
            rate = asserted(found.certificate)["rate"]
            print(f"convergence d = {size}: c = {rate}, found in {found.found:.2f} s, checked in {found.checked:.2f} s",
                  f"[{wanted.get(size, '')}]")  # fmt: skip


# -- rates near the limit


def velocity(Sigma: Array, A: Array, b: float) -> tuple[Array, float]:
    K = Sigma @ (b * Sigma @ A - np.eye(len(Sigma))) @ Sigma
    return -b * K, -float((A * K).sum())


def fitted_rate(Sigma: Array, A: Array, b: float, decades: tuple[float, float] = (12, 18)) -> float:
    """The c of R ~ e^(-2ct) where R has fallen by so many decades, by Runge and Kutta in doubles."""

    def risk() -> float:
        E = b * Sigma @ A - np.eye(len(Sigma))
        return float(np.trace(E @ Sigma @ E.T)) / 2

    step = 0.2 / float(np.linalg.eigvalsh(Sigma)[-1] ** 3 * ((A * A).sum() + b * b))
    first, marks, elapsed = risk(), [], 0.0
    while len(marks) < len(decades):
        if risk() < first * 10 ** -decades[len(marks)]:
            marks.append((elapsed, risk()))
        k1, l1 = velocity(Sigma, A, b)
        k2, l2 = velocity(Sigma, A + step / 2 * k1, b + step / 2 * l1)
        k3, l3 = velocity(Sigma, A + step / 2 * k2, b + step / 2 * l2)
        k4, l4 = velocity(Sigma, A + step * k3, b + step * l3)
        A = A + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        b += step / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
        elapsed += step
    (begin, high), (end, low) = marks
    return float(np.log(high / low) / (2 * (end - begin)))


def near_the_limit(covariance: Table, seed: int) -> dict[str, Any]:
    """A point 1% off a Bayes point, in a random direction, on a dyadic grid."""
    rng = np.random.default_rng(seed)
    Sigma = numbers(covariance)
    A = numbers(inverse(covariance))
    b = float((A * A).sum() ** 0.25)
    A = A / b
    A = A + _NEAR * np.linalg.norm(A) * rng.standard_normal(A.shape) / len(Sigma)
    rows = [[str(Fraction(float(x)).limit_denominator(2**20)) for x in row] for row in A]
    return {"A": rows, "b": str(Fraction(b).limit_denominator(2**20))}


def restart(covariance: Table, seed: int, folder: Path) -> tuple[float, float]:
    """The certified rate from near the limit, and the fitted one."""
    at = near_the_limit(covariance, seed)
    given = {"covariance": covariance, "start": at, "training": {"rule": "flow"}}
    rate = float(Fraction(asserted(timed("training-convergence", folder, given=given).certificate)["rate"]))
    return rate, fitted_rate(numbers(covariance), numbers(at["A"]), float(Fraction(at["b"])))


def restart_table(seeds: int = 3) -> None:
    with tempfile.TemporaryDirectory() as parent:
        for name in ("isotropic", "anisotropic", "correlated", "plane"):
            for seed in range(seeds):
                rate, fitted = restart(COVARIANCES[name], seed, Path(parent))
                ratio = fitted / rate
                print(f"restart {name}: certified c = {rate:.4g}, fitted {fitted:.4g}, {ratio:.2f} times [<= 3]")


# -- the flow


def flow(covariance: Table, P: Table, within: str, folder: Path) -> tuple[Timed, float, float]:
    """The flow from A = P/2, b = 1/2 until it is so near to its limit: the certificate, the time, the stated radius."""
    found = timed("flow-trajectory", folder, given={"covariance": covariance, "start": start("1/2", P)}, within=within)
    end = asserted(found.certificate)["points"][-1]
    return found, float(Fraction(end["time"])), float(Fraction(end["radius"]))


def flow_table() -> None:
    with tempfile.TemporaryDirectory() as parent:
        for name, P in (("isotropic", BALANCED[5]), ("anisotropic", BALANCED[5]), ("correlated", RANK_ONE[5])):
            found, end, radius = flow(COVARIANCES[name], P, "1e-6", Path(parent))
            print(f"flow {name}: to t = {end:.4g}, radius {radius:.2g}, found in {found.found:.1f} s,",
                  f"checked in {found.checked:.1f} s [radius <= 1e-20, find <= 30 s, check <= 10 s]")  # fmt: skip


# -- descents side by side


@dataclass(frozen=True)
class Descents:
    """The descents of N prompts of L tokens for K steps with a step eta."""

    prompts: int = 32
    length: int = 256
    steps: int = 200
    eta: str = "1/100"


def descent(covariance: Table, size: Descents, folder: Path) -> tuple[Timed, float, float]:
    """The certificate, the radius that it states of both ends, and eps_K beside the true distance."""
    drawn = prompts(20260, size.prompts, size.length, covariance)
    names = ("tokens", "labels", "queries", "targets")
    given = {
        "model": "regression",
        "covariance": covariance,
        "start": start("1/2", BALANCED[len(covariance)]),
        "step": size.eta,
        "steps": str(size.steps),
    }
    arrays = {name: getattr(drawn, name) for name in names}
    found = timed("descent-trajectory", folder, given={**given, **arrays})
    return found, end_radius(found.certificate), tube_ratio(found.certificate)


def end_radius(certificate: certattn.Certificate) -> float:
    """The largest radius that is stated of the last iterates."""
    last = asserted(certificate)["checkpoints"][-1]
    return max(float(Fraction(last[side]["radius"])) for side in ("finite", "infinite"))


def tube_ratio(certificate: certattn.Certificate) -> float:
    """eps_K over what is proved to be a lower bound of the distance: at least eps_K over the distance itself."""
    last = asserted(certificate)["checkpoints"][-1]["distance"]
    return float(Fraction(last["at_most"]) / Fraction(last["at_least"]))


def descent_table(size: Descents = Descents()) -> None:
    with tempfile.TemporaryDirectory() as parent:
        for name in ("isotropic", "anisotropic", "correlated"):
            found, radius, ratio = descent(COVARIANCES[name], size, Path(parent))
            print(f"descent {name}, N = {size.prompts}, L = {size.length}, K = {size.steps}:",
                  f"found in {found.found:.1f} s, checked in {found.checked:.1f} s, radius {radius:.2g},",
                  f"eps_K / distance <= {ratio:.6f}",
                  "[check <= 60 s, radius <= 1e-12, ratio <= 1.01]")  # fmt: skip


# -- lengths over a ball


def simulated_gap(dimension: int, length: int, prompts: int, seed: int = 0) -> tuple[float, float]:
    """R_L - R at A = d^(-1/4) I, b = d^(1/4), Sigma = I: the mean over drawn prompts, and its standard error."""
    rng, size = np.random.default_rng(seed), max(1, 4_000_000 // (length * dimension))
    b, seen = dimension**0.25, []
    for _ in range(-(-prompts // size)):
        x, tokens = rng.standard_normal((size, dimension)), rng.standard_normal((size, length, dimension))
        scores = np.einsum("nld,nd->nl", tokens, x) / b
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        mean = np.einsum("nl,nld->nd", weights / weights.sum(axis=1, keepdims=True), tokens)
        # R = 0 there.
        seen.append(((b * mean - x) ** 2).sum(axis=1) / 2)
    every = np.concatenate(seen)
    return float(every.mean()), float(every.std() / np.sqrt(len(every)))


def gap_table(dimensions: tuple[int, ...] = (1, 2, 4), prompts: int = 200_000) -> None:
    true = {1: 20, 2: 88, 4: 503}
    with tempfile.TemporaryDirectory() as parent:
        for d in dimensions:
            square = "1" if d == 1 else f"sqrt({d})"
            given = {"covariance": np.eye(d), "ball": {"A_squared": square, "b_squared": square}}
            found = timed("risk-gap", Path(parent), given=given, excess="1/10", majorant="lines")
            length = int(asserted(found.certificate)["length"])
            for at in (true[d], length):
                mean, error = simulated_gap(d, at, prompts)
                print(f"gap d = {d}, L = {at}: simulated {mean:.4f} +- {error:.4f}")
            print(f"gap d = {d}: certified L >= {length}, {length / true[d]:.2f} times; found in {found.found:.0f} s,",
                  f"checked in {found.checked:.1f} s [<= 1.1, find <= 60 s, check <= 10 s]")  # fmt: skip


PARTS: dict[str, Callable[[], None]] = {
    "convergence": convergence_table,
    "restart": restart_table,
    "flow": flow_table,
    "descent": descent_table,
    "gap": gap_table,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; everything if left out")
    parts = parser.parse_args(arguments).parts or list(PARTS)
    if not PARTS.keys() >= set(parts):
        parser.error(f"a part is one of {', '.join(PARTS)}")
    for part in parts:
        PARTS[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
