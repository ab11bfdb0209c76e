"""Mean squares of atoms and signs: against the list of all prompts, simulation, and each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Box, Law, Mixture, Rademacher, Shifted
from certattn.kernel.theorems.prompts.mathematics import finite_scores
from certattn.kernel.theorems.prompts.mathematics.finite_covariances import finite_covariance_error, tokens_by_score
from certattn.kernel.theorems.prompts.mathematics.finite_means import FiniteMeans, groups_of
from certattn.kernel.theorems.prompts.mathematics.finite_scores import FiniteScores, TooManyError, has_finite_scores


def q(value: Any) -> fmpq:
    return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else fmpq(value)


def rows(table: list[list[float]]) -> list[list[fmpq]]:
    return [[q(x) for x in row] for row in table]


ATOMS = Atoms(rows([[0, 1], [1, -1], [3, 2], [0, 2]]), [fmpq(1, 2), fmpq(1, 4), fmpq(1, 8), fmpq(1, 8)])
FAR = Atoms(rows([[100, -100], [101, -99], [99.5, -100]]), [fmpq(1, 3)] * 3)
SIGNS = Rademacher([q(1), q(0.5)])
MIXED = Mixture([SIGNS, Atoms(rows([[1, 2], [-1, 0]]), [fmpq(1, 3), fmpq(2, 3)])], [fmpq(3, 4), fmpq(1, 4)])
LAWS: dict[str, tuple[Law[fmpq], list[float]]] = {
    "atoms": (ATOMS, [1, 0.5]),
    "far from the origin": (FAR, [0.5, -1]),
    "signs": (SIGNS, [2, -1]),
    "signs of equal scores": (SIGNS, [1, 2]),
    "signs about a centre": (Shifted(SIGNS, [q(3), q(-2)]), [1, 0.5]),
    "a mixture": (MIXED, [1, 0]),
    "no tilt": (MIXED, [0, 0]),
    "a rare heavy token": (Atoms(rows([[0, 0], [6, 1]]), [fmpq(999, 1000), fmpq(1, 1000)]), [1, 0]),
}
VALUES = rows([[1, 2], [0, 1], [1, -3]])


# -- every prompt, listed


def tokens_of(law: Law[fmpq]) -> Iterator[tuple[Any, list[Any]]]:
    """Probability and token, in mpmath's numbers."""
    if isinstance(law, Mixture):
        for share, part in zip(law.weights, law.components, strict=True):
            yield from ((number(share) * mass, x) for mass, x in tokens_of(part))
    elif isinstance(law, Atoms):
        yield from ((number(w), [number(x) for x in y]) for w, y in zip(law.weights, law.points, strict=True))
    elif isinstance(law, Shifted):
        yield from (
            (mass, [number(m) + t for m, t in zip(law.centre, x, strict=True)]) for mass, x in tokens_of(law.law)
        )
    elif isinstance(law, Rademacher):
        for signs in itertools.product((1, -1), repeat=law.dimension):
            yield mpf(2) ** -law.dimension, [s * number(c) for s, c in zip(signs, law.sizes, strict=True)]


def number(value: fmpq) -> Any:
    return mpf(int(value.p)) / int(value.q)


def listed(law: Law[fmpq], tilt: list[float], length: int) -> dict[str, Any]:
    """All four means by the multinomial probabilities of all prompts."""
    tokens = list(tokens_of(law))
    points = np.array([x for _, x in tokens], dtype=object)
    w = np.array([mp.exp(sum(mpf(a) * t for a, t in zip(tilt, x, strict=True))) for _, x in tokens], dtype=object)
    V = np.array([[number(x) for x in row] for row in VALUES], dtype=object)

    def moments(shares: Any) -> tuple[Any, Any]:
        p = shares / shares.sum()
        mean = p @ points
        return mean, (points * p[:, None]).T @ points - np.outer(mean, mean)

    tau, C = moments(np.array([mass for mass, _ in tokens], dtype=object) * w)
    found = {"mean_square": mpf(0), "collision": mpf(0), "covariance": mpf(0), "mean": np.array([mpf(0)] * len(V))}
    for cuts in itertools.combinations(range(length + len(tokens) - 1), len(tokens) - 1):
        ends = (-1, *cuts, length + len(tokens) - 1)
        counts = np.array([b - a - 1 for a, b in itertools.pairwise(ends)], dtype=object)
        probability = mpf(math.factorial(length))
        for count, (mass, _) in zip(counts, tokens, strict=True):
            probability *= mass**count / math.factorial(count)
        mean, covariance = moments(counts * w)
        y, M = V @ (mean - tau), V @ (covariance - C)
        found["mean"] = found["mean"] + probability * y
        found["mean_square"] += probability * (y @ y)
        found["covariance"] += probability * (M**2).sum()
        found["collision"] += probability * (counts * w * w).sum() / (counts * w).sum() ** 2
    return found


def means(law: Law[fmpq], tilt: list[float], length: int) -> FiniteMeans:
    base = ExactMatrix.row_vector([q(a) for a in tilt])
    return FiniteMeans.of(groups_of(law, base, ExactMatrix.rational(VALUES)), arb(1), length)


def covariance(law: Law[fmpq], tilt: list[float], length: int) -> arb:
    base = ExactMatrix.row_vector([q(a) for a in tilt])
    return finite_covariance_error(tokens_by_score(law, base), arb(1), ExactMatrix.rational(VALUES), length)


def holds(ball: arb, value: Any) -> bool:
    """Whether the number, known to 50 digits, lies in the ball."""
    with working_precision(200):
        return bool(ball.overlaps(arb(mp.nstr(value, 50))))


@pytest.mark.heavy
@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("name", LAWS)
def test_all_prompts_listed(name: str, length: int, bits: int) -> None:
    law, tilt = LAWS[name]
    with mp.workdps(60), working_precision(bits):
        known, found = listed(law, tilt, length), means(law, tilt, length)
        balls = [
            (found.mean_square, known["mean_square"]), (found.collision, known["collision"]),
            (covariance(law, tilt, length), known["covariance"]), *zip(found.mean(), known["mean"], strict=True),
        ]  # fmt: skip
        assert [k for k, (ball, value) in enumerate(balls) if not holds(ball, value)] == []
        # What is 0 has no relative width.
        scale = max(float(known["mean_square"]), float(known["covariance"]), 1.0)
        assert all(float(ball.rad()) < scale * 2.0 ** (-0.45 * bits) for ball, _ in balls)
        if length > 2:
            assert float(found.falling_mean_square()) >= float(known["mean_square"])
            assert float(found.falling_collision()) >= float(known["collision"])


# -- long prompts


@pytest.mark.parametrize("length", [20, 400])
@pytest.mark.parametrize("name", ["atoms", "signs", "a mixture"])
def test_a_simulation(name: str, length: int) -> None:
    """99.9% intervals of the mean square, and of that of the covariance."""
    law, tilt = LAWS[name]
    tokens = [(float(mass), [float(t) for t in x]) for mass, x in tokens_of(law)]
    points, masses = np.array([x for _, x in tokens]), np.array([mass for mass, _ in tokens])
    w, V = np.exp(points @ tilt), np.array([[float(x.p) / float(x.q) for x in row] for row in VALUES])
    counts = np.random.default_rng(length).multinomial(length, masses / masses.sum(), size=40_000)

    def moments(shares: Any) -> tuple[Any, Any]:
        p = shares / shares.sum(axis=-1, keepdims=True)
        mean = p @ points
        outer = np.einsum("...l,li,lj->...ij", p, points, points)
        return mean, outer - mean[..., :, None] * mean[..., None, :]

    mean, C_L = moments(counts * w)
    tau, C = moments(masses * w)
    with working_precision(64):
        balls = [means(law, tilt, length).mean_square, covariance(law, tilt, length)]
    samples = [(((mean - tau) @ V.T) ** 2).sum(axis=1), ((V @ (C_L - C)) ** 2).sum(axis=(1, 2))]
    for ball, sample in zip(balls, samples, strict=True):
        assert abs(float(ball) - sample.mean()) <= 3.2905 * sample.std() / len(sample) ** 0.5


@pytest.mark.parametrize("name", LAWS)
def test_bounds_for_every_length_fall_and_become_sharp(name: str) -> None:
    law, tilt = LAWS[name]
    with working_precision(128):
        bounds = []
        for length in (3, 4, 5, 10, 100, 10**4, 10**7):
            found = means(law, tilt, length)
            exact = (found.mean_square, found.collision)
            bounds.append((found.falling_mean_square(), found.falling_collision()))
            assert all((low <= high) is True for low, high in zip(exact, bounds[-1], strict=True))
        assert all((b < a) is True for pair in itertools.pairwise(bounds) for a, b in zip(*pair, strict=True))
        assert all(float(high / low) < 1.01 for low, high in zip(exact, bounds[-1], strict=True))


def test_the_mean_square_itself_may_grow_with_the_length() -> None:
    """Why it is no bound for every length from one on: the example of the page."""
    rare = fmpq(1, 10**5)
    points = rows([[0, 4], [0.5, 0], [1, 14.81]])
    law = Atoms(points, [(1 - rare) / 2, (1 - rare) / 2, rare])
    base, first = ExactMatrix.row_vector([q(0), q(1)]), ExactMatrix.rational(rows([[1, 0]]))
    with working_precision(128):
        one, two = (FiniteMeans.of(groups_of(law, base, first), arb(1), length).mean_square for length in (1, 2))
        assert (two > arb("1.3") * one) is True


@pytest.mark.parametrize("length", [10**3, 10**6, 10**12, 10**30])
def test_long_prompts_lose_no_digits(length: int) -> None:
    with working_precision(64):
        found = means(ATOMS, [1, 0.5], length)
        for ball in (found.mean_square, found.collision, covariance(ATOMS, [1, 0.5], length)):
            assert ball.rad() < ball.mid() * arb(10) ** -11


def test_signs_are_added_coordinate_by_coordinate() -> None:
    """What a list of all signs has: probability, mean and mean square of the tokens of each score."""
    law, base = Rademacher([q(1), q(0.5), q(0), q(2)]), ExactMatrix.row_vector([q(1), q(2), q(5), q(0)])
    values = ExactMatrix.rational(rows([[1, 2, 0, -1], [0, 1, 3, 1]]))
    found = groups_of(law, base, values)
    known: dict[fmpq, list[Any]] = {}
    for signs in itertools.product((1, -1), repeat=4):
        x = ExactMatrix.row_vector([s * c for s, c in zip(signs, law.sizes, strict=True)])
        y = x @ values.T
        group = known.setdefault((base @ x.T).entry(0, 0), [fmpq(0), ExactMatrix.zero(1, 2), fmpq(0)])
        group[0] += fmpq(1, 16)
        group[1] = group[1] + y.scaled(fmpq(1, 16))
        group[2] += (y @ y.T).entry(0, 0) / 16
    assert {score: [one.mass, one.first, one.second] for score, one in found.items()} == known


def test_the_error_of_a_few_nodes_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with working_precision(64):
        scores = FiniteScores([arb(0), arb(1)], [fmpq(1, 2)] * 2, 10)
        assert (scores.error(2) < arb(2) ** -40) is True
        monkeypatch.setattr(finite_scores, "_MOST_ENTRIES", 10)
        assert (FiniteScores([arb(0), arb(1)], [fmpq(1, 2)] * 2, 10).error(2) < 1) is not True
        assert means(ATOMS, [1, 0.5], 10).mean_square.is_finite() is not True
        assert means(ATOMS, [1, 0.5], 10).falling_mean_square().is_finite() is not True
        assert covariance(ATOMS, [1, 0.5], 10).is_finite() is not True


def test_other_laws_are_refused() -> None:
    box = Mixture([SIGNS, Box([q(1), q(1)])], [fmpq(1, 2), fmpq(1, 2)])
    assert not has_finite_scores(Shifted(Box([q(1)]), [q(1)]))
    base, values = ExactMatrix.row_vector([q(1), q(1)]), ExactMatrix.identity(2)
    assert not has_finite_scores(box)
    for find in (lambda: groups_of(box, base, values), lambda: tokens_by_score(box, base)):
        with pytest.raises(TypeError, match="Box are not finitely many"):
            find()
    many, tilt = Rademacher([q(1)] * 12), ExactMatrix.row_vector([q(2.0**-k) for k in range(12)])
    assert len(groups_of(Rademacher([q(1)] * 40), ExactMatrix.row_vector([q(1)] * 40), ExactMatrix.identity(40))) == 41
    with pytest.raises(TooManyError, match="more than 2,048 different scores"):
        groups_of(many, tilt, ExactMatrix.identity(12))
    with pytest.raises(TooManyError, match="more than 1,024 different tokens"):
        tokens_by_score(many, tilt)
