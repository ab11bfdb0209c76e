"""`certattn.testing`: what is measured, what a failure says, and what arrays it takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest

import certattn
from certattn.testing import AttentionError, RefusedError, UsageError, assert_attention_close, attention_error
from certattn.testing.exact_numbers import exact_bound
from tools import planted_bugs

RNG = np.random.default_rng(3)
Q, K, V = (RNG.standard_normal(shape).astype(np.float16) for shape in ((2, 4, 9, 8), (2, 2, 12, 8), (2, 2, 12, 5)))


def exact(q: Any, k: Any, v: Any, seen: Any, scale: Any) -> list[list[Any]]:
    """Attention of one head in mpmath."""
    rows = []
    for i, query in enumerate(q.tolist()):
        tokens = [j for j in range(len(k)) if seen(i, j)]
        weights = [mpmath.exp(scale * mpmath.fdot(query, k[j].tolist())) for j in tokens]
        total = mpmath.fsum(weights)
        rows.append([mpmath.fdot(weights, [float(v[j, c]) for j in tokens]) / total for c in range(v.shape[1])])
    return rows


def attention(dtype: Any = np.float16, seen: Any = lambda i, j: True, scale: Any = None) -> Any:
    """The rounded output for Q, K and V."""
    scale = 1 / mpmath.sqrt(8) if scale is None else scale
    heads = [[exact(Q[b, h], K[b, h // 2], V[b, h // 2], seen, scale) for h in range(4)] for b in range(2)]
    return np.array(heads, float).astype(dtype)


MASKS: dict[str, tuple[dict[str, Any], Callable[[int, int], bool]]] = {
    "none": ({}, lambda i, j: True),
    "top-left": ({"causal": "top-left"}, lambda i, j: j <= i),
    "bottom-right": ({"causal": "bottom-right"}, lambda i, j: j <= i + 3),
    "an offset": ({"causal": 1}, lambda i, j: j <= i + 1),
    "a window": ({"causal": "bottom-right", "window": 2}, lambda i, j: i + 2 <= j <= i + 3),
    "lengths": ({"lengths": [7, 7]}, lambda i, j: j < 7),
    "sequences": ({"sequences": ([4, 5], [5, 7])}, lambda i, j: (i < 4) == (j < 5)),
    "causal sequences": (
        {"sequences": ([4, 5], [5, 7]), "causal": "bottom-right"},
        lambda i, j: j <= i + 1 if i < 4 else 5 <= j <= i - 4 + 2 + 5,
    ),
}


@pytest.mark.parametrize("mask", MASKS)
def test_what_is_measured_encloses_what_mpmath_computes(mask: str) -> None:
    how, seen = MASKS[mask]
    output = attention(seen=seen)
    output[1, 2, 3, 4] += np.float16(0.25)
    found = attention_error(output, Q, K, V, **how)
    true = np.array([[exact(Q[b, h], K[b, h // 2], V[b, h // 2], seen, 1 / mpmath.sqrt(8)) for h in range(4)]
                     for b in range(2)])  # fmt: skip
    off = output.astype(object) - true
    assert found.max_abs.lower <= abs(off).max() <= found.max_abs.upper
    assert found.max_abs.upper - found.max_abs.lower < 1e-11
    rows = [(mpmath.norm(off[at].tolist()), mpmath.norm(true[at].tolist())) for at in np.ndindex(2, 4, 9)]
    relative = max(error / size for error, size in rows)
    assert found.max_relative.lower <= relative <= found.max_relative.upper
    assert found.rms.lower <= mpmath.sqrt((off**2).sum() / off.size) <= found.rms.upper
    ulps = max(abs(x) / mpmath.mpf(2) ** (max(int(mpmath.floor(mpmath.log(abs(t), 2))), -14) - 10)
               for x, t in zip(off.ravel(), true.ravel(), strict=True))  # fmt: skip
    assert found.max_ulps.lower <= ulps <= found.max_ulps.upper
    worst = found.worst
    assert (worst.batch, worst.head, worst.query, worst.coordinate) == (1, 2, 3, 4)
    assert worst.exact.lower <= true[1, 2, 3, 4] <= worst.exact.upper


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
                                   ml_dtypes.float8_e5m2])  # fmt: skip
def test_a_rounded_output_is_off_by_half_a_unit_in_the_last_place(dtype: Any) -> None:
    found = attention_error(attention(dtype), Q, K, V)
    assert 0.25 < found.max_ulps.lower <= found.max_ulps.upper < 0.51
    assert found.dtype == np.dtype(dtype).name


def test_doubles_are_judged_as_far_as_doubles_can() -> None:
    found = attention_error(attention(np.float64), Q, K, V)
    assert 0 == found.max_abs.lower < found.max_abs.upper < 1e-12


def test_other_shapes_and_layouts_are_the_same() -> None:
    output = attention()
    whole = attention_error(output, Q, K, V)
    swapped = (array.swapaxes(1, 2) for array in (output, Q, K, V))
    assert attention_error(*swapped, layout="bshd").to_dict() == whole.to_dict()
    one = attention_error(output[1, 2], Q[1, 2], K[1, 1], V[1, 1])
    assert one.heads[0].max_abs == whole.heads[6].max_abs
    assert attention_error(output[0], Q[0], K[0], V[0]).max_abs == max(
        (head.max_abs for head in whole.heads[:4]), key=lambda each: each.upper
    )


def test_scales_are_exact() -> None:
    quarter = attention(scale=mpmath.mpf(1) / 4)
    for scale in (0.25, "1/4", Fraction(1, 4)):
        assert attention_error(quarter, Q, K, V, scale=scale).max_abs.upper < 1e-3
    assert attention_error(quarter, Q, K, V).max_abs.lower > 1e-3


def test_log_sum_exps() -> None:
    scores = np.einsum("bhmd,bhnd->bhmn", Q.astype(float), K.repeat(2, 1).astype(float)) / np.sqrt(8)
    lse = np.log(np.exp(scores).sum(-1))
    found = attention_error(attention(), Q, K, V, lse=lse).lse
    assert found is not None
    assert found.upper < 1e-12
    two = attention_error(attention(), Q, K, V, lse=lse / np.log(2), lse_base="2").lse
    assert two is not None
    assert two.upper < 1e-12
    wrong = attention_error(attention(), Q, K, V, lse=lse / np.log(2)).lse
    assert wrong is not None
    assert wrong.lower > 0.5
    lse[0, 0, 0] = np.nan
    lse[1, 3, 5] = -np.inf
    bad = attention_error(attention(), Q, K, V, lse=lse)
    assert bad.lse is not None
    assert bad.lse.lower == np.inf
    assert bad.worst_lse == (0, 0, 0)
    assert bad.heads[7].worst_lse == 5
    assert repr(bad).endswith("worst log-sum-exp at batch 0, head 0, query 0>")


def test_the_worst_log_sum_exp_is_named() -> None:
    scores = np.einsum("bhmd,bhnd->bhmn", Q.astype(float), K.repeat(2, 1).astype(float)) / np.sqrt(8)
    lse = np.log(np.exp(scores).sum(-1))
    lse[1, 2, 3] += 0.25
    found = attention_error(attention(), Q, K, V, lse=lse)
    assert found.lse is not None
    assert abs(found.lse.lower - 0.25) < 1e-12
    assert found.worst_lse == (1, 2, 3) == tuple(found.to_dict()["worst_lse"])
    assert attention_error(attention(), Q, K, V).worst_lse is None


def test_entries_that_are_no_numbers() -> None:
    output = attention()
    output[0, 3, 7, 1] = np.nan
    output[1, 3, 7, 1] = -np.inf
    found = attention_error(output, Q, K, V)
    assert found.not_finite == 2
    assert found.max_abs.lower == found.rms.lower == np.inf
    assert found.heads[0].max_abs.upper < 1e-3
    assert (found.worst.head, found.worst.query, found.worst.coordinate) == (3, 7, 1)
    with pytest.raises(AssertionError, match="2 entries of the output that are NaN or infinite"):
        assert_attention_close(output, Q, K, V, max_abs=1)


def test_what_it_looks_like() -> None:
    found = attention_error(attention(), Q, K, V)
    assert re.fullmatch(r"<AttentionError of float16 \(2, 4, 9, 5\): max_abs \S+, max_relative .*>", repr(found))
    table = found.table().splitlines()
    assert table[0].split() == ["batch", "head", "max_abs", "max_relative", "max_ulps", "rms"]
    assert len(table) == 9
    many = attention_error(*(np.repeat(x, 5, 0) for x in (attention(), Q, K, V)))
    assert many.table().splitlines()[-1] == "and 24 heads with smaller errors"
    assert set(found.to_dict()) >= {"max_abs", "max_relative", "max_ulps", "rms", "worst", "heads", "dtype"}


# -- assertions


def test_an_assertion_holds_or_says_what_does_not() -> None:
    output = attention()
    assert isinstance(assert_attention_close(output, Q, K, V, max_abs=1e-3, relative=1e-3, ulps=0.51), AttentionError)
    with pytest.raises(AssertionError) as failure:
        assert_attention_close(output, Q, K, V, max_abs=1e-9, rms=1)
    said = str(failure.value)
    assert "the largest absolute error:" in said
    assert "exceeds 1e-9" in said
    assert "worst entry at batch" in said
    assert "root mean square" not in said


@pytest.mark.parametrize(("wrong", "cause"), [
    (lambda i, j: j < 11, "the last key that a query sees is left out"),
    (lambda i, j: j > 0, "the first key is left out"),
    (lambda i, j: j < 8, "the last 4 keys, an incomplete block, are left out"),
    (lambda i, j: j <= i, "the mask is causal, top-left"),
])  # fmt: skip
def test_a_usual_mistake_is_named(wrong: Any, cause: str) -> None:
    with pytest.raises(AssertionError, match=f"looks like this mistake: {cause}"):
        assert_attention_close(attention(seen=wrong), Q, K, V, max_abs=1e-3)


@pytest.mark.parametrize(("change", "cause"), [
    (lambda o: o[:, [1, 0, 2, 3]], "it is the output of head"),
    (lambda o: o * 2, "the output is 1.99\\d* times what it should be"),
    (lambda o: np.concatenate([o[:, :3], -o[:, 3:]], 1), "large in 2 of 8 heads"),
    (lambda o: np.concatenate([o[:, :, :8], -o[:, :, 8:]], 2), "in that head, large at 1 of 9 queries: 8"),
])  # fmt: skip
def test_where_a_mistake_is(change: Any, cause: str) -> None:
    with pytest.raises(AssertionError, match=cause):
        assert_attention_close(change(attention()), Q, K, V, max_abs=1e-3)


def test_scales_and_masks_that_were_mistaken() -> None:
    with pytest.raises(AssertionError, match=r"the scale is 1/sqrt\(d\), whatever was asked for"):
        assert_attention_close(attention(), Q, K, V, scale=2, max_abs=1e-3)
    with pytest.raises(AssertionError, match="no mask is applied"):
        assert_attention_close(attention(), Q, K, V, causal="top-left", max_abs=1e-3)


def test_a_certificate_is_kept(tmp_path: Path) -> None:
    output = attention(ml_dtypes.bfloat16, seen=lambda i, j: j <= i + 3)
    arrays = [array.swapaxes(1, 2) for array in (output, Q, K, V)]
    how: dict[str, Any] = {"layout": "bshd", "causal": "bottom-right", "keep": tmp_path / "kept"}
    assert_attention_close(*arrays, max_abs=0.01, ulps=0.51, **how)
    with pytest.raises(AssertionError, match=r"certificate: .*\.yaml"):
        assert_attention_close(*arrays, max_abs=0.0001, **how)
    reports = [certattn.check(path) for path in (tmp_path / "kept").glob("*.yaml")]
    assert sorted(report.verdict.value for report in reports) == ["refuted", "verified"]
    assert len(list((tmp_path / "kept").glob("*.safetensors"))) == 1
    assert all("bottom" not in report.statement or "i + n - m" in report.statement for report in reports)


# -- arrays of others


class Tensor:
    """What of a torch tensor is used, without torch."""

    def __init__(self, array: Any, dtype: str) -> None:
        self.array, self.dtype = array, f"torch.{dtype}"

    def detach(self) -> Tensor:
        return self

    cpu = contiguous = detach

    def view(self, dtype: Any) -> Tensor:
        return Tensor(self.array.view(dtype), np.dtype(dtype).name)

    def numpy(self) -> Any:
        return self.array


Tensor.__module__ = "torch"


def test_tensors_arrive_by_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = ModuleType("torch")
    torch.int16, torch.uint8 = np.int16, np.uint8
    monkeypatch.setitem(sys.modules, "torch", torch)
    for dtype in ("bfloat16", "float8_e5m2", "float32"):
        output = attention(getattr(ml_dtypes, dtype, dtype))
        tensors = (Tensor(array, array.dtype.name) for array in (output, Q, K, V))
        assert attention_error(*tensors).to_dict() == attention_error(output, Q, K, V).to_dict()
    output, mask, sinks = attention(), np.tri(9, 12, dtype=bool), np.array([1, 2, 3, 4])
    expected = attention_error(output, Q, K, V, mask=mask, sinks=sinks).to_dict()
    for seen in (Tensor(mask, "bool"), Tensor(mask.astype(np.int64), "int64")):
        assert attention_error(output, Q, K, V, mask=seen, sinks=Tensor(sinks, "int64")).to_dict() == expected
    for added in ("bfloat16", "float32"):
        with pytest.raises(UsageError, match="mask == 0"):
            attention_error(output, Q, K, V, mask=Tensor(mask.astype(getattr(ml_dtypes, added, added)), added))


def test_arrays_in_other_orders() -> None:
    output = attention()
    expected = attention_error(output, Q, K, V).to_dict()
    reverse = [np.asfortranarray(array)[..., ::-1][..., ::-1] for array in (output, Q, K, V)]
    assert attention_error(*reverse).to_dict() == expected
    big = [array.astype(array.dtype.newbyteorder(">")) for array in (output, Q, K, V)]
    assert attention_error(*big).to_dict() == expected
    assert attention_error(output.tolist(), Q, K, V).dtype == "float64"


# -- numbers at the end of the range

ZEROS = {"q": np.zeros((1, 1)), "k": np.zeros((2, 1)), "v": np.zeros((2, 1))}


@pytest.mark.parametrize(("output", "bound", "value"), [
    ([[1e200]], {"rms": 1e201}, 0),
    ([[1e20]], {"ulps": "1e400"}, 0),
    ([[1e200]], {"relative": "1e501"}, 1e-300),
])  # fmt: skip
def test_what_overflows_refutes_nothing(output: Any, bound: dict[str, Any], value: float) -> None:
    with pytest.raises(AssertionError, match=r"is not proved to be at most .*: not bounded") as failure:
        assert_attention_close(np.array(output), **{**ZEROS, "v": np.full((2, 1), value)}, **bound)
    assert "exceeds" not in str(failure.value)


def test_sums_of_large_squares_bound_nothing() -> None:
    found = attention_error(np.full((4, 1), 1e154), np.zeros((4, 1)), ZEROS["k"], ZEROS["v"])
    assert (found.rms.lower, found.rms.upper) == (0, np.inf)
    assert found.max_abs.lower > 0.999e154
    two = [np.stack([array, array]) for array in (np.array([[1e153]]), *ZEROS.values())]
    assert 0.999e153 < attention_error(*two).rms.lower <= 1e153 <= attention_error(*two).rms.upper < 1.001e153


@pytest.mark.parametrize("rest", [1, 0])
def test_a_row_that_is_zero_refutes_nothing_relative(rest: float) -> None:
    """Other rows of the head do."""
    output, v = np.array([[1e-3], [2.0]]), np.array([[0.0], [rest]])
    found = attention_error(output, np.zeros((2, 1)), np.zeros((2, 1)), v, causal=True).max_relative
    assert found.upper == np.inf
    assert abs(found.lower - 3 * rest) < 1e-9


# -- what is refused

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another number of dimensions": ({"k": K[0]}, "as many dimensions of each"),
    "values of another number": ({"v": V[:, :, :5]}, "expected keys of the queries' dimension"),
    "keys of another dimension": ({"k": K[..., :4]}, "expected keys of the queries' dimension"),
    "heads that do not divide": ({"k": K.repeat(3, 1)[:, :3], "v": V.repeat(3, 1)[:, :3]}, "divides that of the"),
    "an empty array": ({"q": Q[:, :, :0], "output": attention()[:, :, :0]}, "expected no empty one"),
    "words": ({"q": np.array(["x"])}, "expected one of"),
    "complex numbers": ({"q": Q.astype(complex)}, "expected one of"),
    "True for more keys than queries": ({"causal": True}, "where query 0 sees key 0 alone"),
    "an unknown mask": ({"causal": "upper"}, "expected True, 'top-left'"),
    "a window without a mask": ({"window": 3}, "window needs causal: it counts the last keys of a causal mask"),
    "lengths of another batch": ({"lengths": [3]}, "1 length for a batch of 2"),
    "a length beyond the keys": ({"lengths": [3, 13]}, "lengths has 13 for batch 1, expected at most 12"),
    "sequences of other sums": (
        {"sequences": ([4, 5], [5, 5])},
        "sequences has 9 queries and 10 keys in all, expected 9 and 12",
    ),
    "cumulative sums": (
        {"sequences": (np.array([0, 4, 9]), [0, 5, 12])},
        "sequences is [0, 4, 9], expected lengths, not cumulative sums: [4, 5]",
    ),
    "a sequence of nothing": ({"sequences": ([0, 9], [5, 7, 0])}, "sequences is [0, 9], expected lengths, not"),
    "a length of nothing": ({"lengths": [0, 7]}, "lengths is 0, expected a whole number >= 1"),
    "sequences of nothing": ({"sequences": ([0, 5, 4], [5, 7, 0])}, "sequences is 0, expected a whole number >= 1"),
    "masked numbers": ({"q": np.ma.masked_array(Q)}, "q is a masked array, of which numbers may be hidden"),
    "whole numbers that are no doubles": ({"q": Q.astype(int) + 2**60}, "at [0, 0, 0, 0], expected numbers"),
    "a scale that is a truth value": ({"scale": True}, "scale is True, expected a number other than 0"),
    "a query that sees nothing": ({"causal": 8, "window": 1}, "sees no key"),
    "a scale of words": ({"scale": "a third"}, "expected a number other than 0, or a text"),
    "a scale of NaN": ({"scale": float("nan")}, "expected a number other than 0, or a text"),
    "an unknown layout": ({"layout": "sbhd"}, "expected one of bhsd, bshd"),
    "log-sum-exps of another shape": ({"lse": Q[..., 0][:1]}, "a number for each query"),
    "another base": ({"lse": Q[..., 0], "lse_base": "10"}, "expected one of e, 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    changes, message = REFUSED[name]
    arrays = {"output": attention(), "q": Q, "k": K, "v": V}
    with pytest.raises(UsageError, match=re.escape(message)):
        attention_error(**{**arrays, **changes})


def test_inputs_that_are_no_numbers_are_refused() -> None:
    keys = K.copy()
    keys[0, 0, 0, 0] = np.nan
    with pytest.raises(UsageError, match="k has NaN or an infinity at batch, head, row, column 0, 0, 0, 0"):
        attention_error(attention(), Q, keys, V)
    keys[0, 0, 0, 0] = 1e4
    with pytest.raises(RefusedError, match="scores beyond"):
        attention_error(attention(), Q * np.float16(1e4), keys, V)


def test_an_assertion_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to assert"):
        assert_attention_close(attention(), Q, K, V)
    for none in (-1, True, np.bool_(True), "small", float("nan"), float("inf"), None, [1]):
        with pytest.raises(
            UsageError, match=r"max_abs is .*, expected a number >= 0" if none is not None else "nothing"
        ):
            assert_attention_close(attention(), Q, K, V, max_abs=none)


@pytest.mark.parametrize("bound", [1e-3, np.float32(1e-3), np.float64(1e-3), "1e-3", Fraction(1, 1000)])
def test_a_bound_is_the_decimal_that_is_written(bound: Any) -> None:
    assert exact_bound(bound, "max_abs") == Fraction(1, 1000)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_an_output_of_integers_is_refused(dtype: str) -> None:
    with pytest.raises(UsageError, match=f"output has the number type {dtype}, expected a floating one: float8_e4m3fn"):
        assert_attention_close(attention().astype(dtype), Q, K, V, max_abs=9)
    with pytest.raises(UsageError, match=f"output has the number type {dtype}"):
        attention_error(attention().astype(dtype), Q, K, V)
    expected = attention_error(attention(), Q.astype(np.int32), K, V)
    assert expected.max_abs.lower > 0
    for whole in (Q.astype(np.int64), Q.astype(int).tolist()):
        assert attention_error(attention(), whole, K, V).to_dict() == expected.to_dict()


def test_planted_mistakes_are_refuted_and_correct_kernels_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert planted_bugs.main(["--few"]) == 0
    assert "correct kernels: 2 of 2 proved" in capsys.readouterr().out


# -- what is meant is what is measured


def test_true_of_another_library_is_true() -> None:
    """And no offset of one."""
    square = [array[:, :, :9] for array in (K, V)]
    output = attention(seen=lambda i, j: j <= i)
    for causal in (True, np.bool_(True), np.array(True)):
        assert attention_error(output, Q, *square, causal=causal).max_abs.upper < 1e-3
    for causal in (0.0, 1.5, None, -1):
        with pytest.raises(UsageError, match="causal is"):
            attention_error(output, Q, *square, causal=causal)


@pytest.mark.parametrize("how", [{"lengths": [9, 12]}, {"sequences": ([4, 5], [5, 7])}])
def test_true_is_refused_wherever_it_could_be_meant_in_two_ways(how: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="where query 0 sees key 0 alone"):
        attention_error(attention(), Q, K, V, causal=True, **how)
    assert attention_error(attention(), Q, K, V, causal=True, lengths=[9, 9]).max_abs.lower > 0


def test_a_row_of_zeros_is_exactly_zero() -> None:
    none = V * np.float16(0)
    zero = np.zeros_like(attention())
    assert attention_error(zero, Q, K, none).max_relative.upper < 1e-300
    first = V.copy()
    first[:, :, 0] = 0
    heads = [[exact(Q[b, h], K[b, h // 2], first[b, h // 2], lambda i, j: j <= i, 1 / mpmath.sqrt(8)) for h in range(4)]
             for b in range(2)]  # fmt: skip
    output = np.array(heads, float).astype(np.float16)
    assert_attention_close(output, Q, K, first, causal="top-left", relative=1e-3)
    output[0, 0, 0, 0] = 1e-3
    with pytest.raises(AssertionError, match="a row of the exact output is nearly or exactly 0"):
        assert_attention_close(output, Q, K, first, causal="top-left", relative=1e-3)


@pytest.mark.filterwarnings("error")
def test_nothing_warns_and_nothing_is_guessed_of_what_is_not_proved() -> None:
    none = V * np.float16(0)
    with pytest.raises(AssertionError, match="the largest absolute error") as failure:
        assert_attention_close(attention(), Q, K, none, max_abs=1e-3)
    assert "times" not in str(failure.value)
    with pytest.raises(AssertionError, match="is not proved to be at most 0") as failure:
        assert_attention_close(np.float64(attention(np.float64)), Q, K, V, max_abs=0)
    assert "mistake" not in str(failure.value)
    with pytest.raises(AssertionError, match="the output is 0 everywhere"):
        assert_attention_close(attention() * np.float16(0), Q, K, V, max_abs=1e-3)


@pytest.mark.parametrize(("wrong", "how", "cause"), [
    (lambda i, j: j < i, {"causal": "top-left"}, "the last key that a query sees is left out"),
    (lambda i, j: 0 < j <= i, {"causal": "top-left"}, "the first key is left out"),
    (lambda i, j: j == i + 3, {"causal": "bottom-right", "window": 2}, "the last key|the window is one key shorter"),
    (lambda i, j: j < 8, {"lengths": [7, 7]}, "one key beyond the length is seen"),
    (lambda i, j: True, {"sequences": ([4, 5], [5, 7])}, "packed sequences see each other"),
])  # fmt: skip
def test_a_mistake_under_a_mask_is_named(wrong: Any, how: dict[str, Any], cause: str) -> None:
    """Queries that see nothing by it are left out: they may hold anything."""

    def seen(i: int, j: int) -> bool:
        return wrong(i, j) or not any(wrong(i, t) for t in range(12))

    with pytest.raises(AssertionError, match=cause):
        assert_attention_close(attention(seen=seen), Q, K, V, max_abs=1e-3, **how)


@pytest.mark.parametrize(("how", "message"), [
    ({"window": 2.5, "causal": "top-left"}, "expected a whole number >= 1"),
    ({"window": True, "causal": "top-left"}, "window is True, expected a whole number >= 1"),
    ({"lengths": [3.5, 4]}, "expected a whole number >= 1"),
    ({"lengths": 3}, "expected lengths, such as"),
    ({"sequences": 5}, "not a pair"),
    ({"sequences": ([3, 6], [12])}, "2 lengths of queries and 1 of keys"),
    ({"scale": 0}, "expected a number other than 0"),
])  # fmt: skip
def test_numbers_that_are_none_of_masks(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attention_error(attention(), Q, K, V, **how)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="expected a folder"):
        assert_attention_close(attention(), Q, K, V, max_abs=1, keep=tmp_path / "file")
