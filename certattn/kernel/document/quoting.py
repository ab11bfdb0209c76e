"""Text from files, in messages: short, and harmless for a terminal."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

_NAME = re.compile(r"[\w./-]+")
_LONGEST = 60
_MOST_NAMES = 10


def quote(text: str) -> str:
    """The text between quotes: control characters escaped, and cut where it is long."""
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 10] + "...")


def word(text: str) -> str:
    """A key as a person would write it, quoted where it is not a plain word."""
    return text if len(text) <= _LONGEST and text.replace("-", "_").isidentifier() else quote(text)


def name(text: str) -> str:
    """A name of a file or array, quoted where a sentence would not show its end."""
    return text if len(text) <= _LONGEST and _NAME.fullmatch(text) else quote(text)


def listed(names: Collection[str]) -> str:
    """The first of some names."""
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return (", ".join(map(word, islice(names, _MOST_NAMES))) or "(none)") + more
