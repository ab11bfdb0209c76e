"""The scripts of the arena, and its corpus as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@dataclass(frozen=True)
class Corpus:
    """Every entry, and the folder that their files lie in."""

    folder: Path
    entries: list[Any]

    def text(self, file: str) -> str:
        return (self.folder / file).read_bytes().decode()


@pytest.fixture(scope="session")
def corpora(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("arena.files")


@pytest.fixture(scope="session")
def checkers(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("arena.checkers")


@pytest.fixture(scope="session")
def arena(tool: Callable[[str], ModuleType], corpora: ModuleType, checkers: ModuleType) -> ModuleType:
    return tool("arena.arena")


@pytest.fixture(scope="session")
def corpus(corpora: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    return Corpus(folder, corpora.write(folder))
