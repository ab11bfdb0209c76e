"""Soft caps, slopes, sinks and stated masks in `certattn.testing`, beside mpmath."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest

import certattn
from certattn.kernel.errors import UsageError
from certattn.testing import assert_attention_close, attention_error

RNG = np.random.default_rng(5)
B, H, M, N, D = 2, 4, 6, 9, 4
Q, K, V = (RNG.standard_normal(shape).astype(np.float32) for shape in ((B, H, M, D), (B, 2, N, D), (B, 2, N, 3)))
SLOPES, SINKS = np.array([1, 0.5, 0.25, 0.125], np.float16), np.array([0.5, -1, 3, 0]).astype(ml_dtypes.bfloat16)
MASK = RNG.random((B, 1, M, N)) < 0.5
MASK[..., 0] = True
# Every query sees one of them, and one not.
HALF = MASK & (np.arange(N) != 1)
BLIND = MASK.copy()
BLIND[1, 0, 3] = False


def attention(how: dict[str, Any], scale: float = 0.5) -> tuple[Any, Any]:
    """The exact output and log-sum-exps, in mpmath; NaN for those of nothing."""
    output, logs = np.zeros((B, H, M, 3), object), np.zeros((B, H, M), object)
    for b, h, i in np.ndindex(B, H, M):
        seen = np.ones(N, bool) if how.get("mask") is None else np.broadcast_to(how["mask"], (B, H, M, N))[b, h, i]
        diagonal = i + N - M
        tokens = [j for j in range(N) if seen[j] and (not how.get("causal") or j <= diagonal)]
        scores = [scale * mpmath.fdot(Q[b, h, i].tolist(), K[b, h // 2, j].tolist()) for j in tokens]
        if how.get("soft_cap"):
            scores = [how["soft_cap"] * mpmath.tanh(x / how["soft_cap"]) for x in scores]
        if how.get("alibi") is not None:
            scores = [x - float(how["alibi"][h]) * abs(diagonal - j) for x, j in zip(scores, tokens, strict=True)]
        weights = [mpmath.exp(x) for x in scores]
        sink = how.get("sinks")
        total = mpmath.fsum([*weights, *([] if sink is None else [mpmath.exp(float(sink[h]))])])
        for c in range(3):
            moment = mpmath.fdot(weights, [float(V[b, h // 2, j, c]) for j in tokens])
            output[b, h, i, c] = moment / total if total else mpmath.mpf(0)
        logs[b, h, i] = mpmath.log(total) if total else mpmath.nan
    return output, logs


HOW: dict[str, dict[str, Any]] = {
    "a soft cap": {"soft_cap": 0.5},
    "slopes": {"alibi": SLOPES},
    "slopes under a causal mask": {"alibi": SLOPES, "causal": "bottom-right"},
    "sinks": {"sinks": SINKS},
    "a mask": {"mask": MASK},
    "a mask of all heads and batches": {"mask": MASK[0, 0]},
    "a mask by head": {"mask": np.broadcast_to(MASK[0], (H, M, N))},
    "a mask with an empty row": {"mask": BLIND, "empty": "zero"},
    "a mask with an empty row, and sinks": {"mask": BLIND, "sinks": SINKS},
    "all of it": {"mask": MASK, "sinks": SINKS, "alibi": SLOPES, "soft_cap": 0.5, "causal": "bottom-right"},
}


@pytest.mark.parametrize("name", HOW)
def test_what_is_measured_encloses_what_mpmath_computes(name: str) -> None:
    exact, logs = attention(HOW[name])
    output = exact.astype(np.float32)
    output[1, 2, 3, 1] += np.float32(0.25)
    found = attention_error(output, Q, K, V, scale=0.5, lse=logs.astype(np.float64), **HOW[name])
    off = abs(output.astype(object) - exact)
    assert found.max_abs.lower <= off.max() <= found.max_abs.upper
    assert found.max_abs.upper - found.max_abs.lower < 1e-11
    rms = max(mpmath.sqrt((off[at] ** 2).sum() / off[at].size) for at in np.ndindex(B, H))
    assert max(head.rms.lower for head in found.heads) <= rms <= max(head.rms.upper for head in found.heads)
    assert found.lse is not None
    assert found.lse.upper < 1e-11


@pytest.mark.parametrize("name", HOW)
def test_a_certificate_is_kept(name: str, tmp_path: Path) -> None:
    output = attention(HOW[name])[0].astype(np.float32)
    assert_attention_close(output, Q, K, V, scale=0.5, max_abs=1e-6, keep=tmp_path, **HOW[name])
    (path,) = tmp_path.glob("*.yaml")
    assert certattn.check(path).verdict.value == "verified"


@pytest.mark.parametrize(("wrong", "right", "cause"), [
    ({}, {"soft_cap": 0.5}, "the soft cap is left out"),
    ({}, {"alibi": SLOPES}, "the slopes are left out"),
    ({"alibi": -SLOPES}, {"alibi": SLOPES}, "the slopes have the other sign"),
    ({}, {"sinks": SINKS}, "the sink is left out"),
    ({}, {"mask": MASK}, "the mask is ignored"),
    ({"mask": ~HALF}, {"mask": HALF}, "the mask is inverted: True hides"),
])  # fmt: skip
def test_a_usual_mistake_is_named(wrong: dict[str, Any], right: dict[str, Any], cause: str) -> None:
    with pytest.raises(AssertionError, match=cause):
        assert_attention_close(attention(wrong)[0].astype(np.float32), Q, K, V, scale=0.5, max_abs=1e-5, **right)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("wrong", "right", "cause"), [
    ({}, {"soft_cap": 0.5}, "the soft cap is left out"),
    ({"sinks": -SINKS}, {"sinks": SINKS}, "the sink has the other sign"),
    ({"alibi": SLOPES[::-1]}, {"alibi": SLOPES}, "the slopes are those of the heads in reverse order"),
    ({"sinks": SINKS[::-1]}, {"sinks": SINKS}, "the sinks are those of the heads in reverse order"),
])  # fmt: skip
def test_rounding_hides_no_mistake(dtype: Any, wrong: dict[str, Any], right: dict[str, Any], cause: str) -> None:
    with pytest.raises(AssertionError, match=cause):
        assert_attention_close(
            attention(wrong)[0].astype(float).astype(dtype), Q, K, V, scale=0.5, max_abs=1e-5, **right
        )


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("mask", [HALF, HALF[:, :, ::-1] & BLIND])
def test_a_cap_after_the_mask_is_named(dtype: Any, mask: Any) -> None:
    """What is hidden is seen with the score -c."""
    scores = 0.5 * np.einsum("bhid,bhjd->bhij", Q.astype(float), K.repeat(2, 1).astype(float))
    weights = np.exp(0.5 * np.tanh(np.where(mask, scores, -np.inf) / 0.5))
    output = np.einsum("bhij,bhjc->bhic", weights / weights.sum(-1, keepdims=True), V.repeat(2, 1).astype(float))
    how: dict[str, Any] = {"scale": 0.5, "soft_cap": 0.5, "mask": mask, "empty": "zero"}
    with pytest.raises(AssertionError, match="the soft cap comes after the mask"):
        assert_attention_close(output.astype(dtype), Q, K, V, max_abs=1e-3, **how)


def test_a_mistake_out_of_reach_hides_no_other() -> None:
    """Without the scale the scores are beyond what binary64 bounds."""
    many = [np.float32(300) * each for each in (Q, K)]
    how: dict[str, Any] = {"scale": 2**-18, "max_abs": 1e-5}
    scores = 2.0**-18 * np.einsum("bhid,bhjd->bhij", many[0].astype(float), many[1].repeat(2, 1).astype(float))
    weights = np.exp(scores)
    output = np.einsum("bhij,bhjc->bhic", weights / weights.sum(-1, keepdims=True), V.repeat(2, 1).astype(float))
    with pytest.raises(AssertionError, match="the sink is left out"):
        assert_attention_close(output.astype(np.float32), *many, V, sinks=SINKS, **how)


def test_the_same_numbers_in_other_types_and_shapes() -> None:
    output = np.zeros((B, H, M, 3), np.float32)

    def found(**how: Any) -> dict[str, Any]:
        return attention_error(output, Q, K, V, empty="zero", **how).to_dict()

    for mask in (BLIND.astype(np.uint8), BLIND.astype(np.int64), BLIND.tolist(), BLIND.astype(int).tolist()):
        assert found(mask=mask) == found(mask=BLIND)
    for cap in (np.float32(0.5), np.array(0.5), ml_dtypes.bfloat16(0.5), Decimal("0.5"), Fraction(1, 2), "1/2"):
        assert found(soft_cap=cap) == found(soft_cap=0.5)
    whole = np.array([2.0, -1, 0, 3])
    for name in ("alibi", "sinks"):
        for numbers in (
            whole.astype(int),
            [2, -1, 0, 3],
            whole[None],
            whole[None, :, None, None],
            whole[:, None, None],
        ):
            assert found(**{name: numbers}) == found(**{name: whole})


def test_axes_of_one_are_left_out_of_certificates(tmp_path: Path) -> None:
    how = {"sinks": SINKS, "alibi": SLOPES}
    output = attention(how)[0].astype(np.float32)
    wide = {name: numbers[None, :, None, None] for name, numbers in how.items()}
    assert_attention_close(output, Q, K, V, scale=0.5, max_abs=1e-6, keep=tmp_path, **wide)
    (path,) = tmp_path.glob("*.yaml")
    assert certattn.check(path).verdict.value == "verified"


@pytest.mark.parametrize(("how", "message"), [
    ({"soft_cap": 0}, "expected a number > 0"),
    ({"soft_cap": float("nan")}, "expected a number > 0"),
    ({"soft_cap": "wide"}, "expected a number > 0"),
    ({"alibi": SLOPES[:2]}, r"expected \(4,\): one for each query head"),
    ({"sinks": np.full(4, np.inf)}, "sinks has NaN or an infinity"),
    ({"soft_cap": True}, "soft_cap is True, expected a number > 0"),
    ({"soft_cap": np.bool_(True)}, "expected a number > 0"),
    ({"sinks": [[1, 2]]}, r"sinks has the shape \(1, 2\), expected \(4,\)"),
    ({"sinks": np.ones((2, 2))}, r"sinks has the shape \(2, 2\), expected \(4,\)"),
    ({"sinks": [1, 2, 3, 2**53 + 1]}, r"sinks has 9007199254740993 at \[3\], expected numbers that are at most 2\^53"),
    ({"sinks": np.ma.masked_array(np.ones(4), [0, 0, 0, 1])}, "sinks is a masked array"),
    ({"mask": MASK.astype(np.float32)}, "number type float32, .*; of a mask that is added to scores: mask == 0"),
    ({"mask": (1 - MASK).astype(ml_dtypes.bfloat16)}, "number type bfloat16, .*; of a mask that is added"),
    ({"mask": MASK.astype(int) * 3}, r"mask has 3 at \[0, 0, 0, 0\], expected numbers that are 0 or 1: 1 where"),
    ({"mask": MASK.astype(complex)}, "1: True where a query sees a key$"),
    ({"mask": np.ma.masked_array(MASK, MASK)}, "mask is a masked array"),
    ({"mask": MASK[..., :4]}, "mask has the shape"),
    ({"mask": MASK[:, :, None]}, "mask has the shape"),
    ({"mask": np.ones((3, 1, M, N), bool)}, "mask has the shape"),
    ({"mask": np.ones((3, M, N), bool)}, r"expected \(6, 9\), or heads, or batches and heads, before these, as"),
    ({"mask": BLIND}, r"query 3 of batch 1 sees no key; .* empty='zero' \(on the command line --empty zero\)"),
    ({"empty": "nan"}, "expected 'zero'"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attention_error(np.zeros((B, H, M, 3), np.float32), Q, K, V, **how)
