"""Weights in `.safetensors` files, and the `config.json` beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.quoting import listed
from certattn.kernel.errors import UsageError
from certattn.models.heads import Floats, Ids
from certattn.models.settings import CONFIG
from certattn.provers.array_files import ArrayFile, open_array_file

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
# Weights of another file that are added to those of the model where it is loaded from the folder.
ADAPTER = "adapter_config.json"
PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class Weights:
    """The tensors of a model by name, read when they are asked for, and its configuration.

    path: what the model was named as. dtype: the floats in which it is run.
    """

    path: Path
    tensors: Mapping[str, ArrayFile]
    config: Mapping[str, Any]
    dtype: str

    def take(self, name: str, *shape: int | None, rows: Ids | None = None) -> Floats:
        """A tensor of this shape, None for any extent, or rows of it, in the floats of the run. Raises UsageError."""
        if name not in self.tensors:
            raise UsageError(f"{self.path}: no tensor {name!r}; found {listed(self.tensors)}")
        file = self.tensors[name]
        found = file.headers[name].shape
        if len(found) != len(shape) or any(e is not None and e != f for e, f in zip(shape, found, strict=True)):
            expected = " x ".join("any" if extent is None else str(extent) for extent in shape)
            shown = " x ".join(map(str, found)) or "one number"
            raise UsageError(f"{file.path}: the tensor {name!r} is {shown}, expected {expected}")
        array = file.read(name) if rows is None else file.read(name)[rows]
        if array.dtype.kind != "f":
            raise UsageError(f"{file.path}: the tensor {name!r} holds {array.dtype.name}, expected floats")
        if bool(np.isfinite(array).all()) is not True:
            raise UsageError(f"{file.path}: the tensor {name!r} holds NaN or an infinity, expected finite numbers")
        return array.astype(self.dtype)


def open_weights(path: Path, dtype: str = PRECISIONS[0]) -> Weights:
    """The weights in a `.safetensors` file, or in a folder as models are published. Raises UsageError."""
    if dtype not in PRECISIONS:
        raise UsageError(f"dtype is {dtype!r}, expected {' or '.join(PRECISIONS)}")
    folder = path if path.is_dir() else path.parent
    if path.is_dir() and (folder / ADAPTER).exists():
        how = "merge it into the weights, or name the file with the weights alone"
        raise UsageError(f"{folder}: {ADAPTER}, an adapter that changes the forward pass; {how}")
    files = [open_array_file(file) for file in _files(path)]
    tensors = {name: file for file in files for name in file.headers}
    return Weights(path, tensors, _mapping(folder / CONFIG, "the configuration of the model"), dtype)


def _files(path: Path) -> list[Path]:
    """The files that hold the tensors."""
    if not path.is_dir():
        if path.suffix != ".safetensors":
            found = "a file of another kind" if path.exists() else "no such file or folder"
            raise UsageError(
                f"{path}: {found}, expected a folder or a .safetensors file; recorded heads are a .npz file"
            )
        return [path]
    if (path / WEIGHTS).exists():
        return [path / WEIGHTS]
    if not (path / INDEX).exists():
        raise UsageError(f"{path}: neither {WEIGHTS} nor {INDEX} in this folder, expected the folder of a model")
    parts = _mapping(path / INDEX, "the index of the weights").get("weight_map")
    if not isinstance(parts, dict) or not parts or not all(isinstance(part, str) for part in parts.values()):
        raise UsageError(f"{path / INDEX}: no weight_map, expected one from names of tensors to names of files")
    names = sorted(set(parts.values()))
    for name in names:
        if Path(name).name != name:
            raise UsageError(f"{path / INDEX}: the file {name!r}, expected names of files in this folder")
    return [path / name for name in names]


def _mapping(path: Path, what: str) -> dict[str, Any]:
    """A JSON file that holds a mapping. Raises UsageError."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file, expected {what}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read ({error}), expected {what}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: a {type(found).__name__}, expected {what} as a mapping")
    return found
