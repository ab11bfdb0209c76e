"""Certificates of mean squares that are averaged over queries, most of them false by little, against quadrature.

    python tools/fuzz/query_averages.py --count 3000 --seed 0

Laws of tokens and of queries are drawn at random, in up to six dimensions, correlated, some of them singular, with
rectangular matrices. The average is a Gauss-Hermite rule over those directions of the query which the scores see, of
E|T_L - T|^2 at one query from its definition (`tools.truth.mean_square.moments`): neither the law of the scores'
variance nor Stein's identity comes in, and what a coarser rule differs by is the error. Stated are numbers beside it,
by more than the error, for what was drawn and for what differs from that in one number. A false certificate that
verifies is printed, with the seed and number by which it is made again, and so is a true one that is refuted; then the
exit status is 1.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from tools.fuzz.random_prompts import Trial, text_of, texts, verdict, wrong
from tools.truth.mean_square import moments

Array = Any
Table = tuple[tuple[Fraction, ...], ...]
LENGTHS = (2, 3, 8, 40, 300, 5000)
# Nodes by the number of directions, and the shares of themselves by which stated numbers are beside the truth.
NODES = {0: 1, 1: 160, 2: 64, 3: 30, 4: 16, 5: 10, 6: 8}
OFF = (1e-4, 1e-3, 1e-2, 0.2)
# Up to which root of the scores' variance they are tabulated, and how finely.
WIDEST, KNOTS = 7.0, 57
# How often the error that is seen a number has to differ by, and what splines lose.
SURE, LOST = 10, 2e-5


@cache
def table(length: int) -> tuple[CubicSpline, CubicSpline]:
    """log q and log E (t - s)^2, t = sum p_i u_i, by s."""
    s = np.linspace(0, WIDEST, KNOTS)
    found = np.array([moments(float(x), length, 1601) for x in s])
    return CubicSpline(s, np.log(found[:, 0])), CubicSpline(s, np.log(found[:, 2]))


def doubles(rows: Table) -> Array:
    return np.array([[float(x) for x in row] for row in rows])


def gram(rows: Table) -> Table:
    return tuple(tuple(sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for b in rows) for a in rows)


@dataclass(frozen=True)
class Averaged:
    """Gaussian tokens and queries; `tokens` and `queries` are roots R of their covariances R R'."""

    tokens: Table
    queries: Table
    mean: tuple[Fraction, ...]
    U: Table
    V: Table
    scale: Fraction
    length: int

    @property
    def given(self) -> dict[str, Any]:
        covariance = [texts(row) for row in gram(self.tokens)]
        law = {"kind": "gaussian", "mean": ["1/3"] * len(self.tokens), "covariance": covariance}
        queries = {"mean": texts(self.mean), "covariance": [texts(row) for row in gram(self.queries)]}
        matrices = {name: [texts(row) for row in rows] for name, rows in (("U", self.U), ("V", self.V))}
        return {"law": law, "queries": queries, **matrices, "scale": str(self.scale), "length": str(self.length)}

    def truth(self) -> tuple[float, float]:
        """The average and about its error; the error is infinite where too little is known."""
        R, Q, U, V = map(doubles, (self.tokens, self.queries, self.U, self.V))
        images = float(self.scale) * R.T @ U  # z -> R'a, whose square is the variance of the scores
        out, spread = V @ R, float(((V @ R) ** 2).sum())
        left, sizes, _ = np.linalg.svd(images @ Q, full_matrices=False)
        rank = int((sizes > 1e-9).sum())
        centre, frame = images @ np.array([float(x) for x in self.mean]), left[:, :rank] * sizes[:rank]
        found = []
        for nodes in (NODES[rank], max(1, NODES[rank] * 3 // 4)):
            x, w = np.polynomial.hermite_e.hermegauss(nodes)
            at = np.stack(np.meshgrid(*[x] * rank, indexing="ij"), -1).reshape(-1, rank) if rank else np.zeros((1, 0))
            mass = reduce(lambda a, b: np.kron(a, b), [w / w.sum()] * rank, np.ones(1))
            tilts = centre + at @ frame.T
            v, shift = (tilts**2).sum(axis=1), ((tilts @ out.T) ** 2).sum(axis=1)
            s, beyond = np.sqrt(np.minimum(v, WIDEST**2)), v > WIDEST**2
            q, along = (np.exp(spline(s)) for spline in table(self.length))
            share = np.where(v > 1e-9, shift / np.maximum(v, 1e-9), 0)
            value = share * along + (spread - share) * q
            found.append((float(mass @ value), float(mass[beyond] @ (spread + shift)[beyond])))
        (value, beyond), (other, _) = found
        return value, abs(value - other) + beyond + LOST * value


def entry(draw: random.Random) -> Fraction:
    return Fraction(draw.randint(-6, 6), draw.choice((4, 6, 8)))


def rows(draw: random.Random, count: int, columns: int) -> Table:
    return tuple(tuple(entry(draw) for _ in range(columns)) for _ in range(count))


def drawn(draw: random.Random, lengths: tuple[int, ...]) -> Averaged:
    d, dz, dv = draw.choice((1, 2, 2, 3, 4, 6)), draw.choice((1, 2, 2, 3, 4, 6)), draw.randint(1, 3)
    of_tokens, of_queries = (max(1, size - (draw.random() < 0.4)) for size in (d, dz))
    mean = tuple(entry(draw) if draw.random() < 0.7 else Fraction(0) for _ in range(dz))
    tokens, queries = rows(draw, d, of_tokens), rows(draw, dz, of_queries)
    U, V = rows(draw, d, dz), rows(draw, dv, d)
    scale = Fraction(draw.choice((1, 1, 2, 3)), draw.choice((1, 2, 4, 7)))
    problem = Averaged(tokens, queries, mean, U, V, scale, draw.choice(lengths))
    # Scores of a variance that is tabulated: the scale is made small enough.
    R, Q, u = map(doubles, (tokens, queries, U))
    size = float(scale) * (np.linalg.norm(R.T @ u @ Q, 2) + np.linalg.norm(R.T @ u @ [float(x) for x in mean]) / 4)
    return replace(problem, scale=scale / max(1, int(np.ceil(size / draw.choice((0.4, 0.8, 1.1))))))


def changed(draw: random.Random, problem: Averaged, lengths: tuple[int, ...]) -> Averaged:
    """With one number that is another one."""
    name = draw.choice(("tokens", "queries", "mean", "U", "V", "scale", "length"))
    old: Any = getattr(problem, name)
    if name == "length":
        return replace(problem, length=draw.choice(lengths))
    if name == "scale":
        return replace(problem, scale=old * draw.choice((Fraction(-1), Fraction(99, 100), Fraction(5, 4))))
    step = draw.choice((Fraction(1, 100), Fraction(-1, 4), Fraction(1, 1000)))
    if name == "mean":
        k = draw.randrange(len(old))
        return replace(problem, mean=(*old[:k], old[k] + step, *old[k + 1 :]))
    i, j = draw.randrange(len(old)), draw.randrange(len(old[0]))
    row = (*old[i][:j], old[i][j] + step, *old[i][j + 1 :])
    return replace(problem, **{name: (*old[:i], row, *old[i + 1 :])})


def trials(draw: random.Random, problem: Averaged, changes: int, lengths: tuple[int, ...]) -> Iterator[Trial]:
    """Bounds on both sides of the truth, for one length and for every longer one, and the same of changed problems."""
    value, error = problem.truth()
    if not value > 0:
        return

    def stated(given: Any, asserts: dict[str, str], witness: Any, true: bool, family: str) -> Trial:
        content = {"certattn": "1", "claim": "output-mean-square", "given": given, "asserts": {"mean_square": asserts}}
        return Trial(family, {**content, "witness": witness}, true)

    for off in OFF:
        off = max(off, SURE * error / value)
        if off > 0.5:
            return
        above, below = f"{value * (1 + off):.12g}", f"{value * (1 - off):.12g}"
        exact, given = {"method": "exact"}, problem.given
        yield stated(given, {"at_most": above}, exact, True, "at most")
        yield stated(given, {"at_most": below}, exact, False, "at most")
        yield stated(given, {"at_least": below}, exact, True, "at least")
        yield stated(given, {"at_least": above, "at_most": str(10**6)}, exact, False, "at least")
        yield stated(given, {"at_most": below}, {"method": "integral"}, False, "by the integral")
    starts = [str(problem.length * k) for k in (1, *sorted(draw.sample(range(2, 9), draw.randint(0, 2))))]
    longer, below = {**problem.given, "length": {"at_least": str(problem.length)}}, f"{value * (1 - off):.12g}"
    yield stated(longer, {"at_most": below}, {"method": "exact", "from": starts}, False, "for every length")
    off = max(3e-4, 1.01 * SURE * error / value)
    asserts = {"at_least": f"{value * (1 - off):.12g}", "at_most": f"{value * (1 + off):.12g}"}
    for _ in range(changes):
        other = changed(draw, problem, lengths)
        truth, slack = other.truth()
        distance = abs(truth / value - 1) - off
        if abs(distance) > SURE * slack / value:
            yield stated(other.given, asserts, {"method": "exact"}, distance < 0, "something else given")


def run(
    count: int, seed: int, changes: int = 3, lengths: tuple[int, ...] = LENGTHS
) -> tuple[Counter[tuple[str, bool, str]], list[str]]:
    """How often each family, true or false, had each verdict; and what was wrong."""
    tally: Counter[tuple[str, bool, str]] = Counter()
    findings: list[str] = []
    for step in itertools.count():
        draw = random.Random(f"{seed} {step}")
        for trial in trials(draw, drawn(draw, lengths), changes, lengths):
            if tally.total() >= count:
                return tally, findings
            found = verdict(trial)
            tally[trial.family, trial.true, found] += 1
            if wrong(trial, found):
                findings.append(f"number {step}: {found}, though it is {trial.true}: {text_of(trial)}")
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000, help="certificates to check")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    start = time.process_time()
    tally, findings = run(chosen.count, chosen.seed)
    for (family, true, found), times in sorted(tally.items()):
        print(f"{family:<25}{'true' if true else 'false':<7}{found:<14}{times:>7}")
    print(f"\n{tally.total()} certificates in {time.process_time() - start:.0f} s, {len(findings)} findings")
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
