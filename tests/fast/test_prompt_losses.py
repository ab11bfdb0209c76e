"""The loss over prompts in binary64, its derivatives and their bounds, against Arb at many bits."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.fast.prompt_losses import Eigenvalues, PromptLoss, Prompts, grouped
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.training.context_losses import ContextLoss, FinitePrompt, Trained, tasks_of

BITS = 300
# Prompts, lengths, dimensions of keys, queries and values, outputs, and the size of everything.
SHAPES = {
    "regression": ([5, 5, 3], 2, 2, 1, 1, 1.0),
    "attention": ([4, 7], 3, 2, 2, 2, 1.0),
    "one token": ([1], 2, 2, 1, 1, 1.0),
    "large scores": ([9, 9], 2, 2, 1, 1, 2.0),
    "small": ([6] * 4, 2, 3, 2, 1, 1e-6),
}


def exact(table) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in table])


class Instance:
    """The same loss in both arithmetics, at a point."""

    def __init__(self, name: str, seed: int) -> None:
        self.lengths, d_k, d_q, d_v, outputs, size = SHAPES[name]
        rng = np.random.default_rng(seed)
        total, count = sum(self.lengths), len(self.lengths)
        self.keys, self.values, self.queries, self.targets, self.U, self.V = (
            rng.standard_normal(shape) * size
            for shape in ((total, d_k), (total, d_v), (count, d_q), (count, outputs), (d_k, d_q), (outputs, d_v))
        )
        groups = grouped(self.keys, self.values, self.lengths, self.queries, self.targets)
        self.loss = PromptLoss(groups)
        stops = np.cumsum(self.lengths)
        prompts = [
            Prompt(exact(self.keys[stop - n : stop]), exact(self.values[stop - n : stop]), fmpq(1))
            for n, stop in zip(self.lengths, stops.tolist(), strict=True)
        ]
        with working_precision(BITS):
            asked = tasks_of(exact(self.queries), exact(self.targets))
            self.sharp = ContextLoss([FinitePrompt(prompt) for prompt in prompts], asked)

    def gradient(self, moved: list[arb]) -> list[arb]:
        """Of the point moved so far, at many bits."""
        at = Trained.around(exact(self.U), exact(self.V))
        return self.sharp.at(
            at.around_all([x + y for x, y in zip(at.entries(), moved, strict=True)])
        ).gradient.entries()

    def hessian(self, moved: list[arb]) -> np.ndarray:
        """Differences of gradients: right to 2^-100 and less."""
        size, step = len(moved), arb(2) ** -100
        rows = []
        for j in range(size):
            ahead, behind = (
                self.gradient([x + sign * step * int(i == j) for i, x in enumerate(moved)]) for sign in (1, -1)
            )
            rows.append([float((x - y) / (2 * step)) for x, y in zip(ahead, behind, strict=True)])
        return np.array(rows)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_everything_is_within_its_bound_and_the_bounds_are_small(name: str, seed: int) -> None:
    one = Instance(name, seed)
    found = one.loss.at(one.U, one.V)
    with working_precision(BITS):
        sharp = one.sharp.at(Trained.around(exact(one.U), exact(one.V)))
        assert (abs(sharp.risk - found.risk) <= found.risk_error) is True
        off = [x - y for x, y in zip(sharp.gradient.entries(), found.gradient.tolist(), strict=True)]
        assert (sum((x * x for x in off), arb(0)) <= arb(found.gradient_error) ** 2) is True
        rest = [arb(0)] * len(off)
        hessian = one.hessian(rest)
        assert np.linalg.norm(hessian - found.hessian, 2) <= found.hessian_error + 1e-15 * np.abs(hessian).max()
        rng = np.random.default_rng(seed)
        for _ in range(4):
            along = rng.standard_normal(len(off))
            along *= found.reach / np.linalg.norm(along)
            turned = one.hessian([arb(x) for x in along.tolist()])
            assert np.linalg.norm(turned - hessian, 2) <= found.third * found.reach
    size = max(1.0, np.abs(one.keys).max()) ** 2 * max(1.0, np.abs(one.values).max()) ** 2
    assert found.gradient_error <= 1e-9 * size


@pytest.mark.parametrize("seed", range(20))
def test_ends_of_eigenvalues(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept = Eigenvalues()
    matrix = rng.standard_normal((6, 6)) * 10.0 ** rng.integers(-3, 4)
    matrix = matrix + matrix.T
    for _ in range(6):
        # Some are so near that the eigenvalues before serve again.
        change = rng.standard_normal((6, 6)) * 10.0 ** rng.integers(-8, -2)
        matrix = matrix + change + change.T
        upward, downward = kept.ends(matrix, 1e-9)
        values = np.linalg.eigvalsh(matrix)
        assert upward >= max(values[-1], 0) + 1e-9
        assert downward >= max(-values[0], 0) + 1e-9
        assert upward <= max(values[-1], 0) + 2e-4
        assert downward <= max(-values[0], 0) + 2e-4


def table(*shape: int) -> np.ndarray:
    return np.ones(shape)


REFUSED = {
    "not finite": (np.full((1, 2, 1), np.nan), table(1, 2, 1), table(1, 1), table(1, 1)),
    "large": (table(1, 2, 1) * 1e13, table(1, 2, 1), table(1, 1), table(1, 1)),
    "far apart": (np.array([[[400.0], [0.0]]]), table(1, 2, 1), table(1, 1), table(1, 1)),
    "large targets": (table(1, 2, 1), table(1, 2, 1), table(1, 1), table(1, 1) * np.inf),
}


@pytest.mark.parametrize("arrays", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(arrays: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(RefusedError):
        PromptLoss([Prompts(*arrays)]).at(table(1, 1), table(1, 1))


def test_weights_that_are_not_finite() -> None:
    loss = PromptLoss([Prompts(table(1, 2, 1), table(1, 2, 1), table(1, 1), table(1, 1))])
    for U, V in ((np.nan, 1.0), (1.0, np.inf), (1e30, 1.0)):
        with pytest.raises(RefusedError):
            loss.at(np.array([[U]]), np.array([[V]]))
