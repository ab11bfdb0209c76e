"""Files for `certattn generate`: arrays by name, short forms of matrices, and fields for a whole chapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.input_fields import binary_kind, claims_with
from certattn.kernel.errors import CertattnError, MalformedError, UsageError
from certattn.kernel.theorems import CHAPTER_OF
from certattn.provers.input_files import columns_beside, notes_on, read_input
from certattn.writing import to_text

MODEL = "model: regression\nstep: 1/20\nsteps: 3\n"
KEYS = np.array([[0.0, 0.5], [1.0, -0.25], [0.1, 3.0]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "far").mkdir()
    arrays = {
        "keys": KEYS, "both": np.array([KEYS, KEYS]), "columns": np.asfortranarray(KEYS), "big": KEYS.astype(">f8"),
        "scores": np.array([0.1, 2, -1]), "row": np.ones((1, 2)), "ints": np.array([1, 0]), "b": np.array(0.75),
        "nan": np.array([1.0, np.nan]), "none": np.zeros((0, 2)), "truth": np.array([True, False]),
        "many": np.zeros(10_001), "square": np.eye(2), "half": np.array([0.5], np.float16),
    }  # fmt: skip
    np.savez(tmp_path / "d.npz", **arrays)
    np.savez(tmp_path / "far" / "d.npz", **arrays)
    np.savez(tmp_path / "one.npz", x=KEYS)
    np.save(tmp_path / "keys.npy", KEYS)
    return tmp_path


def read(folder: Path, claim: str, text: str, section: str = "given") -> dict[str, Any]:
    """The section as the certificate `c.yaml` would have it."""
    (folder / "in.yaml").write_text(text)
    taken = read_input(folder / "in.yaml", claim, section)
    with taken.given(folder / "c.yaml") as given:
        return given


def law(covariance: str, mean: str = "[0, 0]") -> str:
    return f"law: {{kind: gaussian, mean: {mean}, covariance: {covariance}}}\ntilt: [1, 0]\n"


# -- short forms of matrices

FORMS = {
    "diag(2, 1/2)": [["2", "0"], ["0", "0.5"]],
    "diag(2,0x1p-1)": [["2", "0"], ["0", "0.5"]],
    "I": [["1", "0"], ["0", "1"]],
    "I(2)": [["1", "0"], ["0", "1"]],
    "3*I": [["3", "0"], ["0", "3"]],
    "1/4 * I": [["0.25", "0"], ["0", "0.25"]],
    "-2*diag(1, 1e1)": [["-2", "0"], ["0", "-20"]],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["{}", "'{}'", '"{}"', "{} # which is exact"])
def test_forms_are_written_out(folder: Path, form: str, around: str) -> None:
    text = f"law:\n  kind: gaussian\n  mean: [0, 0]\n  covariance: {around.format(form)}\n"
    assert read(folder, "output-tail", text)["law"]["covariance"] == FORMS[form]


@pytest.mark.parametrize("form", FORMS)
def test_forms_need_no_quotes_in_brackets(folder: Path, form: str) -> None:
    assert read(folder, "output-tail", law(form))["law"]["covariance"] == FORMS[form]


@pytest.mark.parametrize(
    ("claim", "text", "path"),
    [
        ("output-tail", law("I") + "V: I\n", ["V"]),
        ("output-tail", "law: {kind: box, sizes: [1, 1]}\nU: I\nquery: [1, 0]\n", ["U"]),
        ("gradient-tail", "law: {kind: atoms, points: [[1, 2], [2, 1]]}\nK: I\nQ: I\nquery: [1, 0]\n", ["Q"]),
        ("regression-risk", "covariance: I\nparameters: {A: diag(1, 2), b: 1}\n", ["covariance"]),
        ("regression-risk", "covariance: [[1, 0], [0, 1]]\nparameters: {A: I, b: 1}\n", ["parameters", "A"]),
        ("flow-trajectory", "covariance: I(2)\nstart: {alpha: 1, P: I}\n", ["start", "P"]),
        ("flow-trajectory", "covariance: d.npz[square]\nstart: {A: I, b: 1}\n", ["start", "A"]),
        ("token-optimality", "tokens: [[[0, 1], [1, 0]]]\nW: I\nv: [1, 1]\n", ["W"]),
        ("infinite-prompt-operator", "law: {kind: box, sizes: [1, 1]}\nqueries: {mean: [0, 0], covariance: I}\n",
         ["queries", "covariance"]),
    ],
)  # fmt: skip
def test_what_stands_beside_says_how_large_it_is(folder: Path, claim: str, text: str, path: list[str]) -> None:
    found: Any = read(folder, claim, text)
    for key in path:
        found = found[key]
    assert found == [["1", "0"], ["0", "1"]]


def test_arrays_that_an_option_names_say_how_large_it_is(folder: Path) -> None:
    np.savez(folder / "prompts.npz", x=np.ones((6, 2)), labels=np.ones((6, 1)))
    beside = columns_beside(folder / "prompts.npz", {"tokens": "x"})
    assert beside == {"x": 2, "labels": 1, "tokens": 2}
    assert columns_beside(None, {}) == {}
    (folder / "in.yaml").write_text("model: regression\ncovariance: I\nstart: {A: 1/2*I, b: 1}\n")
    with read_input(folder / "in.yaml", "descent-trajectory", "given", beside).given(folder / "c.yaml") as given:
        assert given["covariance"] == [["1", "0"], ["0", "1"]]
        assert given["start"] == {"A": [["0.5", "0"], ["0", "0.5"]], "b": "1"}


@pytest.mark.parametrize(
    ("claim", "text", "words"),
    [
        ("risk-gap", "covariance: I\nball: {A_squared: 1, b_squared: 1}\n", "no field beside it says how large"),
        ("output-tail", law("diag(1, 2, )"), "exact numbers in diag"),
        ("output-tail", law("diag()"), "exact numbers in diag"),
        ("output-tail", law("diag(nan, 1)"), "exact numbers in diag"),
        ("output-tail", law("I(0)"), "diag(2, 1, 1/2), I, 2*I or I(3)"),
        ("output-tail", law("I(257)"), "at most 256 rows"),
        ("output-tail", law("I(99999)"), "at most 256 rows"),
        ("output-tail", law("1/0*I"), "division by zero"),
        ("output-tail", law("I+I"), "a matrix: a list of rows"),
        ("output-tail", law("'I*2'"), "a matrix: a list of rows"),
        ("output-tail", law("-I"), "a matrix: a list of rows"),
        ("output-tail", law("identity"), "a matrix: a list of rows"),
        ("output-tail", law("__import__('os')"), "covariance"),
        ("output-tail", law("I", "diag(1, 2)"), "a vector: a list of numbers"),
    ],
)
def test_other_forms_are_refused(folder: Path, claim: str, text: str, words: str) -> None:
    with pytest.raises(MalformedError) as refused:
        read(folder, claim, text)
    assert words in str(refused.value)
    assert "in.yaml:1" in str(refused.value)


# -- arrays


@pytest.mark.parametrize("named", ["d.npz[keys]", "keys.npy", "one.npz", "{file: d.npz, array: keys}"])
def test_an_array_is_referred_to_where_it_is(folder: Path, named: str) -> None:
    found = read(folder, "token-optimality", f"keys: {named}\nscores: d.npz[scores]\n")
    assert found["keys"]["file"] in ("d.npz", "keys.npy", "one.npz")
    assert len(found["keys"]["sha256"]) == 64
    assert (found["keys"]["dtype"], found["keys"]["shape"]) == ("float64", ["3", "2"])
    assert found["scores"]["array"] == "scores"
    assert not (folder / "c-given.npz").exists()


@pytest.mark.parametrize("array", ["columns", "big"])
def test_an_array_that_no_certificate_can_refer_to_is_copied(folder: Path, array: str) -> None:
    assert read(folder, "token-optimality", f"keys: d.npz[{array}]\n")["keys"]["file"] == "c-given.npz"


def test_an_array_outside_the_certificates_folder_is_copied_and_removed_again(folder: Path) -> None:
    (folder / "in.yaml").write_text("keys: d.npz[keys]\n")
    taken = read_input(folder / "in.yaml", "token-optimality", "given")
    with taken.given(folder / "far" / "c.yaml") as given:
        assert given["keys"]["file"] == "c-given.npz"  # type: ignore[call-overload, index]
        assert np.array_equal(np.load(folder / "far" / "c-given.npz")["keys"], KEYS)

    def fails() -> None:
        with taken.given(folder / "far" / "again.yaml"):
            raise UsageError("for no reason")

    with pytest.raises(UsageError):
        fails()
    assert not (folder / "far" / "again-given.npz").exists()


def test_arrays_are_named_in_brackets_too(folder: Path) -> None:
    found = read(folder, "output-tail", law("d.npz[square]", "d.npz[row]"))
    assert found["law"]["covariance"]["array"] == "square"
    # One row of a matrix is a vector, once it is copied.
    assert found["law"]["mean"]["shape"] == ["2"]


def test_rows_that_are_meant_stay(folder: Path) -> None:
    found = read(folder, "softmax-mean", "keys: keys.npy\nqueries: {file: d.npz, array: keys, rows: 0:2}\n")
    assert found["queries"]["rows"] == "0:2"
    assert "rows" not in found["keys"]


def test_a_full_reference_is_left_alone(folder: Path) -> None:
    text = "keys: {file: gone.npy, sha256: aa, dtype: float64, shape: [3, 2]}\n"
    assert read(folder, "softmax-mean", text)["keys"]["file"] == "gone.npy"


def test_what_only_stands_as_numbers_is_written_out_exactly(folder: Path) -> None:
    text = "law: {kind: atoms, points: d.npz[square], weights: d.npz[ints]}\n"
    assert read(folder, "output-tail", text)["law"]["weights"] == ["1", "0"]
    text = "covariance: d.npz[square]\nstart: {A: d.npz[square], b: d.npz[b]}\n"
    assert read(folder, "flow-trajectory", text)["start"]["b"] == "0.75"
    tenth = "3602879701896397/36028797018963968"
    assert read(folder, "token-optimality", "keys: d.npz[both]\n")["keys"][1][2] == [tenth, "3"] or tenth


def test_arrays_of_inputs_are_matrices_by_input(folder: Path) -> None:
    keys = read(folder, "token-optimality", "keys: d.npz[both]\n")["keys"]
    assert len(keys) == 2
    assert keys[0][:2] == keys[1][:2] == [["0", "0.5"], ["1", "-0.25"]]


def test_large_arrays_of_inputs_become_an_array_for_each_input(folder: Path) -> None:
    np.savez(folder / "large.npz", keys=np.arange(12_000.0).reshape(3, 40, 100))
    (folder / "in.yaml").write_text("keys: large.npz[keys]\n")
    with read_input(folder / "in.yaml", "token-optimality", "given").given(folder / "c.yaml") as given:
        keys: Any = given["keys"]
        assert [(part["array"], part["shape"]) for part in keys] == [(f"keys.{i}", ["40", "100"]) for i in range(3)]
        assert np.array_equal(np.load(folder / "c-given.npz")["keys.2"], np.arange(8_000.0, 12_000.0).reshape(40, 100))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("keys: d.npz[scores]\n", "a matrix: two extents"),
        ("keys: d.npz\n", "write d.npz[NAME]"),
        ("keys: d.npz[]\n", "data.npz[K]"),
        ("keys: d.npz[no]\n", "d.npz holds keys"),
        ("keys: keys.npy[x]\n", "keys.npy[x]"),
        ("keys: no.npy\n", "no such file"),
        ("keys: ../no.npy\n", "no such file"),
        ("keys: in.yaml\n", "a matrix: a list of rows"),
        ("keys: d.npz[keys]\nscores: d.npz[many]\nlengths: d.npz[many]\n", "at most 10000 numbers"),
        ("keys: d.npz[keys]\nlengths: d.npz[nan]\n", "NaN or infinity"),
        ("keys: d.npz[keys]\nlengths: d.npz[none]\n", "the shape (0, 2)"),
        ("keys: d.npz[keys]\nlengths: d.npz[truth]\n", "the number type bool"),
        ("keys: d.npz[keys]\nlengths: d.npz[b]\n", "a list of numbers"),
        ("keys: {file: d.npz, array: keys, shape: [2, 2]}\n", "leave shape out"),
        ("keys: {file: d.npz, array: keys, dtype: float32}\n", "leave dtype out"),
        ("keys: {file: d.npz, arrays: keys}\n", "the unknown key 'arrays'"),
        ("keyz: d.npz[keys]\n", "did you mean keys?"),
    ],
)
def test_other_arrays_are_refused(folder: Path, text: str, words: str) -> None:
    with pytest.raises(CertattnError) as refused:
        read(folder, "token-optimality", text)
    assert words in str(refused.value), str(refused.value)
    assert "in.yaml" in str(refused.value)


def test_a_file_of_arrays_is_an_input(folder: Path) -> None:
    np.savez(folder / "task.npz", **{"covariance": np.eye(2), "start.A": np.eye(2), "start.b": np.array(1)})
    taken = read_input(folder / "task.npz", "flow-trajectory", "given")
    with taken.given(folder / "c.yaml") as given:
        assert given["start"]["b"] == "1"  # type: ignore[call-overload, index]
        assert given["start"]["A"]["array"] == "start.A"  # type: ignore[call-overload, index]
    np.savez(folder / "task.npz", **{"start": np.eye(2), "start.A": np.eye(2)})
    with pytest.raises(UsageError, match="cannot both be there"):
        read_input(folder / "task.npz", "flow-trajectory", "given")


# -- fields for a whole chapter

EVERYTHING = """\
law: {kind: gaussian, mean: [0, 0], covariance: I}
tilt: [1, 0]
query: [1, 1/2]
queries: {kind: gaussian, mean: [0, 0], covariance: I}
U: 1/2*I
length: 1000
sigma: 1
"""


@pytest.mark.parametrize(
    ("claim", "used"),
    [
        ("infinite-prompt-operator", {"law", "queries", "U"}),
        ("output-tail", {"law", "query", "U", "length"}),
        ("output-mean-square", {"law", "query", "U", "length"}),
        ("gradient-tail", {"law", "query", "U", "length"}),
        ("gradient-mean-square", {"law", "query", "U", "length"}),
        ("proposition-3-1", {"law", "queries", "U", "sigma"}),
        ("proposition-3-4", {"law", "queries", "U", "sigma"}),
    ],
)
def test_one_law_file_is_for_the_chapter(folder: Path, claim: str, used: set[str]) -> None:
    (folder / "law.yaml").write_text(EVERYTHING)
    taken = read_input(folder / "law.yaml", claim, "given")
    assert taken.plain.keys() == used
    (note,) = notes_on(taken, claim)
    assert "tilt" in note
    assert f"not used by {claim}" in note
    if "queries" in used:
        queries: Any = taken.plain["queries"]
        assert ("kind" in queries) is claim.startswith("proposition")


def test_a_law_file_is_for_typical_prompts(folder: Path) -> None:
    found = read(folder, "typical-prompt", EVERYTHING, "given.law")
    assert found == {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}


@pytest.mark.parametrize(
    ("claim", "text", "unused"),
    [
        ("output-tail", law("I"), []),
        ("output-tail", "law: {kind: box, sizes: [1]}\nquery: [1]\ntilt: [1]\n", ["tilt"]),
        ("output-tail", "law: {kind: box, sizes: [1]}\ntilt: [1]\nU: [[1]]\n", ["U"]),
        ("regression-risk", "covariance: I\nparameters: {A: I(2), b: 1}\nstart: {A: I(2), b: 1}\n", ["start"]),
        ("token-optimality", "keys: [[1]]\nscores: [1]\nloss: linear\nstart: [1]\n", ["loss", "start"]),
        # What would change the statement is not left out, nor is what a prover reads itself.
        ("output-tail", "law: {kind: box, sizes: [1]}\nquery: [1]\nU: [[1]]\nK: [[1]]\n", []),
        ("softmax-mean", "keys: [[1]]\nvalues: [[1]]\nqueries: [[1]]\ncausal: 1\n", []),
        ("token-optimality", "keys: [[1]]\nscores: [1]\nlabels: [1]\n", []),
        ("flow-trajectory", "covariance: [[1]]\nstart: {A: [[1]], b: 1}\ntraining: {rule: gradient}\n", []),
        ("output-tail", "law: {kind: box, sizes: [1]}\ntilt: [1]\nnorms: l2\n", []),
    ],
)
def test_only_what_leaves_the_rest_as_it_is_is_left_out(folder: Path, claim: str, text: str, unused: list[str]) -> None:
    (folder / "in.yaml").write_text(text)
    assert read_input(folder / "in.yaml", claim, "given").unused == unused


def test_what_was_read_before_is_read_as_before(folder: Path) -> None:
    """Files without anything of the above are the tree that they are."""
    text = to_text({"law": {"kind": "box", "sizes": ["1"]}, "tilt": ["1"], "length": "9"})
    assert to_text(read(folder, "output-tail", text)) == text


def test_errors_stand_on_their_line(folder: Path) -> None:
    (folder / "in.yaml").write_text(law("I"))
    taken = read_input(folder / "in.yaml", "output-tail", "given")
    from certattn.kernel.errors import Place

    def fails(path: str) -> None:
        with taken.given(folder / "c.yaml"):
            raise MalformedError(Place("c.yaml", 7, path), "x", "y")

    for path, place in (
        ("given.tilt[1]", "in.yaml:2: tilt[1]"),
        ("given.law.covariance[0][1]", "in.yaml:1: law.covariance[0][1]"),
        ("given", "in.yaml"),
        ("asserts.norm", "c.yaml:7: asserts.norm"),
    ):
        with pytest.raises(MalformedError) as blamed:
            fails(path)
        assert str(blamed.value.place).endswith(place)


# -- what a file is


def test_inputs_are_known_by_their_fields() -> None:
    assert claims_with({"law", "tilt"})[0] == "output-tail"
    assert claims_with({"covariance", "parameters"})[0] == "regression-risk"
    assert claims_with({"queries", "keys", "beta"}) == ["linearization"]
    assert claims_with({"apples", "pears"}) == []
    assert set(claims_with({"law"})) <= set(CHAPTER_OF)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"law: 1\n", ""),
        ("law: ä\n".encode(), ""),
        (b"\x93NUMPY\x01\x00", ".npy"),
        (b"PK\x03\x04rest", ".npz"),
        (b"\x10\0\0\0\0\0\0\0{\"x\": 1}", ".safetensors"),
        (b"\xff\xfel\0a\0", "UTF-16"),
        (b"\xff\xff\xff", "not UTF-8, on line 1"),
        (b"a\nb\xff", "on line 2"),
        (b"a\0b", "a binary file"),
    ],
)  # fmt: skip
def test_binary_files_are_called_so(data: bytes, kind: str) -> None:
    assert kind in binary_kind(data)
    assert bool(kind) is bool(binary_kind(data))
