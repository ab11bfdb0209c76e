"""Assertions that the arithmetic encloses the truth; that they find what does not; that none is left out."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tools.truth import enclosure_assertions as ea  # noqa: E402

PACKAGE = ROOT / "certattn"


@pytest.fixture(scope="module")
def asserted() -> Counter[str]:
    """How many assertions there are of each function; all of them hold."""
    counts: Counter[str] = Counter()
    for name, given, good in ea.assertions():
        assert good, f"{name} misses the truth: {given}"
        counts[name] += 1
    return counts


@pytest.mark.heavy
def test_the_arithmetic_encloses_the_truth(asserted: Counter[str]) -> None:
    assert asserted.total() >= 10_000
    assert min(asserted.values()) >= 10


# -- assertions that cannot fail would say nothing


@pytest.mark.parametrize("name", ea.CASES)
def test_a_wrong_answer_is_found(name: str) -> None:
    for index, case in enumerate(ea.CASES[name]):
        for sign in {"encloses": (1, -1), "above": (-1,), "below": (1,)}[case.how]:

            def off(*given: arb, case: ea.Case = case, sign: int = sign) -> arb:
                right = case.kernel(*given)
                right = right if isinstance(right, arb) else arb(right)
                return right + sign * (abs(right) + 1) / 2**6

            found = list(ea.scalar(name, replace(case, kernel=off), 12, random.Random(index)))
            assert any(not good for _, _, good in found), f"{name}, case {index}"


@pytest.mark.parametrize("name", ea.CASES)
def test_answers_are_finite_more_often_than_not(name: str) -> None:
    """A function that always says NaN encloses everything."""
    for index, case in enumerate(ea.CASES[name]):
        finite: list[bool] = []

        def noted(*given: arb, case: ea.Case = case, finite: list[bool] = finite) -> arb:
            found = case.kernel(*given)
            finite.append(not isinstance(found, arb) or bool(found.is_finite()))
            return found

        list(ea.scalar(name, replace(case, kernel=noted), 12, random.Random(index)))
        assert 2 * sum(finite) >= len(finite), f"{name}, case {index}"


def narrowed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays of balls without its radii."""

    def narrow(*given: Any) -> Any:
        found = function(*given)
        return replace(found, radius=0 * found.radius)

    return narrow


def lessened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A bound that is a little too small."""
    return lambda *given, **named: function(*given, **named) * (1 - 2.0**-20)


def upwards(value: fmpq) -> fmpq | None:
    """Rounding that is not to nearest: what was rounded down goes to the double above."""
    nearest = EXACT(value)
    if nearest is None or nearest >= value:
        return nearest
    return nearest + abs(nearest) / 2**52


EXACT = ea.binary64_exponential.to_nearest
BROKEN: list[tuple[Any, str, Callable[..., Any], Callable[..., Iterator[ea.Assertion]]]] = [
    (ea.float_balls, "product", narrowed(ea.float_balls.product), ea.double_balls),
    (ea.float_balls, "difference", narrowed(ea.float_balls.difference), ea.double_balls),
    (ea.float_balls, "row_l2_norms", narrowed(ea.float_balls.row_l2_norms), ea.double_balls),
    (ea.float_balls, "row_linf_norms", narrowed(ea.float_balls.row_linf_norms), ea.double_balls),
    (ea.rows, "norm_bounds", lessened(ea.rows.norm_bounds), ea.double_bounds),
    (ea.rows, "norm_bound", lessened(ea.rows.norm_bound), ea.double_bounds),
    (ea.rows, "frobenius_bound", lessened(ea.rows.frobenius_bound), ea.double_bounds),
    (ea.float_matrices, "product_size", lessened(ea.float_matrices.product_size), ea.double_bounds),
    (ea.float_matrices, "product_error", lambda x, y: 0.0, ea.double_bounds),
    (ea.float_matrices, "frobenius", lambda x: (float(np.sqrt((x * x).sum())), 0.0), ea.double_bounds),
    (ea.tight, "add_exactly", lambda total, error, term: np.add(total, term, out=total), ea.double_bounds),
    (ea.units, "gamma", lambda k: k * 2.0**-53, ea.double_constants),
    (ea.exponential, "beta", lambda delta, eps: delta + eps, ea.double_constants),
    (ea.sums, "power_of_two", lambda e: 2.0 ** (e + 1), ea.double_constants),
    (ea.binary64_exponential, "to_nearest", upwards, ea.single_roundings),
    (ea.exponential, "relative_error", lambda tail: 2.0**-54, ea.exponentials),
    (ea.limit_law, "beta_at_ratio", lambda ratio: (1 + ratio).log(), ea.thresholds),
    (ea.limit_law, "critical_beta", lambda share: share, ea.thresholds),
    (ea.spectrum, "smallest_eigenvalue", lambda matrix, bits: matrix[0, 0].min(matrix[1, 1]), ea.eigenvalues),
    (ea.enclosure, "inflated", lambda entry, distance: entry, ea.lifts),
    (ea.linearization, "linear_part", lambda q, k, s: ea.balls.table_of_balls(q @ k.T, arb(1)), ea.prompts),
]


@pytest.mark.parametrize(("module", "name", "wrong", "group"), BROKEN, ids=[name for _, name, _, _ in BROKEN])
def test_a_broken_function_is_found(
    module: Any, name: str, wrong: Any, group: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, wrong)
    found = [(asserted, good) for asserted, _, good in group(15 if name != "relative_error" else 200, random.Random(1))]
    assert any(asserted.endswith(f".{name}") and not good for asserted, good in found) or (
        name == "relative_error" and not all(good for _, good in found)
    )


def test_the_same_seed_gives_the_same_assertions() -> None:
    case = ea.CASES["functions.langevin"][0]
    first, second, other = (list(ea.scalar("x", case, 20, random.Random(seed))) for seed in ("a", "a", "b"))
    assert first == second != other


# -- nothing is left out


def modules() -> set[str]:
    """The modules of mathematics, of theorems and of binary64, by their dotted names."""
    folders = (PACKAGE / "kernel" / "mathematics", PACKAGE / "kernel" / "theorems", PACKAGE / "fast")
    files = [path for folder in folders for path in folder.rglob("*.py")]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files if path.stem != "__init__"}


def test_every_module_is_asserted_here_or_named_by_its_tests(asserted: Counter[str]) -> None:
    known = {name.rpartition(".")[0].rpartition(".")[2] for name in asserted}
    tests = " ".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    missing = set()
    for module in modules():
        folder, _, stem = module.rpartition(".")
        as_name = re.search(rf"from {re.escape(folder)} import [^)]*?\b{stem}\b", tests)
        if stem not in known and module.removeprefix("certattn.") not in tests and as_name is None:
            missing.add(module)
    assert not missing, f"assert them in tools/truth/enclosure_assertions.py, or test them: {sorted(missing)}"
