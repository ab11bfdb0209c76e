"""A few seconds of fuzzing with a fixed seed; `tools/fuzz/reader.py` goes on for as long as one likes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from certattn.kernel.decide.checker import CLAIMS, CheckOptions, theorem_of
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import load
from certattn.statements.checking import check_file

Tool = Callable[[str], ModuleType]
CORPUS = Path(__file__).resolve().parents[3] / "tools" / "fuzz" / "corpus"
# Written to be read as text and refused as a claim.
AWKWARD = "awkward"


@pytest.fixture
def fuzz(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The fuzzer, without its limit on the memory of the whole process."""
    module = tool("fuzz.reader")
    monkeypatch.setattr(module, "limit_memory", lambda: None)
    return module


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_every_seed(path: Path, fuzz: Any) -> None:
    fuzz.one_input(path.read_bytes())


def test_every_claim_has_a_seed_that_its_decoder_reads(fuzz: Any) -> None:
    read = set()
    for path in CORPUS.glob("*.yaml"):
        if path.stem != AWKWARD:
            certificate = load(path, limits=fuzz.LIMITS)
            claim = theorem_of(certificate)
            assert list(claim.obligations(claim.read(certificate)))
            read.add(certificate.claim)
    assert read == set(CLAIMS)


# Seeds of single claims are about decoders: some have arrays cut short, so that their bounds do not hold.
DEEP = [path for path in sorted(CORPUS.glob("*.yaml")) if not path.stem.startswith("claim-")]


@pytest.mark.parametrize("path", DEEP, ids=lambda path: path.stem)
def test_the_seeds_reach_deep(path: Path) -> None:
    report = check_file(path, CheckOptions())
    assert report.verdict is (Verdict.MALFORMED if path.stem == AWKWARD else Verdict.VERIFIED), report.reason


@pytest.mark.heavy
def test_thousands_of_damaged_seeds(fuzz: Any, tmp_path: Path) -> None:
    assert fuzz.fuzz_at_random(300, 1, tmp_path, most=8000) == (8000, 0)


def test_the_same_seed_gives_the_same_inputs(fuzz: Any) -> None:
    first, second = (fuzz.damaged(fuzz.corpus(), fuzz.random.Random(7)) for _ in range(2))
    assert [next(first) for _ in range(50)] == [next(second) for _ in range(50)]


# -- the fuzzer notices what it is there for


def test_an_exception_is_a_finding(fuzz: Any, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("\x1b[2J")

    monkeypatch.setattr(fuzz, "loads", broken)
    count, findings = fuzz.fuzz_at_random(60, 1, tmp_path, most=3)
    assert (count, findings) == (3, 3)
    assert len(list(tmp_path.iterdir())) == 3
    assert "ValueError: '\\x1b[2J'" in capsys.readouterr().out


@pytest.mark.parametrize("message", ["a\x1b[2J", "a\u202eb", "a" * 5000])
def test_an_unfit_message_is_a_finding(message: str, fuzz: Any) -> None:
    with pytest.raises(fuzz.FindingError, match="a message"):
        fuzz.require_fit_for_a_terminal(message)


def test_a_stream_that_gives_other_bytes_is_a_finding(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (CORPUS / "keys.npy").read_bytes()
    true_stream = fuzz.read_stream
    monkeypatch.setattr(fuzz, "read_stream", lambda *given: (true_stream(*given) or b"x")[:-1])
    with pytest.raises(fuzz.FindingError, match="as a stream"):
        fuzz.one_input(data)


def test_an_engine_that_is_not_installed_is_said(fuzz: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(fuzz, "atheris", None)
    monkeypatch.setattr("sys.argv", ["reader.py", "--engine", "atheris"])
    with pytest.raises(SystemExit) as left:
        fuzz.main()
    assert left.value.code == 2
    assert "certattn[fuzz]" in capsys.readouterr().err


def test_a_certificate_that_changes_when_written_is_a_finding(fuzz: Any, monkeypatch: Any) -> None:
    true_writer = fuzz.to_text
    monkeypatch.setattr(fuzz, "to_text", lambda plain: true_writer(plain).replace("16", "17"))
    with pytest.raises(fuzz.FindingError, match="not the same"):
        fuzz.one_input((CORPUS / "operator-pushforward.yaml").read_bytes())
