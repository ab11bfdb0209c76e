"""The cases of four claims about attention and random prompts notice broken kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from corpus import Cases
from flint import arb, arb_mat, fmpq
from sabotage import Sabotage, noticed, true, unless

from certattn.kernel.decide import proof
from certattn.kernel.decide.obligation import Number, Range, Relation
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.schema import Count, Rational
from certattn.kernel.given import each_query, prompts, token_laws
from certattn.kernel.mathematics import (
    balls,
    capped_sums,
    exact_matrix,
    laws,
    operator,
    softmax,
    softmax_moments,
    softmax_shares,
    spectrum,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention import (
    cells,
    output_deviation,
    quadratic_forms,
    query_regions,
    softmax_mean,
    unit_sets,
)
from certattn.kernel.theorems.prompts import (
    infinite_prompt_operator,
    output_tail,
    tail_rules,
)
from certattn.kernel.theorems.prompts.mathematics import series, weighted_sums

deviation_cases = Cases("deviation_cases", "region_cases", "mask_cases")
mean_cases = Cases("mean_cases")
operator_cases = Cases("operator_cases")
tail_cases = Cases("tail_cases")

CASES = [*operator_cases.CASES, *deviation_cases.CASES]


# -- kernels with one part sabotaged


def passes(left: Any, right: Any) -> tuple[bool, bool]:
    return True, False


def everything(left: Number, relation: Relation, right: Number) -> Outcome:
    return Outcome.PROVED


def never_refuted(left: Number, relation: Relation, right: Number) -> Outcome:
    return Outcome.PROVED if DECIDE(left, relation, right) is Outcome.PROVED else Outcome.UNDECIDED


def in_doubles(left: Number, relation: Relation, right: Number) -> Outcome:
    return DECIDE(*(side if side is relation else arb(float(arb(side).mid())) for side in (left, relation, right)))


def by_the_lower_end(left: Number, relation: Relation, right: Number) -> Outcome:
    return DECIDE(*(side if side is relation else arb(side).lower() for side in (left, relation, right)))


def by_the_worst_end(ends: Range, decided: Any) -> tuple[arb, Outcome, bool]:
    return ends.worst, Outcome.PROVED, False


DECIDE: Any = proof.decide


def by_length_less_one(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    return (left.centred(left.mean_row()).T @ right).scaled(fmpq(1, max(1, left.rows - 1)))


def of_itself(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    return exact_matrix.covariance(left, left) if left.columns == right.columns else ExactMatrix.zero(*left.shape)


def linear(self: Any, tilt: Any) -> list[Any]:
    return [c * c * a for c, a in zip(self.sizes, tilt, strict=True)]


def of_the_first_component(self: Any, tilt: Any) -> Any:
    return self.components[0].tilted_mean(tilt)


def of_kept_weights(self: Any, tilt: Any) -> Any:
    return laws._average(self.weights, [law.tilted_mean(tilt) for law in self.components])


def of_equal_weights(self: Any, tilt: Any) -> list[Any]:
    return [laws.dot(tilt, y).exp() for y in self.points]


def constant(law: Any, U: ExactMatrix, V: ExactMatrix) -> tuple[ExactMatrix, ExactMatrix]:
    return ExactMatrix.zero(V.rows, U.columns), ExactMatrix.zero(1, V.rows)


def as_standard_normal(law: Any, U: ExactMatrix, V: ExactMatrix) -> tuple[ExactMatrix, ExactMatrix]:
    return V @ U, ExactMatrix.zero(1, V.rows)


def unmapped(self: Any) -> ExactMatrix:
    return ExactMatrix.identity(self.inputs[0].shape[1])


def value_of_first_token(self: Any, queries: ExactMatrix) -> list[list[arb]]:
    centred = self.values.centred(self.values.mean_row())
    return [balls.row_of_balls(centred.row(0)) for _ in range(queries.rows)]


def nothing_but_the_centre(self: Any, cell: Any, norm: str) -> Any:
    offset = balls.NORMS[norm](self.expand(cell).offset)
    return cells.CellBound(offset, offset)


def to_first_order(self: Any, cell: Any, norm: str) -> Any:
    at = self.expand(cell)
    upper = cell.unit.affine(at.offset, at.slope - at.limit_slope, norm)
    return cells.CellBound(balls.NORMS[norm](at.offset), upper)


def no_slope(self: Any, offset: Any, slopes: Any, norm: str) -> arb:
    return balls.NORMS[norm](offset)


def largest_entry(self: Any, matrix: Any) -> arb:
    return balls.linf_norm(matrix.entries())


def of_equal_scores(self: Any, query: Any) -> list[arb]:
    return [arb(1) / self.prompt.keys.rows] * self.prompt.keys.rows


def first_half(size: int, bisections: Any) -> Any:
    return cells.box_pieces(size, bisections)[:1]


def half_a_ball(self: Any, piece: Any) -> Any:
    return BALL_CELL(cells.Ball(self.centre, self.radius / 2), piece)


BALL_CELL = cells.Ball.cell

SABOTAGE: dict[str, Sabotage] = {
    "every inequality holds": (proof, "decide", everything),
    "no inequality is refuted": (proof, "decide", never_refuted),
    "inequalities in doubles": (proof, "decide", in_doubles),
    "inequalities by one end": (proof, "decide", by_the_lower_end),
    "upper bounds are not looked at": (proof._COMPARED, "<=", passes),
    "lower bounds are not looked at": (proof._COMPARED, ">=", passes),
    "values are not looked at": (infinite_prompt_operator, "linf_norm", lambda vector: arb(0)),
    "matrices are not compared": (infinite_prompt_operator, "Obligation", unless("matrix")),
    "images of Gaussian laws are not compared": (infinite_prompt_operator, "Obligation", unless("mean")),
    "what is unproved passes": (infinite_prompt_operator, "NoProof", true),
    "the verdict looks at no outcome": (proof.Proof, "verdict", lambda self, wanted: Verdict.VERIFIED),
    "scales are one": (softmax, "scale_ball", lambda scale: arb(1)),
    "scales of operators are one": (operator, "scale_ball", lambda scale: arb(1)),
    "scales are not squared": (infinite_prompt_operator, "square", lambda scale: fmpq(1)),
    "l2 is linf": (balls.NORMS, "l2", balls.linf_norm),
    "linf is l2": (balls.NORMS, "linf", balls.l2_norm),
    "linf looks at one entry": (balls.NORMS, "linf", lambda vector: abs(vector[0])),
    "the largest is the first": (output_deviation, "linf_norm", lambda values: values[0]),
    "softmax is the first token": (softmax.Prompt, "outputs_from_mean", value_of_first_token),
    "covariances by L - 1": (output_deviation, "covariance", by_length_less_one),
    "covariances of the values alone": (output_deviation, "covariance", of_itself),
    "signs are linear": (laws.Rademacher, "tilted_mean", linear),
    "boxes are signs": (laws.Box, "tilted_mean", laws.Rademacher.tilted_mean),
    "the Langevin function to first order": (laws, "langevin", lambda x: x / 3),
    "log cosh is |x|": (laws, "log_cosh", lambda x: abs(x)),
    "mixtures are their first component": (laws.Mixture, "tilted_mean", of_the_first_component),
    "mixtures keep their weights": (laws.Mixture, "tilted_mean", of_kept_weights),
    "atoms keep their weights": (laws.Atoms, "shares", lambda self, tilt: list(self.weights)),
    "atoms all weigh the same": (laws.Atoms, "shares", of_equal_weights),
    "every operator is constant": (operator, "_affine", constant),
    "no law is affine": (operator, "_affine", lambda law, U, V: None),
    "product laws are constant": (operator, "_affine_product", constant),
    "atoms are constant": (operator, "_affine_atoms", constant),
    "mixtures are Gaussian": (operator, "_affine_mixture", as_standard_normal),
    "rows always agree": (operator, "_rows_agree", lambda matrix: True),
    "rows never agree": (operator, "_rows_agree", lambda matrix: False),
    "any matrix is a covariance": (ExactMatrix, "is_positive_semidefinite", lambda self: True),
    "no matrix is a covariance": (ExactMatrix, "is_positive_semidefinite", lambda self: False),
    "any matrix is symmetric": (ExactMatrix, "is_symmetric", lambda self: True),
    "weights sum to anything": (token_laws, "_of_total_one", lambda weights, law: weights),
    "queries are not mapped": (prompts.StatedPrompt, "query_map", property(unmapped)),
    "cells are their centres": (cells.Deviation, "over", nothing_but_the_centre),
    "cells to first order": (cells.Deviation, "over", to_first_order),
    "no third order": (cells, "exp_tail", lambda t: fmpq(1, 2)),
    "far too large a rest": (cells, "exp_tail", lambda t: arb(10)),
    "weights over a cell are equal": (cells.Deviation, "_weights", of_equal_scores),
    "scales over a cell are one": (cells, "scale_ball", lambda scale: arb(1)),
    "no slope over a ball": (unit_sets.UnitBall, "affine", no_slope),
    "no slope over a cube": (unit_sets.UnitCube, "affine", no_slope),
    "no slope over a simplex": (unit_sets.UnitSimplex, "affine", no_slope),
    "cubes reach as far as balls": (unit_sets.UnitCube, "reach", unit_sets.UnitBall.reach),
    "quadratic forms over a cube by their largest entry": (unit_sets.UnitCube, "form", largest_entry),
    "boxes reach beyond the ball": (unit_sets.ClippedCube, "affine", unit_sets.UnitCube.affine),
    "quadratic forms together vanish": (quadratic_forms.QuadraticForms, "over_ball", lambda self: arb(0)),
    "half of a ball": (cells.Ball, "cell", half_a_ball),
    "the first cell of a box": (query_regions._CUT, "box", first_half),
    "every query is in the ball": (cells.Ball, "contains", lambda self, query: True),
    "every query is in the box": (cells.Box, "contains", lambda self, query: True),
    "no query is in the ball": (cells.Ball, "contains", lambda self, query: False),
    "any weights are those of a combination": (query_regions, "is_combination", lambda weights: True),
    "hulls are their first point": (cells.Hull, "at", lambda self, weights: self.points.take_rows([0])),
    "cells are not looked at": (output_deviation.AssertedDeviation, "over_cell", lambda *_: Range(arb(0), arb(0))),
    "lower bounds over a region are not looked at": (
        output_deviation.AssertedDeviation, "deviations_at", lambda *_: [arb(10**9)]),
    "what is unproved over a region passes": (proof, "_settled", by_the_worst_end),
}  # fmt: skip


def about_the_plain_mean(weights: Any, left: Any, right: Any) -> arb_mat:
    """Second moments, from which no product of means is taken."""
    total, unit = sum(weights, arb(0)), left.denominator * right.denominator
    rows = list(zip(weights, left.rows, right.rows, strict=True))
    size = left.balls.ncols() - 1, right.balls.ncols() - 1
    entries = [
        sum((w * x[a] * y[b] for w, x, y in rows), arb(0)) / (total * unit)
        for a in range(size[0])
        for b in range(size[1])
    ]
    return arb_mat(*size, entries)


def equal_weights(self: Any, queries: ExactMatrix) -> Iterator[arb_mat]:
    yield arb_mat(queries.rows, self.keys.rows, [arb(1)] * (queries.rows * self.keys.rows))


def by_weights_that_add_to_one(self: Any) -> arb:
    return (sum(self.weights, arb(0)) / len(self.weights)).log() + self.first_score


def without_the_first_score(self: Any) -> arb:
    return sum(self.weights, arb(0)).log()


def of_the_first_query(self: Any, query: int, rows: int) -> list[fmpq]:
    whole = self._loaded[0]
    return [entry for i in range(rows) for entry in whole.row(i)]


def largest_diagonal_entry(matrix: arb_mat, bits: int) -> arb:
    largest = matrix[0, 0]
    for i in range(1, matrix.nrows()):
        largest = largest.max(matrix[i, i])
    return largest


def product_over_trace(matrix: arb_mat, bits: int) -> arb:
    return matrix.det() / matrix.trace()


def in_base_two(weights: Any, gaps: Any) -> arb:
    return _ENTROPY(weights, gaps) / arb(2).log()


def of_the_first(weights: Any, count: int) -> arb:
    """As if what is said of `count` tokens were said of one."""
    return _OUTSIDE(weights, 1)


def of_the_smallest(self: Any, weights: Any) -> list[arb]:
    return [weights[token] for token in reversed(self.order)]


def with_every_weight(weights: Any, count: int) -> arb:
    return sum(weights[count:], arb(0)) / len(weights)


_ENTROPY, _OUTSIDE = softmax_shares.entropy, softmax_shares.mass_outside

# Of the claim `softmax-mean`, on whose cases they are tried.
MEAN_SABOTAGE: dict[str, Sabotage] = {
    "radii and upper bounds are not looked at": (proof._COMPARED, "<=", passes),
    "lower bounds on eigenvalues are not looked at": (proof._COMPARED, ">=", passes),
    "every softmax weight is one": (softmax.Prompt, "weights", equal_weights),
    "second moments for covariances": (softmax_moments, "weighted_covariance", about_the_plain_mean),
    "log Z of the mean": (softmax_moments.WeightedPrompt, "log_normaliser", by_weights_that_add_to_one),
    "log Z without a score": (softmax_moments.WeightedPrompt, "log_normaliser", without_the_first_score),
    "keys for values": (softmax_moments.Tokens, "values", property(lambda self: self.keys)),
    "values for keys": (softmax_moments.Tokens, "keys", property(lambda self: self.values)),
    "covariances are the first": (each_query.StatedMatrices, "entries", of_the_first_query),
    "bounds are the first": (each_query.StatedBounds, "at", lambda self, query: self.common or self.vector.entry(0, 0)),
    "means are compared in one entry": (softmax_mean, "linf_norm", lambda vector: abs(vector[0])),
    "entropies are in bits": (softmax_shares, "entropy", in_base_two),
    "entropies are those of equal weights": (softmax_shares, "entropy", lambda weights, gaps: arb(len(weights)).log()),
    "entropies without the mean score": (
        softmax_shares, "entropy", lambda weights, gaps: (sum(weights, arb(0)) / weights[0]).log()),
    "the largest weight for several": (softmax_shares, "mass_outside", of_the_first),
    "weights that do not add up to one": (softmax_shares, "mass_outside", with_every_weight),
    "the first tokens are the largest": (softmax_shares.Ranking, "in_order", lambda self, weights: list(weights)),
    "the smallest weights for the largest": (softmax_shares.Ranking, "in_order", of_the_smallest),
    "scores without their scale": (softmax_shares.Ranking, "score_gaps", lambda self: [arb(gap) for gap in self.gaps]),
    "the trace is the largest eigenvalue": (softmax_mean, "largest_eigenvalue", lambda m, bits: m.trace()),
    "the diagonal has the largest eigenvalue": (softmax_mean, "largest_eigenvalue", largest_diagonal_entry),
    "the smallest eigenvalue is 0": (softmax_mean, "smallest_eigenvalue", lambda m, bits: arb(0)),
    "the smallest eigenvalue in dimension 2": (softmax_mean, "smallest_eigenvalue", product_over_trace),
    "the shift is not taken back": (spectrum, "from_inverse", lambda largest, c: 2 / largest - c),
    "the trace ratio from above": (spectrum, "trace_ratio", lambda trace, scale, square: trace),
}  # fmt: skip


def at_the_first(whole: capped_sums.Capped, first: int, last: int) -> arb:
    return capped_sums.capped_bound(whole, first, first)


def no_more_than_the_cap(plane: Any, cap: arb, g: Any) -> Any:
    return arb(0)


def untilted(self: Any, k: int) -> Any:
    """E Y^k / k! where every moment is taken under the tilt a itself."""
    moments = series.mgf_series(self.law, self.tilt, self.direction, k)
    shift = series.linear_exponential(-(self.mean + self.eps), k)
    return (-self.log_mgf).exp() * series.product(moments, shift)[k]


def without_the_excess(self: Any) -> Any:
    return 2 * weighted_sums.Summand(self.law, self.tilt, self.direction, arb(0)).power_mean(2)


def of_one_token(summed: Any, exponent: int) -> Any:
    return list(summed)


def of_the_first_part(parts: Any, tail: Any, slope: Any, cap: Any) -> Any:
    return TOTAL(parts[:1], tail, slope, cap)


def at_the_mean(plane: Any, g: Any) -> Any:
    return TIED(plane, arb(0))


TOTAL, TIED = tail_rules._total, capped_sums.tied_summand

# Of the claim `output-tail`, on whose cases they are tried.
TAIL_SABOTAGE: dict[str, Sabotage] = {
    "probabilities are not looked at": (output_tail, "Obligation", unless("norm")),
    "every moment under one tilt": (weighted_sums.Summand, "power_mean", untilted),
    "the variance of the weighted outputs alone": (weighted_sums.Summand, "variance", without_the_excess),
    "a prompt of one token": (weighted_sums, "power", of_one_token),
    "Chernoff for one token": (tail_rules, "chernoff", lambda exponential, length: exponential),
    "no remainder": (weighted_sums, "exp_remainder", lambda order, y: arb(0)),
    "the first term of the remainder": (weighted_sums, "exp_remainder", lambda p, y: arb(1) / math.factorial(p)),
    "an output of any size in a box": (weighted_sums, "support_function", lambda part, tilt: arb(0)),
    "boxes have the moments of signs": (series, "uniform_coefficient", series.sign_coefficient),
    "signs have the moments of boxes": (series, "sign_coefficient", series.uniform_coefficient),
    "caps are never exceeded": (capped_sums, "exceeds_cap", no_more_than_the_cap),
    "caps are exceeded for nothing": (tail_rules, "capped_bound", lambda whole, first, last: whole.inside**first),
    "nothing below the cap": (tail_rules, "capped_bound", lambda whole, first, last: 1 - (1 - whole.outside) ** last),
    "one token exceeds the cap": (tail_rules, "capped_bound", lambda w, first, last: w.outside + w.inside**first),
    "the chance of a cap at the first length": (tail_rules, "capped_bound", at_the_first),
    "moments that hold for one length": (tail_rules, "moment_terms", lambda series, eps: [arb(0)]),
    "no noise of its own": (capped_sums, "exponential_below", lambda plane, asked, cap, g: arb(1) / 2),
    "a tied summand is its mean": (capped_sums, "tied_summand", at_the_mean),
    "cut at 0": (capped_sums, "cut", lambda plane, cap: capped_sums.Gap(arb(0), None)),
    "never cut": (capped_sums, "cut", lambda plane, cap: None),
    "mixtures are their first part": (tail_rules, "_total", of_the_first_part),
    "every part is bounded above": (capped_sums.Part, "is_bounded_above", property(lambda self: True)),
    "no part is bounded above": (capped_sums.Part, "is_bounded_above", property(lambda self: False)),
    "every output is constant": (tail_rules, "is_constant", lambda law, direction: True),
    "no output is constant": (tail_rules, "is_constant", lambda law, direction: False),
    "normal tails of half the width": (tail_rules, "normal_tail", lambda x: capped_sums.normal_tail(2 * x)),
    "any frame will do": (ExactMatrix, "is_positive_semidefinite", lambda self: True),
    "no frame will do": (ExactMatrix, "is_positive_semidefinite", lambda self: False),
    "any probability": (tail_rules.Probability, "read", lambda self, *at: Rational(above=0).read(*at)),
    "odd orders": (tail_rules.EvenOrder, "read", lambda self, *at: Count(2).read(*at)),
}


test_a_sabotaged_kernel_fails = noticed(CASES, SABOTAGE)
test_a_sabotaged_kernel_fails_the_means = noticed(mean_cases.CASES, MEAN_SABOTAGE)
test_a_sabotaged_kernel_fails_the_tails = noticed(tail_cases.CASES, TAIL_SABOTAGE)
