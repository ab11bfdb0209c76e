"""A figure of a certificate of `training-convergence`: the risk along the run, and the certified bound.

Where the laws at test time are stated, the risk there as well, and what it is in the limit.

The run is computed in doubles; nothing is certified of it.
"""

from __future__ import annotations

import math

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.training.shifted_risk import RISK as SHIFTED_RISK
from certattn.kernel.theorems.training.shifted_risk import SHIFT, Shift
from certattn.kernel.theorems.training.training_convergence import (
    AT,
    AT_MOST,
    LIMIT,
    RATE,
    RISK,
    RISKS,
    StatedTraining,
    read,
)
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float, doubles
from certattn.provers.training.training_runs import Array, FloatRun

# Beside the run the bound may fall so slowly that it is followed for so many times as long only.
_STEPS, _LONGER = 20_000, 4.0
# The bound is drawn while it falls by so many powers of e.
_DEPTH = 12.0
# The axis of risks goes down a little farther, and so does the run.
_BELOW = 1.2


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    problem = read(certificate)
    begins, risk = as_float(problem.begins), as_float(problem.asserts[RISK])
    fall = _fall(problem)
    last = begins + _DEPTH / fall
    times, risks, shifted = _run(problem, last)
    deep = times[risks < risk * math.exp(-_DEPTH)]
    if len(deep):
        marks = [as_float(stated[AT]) for stated in problem.asserts.items(RISKS)]
        last = min(last, max(_LONGER * float(deep[0]), 1.1 * begins, *(1.1 * at for at in marks)))
    with canvas(path, (5.6, 4.2)) as (_, axes):
        axes.semilogy(times, risks, color=RUN, lw=1.6, label="the run, computed")
        grid = np.linspace(begins, last, 200)
        base = "e^{-2c(t - t_0)}" if problem.step is None else r"(1 - 2\eta c)^{k - k_0}"
        label = f"{standing()}: ${risk:.3g}\\,{base}$,\n$c = {as_float(problem.asserts[RATE]):.3g}$"
        axes.semilogy(grid, risk * np.exp(-fall * (grid - begins)), color=BOUND, lw=1.6, ls="--", label=label)
        if problem.shift is not None:
            reached = as_float(problem.asserts[LIMIT][SHIFT][SHIFTED_RISK])
            axes.semilogy(times, shifted, color=RUN, lw=1.6, ls=":", label="at test time, computed")
            if reached > 0:
                axes.axhline(reached, color=BOUND, lw=0.8, label=f"{standing()}: {reached:.4g} there in the limit")
        for stated in problem.asserts.items(RISKS):
            axes.plot(as_float(stated[AT]), as_float(stated[AT_MOST]), marker="v", color=BOUND, ls="")
        axes.set_ylim(bottom=risk * math.exp(-_BELOW * _DEPTH))
        axes.set_xlim(0, last)
        axes.set_xlabel("time" if problem.step is None else "steps")
        axes.set_ylabel("risk")
        axes.legend()


def _fall(problem: StatedTraining) -> float:
    """By how much the logarithm of the bound falls in a unit of time, or in a step."""
    rate, step = as_float(problem.asserts[RATE]), problem.step
    return 2 * rate if step is None else -math.log1p(-2 * as_float(step) * rate)


def _run(problem: StatedTraining, last: float) -> tuple[Array, Array, Array]:
    """Times, risks, and risks at test time where the laws there are stated."""
    found = []
    lowest = as_float(problem.asserts[RISK]) * math.exp(-_BELOW * _DEPTH)
    at_test = None if problem.shift is None else _Floats(problem.shift)
    for point in FloatRun(problem.covariance, problem.start, problem.step, drawn=True).points(_STEPS):
        found.append((point.time, point.risk, math.nan if at_test is None else at_test.risk(point.b * point.A)))
        if point.time > last or point.risk < lowest:
            break
    times, risks, shifted = np.array(found).T
    return times, risks, shifted


class _Floats:
    """The laws at test time in doubles."""

    def __init__(self, shift: Shift) -> None:
        self._tokens, self._query, self._tasks = (doubles(M) for M in (shift.tokens, shift.query, shift.tasks))

    def risk(self, product: Array) -> float:
        F = self._tokens @ product - np.eye(len(product))
        return float(np.trace(self._tasks @ F @ self._query @ F.T)) / 2
