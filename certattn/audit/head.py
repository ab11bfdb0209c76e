"""One head on one prompt: what the certificates about it are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import CertattnError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.provers.array_files import open_array_file
from certattn.provers.array_inputs import InFile, placed

ARRAYS = "arrays.npz"
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Head:
    """Queries, keys and values of one head, a row for each token, as they stand in the file ARRAYS of `folder`.

    scale: as certificates write it. causal: whether query i sees the first i + 1 tokens alone. cap: c where scores s
    become c tanh(s / c); no statement of an audit is about such heads.
    """

    folder: Path
    scale: str
    factor: float
    causal: bool
    queries: NDArray[np.float32]
    keys: NDArray[np.float32]
    values: NDArray[np.float32]
    cap: float | None = None

    @property
    def source(self) -> Path:
        return self.folder / ARRAYS

    @property
    def tokens(self) -> int:
        return len(self.keys)

    def references(self, *fields: str) -> dict[str, Plain]:
        """Arrays as certificates in the folder refer to them."""
        file = open_array_file(self.source)
        sources = {name: InFile(file, name) for name in fields}
        with placed(self.folder / "any.yaml", sources, "reference") as found:
            return dict(found)

    @cached_property
    def scores(self) -> Doubles:
        """Query by token, in doubles: to look for what to state."""
        found: Doubles = self.queries.astype(np.float64) @ self.keys.T.astype(np.float64) * self.factor
        return found

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """How many of the first tokens each query sees."""
        count = len(self.queries)
        return np.arange(1, count + 1) if self.causal else np.full(count, self.tokens)


@dataclass
class Statement:
    """What is stated of a head in one respect.

    certificates: files in the head's folder; digests: of their statements, in the same order; figures: from these, as
    they stood when the digests were taken; missing: why there are none, or not all.
    """

    certificates: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True)
class Plan:
    """How something is stated of a head: in which files, how they are written, and the figures that they have.

    `figures` takes the certificates in the order of `files`, and raises Unfit where one is not what is demanded there.
    left: what has no certificate although the rest has.
    """

    files: Sequence[str]
    write: Callable[[], None]
    figures: Callable[[Sequence[Certificate]], dict[str, Any]]
    left: str = ""


class Unfit(Exception):
    """A certificate in a head's folder is not the one that belongs there."""


def asserted(certificate: Certificate, claim: str, given: Mapping[str, Plain]) -> dict[str, Any]:
    """What a certificate asserts, if it is of this claim and about this. Raises Unfit."""
    if certificate.claim != claim or certificate.given.plain() != given:
        raise Unfit(f"{certificate.path}: expected {claim} about this head")
    return mapping(certificate.asserts.plain())


def reason(error: CertattnError) -> str:
    """Why something could not be stated, in one line."""
    return " ".join(str(error).split())


def mapping(node: object) -> dict[str, Any]:
    """A section of a certificate that is a mapping. Raises Unfit."""
    if not isinstance(node, dict):
        raise Unfit(f"a {type(node).__name__} where the certificate has a mapping")
    return node


def number(node: object) -> str:
    """A single number of a certificate, as it stands there. Raises Unfit."""
    rational(node)
    assert isinstance(node, str)
    return node


def rational(node: object) -> fmpq:
    """Its value. Raises Unfit."""
    try:
        return parse_rational(node, DEFAULT_LIMITS) if isinstance(node, str) else _no_number(node)
    except NumberError:
        return _no_number(node)


def _no_number(node: object) -> fmpq:
    raise Unfit(f"a {type(node).__name__} where the certificate has a number")


def numbers(node: object) -> list[str]:
    """A list of numbers. Raises Unfit."""
    if not isinstance(node, list) or not node:
        raise Unfit(f"a {type(node).__name__} where the certificate has a list of numbers")
    return [number(entry) for entry in node]
