"""Measure token selection: exact solutions beside those of QP solvers, and how long certificates take.

    python tools/bench/selection.py            everything
    python tools/bench/selection.py margin     one table

It needs cvxopt and scikit-learn for the table of solvers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

import certattn
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.provers.selection.quadratic_program import max_margin_multipliers

Array = np.ndarray[Any, Any]
INSTANCES = 200
# Inputs, tokens of each, dimension, form.
SIZES = ((100, 11, 16, "exact"), (1000, 11, 64, "direction"), (1000, 11, 64, "exact"))


def separable(inputs: int, tokens: int, dimension: int, rng: np.random.Generator) -> Array:
    """Gaussian keys whose first token of each input is ahead along a random direction, by a random amount."""
    keys = rng.standard_normal((inputs, tokens, dimension))
    axis = rng.standard_normal(dimension)
    axis /= np.linalg.norm(axis)
    ahead = np.maximum(0, (keys[:, 1:] @ axis).max(1) - keys[:, 0] @ axis) + np.abs(rng.standard_normal(inputs))
    keys[:, 0] += np.outer(ahead, axis)
    return keys


def by_cvxopt(rows: Array) -> Array:
    """min |p|^2 / 2 subject to rows p >= 1, as the authors' code solves it."""
    from cvxopt import matrix, solvers

    solvers.options["show_progress"] = False
    count, dimension = rows.shape
    solved = solvers.qp(matrix(np.eye(dimension)), matrix(np.zeros(dimension)), matrix(-rows), matrix(-np.ones(count)))
    return np.asarray(solved["x"]).reshape(-1)


def by_linear_svc(rows: Array) -> Array:
    """A linear support vector machine with C = 1e9 on the rows and their negatives."""
    import warnings

    from sklearn.svm import LinearSVC

    labels = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
    machine = LinearSVC(C=1e9, loss="hinge", fit_intercept=False, max_iter=1_000_000, tol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(np.concatenate([rows, -rows]), labels)
    return np.asarray(machine.coef_).reshape(-1)


SOLVERS: dict[str, Callable[[Array], Array]] = {"cvxopt": by_cvxopt, "LinearSVC": by_linear_svc}


def exactly(rows: Array) -> MaxMargin:
    """The solution over the rationals, of these very doubles."""
    exact = ExactMatrix.rational([[fmpq(*float(entry).as_integer_ratio()) for entry in row] for row in rows])
    return hard_margin(exact, max_margin_multipliers(exact))


def gap(solved: MaxMargin) -> fmpq:
    """By how much the conditions of the exact solution are missed: violation, complementarity, sign."""
    return max(
        -min(solved.conditions.slack, fmpq(0)), abs(solved.complementarity), -min(solved.conditions.multiplier, fmpq(0))
    )


def compare(rows: Array, solver: Callable[[Array], Array]) -> tuple[float, float]:
    """How far a solver's p is from the exact one, relative to its norm; and its largest violated constraint."""
    solved = exactly(rows)
    point = np.array([float(x.p) / float(x.q) for x in solved.solution.row(0)])
    found = solver(rows)
    return float(np.linalg.norm(found - point) / np.linalg.norm(point)), float(np.abs((rows @ found).min() - 1))


def instance(index: int) -> Array:
    """A random problem of 1 to 5 inputs of 2 to 6 tokens in dimension 2 to 8."""
    rng = np.random.default_rng(index)
    keys = separable(rng.integers(1, 6), rng.integers(2, 7), rng.integers(2, 9), rng)
    return (keys[:, :1] - keys[:, 1:]).reshape(-1, keys.shape[2])


def max_margin_table(instances: int = INSTANCES) -> None:
    """Print how far two solvers are from the exact solution on random instances, and the times of certificates."""
    problems = [instance(index) for index in range(instances)]
    exact_gap = max(gap(exactly(rows)) for rows in problems)
    print(f"{instances} random instances; the exact conditions are missed by at most {exact_gap}")
    print(f"{'solver':<12}{'median distance':>18}{'largest':>12}{'median residual':>18}{'largest':>12}{'smallest':>12}")
    for name, solver in SOLVERS.items():
        found = np.array([compare(rows, solver) for rows in problems])
        (far, residual), (most, largest) = np.median(found, axis=0), found.max(axis=0)
        print(f"{name:<12}{far:>18.2e}{most:>12.2e}{residual:>18.2e}{largest:>12.2e}{found[:, 1].min():>12.2e}")


def max_margin_times(sizes: tuple[tuple[int, int, int, str], ...] = SIZES) -> None:
    """Print how long certificates take to generate and to check."""
    print(f"{'constraints':>11}{'d':>5}{'form':>11}{'generate':>11}{'check':>9}{'bytes':>10}")
    for inputs, tokens, dimension, form in sizes:
        keys = separable(inputs, tokens, dimension, np.random.default_rng(0)).reshape(-1, dimension)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "margin.yaml"
            start = time.perf_counter()
            certattn.generate("max-margin", out, keys=keys, lengths=[tokens] * inputs, indices=[0] * inputs, form=form)
            made = time.perf_counter()
            report = certattn.check(out)
            checked = time.perf_counter()
            assert report.verdict is certattn.Verdict.VERIFIED, report.reason
            constraints = inputs * (tokens - 1)
            print(
                f"{constraints:>11}{dimension:>5}{form:>11}{made - start:>9.2f} s{checked - made:>7.2f} s"
                f"{out.stat().st_size:>10}"
            )


def margin() -> None:
    max_margin_table()
    max_margin_times()


def descent() -> None:
    from tools.bench import selection_descent

    selection_descent.main([])


def head() -> None:
    from tools.bench import selection_head

    selection_head.main([])


TABLES: dict[str, Callable[[], None]] = {"margin": margin, "descent": descent, "head": head}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="all if left out")
    for name in parser.parse_args().tables or TABLES:
        TABLES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
