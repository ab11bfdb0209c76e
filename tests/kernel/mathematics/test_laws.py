"""Tilted means and log-MGFs of every law against sums and integrals of their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from independent_means import (
    BITS,
    contains,
    is_sharp,
    log_mgf,
    moments,
    reals,
    tilted_mean,
    truncated_integrals,
)
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.functions import langevin, log_cosh, log_sinhc
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
    dot,
)
from certattn.kernel.mathematics.truncated_normals import truncated_normal_moments


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with mp.workprec(BITS):
        yield


def q(text: str) -> fmpq:
    """A rational from p/q or a decimal with an exponent."""
    mantissa, _, exponent = text.partition("e")
    whole, _, rest = mantissa.partition("/")
    integer, _, fraction = whole.partition(".")
    return fmpq(int(integer + fraction), int(rest or "1")) * fmpq(10) ** (int(exponent or "0") - len(fraction))


def qs(*texts: str) -> list[fmpq]:
    return [q(text) for text in texts]


GAUSSIAN = Gaussian(qs("1/3", "-2"), [qs("2", "1/2"), qs("1/2", "1")])
SINGULAR = Gaussian(qs("0", "1"), [qs("1", "2"), qs("2", "4")])
POINT = Gaussian(qs("5", "-7/3"), [qs("0", "0"), qs("0", "0")])
SIGNS = Rademacher(qs("1", "3/2"))
HALF_SIGNS = Rademacher(qs("0", "1e-20"))
BOX = Box(qs("1", "1/2"))
FLAT_BOX = Box(qs("0", "1e10"))
ATOMS = Atoms([qs("0", "0"), qs("1", "0"), qs("0", "1"), qs("1", "0")], qs("1/2", "1/8", "1/4", "1/8"))
ONE_ATOM = Atoms([qs("1/7", "-3")], qs("1"))
CIRCLE, DISK = Radial(fmpq(9, 4), 2, solid=False), Radial(fmpq(3), 2, solid=True)
FAR_BOX, FAR_SIGNS = Shifted(BOX, qs("3", "-1/2")), Shifted(SIGNS, qs("0", "1e3"))
NEAR_TRUNCATED = TruncatedGaussian(qs("1", "1/2"), qs("3", "1/100"), qs("1/2", "-20"))
FAR_TRUNCATED = Shifted(TruncatedGaussian(qs("2", "7"), qs("1e-12", "300"), qs("0", "200")), qs("3", "-1/2"))
MIXED = Mixture([GAUSSIAN, SIGNS, BOX, ATOMS], qs("1/2", "1/4", "1/8", "1/8"))
FAR_APART = Mixture([FAR_BOX, BOX, FAR_SIGNS], qs("1/2", "1/4", "1/4"))
NESTED = Mixture([MIXED, Mixture([ONE_ATOM, SINGULAR], qs("1/3", "2/3"))], qs("999/1000", "1/1000"))
LAWS = {
    "gaussian": GAUSSIAN,
    "gaussian, singular": SINGULAR,
    "gaussian, one point": POINT,
    "signs": SIGNS,
    "signs, one of them constant": HALF_SIGNS,
    "box": BOX,
    "box, flat and long": FLAT_BOX,
    "atoms": ATOMS,
    "one atom": ONE_ATOM,
    "mixture": MIXED,
    "mixture of mixtures": NESTED,
    "circle": CIRCLE,
    "disk": DISK,
    "circle of radius 0": Radial(fmpq(0), 2, solid=False),
    "disk about a point": Shifted(DISK, qs("-1/3", "2")),
    "box about a point": FAR_BOX,
    "signs about a point": FAR_SIGNS,
    "mixture of boxes about points": FAR_APART,
}
TILTS = {
    "zero": ("0", "0"),
    "tiny": ("1e-300", "-1e-300"),
    "small": ("1e-9", "3e-20"),
    "one of them zero": ("0", "7/3"),
    "just below 1": ("0.999999999999999999999999", "-0.99999999"),
    "1": ("1", "-1"),
    "just above 1": ("1.000000000000000000000001", "2"),
    "moderate": ("-13/7", "5.25"),
    "large": ("700", "-800"),
    "huge": ("1e30", "-3e29"),
}


TRUNCATED = {
    "truncated Gaussian": NEAR_TRUNCATED,
    "truncated Gaussian about a point": FAR_TRUNCATED,
    "mixture with a truncated Gaussian": Mixture([NEAR_TRUNCATED, FAR_TRUNCATED, BOX], qs("1/2", "1/4", "1/4")),
}


@pytest.mark.parametrize("tilt", TILTS.values(), ids=TILTS.keys())
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_enclosures_contain_the_truth(law: Law, tilt: tuple[str, ...]) -> None:
    _contain_the_truth(law, tilt)


@pytest.mark.heavy
@pytest.mark.parametrize("tilt", [tilt for name, tilt in TILTS.items() if name != "huge"])
@pytest.mark.parametrize("law", TRUNCATED.values(), ids=TRUNCATED.keys())
def test_those_of_truncated_gaussians_too(law: Law, tilt: tuple[str, ...]) -> None:
    _contain_the_truth(law, tilt)


def _contain_the_truth(law: Law, tilt: tuple[str, ...]) -> None:
    exact = qs(*tilt)
    means, log = tilted_mean(law, reals(exact)), log_mgf(law, reals(exact))
    for bits in (64, 256, 1024):
        with working_precision(bits):
            balls, a = law.map(arb), [arb(entry) for entry in exact]
            found = balls.tilted_mean(a)
            assert len(found) == law.dimension == 2
            assert all(contains(enclosure, truth) for enclosure, truth in zip(found, means, strict=True))
            assert contains(balls.log_mgf(a), log)
            # e^{1e30 (y_1 - y_2)} needs 100 bits more than the tilt has; Gaussians in mixtures square it.
            if bits == 1024:
                truths = zip(found, means, strict=True)
                assert all(is_sharp(e, 64) or abs(t) < mpf(10) ** -200 for e, t in truths)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_the_mean_at_tilt_zero_is_the_plain_mean(law: Law) -> None:
    with working_precision(128):
        found = law.map(arb).tilted_mean([arb(0), arb(0)])
        assert all(contains(e, t) for e, t in zip(found, tilted_mean(law, [mpf(0), mpf(0)]), strict=True))
        assert contains(law.map(arb).log_mgf([arb(0), arb(0)]), mpf(0))


@pytest.mark.parametrize(("mean", "variance", "tilt"), [("1/3", "2", "5/4"), ("-3", "1/9", "-20"), ("0", "4", "0")])
def test_gaussian_against_quadrature(mean: str, variance: str, tilt: str) -> None:
    law, a = Gaussian(qs(mean), [qs(variance)]), qs(tilt)
    with mp.workdps(70):
        (m,), (v,), (t,) = reals(qs(mean)), reals(qs(variance)), reals(a)
        middle, width = m + v * t, mp.sqrt(v)
        nodes = [middle + k * width for k in range(-40, 41, 4)]

        def density(x: mpf) -> mpf:
            return mp.exp(t * x - (x - m) ** 2 / (2 * v)) / mp.sqrt(2 * mp.pi * v)

        mass, first = mp.quad(density, nodes), mp.quad(lambda x: x * density(x), nodes)
        with working_precision(128):
            (found,) = law.map(arb).tilted_mean([arb(a[0])])
            assert contains(found, first / mass, 190) or abs(first / mass) < mpf(10) ** -60
            assert is_sharp(found, 100)
            assert contains(law.map(arb).log_mgf([arb(a[0])]), mp.log(mass), 190) or tilt == "0"
        # The independent moments that the other tests rely on.
        assert abs(moments(law, [t])[0] / mass - 1) < mpf(10) ** -60
        assert abs(moments(law, [t])[1][0] - first) < mpf(10) ** -60 * mass


@pytest.mark.parametrize(("size", "tilt"), [("1", "1/2"), ("1", "1"), ("2", "-5"), ("1/3", "100")])
def test_box_against_quadrature(size: str, tilt: str) -> None:
    with mp.workdps(70):
        (c,), (a,) = reals(qs(size)), reals(qs(tilt))
        mass = mp.quad(lambda x: mp.exp(a * x) / (2 * c), mp.linspace(-c, c, 9))
        first = mp.quad(lambda x: x * mp.exp(a * x) / (2 * c), mp.linspace(-c, c, 9))
        with working_precision(128):
            law = Box(qs(size)).map(arb)
            (found,) = law.tilted_mean([arb(q(tilt))])
            assert contains(found, first / mass, 190)
            assert is_sharp(found, 100)
            assert contains(law.log_mgf([arb(q(tilt))]), mp.log(mass), 190)


CURVES = [("1e-9", "0"), ("1/3", "-5/7"), ("25", "3"), ("100", "-80"), ("1/1000000", "-61/2"), ("2", "200")]


@pytest.mark.heavy
@pytest.mark.parametrize(("curvature", "slope"), CURVES)
def test_truncated_normal_moments_against_quadrature(curvature: str, slope: str) -> None:
    """Of every order, and the closed forms that other tests rely on."""
    with mp.workdps(50):
        (k,), (b,) = reals(qs(curvature)), reals(qs(slope))
        width = 1 / (1 + abs(b) + k)
        ends = [s * (1 - width * 4**j) for j in range(12) for s in (1, -1) if width * 4**j < 1]
        grid = sorted({mpf(-1), mpf(0), mpf(1), *ends})

        def moment(n: int) -> mpf:
            return mp.quad(lambda y: y**n * mp.exp(-k * y * y / 2 + b * y), grid)

        truths = [moment(n) for n in range(8)]
        closed = truncated_integrals(k, b)
        assert all(abs(x - y) <= mpf(10) ** -35 * truths[0] for x, y in zip(closed, truths[:2], strict=True))
        for bits in (64, 200):
            with working_precision(bits):
                found = truncated_normal_moments(arb(q(curvature)), arb(q(slope)), 7)
                assert all(contains(e, t, 110) or abs(t) < mpf(10) ** -40 for e, t in zip(found, truths, strict=True))
                assert all(e.is_exact() or e.rel_accuracy_bits() >= bits - 16 for e in found)


@settings(max_examples=60)
@given(st.integers(0, 400), st.integers(-300, 300), st.integers(1, 10**6), st.integers(0, 6), st.fractions(-1, 1))
def test_balls_of_slopes_hold_the_moments_of_every_slope_in_them(k: int, b: int, spread: int, n: int, at: Any) -> None:
    with working_precision(80):
        ball = truncated_normal_moments(arb(k) / 8, arb(b) / 8 + arb(0, 1) / spread, n)[n]
        point = arb(b) / 8 + arb(fmpq(at.numerator, at.denominator)) / spread
        assert ball.contains(truncated_normal_moments(arb(k) / 8, point, n)[n])


@pytest.mark.parametrize(("k", "b"), [("1e30", "0"), ("1", "1e30"), ("1", "-40000"), ("40000", "1")])
def test_sums_that_would_be_too_long_say_nothing(k: str, b: str) -> None:
    assert not any(x.is_finite() for x in truncated_normal_moments(arb(q(k)), arb(q(b)), 3))
    assert not truncated_normal_moments(arb(1), arb("0 +/- 1e9"), 0)[0].is_finite()
    assert not truncated_normal_moments(arb(1), arb("nan"), 0)[0].is_finite()


# -- the two closed forms on the two sides of |x| = 1

ARGUMENTS = ["0", "1e-300", "-1e-300", "1e-8", "1/2", "0.9999999999999999999", "1", "-1", "1.0000000000000000001"]
ARGUMENTS += ["-3/2", "40", "-700", "1e30", "-1e30"]


@pytest.mark.parametrize("text", ARGUMENTS)
@pytest.mark.parametrize("bits", [64, 300])
def test_scalar_functions_contain_their_definitions(text: str, bits: int) -> None:
    (x,) = reals(qs(text))
    with working_precision(bits):
        ball = arb(q(text))
        cosh, sinhc = (mp.cosh(x), mp.sinh(x) / x if x else mpf(1))
        assert contains(log_cosh(ball), mp.log(cosh))
        assert contains(log_sinhc(ball), mp.log(sinhc))
        assert contains(langevin(ball), mp.coth(x) - 1 / x if x else mpf(0))


@pytest.mark.parametrize(
    ("low", "high"), [("0.9", "1.1"), ("-1.1", "-0.9"), ("-2", "2"), ("-1e-5", "1e-5"), ("0", "3")]
)
def test_a_wide_ball_across_the_branches_contains_both_ends(low: str, high: str) -> None:
    with working_precision(128):
        ball = arb((q(low) + q(high)) / 2, arb((q(high) - q(low)) / 2))
        for text in (low, high):
            (x,) = reals(qs(text))
            assert contains(langevin(ball), mp.coth(x) - 1 / x if x else mpf(0))
            assert contains(log_sinhc(ball), mp.log(mp.sinh(x) / x) if x else mpf(0))
            assert contains(log_cosh(ball), mp.log(mp.cosh(x)))


@pytest.mark.parametrize("function", [log_cosh, log_sinhc, langevin])
@pytest.mark.parametrize("ball", [arb("nan"), arb("+inf"), arb("[0 +/- inf]")])
def test_nothing_finite_comes_of_a_ball_that_says_nothing(function: object, ball: arb) -> None:
    with working_precision(64):
        found = function(ball)  # type: ignore[operator]
        # The Langevin function is bounded, so that +inf may give 1; a NaN must stay one.
        assert found.is_finite() is not True or not ball.is_nan()


# -- random laws

small = st.fractions(-4, 4, max_denominator=50).map(lambda f: fmpq(f.numerator, f.denominator))
sizes = st.fractions(0, 4, max_denominator=50).map(lambda f: fmpq(f.numerator, f.denominator))


def weights(count: int) -> st.SearchStrategy[list[fmpq]]:
    parts = st.lists(st.integers(1, 9), min_size=count, max_size=count)
    return parts.map(lambda numbers: [fmpq(n, sum(numbers)) for n in numbers])


def gaussians(d: int) -> st.SearchStrategy[Law]:
    def build(mean: list[fmpq], factor: list[list[fmpq]]) -> Law:
        return Gaussian(mean, [[dot(row, other) for other in factor] for row in factor])

    return st.builds(build, vectors(d), st.lists(vectors(d), min_size=d, max_size=d))


def vectors(d: int) -> st.SearchStrategy[list[fmpq]]:
    return st.lists(small, min_size=d, max_size=d)


def atoms(d: int) -> st.SearchStrategy[Law]:
    points = st.lists(vectors(d), min_size=1, max_size=5)
    return points.flatmap(lambda rows: weights(len(rows)).map(lambda w: Atoms(rows, w)))


def plain_laws(d: int) -> st.SearchStrategy[Law]:
    widths = st.lists(sizes, min_size=d, max_size=d)
    return st.one_of(gaussians(d), widths.map(Rademacher), widths.map(Box), atoms(d))


def laws(d: int) -> st.SearchStrategy[Law]:
    def mix(inner: st.SearchStrategy[Law]) -> st.SearchStrategy[Law]:
        parts = st.lists(inner, min_size=1, max_size=3)
        return parts.flatmap(lambda found: weights(len(found)).map(lambda w: Mixture(found, w)))

    return st.recursive(plain_laws(d), mix, max_leaves=4)


@pytest.mark.heavy
@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_random_laws_at_random_tilts(data: st.DataObject) -> None:
    d = data.draw(st.integers(1, 3))
    law, tilt = data.draw(laws(d)), data.draw(vectors(d))
    with mp.workprec(1500), working_precision(192):
        found = law.map(arb).tilted_mean([arb(entry) for entry in tilt])
        found.append(law.map(arb).log_mgf([arb(entry) for entry in tilt]))
        for enclosure, truth in zip(found, [*tilted_mean(law, reals(tilt)), log_mgf(law, reals(tilt))], strict=True):
            # What is 0 in truth is a rest of 1,500-bit numbers here.
            assert contains(enclosure, truth) or (abs(truth) < mpf(2) ** -1000 and enclosure.contains(0))
            assert is_sharp(enclosure, 60) or abs(truth) < mpf(2) ** -1000


def test_dot_refuses_vectors_of_different_lengths() -> None:
    with pytest.raises(ValueError):
        dot([arb(1)], [arb(1), arb(2)])
