"""The outer form of certificates, from the file to the sections."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.kernel.document.certificate import ENVELOPE, load, loads, statement_digest
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.theorems.attention.output_deviation import THEOREM
from certattn.report.json_schema import schema_of
from certattn.writing import to_text

FILE = "cert.yaml"
TEXT = """\
certattn: 1
claim: output-deviation
given:
  keys: [[1], [-1]]
  values: [[1], [2]]
  queries: [[0]]
  limit: {kind: empirical}
asserts:
  deviation: {norm: l2, at_most: 1}
witness: {bits: 64}
provenance:
  note: "first line\\nsecond line"
  when: 2026-01-01
"""

# -- accepted


def test_a_certificate(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(TEXT)
    certificate = load(path)
    assert certificate.path == str(path)
    assert certificate.claim == "output-deviation"
    assert list(certificate.plain) == ["certattn", "claim", "given", "asserts", "witness", "provenance"]
    assert str(certificate.given.place) == f"{path}:4: given"
    assert str(certificate.asserts.place) == f"{path}:9: asserts"
    assert certificate.witness is not None
    assert certificate.witness.plain() == {"bits": "64"}
    assert certificate.provenance == {"note": "first line\nsecond line", "when": "2026-01-01"}
    assert certificate.digest == statement_digest(certificate.plain)
    assert loads(TEXT, path).plain == certificate.plain


def test_the_sections_that_may_be_left_out() -> None:
    certificate = loads(TEXT[: TEXT.index("witness")], FILE)
    assert certificate.witness is None
    assert certificate.provenance == {}
    assert certificate.digest == loads(TEXT, FILE).digest


def test_writing_a_certificate_and_reading_it_is_the_identity() -> None:
    plain = loads(TEXT, FILE).plain
    again = loads(to_text(plain), FILE)
    assert again.plain == plain
    assert again.digest == loads(TEXT, FILE).digest


# -- refused

ASSERTS = TEXT[TEXT.index("asserts") : TEXT.index("witness")]
PROVENANCE = TEXT[TEXT.index("provenance") :]
KEYS = "certattn, claim, given, asserts, witness (optional), provenance (optional)"
# name: (before, after, place, found, expected); the neighbour is the certificate above
REFUSED = {
    "no version": ("certattn: 1\n", "", "1", "no 'certattn'", f"the keys {KEYS}"),
    "another version": ("certattn: 1", "certattn: 2", "1: certattn", "'2'", "'1'"),
    "decimal version": ("certattn: 1", "certattn: 1.0", "1: certattn", "'1.0'", "'1'"),
    "version that is a list": ("certattn: 1", "certattn: [1]", "1: certattn", "a list of 1", "'1'"),
    "another version with other keys": (TEXT[TEXT.index("certattn") :], "certattn: 2\n", "1: certattn", "'2'", "'1'"),
    "no claim": ("claim: output-deviation\n", "", "1", "no 'claim'", f"the keys {KEYS}"),
    "nothing claimed": ("output-deviation", "''", "2: claim", "nothing", "text"),
    "claim that is a list": ("output-deviation", "[output-deviation]", "2: claim", "a list of 1", "text"),
    "two lines for the claim": ("output-deviation", '"a\\nb"', "2: claim", "'a\\nb'", "text on one line"),
    "escape in the claim": ("output-deviation", '"\\e[2J"', "2: claim", '\'"\\\\e[2J"\'', "a value"),
    "given under another name": ("given:", "givens:", "4: givens", "the unknown key 'givens'", f"only the keys {KEYS}"),
    "unknown section": ("witness:", "theorem:", "10: theorem", "the unknown key 'theorem'", f"only the keys {KEYS}"),
    "section in capitals": ("asserts:", "Asserts:", "9: Asserts", "the unknown key 'Asserts'", f"only the keys {KEYS}"),
    "asserts that is text": (ASSERTS, "asserts: all\n", "8: asserts", "'all'", "a mapping"),
    "witness that is a list": ("{bits: 64}", "[64]", "10: witness", "a list of 1", "a mapping"),
    "nothing for a witness": ("{bits: 64}", "", "10: witness", "nothing", "a value"),
    "section twice": ("witness: {bits: 64}", "claim: output-deviation", "10", "the key 'claim' a second", "on line 2"),
    "provenance that is text": (PROVENANCE, "provenance: me", "11: provenance", "'me'", "a mapping of short texts"),
    "list in the provenance": ("2026-01-01", "[2026]", "13: provenance.when", "a list of 1", "text"),
    "nothing in the provenance": ("2026-01-01", "", "13: provenance.when", "nothing", "a value"),
    "escape in the provenance": ("2026-01-01", '"\\e[2J"', "13: provenance.when", '\'"\\\\e[2J"\'', "a value"),
    "quoted key of the provenance": ("when:", "'when':", "13: provenance", "\"'when': 2026", "a key: a letter"),
    "space in a key of the provenance": ("when:", "it when:", "13: provenance", "'it when: 2026", "a key: a letter"),
    "number for a key of the provenance": ("when:", "2026:", "13: provenance", "'2026: 2026", "a key: a letter"),
    "long text in the provenance": ("2026-01-01", "x" * 1001, "13: provenance.when", "1001 characters", "at most 1000"),
    "cut": (TEXT[TEXT.index("asserts") :], "", "1", "no 'asserts'", f"the keys {KEYS}"),
    "cut inside a list": (TEXT[TEXT.index("]]") :], "", "5: given.keys[1]", "the end of the file", ", or ]"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, refused: Any) -> None:
    before, after, place, found, expected = REFUSED[name]
    assert TEXT.count(before) == 1
    loads(TEXT, FILE)
    text = TEXT.replace(before, after)
    refused(lambda: loads(text, FILE), found=found, expected=expected, at=f"{FILE}:{place}")


def outcome(text: str) -> str:
    """The claim as it is read, or the message of the refusal."""
    try:
        certificate = loads(text, FILE)
        return THEOREM.name if THEOREM.read(certificate) else ""
    except MalformedError as error:
        return str(error)


def test_every_cut_certificate_is_read_or_refused() -> None:
    for length in range(len(TEXT)):
        assert outcome(TEXT[:length]).startswith((FILE, THEOREM.name))


def test_every_changed_character_is_read_or_refused() -> None:
    for index in range(len(TEXT)):
        for character in "\0\t\n\x1b:-[{'\"&*!%#\u2028\ud800":
            assert outcome(TEXT[:index] + character + TEXT[index + 1 :]).startswith((FILE, THEOREM.name))


def test_hostile_names_of_sections(refused: Any) -> None:
    key = "k" * 100
    refused(lambda: loads(f"{TEXT}{key}: 1\n", FILE), found="the unknown key 'kkkkk", expected="only the keys")
    refused(lambda: loads(f"{TEXT}k{key}: 1\n", FILE), found="kkk...", expected="a key: a letter")
    refused(lambda: loads(f"{TEXT}\u0430: 1\n", FILE), found="'\\u0430: 1'", expected="a key: a letter")


# -- files


def test_a_missing_file(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / FILE
    refused(lambda: load(path), found="no such file or directory", expected="a readable YAML file", at=str(path))


def test_limits_reach_the_reader(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / FILE
    path.write_text(TEXT)
    for limit, value, found in (
        ("max_document_bytes", 100, "a file over 100 bytes"),
        ("max_nodes", 10, "over 10 values"),
        ("max_depth", 2, "nesting over 2 levels"),
    ):
        limits = replace(DEFAULT_LIMITS, **{limit: value})
        refused(lambda limits=limits: load(path, limits=limits), found=found, expected="")


Files = dict[str, bytes]


@pytest.fixture
def paper(tmp_path: Path) -> Callable[[str], Path]:
    """A certificate in `paper/` whose keys are in the array file of that name; there is one inside and one outside."""
    (tmp_path / "paper").mkdir()
    for folder in (tmp_path / "paper", tmp_path):
        np.save(folder / "k.npy", np.array([[1.0], [-1.0]]))
    sha = hashlib.sha256((tmp_path / "k.npy").read_bytes()).hexdigest()

    def write(file: str) -> Path:
        path = tmp_path / "paper" / FILE
        reference = f"{{file: {file}, sha256: {sha}, dtype: float64, shape: [2, 1]}}"
        path.write_text(TEXT.replace("[[1], [-1]]", reference))
        return path

    return write


def load_keys(path: Path, root: Path | None = None) -> Any:
    return THEOREM.read(load(path, root=root)).prompt.exact


def test_array_files_are_found_from_the_folder_of_the_certificate(paper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = paper("k.npy")
    load_keys(path)
    monkeypatch.chdir(path.parent.parent)
    load_keys(Path("paper") / FILE)
    monkeypatch.chdir(path.parent)
    load_keys(Path(FILE))


def test_array_files_outside_need_a_larger_root(paper: Any, refused: Any) -> None:
    path = paper("../k.npy")
    place = f"{path}:4: given.keys"
    refused(lambda: load_keys(path), found="leads to", expected=f"inside the folder {path.parent}", at=place)
    load_keys(path, root=path.parent.parent)


def test_a_root_elsewhere_shuts_out_the_folder_of_the_certificate(paper: Any, refused: Any, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    refused(lambda: load_keys(paper("k.npy"), tmp_path / "other"), found="leads to", expected="inside the folder")


def test_a_linked_certificate_has_its_arrays_beside_the_link(paper: Any, refused: Any, tmp_path: Path) -> None:
    path = paper("k.npy")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / FILE
    link.symlink_to(path)
    refused(lambda: load_keys(link), found="no such file or directory", expected="a readable array file")
    os.link(path.parent / "k.npy", link.parent / "k.npy")
    load_keys(link)


# -- the schema of the outer form


def test_the_schema_names_every_section() -> None:
    schema = schema_of(ENVELOPE)
    assert list(schema["properties"]) == ["certattn", "claim", "given", "asserts", "witness", "provenance"]
    assert schema["required"] == ["certattn", "claim", "given", "asserts"]
    assert schema["additionalProperties"] is False
