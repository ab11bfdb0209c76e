"""Vectors and matrices in a certificate: written out, and in array files."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.document.matrices import REFERENCE, Matrix, MatrixInput, Numbers, Tensor, Vector
from certattn.kernel.document.numbers import RATIONAL_FORMS
from certattn.kernel.document.schema import Reading
from certattn.kernel.document.tree import Node
from certattn.kernel.limits import DEFAULT_LIMITS, Watch
from certattn.report.json_schema import schema_of

VECTOR = np.array([1, 0.5, -2], "<f4")
MATRIX = np.array([[1, 0.5], [-2, 3], [0, 0.125]])
CUBE, TESSERACT = np.arange(8.0).reshape(2, 2, 2), np.arange(48.0).reshape(2, 3, 4, 2) / 4


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """The hash of a file with arrays of one dimension to four."""
    np.savez(tmp_path / "x.npz", v=VECTOR, m=MATRIX, c=CUBE, t=TESSERACT)
    return hashlib.sha256((tmp_path / "x.npz").read_bytes()).hexdigest()


def reference(saved: str, **changes: str | None) -> str:
    """A reference to the matrix, with changes; None leaves a key out."""
    entries = {"file": "x.npz", "array": "m", "sha256": saved, "dtype": "float64", "shape": "[3, 2]", **changes}
    return "a:\n" + "".join(f"  {key}: {value}\n" for key, value in entries.items() if value is not None)


def entries(matrix: MatrixInput) -> list[list[fmpq]]:
    return matrix.load().to_rows()


def exact(array: np.ndarray[Any, Any]) -> list[list[fmpq]]:
    return [[fmpq(*float(x).as_integer_ratio()) for x in row] for row in np.atleast_2d(array)]


# -- written out


def test_a_matrix(read_field: Any) -> None:
    matrix = read_field(Matrix(), "a:\n- [1, 1/2]\n- [-0.25, 0x1p-3]\n- [0, 1e2]")
    assert matrix.shape == (3, 2)
    assert entries(matrix) == [[fmpq(1), fmpq(1, 2)], [fmpq(-1, 4), fmpq(1, 8)], [fmpq(0), fmpq(100)]]
    assert matrix.words() == "((1, 0.5), (-0.25, 0.125), (0, 100))"


def test_a_vector_is_one_row(read_field: Any) -> None:
    vector = read_field(Vector(), "a: [1, 1/3]")
    assert vector.shape == (1, 2)
    assert entries(vector) == [[fmpq(1), fmpq(1, 3)]]
    assert vector.words() == "(1, 1/3)"


def test_many_numbers_are_described_by_the_first_and_a_digest_of_all(read_field: Any) -> None:
    def words(last: str) -> str:
        said: str = read_field(Vector(), f"a: [{', '.join([*('1' * 99), last])}]").words()
        return said

    assert words("1").startswith("100 numbers (1, 1, 1, 1, ..., sha256 ")
    assert words("1") == words("1.0") == words("2/2") != words("1.000000000000000000000000000000000000000000001")


@given(st.lists(st.fractions(max_denominator=10**6), min_size=1, max_size=6))
def test_any_fractions(values: list[Any]) -> None:
    node = Node("f", 1, [Node("f", 1, str(value)) for value in values])
    reading = Reading(DEFAULT_LIMITS, Path(), Path(), Watch())
    assert entries(Vector().read(node, reading)) == [[fmpq(x.numerator, x.denominator) for x in values]]


# name: (kind, text, accepted neighbour, place, found, expected)
WRITTEN_REFUSED: dict[str, tuple[Any, str, str, str, str, str]] = {
    "empty vector": (Vector(), "a: []", "a: [1]", "1: a", "a list of 0", "a list of at least one item"),
    "scalar for a vector": (Vector(), "a: 1", "a: [1]", "1: a", "'1'", "a vector: a list of numbers, or a reference"),
    "nothing for a vector": (Vector(), "a: ''", "a: [1]", "1: a", "nothing", "a vector: a list of numbers"),
    "matrix for a vector": (Vector(), "a: [[1]]", "a: [1]", "1: a[0]", "a list of 1", RATIONAL_FORMS),
    "word in a vector": (Vector(), "a:\n- 1\n- one", "a:\n- 1\n- 2", "3: a[1]", "'one'", RATIONAL_FORMS),
    "root in a vector": (Vector(), "a: [1, sqrt(2)]", "a: [1, 2]", "1: a[1]", "'sqrt(2)'", RATIONAL_FORMS),
    "nothing in a vector": (Vector(), "a: [1, '']", "a: [1, '0']", "1: a[1]", "nothing", RATIONAL_FORMS),
    "not a number in a vector": (Vector(), "a: [nan]", "a: [0]", "1: a[0]", "'nan'", RATIONAL_FORMS),
    "empty matrix": (Matrix(), "a: []", "a: [[1]]", "1: a", "a list of 0", "a list of at least one item"),
    "empty row": (Matrix(), "a: [[1], []]", "a: [[1], [2]]", "1: a[1]", "a list of 0", "a list of at least one item"),
    "scalar for a matrix": (Matrix(), "a: 1", "a: [[1]]", "1: a", "'1'", "a matrix: a list of rows, or a reference"),
    "vector for a matrix": (Matrix(), "a: [1]", "a: [[1]]", "1: a[0]", "'1'", "a list of at least one item"),
    "cube for a matrix": (Matrix(), "a: [[[1]]]", "a: [[1]]", "1: a[0][0]", "a list of 1", RATIONAL_FORMS),
    "short row": (Matrix(), "a:\n- [1, 2]\n- [3]", "a:\n- [1, 2]\n- [3, 4]", "3: a[1]", "1 number", "2 numbers, like"),
    "long row": (Matrix(), "a:\n- [1]\n- [3, 4]", "a:\n- [1]\n- [3]", "3: a[1]", "2 numbers", "1 number, like the"),
    "mapping of nothing": (Matrix(), "a: {}", "a: [[1]]", "1: a", "no 'file' and no 'sha256' and no", "the keys file"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN_REFUSED)
def test_refused_numbers(name: str, read_field: Any, refused: Any) -> None:
    kind, text, neighbour, place, found, expected = WRITTEN_REFUSED[name]
    read_field(kind, neighbour)
    refused(lambda: read_field(kind, text), found=found, expected=expected, at=f"cert.yaml:{place}")


# -- in array files


def test_a_matrix_in_a_file(read_field: Any, saved: str) -> None:
    matrix = read_field(Matrix(), reference(saved))
    assert matrix.shape == (3, 2)
    assert entries(matrix) == exact(MATRIX)
    assert matrix.words() == "3 x 2 from x.npz[m]"


def test_some_rows(read_field: Any, saved: str) -> None:
    matrix = read_field(Matrix(), reference(saved, rows="1:3"))
    assert matrix.shape == (2, 2)
    assert entries(matrix) == exact(MATRIX[1:3])
    assert matrix.words() == "2 x 2 from x.npz[m], rows 1:3"


def test_all_rows_by_name(read_field: Any, saved: str) -> None:
    assert read_field(Matrix(), reference(saved, rows="0:3")).words() == "3 x 2 from x.npz[m]"


def test_a_vector_in_a_file(read_field: Any, saved: str) -> None:
    text = reference(saved, array="v", dtype="float32", shape="[3]")
    assert entries(read_field(Vector(), text)) == exact(VECTOR)
    some = read_field(Vector(), text + "  rows: 1:2\n")
    assert some.shape == (1, 1)
    assert entries(some) == exact(VECTOR[1:2])


def test_the_file_is_not_opened_before_its_numbers_are_asked_for(read_field: Any) -> None:
    matrix = read_field(Matrix(), reference("0" * 64, file="nowhere.npz"))
    assert matrix.shape == (3, 2)


def test_a_file_name_cannot_pass_for_numbers(read_field: Any) -> None:
    matrix = read_field(Matrix(), reference("0" * 64, file="'((1, 0), (0, 1)).npz'", array="'a b'"))
    assert matrix.words() == "3 x 2 from '((1, 0), (0, 1)).npz'['a b']"


SHA = "a sha256 digest: 64 hexadecimal digits in lower case"
ROWS = "rows as first:stop with first < stop, such as 0:64"
DTYPES = "'float8_e4m3fn' or 'float8_e5m2' or 'float16' or 'bfloat16'"
KEYS = "the keys file, array (optional), sha256, dtype, shape, rows (optional)"
# name: (changes, place, found, expected); the neighbour is the reference without changes
REFERENCES_REFUSED: dict[str, tuple[dict[str, str | None], str, str, str]] = {
    "no hash": ({"sha256": None}, "2: a", "no 'sha256'", KEYS),
    "no type": ({"dtype": None}, "2: a", "no 'dtype'", KEYS),
    "no shape": ({"shape": None}, "2: a", "no 'shape'", KEYS),
    "unknown key": ({"offset": "1"}, "7: a.offset", "the unknown key 'offset'", f"only {KEYS}"),
    "hash in capitals": ({"sha256": "A" * 64}, "4: a.sha256", "'AAAA", SHA),
    "short hash": ({"sha256": "a" * 63}, "4: a.sha256", "'aaaa", SHA),
    "hash with a name": ({"sha256": "sha256-" + "a" * 64}, "4: a.sha256", "'sha256-aaa", SHA),
    "hash with a line behind": ({"sha256": '"' + "a" * 64 + '\\n"'}, "4: a.sha256", "'aaaa", SHA),
    "list for a hash": ({"sha256": "[a]"}, "4: a.sha256", "a list of 1", "a sha256 digest"),
    "nothing for a file": ({"file": "''"}, "2: a.file", "nothing", "text"),
    "list for a file": ({"file": "[x.npz]"}, "2: a.file", "a list of 1", "text"),
    "long file name": ({"file": "x" * 1001}, "2: a.file", "1001 characters", "text of at most 1000 characters"),
    "end of line in a file name": ({"file": '"x\\n.npz"'}, "2: a.file", "'x\\n.npz'", "text on one line"),
    "unknown type": ({"dtype": "float128"}, "5: a.dtype", "'float128'", DTYPES),
    "numpy's name of a type": ({"dtype": "<f8"}, "5: a.dtype", "'<f8'", DTYPES),
    "scalar for a shape": ({"shape": "3"}, "6: a.shape", "'3'", "a list of at least one item"),
    "empty shape": ({"shape": "[]"}, "6: a.shape", "a list of 0", "a list of at least one item"),
    "no rows": ({"shape": "[0, 2]"}, "6: a.shape[0]", "'0'", "an integer >= 1"),
    "negative extent": ({"shape": "[3, -2]"}, "6: a.shape[1]", "'-2'", "an integer >= 1"),
    "decimal extent": ({"shape": "[3.0, 2]"}, "6: a.shape[0]", "'3.0'", "an integer >= 1"),
    "extent of too many digits": ({"shape": f"[3, {'9' * 9000}]"}, "6: a.shape[1]", "'9999", "an integer >= 1"),
    "one extent": ({"shape": "[6]"}, "6: a.shape", "1 extents", "two extents (rows, columns)"),
    "three extents": ({"shape": "[3, 2, 1]"}, "6: a.shape", "3 extents", "two extents (rows, columns)"),
    "rows without a colon": ({"rows": "1"}, "7: a.rows", "'1'", ROWS),
    "no first row": ({"rows": "':2'"}, "7: a.rows", "':2'", ROWS),
    "no last row": ({"rows": "'1:'"}, "7: a.rows", "'1:'", ROWS),
    "rows turned round": ({"rows": "2:1"}, "7: a.rows", "'2:1'", ROWS),
    "none of the rows": ({"rows": "1:1"}, "7: a.rows", "'1:1'", ROWS),
    "rows from behind": ({"rows": "-2:-1"}, "7: a.rows", "'-2:-1'", ROWS),
    "every other row": ({"rows": "0:3:2"}, "7: a.rows", "'0:3:2'", ROWS),
    "leading zero of a row": ({"rows": "01:2"}, "7: a.rows", "'01:2'", ROWS),
    "row number of too many digits": ({"rows": f"0:{'9' * 5000}"}, "7: a.rows", "'0:999", ROWS),
    "list for rows": ({"rows": "[0, 2]"}, "7: a.rows", "a list of 2", "rows as first:stop"),
    "more rows than there are": ({"rows": "0:4"}, "7: a.rows", "'0:4'", "rows among the 3 of the array"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES_REFUSED)
def test_refused_references(name: str, read_field: Any, refused: Any, saved: str) -> None:
    changes, place, found, expected = REFERENCES_REFUSED[name]
    read_field(Matrix(), reference(saved))
    text = reference(saved, **changes)
    refused(lambda: read_field(Matrix(), text), found=found, expected=expected, at=f"cert.yaml:{place}")


def test_two_extents_for_a_vector(read_field: Any, refused: Any, saved: str) -> None:
    refused(
        lambda: read_field(Vector(), reference(saved)),
        found="2 extents",
        expected="one extent",
        at="cert.yaml:6: a.shape",
    )


def test_a_file_that_is_not_as_stated_is_refused_at_its_reference(read_field: Any, refused: Any, saved: str) -> None:
    matrix = read_field(Matrix(), reference(saved, dtype="float32"))
    refused(matrix.load, found="dtype float64 in the file", expected="dtype float32, as stated", at="cert.yaml:2: a")


# -- arrays of more dimensions


def test_matrices_of_an_array_stand_one_below_the_other(read_field: Any, saved: str) -> None:
    for name, array in (("m", MATRIX), ("c", CUBE), ("t", TESSERACT)):
        stated = {"array": name, "shape": str(list(array.shape))}
        tensor = read_field(Tensor(), reference(saved, **stated))
        assert tensor.extents == array.shape
        assert tensor.shape == (array.size // 2, 2)
        assert entries(tensor) == exact(array.reshape(-1, 2))
        assert tensor.words() == f"{' x '.join(map(str, array.shape))} from x.npz[{name}]"
        some = read_field(Tensor(), reference(saved, **stated, rows="1:2"))
        assert some.extents == (1, *array.shape[1:])
        assert entries(some) == exact(array[1:2].reshape(-1, 2))


def test_a_tensor_that_is_written_out_is_a_matrix(read_field: Any, refused: Any) -> None:
    assert read_field(Tensor(), "a: [[1, 2, 3], [4, 5, 6]]").extents == (2, 3)
    assert read_field(Numbers(), "a: [[1, 2, 3]]").extents == (1, 3)
    refused(lambda: read_field(Tensor(), "a: [[[1]]]"), found="a list of 1", expected=RATIONAL_FORMS)


def test_numbers_for_rows(read_field: Any, saved: str) -> None:
    vector = read_field(Numbers(), reference(saved, array="v", dtype="float32", shape="[3]"))
    assert (vector.extents, vector.shape, entries(vector)) == ((3,), (1, 3), exact(VECTOR))
    cube = read_field(Numbers(), reference(saved, array="c", shape="[2, 2, 2]"))
    assert (cube.extents, cube.shape, entries(cube)) == ((2, 2, 2), (4, 2), exact(CUBE.reshape(4, 2)))


@pytest.mark.parametrize(
    ("kind", "shape", "expected"),
    [(Tensor(), "[6]", "two extents (rows, columns), or three or four"),
     (Tensor(), "[1, 1, 1, 3, 2]", "two extents (rows, columns), or three or four"),
     (Numbers(), "[1, 1, 3, 2]", "one extent, or two or three")],
)  # fmt: skip
def test_too_few_or_too_many_extents(
    kind: Matrix, shape: str, expected: str, read_field: Any, refused: Any, saved: str
) -> None:
    found = f"{shape.count(',') + 1} extents"
    refused(lambda: read_field(kind, reference(saved, shape=shape)), found=found, expected=expected)


# -- shapes that must fit


def test_shapes_that_must_fit(read_field: Any, refused: Any) -> None:
    matrix = read_field(Matrix(), "a: [[1, 2, 3], [4, 5, 6]]")
    for rows, columns in ((2, 3), (None, 3), (2, None), (None, None)):
        matrix.require_shape(rows, columns, "")
    for rows, columns, wanted in ((3, 2, "3 x 2"), (None, 2, "2 x 2"), (3, None, "3 x 3")):
        refused(
            lambda rows=rows, columns=columns: matrix.require_shape(rows, columns, "(one per key)"),
            found="a 2 x 3 matrix",
            expected=f"{wanted} (one per key)",
            at="cert.yaml:1: a",
        )
    matrix.require_length(3, "a query")
    refused(
        lambda: matrix.require_length(2, "a query"), found="3 numbers", expected="2 numbers, the dimension of a query"
    )


# -- hostile numbers


@pytest.mark.heavy
def test_unrelated_denominators_are_refused_before_they_are_multiplied(read_field: Any, refused: Any) -> None:
    numbers = ", ".join(f"1/{10**4000 + 2 * index + 1}" for index in range(1000))
    before = time.perf_counter()
    refused(
        lambda: read_field(Vector(), f"a: [{numbers}]"),
        found="numbers that need over 268435456 bytes when written out exactly",
        expected="shorter numbers",
        at="cert.yaml:1: a",
    )
    assert time.perf_counter() - before < 10


def test_the_room_for_denominators_grows_with_the_allowed_document(read_field: Any, refused: Any) -> None:
    text = f"a: [{', '.join(f'1/{prime}' for prime in (2**61 - 1, 2**89 - 1, 2**107 - 1, 2**127 - 1))}]"
    # The common denominator has 384 bits, so the four numbers need 192 bytes.
    read_field(Vector(), text, replace(DEFAULT_LIMITS, max_document_bytes=12))
    small = replace(DEFAULT_LIMITS, max_document_bytes=11)
    refused(lambda: read_field(Vector(), text, small), found="over 176 bytes", expected="shorter numbers")


def test_one_number_of_the_largest_exponent_is_fine(read_field: Any) -> None:
    assert read_field(Vector(), "a: [1e20000, 1e-20000]").load().entry(0, 0) == fmpq(10) ** 20000


# -- schemas


def test_schemas_take_what_is_read() -> None:
    sha = "0" * 64
    whole = {"file": "x.npz", "array": "m", "sha256": sha, "dtype": "float64", "shape": [3, 2], "rows": "0:2"}
    matrix = jsonschema.Draft202012Validator(schema_of(Matrix()))
    vector = jsonschema.Draft202012Validator(schema_of(Vector()))
    assert matrix.is_valid([[1, "1/2"]])
    assert matrix.is_valid(whole)
    assert vector.is_valid([1, "1/2"])
    assert vector.is_valid({**whole, "shape": [3]})
    wrong: list[Any] = [[], [[]], [1], "x", {**whole, "sha256": "x"}, {**whole, "x": 1}]
    assert not any(matrix.is_valid(value) for value in wrong)
    assert jsonschema.Draft202012Validator(schema_of(REFERENCE)).is_valid(whole)


# -- what is wrong in an array file is said of the file and the array


def test_errors_in_an_array_name_the_file_and_the_array(saved: str, read_field: Any, refused: Any) -> None:
    matrix = read_field(Matrix(), reference(saved))
    refused(lambda: matrix.require_shape(3, 3, "like b"), found="a 3 x 2 matrix in x.npz[m]", expected="3 x 3 like b")
    vector = read_field(Vector(), reference(saved, array="v", dtype="float32", shape="[3]"))
    refused(lambda: vector.require_length(2, "a query"), found="3 numbers in x.npz[v]", expected="2 numbers")
    assert vector.words() == "3 numbers from x.npz[v]"
    lost = read_field(Matrix(), reference(saved, array="w"))
    refused(lost.load, found="x.npz[w]: no array 'w'; the file has c, m, t, v", expected="exactly one")
