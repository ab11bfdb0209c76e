"""Single values by exact arithmetic: the very bits that numpy computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from flint import arb, fmpq
from observed_errors import computed, relative_errors

from certattn.fast.exponential import SCORE_LIMIT, TAIL_LIMIT, own_exponential, relative_error
from certattn.fast.exponential_bound import PROOF_BITS, SIZE
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.arithmetic.binary64_exponential import (
    assemble,
    evaluate,
    is_binary64,
    relative_error_at,
    scores_to_try,
    tails_to_try,
    to_nearest,
)

OWN = own_exponential(tail=True)
RNG = np.random.default_rng(5)
SCORES = np.concatenate([
    RNG.uniform(-SCORE_LIMIT, SCORE_LIMIT, 600), RNG.standard_normal(600), RNG.standard_normal(100) * 1e-300,
    (np.arange(-200, 200) + 0.5) * np.log(2) / SIZE, [0.0, 5e-324, -5e-324, 1e-310, SCORE_LIMIT, -SCORE_LIMIT],
])  # fmt: skip


def exact(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_values_are_those_of_numpy_bit_for_bit(scale: float) -> None:
    tails = scale * RNG.uniform(-TAIL_LIMIT, TAIL_LIMIT, SCORES.shape)
    shifts = np.floor(SCORES / np.log(2))
    values = computed(SCORES, shifts, tails if scale else None)
    for score, tail, shift, value in zip(*(a.tolist() for a in (SCORES, tails, shifts, values)), strict=True):
        k, result = evaluate(OWN, exact(score), exact(tail))
        assert result * fmpq(2) ** (int(k // SIZE) - int(shift)) == exact(value)


def test_errors_are_those_that_numpy_shows() -> None:
    observed = relative_errors(SCORES, np.floor(SCORES / np.log(2)))
    with working_precision(200):
        for score, error in zip(SCORES[::7].tolist(), observed[::7].tolist(), strict=True):
            found = relative_error_at(OWN, exact(score), fmpq(0))
            assert found is not None
            assert abs(float(found) - error) <= 1e-12 * error


@pytest.mark.parametrize(
    ("changed", "score"),
    [
        ({"inverse": fmpq(2) ** 1000}, fmpq(1)),
        ({"inverse": fmpq(2) ** 1000}, fmpq(2) ** 100),
        ({"c3": fmpq(2) ** 1023, "l1": fmpq(2) ** 20}, fmpq(1)),
        # k is 0 whatever s is: far from every K that is allowed.
        ({"inverse": fmpq(0)}, fmpq(1000)),
    ],
)
def test_where_there_is_no_finite_result_there_is_no_error(changed: dict[str, fmpq], score: fmpq) -> None:
    with working_precision(PROOF_BITS):
        assert relative_error_at(dataclasses.replace(OWN, **changed), score, fmpq(0)) is None


def test_the_scores_to_try_are_scores() -> None:
    with working_precision(PROOF_BITS):
        for limit in (OWN.score_limit, fmpq(1), fmpq(1, 3), fmpq(1, 2**1074), fmpq(1, 10**400), fmpq(10) ** 300):
            function = dataclasses.replace(OWN, score_limit=limit)
            found = scores_to_try(function)
            assert 0 in found
            assert all(is_binary64(score) and abs(score) <= limit for score in found)
        found = scores_to_try(OWN)
        assert len(found) == 44
        # On both sides of 0 the score at which the reduced range ends, half a step away.
        half = arb(2).log() / (2 * SIZE)
        for side in (half, -half):
            assert any(abs(arb(score) - side) < arb(2) ** -60 for score in found)


def test_the_tails_to_try_are_tails() -> None:
    assert tails_to_try(OWN) == [0, -OWN.tail_limit, OWN.tail_limit]
    for limit in (fmpq(0), fmpq(1, 3)):
        assert tails_to_try(dataclasses.replace(OWN, tail_limit=limit)) == [0]


# -- machines that replace subnormal numbers by zero

_SMALLEST_NORMAL = fmpq(1, 2**1022)


def flushed(value: fmpq) -> fmpq:
    nearest = to_nearest(value)
    assert nearest is not None
    return fmpq(0) if abs(nearest) < _SMALLEST_NORMAL else nearest


def test_the_bound_holds_where_subnormal_numbers_are_replaced_by_zero() -> None:
    bound = relative_error(tail=True)
    tiny = [exact(x) for x in (5e-324, 2.0**-1022, 1.5 * 2.0**-1022, -3e-308, 1e-305, 0.0, 2.0**-1000, -1.0)]
    with working_precision(400):
        for score in tiny:
            for tail in (fmpq(0), *tiny[:4]):
                k = -2955 if score == -1 else 0
                entry = OWN.table.entry(0, k % SIZE)
                result = assemble(OWN, flushed(score), flushed(tail), fmpq(k), entry, flushed)
                power = fmpq(2) ** (k // SIZE)
                target = arb(score + tail).exp()
                assert abs(result * power / target - 1) <= bound
