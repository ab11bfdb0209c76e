"""The obligations of Theorems D and F: local convergence from a point, and from every point of a cone.

All belong to the witness: where one is false, these numbers prove nothing. They are not asked before the conditions
of the max-margin point (`kkt`) are proved, and nothing but local optimality is asked where that fails.
"""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.decide.verdict import (
    Enclosure,
    Obligation,
    Outcome,
    Part,
    above,
    at_least,
    at_most,
    below,
    unproved,
)
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.cone_convergence import ConeConvergence
from certattn.kernel.theorems.selection.mathematics.gradient_weights import NearbyWeights
from certattn.kernel.theorems.selection.mathematics.local_constants import LocalConstants
from certattn.kernel.theorems.selection.mathematics.local_convergence import LocalConvergence

_ZERO = fmpq(0)


class _Conditions:
    """Obligations of the witness, under one prefix."""

    def __init__(self, prefix: str, bits: int) -> None:
        self._prefix, self._bits, self.found = prefix, bits, list[Obligation]()

    def above(self, name: str, sentence: str, value: Enclosure, bound: Enclosure) -> None:
        self.found.append(above(f"{self._prefix}.{name}", sentence, value, bound, self._bits, part=Part.WITNESS))

    def below(self, name: str, sentence: str, value: Enclosure, bound: Enclosure) -> None:
        self.found.append(below(f"{self._prefix}.{name}", sentence, value, bound, self._bits, part=Part.WITNESS))

    def at_least(self, name: str, sentence: str, value: Enclosure, bound: Enclosure) -> None:
        self.found.append(at_least(f"{self._prefix}.{name}", sentence, value, bound, self._bits, part=Part.WITNESS))

    def at_most(self, name: str, sentence: str, value: Enclosure, bound: Enclosure) -> None:
        self.found.append(at_most(f"{self._prefix}.{name}", sentence, value, bound, self._bits, part=Part.WITNESS))

    @property
    def all_proved(self) -> bool:
        """Whether what follows may rest on everything asked so far."""
        return all(o.outcome is Outcome.PROVED for o in self.found)

    def stopped(self, names: list[str]) -> list[Obligation]:
        """What was asked so far; where that is false, the rest is not proved, and else it waits for more bits."""
        if all(o.outcome is not Outcome.REFUTED for o in self.found):
            return self.found
        asked = {o.name for o in self.found}
        rest = [name for name in names if name not in asked]
        return self.found + [unproved(name, "it rests on what came before", "a condition is false") for name in rest]

    def local_optimality(self, constants: LocalConstants) -> None:
        """Every bad pair is loose; nothing to ask where there is none."""
        slack = constants.locally_optimal_by
        if slack is not None:
            sentence = "the smallest slack <z_t, p_mm> - 1 of a token that scores no less than the chosen one"
            self.above("optimality", sentence, slack, _ZERO)

    def weights(self, near: NearbyWeights) -> None:
        """That the bounds of Lemma 3 are bounds, and that descent leads forward."""
        self.above("factors", "the smallest factor of theta_-", near.smallest_factor, _ZERO)
        self.above("forward", "Xi - sum kappa_t b_t r_t", near.forward, _ZERO)


def local_names(prefix: str, selection: Selection, moves: bool) -> list[str]:
    """The names of the obligations of `local_obligations`."""
    bad = bool(selection.bad)
    names = (
        ["optimality", "fractions.above", "fractions.below", "inflation", "setback", "near"]
        if bad
        else ["setback", "near"]
    )
    if moves:
        names.append("move.range")
    names += ["progress.range", "factors", "forward"]
    if moves:
        names.append("move")
    names.append("progress")
    return [f"{prefix}.{name}" for name in [*names, *(["contraction", "drift"] if bad else [])]]


def local_obligations(prefix: str, proof: LocalConvergence, bits: int) -> list[Obligation]:
    """That every condition of Theorem D holds from every point of the ball that `proof` starts from."""
    constants, trial, bad = proof.constants, proof.trial, bool(proof.constants.bad)
    ask = _Conditions(prefix, bits)
    names = local_names(prefix, constants.selection, proof.rule.moves)
    ask.local_optimality(constants)
    if not ask.all_proved:
        return ask.stopped(names)
    if bad:
        ask.above(
            "fractions.above", "the smallest fraction lambda_t / (delta_t Xi)", min(trial.fractions.values()), _ZERO
        )
        ask.below(
            "fractions.below", "the largest fraction lambda_t / (delta_t Xi)", max(trial.fractions.values()), fmpq(1)
        )
        ask.above("inflation", "the inflation Omega", trial.inflation, fmpq(1))
    ask.at_least("setback", "the setback E_u", trial.setback, _ZERO)
    ask.at_least("near", "the slack up to which good tokens count with the neighbours", trial.near, _ZERO)
    if proof.rule.moves:
        ask.above("move.range", "the bound Delta of a step's move", trial.move, _ZERO)
    ask.above("progress.range", "the progress chi", trial.progress, _ZERO)
    if not ask.all_proved:
        return ask.stopped(names)
    ask.weights(proof.near)
    if not ask.all_proved:
        return ask.stopped(names)
    if proof.rule.moves:
        ask.at_most("move", "the longest move of a step, against its bound Delta", proof.longest_move, proof.move)
    ask.at_most("progress", "the progress chi, against that of Lemma 4", arb(trial.progress), proof.proved_progress)
    if bad:
        ask.at_most("contraction", "S, against 1 - 1/Omega", proof.contraction, 1 - 1 / trial.inflation)
        ask.at_most("drift", "sum kappa_t b_t r_t Lambda_t, against the setback E_u", proof.drift, trial.setback)
    return ask.found


def cone_names(prefix: str, selection: Selection) -> list[str]:
    """The names of the obligations of `cone_obligations`."""
    names = [*(["optimality"] if selection.bad else []), "slope", "factors", "forward", "progress", "room"]
    return [f"{prefix}.{name}" for name in names]


def cone_obligations(prefix: str, proof: ConeConvergence, bits: int) -> list[Obligation]:
    """That every condition of Theorem F holds."""
    ask = _Conditions(prefix, bits)
    names = cone_names(prefix, proof.constants.selection)
    ask.local_optimality(proof.constants)
    if not ask.all_proved:
        return ask.stopped(names)
    ask.above(
        "slope",
        "the smallest b_j - tau zeta_j of a good and delta_t - tau zeta_t of a bad token",
        proof.narrowness,
        _ZERO,
    )
    if not ask.all_proved:
        return ask.stopped(names)
    ask.weights(proof.near)
    if not ask.all_proved:
        return ask.stopped(names)
    ask.above("progress", "chi of Lemma 4", proof.progress, _ZERO)
    if not ask.all_proved:
        return ask.stopped(names)
    ask.below("room", "the deviation, against (tau - tau_0) X", proof.deviation, proof.room)
    return ask.found
