"""What both forms of `risk-transfer` share: the task, the start, the risk from a time on, and the infinite prompts."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.verdict import Obligation, Part, below
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.regression_inputs import exact_regression

RESTS = "it rests on the path, which is not proved"


@dataclass(frozen=True)
class Setting:
    """Exact: Sigma, (A, b), the bound of the risk and the time from which it holds; and hints of the witness."""

    covariance: ExactMatrix
    start: Parameters
    risk: fmpq
    time: fmpq
    order: int
    pieces: int
    travel: fmpq
    covariance_words: str
    start_words: str

    def twice_the_risk(self) -> fmpq:
        """2R over infinite prompts at the start."""
        found: fmpq = 2 * exact_regression(self.covariance).risk(self.start)
        return found

    def is_stationary(self) -> bool:
        """Whether the flow of R does not move at all."""
        gradient = exact_regression(self.covariance).gradient(self.start)
        return bool(gradient.inner(gradient) == 0)


def at_the_start(setting: Setting) -> Obligation | None:
    """That R tends to 0, if |A|_F^2 < b^2 or 2R < tr Sigma at the start says so; at a saddle, that it does not."""
    invariant = setting.start.invariant()
    if (invariant < 0) is True:
        return below("infinite", "|A|_F^2 - b^2", invariant, fmpq(0), part=Part.WITNESS)
    if (setting.twice_the_risk() < setting.covariance.trace()) is True or setting.is_stationary():
        return risk_at_the_start(setting)
    return None


def risk_at_the_start(setting: Setting) -> Obligation:
    """2R < tr Sigma."""
    sentence = "2R over infinite prompts at t = 0, below tr Sigma"
    return below("infinite", sentence, setting.twice_the_risk(), setting.covariance.trace(), part=Part.WITNESS)
