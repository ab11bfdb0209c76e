"""Certificates small enough to be proved by Coq in a moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import certattn
from certattn.kernel.document.certificate import Certificate

ROOT = Path(__file__).resolve().parent.parent.parent
GALLERY = ROOT / "certificates"

KEYS = "keys: [[0, 1], [1, 0], [1/3, -2]]\n  values: [[1], [2], [-1/2]]\n  queries: [[1, 1/2], [0, -1]]"
TOKENS = (
    "tokens: [[0, 1], [1, 0], [1/3, -2]]\n  K: [[1, 1], [0, 1/2]]\n  Q: [[1, 0], [1/3, 1]]\n  V: [[1, -1]]\n"
    "  queries: [[1, 1/2], [0, -1]]"
)
BILINEAR = "tokens: [[0, 1], [1, 0]]\n  U: [[1], [1/2]]\n  V: [[1, -1], [2, 0]]\n  queries: [[1], [-1/2]]"
DEVIATION = "deviation: {norm: NORM, at_most: 10, at_least: 1/1000000, per_query: {at_most: [8, 9], at_least: [0, 0]}}"
AFFINE = "{kind: affine, matrix: [[1, 1]], offset: [1/7], scale: sqrt(1/3)}"
ATOMS = "{kind: law, law: {kind: atoms, points: [[0, 1, 1], [1, 0, 2]], weights: [1/3, 2/3]}}"
TOKEN_ATOMS = "{kind: law, law: {kind: atoms, points: [[0, 1], [1, 0]]}}"
GAUSSIAN = "{kind: law, law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}}"


def deviation(prompt: str, limit: str, norm: str = "linf", scale: str = "1") -> str:
    given = f"{prompt}\n  scale: {scale}\n  limit: {limit}"
    return f"certattn: 1\nclaim: output-deviation\ngiven:\n  {given}\nasserts:\n  {DEVIATION.replace('NORM', norm)}\n"


def mean(prompt: str, asserts: str, scale: str) -> str:
    return f"certattn: 1\nclaim: softmax-mean\ngiven:\n  {prompt}\n  scale: {scale}\nasserts:\n  {asserts}\n"


# Every form of a prompt, a scale, a limit and an assertion at least once.
SMALL = {
    "keys-empirical": deviation(KEYS, "{kind: empirical}", "l2", "1/sqrt(2)"),
    "keys-affine": deviation(KEYS, AFFINE, "linf", "-3/7"),
    "keys-atoms": deviation(KEYS, ATOMS, "l2", "sqrt(3)"),
    "tokens-atoms": deviation(TOKENS, TOKEN_ATOMS),
    "tokens-gaussian": deviation(TOKENS, GAUSSIAN),
    "bilinear-empirical": deviation(BILINEAR, "{kind: empirical}", "l2", "1/4"),
    "mean": mean(
        TOKENS,
        "mean: {value: [[0], [0]], radius: [5, 6]}\n"
        "  covariance: {of: values-keys, value: [[[0, 0]], [[1, 0]]], radius: 30}\n"
        "  log_normaliser: {value: [1, 3/2], radius: 9}",
        "1/3",
    ),
}
MASKED = deviation(TOKENS, "{kind: empirical}", "l2", "1/sqrt(2)").replace("  limit:", "  causal: 2\n  limit:")
SMALL |= {
    "tokens-masked-empirical": MASKED,
    "keys-masked-affine": deviation(KEYS, AFFINE).replace("  limit:", "  causal: 1\n  limit:"),
    "eigenvalues": mean(KEYS, "eigenvalues: {of: keys, at_least: [1/1000, 1/100], at_most: 9}", "1/2"),
    "eigenvalues-tokens": mean(TOKENS, "mean: {value: [[0], [0]], radius: 9}\n  eigenvalues: {at_most: [9, 8]}", "1"),
    "relative": MASKED.replace("per_query: {", "relative_at_most: 9, per_query: {relative_at_most: [8, 9], "),
    "relative-linf": deviation(BILINEAR, "{kind: empirical}", "linf", "4").replace(
        "at_most: 10,", "relative_at_most: 20,"
    ),
}
# The smallest eigenvalue is 1.5e-7.
PROPORTIONAL = mean(
    "keys: [[0, 0, 0], [1, 2, 3], [2, 4.001, 6], [3, 6, 9.001], [1.001, 2, 3]]\n"
    "  values: [[1], [2], [3], [4], [5]]\n  queries: [[0, 1/2, -1/3]]",
    "eigenvalues: {of: keys, at_least: 1e-8}",
    "1",
)
FALSE_MEAN = mean(KEYS, "mean: {value: [[0], [0]], radius: RADIUS}", "1/2")

Read = Callable[[str], Certificate]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A certificate from its text, in a file of its own."""

    def reading(text: str) -> Certificate:
        path = tmp_path / "certificate.yaml"
        path.write_text(text)
        return certattn.load(path)

    return reading
