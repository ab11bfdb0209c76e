"""The grammar of documents: a file becomes a tree of text scalars, lists and mappings with line numbers.

The grammar stands in docs/format.md; each rule is a method here, or a pattern. Documents are YAML, but of YAML only
what a certificate needs: nothing is read that means something else, or nothing, to another reader of YAML. YAML's own
typing (`yes`, `1e3`, `012`, dates) is never used: a scalar is its text.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NoReturn

from certattn.kernel.document.quoting import quote
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError, Place
from certattn.kernel.limits import Limits

# Whatever a person allows: trees are walked by functions that call themselves.
_DEEPEST = 200

# -- the rules of the grammar that are patterns

# What may not stand in a file as itself: control characters, ends of line other than \n, marks
# that turn the direction in which text is shown, byte order marks, lone surrogates.
UNSHOWN = re.compile(
    r"[^\n -~\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    r"\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# Lines that YAML may take for the beginning or the end of a document, wherever they stand.
MARK = re.compile(r"^(?:---|\.\.\.|%)", re.MULTILINE)

# The rules of the grammar that are patterns. No text is repeated in two ways, so that the time is linear in the text.
# Possessive repetitions would say so, but early versions of Python 3.11 match them wrongly.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
KEY = re.compile(rf"({NAME.pattern}):(?=[ \n])")
INDENT = re.compile(r" *")
BLANK = re.compile(r"(?: *(?:#[^\n]*)?\n)*")
REST = re.compile(rf" *(?: #[^\n]*)?\n{BLANK.pattern}")
GAP = re.compile(r"(?: |\n|(?<=[ \n])#[^\n]*)*")
_FIRST = r"-?[^ \n\-?:,\[\]{}#&*!|>'\"%@`]"
TEXT = re.compile(rf"{_FIRST}(?:[^ \n:]|:(?=[^ \n])| +(?=[^ \n#]))*")
WORDS = re.compile(rf"{_FIRST}(?:[^ \n:,\[\]{{}}?]|:(?=[^ \n,\[\]{{}}])| +(?=[^ \n#,\[\]{{}}]))*")
SINGLE = re.compile(r"'((?:[^'\n]|'')*)'(?!')")
DOUBLE = re.compile(r'"((?:[^"\\\n]|\\["\\n])*)"')
ESCAPE = re.compile(r"\\(.)")

# What a person is told where a value is expected and none begins, by the character that stands there.
_LINES = "several lines of text are written as one line in double quotes, with \\n where a line ends"
WHY_NO_VALUE = {
    "&": "anchors are not read",
    "*": "aliases are not read",
    "!": "tags are not read",
    "|": _LINES,
    ">": _LINES,
    "'": "quotes end on the line on which they begin",
    '"': 'quotes end on the line on which they begin, and of escapes only \\\\, \\" and \\n are read',
    "]": "no comma stands behind the last item",
    "}": "no comma stands behind the last item",
}
NAMED = {"&": "the anchor", "*": "the alias", "!": "the tag"}


def read_tree(path: Path, limits: Limits) -> Node:
    """The tree of a document; the top is a mapping.

    Raises MalformedError with file, line and key path.
    """
    return read_hashed(path, limits)[0]


def read_hashed(path: Path, limits: Limits) -> tuple[Node, str]:
    """The tree of a document, and the sha256 of the bytes that it was read from. Raises MalformedError."""
    text = _read_text(path, limits)
    # Of bytes that are UTF-8 the text is another spelling.
    return parse_tree(text, str(path), limits), hashlib.sha256(text.encode("utf-8")).hexdigest()


def parse_tree(text: str, name: str, limits: Limits) -> Node:
    """The tree of a document; `name` stands for the file in messages."""
    text = text.replace("\r\n", "\n")
    _refuse_characters(text, name)
    return _Reader(text, name, limits).document()


def _read_text(path: Path, limits: Limits) -> str:
    place = Place(str(path))
    try:
        with regular_file(path, follow_link=True) as file:
            data = file.read(limits.max_document_bytes + 1)
    except (OSError, ValueError) as error:
        raise MalformedError(place, reason(error), "a readable YAML file") from None
    if len(data) > limits.max_document_bytes:
        raise MalformedError(
            place,
            f"a file over {limits.max_document_bytes} bytes",
            "a small text file",
            "put arrays into .npz files, or raise --max-document-bytes",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedError(Place(str(path), line), "bytes that are not UTF-8", "UTF-8 text") from None


def _refuse_characters(text: str, name: str) -> None:
    """Before YAML is read: what may not stand in the text, whatever it would mean."""
    if match := UNSHOWN.search(text):
        line = text.count("\n", 0, match.start()) + 1
        what = "a byte order mark" if match[0] == "\ufeff" else f"the character {match[0]!a}"
        raise MalformedError(Place(name, line), what, "text without tabs, control characters or invisible characters")
    if match := MARK.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise MalformedError(Place(name, line), f"a line that begins with {match[0]}", "one document without markers")


class _Reader:
    """Reads a text from its beginning to its end; `_at` is the place that has been reached, on line `_line`."""

    def __init__(self, text: str, name: str, limits: Limits) -> None:
        self._text = text + "\n"
        self._name = name
        self._most_nodes = limits.max_nodes
        self._deepest = min(limits.max_depth, _DEEPEST)
        self._at = 0
        self._line = 1
        self._count = 0
        self._depth = 0

    def document(self) -> Node:
        """{blank} mapping(0)"""
        self._skip(BLANK)
        top = Node(self._name, self._line, {})
        if self._at == len(self._text):
            raise MalformedError(Place(self._name), "an empty file", "a mapping")
        if self._indent() != 0 or not KEY.match(self._text, self._at):
            self._refuse(top, "a mapping whose first key stands at the beginning of its line")
        self._take_room(top)
        self._mapping(top, 0)
        return top

    # -- blocks: what stands on lines of its own

    def _mapping(self, node: Node, indent: int) -> None:
        """entry(n) {entry(n)}; the first key has been reached"""
        self._enter(node)
        while True:
            key = self._key(node)
            if match := REST.match(self._text, self._at):
                line = self._line
                self._pass(match)
                below = self._indent()
                if below > indent or (below == indent and self._text.startswith("- ", self._at + below)):
                    self._at += below
                    self._block(node, key, below)
                else:
                    raise Node(self._name, line, "", node, key).malformed("a value")
            else:
                self._skip(INDENT)
                self._value(node, key)
                self._end_of_line(node)
            if self._indent() != indent:
                break
            self._at += indent
        self._leave(node, indent)

    def _list(self, node: Node, indent: int) -> None:
        """item(n) {item(n)}; the first - has been reached"""
        self._enter(node)
        while True:
            start = self._at
            self._at += 1
            self._skip(INDENT)
            self._block(node, len(node.value), indent + self._at - start)
            if self._indent() != indent or not self._text.startswith("- ", self._at + indent):
                break
            self._at += indent
        self._leave(node, indent)

    def _block(self, parent: Node, step: str | int, indent: int) -> None:
        """mapping(n) | list(n) | value rest, as what has been reached tells"""
        if self._text.startswith("- ", self._at):
            self._list(self._add(parent, step, []), indent)
        elif KEY.match(self._text, self._at):
            self._mapping(self._add(parent, step, {}), indent)
        else:
            self._value(parent, step)
            self._end_of_line(parent)

    def _leave(self, node: Node, indent: int) -> None:
        """Behind a block stands a line of the block around it, or nothing."""
        self._depth -= 1
        if self._indent() > indent:
            self._at += self._indent()
            self._refuse(node, "a line that is indented as those before it", "no text goes on on a second line")

    def _end_of_line(self, node: Node) -> None:
        match = REST.match(self._text, self._at)
        if match is None:
            self._refuse(node, "the end of the line, or a comment behind a space", "text with : or # needs quotes")
        self._pass(match)

    # -- values: what stands on the line of its key, or in brackets

    def _value(self, parent: Node, step: str | int, plain: re.Pattern[str] = TEXT) -> None:
        """flow list | flow mapping | single quoted | double quoted | plain"""
        begin = self._text[self._at : self._at + 1]
        if begin == "[":
            self._bracketed(self._add(parent, step, []), "]")
        elif begin == "{":
            self._bracketed(self._add(parent, step, {}), "}")
        elif match := SINGLE.match(self._text, self._at):
            self._add(parent, step, match[1].replace("''", "'"))
            self._at = match.end()
        elif match := DOUBLE.match(self._text, self._at):
            self._add(parent, step, ESCAPE.sub(lambda escape: escape[1].replace("n", "\n"), match[1]))
            self._at = match.end()
        elif match := plain.match(self._text, self._at):
            self._add(parent, step, match[0])
            self._at = match.end()
        else:
            self._refuse_value(parent, step)

    def _bracketed(self, node: Node, close: str) -> None:
        """Items with commas between them and gaps around them; the bracket that opens has been reached"""
        self._enter(node)
        items = node.value
        self._at += 1
        self._skip(GAP)
        while not (self._text.startswith(close, self._at) and not items):
            step: str | int = len(items)
            if close == "}":
                step = self._key(node)
                self._skip(GAP)
            self._value(node, step, WORDS)
            self._skip(GAP)
            if self._text.startswith(close, self._at):
                break
            if not self._text.startswith(",", self._at):
                self._refuse(node, f", or {close}")
            self._at += 1
            self._skip(GAP)
        self._at += 1
        self._depth -= 1

    def _key(self, node: Node) -> str:
        """key ":", a new one"""
        assert isinstance(node.value, dict)
        match = KEY.match(self._text, self._at)
        if match is None:
            self._refuse(
                node, "a key: a letter, then letters, digits, _ and -, then : and a space or the end of the line"
            )
        key = match[1]
        if key in node.value:
            expected = f"one {quote(key)} (the first is on line {node.value[key].line})"
            raise MalformedError(self._place(node), f"the key {quote(key)} a second time", expected)
        self._take_room(node)
        self._at = match.end()
        return key

    # -- the tree

    def _add(self, parent: Node, step: str | int, value: str | list[Node] | dict[str, Node]) -> Node:
        """A new node of the tree."""
        node = Node(self._name, self._line, value, parent, step)
        self._take_room(node)
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict) and isinstance(step, str):
            parent.value[step] = node
        return node

    def _take_room(self, node: Node) -> None:
        self._count += 1
        if self._count > self._most_nodes:
            hint = "use array files, or raise --max-nodes"
            raise MalformedError(self._place(node), f"over {self._most_nodes} values", "fewer", hint)

    def _enter(self, node: Node) -> None:
        self._depth += 1
        if self._depth > self._deepest:
            hint = "raise --max-depth" if self._deepest < _DEEPEST else ""
            raise node.malformed("flatter structure", f"nesting over {self._deepest} levels", hint)

    # -- the text

    def _skip(self, pattern: re.Pattern[str]) -> None:
        """Pass over what may be nothing."""
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._pass(match)

    def _pass(self, match: re.Match[str]) -> None:
        self._line += match[0].count("\n")
        self._at = match.end()

    def _indent(self) -> int:
        """Of the line whose beginning has been reached; -1 behind the last one."""
        match = INDENT.match(self._text, self._at)
        return -1 if match is None or self._at == len(self._text) else len(match[0])

    # -- refusals

    def _refuse_value(self, parent: Node, step: str | int) -> NoReturn:
        """What has been reached begins no value."""
        begin, node = self._text[self._at : self._at + 1], Node(self._name, self._line, "", parent, step)
        found = f"{NAMED[begin]} {quote(self._ahead().split(' ')[0])}" if begin in NAMED else ""
        self._refuse(node, "a value", WHY_NO_VALUE.get(begin, ""), found)

    def _refuse(self, node: Node, expected: str, hint: str = "", found: str = "") -> NoReturn:
        end = "the end of the line" if self._at < len(self._text) else "the end of the file"
        ahead = self._ahead()
        raise MalformedError(self._place(node), found or (quote(ahead) if ahead else end), expected, hint)

    def _ahead(self) -> str:
        """The rest of the line."""
        return self._text[self._at :].partition("\n")[0].strip(" ")

    def _place(self, node: Node) -> Place:
        """Where the text has been reached, in the tree at a node."""
        return Place(self._name, self._line, node.path)
