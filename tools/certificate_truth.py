"""Whether what a certificate states is true: a second opinion that shares no code with the kernel.

It reads a certificate's plain tree by itself (Python's fractions, numpy for array files) and computes
both sides from the mathematical definitions with mpmath: first at a moderate precision, then at about
twice as many digits, whose difference is the error that it allows itself; where that does not decide,
at more. It is slow and proves nothing. It is there to catch the checker at a false `verified`.

Of a region of queries it looks for the largest deviation on a grid and around the best points of it: a query
that deviates by more than is stated shows the statement to be false, and nothing shows it to be true.

Boursier and Boyer 2026, section 2: softmax attention over a prompt, and over the law of a token.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any

import exponential_truth
import numpy as np
from mpmath import mp, mpf

Vector = list[Fraction]
Table = list[Vector]
# Decimal digits of the two evaluations; the next pair where the first does not decide.
_DIGITS = ((40, 70), (150, 250), (600, 900))
# A search may miss the largest deviation by this much of it.
_MISSED = 1e-4


class NotAStatement(Exception):
    """The text is no certificate of a known claim: nothing is stated that could be true."""


class Truth(enum.Enum):
    TRUE = "true"
    FALSE = "false"
    # Both sides agree to hundreds of digits: equal, or too close for this evaluation.
    EQUAL = "equal"
    # No query was found that makes it false.
    OPEN = "open"
    # The numbers were not looked at: too many of them, or beyond what doubles can say.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judgement:
    """`slack`: the smallest distance to falsehood of an inequality, relative to its sides.

    Not `provable`: it may be true, but what the witness names does not show it.
    """

    truth: Truth
    slack: float = 0.0
    where: str = ""
    provable: bool = True


@dataclass(frozen=True)
class Comparison:
    """`value <= bound` (or `>=`), the value as a function that is evaluated at mpmath's precision.

    `searched`: the value is the largest that a search has found; there may be a larger one.
    """

    name: str
    value: Callable[[], mpf]
    bound: Fraction
    upper: bool = True
    searched: bool = False


def judge(certificate: Any, folder: Path) -> Judgement:
    """The truth of the statement in a certificate's plain tree. Raises NotAStatement."""
    _record(certificate, "the file", {"certattn", "claim", "given", "asserts"}, {"witness", "provenance"})
    if certificate["certattn"] != "1":
        raise NotAStatement(f"version {certificate['certattn']}")
    _mapping(certificate.get("witness", {}), "witness")
    for text in _mapping(certificate.get("provenance", {}), "provenance").values():
        _require(isinstance(text, str) and text != "", "provenance must be text")
    claim = certificate["claim"]
    witness = certificate.get("witness", {})
    if claim == "infinite-prompt-operator":
        return _both(_operator_comparisons(certificate["given"], certificate["asserts"], witness, folder))
    if claim == "output-deviation":
        return _both(_deviation_comparisons(certificate["given"], certificate["asserts"], witness, folder))
    if claim == "binary64-exponential":
        return _exponential(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "softmax-mean":
        return _both(_mean_comparisons(certificate["given"], certificate["asserts"], witness, folder))
    if claim == "descent-trajectory":
        from descent_trajectory_truth import judge_descent

        return judge_descent(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "equivalent-law":
        from equivalent_law_truth import judge_equivalent

        return judge_equivalent(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "finite-moments":
        from score_matrix_truth import judge_moments

        return judge_moments(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "flow-trajectory":
        from flow_trajectory_truth import judge_flow

        return judge_flow(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "joint-max-margin":
        from joint_max_margin_truth import judge_joint

        return judge_joint(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "linearization":
        from linearization_truth import judge_linearization

        return judge_linearization(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "not-marchenko-pastur":
        from spectral_distance_truth import judge_not_marchenko_pastur

        return judge_not_marchenko_pastur(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "normalizer-bound":
        from gaussian_equivalence_truth import judge_normaliser

        return judge_normaliser(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "output-mean-square":
        from mean_square_truth import judge_mean_square

        return judge_mean_square(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "output-tail":
        # It reads laws as this module does.
        from output_tail_truth import judge_tails

        return judge_tails(certificate["given"], certificate["asserts"], witness, folder)
    if claim in ("proposition-3-1", "proposition-3-4"):
        from proposition_truth import judge_proposition

        first = claim == "proposition-3-1"
        return judge_proposition(first, certificate["given"], certificate["asserts"], witness, folder)
    if claim == "regression-risk":
        from regression_risk_truth import judge_risk

        return judge_risk(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "regularization-path":
        from regularization_path_truth import judge_path

        return judge_path(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "risk-gap":
        from risk_gap_truth import judge_gap

        return judge_gap(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "risk-transfer":
        from risk_transfer_truth import judge_transfer

        return judge_transfer(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "selection-direction":
        from selection_direction_truth import judge_direction

        return judge_direction(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "token-optimality":
        from token_optimality_truth import judge_optimality

        return judge_optimality(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "selection-counterexample":
        from selection_counterexample_truth import judge_counterexample

        return judge_counterexample(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "training-convergence":
        from training_convergence_truth import judge_training

        return judge_training(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "typical-prompt":
        from typical_prompt_truth import judge_typical

        return judge_typical(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "universality-bound":
        from gaussian_equivalence_truth import judge_universality

        return judge_universality(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "selection-on-a-head":
        from selection_on_a_head_truth import judge_head

        return judge_head(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "spectral-distance":
        from spectral_distance_truth import judge_distance

        return judge_distance(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "singular-values":
        from singular_values_truth import judge_singular_values

        return judge_singular_values(certificate["given"], certificate["asserts"], witness, folder)
    if claim in ("gradient-mean-square", "gradient-tail"):
        import gradient_truth

        judge_gradient = gradient_truth.judge_tail if claim == "gradient-tail" else gradient_truth.judge_mean_square
        return judge_gradient(certificate["given"], certificate["asserts"], witness, folder)
    if claim == "max-margin":
        from margin_truth import judge_margin

        return judge_margin(certificate["given"], certificate["asserts"], witness, folder)
    raise NotAStatement(f"the claim {claim!r}")


# -- deciding


def _both(comparisons: Sequence[Comparison]) -> Judgement:
    """A statement is all of its comparisons."""
    _require(len(comparisons) > 0, "nothing is stated")
    found = [_decide(comparison) for comparison in comparisons]
    for truth in (Truth.FALSE, Truth.EQUAL, Truth.OPEN):
        for judgement in found:
            if judgement.truth is truth:
                return judgement
    return min(found, key=lambda judgement: judgement.slack)


def _decide(comparison: Comparison) -> Judgement:
    value = bound = error = mpf(0)
    for low, high in _DIGITS:
        with mp.workdps(low):
            rough = comparison.value()
        with mp.workdps(high):
            value = comparison.value()
            bound = _real(comparison.bound)
            size = max(abs(value), abs(bound))
            error = 2 * abs(value - rough) + mpf(10) ** (5 - low) * size
            gap = bound - value if comparison.upper else value - bound
            if gap > error:
                truth = Truth.OPEN if comparison.searched and comparison.upper else Truth.TRUE
                return Judgement(truth, float(gap / size), comparison.name)
            if gap < -error:
                missed = comparison.searched and not comparison.upper and -gap < _MISSED * size
                return Judgement(Truth.OPEN if missed else Truth.FALSE, float(gap / size), comparison.name)
    return Judgement(Truth.EQUAL, 0.0, comparison.name)


# -- the claims


def _operator_comparisons(given: Any, asserts: Any, witness: Any, folder: Path) -> list[Comparison]:
    named = {"U"} if isinstance(given, dict) and "U" in given else {"K", "Q"}
    _record(given, "given", {"law"} | (named & {"U"}), (named - {"U"}) | {"V", "scale", "queries"})
    _record(asserts, "asserts", set(), {"operator", "pushforward", "values"})
    _record(witness, "witness", set(), {"queries"})
    law = _law(given["law"], folder)
    U, V = _weights(given, law.dimension, folder)
    scale, width, outputs = _scale(given), len(U[0]), len(V)
    queries = _gaussian(given["queries"], folder, "queries") if "queries" in given else None
    if queries is not None:
        _require(queries.dimension == width, "queries of another dimension")
    if "queries" in witness:
        _require(len(_table(witness["queries"], folder)[0]) == width, "suspects of another dimension")

    def truth(z: Vector) -> list[mpf]:
        """T(z) = V tau(s U z)."""
        mean = law.tilted_mean([_root(scale) * _real(entry) for entry in _times(U, z)])
        return [_inner(row, mean) for row in V]

    comparisons: list[Comparison] = []
    if "operator" in asserts:
        stated = asserts["operator"]
        _record(stated, "operator", {"matrix", "offset"})
        matrix, offset = _table(stated["matrix"], folder), _vector(stated["offset"], folder)
        _require((len(matrix), len(matrix[0]), len(offset)) == (outputs, width, outputs), "operator of another shape")

        def gap(z: Vector) -> mpf:
            claimed = [_real(o) + _root(scale) * _real(t) for o, t in zip(offset, _times(matrix, z), strict=True)]
            return max(abs(c - t) for c, t in zip(claimed, truth(z), strict=True))

        comparisons += [_zero(f"operator at {_shown(z)}", lambda z=z: gap(z)) for z in _probes(width)]
    if "pushforward" in asserts:
        _require(queries is not None, "no law of queries")
        assert queries is not None
        comparisons += _pushforward(asserts["pushforward"], queries, truth, outputs, folder)
    if "values" in asserts:
        _require(isinstance(asserts["values"], list) and asserts["values"] != [], "values must be a list")
        for index, item in enumerate(asserts["values"]):
            _record(item, "a value", {"query", "value", "radius"})
            z, y, radius = _vector(item["query"], folder), _vector(item["value"], folder), _number(item["radius"])
            _require((len(z), len(y)) == (width, outputs), "a value of another dimension")
            _require(radius >= 0, "a negative radius")

            def distance(z: Vector = z, y: Vector = y) -> mpf:
                return max(abs(t - _real(c)) for t, c in zip(truth(z), y, strict=True))

            comparisons.append(Comparison(f"values[{index}]", distance, radius))
    return comparisons


def _exponential(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false where the errors that are found, and a textbook bound, say so; `EQUAL` in between."""
    _record(given, "given", {"constants", "table", "scores_up_to"}, {"tail_up_to"})
    _record(asserts, "asserts", {"relative_error"}, {"used_by"})
    _record(witness, "witness", set())
    names = ("L1", "L2", "inverse", "C2", "C3")
    _record(given["constants"], "constants", set(names))
    constants = [_double(_number(given["constants"][name])) for name in names]
    table = tuple(_double(entry) for entry in _vector(given["table"], folder))
    _require(len(table) == exponential_truth.SIZE, "another number of entries")
    scores, tail = _number(given["scores_up_to"]), Fraction(0)
    _require(scores > 0, "no scores")
    if "tail_up_to" in given:
        tail = _number(given["tail_up_to"])
        _require(tail > 0, "no tail")
    function = exponential_truth.Function(*constants, table, scores, tail)
    stated = asserts["relative_error"]
    _record(stated, "relative_error", set(), {"at_most", "at"})
    _require(len(stated) > 0, "nothing is stated")
    found: list[Judgement] = []
    at: list[float] = []
    if "at" in stated:
        _record(stated["at"], "at", {"score", "at_least"})
        score, least = _number(stated["at"]["score"]), _number(stated["at"]["at_least"])
        _require(least >= 0 and abs(score) <= scores, "at")
        at = [_double(score)]
        error = exponential_truth.error_at(function, *at)
        found.append(_in_order("at", (_precise(least), _precise(least), error, error)))
    if "at_most" in stated:
        bound = _number(stated["at_most"])
        _require(bound >= 0, "a negative bound")
        low = exponential_truth.largest_error_found(function, at)
        high = exponential_truth.largest_error_possible(function)
        found.append(_in_order("at_most", (low, high, _precise(bound), _precise(bound))))
    if "used_by" in asserts:
        _require(asserts["used_by"] == "kernel", "used by another")
        own = tuple(constants) == exponential_truth.own_constants() and table == exponential_truth.own_table()
        own = own and scores >= exponential_truth.OWN_SCORES and (tail == 0 or tail >= exponential_truth.OWN_TAIL)
        found.append(Judgement(Truth.TRUE if own else Truth.FALSE, 1.0, "used_by"))
    for truth in (Truth.FALSE, Truth.EQUAL):
        for judgement in found:
            if judgement.truth is truth:
                return judgement
    return min(found, key=lambda judgement: judgement.slack)


def _in_order(name: str, ends: tuple[mpf, mpf, mpf, mpf]) -> Judgement:
    """Whether what lies between the first two ends is at most what lies between the last two."""
    low, high, least, most = ends
    # Numbers of 60 digits: what agrees to 30 is equal.
    with mp.workdps(60):
        if high < least * (1 - mpf(10) ** -30) or high == least == 0:
            return Judgement(Truth.TRUE, float(1 - high / least) if least else 0.0, name)
        return Judgement(Truth.FALSE if low > most * (1 + mpf(10) ** -30) else Truth.EQUAL, 0.0, name)


def _precise(value: Fraction) -> mpf:
    with mp.workdps(60):
        return _real(value)


def _double(value: Fraction) -> float:
    """A number that a double holds exactly."""
    try:
        nearest = float(value)
    except OverflowError:
        raise NotAStatement("a number beyond all doubles") from None
    _require(Fraction(nearest) == value, "a number that is no double")
    return nearest


def _pushforward(
    stated: Any, queries: _Gaussian, truth: Callable[[Vector], list[mpf]], outputs: int, folder: Path
) -> list[Comparison]:
    """z ~ N(m, S) is mapped to N(mean, covariance): T must be affine, T(z) = b + A z; then b + A m and A S A'."""
    _record(stated, "pushforward", {"mean", "covariance"})
    mean, covariance = _vector(stated["mean"], folder), _table(stated["covariance"], folder)
    _require(len(mean) == outputs, "pushforward of another dimension")
    _require((len(covariance), len(covariance[0])) == (outputs, outputs), "pushforward covariance of another shape")
    width = queries.dimension

    def affine() -> tuple[list[mpf], list[list[mpf]]]:
        b = truth([Fraction(0)] * width)
        columns = [[t - o for t, o in zip(truth(_axis(j, width)), b, strict=True)] for j in range(width)]
        return b, [list(row) for row in zip(*columns, strict=True)]

    def bend(z: Vector) -> mpf:
        b, A = affine()
        return max(abs(t - o - _inner(z, row)) for t, o, row in zip(truth(z), b, A, strict=True))

    def off_mean() -> mpf:
        b, A = affine()
        true_mean = [o + _inner(queries.mean, row) for o, row in zip(b, A, strict=True)]
        return max(abs(t - _real(c)) for t, c in zip(true_mean, mean, strict=True))

    def off_covariance() -> mpf:
        _, A = affine()
        spread = [[_inner(row, line) for line in A] for row in queries.covariance]  # S A'
        gaps = [
            abs(mp.fsum(a * s for a, s in zip(A[i], [line[j] for line in spread], strict=True)) - _real(c))
            for i, row in enumerate(covariance)
            for j, c in enumerate(row)
        ]
        return max(gaps)

    bends = [_zero(f"affine at {_shown(z)}", lambda z=z: bend(z)) for z in _probes(width)]
    return [*bends, _zero("pushforward.mean", off_mean), _zero("pushforward.covariance", off_covariance)]


def _zero(name: str, value: Callable[[], mpf]) -> Comparison:
    """An identity: true if the difference is below 10^-100 at 150 digits. Mutants differ by far more."""

    @cache  # the precision is its own, so that both evaluations are one
    def rounded() -> mpf:
        with mp.workdps(150):
            difference = value()
            return mpf(0) if difference < mpf(10) ** -100 else difference

    return Comparison(name, rounded, Fraction(1, 10**100))


def _deviation_comparisons(given: Any, asserts: Any, witness: Any, folder: Path) -> list[Comparison]:
    asked = "region" if isinstance(given, dict) and "region" in given else "queries"
    prompt = _prompt(given, {"limit"}, folder, asked)
    keys, values, queries, scale = prompt.tokens, prompt.values, prompt.queries, prompt.scale
    U, V, outputs, attention = prompt.U, prompt.V, len(values[0]), prompt.attention
    region = _region(given["region"], len(U[0]), folder) if asked == "region" else None
    _deviation_witness(witness, region, folder)

    limit = _limit(given["limit"], keys, values, (U, V), outputs, scale, folder)
    _record(asserts, "asserts", {"deviation"})
    stated = asserts["deviation"]
    _record(stated, "deviation", {"norm"}, {"at_most", "at_least", "per_query"})
    _require(stated["norm"] in ("l2", "linf"), "the norm")

    def deviation(z: Vector) -> mpf:
        gaps = [abs(x - y) for x, y in zip(attention(z), limit(z), strict=True)]
        return mp.sqrt(mp.fsum(gap * gap for gap in gaps)) if stated["norm"] == "l2" else max(gaps)

    if region is not None:
        _require("per_query" not in stated, "per_query of a region")
        met = [region.search(_in_doubles(keys, values, U, scale, limit, stated["norm"])), region.middle()]
        found = [
            Comparison(
                name,
                lambda: max(deviation(query) for query in met),
                _number(stated[name]),
                name == "at_most",
                searched=True,
            )
            for name in ("at_most", "at_least")
            if name in stated
        ]
        _require(all(comparison.bound >= 0 for comparison in found), "a negative bound")
        return found
    comparisons: list[Comparison] = []
    if "at_most" in stated:
        bound = _number(stated["at_most"])
        _require(bound >= 0, "a negative bound")
        comparisons += [Comparison(f"at_most[{i}]", lambda z=z: deviation(z), bound) for i, z in enumerate(queries)]
    if "at_least" in stated:
        bound = _number(stated["at_least"])
        _require(bound >= 0, "a negative bound")
        comparisons.append(Comparison("at_least", lambda: max(deviation(z) for z in queries), bound, upper=False))
    if "per_query" in stated:
        each = stated["per_query"]
        _record(each, "per_query", set(), {"at_most", "at_least"})
        _require(len(each) > 0, "per_query states nothing")
        for name in each:
            bounds = _vector(each[name], folder)
            _require(len(bounds) == len(queries), "another number of bounds than queries")
            for i, (z, bound) in enumerate(zip(queries, bounds, strict=True)):
                upper = name == "at_most"
                comparisons.append(Comparison(f"per_query.{name}[{i}]", lambda z=z: deviation(z), bound, upper))
    return comparisons


@dataclass(frozen=True)
class _Prompt:
    """Tokens (or keys) that U z is multiplied with, keys and values, queries, V where it is stated, and the scale."""

    tokens: Table
    keys: Table
    values: Table
    queries: Table
    U: Table
    V: Table | None
    scale: _Scale

    def masses(self, z: Vector) -> list[mpf]:
        """e^score of every token, sum by sum."""
        tilt = _times(self.U, z)
        scores = (sum((a * b for a, b in zip(token, tilt, strict=True)), Fraction(0)) for token in self.tokens)
        return [mp.exp(_root(self.scale) * _real(score)) for score in scores]

    def attention(self, z: Vector) -> list[mpf]:
        """Softmax over the keys."""
        return _average(self.masses(z), self.values)


def _average(masses: Sequence[mpf], rows: Table) -> list[mpf]:
    total = mp.fsum(masses)
    columns = zip(*rows, strict=True)
    return [mp.fsum(w * _real(x) for w, x in zip(masses, c, strict=True)) / total for c in columns]


def _prompt(given: Any, others: set[str], folder: Path, asked: str = "queries") -> _Prompt:
    """A prompt in one of its three forms, beside other fields; `asked` stands where queries are listed."""
    present = given if isinstance(given, dict) else {}
    named = {"U"} if "U" in present else {"K", "Q"}
    if "keys" in present:
        _record(given, "given", {"keys", "values", asked} | others, {"scale"})
        keys = tokens = _table(given["keys"], folder)
        values = _table(given["values"], folder)
        U, V = _identity(len(keys[0])), None
    else:
        _record(given, "given", {"tokens", asked} | (named & {"U"}) | others, (named - {"U"}) | {"V", "scale"})
        tokens = _table(given["tokens"], folder)
        U, V = _weights(given, len(tokens[0]), folder)
        keys = [_times(_table(given["K"], folder), token) for token in tokens] if "K" in given else tokens
        values = [_times(V, token) for token in tokens]
    _require(len(keys) == len(values), "another number of values than keys")
    queries = _table(given["queries"], folder) if asked == "queries" else []
    _require(queries == [] or len(queries[0]) == len(U[0]), "queries of another dimension")
    return _Prompt(tokens, keys, values, queries, U, V, _scale(given))


def _bits(witness: Any, others: frozenset[str] | set[str] = frozenset()) -> None:
    _record(witness, "witness", set(), {"bits"} | others)
    if "bits" in witness:
        _require(re.fullmatch("[1-9][0-9]*", str(witness["bits"])) is not None, "bits")
        _require(witness["bits"] != "1", "too few bits")


def _mean_comparisons(given: Any, asserts: Any, witness: Any, folder: Path) -> list[Comparison]:
    prompt = _prompt(given, set(), folder)
    queries = prompt.queries
    _bits(witness)
    _record(asserts, "asserts", set(), {"mean", "covariance", "eigenvalues", "log_normaliser"})
    comparisons: list[Comparison] = []

    @cache
    def masses_at(i: int, precision: int) -> list[mpf]:
        return prompt.masses(queries[i])

    def masses(i: int) -> list[mpf]:
        return masses_at(i, mp.prec)

    def within(name: str, radius: Any, error: Callable[[int], mpf]) -> None:
        for i, bound in enumerate(_each(radius, len(queries), folder, minimum=0)):
            comparisons.append(Comparison(f"{name}[{i}]", lambda i=i: error(i), bound))

    if "mean" in asserts:
        stated = asserts["mean"]
        _record(stated, "mean", {"value", "radius"})
        means = _table(stated["value"], folder)
        _require((len(means), len(means[0])) == (len(queries), len(prompt.values[0])), "means of another shape")
        within("mean", stated["radius"], lambda i: _largest_gap(_average(masses(i), prompt.values), means[i]))
    if "covariance" in asserts:
        stated = asserts["covariance"]
        _record(stated, "covariance", {"value", "radius"}, {"of"})
        left, right = _sides(prompt, stated.get("of", "values"), ("values", "keys", "values-keys"))
        tables = _stacked(stated["value"], len(queries), len(left[0]), len(right[0]), folder)

        def off(i: int) -> mpf:
            found = _spread(masses(i), left, right)
            return max(_largest_gap(row, line) for row, line in zip(found, tables[i], strict=True))

        within("covariance", stated["radius"], off)
    if "eigenvalues" in asserts:
        stated = asserts["eigenvalues"]
        _record(stated, "eigenvalues", set(), {"of", "at_least", "at_most"})
        _require("at_least" in stated or "at_most" in stated, "eigenvalues state nothing")
        rows, _ = _sides(prompt, stated.get("of", "values"), ("values", "keys"))

        @cache
        def eigenvalues_at(i: int, precision: int) -> list[mpf]:
            return list(mp.eigsy(mp.matrix(_spread(masses(i), rows, rows)), eigvals_only=True))

        for name, end in (("at_least", min), ("at_most", max)):
            if name in stated:
                for i, bound in enumerate(_each(stated[name], len(queries), folder)):
                    value = lambda i=i, end=end: end(eigenvalues_at(i, mp.prec))  # noqa: E731
                    comparisons.append(Comparison(f"eigenvalues.{name}[{i}]", value, bound, name == "at_most"))
    if "log_normaliser" in asserts:
        stated = asserts["log_normaliser"]
        _record(stated, "log_normaliser", {"value", "radius"})
        logarithms = _vector(stated["value"], folder)
        _require(len(logarithms) == len(queries), "another number of logarithms than queries")
        within(
            "log_normaliser",
            stated["radius"],
            lambda i: abs(mp.log(mp.fsum(masses(i))) - _real(logarithms[i])),
        )
    return comparisons


def _largest_gap(found: Sequence[mpf], stated: Vector) -> mpf:
    return max(abs(x - _real(y)) for x, y in zip(found, stated, strict=True))


def _sides(prompt: _Prompt, of: Any, known: Sequence[str]) -> tuple[Table, Table]:
    _require(of in known, "whose covariance")
    sides = {"values": prompt.values, "keys": prompt.keys}
    left, _, right = of.partition("-")
    return sides[left], sides[right or left]


def _spread(masses: list[mpf], left: Table, right: Table) -> list[list[mpf]]:
    """sum p (x - X)(y - Y)', from the definition."""
    total = mp.fsum(masses)
    X, Y = _average(masses, left), _average(masses, right)
    first = [[_real(x) - m for x, m in zip(row, X, strict=True)] for row in left]
    second = [[_real(y) - m for y, m in zip(row, Y, strict=True)] for row in right]
    return [
        [mp.fsum(w * x[a] * y[b] for w, x, y in zip(masses, first, second, strict=True)) / total for b in range(len(Y))]
        for a in range(len(X))
    ]


def _each(node: Any, count: int, folder: Path, minimum: int | None = None) -> Vector:
    """One number for all queries, or a vector with one for each."""
    if isinstance(node, str):
        value = _number(node)
        _require(minimum is None or value >= minimum, "a number that is too small")
        return [value] * count
    bounds = _vector(node, folder)
    _require(len(bounds) == count, "another number of bounds than queries")
    return bounds


def _stacked(node: Any, count: int, rows: int, columns: int, folder: Path) -> list[Table]:
    """A table per query: in a list, or one below the other."""
    first = node[0] if isinstance(node, list) and node else None
    if isinstance(first, dict) or (isinstance(first, list) and first and isinstance(first[0], list)):
        tables = [_table(item, folder) for item in node]
    else:
        whole = _table(node, folder)
        _require(len(whole) == count * rows, "covariances of another shape")
        tables = [whole[i * rows : (i + 1) * rows] for i in range(count)]
    _require(len(tables) == count, "another number of covariances than queries")
    _require(all((len(t), len(t[0])) == (rows, columns) for t in tables), "covariances of another shape")
    return tables


# -- regions of queries

# The deviation at many queries at once, one per row, in doubles.
_Deviations = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def _in_doubles(
    keys: Table, values: Table, U: Table, scale: _Scale, limit: Callable[[Vector], list[mpf]], norm: str
) -> _Deviations:
    """T - T_inf in doubles; an affine T_inf is read off at 0 and along the axes."""
    width = len(U[0])
    with mp.workdps(40):
        offset = limit([Fraction(0)] * width)
        columns = [[x - o for x, o in zip(limit(_axis(j, width)), offset, strict=True)] for j in range(width)]
        for probe in _probes(width):
            affine = [o + _inner(probe, row) for o, row in zip(offset, zip(*columns, strict=True), strict=True)]
            gap = max(abs(x - y) for x, y in zip(affine, limit(probe), strict=True))
            _require(gap <= mpf(10) ** -25 * (1 + max(map(abs, affine))), "a region with a limit that is not affine")
        shift, slope = np.array([float(o) for o in offset]), np.array([[float(x) for x in c] for c in columns])
        seen = np.array(
            [[float(sum(k * u for k, u in zip(key, c, strict=True))) for c in zip(*U, strict=True)] for key in keys]
        )
        seen *= float(_root(scale))
    outputs = np.array([[float(v) for v in value] for value in values])

    def deviations(queries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with np.errstate(all="ignore"):
            scores = queries @ seen.T
            weights = np.exp(scores - scores.max(1, keepdims=True))
            gaps = weights @ outputs / weights.sum(1, keepdims=True) - shift - queries @ slope
            sizes = np.sqrt((gaps**2).sum(1)) if norm == "l2" else np.abs(gaps).max(1)
        return np.where(np.isnan(sizes), -1.0, sizes)

    return deviations


@dataclass(frozen=True)
class _Region:
    """All queries that belong to parameters in [-1, 1]^n: `many` in doubles, `exact` in the region exactly."""

    kind: str
    size: int
    many: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
    exact: Callable[[Vector], Vector]

    def search(self, deviations: _Deviations) -> Vector:
        """The query of the largest deviation that a grid and steps from the best of it come across."""
        draw = np.random.default_rng(0)
        axis = np.linspace(-1, 1, {1: 101, 2: 25, 3: 9}.get(self.size, 3))
        points = np.array(np.meshgrid(*[axis] * min(self.size, 6))).reshape(min(self.size, 6), -1).T
        if self.size > 6:
            points = draw.uniform(-1, 1, (600, self.size))
        best = points[int(deviations(self.many(points)).argmax())]
        # From a coarse grid the way is longer: more steps in more dimensions.
        steps = (step for step in (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6) for _ in range(min(self.size, 6)))
        for step in steps:
            points = np.vstack([best, np.clip(best + step * draw.normal(size=(60, self.size)), -1, 1)])
            best = points[int(deviations(self.many(points)).argmax())]
        return self.exact([Fraction(float(x)) for x in best])

    def middle(self) -> Vector:
        return self.exact([Fraction(0)] * self.size)


def _region(node: Any, width: int, folder: Path) -> _Region:
    kind = _mapping(node, "region").get("kind")
    if kind == "ball":
        _record(node, "region", {"kind", "centre", "radius"})
        centre, radius = _point(node["centre"], folder), _number(node["radius"])
        _require(len(centre) == width and radius >= 0, "a ball of another dimension, or of a negative radius")

        def in_ball(z: Vector) -> Vector:
            return [c + radius * x for c, x in zip(centre, _into_ball(z), strict=True)]

        def in_balls(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return _doubles(centre) + float(radius) * z / np.maximum(1, np.sqrt((z**2).sum(1, keepdims=True)))

        return _Region(kind, width, in_balls, in_ball)
    if kind == "box":
        _record(node, "region", {"kind", "lower", "upper"})
        lower, upper = _point(node["lower"], folder), _point(node["upper"], folder)
        _require(len(lower) == len(upper) == width, "a box of another dimension")
        _require(all(a <= b for a, b in zip(lower, upper, strict=True)), "an interval that is empty")

        def in_box(z: Vector) -> Vector:
            return [a + (b - a) * (x + 1) / 2 for a, b, x in zip(lower, upper, z, strict=True)]

        def in_boxes(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return _doubles(lower) + _doubles([b - a for a, b in zip(lower, upper, strict=True)]) * (z + 1) / 2

        return _Region(kind, width, in_boxes, in_box)
    _require(kind == "hull", f"the region {kind!r}")
    _record(node, "region", {"kind", "points"})
    points = _table(node["points"], folder)
    _require(len(points[0]) == width, "points of another dimension")

    def in_hulls(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        weights = z + 1
        total = weights.sum(1, keepdims=True)
        weights = np.where(total > 0, weights, np.eye(len(points))[0]) / np.where(total > 0, total, 1)
        return weights @ np.array([_doubles(point) for point in points])

    return _Region("hull", len(points), in_hulls, lambda z: _combined(points, z))


def _doubles(entries: Vector) -> np.ndarray[Any, Any]:
    return np.array([float(entry) for entry in entries])


def _into_ball(z: Vector) -> Vector:
    """z if |z| <= 1, else about z/|z|, and a little less."""
    square = sum((x * x for x in z), Fraction(0))
    if square <= 1:
        return z
    return [x / Fraction(isqrt(int(square * 10**30)) + 1, 10**15) for x in z]


def _combined(points: Table, z: Vector) -> Vector:
    weights = [x + 1 for x in z]
    total = sum(weights, Fraction(0))
    if total == 0:
        return points[0]
    return [
        sum((w * p for w, p in zip(weights, column, strict=True)), Fraction(0)) / total
        for column in zip(*points, strict=True)
    ]


def _point(node: Any, folder: Path) -> Vector:
    """A vector, or one row of a two-dimensional array."""
    if isinstance(node, dict) and isinstance(node.get("shape"), list) and len(node["shape"]) == 2:
        rows = _table(node, folder)
        _require(len(rows) == 1, "a point that is several rows")
        return rows[0]
    return _vector(node, folder)


def _deviation_witness(witness: Any, region: _Region | None, folder: Path) -> None:
    """What a witness may say; none of it is used."""
    more = {"weights"} if region is not None and region.kind == "hull" else {"query"}
    _bits(witness, {"cells"} | more if region is not None else set())
    if region is None:
        return
    if "query" in witness or "weights" in witness:
        given = _point(witness["query"], folder) if "query" in witness else _vector(witness["weights"], folder)
        _require(len(given) == region.size, "a witness of another dimension")
    if "cells" in witness:
        _require(isinstance(witness["cells"], str), "cells")
        _require(_cells(witness["cells"].split(" "), region) == [], "cells that go on after the last one")


def _cells(words: list[str], region: _Region) -> list[str]:
    """The words that are left after a tree of bisections."""
    _require(words != [], "cells that end too early")
    word, *rest = words
    if word == ".":
        return rest
    ends = word.split("-")
    _require(all(re.fullmatch(_NATURAL, end, re.ASCII) and int(end) < region.size for end in ends), f"the cut {word}")
    _require(len({int(end) for end in ends}) == len(ends) == (2 if region.kind == "hull" else 1), f"the cut {word}")
    return _cells(_cells(rest, region), region)


def _limit(
    given: Any,
    keys: Table,
    values: Table,
    weights: tuple[Table, Table | None],
    outputs: int,
    scale: _Scale,
    folder: Path,
) -> Callable[[Vector], list[mpf]]:
    """T_inf as a function of the stated query."""
    U, V = weights
    kind = _mapping(given, "limit").get("kind")
    if kind == "empirical":
        _record(given, "limit", {"kind"})
        count = len(keys)
        mean = [sum(column) / count for column in zip(*values, strict=True)]
        centre = [sum(column) / count for column in zip(*keys, strict=True)]
        # Cov(v, k) = mean of v k' minus the product of the means.
        joint = [
            [
                sum(v[i] * k[j] for v, k in zip(values, keys, strict=True)) / count - mean[i] * centre[j]
                for j in range(len(centre))
            ]
            for i in range(outputs)
        ]
        return lambda z: [
            _real(m) + _root(scale) * _real(t) for m, t in zip(mean, _times(joint, _times(U, z)), strict=True)
        ]
    if kind == "affine":
        _record(given, "limit", {"kind", "matrix", "offset"}, {"scale"})
        matrix, offset, own = _table(given["matrix"], folder), _vector(given["offset"], folder), _scale(given)
        _require((len(matrix), len(matrix[0]), len(offset)) == (outputs, len(U[0]), outputs), "limit of another shape")
        return lambda z: [_real(o) + _root(own) * _real(t) for o, t in zip(offset, _times(matrix, z), strict=True)]
    if kind == "law":
        _record(given, "limit", {"kind", "law"})
        law = _law(given["law"], folder)
        d = len(keys[0])
        _require(law.dimension == (d if V is not None else d + outputs), "a law of another dimension")

        def attention(z: Vector) -> list[mpf]:
            tilt = [_root(scale) * _real(t) for t in _times(U, z)]
            if V is not None:
                mean = law.tilted_mean(tilt)
                return [_inner(row, mean) for row in V]
            # The law of key and value side by side: the tilt acts on the key, the value is read.
            return law.tilted_mean([*tilt, *[mpf(0)] * outputs])[d:]

        return attention
    raise NotAStatement(f"the limit {kind!r}")


def _weights(given: Mapping[str, Any], dimension: int, folder: Path) -> tuple[Table, Table]:
    """U = K'Q (d x d_z) and V (d_v x d); what is left out is the identity."""
    V = _table(given["V"], folder) if "V" in given else _identity(dimension)
    _require(len(V[0]) == dimension, "V of another width")
    if "U" in given:
        U = _table(given["U"], folder)
        _require(len(U) == dimension, "U of another height")
        return U, V
    K = _table(given["K"], folder) if "K" in given else _identity(dimension)
    _require(len(K[0]) == dimension, "K of another width")
    Q = _table(given["Q"], folder) if "Q" in given else _identity(len(K))
    _require(len(Q) == len(K), "Q of another height")
    U = [
        [sum(k * q for k, q in zip(kc, qc, strict=True)) for qc in zip(*Q, strict=True)] for kc in zip(*K, strict=True)
    ]
    return U, V


# -- laws: E e^{<a,x>} and E x e^{<a,x>}, from the definitions


class _Law:
    dimension: int

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        raise NotImplementedError

    def tilted_mean(self, tilt: Sequence[mpf]) -> list[mpf]:
        mass, first = self.moments(tilt)
        return [entry / mass for entry in first]


@dataclass(frozen=True)
class _Gaussian(_Law):
    """E e^{<a,x>} = e^{<a,m> + a'Sa/2} by completing the square, which moves the mean to m + Sa."""

    mean: Vector
    covariance: Table

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.mean)

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        moved = [_inner(row, tilt) for row in self.covariance]
        mass = mp.exp(_inner(self.mean, tilt) + mp.fsum(a * c for a, c in zip(tilt, moved, strict=True)) / 2)
        return mass, [mass * (_real(m) + c) for m, c in zip(self.mean, moved, strict=True)]


@dataclass(frozen=True)
class _Points(_Law):
    """Finitely many points with weights."""

    points: Table
    weights: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.points[0])

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        shares = [_real(w) * mp.exp(_inner(point, tilt)) for w, point in zip(self.weights, self.points, strict=True)]
        return mp.fsum(shares), [_inner(column, shares) for column in zip(*self.points, strict=True)]


@dataclass(frozen=True)
class _Independent(_Law):
    """Independent coordinates of the sizes c: the averages of e^{ax} and x e^{ax}, one coordinate at a time."""

    sizes: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.sizes)

    def averages(self, c: mpf, a: mpf) -> tuple[mpf, mpf]:
        raise NotImplementedError

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        pairs = [self.averages(_real(c), a) for c, a in zip(self.sizes, tilt, strict=True)]
        mass = mp.fprod(zeroth for zeroth, _ in pairs)
        return mass, [mass * first / zeroth for zeroth, first in pairs]


class _Signs(_Independent):
    """Two points, c and -c."""

    def averages(self, c: mpf, a: mpf) -> tuple[mpf, mpf]:
        up, down = mp.exp(c * a), mp.exp(-c * a)
        return (up + down) / 2, c * (up - down) / 2


class _Box(_Independent):
    """Uniform on [-c, c]."""

    def averages(self, c: mpf, a: mpf) -> tuple[mpf, mpf]:
        return _interval(c, a)


def _interval(c: mpf, a: mpf) -> tuple[mpf, mpf]:
    """The averages of e^{ax} and of x e^{ax} over [-c, c]."""
    t = c * a
    if abs(t) > 2:
        up, down = mp.exp(t), mp.exp(-t)
        return (up - down) / (2 * t), c * ((up + down) / (2 * t) - (up - down) / (2 * t * t))
    # Power series of both integrals, term by term: nothing cancels.
    zeroth = first = mpf(0)
    power = mpf(1)  # t^k / k!
    for k in range(4 * mp.dps):
        if k % 2 == 0:
            zeroth += power / (k + 1)
        else:
            first += power / (k + 2)
        power *= t / (k + 1)
    return zeroth, c * first


@dataclass(frozen=True)
class _Mixture(_Law):
    parts: list[_Law]
    weights: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.parts[0].dimension

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        found = [part.moments(tilt) for part in self.parts]
        mass = mp.fsum(_real(w) * m for w, (m, _) in zip(self.weights, found, strict=True))
        firsts = zip(*(first for _, first in found), strict=True)
        return mass, [mp.fsum(_real(w) * f for w, f in zip(self.weights, column, strict=True)) for column in firsts]


def _law(node: Any, folder: Path) -> _Law:
    kind = _mapping(node, "a law").get("kind")
    if kind == "gaussian":
        return _gaussian({key: item for key, item in node.items() if key != "kind"}, folder, "a Gaussian")
    if kind in ("rademacher", "box"):
        _record(node, "a law", {"kind", "sizes"})
        sizes = _vector(node["sizes"], folder)
        _require(min(sizes) >= 0, "a negative size")
        return _Box(sizes) if kind == "box" else _Signs(sizes)
    if kind == "atoms":
        _record(node, "a law", {"kind", "points"}, {"weights"})
        points = _table(node["points"], folder)
        _require("weights" not in node or isinstance(node["weights"], list), "weights must be written out")
        weights = _vector(node["weights"], folder) if "weights" in node else [Fraction(1, len(points))] * len(points)
        _require(len(weights) == len(points), "another number of weights than atoms")
        _probabilities(weights)
        return _Points(points, weights)
    if kind == "mixture":
        _record(node, "a law", {"kind", "components"})
        components = node["components"]
        _require(isinstance(components, list) and components != [], "components must be a list")
        for component in components:
            _record(component, "a component", {"weight", "law"})
        parts = [_law(component["law"], folder) for component in components]
        _require(len({part.dimension for part in parts}) == 1, "components of different dimensions")
        weights = [_number(component["weight"]) for component in components]
        _probabilities(weights)
        return _Mixture(parts, weights)
    raise NotAStatement(f"the law {kind!r}")


def _gaussian(node: Any, folder: Path, what: str) -> _Gaussian:
    _record(node, what, {"mean", "covariance"})
    mean, covariance = _vector(node["mean"], folder), _table(node["covariance"], folder)
    _require((len(covariance), len(covariance[0])) == (len(mean), len(mean)), "a covariance of another shape")
    _require(
        covariance == [list(column) for column in zip(*covariance, strict=True)], "a covariance that is not symmetric"
    )
    _require(_is_semidefinite(covariance), "a covariance with a negative eigenvalue")
    return _Gaussian(mean, covariance)


def _is_semidefinite(matrix: Table) -> bool:
    """By elimination: every pivot is positive, or 0 with a row of zeros."""
    rest = [list(row) for row in matrix]
    while rest:
        pivot, *head = rest[0]
        if pivot < 0 or (pivot == 0 and any(head)):
            return False
        below = [row[1:] for row in rest[1:]]
        if pivot > 0:
            below = [[x - head[i] * y / pivot for x, y in zip(row, head, strict=True)] for i, row in enumerate(below)]
        rest = below
    return True


def _probabilities(weights: Vector) -> None:
    _require(min(weights) > 0 and sum(weights) == 1, "weights that are no probabilities")


# -- reading


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise NotAStatement(what)


def _mapping(node: Any, what: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise NotAStatement(f"{what} must be a mapping")
    return node


def _record(node: Any, what: str, required: set[str], optional: Iterable[str] = ()) -> None:
    keys = set(_mapping(node, what))
    _require(required <= keys <= required | set(optional), f"{what} with the keys {sorted(keys)}")


_NATURAL = "(?:0|[1-9][0-9]*)"
_DECIMAL = re.compile(rf"(-?{_NATURAL})(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", re.ASCII)
_FRACTION = re.compile(rf"(-?{_NATURAL})/({_NATURAL})", re.ASCII)
_HEX = re.compile(r"(-?)0x([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?p([+-]?[0-9]+)", re.ASCII)


def _number(text: Any) -> Fraction:
    """An integer, p/q, a decimal or a hex float, exactly."""
    _require(isinstance(text, str), "a number must be a scalar")
    if match := _FRACTION.fullmatch(text):
        _require(match[2] != "0", "a division by 0")
        return Fraction(int(match[1]), int(match[2]))
    if _DECIMAL.fullmatch(text):
        return Fraction(text)
    if match := _HEX.fullmatch(text):
        places = len(match[3] or "")
        return Fraction(int(match[1] + match[2] + (match[3] or ""), 16)) * Fraction(2) ** (int(match[4]) - 4 * places)
    raise NotAStatement(f"the number {text[:40]!r}")


@dataclass(frozen=True)
class _Scale:
    """A rational, or the root of one."""

    value: Fraction
    is_root: bool


def _scale(given: Mapping[str, Any]) -> _Scale:
    text = given.get("scale", "1")
    _require(isinstance(text, str), "a scale must be a scalar")
    match = re.fullmatch(r"(1/)?sqrt\(([^()]*)\)", text, re.ASCII)
    if match is None:
        value = _number(text)
        _require(value != 0, "a scale of 0")
        return _Scale(value, False)
    radicand = _number(match[2])
    _require(radicand > 0, "a root of what is not positive")
    radicand = 1 / radicand if match[1] else radicand
    p, q = isqrt(radicand.numerator), isqrt(radicand.denominator)
    if p * p == radicand.numerator and q * q == radicand.denominator:
        return _Scale(Fraction(p, q), False)
    return _Scale(radicand, True)


def _root(scale: _Scale) -> mpf:
    return mp.sqrt(_real(scale.value)) if scale.is_root else _real(scale.value)


def _vector(node: Any, folder: Path) -> Vector:
    if isinstance(node, dict):
        array = _array(node, folder, 1)
        return [Fraction(x) for x in array.tolist()]
    _require(isinstance(node, list) and node != [], "a vector must be a list")
    return [_number(entry) for entry in node]


def _table(node: Any, folder: Path) -> Table:
    if isinstance(node, dict):
        return [[Fraction(x) for x in row] for row in _array(node, folder, 2).tolist()]
    _require(isinstance(node, list) and node != [], "a matrix must be a list of rows")
    for row in node:
        _require(isinstance(row, list) and row != [] and len(row) == len(node[0]), "rows of different lengths")
    return [[_number(entry) for entry in row] for row in node]


def _array(node: dict[str, Any], folder: Path, dimensions: int) -> np.ndarray[Any, Any]:
    """An array of a .npy or .npz file; float64 and integers become Fractions exactly."""
    _record(node, "a reference", {"file", "sha256", "dtype", "shape"}, {"array", "rows"})
    shape = node["shape"]
    _require(isinstance(shape, list) and len(shape) == dimensions, "the shape")
    _require(all(isinstance(n, str) and re.fullmatch("[1-9][0-9]*", n) for n in shape), "the shape")
    name = node["file"]
    _require(isinstance(name, str) and name.endswith((".npy", ".npz")), "the file")
    path = folder / name
    _require(path.resolve().is_relative_to(folder.resolve()) and path.is_file(), "no such file")
    _require(hashlib.sha256(path.read_bytes()).hexdigest() == node["sha256"], "another sha256")
    try:
        loaded = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise NotAStatement(str(error)) from None
    if name.endswith(".npz"):
        _require(node.get("array") in loaded.files, "no such array")
        loaded = loaded[node["array"]]
    else:
        _require("array" not in node, "a .npy file holds one array")
    _require(str(loaded.dtype) == node["dtype"], "another dtype")
    _require([str(n) for n in loaded.shape] == shape, "another shape")
    if "rows" in node:
        match = re.fullmatch(f"({_NATURAL}):([1-9][0-9]*)", str(node["rows"]), re.ASCII)
        _require(match is not None, "the rows")
        assert match is not None
        _require(int(match[1]) < int(match[2]) <= len(loaded), "the rows")
        loaded = loaded[int(match[1]) : int(match[2])]
    wide = loaded.astype(np.float64) if loaded.dtype.kind == "f" else loaded
    _require(bool(np.isfinite(wide).all()), "numbers that are not finite")
    return wide


# -- small linear algebra


def _real(value: Fraction) -> mpf:
    return mpf(value.numerator) / mpf(value.denominator)


def _times(matrix: Table, vector: Vector) -> Vector:
    return [sum((x * y for x, y in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]


def _inner(exact: Sequence[Fraction], reals: Sequence[mpf]) -> mpf:
    return mp.fsum(_real(x) * y for x, y in zip(exact, reals, strict=True))


def _identity(size: int) -> Table:
    return [_axis(i, size) for i in range(size)]


def _axis(index: int, size: int) -> Vector:
    return [Fraction(int(i == index)) for i in range(size)]


def _probes(width: int) -> list[Vector]:
    """Queries in general position, and the axes: an affine map that is right at these is right."""
    general = [[Fraction((7 * i + 3 * k) % 11 - 5, 2 + (i + k) % 3) for i in range(width)] for k in range(3)]
    return [[Fraction(0)] * width, *(_axis(j, width) for j in range(width)), *general]


def _shown(z: Vector) -> str:
    return f"({', '.join(map(str, z))})"
