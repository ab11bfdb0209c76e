"""Whether certificates of `stochastic-descent` and `full-batch-descent` may be true: runs over infinitely long prompts.

There the mean of a softmax is Sigma A x, and the gradient on a prompt a polynomial. What is stated of every length from
one on holds of these up to any error, so that what they contradict is false; all else is open. Shares no code with the
kernel.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import (
    read_count,
    read_covariance,
    read_number,
    read_positive,
    read_table,
    require,
    require_record,
)

Array = np.ndarray[Any, Any]

_SEED, _RUNS = 1, 400
# Of larger batches no noise is left to speak of; more numbers than this are not drawn.
_LARGEST_BATCH, _MOST_DRAWS = 3000, 20_000_000
_MOST_TOKENS, _MOST_STEPS, _MOST_PROMPTS = 10**9, 1000, 10**15
# Beyond this a run has left.
_FAR = 1e6


def judge_drawn(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where the runs say so; else open."""
    require_record(given, "given", {"covariance", "start", "length", "step", "steps", "batch"})
    require(2 <= read_count(given["length"]) <= _MOST_TOKENS, "the length")
    require_record(witness, "witness", {"radius"})
    read_positive(witness["radius"])
    return judge_runs(given, asserts, folder, read_count(given["batch"]), again=False)


def judge_full_batch(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """The same, of prompts that every step uses again: the claim `full-batch-descent`."""
    require_record(given, "given", {"covariance", "start", "step", "steps", "prompts"})
    require_record(witness, "witness", {"radius", "spread"}, {"settled"})
    for name in ("radius", "spread"):
        read_positive(witness[name])
    if "settled" in witness:
        require_record(witness["settled"], "settled", {"after", "within"})
        require(1 <= read_count(witness["settled"]["after"]) <= _MOST_STEPS, "the end of the tube")
        read_positive(witness["settled"]["within"])
    return judge_runs(given, asserts, folder, read_count(given["prompts"]), again=True)


def judge_runs(given: Any, asserts: Any, folder: Path, batch: int, *, again: bool) -> Judgement:
    """What both have in common."""
    covariance = read_covariance(given["covariance"], folder)
    size = len(covariance)
    require_record(given["start"], "start", {"A", "b"})
    A, b = read_table(given["start"]["A"], folder), read_number(given["start"]["b"])
    require((len(A), len(A[0])) == (size, size), "A of another shape")
    steps, step = read_count(given["steps"]), read_positive(given["step"])
    require(1 <= steps <= _MOST_STEPS and 1 <= batch <= _MOST_PROMPTS, "steps and prompts")
    require_record(asserts, "asserts", {"risk", "probability"})
    risk, probability = read_positive(asserts["risk"]), read_positive(asserts["probability"])
    require(probability < 1, "a probability of 1")
    start = tuple(tuple(float(x) for x in row) for row in A)
    risks = ends(
        tuple(tuple(float(x) for x in row) for row in covariance), start, float(b), float(step), steps, batch, again
    )
    share = float(np.mean(risks > float(risk) * 1.001 + 1e-9))
    error = (max(share, 1 / len(risks)) / len(risks)) ** 0.5
    if share > float(probability) + (4 * error if len(risks) > 1 else 0):
        return Judgement(Truth.FALSE, 0.0, "the risk")
    return Judgement(Truth.OPEN)


@lru_cache(maxsize=256)
def ends(
    covariance: Any, A: Any, b: float, step: float, steps: int, batch: int, again: bool = False, most: int = _RUNS
) -> Array:
    """The risk at the end of every run; of the run without noise where the batch is large.

    Prompts are drawn for every step, or once and used `again`.
    """
    Sigma, size = np.array(covariance), len(covariance)
    exact = batch > _LARGEST_BATCH or batch * steps * size * most > _MOST_DRAWS
    runs = 1 if exact else most
    rng, root = np.random.default_rng(_SEED), np.linalg.cholesky(Sigma)
    at, factor = np.repeat(np.array(A)[None], runs, axis=0), np.full(runs, b)
    for k in range(steps):
        off = factor[:, None, None] * (Sigma @ at) - np.eye(size)
        if exact:
            inner = Sigma @ off @ Sigma
            along_A, along_b = factor[:, None, None] * inner, (at * inner).sum(axis=(1, 2))
        else:
            if k == 0 or not again:
                x, w = rng.normal(size=(runs, batch, size)) @ root.T, rng.normal(size=(runs, batch, size))
            error = np.einsum("rmi,rij,rmj->rm", w, off, x)
            along_A = factor[:, None, None] * np.einsum("rm,rmi,rmj->rij", error, w @ Sigma, x) / batch
            along_b = (error * np.einsum("rmi,rij,rmj->rm", w, Sigma @ at, x)).mean(axis=1)
        at, factor = np.clip(at - step * along_A, -_FAR, _FAR), np.clip(factor - step * along_b, -_FAR, _FAR)
    off = factor[:, None, None] * (Sigma @ at) - np.eye(size)
    return np.asarray(np.einsum("rij,jk,rik->r", off, Sigma, off) / 2)
