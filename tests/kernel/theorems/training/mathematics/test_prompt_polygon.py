"""Polygons beside the flow on given prompts, and flows in doubles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from corpus import Cases
from flint import arb, fmpq

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training import context_losses as contexts
from certattn.kernel.theorems.training.prompt_polygon import distance_within, legs, risk_near
from certattn.kernel.theorems.training.risk_transfer import StatedTransfer, read

Tool = Callable[[str], ModuleType]
BITS = 64
cases = Cases("transfer_cases")


def stated(name: str) -> tuple[StatedTransfer, dict[str, Any]]:
    certificate = loads(next(getattr(cases, name).cases()).text, "case.yaml")
    plain: Any = certificate.plain["given"]
    return read(certificate), plain


def start_of(of: StatedTransfer) -> contexts.Trained:
    return contexts.Trained.around(of.start.A, ExactMatrix.row_vector([of.start.b]))


def test_the_flow_is_as_near_to_each_leg_as_is_proved(tool: Tool) -> None:
    of, given = stated("PROMPTS")
    truth = tool("truth.risk_transfer")
    prompts, point, time = truth.Prompts(given, 1, Path()), np.array([0.5, 1.5]), 0.0
    with working_precision(BITS):
        assert of.prompts is not None
        loss = contexts.loss_of(of.prompts)
        found = list(legs(loss, start_of(of), fmpq(1, 4), fmpq(1, 50), fmpq(1, 200)))
        assert found[-1].last == fmpq(1, 4)
        for leg in found:
            last = int(leg.last.p) / int(leg.last.q)
            point, time = truth._moved(lambda at: prompts.loss(at)[1], point, last - time), last
            end = np.array([float(leg.end.U[0, 0].mid()), float(leg.end.V[0, 0].mid())])
            assert leg.distance.closed
            assert np.linalg.norm(point - end) <= float(leg.error) + 1e-9
            risk = risk_near(loss, leg)
            assert float(risk.lower()) - 1e-9 <= prompts.loss(point)[0] <= float(risk.upper()) + 1e-9
        assert float(found[-1].error) < 0.05


def test_legs_are_no_longer_than_asked() -> None:
    """Of time and of way, and to the end exactly."""
    of, _ = stated("PROMPTS")
    with working_precision(BITS):
        assert of.prompts is not None
        loss, before = contexts.loss_of(of.prompts), fmpq(0)
        found = list(legs(loss, start_of(of), fmpq(1, 10), fmpq(3, 100), fmpq(1, 100)))
        point = start_of(of)
        for leg in found:
            assert 0 < leg.last - before <= fmpq(3, 100)
            assert (leg.end - point).norm() < arb("0.0101")
            point, before = leg.end, leg.last
        assert before == fmpq(1, 10)


def test_a_leg_that_is_too_long_is_not_closed() -> None:
    of, _ = stated("PROMPTS")
    with working_precision(BITS):
        assert of.prompts is not None
        found = list(legs(contexts.loss_of(of.prompts), start_of(of), fmpq(10), fmpq(10), fmpq(1000)))
    assert len(found) == 1
    assert not found[0].distance.closed


def test_distances_are_guessed() -> None:
    """x -> 1/2 + x/4 is below x from 2/3 on, x -> 1 + x nowhere, and what is not known says nothing."""
    with working_precision(BITS):
        found = distance_within(arb("0.1"), lambda x: arb("0.5") + x / 4)
        assert found.closed
        assert (found.bound > arb("0.66")) is True
        assert (found.reached <= found.bound) is True
        assert not distance_within(arb("0.1"), lambda x: 1 + x).closed
        assert not distance_within(arb("0.1"), lambda x: arb.nan()).closed
        assert not distance_within(arb("0.1"), lambda x: arb(100)).closed
