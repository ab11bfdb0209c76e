"""Repaired propositions for every law of a class: each inequality of the proof, and the display, on laws of the class.

Laws of atoms are summed exactly; how sub-Gaussian one is, its cumulant generating function tells on a grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Cases
from flint import arb, fmpq

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts import every_law, proposition_3_1, proposition_3_4
from certattn.kernel.theorems.prompts.every_law import StatedClass
from certattn.kernel.theorems.prompts.mathematics.class_bounds import QueriesOfMatrix, QueriesOfNorm, Weighted
from certattn.kernel.theorems.prompts.mathematics.class_errors import Covariance, Mean, OnBall
from certattn.kernel.theorems.prompts.propositions import (
    NORM,
    REPAIRED,
    STEPS,
    Display,
    Error,
)
from certattn.statements.prompts import proposition_3_1 as words

Array = np.ndarray[Any, Any]
cases = Cases("class_cases")


@dataclass(frozen=True)
class Atoms:
    """A centred law of atoms, scaled to be sub-Gaussian with sigma = 1, nearly the least."""

    points: Array
    weights: Array

    @classmethod
    def of(cls, points: Any, weights: Any) -> Atoms:
        x, p = np.array(points, dtype=float), np.array(weights, dtype=float)
        x = x - p @ x
        circle = np.linspace(0, 2 * np.pi, 73)
        rays = np.stack([np.cos(circle), np.sin(circle)], 1) if x.shape[1] == 2 else np.array([[1.0], [-1.0]])
        sigma = 0.0
        for r in np.geomspace(0.01, 60, 400) / np.abs(x).max():
            scores = r * rays @ x.T
            top = scores.max(axis=1)
            sigma = max(sigma, float((2 * (top + np.log(np.exp(scores - top[:, None]) @ p))).max()) / r**2)
        return cls(x / math.sqrt(1.0001 * sigma), p)

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])


def far(M: float) -> Atoms:
    """Two far atoms, which a tilt finds suddenly."""
    rare = math.exp(-M * M / 2) / 2
    return Atoms.of([[0.0], [M], [-M]], [1 - 2 * rare, rare, rare])


GRID = np.linspace(-7, 7, 61)
LAWS = {
    "signs": Atoms.of([[1.0], [-1.0]], [0.5, 0.5]),
    "two far atoms": far(4.0),
    "two atoms very far": far(6.0),
    "skewed": Atoms.of([[9.0], [-1.0]], [0.1, 0.9]),
    "much mass at 0": Atoms.of([[0, 0], [1, 1], [-1, -1], [1, -1], [-1, 1]], [0.9, *[0.025] * 4]),
    "corners": Atoms.of([[1, 1], [-1, -1], [1, -1], [-1, 1]], [0.25] * 4),
    "nearly Gaussian": Atoms.of(GRID[:, None], np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()),
}
V = np.array([[1.0, 0.5], [0.0, -0.25]])


def tilts(law: Atoms) -> list[Array]:
    angles = np.linspace(0, 2 * np.pi, 13) if law.dimension == 2 else np.array([0, np.pi])
    return [
        s * np.array([math.cos(angle), math.sin(angle)])[: law.dimension]
        for s in (0.01, 0.3, 0.7, 1.1, 1.5, 2.2, 3.0)
        for angle in angles
    ]


def value(polynomial: Any, s: float) -> float:
    return sum(float(arb(c)) * s ** (2 * j) for j, c in enumerate(polynomial))


@pytest.mark.parametrize("name", LAWS)
def test_every_inequality_about_weights_and_moments(name: str) -> None:
    """All for sigma = 1, from the law itself."""
    law = LAWS[name]
    d, p = law.dimension, law.weights
    matrices = [np.eye(d), V[:, :d], V[:1, :d]]
    for a in tilts(law):
        s = float(np.linalg.norm(a))
        w = np.exp(law.points @ a)
        w /= p @ w
        tau = (p * w) @ law.points
        y = law.points - tau
        square, C = (y**2).sum(axis=1), (y * (p * w)[:, None]).T @ y
        assert p @ w**2 <= math.exp(2 * s**2)
        assert np.linalg.norm(tau - a) <= s
        assert np.linalg.eigvalsh(C)[-1] <= (1 + s) ** 2 <= 2 * (1 + s**2)
        assert np.trace(C) <= (math.sqrt(d) + s) ** 2 <= 2 * (d + s**2)
        assert (p * w**2) @ square**2 <= (d + 4 + 4 * s**2) ** 2 * math.exp(2 * s**2)
        for eta in (0.2, 0.5, 0.8):
            assert p @ np.exp(eta * (law.points**2).sum(axis=1) / 2) <= (1 - eta) ** (-d / 2) * (1 + 1e-9)
            for M in matrices:
                norm, frobenius = np.linalg.norm(M, 2) ** 2, np.linalg.norm(M) ** 2
                exponent = eta / (1 - eta) * (frobenius / (2 * norm) + 2 * s**2)
                assert p @ np.exp(eta * ((y @ M.T) ** 2).sum(axis=1) / (2 * norm)) <= math.exp(exponent)
        for M in matrices:
            norm, frobenius = (fmpq(round(1e6 * np.linalg.norm(M, k) ** 2) + 1, 10**6) for k in (2, "fro"))
            kept = value(Mean(fmpq(1), norm, frobenius).kept(), s)
            assert (p * w**2) @ ((y @ M.T) ** 2).sum(axis=1) <= kept * math.exp(2 * s**2)
        apart = np.einsum("ni,nj->nij", y, y) - C
        inner = (p * w**2) @ (apart**2).sum(axis=(1, 2)) + 2 * np.linalg.norm(C, 2) * ((p * w**2) @ square)
        assert inner <= value(Covariance(fmpq(1), d).kept(), s) * math.exp(2 * s**2)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("length", [2, 5, 30])
def test_errors_at_one_query_keep_to_both_bounds(name: str, length: int) -> None:
    """The mean normaliser's lower tail, what is left on it, and the bounds a and b, simulated at stated tilts."""
    law, rng, count, t, eta = LAWS[name], np.random.default_rng(length), 4000, 0.5, fmpq(2, 5)
    d = law.dimension
    for s in (0.3, 1.0, 1.6):
        a = s * np.ones(d) / math.sqrt(d)
        drawn = rng.choice(len(law.weights), (count, length), p=law.weights)
        w = np.exp(law.points @ a)
        w /= law.weights @ w
        tau = (law.weights * w) @ law.points
        C = np.einsum("n,ni,nj->ij", law.weights * w, law.points - tau, law.points - tau)
        weights = w[drawn]
        normaliser, p = weights.mean(axis=1), weights / weights.sum(axis=1, keepdims=True)
        mean = np.einsum("nl,nli->ni", p, law.points[drawn])
        second = np.einsum("nl,nli,nlj->nij", p, law.points[drawn], law.points[drawn])
        second -= np.einsum("ni,nj->nij", mean, mean)
        short = normaliser < 1 - t
        rare = math.exp(-length * t * t * math.exp(-2 * s**2) / 2)
        assert short.mean() <= rare + 5 * math.sqrt(rare / count)
        for squares, tokens in (
            (((mean - tau) ** 2).sum(axis=1), Mean(fmpq(1), fmpq(1), fmpq(d))),
            (((second - C) ** 2).sum(axis=(1, 2)), Covariance(fmpq(1), d)),
        ):
            noise = 5 * squares.std() / math.sqrt(count)
            always = value(tokens.always(arb(length).log(), fmpq(1, 2), eta), s)
            kept = value(tokens.kept(), s) * math.exp(2 * s**2) / length
            assert squares.mean() <= always + noise
            assert (squares * short).mean() <= rare * always + noise
            assert (squares * ~short).mean() <= kept / (1 - t) ** 2 + noise


@pytest.mark.parametrize("name", LAWS)
def test_every_inequality_on_a_ball(name: str) -> None:
    """About any centre, for all that a tilt does: R is the largest |x - m|."""
    law, rng = LAWS[name], np.random.default_rng(2)
    p, centre = law.weights, law.points.mean(axis=0)
    R = float(np.linalg.norm(law.points - centre, axis=1).max())
    square = fmpq(round(1e9 * R * R) + 1, 10**9)
    mean, covariance = OnBall.mean(square, fmpq(1)), OnBall.covariance(square)
    for a in tilts(law):
        s = R * float(np.linalg.norm(a))
        w = np.exp(law.points @ a)
        w /= p @ w
        y = law.points - (p * w) @ law.points
        squares, C = (y**2).sum(axis=1), (y * (p * w)[:, None]).T @ y
        apart = np.einsum("ni,nj->nij", y, y) - C
        inner = (p * w**2) @ (apart**2).sum(axis=(1, 2)) + 2 * np.linalg.norm(C, 2) * ((p * w**2) @ squares)
        grown = (1 + 1e-12) * math.exp(2 * s)
        assert max(w.max(), p @ w**2) <= grown
        assert (p * w**2) @ squares <= value(mean.kept(), 0) * grown
        assert inner <= value(covariance.kept(), 0) * grown
        for slope in (0.2, 0.7, 1.5):
            assert 2 * s <= slope * s * s + 1 / slope + 1e-12
        weights = rng.dirichlet(np.full(len(p), 0.1), 20)
        means = weights @ law.points
        second = np.einsum("nk,ki,kj->nij", weights, law.points, law.points) - np.einsum("ni,nj->nij", means, means)
        at, half = arb(2).log(), fmpq(1, 2)
        assert ((means - (p * w) @ law.points) ** 2).sum(axis=1).max() <= value(mean.always(at, half, half), 0)
        assert ((second - C) ** 2).sum(axis=(1, 2)).max() <= value(covariance.always(at, half, half), 0)


# -- queries


@pytest.mark.parametrize("rate", [fmpq(1, 10), fmpq(1, 3)])
def test_means_over_gaussian_queries_are_no_larger(rate: fmpq) -> None:
    """For N(0, rho^2 I) the factor is exact; powers of s^2 are bounded."""
    rho, rng = 0.8, np.random.default_rng(3)
    U = np.array([[0.5, 0.25, 0.0], [0.0, 0.5, 0.25]])
    z = rho * rng.standard_normal((400_000, 3))
    s2, size, gap = ((z @ U.T) ** 2).sum(axis=1), fmpq(1, 20), fmpq(1, 2)
    exact = ExactMatrix.rational([[fmpq(int(100 * x), 100) for x in row] for row in U.tolist()])
    queries = QueriesOfMatrix(exact.T @ exact, fmpq(64, 100))
    found = Weighted.of(queries, rate, gap, size)
    assert found is not None
    weight = np.exp(int(rate.p) / int(rate.q) * s2 + 0.05 * (z**2).sum(axis=1))
    assert abs(float(found.mean([arb(1)])) / weight.mean() - 1) < 0.01
    for j in (1, 2):
        polynomial = [arb(0)] * j + [arb(1)]
        assert float(found.mean(polynomial)) > 1.01 * (weight * s2**j).mean()
    norm = fmpq(round(1e6 * np.linalg.norm(U, 2) ** 2) + 1, 10**6)
    by_norm = Weighted.of(QueriesOfNorm(norm, fmpq(64, 100), 3, 2), rate, gap, size)
    assert by_norm is not None
    assert float(by_norm.mean([arb(1)])) > float(found.mean([arb(1)]))


# -- the display


def read(text: str) -> StatedClass:
    certificate = loads(text, Path("case.yaml"))
    theorem = proposition_3_4.THEOREM if certificate.claim == "proposition-3-4" else proposition_3_1.THEOREM
    stated = theorem.read(certificate)
    assert isinstance(stated, StatedClass)
    return stated


GALLERY = Path(__file__).resolve().parents[4] / "certificates" / "prompts"
CERTIFICATES = [GALLERY / "proposition-3-1" / "class.yaml", GALLERY / "proposition-3-1" / "class-unit-norms.yaml",
                GALLERY / "proposition-3-4" / "class-v.yaml", GALLERY / "proposition-3-4" / "class-u.yaml",
                GALLERY / "proposition-3-1" / "class-ball.yaml",
                GALLERY / "proposition-3-4" / "class-ball-u.yaml"]  # fmt: skip


def product(law: Atoms) -> Atoms:
    """Two independent coordinates."""
    if law.dimension == 2:
        return law
    x, p = law.points[:, 0], law.weights
    points = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    return Atoms(points, np.outer(p, p).ravel())


@pytest.mark.parametrize("path", CERTIFICATES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", [name for name in LAWS if name != "nearly Gaussian"])
def test_simulated_laws_of_the_class_keep_to_the_display(path: Path, name: str) -> None:
    stated, law, rng, count = read(path.read_text()), product(LAWS[name]), np.random.default_rng(5), 1500
    claimed = Display.of(stated.asserts[REPAIRED], stated.setting.sigma, stated.error)
    u = 0.5 if stated.setting.values[every_law.NORMS][every_law.U_NORM] == fmpq(1, 2) else 1.0
    if every_law.RADIUS in stated.setting.about:
        law = Atoms(law.points / np.linalg.norm(law.points, axis=1).max(), law.weights)
    for length in (2, 3, 10, 100):
        squares = simulated(law, u, stated.error, length, count, rng)
        most = float(arb(claimed.c1) * claimed.at(length))
        assert squares.mean() - 5 * squares.std() / math.sqrt(count) < most


def simulated(law: Atoms, u: float, error: Error, length: int, count: int, rng: np.random.Generator) -> Array:
    """Squares of errors over prompts and standard Gaussian queries in the plane, U = u I and V = I."""
    z = rng.standard_normal((count, 2))
    scores = u * z @ law.points.T
    w = np.exp(scores - scores.max(axis=1, keepdims=True))
    limit = w * law.weights
    limit /= limit.sum(axis=1, keepdims=True)
    tau = limit @ law.points
    drawn = rng.choice(len(law.weights), (count, length), p=law.weights)
    p = np.take_along_axis(w, drawn, axis=1)
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nli->ni", p, law.points[drawn])
    if error is not Error.GRADIENT_U:
        return np.asarray(((mean - tau) ** 2).sum(axis=1))
    C = np.einsum("nk,ki,kj->nij", limit, law.points, law.points) - np.einsum("ni,nj->nij", tau, tau)
    second = np.einsum("nl,nli,nlj->nij", p, law.points[drawn], law.points[drawn])
    second -= np.einsum("ni,nj->nij", mean, mean)
    return np.asarray(((second - C) ** 2).sum(axis=(1, 2)) * (z**2).sum(axis=1))


@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda family: family.title)
def test_the_bound_falls_faster_than_the_display_for_theta_at_least_its_exponent(family: Any) -> None:
    """What makes one length enough: the ratio at growing lengths, far beyond what is checked."""
    stated = read(next(family.cases()).text)
    claimed = Display.of(stated.asserts[REPAIRED], stated.setting.sigma, stated.error)
    step = stated.witness[STEPS][-1]
    tokens = every_law.tokens_of(stated.setting, stated.error, stated.witness.get(NORM))
    weighted = every_law.weighted_by(stated.setting.queries(), step)
    assert weighted is not None
    lengths = [2, 3, 5, 9, 40, 41, 200, 10**4, 10**6, 10**9, 10**15]
    ratios = [float(every_law.bound(stated, tokens, weighted, step, arb(n)) / claimed.at(n)) for n in lengths]
    assert all(b < a for a, b in pairwise(ratios))


def test_the_sentence_names_no_law_but_the_class() -> None:
    family = next(family for family in cases.FAMILIES if family.title == "every law of a class, by norms")
    said = words.WORDING.statement(read(next(family.cases()).text)).words
    for piece in (
        "for every centred sigma-sub-Gaussian law of tokens in dimension 2",
        "E exp(<u, x>) <= exp(sigma^2 |u|^2 / 2) for all u",
        "every centred 1-sub-Gaussian law of queries in dimension 3",
        "for every number L >= 2 of tokens",
        "any U of operator norm at most 0.5 and any V of operator norm at most 1.5 and sigma = 1",
    ):
        assert piece in said, said
    assert "aussian tokens" not in said
    latex = words.WORDING.statement(read(next(family.cases()).text)).latex
    for piece in (r"\forall L \ge 2", r"\forall \mu", r"\forall \nu", "0.4", r"\sigma = 1"):
        assert piece in latex, latex


def test_the_sentence_names_the_ball() -> None:
    (family, *_) = cases.FAMILIES
    said = words.WORDING.statement(read(next(family.cases()).text))
    assert "for every centred sigma-sub-Gaussian law of tokens on a ball of radius 1.5 in dimension 2" in said.words
    assert r"\exists m: \mu(|x - m| \le 1.5) = 1" in said.latex
