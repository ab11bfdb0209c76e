"""Mappings of a certificate that take one of several forms, each a `Record`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from certattn.kernel.document.fields import Choice, Field, Kind, Reading, Record, Schema, Values
from certattn.kernel.document.tree import Node


@dataclass(frozen=True)
class Variant(Kind[tuple[str, Values]]):
    """A mapping that takes one of several forms, told apart by the value under `tag`."""

    tag: str
    forms: Mapping[str, Record]

    def read(self, node: Node, reading: Reading) -> tuple[str, Values]:
        expected = f"a mapping with {self.tag}: {' or '.join(self.forms)}"
        if not isinstance(node.value, dict) or self.tag not in node.value:
            raise node.malformed(expected)
        tag = node.value[self.tag]
        if not isinstance(tag.value, str) or tag.value not in self.forms:
            raise tag.malformed(" or ".join(repr(form) for form in self.forms))
        reading.used.add(tag)
        return tag.value, self._record(tag.value).read(node, reading)

    def schema(self) -> Schema:
        return {"oneOf": [self._record(form).schema() for form in self.forms]}

    def _record(self, form: str) -> Record:
        return Record(Field(self.tag, Choice((form,)), "the form"), *self.forms[form].fields.values())


@dataclass(frozen=True)
class ByKey(Kind[tuple[str, Values]]):
    """One of several forms (which may have forms again), told apart by a key that only it has; else the last."""

    forms: Mapping[str, Record | ByKey]

    def read(self, node: Node, reading: Reading) -> tuple[str, Values]:
        present = [key for key in self.forms if isinstance(node.value, dict) and key in node.value]
        key = present[0] if present else list(self.forms)[-1]
        form = self.forms[key]
        return form.read(node, reading) if isinstance(form, ByKey) else (key, form.read(node, reading))

    def schema(self) -> Schema:
        return {"oneOf": [form.schema() for form in self.forms.values()]}


@dataclass(frozen=True)
class EitherKey(ByKey):
    """The same where the keys are different ways to say one thing: two of them are refused as two, not as unknown."""

    def read(self, node: Node, reading: Reading) -> tuple[str, Values]:
        both = [key for key in self.forms if isinstance(node.value, dict) and key in node.value][:2]
        if len(both) > 1:
            raise node.malformed(f"{' or '.join(both)}, not both", f"{both[0]} beside {both[1]}")
        return super().read(node, reading)
