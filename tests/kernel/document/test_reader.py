"""Strict YAML: what is read, what is refused and where, and what hostile files cost."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.document.reader import UNSHOWN, parse_tree, read_tree
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits

FILE = "cert.yaml"


def outcome(text: str) -> str:
    """`read`, or the message of the refusal."""
    try:
        plain(text)
    except MalformedError as error:
        return str(error)
    return "read"


def plain(text: str, limits: Limits = DEFAULT_LIMITS) -> Plain:
    return parse_tree(text, FILE, limits).plain()


# -- accepted: what is read of each text is in the table of tests/texts


def test_every_node_knows_its_line_and_path() -> None:
    text = "a: 1\nb:\n  c:\n  - x\n  - {d: [y,\n  z]}\n# comment\n\nlong-key:\n  '4'\n"
    found = {
        str(node.place).removeprefix(f"{FILE}:"): node.value for node in scalars(parse_tree(text, FILE, DEFAULT_LIMITS))
    }
    assert found == {"1: a": "1", "4: b.c[0]": "x", "5: b.c[1].d[0]": "y", "6: b.c[1].d[1]": "z", "10: long-key": "4"}


def test_a_node_is_not_shown_with_all_that_is_around_it() -> None:
    """A parent is shown with its children; a child that showed its parent would show the whole document."""
    top = parse_tree("a: 1\nb: 2", FILE, DEFAULT_LIMITS).value
    assert isinstance(top, dict)
    assert repr(top["a"]) == f"Node(file='{FILE}', line=1, value='1', key='a')"


def scalars(node: Node) -> Iterator[Node]:
    if isinstance(node.value, str):
        yield node
    else:
        for item in node.value if isinstance(node.value, list) else node.value.values():
            yield from scalars(item)


# -- refused: each is one change away from an accepted text

SHOWN = "text without tabs, control characters or invisible characters"
TOP = "a mapping whose first key stands at the beginning of its line"
KEY = "a key: a letter, then letters, digits, _ and -"
MARKS = "one document without markers"
END = "the end of the line, or a comment behind a space"
INDENTED = "a line that is indented as those before it"
# name: (text, neighbour, place after the file, found, expected)
REFUSED = {
    "empty file": ("", "a: 1", "", "an empty file", "a mapping"),
    "only a comment": ("# a", "a: 1 # a", "", "an empty file", "a mapping"),
    "only a document mark": ("---", "a: 1", ":1", "a line that begins with ---", MARKS),
    "list at the top": ("- a", "a:\n- a", ":1", "'- a'", TOP),
    "scalar at the top": ("a", "a: 1", ":1", "'a'", TOP),
    "JSON": ('{"a": 1}', "a: 1", ":1", "'{\"a\": 1}'", TOP),
    "indented top": ("\n a: 1", "\na: 1", ":2", "'a: 1'", TOP),
    "byte order mark": ("\ufeffa: 1", "a: 1", ":1", "a byte order mark", SHOWN),
    "byte order mark inside": ("a: 1\nb: \ufeff2", "a: 1\nb: 2", ":2", "a byte order mark", SHOWN),
    "duplicate key": ("a: 1\nb: 2\na: 3", "a: 1\nb: 2", ":3", "the key 'a' a second", "one 'a' (the first is"),
    "duplicate key below": ("x:\n  a: 1\n  a: 2", "x:\n  a: 1", ":3: x", "the key 'a' a second time", "on line 2"),
    "duplicate key in braces": ("x: {a: 1,\n a: 2}", "x: {a: 1}", ":2: x", "the key 'a' a second time", "on line 1"),
    "key in quotes": ("a: 1\n'b': 2", "a: 1\nb: 2", ":2", "\"'b': 2\"", KEY),
    "key with a space": ("a:\n  b c: 2", "a:\n  b: 2", ":2", "': 2'", END),
    "key without a colon": ("a: 1\nb", "a: 1\nb: 2", ":2", "'b'", KEY),
    "key without a value": ("a: 1\nb:", "a: 1\nb: 2", ":2: b", "nothing", "a value"),
    "key without a value and more": ("a:\n\nb: 1", "a:\n\n b: 1", ":1: a", "nothing", "a value"),
    "explicit key": ("? a\n: 1", "a: 1", ":1", "'? a'", TOP),
    "key that is a mapping": ("x:\n  {a: 1}: 2", "x:\n  a: 2", ":2", "': 2'", END),
    "anchor": ("a: &x 1", "a: 1", ":1: a", "the anchor '&x'", "a value"),
    "anchor on a list": ("a:\n- b\n- &x [1]", "a:\n- b\n- [1]", ":3: a[1]", "the anchor '&x'", "a value"),
    "anchor on a mapping": ("a: &x {b: 1}", "a: {b: 1}", ":1: a", "the anchor '&x'", "a value"),
    "anchor on a key": ("b: 1\n&x a: 1", "b: 1\na: 1", ":2", "'&x a: 1'", KEY),
    "alias": ("a: 1\nb: *a", "a: 1\nb: a", ":2: b", "the alias '*a'", "a value"),
    "alias in brackets": ("a: [1,\n*a]", "a: [1,\na]", ":2: a[1]", "the alias '*a]'", "a value"),
    "tag": ("a: !!str 1", "a: 1", ":1: a", "the tag '!!str'", "a value"),
    "tag that would run code": (
        "a: !!python/object/apply:os.system [ls]", "a: [ls]", ":1: a", "the tag '!!python/object/", "a value"),
    "non-specific tag": ("a: ! 1", "a: 1", ":1: a", "the tag '!'", "a value"),
    "YAML directive": ("%YAML 1.1\na: 1", "a: 1", ":1", "a line that begins with %", MARKS),
    "TAG directive": ("# b\n%TAG ! x\na: 1", "# b\na: 1", ":2", "a line that begins with %", MARKS),
    "second document": ("a: 1\n---\nb: 2", "a: 1\nb: 2", ":2", "a line that begins with ---", MARKS),
    "end of a document": ("a: 1\n...", "a: 1\n", ":2", "a line that begins with ...", MARKS),
    "tab for indentation": ("a:\n\tb: 1", "a:\n b: 1", ":2", "the character '\\t'", SHOWN),
    "tab behind an empty line": ("\na: 1\t", "\na: 1", ":2", "the character '\\t'", SHOWN),
    "tab in a comment": ("a: b #\t", "a: b #", ":1", "the character '\\t'", SHOWN),
    "old Macintosh line end": ("a: 1\rb: 2", "a: 1\r\nb: 2", ":1", "the character '\\r'", SHOWN),
    "escape character": ("a: \x1b[31m", "a: b[31m", ":1", "the character '\\x1b'", SHOWN),
    "NUL": ("a: b\0c", "a: bc", ":1", "the character '\\x00'", SHOWN),
    "delete": ("a: b\x7f", "a: b", ":1", "the character '\\x7f'", SHOWN),
    "C1 control": ("a: b\x9b31m", "a: b", ":1", "the character '\\x9b'", SHOWN),
    "next line (NEL)": ("a: 1\x85b: 2", "a: 1\nb: 2", ":1", "the character '\\x85'", SHOWN),
    "line separator": ("a: 1\u2028b: 2", "a: 1\nb: 2", ":1", "the character '\\u2028'", SHOWN),
    "text turned round": ("a: 1\nb: 2 # \u202e3", "a: 1\nb: 2 # 3", ":2", "the character '\\u202e'", SHOWN),
    "lone surrogate": ("a: \ud800", "a: \U00010000", ":1", "the character '\\ud800'", SHOWN),
    "not a character": ("a: \uffff", "a: \ufffd", ":1", "the character '\\uffff'", SHOWN),
    "escape that is not read": ('a: "\\t"', 'a: "\\\\t"', ":1: a", "'\"\\\\t\"'", "a value"),
    "literal text": ("a: |\n  b", "a:\n  b", ":1: a", "'|'", "a value"),
    "folded text": ("a: >-\n  b", "a:\n  b", ":1: a", "'>-'", "a value"),
    "text on two lines": ("a: b\n  c", "a: b  c", ":2", "'c'", INDENTED),
    "quoted text on two lines": ("a: 'b\n  c'", "a: 'b  c'", ":1: a", "\"'b\"", "a value"),
    "quoted text on lines with a hash": ('a: "b\n#q\n  c"', 'a: "b #q c"', ":1: a", "'\"b'", "a value"),
    "text in brackets on two lines": ("a: [b\n  c]", "a: [b c]", ":2: a", "'c]'", ", or ]"),
    "text behind quotes": ("a: 'b' c", "a: 'b' # c", ":1", "'c'", END),
    "list without end": ("a: [1, 2", "a: [1, 2]", ":2: a", "the end of the file", ", or ]"),
    "mapping without end": ("a: {b: 1", "a: {b: 1}", ":2: a", "the end of the file", ", or }"),
    "brackets without anything": ("a: [", "a: []", ":2: a[0]", "the end of the file", "a value"),
    "comma at the end": ("a: [1, ]", "a: [1 ]", ":1: a[1]", "']'", "a value"),
    "no comma": ("a: [[1] [2]]", "a: [[1], [2]]", ":1: a", "'[2]]'", ", or ]"),
    "wrong indentation": ("a:\n  b: 1\n c: 2", "a:\n  b: 1\n  c: 2", ":3", "'c: 2'", INDENTED),
    "two colons": ("a: b: 1", "a: 'b: 1'", ":1", "': 1'", END),
    "dash alone": ("a:\n-\n  b", "a:\n- b", ":1: a", "nothing", "a value"),
    "reserved character": ("a: @b", "a: b@", ":1: a", "'@b'", "a value"),
    "colon that touches a bracket": ("a: {b:[1]}", "a: {b: [1]}", ":1: a", "'b:[1]}'", KEY),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, refused: Any) -> None:
    text, neighbour, place, found, expected = REFUSED[name]
    plain(neighbour)
    refused(lambda: plain(text), found=found, expected=expected, at=f"{FILE}{place}")


# -- what stands in the file does not reach a terminal raw

UNFIT = {
    "long duplicate key": "\n".join([f"{'k' * 100}: 1"] * 2),
    "long key": f"{'k' * 10**5}: 1",
    "long anchor": f"a: &{'x' * 10**5} 1",
    "long alias": f"a: *{'x' * 10**5}",
    "tag": "a: !%1b[2J%07 1",
    "long tag": f"a: !{'x' * 10**5} 1",
    "path of long keys": "\n".join(f"{' ' * i}{'k' * 100}:" for i in range(20)) + " &a 1",
    "long text at the top": "x" * 10**5,
    "letters of another script": "a: 1\n\u0430: 2",
}


@pytest.mark.parametrize("name", UNFIT)
def test_messages_are_short_and_without_control_characters(name: str, refused: Any) -> None:
    refused(lambda: plain(UNFIT[name]), found="", expected="")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: &b 1", "anchors are not read"),
        ("a: *b", "aliases are not read"),
        ("a: !b 1", "tags are not read"),
        ("a: |\n  b", r"several lines of text are written as one line in double quotes, with \n where a line ends"),
        ("a: >\n  b", r"several lines of text are written as one line in double quotes, with \n where a line ends"),
        ("a: 'b\n  c'", "quotes end on the line on which they begin"),
        (r'a: "\t"', r"quotes end on the line on which they begin, and of escapes only \\, \" and \n are read"),
        ("a: [1, ]", "no comma stands behind the last item"),
        ("a: {b: 1, }", ""),
        ("a: b: c", "text with : or # needs quotes"),
        ("a: b\n  c", "no text goes on on a second line"),
    ],
)
def test_refusals_say_what_to_do(text: str, hint: str) -> None:
    with pytest.raises(MalformedError) as caught:
        plain(text)
    assert caught.value.hint == hint


def test_a_mapping_is_described_by_its_first_keys() -> None:
    text = "a: {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}"
    top = parse_tree(text, FILE, DEFAULT_LIMITS).value
    assert isinstance(top, dict)
    shown = ", ".join(f"k{i}" for i in range(10))
    assert top["a"].describe() == f"a mapping with the keys {shown}, ..."


# -- limits

LIMITS = {
    "nodes": ("max_nodes", 4, "a: [1, 2]", "over 4 values", "fewer", ":1: a[1]"),
    "nodes, at a key": ("max_nodes", 3, "a: 1\nb: [2]", "over 3 values", "fewer", ":2"),
    "depth": ("max_depth", 2, "a:\n- [1]", "nesting over 2 levels", "flatter structure", ":2: a[0]"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_limits_can_be_raised(name: str, refused: Any) -> None:
    limit, value, text, found, expected, place = LIMITS[name]
    limits = {extra: replace(DEFAULT_LIMITS, **{limit: value + extra}) for extra in range(4)}
    message = refused(lambda: plain(text, limits[0]), found=found, expected=expected, at=f"{FILE}{place}")
    assert f"raise --{limit.replace('_', '-')}" in message
    plain(text, limits[3])


def test_no_limit_allows_what_would_exhaust_the_stack(refused: Any) -> None:
    limits = replace(DEFAULT_LIMITS, max_depth=10**9)
    nested = "a: " + "[" * 199 + "]" * 199
    assert plain(nested, limits)
    message = refused(
        lambda: plain(nested.replace("[]", "[[]]"), limits),
        found="nesting over 200 levels",
        expected="flatter structure",
    )
    assert "hint" not in message


# -- files


def test_a_file_over_the_limit(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / FILE
    path.write_text("a: 1 ###")
    message = refused(
        lambda: read_tree(path, replace(DEFAULT_LIMITS, max_document_bytes=7)),
        found="a file over 7 bytes",
        expected="a small text file",
        at=str(path),
    )
    assert "--max-document-bytes" in message
    assert read_tree(path, replace(DEFAULT_LIMITS, max_document_bytes=8)).plain() == {"a": "1"}


def test_a_gigabyte_is_not_read(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / FILE
    with path.open("wb") as file:
        file.truncate(2**30)
    before = time.perf_counter()
    refused(lambda: read_tree(path, DEFAULT_LIMITS), found="a file over 16777216 bytes", expected="a small")
    assert time.perf_counter() - before < 2


BYTES = {
    "empty": (b"", "", "an empty file", "a mapping"),
    "binary": (b"\x7fELF\x02\x01\x01\0\0\0", ":1", "the character '\\x7f'", SHOWN),
    "UTF-16": ("a: 1".encode("utf-16"), ":1", "bytes that are not UTF-8", "UTF-8 text"),
    "UTF-16 without a mark": ("a: 1".encode("utf-16-le"), ":1", "the character '\\x00'", SHOWN),
    "UTF-8 with a mark": ("a: 1".encode("utf-8-sig"), ":1", "a byte order mark", SHOWN),
    "Latin-1": ("a: 1\nb: \xe9".encode("latin-1"), ":2", "bytes that are not UTF-8", "UTF-8 text"),
    "a surrogate in bytes": (b"a: \xed\xa0\x80", ":1", "bytes that are not UTF-8", "UTF-8 text"),
    "an overlong slash": (b"a: \xc0\xaf", ":1", "bytes that are not UTF-8", "UTF-8 text"),
    "cut inside a character": ("a: é".encode()[:-1], ":1", "bytes that are not UTF-8", "UTF-8 text"),
    "gzip": (b"\x1f\x8b\x08\0", ":1", "bytes that are not UTF-8", "UTF-8 text"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_certificate(name: str, tmp_path: Path, refused: Any) -> None:
    content, place, found, expected = BYTES[name]
    path = tmp_path / FILE
    path.write_bytes(content)
    refused(lambda: read_tree(path, DEFAULT_LIMITS), found=found, expected=expected, at=f"{path}{place}")


def test_what_is_no_file(tmp_path: Path, refused: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        tmp_path / "missing": "no such file or directory",
        tmp_path: "is a directory",
        tmp_path / "pipe": "not a regular file",
        tmp_path / "loop": "too many levels of symbolic links",
        tmp_path / ("n" * 300): "file name too long",
        Path("/dev/zero"): "not a regular file",
        Path("/dev/null"): "not a regular file",
    }
    before = open_descriptors()
    for path, found in cases.items():
        refused(lambda path=path: read_tree(path, DEFAULT_LIMITS), found=found, expected="a readable", at=str(path))
    assert open_descriptors() == before


def open_descriptors() -> int:
    table = Path("/proc/self/fd")
    return len(list(table.iterdir())) if table.is_dir() else 0


def test_a_name_with_nul_is_no_file() -> None:
    with pytest.raises(MalformedError, match="embedded null byte"):
        read_tree(Path("a\0b"), DEFAULT_LIMITS)


def test_a_file_without_permission(tmp_path: Path, refused: Any, not_root: AbstractContextManager[None]) -> None:
    path = tmp_path / FILE
    path.write_text("a: 1")
    path.chmod(0)
    with not_root:
        refused(lambda: read_tree(path, DEFAULT_LIMITS), found="permission denied", expected="a readable", at=str(path))


def test_a_link_to_a_certificate_is_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("a: 1")
    (tmp_path / "link").symlink_to("target")
    assert read_tree(tmp_path / "link", DEFAULT_LIMITS).plain() == {"a": "1"}


# -- hostile texts: bounded time, which grows as they do

PART = 4
SIZE = DEFAULT_LIMITS.max_document_bytes // PART


def filled(unit: str, before: str = "", after: str = "") -> str:
    return before + unit * ((SIZE - len(before) - len(after)) // len(unit)) + after


HOSTILE = {
    "opening brackets": lambda: filled("["),
    "opening braces": lambda: filled("{a: "),
    "explicit keys": lambda: filled("? "),
    "lists in lists": lambda: filled("- "),
    "one quoted scalar": lambda: filled("x", 'a: "', '"'),
    "escaped NULs": lambda: filled("\\x00", 'a: "', '"'),
    "one plain scalar": lambda: filled("x", "a: "),
    "words": lambda: filled("x ", "a: "),
    "lines of one scalar": lambda: filled("\n x", "a: y"),
    "empty lines of one scalar": lambda: filled("\n", "a: 'b", "c'"),
    "literal text": lambda: filled("\n x", "a: |"),
    "comments": lambda: filled("#\n"),
    "nothing but ends of line": lambda: filled("\n"),
    "keys of one mapping": lambda: "\n".join(f"{index:x}:" for index in range(2_200_000 // PART))[:SIZE],
    "items of one list": lambda: filled("1,", "a: [", "]"),
    "lists of one list": lambda: filled("[],", "a: [", "]"),
    "many tag directives": lambda: "".join(f"%TAG !{index}! !\n" for index in range(800_000 // PART)),
    "one long anchor": lambda: filled("x", "a: &"),
    "one long tag": lambda: filled("%41", "a: !"),
    "document marks": lambda: filled("---\n"),
    "deep block lists": lambda: "a:" + filled("\n- - - - - - - - - - - - - - - - x"),
    "words too long for keys": lambda: filled("x" * 1000 + " ", "a: ["),
    "a long key over a long list": lambda: f"? {'k' * (SIZE // 2)}\n: [" + "1," * 249_000 + "]",
    "colons": lambda: filled(":"),
    "quotes": lambda: filled('"', "a: "),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_of_the_largest_size_would_take_seconds(name: str) -> None:
    text = HOSTILE[name]()
    assert SIZE / 2 < len(text) <= SIZE
    before = time.process_time()
    assert len(outcome(text)) < 2000
    assert time.process_time() - before < 30 / PART


def test_long_keys_do_not_cost_memory_once_per_node() -> None:
    # Paths of nested keys, stored with every node, would take 30 * 100 * 30000 = 90 MB here.
    text = "\n".join(f"{' ' * depth}{'k' * 100}:" for depth in range(30)) + " [" + "1," * 30_000 + "1]"
    tracemalloc.start()
    try:
        parse_tree(text, FILE, DEFAULT_LIMITS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 2**20


# -- the same text, read by other readers of YAML

PIECES = [
    "a", "b", "1", "0.1", ": ", ":", "- ", "-", "? ", "?", ", ", ",", "[", "]", "{", "}", '"', "'", "#", " #", "\n",
    "\n  ", "\n ", " ", "  ", "|", ">", "|-", ">+", "~", "---", "...", "\\", "\\x41", "\\n", "\\\n", "\\u00e9", "é",
    "0:64", "a: 1", "- a", '"x"', "'y'", "\n- ", "\na: ", "\nb:\n  ", "<<", "=", "|2", "{a: 1}", "[1, 2]", '"a":',
    "null", "\r\n", "\xa0", "\u3000", "1/2", "&a ", "*a", "!", "!!str ", "%", "@", "`", "\n%",
]  # fmt: skip


def yaml_ish() -> st.SearchStrategy[str]:
    piece = st.sampled_from(PIECES)
    return st.tuples(st.sampled_from(["", "a: ", "a:\n- ", "a: ["]), st.lists(piece, max_size=10)).map(
        lambda parts: parts[0] + "".join(parts[1])
    )


@given(yaml_ish())
def test_what_is_read_is_what_every_reader_of_yaml_reads(text: str) -> None:
    """libyaml, and PyYAML's parser in pure Python."""
    try:
        tree = plain(text)
    except MalformedError:
        return
    for loader in (yaml.CBaseLoader, yaml.BaseLoader):
        assert yaml.load(text.replace("\r\n", "\n"), Loader=loader) == tree


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert outcome(text) == "read" or outcome(text).startswith(FILE)


@given(st.binary())
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    text = content.decode("utf-8", "surrogateescape")
    assert outcome(text) == "read" or outcome(text).startswith(FILE)


@given(st.characters(exclude_characters="'\n"))
def test_what_is_not_refused_as_a_character_is_one_that_yaml_takes(character: str) -> None:
    if not UNSHOWN.search(character):
        for loader in (yaml.CSafeLoader, yaml.SafeLoader):
            assert yaml.load(f"a: 'x{character}y'", Loader=loader) == {"a": f"x{character}y"}
