"""Heads that were recorded elsewhere: `layer0.queries`, `layer0.keys`, `layer0.values` and so on in a `.npz` file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats, LayerHeads, Shape, repeated
from certattn.provers.array_files import ArrayFile, open_array_file

_NAME = re.compile(r"layer(0|[1-9]\d{0,3})\.(queries|keys|values)")
_FIELDS = ("queries", "keys", "values")
_EXPECTED = "expected layer0.queries, layer0.keys, layer0.values and so on, heads x tokens x dimension each"


@dataclass(frozen=True)
class Recorded:
    """The layers in a file; they need not be all of the model's."""

    file: ArrayFile
    layers: tuple[int, ...]

    def heads(self, wanted: int) -> LayerHeads:
        """One layer. Keys and values that several heads of queries share may stand there once. Raises UsageError."""
        queries, keys, values = (self._read(f"layer{wanted}.{field}") for field in _FIELDS)
        if keys.shape[:2] != values.shape[:2] or keys.shape[2] != queries.shape[2]:
            shapes = ", ".join(
                f"{name} {part.shape}" for name, part in zip(_FIELDS, (queries, keys, values), strict=True)
            )
            raise UsageError(f"{self.file.path}: layer {wanted} has {shapes}; {_EXPECTED}, a value for each key")
        return LayerHeads(wanted, queries, repeated(keys, len(queries)), repeated(values, len(queries)))

    def each(self) -> Iterator[LayerHeads]:
        """All layers."""
        return map(self.heads, self.layers)

    def shape(self, scale: str | None, *, causal: bool) -> Shape:
        """As of a model; the scale is 1/sqrt(d) where none is given. Raises UsageError."""
        heads, _, dimension = self.file.headers[f"layer{self.layers[0]}.queries"].shape
        return Shape("recorded", max(self.layers) + 1, heads, scale or f"1/sqrt({dimension})", causal)

    def _read(self, name: str) -> Floats:
        if name not in self.file.headers:
            raise UsageError(f"{self.file.path}: no array {name!r}; found {self.file.listed()}; {_EXPECTED}")
        array = self.file.read(name)
        if array.ndim != 3 or 0 in array.shape:
            raise UsageError(f"{self.file.path}: {name} is {array.dtype.name} of shape {array.shape}; {_EXPECTED}")
        if array.dtype.kind != "f":
            raise UsageError(f"{self.file.path}: {name} is {array.dtype.name}, expected floats, as they were recorded")
        if bool(np.isfinite(array).all()) is not True:
            raise UsageError(f"{self.file.path}: {name} holds NaN or an infinity, expected finite numbers")
        return array


def open_recorded(path: Path) -> Recorded:
    """The heads in a file. Raises UsageError."""
    file = open_array_file(path)
    matches = [found for name in file.headers if (found := _NAME.fullmatch(name))]
    if not matches:
        raise UsageError(f"{path}: no recorded heads; found {file.listed()}; {_EXPECTED}")
    for name in file.headers:
        # Such as layer00.queries, which would be left out in silence.
        if name.startswith("layer") and not _NAME.fullmatch(name):
            raise UsageError(f"{path}: the array {name!r}, which names no part of a layer; {_EXPECTED}")
    for found in matches:
        shape = file.headers[found[0]].shape
        if len(shape) != 3 or 0 in shape:
            raise UsageError(f"{path}: {found[0]} has the shape {shape}; {_EXPECTED}, and none of them 0")
    layers = tuple(sorted({int(found[1]) for found in matches}))
    for layer in layers:
        for field in _FIELDS:
            if f"layer{layer}.{field}" not in file.headers:
                raise UsageError(f"{path}: no array 'layer{layer}.{field}'; found {file.listed()}; {_EXPECTED}")
    return Recorded(file, layers)
