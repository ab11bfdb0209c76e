"""Shared by the tests of claims: this folder's helper modules, and a folder with the corpus' array files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# pytest leaves test folders off sys.path here.
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(scope="session")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds every array file of the corpus."""
    from corpus import write_files

    folder = tmp_path_factory.mktemp("arrays")
    write_files(folder)
    return folder
