"""Stages of the linearisation in Arb, against their definitions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, fmpq
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.linearization import STAGES, normaliser_excess, parts, wasserstein

QUERIES = [[Fraction(1), Fraction(-2)], [Fraction(1, 3), Fraction(5)], [Fraction(0), Fraction(0)]]
KEYS = [[Fraction(7), Fraction(1, 2)], [Fraction(-1), Fraction(1)], [Fraction(2), Fraction(2)]]
SCALE, RATE = Fraction(2, 7), Fraction(3, 11)


def exact(table: list[list[Fraction]]) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(x.numerator, x.denominator) for x in row] for row in table])


def definition() -> tuple[list[list[mpf]], list[list[mpf]], list[mpf], list[list[mpf]]]:
    """M, L, tbar and T Pi, from the definitions."""
    scores = [[SCALE * sum(a * b for a, b in zip(q, k, strict=True)) for k in KEYS] for q in QUERIES]
    halves = [RATE * sum(x * x for x in q) for q in QUERIES]

    def real(x: Fraction) -> mpf:
        return mpf(x.numerator) / x.denominator

    root, M, L, means, TP = mp.sqrt(3), [], [], [], []
    for row, half in zip(scores, halves, strict=True):
        weights = [mp.exp(real(score)) for score in row]
        M.append([root * (weight / sum(weights) - mpf(1) / 3) for weight in weights])
        L.append([real(score - sum(row) / 3) / root for score in row])
        t = [mp.exp(real(score - half)) - 1 for score in row]
        means.append(sum(t) / 3)
        TP.append([(entry - sum(t) / 3) / root for entry in t])
    return M, L, means, TP


def near(found: arb, value: mpf) -> bool:
    return bool(abs(found - arb(mp.nstr(value, 60))) < arb(10) ** -45)


def test_parts_and_stages_are_the_definitions() -> None:
    with mp.workdps(70), working_precision(200):
        M, L, means, TP = definition()
        found = parts(exact(QUERIES), exact(KEYS), fmpq(2, 7), fmpq(3, 11))
        assert all(near(ball, mean) for ball, mean in zip(found.excess, means, strict=True))

        def less(first: list[list[mpf]], second: list[list[mpf]]) -> list[list[mpf]]:
            return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(first, second, strict=True)]

        meant = {
            "attention": M, "scores": TP, "linear": L, "attention_less_scores": less(M, TP),
            "scores_less_linear": less(TP, L), "attention_less_linear": less(M, L),
        }  # fmt: skip
        assert meant.keys() == STAGES.keys()
        for name, rows in meant.items():
            made = found.rows(STAGES[name])
            assert all(near(x, y) for a, b in zip(made, rows, strict=True) for x, y in zip(a, b, strict=True)), name


def test_without_a_rate_there_are_no_means() -> None:
    with working_precision(64):
        found = parts(exact(QUERIES), exact(KEYS), fmpq(2, 7), None)
        assert found.excess == []
        assert len(found.rows(STAGES["attention_less_linear"])) == 3


def test_equal_keys_give_zeros() -> None:
    with working_precision(64):
        found = parts(exact(QUERIES), exact([KEYS[0]] * 3), fmpq(1), fmpq(1))
        for stage in STAGES.values():
            assert all(entry.is_zero() for row in found.rows(stage) for entry in row)


@pytest.mark.parametrize(("exponent", "value"), [(arb(0), -fmpq(1, 2)), (arb(2).log(), fmpq(0))])
def test_the_mean_of_t(exponent: arb, value: fmpq) -> None:
    with working_precision(64):
        assert normaliser_excess(arb(2), exponent, 4).contains(arb(value))


def test_the_wasserstein_distance_of_numbers_in_order() -> None:
    with working_precision(64):
        found = wasserstein([arb(5), arb(1)], [arb(2), arb(-3)])
        assert found.contains((arb(25) / 2).sqrt())
        assert wasserstein([arb(1, 0.1)], [arb(1, 0.1)]).contains(arb(0))
