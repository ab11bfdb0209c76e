"""Claim `attention-error`: what is said of it, both arithmetics beside each other, hashes, and broken parts."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import error_cases as cases
import numpy as np
import pytest
from corpus import ACCEPT, FILES, INCONCLUSIVE, REFUTED, changed, check
from flint import arb
from sabotage import holding, noticed, unless

from certattn.fast import binary64
from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.document import arrays as array_files
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention import attention_error, stated_heads, stored_heads
from certattn.kernel.theorems.attention.attention_error import errors_in_binary64, exact_errors
from certattn.statements.checking import check_certificate
from certattn.statements.reports import Report

CLAIM = CLAIMS["attention-error"]
STORED = [cases.ARRAYS, cases.INTEGERS, cases.EIGHTS, cases.UNITS, cases.MASKS, cases.RULES]


def text(family: cases.Family) -> str:
    return next(family.cases()).text


def checked(certificate: str, folder: Path, arithmetic: str = "auto") -> Report:
    return check_certificate(loads(certificate, folder / "case.yaml"), CheckOptions(detail=True, arithmetic=arithmetic))


# -- both arithmetics


@pytest.mark.parametrize("family", STORED, ids=lambda family: family.title)
def test_balls_of_binary64_hold_exact_numbers(family: cases.Family, arrays: Path) -> None:
    for case in family.cases():
        if case.verdict is not ACCEPT:
            continue
        stated = CLAIM.read(loads(case.text, arrays / "case.yaml"))
        if not stated.tiers:
            continue
        names = [field.name for field in (*attention_error.MEASURES, attention_error.BEYOND) if field in stated.asserts]
        with working_precision(300):
            found = errors_in_binary64(stated, range(stated.heads.count))
            for head, measured in found.items():
                exact = exact_errors(stated, head)
                for name in names:
                    ball, truth = measured[name](), exact[name]()
                    assert ball.contains(truth.mid()), (case.name, name, head)


def test_stored_heads_are_decided_in_binary64(arrays: Path) -> None:
    certificate = changed(text(cases.ARRAYS), "radius: 0, at_most: 48, at_least: 48", "radius: 0.001, at_least: 1", "")
    found = checked(certificate, arrays, "binary64")
    assert found.verdict is ACCEPT, found.reason
    assert (found.bits, binary64() in found.arithmetic) == (53, True)
    for old, new in (("0.00767921", "0.00767920"), ("62.9081", "62.9080"), ("0.000482103", "0.000482102")):
        assert checked(changed(certificate, old, new, ""), arrays, "binary64").verdict is REFUTED


def test_numbers_that_are_written_out_are_decided_in_balls(arrays: Path) -> None:
    assert binary64() not in check(text(cases.WHOLE), arrays).arithmetic


# -- hashes: whatever is computed on the way, another file verifies nothing


@pytest.mark.parametrize("keep", [0, 2**28])
@pytest.mark.parametrize("name", ["heads-q", "heads-k", "heads-v", "heads-o", "heads-l"])
def test_a_file_that_changes_by_a_bit_is_another(
    name: str, keep: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In files of their own, which are read in one pass where they are large: their hashes come last."""
    monkeypatch.setattr(array_files, "_KEEP_BYTES", keep)
    certificate = text(cases.ARRAYS)
    for each, old in (
        ("heads-q", cases.Q),
        ("heads-k", cases.K),
        ("heads-v", cases.V),
        ("heads-o", cases.O),
        ("heads-l", cases.L),
    ):
        content = FILES[f"{each}.npy"]
        (tmp_path / f"{each}.npy").write_bytes(content)
        digest, before = hashlib.sha256(content).hexdigest(), hashlib.sha256(FILES["heads.npz"]).hexdigest()
        new = old.replace("heads.npz", f"{each}.npy").replace(before, digest).replace(f", array: {each}", "")
        certificate = changed(certificate, old, new, each)
    assert checked(certificate, tmp_path).verdict is ACCEPT
    content = bytearray(FILES[f"{name}.npy"])
    content[-1] ^= 1
    (tmp_path / f"{name}.npy").write_bytes(content)
    for arithmetic in ("auto", "binary64", "arb"):
        with pytest.raises(MalformedError, match="the array file is not the one"):
            checked(certificate, tmp_path, arithmetic)


@pytest.mark.parametrize("arithmetic", ["auto", "binary64", "arb"])
@pytest.mark.parametrize(("name", "said"), [("nan", "a NaN"), ("infinite", "an infinity")])
def test_an_output_that_is_not_finite_is_refuted_and_nothing_else_is_asked(
    name: str, said: str, arithmetic: str, arrays: Path
) -> None:
    old = cases.heads("o", "float16", "[2, 4, 3, 2]")
    found = checked(
        text(cases.ARRAYS).replace(old, cases.heads(f"o-{name}", "float16", "[2, 4, 3, 2]")), arrays, arithmetic
    )
    assert found.verdict is REFUTED
    assert [one["name"] for one in found.obligations if one["outcome"] == "refuted"] == ["finite"]
    assert found.counts["proved"] == 0
    assert f"the output has {said} at [1, 2, 0, 1] (counted from 0) in heads.npz[heads-o-{name}]" in found.findings


def test_an_error_by_the_size_of_0_is_no_number(arrays: Path) -> None:
    """Neither bound of it is ever proved or refuted; where there is no error it is 0."""
    given = "given: {queries: [[1]], keys: [[1]], values: [[0, 0]], output: [[%s, 0]], scale: 1}\n"
    for output in ("0", "1"):
        for bound in ("at_most: 5", "at_least: 0"):
            head = "certattn: 1\nclaim: attention-error\n"
            found = check(head + given % output + f"asserts: {{relative: {{{bound}}}}}\n", arrays)
            assert found.verdict is (ACCEPT if output == "0" else INCONCLUSIVE)


def test_of_queries_that_see_nothing_no_log_sum_exp_is_bounded(arrays: Path) -> None:
    nobody = "[[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]"
    head = f"certattn: 1\nclaim: attention-error\n{cases.PROMPT.lstrip()}  empty: zero\n  mask: {nobody}\n{cases.LSE}"
    for bound in ("at_most: 1e9", "at_least: 0"):
        found = check(f"{head}asserts: {{lse: {{{bound}}}, error: {{at_most: 2.5, at_least: 2.5}}}}\n", arrays)
        assert found.verdict is INCONCLUSIVE
        assert found.counts["proved"] == 3


# -- units in the last place


def ball(low: float, high: float) -> arb:
    return arb(low).union(arb(high))


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [(arb(1), -10, -10), (ball(1 - 2.0**-30, 1.0), -11, -10), (ball(0.75, 0.99), -11, -11), (ball(0.4, 3.0), -12, -9),
     (arb(0), -24, -24), (ball(0.0, 2.0**-15), -24, -24), (ball(2.0**-14, 2.0**-13.5), -24, -24),
     (ball(2.0**-14, 2.0**-12.5), -24, -23), (arb(65504), 5, 5), (arb(2) ** 1000, 990, 990)],
)  # fmt: skip
def test_units(size: arb, low: int, high: int) -> None:
    with working_precision(128):
        unit = attention_error.unit(size, *attention_error.FORMATS["float16"])
        for exponent in (low, high):
            assert unit.contains(arb(2) ** exponent)
        assert not unit.contains(arb(2) ** (high + 1))
        assert not unit.contains(arb(2) ** (low - 2))


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_formats_are_those_of_numpy(name: str) -> None:
    info = np.finfo(name)
    assert attention_error.FORMATS[name] == (info.nmant + 1, info.minexp)


# -- what is said


def said(family: cases.Family, folder: Path) -> str:
    return check(text(family), folder).statement


def test_the_statement_says_every_number(arrays: Path) -> None:
    whole = said(cases.WHOLE, arrays)
    for piece in (
        "a head of 3 queries on 4 tokens (queries: ((1, 1), (-2, 0.5), (0, 0.5)), keys: ((1, 0), (0, 1), (-1, 0.5),",
        "weighted by e^(sqrt(1/2) <q, k>), where a query sees all tokens.",
        "The output o is ((0.5, 0.5), (2.5, 0.25), (0.25, 0.75)), returned with the log-sum-exps (1.6, 2.3, 1.5) (natural",  # noqa: E501
        "All its entries are finite",
        "the largest error |o - T| of an entry is at least 0.48844 and at most 0.488441",
        "the largest relative error |o - T|_2 / |T|_2 of a row is at least 0.786397 and at most 0.786398",
        "the root mean square of the errors o - T is at least 0.331435 and at most 0.331436",
        "the largest error of the log-sum-exp of a query is at least 0.410305 and at most 0.410306",
        "; 5 entries are off by more than 0.1",
    ):
        assert piece in whole, whole


@pytest.mark.parametrize(("counts", "words"), [
    ("at_most: 1", "at most 1 entry is off"), ("at_least: 2, at_most: 9", "at least 2 and at most 9 entries are off"),
    ("at_least: 1", "at least 1 entry is off"), ("at_most: 0", "no entry is off"),
])  # fmt: skip
def test_one_entry_is_one(counts: str, words: str, arrays: Path) -> None:
    assert words in check(text(cases.WHOLE).replace("at_most: 5, at_least: 5", counts), arrays).statement


def test_the_statement_says_who_sees_what(arrays: Path) -> None:
    for family, piece in (
        (cases.TOP_LEFT, "query i sees the tokens up to i, as far as they exist (counted from 0)."),
        (
            cases.WINDOW,
            "where query i of m sees the tokens from i + n - m - 1 up to i + n - m of n, as far as they exist (counted",
        ),
        (cases.SEQUENCES, "counted from 0), within its own sequence of m = (1, 2) queries and n = (1, 3) tokens."),
        (
            cases.PACKED,
            "query i sees the tokens from i up to i + 1, as far as they exist (counted from 0), within its own sequence",  # noqa: E501
        ),
        (cases.ONE_TOKEN, "all tokens, among the first n tokens of its batch, n = (1)."),
    ):
        assert piece in said(family, arrays), said(family, arrays)


def test_the_statement_says_what_heads_there_are_and_whose_units(arrays: Path) -> None:
    several = said(cases.ARRAYS, arrays)
    for piece in (
        "8 heads, each of 3 queries on 5 tokens (a batch of 2), 2 to each head of keys and values",
        "queries: 2 x 4 x 3 x 2 from heads.npz[heads-q]",
        "at most 0.00767921 in every head and at least 0.0076792 in some head",
        "units in the last place of T, in float16, is at most 62.9081 in every head and at least 62.908 in some head",
    ):
        assert piece in several, several
    assert "in float8_e4m3fn," in said(cases.EIGHTS, arrays)


def test_the_worst_heads_and_entries_are_found(arrays: Path) -> None:
    first, entry, relative, units, *_ = check(text(cases.ARRAYS), arrays).findings
    # Two heads have the same worst entry.
    place = re.match(r"the largest error \|o - T\| of an entry in batch (\d), head (\d): \[0\.00767920318", first)
    assert place is not None
    assert place.groups() in {("0", "1"), ("1", "2")}
    assert entry.startswith("worst entry: ")
    assert "at batch {}, head {}, query".format(*place.groups()) in entry
    assert "in batch 1, head 1: [0.022785067" in relative
    assert "in batch 1, head 2: [62.908032" in units


# -- broken parts


def seeing(first: int, last: int) -> Any:
    """Who sees what, moved."""
    true = stated_heads.StatedHeads.sight

    def sight(self: Any, head: int) -> stated_heads.Sight:
        found = true(self, head)
        ends = [min(self.tokens, max(1, stop + last)) for stop in found.last]
        starts = (max(0, start + first) for start in found.first)
        begins = tuple(min(s, e - 1) for s, e in zip(starts, ends, strict=True))
        return stated_heads.Sight(begins, tuple(ends), found.diagonal)

    return sight


def of_head_0(errors: Any) -> Any:
    return lambda stated, head: errors(stated, 0)


heads_of = stored_heads.stored_errors
SABOTAGES: dict[str, tuple[Any, ...]] = {
    **{
        f"{name} is not looked at": (attention_error, "Obligation", holding(f"{name} <="))
        for name in ("error.at_most", "relative.at_most", "ulps.at_most", "rms.at_most", "lse.at_most")
    },
    **{
        f"{name} is not looked at": (attention_error, "Obligation", unless(name))
        for name in ("finite", "relative.at_least", "ulps.at_least", "rms.at_least", "lse.at_least", "error.at_least",
                     "beyond.at_most", "beyond.at_least")
    },
    "a token more is seen": (stated_heads.StatedHeads, "sight", seeing(0, 1)),
    "a token less is seen": (stated_heads.StatedHeads, "sight", seeing(0, -1)),
    "an earlier token is seen": (stated_heads.StatedHeads, "sight", seeing(-1, 0)),
    "the first token is not": (stated_heads.StatedHeads, "sight", seeing(1, 0)),
    "heads do not share keys": (stated_heads.StatedHeads, "place", lambda self, head: f"[0][{head}]"),
    "the first head is the worst": (attention_error, "largest", lambda *values: values[0]),
    "the last of many is the worst": (attention_error, "largest", lambda *values: values[-1]),
    "what is summed is its first": (attention_error, "_sum", lambda *values: values[0]),
    "one unit for all": (attention_error, "unit", lambda size, precision, least: arb(2) ** (least - precision + 1)),
    "exponents are one too large": (attention_error, "_exponent", lambda size, least: least + 1),
    "what is equal is above": (
        attention_error, "above", lambda size, radius: arb(1) if (size >= radius) is True else arb(0)),
    "logarithms are natural": (attention_error, "BASE", stated_heads.LOGARITHMS),
    "nothing is not finite": (
        attention_error.AssertedErrors, "not_finite", lambda self: attention_error.fmpq(0)),
    "norms are largest entries": (attention_error, "l2_norm", lambda row: attention_error.largest(*map(abs, row))),
    "float16 for all": (
        attention_error, "FORMATS", dict.fromkeys(attention_error.FORMATS, attention_error.FORMATS["float16"])),
    "units of float16 are those of bfloat16": (attention_error.FORMATS, "float16", (8, -126)),
    "float8_e4m3fn has a bit more": (attention_error.FORMATS, "float8_e4m3fn", (5, -6)),
    "float8_e5m2 has a bit less": (attention_error.FORMATS, "float8_e5m2", (2, -14)),
}  # fmt: skip
test_a_broken_part = noticed(cases.CASES, SABOTAGES)
