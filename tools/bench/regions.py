"""How sharp and how slow the bound over a ball of queries is, in dimension 1 to 8.

    python tools/bench/regions.py [--prompts 4] [--tokens 1000] [--cells 200]

A prompt of Gaussian tokens with K = Q = V = I, a Gaussian query, and the ball around it in which the
deviation from the linear map of the prompt's moments changes by half: where it is 1.5 times what it is at
the centre, or half of it. The bound over the ball is compared with the largest deviation that a search
finds, once with the ball as one cell, once with so many cells.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix, covariance
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.cells import Ball, Deviation
from certattn.provers.attention.region_search import search

Array = np.ndarray[Any, Any]


def gaussian(dimension: int, prompt: int = 0, tokens: int = 1000) -> tuple[Array, Array]:
    """Tokens and a query, numbers of single precision."""
    draw = np.random.default_rng(100 + dimension + 1000 * prompt)
    arrays = draw.normal(size=(tokens, dimension)), draw.normal(size=dimension)
    first, second = (array.astype(np.float32).astype(np.float64) for array in arrays)
    return first, second


def deviation(tokens: Array) -> Deviation:
    """Of these tokens from the linear map of their moments, exactly."""
    matrix = exact(tokens)
    limit = AffineMap(covariance(matrix, matrix), matrix.mean_row(), fmpq(1))
    return Deviation(Prompt(matrix, matrix, fmpq(1)), limit)


def exact(table: Array) -> ExactMatrix:
    return ExactMatrix.rational(
        [[fmpq(*float(entry).as_integer_ratio()) for entry in row] for row in np.atleast_2d(table)]
    )


def ball(centre: Array, radius: float) -> Ball:
    return Ball(exact(centre), fmpq(*radius.as_integer_ratio()))


def range_over_ball(tokens: Array, centre: Array, radius: float, rounds: int = 12) -> tuple[float, float]:
    """The smallest and the largest deviation that points of the sphere, and steps from the best of them, give."""
    draw = np.random.default_rng(0)
    slope = np.cov(tokens.T, bias=True).reshape(len(centre), -1)

    def sizes(queries: Array) -> Array:
        scores = queries @ tokens.T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        return np.asarray(np.linalg.norm(weights @ tokens - tokens.mean(0) - queries @ slope.T, axis=1))

    x = draw.normal(size=(600, len(centre)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found, step = sizes(centre + radius * x), 0.4
    best, largest, smallest = x[found.argmax()], found.max(), found.min()
    for _ in range(rounds):
        y = best + step * draw.normal(size=(60, len(centre)))
        y /= np.maximum(1, np.linalg.norm(y, axis=1, keepdims=True))
        found = sizes(centre + radius * y)
        if found.max() > largest:
            best, largest = y[found.argmax()], found.max()
        step *= 0.6
    return float(smallest), float(largest)


def half_radius(tokens: Array, centre: Array) -> float:
    """The radius at which the deviation changes by half, up or down."""
    _, at_centre = range_over_ball(tokens, centre, 0.0, rounds=0)
    low, high = 0.0, 4.0
    for _ in range(12):
        middle = (low + high) / 2
        smallest, largest = range_over_ball(tokens, centre, middle, rounds=4)
        changed = largest > 1.5 * at_centre or smallest < 0.5 * at_centre
        low, high = (low, middle) if changed else (middle, high)
    return low


def one_cell(found: Deviation, region: Ball) -> tuple[float, float]:
    """The bound over the ball as one cell, and the seconds it takes: the least of five times."""
    cell, seconds = region.cell(None), []
    with working_precision(64):
        for _ in range(5):
            start = time.process_time()
            upper = found.over(cell, "l2").upper
            seconds.append(time.process_time() - start)
    return float(upper.upper()), min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--cells", type=int, default=200)
    options = parser.parse_args()
    print(f"bound / largest deviation found, {options.tokens} tokens; medians of {options.prompts} prompts and worst\n")
    print(f"{'d':>2}{'radius':>9}{'one cell':>18}{f'{options.cells} cells':>18}{'ms per cell':>14}")
    for dimension in range(1, 9):
        rows = []
        for prompt in range(options.prompts):
            tokens, centre = gaussian(dimension, prompt, options.tokens)
            radius = half_radius(tokens, centre)
            exactly, region = deviation(tokens), ball(centre, radius)
            upper, seconds = one_cell(exactly, region)
            cut = search(region, exactly, "l2", options.cells, None)
            largest = max(range_over_ball(tokens, centre, radius)[1], cut.lower)
            rows.append((radius, upper / largest, cut.upper / largest, 1e3 * seconds))
        radius, one, many, ms = (statistics.median(column) for column in zip(*rows, strict=True))
        shown = [f"{middle:.3f} ({max(row[place] for row in rows):.3f})" for place, middle in ((1, one), (2, many))]
        print(f"{dimension:>2}{radius:>9.3f}{shown[0]:>18}{shown[1]:>18}{ms:>14.1f}")


if __name__ == "__main__":
    main()
