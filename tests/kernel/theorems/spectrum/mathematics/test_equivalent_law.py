"""The law of Gaussian equivalence: published digits, quadrature, random matrices, and what enclosures promise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from flint import acb, arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.law_distance import quarter_circle_tail
from certattn.kernel.theorems.spectrum.limit_law import (
    EquivalentLaw,
    beta_at_ratio,
    beta_at_share,
    critical_beta,
    zero_between,
)
from certattn.provers.spectrum.equivalent_law import has_no_gap
from certattn.provers.spectrum.spectrum_figures import quarter_circle_density


@pytest.fixture(autouse=True)
def bits() -> Iterator[None]:
    with working_precision(128):
        yield


def rational(text: str) -> fmpq:
    p, _, q = text.partition("/")
    return fmpq(int(p), int(q or 1))


def softmax(beta: str, lambda_: str) -> EquivalentLaw:
    return EquivalentLaw.from_square(rational(beta) ** 2, rational(lambda_))


def digits_agree(ball: arb, shown: str) -> bool:
    """Whether the ball lies within a unit of the last digit that is shown, cut off or rounded."""
    unit = arb(10) ** -len(shown.partition(".")[2])
    with working_precision(300):
        return bool(abs(ball - arb(shown)) < unit)


# -- known digits

EDGES = [
    ("1/2", "1", "1.33812858367248722"),
    ("1", "1", "3.00159000371058532"),
    ("3/2", "1", "6.04896495182165272"),
    ("1/2", "1/2", "1.51656008410299438"),
    ("1", "1/2", "3.30113679314220732"),
    ("1/2", "2", "1.22374506075616"),
    ("1/2", "1/4", "1.78520436178675"),
]
CRITICAL = [
    ("1/16", "1.71241067"),
    ("1/8", "1.31579950"),
    ("1/4", "0.83420838"),
    ("1/2", "0.35681195"),
    ("3/4", "0.13000937"),
    ("7/8", "0.05718308"),
]
SHARES = [
    ("1/2", "1.1209064227785340319767"),
    ("1/10", "0.45513"),
    ("1/4", "0.74176"),
    ("3/4", "1.52861"),
    ("9/10", "1.90130"),
]


@pytest.mark.parametrize(("beta", "lambda_", "shown"), EDGES)
def test_right_edges(beta: str, lambda_: str, shown: str) -> None:
    law = softmax(beta, lambda_)
    assert digits_agree(law.right_edge, shown)
    # Beyond the edge of the quarter circle of the same variance.
    assert law.right_edge > 2 * law.numbers.variance.sqrt()


@pytest.mark.parametrize(("lambda_", "shown"), CRITICAL)
def test_the_gap_closes_at_beta_c(lambda_: str, shown: str) -> None:
    beta = critical_beta(arb(rational(lambda_)))
    assert digits_agree(beta, shown)
    below, above = (fmpq(int((beta * 10**9).floor().unique_fmpz()) + step, 10**9) for step in (-1, 2))
    assert EquivalentLaw.from_square(below * below, rational(lambda_)).gap is not None
    law = EquivalentLaw.from_square(above * above, rational(lambda_))
    assert law.gap is None
    assert has_no_gap(law)


@pytest.mark.parametrize(("share", "shown"), SHARES)
def test_where_the_nonlinear_share_reaches_a_number(share: str, shown: str) -> None:
    beta = beta_at_share(arb(rational(share)))
    assert digits_agree(beta, shown)
    law = EquivalentLaw(beta.exp() * 0 + (beta * beta).expm1() - beta * beta, beta * beta, arb(1))
    assert law.numbers.share.overlaps(arb(rational(share)))


# The largest distance of the distribution functions of mu and of the quarter circle, lambda = 1.
DISTANCES = [("1/2", "0.11474", "0.11479"), ("1", "0.0478", "0.0480"), ("3/2", "0.0105", "0.0107")]


@pytest.mark.parametrize(("beta", "least", "most"), DISTANCES)
def test_distance_from_the_quarter_circle(beta: str, least: str, most: str) -> None:
    law = softmax(beta, "1")
    lower, upper = kolmogorov(law, arb(2) / 10**5)
    assert lower > arb(least)
    assert upper < arb(most)


def kolmogorov(law: EquivalentLaw, width: arb) -> tuple[arb, arb]:
    """Bounds of the largest distance so near to each other: cells that may hold it are halved."""
    last, variance = law.right_edge.upper(), law.numbers.variance

    def tails(x: arb) -> tuple[arb, arb]:
        return law.tail(x), quarter_circle_tail(x, variance)

    cells, lower = [(arb(0), tails(arb(0)), last, tails(last))], arb(0)
    while True:
        bounds = [(_most(cell[1], cell[3]), cell) for cell in cells]
        for cell in cells:
            lower = lower.max(abs(cell[3][0] - cell[3][1]).lower())
        upper = arb(0)
        for bound, _ in bounds:
            upper = upper.max(bound)
        if upper - lower < width:
            return lower, upper
        halves = []
        for bound, (a, at_a, b, at_b) in bounds:
            if (bound > lower) is True:
                middle = ((a + b) / 2).mid()
                at = tails(middle)
                halves += [(a, at_a, middle, at), (middle, at, b, at_b)]
        cells = halves


def _most(first: tuple[arb, arb], last: tuple[arb, arb]) -> arb:
    """The largest difference of two tails between two points, both tails falling."""
    return (first[0] - last[1]).upper().max((first[1] - last[0]).upper())


# -- independent computations


def density_in_doubles(alpha2: float, beta2: float, lambda_: float, x: float) -> float:
    b = beta2 / lambda_
    roots = np.roots([alpha2 * b, -x * b, b - alpha2 - beta2, x, -1])
    return float(-2 * min(roots.imag) / np.pi)


LAWS = [("1/2", "1/4"), ("1", "1"), ("3/2", "1/8"), ("1/3", "3")]


@pytest.mark.parametrize(("beta", "lambda_"), LAWS)
def test_tails_moments_and_transform_by_quadrature(beta: str, lambda_: str) -> None:
    from scipy.integrate import quad

    law = softmax(beta, lambda_)
    numbers = [float(n) for n in (law.numbers.alpha2, law.numbers.beta2, law.numbers.lambda_)]
    gap, edge = law.gap, float(law.right_edge)
    breaks = [0.0, *(float(end) for end in (gap if isinstance(gap, tuple) else ())), edge]

    def mean(function: object, first: float = 0.0) -> float:
        total = 0.0
        for a, b in zip(breaks[::2], breaks[1::2], strict=True):
            if b > first:
                low = max(a, first)
                # x = low + (b - low) sin^2 t takes the square roots at the ends away.
                width = b - low
                total += quad(
                    lambda t, low=low, width=width: (
                        function(low + width * np.sin(t) ** 2)  # type: ignore[operator]
                        * density_in_doubles(*numbers, low + width * np.sin(t) ** 2)
                        * width
                        * np.sin(2 * t)
                    ),
                    0,
                    np.pi / 2,
                    limit=200,
                )[0]
        return total

    for share in (0.0, 0.15, 0.3, 0.9):
        assert mean(lambda x: 1.0, share * edge) == pytest.approx(float(law.tail(arb(share * edge))), abs=1e-6)
    for n, moment in enumerate(law.numbers.moments(4), start=1):
        assert mean(lambda x, n=n: x ** (2 * n)) == pytest.approx(float(moment), rel=1e-6)
    z = complex(0.4, 0.3)
    found = law.stieltjes(acb(0.4, 0.3))
    assert found is not None
    for part, at in (("real", 0.0), ("imag", 0.0)):
        integral = mean(lambda x, part=part: getattr((1 / (z - x) + 1 / (z + x)) / 2, part))
        assert integral == pytest.approx(float(getattr(found, part)), abs=1e-6 + at)


def test_random_matrices_have_these_singular_values() -> None:
    """Of the linear model, and with softmax itself: d = 500, both of the law's parts seen."""
    draw = np.random.default_rng(5)
    d, p, beta = 500, 125, 0.5
    law = softmax("1/2", "1/4")
    alpha = float(law.numbers.alpha2) ** 0.5
    scores = draw.normal(size=(d, p)) @ draw.normal(size=(p, d)) / p**0.5
    weights = np.exp(beta * scores)
    softmaxed = d**0.5 * (weights / weights.sum(axis=1, keepdims=True) - 1 / d)
    linear = (alpha * draw.normal(size=(d, d)) + beta * scores) / d**0.5
    for matrix, largest in ((linear, 0.02), (softmaxed, 0.05)):
        values = np.sort(np.linalg.svd(matrix, compute_uv=False))
        expected = np.array([1 - float(law.tail(arb(x))) for x in values])
        ranks = np.arange(1, d + 1) / d
        assert np.max(np.abs(ranks - expected)) < largest
        # Exactly p above the gap.
        assert np.count_nonzero(values > 0.37) == p


def test_the_quarter_circle_is_its_integral() -> None:
    from scipy.integrate import quad

    for variance in (0.3, 1.0, 7.0):
        for share in (0.0, 0.2, 0.7, 0.99):
            x = 2 * variance**0.5 * share
            area = quad(lambda y, m=variance: float(quarter_circle_density(arb(y), arb(m))), x, 2 * variance**0.5)[0]
            assert area == pytest.approx(float(quarter_circle_tail(arb(x), arb(variance))), abs=1e-6)


# -- what enclosures promise


def test_tails_of_balls_hold_the_tails_of_their_points() -> None:
    law = softmax("1/2", "1/4")
    for center in (0, 0.1, 0.3168, 0.35, 0.4231, 1, 1.785, 2):
        for radius in (1e-30, 1e-6, 0.05):
            ball = arb(center, radius)
            found = law.tail(ball)
            for end in (ball.lower(), ball.mid(), ball.upper()):
                assert found.overlaps(law.tail(end))
                assert found.upper() >= law.tail(end).lower()
                assert found.lower() <= law.tail(end).upper()


@pytest.mark.parametrize("lambda_", ["1/4", "1", "3"])
def test_tails_next_to_an_edge_are_enclosed(lambda_: str) -> None:
    law = softmax("1/2", lambda_)
    edge = law.right_edge.mid()
    with working_precision(2000):
        sharp = softmax("1/2", lambda_)
        for power in range(8, 140, 6):
            x = edge * (1 - arb(2) ** -power)
            with working_precision(128):
                rough = law.tail(x)
            assert rough.overlaps(sharp.tail(x))
            assert rough.rad() < arb(2) ** -40


def test_tails_where_a_gap_just_closes() -> None:
    """v = 2: lambda = 1/20, rho_c = 7; the density vanishes at one point inside of the support."""
    law = EquivalentLaw(arb(7), arb(1), arb(fmpq(1, 20)))
    assert law.gap is None
    assert not has_no_gap(law)
    place = law.numbers.inverse((arb(2) / 20).sqrt()).mid()
    for x in (place, place * (1 + arb(2) ** -100), place * (1 - arb(2) ** -70)):
        found = law.tail(x)
        assert found.overlaps(arb(fmpq(1, 20)) + arb(0, 1e-12))
        assert found.rad() < 1e-9
    numbers = LawNumbers(fmpq(7), fmpq(1), fmpq(1, 20))
    assert numbers.discriminant() == 0


def test_extreme_points() -> None:
    law = softmax("1", "1")
    assert law.tail(arb(-1)) == 1
    assert law.tail(arb(0)) == 1
    assert law.tail(arb(4)) == 0
    assert law.density(arb(4)) == 0
    assert law.density(arb(-1)) == 0
    assert law.density(arb(0)).overlaps(law.density_bound)
    for unknown in (arb.nan(), arb.pos_inf()):
        assert law.tail(unknown).contains(arb(0.5))
    assert law.stieltjes(acb(arb.nan(), 1)) is None
    assert law.stieltjes(acb(1, -1)) is None
    assert law.stieltjes(acb(1, arb(0, 1))) is None
    assert law.stieltjes(acb(5)) is None


def test_the_right_edge_is_not_a_zero_of_h_beyond_one() -> None:
    """For tiny lambda two zeros of h lie next to 1, one on each side, at any precision that sees them or does not."""
    for power in (10, 30, 60, 90, 130):
        law = EquivalentLaw(arb(1) / 10, arb(1), arb(2) ** -power)
        edge, gap = law.right_edge, law.gap
        if edge.is_finite():
            with working_precision(4000):
                sharp = EquivalentLaw(arb(1) / 10, arb(1), arb(2) ** -power)
                assert edge.overlaps(sharp.right_edge)
                if isinstance(gap, tuple):
                    assert all(a.overlaps(b) for a, b in zip(gap, sharp.gap, strict=True))  # type: ignore[arg-type]


def test_low_precision_gives_wide_enclosures_and_no_wrong_ones() -> None:
    with working_precision(600):
        sharp = softmax("1/2", "1/4")
        points = [arb(k) / 64 for k in range(0, 128, 3)]
        truths = [(sharp.tail(x), sharp.density(x)) for x in points]
        edges = [sharp.right_edge, *sharp.gap]  # type: ignore[misc]
    for precision in (8, 16, 24, 40):
        with working_precision(precision):
            rough = softmax("1/2", "1/4")
            found = [rough.right_edge, *(rough.gap if isinstance(rough.gap, tuple) else ())]  # type: ignore[misc]
            for truth, edge in zip(edges, found, strict=False):
                assert edge.overlaps(truth) or not edge.is_finite()
            for x, (tail, density) in zip(points, truths, strict=True):
                assert rough.tail(x).overlaps(tail)
                assert rough.density(x).overlaps(density) or not rough.density(x).is_finite()


def test_zeros_need_proved_signs() -> None:
    assert zero_between(lambda x: x * x - 2, arb(1), arb(2)).contains(arb(2).sqrt().mid())
    assert zero_between(lambda x: 2 - x * x, arb(2), arb(1)).contains(arb(2).sqrt().mid())
    assert zero_between(lambda x: x * x - 2, arb(2), arb(1)).is_nan()
    assert zero_between(lambda x: x * x + arb(0, 5), arb(0), arb(1)).is_nan()


def test_a_zero_in_the_middle_is_come_close_to() -> None:
    found = zero_between(lambda x: 2 * x - 1, arb(0), arb(1))
    assert found.contains(arb(0.5))
    assert found.rad() < 1e-12


@pytest.mark.parametrize("lambda_", ["1/20", "27/112", "343/704", "3375/4864"])
def test_thresholds_where_bisection_meets_the_zero(lambda_: str) -> None:
    """v is 2, 4, 8 or 16 there, and the condition is a cubic with rational coefficients."""
    found = critical_beta(arb(rational(lambda_)))
    assert found.rad() < 1e-12
    for share in (999, 1001):
        law = EquivalentLaw(*_at(found, share), arb(rational(lambda_)))
        assert law.gap is not None or has_no_gap(law)


def _at(beta: arb, thousandths: int) -> tuple[arb, arb]:
    """alpha^2 and beta^2 next to a threshold."""
    square = (beta.mid() * thousandths / 1000) ** 2
    return square.exp() - 1 - square, square


def test_thresholds_of_impossible_numbers() -> None:
    assert critical_beta(arb(1)).is_nan()
    assert critical_beta(arb(2)).is_nan()
    assert critical_beta(arb(0.5, 0.6)).is_nan()
    assert not (beta_at_ratio(arb(-1)) > 0)
    assert beta_at_ratio(arb(10) ** 30) > 8
