"""What a slot is made of, and that it believes no prover."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.document.writer import to_text
from certattn.kernel.reports import Report
from certattn.kernel.verdict import Verdict
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.slot import agreed, done
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task

from .conftest import OPERATOR

FALSE: dict[str, Any] = {
    "certattn": "1",
    "claim": "infinite-prompt-operator",
    "given": {"law": {"kind": "gaussian", "mean": ["0"], "covariance": [["1"]]}, "V": [["-1"]]},
    "asserts": {"operator": {"matrix": [["-2"]], "offset": ["0"]}},
}


def test_a_slot_imports_no_prover() -> None:
    script = "import sys; from certattn.sweep import slot; slot._warm(); print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    assert "certattn.kernel.worker" in modules
    assert not [name for name in modules if name.startswith(("certattn.provers", "certattn.sweep.maker", "scipy"))]


def test_a_false_certificate_is_refuted_whatever_its_maker_says(spec: Callable[[str], Spec], tmp_path: Path) -> None:
    task = spec(OPERATOR).tasks()[0]

    def lie(task: Task, folder: Path, settings: Settings) -> dict[str, Any]:
        (folder / CERTIFICATE).write_text(to_text(FALSE))
        (folder / "result.json").write_text('{"report": {"verdict": "verified"}}')
        from certattn.kernel.document.certificate import load

        return {"digest": load(folder / CERTIFICATE).digest, "verdict": "verified"}

    assert done(task, tmp_path, Settings(), lie).report.verdict is Verdict.REFUTED


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
