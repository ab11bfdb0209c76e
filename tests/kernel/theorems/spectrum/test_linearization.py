"""The claim `linearization`: files and hints."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import ACCEPT, INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import linearization as formulas
from certattn.kernel.mathematics.linearization import Stage
from certattn.kernel.theorems.spectrum import linearization, stated_matrix
from certattn.statements.reports import Report

cases = Cases("linear_cases")

Array = np.ndarray[Any, Any]
SIZE, WIDTH, BETA = 40, 20, 0.75


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.TOKENS.cases()).text, tmp_path).statement
    for piece in (
        "d = 3 queries q = ((1, 0), (0, 1), (1, -1)) and keys k = ((1, 2), (0.5, 0), (-1, 1))",
        "s = sqrt(1/8) = beta u^2/sqrt(p) with beta = 0.5, u = 1, p = 2",
        "the linear part L = (s <q_i, k_j>) Pi/sqrt(d)",
        "t_ij = exp(s <q_i, k_j> - beta^2 u^2 |q_i|^2/(2p)) - 1",
        "the spectral norm of M - L is at least 0.0496434 and at most 0.0496435",
        "of variance alpha^2 = e^(beta^2) - 1 - beta^2 is at least 0.829185 and at most 0.829186",
        "max_i |tbar_i| is at least 0.394162 and at most 0.394163",
        "the spectral norm of M - T Pi is at least 0.140487 and at most 0.140488",
        "max_i |tbar_i| |M|, which is at least |M - T Pi|, is at least 0.168826 and at most 0.168827",
        "the laws of the singular values of M and of T Pi is at least 0.00785263 and at most 0.00785264",
        "the spectral norm of M is at most 0.428317",
        "the Frobenius norm of T Pi over that of M is at least 1.0228 and at most 1.02281",
        "the spectral norm of L over that of M is at most 1.0398",
        "the Frobenius norm of M - T Pi is at most 0.157117",
        "the spectral norm of T Pi - L is at least 0.114424",
    ):
        assert piece in said, said
    scaled = check(next(cases.SCALED.cases()).text, tmp_path).statement
    assert "s = -2/3, A their softmax" in scaled
    assert "T Pi" not in scaled


def test_all_stages_map_the_ones_to_0_and_so_lack_a_rank(tmp_path: Path) -> None:
    text = next(cases.TOKENS.cases()).text
    attention = linearization.THEOREM.read(loads(text, tmp_path / "case.yaml")).attention
    assert {stage.rank_bound for stage in attention.stages.values()} == {2}
    assert attention.size == 3


# -- kernels with one part sabotaged


def rows_of(stages: dict[str, Stage]) -> tuple[Any, str, Any]:
    return (linearization, "STAGES", {**formulas.STAGES, **stages})


SABOTAGE: dict[str, Sabotage] = {
    "upper bounds are not looked at": (stated_matrix, "Obligation", holding("<=")),
    "lower bounds are not looked at": (stated_matrix, "Obligation", holding(">=")),
    "M is never 0": (
        linearization, "_size", lambda quantity, sizes: arb(1) if sizes[quantity] == 0 else sizes[quantity]),
    "the linear part without Pi": (
        formulas, "linear_part",
        lambda queries, keys, scale: formulas.table_of_balls(
            queries @ keys.T, formulas.scale_ball(scale) / arb(keys.rows).sqrt()
        )),
    "the remainder is M": rows_of({"attention_less_linear": Stage(1, 0, 0)}),
    "the normaliser is 1": rows_of({"scores": Stage(1, 0, 0)}),
    "no half of the variance": (formulas, "half_variance", lambda rate, query: arb(0)),
    "the variance is beta^2": (
        linearization, "alpha_square", lambda attention: arb(attention.temperature.beta * attention.temperature.beta)),
    "the distance is 0": (linearization, "kolmogorov_distance", lambda values, tail: arb(0)),
    "W_2 is 0": (linearization, "wasserstein", lambda first, second: arb(0)),
    "any scale is beta's": (linearization, "square", lambda value: fmpq(1)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


# -- array files, binary64 and hints


def reference(folder: Path, name: str, array: Array) -> str:
    np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
    digest = hashlib.sha256((folder / f"{name}.npy").read_bytes()).hexdigest()
    return f"{{file: {name}.npy, sha256: {digest}, dtype: {array.dtype}, shape: {list(array.shape)}}}"


def stated(folder: Path, tokens: tuple[Array, Array], given: str, asserts: str, witness: str = "") -> Report:
    parts = ", ".join(reference_of(folder, name, part) for name, part in zip(("queries", "keys"), tokens, strict=True))
    head = "certattn: 1\nclaim: linearization\n"
    return check(f"{head}given: {{{parts}, {given}}}\nasserts: {{{asserts}}}\n{witness}", folder)


def reference_of(folder: Path, name: str, array: Array) -> str:
    return f"{name}: {reference(folder, name, array)}"


@pytest.fixture(scope="module")
def tokens() -> tuple[Array, Array]:
    rng = np.random.default_rng(11)
    queries, keys = (np.rint(rng.standard_normal((SIZE, WIDTH)) * 64).astype(np.int16) for _ in range(2))
    return queries, keys


def truth(tokens: tuple[Array, Array]) -> dict[str, float]:
    """Every quantity in doubles, T from its own exponentials and Pi as a matrix; by the names of obligations."""
    X, K = (part.astype(float) / 64 for part in tokens)
    S, Pi, root = X @ K.T / math.sqrt(WIDTH), np.eye(SIZE) - 1 / SIZE, math.sqrt(SIZE)
    weights = np.exp(BETA * S)
    t = np.exp(BETA * S - BETA**2 * (X**2).sum(axis=1, keepdims=True) / (2 * WIDTH)) - 1
    M, TP, L = root * (weights / weights.sum(axis=1, keepdims=True) - 1 / SIZE), t @ Pi / root, BETA * S @ Pi / root
    matrices = {
        "attention": M, "scores": TP, "linear": L, "attention_less_scores": M - TP, "scores_less_linear": TP - L,
        "attention_less_linear": M - L,
    }  # fmt: skip
    sigma = {name: np.linalg.svd(X, compute_uv=False) for name, X in matrices.items()}
    alpha = math.sqrt(math.expm1(BETA**2) - BETA**2)
    x = np.minimum(sigma["attention_less_linear"] / (2 * alpha), 1)
    tail = 2 / np.pi * (np.arccos(x) - x * np.sqrt(1 - x * x))
    ranks = np.arange(1, SIZE + 1)
    largest = float(np.abs(t.mean(axis=1)).max())
    found = {
        "remainder.norm": sigma["attention_less_linear"][0],
        "remainder.distance": max((ranks / SIZE - tail).max(), (tail - (ranks - 1) / SIZE).max()),
        "normaliser.largest": largest,
        "normaliser.difference": sigma["attention_less_scores"][0],
        "normaliser.bound": largest * sigma["attention"][0],
        "normaliser.wasserstein": math.sqrt(((sigma["attention"] - sigma["scores"]) ** 2).mean()),
    }
    for name, values in sigma.items():
        sizes = {"norm": values[0], "frobenius": math.sqrt((values**2).sum())}
        found |= {f"stages.{name}.{kind}": size for kind, size in sizes.items()}
        if name != "attention":
            found |= {
                f"stages.{name}.relative_{kind}": size / found[f"stages.attention.{kind}"]
                for kind, size in sizes.items()
            }
    return found


def test_of_equal_keys_nothing_has_a_relative_size(tokens: tuple[Array, Array], tmp_path: Path) -> None:
    """M is exactly 0 there, which Arb's balls show of a large matrix too."""
    equal = (tokens[0], np.tile(tokens[1][0], (SIZE, 1)))
    report = stated(tmp_path, equal, "scale: 1/7", "stages: {linear: {relative_norm: {at_least: 0}}}")
    assert report.verdict is REJECTED
    assert "if M is 0" in report.reason
    assert stated(tmp_path, equal, "scale: 1/7", "stages: {attention: {norm: {at_most: 0}}}").verdict is ACCEPT


def asserted(numbers: dict[str, float], off: float) -> str:
    """All of them within a relative distance."""
    groups: dict[str, Any] = {}
    for name, value in numbers.items():
        *path, last = name.split(".")
        place = groups
        for key in path:
            place = place.setdefault(key, {})
        place[last] = f"{{at_least: {value * (1 - off)!r}, at_most: {value * (1 + off)!r}}}".replace("np.float64", "")

    def text(tree: Any) -> str:
        return tree if isinstance(tree, str) else "{" + ", ".join(f"{k}: {text(v)}" for k, v in tree.items()) + "}"

    return text(groups)[1:-1]


GIVEN = "beta: 3/4, unit: 1/64"


def plain(numbers: dict[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}


def test_every_number_by_both_arithmetics_and_numpy(tokens: tuple[Array, Array], tmp_path: Path) -> None:
    numbers = plain(truth(tokens))
    assert set(numbers) == set(linearization.QUANTITIES)
    report = stated(tmp_path, tokens, GIVEN, asserted(numbers, 1e-9))
    assert report.verdict is ACCEPT, report.reason
    assert "binary64" in report.arithmetic
    # The same in Arb: numbers that are written out.
    queries, keys = (part.tolist() for part in tokens)
    text = f"certattn: 1\nclaim: linearization\ngiven: {{queries: {queries}, keys: {keys}, {GIVEN}}}\n"
    exact = check(f"{text}asserts: {{{asserted(numbers, 1e-11)}}}\n", tmp_path)
    assert exact.verdict is ACCEPT, exact.reason
    assert "Arb" in exact.arithmetic


@pytest.mark.parametrize("name", sorted(linearization.QUANTITIES))
def test_each_number_a_hair_off_is_refuted(name: str, tokens: tuple[Array, Array], tmp_path: Path) -> None:
    number = plain(truth(tokens))[name]
    for factor, which in ((1 + 1e-8, "at_least"), (1 - 1e-8, "at_most")):
        *path, last = name.split(".")
        text = f"{last}: {{{which}: {number * factor!r}}}"
        for key in reversed(path):
            text = f"{key}: {{{text}}}"
        report = stated(tmp_path, tokens, GIVEN, text)
        assert report.verdict is REFUTED, report.reason
        assert "binary64" in report.arithmetic


def test_the_remainder_of_an_assertion_that_forgets_pi_is_refuted(tokens: tuple[Array, Array], tmp_path: Path) -> None:
    X, K = (part.astype(float) / 64 for part in tokens)
    scores = BETA * X @ (K + 3).T / math.sqrt(WIDTH)
    weights = np.exp(scores)
    M = math.sqrt(SIZE) * (weights / weights.sum(axis=1, keepdims=True) - 1 / SIZE)
    forgotten = np.linalg.norm(M - scores / math.sqrt(SIZE), 2)
    moved = tokens[0], (tokens[1] + 192).astype(np.int16)
    norm = plain(truth(tokens))["remainder.norm"]
    assert forgotten > 2 * norm
    report = stated(tmp_path, moved, GIVEN, f"remainder: {{norm: {{at_least: {float(forgotten) * 0.99!r}}}}}")
    assert report.verdict is REFUTED
    # A vector that is added to every key changes nothing.
    report = stated(tmp_path, moved, GIVEN, f"remainder: {{norm: {{at_most: {norm * (1 + 1e-9)!r}}}}}")
    assert report.verdict is ACCEPT


def hint_of(folder: Path, parts: dict[str, Array]) -> str:
    inner = ", ".join(f"{name}: {reference(folder, f'hint-{name}', array)}" for name, array in parts.items())
    return f"witness: {{hint: {{{inner}}}}}\n"


def factors(tokens: tuple[Array, Array]) -> dict[str, Array]:
    X, K = (part.astype(float) / 64 for part in tokens)
    scores = BETA * X @ K.T / math.sqrt(WIDTH)
    weights = np.exp(scores)
    M = math.sqrt(SIZE) * (weights / weights.sum(axis=1, keepdims=True) - 1 / SIZE)
    U, s, Vt = np.linalg.svd(M - (scores - scores.mean(axis=1, keepdims=True)) / math.sqrt(SIZE))
    return {"U": U, "s": s, "V": Vt.T}


HINTS: dict[str, Callable[[dict[str, Array]], dict[str, Array]]] = {
    "good": lambda h: h,
    "single": lambda h: {name: part.astype(np.float32) for name, part in h.items()},
    "of other columns": lambda h: {**h, "U": h["U"][:, ::-1]},
    "stretched": lambda h: {**h, "U": h["U"] * 2, "s": h["s"] / 2},
    "nothing": lambda h: {name: 0 * part for name, part in h.items()},
}


@pytest.mark.parametrize("name", HINTS)
def test_no_hint_makes_a_false_norm_true(name: str, tokens: tuple[Array, Array], tmp_path: Path) -> None:
    norm, hint = plain(truth(tokens))["remainder.norm"], hint_of(tmp_path, HINTS[name](factors(tokens)))
    true = f"remainder: {{norm: {{at_least: {norm * (1 - 1e-9)!r}, at_most: {norm * (1 + 1e-9)!r}}}}}"
    assert stated(tmp_path, tokens, GIVEN, true, hint).verdict is ACCEPT
    for false in (f"at_most: {norm * (1 - 1e-9)!r}", f"at_least: {norm * (1 + 1e-9)!r}", f"at_most: {norm / 2!r}"):
        assert stated(tmp_path, tokens, GIVEN, f"remainder: {{norm: {{{false}}}}}", hint).verdict is REFUTED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h: {**h, "s": h["s"][::-1]}, "falling order"),
        (lambda h: {**h, "s": h["s"] - 1}, "none negative"),
        (lambda h: {**h, "V": h["V"][1:]}, "(a column for each value)"),
        (lambda h: {**h, "U": h["U"] * np.nan}, "a NaN"),
    ],
    ids=["unsorted", "negative", "too short", "not finite"],
)
def test_a_hint_that_is_none_is_refused(
    change: Callable[[dict[str, Array]], dict[str, Array]], said: str, tokens: tuple[Array, Array], tmp_path: Path
) -> None:
    hint = hint_of(tmp_path, change(factors(tokens)))
    report = stated(tmp_path, tokens, GIVEN, "remainder: {norm: {at_least: 0}}", hint)
    assert report.verdict is MALFORMED
    assert said in report.reason


def test_tokens_that_are_not_finite_are_refused_with_their_place(tokens: tuple[Array, Array], tmp_path: Path) -> None:
    broken = tokens[0].astype(np.float64)
    broken[1, 2] = np.nan
    report = stated(tmp_path, (broken, tokens[1]), GIVEN, "remainder: {norm: {at_most: 100}}")
    assert report.verdict is MALFORMED
    assert "a NaN at row 1, column 2 (counted from 0) in queries.npy" in report.reason


def test_a_bound_that_no_factors_decide_is_inconclusive(tokens: tuple[Array, Array], tmp_path: Path) -> None:
    queries = np.zeros((SIZE, 1), np.int16)
    queries[0], queries[1] = 1, -1
    # L = sqrt(2) sqrt(8)/sqrt(40) times unit vectors, L = 2 for that scale.
    given = "scale: sqrt(10)"
    keys = queries
    report = stated(tmp_path, (queries, keys), given, "stages: {linear: {norm: {at_most: 2}}}")
    L = math.sqrt(10) * (queries @ queries.T) / math.sqrt(SIZE)
    assert np.linalg.norm(L, 2) == pytest.approx(1)
    assert report.verdict is ACCEPT
    report = stated(tmp_path, (queries, keys), given, "stages: {linear: {norm: {at_most: 1}}}")
    assert report.verdict is INCONCLUSIVE


@pytest.mark.parametrize("scale", ["1e12", "-1e12", "1e-12"])
def test_scales_beyond_what_is_usual(scale: str, tokens: tuple[Array, Array], tmp_path: Path) -> None:
    """Doubles refuse the first two: scores are too large for their errors. The last has M and L nearly equal."""
    small = tokens[0][:6, :2], tokens[1][:6, :2]
    X, K = (part.astype(float) for part in small)
    scores = float(scale) * X @ K.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    M = math.sqrt(6) * (weights / weights.sum(axis=1, keepdims=True) - 1 / 6)
    norm = float(np.linalg.norm(M - (scores - scores.mean(axis=1, keepdims=True)) / math.sqrt(6), 2))
    assert (
        stated(tmp_path, small, f"scale: {scale}", f"remainder: {{norm: {{at_most: {norm * 1.1 + 1e-15!r}}}}}").verdict
        is ACCEPT
    )
    if norm > 1:
        report = stated(tmp_path, small, f"scale: {scale}", f"remainder: {{norm: {{at_most: {norm * 0.99!r}}}}}")
        assert report.verdict is REFUTED


@pytest.mark.parametrize(
    ("queries", "keys", "norm"),
    [
        ("[[1], [2]]", "[[1], [-1]]", "1e700"),
        ("[[1], [2]]", "[[1e20], [-1e20]]", "1e700"),
        ("[[-1], [2]]", "[[1e20], [1e20]]", "1e-9"),
    ],
    ids=["T Pi of about -1", "T Pi beyond all powers", "equal keys"],
)
def test_a_middle_of_0_with_a_tiny_radius_is_a_number(queries: str, keys: str, norm: str, tmp_path: Path) -> None:
    """Scores near 10^603 and beyond: numbers of the size e^-(10^600) and e^(10^600) are enclosed."""
    text = f"certattn: 1\nclaim: linearization\ngiven: {{queries: {queries}, keys: {keys}, beta: 1000, unit: 1e300}}\n"
    true = f"remainder: {{norm: {{at_most: {norm}}}}}"
    assert check(f"{text}asserts: {{{true}}}\n", tmp_path).verdict is ACCEPT
    whole = (
        f"{true}, normaliser: {{largest: {{at_least: 0.9}}, difference: {{at_least: 0}}, wasserstein: {{at_least: 0}}}}"
    )
    assert check(f"{text}asserts: {{{whole}}}\n", tmp_path).verdict is ACCEPT


def test_a_bound_of_nothing_is_at_least_0(tokens: tuple[Array, Array], tmp_path: Path) -> None:
    """Equal keys: M is 0, and what softmax divides by is enclosed."""
    same = np.repeat(tokens[1][:1], len(tokens[1]), axis=0)
    report = stated(
        tmp_path, (tokens[0], same), "beta: 1, unit: 1/64", "normaliser: {bound: {at_least: 0, at_most: 1e-9}}"
    )
    assert report.verdict is ACCEPT, report.reason
