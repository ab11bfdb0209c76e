"""What fields of a record demand of each other: some of them, all or none, not both, one shape."""

from __future__ import annotations

from typing import Any

from certattn.kernel.document.fields import Field, Rule, Values
from certattn.kernel.document.matrices import MatrixInput


def some_of(*fields: Field[Any]) -> Rule:
    """At least one of these: a statement must state something."""

    def rule(values: Values) -> None:
        if not any(field in values for field in fields):
            raise values.at.malformed(" or ".join(field.name for field in fields), "nothing that is asserted")

    return rule


def all_or_none(*fields: Field[Any]) -> Rule:
    """All of these, or none of them."""

    def rule(values: Values) -> None:
        there = [field.name for field in fields if field in values]
        if there and len(there) < len(fields):
            missing = [field.name for field in fields if field not in values]
            raise values.at.malformed(
                f"{' and '.join(field.name for field in fields)} together", f"{there[0]} without {missing[0]}"
            )

    return rule


def at_most_one_of(*fields: Field[Any]) -> Rule:
    """One of these at most: they say the same in different ways."""

    def rule(values: Values) -> None:
        there = [field.name for field in fields if field in values]
        if len(there) > 1:
            names = " or ".join(field.name for field in fields)
            raise values.at.malformed(f"{names}, one of them", " beside ".join(there))

    return rule


def shapes(**stated: tuple[Field[MatrixInput], str]) -> Rule:
    """Matrices whose sizes agree: `keys=(KEYS, "n d"), values=(VALUES, "n e")` has one n for both.

    A number in place of a letter is that very size.
    """

    def rule(values: Values) -> None:
        known: dict[str, tuple[int, str]] = {}
        for field, letters in stated.values():
            if field not in values:
                continue
            matrix = values[field]
            for letter, size, what in zip(letters.split(), matrix.shape, ("rows", "columns"), strict=True):
                wanted, source = (int(letter), "") if letter.isdigit() else known.get(letter, (size, ""))
                if size != wanted:
                    like = f", like {source}" if source else ""
                    raise matrix.node.malformed(f"{wanted} {what}{like}", f"{size} {what}")
                known.setdefault(letter, (size, field.name))

    return rule
