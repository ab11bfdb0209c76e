"""The obligations of Theorems D and F: local convergence from a point, and from every point of a cone.

All belong to the witness: where one is false, these numbers prove nothing. They are asked in stages: what a stage
computes may not exist where an earlier one fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Side
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.cone_convergence import ConeConvergence
from certattn.kernel.theorems.selection.mathematics.gradient_weights import NearbyWeights
from certattn.kernel.theorems.selection.mathematics.local_constants import LocalConstants
from certattn.kernel.theorems.selection.mathematics.local_convergence import LocalConvergence, LocalTrial

_ZERO = fmpq(0)


class _Stages:
    """Obligations of the witness under one prefix, each of which needs all of the stages before its own."""

    def __init__(self, prefix: str, needs: Sequence[str]) -> None:
        self._prefix, self._needs, self._asked = prefix, tuple(needs), list[str]()

    def ask(self, name: str, left: Side, relation: Relation, right: Side) -> Obligation:
        found = Obligation(f"{self._prefix}.{name}", left, relation, right, Part.WITNESS, self._needs)
        self._asked.append(found.name)
        return found

    def close(self) -> None:
        """End a stage."""
        self._needs = (*self._needs, *self._asked)
        self._asked = []

    def local_optimality(self, constants: Callable[[], LocalConstants], selection: Selection) -> Iterator[Obligation]:
        """Every bad pair is loose; nothing to ask where there is none."""
        if selection.bad:
            yield self.ask("optimality", lambda: _slack(constants()), ">", _ZERO)
        self.close()

    def weights(self, near: Callable[[], NearbyWeights]) -> Iterator[Obligation]:
        """That the bounds of Lemma 3 are bounds, and that descent leads forward."""
        yield self.ask("factors", lambda: near().smallest_factor, ">", _ZERO)
        yield self.ask("forward", lambda: near().forward, ">", _ZERO)
        self.close()


def _slack(constants: LocalConstants) -> fmpq:
    """The smallest slack of a bad pair, of which there is one."""
    assert constants.locally_optimal_by is not None
    return constants.locally_optimal_by


def local_obligations(
    prefix: str, proof: Callable[[], LocalConvergence], trial: LocalTrial, selection: Selection, needs: Sequence[str]
) -> Iterator[Obligation]:
    """That every condition of Theorem D holds from every point of the ball that `proof` starts from."""
    stages, bad, moves = _Stages(prefix, needs), bool(selection.bad), bool(trial.move > 0)
    yield from stages.local_optimality(lambda: proof().constants, selection)
    if bad:
        yield stages.ask("fractions.above", min(trial.fractions.values()), ">", _ZERO)
        yield stages.ask("fractions.below", max(trial.fractions.values()), "<", fmpq(1))
        yield stages.ask("inflation", trial.inflation, ">", fmpq(1))
    yield stages.ask("setback", trial.setback, ">=", _ZERO)
    yield stages.ask("near", trial.near, ">=", _ZERO)
    if moves:
        yield stages.ask("move.range", trial.move, ">", _ZERO)
    yield stages.ask("progress.range", trial.progress, ">", _ZERO)
    stages.close()
    yield from stages.weights(lambda: proof().near)
    if moves:
        yield stages.ask("move", lambda: proof().longest_move, "<=", lambda: proof().move)
    yield stages.ask("progress", lambda: arb(trial.progress), "<=", lambda: proof().proved_progress)
    if bad:
        yield stages.ask("contraction", lambda: proof().contraction, "<=", 1 - 1 / trial.inflation)
        yield stages.ask("drift", lambda: proof().drift, "<=", trial.setback)


def cone_obligations(
    prefix: str, proof: Callable[[], ConeConvergence], selection: Selection, needs: Sequence[str]
) -> Iterator[Obligation]:
    """That every condition of Theorem F holds."""
    stages = _Stages(prefix, needs)
    yield from stages.local_optimality(lambda: proof().constants, selection)
    yield stages.ask("slope", lambda: proof().narrowness, ">", _ZERO)
    stages.close()
    yield from stages.weights(lambda: proof().near)
    yield stages.ask("progress", lambda: proof().progress, ">", _ZERO)
    stages.close()
    yield stages.ask("room", lambda: proof().deviation, "<", lambda: proof().room)
