"""The checker itself: the loop over precisions, and claims that misbehave, none of which may verify."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from certattn.kernel.decide import checker
from certattn.kernel.decide.checker import CheckOptions, check_certificate, check_file
from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.reports import Report
from certattn.kernel.decide.verdict import Obligation, Verdict, at_most, unproved
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.errors import BoundNotProvedError, GuardError, RefusedError, UsageError
from certattn.kernel.limits import Limits
from certattn.kernel.mathematics.balls import ARB

TEXT = "certattn: 1\nclaim: scripted\ngiven: {}\nasserts: {}\n"


def proved(name: str, bits: int = 64) -> Obligation:
    return at_most(name, "0 <= 1", arb(0), fmpq(1), bits)


def refuted(name: str, bits: int = 64) -> Obligation:
    return at_most(name, "2 <= 1", arb(2), fmpq(1), bits)


def undecided(name: str, bits: int = 64) -> Obligation:
    return at_most(name, "? <= 1", arb("nan"), fmpq(1), bits)


Script = Callable[[Collection[str], int], list[Obligation]]


@dataclass
class Scripted(Claim[None]):
    """A claim that answers what it is told to, and notes what it was asked."""

    expected: list[str]
    script: Script
    first: int | None = None
    asked: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    precisions: list[int] = field(default_factory=list)

    name = "scripted"
    title = "whatever the test says"
    arithmetic = "none"
    given = asserts = witness = Record()

    def read(self, certificate: Certificate) -> None:
        return None

    def statement(self, problem: None) -> Statement:
        return Statement("It is so.", "1 = 1")

    def names(self, problem: None) -> list[str]:
        return list(self.expected)

    def prove(self, problem: None, names: Collection[str], bits: int) -> list[Obligation]:
        self.asked.append((tuple(names), bits))
        self.precisions.append(ctx.prec)
        return self.script(names, bits)

    def first_bits(self, certificate: Certificate) -> int | None:
        return self.first

    def findings(self, problem: None, obligations: Sequence[Obligation]) -> list[str]:
        return []


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Report]:
    def check(claim: Scripted, **options: Any) -> Report:
        monkeypatch.setattr(checker, "CLAIMS", {"scripted": claim})
        return check_certificate(loads(TEXT, tmp_path / "c.yaml"), CheckOptions(**options))

    return check


Run = Callable[..., Report]


def every(outcome: Callable[[str, int], Obligation]) -> Script:
    return lambda names, bits: [outcome(name, bits) for name in names]


# -- claims that behave


def test_a_claim_looks_up_at_once_what_it_is_asked_for(run: Run) -> None:
    """Claims keep what they were asked for by `name in names`: of a list that would be quadratic."""
    given: list[Collection[str]] = []

    def noted(names: Collection[str], bits: int) -> list[Obligation]:
        given.append(names)
        return [proved(name) for name in names]

    assert run(Scripted([f"a[{i}]" for i in range(20)], noted)).verdict is Verdict.VERIFIED
    assert [isinstance(names, Set) for names in given] == [True]
    assert list(given[0]) == [f"a[{i}]" for i in range(20)]


def test_a_claim_that_proves_everything_verifies(run: Run) -> None:
    report = run(Scripted(["a", "b"], every(proved)))
    assert report.verdict is Verdict.VERIFIED
    assert report.counts == {"proved": 2, "refuted": 0, "undecided": 0, "unproved": 0}
    assert report.reason == ""


def test_a_refuted_obligation_refutes(run: Run) -> None:
    report = run(Scripted(["a", "b"], lambda names, bits: [proved("a"), refuted("b")]))
    assert report.verdict is Verdict.REFUTED
    assert report.reason.startswith("2 <= 1: ")
    assert report.reason.endswith("<= 1 is false")


def test_a_missing_proof_rejects(run: Run) -> None:
    report = run(Scripted(["a", "b"], lambda names, bits: [proved("a"), unproved("b", "it is so", "no idea")]))
    assert report.verdict is Verdict.REJECTED
    assert "no idea" in report.reason


def test_a_refuted_obligation_is_louder_than_a_missing_proof(run: Run) -> None:
    report = run(Scripted(["a", "b"], lambda names, bits: [refuted("a"), unproved("b", "it is so", "no idea")]))
    assert report.verdict is Verdict.REFUTED


def test_a_claim_without_binary64_has_no_tiers_and_proves_nothing_there() -> None:
    claim = Scripted(["a"], every(proved))
    assert claim.tiers(None) == ()
    with pytest.raises(NotImplementedError, match="scripted has no binary64 arithmetic"):
        claim.prove_binary64(None, ["a"], "binary64")


# -- claims that misbehave

MISBEHAVIOUR: dict[str, tuple[list[str], Script]] = {
    "expects nothing": ([], lambda names, bits: []),
    "expects nothing and proves something": ([], lambda names, bits: [proved("a")]),
    "proves nothing": (["a"], lambda names, bits: []),
    "proves one of two": (["a", "b"], lambda names, bits: [proved("a")]),
    "proves the other one of two": (["a", "b"], lambda names, bits: [proved("b")]),
    "proves one twice instead of both": (["a", "b"], lambda names, bits: [proved("a"), proved("a")]),
    "proves something else": (["a"], lambda names, bits: [proved("x")]),
    "proves under a name in capitals": (["a"], lambda names, bits: [proved("A")]),
    "expects a name twice": (["a", "a"], every(proved)),
    "decides nothing": (["a"], every(undecided)),
    "decides one of two": (["a", "b"], lambda names, bits: [proved("a"), undecided("b")]),
    "refutes, then proves the same": (["a"], lambda names, bits: [refuted("a"), proved("a")]),
    "proves, then refutes the same": (["a"], lambda names, bits: [proved("a"), refuted("a")]),
    "is undecided, then proves the same": (["a"], lambda names, bits: [undecided("a"), proved("a")]),
    "has no proof, then proves the same": (["a"], lambda names, bits: [unproved("a", "s", "r"), proved("a")]),
    "refutes something that nobody asked for": (["a"], lambda names, bits: [proved("a"), refuted("b")]),
    "has no proof of something that nobody asked for": (
        ["a"],
        lambda names, bits: [proved("a"), unproved("b", "s", "r")],
    ),
    "refutes at one precision what it proves at the next": (
        ["a", "b"],
        lambda names, bits: [
            refuted("a") if bits == 64 else proved("a"),
            undecided("b") if bits == 64 else proved("b"),
        ],
    ),
    "proves only when it is asked for one at a time": (
        ["a", "b"],
        lambda names, bits: [undecided(name) for name in names] if len(names) > 1 else [proved(*names)],
    ),
}


@pytest.mark.parametrize(("expected", "script"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
def test_a_claim_that_misbehaves_never_verifies(run: Run, expected: list[str], script: Script) -> None:
    assert run(Scripted(expected, script)).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("error", [ZeroDivisionError, ValueError, RuntimeError, MemoryError, AssertionError])
def test_a_claim_that_breaks_is_no_report_at_all(run: Run, error: type[Exception]) -> None:
    def script(names: Collection[str], bits: int) -> list[Obligation]:
        raise error

    before = ctx.prec
    with pytest.raises(error):
        run(Scripted(["a"], script))
    assert ctx.prec == before


def test_a_bug_in_a_claim_is_reported_with_five_names_at_most(run: Run) -> None:
    report = run(Scripted(["a"], lambda names, bits: [proved(f"x{i}") for i in range(7)]))
    assert report.verdict is Verdict.ERROR
    assert report.reason.endswith("or twice: ['x0', 'x1', 'x2', 'x3', 'x4']")


# -- where the time goes


@dataclass
class Timed(Scripted):
    """Reads arrays, on a clock that only it moves: in nanoseconds, when it is read and again while it proves."""

    clock: list[int] = field(default_factory=lambda: [0])
    again: dict[str, int] = field(default_factory=dict)
    certificate: list[Certificate] = field(default_factory=list)

    def spend(self, phase: str, nanoseconds: int) -> None:
        with self.certificate[0].stopwatch.measure(phase):
            self.clock[0] += nanoseconds

    def read(self, certificate: Certificate) -> None:
        self.certificate.append(certificate)
        self.spend("reading", 50)

    def prove(self, problem: None, names: Collection[str], bits: int) -> list[Obligation]:
        self.clock[0] += 1000
        for phase, nanoseconds in self.again.items():
            self.spend(phase, nanoseconds)
        return super().prove(problem, names, bits)


@pytest.mark.parametrize("again", [{}, {"reading": 7}, {"reading": 7, "marshalling": 3}])
def test_arrays_that_are_read_late_count_as_reading(
    run: Run, monkeypatch: pytest.MonkeyPatch, again: dict[str, int]
) -> None:
    claim = Timed(["a"], every(proved), again=again)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: claim.clock[0])
    spent = run(claim).nanoseconds
    assert spent == {"parsing": 0, "arithmetic": 1000, **again, "reading": 50 + again.get("reading", 0)}


# -- the loop over precisions


def test_the_working_precision_is_what_the_claim_is_told(run: Run) -> None:
    claim = Scripted(["a"], every(undecided))
    run(claim, limits=Limits(max_bits=600))
    assert [bits for _, bits in claim.asked] == claim.precisions == [64, 128, 256, 512, 600]


def test_the_loop_stops_at_the_first_precision_that_decides(run: Run) -> None:
    claim = Scripted(["a"], lambda names, bits: [(proved if bits >= 200 else undecided)("a", bits)])
    report = run(claim)
    assert report.verdict is Verdict.VERIFIED
    assert report.bits == 256
    assert claim.precisions == [64, 128, 256]


def test_only_what_is_undecided_is_asked_again(run: Run) -> None:
    claim = Scripted(
        ["a", "b"], lambda names, bits: [(proved if n == "a" or bits > 64 else undecided)(n) for n in names]
    )
    assert run(claim).verdict is Verdict.VERIFIED
    assert [names for names, _ in claim.asked] == [("a", "b"), ("b",)]


def test_a_refuted_obligation_ends_the_search(run: Run) -> None:
    claim = Scripted(["a", "b"], lambda names, bits: [refuted("a"), undecided("b")])
    assert run(claim).verdict is Verdict.REFUTED
    assert len(claim.asked) == 1


def test_a_missing_proof_does_not_keep_a_refutation_from_being_found(run: Run) -> None:
    def script(names: Collection[str], bits: int) -> list[Obligation]:
        answers = [unproved("a", "s", "r"), (refuted if bits > 64 else undecided)("b")]
        return [answer for answer in answers if answer.name in names]

    assert run(Scripted(["a", "b"], script)).verdict is Verdict.REFUTED


def test_the_limit_of_bits_holds_and_is_said(run: Run) -> None:
    claim = Scripted(["a"], every(undecided), first=10**9)
    report = run(claim, limits=Limits(max_bits=100))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert claim.precisions == [100]
    assert "100 bits (--max-bits)" in report.reason


@pytest.mark.parametrize(("first", "expected"), [(2, [2, 4, 8]), (5, [5, 8]), (None, [8]), (8, [8])])
def test_a_hint_says_where_to_begin(run: Run, first: int | None, expected: list[int]) -> None:
    claim = Scripted(["a"], every(undecided), first=first)
    run(claim, limits=Limits(max_bits=8))
    assert claim.precisions == expected


# -- a part of the obligations


@pytest.mark.parametrize("only", ["a[0]", "a[1]", "a[?]", "a*", "*"])
def test_a_check_of_chosen_obligations_never_verifies(run: Run, only: str) -> None:
    report = run(Scripted(["a[0]", "a[1]"], every(proved)), only=only)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.counts["refuted"] == 0
    assert "asked for" in report.reason


def test_a_check_of_all_obligations_by_name_says_so(run: Run) -> None:
    part = run(Scripted(["a", "b"], every(proved)), only="a").reason
    assert part.startswith("only 1 of 2 obligations were asked for (--only)")
    whole = run(Scripted(["a", "b"], every(proved)), only="*").reason
    assert whole == "all 2 obligations were asked for by name (--only); they are proved: check without it"


@pytest.mark.parametrize("root", ["nowhere", "file"])
def test_the_root_is_a_folder(root: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=f"root is '.*{root}', expected a folder"):
        CheckOptions(root=tmp_path / root)


def test_the_only_obligation_asked_for_by_name_does_not_verify_either(run: Run) -> None:
    assert run(Scripted(["a"], every(proved)), only="a").verdict is Verdict.INCONCLUSIVE


def test_a_check_of_chosen_obligations_asks_for_these_alone(run: Run) -> None:
    claim = Scripted(["a[0]", "a[1]", "b"], every(proved))
    assert run(claim, only="a[1]").counts["proved"] == 1
    assert claim.asked == [(("a[1]",), 64)]


def test_a_check_of_chosen_obligations_may_refute(run: Run) -> None:
    claim = Scripted(["a", "b"], lambda names, bits: [refuted(name) for name in names])
    assert run(claim, only="b").verdict is Verdict.REFUTED


def test_a_name_that_no_obligation_has_decides_nothing(run: Run) -> None:
    report = run(Scripted(["a"], every(proved)), only="x")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "--only); they are a" in report.reason
    assert report.bits == 0


def test_the_first_five_names_are_said_where_none_was_asked_for(run: Run) -> None:
    five = run(Scripted(list("abcde"), every(proved)), only="x").reason
    assert five.endswith("they are a, b, c, d, e")
    six = run(Scripted(list("abcdef"), every(proved)), only="x").reason
    assert six.endswith("they are a, b, c, d, e, ...")


def test_a_reason_counts_what_else_is_false(run: Run) -> None:
    def reason(names: str) -> str:
        return run(Scripted(list(names), lambda names, bits: [refuted(name) for name in names])).reason

    assert reason("a").endswith("is false")
    assert reason("ab").endswith("is false (and 1 more)")
    assert reason("abc").endswith("is false (and 2 more)")


def test_an_arithmetic_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(UsageError, match="arithmetic is 'exact', expected one of auto, binary64, arb"):
        CheckOptions(arithmetic="exact")


# -- binary64 before Arb

FAST, SLOW = "fast", "slow"


@dataclass
class Tiered(Scripted):
    """A claim with tiers of binary64 arithmetic, whose answers are scripted too."""

    by_tier: dict[str, Callable[[list[str]], list[Obligation]]] = field(default_factory=dict)

    def tiers(self, problem: None) -> tuple[str, ...]:
        return tuple(self.by_tier)

    def prove_binary64(self, problem: None, names: Collection[str], tier: str) -> list[Obligation]:
        self.asked.append((tuple(names), 53))
        return self.by_tier[tier](list(names))


def fast(outcome: Callable[[str, int], Obligation]) -> Callable[[list[str]], list[Obligation]]:
    return lambda names: [replace(outcome(name, 53), arithmetic="binary64") for name in names]


def failing(error: Exception) -> Callable[[list[str]], list[Obligation]]:
    def raising(names: list[str]) -> list[Obligation]:
        raise error

    return raising


def test_what_binary64_decides_is_not_tried_in_arb(run: Run) -> None:
    claim = Tiered(["a", "b"], every(undecided), by_tier={FAST: fast(proved)})
    report = run(claim)
    assert (report.verdict, report.bits, report.arithmetic) == (Verdict.VERIFIED, 53, "binary64")
    assert claim.asked == [(("a", "b"), 53)]


def test_each_tier_is_asked_for_what_is_left(run: Run) -> None:
    def one_of_two(names: list[str]) -> list[Obligation]:
        return [proved("a"), undecided("b")]

    claim = Tiered(["a", "b"], every(proved), by_tier={FAST: one_of_two, SLOW: fast(undecided)})
    report = run(claim)
    assert report.verdict is Verdict.VERIFIED
    assert claim.asked == [(("a", "b"), 53), (("b",), 53), (("b",), 64)]


def test_binary64_refutes(run: Run) -> None:
    claim = Tiered(["a"], every(proved), by_tier={FAST: fast(refuted), SLOW: fast(proved)})
    assert run(claim).verdict is Verdict.REFUTED
    assert len(claim.asked) == 1


@pytest.mark.parametrize("error", [GuardError("rounds upward"), RefusedError("too large"), BoundNotProvedError("no")])
def test_where_binary64_cannot_be_used_arb_is_and_the_report_says_so(error: Exception, run: Run) -> None:
    report = run(Tiered(["a"], every(proved), by_tier={FAST: failing(error)}))
    assert (report.verdict, report.bits, report.arithmetic) == (Verdict.VERIFIED, 64, ARB)
    assert report.findings == (f"fast arithmetic was not used: {error}",)
    alone = run(Tiered(["a"], every(proved), by_tier={FAST: failing(error)}), arithmetic="binary64")
    assert alone.verdict is Verdict.INCONCLUSIVE
    assert "--arithmetic auto" in alone.reason


def test_arb_alone_and_binary64_alone(run: Run) -> None:
    claim = Tiered(["a"], every(proved), by_tier={FAST: fast(refuted)})
    assert run(claim, arithmetic="arb").verdict is Verdict.VERIFIED
    claim = Tiered(["a"], every(proved), by_tier={FAST: fast(undecided)})
    report = run(claim, arithmetic="binary64")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason == "1 obligation still undecided in binary64; --arithmetic auto goes on with Arb"


@pytest.mark.parametrize("names", [["a", "a"], ["b"], ["a", "b"]])
def test_strays_from_binary64_are_a_bug(names: list[str], run: Run) -> None:
    report = run(Tiered(["a"], every(proved), by_tier={FAST: lambda _: [proved(name) for name in names]}))
    assert report.verdict is Verdict.ERROR


def test_two_arithmetics_are_both_named(run: Run) -> None:
    claim = Tiered(["a", "b"], every(proved), by_tier={FAST: lambda _: [replace(proved("a"), arithmetic="binary64")]})
    assert run(claim).arithmetic == f"binary64 (1) and {ARB} (1)"


# -- what is asserted and not looked at

BOUND = Field("bound", Rational(), "a number", required=False)
INDEX = Field("index", Count(0), "a number")
ITEMS = Field("items", Listing(Record(INDEX)), "records", required=False)
FORM = Field("form", Variant("kind", {"one": Record(INDEX), "none": Record()}), "one of two forms", required=False)


@dataclass
class Stating(Scripted):
    """Looks at what it asserts as it is told to."""

    look: Callable[[Values], object] = lambda asserts: None

    asserts = Record(BOUND, ITEMS, FORM)

    def read(self, certificate: Certificate) -> None:
        self.look(self.asserts.read(certificate.asserts, certificate.reading))


LOOKS: dict[str, tuple[str, Callable[[Values], object], str]] = {
    "a number": ("{bound: 1}", lambda asserts: asserts[BOUND], ""),
    "nothing": ("{bound: 1}", lambda asserts: None, "asserts.bound"),
    "that it is there": ("{bound: 1}", lambda asserts: BOUND in asserts, "asserts.bound"),
    "where it stands": ("{bound: 1}", lambda asserts: asserts.node(BOUND), "asserts.bound"),
    "a number, if any": ("{bound: 1}", lambda asserts: asserts.get(BOUND), ""),
    "another number, if any": ("{bound: 1}", lambda asserts: asserts.get(ITEMS), "asserts.bound"),
    "every item": ("{items: [{index: 0}, {index: 1}]}", lambda asserts: [i[INDEX] for i in asserts[ITEMS]], ""),
    "the first item": ("{items: [{index: 0}, {index: 1}]}", lambda a: a[ITEMS][0][INDEX], "asserts.items[1].index"),
    "items, and into none": ("{items: [{index: 0}]}", lambda asserts: asserts[ITEMS], "asserts.items[0].index"),
    "a form": ("{form: {kind: one, index: 1}}", lambda asserts: asserts[FORM][1][INDEX], ""),
    "which form it is": ("{form: {kind: one, index: 1}}", lambda asserts: asserts[FORM][0], "asserts.form.index"),
    "a form that is only a word": ("{form: {kind: none}}", lambda asserts: asserts[FORM], ""),
}


@pytest.mark.parametrize("looks_at", LOOKS)
def test_what_is_asserted_and_not_looked_at_is_a_bug_and_does_not_verify(
    looks_at: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stated, look, missed = LOOKS[looks_at]
    for script, verdict in ((every(proved), Verdict.VERIFIED), (every(refuted), Verdict.REFUTED)):
        monkeypatch.setattr(checker, "CLAIMS", {"scripted": Stating(["a"], script, look=look)})
        text = TEXT.replace("asserts: {}", f"asserts: {stated}")
        report = check_certificate(loads(text, tmp_path / "c.yaml"), CheckOptions())
        assert report.verdict is (Verdict.ERROR if missed and verdict is Verdict.VERIFIED else verdict)
        assert (f"a bug in certattn: the claim has not looked at {missed}" in report.reason) is (
            report.verdict is Verdict.ERROR
        )


def test_a_claim_that_never_reads_what_is_asserted_does_not_verify(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checker, "CLAIMS", {"scripted": Scripted(["a"], every(proved))})
    report = check_certificate(
        loads(TEXT.replace("asserts: {}", "asserts: {x: 1}"), tmp_path / "c.yaml"), CheckOptions()
    )
    assert report.verdict is Verdict.ERROR


# -- certificates and files


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (TEXT.replace("scripted", "no-such-claim"), "one of the claims binary64-exponential, descent"),
        (TEXT.replace("scripted", "Output-Deviation"), "one of the claims"),
        (TEXT.replace("certattn: 1", "certattn: 2"), "'1'"),
        (TEXT.replace("certattn: 1", "certattn: 1.0"), "'1'"),
        (TEXT.replace("certattn: 1\n", ""), "no 'certattn'"),
        (TEXT.replace("given: {}\n", ""), "no 'given'"),
        (TEXT.replace("asserts: {}\n", ""), "no 'asserts'"),
        (TEXT.replace("asserts: {}", "asserts: []"), "a mapping"),
        (TEXT.replace("asserts: {}", "asserts: {}\nverdict: verified"), "the unknown key 'verdict'"),
        (TEXT.replace("given: {}", "given: {}\ngiven: {}"), "a second time"),
        ("", "an empty file"),
        ("[]", "a mapping"),
        ("verified", "a mapping"),
    ],
)
def test_what_is_not_a_certificate_is_malformed(tmp_path: Path, text: str, fragment: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    report = check_file(path, CheckOptions())
    assert report.verdict is Verdict.MALFORMED
    assert fragment in report.reason
    assert report.place is not None
    assert report.place[0] == str(path)


def test_what_is_refuted_is_pointed_to(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    law = "{law: {kind: gaussian, mean: [0], covariance: [[1]]}, V: [[1]]}"
    head = f"certattn: 1\nclaim: infinite-prompt-operator\ngiven: {law}\n"
    text = f"{head}asserts:\n  operator:\n    matrix: [[1]]\n    offset: [0]\n"
    path.write_text(text)
    assert check_file(path, CheckOptions()).place is None
    path.write_text(text.replace("offset: [0]", "offset: [1]"))
    assert check_file(path, CheckOptions()).place == (str(path), 7, "asserts.operator.offset")
    path.write_text(text)
    assert check_file(path, CheckOptions(only="operator.offset")).place == (str(path), 5, "asserts")


def test_a_file_that_is_not_there_is_malformed(tmp_path: Path) -> None:
    assert check_file(tmp_path / "none.yaml", CheckOptions()).verdict is Verdict.MALFORMED


def test_obligations_are_kept_on_request(run: Run) -> None:
    assert run(Scripted(["a"], every(proved))).obligations == ()
    (kept,) = run(Scripted(["a"], every(proved)), detail=True).obligations
    assert kept["name"] == "a"
    assert kept["outcome"] == "proved"


def test_the_table_of_claims_is_the_known_one() -> None:
    names = {
        "binary64-exponential",
        "descent-trajectory",
        "equivalent-law",
        "finite-moments",
        "flow-trajectory",
        "gradient-mean-square",
        "gradient-tail",
        "infinite-prompt-operator",
        "joint-max-margin",
        "linearization",
        "max-margin",
        "normalizer-bound",
        "not-marchenko-pastur",
        "output-deviation",
        "output-mean-square",
        "output-tail",
        "proposition-3-1",
        "proposition-3-4",
        "regression-risk",
        "regularization-path",
        "risk-gap",
        "risk-transfer",
        "selection-counterexample",
        "selection-direction",
        "selection-on-a-head",
        "singular-values",
        "softmax-mean",
        "spectral-distance",
        "token-optimality",
        "training-convergence",
        "typical-prompt",
        "universality-bound",
    }
    assert {name: claim.name for name, claim in checker.CLAIMS.items()} == {name: name for name in names}
