"""The population form of `risk-transfer`: means over prompts, tasks and queries, for every length from one on."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, at_most, below, unproved
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.finite_prompt_tube import FinitePrompts, Piece, bound_of_risk, tube
from certattn.kernel.theorems.training.mathematics.regression_descent import flat
from certattn.kernel.theorems.training.regression_inputs import balls_around
from certattn.kernel.theorems.training.transfer_setting import RESTS, Setting, at_the_start


@dataclass(frozen=True)
class PopulationTransfer:
    """R_L <= risk from a time on, and the distance of the flows until then at most `tube`, for every L >= `length`."""

    setting: Setting
    length: fmpq
    tube: fmpq | None

    @property
    def names(self) -> list[str]:
        return ["infinite", "path", *(["tube"] if self.tube is not None else []), "risk"]

    def words(self) -> str:
        setting, beside = self.setting, ""
        time = describe(setting.time)
        if self.tube is not None:
            beside = (
                f", and up to t = {time} the two runs (A, b) are within {describe(self.tube)} of each other "
                "(Euclidean distance)"
            )
        return (
            "Over prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>, for a query x ~ N(0, Sigma) and "
            "w ~ N(0, I), let R_L(A, b) be half the mean square error of the prediction b sum_i p_i <w, x_i> of "
            f"<w, x>, p the softmax of <x_i, A x>. With Sigma = {setting.covariance_words} and from "
            f"{setting.start_words}, for every L >= {describe(self.length)}, the gradient flow of R_L exists for all "
            f"times and has R_L <= {describe(setting.risk)} at all times t >= {time}, and so in the limit, while over "
            f"infinite prompts the risk tends to 0{beside}."
        )

    def latex(self) -> str:
        risk, length = describe(self.setting.risk), describe(self.length)
        return rf"\lim_{{t \to \infty}} R_L(\theta_L(t)) \le {risk} \quad \forall L \ge {length}"

    def prove(self, bits: int) -> list[Obligation]:
        run = _run(self.setting, self.length)
        found = [_infinite(self.setting, run, bits), _path(run, bits)]
        if self.tube is not None:
            found.append(_tube(self.tube, run, bits))
        return [*found, _risk(self.setting.risk, run, bits)]


@dataclass(frozen=True)
class Run:
    """Both flows as far as they could be followed: `last` is the last piece, None where there is none at all."""

    prompts: FinitePrompts
    last: Piece | None
    time: fmpq

    @property
    def open(self) -> bool:
        """Whether a piece is not closed, and no run is followed any further."""
        return self.last is not None and self.last.closed is not True

    @property
    def end(self) -> Piece | None:
        """The last piece where it ends at the stated time and, like all before, is closed."""
        last = self.last
        return last if last is not None and last.closed and last.last == self.time else None


def _run(setting: Setting, length: fmpq) -> Run:
    prompts, start = FinitePrompts(setting.covariance, length), flat(balls_around(setting.start))
    pieces = list(tube(prompts, start, setting.time, setting.order, setting.pieces))
    return Run(prompts, pieces[-1] if pieces else None, setting.time)


def _infinite(setting: Setting, run: Run, bits: int) -> Obligation:
    """That R tends to 0: from what is exact at the start or, where that does not say so, at the end."""
    found = at_the_start(setting)
    if found is not None:
        return found
    sentence = f"2R over infinite prompts at t = {describe(setting.time)}, below tr Sigma"
    if run.open:
        return unproved("infinite", sentence, RESTS)
    reached = 2 * run.prompts.field.risk(run.end.flow) if run.end is not None else arb.nan()
    return below("infinite", sentence, reached, setting.covariance.trace(), bits, part=Part.WITNESS)


def _path(run: Run, bits: int) -> Obligation:
    """Of the last piece that was tried: those before it are closed."""
    last = run.last
    if last is None or (last.closed and last.last < run.time):
        sentence = f"the flow over infinite prompts is enclosed up to t = {describe(run.time)}"
        return at_most("path", sentence, arb.nan(), fmpq(0), bits, part=Part.WITNESS)
    first, end = describe(last.first), describe(last.last)
    sentence = f"what the distance of the runs comes to from t = {first} to {end}, below its bound there"
    if last.reached.is_finite() is not True:
        return unproved("path", sentence, "no bound is found")
    return below("path", sentence, last.reached, last.bound, bits, part=Part.WITNESS)


def _tube(stated: fmpq, run: Run, bits: int) -> Obligation:
    sentence = "the bound of the distance of the runs"
    if run.open:
        return unproved("tube", sentence, RESTS)
    reached = run.end.reached if run.end is not None else arb.nan()
    return at_most("tube", sentence, reached, stated, bits, part=Part.WITNESS)


def _risk(stated: fmpq, run: Run, bits: int) -> Obligation:
    sentence = f"the bound of R_L at t = {describe(run.time)}: of R, and of R_L - R"
    if run.open:
        return unproved("risk", sentence, RESTS)
    bound = bound_of_risk(run.prompts, run.end.end) if run.end is not None else arb.nan()
    return at_most("risk", sentence, bound, stated, bits, part=Part.WITNESS)
