"""Joint moments of two outputs under tilts, against sums over quadrature nodes and atoms."""

from __future__ import annotations

import itertools
from math import factorial
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Law,
    Mixture,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
)
from certattn.kernel.theorems.prompts.mathematics import series
from certattn.kernel.theorems.prompts.mathematics.series import weighted_moments
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import ProductMoments, product_summand

HALF = fmpq(1, 2)
GAUSSIAN = Gaussian([fmpq(1), -HALF], [[fmpq(1, 2), fmpq(1, 8)], [fmpq(1, 8), fmpq(1, 4)]])
SINGULAR = Gaussian([fmpq(0), fmpq(1)], [[fmpq(1, 4), fmpq(1, 4)], [fmpq(1, 4), fmpq(1, 4)]])
SIGNS, BOX = Rademacher([fmpq(1), HALF]), Box([fmpq(1), fmpq(0)])
ATOMS = Atoms([[fmpq(0), fmpq(1)], [fmpq(1), -HALF], [fmpq(2), fmpq(0)]], [HALF, fmpq(1, 4), fmpq(1, 4)])
MIXTURE = Mixture([GAUSSIAN, SIGNS, ATOMS], [HALF, fmpq(1, 4), fmpq(1, 4)])
FAR = Shifted(SIGNS, [HALF, fmpq(-2)])
LAWS = {
    "gaussian": GAUSSIAN, "singular": SINGULAR, "signs": SIGNS, "box": BOX, "atoms": ATOMS, "mixture": MIXTURE,
    "circle": Radial(fmpq(9, 4), 2, solid=False), "disk": Radial(fmpq(9, 4), 2, solid=True),
    "truncated": Shifted(TruncatedGaussian([fmpq(1), HALF], [fmpq(9), fmpq(1)], [fmpq(2), fmpq(-3)]), [HALF, fmpq(1)]),
    "signs about a point": FAR, "boxes about points": Mixture([Shifted(BOX, [fmpq(3), HALF]), FAR], [HALF, HALF]),
}  # fmt: skip
TILT, U, V = [fmpq(1, 2), fmpq(-1)], [fmpq(1), fmpq(1, 3)], [fmpq(-1, 2), fmpq(1)]


def doubles(table: Any) -> Any:
    return np.array([[float(x.p) / float(x.q) for x in row] for row in table])


def nodes(law: Law) -> tuple[Any, Any]:
    """Probabilities and tokens."""
    if isinstance(law, Mixture):
        parts = [nodes(part) for part in law.components]
        shares = [float(w.p) / float(w.q) for w in law.weights]
        return (
            np.concatenate([w * p for w, (p, _) in zip(shares, parts, strict=True)]),
            np.concatenate([x for _, x in parts]),
        )
    if isinstance(law, Atoms):
        return doubles([law.weights])[0], doubles(law.points)
    if isinstance(law, Gaussian):
        g, w = np.polynomial.hermite_e.hermegauss(80)
        values, frame = np.linalg.eigh(doubles(law.covariance))
        grid = np.array(list(itertools.product(g, g))) * np.sqrt(np.maximum(values, 0))
        return np.outer(w, w).ravel() / (2 * np.pi), grid @ frame.T + doubles([law.mean])[0]
    if isinstance(law, Radial):
        angles, radius = 2 * np.pi * np.arange(80) / 80, float(doubles([[law.squared_radius]])[0, 0]) ** 0.5
        around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        s, w = np.polynomial.legendre.leggauss(60) if law.solid else (np.array([1.0]), np.array([1.0]))
        # Radii of a disk have the density 2r on [0, 1].
        radii, shares = ((s + 1) / 2, w * (s + 1) / 2) if law.solid else (s, w)
        return np.outer(shares, np.full(80, 1 / 80)).ravel(), radius * (radii[:, None, None] * around).reshape(-1, 2)
    if isinstance(law, Shifted):
        p, x = nodes(law.law)
        return p, x + doubles([law.centre])[0]
    if isinstance(law, TruncatedGaussian):
        g, w = np.polynomial.legendre.leggauss(60)
        shapes = zip(doubles([law.curvatures])[0], doubles([law.slopes])[0], strict=True)
        masses = [w * np.exp(b * g - k * g * g / 2) for k, b in shapes]
        grid = np.array(list(itertools.product(g, g))) * doubles([law.sizes])[0]
        return np.outer(*(m / m.sum() for m in masses)).ravel(), grid
    sizes = doubles([law.sizes])[0]
    g, w = (np.array([-1.0, 1.0]), np.ones(2)) if isinstance(law, Rademacher) else np.polynomial.legendre.leggauss(60)
    return np.outer(w, w).ravel() / 4, np.array(list(itertools.product(g, g))) * sizes


def weighted(law: Law) -> tuple[Any, Any, Any, Any]:
    """Probabilities, weights w, and the two outputs <u, y> and <v, y>."""
    p, x = nodes(law)
    w = np.exp(x @ doubles([TILT])[0])
    w /= p @ w
    y = x - (p * w) @ x
    return p, w, y @ doubles([U])[0], y @ doubles([V])[0]


@pytest.mark.parametrize("name", LAWS)
def test_joint_moments(name: str) -> None:
    law = LAWS[name]
    p, w, first, second = weighted(law)
    with working_precision(128):
        lifted, tilt = law.map(arb), [arb(a) for a in TILT]
        centre = lifted.tilted_mean(tilt)
        u, v = [arb(x) for x in U], [arb(x) for x in V]
        for k in (0, 1, 2, 4):
            table = weighted_moments(lifted, tilt, centre, k, u, v, 3)
            for i, j in itertools.product(range(4), repeat=2):
                found = float(table[i][j]) * factorial(i) * factorial(j)
                assert found == pytest.approx(p @ (w**k * first**i * second**j), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("sign", [1, -1])
def test_summands(name: str, sign: int) -> None:
    law, eps = LAWS[name], fmpq(1, 5)
    p, w, first, second = weighted(law)
    h = sign * first * second
    D = w * (h - p @ (w * h) - 0.2) + 0.2
    with working_precision(128):
        lifted = law.map(arb)
        moments = ProductMoments(lifted, [arb(a) for a in TILT], [arb(x) for x in U], [arb(x) for x in V])
        summand = product_summand(moments, sign, arb(eps))
        assert float(summand.variance()) == pytest.approx(p @ D**2, rel=1e-9)
        for j, entry in enumerate(summand.centred_series(4)):
            assert float(entry) * factorial(j) == pytest.approx(p @ D**j, rel=1e-8, abs=1e-9)
        if isinstance(law, Rademacher | Box):
            assert isinstance(lifted, Rademacher | Box)
            assert all(float(summand.largest(lifted, arb(s))) >= D.max() for s in (fmpq(1, 10), fmpq(1), fmpq(10)))
        if isinstance(law, Atoms):
            points = [[arb(x) for x in point] for point in law.points]
            assert [float(summand.at(point)) for point in points] == pytest.approx(list(D))


def test_no_more_moments_of_a_coordinate_are_computed_than_are_used() -> None:
    """Up to 2 K for products of two powers up to K."""
    asked: list[int] = []

    def coefficient(a: arb, c: arb, n: int) -> arb:
        asked.append(n)
        return arb(1)

    one = [arb(1)]
    series._independent(series._lines(one, coefficient, one, 6), one, one, (3, 3))
    assert asked == list(range(7))
