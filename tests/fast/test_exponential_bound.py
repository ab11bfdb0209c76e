"""The proof of the bound: for the kernel's constants, for better and worse ones, and for none."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq, fmpz_mat
from observed_errors import relative_errors

from certattn.fast import exponential, exponential_bound
from certattn.fast.exponential import own_exponential, relative_error
from certattn.fast.exponential_bound import PROOF_BITS, SIZE, Exponential, relative_error_bound
from certattn.kernel.errors import BoundNotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

UNIT = 2.0**-53
OWN = own_exponential(tail=False)


def bound_of(function: Exponential, bits: int = PROOF_BITS) -> float:
    with working_precision(bits):
        return float(relative_error_bound(function).upper())


def changed(**values: Any) -> Exponential:
    return dataclasses.replace(OWN, **values)


def with_table(table: np.ndarray[Any, Any]) -> ExactMatrix:
    return ExactMatrix(fmpz_mat(1, len(table), [int(x) for x in np.ldexp(table, 60)]), 2**60)


def test_the_bound_is_what_the_page_says() -> None:
    assert 2.0388 < relative_error() / UNIT < 2.0389
    assert 2.0389 < relative_error(tail=True) / UNIT < 2.0391


def test_the_float_is_not_below_the_proved_bound() -> None:
    for tail in (False, True):
        with working_precision(300):
            assert relative_error_bound(own_exponential(tail=tail)) <= arb(relative_error(tail=tail))
        assert relative_error(tail=tail) < bound_of(own_exponential(tail=tail)) * (1 + 1e-14)


def test_the_constants_are_read_from_the_code_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a constant or of the table changes what is proved."""
    fresh = own_exponential.__wrapped__
    worse = exponential.TABLE.copy()
    worse[5] *= 1 + 2.0**-50
    for name, value in (("C2", 0.5), ("L2", 0.0), ("TABLE", worse), ("SCORE_LIMIT", 1.0), ("INVERSE", 2955.0)):
        with monkeypatch.context() as patch:
            patch.setattr(exponential, name, value)
            assert fresh(tail=False) != OWN
    assert fresh(tail=False) == OWN


def test_the_proof_is_quick_enough_for_every_process() -> None:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        bound_of(OWN)
        seconds.append(time.perf_counter() - start)
    # About 1.3 ms.
    assert min(seconds) < 0.05


@pytest.mark.parametrize("bits", [100, 128, 256, 1000])
def test_the_precision_does_not_matter(bits: int) -> None:
    assert bound_of(OWN, bits) == pytest.approx(bound_of(OWN), rel=1e-12)


# -- other constants: the bound follows what they do

L1, L2, INVERSE, C2, C3 = OWN.l1, OWN.l2, OWN.inverse, OWN.c2, OWN.c3


def test_taylor_s_coefficients_are_a_little_worse() -> None:
    assert 2.29 < bound_of(changed(c2=fmpq(1, 2))) / UNIT < 2.30


def moved_entry(index: int, units: int) -> ExactMatrix:
    table = exponential.TABLE.copy()
    table[index] += units * 2.0**-52
    return with_table(table)


def swapped_entries() -> ExactMatrix:
    table = exponential.TABLE.copy()
    table[[700, 701]] = table[[701, 700]]
    return with_table(table)


WEAKER = {
    "C2 off by 1e-6": ({"c2": C2 + fmpq(1, 10**6)}, 200),
    "C2 off by 1e-9": ({"c2": C2 + fmpq(1, 10**9)}, 2.15),
    "C3 off by 1e-3": ({"c3": C3 + fmpq(1, 10**3)}, 40),
    "L2 off by 1e-6": ({"l2": L2 * fmpq(1000001, 1000000)}, 100000),
    "L1 off by 2^-39": ({"l1": L1 + fmpq(1, 2**39)}, 10**11),
    "no L2": ({"l2": fmpq(0)}, 10**9),
    "1/L off by 1e-9": ({"inverse": INVERSE * fmpq(10**9 + 1, 10**9)}, 2.05),
    "entry 0 a unit up": ({"table": moved_entry(0, 1)}, 3.0),
    "entry 1000 a unit up": ({"table": moved_entry(1000, 1)}, 2.1),
    "entry 1000 a unit down": ({"table": moved_entry(1000, -1)}, 2.1),
    "entry 2047 a unit up": ({"table": moved_entry(2047, 1)}, 2.1),
    "two entries swapped": ({"table": swapped_entries()}, 10**12),
}


@pytest.mark.parametrize("name", WEAKER)
def test_worse_constants_have_a_weaker_bound_or_none(name: str) -> None:
    values, at_least = WEAKER[name]
    try:
        assert bound_of(changed(**values)) / UNIT > at_least
    except BoundNotProvedError:
        pytest.fail("a bound was expected, if a weak one")


@pytest.mark.parametrize("name", [n for n in WEAKER if "table" not in WEAKER[n][0]])
def test_the_weaker_bound_is_still_a_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code with the worse constants errs by more than the usual bound, and by no more than theirs."""
    values, _ = WEAKER[name]
    ((field, value),) = values.items()
    rounded = float(value.p) / float(value.q)
    names = {"l1": "L1", "c2": "C2", "c3": "C3", "l2": "L2", "inverse": "INVERSE"}
    monkeypatch.setattr(exponential, names[field], rounded)
    scores = np.random.default_rng(3).uniform(-11000, 11000, 3000)
    errors = relative_errors(scores, np.floor(scores / np.log(2)))
    exactly = changed(**{field: fmpq(*rounded.as_integer_ratio())})
    assert errors.max() <= bound_of(exactly)
    if "1e-9" not in name:
        assert errors.max() > relative_error()


NOT_PROVED = {
    "L1 of more than 28 bits": ({"l1": L1 + fmpq(1, 2**45)}, "k L1 is exact"),
    "L1 off by 2^-36": ({"l1": L1 + fmpq(1, 2**36)}, "s - k L1 is exact"),
    "no L1": ({"l1": fmpq(0)}, "s - k L1 is exact"),
    "1/L off by 1e-7": ({"inverse": INVERSE * fmpq(10**7 + 1, 10**7)}, "s / L is computed"),
    "no 1/L": ({"inverse": fmpq(0)}, "s / L is computed"),
    "scores up to 22000": ({"score_limit": fmpq(22000)}, "k L1 is exact"),
    "scores up to 10^15": ({"score_limit": fmpq(10) ** 15}, "s / L is computed"),
    "tails up to 1": ({"tail_limit": fmpq(1)}, "less than 1/"),
    "C2 of 2^999": ({"c2": fmpq(2) ** 999}, "less than 1/4"),
    "C2 of 2^1001": ({"c2": fmpq(2) ** 1001}, "no operation overflows"),
    "entries 0": ({"table": ExactMatrix.zero(1, SIZE)}, "the table is near"),
    "2047 entries": ({"table": with_table(exponential.TABLE[:-1])}, "2048 entries"),
    "a column of entries": ({"table": own_exponential(tail=False).table.T}, "2048 entries"),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_without_its_conditions_there_is_no_bound(name: str) -> None:
    values, words = NOT_PROVED[name]
    with pytest.raises(BoundNotProvedError, match=words):
        bound_of(changed(**values))


def test_at_a_low_precision_nothing_is_proved_that_is_false() -> None:
    for bits in (2, 10, 20, 40, 60, 80):
        try:
            bound = bound_of(OWN, bits)
        except BoundNotProvedError:
            continue
        assert bound >= bound_of(OWN) * (1 - 1e-15)


def test_a_process_without_a_proof_gets_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponential, "own_exponential", lambda *, tail: changed(l1=fmpq(0)))
    with pytest.raises(BoundNotProvedError, match="s - k L1"):
        exponential.relative_error.__wrapped__()
    monkeypatch.setattr(exponential, "own_exponential", lambda *, tail: changed(c2=fmpq(1)))
    with pytest.raises(BoundNotProvedError, match="no useful bound"):
        exponential.relative_error.__wrapped__()


def test_the_errors_of_the_table_are_those_of_its_entries() -> None:
    with working_precision(PROOF_BITS):
        errors = exponential_bound.table_errors(OWN.table)
        step = arb(2).log() / SIZE
        for j, (entry, error) in enumerate(zip(OWN.table.row(0), errors, strict=True)):
            assert abs(error - abs(entry / (j * step).exp() - 1)) < 1e-30


@pytest.mark.parametrize(
    "constants",
    [(C2, C3), (fmpq(1, 2), fmpq(1, 6)), (C2 + fmpq(1, 10**7), C3), (C2, fmpq(0)), (fmpq(0x800000051FF5, 2**48), C3)],
)
def test_the_approximation_error_is_a_bound_and_close(constants: tuple[fmpq, fmpq]) -> None:
    c2, c3 = constants
    with working_precision(200):
        radius = arb(2).log() / SIZE / 2
        bound = exponential_bound._approximation_error(changed(c2=c2, c3=c3), radius)
        largest = arb(0)
        for i in range(-2000, 2001):
            r = radius * i / 2000
            largest = largest.max(abs(r * (1 + r * (c2 + c3 * r)) - (r.exp() - 1)))
        assert largest <= bound <= largest * arb("1.001")
