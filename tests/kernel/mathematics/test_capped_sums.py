"""Capped summands: both numbers of every kind of part, against integrals of the definition by mpmath."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flint import acb, arb, fmpq
from mpmath import mp, mpf

from certattn.kernel.mathematics import capped_sums
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.capped_sums import (
    MOST_HEIGHT,
    Cap,
    Capped,
    Plane,
    capped,
    capped_bound,
    cut,
    exact_part,
    gaussian_parts,
    peak,
    scaled_erfc,
    scaled_erfc_by_u,
    tied_summand,
)
from certattn.kernel.mathematics.capped_sums import plane as plane_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Mixture
from certattn.kernel.mathematics.quadrature import integral, tolerance_bits
from certattn.kernel.mathematics.reals import real_root


def sign(c: str) -> int:
    return (mpf(c) > 0) - (mpf(c) < 0)


def plane(alpha: str, mu: str, s: str, c: str, sigma: str) -> Plane:
    numbers = (arb(x) for x in (alpha, mu, s, c, sigma))
    return Plane(*numbers, flat_score=mpf(s) == 0, tied=mpf(sigma) == 0, slope_sign=sign(c))


def truth(numbers: tuple[str, ...], slope: str, cap: str | None) -> tuple[mpf, mpf]:
    """P(A) and E[e^{slope Y}; not A], A where Y exceeds the cap: an integral over g."""
    alpha, mu, s, c, sigma = (mpf(x) for x in numbers)
    lam, B = mpf(slope), mp.inf if cap is None else mpf(cap)

    def density(x: mpf) -> mpf:
        return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)

    def at(g: mpf) -> tuple[mpf, mpf]:
        w, m = mp.exp(alpha + s * g), mu + c * g
        if sigma == 0:
            return (mpf(1), mpf(0)) if w * m > B else (mpf(0), mp.exp(lam * w * m))
        end = (B / w - m) / sigma
        t = lam * w * sigma
        return mp.ncdf(-end), mp.exp(lam * w * m + t * t / 2) * mp.ncdf(end - t)

    if s == 0:
        return at(mpf(0))
    places = [mpf(i) / 2 for i in range(-26, 27)]
    if sigma == 0 and cap is not None:
        grid = [mpf(i) / 40 for i in range(-520, 521)]
        inside = [at(g)[0] for g in grid]
        turns = [(a + b) / 2 for a, b, x, y in zip(grid, grid[1:], inside, inside[1:], strict=False) if x != y]
        places += [mp.findroot(lambda g: alpha + s * g + mp.log(mu + c * g) - mp.log(B), turn) for turn in turns]
    places.sort()
    # A little noise makes steep integrands.
    degree = 6 if 0 < sigma < 0.1 else 4
    outside = mp.quad(lambda g: at(g)[0] * density(g), places, maxdegree=degree)
    return outside, mp.quad(lambda g: at(g)[1] * density(g), places, maxdegree=degree)


PARTS = {
    "perpendicular": (("-1/2", "-0.2", "1", "0", "1"), "0.15", "20"),
    "correlated": (("-0.3", "-0.5", "0.8", "0.5", "0.7"), "0.2", "9"),
    "anticorrelated": (("-0.3", "-0.1", "0.8", "-0.5", "0.7"), "0.2", "9"),
    "little noise": (("-2", "-1.4", "2", "0.9", "0.05"), "0.02", "200"),
    "much lambda": (("-1/2", "-0.2", "1", "0", "1"), "2", "5"),
    "a small cap": (("-1/2", "0.8", "1", "0.3", "1"), "0.5", "0.1"),
    "no score": (("0.3", "-0.6", "0", "0", "1.5"), "0.7", "2"),
    "tied, rising": (("-1/2", "-1.2", "1", "1", "0"), "0.1", "15"),
    "tied, far from its mean": (("-1/2", "2.8", "1", "0.2", "0"), "0.1", "15"),
    "tied, falling": (("-1/2", "0.8", "1", "-1", "0"), "0.9", "0.7"),
    "tied, falling, above its cap for a while": (("-1/2", "0.8", "1", "-1", "0"), "0.9", "0.3"),
    "tied, falling below its cap": (("-1/2", "0.8", "1", "-1", "0"), "0.9", "40"),
    "tied, falling, no cap": (("-1/2", "0.8", "1", "-1", "0"), "0.9", None),
    "tied, hardly rising": (("-1/2", "-3.09", "1", "0.001", "0"), "0.5", "0.2"),
    "tied, hardly falling": (("-1/2", "-0.71", "1", "-0.001", "0"), "0.05", "2.39"),
    "constant output above": (("-1/2", "0.2", "1", "0", "0"), "0.3", "6"),
    "constant output below": (("-1/2", "-0.6", "1", "0", "0"), "0.3", "6"),
    "an atom": (("-1/2", "0.2", "0", "0", "0"), "0.3", "6"),
    "an atom above its cap": (("-1/2", "0.2", "0", "0", "0"), "0.3", "0.1"),
    "an atom without a cap": (("-1/2", "0.2", "0", "0", "0"), "0.3", None),
}


def decimals(numbers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(x.replace("-1/2", "-0.5") for x in numbers)


def found(numbers: tuple[str, ...], slope: str, cap: str | None, bits: int) -> Capped:
    asked = Cap(arb(slope), None if cap is None else arb(cap), bits)
    return capped(plane(*decimals(numbers)), asked)


@pytest.mark.heavy
@pytest.mark.parametrize("name", PARTS)
def test_parts_are_enclosed(name: str) -> None:
    numbers, slope, cap = PARTS[name]
    with mp.workdps(25):
        wanted = truth(decimals(numbers), slope, cap)
        with working_precision(64):
            part = found(numbers, slope, cap, 64)
        for enclosure, value in zip((part.outside, part.inside), wanted, strict=True):
            assert enclosure.rad() < arb("1e-8") * (1 + abs(enclosure))
            error = abs(mpf(enclosure.mid().str(25, radius=False)) - value)
            # mpmath's own quadrature is good for about ten digits where an end is found numerically.
            assert error <= mpf(enclosure.rad().str(10, radius=False)) + mpf(10) ** -10 * (1 + abs(value))


@pytest.mark.parametrize("name", ["correlated", "tied, falling", "much lambda"])
def test_more_bits_are_within_fewer(name: str) -> None:
    numbers, slope, cap = PARTS[name]
    with working_precision(64):
        rough = found(numbers, slope, cap, 64)
    with working_precision(160):
        sharp = found(numbers, slope, cap, 160)
        assert rough.outside.overlaps(sharp.outside)
        assert rough.inside.overlaps(sharp.inside)
        assert sharp.inside.rad() < arb("1e-24") * (1 + sharp.inside)


@pytest.mark.parametrize("z", [acb(1), acb(3, 2), acb("0.8", "-4"), acb(40), acb(arb(5, "0.3"), arb(1, "0.3"))])
def test_the_scaled_error_function(z: acb) -> None:
    with working_precision(96), mp.workdps(40):
        middle = mp.mpc(z.mid().real.str(30, radius=False), z.mid().imag.str(30, radius=False))
        wanted = mp.exp(middle**2) * mp.erfc(middle)
        ball = acb(mp.nstr(wanted.real, 30), mp.nstr(wanted.imag, 30))
        assert scaled_erfc(z).overlaps(ball)
        assert scaled_erfc_by_u(z * z).overlaps(ball)


def test_wide_balls_stay_finite_where_a_product_would_not() -> None:
    with working_precision(64):
        z = acb(arb(60, 8), arb(0, 1))
        assert scaled_erfc(z).is_finite()
        assert scaled_erfc(z).abs_upper() < 1


@pytest.mark.parametrize("name", [name for name in PARTS if name.startswith("tied")])
def test_nothing_outside_a_cut_is_higher_than_at_its_ends(name: str) -> None:
    numbers, _, cap = PARTS[name]
    with working_precision(64):
        part = plane(*decimals(numbers))
        gap = cut(part, arb(cap or "0.7"))
        for i in range(-80, 81):
            g = arb(i) / 8
            value = tied_summand(part, g)
            if gap is None:
                assert value <= tied_summand(part, peak(part)) + arb("1e-15")
            elif g <= gap.first:
                assert value <= tied_summand(part, gap.first).max(arb(0)) + arb("1e-15")
            elif gap.last is not None and g >= gap.last:
                assert value <= tied_summand(part, gap.last).max(arb(0)) + arb("1e-15")
            else:
                assert value >= arb(cap or "0.7") - arb("1e-15")


def test_what_is_out_of_reach_is_unknown() -> None:
    with working_precision(64):
        for name in ("perpendicular", "tied, rising"):
            numbers, _, cap = PARTS[name]
            far = found(numbers, str(MOST_HEIGHT), cap, 64)
            assert not far.inside.is_finite()
        asked = Cap(arb(1), None, 64)
        with pytest.raises(ValueError, match="needs a cap"):
            capped(plane("0", "0", "1", "0", "1"), asked)


def test_the_bound_of_a_prompt() -> None:
    assert capped_bound(Capped(arb(1) / 2, arb(1) / 4), 2, 2) == arb(3) / 4 + arb(1) / 16
    assert capped_bound(Capped(arb(1) / 2, arb(1) / 4), 2, 3) == arb(7) / 8 + arb(1) / 16


# -- quadrature


def test_integrals() -> None:
    with working_precision(128):
        assert integral(lambda x: x.exp(), arb(0), arb(1), 128).overlaps(arb(1).exp() - 1)
        assert tolerance_bits(128) == 80


def test_an_integral_that_would_not_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def wild(x: acb) -> acb:
        calls.append(x)
        return (x * 10**9).sin()

    with working_precision(64):
        enclosure = integral(wild, arb(0), arb(1), 64)
        assert len(calls) < 50_000
        assert enclosure.rad() > arb("1e-3")
        assert enclosure.contains((1 - arb(10**9).cos()) / 10**9)


def test_an_integral_of_nothing_known_is_unknown() -> None:
    with working_precision(64):
        assert not integral(lambda x: x * acb("nan"), arb(0), arb(1), 64).is_finite()


# -- Gaussian parts


def test_parts_of_a_law() -> None:
    gaussian = Gaussian([fmpq(1)], [[fmpq(2)]])
    atoms = Atoms([[fmpq(0)], [fmpq(5)]], [fmpq(1, 4), fmpq(3, 4)])
    inner = Mixture([gaussian, atoms], [fmpq(1, 3), fmpq(2, 3)])
    parts = gaussian_parts(Mixture([inner, gaussian], [fmpq(1, 2), fmpq(1, 2)]))
    assert parts is not None
    assert [weight for weight, _ in parts] == [fmpq(1, 6), fmpq(1, 12), fmpq(1, 4), fmpq(1, 2)]
    assert [list(law.mean) for _, law in parts] == [[1], [0], [5], [1]]
    assert [law.covariance[0][0] for _, law in parts] == [2, 0, 0, 2]
    assert gaussian_parts(Mixture([gaussian, Box([fmpq(1)])], [fmpq(1, 2)] * 2)) is None


def row(*entries: int) -> ExactMatrix:
    return ExactMatrix.row_vector([fmpq(x) for x in entries])


BOUNDED: dict[str, tuple[list[list[int]], ExactMatrix, ExactMatrix, fmpq, bool]] = {
    "falling": ([[1, 0], [0, 1]], row(1, 0), row(-1, 0), fmpq(1), True),
    "rising": ([[1, 0], [0, 1]], row(1, 0), row(1, 0), fmpq(1), False),
    "falling, by a negative scale": ([[1, 0], [0, 1]], row(1, 0), row(1, 0), fmpq(-3), True),
    "noise of its own": ([[1, 0], [0, 1]], row(1, 0), row(-1, 1), fmpq(1), False),
    # Anticorrelated with the score in the sense of Gamma a, but not tied to it: E e^{lambda Y} is infinite.
    "minus Gamma a": ([[4, 0], [0, 1]], row(1, 1), row(-4, -1), fmpq(1), False),
    "minus a": ([[4, 0], [0, 1]], row(1, 1), row(-1, -1), fmpq(1), True),
    "minus a, beside the kernel of Gamma": ([[4, 0], [0, 0]], row(1, 1), row(-1, 9), fmpq(1), True),
    "a constant": ([[4, 0], [0, 0]], row(1, 1), row(0, 9), fmpq(1), False),
    "no score": ([[4, 0], [0, 0]], row(0, 1), row(1, 0), fmpq(1), False),
    "an atom": ([[0, 0], [0, 0]], row(1, 1), row(1, 1), fmpq(1), True),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_which_parts_are_bounded_above(name: str) -> None:
    covariance, base, direction, scale, bounded = BOUNDED[name]
    law = Gaussian([fmpq(0)] * 2, [[fmpq(x) for x in line] for line in covariance])
    part = exact_part(fmpq(1), law, base, scale, direction)
    assert part.is_bounded_above is bounded


def test_the_plane_of_a_part() -> None:
    law = Gaussian([fmpq(3), fmpq(1)], [[fmpq(4), fmpq(1)], [fmpq(1), fmpq(2)]])
    part = exact_part(fmpq(1), law, row(1, 0), real_root(fmpq(2)), row(1, 1))
    # a = (sqrt 2, 0): s^2 = 8, cov = 5 sqrt 2, c^2 = 50/8, v'Gamma v = 8.
    assert (part.score_variance, part.slope_squared, part.rest_variance) == (8, fmpq(25, 4), fmpq(7, 4))
    with working_precision(64):
        a = arb(2).sqrt()
        found_plane = plane_of(part, [a, arb(0)], [arb(1), arb(1)], log_mgf=arb(7), level=arb(2))
        expected: dict[str, Callable[[], arb]] = {
            "alpha": lambda: 3 * a - 7,
            "mu": lambda: arb(2),
            "s": lambda: arb(8).sqrt(),
            "c": lambda: arb(5) / 2,
            "sigma": lambda: (arb(7) / 4).sqrt(),
        }
        for field, value in expected.items():
            assert getattr(found_plane, field).overlaps(value())
    assert not found_plane.tied
    assert not found_plane.flat_score
    assert found_plane.slope_sign == 1


def test_the_two_forms_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Around k = 1, where the form changes, both are the same number."""
    asked = Cap(arb("0.2"), arb(9), 64)
    part = plane(*PARTS["correlated"][0])
    with working_precision(128):
        for g in (arb(1), arb(2), arb(3), arb("3.5")):
            at = capped_sums.exponents(part, asked, arb(9), g)
            if at.k > 0:
                scaled = capped_sums.below_scaled(asked.slope * 9, at.end, at.k)
                assert scaled.overlaps(capped_sums.below_directly(at.centre, at.spread, at.k))


def test_the_largest_summand_where_nothing_is_cut() -> None:
    """f(g) = e^g (1 - g) has its peak 1 at g = 0; f(g) = -e^g has no peak, and rises to 0."""
    with working_precision(64):
        falling, flat = plane("0", "1", "1", "-1", "0"), plane("0", "-1", "1", "0", "0")
        assert capped_sums._supremum(falling) == 1
        assert all((tied_summand(falling, arb(k) / 4) <= 1) is True for k in range(-40, 40))
        assert capped_sums._supremum(flat) == 0
