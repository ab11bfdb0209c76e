"""What is done to scores, in Arb: beside mpmath, and exactly where it can be."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.score_rules import ScoreRule

KEYS, VALUES, QUERY = [[1, 2], [-1, 0], [3, -2]], [[1], [5], [-3]], [2, -1]
DISTANCES = [4, 0, 1]
NONE = fmpq(0)
RULES = {
    "nothing": ScoreRule(None, NONE, None),
    "a cap": ScoreRule(fmpq(3, 2), NONE, None),
    "a slope": ScoreRule(None, fmpq(1, 3), None),
    "a sink": ScoreRule(None, NONE, fmpq(-1, 3)),
    "all of it": ScoreRule(fmpq(3, 2), fmpq(-1, 3), fmpq(1, 7)),
}


def exact(rows: list[list[int]]) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(x) for x in row] for row in rows])


def rational(number: fmpq) -> mpmath.mpf:
    return mpmath.mpf(int(number.p)) / int(number.q)


@pytest.mark.parametrize("name", RULES)
def test_means_and_log_normalisers_are_those_of_mpmath(name: str) -> None:
    rule = RULES[name]
    with mpmath.workprec(200), working_precision(150):
        scores = [mpmath.mpf(sum(a * b for a, b in zip(QUERY, key, strict=True))) / 4 for key in KEYS]
        if rule.cap is not None:
            scores = [rational(rule.cap) * mpmath.tanh(x / rational(rule.cap)) for x in scores]
        scores = [x - rational(rule.slope) * d for x, d in zip(scores, DISTANCES, strict=True)]
        weights, values = [mpmath.exp(x) for x in scores], [Fraction(row[0]) for row in VALUES]
        if rule.sink is not None:
            weights, values = [*weights, mpmath.exp(rational(rule.sink))], [*values, Fraction(0)]
        total = mpmath.fsum(weights)
        mean = mpmath.fsum(w * int(v) for w, v in zip(weights, values, strict=True)) / total
        found = rule.weighted(Prompt(exact(KEYS), exact(VALUES), fmpq(1, 4)), exact([QUERY]), DISTANCES)
        (off,) = found.output_off(exact([[0]]))
        for ball, number in ((off, mean), (found.log_normaliser(), mpmath.log(total))):
            assert abs(ball.mid() - arb(mpmath.nstr(number, 60))) < 1e-40
            assert ball.rad() < 1e-35


def test_equal_scores_without_a_cap_have_equal_weights() -> None:
    prompt = Prompt(exact([[1], [1], [0]]), exact([[1], [2], [3]]), fmpq(1, 3))
    found = RULES["a slope"].weighted(prompt, exact([[1]]), [2, 2, 1])
    assert found.weights[0] == found.weights[1] == 1
    assert RULES["nothing"].changes_nothing
    assert not any(rule.changes_nothing for name, rule in RULES.items() if name != "nothing")
