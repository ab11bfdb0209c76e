"""What both forms of `risk-transfer` share: the task, the start, the risk from a time on, and the infinite prompts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters, exact_regression

T = TypeVar("T")


class Followed(Generic[T]):
    """A run that is followed once per precision, as `Shared`; `last` is the one that was followed last, for words."""

    def __init__(self, follow: Callable[[], T]) -> None:
        self._follow = Shared(follow)
        self.last: T | None = None

    def __call__(self) -> T:
        self.last = self._follow()
        return self.last


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

    def twice_the_risk(self) -> fmpq:
        """2R over infinite prompts at the start."""
        found: fmpq = 2 * exact_regression(self.covariance).risk(self.start)
        return found

    def is_stationary(self) -> bool:
        """Whether the flow of R does not move at all."""
        gradient = exact_regression(self.covariance).gradient(self.start)
        return bool(gradient.inner(gradient) == 0)

    @property
    def balanced_below(self) -> bool:
        """Whether |A|_F^2 < b^2 at the start, from where R tends to 0."""
        return bool(self.start.invariant() < 0)

    @property
    def falls_from_the_start(self) -> bool:
        """Whether |A|_F^2 < b^2 or 2R < tr Sigma at the start, from where R tends to 0."""
        return self.balanced_below or bool(self.twice_the_risk() < self.covariance.trace())

    @property
    def known_at_the_start(self) -> bool:
        """Whether the start says if R tends to 0: at a saddle, that it does not."""
        return self.falls_from_the_start or self.is_stationary()


def at_the_start(setting: Setting) -> Obligation:
    """That R tends to 0."""
    if setting.balanced_below:
        return Obligation("infinite", setting.start.invariant(), "<", fmpq(0), Part.WITNESS)
    return Obligation("infinite", setting.twice_the_risk(), "<", setting.covariance.trace(), Part.WITNESS)
