"""What a slot is made of, and that it believes no prover."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.slot import agreed, done
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task
from certattn.writing import to_text

from .conftest import OPERATOR

TRUE: dict[str, Any] = {
    "certattn": "1",
    "claim": "infinite-prompt-operator",
    "given": {"law": {"kind": "gaussian", "mean": ["0"], "covariance": [["1"]]}, "V": [["-1"]]},
    "asserts": {"operator": {"matrix": [["-1"]], "offset": ["0"]}},
}
FALSE = {**TRUE, "asserts": {"operator": {"matrix": [["-2"]], "offset": ["0"]}}}


def test_a_slot_imports_no_prover() -> None:
    script = "import sys; from certattn.sweep import slot; slot._warm(); print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    assert "certattn.isolation.worker" in modules
    assert not [name for name in modules if name.startswith(("certattn.provers", "certattn.sweep.maker", "scipy"))]


def made_by(content: dict[str, Any]) -> Callable[[Task, Path, Settings], dict[str, Any]]:
    """A maker that writes a certificate, and says that all is well."""

    def make(task: Task, folder: Path, settings: Settings) -> dict[str, Any]:
        (folder / CERTIFICATE).write_text(to_text(content))
        (folder / "result.json").write_text('{"report": {"verdict": "verified"}}')
        from certattn.kernel.document.certificate import load

        return {"digest": load(folder / CERTIFICATE).digest, "verdict": "verified"}

    return make


def test_a_false_certificate_is_refuted_whatever_its_maker_says(spec: Callable[[str], Spec], tmp_path: Path) -> None:
    for task in spec(OPERATOR).tasks()[:3]:
        for content, verdict in ((TRUE, Verdict.VERIFIED), (FALSE, Verdict.REFUTED)):
            folder = tmp_path / f"{task.position}-{verdict.value}"
            folder.mkdir()
            assert done(task, folder, Settings(), made_by(content)).report.verdict is verdict


def test_each_check_has_a_process_of_its_own(
    spec: Callable[[str], Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def counted(paths: Sequence[Path], options: CheckOptions) -> Any:
        counts.append(len(paths))
        return check_files(paths, options)

    monkeypatch.setattr("certattn.sweep.slot.check_files", counted)
    for task in spec(OPERATOR).tasks()[:3]:
        done(task, tmp_path, Settings(), made_by(TRUE))
    assert counts == [1, 1, 1]


@pytest.mark.parametrize(
    ("checked", "said", "verdict"),
    [
        ("a", Verdict.VERIFIED, Verdict.VERIFIED),
        ("b", Verdict.VERIFIED, Verdict.ERROR),
        ("", Verdict.VERIFIED, Verdict.ERROR),
        ("", Verdict.MALFORMED, Verdict.MALFORMED),
    ],
    ids=["the same", "another", "none", "none, of a file that cannot be read"],
)
def test_the_statement_that_was_made_is_the_one_that_is_checked(checked: str, said: Verdict, verdict: Verdict) -> None:
    assert agreed(Report("", said, digest=checked), "a").verdict is verdict
