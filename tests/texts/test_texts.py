"""One table of texts, and everything that reads certificates: kernel, second checker, libyaml, JSON Schema, EBNF, Coq.

The tables are the .yaml files beside this one. Each says of a text what it is, or that it is refused. A family of rows
is one test; what fails names the row.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from certattn.coq.coqc import Coq
from certattn.coq.terms import Number
from certattn.kernel.decide.checker import theorem_of
from certattn.kernel.document.certificate import loads
from certattn.kernel.document.numbers import NumberError, parse_count, parse_rational, parse_real
from certattn.kernel.document.schema import Count, Rational, Scale
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Surd
from certattn.report.json_schema import json_schema, schema_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REFUSED = "refused"


def table(name: str) -> Any:
    return yaml.load((HERE / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CBaseLoader)


def of(families: dict[str, list[Any]]) -> pytest.MarkDecorator:
    """A test for each family."""
    return pytest.mark.parametrize("family", families.values(), ids=families)


def rows(family: list[Any]) -> Iterator[Any]:
    """(title, text, what it is)"""
    for title, text, *value in family:
        yield title, text, value[0] if value else REFUSED


@pytest.fixture(scope="module")
def readers(tool: Callable[[str], ModuleType]) -> Any:
    """The kernel, the second checker and libyaml, as the fuzzer asks them."""
    return tool("fuzz.two_readers")


DOCUMENTS, NUMBERS, ARRAYS, CERTIFICATES = map(table, ("documents", "numbers", "arrays", "certificates"))


def test_there_are_five_hundred_rows_and_none_twice() -> None:
    families = [*DOCUMENTS.values(), *ARRAYS.values(), CERTIFICATES["rows"]]
    families += [entries for kind in NUMBERS.values() for entries in kind.values()]
    titles = [entry[0] for entries in families for entry in entries]
    assert len(titles) >= 500
    for kind in (DOCUMENTS, *NUMBERS.values()):
        texts = [entry[1] for entries in kind.values() for entry in entries]
        assert len(set(texts)) == len(texts)
    assert all(len({entry[0] for entry in entries}) == len(entries) for entries in families)


# -- documents


@of(DOCUMENTS)
def test_documents(family: list[Any], readers: Any) -> None:
    for title, text, tree in rows(family):
        assert readers.kernel_tree(text) == tree, title
        assert readers.second_tree(text) == tree, title
        if tree != REFUSED:
            assert readers.yaml_tree(text) == tree, title


# -- outer forms


def test_outer_forms(readers: Any) -> None:
    schema = jsonschema.Draft202012Validator(json_schema())
    for title, old, new, taken in CERTIFICATES["rows"]:
        assert CERTIFICATES["base"].count(old) == 1, title
        text = CERTIFICATES["base"].replace(old, new)
        assert kernel_takes(text) == (taken == "all"), title
        assert second_takes(text, readers) == (taken == "all"), title
        # An editor takes plain 1 for a number, and '1' for a text.
        assert schema.is_valid(yaml.safe_load(text)) == (taken != "none"), title


def kernel_takes(text: str) -> bool:
    try:
        certificate = loads(text, "certificate.yaml")
        claim = theorem_of(certificate)
        claim.read(certificate)
        claim.first_bits(certificate)
    except MalformedError:
        return False
    return True


def second_takes(text: str, readers: Any) -> bool:
    try:
        top = readers.recheck.opened(text.encode())
        readers.recheck.CLAIMS[top["claim"]](top["given"], top["asserts"], top["witness"])
    except readers.recheck.BROKEN:
        return False
    except readers.recheck.NotProved:
        return True
    return True


# -- numbers


def exact(value: str) -> tuple[Fraction, bool]:
    """A value of the table: a rational number, or the root of one."""
    match = re.fullmatch(r"sqrt\((.*)\)", value)
    return (Fraction(match[1]), True) if match else (Fraction(value), False)


def read(parse: Callable[..., Any], text: str, refusal: type[Exception]) -> str:
    """What a reader says, as the table writes it. Those of the kernel know limits."""
    try:
        return str(parse(text, DEFAULT_LIMITS) if refusal is NumberError else parse(text))
    except refusal:
        return REFUSED


@of(NUMBERS["numbers"])
def test_numbers(family: list[Any], readers: Any) -> None:
    for title, text, value in rows(family):
        assert read(parse_rational, text, NumberError) == value, title
        assert read(readers.recheck.rational, text, readers.recheck.Rejected) == value, title
        if value != REFUSED:
            assert Fraction(value) == Fraction(*map(int, value.split("/"))), title
        # What is a number is one where roots are read too, and what is none is no root.
        assert read(parse_real, text, NumberError) == value, title
        assert readers.kernel_number(text) == readers.second_number(text), title


def test_roots(readers: Any) -> None:
    for title, text, value in rows(NUMBERS["roots"]["roots"]):
        assert read(parse_real, text, NumberError) == value, title
        assert read(parse_rational, text, NumberError) == REFUSED, title
        assert read(readers.recheck.rational, text, readers.recheck.Rejected) == REFUSED, title
        square = REFUSED
        if value != REFUSED:
            number, is_root = exact(value)
            square = str((number if is_root else number**2, 1))
        assert read(readers.recheck.scale_of, text, readers.recheck.Rejected) == square, title


def test_counts(readers: Any) -> None:
    for title, text, value in rows(NUMBERS["counts"]["counts"]):
        assert read(parse_count, text, NumberError) == value, title
        assert read(partial(readers.recheck.natural, what="a count"), text, readers.recheck.Rejected) == value, title


# Of numbers, what only readers know beside limits: that what stands under a root is positive.
UNKNOWN_TO_PATTERNS = {"of nought", "of minus nought", "one over that of nought", "of a negative number"}
FORMS = {
    family: [(kind, *row) for row in rows(entries) if row[0] not in UNKNOWN_TO_PATTERNS]
    for kind, families in NUMBERS.items()
    for family, entries in families.items()
    if family != "over the limits"
}


@of(FORMS)
def test_the_json_schema_knows_the_forms_of_numbers(family: list[Any]) -> None:
    schemas = {"numbers": schema_of(Rational()), "roots": schema_of(Scale()), "counts": schema_of(Count(0))}
    for kind, title, text, value in family:
        assert jsonschema.Draft202012Validator(schemas[kind]).is_valid(text) is (value != REFUSED), title


def test_the_json_schema_does_not_know_limits() -> None:
    for title, text, _ in rows(NUMBERS["numbers"]["over the limits"]):
        assert jsonschema.Draft202012Validator(schema_of(Rational())).is_valid(text), title


# -- the grammar as it is written down


def grammar() -> dict[str, str]:
    """The rules of docs/format.md, by name; those of blocks have a parameter, and are not among them."""
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```ebnf\n(.*?)```", page, re.DOTALL))
    return dict(re.findall(r"^([a-z-]+) +::= (.*(?:\n +.*)*)", blocks, re.MULTILINE))


RULES = grammar()
PIECE = re.compile(r"""("[^"]*"|'[^']*')|(\[(?:\\.|[^]])+\])|([a-z][a-z-]*)|([()|*+?])|\s+""")


def pattern(name: str) -> str:
    """A rule that is not about itself as a regular expression: names become what they stand for."""
    found, at = "", 0
    while at < len(RULES[name]):
        match = PIECE.match(RULES[name], at)
        assert match is not None, RULES[name][at:]
        literal, characters, word, sign = match.groups()
        found += re.escape(literal[1:-1]) if literal else pattern(word) if word else characters or sign or ""
        at = match.end()
    return f"(?:{found})"


@of(FORMS)
def test_the_rules_of_numbers_are_those_of_the_page(family: list[Any]) -> None:
    rules = {"numbers": "number", "roots": "scale", "counts": "count"}
    for kind, title, text, value in family:
        if "nineteen" not in title:
            assert (re.fullmatch(pattern(rules[kind]), text) is not None) is (value != REFUSED), title


def a_scalar(text: str, tree: Any) -> bool:
    """One key and a value of one line without brackets, comments and spaces behind it.

    The rules do not say how long a key is.
    """
    one_line = "\n" not in text and " #" not in text and "k" * 101 not in text
    return one_line and (tree == REFUSED or set(map(type, tree.values())) == {str})


@pytest.mark.parametrize("family", ["keys", "scalars without quotes", "single quotes", "double quotes"])
def test_the_rules_of_scalars_are_those_of_the_page(family: str) -> None:
    rule = f"{pattern('key')}: +(?:{pattern('single')}|{pattern('double')}|{pattern('text')})"
    found = [row for row in rows(DOCUMENTS[family]) if a_scalar(*row[1:])]
    assert len(found) >= 20
    for title, text, tree in found:
        assert (re.fullmatch(rule, text) is not None) is (tree != REFUSED), title


def test_the_rules_of_scalars_in_brackets_are_those_of_the_page() -> None:
    """Lists of one text that has no commas and brackets, not even between quotes."""
    rule = rf"a: \[(?:{pattern('single')}|{pattern('double')}|{pattern('flow-text')})\]"
    one_item = r"a: \[[^][{},\n ]+( [^][{},\n ]+)*\]"
    found = [row for row in rows(DOCUMENTS["brackets"]) if re.fullmatch(one_item, row[1])]
    assert len(found) >= 10
    for title, text, tree in found:
        assert (re.fullmatch(rule, text) is not None) is (tree != REFUSED), title


# -- arrays


def test_npy_headers(readers: Any) -> None:
    rule = pattern("npy-header")
    for title, header, *array in ARRAYS["npy"]:
        head = header.encode()
        for data in (
            b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + PAYLOAD,
            b"\x93NUMPY\x02\x00" + len(head).to_bytes(4, "little") + head + PAYLOAD,
        ):
            held_against(title, ".npy", data, array, readers)
        # The rule of the page does not know how many bytes an array has, nor that one in Fortran's order is turned.
        if array:
            assert re.fullmatch(rule, header), title
        elif "too short" not in header and "True" not in header and "()" not in header:
            assert not re.fullmatch(rule, header) or re.search("[0-9]{19}", header), title


def test_safetensors_headers(readers: Any) -> None:
    for title, header, *array in ARRAYS["safetensors"]:
        head = header.encode()
        data = len(head).to_bytes(8, "little") + head + PAYLOAD
        held_against(title, ".safetensors", data, array, readers)


PAYLOAD = bytes(range(24))


def held_against(title: str, suffix: str, data: bytes, array: list[Any], readers: Any) -> None:
    """Both readers find the array of the table, with the same numbers; or both find none."""
    dtype, shape = array or ("float32", ["2", "3"])
    stated = (dtype, tuple(map(int, shape)))
    standing = readers.compare_arrays(suffix, data, "a" if suffix != ".npy" else None, stated)
    assert standing == ("both read" if array else "both refuse", ""), title
    if array:
        assert readers.second_array(suffix, data, "a")[:2] == stated, title


# -- Coq


def test_coq_reads_the_same_numbers(coq: Coq, tmp_path: Path) -> None:
    """Each number of the table as the exporter writes it, against the table's value in Coq's own decimal notation."""
    values = [
        (text, *exact(value))
        for kind in ("numbers", "roots")
        for families in NUMBERS[kind].values()
        for _, text, *rest in families
        for value in rest
    ]
    assert len(values) >= 60
    sentences = ["From Coq Require Import ZArith List.", "Import ListNotations.", "Open Scope Z_scope."]
    for index, (text, number, is_root) in enumerate(values):
        read = parse_real(text, DEFAULT_LIMITS)
        assert isinstance(read, Surd) is is_root
        constant = Number(f"x{index}", read.radicand if isinstance(read, Surd) else read)
        sentences += constant.definitions()
        sentences.append(
            f"Goal (x{index}_num * {number.denominator} = {number.numerator} * Zpos x{index}_den)%Z."
            "\nProof. vm_compute. reflexivity. Qed."
        )
    (tmp_path / "Numbers.v").write_text("\n".join(sentences), encoding="ascii")
    done = subprocess.run(["coqc", "Numbers.v"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
