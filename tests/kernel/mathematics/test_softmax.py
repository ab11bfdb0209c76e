"""Softmax over concrete prompts: the enclosures contain the sums of the definition, on kind and unkind prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from independent_means import contains, inner, is_sharp, real, reals
from mpmath import mp, mpf

from certattn.kernel.mathematics import softmax
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, Surd, real_root
from certattn.kernel.mathematics.softmax import Prompt

Rows = list[list[fmpq]]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    # 1,000 digits: scores of +-1e6 and values of 1e300 beside 1e-300 cancel fewer.
    with mp.workdps(1000):
        yield


def rows(*texts: str) -> Rows:
    """Rows of rationals: "1 -2/3", "0 5"."""
    return [[fmpq(*map(int, word.split("/"))) for word in text.split()] for text in texts]


def power(base: int, exponent: int) -> fmpq:
    return fmpq(base) ** exponent


def factor(scale: Real) -> mpf:
    return mp.sqrt(real(scale.radicand)) if isinstance(scale, Surd) else real(scale)


def truth(keys: Rows, values: Rows, scale: Real, query: Sequence[fmpq]) -> list[mpf]:
    """T(q) - v_bar from the definition."""
    q = reals(query)
    weights = [mp.exp(factor(scale) * inner(q, reals(key))) for key in keys]
    total = mp.fsum(weights)
    columns = [reals(column) for column in zip(*values, strict=True)]
    return [mp.fsum(w * v for w, v in zip(weights, c, strict=True)) / total - mp.fsum(c) / len(c) for c in columns]


def check(keys: Rows, values: Rows, queries: Rows, scale: Real = fmpq(1), *, sharp_at: int = 256) -> list[list[arb]]:  # noqa: B008
    """Enclosures at several precisions contain the truth; at `sharp_at` bits they say what it is."""
    expected = [truth(keys, values, scale, query) for query in queries]
    prompt = Prompt(ExactMatrix.rational(keys), ExactMatrix.rational(values), scale)
    found: list[list[arb]] = []
    for bits in sorted({53, 64, 128, sharp_at}):
        with working_precision(bits):
            found = prompt.outputs_from_mean(ExactMatrix.rational(queries))
        assert [len(row) for row in found] == [len(values[0])] * len(queries)
        for row, true_row in zip(found, expected, strict=True):
            for enclosure, number in zip(row, true_row, strict=True):
                # A difference that is 0 is one of 1,000-digit numbers here.
                assert contains(enclosure, number) or (abs(number) < mpf(10) ** -600 and enclosure.contains(0))
    assert all(is_sharp(entry, 30) or bool(abs(entry) < arb(2) ** -60) for row in found for entry in row)
    return found


def zeros(found: list[list[arb]]) -> bool:
    return all(entry.is_exact() and entry == 0 for row in found for entry in row)


# -- plain prompts


def test_two_tokens_by_hand() -> None:
    """Weights 1 and e^{1}: T - v_bar = e/(1 + e) - 1/2 = tanh(1/2) / 2."""
    ((found,),) = check(rows("0", "1"), rows("0", "1"), rows("1"))
    assert contains(found, mp.tanh(mpf(1) / 2) / 2)


@pytest.mark.parametrize("scale", [fmpq(1), fmpq(-1), fmpq(1, 3), real_root(fmpq(1, 2)), real_root(fmpq(1, 4))])
def test_scales(scale: Real) -> None:
    check(rows("1 2", "-1 1/3", "0 5"), rows("1 0 2", "2 -1 7", "1/7 1 1"), rows("1 1", "-2 1/2", "0 0"), scale)


def test_keys_and_values_of_different_dimensions() -> None:
    check(rows("1 2 3", "0 -1 1"), rows("5", "7"), rows("1 0 1", "1/2 1/3 1/5"))
    check(rows("1", "0", "-2"), rows("5 1 2 3", "7 1 1 1", "0 0 0 1/9"), rows("1", "-1"))


# -- unkind prompts


def test_one_token_gives_its_value() -> None:
    assert zeros(check(rows("3 -1"), rows("7/3 2"), rows("1 1", "1000000 -5")))


def test_scores_of_a_million() -> None:
    keys = rows("1000000", "-1000000", "0", "999999")
    check(keys, rows("1", "2", "3", "4"), rows("1", "-1", "1/1000000", "0"), sharp_at=4096)


def test_scores_of_a_million_that_are_all_but_equal() -> None:
    check(rows("1000000", "1000000", "999999"), rows("1", "3", "7"), rows("1", "-1"))
    keys = [[fmpq(10**6)], [fmpq(10**6) + power(10, -30)], [fmpq(10**6) - power(10, -30)]]
    check(keys, rows("1", "3", "7"), rows("1", "1000000"))


def test_a_common_offset_of_all_keys_changes_nothing() -> None:
    near = rows("1 2", "-1 1/3", "0 5")
    offset = [power(10, 300), power(10, 40)]
    far = [[entry + shift for entry, shift in zip(row, offset, strict=True)] for row in near]
    values, queries = rows("1", "2", "4"), rows("1 1", "-2 1/2")
    with working_precision(128):
        apart = Prompt(ExactMatrix.rational(far), ExactMatrix.rational(values), fmpq(1))
        close = Prompt(ExactMatrix.rational(near), ExactMatrix.rational(values), fmpq(1))
        points = ExactMatrix.rational(queries)
        left, right = apart.outputs_from_mean(points), close.outputs_from_mean(points)
    expected = [truth(near, values, fmpq(1), query) for query in queries]
    for (x,), (y,), (number,) in zip(left, right, expected, strict=True):
        assert contains(x, number)
        assert is_sharp(x, 100)
        assert x.overlaps(y)


def test_equal_scores_cancel_exactly() -> None:
    """Keys that differ, seen by queries orthogonal to the differences."""
    keys = rows("1 0", "1 5", "1 -7/3")
    assert zeros(check(keys, rows("1 2", "-3 1/9", "0 4"), rows("1 0", "1000000 0", "-1/3 0"), real_root(fmpq(1, 3))))


def test_equal_values_cancel_exactly() -> None:
    assert zeros(check(rows("1", "-2", "30"), rows("1/3 5", "1/3 5", "1/3 5"), rows("1", "100000")))


def test_a_zero_query_gives_the_mean_exactly() -> None:
    assert zeros(check(rows("1 2", "3 4", "5 6"), rows("1", "0", "1/7"), rows("0 0")))


def test_zero_tokens() -> None:
    assert zeros(check(rows("0 0", "0 0"), rows("0", "0"), rows("1 2")))
    assert zeros(check(rows("0 0", "0 0"), rows("1", "3"), rows("1 2")))


def test_duplicated_tokens_weigh_twice() -> None:
    (twice,) = check(rows("1", "1", "-1"), rows("2", "2", "5"), rows("3/2"))
    once = [(2 * mp.exp(3) * 2 + 5) / (2 * mp.exp(3) + 1) - 3]
    assert contains(twice[0], once[0])


def test_float32_subnormals_and_the_widest_exponents() -> None:
    tiny, huge = power(2, -149), power(2, 127)
    keys = [[tiny], [-tiny], [3 * tiny]]
    found = check(keys, [[huge], [tiny], [-huge]], [[fmpq(1)], [huge]], sharp_at=1024)
    assert all(entry != 0 for (entry,) in found)


def test_values_that_cancel() -> None:
    big = power(10, 300)
    check(rows("1", "-1", "0"), [[big], [-big], [fmpq(1)]], rows("0", "1/1000", "1"), sharp_at=2500)
    check(rows("1", "-1", "0"), [[big + 1], [big], [big - 1]], rows("1/1000", "1"))


def test_tiny_queries() -> None:
    """T - v_bar is about Cov(v, k) q: nothing may be lost when q is 1e-200."""
    ((found,),) = check(rows("1", "2", "4"), rows("1", "0", "3"), [[power(10, -200)]], sharp_at=1500)
    assert found < 1
    assert is_sharp(found, 30)


# -- chunks


@pytest.mark.parametrize("at_once", [1, 2, 3, 4, 6, 7, 12, 1000])
def test_chunks_leave_no_seam(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, values = rows("1 2", "-1 1/3", "0 5"), rows("1 0", "2 -1", "1/7 1")
    queries = [[fmpq(i - 3, 2), fmpq(i * i, 7)] for i in range(7)]
    prompt = Prompt(ExactMatrix.rational(keys), ExactMatrix.rational(values), fmpq(1, 2))
    with working_precision(128):
        whole = prompt.outputs_from_mean(ExactMatrix.rational(queries))
    monkeypatch.setattr(softmax, "_WEIGHTS_AT_ONCE", at_once)
    found = check(keys, values, queries, fmpq(1, 2), sharp_at=128)
    assert [[entry.str(40, more=True) for entry in row] for row in found] == [
        [entry.str(40, more=True) for entry in row] for row in whole
    ]


def test_no_more_weights_are_held_than_there_is_room_for() -> None:
    """2^18 of about 100 bytes each: of 1024 tokens those of 256 queries."""
    zeros = ExactMatrix.zero(1024, 1)
    sizes = [part.nrows() for part in Prompt(zeros, zeros, fmpq(1)).weights(ExactMatrix.zero(257, 1))]
    assert sizes == [256, 1]


# -- random prompts

numbers = st.fractions(-6, 6, max_denominator=12).map(lambda f: fmpq(f.numerator, f.denominator))
steps = st.sampled_from([power(2, -149), power(10, -30), fmpq(0), fmpq(1), fmpq(-1), fmpq(50), fmpq(-300)])


@pytest.mark.heavy
@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data(), scale=st.sampled_from([fmpq(1), fmpq(-2, 3), real_root(fmpq(1, 32)), real_root(fmpq(7))]))
def test_random_prompts(data: st.DataObject, scale: Real) -> None:
    length, keys_d, values_d = (data.draw(st.integers(1, n)) for n in (6, 3, 2))

    def table(count: int, width: int) -> Rows:
        entries = st.one_of(numbers, steps)
        return data.draw(st.lists(st.lists(entries, min_size=width, max_size=width), min_size=count, max_size=count))

    keys, values, queries = table(length, keys_d), table(length, values_d), table(2, keys_d)
    with mp.workdps(700):
        expected = [truth(keys, values, scale, query) for query in queries]
    for bits in (53, 300):
        with working_precision(bits):
            prompt = Prompt(ExactMatrix.rational(keys), ExactMatrix.rational(values), scale)
            found = prompt.outputs_from_mean(ExactMatrix.rational(queries))
        for row, true_row in zip(found, expected, strict=True):
            for enclosure, number in zip(row, true_row, strict=True):
                assert contains(enclosure, number, 300) or (abs(number) < mpf(10) ** -400 and enclosure.contains(0))
