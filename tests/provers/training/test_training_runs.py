"""The flow in doubles that pictures show, against the same flow in much smaller steps."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import Parameters
from certattn.provers.training import training_runs
from certattn.provers.training.training_runs import Array, FloatRun


def _curve(run: FloatRun, times: Array) -> Array:
    found = []
    for point in run.points(200_000):
        found.append((point.time, np.log10(point.risk)))
        if point.time > times[-1]:
            break
    return np.asarray(np.interp(times, *np.array(found).T))


# The first begins where second derivatives are small at the start only: steps by these alone leave the path.
@pytest.mark.parametrize(("eigenvalues", "start"), [((1, 1), "1/8"), ((1, 1), "2"), ((3, "1/2"), "1/4"), ((4, 1), "1")])
def test_a_drawn_flow_is_where_the_flow_is(
    eigenvalues: tuple[int | str, int | str], start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (fmpq(*map(int, str(each).split("/"))) for each in eigenvalues)
    covariance = ExactMatrix.rational([[first, fmpq(0)], [fmpq(0), second]])
    size = fmpq(*map(int, start.split("/")))
    begins = Parameters(ExactMatrix.rational([[size, fmpq(0)], [fmpq(0), size]]), size)
    times = np.linspace(0, 2.5 / float(min(first, second)) ** 2, 60)
    drawn = _curve(FloatRun(covariance, begins, drawn=True), times)
    monkeypatch.setattr(training_runs, "_CAUTION", 0.02)
    exact = _curve(FloatRun(covariance, begins, drawn=True), times)
    # At most a fiftieth of the picture's height.
    assert np.abs(drawn - exact).max() < 0.02 * np.ptp(exact)
