"""The claim `singular-values`: files and hints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import ACCEPT, INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import attention_matrix as in_arb
from certattn.kernel.mathematics import singular_values as exact
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum import singular_values, stated_matrix
from certattn.kernel.theorems.spectrum.stated_matrix import SoftmaxMatrix
from certattn.statements.reports import Report

cases = Cases("singular_cases", "causal_spectrum_cases")

Tool = Callable[[str], ModuleType]
Array = np.ndarray[Any, Any]


def test_no_mutant_of_files_and_hints_is_falsely_accepted_or_refuted(tmp_path: Path, mutate: ModuleType) -> None:
    """The script does every change; here every second of them."""
    arrays = {"queries": [[1, 2], [0, 1], [-1, 1]], "keys": [[1, 0], [2, 1], [-1, -1]]}
    given = ", ".join(f"{name}: {reference(tmp_path, name, np.array(x, np.int16))}" for name, x in arrays.items())
    weights = np.exp(np.array(arrays["queries"]) @ np.array(arrays["keys"]).T / 2)
    hint = factors(np.sqrt(3) * (weights / weights.sum(axis=1, keepdims=True) - 1 / 3))
    asserts = f"values: {{value: {numbers(hint['s'][:2])}, radius: 1e-9}}, counts: [{{above: 1/100, count: 2}}]"
    text = (
        f"certattn: 1\nclaim: singular-values\ngiven: {{{given}, scale: 1/2, centred: true}}\nasserts: {{{asserts}}}\n"
    )
    parts = ", ".join(f"{name}: {reference(tmp_path, f'hint-{name}', array)}" for name, array in hint.items())
    tree = loads(f"{text}witness: {{hint: {{{parts}}}}}\n", tmp_path / "case.yaml").plain
    tally = mutate.sweep(list(mutate.mutants(tree))[::2], tmp_path)
    assert tally.mutants > 200
    assert tally.errors == []
    assert tally.not_verified == []
    assert tally.verified_true > 20
    assert tally.refuted_false > 5
    assert tally.refused > 150


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.GIVEN.cases()).text, tmp_path).statement
    for piece in (
        "the 2 x 2 matrix M = ((3, 0), (4, 5))",
        "all 2 are (6.7082039, 2.236068), up to (1e-7, 1e-6) in this order",
        "exactly 1 of the 2 singular values is > 5, these >= 6, the others <= 2.5",
        "the spectral norm sigma_1 is at least 6.7 and at most 6.71",
        "the energy |M|_F^2 is at least 49 and at most 51",
        "the stable rank |M|_F^2 / sigma_1^2 is at least 1.1 and at most 1.2",
        "the entropy of the shares sigma_k / sum sigma is at least 0.5 and at most 0.6",
        "the entropy of the shares sigma_k^2 / sum sigma^2 is at least 0.3 and at most 0.4",
        "the effective rank e^H, H the entropy of sigma_k / sum sigma, is at least 1.7 and at most 1.8",
        "H the entropy of sigma_k^2 / sum sigma^2, is at least 1.3 and at most 1.4",
    ):
        assert piece in said, said
    attention = check(next(cases.ATTENTION.cases()).text, tmp_path).statement
    assert "M = sqrt(d) (A - 11'/d), d = 3, where row i of A is the softmax of s <q_i, k_j>" in attention
    assert "s = sqrt(1/2), queries q = ((1, 0), (0, 1), (1, -1)), keys k = ((1, 2), (0.5, 0), (-1, 1))" in attention
    assert "the largest 2 of 3 are (0.8068813929, 0.6111279849), up to 1e-9" in attention


@pytest.mark.parametrize(("size", "sharp"), [(24, True), (25, False)])
def test_up_to_24_values_are_enclosed_to_any_number_of_bits(size: int, sharp: bool, tmp_path: Path) -> None:
    rows = ", ".join(["[" + ", ".join(["1"] * 30) + "]"] * size)
    text = f"certattn: 1\nclaim: singular-values\ngiven: {{matrix: [{rows}]}}\nasserts: {{norm: {{at_most: 100}}}}\n"
    matrix = singular_values.THEOREM.read(loads(text, tmp_path / "case.yaml")).matrix
    with working_precision(300):
        assert (matrix.spectrum(300).singular.radius(1) < arb(2) ** -250) is sharp


def test_binary64_needs_all_matrices_in_files_of_doubles(tmp_path: Path) -> None:
    in_file = reference(tmp_path, "queries", np.eye(2))
    for keys, whole in ((reference(tmp_path, "keys", np.eye(2)), True), ("[[1, 0], [0, 1]]", False)):
        given = f"{{queries: {in_file}, keys: {keys}, centred: true}}"
        text = f"certattn: 1\nclaim: singular-values\ngiven: {given}\nasserts: {{norm: {{at_most: 100}}}}\n"
        problem = singular_values.THEOREM.read(loads(text, tmp_path / "case.yaml"))
        assert problem.matrix.stands_in_doubles is whole


# -- kernels with one part sabotaged

SABOTAGE: dict[str, Sabotage] = {
    "upper bounds are not looked at": (stated_matrix, "Obligation", holding("<=")),
    "lower bounds are not looked at": (stated_matrix, "Obligation", holding(">=")),
    "thresholds are not looked at": (stated_matrix, "Obligation", holding(">")),
    "the matrix 0 has a largest value": (
        singular_values, "_sigma",
        lambda k, spectrum, found=singular_values._sigma: arb(1) if found(k, spectrum) == 0 else found(k, spectrum)),
    "nothing is centred": (
        stated_matrix, "attention_matrix",
        lambda queries, keys, scale, *, centred, causal, found=stated_matrix.attention_matrix: found(
            queries, keys, scale, centred=False, causal=causal
        )),
    "no mask is looked at": (
        stated_matrix, "attention_matrix",
        lambda queries, keys, scale, *, centred, causal, found=stated_matrix.attention_matrix: found(
            queries, keys, scale, centred=centred, causal=False
        )),
    "masks are not read": (
        stated_matrix, "read_matrix",
        lambda form, values, found=stated_matrix.read_matrix: (
            replace(found(form, values), causal=False) if form == "queries" else found(form, values)
        )),
    "11'/d is taken off under a mask": (
        in_arb, "causal_row", lambda row, weights, seen: row([*weights[:seen], *[arb(0)] * (len(weights) - seen)])),
    "all is 0 under a mask": (
        stated_matrix.SoftmaxMatrix, "rank_bound",
        property(lambda self: 0 if self.causal else self.count - self.centred)),
    "the rank is not known": (stated_matrix.SoftmaxMatrix, "rank_bound", property(lambda self: self.count)),
    "hints are believed": (
        stated_matrix, "enclose",
        lambda matrix, factors, rank: exact.SingularValues(
            [] if factors is None else [value * arb(2) ** -factors.value_places for value in factors.values],
            arb(0), arb(0), min(matrix.shape), 1,
        )),
    "entropy of the squares is that of the values": (
        singular_values, "quantity",
        lambda name, spectrum, found=singular_values.quantity: found(name.replace("squares", "values"), spectrum)),
    "stable ranks are 1": (singular_values, "stable_rank", lambda energy, norm, most: arb(1)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


# -- array files, binary64 and hints


def reference(folder: Path, name: str, array: Array) -> str:
    np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
    digest = hashlib.sha256((folder / f"{name}.npy").read_bytes()).hexdigest()
    return f"{{file: {name}.npy, sha256: {digest}, dtype: {array.dtype}, shape: {list(array.shape)}}}"


def stated(folder: Path, given: str, asserts: str, hint: dict[str, Array] | None = None) -> Report:
    witness = ""
    if hint is not None:
        parts = ", ".join(f"{name}: {reference(folder, f'hint-{name}', array)}" for name, array in hint.items())
        witness = f"witness: {{hint: {{{parts}}}}}\n"
    return check(f"certattn: 1\nclaim: singular-values\ngiven: {{{given}}}\nasserts: {{{asserts}}}\n{witness}", folder)


def numbers(values: Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"


SIZE = 40


@pytest.fixture
def matrix() -> Array:
    return np.random.default_rng(5).standard_normal((SIZE, SIZE + 7))


def factors(matrix: Array) -> dict[str, Array]:
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    return {"U": U, "s": s, "V": Vt.T}


def test_a_large_matrix_by_both_arithmetics(matrix: Array, tmp_path: Path) -> None:
    given, s = f"matrix: {reference(tmp_path, 'm', matrix)}", factors(matrix)["s"]
    values = f"values: {{value: {numbers(s)}, radius: 1e-10}}"
    assert "binary64" in stated(tmp_path, given, values).arithmetic
    sharper = stated(tmp_path, given, values.replace("1e-10", "5e-13"))
    assert sharper.verdict is ACCEPT
    assert "Arb" in sharper.arithmetic


@pytest.mark.parametrize("size", [4, SIZE])
@pytest.mark.parametrize("place", ["in doubles", "written out"])
@pytest.mark.parametrize("kind", ["given", "equal keys", "equal keys where seen"])
def test_of_the_matrix_0_every_number_is_known(kind: str, place: str, size: int, tmp_path: Path) -> None:
    """Exactly, without a look at what it is made of: nothing has a size relative to it, and no value is above 0."""
    rng, causal = np.random.default_rng(7), kind == "equal keys where seen"
    keys = np.tile(rng.standard_normal(3), (size, 1))
    arrays = {"queries": rng.standard_normal((size, 3)), "keys": keys}
    if causal:
        # The last key is another, but the last query cannot tell it from the others.
        arrays["keys"][-1], arrays["queries"][-1] = [1, 2, 3], 0
    arrays = {"matrix": np.zeros((size, size + 1))} if kind == "given" else arrays
    shown = {
        name: reference(tmp_path, name, array) if place == "in doubles" else f"[{', '.join(map(numbers, array))}]"
        for name, array in arrays.items()
    }
    given = ", ".join(f"{name}: {array}" for name, array in shown.items())
    given += "" if kind == "given" else f", centred: true, scale: 1/3, causal: {str(causal).lower()}"
    for asserts in (
        "stable_rank: {at_least: 1}", "entropy: {values: {at_most: 9}}", "effective_rank: {squares: {at_most: 99}}"
    ):  # fmt: skip
        report = stated(tmp_path, given, asserts)
        assert report.verdict is REJECTED
        assert "M is 0" in report.reason
    assert stated(tmp_path, given, "counts: [{above: 0, count: 0}], energy: {at_most: 0}").verdict is ACCEPT
    assert stated(tmp_path, given, "norm: {at_least: 1e-300}").verdict is REFUTED


def test_values_exchanged_by_a_hair_are_refuted(matrix: Array, tmp_path: Path) -> None:
    given, s = f"matrix: {reference(tmp_path, 'm', matrix)}", factors(matrix)["s"]
    s[3] += 1e-8
    report = stated(tmp_path, given, f"values: {{value: {numbers(s)}, radius: 1e-9}}")
    assert report.verdict is REFUTED
    assert "sigma_4" in report.reason


def test_a_value_that_no_factors_decide_is_inconclusive(matrix: Array, tmp_path: Path) -> None:
    given, s = f"matrix: {reference(tmp_path, 'm', matrix)}", factors(matrix)["s"]
    assert stated(tmp_path, given, f"values: {{value: {numbers(s)}, radius: 1e-18}}").verdict is INCONCLUSIVE


def good(hint: dict[str, Array]) -> dict[str, Array]:
    return hint


def single(hint: dict[str, Array]) -> dict[str, Array]:
    return {name: array.astype(np.float32) for name, array in hint.items()}


def shorter(hint: dict[str, Array]) -> dict[str, Array]:
    return {name: array[..., :-5] for name, array in hint.items()}


def permuted(hint: dict[str, Array]) -> dict[str, Array]:
    return {**hint, "U": hint["U"][:, ::-1]}


def stretched(hint: dict[str, Array]) -> dict[str, Array]:
    return {**hint, "U": hint["U"] * 1.5, "s": hint["s"] / 1.5}


def twice_the_same(hint: dict[str, Array]) -> dict[str, Array]:
    U = hint["U"].copy()
    U[:, 1] = U[:, 0]
    return {**hint, "U": U}


def nothing(hint: dict[str, Array]) -> dict[str, Array]:
    return {name: 0 * array for name, array in hint.items()}


def enormous(hint: dict[str, Array]) -> dict[str, Array]:
    return {**hint, "V": hint["V"] * 1e300}


@pytest.mark.parametrize(
    "change", [good, single, shorter, permuted, stretched, twice_the_same, nothing, enormous], ids=lambda f: f.__name__
)
def test_no_hint_makes_a_false_value_true(
    change: Callable[[dict[str, Array]], dict[str, Array]], matrix: Array, tmp_path: Path
) -> None:
    """What a bad hint does not decide, the checker's own factors do."""
    given, s = f"matrix: {reference(tmp_path, 'm', matrix)}", factors(matrix)["s"]
    hint = change(factors(matrix))
    assert stated(tmp_path, given, f"values: {{value: {numbers(s)}, radius: 1e-9}}", hint).verdict is ACCEPT
    for wrong in (s[1:], s * 1.00001, hint["s"].astype(float)[:4] + 1e-7):
        report = stated(tmp_path, given, f"values: {{value: {numbers(wrong)}, radius: 1e-9}}", hint)
        assert report.verdict is REFUTED, report.reason


BAD_HINTS: dict[str, tuple[Callable[[dict[str, Array]], dict[str, Array]], str]] = {
    "unsorted": (lambda h: {**h, "s": h["s"][::-1]}, "falling order"),
    "two exchanged": (lambda h: {**h, "s": h["s"][[1, 0, *range(2, SIZE)]]}, "falling order"),
    "negative": (lambda h: {**h, "s": h["s"] - h["s"][-1] - 1}, "falling order, none negative"),
    "NaN among the values": (
        lambda h: {**h, "s": np.append(h["s"][:-1], np.nan)}, "a NaN at entry 39 (counted from 0) in hint-s.npy"),
    "infinite value": (lambda h: {**h, "s": np.append(np.inf, h["s"][1:])}, "an infinity at entry 0"),
    "NaN in U": (
        lambda h: {**h, "U": h["U"] * np.where(h["U"] == h["U"][2, 3], np.nan, 1)}, "a NaN at row 2, column 3"),
    "infinity in V": (lambda h: {**h, "V": h["V"] * np.where(h["V"] == h["V"][0, 1], np.inf, 1)}, "row 0, column 1"),
    "U too narrow": (lambda h: {**h, "U": h["U"][:, 1:]}, "(a column for each value)"),
    "V too short": (lambda h: {**h, "V": h["V"][1:]}, "(a column for each value)"),
    "V transposed": (lambda h: {**h, "V": h["V"].T}, "(a column for each value)"),
    "too many": (
        lambda h: {name: np.concatenate([array, array[..., -1:]], axis=-1) for name, array in h.items()},
        "at most 40 values"),
    "integers of 64 bits": (lambda h: {**h, "U": h["U"].astype(np.int64)}, "an array file of floats"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_HINTS)
def test_a_hint_that_is_none_is_refused(name: str, matrix: Array, tmp_path: Path) -> None:
    change, said = BAD_HINTS[name]
    given = f"matrix: {reference(tmp_path, 'm', matrix)}"
    with np.errstate(invalid="ignore"):
        report = stated(tmp_path, given, "norm: {at_least: 1}", change(factors(matrix)))
    assert report.verdict is MALFORMED
    assert said in report.reason


def test_attention_from_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    queries, keys = (np.rint(rng.standard_normal((SIZE, 5)) * 64).astype(np.int16) for _ in range(2))
    parts = f"queries: {reference(tmp_path, 'q', queries)}, keys: {reference(tmp_path, 'k', keys)}, scale: 1/4096"
    scores = queries.astype(float) @ keys.T.astype(float) / 4096
    weights = np.exp(scores)
    A = weights / weights.sum(axis=1, keepdims=True)
    for centred, M in (("true", np.sqrt(SIZE) * (A - 1 / SIZE)), ("false", np.sqrt(SIZE) * A)):
        s = np.linalg.svd(M)[1]
        asserts = f"values: {{value: {numbers(s)}, radius: 1e-10}}, energy: {{at_most: {np.sum(s**2) * (1 + 1e-9)}}}"
        found = stated(tmp_path, f"{parts}, centred: {centred}", asserts)
        assert found.verdict is ACCEPT, found.reason
        assert "binary64" in found.arithmetic
    other = stated(tmp_path, f"{parts}, centred: true", asserts)
    assert other.verdict is REFUTED


def test_the_last_value_of_a_centred_matrix_is_0_in_binary64(tmp_path: Path) -> None:
    keys = np.eye(SIZE, 6, dtype=np.float32)
    parts = f"queries: {reference(tmp_path, 'q', keys)}, keys: {reference(tmp_path, 'k', keys)}, centred: true"
    report = stated(tmp_path, parts, f"counts: [{{above: 0, count: {SIZE}}}]")
    assert report.verdict is REFUTED
    assert f"sigma_{SIZE} > threshold: 0 > 0 is false" in report.reason


def test_a_matrix_that_is_not_finite_is_refused_with_its_place(matrix: Array, tmp_path: Path) -> None:
    matrix[1, 2] = np.nan
    report = stated(tmp_path, f"matrix: {reference(tmp_path, 'm', matrix)}", "norm: {at_most: 100}")
    assert report.verdict is MALFORMED
    assert "a NaN at row 1, column 2 (counted from 0) in m.npy" in report.reason


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_sizes_beyond_what_squares_hold(size: float, tmp_path: Path) -> None:
    rows = np.random.default_rng(1).standard_normal((30, 26))
    s = factors(rows)["s"]
    given = f"matrix: {reference(tmp_path, 'm', rows * size)}"
    asserts = f"norm: {{at_least: {s[0] * (1 - 1e-9) * size}, at_most: {s[0] * (1 + 1e-9) * size}}}"
    assert stated(tmp_path, given, asserts).verdict is ACCEPT


@pytest.mark.parametrize(("word", "accepted"), [("true", True), ("'false'", True), ("True", False), ("1", False)])
def test_centred_is_true_or_false(word: str, accepted: bool, tmp_path: Path) -> None:
    given = f"queries: [[1]], keys: [[1]], centred: {word}"
    verdict = stated(tmp_path, given, "norm: {at_most: 2}").verdict
    assert verdict is (ACCEPT if accepted else MALFORMED)


@pytest.mark.parametrize("shape", ["[999999999999999999, 999999999999999999]", "[2, 1000000000]", "[100000, 100000]"])
def test_a_false_shape_is_refused_before_room_is_made_for_it(shape: str, matrix: Array, tmp_path: Path) -> None:
    given = f"matrix: {reference(tmp_path, 'm', matrix)}".replace(str(list(matrix.shape)), shape)
    assert shape in given
    report = stated(tmp_path, given, "norm: {at_most: 100}")
    assert report.verdict is MALFORMED
    assert "m.npy" in report.reason


def test_too_many_tokens_are_refused_before_room_is_made_for_them(tmp_path: Path) -> None:
    keys = np.zeros((2**14 + 1, 1), np.float32)
    given = f"queries: {reference(tmp_path, 'q', keys)}, keys: {reference(tmp_path, 'k', keys)}, centred: true"
    report = stated(tmp_path, given, "norm: {at_most: 1}")
    assert report.verdict is MALFORMED
    assert "at most 16384 tokens" in report.reason


@dataclass(frozen=True)
class Rows:
    """A matrix as the kernel reads it: integers times 2^-10."""

    entries: Any

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.entries.shape
        return rows, columns

    def load(self) -> ExactMatrix:
        return ExactMatrix.dyadic(*self.shape, [int(entry) for entry in self.entries.ravel()], -10)


@pytest.mark.parametrize("tokens", [24, 30])
def test_more_bits_win_back_what_huge_scores_take(tokens: int) -> None:
    """Scores of 10^20 are known to no digit after the point at 64 bits: no weight is enclosed there."""
    rng = np.random.default_rng(0)
    queries, keys = (Rows(np.rint(rng.normal(size=(tokens, 4)) * 1024)) for _ in range(2))
    matrix = SoftmaxMatrix(queries, keys, fmpq(10**20), True, False)  # type: ignore[arg-type]
    with working_precision(64):
        assert matrix.spectrum(64).singular.value(1).is_finite() is not True
    with working_precision(128):
        sharp = matrix.spectrum(128).singular
        assert float(sharp.radius(1)) < 1e-12
        # Every row has one weight of 1.
        weights = np.zeros((tokens, tokens))
        weights[np.arange(tokens), (queries.entries @ keys.entries.T).argmax(axis=1)] = 1
        true = np.linalg.svd(np.sqrt(tokens) * (weights - 1 / tokens), compute_uv=False)
        assert abs(float(sharp.value(1)) - true[0]) < 1e-9
