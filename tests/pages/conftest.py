"""What tests of pages need from npm."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def from_npm(tool: Callable[[str], ModuleType]) -> Callable[[str], None]:
    """Bring a package into the cache. Its absence is a failure where CERTATTN_REQUIRE_NPM is set."""

    def bring(name: str) -> None:
        packages = tool("npm_packages")
        try:
            packages.cached(name)
        except packages.UnavailableError as error:
            why = str(error)
        else:
            return
        assert not os.environ.get("CERTATTN_REQUIRE_NPM"), why
        pytest.skip(why)

    return bring
