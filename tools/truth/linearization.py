"""The part of the second opinion about `linearization`: all matrices from their definitions, by mpmath.

Meant for matrices of a few rows. T comes from its own exponentials, Pi is a matrix product, the Kolmogorov distance is
looked for on both sides of every singular value.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from mpmath import matrix as mp_matrix
from mpmath import mp, mpf, svd_r

from tools.truth.judgement import Judgement, worst
from tools.truth.reading import dot, read_number, read_scale, read_table, require, require_record, to_real
from tools.truth.singular_values import judge_range, require_hint

_STAGES = (
    "attention", "scores", "linear", "attention_less_scores", "scores_less_linear", "attention_less_linear",
)  # fmt: skip
_SIZES = ("norm", "frobenius", "relative_norm", "relative_frobenius")
_LARGEST_BETA = 1000
_NOTHING = 10


def judge_linearization(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """Every bound that is asserted, on numbers from the definitions."""
    require_record(given, "given", {"queries", "keys"}, {"scale", "beta", "unit"})
    queries, keys = read_table(given["queries"], folder), read_table(given["keys"], folder)
    size, width = len(keys), len(keys[0])
    require((len(queries), len(queries[0])) == (size, width) and size >= 2, "queries and keys of other shapes")
    scale = read_scale(given) if "scale" in given else None
    beta = read_number(given["beta"]) if "beta" in given else None
    unit = read_number(given["unit"]) if "unit" in given else None
    require(beta is not None or (scale is not None and unit is None), "no scale")
    if beta is not None:
        require(0 < beta <= _LARGEST_BETA and (unit is None or unit > 0), "beta and unit")
        square = (beta * (unit or 1) ** 2) ** 2 / width
        if scale is not None:
            require(scale.square == square and scale.value > 0, "another scale")
    if witness != {}:
        require_hint(witness, given, (size, size), folder)
    of_beta = None if beta is None else (beta, unit or Fraction(1))
    text = json.dumps([[[str(x) for x in row] for row in table] for table in (queries, keys)])
    name = ("", "") if scale is None else (str(scale.value), str(scale.is_root))

    def numbers() -> _Numbers:
        return _numbers_of(text, name, of_beta, mp.dps)

    require_record(asserts, "asserts", set(), {"remainder", "normaliser", "stages"})
    require(len(asserts) > 0, "nothing is asserted")
    found: list[Judgement] = []
    if "remainder" in asserts:
        stated = asserts["remainder"]
        require_record(stated, "remainder", set(), {"norm", "distance"} if beta is not None else {"norm"})
        require(len(stated) > 0, "an empty remainder")
        for key in stated:
            number = (
                (lambda: numbers().sigma["attention_less_linear"][0])
                if key == "norm"
                else (lambda: numbers().distance())
            )
            found += judge_range(f"remainder.{key}", stated[key], number)
    if "normaliser" in asserts:
        stated = asserts["normaliser"]
        require_record(stated, "normaliser", set(), {"largest", "difference", "bound", "wasserstein"})
        require(len(stated) > 0 and beta is not None, "a normaliser")
        for key in stated:
            found += judge_range(f"normaliser.{key}", stated[key], lambda key=key: getattr(numbers(), key)())
    if "stages" in asserts:
        known = _STAGES if beta is not None else ("attention", "linear", "attention_less_linear")
        require_record(asserts["stages"], "stages", set(), known)
        require(len(asserts["stages"]) > 0, "no stages")
        for stage, stated in asserts["stages"].items():
            require_record(stated, stage, set(), _SIZES[:2] if stage == "attention" else _SIZES)
            require(len(stated) > 0, "an empty stage")
            for key in stated:
                found += judge_range(
                    f"stages.{stage}.{key}", stated[key], lambda stage=stage, key=key: numbers().size(stage, key)
                )
    return worst(found)


class _Numbers:
    """Singular values of all stages, by name, and the means of rows of T."""

    def __init__(self, sigma: dict[str, list[mpf]], means: list[mpf], beta: Fraction | None) -> None:
        self.sigma, self.means, self._beta = sigma, means, beta

    def size(self, stage: str, kind: str) -> mpf:
        if kind.startswith("relative_"):
            size = kind.removeprefix("relative_")
            return self.size(stage, size) / self.size("attention", size)
        sigma = self.sigma[stage]
        return sigma[0] if kind == "norm" else mp.sqrt(mp.fsum(x * x for x in sigma))

    def largest(self) -> mpf:
        return max(abs(mean) for mean in self.means)

    def difference(self) -> mpf:
        return self.sigma["attention_less_scores"][0]

    def bound(self) -> mpf:
        return self.largest() * self.sigma["attention"][0]

    def wasserstein(self) -> mpf:
        pairs = zip(self.sigma["attention"], self.sigma["scores"], strict=True)
        return mp.sqrt(mp.fsum((x - y) ** 2 for x, y in pairs) / len(self.means))

    def distance(self) -> mpf:
        beta = to_real(self._beta or Fraction(0))
        radius = 2 * mp.sqrt(mp.expm1(beta * beta) - beta * beta)
        sigma, count = self.sigma["attention_less_linear"], len(self.means)

        def law(x: mpf) -> mpf:
            r = min(x / radius, mpf(1))
            return 2 / mp.pi * (mp.asin(r) + r * mp.sqrt(1 - r * r))

        sides = [sum(one(x, y) for x in sigma) for y in sigma for one in (_less, _at_most)]
        places = [y for y in sigma for _ in range(2)]
        return max(abs(mpf(share) / count - law(y)) for share, y in zip(sides, places, strict=True))


def _less(x: mpf, y: mpf) -> bool:
    return bool(x < y)


def _at_most(x: mpf, y: mpf) -> bool:
    return bool(x <= y)


@cache
def _numbers_of(
    tables: str, scale: tuple[str, str], of_beta: tuple[Fraction, Fraction] | None, digits: int
) -> _Numbers:
    queries, keys = ([[Fraction(x) for x in row] for row in table] for table in json.loads(tables))
    size, width = len(keys), len(keys[0])
    with mp.workdps(digits + _NOTHING):
        if of_beta is None:
            factor = to_real(Fraction(scale[0]))
            factor = mp.sqrt(factor) if scale[1] == "True" else factor
        else:
            beta, unit = of_beta
            factor = to_real(beta * unit**2) / mp.sqrt(width)
        scores = mp_matrix([[factor * to_real(dot(query, key)) for key in keys] for query in queries])
        Pi = mp.eye(size) - mp_matrix([[mpf(1) / size] * size for _ in range(size)])
        root = mp.sqrt(size)
        A = mp_matrix(size, size)
        for i in range(size):
            top = max(scores[i, j] for j in range(size))
            weights = [mp.exp(scores[i, j] - top) for j in range(size)]
            for j in range(size):
                A[i, j] = weights[j] / mp.fsum(weights)
        M, L = root * (A * Pi), scores * Pi / root
        matrices: dict[str, Any] = {"attention": M, "linear": L, "attention_less_linear": M - L}
        means: list[mpf] = [mpf(0)] * size
        if of_beta is not None:
            rate = to_real((of_beta[0] * of_beta[1]) ** 2) / (2 * width)
            T = mp_matrix(size, size)
            for i, query in enumerate(queries):
                half = rate * to_real(dot(query, query))
                for j in range(size):
                    T[i, j] = mp.expm1(scores[i, j] - half) / root
            means = [mp.fsum(T[i, j] for j in range(size)) / root for i in range(size)]
            matrices |= {"scores": T * Pi, "attention_less_scores": M - T * Pi, "scores_less_linear": T * Pi - L}
        unit_of = mpf(10) ** -(digits - 5)
        return _Numbers({name: _sigma(X, unit_of) for name, X in matrices.items()}, means, of_beta and of_beta[0])


def _sigma(X: Any, nothing: mpf) -> list[mpf]:
    largest = max(abs(x) for x in X)
    if largest < nothing:
        return [mpf(0)] * X.rows
    found = sorted(svd_r(X / largest, compute_uv=False), reverse=True)
    # What is left of a singular value that is 0.
    return [mpf(0) if abs(x) < nothing else x * largest for x in found]
