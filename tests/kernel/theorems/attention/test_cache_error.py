"""Claim `cache-error`: what is said of it, both arithmetics beside each other, hashes, and broken parts."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import cache_cases as cases
import numpy as np
import pytest
from corpus import ACCEPT, ARRAYS, FILES, INCONCLUSIVE, REFUTED, changed, check
from flint import arb, fmpq, fmpz_mat
from sabotage import holding, noticed, unless

from certattn.fast import binary64
from certattn.fast import caches as fast_caches
from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.document import arrays as array_files
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.given.prompts import DEFAULT
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention import cache_error, stated_caches, stored_caches
from certattn.kernel.theorems.attention.cache_error import MEASURES, measures
from certattn.kernel.theorems.attention.stated_caches import StatedCache, coarse_indices, unpacked
from certattn.statements.checking import check_certificate
from certattn.statements.reports import Report

CLAIM = CLAIMS["cache-error"]
STORED = [cases.ARRAYS, cases.SIGNED, cases.EIGHTS]


def text(family: cases.Family) -> str:
    return next(family.cases()).text


def checked(certificate: str, folder: Path, arithmetic: str = "auto") -> Report:
    return check_certificate(loads(certificate, folder / "case.yaml"), CheckOptions(detail=True, arithmetic=arithmetic))


# -- both arithmetics


@pytest.mark.parametrize("family", STORED, ids=lambda family: family.title)
def test_balls_of_binary64_hold_exact_numbers(family: cases.Family, arrays: Path) -> None:
    tried = 0
    for case in family.cases():
        stated = CLAIM.read(loads(case.text, arrays / "case.yaml")) if case.verdict is ACCEPT else None
        # Half a token is left to Arb.
        if stated is None or not stated.tiers or "times-halves" in case.text:
            continue
        items = [
            (field.name, head) for field in MEASURES if field in stated.asserts for head in range(stated.heads.count)
        ]
        with working_precision(300):
            fast, exact = measures(stated, items, DEFAULT), measures(stated, items, None)
        tried += 1
        for item in items:
            for ball, truth in zip(fast[item], exact[item], strict=True):
                assert ball.contains(truth.mid()), (case.name, item)
                assert ball.rad() < 1e-9
    assert tried > 1


def test_the_measures_are_those_of_numpy(arrays: Path) -> None:
    """In plain doubles, from the definition: codes in eight and in four bits, kept tokens, multiplicities, a mask."""
    held = {name.removeprefix("cache-").removeprefix("heads-"): array for name, array in ARRAYS.items()}
    q, k, v = (held[name].astype(float) for name in "qkv")
    k8 = held["k8"] * held["k8-scale"].astype(float)
    nibbles = np.stack([held["v4"] % 16, held["v4"] // 16], axis=-1).reshape(2, 2, 3, 2).astype(float)
    v4 = held["v4-scale"] * (nibbles - held["v4-zero"]) + held["v4-offset"]
    stated = CLAIM.read(loads(text(cases.ARRAYS), arrays / "case.yaml"))
    items = [(field.name, head) for field in MEASURES for head in range(8)]
    with working_precision(106):
        found = measures(stated, items, DEFAULT)
    for b, h, i in np.ndindex(2, 4, 3):
        kept, times, keys = held["kept"][b, h // 2], held["times"][b, h // 2], k[b, h // 2, : i + 3]
        weights = np.exp(keys @ q[b, h, i] / 2)
        exact, shares = weights @ v[b, h // 2, : i + 3] / weights.sum(), weights / weights.sum()
        seen = kept <= i + 2
        of_cache = times[seen] * np.exp(k8[b, h // 2][seen] @ q[b, h, i] / 2)
        off = of_cache @ v4[b, h // 2][seen] / of_cache.sum() - exact
        wanted = {
            "error": np.abs(off).max(),
            "deviation": np.linalg.norm(off),
            "relative": np.linalg.norm(off) / np.linalg.norm(exact),
            "evicted": sum(share for t, share in enumerate(shares) if t not in kept),
            "mass": shares[0] + shares[2],
        }
        for name, number in wanted.items():
            assert abs(float(found[name, 4 * b + h][i].mid()) - number) < 1e-12, (name, b, h, i)


def test_stored_caches_are_decided_in_binary64(arrays: Path) -> None:
    for family in STORED:
        found = checked(text(family), arrays, "binary64")
        assert found.verdict is ACCEPT, found.reason
        assert (found.bits, binary64() in found.arithmetic) == (53, True)
    for old, new in (("3.90113", "3.90112"), ("0.911380", "0.911379"), ("0.0953447", "0.0953448")):
        assert checked(changed(text(cases.ARRAYS), old, new, ""), arrays, "binary64").verdict is REFUTED


def test_what_no_double_is_is_decided_in_balls(arrays: Path) -> None:
    halves = changed(text(cases.ARRAYS), cases.N, cases.cached("times-halves", "float32", "[2, 2, 3]"), "")
    for certificate in (text(cases.LONG), halves, text(cases.WHOLE)):
        assert binary64() not in check(certificate, arrays).arithmetic
        assert checked(certificate, arrays, "binary64").verdict is INCONCLUSIVE


# -- hashes: whatever is computed on the way, another file verifies nothing

PARTS = {
    "heads-q": cases.Q, "heads-k": cases.K, "heads-v": cases.V, "cache-kept": cases.KEPT, "cache-k8": cases.C8,
    "cache-k8-scale": cases.Z8, "cache-v4": cases.C4, "cache-v4-scale": cases.Z4, "cache-v4-zero": cases.O4,
    "cache-v4-offset": cases.R4, "cache-times": cases.N,
}  # fmt: skip


@pytest.mark.parametrize("keep", [0, 2**28])
@pytest.mark.parametrize("name", PARTS)
def test_a_file_that_changes_by_a_bit_is_another(
    name: str, keep: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In files of their own, which are read in one pass where they are large: their hashes come last."""
    monkeypatch.setattr(array_files, "_KEEP_BYTES", keep)
    certificate = text(cases.ARRAYS)
    for each, old in PARTS.items():
        content = FILES[f"{each}.npy"]
        (tmp_path / f"{each}.npy").write_bytes(content)
        whole = "heads.npz" if each.startswith("heads") else "caches.npz"
        digest, before = hashlib.sha256(content).hexdigest(), hashlib.sha256(FILES[whole]).hexdigest()
        new = old.replace(whole, f"{each}.npy").replace(before, digest).replace(f", array: {each}", "")
        certificate = changed(certificate, old, new, each)
    assert checked(certificate, tmp_path).verdict is ACCEPT
    content = bytearray(FILES[f"{name}.npy"])
    content[-1] ^= 1
    (tmp_path / f"{name}.npy").write_bytes(content)
    for arithmetic in ("auto", "binary64", "arb"):
        with pytest.raises(MalformedError, match="the array file is not the one"):
            checked(certificate, tmp_path, arithmetic)


# -- codes and scales


@pytest.mark.parametrize("fine", [(6, 4), (2, 6, 4), (2, 3, 4, 2)])
def test_every_code_has_the_scale_of_its_group(fine: tuple[int, ...]) -> None:
    whole = np.arange(np.prod(fine)).reshape(fine)
    for coarse in np.ndindex(*fine):
        groups = tuple(extent + 1 for extent in coarse)
        if any(extent % count for extent, count in zip(fine, groups, strict=True)):
            continue
        numbers = np.arange(np.prod(groups)).reshape(groups)
        for axis, (extent, count) in enumerate(zip(fine, groups, strict=True)):
            numbers = np.repeat(numbers, extent // count, axis=axis)
        assert coarse_indices(fine, groups) == numbers.ravel().tolist(), groups
    assert whole.size == len(coarse_indices(fine, fine))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("low", [False, True])
def test_every_byte_holds_two_codes(low: bool, signed: bool) -> None:
    stored = [byte - 256 if signed and byte > 127 else byte for byte in range(256)]
    found = unpacked(ExactMatrix(fmpz_mat(256, 1, stored)), first_is_low=low, signed=signed)
    fast = fast_caches.unpacked(np.array(stored, float)[:, None], first_is_low=low, signed=signed)
    for byte in range(256):
        halves = [byte % 16, byte // 16] if low else [byte // 16, byte % 16]
        assert found.row(byte) == [half - 16 * (signed and half > 7) for half in halves]
        assert fast[byte].tolist() == [half - 16 * (signed and half > 7) for half in halves]


# -- what is said


def test_the_statement_says_every_number(arrays: Path) -> None:
    whole = check(text(cases.WHOLE), arrays).statement
    for piece in (
        "a head of 3 queries on 4 tokens (queries: ((1, 1), (-2, 0.5), (0, 0.5)), keys: ((1, 0), (0, 1), (-1, 0.5),",
        "weighted by e^(sqrt(1/2) <q, k>), where a query sees all tokens.",
        "Let T' be the same mean over the same tokens, as far as they are in a cache that keeps 3 tokens (0, 2 to 3), whose",  # noqa: E501
        "scale * (code - zero) + offset (codes: ((5, 2), (0, 3), (9, -1)), scale: (0.25, 0.5), zero: (4, 1), offset:",
        "whose values are ((1, 2), (3, 0.5), (-2, 1)) and where the multiplicities of tokens are (1, 1.5, 2). Then",
        "the largest entry of |T' - T| is at least 0.504461 and at most 0.602437 at every query",
        "at least 0.602436 at some query; the deviation",
        "at least the number stated for each query (0.537466, 0.636102, 0.634045) and at most the number stated for each",  # noqa: E501
        "the relative deviation |T' - T|_2 / |T|_2 is at least 0.281235 and at most 0.827477 at every query",
        "the softmax weight on the tokens that are not kept is at least 0.215209 and at most 0.329683 at every query",
        "the softmax weight on tokens 0, 1 is at least 0.251949 and at most 0.597689 at every query",
    ):
        assert piece in whole, whole
    merged = check(text(cases.MERGED), arrays).statement
    assert (
        "over all tokens of a cache of 2 tokens, whose keys are ((0.5, 0.5), (0.5, -0.25)) and whose values are"
        in merged
    )
    assert "counted from 0). The softmax" in check(
        text(cases.SINKS).replace("asserts:", "  causal: 3\nasserts:"), arrays).statement  # fmt: skip
    assert "two codes in a byte, low-first) and where the multiplicities of tokens are 2 x 2 x 3 from caches.npz[cache-times]" in check(  # noqa: E501
        text(cases.ARRAYS), arrays).statement  # fmt: skip


def test_the_worst_queries_are_found(arrays: Path) -> None:
    largest, deviation, relative, evicted, mass = check(text(cases.ARRAYS), arrays).findings
    assert largest.startswith("the largest entry of |T' - T| is largest at query 0 of batch 1, head 2: [3.90112")
    assert deviation.startswith("the deviation |T' - T|_2 is largest at query 0 of batch 1, head 2: [3.93641")
    assert "at query 2 of batch 1, head 3" in relative
    assert "at query 1 of batch 1, head 2: [0.911379" in evicted
    assert "on tokens 0, 2 is largest at query 0 of batch 0, head 2" in mass


# -- broken parts


def of_head_0(method: Any) -> Any:
    return lambda self, key_head, *others: method(self, 0, *others)


def times_one(self: StatedCache, key_head: int) -> list[fmpq]:
    return [fmpq(1)] * self.tokens


def whole_cache(self: StatedCache, head: int) -> Any:
    return stated_caches.Sight((0,) * self.heads.queries, (self.tokens,) * self.heads.queries, ())


SABOTAGES: dict[str, tuple[Any, ...]] = {
    **{
        f"{name}.at_most is not looked at": (cache_error, "Obligation", holding(f"{name}.at_most <="))
        for name in ("error", "deviation", "relative", "evicted", "mass")
    },
    **{
        f"{name}.at_least_everywhere is not looked at": (
            cache_error, "Obligation", holding(f"{name}.at_least_everywhere >="))
        for name in ("error", "deviation", "relative", "evicted", "mass")
    },
    **{
        f"{name}.at_least is not looked at": (cache_error, "Obligation", unless(f"{name}.at_least"))
        for name in ("error", "deviation", "relative", "evicted", "mass")
    },
    "bounds from above for each query are not looked at": (
        cache_error, "Obligation", holding("deviation.per_query.at_most <=")),
    "bounds from below for each query are not looked at": (
        cache_error, "Obligation", holding("deviation.per_query.at_least >=")),
    "the first query is the worst": (cache_error, "largest", lambda *rows: rows[0][0]),
    "the last query is the worst": (cache_error, "largest", lambda *rows: rows[-1][-1]),
    "the first query is the best": (cache_error, "smallest", lambda row: row[0]),
    "bounds of the first query for all": (cache_error, "_number", lambda index: lambda row: row[0]),
    "norms are largest entries": (cache_error, "l2_norm", cache_error.linf_norm),
    "the largest entry is a norm": (cache_error, "linf_norm", cache_error.l2_norm),
    "no share is exact": (
        cache_error, "share", lambda weights, inside: sum(
            (w for w, counts in zip(weights, inside, strict=True) if counts), arb(0)) / sum(weights, arb(0))),
    "a share of the others": (
        cache_error, "share", lambda weights, inside, true=cache_error.share: true(weights, [not x for x in inside])),
    "kept tokens of the first head, for all": (StatedCache, "kept", of_head_0(StatedCache.kept)),
    "multiplicities of the first head, for all": (StatedCache, "multiplicities", of_head_0(StatedCache.multiplicities)),
    "every token once": (StatedCache, "multiplicities", times_one),
    "all of the cache is seen": (StatedCache, "sight", whole_cache),
    "codes are not unpacked by their sign": (stated_caches.CachedArray, "is_signed", property(lambda self: False)),
    "the second half is first": (stored_caches, "LOW_FIRST", "high-first"),
    "a scale for all": (fast_caches, "spread", lambda groups, shape: np.broadcast_to(groups.ravel()[0], shape)),
    "the scales of the first head": (stored_caches, "_at", lambda part, place, extents: (
        None if part is None else part[(0,) * len(place)])),
    "tokens that count are not repeated": (stored_caches, "counted", lambda head, times: head),
    "no zero point": (stored_caches, "dequantised", lambda codes, scale, zero, offset: scale * codes + (
        0.0 if offset is None else offset.ravel()[0])),
    "no offset": (stored_caches, "dequantised", lambda codes, scale, zero, offset: scale * (
        codes - (0.0 if zero is None else zero))),
    "no offset in balls": (stated_caches.CachedArray, "offset", property(lambda self: None)),
    "codes are not scaled": (stated_caches, "entrywise_product", lambda left, right: right),
}  # fmt: skip
test_a_broken_part = noticed(cases.CASES, SABOTAGES)
