"""The text of a certificate as a tree of texts, lists and mappings; its outer form, and all claims."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fields import fields, one_of, written
from outcomes import Rejected

MAX_BYTES, MAX_DEPTH, MAX_NODES = 16 << 20, 32, 500_000
KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,99}):(?: |$)")
SPACES = re.compile(r" *")
EASY = re.compile(r"[A-Za-z0-9./+]*")
# control characters but the end of a line, marks that turn the direction of text, byte order marks, no characters
UNFIT = frozenset(
    map(chr, (*range(10), *range(11, 32), *range(127, 160), *range(0xD800, 0xE000), *range(0x2028, 0x202F)))
)
UNFIT |= frozenset("\u061c\u200e\u200f\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff")


Token = tuple[int, str, str]  # column, kind, text; kinds are - key text end and the five [ ] { } ,


def tokens(text: str) -> Iterator[Token]:
    """What the text consists of: line after line, each from left to right, and an `end` for lines outside of brackets.

    Comments and empty lines are nothing, and lines within brackets are one line. Scalars end where they begin.
    """
    text = text.replace("\r\n", "\n")
    if not UNFIT.isdisjoint(text):
        raise Rejected("a control character, tab or byte order mark")
    inside: list[str] = []  # the brackets that are open
    last = ""
    for line in text.split("\n"):
        if line.startswith(("---", "...", "%")):
            raise Rejected(f"a directive or a second document: {line[:40]!r}")
        at, fresh = 0, True  # fresh: outside of brackets nothing but dashes stands before it
        while (at := SPACES.match(line, at).end()) < len(line):
            c, begin = line[at], at
            if c == "#" and line[at - 1 : at] in ("", " "):
                break
            m = KEY.match(line, at)
            if m and ((fresh and not inside) or (inside[-1:] == ["{"] and last in ("{", ","))):
                kind, value, at = "key", m[1], m.end(1) + 1
            elif fresh and not inside and line.startswith("- ", at):
                kind, value, at = "-", "", at + 1
            elif c in "[]{},":
                kind, value, at = c, "", at + 1
                if c in "[{":
                    inside.append(c)
                elif c in "]}" and (not inside or inside.pop() + c not in ("[]", "{}")):
                    raise Rejected(f"a bracket that closes nothing: {line[begin:][:40]!r}")
            else:
                kind, (value, at) = "text", scalar(line, at, bool(inside))
            yield begin, kind, value
            fresh, last = fresh and kind == "-", kind
        if not inside and last not in ("", "end"):
            last = "end"
            yield len(line), last, ""


def scalar(line: str, i: int, inside: bool) -> tuple[str, int]:
    """The scalar that begins at line[i], and the place behind it. A plain one holds less `inside` of brackets."""
    first, j = line[i], i + 1
    if first == "'":
        value = ""
        while (k := line.find("'", j)) >= 0:
            value, j = value + line[j:k], k + 1
            if line[j : j + 1] != "'":
                return value, j
            value, j = value + "'", j + 1
        raise Rejected(f"a quotation without an end on its line: {line[i:][:40]!r}")
    if first == '"':
        letters = []
        while line[j : j + 1] not in ("", '"'):
            c = line[j]
            if c == "\\":
                j += 1
                c = {"\\": "\\", '"': '"', "n": "\n"}.get(line[j : j + 1], "")
            letters.append(c)
            j += 1
            if not c:
                raise Rejected(f"an escape that is not read: {line[i:][:40]!r}")
        if j >= len(line):
            raise Rejected(f"a quotation without an end on its line: {line[i:][:40]!r}")
        return "".join(letters), j + 1
    j = i + (first == "-")
    if line[j : j + 1] in ("", *" -?:,[]{}#&*!|>'\"%@`"):
        raise Rejected(f"no value: {line[i:][:40]!r}")
    while j < len(line):
        c, behind = line[j], line[j + 1 : j + 2]
        if inside and c in ",[]{}":
            break
        if (c == ":" and (behind in ("", " ") or (inside and behind in ",[]{}"))) or (c == "?" and inside):
            raise Rejected(f"not a plain scalar: {line[i:][:60]!r}")
        if c == " " and behind == "#":
            break
        m = EASY.match(line, j + 1)
        j = m.end() if m else j + 1
    return line[i:j].rstrip(" "), j


class Reader:
    """A tree of texts, lists and mappings out of the tokens of a file; columns tell what belongs to what."""

    def __init__(self, text: str) -> None:
        """Begin with the first token."""
        self.rest = tokens(text)
        self.nodes = 1
        self.column, self.kind, self.text = next(self.rest, (-1, "", ""))

    def document(self) -> dict[str, Any]:
        """The whole file: one mapping at the margin, and nothing behind it."""
        if self.column != 0 or self.kind != "key":
            raise Rejected("a file that does not begin with a key")
        top: dict[str, Any] = self.mapping(1)
        if self.kind:
            raise Rejected(f"text behind the end: {self.text[:40]!r}")
        return top

    def step(self, *kinds: str) -> str:
        """Take a token of one of these kinds, and look at the next one."""
        if self.kind not in kinds:
            found = self.text[:40] or self.kind or "the end of the file"
            raise Rejected(f"expected {' or '.join(kinds)}, found {found!r}")
        text = self.text
        self.column, self.kind, self.text = next(self.rest, (-1, "", ""))
        return text

    def count(self, depth: int = 0) -> None:
        """One node more, at this depth."""
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise Rejected("too many values, or lists nested too deeply")

    def name(self, found: dict[str, Any]) -> str:
        """A key that is not among those before it."""
        key = self.step("key")
        self.count()
        if key in found:
            raise Rejected(f"the key {key!r} comes twice")
        return key

    def block(self, depth: int) -> Any:
        """What begins here, on lines of its own or behind a dash."""
        if self.kind in ("-", "key"):
            self.count(depth)
            return self.items(depth) if self.kind == "-" else self.mapping(depth)
        node = self.value(depth)
        self.step("end")
        return node

    def mapping(self, depth: int) -> dict[str, Any]:
        """Keys that stand in one column."""
        column = self.column
        found: dict[str, Any] = {}
        while self.column == column and self.kind == "key":
            key = self.name(found)
            if self.kind == "end":
                self.step("end")
                if self.column < column + (self.kind != "-"):
                    raise Rejected(f"no value of {key!r}")
            elif self.kind in ("-", "key"):
                raise Rejected(f"two things on the line of {key!r}")
            found[key] = self.block(depth + 1)
        if self.column >= column:
            raise Rejected(f"not in the column of other keys: {self.text[:40]!r}")
        return found

    def items(self, depth: int) -> list[Any]:
        """A list: dashes in one column."""
        column = self.column
        found = []
        while self.column == column and self.kind == "-":
            self.step("-")
            found.append(self.block(depth + 1))
        if self.column > column:
            raise Rejected(f"not in the column of other items: {self.text[:40]!r}")
        return found

    def value(self, depth: int) -> Any:
        """A scalar, or what stands in brackets."""
        self.count(depth if self.kind in ("[", "{") else 0)
        if self.kind == "[":
            self.step("[")
            items: list[Any] = []
            while self.kind != "]" or items:
                items.append(self.value(depth + 1))
                if self.kind == "]":
                    break
                self.step(",")
            self.step("]")
            return items
        if self.kind == "{":
            self.step("{")
            found: dict[str, Any] = {}
            while self.kind != "}" or found:
                key = self.name(found)
                found[key] = self.value(depth + 1)
                if self.kind == "}":
                    break
                self.step(",")
            self.step("}")
            return found
        return self.step("text")


def opened(data: bytes) -> dict[str, Any]:
    """The certificate that a file holds, in its outer form: given, asserts and witness are mappings."""
    if len(data) > MAX_BYTES:
        raise Rejected("a file of more than 16 MiB")
    need = "certattn claim given asserts"
    top = fields(Reader(data.decode("utf-8")).document(), "the file", need, "witness provenance")
    one_of(top["certattn"], "certattn", "1")
    one_of(top["claim"], "claim", *KINDS)
    for key in ("given", "asserts", "witness", "provenance"):
        if not isinstance(top[key], dict) and (key in need.split() or top[key] is not None):
            raise Rejected(f"{key}: expected a mapping")
    for key, text in (top["provenance"] or {}).items():
        written(text, f"provenance.{key}", lines=True)
    return top


# all claims that certificates can make, to tell what is not covered from what is no certificate
NAMES = (
    "attention-error attention-spectrum binary64-exponential cache-error causal-law descent-trajectory equivalent-law "
    "finite-moments flow-trajectory full-batch-descent gradient-mean-square gradient-tail held-out-risk "
    "infinite-prompt-operator joint-max-margin linearization max-margin normalizer-bound not-marchenko-pastur "
    "observed-prompt output-deviation output-mean-square output-tail proposition-3-1 proposition-3-4 regression-risk "
    "regularization-path risk-gap risk-transfer selection-basins selection-counterexample selection-direction "
    "selection-on-a-head singular-values softmax-mean spectral-distance stochastic-descent theorem-4-3 "
    "token-optimality training-convergence typical-prompt universality-bound"
)
KINDS = tuple(NAMES.split())
