"""Measure the claims about the spectrum of softmax attention.

    python tools/bench/spectrum.py                 everything: some minutes, nearly all of it for drawn matrices
    python tools/bench/spectrum.py law             the limit law: a value of its CDF, edges, moments, thresholds
    python tools/bench/spectrum.py linearization   attention beside its linear part, and LAPACK's SVD in the same run
    python tools/bench/spectrum.py distance        1000 singular values beside the law and quarter circles
    python tools/bench/spectrum.py drawn           bounds of one drawn matrix beside simulated ones: minutes
    python tools/bench/spectrum.py universality    bounds of the mean beside simulated ones

A line of a time ends with what was wanted; times are the processor's, in one process, the least of some runs. --draws
is how many matrices are drawn of each size, at most.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

import certattn
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.drawn_spectrum import limit_transform
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


# -- drawn matrices, at eta = 1 and lambda = 1

_BETAS = ("1/2", "1")
_PROBABILITY = "0.01"


@dataclass(frozen=True)
class Bound:
    """A bound beside what is simulated; None where nothing is proved, or nothing drawn."""

    what: str
    bound: float | None
    simulated: float | None = None
    draws: int = 0

    def __str__(self) -> str:
        said = "nothing below 1/eta" if self.bound is None else f"{self.bound:.3g}"
        seen = "" if self.simulated is None else f"   simulated {self.simulated:.3g} ({self.draws} matrices)"
        return f"{self.what:<64}{said:>20}{seen}"


@dataclass(frozen=True)
class Least:
    """The least number of tokens that is found."""

    what: str
    tokens: int

    def __str__(self) -> str:
        return f"{self.what:<64}{self.tokens:>20} tokens"


def transforms(beta: str, d: int, draws: int, equivalent: bool = False) -> Iterator[tuple[float, float]]:
    """s_M of drawn attention matrices, and s_Y of Y where that is wanted; else 0."""
    rng, b = np.random.default_rng(d), float(Fraction(beta))
    alpha = np.sqrt(np.expm1(b * b) - b * b)
    for _ in range(draws):
        scores = b * rng.normal(size=(d, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
        weights = np.exp(scores)
        matrix = np.sqrt(d) * (weights / weights.sum(1, keepdims=True) - 1 / d)
        other = (alpha * rng.normal(size=(d, d)) + scores) / np.sqrt(d) if equivalent else None
        yield _transform(matrix), 0.0 if other is None else _transform(other)


def _transform(matrix: Any) -> float:
    return float((1 / (np.linalg.svd(matrix, compute_uv=False) ** 2 + 1)).mean())


def drawn(sizes: Mapping[int, int], within: Sequence[str], betas: Sequence[str] = _BETAS) -> list[Bound | Least]:
    """`attention-spectrum` beside the quantile of |s_M - s_mu| over so many draws; and from how many tokens on."""
    rows: list[Bound | Least] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "drawn.yaml"
        inputs: dict[str, Any] = {"eta": ["1"], "probability": _PROBABILITY}
        for beta in betas:
            x = fmpq(*map(int, beta.split("/"))) ** 2
            with working_precision(_BITS):
                limit = float(limit_transform(EquivalentLaw.from_square(x, fmpq(1)).numbers, fmpq(1)))
            for d, draws in sizes.items():
                bound = None
                try:
                    made: Any = certattn.generate("attention-spectrum", out, beta=beta, from_=d, **inputs).plain
                    bound = float(made["asserts"]["transform"][0]["within"])
                except NotProvedError:
                    pass
                found = [abs(s - limit) for s, _ in transforms(beta, d, draws)]
                quantile = float(np.quantile(found, 1 - float(_PROBABILITY))) if found else None
                rows.append(Bound(f"drawn, d = {d}, beta = {beta}", bound, quantile, draws))
            for most in within:
                made = certattn.generate("attention-spectrum", out, beta=beta, within=most, **inputs).plain
                rows.append(Least(f"drawn, within {most}, beta = {beta}", int(made["given"]["from"])))
    return rows


def universality(sizes: Mapping[int, int], betas: Sequence[str] = _BETAS) -> list[Bound | Least]:
    """`universality-bound` beside the difference of the means of s_M and s_Y over so many draws."""
    rows: list[Bound | Least] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "universality.yaml"
        for beta, (d, draws) in itertools.product(betas, sizes.items()):
            stated: Any = {}
            try:
                given = {"beta": beta, "eta": "1", "lambda": "1", "d": str(d)}
                stated = certattn.generate("universality-bound", out, given=given).plain["asserts"]
            except NotProvedError:
                pass
            for name in ("universality", "concentration", "equivalence"):
                number = stated.get(name, {}).get("deviation" if name == "concentration" else "at_most")
                found = list(transforms(beta, d, draws, equivalent=True)) if name == "equivalence" else []
                seen = abs(float(np.mean([s - other for s, other in found]))) if found else None
                what = f"{name}, d = {d}, beta = {beta}"
                rows.append(Bound(what, None if number is None else float(number), seen, len(found)))
    return rows


_DRAWN = {200: 200, 500: 200, 1000: 20, 4000: 0, 16_000: 0, 100_000: 0, 1_000_000: 0}
_MEANS = {100: 20, 1000: 4, 10_000: 0, 100_000: 0}


def _draws(sizes: Mapping[int, int], draws: int | None) -> dict[int, int]:
    return {d: usual if draws is None else min(usual, draws) for d, usual in sizes.items()}


PARTS: dict[str, Callable[[int | None], Sequence[Row | Bound | Least]]] = {
    "law": lambda draws: law(200, 5),
    "linearization": lambda draws: linearization(1000, ("1/2", "3/4", "1")),
    "distance": lambda draws: distance(1000, 3),
    "drawn": lambda draws: drawn(_draws(_DRAWN, draws), ("0.1", "0.05")),
    "universality": lambda draws: universality(_draws(_MEANS, draws)),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; everything if left out")
    parser.add_argument("--draws", type=int, help="matrices that are drawn of each size, at most")
    asked = parser.parse_args(arguments)
    for part in asked.parts or PARTS:
        for row in PARTS[part](asked.draws):
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
