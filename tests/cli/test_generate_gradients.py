"""`certattn generate gradient-mean-square` and `gradient-tail`: from a law to a certificate that verifies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import certattn

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("gradient-mean-square", ["--gradient", "V"], "operator norm"),
        ("gradient-mean-square", ["--method", "general", "--digits", "3", "--note", "signs"], "Hilbert-Schmidt norm"),
        ("gradient-tail", ["--probability", "0.01"], "smallest height found: 0."),
        ("gradient-tail", ["--exceeds", "0.4", "--gradient", "V"], "smallest probability found: "),
    ],
)
def test_commands(command: str, options: list[str], words: str, certattn_run: Run, folder: Path) -> None:
    (folder / "law.yaml").write_text("law: {kind: rademacher, sizes: [1, 1/2]}\nquery: [1, 1/2]\nlength: 400\n")
    result = certattn_run("generate", command, "law.yaml", "-o", "gradient.yaml", *options)
    assert result.status == 0, result.err
    assert words in " ".join(result.out.split())
    assert certattn.check(folder / "gradient.yaml").verdict is certattn.Verdict.VERIFIED


def test_errors_name_the_law_s_file(certattn_run: Run, folder: Path) -> None:
    (folder / "law.yaml").write_text("law: {kind: rademacher, sizes: [1, -1]}\nquery: [1, 1/2]\nlength: 400\n")
    for command in ("gradient-mean-square", "gradient-tail"):
        options = ["--probability", "0.01"] if command == "gradient-tail" else []
        result = certattn_run("generate", command, "law.yaml", "-o", "gradient.yaml", *options)
        assert result.status == 2
        assert "law.yaml" in result.err
        assert "sizes >= 0" in result.err
    assert not (folder / "gradient.yaml").exists()
