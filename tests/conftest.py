"""Fixtures for every test."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def tool() -> Callable[[str], ModuleType]:
    """A script of `tools/` as a module, by name."""

    def load(name: str) -> ModuleType:
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        # Scripts import each other, as they do when they are run.
        if str(ROOT / "tools") not in sys.path:
            sys.path.append(str(ROOT / "tools"))
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their module up by name while it is being executed.
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def not_root() -> AbstractContextManager[None]:
    """A block whose file accesses are those of an ordinary user, for whoever runs the tests."""

    @contextmanager
    def ordinary() -> Iterator[None]:
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(before)

    return ordinary()
