"""A true certificate and a false one beside an array file, and a cache to ask."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.cache.cache import Cache, Rest
from certattn.kernel.checker import CheckOptions
from certattn.kernel.reports import Report
from certattn.kernel.worker import Check, check_files

CERTIFICATE = """\
certattn: 1
claim: softmax-mean
given:
  keys: {{file: keys.npy, sha256: {sha256}, dtype: float32, shape: [2, 1]}}
  values: [[0], [1]]
  queries: [[1]]
asserts:
  mean: {{value: [[{value}]], radius: 1e-9}}
provenance:
  note: an example
"""


@dataclass
class Asked:
    """What came of asking: reports, complaints, and the files that had to be checked."""

    reports: list[Report] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> list[str]:
        """Verdicts in words; those that were looked up end in a star."""
        return [report.verdict.value + ("*" if report.cached else "") for report in self.reports]


Ask = Callable[..., Asked]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's cache, which is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path / "home" / "certattn"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `true.yaml` and `false.yaml` about `keys.npy`."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    np.save("keys.npy", np.zeros((2, 1), "float32"))
    sha256 = hashlib.sha256(Path("keys.npy").read_bytes()).hexdigest()
    Path("true.yaml").write_text(CERTIFICATE.format(sha256=sha256, value="1/2"))
    Path("false.yaml").write_text(CERTIFICATE.format(sha256=sha256, value="0.6"))
    return work


@pytest.fixture
def ask(folder: Path) -> Ask:
    """Check files with a cache that is opened anew; `before` happens between the look-up and the checks."""

    def run(
        *paths: str,
        options: CheckOptions | None = None,
        cache_dir: Path | None = None,
        before: Callable[[], object] = lambda: None,
        rest: Rest | None = None,
        **more: Any,
    ) -> Asked:
        asked = Asked()
        options = options or CheckOptions()

        def check_rest(left: Sequence[Path], check: Check) -> Iterator[Report]:
            asked.checked += map(str, left)
            before()
            return check_files(left, options, check=check) if rest is None else rest(left, check)

        cache = Cache(cache_dir, asked.told.append)
        asked.reports = list(cache.reports([Path(path) for path in paths], options, check_rest, **more))
        return asked

    return run


@pytest.fixture
def entries(home: Path) -> Callable[[], list[Path]]:
    """The files of all entries."""
    return lambda: sorted(home.glob("*/*"))
