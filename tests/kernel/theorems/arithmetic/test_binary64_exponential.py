"""Claim `binary64-exponential`: what is said of it, and its numbers."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import REFUTED, Case, Cases, check
from exponential_cases import OWN, WRITTEN_OUT
from flint import arb, fmpq
from sabotage import Sabotage, noticed

from certattn.fast import exponential, exponential_bound
from certattn.kernel.decide import proof
from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.arithmetic import binary64_exponential
from certattn.statements.checking import check_certificate
from certattn.statements.wording import WORDINGS

cases = Cases("exponential_cases")

CLAIM = CLAIMS["binary64-exponential"]


def by_name(name: str) -> Case:
    (case,) = [case for case in cases.CASES if case.name == name]
    return case


# -- what is said


def test_the_words_say_every_number_and_operation(arrays: Path) -> None:
    said = check(by_name("a tail").text, arrays).statement
    for words in (
        "|s| <= 11000", "every integer K with |s / ln 2 - K| <= 1010", "|x| <= 1.818989403545856475830078125e-12",
        "A = 3 * 2^51 - 2048 K", "t = s inverse + A", "k = t - A", "r = ((s - k L1) - k L2) + x",
        "P = (1 + (C2 + C3 r) r) r", "F = 2^(floor(k / 2048) - K) (T_j + P T_j)", "j = k mod 2048",
        "rounded to nearest, ties to even, in IEEE-754 binary64", "subnormal numbers are kept or replaced by zero",
        "L1 = 0xb17217fp-39", "L2 = 0x1f473de6af278fp-93", "inverse = 0xb8aa3b295c17fp-40",
        "C2 = 0x400000021f6e3p-51", "C3 = 0x2aaaaaab8409fp-52", "2048 numbers from table.npy",
        "|F / (2^-K e^(s + x)) - 1| is at most 2.26375e-16",
        "at least 2.24681e-16 at s = 0xa267e096ac44fp-58, x = 0", "certattn's kernel computes with these constants",
    ):  # fmt: skip
        assert words in said, words
    plain = check(by_name("stated constants").text, arrays).statement
    assert "r = (s - k L1) - k L2, " in plain
    assert "|F / (2^-K e^s) - 1| is at most 2.27e-16." in plain
    assert "kernel" not in plain


def test_the_proved_bound_is_a_finding(arrays: Path) -> None:
    (finding,) = check(by_name("stated constants").text, arrays).findings
    assert finding.startswith("proved: at most [2.26355876042152e-16 +/- ")
    assert check(by_name("the kernel's own exponential: only one score").text, arrays).findings == ()


def test_below_the_precision_of_the_proof_nothing_is_verified(arrays: Path) -> None:
    for name in ("stated constants", "a tail", "stated constants: L1 of 29 bits"):
        for bits in (2, 10, 30, 64):
            limits = dataclasses.replace(DEFAULT_LIMITS, max_bits=bits)
            certificate = loads(by_name(name).text, arrays / "case.yaml", limits=limits)
            report = check_certificate(certificate, CheckOptions(limits))
            # That there is no proof for some constants is known whatever the precision of the check.
            without = {Verdict.REFUTED, Verdict.REJECTED} if by_name(name).verdict is REFUTED else set()
            assert report.verdict in {Verdict.INCONCLUSIVE, *without}
            assert "nan" not in " ".join(report.findings)


def test_a_check_asks_for_more_bits_where_a_score_needs_them(arrays: Path) -> None:
    """A lower bound that agrees with the error at the score to 60 digits."""
    case = by_name("the kernel's own exponential: only one score")
    problem = binary64_exponential.THEOREM.read(loads(case.text, arrays / "case.yaml"))
    assert problem.at is not None
    with working_precision(400):
        error = binary64_exponential.relative_error_at(
            problem.function, problem.at[binary64_exponential.SCORE], fmpq(0)
        )
        assert error is not None
        mantissa, exponent = (error * (1 - arb(10) ** -60)).lower().man_exp()
    close = fmpq(mantissa) * fmpq(2) ** int(exponent)
    report = check(case.text.replace("at_least: 2.24681e-16", f"at_least: {close}"), arrays)
    assert report.verdict is Verdict.VERIFIED
    assert report.bits > 128


# -- reading


def test_showing_needs_no_table(tmp_path: Path) -> None:
    certificate = loads(by_name("a tail").text, tmp_path / "case.yaml")
    assert "table.npy" in WORDINGS[CLAIM.name].statement(CLAIM.read(certificate)).words


def test_a_missing_table_is_malformed(tmp_path: Path) -> None:
    assert check(by_name("a tail").text, tmp_path).verdict is Verdict.MALFORMED


def test_the_proof_needs_no_numpy() -> None:
    """A statement about written-out constants that are not said to be the kernel's."""
    text = by_name("stated constants").text.replace(OWN, f"[{WRITTEN_OUT}]")
    script = (
        "import sys\n"
        "from certattn.kernel.decide.checker import CheckOptions\n"
        "from certattn.statements.checking import check_certificate\n"
        "from certattn.kernel.document.certificate import loads\n"
        "report = check_certificate(loads(sys.stdin.read(), 'case.yaml'), CheckOptions())\n"
        "print(report.verdict.value, 'numpy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["verified", "False"]


# -- the kernel's own constants


def test_another_kernel_refutes_the_part_about_the_kernel(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exponential.own_exponential.cache_clear()
    monkeypatch.setattr(exponential, "C3", 1 / 6)
    try:
        report = check(by_name("the kernel's own exponential").text, arrays)
        assert report.verdict is Verdict.REFUTED
        assert "of the kernel" in report.reason
        without = by_name("the kernel's own exponential: nothing about the kernel")
        assert check(without.text, arrays).verdict is Verdict.VERIFIED
    finally:
        exponential.own_exponential.cache_clear()


# -- kernels with one part sabotaged


def passes(*sides: Any) -> Outcome:
    return Outcome.PROVED


def holds(left: Any, right: Any) -> tuple[bool, bool]:
    return True, False


def unproved(function: Any) -> arb:
    return arb(0)


all_table_errors, own_exponential = exponential_bound.table_errors, exponential.own_exponential


SABOTAGE: dict[str, Sabotage] = {
    "every inequality holds": (proof, "decide", passes),
    "upper bounds are not looked at": (proof._COMPARED, "<=", holds),
    "lower bounds are not looked at": (proof._COMPARED, ">=", holds),
    "constants are not compared": (proof, "_identical", passes),
    "what is unproved passes": (binary64_exponential, "_proved_error", unproved),
    "nothing is tried": (binary64_exponential.StatedExponential, "_tried", lambda self: []),
    "no condition is checked": (exponential_bound, "_require", lambda condition, words: None),
    "every number is a double": (binary64_exponential, "is_binary64", lambda value: True),
    "no number is a double": (binary64_exponential, "is_binary64", lambda value: False),
    "the table has no error": (exponential_bound, "table_errors", lambda table: []),
    "the table is looked at in part": (exponential_bound, "table_errors", lambda table: all_table_errors(table)[:999]),
    "the cubic is the exponential": (exponential_bound, "_approximation_error", lambda function, radius: arb(0)),
    "parabolas are largest at the end": (
        exponential_bound, "_largest_on_parabola", lambda a, b, end: abs(a * end + b * end**2)),
    "nothing is rounded": (exponential_bound, "_UNIT", fmpq(0)),
    "half a unit is a quarter": (exponential_bound, "_UNIT", fmpq(1, 2**54)),
    "single values are not rounded": (binary64_exponential, "to_nearest", lambda value: value),
    "only the kernel's constants exist": (exponential, "own_exponential", lambda tail: own_exponential(tail=not tail)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


# -- mutants


def tree_of(case: Case, folder: Path) -> dict[str, Any]:
    return loads(case.text, folder / "case.yaml").plain


def test_no_flipped_bit_of_the_table_is_falsely_accepted(tmp_path: Path, mutate: ModuleType) -> None:
    tree = tree_of(by_name("stated constants: few scores"), tmp_path)
    given: Any = {**tree["given"], "scores_up_to": "11000"}
    mutants = []
    for index, bit in [(0, 0), (0, 52), (3, 1), (400, 0), (900, 0), (900, 2), (1400, 30), (1999, 51), (2, 62), (9, 63)]:
        table = exponential.TABLE.copy()
        table.view("u8")[index] ^= np.uint64(1 << bit)
        file = f"table-{index}-{bit}.npy"
        np.save(tmp_path / file, table)
        digest = hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
        reference = {**given["table"], "file": file, "sha256": digest}
        mutants.append(mutate.Mutant(f"entry {index}, bit {bit}", {**tree, "given": {**given, "table": reference}}))
    tally = mutate.sweep(mutants, tmp_path)
    assert tally.errors == tally.not_verified == []
    assert tally.verified_true == 0
    assert tally.refuted_false >= 6
