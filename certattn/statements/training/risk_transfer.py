"""`risk-transfer` in words."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.empirical_transfer import EmpiricalTransfer
from certattn.kernel.theorems.training.population_transfer import PopulationTransfer
from certattn.kernel.theorems.training.regression_task import COVARIANCE, START
from certattn.kernel.theorems.training.risk_transfer import StatedTransfer
from certattn.statements.training.given import parameters_words
from certattn.statements.wording import Statement, Wording


def statement(stated: StatedTransfer) -> Statement:
    transfer = stated.transfer
    if isinstance(transfer, EmpiricalTransfer):
        return _of_prompts(stated.given, transfer)
    return _of_lengths(stated.given, transfer)


def _of_prompts(given: Values, transfer: EmpiricalTransfer) -> Statement:
    setting = transfer.setting
    words = (
        f"For {transfer.prompts.words()}, let R_L(A, b) = 1/(2N) sum_n (b sum_i p_i y_i - t_n)^2 with p_i proportional "
        "to e^<x_i, A x>, x the query of prompt n and t_n its target. The gradient flow of R_L from "
        f"{parameters_words(given[START])} exists for all times and has R_L <= {describe(setting.risk)} at all times "
        f"t >= {describe(setting.time)}, and so in the limit, while over infinite prompts of tokens N(0, Sigma), "
        f"Sigma = {given[COVARIANCE].words()}, the risk of the flow from there tends to 0."
    )
    return Statement(words, rf"\lim_{{t \to \infty}} R_L(\theta_L(t)) \le {describe(setting.risk)}")


def _of_lengths(given: Values, transfer: PopulationTransfer) -> Statement:
    setting, beside = transfer.setting, ""
    risk, time, length = describe(setting.risk), describe(setting.time), describe(transfer.length)
    if transfer.tube is not None:
        beside = (
            f", and up to t = {time} the two runs (A, b) are within {describe(transfer.tube)} of each other "
            "(Euclidean distance)"
        )
    words = (
        "Over prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>, for a query x ~ N(0, Sigma) and "
        "w ~ N(0, I), let R_L(A, b) be half the mean square error of the prediction b sum_i p_i <w, x_i> of "
        f"<w, x>, p the softmax of <x_i, A x>. With Sigma = {given[COVARIANCE].words()} and from "
        f"{parameters_words(given[START])}, for every L >= {length}, the gradient flow of R_L exists for all "
        f"times and has R_L <= {risk} at all times t >= {time}, and so in the limit, while over "
        f"infinite prompts the risk tends to 0{beside}."
    )
    return Statement(words, rf"\lim_{{t \to \infty}} R_L(\theta_L(t)) \le {risk} \quad \forall L \ge {length}")


def sentence(stated: StatedTransfer, name: str) -> str:
    transfer = stated.transfer
    setting = transfer.setting
    time = describe(setting.time)
    if name == "infinite":
        if setting.balanced_below:
            return "|A|_F^2 - b^2"
        at_end = isinstance(transfer, PopulationTransfer) and not setting.known_at_the_start
        return f"2R over infinite prompts at t = {time if at_end else 0}, below tr Sigma"
    if isinstance(transfer, EmpiricalTransfer):
        return _path_of_prompts(transfer) if name == "path" else f"R_L at t = {time}"
    if name == "path":
        return _path_of_lengths(transfer)
    return {
        "tube": "the bound of the distance of the runs",
        "risk": f"the bound of R_L at t = {time}: of R, and of R_L - R",
    }[name]


def _path_of_prompts(transfer: EmpiricalTransfer) -> str:
    """Which leg was the last is known only of the run."""
    last = transfer.setting.time if transfer.run.last is None else transfer.run.last[1].last
    if transfer.run.last is not None and transfer.run.last[1].reached.is_finite() is not True:
        return f"the flow is enclosed beyond t = {describe(last)}"
    return f"what the distance of the flow from the polygon comes to at t = {describe(last)}, below its bound"


def _path_of_lengths(transfer: PopulationTransfer) -> str:
    run = transfer.run.last
    if run is None or run.last is None or run.lost:
        return f"the flow over infinite prompts is enclosed up to t = {describe(transfer.setting.time)}"
    first, end = describe(run.last.first), describe(run.last.last)
    return f"what the distance of the runs comes to from t = {first} to {end}, below its bound there"


WORDING = Wording[StatedTransfer](statement, sentence)
