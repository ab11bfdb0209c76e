"""Shared by the tests of claims: the families of cases, a folder with the corpus' array files, and
the script that changes certificates."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

# pytest leaves test folders off sys.path here. The second has the errors of doubles, which one chapter looks at too.
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[2] / "fast"))

from corpus import write_files  # this makes the families of the chapters importable, too

# What is asked of every claim alike, over hundreds of changed certificates or with broken kernels over all cases.
HEAVY = (
    "test_no_mutant", "test_the_sweep_notices", "test_a_sabotaged_kernel", "test_a_broken_part",
    "test_what_the_corpus_expects_is_true",
)  # fmt: skip


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.name.startswith(HEAVY):
        item.add_marker("heavy")


@pytest.fixture(scope="session")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds every array file of the corpus."""
    folder = tmp_path_factory.mktemp("arrays")
    write_files(folder)
    return folder


@pytest.fixture(scope="session")
def truth(tool: Callable[[str], ModuleType]) -> ModuleType:
    """`tools/truth/certificate.py`, a second opinion on certificates."""
    return tool("truth.certificate")


@pytest.fixture(scope="session")
def mutate(truth: ModuleType, tool: Callable[[str], ModuleType]) -> ModuleType:
    """`tools/mutation/mutate_certificates.py`, which asks it."""
    return tool("mutation.mutate_certificates")
