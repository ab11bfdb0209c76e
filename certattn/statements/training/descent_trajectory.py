"""`descent-trajectory` in words."""

from __future__ import annotations

import re

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.descent_setting import LAWS, REGRESSION, TASKS, ExactWeights, Setting
from certattn.kernel.theorems.training.descent_trajectory import StatedDescents
from certattn.kernel.theorems.training.gronwall_bound import Gronwall
from certattn.kernel.theorems.training.mathematics.context_descent import EACH, FINITE, INFINITE
from certattn.kernel.theorems.training.regression_task import COVARIANCE
from certattn.kernel.theorems.training.trajectory_assertions import (
    CHECKPOINT_STEP,
    CHECKPOINTS,
    GRADIENT_GAP,
    RISK_GAP,
    WHERE,
    Assertion,
    EveryStep,
    Near,
    Range,
)
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
    setting = stated.setting
    words = (
        f"Let theta^L and theta^inf be {counted(setting.steps, 'step')} "
        "theta_(k+1) = theta_k - eta grad R(theta_k) of gradient descent with "
        f"eta = {describe(setting.step)} from {_weights(setting.start)}, the first on R_L and "
        f"the second on R_inf. {_finite_loss(setting)}, for {setting.prompts.words()}. R_inf is "
        f"{_infinite_loss(setting)}. With Frobenius norms of {' and '.join(setting.start.names)} together: "
        f"{'; '.join(_assertion(stated.asserts, assertion) for assertion in stated.assertions)}."
    )
    latex = (
        r"\theta_{k+1} = \theta_k - \eta \nabla R(\theta_k), \qquad "
        r"\| \theta^L_k - \theta^\infty_k \| \le \varepsilon_k, \quad k \le K"
    )
    return Statement(words, latex)


def _weights(weights: ExactWeights) -> str:
    first, second = weights.names
    last = describe(weights.V.entry(0, 0)) if weights.model == REGRESSION else str(weights.V)
    return f"{first} = {weights.U} and {second} = {last}"


def _finite_loss(setting: Setting) -> str:
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


def _infinite_loss(setting: Setting) -> str:
    given = setting.given
    if setting.model != REGRESSION:
        laws = [law.words for law in given[LAWS]]
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


def _assertion(asserts: Values, assertion: Assertion) -> str:
    if isinstance(assertion, Gronwall):
        return _gronwall(assertion)
    assert isinstance(assertion, EveryStep | Range | Near)
    symbol = _symbol(asserts, assertion.quantity.name)
    if isinstance(assertion, EveryStep):
        several = f"the bound that is stated for it, of {assertion.stated.words()}"
        bound = describe(assertion.bounds[0]) if assertion.stated.shape[1] == 1 else several
        return f"for every k = 0, ..., {len(assertion.bounds) - 1}, {symbol} is at most {bound}"
    if isinstance(assertion, Near):
        point, radius = _weights(assertion.point), describe(assertion.radius)
        return f"at k = {assertion.step}, {symbol} {point} is at most {radius}"
    parts = [f"at least {describe(assertion.at_least)}"] if assertion.at_least is not None else []
    parts += [f"at most {describe(assertion.at_most)}"] if assertion.at_most is not None else []
    return f"at k = {assertion.step}, {symbol} is {' and '.join(parts)}"


def _gronwall(stated: Gronwall) -> str:
    r, g, nu = describe(stated.radius), describe(stated.gap), describe(stated.rate)
    return (
        f"for every k = 0, ..., {stated.steps - 1} and all weights within r = {r} of theta_k^inf, "
        f"|grad R_L - grad R_inf| is at most g = {g} and |I - eta Hess R_inf| at most 1 + eta nu with nu = {nu}, "
        f"so that |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu <= r for every k = 0, ..., {stated.steps}"
    )


def sentence(stated: StatedDescents, name: str) -> str:
    if name == "gronwall.radius":
        (bound,) = (one for one in stated.assertions if isinstance(one, Gronwall))
        return f"g ((1 + eta nu)^{bound.steps} - 1)/nu <= r"
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
        return f"a bound of {symbol} within r of theta_k^inf, k = {index}"
    return f"{_symbol(stated.asserts, what)} at k = {index}"


WORDING = Wording[StatedDescents](statement, sentence)
