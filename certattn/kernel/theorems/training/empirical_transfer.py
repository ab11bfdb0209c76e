"""The empirical form of `risk-transfer`: the prompts are numbers, and so is their loss."""

from __future__ import annotations

from dataclasses import dataclass

from certattn.kernel.decide.verdict import Obligation, Part, at_most, below, unproved
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.context_inputs import StatedPrompts
from certattn.kernel.theorems.training.mathematics.context_losses import Trained
from certattn.kernel.theorems.training.mathematics.loss_flow import Leg, legs, risk_near
from certattn.kernel.theorems.training.transfer_setting import RESTS, Setting, at_the_start, risk_at_the_start


@dataclass(frozen=True)
class EmpiricalTransfer:
    """R_L <= risk from a time on along the flow of the loss of these prompts."""

    setting: Setting
    prompts: StatedPrompts

    @property
    def names(self) -> list[str]:
        return ["infinite", "path", "risk"]

    def words(self) -> str:
        setting = self.setting
        return (
            f"For {self.prompts.words()}, let R_L(A, b) = 1/(2N) sum_n (b sum_i p_i y_i - t_n)^2 with p_i proportional "
            "to e^<x_i, A x>, x the query of prompt n and t_n its target. The gradient flow of R_L from "
            f"{setting.start_words} exists for all times and has R_L <= {describe(setting.risk)} at all times "
            f"t >= {describe(setting.time)}, and so in the limit, while over infinite prompts of tokens N(0, Sigma), "
            f"Sigma = {setting.covariance_words}, the risk of the flow from there tends to 0."
        )

    def latex(self) -> str:
        return rf"\lim_{{t \to \infty}} R_L(\theta_L(t)) \le {describe(self.setting.risk)}"

    def prove(self, bits: int) -> list[Obligation]:
        setting, loss = self.setting, self.prompts.loss()
        infinite = at_the_start(setting) or risk_at_the_start(setting)
        *_, last = legs(loss, self._start(), setting.time, setting.time / setting.pieces, setting.travel)
        sentence = f"R_L at t = {describe(setting.time)}"
        if last.closed is not True:
            return [infinite, _open(last, bits), unproved("risk", sentence, RESTS)]
        # It encloses R_L at that time: what is not at most the stated risk is above it.
        risk = at_most("risk", sentence, risk_near(loss, last), setting.risk, bits)
        return [infinite, _path(last, bits), risk]

    def _start(self) -> Trained:
        return Trained.around(self.setting.start.A, ExactMatrix.row_vector([self.setting.start.b]))


def _path(last: Leg, bits: int) -> Obligation:
    sentence = f"what the distance of the flow from the polygon comes to at t = {describe(last.last)}, below its bound"
    return below("path", sentence, last.reached, last.bound, bits, part=Part.WITNESS)


def _open(last: Leg, bits: int) -> Obligation:
    if last.reached.is_finite() is not True:
        return unproved("path", f"the flow is enclosed beyond t = {describe(last.last)}", "no bound is found")
    return _path(last, bits)
