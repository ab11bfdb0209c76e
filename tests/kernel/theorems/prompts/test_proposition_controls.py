"""The cases of the propositions and of `typical-prompt` notice broken kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpus import Cases
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed, true

from certattn.kernel.decide import proof
from certattn.kernel.decide.obligation import Obligation, Relation
from certattn.kernel.decide.proof import Outcome
from certattn.kernel.mathematics import every_length
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts import every_law, output_tail, propositions, typical_prompt
from certattn.kernel.theorems.prompts.mathematics import class_bounds, class_errors, geometric_mean, over_queries
from certattn.kernel.theorems.prompts.mathematics.over_queries import TokenBox, WeightedQueries, constant
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt

proposition_cases = Cases("proposition_cases")
class_cases = Cases("class_cases")
typical_cases = Cases("typical_cases")

# -- sabotaged kernels


def unweighted(S: Any, W: Any, rate: fmpq) -> WeightedQueries:
    return WeightedQueries(fmpq(1), S)


def of_small_rates(S: Any, W: Any, rate: fmpq) -> WeightedQueries | None:
    found = over_queries.weighted_queries(S, W, rate)
    return found if found is not None else WeightedQueries(fmpq(1), S)


def product_of_means(forms: Any, covariance: Any) -> fmpq:
    total = fmpq(1)
    for form in forms:
        total *= (form @ covariance).trace()
    return total


def without_queries(setting: Any, error: Any) -> Any:
    return constant((setting.read_out(error) @ setting.covariance @ setting.read_out(error).T).trace())


def as_if_exact(setting: Any, error: Any, word: str) -> Obligation:
    length = setting.values[propositions.LENGTH]
    left = propositions.left_side(setting, error, length)
    relation: Relation = "<" if word == "fails" else ">="
    return Obligation("published", lambda: propositions.right_side(setting, error), relation, left)


def one_length(self: Any, bound: Any, lengths: Any) -> arb:
    last = list(lengths)[-1:]
    return WORST(self, bound, last)


WORST = propositions.Display.worst
TERMS = geometric_mean.terms
AVERAGE = propositions.logistic_average


def without(setting: Any) -> ExactMatrix:
    return ExactMatrix.zero(setting.U.columns, setting.U.columns)


PROPOSITION_SABOTAGE: dict[str, Sabotage] = {
    "every inequality holds": (proof, "decide", lambda left, relation, right: Outcome.PROVED),
    "no display fails": (propositions, "Obligation", holding("published <")),
    "every display holds": (propositions, "Obligation", holding("published >=")),
    "the bound is not compared with c1": (propositions, "Obligation", holding("steps <=", "before <=", "onwards <=")),
    "monotony is not looked at": (propositions, "Obligation", holding("monotone >=")),
    "what is unproved passes": (propositions, "NoProof", true),
    "the left side is that of many tokens": (propositions, "left_side", lambda *_: fmpq(1, 10**9)),
    "the display has no logarithm": (propositions, "display", lambda n, rho, sigma, power: sigma**6),
    "sigma is one": (propositions, "display", lambda n, rho, sigma, power: every_length.display(n, rho, arb(1), power)),
    "the display does not decay": (
        propositions, "display", lambda n, rho, sigma, power: every_length.display(n, arb(0), sigma, power)),
    "queries are not weighted": (propositions, "weighted_queries", unweighted),
    "infinite averages are finite": (propositions, "weighted_queries", of_small_rates),
    "forms are independent": (over_queries, "product_mean", product_of_means),
    "the tokens' own spread alone": (propositions, "error_polynomial", without_queries),
    "no determinant": (over_queries, "determinant", lambda matrix: fmpq(1)),
    "no peak": (every_length, "log_peak", lambda theta: arb(0)),
    "the last length is the worst": (propositions.Display, "worst", one_length),
    "the first length is the worst": (
        propositions.Display, "worst", lambda self, bound, lengths: WORST(self, bound, list(lengths)[:1])),
    "means of the logistic bound are of the tokens' own spread": (
        propositions, "logistic_average", lambda setting, error: replace(AVERAGE(setting, error), B=without(setting))),
    "scores do not vary": (
        propositions, "logistic_average", lambda setting, error: replace(AVERAGE(setting, error), N=without(setting))),
    "mixed terms are left out": (
        propositions, "_size_of_mixed", lambda left, right, total: (left.T @ left).scaled(fmpq(0))),
    "any law is sub-Gaussian": (propositions, "is_sub_gaussian", lambda law, variance: True),
    "any law is centred": (propositions, "is_centred", lambda law: True),
    "any left side is exact": (propositions, "_published", as_if_exact),
    "weights of tokens on a box are one": (TokenBox, "_second_weight", lambda self: arb(1)),
    "tokens on a box do not drift": (over_queries, "_smaller", lambda x, y: arb(0)),
    "the box has half its width": (TokenBox, "_far", lambda self: list(self.sizes)),
    "scales are one": (propositions, "scale_ball", lambda scale: arb(1)),
    "signs of V count": (propositions, "_sizes", lambda matrix: matrix),
    "short prompts have unweighted queries": (geometric_mean, "weighted_queries", unweighted),
    "limits on a box do not drift": (
        geometric_mean.UniformOnBoxes, "_drift", lambda self: ExactMatrix.zero(self.tokens.rows, self.tokens.rows)),
    "the normaliser of short prompts is 1": (
        geometric_mean, "terms", lambda share: [(share, fmpq(0), 1, (1 - 2 * share) ** 2)]),
    "limits of short prompts agree": (geometric_mean, "terms", lambda share: TERMS(share)[:1]),
}  # fmt: skip

TYPICAL_SABOTAGE: dict[str, Sabotage] = {
    "every inequality holds": (proof, "decide", lambda left, relation, right: Outcome.PROVED),
    "this prompt is not looked at": (typical_prompt, "Obligation", true),
    "random prompts are not looked at": (output_tail, "Obligation", true),
    "this prompt is the infinite one": (typical_prompt.Compared, "difference", lambda self: [arb(0)]),
    "directions are not signed": (typical_prompt, "dot", lambda u, v: abs(u[0] * v[0])),
    "there is one token": (
        typical_prompt.Compared, "random",
        lambda self: RandomPrompt(self.law, self.prompt.stated_queries, fmpq(1), self.prompt.weights, 1)),
}  # fmt: skip


def anywhere(self: Any, rate: fmpq, size: fmpq) -> list[tuple[fmpq, int]]:
    return []


def of_no_logarithm(self: Any, log_length: arb, t: fmpq, eta: fmpq) -> list[arb]:
    return [arb(1), arb(1), arb(1)]


CLASS_SABOTAGE: dict[str, Sabotage] = {
    "every inequality holds": (proof, "decide", lambda left, relation, right: Outcome.PROVED),
    "the bound is not compared with c1": (every_law, "Obligation", holding("steps <=")),
    "what is unproved passes": (every_law, "NoProof", true),
    "the last theta need not last": (every_law, "_does_not_last", lambda step, claimed: None),
    "any numbers of a step do": (every_law, "_no_bound", lambda step: None),
    "any norm is one of V": (every_law, "is_norm", lambda V, norm: True),
    "the norm of V is 0": (every_law, "squared_norm_of", lambda setting, error, norm: fmpq(0)),
    "queries are not weighted, by norms": (class_bounds.QueriesOfNorm, "factors", anywhere),
    "queries are not weighted": (class_bounds.QueriesOfMatrix, "factors", anywhere),
    "the largest error is 1": (class_errors.Mean, "always", of_no_logarithm),
    "the largest covariance is 1": (class_errors.Covariance, "always", of_no_logarithm),
    "errors vanish while the normaliser is kept": (class_errors.Mean, "kept", lambda self: [fmpq(0)]),
    "covariances are exact while the normaliser is kept": (class_errors.Covariance, "kept", lambda self: [fmpq(0)]),
    "the largest error on a ball is 0": (class_errors.OnBall, "always", lambda self, log_length, t, eta: [arb(0)]),
    "errors on a ball vanish while the normaliser is kept": (class_errors.OnBall, "kept", lambda self: [fmpq(0)]),
    "a ball has the size of sigma": (every_law.ClassSetting, "size", fmpq(1)),
    "powers of the score are left out": (
        class_bounds.Weighted, "mean", lambda self, polynomial: polynomial[0] * class_bounds._inverse_root(self.plain)),
    "the last length is the worst": (propositions.Display, "worst", one_length),
    "scales are one": (every_law.ClassSetting, "squared_scale", fmpq(1)),
    "sigma is one": (propositions, "display", lambda n, rho, sigma, power: every_length.display(n, rho, arb(1), power)),
}  # fmt: skip

test_a_sabotaged_kernel_fails = noticed(proposition_cases.CASES, PROPOSITION_SABOTAGE)
test_a_sabotaged_kernel_fails_classes = noticed(class_cases.CASES, CLASS_SABOTAGE)
test_a_sabotaged_kernel_fails_the_typical_prompt = noticed(typical_cases.CASES, TYPICAL_SABOTAGE)
