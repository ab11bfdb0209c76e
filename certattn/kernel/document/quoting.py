"""Text from files, in messages and sentences: short, harmless for a terminal, and in ASCII.

Letters that look alike must not pass for each other: a Cyrillic e in `queries` shows as an escape.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

_NAME = re.compile(r"[\w./-]+", re.ASCII)
_LONGEST = 60
_MOST_NAMES = 10


def quote(text: str) -> str:
    """The text between quotes: all but plain characters escaped, and cut where it is long."""
    return ascii(text if len(text) <= _LONGEST else text[: _LONGEST - 10] + "...")


def word(text: str) -> str:
    """A key as a person would write it, quoted where it is not a plain word."""
    plain = text.isascii() and text.replace("-", "_").isidentifier()
    return text if len(text) <= _LONGEST and plain else quote(text)


def name(text: str) -> str:
    """A name of a file or array, quoted where a sentence would not show its end."""
    return text if len(text) <= _LONGEST and _NAME.fullmatch(text) else quote(text)


def counted(number: int, noun: str) -> str:
    """1 token, 2 tokens, 3 queries, 4 indices."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("ex"):
        return f"{number} {noun.removesuffix('ex')}ices"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{number} {noun}s"


def listed(names: Collection[str]) -> str:
    """The first of some names."""
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return (", ".join(map(word, islice(names, _MOST_NAMES))) or "(none)") + more
