"""Printed numbers decide as the enclosures do, and bounds are rounded to the safe side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoProof, Number, Obligation, Part, Relation
from certattn.kernel.decide.proof import Proof
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.statements.digits import show, show_upper, to_dict

Told = dict[str, Any]


def told(relation: Relation, left: Number, right: Number, part: Part = Part.STATEMENT) -> Told:
    """An obligation, decided at the working precision, as reports show it."""
    proof = Proof([Obligation("a", left, relation, right, part)])
    proof.ask(["a"], ctx.prec)
    return to_dict(proof.answers["a"], "s")


def test_a_bound_is_shown_by_the_end_that_decides_rounded_upwards() -> None:
    for ball, shown in ((arb("0.0099979496", "1e-12"), "0.00999795"), (arb(1, arb("0.3")), "1.30001"),
                        (arb(12345678), "12345700"), (arb(0), "0"), (arb(1), "1")):  # fmt: skip
        assert show_upper(ball) == shown
    for exponent in range(-40, 40, 3):
        ball = arb(fmpq(1, 3)) * arb(10) ** exponent
        found = arb(show_upper(ball))
        assert (found >= ball.upper()) is True
        assert (found <= ball.upper() * (1 + arb(10) ** -5)) is True
    assert show_upper(arb("nan")) == "nan"


def test_a_bound_of_millions_of_digits_is_shown_at_once() -> None:
    for ball, shown in ((arb(-(10**6)).exp(), "3.29684e-434295"), (arb(10) ** -700, "1.00001e-700"),
                        (arb(2) ** -2100, "6.87083e-633"), (arb(10**7).exp(), "6.59224e4342944")):  # fmt: skip
        assert show_upper(ball) == shown
        assert (arb(shown) >= ball) is True
    assert "/" in format_rational(fmpq(1, 5) ** 10**5)


def test_what_is_not_proved_says_why_and_is_called_unproved() -> None:
    proof = Proof([NoProof("a", "a reason")])
    shown = to_dict(proof.answers["a"], "the words")
    assert (shown["sentence"], shown["left"], shown["relation"], shown["right"]) == ("the words", "a reason", "", "")
    assert (shown["outcome"], shown["part"]) == ("unproved", "witness")
    assert told("<=", arb(2), fmpq(1), Part.WITNESS)["outcome"] == "unproved"
    assert told("<=", arb(0), fmpq(1), Part.WITNESS)["outcome"] == "proved"


def test_nothing_is_added_to_the_words_of_what_is_not_decided() -> None:
    assert told("<=", arb("nan"), fmpq(1))["sentence"] == "s"


def test_of_matrices_the_first_different_entry_is_shown() -> None:
    left = ExactMatrix.rational([[fmpq(1), fmpq(2)]])
    same = told("=", left, ExactMatrix.rational([[fmpq(2, 2), fmpq(4, 2)]]))
    assert (same["outcome"], same["left"], same["sentence"]) == ("proved", "(1, 2)", "s")
    other = told("=", left, left.T)
    assert (other["outcome"], other["left"], other["right"]) == ("refuted", "(1, 2)", "(2, 1)")
    off = told("=", left, ExactMatrix.rational([[fmpq(1), fmpq(2) + fmpq(1, 10**40)]]))
    assert (off["outcome"], off["left"], off["sentence"]) == ("refuted", "2", "s (entry 0, 1)")


def test_shown_numbers_are_right() -> None:
    assert show(fmpq(1, 3)) == "1/3"
    long = fmpq(10**80 + 1, 3 * 10**80)
    with working_precision(400):
        assert arb(show(long)).contains(long)
        assert arb(show(arb(2).sqrt())).overlaps(arb(2).sqrt())


def test_both_sides_of_a_false_inequality_look_different() -> None:
    with working_precision(2000):
        for places in (10, 17, 50, 300):
            shown = told("<=", arb(1) + arb(10) ** -places, fmpq(1))
            assert shown["outcome"] == "refuted"
            assert arb(shown["left"]) > 1, places


def test_the_printed_balls_show_the_outcome() -> None:
    """A ball of 15 digits is wider than the one that decided, and may hold the bound."""
    with working_precision(128):
        value, bound = arb(fmpq(7216441635219333633, 10**18)), fmpq(72164416352193336164, 10**19)
        for obligation, outcome in ((told("<=", value, bound), "refuted"), (told(">=", value, bound), "proved")):
            shown = obligation
            assert shown["outcome"] == outcome
            assert (arb(shown["left"]) > bound) is True


def test_a_wide_ball_is_printed_with_the_digits_that_decide() -> None:
    """[0.037 +/- 5.94e-4] <= 0.0375 would show nothing: the middle of a wide ball needs its digits."""
    with working_precision(64):
        shown = told("<=", arb("0.03689", "5.94e-4"), fmpq(375, 10_000))
        assert (shown["outcome"], shown["sentence"]) == ("proved", "s")
        assert arb(shown["left"]) <= fmpq(375, 10_000)
        # Two balls, too.
        shown = told("<", arb("0.03689", "5.94e-4"), arb("0.0375", "1e-6"))
        assert (shown["outcome"], shown["sentence"]) == ("proved", "s")
        assert arb(shown["left"]) < arb(shown["right"])


@pytest.mark.parametrize(("places", "digits"), [(10, 15), (20, 30), (45, 60), (100, 120), (400, 1000)])
def test_as_many_digits_are_shown_as_tell_the_sides_apart(places: int, digits: int) -> None:
    with working_precision(4000):
        shown = told("<=", arb(1) / 3, fmpq(1, 3) + fmpq(1, 10**places))
    assert shown["outcome"] == "proved"
    assert shown["left"].split(" ")[0] == "[0." + "3" * digits


def test_a_wide_ball_is_shown_with_the_digits_of_its_middle_only_where_these_are_needed() -> None:
    with working_precision(128):
        wide = arb("0.03689", "5.94e-4")
        assert told("<=", wide, fmpq(1))["left"] == show(wide) == "[0.037 +/- 7.05e-4]"
        # The bound is nearer than half a unit of the last digit that the radius leaves.
        close = arb(arb("0.1234567890123456789012").mid(), arb("1e-18"))
        shown = told("<=", close, fmpq(1234567890123456799512, 10**22))
        assert (shown["outcome"], shown["sentence"]) == ("proved", "s")
        assert shown["left"] == "[0.123456789012345678901200000000 +/- 1.01e-18]"
        # Of a ball around the bound, on which side its middle is; 100 and 100.000 look the same.
        around = arb(arb("100.00000000000000001").mid(), arb("1e-16"))
        shown = told("<=", around, fmpq(100))
        assert shown["outcome"] == "undecided"
        assert shown["left"].startswith("[100.00000000000000001")


def test_a_fraction_that_is_printed_as_a_ball_counts_as_that_ball() -> None:
    """...3334999 and ...3335005, rounded: balls that touch show nothing, though the fraction is above the first."""
    with working_precision(300):
        left, right = arb("0.3333333333333334999"), fmpq(3333333333333335005, 10**19) + fmpq(1, 3 * 10**60)
        assert (show(left), show(right)) == ("[0.333333333333333 +/- 5.00e-16]", "[0.333333333333334 +/- 5.01e-16]")
        shown = told("<=", left, right)
        assert (arb(shown["left"]) <= arb(shown["right"])) is True


def test_fractions_are_shown_exactly_up_to_60_characters() -> None:
    for zeros, shown in ((57, "1/3" + "0" * 57), (58, "[3.33333333333333e-59 +/- 3.34e-74]")):
        assert show(fmpq(1, 3 * 10**zeros)) == shown


@pytest.mark.parametrize(
    ("obligation", "end", "bound"),
    [
        (lambda ball: told("<=", ball, fmpq(13001, 10_000)), "1.3000000", "1.3001"),
        (lambda ball: told(">=", ball, fmpq(69_999, 100_000)), "0.69999999", "0.69999"),
        (lambda ball: told("<=", ball, fmpq(69_999, 100_000)), "0.69999999", "0.69999"),
        (lambda ball: told("<", ball, arb("1.3001")), "1.3000000", "1.300100000"),
        (lambda ball: told(">", arb("1.3001"), ball), "1.30010000", "1.3000000"),
    ],
)
def test_a_ball_too_wide_to_be_printed_as_it_decides_says_its_end(
    obligation: Callable[[arb], Told], end: str, bound: str
) -> None:
    """A printed radius has three digits and is rounded up: 1 +/- 0.301 for what ends at 1.3."""
    with working_precision(64):
        shown = obligation(arb(1, arb("0.3")))
    assert shown["outcome"] != "undecided"
    said = shown["sentence"].removeprefix("s (the balls are printed wider than they are; the ends that decide are ")
    left, right = said.removesuffix(")").split(" and ")
    assert left.lstrip("[").startswith(end)
    assert right.lstrip("[").startswith(bound)
    # Beside its end the ball itself, with the digits of its middle.
    assert show(arb(1, arb("0.3")), more=True) in (shown["left"], shown["right"])
    assert len(shown["left"]) < 40


def test_a_ball_that_is_its_bound_exactly_is_shown_in_few_digits() -> None:
    shown = told("<=", arb(100), fmpq(100))
    assert (shown["left"], shown["right"], shown["outcome"]) == ("100.000000000000", "100", "proved")
    assert told("<", fmpq(1, 2), arb(1) / 2)["right"] == "0.500000000000000"


def test_equal_fractions_are_not_said_to_be_balls() -> None:
    assert told("<=", fmpq(1, 3), fmpq(1, 3))["sentence"] == "s"
    assert told("<=", arb(0), fmpq(0))["sentence"] == "s"
