"""One table of texts, and everything that reads certificates: kernel, second checker, libyaml, JSON Schema, EBNF, Coq.

The tables are the .yaml files beside this one. Each says of a text what it is, or that it is refused.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
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
    return yaml.load((HERE / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def rows(families: dict[str, list[Any]]) -> Iterator[Any]:
    for family, entries in families.items():
        for entry in entries:
            yield pytest.param(*entry[1:], *([REFUSED] if len(entry) == 2 else []), id=f"{family}: {entry[0]}")


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


@pytest.mark.parametrize(("text", "tree"), rows(DOCUMENTS))
def test_documents(text: str, tree: Any, readers: Any) -> None:
    assert readers.kernel_tree(text) == tree
    assert readers.second_tree(text) == tree
    if tree != REFUSED:
        assert readers.yaml_tree(text) == tree


# -- outer forms


@pytest.mark.parametrize(("old", "new", "taken"), rows({"certificates": CERTIFICATES["rows"]}))
def test_outer_forms(old: str, new: str, taken: str, readers: Any) -> None:
    text = CERTIFICATES["base"]
    assert text.count(old) == 1
    text = text.replace(old, new)
    assert kernel_takes(text) == (taken == "all")
    assert second_takes(text, readers) == (taken == "all")
    # An editor takes plain 1 for a number, and '1' for a text.
    seen = yaml.safe_load(text)
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(seen) == (taken != "none")


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


def read(parse: Callable[[], Any], refusal: type[Exception]) -> str:
    """What a reader says, as the table writes it."""
    try:
        return str(parse())
    except refusal:
        return REFUSED


@pytest.mark.parametrize(("text", "value"), rows(NUMBERS["numbers"]))
def test_numbers(text: str, value: str, readers: Any) -> None:
    assert read(lambda: parse_rational(text, DEFAULT_LIMITS), NumberError) == value
    assert read(lambda: readers.recheck.rational(text), readers.recheck.Rejected) == value
    if value != REFUSED:
        assert Fraction(value) == Fraction(*map(int, value.split("/")))
    # What is a number is one where roots are read too, and what is none is no root.
    assert read(lambda: parse_real(text, DEFAULT_LIMITS), NumberError) == value
    assert readers.kernel_number(text) == readers.second_number(text)


@pytest.mark.parametrize(("text", "value"), rows(NUMBERS["roots"]))
def test_roots(text: str, value: str, readers: Any) -> None:
    assert read(lambda: parse_real(text, DEFAULT_LIMITS), NumberError) == value
    assert read(lambda: parse_rational(text, DEFAULT_LIMITS), NumberError) == REFUSED
    assert read(lambda: readers.recheck.rational(text), readers.recheck.Rejected) == REFUSED
    if value == REFUSED:
        with pytest.raises(readers.recheck.Rejected):
            readers.recheck.scale_of(text)
    else:
        number, is_root = exact(value)
        assert readers.recheck.scale_of(text) == (number if is_root else number**2, 1)


@pytest.mark.parametrize(("text", "value"), rows(NUMBERS["counts"]))
def test_counts(text: str, value: str, readers: Any) -> None:
    assert read(lambda: parse_count(text, DEFAULT_LIMITS), NumberError) == value
    assert read(lambda: readers.recheck.natural(text, "a count"), readers.recheck.Rejected) == value


# Of numbers, what only readers know beside limits: that what stands under a root is positive.
UNKNOWN_TO_PATTERNS = {"of nought", "of minus nought", "one over that of nought", "of a negative number"}
FORMS = [
    pytest.param(kind, entry[1], len(entry) == 3, id=f"{family}: {entry[0]}")
    for kind, families in NUMBERS.items()
    for family, entries in families.items()
    for entry in entries
    if family != "over the limits" and entry[0] not in UNKNOWN_TO_PATTERNS
]


@pytest.mark.parametrize(("kind", "text", "taken"), FORMS)
def test_the_json_schema_knows_the_forms_of_numbers(kind: str, text: str, taken: bool) -> None:
    schemas = {"numbers": schema_of(Rational()), "roots": schema_of(Scale()), "counts": schema_of(Count(0))}
    assert jsonschema.Draft202012Validator(schemas[kind]).is_valid(text) is taken


@pytest.mark.parametrize("text", [entry[1] for entry in NUMBERS["numbers"]["over the limits"]])
def test_the_json_schema_does_not_know_limits(text: str) -> None:
    assert jsonschema.Draft202012Validator(schema_of(Rational())).is_valid(text)


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


LIMITED = [pytest.param(*form.values, id=form.id) for form in FORMS if "nineteen" not in str(form.id)]


@pytest.mark.parametrize(("kind", "text", "taken"), LIMITED)
def test_the_rules_of_numbers_are_those_of_the_page(kind: str, text: str, taken: bool) -> None:
    rule = {"numbers": "number", "roots": "scale", "counts": "count"}[kind]
    assert (re.fullmatch(pattern(rule), text) is not None) is taken


def entries_of_one_line() -> Iterator[Any]:
    """Documents of one key and a value of one line without brackets, comments and spaces behind it: scalars alone.

    The rules do not say how long a key is.
    """
    for family in ("keys", "scalars without quotes", "single quotes", "double quotes"):
        for title, text, *tree in DOCUMENTS[family]:
            if (
                "\n" not in text
                and " #" not in text
                and "k" * 101 not in text
                and (not tree or set(map(type, tree[0].values())) == {str})
            ):
                yield pytest.param(text, bool(tree), id=f"{family}: {title}")


def one_item(row: Any) -> bool:
    return re.fullmatch(r"a: \[[^][{},\n ]+( [^][{},\n ]+)*\]", row.values[0]) is not None


@pytest.mark.parametrize(("text", "taken"), entries_of_one_line())
def test_the_rules_of_scalars_are_those_of_the_page(text: str, taken: bool) -> None:
    rule = f"{pattern('key')}: +(?:{pattern('single')}|{pattern('double')}|{pattern('text')})"
    assert (re.fullmatch(rule, text) is not None) is taken


@pytest.mark.parametrize(("text", "tree"), [row for row in rows({"brackets": DOCUMENTS["brackets"]}) if one_item(row)])
def test_the_rules_of_scalars_in_brackets_are_those_of_the_page(text: str, tree: Any) -> None:
    """Lists of one text that has no commas and brackets, not even between quotes."""
    rule = rf"a: \[(?:{pattern('single')}|{pattern('double')}|{pattern('flow-text')})\]"
    assert (re.fullmatch(rule, text) is not None) is (tree != REFUSED)


# -- arrays


@pytest.mark.parametrize(
    ("header", "dtype", "shape"),
    [pytest.param(e[1], *(e[2:] or (REFUSED, [])), id=e[0]) for e in ARRAYS["npy"]],
)
def test_npy_headers(header: str, dtype: str, shape: list[str], readers: Any) -> None:
    head = header.encode()
    for data in (
        b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + PAYLOAD,
        b"\x93NUMPY\x02\x00" + len(head).to_bytes(4, "little") + head + PAYLOAD,
    ):
        held_against(".npy", data, dtype, shape, readers)
    # The rule of the page does not know how many bytes an array has, nor that one in Fortran's order is turned.
    if dtype != REFUSED:
        assert re.fullmatch(pattern("npy-header"), header)
    elif "too short" not in header and "True" not in header and "()" not in header:
        assert not re.fullmatch(pattern("npy-header"), header) or re.search("[0-9]{19}", header)


@pytest.mark.parametrize(
    ("header", "dtype", "shape"),
    [pytest.param(e[1], *(e[2:] or (REFUSED, [])), id=e[0]) for e in ARRAYS["safetensors"]],
)
def test_safetensors_headers(header: str, dtype: str, shape: list[str], readers: Any) -> None:
    head = header.encode()
    held_against(".safetensors", len(head).to_bytes(8, "little") + head + PAYLOAD, dtype, shape, readers)


PAYLOAD = bytes(range(24))


def held_against(suffix: str, data: bytes, dtype: str, shape: list[str], readers: Any) -> None:
    """Both readers find the array of the table, with the same numbers; or both find none."""
    stated = ("float32", (2, 3)) if dtype == REFUSED else (dtype, tuple(map(int, shape)))
    standing, why = readers.compare_arrays(suffix, data, "a" if suffix != ".npy" else None, stated)
    assert (standing, why) == ("both refuse" if dtype == REFUSED else "both read", "")
    if dtype != REFUSED:
        assert readers.second_array(suffix, data, "a")[:2] == stated


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
