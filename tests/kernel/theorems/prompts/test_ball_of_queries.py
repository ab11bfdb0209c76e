"""Every query of a ball: each step of the proof against integrals and simulations of its own, and the whole bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from scipy import integrate, special, stats

import certattn
from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher, Radial, Shifted
from certattn.kernel.mathematics.laws import truncated_gaussian as truncated
from certattn.kernel.mathematics.spreads import Spread, spread_of
from certattn.kernel.theorems.prompts.ball_of_queries import CENTRE, BallOfQueries
from certattn.kernel.theorems.prompts.output_tail import read_given
from certattn.kernel.theorems.prompts.small_balls import Setting, Shell, chi_mean, chi_tail, remainders
from certattn.kernel.theorems.prompts.tilted_covariances import at_centre
from certattn.provers.prompts.prompt_simulation import _tokens, farthest_over_ball
from certattn.provers.rounding import doubles

Array = np.ndarray[Any, Any]


def row(*entries: int | str) -> list[fmpq]:
    return [fmpq(*map(int, str(entry).split("/"))) for entry in entries]


PART = Shifted(Box(row(1, "1/2")), row("1/3", 0))
TOKENS: dict[str, Law[fmpq]] = {
    "gaussian": Gaussian(row(1, 0), [row(1, "1/2"), row("1/2", 1)]),
    "signs": Rademacher(row(1, "1/2")),
    "box": Box(row(1, 2)),
    "box elsewhere": Shifted(Box(row(1, 2)), row(3, -1)),
    "circle": Radial(fmpq(2), 2, False),
    "ball": Radial(fmpq(2), 3, True),
    "truncated": truncated(row(0, 1), row(1, 4), row(-1, -2), row(2, 1)),
    "narrow": truncated(row(0, 0), row("1/4", 100), row(-2, -1), row(2, 1)),
    "atoms": Atoms([row(1, 0), row(0, 1), row(-1, -2)], row("1/2", "1/4", "1/4")),
    "mixture": Mixture([PART, Radial(fmpq(1), 2, False), Rademacher(row(1, 1))], row("1/2", "1/4", "1/4")),
}


@dataclass(frozen=True)
class Whitened:
    """Tokens y of a law, x = E x + A y."""

    law: Law[fmpq]
    spread: Spread
    root: Array
    mean: Array

    @classmethod
    def of(cls, name: str) -> Whitened:
        law = TOKENS[name]
        spread = spread_of(law)
        assert spread is not None
        made = cls(law, spread, np.linalg.cholesky(doubles(spread.covariance)), np.zeros(law.dimension))
        return replace(made, mean=made.tilted_token(np.zeros(law.dimension)))

    def tilted_token(self, alpha: Array) -> Array:
        tilt = np.linalg.solve(self.root.T, alpha)
        with working_precision(80):
            return np.array([float(m) for m in self.law.map(arb).tilted_mean([arb(a) for a in tilt])])

    def tilted_mean(self, alpha: Array) -> Array:
        return np.asarray(np.linalg.solve(self.root, self.tilted_token(alpha) - self.mean))

    def log_mgf(self, alpha: Array) -> float:
        tilt = np.linalg.solve(self.root.T, alpha)
        with working_precision(80):
            return float(self.law.map(arb).log_mgf([arb(a) for a in tilt])) - float(tilt @ self.mean)

    def drawn(self, count: int, draw: np.random.Generator) -> Array:
        return np.asarray(np.linalg.solve(self.root, (_tokens(self.law, count, draw) - self.mean).T).T)


@pytest.mark.parametrize("name", TOKENS)
def test_tilted_tokens_vary_no_more_than_is_said(name: str) -> None:
    """Covariances by differences of the tilted mean, sizes of tokens, and log E e^<alpha,y> between its bounds."""
    tokens, draw, step, d = Whitened.of(name), np.random.default_rng(3), 1e-5, TOKENS[name].dimension
    largest = 0.0
    for size in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        for _ in range(12):
            alpha = draw.standard_normal(d)
            alpha *= size / np.linalg.norm(alpha)
            rows = [tokens.tilted_mean(alpha + step * e) - tokens.tilted_mean(alpha - step * e) for e in np.eye(d)]
            top = float(np.linalg.eigvalsh((np.array(rows) + np.array(rows).T) / (4 * step)).max())
            assert top <= 1 + 1e-5
            largest = max(largest, top)
            with working_precision(64):
                least = float(tokens.spread.least_log_mgf(arb(size)))
            assert least - 1e-9 <= tokens.log_mgf(alpha) <= size**2 / 2 + 1e-9
    # Nor is it more than what such tokens have, but where only a ball that holds them is known.
    assert largest >= (0.1 if name in ("atoms", "mixture") else 0.6)
    if tokens.spread.squared_reach is not None:
        with working_precision(64):
            reach = math.sqrt(float(tokens.spread.squared_reach()))
        assert np.linalg.norm(tokens.drawn(20_000, draw), axis=1).max() <= reach * (1 + 1e-9)


def test_a_mixture_with_a_gaussian_part_has_no_such_bound() -> None:
    assert spread_of(Mixture([Gaussian(row(0), [row(1)]), Box(row(1))], row("1/2", "1/2"))) is None


SHELLS = [(1, 1, 4.9, (0.9, 1.0, 0.023, 0.17, 0.15, 0.008)), (2, 1, 5.0, (0.0, 0.7, 0.3, 0.4, 0.2, 0.01)),
          (3, 2, 5.5, (0.5, 0.8, 0.2, 0.3, 0.1, 0.01)), (8, 8, 7.0, (0.9, 1.0, 0.03, 0.19, 0.1, 0.0016))]  # fmt: skip


def stated(shell: tuple[float, ...], least: arb) -> Shell:
    start, to, *rest = map(arb, shell)
    return Shell(start, to, least, *rest)


def weight(h: float, d: int, size: Array) -> Array:
    """G of |y|, from Bessel's series."""
    return np.asarray(special.hyp0f1(d / 2 + 1, h**2 * size**2 / 4))


def in_ball(draw: np.random.Generator, count: int, d: int, radius: float) -> Array:
    sample = draw.standard_normal((count, d))
    return np.asarray(
        sample / np.linalg.norm(sample, axis=1)[:, None] * radius * draw.random(count)[:, None] ** (1 / d)
    )


@pytest.mark.parametrize(("d", "h"), [(1, 0.7), (2, 0.3), (3, 1.1), (8, 0.5)])
@pytest.mark.parametrize("size", [0.4, 3.0, 6.5])
def test_averages_over_small_balls(d: int, h: float, size: float) -> None:
    """E e^<eta,y> is G, at least 1, and at most what a normal vector of that mean square has."""
    # A coordinate of what is uniform on a ball has the density (h^2 - t^2)^((d - 1)/2) in shape.
    above, whole = (
        integrate.quad(lambda t, s=s: math.exp(t * s) * (h**2 - t**2) ** ((d - 1) / 2), -h, h)[0] for s in (size, 0.0)
    )
    found = float(weight(h, d, np.array(size)))
    assert above / whole == pytest.approx(found, rel=1e-9)
    assert 1 <= found <= math.exp(h**2 * size**2 / (2 * (d + 2)))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("x", [0.3, 2.0, 6.0])
def test_sizes_of_normal_vectors(d: int, x: float) -> None:
    with working_precision(64):
        assert float(chi_tail(d, arb(x))) == pytest.approx(stats.chi.sf(x, d), rel=1e-9)
        assert float(chi_mean(d) * chi_tail(d + 1, arb(x))) == pytest.approx(
            integrate.quad(lambda t: t * stats.chi.pdf(t, d), x, np.inf)[0], rel=1e-7
        )


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.1, 3.0, 20.0, 31.9])
def test_remainders_of_the_exponential(x: float) -> None:
    with working_precision(64):
        found = [float(rest) for rest in remainders(arb(x))]
    for p in (0, 1, 2, 3, 7, 16):
        truth = special.hyp1f1(1, p + 1, x) / math.factorial(p)
        assert truth * (1 - 1e-12) <= found[p] <= truth * (1.01 if x > 20 else 1 + 1e-6)


@pytest.mark.heavy
@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize(
    "shell", [(0.3, 0.6, 0.05, 0.2, 0.15, 0.1), (0.9, 1.0, 0.2, 0.4, 0.1, 0.02), (0, 0.4, 0.3, 0.9, 0.5, 0.3)]
)
def test_the_rate_bounds_the_mean_of_the_exponentials(name: str, shell: tuple[float, ...]) -> None:
    """E e^f - 1 over tokens, tilts, directions and heights, for slanting W, directions and tilts of the shell."""
    tokens, draw, eps, count, within = Whitened.of(name), np.random.default_rng(5), 0.3, 100_000, 5.0
    d, bounded = tokens.law.dimension, tokens.spread.squared_reach is not None
    with working_precision(64):
        if tokens.spread.squared_reach is not None:
            within = math.sqrt(float(tokens.spread.squared_reach()))
        start, to, h, k, height, slope = shell
        if within >= 4:
            slope /= 10
        numbers = Setting(d, d, 2, arb(eps), arb(1), arb(within), bounded)
        one = stated((start, to, h, k, height, slope), tokens.spread.least_log_mgf(arb(start)))
        rate, highest = float(numbers.rate(one)), float(numbers.highest(one))
    for size in (start, (start + to) / 2, to):
        W = draw.standard_normal((2, d))
        W /= np.linalg.norm(W, 2)
        alpha, u = draw.standard_normal(d), draw.standard_normal(2)
        alpha, u = alpha * size / np.linalg.norm(alpha), u / np.linalg.norm(u)
        tau, y = tokens.tilted_mean(alpha), tokens.drawn(count, draw)
        b, v = alpha + in_ball(draw, count, d, h), u + in_ball(draw, count, 2, k)
        c = eps + v @ W @ tau + draw.uniform(-height, height, count)
        length = np.linalg.norm(y, axis=1)
        inner = np.einsum("ij,ij->i", v @ W, y) - c
        f = (length <= within * (1 + 1e-9)) * slope * np.exp(np.einsum("ij,ij->i", b, y)) / weight(h, d, length) * inner
        assert f.max() <= highest
        with working_precision(64):
            log_mgf, drift = arb(tokens.log_mgf(alpha)), float(numbers.drift(one))
            seconds = [bound(one, log_mgf) for bound in numbers.second_moments()]
            moments = list(numbers.moments(one, log_mgf))[:4]
            second, spreads = (
                float(min(seconds)),
                [
                    float(found)
                    for bound in numbers.second_moments()
                    for found in numbers.spreads(one, log_mgf, arb(highest), bound)
                ],
            )
        error = 5 / math.sqrt(count)

        def below(sample: Array, bound: float, error: float = error) -> bool:
            return bool(sample.mean() <= bound + error * sample.std())

        assert below(f, -slope * math.exp(tokens.log_mgf(alpha)) * drift)
        assert below(f**2, second)
        for order, moment in enumerate(moments, 3):
            assert below(np.maximum(f, 0) ** order, float(moment))
        assert below(np.expm1(f) - f, min(spreads))
        assert below(np.expm1(f), -rate)


@pytest.mark.parametrize(("d", "outputs", "within", "shell"), SHELLS)
def test_volumes(d: int, outputs: int, within: float, shell: tuple[float, ...]) -> None:
    """Of a shell, or of the ball that is smaller, with the balls of averages around it."""
    start, to, h, k, height, _ = shell
    with working_precision(64):
        numbers = Setting(d + 3, d, outputs, arb(0.3), arb(2), arb(within), False)
        found = [float(numbers.volumes(stated(shell, arb(0)), arb(reach))) for reach in (0.01, 100.0)]
    directions = ((1 + k) ** outputs - (1 - k) ** outputs) / k**outputs
    others = directions * (height + 2 * (1 + k) * h) / height
    assert found[0] == pytest.approx(min(((0.01 + h) / h) ** d, found[1] / others) * others)
    assert found[1] == pytest.approx(((to + h) ** d - max(start - h, 0) ** d) / h**d * others)


@pytest.mark.parametrize(("d", "outputs", "within", "shell"), SHELLS)
def test_gaussian_bounds_fall_with_the_length(d: int, outputs: int, within: float, shell: tuple[float, ...]) -> None:
    """At longer prompts with the number r and the lambda that the proof takes there, the bound is smaller."""
    first, least, logs = 20_000, arb(shell[0]) ** 2 / 2, []
    with working_precision(64):
        for more in (1, 1.01, 1.5, 10, 1000, 10**6):
            r = math.sqrt(within**2 + 4 * math.log(more))
            numbers = Setting(d, d, outputs, arb(0.3), arb(1), arb(r), False)
            one = stated(shell, least)
            if more == 1:
                assert numbers.holds_onwards(one)
                top = numbers.highest(one)
            scaled = replace(one, slope=one.slope * top / numbers.highest(one))
            length = first * more
            logs.append((float((length * chi_tail(d, arb(r))).log()), float(-numbers.rate(scaled) * length)))
    for before, after in pairwise(logs):
        assert after[0] <= before[0]
        assert after[1] <= before[1]


def test_a_cut_near_the_tilts_is_no_proof() -> None:
    """Where f is largest is known only if tokens reach far enough beyond the tilts; nor does the bound fall else."""
    one = stated((0.5, 0.9, 0.01, 0.1, 0.01, 0.1), arb(0))
    near, far = (Setting(2, 2, 2, arb("0.1"), arb(1), arb(r), False) for r in (1.9, 3.0))
    with pytest.raises(NoBound, match="where tokens are near"):
        near.highest(one)
    assert far.highest(one) > 0
    assert far.holds_onwards(one)
    assert not near.holds_onwards(one)
    assert not replace(far, dimension=20).holds_onwards(one)


LAWS = {
    "an interval": {
        "law": {"kind": "gaussian", "mean": [2], "covariance": [[1]]}, "queries": {"centre": [0], "radius": 1},
    },
    "a slanting ball in the plane": {
        "law": {"kind": "gaussian", "mean": [1, -1], "covariance": [[1, "1/2"], ["1/2", 1]]},
        "queries": {"centre": ["1/2", -1], "radius": "1/2"}, "U": [[1, 0], [0, "1/2"]], "scale": "1/sqrt(2)",
        "V": [[1, 2]],
    },
    "space": {
        "law": {"kind": "gaussian", "mean": [0, 0, 0], "covariance": [[1, 0, 0], [0, 1, 0], [0, 0, "1/4"]]},
        "queries": {"centre": ["1/2", 0, 0], "radius": "1/2"},
    },
    "signs": {"law": {"kind": "rademacher", "sizes": [1, 1]}, "queries": {"centre": ["1/2", 0], "radius": "1/2"}},
    "a box elsewhere": {
        "law": {"kind": "box", "sizes": [1, 2], "centre": [3, 1]}, "queries": {"centre": [0, "1/4"], "radius": "1/2"},
    },
    "a sphere, few queries": {
        "law": {"kind": "sphere", "dimension": 4, "radius": 2}, "U": [[1], [0], [1], [0]],
        "queries": {"centre": [0], "radius": "1/2"},
    },
    "a truncated Gaussian": {
        "law": {"kind": "truncated-gaussian", "mean": [0, 0], "variances": [1, 4], "lower": [-1, -2], "upper": [2, 1]},
        "queries": {"centre": [0, 0], "radius": "1/2"},
    },
    "atoms": {
        "law": {"kind": "atoms", "points": [[1, 0], [0, 1], [-1, -1]]}, "queries": {"centre": [0, 0], "radius": "1/2"},
    },
    "a mixture": {
        "law": {"kind": "mixture", "components": [
            {"weight": "1/2", "law": {"kind": "box", "sizes": [1, 1]}},
            {"weight": "1/2", "law": {"kind": "ball", "dimension": 2, "radius": 1, "centre": ["1/2", 0]}},
        ]},
        "queries": {"centre": [0, 0], "radius": "1/2"},
    },
}  # fmt: skip


def prompt_of(given: dict[str, Any], path: Path) -> BallOfQueries:
    asked = {"norm": "l2", "exceeds": "0.7", "probability": "0.3"}
    prompt = read_given(certattn.generate("output-tail", path, given=given, **asked))
    assert isinstance(prompt, BallOfQueries)
    return prompt


BOUNDED = [name for name in LAWS if LAWS[name]["law"]["kind"] != "gaussian"]


@pytest.mark.parametrize("radius", ["1/50", "1/2"])
@pytest.mark.parametrize("name", BOUNDED)
def test_the_second_moments_of_bounded_tokens(name: str, radius: str, tmp_path: Path) -> None:
    """E f^2 over tokens, tilts, directions and heights is at most each of its bounds, at queries within the ball."""
    given = {**LAWS[name], "queries": {**LAWS[name]["queries"], "radius": radius}}
    prompt, draw, count, eps = prompt_of(given, tmp_path / "ball.yaml"), np.random.default_rng(9), 40_000, 0.3
    law, spread = prompt.law.law, spread_of(prompt.law.law)
    assert spread is not None
    assert spread.squared_reach is not None
    root, V = np.linalg.cholesky(doubles(spread.covariance)), doubles(prompt.values())
    M = doubles(prompt.weights.bilinear())
    # sup |A'U z| over |z| = 1, and sup |V A y| over |y| = 1.
    kappa, nu = np.linalg.norm(root.T @ M, 2), np.linalg.norm(V @ root, 2)
    centre, h, k, height = doubles(prompt.ball[CENTRE].load())[0], 0.1, 0.4, 0.2
    size, reach = float(np.linalg.norm(root.T @ M @ centre)), float(kappa * float(fmpq(*map(int, radius.split("/")))))
    x, d, d_v, n = _tokens(law, count, draw), prompt.dimension, len(V), min(prompt.dimension, len(centre))
    with working_precision(80):
        within = spread.squared_reach().sqrt()
        found = at_centre(prompt, arb(size), arb(reach), within)
        assert found is not None
        shell = stated((0, size + reach, h, k, height, 1), arb(0))
        numbers = Setting(d, n, d_v, arb(eps), arb(nu), within, True, found)
        mean = np.array([float(m) for m in law.map(arb).tilted_mean([arb(0)] * d)])
    for _ in range(4):
        z = draw.standard_normal(len(centre))
        a = M @ (centre + (reach / kappa) * z / np.linalg.norm(z))
        with working_precision(80):
            tau = np.array([float(m) for m in law.map(arb).tilted_mean([arb(t) for t in a])])
            log_mgf = law.map(arb).log_mgf([arb(t) for t in a]) - arb(float(a @ mean))
            least = float(found.least)
            bounds = [float(bound(shell, log_mgf)) for bound in (numbers.by_size, numbers.by_centre)]
        assert least <= float(log_mgf) + 1e-12
        u = draw.standard_normal(d_v)
        v = u / np.linalg.norm(u) + in_ball(draw, count, d_v, k)
        # Tilts of y on the image of queries: eta within h there.
        basis = np.linalg.qr(root.T @ M)[0][:, :n]
        eta = in_ball(draw, count, n, h) @ basis.T
        y = np.linalg.solve(root, (x - mean).T).T
        weights = np.exp((x - mean) @ a + np.einsum("ij,ij->i", eta, y))
        weights /= weight(h, n, np.linalg.norm(y @ basis, axis=1))
        bracket = np.einsum("ij,ij->i", v @ V, x - tau) - eps - draw.uniform(-height, height, count)
        square = (weights * bracket) ** 2
        assert square.mean() - 5 * square.std() / math.sqrt(count) <= min(bounds)
        # Nor is it much larger where the ball is small.
        if radius == "1/50":
            assert bounds[1] <= 4 * square.mean() + 1


@pytest.mark.heavy
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("length", [1500])
def test_no_more_prompts_are_far_than_is_proved(name: str, length: int, tmp_path: Path) -> None:
    found = certattn.generate(
        "output-tail", tmp_path / "ball.yaml", given=LAWS[name], norm="l2", probability="0.1", length=length
    )
    assert certattn.check(found).verdict.value == "verified"
    eps = float(found.plain["asserts"]["norm"]["exceeds"])
    prompt = read_given(found)
    assert isinstance(prompt, BallOfQueries)
    far = farthest_over_ball(prompt, length, 60 if prompt.law.kind == "gaussian" else 20)
    assert (far > eps).mean() <= 0.1
    # Nor is what is proved out of all proportion: the simulated quantile is not that much smaller.
    assert eps <= (20 if prompt.law.kind == "mixture" else 10) * np.quantile(far, 0.9)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each == "an interval" else [pytest.mark.heavy]) for each in LAWS]
)
def test_every_length_from_the_least_on(name: str, tmp_path: Path) -> None:
    asked = {"given": LAWS[name], "norm": "linf", "exceeds": "0.7", "probability": "0.05"}
    found = certattn.generate("output-tail", tmp_path / "ball.yaml", **asked)
    assert list(found.plain["given"]["length"]) == ["at_least"]
    assert certattn.check(found).verdict.value == "verified"
    # One length is no harder.
    length = int(found.plain["given"]["length"]["at_least"])
    alone = certattn.generate("output-tail", tmp_path / "alone.yaml", **asked, length=length)
    assert certattn.check(alone).verdict.value == "verified"


@pytest.mark.parametrize(
    "given",
    [
        {"law": {"kind": "atoms", "points": [[1, 2]]}, "queries": {"centre": [1, 0], "radius": 3}},
        {**LAWS["signs"], "V": [[0, 0]]},
        {**LAWS["an interval"], "V": [[0]]},
        {"law": {"kind": "box", "sizes": [0, 1]}, "queries": {"centre": [0, 2], "radius": 1}, "V": [[1, 0], [5, 0]]},
    ],
)
def test_outputs_that_are_constant_are_never_off(given: dict[str, Any], tmp_path: Path) -> None:
    asked = {"given": given, "norm": "l2", "exceeds": "1e-30", "probability": "1e-30"}
    found = certattn.generate("output-tail", tmp_path / "ball.yaml", **asked)
    assert found.plain["given"]["length"] == {"at_least": "1"}
    assert certattn.check(found).verdict.value == "verified"
    nearly = {**given, "V": [[0] * (len(given["V"][0]) - 1) + ["1e-6"]]} if "V" in given else LAWS["atoms"]
    with pytest.raises(certattn.CertattnError):
        certattn.generate("output-tail", tmp_path / "b.yaml", **{**asked, "given": nearly, "length": 10})


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"directions": [["1"]], "length": 1000}, "for a norm, not for directions"),
        ({"norm": "l2", "method": "moment", "length": 1000}, "is for one query"),
        ({"norm": "l2", "exceeds": "0.3", "length": 50}, "no rule proves a probability below 1"),
    ],
)
def test_what_is_not_proved_is_said(asked: dict[str, Any], words: str, tmp_path: Path) -> None:
    numbers = {"probability": "0.1"} if "exceeds" not in asked else {}
    numbers |= {"exceeds": "0.3"} if "length" not in asked else {}
    with pytest.raises(certattn.CertattnError, match=words):
        certattn.generate("output-tail", tmp_path / "ball.yaml", given=LAWS["an interval"], **asked, **numbers)


def test_a_ball_is_not_for_mixtures_with_gaussian_parts(tmp_path: Path) -> None:
    parts = [
        {"weight": "1/2", "law": {"kind": "box", "sizes": [1]}},
        {"weight": "1/2", "law": LAWS["an interval"]["law"]},
    ]
    given = {**LAWS["an interval"], "law": {"kind": "mixture", "components": parts}}
    with pytest.raises(certattn.CertattnError, match="mixtures with Gaussian parts"):
        certattn.generate("output-tail", tmp_path / "b.yaml", given=given, norm="l2", exceeds="0.3", probability="0.1")
