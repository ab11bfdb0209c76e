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
_SHARES = re.compile(r"layer(0|[1-9]\d{0,3})\.shares")
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
        keys, values = (repeated(part, len(queries)) for part in (keys, values))
        return LayerHeads(wanted, queries, keys, values, shares=self._shares(wanted, queries.shape[:2]))

    def each(self) -> Iterator[LayerHeads]:
        """All layers."""
        return map(self.heads, self.layers)

    def shape(self, scale: str | None, *, causal: bool) -> Shape:
        """As of a model; the scale is 1/sqrt(d) where none is given. Raises UsageError."""
        heads, _, dimension = self.file.headers[f"layer{self.layers[0]}.queries"].shape
        return Shape("recorded", max(self.layers) + 1, heads, scale or f"1/sqrt({dimension})", causal)

    def _shares(self, layer: int, shape: tuple[int, ...]) -> Floats | None:
        """Shares of the residual stream, heads x tokens, where they were recorded too. Raises UsageError."""
        name = f"layer{layer}.shares"
        if name not in self.file.headers:
            return None
        array = self.file.read(name)
        if array.shape != shape or array.dtype.kind != "f" or not bool((array >= 0).all()):
            found = f"{array.dtype.name} of shape {array.shape}"
            raise UsageError(f"{self.file.path}: {name} is {found}, expected floats >= 0 of shape {shape}")
        return array

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
        known = _NAME.fullmatch(name) or (
            (found := _SHARES.fullmatch(name)) and f"layer{found[1]}.keys" in file.headers
        )
        if name.startswith("layer") and not known:
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
