"""The second checker on claims about heads: every accept and reject case, number types of eight bits, broken parts."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import cache_cases
import error_cases as cases
import pytest
from corpus import ACCEPT, INCONCLUSIVE, MALFORMED, REFUTED, Case
from float8_values import FLOAT8

sys.path.append(str(Path(__file__).parents[4]))
from tools.fuzz.two_readers import recheck

heads = recheck.heads
SAID = {ACCEPT: "verified", REFUTED: "not proved", MALFORMED: "rejected", INCONCLUSIVE: "undecided"}


def found(case: Case, folder: Path) -> str:
    (folder / "case.yaml").write_text(case.text)
    verdict: str = recheck.check(folder / "case.yaml", 60)[0]
    return verdict


@pytest.mark.parametrize("family", [*cases.FAMILIES, *cache_cases.LISTED], ids=lambda family: family.title)
def test_it_says_what_the_kernel_says(family: cases.Family, arrays: Path) -> None:
    wrong = [(case.name, verdict) for case in family.cases() if (verdict := found(case, arrays)) != SAID[case.verdict]]
    assert not wrong


@pytest.mark.parametrize("family", cache_cases.REGIONS, ids=lambda family: family.title)
def test_regions_of_queries_are_not_covered(family: cases.Family, arrays: Path) -> None:
    for case in family.cases():
        expected = {"not covered", "rejected"} if case.verdict is MALFORMED else {"not covered"}
        assert found(case, arrays) in expected, case.name


@pytest.mark.parametrize("dtype", FLOAT8)
def test_every_pattern_of_eight_bits(dtype: str) -> None:
    for pattern, expected in enumerate(FLOAT8[dtype]):
        if expected - expected == 0:
            assert recheck.unpack(bytes([pattern]), dtype, 1, "") == [Fraction(expected)]
        else:
            with pytest.raises(recheck.NotFinite):
                recheck.unpack(bytes([pattern]), dtype, 1, "")


@pytest.mark.parametrize(
    ("size", "exponent"),
    [(1, 0), (Fraction(3, 2), 0), (Fraction(2**60 - 1, 2**60), -1), (2, 1), (Fraction(1, 3), -2), (Fraction(1, 4), -2),
     (Fraction(2**90 + 1, 3), 88), (0, -7)],
)  # fmt: skip
def test_exponents(size: Any, exponent: int) -> None:
    assert heads.exponent(Fraction(size), -7) == exponent


def first_of_all(g: dict[str, Any], batch: int, batches: int, m: int, n: int) -> list[tuple[int, int]]:
    return [(0, n)] * m


SEEN, MEASURE, EXPONENT = heads.seen, heads.measure, heads.exponent
LOG = heads.log
# What is put in the place of what.
BROKEN: dict[str, tuple[str, Any]] = {
    "nobody looks at masks": ("seen", first_of_all),
    "nobody looks at windows": ("seen", lambda g, *sizes: SEEN({**g, "window": None}, *sizes)),
    "nobody looks at sequences": ("seen", lambda g, *sizes: SEEN({**g, "sequences": None}, *sizes)),
    "masks begin at the top left": (
        "seen", lambda g, *sizes: SEEN({**g, "causal": g["causal"] and "top-left"}, *sizes)),
    "one unit for all": ("exponent", lambda x, otherwise: otherwise),
    "a power of two one binade lower": ("exponent", lambda x, otherwise: EXPONENT(x, otherwise) - (x in (1, 2, 4))),
    "every logarithm is natural": ("log", lambda x: recheck.iv(1) if x == 2 else LOG(x)),
    "the last row is not looked at": ("measure", lambda name, head, dtype: MEASURE(name, head, dtype)[:-1] or [0]),
    "what is not squared is": ("SQUARED", ()),
    "nothing is counted": ("counted", lambda *given: None),
    "nothing is reached": ("reached", lambda *given: None),
    "nothing is compared": ("at_most", lambda *given: None),
    "what may be 0 is": ("quotient", lambda x, y: Fraction(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_part_is_noticed(name: str, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, *BROKEN[name])
    assert any(found(case, arrays) != SAID[case.verdict] for case in cases.CASES)


caches = recheck.caches
BROKEN_CACHES: dict[str, tuple[str, Any]] = {
    "nobody looks at upper and lower bounds": ("at_most", lambda *given: None),
    "nothing is reached": ("reached", lambda *given: None),
    "negative bounds are bounds": ("refuse", lambda when, why: recheck.refuse(when and "a negative" not in why, why)),
    "a share of the others": (
        "share", lambda weights, inside, true=caches.share: true(weights, [not x for x in inside])),
    "halves exchanged": (
        "halves", lambda byte, order, signed, true=caches.halves: true(byte, order, signed)[::-1]),
    "no half has a sign": ("halves", lambda byte, order, signed, true=caches.halves: true(byte, order, False)),
    "the first scale for all": (
        "spread", lambda node, shape, true=caches.spread: [next(iter(true(node, shape)))] * caches.math.prod(shape)),
    "what is not squared is": ("SQUARED", ()),
    "kept tokens in any order": ("pairwise", lambda row: ()),
    "tokens of the first head for all": ("by_token", lambda *given, true=caches.by_token: true(*given)[:1] * given[2]),
    "what may be 0 is": ("quotient", lambda x, y: Fraction(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_CACHES)
def test_a_broken_part_of_caches_is_noticed(name: str, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, *BROKEN_CACHES[name])
    assert any(found(case, arrays) != SAID[case.verdict] for case in cache_cases.CASES)
