"""The public API: curated names, examples that run, and reports instead of exceptions."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import certattn
from certattn import Limits, MalformedError, UsageError, Verdict

ROOT = Path(__file__).resolve().parent.parent
CERTIFICATE = ROOT / "certificates/prompts/infinite-prompt-operator/gaussian-d1.yaml"
ARRAYS = ROOT / "certificates/attention/output-deviation/gaussian-prompt.yaml"


@pytest.mark.parametrize("module", ["certattn", "certattn._api"])
def test_the_examples_in_docstrings_run(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried > 0
    assert failed == 0


def test_what_is_public_is_there_and_documented() -> None:
    assert sorted(certattn.__all__) == list(certattn.__all__)
    for name in certattn.__all__:
        value = getattr(certattn, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_every_error_is_a_certattn_error() -> None:
    errors = [getattr(certattn, name) for name in certattn.__all__ if name.endswith("Error")]
    assert len(errors) == 5
    assert all(issubclass(error, certattn.CertattnError) for error in errors)


def test_the_version_is_one_and_the_same() -> None:
    tree = ast.parse((ROOT / "certattn/_version.py").read_text())
    literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert certattn.__version__ in literals


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("form", [str, Path])
def test_check_takes_paths(form: type, isolated: bool) -> None:
    report = certattn.check(form(CERTIFICATE), isolated=isolated)
    assert report.verdict is Verdict.VERIFIED
    assert report.path == str(CERTIFICATE)


def test_check_takes_a_loaded_certificate() -> None:
    certificate = certattn.load(CERTIFICATE)
    assert certificate.claim == "infinite-prompt-operator"
    assert certattn.check(certificate).verdict is Verdict.VERIFIED
    assert certattn.check(certificate).digest == certificate.digest


def test_a_loaded_certificate_has_no_path_to_hand_to_a_process() -> None:
    with pytest.raises(UsageError, match="path"):
        certattn.check(certattn.load(CERTIFICATE), isolated=True)


@pytest.mark.parametrize("isolated", [False, True])
def test_bad_input_gives_a_report(isolated: bool, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("certattn: 1\nclaim: nothing\n")
    for path in (bad, tmp_path / "missing.yaml", tmp_path, Path("a\0b")):
        report = certattn.check(path, isolated=isolated)
        assert (report.verdict, report.path) == (Verdict.MALFORMED, str(path))
        assert report.place is not None
        assert "expected" in report.reason


def test_a_loaded_certificate_whose_content_is_malformed_gives_a_report(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("certattn: 1\nclaim: nothing\ngiven: {}\nasserts: {}\n")
    report = certattn.check(certattn.load(bad))
    assert (report.verdict, report.place) == (Verdict.MALFORMED, (str(bad), 2, "claim"))


def test_load_raises_and_names_the_place(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("certattn: 1\nclaim: [x]\n")
    with pytest.raises(MalformedError, match=r"bad\.yaml:1") as caught:
        certattn.load(bad)
    assert caught.value.expected


def test_limits_hold_without_a_process_where_they_can() -> None:
    report = certattn.check(CERTIFICATE, limits=Limits(max_nodes=5))
    assert report.verdict is Verdict.MALFORMED
    assert "--max-nodes" in report.reason


def test_detail_and_only() -> None:
    whole = certattn.check(ARRAYS, detail=True)
    assert len(whole.obligations) == sum(whole.counts.values())
    first = whole.obligations[0]["name"]
    part = certattn.check(ARRAYS, only=first, detail=True)
    assert part.verdict is Verdict.INCONCLUSIVE
    assert [obligation["name"] for obligation in part.obligations] == [first]


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("certattn: 1")
    for use in (certattn.load, certattn.check):
        with pytest.raises(certattn.UsageError, match=r"root is '.*nowhere', expected a folder"):
            use(tmp_path / "a.yaml", root=tmp_path / "nowhere")


def test_root_allows_arrays_elsewhere(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "certificates"
    data.mkdir()
    folder.mkdir()
    rng = np.random.default_rng(1)
    arrays = {name: rng.normal(size=(4, 2)) for name in ("keys", "values", "queries")}
    certattn.generate("output-deviation", data / "a.yaml", **arrays)
    text = (data / "a.yaml").read_text().replace("file: a.npz", "file: ../data/a.npz")
    (folder / "a.yaml").write_text(text)
    assert certattn.check(folder / "a.yaml").verdict is Verdict.MALFORMED
    assert certattn.check(folder / "a.yaml", root=tmp_path).verdict is Verdict.VERIFIED
    assert certattn.check(folder / "a.yaml", root=str(tmp_path), isolated=True).verdict is Verdict.VERIFIED


def test_generate_refuses_an_unknown_claim(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="output-deviation"):
        certattn.generate("nothing", tmp_path / "a.yaml")
    assert list(tmp_path.iterdir()) == []


def test_generate_names_the_inputs_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(certattn.UsageError, match=r"'indices'; its inputs are given, selections"):
        certattn.generate("token-optimality", tmp_path / "x.yaml", given={}, indices=[0])
