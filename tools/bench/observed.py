"""How wide the intervals of `observed-prompt` are, beside the normal approximation with the true variance.

    python tools/bench/observed.py [--prompts 200] [--lengths 100 1000 10000] [--another 1000]

For every law and length the median of half the width over that of the approximation: for one interval, for forty at
once, and, with --another, for the output of another prompt of so many tokens. By the rule in doubles, which
the tests hold against the kernel. The table of docs/claims/prompts/observed-prompt.md is of its defaults.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import norm

from certattn.provers.prompts.observed_rule import Array, interval

_PROBABILITY, _MANY, _TRUTH = 0.05, 40, 2_000_000
_HEAD = (
    Path(__file__).resolve().parents[2]
    / "certificates/prompts/observed-prompt/data/layer0-head6-query-10.npz"
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A law of scores and outputs, with the largest score and the ends of the outputs."""

    name: str
    draw: Callable[[np.random.Generator, int], tuple[Array, Array]]
    top: float
    ends: tuple[float, float]

    def weighed(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        scores, outputs = self.draw(rng, count)
        return np.exp(scores - self.top), outputs

    def spread(self, rng: np.random.Generator) -> float:
        """sigma, of which the variance of T_L is about sigma^2 / L."""
        weights, outputs = self.weighed(rng, _TRUTH)
        limit = weights @ outputs / weights.sum()
        return float((weights * (outputs - limit)).std() / weights.mean())


def _signs(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    x = rng.choice([-1.0, 1.0], (count, 2))
    return x @ np.array([1, 0.5]), x[:, 0]


def _box(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    x = rng.uniform(-1, 1, (count, 4))
    return x @ np.array([1, 0.5, 0.5, 0]), x[:, 0]


def _rare(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    x = np.where(rng.uniform(size=count) < 0.1, 1.0, 0.0)
    return x, x


def _beta(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    x = rng.beta(2, 5, (count, 2))
    return x.sum(axis=1), x[:, 1]


def _head(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    stored = np.load(_HEAD)
    scores = stored["keys"].astype(float) @ stored["queries"][0].astype(float) / np.sqrt(32)
    drawn = rng.integers(0, len(scores), count)
    return scores[drawn], stored["values"][drawn, 0].astype(float)


LAWS = (
    Drawn("two signs", _signs, 1.5, (-1, 1)),
    Drawn("uniform on a box", _box, 2, (-1, 1)),
    Drawn("1 or 0", _rare, 1, (0, 1)),
    Drawn("two beta numbers", _beta, 2, (0, 1)),
    Drawn("tokens of a real head", _head, 3, (-2.5, 2.5)),
)


def ratio(law: Drawn, length: int, prompts: int, at_once: int = 1, another: int = 0) -> float:
    """The median of half the width over that of the approximation."""
    rng = np.random.default_rng(length)
    chance = _PROBABILITY / (2 * at_once)
    found = []
    for _ in range(prompts):
        low, high = interval(*law.weighed(rng, length), law.ends, chance, another)
        found.append((high - low) / 2)
    variance = 1 / length + (1 / another if another else 0)
    return float(np.median(found) / (norm.isf(chance) * law.spread(rng) * variance**0.5))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--another", type=int, default=0)
    asked = parser.parse_args(arguments)
    for law in LAWS:
        for length in asked.lengths:
            # Fewer where prompts are long, and vary less.
            prompts = max(2, min(asked.prompts, asked.prompts * 2000 // length))
            row = [ratio(law, length, prompts, at_once) for at_once in (1, _MANY)]
            row += [ratio(law, length, max(2, prompts // 10), 1, asked.another)] if asked.another else []
            print(f"{law.name:24} {length:7}", *(f"{number:7.2f}" for number in row), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
