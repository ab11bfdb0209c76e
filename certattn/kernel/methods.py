"""Which methods a check has used: modules that only some proofs need, imported by the functions that call them.

What a verdict rests on is listed by what its check has run. A module whose functions note their use is listed where
they did; every other one wherever it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_USED: ContextVar[set[str]] = ContextVar("used")


def method(function: Callable[P, R]) -> Callable[P, R]:
    """A function by which a proof enters a module that not every proof needs."""

    @wraps(function)
    def noted(*args: P.args, **kwargs: P.kwargs) -> R:
        used = _USED.get(None)
        if used is not None:
            used.add(function.__module__)
        return function(*args, **kwargs)

    return noted


@contextmanager
def noting_methods() -> Iterator[set[str]]:
    """The names of the modules that are entered in the meantime."""
    used = set[str]()
    token = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(token)
