"""Measure displays of propositions 3.1 and 3.4: the right side over the mean square of random prompts and queries.

    python tools/bench/displays.py
    python tools/bench/displays.py CERTIFICATE... --lengths 2 10 100

For every repaired certificate about stated laws: the ratio at each length, and `form`, the ratio at 100 tokens of the
least display with this c2 that is true of 2 to 1000 tokens: what is lost to the form and not to the proof. For box and
Gaussian tokens, with prompts drawn and the infinite prompt in closed form; estimates, not certified.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import load
from certattn.kernel.mathematics.laws import Box
from certattn.kernel.theorems.prompts import proposition_3_1, proposition_3_4
from certattn.kernel.theorems.prompts.propositions import REPAIRED, Display, Error, StatedDisplay
from certattn.provers.rounding import as_float

Array = np.ndarray[Any, Any]
FOLDER = Path(__file__).resolve().parents[2] / "certificates" / "prompts"
THEOREMS = {each.name: each for each in (proposition_3_1.THEOREM, proposition_3_4.THEOREM)}
LENGTHS = (2, 3, 5, 10, 30, 100, 1000)
# Draws at a length: so many tokens, within bounds.
_TOKENS, _FEWEST, _MOST = 8_000_000, 4_000, 400_000
_AT_ONCE = 400_000


def array(matrix: Any) -> Array:
    return np.array([[as_float(x) for x in row] for row in matrix.to_rows()])


def drawn(law: Any, covariance: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if isinstance(law, Box):
        sizes = np.array([as_float(c) for c in law.sizes])
        return rng.uniform(-1, 1, (*shape, len(sizes))) * sizes
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, shape, method="eigh")


def limits(law: Any, covariance: Array, a: Array) -> tuple[Array, Array]:
    """The tilted mean and covariance at the rows of a."""
    if not isinstance(law, Box):
        return a @ covariance, np.broadcast_to(covariance, (len(a), *covariance.shape))
    sizes = np.array([as_float(c) for c in law.sizes])
    y = np.where(np.abs(a * sizes) < 1e-4, 1e-4, a * sizes)
    variances = sizes**2 * (1 / y**2 - 1 / np.sinh(y) ** 2)
    return sizes * (1 / np.tanh(y) - 1 / y), variances[:, :, None] * np.eye(len(sizes))


def mean_square(stated: StatedDisplay, length: int) -> tuple[float, float]:
    """Of the error, and its standard error."""
    setting, rng = stated.setting, np.random.default_rng(length)
    C, S, U, V = map(array, (setting.covariance, setting.query_covariance, setting.U, setting.read_out(stated.error)))
    root, found = np.sqrt(as_float(setting.squared_scale)), []
    wanted = min(_MOST, max(_FEWEST, _TOKENS // length))
    for _ in range(-(-wanted * length // _AT_ONCE)):
        count = max(1, min(wanted, _AT_ONCE // length))
        x, z = drawn(setting.law.law, C, (count, length), rng), drawn(setting.queries.law, S, (count,), rng)
        a = root * z @ U.T
        tau, limit = limits(setting.law.law, C, a)
        scores = np.einsum("nld,nd->nl", x, a)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("nl,nld->nd", p, x)
        if stated.error is Error.GRADIENT_U:
            weighed = np.einsum("nl,nli,nlj->nij", p, x, x) - np.einsum("ni,nj->nij", mean, mean)
            found.append(root**2 * ((V @ (weighed - limit)) ** 2).sum(axis=(1, 2)) * (z**2).sum(axis=1))
        else:
            found.append((((mean - tau) @ V.T) ** 2).sum(axis=1))
    squares = np.concatenate(found)
    return float(squares.mean()), float(squares.std() / np.sqrt(len(squares)))


def measured(path: Path, lengths: list[int]) -> str:
    certificate = load(path)
    stated = THEOREMS[certificate.claim].read(certificate)
    if not isinstance(stated, StatedDisplay) or REPAIRED not in stated.asserts or stated.setting.sigma is None:
        return ""
    display = Display.of(stated.asserts[REPAIRED], stated.setting.sigma, stated.error)
    c1, rho, sigma = as_float(display.c1), as_float(display.rho), as_float(display.sigma)

    def form(length: int) -> float:
        return float((sigma**6 * np.log(length)) ** display.power / length**rho)

    squares = {length: mean_square(stated, length)[0] for length in {*lengths, 100}}
    ratios = " ".join(f"{c1 * form(length) / squares[length]:9.4g}" for length in lengths)
    least = max(squares[length] / form(length) for length in squares)
    return f"{path.stem:24} {c1:9.5g} {rho:7.4g} {ratios} {least * form(100) / squares[100]:9.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Displays over simulated mean squares.")
    parser.add_argument("certificates", nargs="*", type=Path)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    options = parser.parse_args()
    paths = options.certificates or sorted(FOLDER.glob("proposition-3-*/repaired-*.yaml"))
    print(f"{'':24} {'c1':>9} {'rho':>7} {' '.join(f'{length:9}' for length in options.lengths)} {'form':>9}")
    for path in paths:
        line = measured(path, options.lengths)
        if line:
            print(line, flush=True)


if __name__ == "__main__":
    main()
