"""Short forms of matrices in the files that `certattn generate` takes: diag(2, 1, 1/2), I, 2*I, I(64).

A certificate never holds one: they are written out before it is made. How large I is, a field beside it tells, or an
array that an option names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from flint import fmpq

from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import format_rational

_NUMBER = r"[-0-9][-+.0-9a-fA-Fxp/]*"
# In brackets of YAML, where commas divide items, a form need not be quoted either: `input_files` looks for this.
PATTERN = rf"(?:{_NUMBER} ?\* ?)?(?:diag\([^()\n]*\)|I\([0-9]+\)|I(?![\w(]))"
_WORD = re.compile(rf"(?:({_NUMBER}) ?\* ?)?(?:diag\(([^()]*)\)|I(?:\(([1-9][0-9]{{0,4}})\))?)", re.ASCII)
_MEANT = re.compile(r"(?:.*\* ?)?(?:diag|diagonal|eye|identity|I)\b|-I\b", re.IGNORECASE)
FORMS = "diag(2, 1, 1/2), I, 2*I or I(3)"
# Of more rows, zeros and all, a certificate would be longer than a file of arrays.
_MOST_ROWS = 256

# Where the size of I is looked for, in this order: in the mapping that it stands in, then in those around it.
_SIZED_BY: Mapping[str, tuple[str, ...]] = {
    "covariance": ("mean", "A", "P", "start", "parameters", "tokens"),
    "A": ("P", "covariance", "tokens"),
    "P": ("A", "covariance"),
    "Q": ("query", "queries", "K", "law", "tokens"),
    "U": ("law", "tokens", "query", "queries"),
    "K": ("law", "tokens", "query", "queries"),
    "V": ("law", "tokens", "tilt", "query", "queries"),
    "W": ("tokens",),
    "keys": ("queries",),
    "queries": ("keys",),
}
# What a mapping, such as a law, holds that tells its dimension.
_INSIDE = ("mean", "sizes", "points", "components", "law", "covariance", "A", "P")

ColumnsOf = Callable[[Node], int | None]


def written_out(node: Node, columns_of: ColumnsOf, beside: Mapping[str, int]) -> Plain | None:
    """The rows of the matrix that a short form at `node` stands for; None for what is no short form.

    columns_of : how many columns an array has that a text names.
    beside : how many the arrays of fields have that stand elsewhere. Raises MalformedError.
    """
    text = str(node.value)
    match = _WORD.fullmatch(text)
    if match is None:
        if _MEANT.match(text):
            raise node.malformed(f"a matrix: a list of rows, or {FORMS} with exact numbers")
        return None
    factor = _number(node, match[1] or "1")
    if match[2] is not None:
        diagonal = [factor * _number(node, entry.strip()) for entry in match[2].split(",")]
    else:
        size = int(match[3]) if match[3] else _size(node, columns_of, beside)
        if size is None:
            advice = "write its size, as I(3), or all its numbers, as diag(1, 1, 1)"
            raise node.malformed("a matrix whose size is known", f"{text!r}; no field beside it says how large", advice)
        diagonal = [factor] * min(size, _MOST_ROWS + 1)
    if len(diagonal) > _MOST_ROWS:
        raise node.malformed(
            f"at most {_MOST_ROWS} rows", f"{text!r:.40}", "save the matrix to a .npy file and name it"
        )
    rows: list[Plain] = []
    for row, entry in enumerate(diagonal):
        rows.append([format_rational(entry) if column == row else "0" for column in range(len(diagonal))])
    return rows


def _number(node: Node, text: str) -> fmpq:
    try:
        return parse_rational(text, DEFAULT_LIMITS)
    except NumberError as error:
        raise node.malformed(f"exact numbers in {FORMS}", f"{error} in {node.describe()}") from None


def _size(node: Node, columns_of: ColumnsOf, beside: Mapping[str, int]) -> int | None:
    at: Node | None = node.parent
    names = _SIZED_BY.get(str(node.key), ())
    while at is not None:
        if isinstance(at.value, dict):
            for name in names:
                found = at.value.get(name)
                size = None if found is None or found is node else columns(found, columns_of)
                if size is not None:
                    return size
        at = at.parent
    return next((beside[name] for name in names if name in beside), None)


def columns(node: Node, columns_of: ColumnsOf) -> int | None:
    """How long a vector is, or the rows of a matrix, or the vectors of a law; None where it is not said."""
    value = node.value
    if isinstance(value, list):
        if not value:
            return None
        return len(value) if isinstance(value[0].value, str) else columns(value[0], columns_of)
    if isinstance(value, dict):
        shape = value.get("shape")
        if shape is not None and isinstance(shape.value, list) and shape.value:
            last = shape.value[-1].value
            return int(last) if isinstance(last, str) and last.isascii() and last.isdecimal() else None
        sizes = (columns(value[name], columns_of) for name in _INSIDE if name in value)
        return next((size for size in sizes if size is not None), columns_of(node) if "file" in value else None)
    match = _WORD.fullmatch(value)
    if match is None:
        return columns_of(node)
    if match[2] is not None:
        return match[2].count(",") + 1
    return int(match[3]) if match[3] else None
