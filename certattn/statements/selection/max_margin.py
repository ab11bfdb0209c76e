"""`max-margin` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.token_selection import Pair
from certattn.kernel.theorems.selection.mathematics.margin_norms import NuclearNorm, PowerNorm
from certattn.kernel.theorems.selection.max_margin import (
    EXCESS,
    GAP,
    MARGIN,
    POINT_LABELS,
    POINTS,
    RELAXED,
    WITHIN,
    MarginProblem,
    MarginStatement,
    obligations,
)
from certattn.kernel.theorems.selection.stated_norms import NORM
from certattn.kernel.theorems.selection.stated_tokens import INDICES, StatedTokens
from certattn.statements.ranges import range_words
from certattn.statements.selection.stated_norms import least_norm_words, norm_words
from certattn.statements.selection.stated_tokens import Trained, kkt_sentences, point_words, token_words
from certattn.statements.wording import DOUBLE, Answer, Outcome, Statement, Wording, cut, show

# So many constraints are named.
_SHOWN = 16
_NEAR_ONE, _DUAL = fmpq(11, 10), "dual_norm"
_EVERY_TOKEN = "for every input i and every token t other than alpha_i"

_EXACTLY = {
    "neighbours.tight": "the largest slack of the constraints stated to be tight",
    "neighbours.others": "the smallest slack of the others",
    "support": "how many constraints are in the stated support without a multiplier, or have one and are not in it",
}
_NEARLY = {
    "direction.margin": "the smallest <z, p~> of the constraints that are not relaxed",
    "direction.relaxed": "the smallest <z, p~> of the relaxed constraints",
    "optimality.multipliers": "the smallest multiplier",
    "within": "the squared distance of p~/m from the solution, or a bound on it, against the squared radius",
    "neighbours.others": "how far the others stay from equality within the radius, as s|s| - |z|^2 radius^2",
}
_NONE = {
    "weights": "the smallest weight",
    "combination": "the largest entry of sum mu z, in size",
    "total": "the sum of weights times right sides",
}
_NORMED = {
    "direction.margin": "the smallest <z, p~> of the constraints that are not relaxed",
    "direction.relaxed": "the smallest <z, p~> of the relaxed constraints",
    "optimality.multipliers": "the smallest multiplier",
    _DUAL: "the dual norm of y = sum lambda z, against 1",
    "excess": "a bound on |p~/m| against 1 + excess times a lower bound of the least norm",
    "within": "a bound on |p~/m - p|_l against the stated one, both to the power max(l, 2)",
    "margin.at_least": "a lower bound on the margin against the stated one",
    "margin.at_most": "1, against the bound times a lower bound of the least norm",
}
_NUCLEAR = {
    _DUAL: "how many coefficients of the characteristic polynomial of I - MM' show a negative eigenvalue, "
    "M = sum lambda Z",
}
_BOUNDS = {
    "margin.at_least": "the squared margin, or a lower bound on it, against the squared bound",
    "margin.at_most": "1, against the squared bound times the squared norm, or a lower bound on it",
}


def statement(stated: MarginStatement) -> Statement:
    problem = stated.problem
    if stated.form == "none":
        parts = [f"no {problem.variable} satisfies these constraints"]
        latex = r"\textstyle\sum_j \mu_j z_j = 0, \quad \mu_j \ge 0, \quad \sum_j \mu_j r_j > 0"
    elif stated.form == "nearly":
        parts = [*_nearly(stated), *_margin(stated)]
        latex = rf"\| \tilde p / \min_j \langle z_j, \tilde p \rangle - {problem.variable} \| \le r"
    elif stated.form == "normed":
        parts = [*_normed(stated), *_margin(stated)]
        latex = _normed_latex(stated)
    else:
        parts = [*_exactly(stated), *_margin(stated)]
        latex = rf"{problem.variable} = \textstyle\sum_j \lambda_j z_j, \quad \lambda_j \ge 0"
    return Statement(f"{_problem(problem)}; {'; '.join(parts)}.", latex)


def sentence(stated: MarginStatement, name: str) -> str:
    if stated.form == "none":
        return _NONE[name]
    if stated.form == "nearly":
        return {**_NEARLY, **_BOUNDS}[name]
    if stated.form == "normed":
        return {**_NORMED, **(_NUCLEAR if isinstance(stated.norm, NuclearNorm) else {})}[name]
    variable = stated.problem.variable
    named = {**kkt_sentences("optimality", variable), "solution": f"the stated {variable}", **_EXACTLY, **_BOUNDS}
    return named[name]


def findings(stated: MarginStatement, answers: Sequence[Answer]) -> list[str]:
    """Of a solution that is proved whole; of powers, what is undecided and what may help."""
    if isinstance(stated.norm, PowerNorm) and stated.norm.exponent is not None:
        return _undecided(stated.norm.exponent, answers)
    complete = [answer.name for answer in answers] == [o.name for o in obligations(stated)]
    if stated.form != "exactly" or not complete:
        return []
    if not all(answer.outcome is Outcome.PROVED for answer in answers):
        return []
    tight, count = len(stated.solved.tight), len(stated.solved.multipliers)
    with working_precision(DOUBLE):
        margin = show(stated.solved.margin())
    kind = "no others give this point" if stated.unique else "others may give this point"
    holds = "holds" if tight == 1 else "hold"
    return [
        f"the margin is {margin}; {tight} of {counted(stated.problem.rows.rows, 'constraint')} {holds} with equality",
        f"{counted(count, 'nonzero multiplier')}: {kind}",
    ]


def _undecided(exponent: fmpq, answers: Sequence[Answer]) -> list[str]:
    """Next to l = 1 and infinity, powers of the smaller entries are far below what bits show beside the largest."""
    names = [answer.name for answer in answers if answer.outcome is Outcome.UNDECIDED]
    if not names:
        return []
    # What rests on the dual norm is undecided as well.
    name, cure = (_DUAL, "slightly smaller multipliers") if _DUAL in names else (names[0], "a weaker bound")
    cures = ["more bits (--max-bits)", cure]
    if not _NEAR_ONE < exponent < 1 / (_NEAR_ONE - 1):
        cures.append(f"l = {'1' if exponent <= 2 else 'infinity'}, whose norms are exact")
    return [f"the sides of {name} are equal as far as can be seen: try {', '.join(cures[:-1])} or {cures[-1]}"]


def _problem(problem: MarginProblem) -> str:
    """What is given."""
    given = problem.given
    if problem.tokens is None:
        points, labels = given[POINTS], given[POINT_LABELS].words()
        norm = least_norm_words(given[NORM], "v") if NORM in given else "|v|"
        return (
            f"For {counted(points.shape[0], 'point')} x_i {points.words()} with labels Y {labels}: "
            f"minimise {norm} subject to Y_i x_i'v >= 1 for every point i"
        )
    inputs = _chosen(problem, problem.tokens)
    trained = Trained(problem.variable)
    constraint = f"{trained.product('k_(i alpha_i) - k_it')} >= 1"
    norm, stated = trained.norm(problem.variable), given.get(NORM)
    norm = norm if stated is None else least_norm_words(stated, problem.variable)
    words = f"For {inputs}: minimise {norm} subject to {constraint}"
    relaxed = given.get(RELAXED)
    if relaxed is None:
        return f"{words} {_EVERY_TOKEN}"
    only = f"{'input' if len(relaxed) == 1 else 'inputs'} {', '.join(map(str, sorted(relaxed)))}"
    return f"{words} {_EVERY_TOKEN}, and only >= 0 for {only}"


def _chosen(problem: MarginProblem, tokens: StatedTokens) -> str:
    indices: list[int] = problem.given[INDICES]
    return f"{token_words(tokens)}, chosen tokens alpha = ({', '.join(map(str, indices))})"


def _exactly(stated: MarginStatement) -> list[str]:
    problem, parts = stated.problem, ["the solution is unique"]
    if stated.point is not None:
        parts.append(f"it is {problem.variable} = {point_words(stated.point, problem.shape)}")
    if stated.listed is not None:
        tight = _named(problem, sorted(stated.listed))
        parts.append(f"the constraints that hold with equality there are exactly those of {tight}")
    if GAP in stated.asserts:
        parts.append(f"every other constraint has a slack of at least {describe(stated.asserts[GAP])} there")
    if stated.support is not None:
        support = _named(problem, sorted(stated.support))
        parts.append(f"it has multipliers that are positive exactly for {support}")
    return parts


def _nearly(stated: MarginStatement) -> list[str]:
    problem, variable = stated.problem, stated.problem.variable
    assert stated.point is not None
    direction = point_words(stated.point, problem.shape)
    parts = [
        f"the solution {variable} is unique",
        f"with d = {direction} and m > 0 the smallest left side at d of the constraints >= 1, d/m satisfies all "
        f"constraints, and |d/m - {variable}| <= {describe(stated.asserts[WITHIN])}",
    ]
    if stated.listed is not None:
        among = _named(problem, sorted(stated.listed))
        parts.append(f"the constraints that hold with equality at {variable} are among those of {among}")
    if GAP in stated.asserts:
        parts.append(f"every other constraint has a slack of at least {describe(stated.asserts[GAP])} there")
    return parts


def _normed(stated: MarginStatement) -> list[str]:
    """Of a direction, where one is stated; without one the margin says that there is a least norm."""
    if stated.point is None:
        return []
    problem, asserts = stated.problem, stated.asserts
    _, size = norm_words(problem.given[NORM], problem.variable)
    near, variable = "D" if problem.variable == "W" else "d", problem.variable
    parts = [
        f"with {near} = {point_words(stated.point, problem.shape)} and m > 0 the smallest left side at {near} of the "
        f"constraints >= 1, {near}/m satisfies all constraints"
    ]
    if EXCESS in asserts:
        times = describe(1 + asserts[EXCESS])
        # What is cut off would be all that is stated.
        times = f"1 + {describe(asserts[EXCESS])}" if times.endswith("...") else times
        parts.append(f"{size(f'{near}/m')} is at most {times} times the least norm")
    if WITHIN in asserts:
        far = size(f"{near}/m - {variable}")
        parts.append(f"the solution {variable} is unique, and {far} <= {describe(asserts[WITHIN])}")
    return [f"{', '.join(parts[:-1])}, and {parts[-1]}"]


def _normed_latex(stated: MarginStatement) -> str:
    lower, variable = r"\textstyle\sum_j \lambda_j r_j", stated.problem.variable
    if not isinstance(stated.norm, PowerNorm):
        return rf"{lower} \le \min \|W\|_* \le \tfrac12 (\|K\|_F^2 + \|Q\|_F^2) / m"
    exponent = stated.norm.exponent
    sign = r"\infty" if exponent is None else str(exponent)
    return rf"{lower} \le \min \|{variable}\|_{{{sign}}} \le \|\tilde p\|_{{{sign}}} / m"


def _margin(stated: MarginStatement) -> list[str]:
    bounds, of = stated.asserts.get(MARGIN), "the least norm" if stated.form == "normed" else "its norm"
    return [f"the margin, 1 over {of}, is {range_words(bounds)}"] if bounds is not None else []


def _named(problem: MarginProblem, rows: Sequence[int]) -> str:
    """These constraints, by name where they are few."""
    pairs = isinstance(problem.constraints[0], Pair)
    kind = "(input, token)" if pairs else "point" if len(rows) == 1 else "points"
    return f"{kind} {', '.join(cut((str(problem.constraints[j]) for j in rows), _SHOWN))}"


WORDING = Wording[MarginStatement](statement, sentence, findings)
