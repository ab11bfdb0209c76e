"""The empirical form of `risk-transfer`: the prompts are numbers, and so is their loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flint import arb

from certattn.kernel.decide.obligation import NoBound, Obligation, Part
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.concrete_prompts import StatedPrompts
from certattn.kernel.theorems.training.mathematics.context_losses import Loss, Trained
from certattn.kernel.theorems.training.mathematics.loss_flow import Leg, legs, risk_near
from certattn.kernel.theorems.training.transfer_setting import Followed, Setting, at_the_start


@dataclass(frozen=True)
class EmpiricalTransfer:
    """R_L <= risk from a time on along the flow of the loss of these prompts; `run` is the last leg, and the loss."""

    setting: Setting
    prompts: StatedPrompts
    run: Followed[tuple[Loss, Leg]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", Followed(self._last_leg))

    def obligations(self) -> Iterator[Obligation]:
        run = self.run
        yield at_the_start(self.setting)
        yield Obligation("path", lambda: _reached(run()[1]), "<", lambda: run()[1].bound, Part.WITNESS)
        # It encloses R_L at that time: what is not at most the stated risk is above it.
        yield Obligation("risk", lambda: risk_near(*run()), "<=", self.setting.risk, needs=["path"])

    def _last_leg(self) -> tuple[Loss, Leg]:
        setting, loss = self.setting, self.prompts.loss()
        start = Trained.around(setting.start.A, ExactMatrix.row_vector([setting.start.b]))
        *_, last = legs(loss, start, setting.time, setting.time / setting.pieces, setting.travel)
        return loss, last


def _reached(last: Leg) -> arb:
    if last.reached.is_finite() is not True:
        raise NoBound("no bound is found")
    return last.reached
