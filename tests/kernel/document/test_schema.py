"""What fields hold: every kind with what it takes and what it refuses, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from flint import fmpq

from certattn.kernel.document.numbers import RATIONAL_FORMS, REAL_FORMS
from certattn.kernel.document.schema import (
    MAX_TEXT,
    ByKey,
    Choice,
    Count,
    Field,
    Kind,
    Length,
    Listing,
    Rational,
    Record,
    Scale,
    Text,
    Variant,
)
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Surd
from certattn.report.json_schema import schema_of

ONE = Field("one", Rational(), "a number")
TWO = Field("two", Text(), "a text", required=False)
RECORD = Record(ONE, TWO)
VARIANT = Variant("kind", {"plain": Record(ONE), "empty": Record()})
BY_KEY = ByKey({"one": Record(ONE, TWO), "three": Record(Field("three", Count(0), "a count"))})

# -- scalars

ACCEPTED: dict[str, tuple[Kind[Any], str, Any]] = {
    "rational": (Rational(), "a: -0.5", fmpq(-1, 2)),
    "rational in quotes": (Rational(), "a: '1/3'", fmpq(1, 3)),
    "rational at its minimum": (Rational(minimum=0), "a: 0", fmpq(0)),
    "rational above a bound": (Rational(above=0), "a: 1e-9", fmpq(1, 10**9)),
    "scale": (Scale(), "a: 1/sqrt(32)", Surd(fmpq(1, 32))),
    "negative scale": (Scale(), "a: -2", fmpq(-2)),
    "length": (Length(), "a: sqrt(8/9)", Surd(fmpq(8, 9))),
    "length of zero": (Length(), "a: 0", fmpq(0)),
    "count": (Count(1), "a: 1", 1),
    "choice": (Choice(("l2", "linf")), "a: linf", "linf"),
    "text": (Text(), "a: some words", "some words"),
    "text that looks like a number": (Text(), "a: 1.0", "1.0"),
    "text with a no-break space": (Text(), "a: 5\xa0km", "5\xa0km"),
    "text of the largest length": (Text(), f"a: {'x' * MAX_TEXT}", "x" * MAX_TEXT),
    "text on lines": (Text(lines=True), 'a: "b\\nc"', "b\nc"),
    "list": (Listing(Count(0)), "a: [1, 2]", [1, 2]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str, read_field: Any) -> None:
    kind, text, value = ACCEPTED[name]
    assert read_field(kind, text) == value


ONE_LINE = "text on one line"
# name: (kind, text, text of an accepted neighbour, place, found, expected)
REFUSED: dict[str, tuple[Kind[Any], str, str, str, str, str]] = {
    "no number": (Rational(), "a: x", "a: 1", "1: a", "'x'", RATIONAL_FORMS),
    "nothing for a number": (Rational(), "a: ''", "a: 1", "1: a", "nothing", RATIONAL_FORMS),
    "list for a number": (Rational(), "a: [1]", "a: 1", "1: a", "a list of 1", RATIONAL_FORMS),
    "mapping for a number": (Rational(), "a: {b: 1}", "a: 1", "1: a", "a mapping with the keys b", RATIONAL_FORMS),
    "root for a rational": (Rational(), "a: sqrt(2)", "a: 2", "1: a", "'sqrt(2)'", RATIONAL_FORMS),
    "division by zero": (Rational(), "a: 1/0", "a: 1/1", "1: a", "'1/0', a division by zero", RATIONAL_FORMS),
    "number in brackets of text": (Rational(), "a: '[1]'", "a: '1'", "1: a", "'[1]'", RATIONAL_FORMS),
    "below the minimum": (Rational(minimum=0), "a: -1e-9", "a: 0", "1: a", "'-1e-9'", "a number >= 0"),
    "at a bound to be above": (Rational(above=0), "a: 0/7", "a: 1/7", "1: a", "'0/7'", "a number > 0"),
    "no scale": (Scale(), "a: sqrt(-2)", "a: sqrt(2)", "1: a", "the root of a number that is not", REAL_FORMS),
    "nothing for a scale": (Scale(), "a: ''", "a: '1'", "1: a", "nothing", REAL_FORMS),
    "scale of zero": (Scale(), "a: 0.0", "a: 0.1", "1: a", "'0.0'", "a factor other than 0"),
    "negative length": (Length(), "a: -1e-9", "a: 1e-9", "1: a", "'-1e-9'", "a number >= 0"),
    "negative root for a length": (Length(), "a: -sqrt(2)", "a: sqrt(2)", "1: a", "'-sqrt(2)'", REAL_FORMS),
    "count below the minimum": (Count(1), "a: 0", "a: 1", "1: a", "'0'", "an integer >= 1"),
    "decimal for a count": (Count(1), "a: 1.0", "a: 1", "1: a", "'1.0'", "an integer >= 1"),
    "enormous count": (Count(1), f"a: {'9' * 9000}", "a: 9", "1: a", "'999", "an integer >= 1"),
    "nothing for a count": (Count(0), "a: ''", "a: 0", "1: a", "nothing", "an integer >= 0"),
    "another word": (Choice(("l2", "linf")), "a: L2", "a: l2", "1: a", "'L2'", "'l2' or 'linf'"),
    "list for a word": (Choice(("l2", "linf")), "a: [l2]", "a: l2", "1: a", "a list of 1", "'l2' or 'linf'"),
    "nothing for a text": (Text(), "a: ''", "a: ' '", "1: a", "nothing", "text"),
    "list for a text": (Text(), "a: [b]", "a: b", "1: a", "a list of 1", "text"),
    "long text": (Text(), f"a: {'x' * 1001}", "a: x", "1: a", "1001 characters", "text of at most 1000 characters"),
    "text on lines where one is meant": (Text(), 'a: "b\\nc"', "a: b c", "1: a", "'b\\nc'", ONE_LINE),
    "empty list": (Listing(Count(0)), "a: []", "a: [1]", "1: a", "a list of 0", "a list of at least one item"),
    "scalar for a list": (Listing(Count(0)), "a: 1", "a: [1]", "1: a", "'1'", "a list of at least one item"),
    "mapping for a list": (Listing(Count(0)), "a: {}", "a: [1]", "1: a", "keys (none)", "a list of at least one item"),
    "wrong item": (Listing(Count(0)), "a:\n- 1\n- x", "a:\n- 1\n- 2", "3: a[1]", "'x'", "an integer >= 0"),
    "unknown key": (RECORD, "a:\n  one: 1\n  tow: x", "a:\n  one: 1\n  two: x", "3: a.tow", "key 'tow'", "only"),
    "key in capitals": (RECORD, "a: {One: 1}", "a: {one: 1}", "1: a.One", "the unknown key 'One'", "one, two (opt"),
    "missing key": (RECORD, "a: {two: x}", "a: {one: 1, two: x}", "1: a", "no 'one'", "the keys one, two (optional)"),
    "empty record": (RECORD, "a: {}", "a: {one: 1}", "1: a", "no 'one'", "the keys one, two (optional)"),
    "list for a record": (RECORD, "a: [one]", "a: {one: 1}", "1: a", "a list of 1", "a mapping with the keys one"),
    "scalar for a record": (RECORD, "a: one", "a: {one: 1}", "1: a", "'one'", "a mapping with the keys one"),
    "wrong value": (RECORD, "a: {one: x}", "a: {one: 1}", "1: a.one", "'x'", RATIONAL_FORMS),
    "no form": (VARIANT, "a: {one: 1}", "a: {one: 1, kind: plain}", "1: a", "the keys one", "kind: plain or empty"),
    "other form": (VARIANT, "a: {kind: full}", "a: {kind: empty}", "1: a.kind", "'full'", "'plain' or 'empty'"),
    "form that is a list": (VARIANT, "a: {kind: [empty]}", "a: {kind: empty}", "1: a.kind", "a list of 1", "'plain'"),
    "key of another": (VARIANT, "a: {kind: empty, one: 1}", "a: {kind: plain, one: 1}", "1: a.one", "'one'", "only"),
    "keys of two forms": (BY_KEY, "a: {one: 1, three: 3}", "a: {three: 3}", "1: a.three", "key 'three'", "only"),
    "no form by key": (BY_KEY, "a: {four: 1}", "a: {three: 1}", "1: a.four", "key 'four'", "only the keys three"),
    "scalar for a form": (BY_KEY, "a: three", "a: {three: 3}", "1: a", "'three'", "a mapping with the keys three"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, read_field: Any, refused: Any) -> None:
    kind, text, neighbour, place, found, expected = REFUSED[name]
    read_field(kind, neighbour)
    refused(lambda: read_field(kind, text), found=found, expected=expected, at=f"cert.yaml:{place}")


def test_a_long_key_is_shown_short(read_field: Any, refused: Any) -> None:
    text = f"a:\n  one: 1\n  {'k' * 100}: 1"
    refused(lambda: read_field(RECORD, text), found="the unknown key 'kkk", expected="only the keys")


# -- records


def test_a_record_is_indexed_by_its_fields(read_field: Any) -> None:
    values = read_field(RECORD, "a:\n  one: 2\n  two: x")
    assert values[ONE] == 2
    assert values.get(TWO) == values[TWO] == "x"
    assert TWO in values
    assert str(values.node(TWO).place) == "cert.yaml:3: a.two"
    without = read_field(RECORD, "a:\n  one: 2")
    assert TWO not in without
    assert without.get(TWO) is None


def test_every_missing_key_is_named(read_field: Any, refused: Any) -> None:
    record = Record(ONE, Field("three", Text(), ""), Field("four", Text(), "", required=False))
    refused(
        lambda: read_field(record, "a: {four: x}"), found="no 'one' and no 'three'", expected="one, three, four (opt"
    )


@pytest.mark.parametrize(("text", "form"), [("a: {kind: plain, one: 1}", "plain"), ("a: {kind: empty}", "empty")])
def test_variants_say_their_form(text: str, form: str, read_field: Any) -> None:
    assert read_field(VARIANT, text)[0] == form


@pytest.mark.parametrize(("text", "form"), [("a: {one: 1}", "one"), ("a: {three: 3}", "three")])
def test_forms_by_key_say_their_key(text: str, form: str, read_field: Any) -> None:
    assert read_field(BY_KEY, text)[0] == form


# -- room for numbers


def test_numbers_that_blow_up_are_refused_while_they_are_read(read_field: Any, refused: Any) -> None:
    small = replace(DEFAULT_LIMITS, max_document_bytes=2000)
    # 16 * 2000 bytes of room; a number of 20001 digits needs 8305 of them.
    read_field(Listing(Rational()), "a: [1e20000, 1e20000, 1e20000]", small)
    message = refused(
        lambda: read_field(Listing(Rational()), "a: [1e20000, 1e20000, 1e20000, 0x1p-20000, 1e-20000]", small),
        found="numbers that need over 32000 bytes when written out exactly",
        expected="shorter numbers",
        at="cert.yaml:1: a[4]",
    )
    assert "raise --max-document-bytes" in message


# -- schemas: an editor must not complain about what the checker reads

TYPED: dict[str, tuple[Kind[Any], list[Any], list[Any]]] = {
    "rational": (Rational(), [1, 0.5, "1/3", "0x1p0"], [[1], None, True]),
    "scale": (Scale(), [1, "1/sqrt(32)"], [{}]),
    "length": (Length(), [0, "sqrt(768)"], [[1]]),
    "count": (Count(1), [1, "1"], [0, 1.5, None]),
    "choice": (Choice(("l2", "linf")), ["l2"], ["l1", 2]),
    "text": (Text(), ["x", 1.0, True, None], [["x"]]),
    "list": (Listing(Count(0)), [[1, 2]], [[], 1]),
    "record": (RECORD, [{"one": 1}, {"one": 1, "two": "x"}], [{}, {"one": 1, "three": 1}, {"two": "x"}]),
    "variant": (VARIANT, [{"kind": "empty"}, {"kind": "plain", "one": 1}], [{}, {"kind": "empty", "one": 1}]),
    "by key": (BY_KEY, [{"one": 1}, {"three": 3}], [{"one": 1, "three": 3}, {"four": 4}]),
}


@pytest.mark.parametrize("name", TYPED)
def test_schemas(name: str) -> None:
    kind, valid, invalid = TYPED[name]
    validator = jsonschema.Draft202012Validator(schema_of(kind))
    assert [value for value in valid if not validator.is_valid(value)] == []
    assert [value for value in invalid if validator.is_valid(value)] == []
