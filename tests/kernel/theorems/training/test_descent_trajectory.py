"""The claim `descent-trajectory`: its words, broken kernels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from corpus import ACCEPT, REFUTED, Cases, changed, check
from flint import arb, arb_mat, fmpq
from sabotage import Sabotage, noticed

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.theorems.training import context_losses, descent_trajectory
from certattn.kernel.theorems.training.context_losses import ContextLoss, Curvatures, Evaluation, Trained
from certattn.kernel.theorems.training.descent_trajectory import DescentStep

cases = Cases("trajectory_cases")

Tool = Callable[[str], ModuleType]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = " ".join(check(next(one.cases()).text, tmp_path).statement for one in cases.FAMILIES)
    for piece in (
        "be 3 steps theta_(k+1) = theta_k - eta grad R(theta_k) of gradient descent with eta = 0.125 from "
        "A = (0.5) and b = 0.5, the first on R_L and the second on R_inf",
        "2 prompts of 3, 2 tokens in this order (tokens: ((1), (-1), (0.5), (2), (-1.5))",
        "with the tasks w_n: ((1), (-0.5)), Sigma = (1)",
        "for every k = 0, ..., 3, |theta_k^L - theta_k^inf| is at most the bound stated for it (0, 0.01934",
        "|R_L - R_inf|, each at its own iterate, is at most",
        "|grad R_L - grad R_inf|, both at theta_k^inf, is at most 0.191",
        "at k = 3, |theta_k^L - theta_k^inf| is at least 0.0602567 and at most 0.0602568",
        "at k = 3, the distance of theta_k^L from the stated point A = (0.5) and b = 0.5 is at most 0.1233",
        "Sigma = ((1, 0.5), (0.5, 1.25)), the risk over all tasks",
        "all weights within r = 0.035 of theta_k^inf, |grad R_L - grad R_inf| is at most g = 1.56",
        "at most 1 + eta nu with nu = 2.1",
        "one law for each, in this order) tokens of independent signs",
        "2 prompts of 3 tokens (",
        "1 prompt of 1 token (",
    ):
        assert piece in said, piece


def test_prompts_in_files(tmp_path: Path) -> None:
    """The numbers of a case in arrays, and bounds in a vector; another prompt refutes."""
    arrays = {
        "tokens": np.array([[1.0], [-1.0], [0.5], [2.0], [-1.5]]),
        "labels": np.array([[1.0], [-1.0], [0.5], [-1.0], [0.75]], np.float32),
        "bounds": np.array([0, 0.01934, 0.03941, 0.06026]),
    }
    np.savez(tmp_path / "prompts.npz", **arrays)  # type: ignore[arg-type]
    digest = hashlib.sha256((tmp_path / "prompts.npz").read_bytes()).hexdigest()

    def reference(name: str) -> str:
        shape, dtype = list(arrays[name].shape), arrays[name].dtype.name
        return f"{{file: prompts.npz, array: {name}, sha256: {digest}, dtype: {dtype}, shape: {shape}}}"

    text = next(cases.ONE_DIMENSION.cases()).text
    for name, written in (
        ("tokens", "[[1], [-1], [1/2], [2], [-3/2]]"),
        ("labels", "[[1], [-1], [1/2], [-1], [3/4]]"),
        ("bounds", "[0, 0.01934, 0.03941, 0.06026]"),
    ):
        text = changed(text, written, reference(name), name)
    report = check(text, tmp_path)
    assert report.verdict is ACCEPT
    assert "tokens: 5 x 1 from prompts.npz[tokens], labels: 5 x 1 from prompts.npz[labels]" in report.statement
    assert "is at most the bound stated for it (4 numbers from prompts.npz[bounds])" in report.statement
    assert check(changed(text, "[3, 2]", "[2, 3]", "lengths"), tmp_path).verdict is REFUTED


def test_more_bits_where_they_are_needed(tmp_path: Path) -> None:
    """A hundred steps from few bits: the precision is doubled until the distance is known."""
    text = next(cases.ONE_DIMENSION.cases()).text
    text = changed(text, "steps: 3", "steps: 100", "steps")
    text = text[: text.index("asserts:")] + "asserts: {distance: {at_most: [1/2]}}\nwitness: {bits: 16}\n"
    report = check(text, tmp_path)
    assert report.verdict is ACCEPT
    assert report.bits > 16


# -- kernels with one part sabotaged


def _of_first(loss: ContextLoss) -> ContextLoss:
    return ContextLoss(loss.contexts[:1], loss.tasks[:1])


SABOTAGE: dict[str, Sabotage] = {
    "bounds are not looked at": (
        descent_trajectory, "Obligation",
        lambda name, left, relation, right, part=Part.STATEMENT: Obligation(
            name, fmpq(0) if relation == "<=" else left, relation, right, part
        )),
    "points do not move": (
        DescentStep, "of", lambda self, point, of=DescentStep.of: _stay(of(self, point), point)),
    "the distance is 0": (descent_trajectory.Pair, "distance", lambda self: arb(0)),
    "gaps at the other place": (
        descent_trajectory.Pair, "compared", lambda self, at: (self.finite.evaluation, self.infinite.evaluation)),
    "the first prompt only": (
        context_losses, "loss_of", lambda prompts, loss=context_losses.loss_of: _of_first(loss(prompts))),
    "equal weights": (
        context_losses.FinitePrompt, "_weighted",
        lambda self, near: context_losses.WeightedPrompt(self.tokens, [arb(1)] * self._keys.nrows(), arb(0))),
    "no gradient in U": (ContextLoss, "at", lambda self, point, at=ContextLoss.at: _without_u(at(self, point))),
    "no curvature": (ContextLoss, "curvatures", lambda self, around, radius: Curvatures(arb(0), arb(0))),
    "no curvature of the population": (
        descent_trajectory.PopulationLoss, "curvatures", lambda self, around, radius: Curvatures(arb(0), arb(0))),
    "the tube is a line": (
        descent_trajectory, "tube_around",
        lambda pair, radius, step, tube=descent_trajectory.tube_around: tube(pair, radius / 10**9, step)),
    "no growth": (descent_trajectory, "growth", lambda gap, rate, step, steps: gap * 0),
    "a covariance of the first law": (
        descent_trajectory, "tilted_covariance",
        lambda law, tilt: [[arb(int(i == j)) for j in range(law.dimension)] for i in range(law.dimension)]),
}  # fmt: skip


def _stay(image: Enclosure, point: list[arb]) -> Enclosure:
    return Enclosure(list(point), image.error)


def _without_u(found: Evaluation) -> Evaluation:
    U = found.gradient.U
    return Evaluation(found.risk, Trained(arb_mat(U.nrows(), U.ncols()), found.gradient.V))


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


def test_a_rejected_tube_says_nothing_against_the_distance(tmp_path: Path) -> None:
    """A bound that the tube does not prove: everything else is, and the statement is not called false."""
    text = changed(next(cases.TUBE.cases()).text, "gap: 1.56", "gap: 1.3", "gap")
    report = check(text, tmp_path)
    assert report.verdict is Verdict.REJECTED
    assert report.counts["proved"] > 8
    assert report.counts["refuted"] == 0
    assert report.bits == 64
