"""What has changed between two certificates, number by number.

The statement is compared as its digest sees it: 0.10 and 1/10 are equal, paths of array files do not count. Whether one
statement implies the other is said only where bounds alone have changed: `at_most` in `asserts` became smaller, or
`at_least` larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from flint import fmpq

from certattn.kernel.document.certificate import STATEMENT_KEYS, Certificate, canonical
from certattn.kernel.document.matrices import ANY, read_reference
from certattn.kernel.document.numbers import NumberError, parse_rational
from certattn.kernel.document.quoting import quote
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import CertattnError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.theorems import CHAPTER_OF

SAME, STRONGER, WEAKER, DIFFERENT = "same", "stronger", "weaker", "different"
_SAID = {
    SAME: "the same statement",
    STRONGER: "a stronger statement: it implies the old one",
    WEAKER: "a weaker statement: the old one implies it",
    DIFFERENT: "another statement",
}
# Fields of `asserts` that are bounds in whatever claim has them: with less of these a statement says more, and with
# more of those. What is `exceeded` with a probability of at most so much is exceeded by less no more rarely, and so is
# a `deviation`.
LESS: Final = frozenset({"at_most", "relative_at_most", "probability", "exceeds", "within", "deviation"})
MORE: Final = frozenset({"at_least", "at_least_everywhere"})
# Where a field of these is none: the smallest size with something within a distance is another one for each distance.
_NO_BOUND: Final = frozenset({("finite-moments", "within")})
# Of what is given, a length from which on all lengths are meant.
_ONWARDS: Final = frozenset({("attention-spectrum", "given.from")}) | {
    (claim, "given.length.at_least") for claim in CHAPTER_OF
}
# And what many are meant by: more of them with a larger number. A law of queries may have a radius too, but not there.
_MANY: Final = {
    "output-tail": frozenset({"given.queries.radius"}),
    **dict.fromkeys(
        ("proposition-3-1", "proposition-3-4"),
        frozenset({"given.class.radius", "given.class.query_sigma", "given.norms.U", "given.norms.V"}),
    ),
}
# Array files beyond this are compared by hash alone.
_MOST_ENTRIES = 10**6
# Longer lists are shown by their length.
_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: key path, what stood there and what stands there now ("" for nothing).

    `direction` is "stronger" or "weaker" for a bound of which that is known, else "". `note` says more of arrays.
    """

    path: str
    old: str
    new: str
    direction: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`statement`: how the new statement is to the old one: same, stronger, weaker or different.

    `changes` of the statement, in order; `hints` of witness and provenance, which change no statement.
    """

    statement: str
    changes: tuple[Change, ...]
    hints: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        changes = [{name: getattr(c, name) for name in Change.__dataclass_fields__} for c in self.changes]
        return {"statement": self.statement, "changes": changes, "hints": [hint.path for hint in self.hints]}


def differences(comparison: Comparison) -> list[str]:
    """A line that says how the new statement is to the old one, and one for each change of it."""
    lines = [_SAID[comparison.statement]]
    for change in comparison.changes:
        notes = ", ".join(filter(None, (change.direction, change.note)))
        line = f"{change.path}: {change.old or '(nothing)'} -> {change.new or '(nothing)'}"
        lines.append(f"  {line}  ({notes})" if notes else f"  {line}")
    return lines


def compare(old: Certificate, new: Certificate, *, entries: bool = True) -> Comparison:
    """Compare two certificates that were read.

    Array files that cannot be read are compared by hash alone, and without `entries` all are.
    """
    walk = _Walk(old, new, entries)
    all_changes = list(walk.changes(old.values.at, new.values.at))
    changes = tuple(change for change in all_changes if _section(change.path) in STATEMENT_KEYS)
    hints = tuple(change for change in all_changes if _section(change.path) not in STATEMENT_KEYS)
    same = old.digest == new.digest
    directions = {change.direction for change in changes}
    if same or not changes:
        # Both say so, or the difference is one that this comparison does not see.
        return Comparison(SAME if same and not changes else DIFFERENT, changes, hints)
    known = len(directions) == 1 and directions != {""}
    return Comparison(directions.pop() if known else DIFFERENT, changes, hints)


@dataclass(frozen=True, slots=True)
class _Walk:
    old: Certificate
    new: Certificate
    entries: bool

    def changes(self, old: Node, new: Node) -> Iterator[Change]:
        """The differences below two nodes of one key path."""
        a, b = old.value, new.value
        if canonical(old.plain()) == canonical(new.plain()):
            return
        if isinstance(a, dict) and isinstance(b, dict) and not (is_array(old) or is_array(new)):
            for key in dict.fromkeys((*a, *b)):
                if key in a and key in b:
                    yield from self.changes(a[key], b[key])
                else:
                    node = a[key] if key in a else b[key]
                    yield Change(node.path, _shown(node) if key in a else "", _shown(node) if key in b else "")
            return
        if direction := _direction(old, new, self.new.claim):
            yield Change(new.path, _shown(old), _shown(new), direction, _count(old, new))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and not is_matrix(new):
            for one, other in zip(a, b, strict=True):
                yield from self.changes(one, other)
        else:
            yield Change(new.path, _shown(old), _shown(new), "", self._note(old, new))

    def _note(self, old: Node, new: Node) -> str:
        if not (is_array(old) and is_array(new)):
            return _count(old, new)
        if not self.entries:
            return ""
        try:
            one, other = (_entries(node, c) for node, c in ((old, self.old), (new, self.new)))
        except CertattnError as error:
            return f"array files of other content; entries not compared: {' '.join(str(error).split())}"
        if len(one) != len(other):
            return "array files of other content and shape"
        differ = sum(x != y for x, y in zip(one, other, strict=True))
        return f"{differ} of {len(one)} entries differ" if differ else "other files with equal entries"


def _section(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def is_array(node: Node) -> bool:
    """A reference to an array file."""
    return isinstance(node.value, dict) and "file" in node.value


def is_matrix(node: Node) -> bool:
    """A list of numbers, or of such lists: one thing to compare and to show."""
    items = node.value if isinstance(node.value, list) else []
    return all(isinstance(item.value, str) or (isinstance(item.value, list) and is_matrix(item)) for item in items)


def _leaves(node: Node) -> Iterator[Any]:
    if isinstance(node.value, list):
        for item in node.value:
            yield from _leaves(item)
    else:
        yield canonical(node.plain())


def _count(old: Node, new: Node) -> str:
    """How many entries of two written lists of numbers differ."""
    if not (isinstance(old.value, list) and isinstance(new.value, list)):
        return ""
    one, other = list(_leaves(old)), list(_leaves(new))
    if len(one) != len(other):
        return f"{len(one)} entries, then {len(other)}"
    return f"{sum(x != y for x, y in zip(one, other, strict=True))} of {len(one)} entries differ"


def _entries(node: Node, certificate: Certificate) -> list[fmpq]:
    """The numbers of an array file. Raises CertattnError where it cannot be read, or is too large for that."""
    reference = read_reference(node, certificate.reading, ANY)
    if math.prod(reference.extents) > _MOST_ENTRIES:
        raise CertattnError(f"more than {_MOST_ENTRIES} entries")
    matrix = certificate.reading.arrays.read(reference)
    return [matrix.entry(i, j) for i in range(matrix.rows) for j in range(matrix.columns)]


def _direction(old: Node, new: Node, claim: str) -> str:
    """Whether a bound became stronger or weaker; "" where that is not known."""
    bound = _section(new.path) == "asserts" and new.key in LESS | MORE and (claim, new.key) not in _NO_BOUND
    many, onwards = new.path in _MANY.get(claim, ()), (claim, new.path) in _ONWARDS
    if not (bound or many or onwards):
        return ""
    try:
        one, other = _numbers(old), _numbers(new)
    except NumberError:
        return ""
    # A bound of 0 says more than a bound in some claims: that something cannot be done.
    if len(one) != len(other) or isinstance(old.value, str) is not isinstance(new.value, str) or 0 in (*one, *other):
        return ""
    smaller = all(bool(y <= x) for x, y in zip(one, other, strict=True))
    larger = all(bool(y >= x) for x, y in zip(one, other, strict=True))
    if smaller is larger:
        return ""
    return STRONGER if smaller is (new.key in LESS or onwards) else WEAKER


def _numbers(node: Node) -> list[fmpq]:
    """A number, or the numbers of a list. Raises NumberError for anything else."""
    if isinstance(node.value, str):
        return [parse_rational(node.value, DEFAULT_LIMITS)]
    if isinstance(node.value, list) and all(isinstance(item.value, str) for item in node.value):
        return [parse_rational(str(item.value), DEFAULT_LIMITS) for item in node.value]
    raise NumberError("not a number or a list of numbers")


def _shown(node: Node) -> str:
    """What stands there, short."""
    if is_array(node):
        assert isinstance(node.value, dict)
        digest = node.value.get("sha256")
        return f"an array file, sha256 {quote(str(digest.value))[1:-1] if digest else '(none)'}"
    if isinstance(node.value, list) and is_matrix(node):
        leaves = sum(1 for _ in _leaves(node))
        return _flow(node) if leaves <= _MOST_SHOWN else f"{leaves} entries"
    return quote(node.value)[1:-1] if isinstance(node.value, str) else node.describe()


def _flow(node: Node) -> str:
    if isinstance(node.value, list):
        return f"[{', '.join(map(_flow, node.value))}]"
    return quote(str(node.value))[1:-1]
