"""Losses of training in context: against numpy, against differences, and over balls against many points in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq, fmpz_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.law_moments import fourth, third_cumulant, tilted_covariance
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher, Shifted, TruncatedGaussian
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.prompts.mathematics.series import weighted_moments
from certattn.kernel.theorems.training.context_losses import (
    ContextLoss,
    FinitePrompt,
    Near,
    Trained,
    balls_of,
    tasks_of,
)
from certattn.kernel.theorems.training.descent_trajectory import (
    LawContext,
    PopulationLoss,
    TaskContext,
    pairs,
    tube_around,
)
from certattn.kernel.theorems.training.regression import regression_of_balls

Array = np.ndarray[Any, Any]
LENGTHS = (7, 4, 9)
SIZES = {"keys": 3, "values": 2, "queries": 2, "outputs": 2}


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with working_precision(160):
        yield


def exact(table: Array) -> ExactMatrix:
    """Numbers on the grid of 2^-12."""
    numerators = np.round(table * 2.0**12).astype(int)
    return ExactMatrix(fmpz_mat(*table.shape, [int(x) for x in numerators.ravel()]), 2**12)


def grid(random: np.random.Generator, *shape: int) -> Array:
    return np.round(random.standard_normal(shape) * 2.0**12) / 2.0**12


class Instance:
    """Prompts with keys and values of their own, as numpy and the kernel have them."""

    def __init__(self, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.keys = [grid(random, length, SIZES["keys"]) for length in LENGTHS]
        self.values = [grid(random, length, SIZES["values"]) for length in LENGTHS]
        self.queries, self.targets = grid(random, 3, SIZES["queries"]), grid(random, 3, SIZES["outputs"])
        self.U, self.V = grid(random, SIZES["keys"], SIZES["queries"]) / 2, grid(random, 2, 2)
        self.U, self.V = np.round(self.U * 2**12) / 2**12, self.V

    @property
    def loss(self) -> ContextLoss:
        pairs = zip(self.keys, self.values, strict=True)
        contexts = [FinitePrompt(Prompt(exact(k), exact(v), fmpq(1))) for k, v in pairs]
        return ContextLoss(contexts, tasks_of(exact(self.queries), exact(self.targets)))

    @property
    def point(self) -> Trained:
        return Trained.around(exact(self.U), exact(self.V))

    def risk(self, flat: Array) -> float:
        U, V = flat[: self.U.size].reshape(self.U.shape), flat[self.U.size :].reshape(self.V.shape)
        total = 0.0
        for k, v, q, t in zip(self.keys, self.values, self.queries, self.targets, strict=True):
            scores = k @ U @ q
            weights = np.exp(scores - scores.max())
            residual = V @ (weights @ v / weights.sum()) - t
            total += float(residual @ residual)
        return total / (2 * len(self.keys))

    @property
    def flat(self) -> Array:
        return np.concatenate([self.U.ravel(), self.V.ravel()])

    def gradient(self, flat: Array) -> Array:
        return differences(self.risk, flat)


def differences(function: Callable[[Array], float], at: Array, h: float = 1e-5) -> Array:
    return np.array([(function(at + h * e) - function(at - h * e)) / (2 * h) for e in np.eye(len(at))])


def floats(entries: list[arb]) -> Array:
    return np.array([float(entry) for entry in entries])


def test_risk_and_gradient_are_those_of_numpy() -> None:
    instance = Instance()
    found = instance.loss.at(instance.point)
    assert float(found.risk) == pytest.approx(instance.risk(instance.flat), rel=1e-13)
    assert floats(found.gradient.entries()) == pytest.approx(instance.gradient(instance.flat), abs=1e-8)
    assert max(entry.rad() for entry in found.gradient.entries()) < 1e-40


def test_iterates_are_those_of_numpy() -> None:
    """Twenty steps of regression in doubles, with the gradient in closed form."""
    random = np.random.default_rng(3)
    tokens, labels, queries, targets = (grid(random, *shape) for shape in ((12, 2), (12, 1), (2, 2), (2, 1)))
    prompts = [Prompt(exact(tokens[n : n + 6]), exact(labels[n : n + 6]), fmpq(1)) for n in (0, 6)]
    loss = ContextLoss([FinitePrompt(prompt) for prompt in prompts], tasks_of(exact(queries), exact(targets)))
    A, b = np.eye(2) / 2, 0.5
    start = Trained.around(exact(A), exact(np.array([[b]])))
    found = (pair.finite for pair in pairs(loss, loss, start, arb(1) / 8, 20))
    for _, iterate in zip(range(21), found, strict=False):
        assert floats(iterate.point.entries()) == pytest.approx([*A.ravel(), b], abs=1e-12)
        slope, pull = np.zeros((2, 2)), 0.0
        for n, q, t in zip((0, 6), queries, targets, strict=True):
            x, y = tokens[n : n + 6], labels[n : n + 6, 0]
            p = np.exp(x @ A @ q)
            p /= p.sum()
            residual = b * (p @ y) - t[0]
            slope += residual * b * np.outer(x.T @ (p * (y - p @ y)), q) / 2
            pull += residual * (p @ y) / 2
        A, b = A - slope / 8, b - pull / 8


@pytest.mark.parametrize("radius", [0.0, 1e-3, 0.05])
def test_curvatures_bound_the_second_derivatives_nearby(radius: float) -> None:
    """At random points of the ball the eigenvalues of a numeric Hessian keep to the bounds; at r = 0 not by far."""
    instance, random = Instance(1), np.random.default_rng(5)
    bounds = instance.loss.curvatures(instance.point, arb(radius))
    upward, downward = float(bounds.upward.upper()), float(bounds.downward.upper())
    assert np.isfinite([upward, downward]).all()
    for _ in range(4):
        off = random.standard_normal(len(instance.flat))
        at = instance.flat + radius * off / np.linalg.norm(off)
        hessian = np.array(
            [(instance.gradient(at + 1e-4 * e) - instance.gradient(at - 1e-4 * e)) / 2e-4 for e in np.eye(len(at))]
        )
        eigenvalues = np.linalg.eigvalsh((hessian + hessian.T) / 2)
        assert -downward - 1e-5 <= eigenvalues[0]
        assert eigenvalues[-1] <= upward + 1e-5
        if radius == 0:
            assert upward < 6 * eigenvalues[-1]


def test_curvatures_of_the_population() -> None:
    """The second derivative along many directions, at many points of the ball."""
    random = np.random.default_rng(7)
    covariance = ExactMatrix.rational([[fmpq(1), fmpq(1, 2)], [fmpq(1, 2), fmpq(5, 4)]])
    loss = PopulationLoss(regression_of_balls(covariance), arb(2))
    S, A, b, r = np.array([[1, 0.5], [0.5, 1.25]]), grid(random, 2, 2), 0.5, 0.25
    bounds = loss.curvatures(Trained.around(exact(A), exact(np.array([[b]]))), arb(r))

    def risk(flat: Array) -> float:
        E = flat[4] * S @ flat[:4].reshape(2, 2) - np.eye(2)
        return float(np.trace(E @ S @ E.T)) / 2

    for _ in range(20):
        off = random.standard_normal(5)
        at = np.array([*A.ravel(), b]) + r * random.uniform() * off / np.linalg.norm(off)
        hessian = np.array(
            [(differences(risk, at + 1e-4 * e) - differences(risk, at - 1e-4 * e)) / 2e-4 for e in np.eye(5)]
        )
        eigenvalues = np.linalg.eigvalsh((hessian + hessian.T) / 2)
        assert -float(bounds.downward.upper()) <= eigenvalues[0]
        assert eigenvalues[-1] <= float(bounds.upward.upper())


GAUSSIAN = Gaussian([arb(1) / 4, arb(-1)], [[arb(2), arb(1) / 2], [arb(1) / 2, arb(1)]])
BOX, SIGNS = Box([arb(1), arb(3)]), Rademacher([arb(1), arb(2)])
ATOMS = Atoms([[arb(0), arb(1)], [arb(1), arb(-1)], [arb(2), arb(1) / 2]], [arb(1) / 4, arb(1) / 2, arb(1) / 4])
TRUNCATED = Shifted(TruncatedGaussian([arb(1), arb(2)], [arb(1) / 2, arb(9)], [arb(-1), arb(4)]), [arb(1) / 2, arb(-3)])
LAWS: dict[str, Law] = {
    "Gaussian": GAUSSIAN,
    "signs": SIGNS,
    "box": BOX,
    "atoms": ATOMS,
    "truncated": TRUNCATED,
    "mixture": Mixture([GAUSSIAN, BOX, ATOMS, SIGNS], [arb(1) / 4] * 4),
}


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.25, -0.75), (-3.0, 1.5)])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_cumulants_are_derivatives_of_the_tilted_mean(law: Law, tilt: tuple[float, float]) -> None:
    """By differences at 2^-50: their error is about the square of it."""
    a, c, h = [arb(x) for x in tilt], [arb(1) / 2, arb(-2)], arb(2) ** -50
    C, K = tilted_covariance(law, a), third_cumulant(law, a, c)
    for j in range(2):
        ends = [law.tilted_mean([x + s * h * (i == j) for i, x in enumerate(a)]) for s in (1, -1)]
        for i in range(2):
            assert abs((ends[0][i] - ends[1][i]) / (2 * h) - C[i][j]) < 1e-26
    ends = [tilted_covariance(law, [x + s * h * y for x, y in zip(a, c, strict=True)]) for s in (1, -1)]
    for i in range(2):
        for j in range(2):
            assert abs((ends[0][i][j] - ends[1][i][j]) / (2 * h) - K[i][j]) < 1e-26


@pytest.mark.parametrize("name", ["finite", "law", "task"])
def test_moments_near_a_tilt_hold_those_of_every_tilt_there(name: str) -> None:
    random = np.random.default_rng(11)
    contexts = {
        "finite": FinitePrompt(Prompt(exact(grid(random, 6, 2)), exact(grid(random, 6, 2)), fmpq(1))),
        "law": LawContext(LAWS["mixture"]),
        "task": TaskContext(arb_mat([[arb(1), arb(-2)]])),
    }
    context, tilt, distance = contexts[name], grid(random, 2, 1), 0.25
    wide = Near(balls_of(exact(tilt)), arb(distance))
    along = arb_mat(1 if name == "task" else 2, 1, [arb(1)] if name == "task" else [arb(1), arb(-2)])
    around, bend = context.moments(wide), context.bend(wide, along)
    for _ in range(20):
        off = random.standard_normal((2, 1))
        at = tilt + distance * 0.999 * off / np.linalg.norm(off)
        near = Near(arb_mat([[arb(float(x))] for x in at[:, 0]]))
        inside = context.moments(near)
        found = [*inside.mean.entries(), *inside.slope.entries(), *context.bend(near, along).entries()]
        known = [*around.mean.entries(), *around.slope.entries(), *bend.entries()]
        assert all(ball.overlaps(one) for ball, one in zip(known, found, strict=True))


def test_the_tube_bounds_the_gap_of_the_gradients() -> None:
    first, second, random = Instance(1), Instance(2), np.random.default_rng(13)
    second.queries, second.targets = first.queries, first.targets
    pair = next(pairs(first.loss, second.loss, first.point, arb(1) / 16, 0))
    tube = tube_around(pair, fmpq(1, 50), arb(1) / 16)
    gap, rate = float(tube.gap.upper()), float(tube.rate.upper())
    for _ in range(20):
        off = random.standard_normal(len(first.flat))
        at = first.flat + off / np.linalg.norm(off) / 50
        assert np.linalg.norm(first.gradient(at) - second.gradient(at)) <= gap
        other = first.flat + 0.5 * (at - first.flat)
        moved = (at - other) - (second.gradient(at) - second.gradient(other)) / 16
        assert np.linalg.norm(moved) <= (1 + rate / 16) * np.linalg.norm(at - other) + 1e-9


@pytest.mark.parametrize("centre", [(0.0, 0.0), (1.5, -2.25)])
def test_fourth_moments_of_truncated_gaussians_are_sums_of_their_series(centre: tuple[float, float]) -> None:
    """E ((x - c)'G(x - c))^2 for G = u u' + v v', by joint moments of the two outputs."""
    u, v, zero = [arb(1), arb(1) / 2], [arb(-1) / 3, arb(2)], [arb(0), arb(0)]
    at = [arb(c) for c in centre]
    G = [[u[i] * u[j] + v[i] * v[j] for j in range(2)] for i in range(2)]
    table = weighted_moments(TRUNCATED, zero, at, 0, u, v, 4)
    wanted = 24 * table[4][0] + 2 * 4 * table[2][2] + 24 * table[0][4]
    assert abs(fourth(TRUNCATED, at, G) - wanted) < 1e-28


def test_fourth_moments_of_signs_are_those_of_their_points() -> None:
    """E ((x - c)'G(x - c))^2: by the formula for independent coordinates, and point by point."""
    sizes, centre = [fmpq(1), fmpq(3, 2)], [fmpq(2), fmpq(-1, 3)]
    points = [[a * sizes[0], b * sizes[1]] for a in (1, -1) for b in (1, -1)]
    G = [[fmpq(2), fmpq(1, 2)], [fmpq(1, 2), fmpq(3)]]
    laws = [Rademacher(sizes).map(arb), Atoms(points, [fmpq(1, 4)] * 4).map(arb)]
    found = [fourth(law, [arb(c) for c in centre], [[arb(g) for g in row] for row in G]) for law in laws]
    assert all((abs(value - arb(fmpq(47597, 144))) < arb(2) ** -40) is True for value in found)
