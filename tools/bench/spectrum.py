"""Measure the claims about the spectrum of softmax attention.

    python tools/bench/spectrum.py                 everything: some seconds
    python tools/bench/spectrum.py law             the limit law: a value of its CDF, edges, moments, thresholds
    python tools/bench/spectrum.py linearization   attention beside its linear part, and LAPACK's SVD in the same run
    python tools/bench/spectrum.py distance        1000 singular values beside the law and quarter circles

Every line ends with what was wanted; times are the processor's, in one process, the least of some runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

import certattn
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, beta_at_share, critical_beta
from tools.gallery.singular_values import draw
from tools.gallery.spectral_distance import UNIT, scale

_BITS, _MOMENTS = 128, 4


@dataclass(frozen=True)
class Row:
    """What was measured, in milliseconds, and what was wanted."""

    what: str
    milliseconds: float
    at_most: float

    def __str__(self) -> str:
        return f"{self.what:<64}{self.milliseconds:>10.3f} ms   (wanted: at most {self.at_most:g} ms)"


def least(run: Callable[[], object], times: int) -> float:
    """The least time of a run, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.process_time_ns()
        run()
        found.append(time.process_time_ns() - start)
    return min(found) / 1e6


def law(points: int, times: int) -> list[Row]:
    """The limit law at 128 bits."""
    rows = []
    with working_precision(_BITS):
        for beta, lambda_ in ((fmpq(1), fmpq(1)), (fmpq(1, 2), fmpq(1, 4))):
            name = f"beta = {beta}, lambda = {lambda_}"
            known = EquivalentLaw.from_square(beta * beta, lambda_)
            places = [arb(fmpq(k, points)) * known.right_edge.mid() for k in range(1, points + 1)]
            places = [place.mid() for place in places]
            known.tail(places[0])

            def tails(known: EquivalentLaw = known, places: Sequence[arb] = tuple(places)) -> None:
                for place in places:
                    known.tail(place)

            def numbers(beta: fmpq = beta, lambda_: fmpq = lambda_) -> None:
                made = EquivalentLaw.from_square(beta * beta, lambda_)
                _ = made.right_edge, made.gap, made.density_bound
                made.numbers.moments(_MOMENTS)
                critical_beta(arb(lambda_))
                beta_at_share(arb(fmpq(1, 2)))

            rows.append(Row(f"a value of the CDF, {name}", least(tails, times) / points, 0.2))
            rows.append(Row(f"edges, bound, moments and thresholds, {name}", least(numbers, times), 50))
    return rows


def linearization(size: int, betas: Sequence[str]) -> list[Row]:
    """Checks of the norm of the remainder and its distance to the quarter circle, d_qk = d: three SVDs are wanted."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source, made = draw(Path(folder), f"linearization-{size}", size, size), Path(folder) / "made.yaml"
        # A decomposition takes as long whatever the matrix.
        matrix = np.load(source)["queries"].astype(float)
        svd = least(lambda: np.linalg.svd(matrix, full_matrices=False), 2)
        for beta in betas:
            certificate = certattn.generate(
                "linearization", made, source=source, beta=beta, unit="1/1024", states=["norm", "distance"]
            )
            asserts = certificate.plain["asserts"]["remainder"]  # type: ignore[index,call-overload]
            found = ", ".join(f"{name} {asserts[name]['at_most']}" for name in ("norm", "distance"))
            rows.append(
                Row(
                    f"d = {size}, beta = {beta}, SVD {svd:.0f} ms: {found}",
                    least(lambda: certattn.check(made), 2),
                    3 * svd,
                )
            )
    return rows


def distance(tokens: int, times: int) -> list[Row]:
    """`spectral-distance` of drawn weights, d_qk = d, at beta = 1/2 and 1: checked, and found by the prover."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for beta, square in (("1/2", (1, 4)), ("1", (1, 1))):
            out = Path(folder) / f"{square[1]}.yaml"
            source = draw(Path(folder), f"drawn-{tokens}", tokens, tokens)
            inputs = {"source": source, "scale": scale(square, tokens), "unit": UNIT}

            def find(out: Path = out, inputs: dict[str, Any] = inputs) -> None:
                certattn.generate("spectral-distance", out, **inputs)

            name = f"d = {tokens}, beta = {beta}"
            rows.append(Row(f"distances found, {name}", least(find, 1), 10_000))
            checked = least(lambda out=out: certattn.check(out), times)  # type: ignore[misc]
            rows.append(Row(f"distances checked, {name}: {_figures(out)}", checked, 3000))
    return rows


def _figures(out: Path) -> str:
    """The stated distance to the law and the separation."""
    import yaml

    asserts = yaml.safe_load(out.read_text())["asserts"]
    return f"law <= {asserts['law']['at_most']}, separation >= {asserts['separation']['at_least']}"


PARTS: dict[str, Callable[[], list[Row]]] = {
    "law": lambda: law(200, 5),
    "linearization": lambda: linearization(1000, ("1/2", "3/4", "1")),
    "distance": lambda: distance(1000, 3),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; everything if left out")
    for part in parser.parse_args(arguments).parts or PARTS:
        for row in PARTS[part]():
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
