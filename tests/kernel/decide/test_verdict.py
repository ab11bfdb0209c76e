"""Nothing is verified but what is proved: obligations, the verdict over them, and the exit status."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from flint import arb, fmpq

from certattn.kernel.decide.obligation import Part
from certattn.kernel.decide.reports import Report, exit_status
from certattn.kernel.decide.verdict import (
    DOUBLE,
    Obligation,
    Outcome,
    Verdict,
    above,
    at_least,
    at_most,
    below,
    identical,
    show,
    unproved,
    verdict_of,
)
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

NOTHING = {
    "nan": arb("nan"),
    "+inf": arb("+inf"),
    "-inf": arb("-inf"),
    "the whole line": arb("[0 +/- inf]"),
    "nan with a radius": arb("nan") + arb(0, 1),
    "1 / 0": arb(1) / arb(0, 1),
    "log of a ball with negative points": arb(0, 1).log(),
    "e^(e^1000)": arb(1000).exp().exp() * 0 + arb(1) / 0,
}


# -- one obligation


@pytest.mark.parametrize("ball", NOTHING.values(), ids=NOTHING.keys())
@pytest.mark.parametrize("bound", [fmpq(0), fmpq(1), fmpq(-1), fmpq(10) ** 400])
def test_a_ball_that_says_nothing_decides_nothing(ball: arb, bound: fmpq) -> None:
    assert at_most("a", "s", ball, bound, 64).outcome is Outcome.UNDECIDED
    assert at_least("a", "s", ball, bound, 64).outcome is Outcome.UNDECIDED


def test_a_false_bound_on_a_bound_refutes_nothing() -> None:
    """What is too large is only a bound on the stated quantity: there is no proof, and no counterproof."""
    for inequality, bound in ((at_most, fmpq(1)), (at_least, fmpq(3))):
        false = inequality("a", "s", arb(2), bound, 64, part=Part.WITNESS)
        assert (false.outcome, false.part) == (Outcome.REFUTED, Part.WITNESS)
        assert verdict_of(["a"], [false]) is Verdict.REJECTED
        assert verdict_of(["a"], [inequality("a", "s", arb(2), bound, 64)]) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("value", "bound", "upper", "lower"),
    [
        (arb(1), fmpq(2), Outcome.PROVED, Outcome.REFUTED),
        (arb(2), fmpq(1), Outcome.REFUTED, Outcome.PROVED),
        (arb(1), fmpq(1), Outcome.PROVED, Outcome.PROVED),
        (arb(0), fmpq(0), Outcome.PROVED, Outcome.PROVED),
        (arb(1, 1), fmpq(1), Outcome.UNDECIDED, Outcome.UNDECIDED),
        (arb(1, arb((1, -60))), fmpq(1), Outcome.UNDECIDED, Outcome.UNDECIDED),
        (arb(0, 1), fmpq(3), Outcome.PROVED, Outcome.REFUTED),
        (arb(0, 1), fmpq(-3), Outcome.REFUTED, Outcome.PROVED),
        # Ends that touch the bound from inside: `<=` holds at every point; `>` does not.
        (arb((1, -1), (1, -1)), fmpq(1), Outcome.PROVED, Outcome.UNDECIDED),
        (arb((3, -1), (1, -1)), fmpq(1), Outcome.UNDECIDED, Outcome.PROVED),
        (arb(-1), fmpq(0), Outcome.PROVED, Outcome.REFUTED),
    ],
)
def test_a_ball_decides_only_if_all_its_points_agree(value: arb, bound: fmpq, upper: Outcome, lower: Outcome) -> None:
    assert at_most("a", "s", value, bound, 64).outcome is upper
    assert at_least("a", "s", value, bound, 64).outcome is lower


@pytest.mark.parametrize("digits", [10, 30, 60])
def test_a_bound_that_is_no_binary_fraction_is_compared_soundly(digits: int) -> None:
    """1/3 against decimals that are just above and just below it."""
    below, above = fmpq(10**digits // 3, 10**digits), fmpq(10**digits // 3 + 1, 10**digits)
    outcomes = {}
    for bits in (16, 64, 256):
        with working_precision(bits):
            third = arb(fmpq(1, 3))
            outcomes[bits] = (
                at_most("a", "s", third, above, bits).outcome,
                at_most("a", "s", third, below, bits).outcome,
            )
            assert at_most("a", "s", third, fmpq(1, 3), bits).outcome is Outcome.UNDECIDED
    for upper, lower in outcomes.values():
        assert upper in (Outcome.PROVED, Outcome.UNDECIDED)
        assert lower in (Outcome.REFUTED, Outcome.UNDECIDED)
    assert outcomes[256] == (Outcome.PROVED, Outcome.REFUTED)


def test_identical_matrices_must_agree_in_shape_and_every_entry() -> None:
    left = ExactMatrix.rational([[fmpq(1), fmpq(2)]])
    assert identical("a", "s", left, ExactMatrix.rational([[fmpq(2, 2), fmpq(4, 2)]])).outcome is Outcome.PROVED
    assert identical("a", "s", left, left.T).outcome is Outcome.REFUTED
    off = identical("a", "s", left, ExactMatrix.rational([[fmpq(1), fmpq(2) + fmpq(1, 10**40)]]))
    assert off.outcome is Outcome.REFUTED
    assert "entry 0, 1" in off.sentence


def test_what_is_unproved_rejects_the_witness_and_never_refutes() -> None:
    obligation = unproved("a", "s", "no proof")
    assert (obligation.outcome, obligation.part) == (Outcome.REFUTED, Part.WITNESS)
    assert verdict_of(["a"], [obligation]) is Verdict.REJECTED


def test_the_bits_of_a_double_are_those_of_this_machine() -> None:
    assert sys.float_info.mant_dig == DOUBLE


def test_nothing_is_added_to_the_words_of_what_is_not_decided_by_balls() -> None:
    assert unproved("a", "the words", "a reason").to_dict()["sentence"] == "the words"
    assert at_most("a", "the words", arb("nan"), fmpq(1), 64).to_dict()["sentence"] == "the words"


def test_an_obligation_cannot_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        at_most("a", "s", arb(2), fmpq(1), 64).outcome = Outcome.PROVED  # type: ignore[misc]


def test_shown_numbers_are_right() -> None:
    assert show(fmpq(1, 3)) == "1/3"
    assert show("no proof") == "no proof"
    long = fmpq(10**80 + 1, 3 * 10**80)
    with working_precision(400):
        assert arb(show(long)).contains(long)
        assert arb(show(arb(2).sqrt())).overlaps(arb(2).sqrt())


def test_both_sides_of_a_false_inequality_look_different() -> None:
    with working_precision(2000):
        for places in (10, 17, 50, 300):
            shown = at_most("a", "s", arb(1) + arb(10) ** -places, fmpq(1), 2000).to_dict()
            assert shown["outcome"] == "refuted"
            assert arb(shown["left"]) > 1, places


def test_the_printed_balls_show_the_outcome() -> None:
    """A ball of 15 digits is wider than the one that decided, and may hold the bound."""
    with working_precision(128):
        value, bound = arb(fmpq(7216441635219333633, 10**18)), fmpq(72164416352193336164, 10**19)
        for obligation, outcome in (
            (at_most("a", "s", value, bound, 128), "refuted"),
            (at_least("a", "s", value, bound, 128), "proved"),
        ):
            shown = obligation.to_dict()
            assert shown["outcome"] == outcome
            assert (arb(shown["left"]) > bound) is True


def test_a_wide_ball_is_printed_with_the_digits_that_decide() -> None:
    """[0.037 +/- 5.94e-4] <= 0.0375 would show nothing: the middle of a wide ball needs its digits."""
    with working_precision(64):
        shown = at_most("a", "s", arb("0.03689", "5.94e-4"), fmpq(375, 10_000), 64).to_dict()
        assert (shown["outcome"], shown["sentence"]) == ("proved", "s")
        assert arb(shown["left"]) <= fmpq(375, 10_000)
        # Two balls, too.
        shown = below("a", "s", arb("0.03689", "5.94e-4"), arb("0.0375", "1e-6"), 64).to_dict()
        assert (shown["outcome"], shown["sentence"]) == ("proved", "s")
        assert arb(shown["left"]) < arb(shown["right"])


@pytest.mark.parametrize(("places", "digits"), [(10, 15), (20, 30), (45, 60), (100, 120), (400, 1000)])
def test_as_many_digits_are_shown_as_tell_the_sides_apart(places: int, digits: int) -> None:
    with working_precision(4000):
        shown = at_most("a", "s", arb(1) / 3, fmpq(1, 3) + fmpq(1, 10**places), 4000).to_dict()
    assert shown["outcome"] == "proved"
    assert shown["left"].split(" ")[0] == "[0." + "3" * digits


def test_a_wide_ball_is_shown_with_the_digits_of_its_middle_only_where_these_are_needed() -> None:
    with working_precision(128):
        wide = arb("0.03689", "5.94e-4")
        assert at_most("a", "s", wide, fmpq(1), 128).to_dict()["left"] == show(wide) == "[0.037 +/- 7.05e-4]"
        # The bound is nearer than half a unit of the last digit that the radius leaves.
        close = arb(arb("0.1234567890123456789012").mid(), arb("1e-18"))
        shown = at_most("a", "s", close, fmpq(1234567890123456799512, 10**22), 128).to_dict()
        assert (shown["outcome"], shown["sentence"]) == ("proved", "s")
        assert shown["left"] == "[0.123456789012345678901200000000 +/- 1.01e-18]"
        # Of a ball around the bound, on which side its middle is; 100 and 100.000 look the same.
        around = arb(arb("100.00000000000000001").mid(), arb("1e-16"))
        shown = at_most("a", "s", around, fmpq(100), 128).to_dict()
        assert shown["outcome"] == "undecided"
        assert shown["left"].startswith("[100.00000000000000001")


def test_a_fraction_that_is_printed_as_a_ball_counts_as_that_ball() -> None:
    """...3334999 and ...3335005, rounded: balls that touch show nothing, though the fraction is above the first."""
    with working_precision(300):
        left, right = arb("0.3333333333333334999"), fmpq(3333333333333335005, 10**19) + fmpq(1, 3 * 10**60)
        assert (show(left), show(right)) == ("[0.333333333333333 +/- 5.00e-16]", "[0.333333333333334 +/- 5.01e-16]")
        shown = at_most("a", "s", left, right, 300).to_dict()
        assert (arb(shown["left"]) <= arb(shown["right"])) is True


def test_fractions_are_shown_exactly_up_to_60_characters() -> None:
    for zeros, shown in ((57, "1/3" + "0" * 57), (58, "[3.33333333333333e-59 +/- 3.34e-74]")):
        assert show(fmpq(1, 3 * 10**zeros)) == shown


def test_a_side_in_words_is_shown_as_it_is() -> None:
    for left, right in ((arb(1), "words"), ("words", arb(1))):
        shown = Obligation("a", "s", left, "<=", right, Outcome.PROVED, 64).to_dict()
        assert "words" in (shown["left"], shown["right"])
        assert shown["sentence"] == "s"


@pytest.mark.parametrize(
    ("obligation", "end", "bound"),
    [
        (lambda ball: at_most("a", "s", ball, fmpq(13001, 10_000), 64), "1.3000000", "1.3001"),
        (lambda ball: at_least("a", "s", ball, fmpq(69_999, 100_000), 64), "0.69999999", "0.69999"),
        (lambda ball: at_most("a", "s", ball, fmpq(69_999, 100_000), 64), "0.69999999", "0.69999"),
        (lambda ball: below("a", "s", ball, arb("1.3001"), 64), "1.3000000", "1.300100000"),
        (lambda ball: above("a", "s", arb("1.3001"), ball, 64), "1.30010000", "1.3000000"),
    ],
)
def test_a_ball_too_wide_to_be_printed_as_it_decides_says_its_end(
    obligation: Callable[[arb], Obligation], end: str, bound: str
) -> None:
    """A printed radius has three digits and is rounded up: 1 +/- 0.301 for what ends at 1.3."""
    with working_precision(64):
        made = obligation(arb(1, arb("0.3")))
        shown = made.to_dict()
    assert made.outcome is not Outcome.UNDECIDED
    said = shown["sentence"].removeprefix("s (the balls are printed wider than they are; the ends that decide are ")
    left, right = said.removesuffix(")").split(" and ")
    assert left.lstrip("[").startswith(end)
    assert right.lstrip("[").startswith(bound)
    # Beside its end the ball itself, with the digits of its middle.
    assert show(arb(1, arb("0.3")), more=True) in (shown["left"], shown["right"])
    assert len(shown["left"]) < 40


def test_a_ball_that_is_its_bound_exactly_is_shown_in_few_digits() -> None:
    shown = at_most("name", "sentence", arb(100), fmpq(100), 64).to_dict()
    assert (shown["left"], shown["right"], shown["outcome"]) == ("100.000000000000", "100", "proved")
    assert below("name", "sentence", fmpq(1, 2), arb(1) / 2, 64).to_dict()["right"] == "0.500000000000000"


def test_equal_fractions_are_not_said_to_be_balls() -> None:
    assert at_most("a", "s", fmpq(1, 3), fmpq(1, 3)).to_dict()["sentence"] == "s"
    assert at_most("a", "s", arb(0), fmpq(0), 64).to_dict()["sentence"] == "s"


def test_what_only_bounds_the_statement_is_unproved_when_false() -> None:
    assert unproved("a", "s", "no proof").to_dict()["outcome"] == "unproved"
    assert at_most("a", "s", arb(2), fmpq(1), 64, part=Part.WITNESS).to_dict()["outcome"] == "unproved"
    assert at_most("a", "s", arb(0), fmpq(1), 64, part=Part.WITNESS).to_dict()["outcome"] == "proved"


# -- the verdict over all obligations

PROVED = at_most("?", "s", arb(0), fmpq(1), 64)
REFUTED = at_most("?", "s", arb(2), fmpq(1), 64)
UNDECIDED = at_most("?", "s", arb("nan"), fmpq(1), 64)
NO_PROOF = unproved("?", "s", "no proof")


def named(**outcomes: Obligation) -> list[Obligation]:
    return [replace(obligation, name=name) for name, obligation in outcomes.items()]


ALL = named(a=PROVED, b=PROVED, c=PROVED)
A, B, C = ALL
NAMES = ["a", "b", "c"]


def test_all_proved_is_verified() -> None:
    assert verdict_of(NAMES, ALL) is Verdict.VERIFIED
    assert verdict_of(["a"], [A]) is Verdict.VERIFIED


INCOMPLETE = {
    "no obligations and no names": ([], []),
    "no obligations": (NAMES, []),
    "no names": ([], ALL),
    "one missing": (NAMES, [A, B]),
    "the first missing": (NAMES, [B, C]),
    "one twice": (NAMES, [A, B, C, C]),
    "one instead of another": (NAMES, [A, B, B]),
    "one too many": (NAMES, [*ALL, *named(d=PROVED)]),
    "one renamed": (NAMES, named(a=PROVED, b=PROVED, x=PROVED)),
    "one renamed in case only": (NAMES, named(a=PROVED, b=PROVED, C=PROVED)),
    "another order": (NAMES, [B, A, C]),
    "a name expected twice": (["a", "a"], [A, A]),
    "one undecided": (NAMES, named(a=PROVED, b=UNDECIDED, c=PROVED)),
    "all undecided": (NAMES, named(a=UNDECIDED, b=UNDECIDED, c=UNDECIDED)),
}


@pytest.mark.parametrize(("names", "obligations"), INCOMPLETE.values(), ids=INCOMPLETE.keys())
def test_what_is_not_exactly_the_expected_obligations_is_inconclusive(
    names: list[str], obligations: list[Obligation]
) -> None:
    assert verdict_of(names, obligations) is Verdict.INCONCLUSIVE


def test_every_combination_of_outcomes() -> None:
    """A refuted statement is louder than a rejected witness, that than an undecided obligation."""
    for kinds in itertools.product([PROVED, REFUTED, UNDECIDED, NO_PROOF], repeat=3):
        verdict = verdict_of(NAMES, [replace(kind, name=name) for kind, name in zip(kinds, NAMES, strict=True)])
        if REFUTED in kinds:
            assert verdict is Verdict.REFUTED
        elif NO_PROOF in kinds:
            assert verdict is Verdict.REJECTED
        elif UNDECIDED in kinds:
            assert verdict is Verdict.INCONCLUSIVE
        else:
            assert verdict is Verdict.VERIFIED


# -- reports and the exit status


def report(verdict: Verdict, limit: str = "") -> Report:
    return Report("p.yaml", verdict, limit=limit)


V, R, J, M, E = Verdict.VERIFIED, Verdict.REFUTED, Verdict.REJECTED, Verdict.MALFORMED, Verdict.ERROR
OPEN = Verdict.INCONCLUSIVE
STATUS = [
    ([], 2),
    ([V], 0), ([V, V], 0),
    ([R], 1), ([J], 1), ([V, R], 1), ([V, J], 1), ([R, M], 1), ([R, OPEN], 1), ([J, M, OPEN, V], 1),
    ([M], 2), ([V, M], 2), ([M, OPEN], 2),
    ([OPEN], 3), ([V, OPEN], 3),
    ([E], 70), ([V, E], 70), ([R, E], 70), ([M, E], 70), ([OPEN, E], 70), ([V, R, J, OPEN, M, E], 70),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "status"), STATUS)
def test_exit_status(verdicts: list[Verdict], status: int) -> None:
    for order in itertools.permutations(verdicts):
        assert exit_status([report(verdict) for verdict in order]) == status


@pytest.mark.parametrize("limit", ["time", "memory"])
def test_exit_status_of_a_resource_limit(limit: str) -> None:
    stopped = report(OPEN, limit)
    assert exit_status([stopped]) == 4
    assert exit_status([report(V), stopped]) == 4
    assert exit_status([report(OPEN), stopped]) == 3
    assert exit_status([report(M), stopped]) == 2
    assert exit_status([report(R), stopped]) == 1
    assert exit_status([report(E), stopped]) == 70


def test_only_a_run_of_verified_reports_exits_with_0() -> None:
    for count in (1, 2, 3):
        for verdicts in itertools.product(Verdict, repeat=count):
            status = exit_status([report(verdict) for verdict in verdicts])
            assert (status == 0) is (set(verdicts) == {V})


def test_a_report_survives_json() -> None:
    whole = Report(
        "p.yaml",
        Verdict.REFUTED,
        claim="output-deviation",
        findings=("worst", "slack"),
        place=("p.yaml", 3, "given.keys"),
        obligations=(REFUTED.to_dict(),),
        counts={"proved": 1},
        nanoseconds={"arithmetic": 5},
    )
    for each in (whole, report(V), report(M)):
        assert Report.from_dict(json.loads(json.dumps(each.to_dict()))) == each


def test_a_report_of_an_unknown_verdict_is_refused() -> None:
    with pytest.raises(ValueError):
        Report.from_dict({**report(V).to_dict(), "verdict": "fine"})


@pytest.mark.parametrize(
    ("ball", "bound", "outcome"),
    [
        (arb(1), 2, Outcome.PROVED), (arb(1), 1, Outcome.REFUTED), (arb(2), 1, Outcome.REFUTED),
        (arb(0), 0, Outcome.REFUTED), (arb(1, 0.25), 2, Outcome.PROVED), (arb(1, 0.25), 1, Outcome.UNDECIDED),
        (arb(1.5, 0.25), 1, Outcome.REFUTED), (arb(0.75, 0.5), 1, Outcome.UNDECIDED),
        (arb("nan"), 1, Outcome.UNDECIDED), (arb("inf"), 1, Outcome.UNDECIDED), (arb(0, "inf"), 1, Outcome.UNDECIDED),
    ],
)  # fmt: skip
def test_below_is_the_opposite_of_at_least(ball: arb, bound: int, outcome: Outcome) -> None:
    strict = below("a", "b", ball, fmpq(bound), 53)
    assert strict.outcome is outcome
    assert strict.relation == "<"
    opposite = {Outcome.PROVED: Outcome.REFUTED, Outcome.REFUTED: Outcome.PROVED}
    assert at_least("a", "b", ball, fmpq(bound), 53).outcome is opposite.get(outcome, outcome)


@pytest.mark.parametrize(("bound", "outcome"), [(fmpq(1, 2), Outcome.PROVED), (fmpq(1, 4), Outcome.REFUTED)])
def test_below_is_shown_with_as_few_digits_as_at_most(bound: fmpq, outcome: Outcome) -> None:
    with working_precision(4000):
        third = arb(1) / 3
    strict, weak = (relation("a", "b", third, bound, 4000) for relation in (below, at_most))
    assert strict.outcome is weak.outcome is outcome
    assert strict.to_dict()["left"] == weak.to_dict()["left"]
    assert len(strict.to_dict()["left"]) < 40
