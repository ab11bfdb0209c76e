"""Losses over prompts of doubles in binary64, against the same in balls."""

from __future__ import annotations

from pathlib import Path

import pytest
from flint import arb

from certattn.kernel.document.certificate import load
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.context_losses import Trained, loss_of
from certattn.kernel.theorems.training.descent_trajectory import Descents, read
from certattn.kernel.theorems.training.stored_losses import StoredLoss

GALLERY = Path(__file__).parents[5] / "certificates" / "training" / "descent-trajectory"


@pytest.fixture(params=["anisotropic-256", "correlated-all-tasks", "box-attention"])
def stated(request: pytest.FixtureRequest) -> Descents:
    return read(load(GALLERY / f"{request.param}.yaml")).descents


def test_balls_lie_within_what_binary64_encloses(stated: Descents) -> None:
    with working_precision(200):
        start = Trained.around(*stated.weights)
        # A point that is no double, so that the way to the nearest one counts.
        point = start + start.scaled(arb(1) / 7)
        loss = StoredLoss(stated.prompts)
        rough, sharp = loss.at(point), loss_of(stated.prompts).at(point)
        assert rough.risk.contains(sharp.risk)
        apart = (rough.gradient - sharp.gradient).norm()
        assert apart <= rough.error + sharp.error
        assert rough.error < 1e-9 * (1 + float(sharp.gradient.norm()))
        around, exact = loss.curvatures(point, arb(0)), loss_of(stated.prompts).curvatures(point, arb(0))
        # Norms of Jacobians bound the curvature that eigenvalues enclose.
        assert around.upward <= exact.upward * (1 + arb(2) ** -30)


def test_nothing_is_known_far_from_a_point(stated: Descents) -> None:
    with working_precision(64):
        found = StoredLoss(stated.prompts).curvatures(Trained.around(*stated.weights), arb(1000))
        assert not found.upward.is_finite()
