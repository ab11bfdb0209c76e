"""`descent-trajectory` in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.descent_trajectory import (
    BOUNDS,
    CHECKPOINT_STEP,
    CHECKPOINTS,
    DISTANCE,
    EACH,
    FINITE,
    FINITE_POINT,
    FINITE_RISK,
    GAP,
    GRADIENT_GAP,
    GRONWALL,
    INFINITE,
    INFINITE_POINT,
    INFINITE_RISK,
    LAWS,
    RADIUS,
    RATE,
    REGRESSION,
    RISK_GAP,
    STEP,
    TASKS,
    TUBE,
    TUBE_RADIUS,
    WEIGHTS_START,
    WHERE,
    Descents,
    StatedDescents,
    U,
    V,
    tube_steps,
)
from certattn.kernel.theorems.training.regression import COVARIANCE, A, B
from certattn.statements.given import in_brackets, law_words
from certattn.statements.ranges import range_words
from certattn.statements.training.given import prompts_words
from certattn.statements.wording import Statement, Wording

_PLACES = {EACH: ", each at its own iterate,", FINITE: ", both at theta_k^L,", INFINITE: ", both at theta_k^inf,"}
_SYMBOLS = {
    "distance": "|theta_k^L - theta_k^inf|",
    "finite_risk": "R_L(theta_k^L)",
    "infinite_risk": "R_inf(theta_k^inf)",
    "finite": "the distance of theta_k^L from the stated point",
    "infinite": "the distance of theta_k^inf from the stated point",
}
_GAPS = {"risk_gap": (RISK_GAP, "|R_L - R_inf|"), "gradient_gap": (GRADIENT_GAP, "|grad R_L - grad R_inf|")}
_OVER_TUBE = {"gap": "|grad R_L - grad R_inf|", "rate": "the rate of expansion"}


def statement(stated: StatedDescents) -> Statement:
    setting = stated.descents
    names = "A and b" if setting.model == REGRESSION else "U and V"
    words = (
        f"Let theta^L and theta^inf be {counted(setting.steps, 'step')} "
        "theta_(k+1) = theta_k - eta grad R(theta_k) of gradient descent with "
        f"eta = {describe(setting.given[STEP])} from {_weights(setting.given[WEIGHTS_START])}, the first on R_L and "
        f"the second on R_inf. {_finite_loss(setting)}, for {prompts_words(setting.prompts)}. R_inf is "
        f"{_infinite_loss(setting)}. With Frobenius norms of {names} taken together: "
        f"{'; '.join(_asserted(stated))}."
    )
    latex = (
        r"\theta_{k+1} = \theta_k - \eta \nabla R(\theta_k), \qquad "
        r"\| \theta^L_k - \theta^\infty_k \| \le \varepsilon_k, \quad k \le K"
    )
    return Statement(words, latex)


def _weights(values: Values) -> str:
    if A in values:
        return f"A = {values[A].load()} and b = {describe(values[B])}"
    return f"U = {values[U].load()} and V = {values[V].load()}"


def _finite_loss(setting: Descents) -> str:
    """The loss of the concrete prompts."""
    if setting.model == REGRESSION:
        return (
            "R_L(A, b) = 1/(2N) sum_n (b sum_i p_i y_i - t_n)^2 with p_i proportional to e^<x_i, A x>, x the query "
            "of prompt n and t_n its target"
        )
    return (
        "R_L(U, V) = 1/(2N) sum_n |V sum_i p_i z_i - t_n|^2 with p_i proportional to e^<z_i, U q>, q the query of "
        "prompt n and t_n its target"
    )


def _infinite_loss(setting: Descents) -> str:
    given = setting.given
    if setting.model != REGRESSION:
        laws = [law_words(law) for law in given[LAWS]]
        shown = laws[0] if len(laws) == 1 else f"(one law for each, in this order) {'; '.join(laws)}"
        return f"the same loss with infinite prompts of {shown}, V tau(U q) for the output, tau the tilted mean"
    covariance, tasks = given[COVARIANCE].words(), given.get(TASKS)
    if tasks is None:
        return f"1/2 tr(E Sigma E') with E = b Sigma A - I and Sigma = {covariance}, the risk over all tasks"
    return (
        "1/(2N) sum_n (b <w_n, Sigma A x> - t_n)^2, the loss of infinite prompts of N(0, Sigma) tokens with the "
        f"tasks w_n: {tasks.words()}, Sigma = {covariance}"
    )


def _symbol(asserts: Values, name: str) -> str:
    """Of a quantity: `distance`, `risk_gap`, `checkpoints[2].finite`."""
    what = name.split(".")[-1]
    if what in _GAPS:
        field, symbol = _GAPS[what]
        return symbol + _PLACES[asserts[field][WHERE]]
    return _SYMBOLS[what]


def _asserted(stated: StatedDescents) -> Iterator[str]:
    """A piece for each assertion."""
    asserts, steps = stated.asserts, stated.descents.steps
    for field in (TUBE, RISK_GAP, GRADIENT_GAP):
        if field in asserts:
            bounds = asserts[field][BOUNDS]
            several = f"the bound stated for it {in_brackets(bounds.words())}"
            bound = describe(bounds.load().entry(0, 0)) if bounds.shape[1] == 1 else several
            yield f"for every k = 0, ..., {steps}, {_symbol(asserts, field.name)} is at most {bound}"
    for checkpoint in asserts.items(CHECKPOINTS):
        yield from _checkpoint(checkpoint)
    if GRONWALL in asserts:
        yield _gronwall(asserts[GRONWALL], stated.descents)


def _checkpoint(stated: Values) -> Iterator[str]:
    k = stated[CHECKPOINT_STEP]
    for field in (DISTANCE, FINITE_RISK, INFINITE_RISK):
        if field in stated:
            yield f"at k = {k}, {_SYMBOLS[field.name]} is {range_words(stated[field])}"
    for point in (FINITE_POINT, INFINITE_POINT):
        if point in stated:
            _, near = stated[point]
            yield f"at k = {k}, {_SYMBOLS[point.name]} {_weights(near)} is at most {describe(near[RADIUS])}"


def _gronwall(stated: Values, descents: Descents) -> str:
    r, g, nu = describe(stated[TUBE_RADIUS]), describe(stated[GAP]), describe(stated[RATE])
    steps = tube_steps(stated, descents)
    return (
        f"for every k = 0, ..., {steps - 1} and all weights within r = {r} of theta_k^inf, "
        f"|grad R_L - grad R_inf| is at most g = {g} and |I - eta Hess R_inf| at most 1 + eta nu with nu = {nu}, "
        f"so that |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu <= r for every k = 0, ..., {steps}"
    )


def sentence(stated: StatedDescents, name: str) -> str:
    if name == "gronwall.radius":
        return f"g ((1 + eta nu)^{tube_steps(stated.asserts[GRONWALL], stated.descents)} - 1)/nu <= r"
    found = re.fullmatch(r"([a-z_.]+)\[(\d+)\](?:\.([a-z_]+).*)?", name)
    assert found is not None
    what, index, of_checkpoint = found[1], int(found[2]), found[3]
    if what == CHECKPOINTS.name:
        checkpoint = stated.asserts[CHECKPOINTS][index]
        return f"{_symbol(stated.asserts, of_checkpoint)} at k = {checkpoint[CHECKPOINT_STEP]}"
    if what == "gronwall.centre":
        return f"|grad R_L - grad R_inf| at theta_k^inf, k = {index}"
    if what.startswith("gronwall."):
        symbol = _OVER_TUBE[what.removeprefix("gronwall.")]
        return f"a bound on {symbol} within r of theta_k^inf, k = {index}"
    return f"{_symbol(stated.asserts, what)} at k = {index}"


WORDING = Wording[StatedDescents](statement, sentence)
