"""Claim `training-convergence`: training in context reaches the Bayes predictor, at a stated rate.

In-context linear regression with an infinite prompt (Boursier and Boyer 2026, section 4): Sigma positive definite,

    R(A, b) = 1/2 tr(E Sigma E'),     E = b Sigma A - I.

A certificate asserts of the gradient flow from a stated start, and from a time t0 on, that

    R(t) <= r e^(-2c (t - t0)),

or of gradient descent with a step eta, from a step k0 on, that R_k <= r (1 - 2 eta c)^(k - k0). It may assert a bound
L of the length of the path from then on, so that (A, b) is within L e^(-c (t - t0)) of its limit, or within
L (1 - 2 eta c)^((k - k0)/2); which zero of R the limit is; and bounds of R at some times.

Proof: the run is enclosed up to a time; there |A|_F^2 - b^2 and R bound b away from 0, for ever
(mathematics/regression_rates.py, docs/claims/training/training-convergence.md).
"""

from __future__ import annotations

from collections.abc import Collection

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.training_proof import TrainingProof
from certattn.kernel.theorems.training.training_runs import (
    ASSERTS,
    GIVEN,
    MOST_FLOW_STEPS,
    WITNESS,
    Problem,
    StatedLimit,
    read_problem,
)


class TrainingConvergence(Claim[Problem]):
    name = "training-convergence"
    title = "training in context converges to the Bayes predictor, at a rate"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = WITNESS

    def read(self, certificate: Certificate) -> Problem:
        return read_problem(certificate)

    def statement(self, problem: Problem) -> Statement:
        time, begins = problem.rule.time, describe(problem.begins)
        later = time if problem.begins == 0 else f"({time} - {begins})"
        if problem.rule.discrete:
            fall, half = f"(1 - 2 eta c)^{later}", f"(1 - 2 eta c)^({later}/2)"
            latex = [r"R(\theta_k) \le r\,(1 - 2 \eta c)^{k - k_0}"]
        else:
            fall, half = f"e^(-2c {later})", f"e^(-c {later})"
            latex = [r"R(\theta(t)) \le r\,e^{-2c(t - t_0)}"]
        words = [
            f"For R(A, b) = 1/2 tr(E Sigma E'), E = b Sigma A - I, with Sigma = {problem.covariance_words}, "
            f"{problem.rule.words()} from {problem.start_words} at {time} = 0 has "
            f"R <= {describe(problem.risk)} {fall} for all {time} >= {begins}, c = {describe(problem.rate)}"
        ]
        if problem.length is not None:
            length = describe(problem.length)
            words.append(
                f"its path from {time} = {begins} on is no longer than {length}, and (A, b) is within {length} {half} "
                "of its limit"
            )
        if problem.limit is not None:
            words += _limit_words(problem, problem.limit)
            latex.append(r"\theta \to (\Sigma^{-1}/b_\infty, b_\infty)")
        words += [f"R <= {describe(stated.at_most)} at {time} = {describe(stated.at)}" for stated in problem.risks]
        return Statement("; ".join(words) + ".", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = ["inside", *(["step"] if problem.rule.discrete else []), "risk", "rate"]
        names += ["length"] if problem.length is not None else []
        limit = problem.limit
        if limit is not None:
            names.append("limit.sign")
            names += ["limit.point"] if limit.point is not None else []
            names += ["limit.invariant.lower", "limit.invariant.upper"] if limit.invariant is not None else []
        return names + [f"risks[{index}]" for index in range(len(problem.risks))]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        proof = TrainingProof(problem, bits)
        if proof.given_up:
            reason = f"more than {MOST_FLOW_STEPS} steps of the flow: expected an earlier time (witness.enclosed)"
            return [unproved(name, f"the flow until t = {describe(problem.enclosed)}", reason) for name in names]
        found = proof.obligations()
        return [obligation for obligation in found if obligation.name in names]


def _limit_words(problem: Problem, limit: StatedLimit) -> list[str]:
    """Which zero of R is reached."""
    sign = ">" if limit.positive else "<"
    words = f"b {sign} 0 for all {problem.rule.time} >= {describe(problem.begins)}, and (A, b) converges to "
    if problem.rule.discrete:
        words += f"a Bayes point A = Sigma^-1/b, b {sign} 0"
    else:
        invariant = describe(problem.start.invariant())
        words += (
            f"the Bayes point A = Sigma^-1/b, b {sign} 0, b^2 = (sqrt(delta^2 + 4 tr Sigma^-2) - delta)/2, "
            f"delta = |A(0)|_F^2 - b(0)^2 = {invariant}"
        )
    found = [words]
    if limit.invariant is not None:
        lower, upper = map(describe, limit.invariant)
        found.append(f"there {lower} <= |A|_F^2 - b^2 <= {upper}")
    if limit.point is not None:
        found.append(f"this point is within {describe(limit.point[1])} of {limit.point_words} (Euclidean distance)")
    return found


CLAIM = TrainingConvergence()
