"""What is known of tokens under tilts, beside tilted laws and the errors of prompts of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher, Radial, Shifted
from certattn.kernel.theorems.training.tilted_tokens import Error, Polynomial, Tokens, of_class, of_law

Array = np.ndarray[Any, Any]


def row(*numbers: str | int) -> list[fmpq]:
    return [fmpq(*map(int, str(number).split("/"))) for number in numbers]


# Laws, and points with weights that are drawn like them, nearly.
LINE = (np.arange(400) + 0.5) / 200 - 1
CIRCLE = np.stack([np.cos(np.pi * LINE), np.sin(np.pi * LINE)], axis=1)
NODES, NORMAL = np.polynomial.hermite_e.hermegauss(60)
PLANE = np.array(list(itertools.product(LINE[5::10], LINE[5::10])))
DISC = np.concatenate([CIRCLE[::8] * np.sqrt((n + 0.5) / 40) for n in range(40)])
GRID = np.array(list(itertools.product(NODES, NODES)))
SHEAR = np.array([[1, 0], [0.5, 0.25]])


def equal(points: Any) -> tuple[Array, Array]:
    points = np.array(points, dtype=float)
    return points, np.full(len(points), 1 / len(points))


def normal(points: Array) -> tuple[Array, Array]:
    return points, np.outer(NORMAL, NORMAL).ravel() / NORMAL.sum() ** 2


THREE = [[3, -1], [-1, 2], [-2, -1]]
LAWS: dict[str, tuple[Law[fmpq], tuple[Array, Array]]] = {
    "signs": (Rademacher(row(1, "1/2")), equal([[i, j / 2] for i in (-1, 1) for j in (-1, 1)])),
    "one sign": (Rademacher(row(1)), equal([[-1], [1]])),
    "interval": (Box(row(1)), equal(LINE[:, None])),
    "box": (Box(row(2, 1)), equal(PLANE * [2, 1])),
    "circle": (Radial(fmpq(1), 2, solid=False), equal(CIRCLE)),
    "disc": (Radial(fmpq(1), 2, solid=True), equal(DISC)),
    "atoms": (Atoms([row(*point) for point in THREE], row("1/3", "1/3", "1/3")), equal(THREE)),
    "rare atom": (Atoms([row(-1), row(9)], row("9/10", "1/10")), (np.array([[-1.0], [9.0]]), np.array([0.9, 0.1]))),
    "Gaussian": (Gaussian(row(0, 0), [row(1, "1/2"), row("1/2", "5/16")]), normal(GRID @ SHEAR.T)),
    "moved intervals": (
        Mixture([Shifted(Box(row(1)), row(3)), Shifted(Box(row(1)), row(-3))], row("1/2", "1/2")),
        equal(np.concatenate([LINE + 3, LINE - 3])[:, None]),
    ),
    "two Gaussians": (
        Mixture([Gaussian(row(m), [row(1)]) for m in (-1, 2)], row("2/3", "1/3")),
        (
            np.concatenate([NODES - 1, NODES + 2])[:, None],
            np.concatenate([2 * NORMAL, NORMAL]) / (3 * NORMAL.sum()),
        ),
    ),
}  # fmt: skip
# How far beyond a bound a law on a grid may be.
SLACK = 1 + 1e-3


def tilted(x: Array, p: Array, tilt: Array) -> tuple[Array, Array, Array]:
    """Weights under a tilt, the mean and the covariance."""
    scores = x @ tilt
    weights = p * np.exp(scores - scores.max())
    weights /= weights.sum()
    mean = weights @ x
    return weights, mean, np.einsum("i,ij,ik->jk", weights, x - mean, x - mean)


def tilts(dimension: int) -> Array:
    """Of many sizes, up to some that leave little of a law."""
    directions = np.array([[1.0], [-1.0]]) if dimension == 1 else CIRCLE[::25]
    return np.concatenate([size * directions for size in (0, 0.1, 0.3, 0.7, 1, 1.35, 2, 4)])


@pytest.mark.parametrize("name", LAWS)
def test_no_tilt_exceeds_the_four_numbers_of_a_law(name: str) -> None:
    law, (x, p) = LAWS[name]
    with working_precision(64):
        known = of_law(law)
        variance, trace, skew, scatter = (
            float(number.upper()) for number in (known.variance, known.trace, known.skew, known.scatter)
        )
    turns = np.eye(1) if x.shape[1] == 1 else CIRCLE[::10]
    for tilt in tilts(x.shape[1]):
        weights, mean, covariance = tilted(x, p, tilt)
        y = x - mean
        assert np.linalg.eigvalsh(covariance)[-1] <= variance * SLACK
        assert np.trace(covariance) <= trace * SLACK
        assert np.abs(weights @ (y @ turns.T) ** 3).max() <= skew * SLACK + 1e-9
        assert weights @ (y**2).sum(axis=1) ** 2 - (covariance**2).sum() <= scatter * SLACK


def test_some_numbers_are_sharp() -> None:
    """No smaller ones are true: the largest over tilts is reached, nearly."""
    with working_precision(64):
        normal, box, sign = (of_law(LAWS[name][0]) for name in ("Gaussian", "interval", "one sign"))
    _, (x, p) = LAWS["Gaussian"]
    _, _, covariance = tilted(x, p, np.zeros(2))
    assert float(normal.variance) == pytest.approx(np.linalg.eigvalsh(covariance)[-1], rel=0.01)
    assert float(normal.trace) == pytest.approx(np.trace(covariance))
    for known, name, size in ((box, "interval", 1.35), (sign, "one sign", 0.66)):
        _, (x, p) = LAWS[name]
        weights, mean, covariance = tilted(x, p, np.array([size]))
        assert abs(weights @ (x - mean) ** 3)[0] == pytest.approx(float(known.skew), rel=0.04)
    assert float(of_law(Gaussian(row(0), [row(4)])).variance) == pytest.approx(4, rel=1e-12)


def test_mixtures_with_gaussian_parts_of_which_nothing_is_known() -> None:
    one, other = Gaussian(row(0), [row(1)]), Gaussian(row(0), [row(2)])
    for parts in ([one, other], [one, Box(row(1))]):
        with pytest.raises(NoBound, match="of one covariance"):
            of_law(Mixture(parts, row("1/2", "1/2")))


# -- errors of prompts


def value(polynomial: Polynomial, s: float) -> float:
    return sum(float(c.upper()) * s**n for n, c in enumerate(polynomial))


def largest(tokens: Tokens, error: Error, s: float, length: int) -> float:
    """The bound of the mean square."""
    return value(error.after(length), s) * np.exp(2 * s * s) / length


def prompts_of(x: Array, p: Array, length: int) -> tuple[Array, Array]:
    """Every prompt, as how often each atom is in it, and its probability."""
    kinds = itertools.combinations_with_replacement(range(len(p)), length)
    counts = np.array([np.bincount(kind, minlength=len(p)) for kind in kinds], dtype=float)
    factorial = np.cumsum(np.log(np.maximum(np.arange(length + 1), 1)))
    logs = factorial[length] - factorial[counts.astype(int)].sum(axis=1) + counts @ np.log(p)
    return counts, np.exp(logs)


SMALL = ["signs", "one sign", "atoms", "rare atom"]


@pytest.mark.parametrize("length", [2, 3, 7, 20])
@pytest.mark.parametrize("name", SMALL)
def test_errors_and_biases_of_prompts_are_below_the_bounds(name: str, length: int) -> None:
    """Over every prompt, by what is known of the law and by what is known of its class."""
    law, (x, p) = LAWS[name]
    counts, chances = prompts_of(x, p, length)
    assert chances.sum() == pytest.approx(1)
    d = x.shape[1]
    with working_precision(64):
        known = [of_law(law).tokens(), of_class(fmpq(int(np.ceil(100 * np.linalg.norm(x, axis=1).max())), 100), d)]
    for tilt in tilts(d)[len(tilts(d)) // 8 :] / np.abs(x).max():
        _, mean, covariance = tilted(x, p, tilt)
        weights = counts * np.exp(x @ tilt)
        weights /= weights.sum(axis=1, keepdims=True)
        error = weights @ x - mean
        y = x - mean
        scatter = np.einsum("li,ij,ik->ljk", weights, y, y) - covariance
        spread = scatter - np.einsum("lj,lk->ljk", error, error)
        squares = (error**2).sum(axis=1)
        scattered, longest = (scatter**2).sum(axis=(1, 2)), np.linalg.eigvalsh(covariance)[-1]
        assert ((spread**2).sum(axis=(1, 2)) <= scattered + 2 * longest * squares + 1e-9).all()
        for tokens in known:
            s = float(tokens.sigma) * np.linalg.norm(tilt)
            share = min(1, np.expm1(tokens.weights * s * s) / length)
            for true, bias, error_of in (
                (chances @ squares, (chances @ error) ** 2, tokens.mean),
                (chances @ scattered, np.einsum("l,ljk->jk", chances, scatter) ** 2, tokens.scatter),
            ):
                bound = largest(tokens, error_of, s, length)
                assert true <= bound * (1 + 1e-9)
                assert bias.sum() <= bound * share * (1 + 1e-9)
                assert true <= value(error_of.largest(arb(length).log(), fmpq(1, 2)), s)


def test_the_bound_is_about_the_true_one_for_short_scores() -> None:
    """Of Gaussian tokens in the plane, at the tilt 0, where errors are those of plain means."""
    with working_precision(64):
        tokens = of_law(Gaussian(row(0, 0), [row(1, 0), row(0, 1)])).tokens()
    assert largest(tokens, tokens.mean, 0, 10) == pytest.approx(2 / 10)
    assert largest(tokens, tokens.scatter, 0, 10) == pytest.approx(6 / 10)
