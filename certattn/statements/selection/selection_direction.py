"""`selection-direction` in words."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    GROWTH,
    LATERAL,
    LOGARITHM,
    NUMERATOR,
    OFFSET,
    RATE,
    SLOPE,
    SQUARE,
)
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED, Rule
from certattn.kernel.theorems.selection.selection_direction import (
    ANGLES,
    CONE_FIELD,
    LIMIT,
    LOWER,
    NORM,
    OPENING,
    START,
    UPPER,
    DescentProblem,
    obligations,
)
from certattn.statements.selection.stated_tokens import kkt_sentences, token_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording

_SLOPE, _GAP = "the least slope c_i = -l'(gamma_i)", "the least gap between the score of a chosen token and another"
_THRESHOLD = "the excess loss F = n (L - L_alpha) there is below the threshold a*"
_SHORT = "rho, which is below 1 where the step is short enough there"
_LOOSE = "the smallest slack <z_t, p_mm> - 1 of a token that scores no less than the chosen one"
_FACTORS, _FORWARD = "the smallest factor of theta_-", "Xi - sum kappa_t b_t r_t"
CONDITIONS = {
    **kkt_sentences("p_mm", "p_mm"),
    "limit": "limit = p_mm",
    "global.slope": _SLOPE,
    "global.optimal": _GAP,
    "global.threshold": _THRESHOLD,
    "global.step": _SHORT,
    "every-start.slope": _SLOPE,
    "every-start.optimal": _GAP,
    "every-start.scores": "the largest difference between scores of tokens of an input that were not chosen",
    "every-start.cross": "the least <z_j, z_j'> of pairs of different inputs",
    "every-start.step": "h B_F < 2",
    "every-start.threshold": _THRESHOLD,
    "every-start.later-step": _SHORT,
    "local.optimality": _LOOSE,
    "local.fractions.above": "the smallest fraction lambda_t / (delta_t Xi)",
    "local.fractions.below": "the largest fraction lambda_t / (delta_t Xi)",
    "local.inflation": "the inflation Omega",
    "local.sideways": "the sideways drift that is allowed for beforehand",
    "local.setback": "the setback E_u",
    "local.near": "the slack up to which good tokens count with the neighbours",
    "local.move.range": "the bound Delta of a step's move",
    "local.progress.range": "the progress chi",
    "local.factors": _FACTORS,
    "local.forward": _FORWARD,
    "local.move": "the longest move of a step, against its bound Delta",
    "local.progress": "the progress chi, against that of Lemma 4",
    "local.contraction": "S, against 1 - 1/Omega",
    "local.drift": "sum kappa_t b_t r_t Lambda_t, against the setback E_u",
    "cone.optimality": _LOOSE,
    "cone.slope": "the smallest b_j - tau zeta_j of a good and delta_t - tau zeta_t of a bad token",
    "cone.factors": _FACTORS,
    "cone.forward": _FORWARD,
    "cone.progress": "chi of Lemma 4",
    "cone.room": "the deviation, against (tau - tau_0) X",
    "tube.optimality": _LOOSE,
    "tube.curvature": "the smallest pivot of the neighbours' covariance less mu",
    "tube.radius": "|y'_0|, against the radius rho",
    "tube.factors": _FACTORS,
    "tube.forward": _FORWARD,
    "tube.progress": "chi of Lemma 4",
    "tube.aside": "|y''_0| and all that y'' may drift, against nu",
    "tube.pull": "push, against pull rho",
    "rate": "a bound on 1 - cos angle for all later steps",
    "rate.numerator": "A >= the numerator of the rate proved",
    "rate.lateral": "A >= Xi (|q| + E), or Xi (|q| + nu + |y'|)",
    "rate.square": "S >= Xi^2 (B^2 - 2 kappa (x_0 - E_u) / Xi)",
    "rate.growth": "G >= 2 kappa",
    "rate.offset": "B <= the offset proved at k0",
    "rate.slope": "C <= the slope proved",
}


def statement(problem: DescentProblem) -> Statement:
    indices = ", ".join(map(str, problem.selection.indices))
    time = "k" if problem.rule.discrete else "t"
    start = start_words(problem.stated.given[START])
    words = [
        f"For {token_words(problem.stated)}, {_rule_words(problem.rule)} on L(p) = (1/n) sum_i l(sum_t gamma_it s_it), "
        f"s_i the softmax of <k_it, p> over t, with {_loss(problem.loss)}, from {start} "
        f"has |p({time})| -> infinity and p({time})/|p({time})| -> p_mm/|p_mm|, where p_mm is the point of "
        f"least norm with <k_ia - k_it, p> >= 1 for the chosen tokens a = ({indices}) and all other t of input i"
    ]
    angle = f"1 - cos angle(p({time}), p_mm)"
    latex = [r"\|p_k\| \to \infty,\quad p_k / \|p_k\| \to p_{mm} / \|p_{mm}\|"]
    asserts = problem.asserts
    if LIMIT in asserts:
        words.append(f"p_mm = {asserts[LIMIT].load()}")
    for stated in problem.angles:
        words.append(f"{angle} <= {describe(stated.at_most)} at {time} = {describe(stated.at)}")
    if RATE in asserts:
        form, rate = asserts[RATE]
        words.append(f"{angle} <= {_rate(form, rate, time)} for all {time} >= {describe(rate[FROM])}")
    if ANGLES in asserts or RATE in asserts:
        latex.append(r"1 - \cos \angle(p_k, p_{mm}) \le b_k")
    return Statement("; ".join(words) + ".", r",\qquad ".join(latex))


def sentence(problem: DescentProblem, name: str) -> str:
    if name.startswith("angles["):
        angle = problem.angles[int(name[len("angles[") : -1])]
        cosine = f"1 - cos angle(p({describe(angle.at)}), p_mm)"
        return cosine if problem.is_direct(angle) else f"the bound on {cosine}"
    return f"the theorem {name!r}" if name == problem.theorem.name else CONDITIONS[name]


def findings(problem: DescentProblem, answers: Sequence[Answer]) -> list[str]:
    proved = {o.name for o in answers if o.outcome is Outcome.PROVED}
    if not proved.issuperset(o.name for o in obligations(problem)):
        return []
    return [f"p_mm = {problem.solution.solution}, by the theorem {problem.theorem.name!r} at step {problem.steps}"]


def _rule_words(rule: Rule) -> str:
    """With the step."""
    if rule.step is None:
        return "the gradient flow dp/dt = -grad L(p)"
    if rule.kind == NORMALISED:
        return f"normalised descent p(k+1) = p(k) - s grad L(p(k))/|grad L(p(k))| with s = {describe(rule.step)}"
    return f"gradient descent p(k+1) = p(k) - eta grad L(p(k)) with eta = {describe(rule.step)}"


def start_words(stated: MatrixInput | Values | None) -> str:
    """Every number of the start, or its file."""
    if stated is None:
        return "every p(0)"
    if isinstance(stated, MatrixInput):
        return f"p(0) = {stated.words()}"
    if CONE_FIELD in stated:
        opening, norm = (describe(stated[CONE_FIELD][field]) for field in (OPENING, NORM))
        return f"every p(0) with cos angle(p(0), p_mm) >= 1 - {opening} and |p(0)| >= {norm}"
    return f"every p(0) between {stated[LOWER].words()} and {stated[UPPER].words()}"


def _rate(form: str, stated: Values, k: str) -> str:
    """The formula with its numbers; k is "k" or "t"."""
    since = k if stated[FROM] == 0 else f"({k} - {describe(stated[FROM])})"
    argument = _sum(stated[OFFSET], stated[SLOPE], since)
    if form == LOGARITHM:
        return f"{describe(stated[NUMERATOR])} / log({argument})"
    numerator = describe(stated[LATERAL])
    if stated[SQUARE] != 0 or stated[GROWTH] != 0:
        numerator = f"({numerator} + sqrt({_sum(stated[SQUARE], stated[GROWTH], 'l')}))"
    return f"({numerator} / l)^2 / 2 with l = log({argument})"


def _sum(constant: Real, factor: Real, variable: str) -> str:
    """constant + factor variable, without what is 0."""
    shown = [describe(constant)] if constant != 0 else []
    shown += [f"{describe(factor)} {variable}"] if factor != 0 else []
    return " + ".join(shown) or "0"


def _loss(loss: Loss) -> str:
    formulas = {"linear": "-x", "logistic": "log(1 + e^-x)", "exponential": "e^-x"}
    return f"the {loss.name} loss l(x) = {formulas[loss.name]}"


WORDING = Wording[DescentProblem](statement, sentence, findings)
