"""`selection-direction` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.theorems.selection.direction_bounds import ANGLES, GAPS, NORMS, WEIGHTS, StatedBound
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    GROWTH,
    LATERAL,
    LINEAR,
    LOGARITHM,
    NUMERATOR,
    OFFSET,
    RATE,
    SLOPE,
    SQUARE,
)
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED, Rule
from certattn.kernel.theorems.selection.selection_direction import (
    CONE_FIELD,
    LOWER,
    NORM,
    OPENING,
    START,
    UPPER,
    DescentProblem,
    obligations,
)
from certattn.kernel.theorems.selection.stated_tokens import StatedTokens
from certattn.statements.digits import show_upper
from certattn.statements.selection.stated_tokens import Trained, kkt_sentences, point_words, token_words
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
    "tube.pull": "the most that y' is pushed away, against rho",
    "rate": "a bound on 1 - cos angle for all later steps",
    "rate.exceeded": "the most by which an angle is proved to exceed the rate, at some steps",
    "rate.numerator": "A >= the numerator of the rate proved",
    "rate.lateral": "A >= Xi (|q| + E), or Xi (|q| + nu + |y'|), or without Xi for normalised steps",
    "rate.square": "S >= Xi^2 (B^2 - 2 kappa (x_0 - E_u) / Xi)",
    "rate.growth": "G >= 2 kappa",
    "rate.offset": "B <= the offset proved at k0",
    "rate.slope": "C <= the slope proved",
}


def statement(problem: DescentProblem) -> Statement:
    indices = ", ".join(map(str, problem.selection.indices))
    time = "k" if problem.rule.discrete else "t"
    trained = Trained(problem.stated.variable)
    x, norm, solution = trained.variable, trained.norm, trained.solution
    start, now = start_words(problem.stated), f"{x}({time})"
    words = [
        f"{descent_words(problem)}, from "
        f"{start} has {norm(now)} -> infinity and {now}/{norm(now)} -> {solution}/{norm(solution)}, where {solution} "
        f"is the {'matrix' if trained.is_matrix else 'point'} of least norm with {trained.product('k_ia - k_it')} >= 1 "
        f"for the chosen tokens a = ({indices}) and all other t of input i"
    ]
    latex = [rf"\|{x}_k\| \to \infty,\quad {x}_k / \|{x}_k\| \to {x}_{{mm}} / \|{x}_{{mm}}\|"]
    asserts = problem.asserts
    if problem.limit is not None:
        words.append(f"{solution} = {point_words(problem.limit, problem.stated.shape)}")
    for stated in problem.bounds:
        when = f"for all {time} >=" if stated.ever else f"at {time} ="
        words.append(
            f"{_quantity(stated, now, trained)} {stated.relation} {describe(stated.bound)} {when} {describe(stated.at)}"
        )
    if RATE in asserts:
        form, rate = asserts[RATE]
        angle = f"1 - cos angle({now}, {solution})"
        words.append(f"{angle} <= {_rate(form, rate, time)} for all {time} >= {describe(rate[FROM])}")
        first = first_of_rate(form, rate)
        words += [f"that is below 1, a right angle, for all {time} >= {first}"] if first else []
    shown = {(bound.kind, bound.relation) for bound in problem.bounds}
    shown |= {(ANGLES.name, "<=")} if RATE in asserts else set()
    for kind, (quantity, least, most) in _FORMULAS.items():
        ends = {">=": rf"{quantity} \ge {least}", "<=": rf"{quantity} \le {most}"}
        latex += [formula.replace("x", x) for relation, formula in ends.items() if (kind, relation) in shown]
    return Statement("; ".join(words) + trained.angles + ".", r",\qquad ".join(latex))


def descent_words(problem: DescentProblem) -> str:
    """The tokens, the rule and the loss, without the start."""
    trained = Trained(problem.stated.variable)
    return (
        f"For {token_words(problem.stated)}, {_rule_words(problem.rule, trained)} on L({trained.variable}) = (1/n) "
        f"sum_i l(sum_t gamma_it s_it), s_i the softmax of {trained.product('k_it')} over t, with {_loss(problem.loss)}"
    )


# Of x(k), which is p(k) or W(k), with the names of bounds from below and from above.
_FORMULAS = {
    ANGLES.name: (r"1 - \cos \angle(x_k, x_{mm})", "a_k", "b_k"),
    WEIGHTS.name: (r"\min_i s_{i \alpha_i}(x_k)", "s_k", "S_k"),
    GAPS.name: (r"L(x_k) - L_\alpha", "d_k", "l_k"),
    NORMS.name: (r"\|x_k\|", "r_k", "R_k"),
}


def _quantity(bound: StatedBound, now: str, trained: Trained) -> str:
    """What is bounded of p(k)."""
    return {
        ANGLES.name: f"1 - cos angle({now}, {trained.solution})",
        WEIGHTS.name: f"the least softmax weight s_ia of a chosen token at {now}",
        GAPS.name: f"L({now}) - (1/n) sum_i l(gamma_ia)",
        NORMS.name: trained.norm(now),
    }[bound.kind]


def sentence(problem: DescentProblem, name: str) -> str:
    trained = Trained(problem.stated.variable)
    for bound in problem.bounds:
        if name.split(".")[0] == bound.name:
            return _bound_words(problem, bound, name, trained)
    return f"the theorem {name!r}" if name == problem.theorem.name else trained.said(CONDITIONS[name])


def _bound_words(problem: DescentProblem, bound: StatedBound, name: str, trained: Trained) -> str:
    """What is compared: the quantity, of one step or of several, or what a theorem says of it."""
    at, x, time = describe(bound.at), trained.variable, "k" if problem.rule.discrete else "t"
    if not bound.ever:
        of = _quantity(bound, f"{x}({at})", trained)
        return of if problem.is_direct(bound) else f"the bound on {of}"
    of = _quantity(bound, f"{x}({time})", trained)
    if name.endswith(".enclosed"):
        extreme = "largest" if bound.relation == "<=" else "smallest"
        return f"the {extreme} value of {of} for {at} <= k < {problem.steps}"
    return f"the bound on {of} for all {time} >= {describe(max(bound.at, problem.enclosed))}"


def findings(problem: DescentProblem, answers: Sequence[Answer]) -> list[str]:
    if any(o.outcome is Outcome.UNDECIDED for o in answers):
        if problem.leaps is not None:
            leaps = describe(problem.leaps)
            return [f"leaps = {leaps} leave enclosures so wide, whatever the precision: state smaller leaps, or none"]
        if problem.start.box is not None and problem.start.box[0] != problem.start.box[1]:
            remedy = "state a smaller box, or fewer steps"
            return [f"the box of starts leaves enclosures so wide, whatever the precision: {remedy}"]
    proved = {o.name for o in answers if o.outcome is Outcome.PROVED}
    if not proved.issuperset(o.name for o in obligations(problem)):
        return []
    solution = point_words(problem.solution.solution, problem.stated.shape)
    name = Trained(problem.stated.variable).solution
    place = f"{'step' if problem.rule.discrete else 'time'} {describe(problem.enclosed)}"
    return [f"{name} = {solution}, by the theorem {problem.theorem.name!r} at {place}"]


def _rule_words(rule: Rule, trained: Trained) -> str:
    """With the step."""
    x = trained.variable
    if rule.step is None:
        return f"the gradient flow d{x}/dt = -grad L({x})"
    slope = f"grad L({x}(k))"
    if rule.kind == NORMALISED:
        way = f"s {slope}/{trained.norm(slope)}"
        return f"normalised descent {x}(k+1) = {x}(k) - {way} with s = {describe(rule.step)}"
    return f"gradient descent {x}(k+1) = {x}(k) - eta {slope} with eta = {describe(rule.step)}"


def start_words(tokens: StatedTokens) -> str:
    """Every number of the start, or its file."""
    stated: MatrixInput | Values | None = tokens.given[START]
    trained = Trained(tokens.variable)
    first = f"{trained.variable}(0)"
    if stated is None:
        return f"every {first}"
    if isinstance(stated, MatrixInput):
        return f"{first} = {stated.words()}"
    if CONE_FIELD in stated:
        opening, norm = (describe(stated[CONE_FIELD][field]) for field in (OPENING, NORM))
        angle = f"cos angle({first}, {trained.solution}) >= 1 - {opening}"
        return f"every {first} with {angle} and {trained.norm(first)} >= {norm}"
    return f"every {first} between {stated[LOWER].words()} and {stated[UPPER].words()}"


def _rate(form: str, stated: Values, k: str) -> str:
    """The formula with its numbers; k is "k" or "t"."""
    since = k if stated[FROM] == 0 else f"({k} - {describe(stated[FROM])})"
    argument = _sum(stated[OFFSET], stated[SLOPE], since)
    if form == LOGARITHM:
        return f"{describe(stated[NUMERATOR])} / log({argument})"
    numerator = describe(stated[LATERAL])
    if form == LINEAR:
        return f"({numerator} / ({argument}))^2 / 2"
    if stated[SQUARE] != 0 or stated[GROWTH] != 0:
        numerator = f"({numerator} + sqrt({_sum(stated[SQUARE], stated[GROWTH], 'l')}))"
    return f"({numerator} / l)^2 / 2 with l = log({argument})"


# First steps are shown exactly up to here, and with so many digits beyond.
_EXACT, _RATE_DIGITS, _RATE_BITS = fmpq(10) ** 15, 3, 256


def first_of_rate(form: str, stated: Values) -> str:
    """From which step (or time) on a rate is proved to be below 1, rounded upwards; "" for one beyond all numbers.

    A / l < 1 where l > A. And ((A + sqrt(S + G l)) / l)^2 < 2 where l is above the larger root of
    2 l^2 - (2 sqrt(2) A + G) l + A^2 - S. Both fall as l = log(B + C (k - k0)) grows. Without a logarithm,
    (A / (B + C (k - k0)))^2 < 2 where the denominator is above A / sqrt(2).
    """
    with working_precision(_RATE_BITS):
        if form == LINEAR:
            argument = stated[LATERAL] / arb(2).sqrt()
        elif form == LOGARITHM:
            argument = arb(stated[NUMERATOR]).exp()
        else:
            linear = 2 * arb(2).sqrt() * stated[LATERAL] + stated[GROWTH]
            constant = stated[LATERAL] ** 2 - stated[SQUARE]
            argument = ((linear + (linear * linear - 8 * constant).nonnegative_part().sqrt()) / 4).exp()
        later = (argument - stated[OFFSET]) / stated[SLOPE]
        if (later < 0) is True:
            return describe(stated[FROM])
        first = (stated[FROM] + later).upper()
        if first.is_finite() is not True:
            return ""
        if (first < _EXACT) is True:
            # Strictly below: at the next whole number after the point where the rate is 1.
            before = first.floor().unique_fmpz()
            assert before is not None
            return str(before + 1)
        shown = show_upper(first, _RATE_DIGITS)
        if not shown.isdigit():
            return shown
        digits = shown.rstrip("0")
        return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{len(shown) - 1}"


def _sum(constant: Real, factor: Real, variable: str) -> str:
    """constant + factor variable, without what is 0."""
    shown = [describe(constant)] if constant != 0 else []
    shown += [f"{describe(factor)} {variable}"] if factor != 0 else []
    return " + ".join(shown) or "0"


def _loss(loss: Loss) -> str:
    formulas = {"linear": "-x", "logistic": "log(1 + e^-x)", "exponential": "e^-x"}
    return f"the {loss.name} loss l(x) = {formulas[loss.name]}"


WORDING = Wording[DescentProblem](statement, sentence, findings)
