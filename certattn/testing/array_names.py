"""Queries, keys, values and outputs in files, under the names that people give them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from certattn.kernel.document.quoting import listed
from certattn.kernel.document.references import DTYPES
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS
from certattn.kernel.theorems.attention.stated_heads import KEYS, LSE, MASK, OUTPUT, QUERIES, VALUES
from certattn.provers.array_files import ONLY, open_array_file
from certattn.provers.array_inputs import ALSO, InFile, name_in
from certattn.testing.arrays import Numbers, booleans_of_bits

# What arrays are called, by field; of each the first is what a message asks for.
NAMES = {
    field.name: ALSO.get(field.name, (field.name,))
    for field in (OUTPUT, QUERIES, KEYS, VALUES, LSE, MASK, ALIBI, SINKS)
}
INPUTS = (QUERIES.name, KEYS.name, VALUES.name)


def field_of(word: str) -> str:
    """The field that is meant by its own name, or by one of those of its array. Raises UsageError."""
    for field, names in NAMES.items():
        if word in names:
            return field
    raise UsageError(f"--array {word}=...: expected one of {', '.join(names[0] for names in NAMES.values())}")


class Found:
    """The arrays of a .npz or .safetensors file, or of a folder of .npy files, by field."""

    def __init__(self, path: Path, names: Mapping[str, str] = {}) -> None:
        """names: what arrays are called here, by field. Raises UsageError."""
        self.path, self._names = path, names
        if path.is_dir():
            self._arrays = {part.stem: InFile(open_array_file(part), ONLY) for part in sorted(path.glob("*.npy"))}
        else:
            file = open_array_file(path)
            self._arrays = {name: InFile(file, name) for name in file.headers}

    def get(self, field: str) -> InFile | None:
        """The array of a field, if it is there. Raises UsageError where several could be, or none is named so."""
        if field in self._names:
            name = self._names[field]
            if name not in self._arrays:
                raise UsageError(f"{self.path}: no array {name!r}; it holds {listed(self._arrays)}")
            return self._arrays[name]
        if field == OUTPUT.name and list(self._arrays) == [ONLY]:
            return self._arrays[ONLY]
        own = name_in(self.path, self._arrays, field)
        return None if own is None else self._arrays[own]

    def take(self, field: str) -> InFile:
        """The same of one that has to be there. Raises UsageError."""
        found = self.get(field)
        if found is None:
            name = NAMES[field][0]
            holds = "one array without a name" if list(self._arrays) == [ONLY] else listed(self._arrays)
            expected = f"expected an array called {', '.join(NAMES[field])}, or --array {name}=NAME"
            raise UsageError(f"{self.path}: no {field}; it holds {holds}, {expected}")
        return found


def numbers_of(source: InFile, computed: bool = False) -> Numbers:
    """An array as it is stored; see `Numbers.of_bits`. Raises UsageError."""
    dtype = source.header.dtype
    if dtype not in DTYPES and dtype.startswith("void"):
        raise UsageError(
            f"{source} has the number type {dtype}, which is what numpy writes for bfloat16 and float8; expected a "
            ".safetensors file, which says what they are"
        )
    return Numbers.of_bits(source.file.bits(source.name), dtype, str(source), computed)


def booleans_of(source: InFile) -> NDArray[np.bool_]:
    """A mask. Raises UsageError."""
    return booleans_of_bits(source.file.bits(source.name), source.header.dtype, str(source))
