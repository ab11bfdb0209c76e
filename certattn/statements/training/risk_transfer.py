"""`risk-transfer` in words."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.regression import COVARIANCE, START
from certattn.kernel.theorems.training.risk_transfer import LENGTH, RISK, TIME, TUBE, Range, StatedTransfer
from certattn.statements.training.given import parameters_words, prompts_words
from certattn.statements.wording import Statement, Wording


def statement(stated: StatedTransfer) -> Statement:
    return _of_lengths(stated) if stated.prompts is None else _of_prompts(stated)


def _of_prompts(stated: StatedTransfer) -> Statement:
    given, risk, time = stated.given, describe(stated.asserts[RISK]), describe(stated.asserts[TIME])
    assert stated.prompts is not None
    words = (
        f"For {prompts_words(stated.prompts)}, let R_L(A, b) = 1/(2N) sum_n (b sum_i p_i y_i - t_n)^2 with p_i "
        "proportional to e^<x_i, A x>, x the query of prompt n and t_n its target. The gradient flow of R_L from "
        f"{parameters_words(given[START])} exists for all times and has R_L <= {risk} at all times t >= {time}, and so "
        "in the limit, while over infinite prompts of tokens N(0, Sigma), "
        f"Sigma = {given[COVARIANCE].words()}, the risk of the flow from there tends to 0."
    )
    return Statement(words, rf"\lim_{{t \to \infty}} R_L(\theta_L(t)) \le {risk}")


def _of_lengths(stated: StatedTransfer) -> Statement:
    given, asserts, beside = stated.given, stated.asserts, ""
    risk, time, length = describe(asserts[RISK]), describe(asserts[TIME]), given[LENGTH]
    if TUBE in asserts:
        beside = (
            f", and up to t = {time} the two runs (A, b) are within {describe(asserts[TUBE])} of each other "
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
    time = describe(stated.asserts[TIME])
    if name == "infinite":
        if stated.balanced_below:
            return "|A|_F^2 - b^2"
        at_end = stated.lengths is not None and not stated.known_at_the_start
        # It is looked at when the flows of the last range have the risk, which may be before the stated time.
        when = describe(stated.lengths.ranges[-1].time) if stated.lengths is not None and at_end else 0
        return f"2R over infinite prompts at t = {when}, below tr Sigma"
    if name == "path":
        return _path_of_lengths(stated) if stated.prompts is None else _path_of_prompts(stated)
    if name == "fits":
        where = _without_room(stated)
        return (
            f"what is left between the softmax weights' moments and the bounds around the sums of exponentials{where}"
        )
    if name == "tube":
        return "the bound on the distance between the runs"
    return f"the bound on R_L by t = {time}" if stated.prompts is None else f"R_L at t = {time}"


def _path_of_prompts(stated: StatedTransfer) -> str:
    """Which leg was the last is known only of the run."""
    run = stated.polygon.last
    last = stated.asserts[TIME] if run is None else run[1].last
    if run is not None and run[1].distance.reached.is_finite() is not True:
        return f"the flow is enclosed beyond t = {describe(last)}"
    return f"the proved distance of the flow from the polygon at t = {describe(last)}, against its bound"


def _path_of_lengths(stated: StatedTransfer) -> str:
    """Which range is lost is known only of the run."""
    run, lengths = stated.flows.last, stated.lengths
    assert lengths is not None
    for flow, each in zip(run or [], lengths.ranges, strict=False):
        if not flow.is_proved:
            return f"the time up to which a tube holds the flows for {_lengths(each)}, of the time that is needed"
    return "the time up to which tubes hold the flows of every range of lengths, of the time that is needed"


def _without_room(stated: StatedTransfer) -> str:
    """Which range has none is known only of the run."""
    assert stated.lengths is not None
    rooms = stated.lengths.rooms.last or []
    for left, each in zip(rooms, stated.lengths.ranges, strict=False):
        if (left >= 0) is not True:
            return f" for {_lengths(each)}"
    return ""


def _lengths(of: Range) -> str:
    return f"L >= {of.fit.first}" if of.fit.last is None else f"{of.fit.first} <= L <= {of.fit.last}"


WORDING = Wording[StatedTransfer](statement, sentence)
