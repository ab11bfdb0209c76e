"""The public API: curated names, examples that run, and reports instead of exceptions."""

from __future__ import annotations

import ast
import doctest
import gc
import inspect
import json
import pickle
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn import Limits, MalformedError, UsageError, Verdict
from certattn.kernel.document.numbers import parse_rational
from certattn.provers.exact_inputs import exact
from certattn.statements.enclosures import number

ROOT = Path(__file__).resolve().parent.parent
CERTIFICATE = ROOT / "certificates/prompts/infinite-prompt-operator/gaussian-d1.yaml"
ARRAYS = ROOT / "certificates/attention/output-deviation/gaussian-prompt.yaml"


def test_the_example_of_the_package_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testmod(certattn)
    assert tried > 0
    assert failed == 0


def test_what_is_public_is_there_and_documented() -> None:
    assert dir(certattn) == sorted(certattn.__all__)
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


@pytest.mark.parametrize("how", ["isolated", "strict"])
def test_a_loaded_certificate_is_checked_in_another_process_while_its_file_is_the_same(
    how: str, tmp_path: Path
) -> None:
    copy = tmp_path / "a.yaml"
    copy.write_text(CERTIFICATE.read_text())
    certificate = certattn.load(copy)
    assert certattn.check(certificate, **{how: True}).verdict is Verdict.VERIFIED  # type: ignore[arg-type]
    copy.write_text((CERTIFICATE.parent / "gaussian-d3.yaml").read_text())
    with pytest.raises(UsageError, match="another statement than when it was loaded"):
        certattn.check(certificate, **{how: True})  # type: ignore[arg-type]


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
    with pytest.raises(UsageError, match="no claim 'nothing'; expected attention-error, "):
        certattn.generate("nothing", tmp_path / "a.yaml")
    with pytest.raises(UsageError, match=r"no claim 'output-tial' \(did you mean output-tail\?\)"):
        certattn.generate("output-tial")
    assert list(tmp_path.iterdir()) == []


def test_generate_names_the_inputs_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(certattn.UsageError, match=r"'indices'; expected given, selections"):
        certattn.generate("token-optimality", tmp_path / "x.yaml", given={}, indices=[0])


# -- generate: keywords, arrays, no file

LAW = {"kind": "gaussian", "mean": np.zeros(2), "covariance": np.eye(2)}
TAIL = {"norm": "l2", "length": 1000, "probability": "0.01"}


def test_fields_of_given_are_keywords(tmp_path: Path) -> None:
    written = certattn.generate("output-mean-square", tmp_path / "a.yaml", law=LAW, tilt=[1, 0], length=20)
    packed = certattn.generate("output-mean-square", tmp_path / "b.yaml", given={"law": LAW, "tilt": [1, 0]}, length=20)
    assert written.plain == packed.plain
    assert certattn.generate("output-mean-square", law=LAW, given={"tilt": [1, 0]}, length=20).plain == packed.plain
    random = certattn.generate("universality-bound", beta=1, eta="1/2", lambda_=1, d=4096)
    assert random.given.plain() == {"beta": "1", "eta": "1/2", "lambda": "1", "d": "4096"}


@pytest.mark.parametrize(
    ("array", "written"),
    [
        (np.array([1, -2]), ["1", "-2"]),
        (np.array([0.5, 1e20]), ["0.5", "100000000000000000000"]),
        (np.array([0.1, -0.0]), ["0x1.999999999999ap-4", "0"]),
        (np.array([0.1, 3], dtype="float32"), ["0x1.99999a0000000p-4", "3"]),
        (np.array([2, 5], dtype="uint8"), ["2", "5"]),
        (np.array([Fraction(1, 3), Fraction(2)]), ["1/3", "2"]),
    ],
    ids=["int", "short", "double", "float32", "uint8", "fractions"],
)
def test_floats_of_arrays_are_what_their_bits_mean(array: np.ndarray, written: list[str]) -> None:
    assert exact(array, "tilt") == written
    if array.dtype.kind == "f":
        assert [parse_rational(text, Limits()) for text in written] == [
            fmpq(*value.as_integer_ratio()) for value in array.tolist()
        ]


@pytest.mark.parametrize(
    ("tilt", "words"),
    [
        ([0.1, 0], r"given\.tilt\[0\] is the float 0\.1"),
        ([np.float64(0.7), 0], r"given\.tilt\[0\] is the float"),
        (np.array([1, np.nan]), r"given\.tilt\[1\] is nan"),
        (np.array([[1, np.inf]]), r"given\.tilt\[0, 1\] is inf"),
        (np.array([1j, 0]), "complex128"),
        (np.array([True, False]), "bool"),
        (np.array([0.1, None]), r"given\.tilt\[0\] is the float"),
        (np.ma.masked_array([1, 2], [True, False]), "masked"),
        (np.zeros(2, dtype=np.longdouble), "at most 64 bits"),
        (np.zeros((300, 300)), r"the shape \(300, 300\)"),
    ],
)
def test_other_arrays_are_refused(tilt: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        certattn.generate("output-tail", law=LAW, tilt=tilt, **TAIL)


@pytest.mark.parametrize(
    ("claim", "inputs", "words"),
    [
        ("output-tail", {"law": LAW, "tlit": [1, 0]}, "no input of output-tail 'tlit' (did you mean tilt?)"),
        ("output-tail", {"law": LAW, "given": {"law": LAW}}, "'law' was passed twice"),
        (
            "singular-values",
            {"out": np.eye(2)},
            "out is a ndarray, expected the name of a file",
        ),
        ("max-margin", {"keys": [[[0.5, 1], [1, 0]], [[1, 1]]], "indices": [0, 0]}, "keys is no array"),
        ("output-tail", {"law": LAW, "given": [LAW]}, "given is a list, expected a mapping"),
        (
            "output-deviation",
            {"kyes": np.ones((2, 2))},
            "unknown arrays kyes (did you mean keys?); expected keys, ",
        ),
        ("output-deviation", {"sclae": 1}, "no input of output-deviation 'sclae' (did you mean scale?)"),
        ("normalizer-bound", {"beta": 1}, "normalizer-bound: d missing"),
        ("softmax-mean", {"source": 1}, "source is 1, expected the name of a file"),
        ("softmax-mean", {"digits": "3"}, "digits is '3', expected a whole number"),
        ("softmax-mean", {"names": ["keys"]}, "names is ['keys'], expected a mapping"),
        ("cache-error", {"scale": 1, "keep": 5}, "keep is 5, expected a list"),
        ("cache-error", {"scale": 1, "states": "mass"}, "states is 'mass', expected a list"),
        ("max-margin", {"points": np.eye(2), "labels": ["a", "b"]}, "expected a vector of integers"),
        ("normalizer-bound", {"beta": 1, "d": 64, "law": LAW}, "no input of normalizer-bound 'law'; expected beta"),
    ],
)
def test_keywords_that_make_no_sense_are_named(claim: str, inputs: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        certattn.generate(claim, **inputs)
    assert words in str(caught.value)


def test_what_is_wrong_with_a_certificate_without_a_file_names_none() -> None:
    with pytest.raises(MalformedError) as caught:
        certattn.generate("output-tail", law=LAW, tilt=[1, 0, 0], **TAIL)
    assert str(caught.value).startswith("output-tail: given.tilt\n  found:    3 numbers")


@pytest.mark.heavy
def test_texts_in_fields_mean_what_they_mean_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("law.npz", mean=np.zeros(2), covariance=2 * np.eye(2))
    written = certattn.generate(
        "output-mean-square", law={**LAW, "mean": [0, 0], "covariance": [[2, 0], [0, 2]]}, tilt=[1, 0], length=20
    )
    for mean, covariance in (
        (np.zeros(2), "2*I"),
        ([0, 0], "diag(2, 2)"),
        ([0, 0], "2*I(2)"),
        ((0, 0), np.diag([2, 2])),
    ):
        law = {"kind": "gaussian", "mean": mean, "covariance": covariance}
        assert certattn.generate("output-mean-square", law=law, tilt=[1, 0], length=20).digest == written.digest
        assert (
            certattn.generate("output-mean-square", given={"law": law, "tilt": [1, 0]}, length=20).digest
            == written.digest
        )
    law = {"kind": "gaussian", "mean": "law.npz[mean]", "covariance": "law.npz[covariance]"}
    by_file = certattn.generate("output-mean-square", "by-file.yaml", law=law, tilt=[1, 0], length=20)
    assert by_file.plain["given"]["law"]["covariance"]["file"] == "law.npz"
    assert certattn.check(by_file).verdict is Verdict.VERIFIED
    beside = {"tokens": np.eye(2), "queries": np.eye(2)[:1], "norm": "l2", "exceeds": 9}
    within = certattn.generate("typical-prompt", law={**LAW, "covariance": "2*I"}, **beside)
    assert within.plain["given"]["law"]["covariance"] == [["2", "0"], ["0", "2"]]


@pytest.mark.parametrize(
    ("covariance", "words"),
    [
        ("2*J", "given.law.covariance\n  found:    '2*J'\n  expected: a matrix: a list of rows"),
        ("none.npz[x]", "given.law.covariance\n  found:    none.npz: no such file"),
        ([["1", "0"], ["0", "1%"]], "given.law.covariance[1][1]\n  found:    '1%'"),
        ([["1", "0"], ["0", "1%"]], "hint:     write 0.01"),
    ],
)
def test_texts_in_fields_that_mean_nothing(covariance: Any, words: str) -> None:
    with pytest.raises(MalformedError) as caught:
        certattn.generate("output-tail", law={**LAW, "covariance": covariance}, tilt=[1, 0], **TAIL)
    assert words in str(caught.value)


def test_a_scale_that_is_left_out_is_warned_of() -> None:
    arrays = {name: np.random.default_rng(1).normal(size=(4, 2)) for name in ("keys", "values", "queries")}
    with pytest.warns(
        certattn.DoubtWarning, match=r"no scale is given; .*: say scale='1/sqrt\(2\)', or scale=1"
    ) as said:
        certattn.generate("output-deviation", **arrays)
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certattn.generate("output-deviation", scale=1, **arrays)


@pytest.mark.heavy
def test_a_certificate_that_says_little_is_warned_of() -> None:
    with pytest.warns(certattn.DoubtWarning, match="is above 1/2"):
        certattn.generate("output-tail", law=LAW, tilt=[1, 0], length=50, norm="l2", probability="0.7")


@pytest.mark.heavy
def test_a_certificate_without_a_file_is_checked_saved_and_forgotten(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {name: rng.normal(size=(4, 2)) for name in ("keys", "values", "queries")}
    certificate = certattn.generate("output-deviation", **arrays)
    assert certattn.check(certificate, isolated=True).verdict is Verdict.VERIFIED
    saved = certificate.save(tmp_path / "paper.yaml")
    assert (saved.digest, saved.path) == (certificate.digest, str(tmp_path / "paper.yaml"))
    assert {path.name for path in tmp_path.iterdir()} == {"paper.yaml", "paper.npz"}
    assert certattn.check(saved).verdict is Verdict.VERIFIED
    again = saved.save(tmp_path / "copy.yaml")
    assert again.save(tmp_path / "copy.yaml").digest == certificate.digest
    (tmp_path / "taken.npz").write_bytes(b"something else")
    with pytest.raises(UsageError, match="exists with other content"):
        saved.save(tmp_path / "taken.yaml")
    folder = Path(certificate.path).parent
    del certificate
    gc.collect()
    assert not folder.exists()


def test_a_prover_that_gives_up_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(certattn.CertattnError):
        certattn.generate("output-tail", law=LAW, tilt=[1, 0, 0], **TAIL)
    assert list(tmp_path.iterdir()) == []


def test_arrays_outside_the_folder_are_not_saved(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.yaml").write_text("certattn: 1\nclaim: x\ngiven: {keys: {file: ../a.npz}}\nasserts: {}\n")
    with pytest.raises(UsageError, match=r"\.\./a\.npz: an array outside"):
        certattn.load(tmp_path / "in" / "a.yaml").save(tmp_path / "b.yaml")


# -- what is shown


def test_what_is_held_shows_itself_in_a_line() -> None:
    certificate = certattn.load(ARRAYS)
    report = certattn.check(certificate, detail=True)
    assert repr(certificate) == f"<Certificate output-deviation {certificate.digest[:12]} in {str(ARRAYS)!r}>"
    assert str(certificate).startswith("output-deviation, not checked: For each of 100 queries")
    assert repr(report) == f"<Report verified output-deviation {str(ARRAYS)!r}: 100 proved>"
    assert str(report).splitlines()[0] == f"verified  {ARRAYS}"
    assert repr(report.obligations[0]).startswith("<Obligation at_most[0] proved: |T(q) - T_inf(q)|_l2 at query 0: [")
    assert repr(certattn.check("nowhere.yaml")).startswith("<Report malformed no claim 'nowhere.yaml': ")


def test_numbers_are_fractions_and_enclosures() -> None:
    certificate = certattn.load(ARRAYS)
    assert certificate.numbers == {"deviation.at_most": Fraction(119161, 100000)}
    obligation = certattn.check(certificate, detail=True).obligations[38]
    assert isinstance(obligation.left, certattn.Enclosure)
    assert obligation.left.lower < obligation.left.mid < obligation.left.upper <= obligation.right
    assert float(obligation.left) == pytest.approx(1.1916044026)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("[0.333 +/- 4e-4]", (Fraction(3326, 10000), Fraction(3334, 10000))),
        ("[-2.5e+3 +/- 0.5]", (Fraction(-25005, 10), Fraction(-24995, 10))),
        ("[+/- 1.5e-20]", (Fraction(-15, 10**21), Fraction(15, 10**21))),
    ],
)
def test_enclosures_are_read(text: str, ends: tuple[Fraction, Fraction]) -> None:
    found = number(text)
    assert isinstance(found, certattn.Enclosure)
    assert (found.lower, found.upper) == ends


@pytest.mark.parametrize(
    "text", ["", "nan", "[+/- inf]", "[nan +/- inf]", "2 x 2 matrix", "[1, 2]", "[1 +/- 1e-9999999]"]
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert number(text) is None
    with pytest.raises(ValueError, match="expected a ball"):
        certattn.Enclosure.read(text)


def test_a_pickle_and_json_give_the_same_report() -> None:
    report = certattn.check(ARRAYS, detail=True)
    assert certattn.Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert pickle.loads(pickle.dumps(report)) == report


def test_reports_and_obligations_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    reports = certattn.check_all([CERTIFICATE, certattn.load(ARRAYS), "nowhere.yaml"], detail=True)
    table = pandas.DataFrame(reports)
    assert list(table["verdict"]) == [Verdict.VERIFIED, Verdict.VERIFIED, Verdict.MALFORMED]
    assert list(pandas.DataFrame(reports[1].obligations)["outcome"].unique()) == ["proved"]


def test_several_at_a_time_are_isolated() -> None:
    reports = certattn.check_all(iter([CERTIFICATE, ARRAYS]), jobs=2, isolated=True)
    assert [report.path for report in reports] == [str(CERTIFICATE), str(ARRAYS)]
    assert certattn.exit_status(reports) == 0
    with pytest.raises(UsageError, match="need isolated=True"):
        certattn.check_all([CERTIFICATE], jobs=2)
    with pytest.raises(UsageError, match="expected several"):
        certattn.check_all(CERTIFICATE)  # type: ignore[arg-type]


def test_latex() -> None:
    assert r"\begin{certified}[infinite-prompt-operator]" in certattn.load(CERTIFICATE).to_latex()


# -- plot


def test_a_plot_is_a_figure_or_a_file_and_leaves_the_backend_alone(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = matplotlib.get_backend()
    figure = certattn.plot(ARRAYS)
    assert "nothing was checked" in figure._supxlabel.get_text()
    assert "</svg>" in figure._repr_svg_()
    assert "drawn after its certificate was verified" in certattn.plot(ARRAYS, check=True)._supxlabel.get_text()
    assert certattn.plot(certattn.load(ARRAYS), tmp_path / "a.png") == tmp_path / "a.png"
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    assert matplotlib.get_backend() == before
    with pytest.raises(UsageError, match=r"a figure ends in \.svg"):
        certattn.plot(ARRAYS, tmp_path / "a.gif")


def test_nothing_is_drawn_of_what_does_not_hold(tmp_path: Path) -> None:
    true = certattn.load(ARRAYS).save(tmp_path / "a.yaml")
    Path(true.path).write_text(Path(true.path).read_text().replace("1.19161", "1.1"))
    false = certattn.load(true.path)
    with pytest.raises(certattn.NotProvedError, match="refuted, so that nothing is drawn"):
        certattn.plot(false, tmp_path / "a.svg", check=True)
    assert not (tmp_path / "a.svg").exists()


def test_inputs_of_the_max_margin_problem_may_be_stacked_or_exact() -> None:
    keys, indices = np.array([[[0, 0], [1, 1]], [[0, 0], [1, -1]]]), [1, 1]
    stacked = certattn.generate("max-margin", keys=keys, indices=indices)
    assert stacked.plain["given"]["lengths"] == ["2", "2"]  # type: ignore[index,call-overload]
    exactly = certattn.generate("max-margin", keys=keys.tolist(), indices=indices)
    assert exactly.plain["given"]["keys"][0] == [["0", "0"], ["1", "1"]]  # type: ignore[index,call-overload]
    assert exactly.plain["asserts"] == stacked.plain["asserts"]
    third = certattn.generate("max-margin", points=[["1/3", 0], [-1, 1]], labels=[1, -1])
    assert certattn.check(third).verdict is Verdict.VERIFIED


def test_help_of_a_prover_is_at_hand() -> None:
    assert "directions : sequence of vectors" in str(inspect.getdoc(certattn.PROVERS["output-tail"]))
