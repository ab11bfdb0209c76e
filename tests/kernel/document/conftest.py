"""What the tests of the document layer share: reading a field from a line of YAML, and looking at refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from certattn.kernel.document.reader import parse_tree
from certattn.kernel.document.schema import Kind, Reading
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch

FILE = "cert.yaml"


class ReadField(Protocol):
    def __call__(self, kind: Kind[Any], text: str, limits: Limits = ..., root: Path | None = ...) -> Any: ...


class Refused(Protocol):
    def __call__(self, action: Callable[[], object], *, found: str, expected: str, at: str | None = ...) -> str: ...


@pytest.fixture
def read_field(tmp_path: Path) -> ReadField:
    """The value of a field that stands under the key `a` of a certificate in `tmp_path`."""

    def read(kind: Kind[Any], text: str, limits: Limits = DEFAULT_LIMITS, root: Path | None = None) -> Any:
        node = parse_tree(text, FILE, limits).value
        assert isinstance(node, dict)
        return kind.read(node["a"], Reading(limits, tmp_path, root or tmp_path, Watch()))

    return read


@pytest.fixture
def refused() -> Refused:
    """The message of a refusal, after looking at every part of it."""

    def look(action: Callable[[], object], *, found: str, expected: str, at: str | None = None) -> str:
        with pytest.raises(MalformedError) as caught:
            action()
        error, message = caught.value, str(caught.value)
        assert found in error.found, error.found
        assert expected in error.expected, error.expected
        if at is not None:
            assert str(error.place) == at
        assert message.startswith(f"{error.place}\n  found:    {error.found}\n  expected: {error.expected}")
        assert_fit_for_a_terminal(message)
        return message

    return look


def assert_fit_for_a_terminal(message: str) -> None:
    assert message.replace("\n", "").isprintable(), ascii(message)
    assert len(message) < 2000


@pytest.fixture
def node() -> Node:
    """Some node, where only its place matters."""
    return Node(FILE, 7, "text", Node(FILE, 1, {}), "given")
