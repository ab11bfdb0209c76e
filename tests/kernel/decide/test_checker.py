"""The checker itself: the loop over tiers and precisions, parts of a proof, and what nobody has looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from certattn.kernel.decide import checker
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.obligation import NoProof, Obligation, Tier
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.errors import BoundNotProvedError, GuardError, RefusedError, UsageError
from certattn.kernel.limits import Limits, Watch
from certattn.kernel.mathematics.balls import ARB
from certattn.statements import checking, stopwatch
from certattn.statements.checking import check_certificate, check_file
from certattn.statements.reports import Report
from certattn.statements.trust import Trust
from certattn.statements.wording import Statement, Wording

TEXT = "certattn: 1\nclaim: scripted\ngiven: {}\nasserts: {}\n"
ONE = fmpq(1)
# What is compared with 1, by the precision that it is asked at.
Script = Callable[[int], arb]


def PROVED(bits: int) -> arb:  # noqa: N802 - an outcome
    return arb(0)


def REFUTED(bits: int) -> arb:  # noqa: N802
    return arb(2)


def UNDECIDED(bits: int) -> arb:  # noqa: N802
    return arb("nan")


def from_bits(least: int) -> Script:
    """Proved from so many bits on."""
    return lambda bits: arb(0) if bits >= least else arb("nan")


@dataclass
class Scripted:
    """A theorem whose sides are what the script says, and that notes at which precision each was asked for.

    In place of a script the reason why there is no proof. `fast` has the scripts of a tier of binary64.
    """

    script: Mapping[str, Script | str]
    first: int | None = None
    fast: Mapping[Tier, Mapping[str, Script]] = field(default_factory=dict)
    asserts: Record = field(default_factory=Record)
    look: Callable[[Values], object] = lambda asserts: None
    begin: Callable[[Certificate], None] = lambda certificate: None
    asked: list[tuple[str, int]] = field(default_factory=list)

    @property
    def theorem(self) -> Theorem[None]:
        witness = Record(BITS)
        return Theorem(
            "scripted", "whatever the test says", Record(), self.asserts, witness, self._read, self._obligations,
            self.first, "none",
        )  # fmt: skip

    def _read(self, certificate: Certificate) -> None:
        self.begin(certificate)
        self.look(self.asserts.read(certificate.asserts, certificate.reading))

    def _obligations(self, stated: None) -> Iterator[Obligation | NoProof]:
        for name, script in self.script.items():
            if isinstance(script, str):
                yield NoProof(name, script)
                continue
            fast = {tier: (self._side(name, by[name]), ONE) for tier, by in self.fast.items() if name in by}
            yield Obligation(name, self._side(name, script), "<=", ONE, fast=fast)

    def _side(self, name: str, script: Script) -> Callable[[], arb]:
        def side() -> arb:
            self.asked.append((name, ctx.prec))
            return script(ctx.prec)

        return side


Run = Callable[..., Report]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    words = Wording[None](lambda stated: Statement("It is so.", "1 = 1"), lambda stated, name: f"{name} is at most 1")
    monkeypatch.setattr(checking, "WORDINGS", {"scripted": words})
    monkeypatch.setattr(checking, "trust_of", lambda claim, uses: Trust((), ()))

    def check(scripted: Scripted, asserts: str = "{}", **options: Any) -> Report:
        monkeypatch.setattr(checker, "CLAIMS", {"scripted": scripted.theorem})
        text = TEXT.replace("asserts: {}", f"asserts: {asserts}")
        return check_certificate(loads(text, tmp_path / "c.yaml"), CheckOptions(**options))

    return check


# -- verdicts


def test_a_theorem_that_proves_everything_verifies(run: Run) -> None:
    report = run(Scripted({"a": PROVED, "b": PROVED}))
    assert report.verdict is Verdict.VERIFIED
    assert report.counts == {"proved": 2, "refuted": 0, "undecided": 0, "unproved": 0}
    assert (report.reason, report.obligation, report.place) == ("", "", None)


VERDICTS: dict[str, tuple[dict[str, Script | str], Verdict, str]] = {
    "one is false": ({"a": PROVED, "b": REFUTED}, Verdict.REFUTED, "b is at most 1: 2.00000000000000 <= 1 is false"),
    "one has no proof": ({"a": PROVED, "b": "no idea"}, Verdict.REJECTED, "not proved: b is at most 1: no idea"),
    "what is false is louder": ({"a": "no idea", "b": REFUTED}, Verdict.REFUTED, "b is at most 1: 2.0"),
    "one is open": ({"a": PROVED, "b": UNDECIDED}, Verdict.INCONCLUSIVE, "1 obligation still undecided"),
    "all are open": ({"a": UNDECIDED, "b": UNDECIDED}, Verdict.INCONCLUSIVE, "2 obligations still undecided"),
}


@pytest.mark.parametrize(("script", "verdict", "reason"), VERDICTS.values(), ids=VERDICTS.keys())
def test_verdicts(run: Run, script: dict[str, Script | str], verdict: Verdict, reason: str) -> None:
    report = run(Scripted(script))
    assert report.verdict is verdict
    assert report.reason.startswith(reason)


def test_a_theorem_without_obligations_is_a_bug(run: Run) -> None:
    with pytest.raises(RuntimeError, match="a statement without obligations"):
        run(Scripted({}))


@pytest.mark.parametrize("error", [ZeroDivisionError, ValueError, RuntimeError, MemoryError, AssertionError])
def test_a_theorem_that_breaks_is_no_report_at_all(run: Run, error: type[Exception]) -> None:
    def script(bits: int) -> arb:
        raise error

    before = ctx.prec
    with pytest.raises(error):
        run(Scripted({"a": script}))
    assert ctx.prec == before


def test_a_reason_counts_what_else_is_false(run: Run) -> None:
    def reason(names: str) -> str:
        return run(Scripted(dict.fromkeys(names, REFUTED), first=64), arithmetic="arb").reason

    assert reason("a").endswith("is false")
    assert reason("ab").endswith("is false (and 1 more)")
    assert reason("abc").endswith("is false (and 2 more)")


def test_an_arithmetic_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(UsageError, match="arithmetic is 'exact', expected one of auto, binary64, arb"):
        CheckOptions(arithmetic="exact")


# -- where the time goes


@pytest.mark.parametrize("again", [{}, {"reading": 7}, {"reading": 7, "marshalling": 3}])
def test_arrays_that_are_read_late_count_as_reading(
    run: Run, monkeypatch: pytest.MonkeyPatch, again: dict[str, int]
) -> None:
    clock = [0]
    monkeypatch.setattr(stopwatch.time, "perf_counter_ns", lambda: clock[0])
    watch = stopwatch.Stopwatch(Watch())

    def spend(phase: str, nanoseconds: int) -> None:
        with watch.phase(phase):
            clock[0] += nanoseconds

    def late(bits: int) -> arb:
        clock[0] += 1000
        for phase, nanoseconds in again.items():
            spend(phase, nanoseconds)
        return arb(0)

    scripted = Scripted({"a": late}, begin=lambda certificate: spend("reading", 50))
    assert run(scripted, watch=watch).nanoseconds == {
        "arithmetic": 1000, **again, "reading": 50 + again.get("reading", 0),
    }  # fmt: skip


def test_a_file_is_timed_from_its_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    law = "{law: {kind: gaussian, mean: [0], covariance: [[1]]}, V: [[1]]}"
    head = f"certattn: 1\nclaim: infinite-prompt-operator\ngiven: {law}\n"
    path.write_text(f"{head}asserts:\n  operator:\n    matrix: [[1]]\n    offset: [0]\n")
    start = time.perf_counter_ns()
    spent = check_file(path, CheckOptions()).nanoseconds
    assert set(spent) == {"parsing", "arithmetic"}
    assert 0 < sum(spent.values()) <= time.perf_counter_ns() - start


# -- the loop over precisions


def precisions(scripted: Scripted) -> list[int]:
    return [bits for _, bits in scripted.asked]


def test_the_working_precision_doubles_up_to_the_limit(run: Run) -> None:
    scripted = Scripted({"a": UNDECIDED})
    run(scripted, limits=Limits(max_bits=600))
    assert precisions(scripted) == [64, 128, 256, 512, 600]


def test_the_loop_stops_at_the_first_precision_that_decides(run: Run) -> None:
    scripted = Scripted({"a": from_bits(200)})
    report = run(scripted)
    assert (report.verdict, report.bits) == (Verdict.VERIFIED, 256)
    assert precisions(scripted) == [64, 128, 256]


def test_only_what_is_undecided_is_asked_again(run: Run) -> None:
    scripted = Scripted({"a": PROVED, "b": from_bits(65)})
    assert run(scripted).verdict is Verdict.VERIFIED
    assert scripted.asked == [("a", 64), ("b", 64), ("b", 128)]


def test_a_refuted_obligation_ends_the_search(run: Run) -> None:
    scripted = Scripted({"a": REFUTED, "b": UNDECIDED})
    assert run(scripted).verdict is Verdict.REFUTED
    assert precisions(scripted) == [64, 64]


def test_a_missing_proof_does_not_keep_a_refutation_from_being_found(run: Run) -> None:
    late = Scripted({"a": "no idea", "b": lambda bits: arb(2) if bits > 64 else arb("nan")})
    assert run(late).verdict is Verdict.REFUTED


def test_the_limit_of_bits_holds_and_is_said(run: Run) -> None:
    scripted = Scripted({"a": UNDECIDED}, first=10**9)
    report = run(scripted, limits=Limits(max_bits=100))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert precisions(scripted) == [100]
    assert "100 bits (--max-bits)" in report.reason


@pytest.mark.parametrize(("first", "expected"), [(2, [2, 4, 8]), (5, [5, 8]), (None, [8]), (8, [8])])
def test_a_theorem_says_where_to_begin(run: Run, first: int | None, expected: list[int]) -> None:
    scripted = Scripted({"a": UNDECIDED}, first=first)
    run(scripted, limits=Limits(max_bits=8))
    assert precisions(scripted) == expected


# -- a part of the obligations

TWO = {"a[0]": PROVED, "a[1]": PROVED}


@pytest.mark.parametrize("only", ["a[0]", "a[1]", "a[?]", "a*", "*"])
def test_a_check_of_chosen_obligations_never_verifies(run: Run, only: str) -> None:
    report = run(Scripted(TWO), only=only)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.counts["refuted"] == 0
    assert "asked for" in report.reason


def test_a_check_of_all_obligations_by_name_says_so(run: Run) -> None:
    part = run(Scripted({"a": PROVED, "b": PROVED}), only="a").reason
    assert part.startswith("only 1 of 2 obligations were asked for (--only)")
    whole = run(Scripted({"a": PROVED, "b": PROVED}), only="*").reason
    assert whole == "all 2 obligations were asked for by name (--only); they are proved: check without it"


@pytest.mark.parametrize("root", ["nowhere", "file"])
def test_the_root_is_a_folder(root: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=f"root is '.*{root}', expected a folder"):
        CheckOptions(root=tmp_path / root)


def test_the_only_obligation_asked_for_by_name_does_not_verify_either(run: Run) -> None:
    assert run(Scripted({"a": PROVED}), only="a").verdict is Verdict.INCONCLUSIVE


def test_a_check_of_chosen_obligations_asks_for_these_alone(run: Run) -> None:
    scripted = Scripted({**TWO, "b": PROVED})
    assert run(scripted, only="a[1]").counts["proved"] == 1
    assert scripted.asked == [("a[1]", 64)]


def test_a_check_of_chosen_obligations_may_refute(run: Run) -> None:
    assert run(Scripted({"a": REFUTED, "b": REFUTED}), only="b").verdict is Verdict.REFUTED


def test_a_name_that_no_obligation_has_decides_nothing(run: Run) -> None:
    report = run(Scripted({"a": PROVED}), only="x")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "--only); they are a" in report.reason
    assert report.bits == 0


def test_the_first_five_names_are_said_where_none_was_asked_for(run: Run) -> None:
    assert run(Scripted(dict.fromkeys("abcde", PROVED)), only="x").reason.endswith("they are a, b, c, d, e")
    assert run(Scripted(dict.fromkeys("abcdef", PROVED)), only="x").reason.endswith("they are a, b, c, d, e, ...")


# -- binary64 before Arb

FAST, SLOW = Tier("fast", lambda: "binary64"), Tier("slow", lambda: "binary64")


def failing(error: Exception) -> Script:
    def raising(bits: int) -> arb:
        raise error

    return raising


def test_what_binary64_decides_is_not_tried_in_arb(run: Run) -> None:
    scripted = Scripted({"a": UNDECIDED, "b": UNDECIDED}, fast={FAST: {"a": PROVED, "b": PROVED}})
    report = run(scripted)
    assert (report.verdict, report.bits, report.arithmetic) == (Verdict.VERIFIED, 53, "binary64")
    assert scripted.asked == [("a", 96), ("b", 96)]


def test_each_tier_is_asked_for_what_is_left(run: Run) -> None:
    tiers = {FAST: {"a": PROVED, "b": UNDECIDED}, SLOW: {"a": UNDECIDED, "b": UNDECIDED}}
    scripted = Scripted({"a": PROVED, "b": PROVED}, fast=tiers)
    report = run(scripted)
    assert report.verdict is Verdict.VERIFIED
    assert scripted.asked == [("a", 96), ("b", 96), ("b", 96), ("b", 64)]
    assert report.arithmetic == f"binary64 (1) and {ARB} (1)"


class _Told(Watch):
    def __init__(self, asked: list[tuple[str, int]]) -> None:
        self.asked, self.heard = asked, list[tuple[str, int]]()

    def left_binary64(self, reason: str) -> None:
        self.heard.append((reason, len(self.asked)))


def test_leaving_binary64_is_told_before_arb_begins(run: Run) -> None:
    def told(fast: Mapping[Tier, Mapping[str, Any]], **options: Any) -> list[tuple[str, int]]:
        scripted = Scripted({"a": PROVED, "b": PROVED}, fast=fast)
        watch = _Told(scripted.asked)
        run(scripted, watch=watch, **options)
        return watch.heard

    assert told({FAST: {"a": PROVED, "b": UNDECIDED}}) == [("undecided obligations: 1", 2)]
    refused = {FAST: {"a": failing(RefusedError("too large")), "b": PROVED}}
    assert told(refused) == [("fast arithmetic was not used: too large", 1)]
    # Nothing is left, or nothing else was wanted.
    assert told({FAST: {"a": PROVED, "b": PROVED}}) == []
    assert told({FAST: {"a": REFUTED, "b": UNDECIDED}}) == []
    assert told(refused, arithmetic="binary64") == []
    assert told(refused, arithmetic="arb") == []
    assert told({}) == []


def test_binary64_refutes(run: Run) -> None:
    scripted = Scripted({"a": PROVED}, fast={FAST: {"a": REFUTED}, SLOW: {"a": PROVED}})
    assert run(scripted).verdict is Verdict.REFUTED
    assert len(scripted.asked) == 1


@pytest.mark.parametrize("error", [GuardError("rounds upward"), RefusedError("too large"), BoundNotProvedError("no")])
def test_where_binary64_cannot_be_used_arb_is_and_the_report_says_so(error: Exception, run: Run) -> None:
    scripted = Scripted({"a": PROVED}, fast={FAST: {"a": failing(error)}})
    report = run(scripted)
    assert (report.verdict, report.bits, report.arithmetic) == (Verdict.VERIFIED, 64, ARB)
    assert report.findings == (f"fast arithmetic was not used: {error}",)
    alone = run(scripted, arithmetic="binary64")
    assert alone.verdict is Verdict.INCONCLUSIVE
    assert "--arithmetic auto" in alone.reason


def test_arb_alone_and_binary64_alone(run: Run) -> None:
    assert run(Scripted({"a": PROVED}, fast={FAST: {"a": REFUTED}}), arithmetic="arb").verdict is Verdict.VERIFIED
    report = run(Scripted({"a": PROVED}, fast={FAST: {"a": UNDECIDED}}), arithmetic="binary64")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason == "1 obligation still undecided in binary64; --arithmetic auto goes on with Arb"
    report = run(Scripted({"a": PROVED}), arithmetic="binary64")
    assert (report.verdict, report.reason) == (
        Verdict.INCONCLUSIVE, "binary64 has no answer here; --arithmetic auto goes on with Arb",
    )  # fmt: skip


# -- what is asserted and not looked at

BOUND = Field("bound", Rational(), "a number", required=False)
INDEX = Field("index", Count(0), "a number")
ITEMS = Field("items", Listing(Record(INDEX)), "records", required=False)
FORM = Field("form", Variant("kind", {"one": Record(INDEX), "none": Record()}), "one of two forms", required=False)
ASSERTS = Record(BOUND, ITEMS, FORM)

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
def test_what_is_asserted_and_not_looked_at_is_a_bug_and_does_not_verify(run: Run, looks_at: str) -> None:
    stated, look, missed = LOOKS[looks_at]
    for script, verdict in ((PROVED, Verdict.VERIFIED), (REFUTED, Verdict.REFUTED)):
        report = run(Scripted({"a": script}, asserts=ASSERTS, look=look), stated)
        assert report.verdict is (Verdict.ERROR if missed and verdict is Verdict.VERIFIED else verdict)
        assert (f"a bug in certattn: the claim has not looked at {missed}" in report.reason) is (
            report.verdict is Verdict.ERROR
        )


def test_a_theorem_that_never_reads_what_is_asserted_does_not_verify(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "_read", lambda self, certificate: None)
    assert run(Scripted({"a": PROVED}), "{x: 1}").verdict is Verdict.ERROR


# -- certificates and files


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (
            TEXT.replace("scripted", "no-such-claim"),
            "one of the claims attention-error, attention-spectrum, binary64-exponential, cache-error",
        ),
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
    assert run(Scripted({"a": PROVED})).obligations == ()
    (kept,) = run(Scripted({"a": PROVED}), detail=True).obligations
    assert kept["name"] == "a"
    assert kept["outcome"] == "proved"


def test_the_table_of_claims_is_the_known_one() -> None:
    names = {
        "attention-error",
        "attention-spectrum",
        "binary64-exponential",
        "cache-error",
        "causal-law",
        "descent-trajectory",
        "equivalent-law",
        "finite-moments",
        "flow-trajectory",
        "full-batch-descent",
        "gradient-mean-square",
        "gradient-tail",
        "held-out-risk",
        "infinite-prompt-operator",
        "joint-max-margin",
        "linearization",
        "max-margin",
        "normalizer-bound",
        "not-marchenko-pastur",
        "observed-prompt",
        "output-deviation",
        "output-mean-square",
        "output-tail",
        "proposition-3-1",
        "proposition-3-4",
        "regression-risk",
        "regularization-path",
        "risk-gap",
        "risk-transfer",
        "selection-basins",
        "selection-counterexample",
        "selection-direction",
        "selection-on-a-head",
        "singular-values",
        "softmax-mean",
        "spectral-distance",
        "stochastic-descent",
        "theorem-4-3",
        "token-optimality",
        "training-convergence",
        "typical-prompt",
        "universality-bound",
    }
    assert {name: claim.name for name, claim in checker.CLAIMS.items()} == {name: name for name in names}
