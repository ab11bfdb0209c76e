"""Means, covariances and log-normalisers under softmax weights: the definitions are enclosed, sharply."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
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
from certattn.kernel.mathematics.softmax_moments import COVARIANCES, WeightedPrompt, weighted_prompts

Rows = list[list[fmpq]]
OF = ("values", "keys", "values-keys")


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with mp.workdps(700):
        yield


def rows(*texts: str) -> Rows:
    return [[fmpq(*map(int, word.split("/"))) for word in text.split()] for text in texts]


def factor(scale: Real) -> mpf:
    return mp.sqrt(real(scale.radicand)) if isinstance(scale, Surd) else real(scale)


def masses(keys: Rows, scale: Real, query: list[fmpq]) -> list[mpf]:
    return [mp.exp(factor(scale) * inner(reals(query), reals(key))) for key in keys]


def covariance(weights: list[mpf], left: Rows, right: Rows) -> list[list[mpf]]:
    """From the definition: around the means, one product after the other."""
    total = mp.fsum(weights)

    def around(table: Rows) -> list[list[mpf]]:
        columns = [reals(column) for column in zip(*table, strict=True)]
        means = [inner(weights, column) / total for column in columns]
        return [[x - m for x in column] for column, m in zip(columns, means, strict=True)]

    return [
        [mp.fsum(w * x * y for w, x, y in zip(weights, a, b, strict=True)) / total for b in around(right)]
        for a in around(left)
    ]


def at(prompt: Prompt, queries: Rows, bits: int) -> list[WeightedPrompt]:
    with working_precision(bits):
        return list(weighted_prompts(prompt, ExactMatrix.rational(queries)))


def check(keys: Rows, values: Rows, queries: Rows, scale: Real = fmpq(1), *, sharp_at: int = 256) -> None:  # noqa: B008
    prompt = Prompt(ExactMatrix.rational(keys), ExactMatrix.rational(values), scale)
    tables = {"values": values, "keys": keys}
    for bits in sorted({53, 64, sharp_at}):
        found = at(prompt, queries, bits)
        assert len(found) == len(queries)
        for weighted, query in zip(found, queries, strict=True):
            weights = masses(keys, scale, query)
            with working_precision(bits):
                logarithm = weighted.log_normaliser()
                assert contains(logarithm, mp.log(mp.fsum(weights)))
                for of in OF:
                    left, right = COVARIANCES[of]
                    expected = covariance(weights, tables[left], tables[right])
                    entries = weighted.covariance(of).tolist()
                    assert [len(row) for row in entries] == [len(row) for row in expected]
                    for row, true_row in zip(entries, expected, strict=True):
                        for enclosure, number in zip(row, true_row, strict=True):
                            # A difference that is 0 is one of numbers of so many digits here.
                            small = abs(number) < mpf(10) ** -(mp.dps * 4 // 5)
                            assert contains(enclosure, number, 300) or (small and enclosure.contains(0))
                            if bits == sharp_at:
                                assert is_sharp(enclosure, 30) or bool(abs(enclosure) < arb(2) ** -60)


@pytest.mark.parametrize("scale", [fmpq(1), fmpq(-1, 3), real_root(fmpq(1, 2)), real_root(fmpq(1, 4))])
def test_scales(scale: Real) -> None:
    check(rows("1 2", "-1 1/3", "0 5"), rows("1 0 2", "2 -1 7", "1/7 1 1"), rows("1 1", "-2 1/2", "0 0"), scale)


def test_scores_of_a_thousand() -> None:
    check(rows("1000", "-1000", "0", "999"), rows("1", "2", "3", "4"), rows("1", "-1", "1/1000", "0"), sharp_at=2000)


def test_two_tokens_by_hand() -> None:
    """p = 1/(1 + e) and its complement: p (1 - p) times the squared difference."""
    keys, values = ExactMatrix.rational(rows("0", "1")), ExactMatrix.rational(rows("3", "1"))
    (weighted,) = at(Prompt(keys, values, fmpq(1)), rows("1"), 128)
    with working_precision(128):
        p = 1 / (1 + mp.e)
        assert contains(weighted.covariance("values")[0, 0], 4 * p * (1 - p))
        assert contains(weighted.covariance("values-keys")[0, 0], -2 * p * (1 - p))
        assert contains(weighted.log_normaliser(), mp.log(1 + mp.e))


def test_what_is_constant_has_no_covariance_and_no_rounding() -> None:
    keys, values = (
        ExactMatrix.rational(rows("1 1/3", "5 1/3", "-2 1/3")),
        ExactMatrix.rational(rows("1/7", "1/7", "1/7")),
    )
    (weighted,) = at(Prompt(keys, values, real_root(fmpq(1, 3))), rows("1 1"), 64)
    with working_precision(64):
        assert all(entry.is_exact() and entry == 0 for entry in weighted.covariance("values").entries())
        assert all(entry.is_exact() and entry == 0 for entry in weighted.covariance("values-keys").entries())
        spread = weighted.covariance("keys").tolist()
        assert spread[0][0] > 0
        assert all(entry.is_exact() and entry == 0 for entry in (spread[0][1], spread[1][0], spread[1][1]))


def test_one_token_weighs_everything() -> None:
    keys, values = ExactMatrix.rational(rows("1 -3")), ExactMatrix.rational(rows("1/7 2"))
    (weighted,) = at(Prompt(keys, values, fmpq(1, 2)), rows("1 1"), 64)
    with working_precision(64):
        assert weighted.log_normaliser() == -1
        assert all(entry == 0 for of in OF for entry in weighted.covariance(of).entries())


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 1000])
def test_chunks_leave_no_seam(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_WEIGHTS_AT_ONCE", at_once)
    queries = [[fmpq(i - 2, 2), fmpq(i * i, 7)] for i in range(5)]
    check(rows("1 2", "-1 1/3", "0 5"), rows("1 0", "2 -1", "1/7 1"), queries, fmpq(1, 2), sharp_at=128)


def test_the_output_is_that_of_outputs_from_mean() -> None:
    prompt = Prompt(ExactMatrix.rational(rows("1 2", "0 1")), ExactMatrix.rational(rows("1", "4")), fmpq(1))
    queries = rows("1 1", "-1/2 3")
    with working_precision(64):
        whole = prompt.outputs_from_mean(ExactMatrix.rational(queries))
        single = [weighted.output_from_mean() for weighted in weighted_prompts(prompt, ExactMatrix.rational(queries))]
    assert [[entry.str(30, more=True) for entry in row] for row in whole] == [
        [entry.str(30, more=True) for entry in row] for row in single
    ]


def test_a_covariance_is_computed_once() -> None:
    keys, values = ExactMatrix.rational(rows("0", "1")), ExactMatrix.rational(rows("3", "1"))
    (weighted,) = at(Prompt(keys, values, fmpq(1)), rows("1"), 64)
    assert weighted.covariance("keys") is weighted.covariance("keys")


def test_numpy_agrees_on_a_prompt_of_floats() -> None:
    rng = np.random.default_rng(11)
    keys, values, queries = rng.integers(-64, 64, (3, 40, 5)) / 64
    exact = [ExactMatrix.dyadic(40, 5, [int(64 * x) for x in table.ravel()], -6) for table in (keys, values)]
    found = at(Prompt(*exact, fmpq(1)), [[fmpq(int(64 * x), 64) for x in query] for query in queries[:3]], 64)
    for weighted, query in zip(found, queries, strict=False):
        p = np.exp(keys @ query)
        p /= p.sum()
        centred = values - p @ values
        expected = centred.T @ (centred * p[:, None])
        shown = [[float(entry.mid()) for entry in row] for row in weighted.covariance("values").tolist()]
        assert np.allclose(shown, expected, rtol=1e-12, atol=1e-14)
        assert np.isclose(float(weighted.log_normaliser().mid()), np.log(np.exp(keys @ query).sum()), rtol=1e-13)


numbers = st.fractions(-6, 6, max_denominator=12).map(lambda f: fmpq(f.numerator, f.denominator))


@pytest.mark.heavy
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), scale=st.sampled_from([fmpq(1), fmpq(-2, 3), real_root(fmpq(1, 32))]))
def test_random_prompts(data: st.DataObject, scale: Real) -> None:
    length, keys_d, values_d = (data.draw(st.integers(1, n)) for n in (5, 2, 3))

    def table(count: int, width: int) -> Rows:
        return data.draw(st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=count, max_size=count))

    with mp.workdps(200):
        check(table(length, keys_d), table(length, values_d), table(2, keys_d), scale, sharp_at=300)
