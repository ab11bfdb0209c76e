"""Outcomes are made in one place, from sides that leave no other possibility, in an order that may be asked."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

import pytest
from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import (
    DOUBLE,
    NoBound,
    NoProof,
    Number,
    Obligation,
    Part,
    Range,
    Relation,
    Shared,
    Tier,
    Together,
)
from certattn.kernel.decide.proof import Outcome, Proof, Verdict, decide
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

PROVED, REFUTED, UNDECIDED = Outcome.PROVED, Outcome.REFUTED, Outcome.UNDECIDED
ONE, TWO = fmpq(1), fmpq(2)
WIDE, NAN, UNBOUNDED = arb(1, 1), arb.nan(), arb(0, arb.pos_inf())
FAST = Tier("fast", lambda: "binary64")


def outcome(left: Number, relation: Relation, right: Number) -> Outcome:
    """As a proof has it."""
    proof = Proof([Obligation("a", left, relation, right)])
    proof.ask(["a"], 64)
    return proof.answers["a"].outcome


@pytest.mark.parametrize(
    ("relation", "below", "same", "above"),
    [("<=", PROVED, PROVED, REFUTED), ("<", PROVED, REFUTED, REFUTED), (">=", REFUTED, PROVED, PROVED),
     (">", REFUTED, REFUTED, PROVED), ("=", REFUTED, PROVED, REFUTED)],
)  # fmt: skip
@pytest.mark.parametrize("lift", [lambda x: x, arb])
def test_exact_numbers_decide(
    relation: Relation, below: Outcome, same: Outcome, above: Outcome, lift: Callable[[fmpq], Number]
) -> None:
    assert [decide(lift(x), relation, TWO) for x in (ONE, TWO, TWO + 1)] == [below, same, above]
    assert [decide(x, relation, lift(TWO)) for x in (ONE, TWO, TWO + 1)] == [below, same, above]


@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">", "="])
def test_balls_that_overlap_decide_nothing(relation: Relation) -> None:
    assert decide(WIDE, relation, ONE) is UNDECIDED
    assert decide(ONE, relation, WIDE) is UNDECIDED


@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">", "="])
@pytest.mark.parametrize("ball", [NAN, UNBOUNDED, arb.pos_inf(), arb.neg_inf()])
def test_what_is_not_finite_decides_nothing(relation: Relation, ball: arb) -> None:
    assert decide(ball, relation, ONE) is UNDECIDED
    assert decide(ONE, relation, ball) is UNDECIDED
    assert outcome(Range(ball, ball), relation, ONE) is UNDECIDED


def test_a_ball_on_one_side_decides_every_relation() -> None:
    outcomes = [decide(WIDE, relation, fmpq(3)) for relation in ("<=", "<", ">=", ">", "=")]
    assert outcomes == [PROVED, PROVED, REFUTED, REFUTED, REFUTED]


def test_a_range_proves_by_its_worst_end_and_is_false_by_its_best() -> None:
    assert outcome(Range(arb(1), NAN), "<=", ONE) is PROVED
    assert outcome(Range(arb(4), arb(3)), "<=", TWO) is REFUTED
    assert outcome(Range(NAN, arb(3)), "<=", TWO) is REFUTED
    assert outcome(Range(arb(3), NAN), "<=", TWO) is UNDECIDED
    assert outcome(Range(WIDE, arb(0)), "<=", ONE) is UNDECIDED
    assert outcome(TWO, ">=", Range(arb(1), arb(0))) is PROVED
    assert outcome(TWO, ">=", Range(arb(4), arb(3))) is REFUTED


def test_a_range_around_the_bound_waits_for_more_bits() -> None:
    assert outcome(Range(arb(3), arb(1)), "<=", TWO) is UNDECIDED
    assert outcome(TWO, ">=", Range(arb(3), arb(1))) is UNDECIDED


def test_a_final_range_around_the_bound_is_unproved_and_refutes_nothing() -> None:
    around = Range(arb(3), arb(1), is_final=True)
    for left, relation, right in ((around, "<=", TWO), (TWO, ">=", around)):
        proof = Proof([Obligation("a", left, relation, right)])
        proof.ask(["a"], 64)
        assert (proof.answers["a"].outcome, proof.answers["a"].part) == (REFUTED, Part.WITNESS)


def test_matrices_are_identical_in_every_entry_or_not() -> None:
    def matrix(*rows: list[int]) -> ExactMatrix:
        return ExactMatrix.rational([[fmpq(x) for x in row] for row in rows])

    assert decide(matrix([1, 2]), "=", matrix([1, 2])) is PROVED
    assert decide(matrix([1, 2]), "=", matrix([1, 3])) is REFUTED
    assert decide(matrix([1, 2]), "=", matrix([1], [2])) is REFUTED
    for left, relation, right in ((matrix([1]), "<=", matrix([1])), (matrix([1]), "=", ONE), (ONE, "=", matrix([1]))):
        with pytest.raises(TypeError):
            decide(left, relation, right)  # type: ignore[arg-type]


def asked(*obligations: Obligation | NoProof, bits: int = 64) -> Proof:
    proof = Proof(obligations)
    proof.ask([o.name for o in obligations], bits)
    return proof


def test_the_working_precision_is_that_of_the_question() -> None:
    seen: list[int] = []

    def side() -> arb:
        seen.append(ctx.prec)
        return arb(2).sqrt()

    proof = Proof([Obligation("root", side, "<=", fmpq(141421356237309504880168872421, 10**29))])
    proof.ask(["root"], 64)
    assert proof.answers["root"].outcome is UNDECIDED
    proof.ask(["root"], 128)
    assert proof.answers["root"].outcome is PROVED
    proof.ask(["root"], 256)  # it is decided
    assert seen == [64, 128]
    assert proof.answers["root"].bits == 128


def test_exact_sides_have_no_precision() -> None:
    answer = asked(Obligation("a", lambda: ONE, "<=", TWO)).answers["a"]
    assert (answer.outcome, answer.bits, answer.arithmetic) == (PROVED, None, "")


@pytest.mark.parametrize("part", Part)
def test_what_rests_on_something_false_has_no_proof(part: Part) -> None:
    proof = asked(
        Obligation("a", TWO, "<=", ONE, Part.WITNESS),
        Obligation("b", ONE, "<=", TWO, part, needs=["a"]),
        Obligation("c", ONE, "<=", TWO, part, needs=["b"]),
    )
    assert [answer.outcome for answer in proof.answers.values()] == [REFUTED] * 3
    # That b has no proof is no sign that it is false.
    assert proof.answers["b"].part is Part.WITNESS
    assert proof.answers["c"].because == "it rests on b"


def test_what_rests_on_something_open_waits() -> None:
    def never() -> arb:
        raise AssertionError("it was asked before what it needs was proved")

    proof = asked(Obligation("a", WIDE, "<=", ONE), Obligation("b", never, "<=", TWO, needs=["a"]))
    assert proof.answers["b"].outcome is UNDECIDED
    assert proof.open(["b"]) == ["a", "b"]


def test_whoever_asks_for_one_asks_for_what_it_needs() -> None:
    proof = Proof([Obligation("a", ONE, "<=", TWO), Obligation("b", ONE, "<=", TWO, needs=["a"]),
                   Obligation("c", ONE, "<=", TWO)])  # fmt: skip
    proof.ask(["b"], 64)
    assert list(proof.answers) == ["a", "b"]


def test_without_a_proof_it_is_rejected_and_not_refuted() -> None:
    proof = asked(NoProof("a", "no theorem says so"))
    assert proof.answers["a"].outcome is REFUTED
    assert proof.answers["a"].part is Part.WITNESS


def test_where_nothing_bounds_a_side_it_is_rejected_and_says_why() -> None:
    def side() -> arb:
        raise NoBound("it takes too many steps")

    proof = asked(Obligation("a", side, "<=", TWO), Obligation("b", ONE, "<=", TWO, needs=["a"]))
    assert [proof.answers[name].outcome for name in "ab"] == [REFUTED, REFUTED]
    assert [proof.answers[name].because for name in "ab"] == ["it takes too many steps", "it rests on a"]
    assert proof.answers["a"].part is Part.WITNESS


@pytest.mark.parametrize(
    "broken",
    [
        [],
        [Obligation("a", ONE, "<=", TWO), Obligation("a", ONE, "<=", TWO)],
        [Obligation("a", ONE, "<=", TWO), NoProof("a", "")],
        [Obligation("a", ONE, "<=", TWO, needs=["b"]), Obligation("b", ONE, "<=", TWO)],
        [Obligation("a", ONE, "<=", TWO, needs=["a"])],
        [Obligation("a", ONE, "<=", TWO, needs=["none"])],
    ],
    ids=["nothing", "one name twice", "one name without a proof", "before what it needs", "on itself", "on nothing"],
)
def test_a_broken_theorem_is_a_bug(broken: list[Obligation | NoProof]) -> None:
    with pytest.raises(RuntimeError):
        Proof(broken)


def test_a_tier_decides_what_it_has_sides_for() -> None:
    proof = Proof(
        [
            Obligation("fast", WIDE, "<=", ONE, fast={FAST: (lambda: arb(0), ONE)}),
            Obligation("exact", ONE, "<=", TWO),
            Obligation("slow", lambda: arb(1), "<=", TWO),
            Obligation("after", lambda: arb(1), "<=", TWO, needs=["slow"], fast={FAST: (arb(1), TWO)}),
        ]
    )
    assert proof.tiers == [FAST]
    proof.ask_fast(["fast", "exact", "slow", "after"], FAST)
    assert {name: answer.outcome for name, answer in proof.answers.items()} == {
        "fast": PROVED, "exact": PROVED, "after": UNDECIDED,
    }  # fmt: skip


def test_a_tier_says_what_its_enclosures_rest_on() -> None:
    proof = Proof([Obligation("a", lambda: arb(1), "<=", TWO, fast={FAST: (lambda: arb(1), TWO)})])
    proof.ask_fast(["a"], FAST)
    answer = proof.answers["a"]
    assert (answer.outcome, answer.bits, answer.arithmetic) == (PROVED, DOUBLE, "binary64")


def test_a_tier_that_refuses_leaves_everything_open() -> None:
    def refuse() -> arb:
        raise RefusedError("too large")

    proof = Proof([Obligation("a", lambda: arb(1), "<=", TWO, fast={FAST: (refuse, TWO)})])
    with pytest.raises(RefusedError):
        proof.ask_fast(["a"], FAST)
    assert proof.open(["a"]) == ["a"]


def test_shared_work_is_done_once_for_each_precision() -> None:
    count: list[int] = []

    def compute() -> arb:
        count.append(ctx.prec)
        return arb(2).sqrt()

    shared = Shared(compute)
    proof = Proof([Obligation("a", shared, "<", arb(2).sqrt() + arb(0, 1)), Obligation("b", shared, "<=", TWO)])
    proof.ask(["a", "b"], 64)
    proof.ask(["a", "b"], 128)
    assert count == [64, 128]


def test_what_is_computed_together_is_what_is_asked_for() -> None:
    asked: list[tuple[int, str | None, list[int]]] = []

    def compute(items: Collection[int], tier: Tier | None) -> dict[int, arb]:
        asked.append((ctx.prec, tier.name if tier is not None else None, list(items)))
        return {item: arb(item) for item in items}

    together = Together(compute)
    proof = Proof(
        [
            *(Obligation(f"at[{i}]", together.side(lambda x: x, i, tiers=[FAST]), "<=", TWO) for i in range(4)),
            Obligation("sum", together.side(lambda x, y: x + y, 1, 5), "<=", TWO),
        ]
    )
    assert proof.tiers == [FAST]
    proof.ask_fast(["at[1]", "at[3]", "sum"], FAST)
    proof.ask(["at[0]", "at[1]", "sum"], 64)
    assert asked == [(96, "fast", [1, 3]), (64, None, [0, 1, 5])]
    outcomes = {name: (answer.outcome, answer.bits) for name, answer in proof.answers.items()}
    assert outcomes == {
        "at[1]": (PROVED, DOUBLE),
        "at[3]": (REFUTED, DOUBLE),
        "at[0]": (PROVED, 64),
        "sum": (REFUTED, 64),
    }


# -- what decides


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


@pytest.mark.parametrize("ball", NOTHING.values(), ids=NOTHING.keys())
@pytest.mark.parametrize("bound", [fmpq(0), fmpq(1), fmpq(-1), fmpq(10) ** 400])
def test_a_ball_that_says_nothing_decides_nothing(ball: arb, bound: fmpq) -> None:
    assert decide(ball, "<=", bound) is Outcome.UNDECIDED
    assert decide(ball, ">=", bound) is Outcome.UNDECIDED


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
    assert decide(value, "<=", bound) is upper
    assert decide(value, ">=", bound) is lower


@pytest.mark.parametrize("digits", [10, 30, 60])
def test_a_bound_that_is_no_binary_fraction_is_compared_soundly(digits: int) -> None:
    """1/3 against decimals that are just above and just below it."""
    below, above = fmpq(10**digits // 3, 10**digits), fmpq(10**digits // 3 + 1, 10**digits)
    outcomes = {}
    for bits in (16, 64, 256):
        with working_precision(bits):
            third = arb(fmpq(1, 3))
            outcomes[bits] = (decide(third, "<=", above), decide(third, "<=", below))
            assert decide(third, "<=", fmpq(1, 3)) is Outcome.UNDECIDED
    for upper, lower in outcomes.values():
        assert upper in (Outcome.PROVED, Outcome.UNDECIDED)
        assert lower in (Outcome.REFUTED, Outcome.UNDECIDED)
    assert outcomes[256] == (Outcome.PROVED, Outcome.REFUTED)


def test_strict_relations_are_the_opposites_of_weak_ones() -> None:
    opposite = {PROVED: REFUTED, REFUTED: PROVED, UNDECIDED: UNDECIDED}
    balls = [arb(1), arb(2), arb(0), arb(1, 0.25), arb(1.5, 0.25), arb("nan"), arb("inf"), arb(0, "inf")]
    for ball, bound in itertools.product(balls, map(fmpq, range(3))):
        assert decide(ball, "<", bound) is opposite[decide(ball, ">=", bound)]
        assert decide(ball, ">", bound) is opposite[decide(ball, "<=", bound)]


def test_the_bits_of_a_double_are_those_of_this_machine() -> None:
    assert sys.float_info.mant_dig == DOUBLE


# -- the verdict over all obligations

SIDES = {"proved": fmpq(0), "refuted": fmpq(2), "undecided": NAN}


def verdict(kinds: Mapping[str, str], wanted: Sequence[str] | None = None) -> Verdict:
    """Of obligations by name, each of a kind; those of the kind "unasked" are not asked for."""
    listed = [
        NoProof(name, "no idea") if kind == "no proof" else Obligation(name, SIDES.get(kind, ONE), "<=", ONE)
        for name, kind in kinds.items()
    ]
    proof = Proof(listed)
    proof.ask([name for name, kind in kinds.items() if kind != "unasked"], 64)
    return proof.verdict(list(kinds) if wanted is None else wanted)


def test_every_combination_of_outcomes() -> None:
    """A refuted statement is louder than a rejected witness, that than an undecided obligation."""
    for kinds in itertools.product([*SIDES, "no proof", "unasked"], repeat=3):
        found = verdict(dict(zip("abc", kinds, strict=True)))
        if "refuted" in kinds:
            assert found is Verdict.REFUTED
        elif "no proof" in kinds:
            assert found is Verdict.REJECTED
        elif "undecided" in kinds or "unasked" in kinds:
            assert found is Verdict.INCONCLUSIVE
        else:
            assert found is Verdict.VERIFIED


@pytest.mark.parametrize("wanted", [[], ["a"], ["b"], ["b", "a"], ["a", "a"], ["a", "x"], ["a", "b", "b"], ["A", "b"]])
def test_what_is_not_exactly_the_obligations_never_verifies(wanted: list[str]) -> None:
    assert verdict({"a": "proved", "b": "proved"}, wanted) is Verdict.INCONCLUSIVE


def test_a_false_bound_on_a_bound_refutes_nothing() -> None:
    """What is too large is only a bound on the stated quantity: there is no proof, and no counterproof."""
    for part, expected in ((Part.WITNESS, Verdict.REJECTED), (Part.STATEMENT, Verdict.REFUTED)):
        proof = asked(Obligation("a", arb(2), "<=", ONE, part))
        assert proof.verdict(["a"]) is expected


def test_an_answer_cannot_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        asked(Obligation("a", arb(2), "<=", ONE)).answers["a"].outcome = PROVED  # type: ignore[misc]
