"""The loss of prompts in array files, in binary64: what `context_losses` asks of a loss, wider and much faster."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from certattn.fast import prompt_losses as fast
from certattn.fast.balls import rounded
from certattn.fast.rows import gathered
from certattn.fast.units import Floats
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.stored_arrays import holds_doubles, naming_what_is_not_finite, stored_rows
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import inflated
from certattn.kernel.theorems.training.context_losses import Curvatures, Evaluation, Trained
from certattn.kernel.theorems.training.stated_prompts import LABELS, QUERIES, TARGETS, TOKENS, StatedPrompts


class StoredLoss:
    """R over prompts of doubles: a point is taken to the nearest doubles, and what that changes is bounded."""

    # Second derivatives come with every evaluation, at that point alone.
    shared_by = 1

    def __init__(self, stated: StatedPrompts) -> None:
        """Raises RefusedError where a number is no double."""
        self._loss = fast.PromptLoss(_groups(stated))
        self._eigenvalues = fast.Eigenvalues()
        self._known: tuple[tuple[float, ...], fast.LossFound] | None = None

    def at(self, point: Trained) -> Evaluation:
        """R and its gradient at every point of the balls."""
        found, distance = self._near(point)
        gradient = point.around_all([arb(entry) for entry in found.gradient.tolist()])
        curvatures = self._curvatures(found, distance)
        error = arb(found.gradient_error) + curvatures.upward.max(curvatures.downward) * distance
        risk = inflated(arb(found.risk, found.risk_error), ((gradient.norm() + error) * distance).upper())
        return Evaluation(risk, gradient, error.upper())

    def curvatures(self, around: Trained, radius: arb) -> Curvatures:
        """By the eigenvalues at the centre, and the third derivatives around it."""
        found, distance = self._near(around)
        return self._curvatures(found, (distance + radius).upper())

    def _curvatures(self, found: fast.LossFound, distance: arb) -> Curvatures:
        if (distance <= arb(found.reach)) is not True:
            return Curvatures(arb.pos_inf(), arb.pos_inf())
        change = arb(found.third) * distance
        ends = self._eigenvalues.ends(found.hessian, found.hessian_error)
        upward, downward = (arb(end) + change for end in ends)
        return Curvatures(upward, downward)

    def _near(self, point: Trained) -> tuple[fast.LossFound, arb]:
        """What is known at the nearest doubles, and how far from them a point of the balls may be."""
        entries = point.entries()
        near = fast.nearest(entries)
        if self._known is None or self._known[0] != near:
            shapes = [(matrix.nrows(), matrix.ncols()) for matrix in (point.U, point.V)]
            self._known = near, self._loss.at(*fast.weights(near, *shapes))
        return self._known[1], l2_norm([entry - double for entry, double in zip(entries, near, strict=True)]).upper()


def _groups(stated: StatedPrompts) -> Sequence[fast.Prompts]:
    given = stated.given
    with naming_what_is_not_finite([given[field] for field in (TOKENS, LABELS, QUERIES, TARGETS) if field in given]):
        keys, queries, targets = (_table(given[field]) for field in (TOKENS, QUERIES, TARGETS))
        values = _table(given[LABELS]) if LABELS in given else keys
    return fast.grouped(keys, values, stated.lengths, queries, targets)


def _table(matrix: MatrixInput) -> Floats:
    """The numbers as doubles, exactly. Raises RefusedError."""
    if holds_doubles(matrix):
        return gathered(stored_rows(matrix, matrix.shape[1]), matrix.shape)
    exact = matrix.load()
    found = rounded(exact)
    pairs = zip(exact.to_rows(), found.tolist(), strict=True)
    if not all(_is_double(*each) for row in pairs for each in zip(*row, strict=True)):
        raise RefusedError("prompts with numbers that are no doubles")
    return found


def _is_double(entry: fmpq, double: float) -> bool:
    return bool(entry == fmpq(*double.as_integer_ratio()))
