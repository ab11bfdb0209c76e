"""The population form of `risk-transfer`: means over prompts, tasks and queries, for every length from one on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part
from certattn.kernel.theorems.training.mathematics.finite_prompt_tube import FinitePrompts, Piece, bound_of_risk, tube
from certattn.kernel.theorems.training.mathematics.regression import balls_around, flat
from certattn.kernel.theorems.training.transfer_setting import Followed, Setting, at_the_start


@dataclass(frozen=True)
class PopulationTransfer:
    """R_L <= risk from a time on, and the distance of the flows until then at most `tube`, for every L >= `length`."""

    setting: Setting
    length: fmpq
    tube: fmpq | None
    run: Followed[Run] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", Followed(self._follow))

    def obligations(self) -> Iterator[Obligation]:
        setting, run = self.setting, self.run
        if setting.known_at_the_start:
            yield at_the_start(setting)
        path = Obligation("path", lambda: run().path[0], "<", lambda: run().path[1], Part.WITNESS)
        if not setting.known_at_the_start:
            # By what is reached at the end, as far as the path there is proved; it is listed before that.
            trace = setting.covariance.trace()
            yield Obligation("infinite", lambda: run().twice_the_risk(), "<", trace, Part.WITNESS)
        yield path
        if self.tube is not None:
            yield Obligation("tube", lambda: run().distance(), "<=", self.tube, Part.WITNESS, ["path"])
        yield Obligation("risk", lambda: run().bound(), "<=", setting.risk, Part.WITNESS, ["path"])

    def _follow(self) -> Run:
        setting = self.setting
        prompts, start = FinitePrompts(setting.covariance, self.length), flat(balls_around(setting.start))
        pieces = list(tube(prompts, start, setting.time, setting.order, setting.pieces))
        return Run(prompts, pieces[-1] if pieces else None, setting.time)


@dataclass(frozen=True)
class Run:
    """Both flows as far as they could be followed: `last` is the last piece, None where there is none at all."""

    prompts: FinitePrompts
    last: Piece | None
    time: fmpq

    @property
    def lost(self) -> bool:
        """Whether all pieces are closed, but the flow over infinite prompts is enclosed no longer."""
        return self.last is None or (self.last.closed and self.last.last < self.time)

    @property
    def path(self) -> tuple[arb, arb]:
        """What the distance comes to in the last piece that was tried, and its bound: those before it are closed."""
        if self.last is None or self.lost:
            return arb.nan(), arb(0)
        if self.last.reached.is_finite() is not True:
            raise NoBound("no bound is found")
        return self.last.reached, self.last.bound

    @property
    def _end(self) -> Piece | None:
        """The last piece where it ends at the stated time and, like all before, is closed."""
        return self.last if self.last is not None and self.last.closed and self.last.last == self.time else None

    def twice_the_risk(self) -> arb:
        """2R over infinite prompts at the end."""
        if self.last is not None and self.last.closed is not True:
            raise NoBound("it rests on the path, which is not proved")
        found: arb = 2 * self.prompts.field.risk(self._end.flow) if self._end is not None else arb.nan()
        return found

    def distance(self) -> arb:
        return self._end.reached if self._end is not None else arb.nan()

    def bound(self) -> arb:
        """Of R_L at the end: of R, and of R_L - R."""
        return bound_of_risk(self.prompts, self._end.end) if self._end is not None else arb.nan()
