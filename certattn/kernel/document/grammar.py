"""The rules of the grammar of documents that are patterns.

The grammar stands in docs/format.md. Documents are YAML, but of YAML only what a certificate needs: nothing is read
that means something else, or nothing, to another reader of YAML.
"""

from __future__ import annotations

import re

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


def is_key(text: str) -> bool:
    """Whether it may stand as a key."""
    return NAME.fullmatch(text) is not None


def is_plain(text: str) -> bool:
    """Whether it may stand without quotes behind a key or a dash."""
    return TEXT.fullmatch(text) is not None and UNSHOWN.search(text) is None


def is_word(text: str) -> bool:
    """Whether it may stand without quotes in brackets."""
    return WORDS.fullmatch(text) is not None and UNSHOWN.search(text) is None
