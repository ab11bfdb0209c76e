"""Statements in LaTeX read back: what the rows of a section say, as the reader of certificates reads numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Real

ITEM = r"\certifieditem"


def read_number(latex: str) -> Real:
    """The number that is typeset. Raises NumberError for anything else."""
    text = _uncoded(latex.replace(r"\allowbreak{}", "").replace("$", ""))
    text = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"e\1", text)
    return parse_real(re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text), DEFAULT_LIMITS)


def read_value(latex: str) -> list[Real | str]:
    """The numbers of a value or of a list in its order, and the words among them."""
    found: list[Real | str] = []
    for part in latex.split(", "):
        text = re.sub(r"^\(+|(?<=\))\)+$|\)+$", "", part) if latex.startswith("(") else part
        try:
            found.append(read_number(text))
        except NumberError:
            found.append(unescaped(_uncoded(text)))
    return found


def _uncoded(latex: str) -> str:
    return re.sub(r"\\certifiedcode\{([^{}]*)\}", r"\1", latex)


def rows(latex: str, title: str) -> dict[str, str]:
    """What stands under each key path in the section of this title."""
    text = " ".join(latex.split())
    begin, end = rf"\begin{{certifiednumbers}}{{{title}}}", r"\end{certifiednumbers}"
    section = text.partition(begin)[2].partition(end)[0]
    found: dict[str, str] = {}
    for item in section.split(ITEM)[1:]:
        key, value = _arguments(item)
        path = unescaped(re.fullmatch(r"\\certifiedcode\{(.*)\}", key)[1])  # type: ignore[index]
        assert path not in found
        found[path] = value
    return found


def unescaped(latex: str) -> str:
    return re.sub(r"\\([_#%&${}])", r"\1", latex)


def _arguments(text: str) -> Iterator[str]:
    """What stands in braces, one after the other."""
    depth, begin = 0, 0
    for place, character in enumerate(text):
        if character in "{}" and text[place - 1] != "\\":
            if character == "{":
                begin = begin if depth else place + 1
                depth += 1
            else:
                depth -= 1
                if depth == 0:
                    yield text[begin:place]
    assert depth == 0
