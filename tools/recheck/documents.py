"""Exact numbers, the text of a certificate, and mappings with exactly the keys that a format has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from outcomes import Rejected

MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_TEXT, MAX_ARRAY = 16 << 20, 32, 500_000, 1000, 1 << 28
MAX_DIGITS, MAX_EXPONENT = 10_000, 20_000
NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:/(0|[1-9][0-9]*)|((?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]{1,6}))?)")
HEX = re.compile(r"(-?)0x([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?p([+-]?[0-9]{1,6})")
COUNT = re.compile(r"0|[1-9][0-9]{0,17}")
ROOT = re.compile(r"(1/)?sqrt\((.*)\)")
KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,99}):(?: |$)")
SPACES = re.compile(r" *")
EASY = re.compile(r"[A-Za-z0-9./+]*")
# control characters but the end of a line, marks that turn the direction of text, byte order marks, no characters
UNFIT = frozenset(
    map(chr, (*range(10), *range(11, 32), *range(127, 160), *range(0xD800, 0xE000), *range(0x2028, 0x202F)))
)
UNFIT |= frozenset("\u061c\u200e\u200f\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff")


def rational(text: object, what: str = "a number") -> Fraction:
    """The exact number that a scalar is, by the grammar of docs/format.md. Rejects everything else."""
    if not isinstance(text, str) or len(text) > MAX_DIGITS:
        raise Rejected(f"{what}: expected a number, found {str(text)[:40]!r}")
    if m := HEX.fullmatch(text):
        sign, whole, part, power = m.groups()
        if abs(int(power)) > MAX_EXPONENT:
            raise Rejected(f"{what}: exponent of {text[:40]!r} is too large")
        value = Fraction(int(whole + (part or ""), 16), 16 ** len(part or "")) * Fraction(2) ** int(power)
        return -value if sign else value
    if not (m := NUMBER.fullmatch(text)):
        raise Rejected(f"{what}: expected a number, found {text[:40]!r}")
    sign, whole, below, part, power = m.groups()
    if below is not None:
        if below == "0":
            raise Rejected(f"{what}: division by zero in {text[:40]!r}")
        value = Fraction(int(whole), int(below))
    else:
        if abs(int(power or 0)) > MAX_EXPONENT:
            raise Rejected(f"{what}: exponent of {text[:40]!r} is too large")
        digits = part[1:] if part else ""
        value = Fraction(int(whole + digits), 10 ** len(digits)) * Fraction(10) ** int(power or 0)
    return -value if sign else value


def natural(text: object, what: str, least: int = 0, most: int = 10**18) -> int:
    """A count: digits only, between two bounds."""
    if not isinstance(text, str) or not COUNT.fullmatch(text) or not least <= int(text) <= most:
        raise Rejected(f"{what}: expected an integer from {least} to {most}, found {str(text)[:40]!r}")
    return int(text)


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


def written(node: Any, where: str, lines: bool = False) -> str:
    """Words for people, on one line or on several."""
    if not isinstance(node, str) or not node or len(node) > MAX_TEXT or ("\n" in node and not lines):
        raise Rejected(f"{where}: expected a text of at most {MAX_TEXT} characters{'' if lines else ' on one line'}")
    return node


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


def fields(node: Any, where: str, need: str = "", may: str = "") -> dict[str, Any]:
    """A mapping with exactly the keys `need` and any of `may`; those left out are None. Anything else is rejected."""
    if not isinstance(node, dict):
        raise Rejected(f"{where}: expected a mapping")
    known = need.split() + may.split()
    for key in node:
        if key not in known:
            raise Rejected(f"{where}: unknown key {key!r}, expected {', '.join(known)}")
    for key in need.split():
        if key not in node:
            raise Rejected(f"{where}: the key {key!r} is missing")
    return {key: node.get(key) for key in known}


def starting_bits(w: Any) -> None:
    """A witness that says at most with how many bits to begin, which is looked at and not used."""
    hint = fields({} if w is None else w, "witness", "", "bits")
    if hint["bits"] is not None:
        natural(hint["bits"], "witness.bits", 2)


def listed(node: Any, where: str) -> list[Any]:
    """A list that is not empty."""
    if not isinstance(node, list) or not node:
        raise Rejected(f"{where}: expected a list with something in it")
    return node


def one_of(text: object, where: str, *choices: str) -> str:
    """A word out of some."""
    if text not in choices:
        raise Rejected(f"{where}: expected {' or '.join(choices)}, found {str(text)[:40]!r}")
    return str(text)


# all claims that certificates can make, to tell what is not covered from what is no certificate
NAMES = (
    "binary64-exponential descent-trajectory equivalent-law finite-moments flow-trajectory gradient-mean-square "
    "gradient-tail infinite-prompt-operator joint-max-margin linearization max-margin normalizer-bound "
    "not-marchenko-pastur output-deviation output-mean-square output-tail proposition-3-1 proposition-3-4 "
    "regression-risk regularization-path risk-gap risk-transfer selection-counterexample selection-direction "
    "selection-on-a-head singular-values softmax-mean spectral-distance token-optimality training-convergence "
    "typical-prompt universality-bound"
)
KINDS = tuple(NAMES.split())
