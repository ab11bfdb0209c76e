"""Soft caps, slopes, sinks and stated masks in `certattn.testing`, beside mpmath."""

from __future__ import annotations

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


@pytest.mark.parametrize(("how", "message"), [
    ({"soft_cap": 0}, "expected a number > 0"),
    ({"soft_cap": float("nan")}, "expected a number > 0"),
    ({"soft_cap": "wide"}, "expected a number > 0"),
    ({"alibi": SLOPES[:2]}, r"expected \(4,\): one for each query head"),
    ({"sinks": np.full(4, np.inf)}, "sinks has NaN or an infinity"),
    ({"sinks": [[1, 2]]}, "expected one of"),
    ({"mask": MASK.astype(np.float32)}, "expected booleans, True where a query sees a key"),
    ({"mask": MASK[..., :4]}, "mask has the shape"),
    ({"mask": MASK[:, :, None]}, "mask has the shape"),
    ({"mask": np.ones((3, 1, M, N), bool)}, "mask has the shape"),
    ({"mask": BLIND}, "query 3 of batch 1 sees no key; say what is expected"),
    ({"empty": "nan"}, "expected 'zero'"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attention_error(np.zeros((B, H, M, 3), np.float32), Q, K, V, **how)
