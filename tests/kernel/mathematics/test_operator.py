"""T[mu] against the definition, and as an affine map only where it is one for every query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from independent_means import contains, inner, is_sharp, real, reals, tilted_mean
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
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
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.reals import Real, Surd, real_root

Rows = list[list[fmpq]]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with mp.workprec(2000):
        yield


def rows(*texts: str) -> Rows:
    """Rows of rationals: "1 -2/3", "0 5"."""
    return [[fmpq(*map(int, word.split("/"))) for word in text.split()] for text in texts]


def row(text: str) -> list[fmpq]:
    return rows(text)[0]


def factor(scale: Real) -> mpf:
    return mp.sqrt(real(scale.radicand)) if isinstance(scale, Surd) else real(scale)


def truth(law: Law, U: Rows, V: Rows, scale: Real, query: Sequence[fmpq]) -> list[mpf]:
    """V tau(s U z) from the definition of tau."""
    mean = tilted_mean(law, [factor(scale) * inner(reals(line), reals(query)) for line in U])
    return [inner(reals(line), mean) for line in V]


def agrees(found: AffineMap, law: Law, U: Rows, V: Rows, scale: Real, query: Sequence[fmpq]) -> bool:
    """Whether an affine map has the value of T at a query, up to 10^-300."""
    s = factor(scale)
    for index, number in enumerate(truth(law, U, V, scale, query)):
        claimed = real(found.offset.entry(0, index)) + s * inner(reals(found.matrix.row(index)), reals(query))
        if abs(claimed - number) > mpf(10) ** -300 * (1 + abs(number)):
            return False
    return True


def operator(law: Law, U: Rows, V: Rows, scale: Real = fmpq(1)) -> Operator:  # noqa: B008
    return Operator(law, ExactMatrix.rational(U), ExactMatrix.rational(V), scale)


PROBES = ["0 0", "1 0", "0 1", "-3 2", "1/7 5/3", "9 -11"]


def gauss(mean: str, *covariance: str) -> Gaussian:
    return Gaussian(row(mean), rows(*covariance))


I2 = rows("1 0", "0 1")
NORMAL = gauss("1 2", "2 1", "1 3")
AFFINE = {
    "gaussian": (NORMAL, I2, I2),
    "singular gaussian": (gauss("0 1", "1 2", "2 4"), I2, rows("1 1")),
    "gaussian that is one point": (gauss("3 4", "0 0", "0 0"), I2, I2),
    "signs of size 0": (Rademacher(row("0 0")), I2, I2),
    "box of size 0": (Box(row("0 0")), I2, I2),
    "the one sign that moves is not read": (Rademacher(row("1 0")), I2, rows("0 5")),
    "the one sign that is read does not move": (Rademacher(row("1 2")), rows("1 1", "0 0"), rows("0 5")),
    "sphere of radius 0": (Radial(fmpq(0), 2, solid=False), I2, I2),
    "ball whose tilts the values do not read": (Radial(fmpq(9), 2, solid=True), rows("1 0", "0 0"), rows("0 5")),
    "truncated Gaussians about their means, unread": (
        Shifted(TruncatedGaussian(row("1 2"), row("3 4"), row("0 0")), row("1 -1/3")), rows("1 1", "0 0"), rows("0 5")),
    "truncated Gaussian, of a mean that is not rational and not read": (
        TruncatedGaussian(row("1 2"), row("3 4"), row("1 0")), rows("1 1", "0 0"), rows("0 5")),
    "box untouched by the queries": (Box(row("1 2")), rows("0 0", "0 0"), I2),
    "box unread by the values": (Box(row("1 2")), I2, rows("0 0")),
    "one atom": (Atoms(rows("3 4"), row("1")), I2, I2),
    "atoms that coincide": (Atoms(rows("3 4", "3 4"), row("1/3 2/3")), I2, I2),
    "atoms that the queries cannot tell apart": (Atoms(rows("1 2", "1 -5"), row("1/3 2/3")), rows("1 2", "0 0"), I2),
    "atoms of one value": (Atoms(rows("1 2", "7 2"), row("1/3 2/3")), I2, rows("0 1")),
    "mixture of one": (Mixture([NORMAL], row("1")), I2, I2),
    "mixture of one mixture of one": (Mixture([Mixture([NORMAL], row("1"))], row("1")), I2, I2),
    "mixture of equal gaussians": (Mixture([NORMAL, NORMAL], row("1/4 3/4")), I2, I2),
    "gaussians that differ only out of the queries' sight": (
        Mixture([gauss("1 2", "1 0", "0 3"), gauss("1 -4", "1 1/2", "1/2 8")], row("1/4 3/4")), rows("1 1", "0 0"), I2),
}  # fmt: skip
NOT_AFFINE = {
    "signs": (Rademacher(row("1 2")), I2, I2),
    "signs, one coordinate": (Rademacher(row("0 1/1000")), I2, rows("1 1")),
    "box": (Box(row("1 2")), I2, rows("1 1")),
    "sphere": (Radial(fmpq(9), 2, solid=False), I2, rows("0 5")),
    "truncated Gaussian": (TruncatedGaussian(row("1 2"), row("3 4"), row("0 0")), I2, rows("1 1")),
    "truncated Gaussian, one coordinate read, off the middle": (
        TruncatedGaussian(row("1 2"), row("3 4"), row("0 1")), I2, rows("0 5")),
    "atoms": (Atoms(rows("0 0", "1 0"), row("1/2 1/2")), I2, I2),
    "atoms that coincide but one": (Atoms(rows("3 4", "3 4", "3 5"), row("1/3 1/3 1/3")), I2, I2),
    "gaussians of different means": (
        Mixture([gauss("0 0", "1 0", "0 1"), gauss("1 0", "1 0", "0 1")], row("1/2 1/2")), I2, I2),
    "gaussians of different covariances": (
        Mixture([gauss("0 0", "1 0", "0 1"), gauss("0 0", "1 0", "0 2")], row("1/2 1/2")), I2, I2),
    "gaussian and signs of the same moments": (
        Mixture([gauss("0 0", "1 0", "0 1"), Rademacher(row("1 1"))], row("1/2 1/2")), I2, I2),
    "mixture of one that is not affine": (Mixture([Rademacher(row("1 2"))], row("1")), I2, I2),
    "gaussians that differ in the sight of the queries only": (
        Mixture([gauss("1 2", "1 0", "0 3"), gauss("1 2", "1 1/2", "1/2 3")], row("1/4 3/4")), rows("1 0", "0 1"),
        rows("1 0")),
}  # fmt: skip


@pytest.mark.parametrize("scale", [fmpq(1), fmpq(-2, 3), real_root(fmpq(1, 2))])
@pytest.mark.parametrize(("law", "U", "V"), AFFINE.values(), ids=AFFINE.keys())
def test_affine_operators_are_recognized_and_right(law: Law, U: Rows, V: Rows, scale: Real) -> None:
    found = operator(law, U, V, scale).affine()
    assert found is not None
    assert found.scale == scale
    assert all(agrees(found, law, U, V, scale, row(probe)) for probe in PROBES)


@pytest.mark.parametrize(("law", "U", "V"), NOT_AFFINE.values(), ids=NOT_AFFINE.keys())
def test_other_operators_are_not_called_affine(law: Law, U: Rows, V: Rows) -> None:
    assert operator(law, U, V).affine() is None
    # They are indeed none: the second difference of T along some line does not vanish.
    bends = []
    for direction in ("1 0", "0 1", "1 1", "1 -2"):
        at = [truth(law, U, V, fmpq(1), [t * x for x in row(direction)]) for t in (fmpq(0), fmpq(1), fmpq(2))]
        bends += [abs(x - 2 * y + z) for x, y, z in zip(*at, strict=True)]
    assert max(bends) > mpf(10) ** -12


@pytest.mark.parametrize("scale", [fmpq(1), fmpq(-5, 3), real_root(fmpq(1, 2))])
@pytest.mark.parametrize(("law", "U", "V"), [*AFFINE.values(), *NOT_AFFINE.values()])
def test_values_relative_to_a_point_contain_the_truth(law: Law, U: Rows, V: Rows, scale: Real) -> None:
    point = [fmpq(i + 1, 3) for i in range(len(V))]
    queries = rows(*PROBES)
    for bits in (64, 256):
        with working_precision(bits):
            found = operator(law, U, V, scale).from_point(ExactMatrix.row_vector(point), ExactMatrix.rational(queries))
        assert [len(line) for line in found] == [len(V)] * len(queries)
        for query, line in zip(queries, found, strict=True):
            for enclosure, number, shift in zip(line, truth(law, U, V, scale, query), reals(point), strict=True):
                # A difference of 0 is one of two numbers of 2,000 bits here.
                vanishes = abs(number - shift) < mpf(2) ** -1500 and enclosure.contains(0)
                assert vanishes or contains(enclosure, number - shift)
                assert vanishes or is_sharp(enclosure, 30)


def test_an_affine_map_that_agrees_with_the_point_has_no_rounding_at_all() -> None:
    exact = operator(NORMAL, I2, I2, real_root(fmpq(1, 3)))
    with working_precision(64):
        ((x, y),) = exact.from_point(ExactMatrix.row_vector(row("1 2")), ExactMatrix.rational(rows("0 0")))
    assert x.is_exact()
    assert y.is_exact()
    assert x == y == 0


# -- random laws, degenerate more often than not

entries = st.sampled_from([fmpq(0), fmpq(0), fmpq(0), fmpq(1), fmpq(-1), fmpq(2, 3)])


def vectors(d: int) -> st.SearchStrategy[list[fmpq]]:
    return st.lists(entries, min_size=d, max_size=d)


def tables(count: int, d: int) -> st.SearchStrategy[Rows]:
    return st.lists(vectors(d), min_size=count, max_size=count)


@st.composite
def laws(draw: st.DrawFn, d: int, depth: int = 2) -> Law:
    kind = draw(st.sampled_from(["gaussian", "gaussian", "signs", "box", "atoms", "mixture"][: 6 if depth else 5]))
    if kind == "gaussian":
        spread = draw(tables(d, d))
        return Gaussian(draw(vectors(d)), [[dot(x, y) for y in spread] for x in spread])
    if kind in ("signs", "box"):
        sizes = [abs(c) for c in draw(vectors(d))]
        return Rademacher(sizes) if kind == "signs" else Box(sizes)
    count = draw(st.integers(1, 3))
    parts = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
    weights = [fmpq(n, sum(parts)) for n in parts]
    if kind == "atoms":
        return Atoms(draw(tables(count, d)), weights)
    return Mixture([draw(laws(d, depth - 1)) for _ in range(count)], weights)


@pytest.mark.heavy
@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=st.data(), d=st.integers(1, 3), scale=st.sampled_from([fmpq(1), fmpq(-3, 2), real_root(fmpq(2))]))
def test_a_random_operator_is_called_affine_only_where_it_is(data: st.DataObject, d: int, scale: Real) -> None:
    law, width = data.draw(laws(d)), data.draw(st.integers(1, 2))
    U, V = data.draw(tables(d, width)), data.draw(tables(data.draw(st.integers(1, 2)), d))
    found = operator(law, U, V, scale).affine()
    assume(found is not None)
    assert found is not None
    for _ in range(3):
        query = [fmpq(data.draw(st.integers(-40, 40)), data.draw(st.integers(1, 7))) for _ in range(width)]
        assert agrees(found, law, U, V, scale, query)


def test_a_mixture_with_a_weight_too_many_is_an_error() -> None:
    part, unit = Gaussian([fmpq(0)], [[fmpq(1)]]), ExactMatrix.identity(1)
    with pytest.raises(ValueError):
        Operator(Mixture([part, part], [fmpq(1, 3)] * 3), unit, unit, fmpq(1)).affine()
